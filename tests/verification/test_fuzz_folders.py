"""A short run of the fuzzer of folders (bench/fuzz_folders.py has the long one), and what its judge sees."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from folder_damages import edit_manifest, edit_table
from folder_fuzz import DAMAGES, PLANTED, Sound, Tally, _renamed, examine
from folder_judge import objections
from hidden_bytes import (
    before_the_footer,
    behind_the_footer,
    in_a_second_frame,
    in_dictionary,
    in_metadata,
    in_metadata_of_a_column,
    in_numbers,
    in_old_statistics,
    in_statistics,
)
from parquet_surgery import Anatomy, operated
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE
from shoal.runtime.files import sha256_of
from unlike_bytes import with_last_digits, with_minus_zero, with_outlines_moved_a_little


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    return Sound.made(tmp_path_factory.mktemp("fuzz") / "sound")


def test_no_damaged_folder_crashes_the_verifier_or_passes_it_where_the_judge_rejects(
    sound: Sound, tmp_path: Path
) -> None:
    tally = Tally()
    for seed in range(5 * 10**8, 5 * 10**8 + 80):
        examine(sound, seed, tmp_path, tally)
    assert tally.bad == []
    often = {damage.__name__ for damage, times in DAMAGES.items() if times >= 1}
    assert {damage for damage, _ in tally.outcomes} >= often
    assert {outcome for _, outcome in tally.outcomes} >= {"bad input", "refused"}


def test_the_judge_has_nothing_against_the_sound_folder(sound: Sound) -> None:
    assert objections(sound.original, sound.folder, sound.linkage, [PLANTED]) == []


def test_the_judge_sees_for_itself(sound: Sound, tmp_path: Path) -> None:
    """Each of its objections, by a damage that nothing but the judge looks at."""
    changes = {
        "a class is smaller than k": lambda m: m["claim"].update(k=50),
        "other counts": lambda m: m.update(n_records=3),
        "another grid or plane": lambda m: m.update(cell_m=200.0),
        "another claim, or a false verdict": lambda m: m["verdict"].update(holds=False),
        "other losses": lambda m: m["losses"].update(samples_suppressed=3),
        "other entries in the manifest": lambda m: m.update(note=1),
        "report_sha256 is wrong": lambda m: m.update(report_sha256="0" * 64),
        "manifest.json holds what was planted": lambda m: m.update(method=PLANTED.decode()),
    }
    for number, (messages, change) in enumerate(changes.items()):
        folder = tmp_path / str(number)
        shutil.copytree(sound.folder, folder)
        edit_manifest(folder, change)
        assert messages in objections(sound.original, folder, sound.linkage, [PLANTED])
    assert json.loads((tmp_path / "0" / "manifest.json").read_text())["claim"]["k"] == 50


HIDDEN = (
    in_dictionary, in_numbers, in_statistics, in_old_statistics, in_metadata, in_metadata_of_a_column,
    before_the_footer, behind_the_footer, in_a_second_frame,
)  # fmt: skip


@pytest.mark.parametrize("hide", HIDDEN, ids=lambda hide: hide.__name__)
def test_the_judge_sees_what_is_hidden_in_a_table(
    hide: Callable[[Anatomy], None], sound: Sound, tmp_path: Path
) -> None:
    """By pyarrow's account of the file, and by its bytes; it shares nothing with the verifier's walk."""
    folder = tmp_path / "release"
    shutil.copytree(sound.folder, folder)
    operated(folder / RELEASE_FILE, hide)
    digest = sha256_of(folder / RELEASE_FILE)
    edit_manifest(folder, lambda m: m.update(release_sha256=digest))
    assert objections(sound.original, folder, sound.linkage, [PLANTED]) != []


@pytest.mark.parametrize("edit", [with_last_digits, with_minus_zero, with_outlines_moved_a_little])
def test_the_judge_sees_other_digits(
    edit: Callable[[pa.Table], pa.Table], sound: Sound, tmp_path: Path
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound.folder, folder)
    edit_table(folder, edit)
    assert objections(sound.original, folder, sound.linkage, [PLANTED]) != []


def test_the_judge_sees_another_spelling_of_the_manifest(sound: Sound, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound.folder, folder)
    path = folder / MANIFEST_FILE
    path.write_text(path.read_text().replace('"cell_m": 100.0', '"cell_m": 1e2'))
    assert objections(sound.original, folder, sound.linkage, [PLANTED]) == [
        "another spelling of the manifest"
    ]


def test_a_linkage_follows_what_a_damage_renames(sound: Sound) -> None:
    names = dict.fromkeys(sound.linkage.trajectory_ids, "x") | {sound.linkage.trajectory_ids[3]: None}
    renamed = _renamed(sound.linkage, names)
    assert renamed.trajectory_ids == ("x",) * (len(sound.linkage.uids) - 1)
    assert set(sound.linkage.uids) - set(renamed.uids) == {sound.linkage.uids[3]}
    assert _renamed(sound.linkage, None) is sound.linkage
