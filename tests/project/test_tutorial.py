"""The tutorial runs block by block and prints what it shows; the notebook is the same."""

import json
import re
from pathlib import Path

import pytest

from notebook import NAMES, file_of, notebook, page_of, steps
from pictures import FOLDER, PICTURES, RECORD, shown_words, words_in
from shoal.attacks import ATTACKS
from shoal.methods import METHODS
from shoal.utility import METRICS

PAGE, RESEARCH, OWN_ROWS = page_of("tutorial"), page_of("notebook"), page_of("your-own-method")


def test_every_block_runs_and_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = steps(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 8
    names: dict[str, object] = {}
    printed = []
    for number, (code, _) in enumerate(blocks):
        exec(compile(code, f"tutorial.md:{number}", "exec"), names)
        printed.append(capsys.readouterr().out)
    assert printed == [shown for _, shown in blocks]
    pictured = words_in(FOLDER / RECORD)
    assert "The claim holds" in pictured
    assert pictured == shown_words(tmp_path / "release" / "report.html"), (
        "the record has changed; draw its picture again: ./dev python docs/site/pictures.py"
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_the_page(name: str) -> None:
    page = page_of(name).read_text(encoding="utf-8")
    stored = file_of(name).read_text(encoding="utf-8")
    assert stored == notebook(page), "make it again: ./dev python docs/site/notebook.py"
    cells = json.loads(stored)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.rstrip("\n") for block, _ in steps(page)]


def test_the_pictures_are_small_and_all_of_them_are_shown() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(tutorial/([\w.]+)\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(PICTURES) == sorted(path.name for path in FOLDER.iterdir())
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 200_000


@pytest.mark.parametrize(
    ("page", "rows"),
    [(OWN_ROWS, {"neighbors", "length", "boxes-per-record"}), (RESEARCH, {"length", "boxes-per-record"})],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_a_page_of_own_rows_runs_and_prints_what_it_shows(
    page: Path,
    rows: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for table in (METHODS, ATTACKS, METRICS):
        monkeypatch.setattr(table, "_rows", dict(table._rows))
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = steps(page.read_text(encoding="utf-8"))
    assert len(blocks) >= 5
    for number, (code, shown) in enumerate(blocks):
        exec(compile(code, f"{page.name}:{number}", "exec"), names)
        assert capsys.readouterr().out == shown
    assert rows <= {*METHODS, *ATTACKS, *METRICS}
