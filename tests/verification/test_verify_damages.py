"""Sound releases hold, and every damage of both tables is found for the reason it names."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from damages import DAMAGES, Damage, rows_of
from folder_damages import FOLDER_DAMAGES, FolderDamage, edit_manifest
from naive_release import PLANE, naive_release, small_city
from shoal.model.finding_kinds import FindingKind
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.verification import verify, verify_files
from written_folders import PAGE, write_folder

Case = tuple[Trajectories, Release, Linkage]

SOUND: dict[str, dict[str, Any]] = {
    "several boxes": {"n_boxes": 4},
    "one box for everything": {"n_boxes": 1},
    "with suppressed subjects": {"n_boxes": 3, "suppressed": (0, 5)},
    "classes of four": {"k": 4, "n_boxes": 3},
}


@pytest.fixture(params=SOUND)
def sound(request: pytest.FixtureRequest) -> Case:
    original = small_city(crs=PLANE)
    return original, *naive_release(original, **SOUND[request.param])


@pytest.fixture
def folder(tmp_path: Path) -> tuple[Path, Trajectories, Linkage]:
    original = small_city(crs=PLANE)
    release, linkage = naive_release(original, n_boxes=4)
    verdict = verify(original, release, linkage)
    return write_folder(tmp_path / "release", release, verdict, PAGE), original, linkage


def test_a_sound_release_holds(sound: Case) -> None:
    verdict = verify(*sound)
    assert verdict.holds, verdict.findings
    assert verdict.checked == sound[1].n_records
    assert verdict.notes == ()


def test_without_a_linkage_a_sound_release_is_not_checked_in_full_and_says_what_was_not(sound: Case) -> None:
    original, release, _ = sound
    verdict = verify(original, release)
    assert verdict.findings == ()
    assert (verdict.holds, verdict.word) == (False, "NOT CHECKED")
    assert "that each subject has exactly one record (needs the linkage)" in verdict.unchecked
    assert len(verdict.unchecked) == 4


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_damage_is_found(damage: Damage, sound: Case) -> None:
    if not damage.concerns(sound[1].claim):
        pytest.skip(f"this claim does not promise what '{damage.name}' breaks")
    verdict = verify(*damage.applied_to(*sound))
    assert not verdict.holds
    assert damage.expected_kind in verdict.kinds, verdict.findings
    assert verdict.kinds <= set(get_args(FindingKind))
    assert not tells_an_identifier(verdict, sound[0])


@pytest.mark.parametrize("damage", FOLDER_DAMAGES, ids=lambda damage: damage.name)
def test_a_damaged_folder_is_found(damage: FolderDamage, folder: tuple[Path, Trajectories, Linkage]) -> None:
    path, original, linkage = folder
    damage.applied_to(path, original, linkage)
    verdict = verify_files(original, path, linkage)
    assert not verdict.holds
    assert damage.expected_kind in verdict.kinds, verdict.findings
    assert verdict.kinds <= set(get_args(FindingKind))
    assert not tells_an_identifier(verdict, original)


@pytest.mark.parametrize(
    "damage",
    [one for one in FOLDER_DAMAGES if one.expected_kind in ("row-order", "finer-than-claim")],
    ids=lambda damage: damage.name,
)
def test_the_same_is_found_however_many_rows_are_looked_at_together(
    damage: FolderDamage,
    folder: tuple[Path, Trajectories, Linkage],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, original, linkage = folder
    damage.applied_to(path, original, linkage)
    together = verify_files(original, path, linkage)
    for module in ("decoded", "written"):
        monkeypatch.setattr(f"shoal.verification.files.{module}._ROWS_AT_ONCE", 3)
    assert verify_files(original, path, linkage) == together


def tells_an_identifier(verdict: Verdict, original: Trajectories) -> bool:
    text = str(verdict.to_json())
    return any(uid in text for uid in original.ids)


def test_a_sound_folder_holds_with_and_without_linkage(folder: tuple[Path, Trajectories, Linkage]) -> None:
    path, original, linkage = folder
    assert verify_files(original, path, linkage).findings == ()
    assert verify_files(original, path).findings == ()


# What a single reason must look like: the damage is found for it and for nothing else.
ONLY_REASON = {
    "sample removed": {"lost-samples-not-counted"},
    "widened beyond its hull": {"box-not-tight"},
    "overlapping in time": {"overlap-in-time"},
    "larger k than the data has": {"class-below-k"},
    "raw identifier as pseudonym": {"raw-identifier"},
    "hashed identifier as pseudonym": {"raw-identifier"},
    "suppressed samples not counted": {"lost-samples-not-counted"},
    "suppressed subjects not counted": {"lost-subjects-not-counted"},
    "record order equal to input order": {"record-order"},
    "seed in the parameters": {"seed"},
    "linkage names an unknown record": {"unknown-record"},
}


@pytest.mark.parametrize("name", ONLY_REASON)
def test_a_damage_is_found_for_its_own_reason_alone(name: str) -> None:
    original = small_city()
    release, linkage = naive_release(original, n_boxes=4)
    damage = next(damage for damage in DAMAGES if damage.name == name)
    assert verify(*damage.applied_to(original, release, linkage)).kinds == ONLY_REASON[name]


WITHOUT_LINKAGE = (
    "sample added",
    "shifted in space",
    "widened beyond its hull",
    "shifted in time",
    "one member's record changed",
)


@pytest.mark.parametrize("name", WITHOUT_LINKAGE)
def test_boxes_are_checked_without_a_linkage_too(name: str, sound: Case) -> None:
    damage = next(damage for damage in DAMAGES if damage.name == name)
    original, release, _ = damage.applied_to(*sound)
    assert verify(original, release).kinds & {"class-without-subjects", "box-not-tight", "class-below-k"}


def test_a_folder_without_its_manifests_claim_of_records_is_told_by_numbers(
    folder: tuple[Path, Trajectories, Linkage],
) -> None:
    path, original, linkage = folder
    edit_manifest(path, lambda manifest: manifest.update(n_records=3))
    (finding,) = verify_files(original, path, linkage).findings
    assert (finding.kind, finding.message) == (
        "wrong-count",
        "release.parquet holds 12 records; the manifest says 3",
    )


def test_a_release_without_records_fails_because_nothing_was_checked() -> None:
    original = small_city(4, 3)
    release, _ = naive_release(original)
    empty = replace(
        release, trajectory_ids=(), offsets=release.offsets[:1], payload=release.payload.take(slice(0, 0))
    )
    verdict = verify(original, empty, Linkage((), ()))
    assert not verdict.holds
    assert "nothing-checked" in verdict.kinds
    assert "nothing-checked" in verify(original, empty).kinds


def test_the_naive_anonymizer_makes_several_boxes() -> None:
    release, _ = naive_release(small_city(), n_boxes=4)
    assert min(len(record) for record in rows_of(release)) >= 2
