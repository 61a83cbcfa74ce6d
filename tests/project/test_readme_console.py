"""Pages show what their commands print; figures that chance changes may be any number."""

import re
import shlex
from pathlib import Path

import pytest

from command_line import Shoal
from console_output import pattern_of

ROOT = Path(__file__).parents[2]


def commands(page: str) -> list[tuple[str, str]]:
    """Each command of the blocks of a page, with the output below it."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    text = "".join(blocks).replace(" \\\n", " ")
    parts = re.split(r"^\$ (?:\./dev )?shoal ", text, flags=re.MULTILINE)[1:]
    return [
        (words.partition("  #")[0], shown) for words, _, shown in (part.partition("\n") for part in parts)
    ]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("README.md", "synthesize inspect assess anonymize verify"),
        ("docs/tutorial-planner.md", "synthesize anonymize anonymize tabulate"),
    ],
)
def test_the_commands_print_what_the_page_shows(
    page: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "tabulate" in names:
        pytest.importorskip("opendp")
    monkeypatch.chdir(tmp_path)
    shoal = Shoal(capsys)
    asked = commands(page)
    assert [words.split()[0] for words, _ in asked] == names.split()
    for words, shown in asked:
        done = shoal(*shlex.split(words))
        assert done.code == 0, done.err
        printed = " ".join(done.out.split())
        assert re.search(pattern_of(shown), printed), f"shoal {words}\n{pattern_of(shown)}\n{printed}"
