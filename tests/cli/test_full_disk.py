"""A full disk is told as one, also where the result is sent."""

from pathlib import Path

import pytest

from command_line import Shoal


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
