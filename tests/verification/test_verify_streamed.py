"""The streamed check finds what the check in memory finds.

Nothing in sound folders, the same kinds in damaged ones.
"""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from damages import DAMAGES, Damage
from elsewhere import Elsewhere
from folder_damages import FOLDER_DAMAGES, FolderDamage, edit_table
from naive_release import PLANE, naive_release, small_city
from shoal.errors import InputError, MisuseError
from shoal.release_folder import tables
from shoal.release_folder.manifest import (
    RELEASE_FILE,
)
from shoal.runtime.randomness import Randomness
from shoal.verification import verify, verify_files
from shoal.verification.files import spreading, streamed
from shoal.verification.files.stated import PAGE_NOT_CHECKED
from streamed_check import streamed_verdict
from written_folders import PAGE, write_folder


@pytest.fixture(autouse=True, params=["one bucket", "many buckets"])
def small_steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that straddle batches, groups and tasks, and more buckets than records."""
    if request.param == "many buckets":
        monkeypatch.setattr(streamed, "_BUCKET_ROWS", 20)
        monkeypatch.setattr(streamed, "_PART_ROWS", 40)
        monkeypatch.setattr(spreading, "_ROWS_AT_ONCE", 17)
        monkeypatch.setattr(tables, "ROWS_PER_GROUP", 30)


@pytest.mark.parametrize("suppressed", [(), (0, 5)])
def test_a_sound_folder_holds(tmp_path: Path, suppressed: tuple[int, ...]) -> None:
    original = small_city(crs=PLANE)
    release, linkage = naive_release(original, n_boxes=4, suppressed=suppressed)
    verdict = verify(original, release, linkage)
    folder = write_folder(tmp_path / "release", release, verdict, PAGE)
    in_memory = verify_files(original, folder, linkage)
    # small groups of rows are this test's
    in_memory = replace(
        in_memory, notes=tuple(note for note in in_memory.notes if "in more groups" not in note)
    )
    assert (
        streamed_verdict(original, folder, linkage)
        == in_memory
        == replace(verdict, notes=(PAGE_NOT_CHECKED,))
    )
    assert verdict.holds


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_damage_is_found(damage: Damage, tmp_path: Path) -> None:
    original = small_city(crs=PLANE)
    case = original, *naive_release(original, n_boxes=4)
    if not damage.concerns(case[1].claim):
        pytest.skip(f"this claim does not promise what '{damage.name}' breaks")
    original, release, linkage = damage.applied_to(*case)
    in_memory = verify(original, release, linkage)
    if not len(release.boxes):
        pytest.skip("a file holds rows")
    folder = write_folder(tmp_path / "release", release, in_memory, PAGE)
    told = verify_files(original, folder, linkage)
    verdict = streamed_verdict(original, folder, linkage)
    assert not verdict.holds
    assert verdict.kinds >= told.kinds & {damage.expected_kind} or damage.expected_kind not in told.kinds
    if (
        "duplicate-pseudonym" not in in_memory.kinds
    ):  # records of one name are one record when a file is read whole
        assert verdict.kinds == told.kinds


@pytest.mark.parametrize("damage", FOLDER_DAMAGES, ids=lambda damage: damage.name)
def test_a_damaged_folder_is_found(damage: FolderDamage, tmp_path: Path) -> None:
    original = small_city(crs=PLANE)
    release, linkage = naive_release(original, n_boxes=4)
    folder = write_folder(tmp_path / "release", release, verify(original, release, linkage), PAGE)
    damage.applied_to(folder, original, linkage)
    verdict = streamed_verdict(original, folder, linkage)
    assert not verdict.holds
    assert damage.expected_kind in verdict.kinds, verdict.findings


@pytest.mark.parametrize("kind", ["", "row-order", "finer-than-claim", "class-below-k"])
def test_tasks_done_twice_and_elsewhere_find_the_same(kind: str, tmp_path: Path) -> None:
    original = small_city(crs=PLANE)
    release, linkage = naive_release(original, n_boxes=4)
    folder = write_folder(tmp_path / "release", release, verify(original, release, linkage), PAGE)
    damage = next(
        (damage_of_kind for damage_of_kind in FOLDER_DAMAGES if damage_of_kind.expected_kind == kind), None
    )
    assert (damage is None) == (kind == "")
    if damage is not None:
        damage.applied_to(folder, original, linkage)
    here_box = streamed_verdict(original, folder, linkage)
    assert {kind} - {""} <= here_box.kinds
    assert streamed_verdict(original, folder, linkage, Elsewhere()) == here_box


def test_a_geometry_without_a_plane_is_found_with_what_it_holds(tmp_path: Path) -> None:
    """Whole raw tracks and identifiers could stand there."""
    original = small_city()
    release, linkage = naive_release(original)
    folder = write_folder(tmp_path / "release", release, verify(original, release, linkage), PAGE)
    tracks = pa.array([original.ids[3]] * release.n_samples)
    edit_table(folder, lambda table: table.append_column("geometry", tracks))
    kinds = {"unexpected-column", "unexpected-type", "raw-identifier"}
    assert streamed_verdict(original, folder, linkage).kinds == kinds
    assert verify_files(original, folder, linkage).kinds == kinds


def test_what_cannot_be_streamed_is_refused(tmp_path: Path) -> None:
    original = small_city(crs=PLANE)
    hide = shoal.KteHide(tau_s=4 * 3600, epsilon_s=4 * 3600)
    published = shoal.publish(original, hide, tmp_path / "release", rng=Randomness.from_system())
    with pytest.raises(MisuseError, match="leave out streamed"):
        streamed_verdict(original, tmp_path / "release", published.linkage)


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    original = small_city(crs=PLANE)
    release, linkage = naive_release(original)
    folder = write_folder(tmp_path / "release", release, verify(original, release, linkage), PAGE)
    table = pq.read_table(folder / RELEASE_FILE)
    pq.write_table(table.drop_columns(["trajectory_id"]), folder / RELEASE_FILE)
    with pytest.raises(InputError, match="lacks the column trajectory_id"):
        streamed_verdict(original, folder, linkage)
    for content in (b"", b"PAR1 cut"):
        (folder / RELEASE_FILE).write_bytes(content)
        with pytest.raises(InputError, match="not a readable Parquet file"):
            streamed_verdict(original, folder, linkage)
