"""The planner's tutorial runs as it stands, and prints what it shows."""

import re
import shlex
from pathlib import Path

import pytest

from shoal.cli.main import main

PAGE = Path(__file__).parents[3] / "docs" / "tutorial-tables.md"


def commands() -> list[tuple[list[str], list[str]]]:
    """The words of each command, and the lines that it prints."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    text = "".join(blocks).replace("\\\n", " ")
    return [
        (shlex.split(command)[1:], lines)
        for command, *lines in (part.splitlines() for part in text.split("$ ")[1:])
    ]


def test_the_tutorial_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opendp")
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    assert len(commands()) == 9
    for words, lines in commands():
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capsys.readouterr()
        refused = any(line.startswith("shoal:") for line in lines)
        assert (ended.value.code or 0) == (2 if refused else 0), err
        printed = err if refused else out
        for line in lines:
            assert line.removesuffix("...").rstrip() in printed
    page = (tmp_path / "flows" / "report.html").read_text(encoding="utf-8")
    assert 'id="plot-map"' in page
    assert "Signature" in page or "signature" in page
