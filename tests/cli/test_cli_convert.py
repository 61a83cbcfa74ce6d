"""``shoal convert``: boxes become points only when told which."""

from pathlib import Path

import pytest

from command_line import Shoal
from shoal.io import read


def test_the_command_converts_only_when_told_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Shoal(capsys)
    assert call("synthesize", tmp_path / "c.parquet", "--subjects", 12, "--days", 1).code == 0
    assert call("anonymize", tmp_path / "c.parquet", "--output", tmp_path / "r", "--risk-tries", 0).code == 0
    refused = call("convert", tmp_path / "r", tmp_path / "points")
    assert (refused.code, "say how with --box-as center" in refused.err) == (2, True)
    done = call("convert", tmp_path / "r", tmp_path / "points", "--to", "plt", "--box-as", "center")
    assert (done.code, "12 PLT files" in done.out) == (0, True)
    assert read(tmp_path / "points").n_subjects == 12
