"""Limits of the machine and strange settings give one clear line, no fault of shoal."""

from pathlib import Path

import pyarrow as pa
import pytest

from command_line import Shoal
from shoal.errors import InputError


def test_a_full_disk_behind_standard_output_is_no_fault(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("uid,t,lat,lon\na,2024-05-01T10:00:00Z,48.85,2.35\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shoal.cli.data.print_result", full)
        done = shoal("inspect", tmp_path / "a.csv")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "shoal: the disk is full; free some space, and run the same command again"
    )


@pytest.mark.parametrize("error", [MemoryError(), pa.lib.ArrowMemoryError("x"), OSError(12, "no memory")])
def test_a_lack_of_memory_is_told_as_one_also_behind_a_reader(
    shoal: Shoal, tmp_path: Path, error: Exception
) -> None:
    (tmp_path / "a.csv").write_text("uid,t,lat,lon\na,2024-05-01T10:00:00Z,48.85,2.35\n")

    def fail(*_: object, **__: object) -> None:
        raise InputError("a.csv is not a whole file") from error

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shoal.cli.data.print_result", fail)
        done = shoal("inspect", tmp_path / "a.csv")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("shoal: out of memory")


@pytest.mark.parametrize(
    "words", [("inspect", "{}"), ("verify", __file__, "{}"), ("attack", "{}", "{}", "--linkage", "{}")]
)
def test_a_path_that_is_too_long_is_told_as_one(shoal: Shoal, words: tuple[str, ...]) -> None:
    done = shoal(*(word.format("a" * 5000) for word in words))
    assert done.code == 2
    assert done.err.splitlines()[-1] == "shoal: a path is longer than this system allows; give a shorter one"


@pytest.mark.parametrize(
    "settings", [f"k = {'9' * 5000}", "[k]\na = 1", "k = 2024-01-01", "k = [[1, 2]]", "k = 10:00:00"]
)
def test_settings_of_a_strange_kind_are_named(shoal: Shoal, tmp_path: Path, settings: str) -> None:
    (tmp_path / "study.toml").write_text(settings)
    done = shoal("anonymize", "a.csv", "--config", tmp_path / "study.toml", "--output", tmp_path / "out")
    assert done.code == 2
    assert "study.toml" in done.err
    assert "fault of shoal" not in done.err
