"""A short run of the fuzzer of folders (bench/fuzz_folders.py has the long one), and what its judge sees."""

import json
from pathlib import Path

import pytest

from folder_damages import edit_manifest
from folder_fuzz import DAMAGES, PLANTED, Sound, Tally, examine
from folder_judge import objections


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
    import shutil

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
    for number, (told, change) in enumerate(changes.items()):
        folder = tmp_path / str(number)
        shutil.copytree(sound.folder, folder)
        edit_manifest(folder, change)
        assert told in objections(sound.original, folder, sound.linkage, [PLANTED])
    assert json.loads((tmp_path / "0" / "manifest.json").read_text())["claim"]["k"] == 50
