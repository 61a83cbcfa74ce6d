"""The README shows what its commands print; figures that chance changes may be any number."""

import re
import shlex
from pathlib import Path

import pytest

from command_line import Shoal

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.search(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
DRAWN = re.compile(r"\d+(?:\.\d+)? %")  # of victims that every run draws anew


def commands() -> list[tuple[str, str]]:
    """Each command with the output below it."""
    assert BLOCK is not None
    parts = re.split(r"^\$ \./dev shoal ", BLOCK[1], flags=re.MULTILINE)[1:]
    return [
        (words.partition("  #")[0], shown) for words, _, shown in (part.partition("\n") for part in parts)
    ]


def pattern_of(shown: str) -> str:
    """An expression for the output: ... stands for anything, and lines may be wrapped elsewhere."""
    text = " ".join(shown.split())
    text = re.sub("strongest attack.*guessing", lambda attack: DRAWN.sub("PERCENT", attack[0]), text)
    return re.escape(text).replace(r"\.\.\.", ".*").replace("PERCENT", r"\d+(\.\d+)?\ %")


def test_the_commands_print_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shoal = Shoal(capsys)
    asked = commands()
    assert [words.split()[0] for words, _ in asked] == [
        "synthesize",
        "inspect",
        "assess",
        "anonymize",
        "verify",
    ]
    for words, shown in asked:
        done = shoal(*shlex.split(words))
        assert done.code == 0, done.err
        printed = " ".join(done.out.split())
        assert re.search(pattern_of(shown), printed), f"shoal {words}\n{pattern_of(shown)}\n{printed}"
