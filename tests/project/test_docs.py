"""Examples in README and docs run as they stand, and every command exists with the options they give."""

import re
import runpy
import shlex
from importlib.metadata import entry_points
from pathlib import Path

import click
import numpy as np
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.attacks.table import ATTACKS
from shoal.cli import main as cli
from shoal.release_folder.exports import EXPORTS
from shoal.utility import METRICS

ROOT = Path(__file__).parents[2]
TUTORIALS = (
    "tutorial.md",
    "notebook.md",
    "your-own-method.md",
)  # their blocks build on one another: test_tutorial.py
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (f"{page.name}:{number}", block)
        for page in PAGES
        if page.name not in TUTORIALS
        for number, block in enumerate(
            re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        )
    ]


@pytest.mark.parametrize(
    ("place", "code"), blocks("python"), ids=lambda value: value if ":" in value and "\n" not in value else ""
)
def test_python_blocks_run(
    place: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, place, "exec"), {})
    printed = capsys.readouterr().out
    assert "holds" in printed or not place.startswith("README")


def test_a_file_is_cut_into_whole_weeks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [(place, code)] = [block for block in blocks("python") if block[0].startswith("series.md")]
    exec(compile(code, place, "exec"), {})
    weeks = [pq.read_table(f"week{number}.parquet")["t"].to_numpy() for number in (1, 2)]
    monday = int(np.datetime64("2024-01-01", "s").astype(np.int64))
    assert [set((week - monday) // (7 * 86_400)) for week in weeks] == [{0}, {1}]
    assert len(list(Path().glob("week*.parquet"))) == 2
    assert sum(map(len, weeks)) == shoal.synthesize(n_subjects=20, days=14, seed=1).num_rows


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [example.name])
    runpy.run_path(str(example), run_name="__main__")
    assert "it is refused: ['box-not-tight'" in capsys.readouterr().out


def commands() -> list[str]:
    pages = [page.read_text().replace("\\\n", " ").replace("`", "\n") for page in PAGES]
    shown = [line for page in pages for line in page.splitlines()]
    found = [re.sub(r"^(\$ )?(\./dev |\.venv/bin/)?", "", line.strip().partition(" #")[0]) for line in shown]
    return sorted({line for line in found if re.match(r"shoal [a-z]+ ", line)})


@pytest.mark.parametrize("line", commands())
def test_commands_in_the_docs_exist(line: str) -> None:
    _, name, *words = shlex.split(line)
    command = cli.shoal.commands[name]
    if isinstance(command, click.Group):
        command = command.commands[words[0]]
    of_packages = [kind.load().get(name) for kind in entry_points(group="shoal.folders")]
    known = {
        option
        for form in (command, *filter(None, of_packages))
        for parameter in form.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known | {"--help"}


def first_cells(page: str) -> str:
    """The first cell of every row of every table of a page."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    return "\n".join(line.split("|")[1] for line in lines if line.startswith("| `"))


def test_the_page_on_utility_lists_every_metric() -> None:
    assert sorted(re.findall(r"`([\w-]+)`", first_cells("utility.md"))) == sorted(METRICS)


def test_the_page_on_attacks_lists_every_knowledge() -> None:
    assert set(re.findall(r"`([a-z][a-z-]+)[:`]", first_cells("attacks.md"))) == set(ATTACKS)


def test_the_page_on_formats_lists_every_export() -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    assert [name for name in EXPORTS if f"`{name}`" not in page] == []


def test_links_between_pages_lead_somewhere() -> None:
    links = [
        (page, target) for page in PAGES for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text())
    ]
    assert len(links) > len(PAGES)
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


RECORDS = {
    "decision": {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("0*.md")},
    "note": {path.name[:4] for path in (ROOT / "lab" / "notes").glob("0*.md")},
}


def test_the_index_of_decisions_lists_every_record_once() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\b0\d{3}\b(?!-)", index)) == sorted([*RECORDS["decision"], *RECORDS["note"]])


def test_every_cited_record_is_where_it_is_cited() -> None:
    cited = re.compile(r"(decision|note)s?[ /](0\d{3})\b", re.IGNORECASE)
    folders = ("src", "packages", "tests", "bench", "lab", "docs", "deploy", "examples")
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    for folder in folders:
        files += [path for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".md")]
    pairs = {pair for path in files for pair in cited.findall(path.read_text(encoding="utf-8"))}
    assert len(pairs) > 20
    assert {(kind, number) for kind, number in pairs if number not in RECORDS[kind.lower()]} == set()


def test_the_page_of_the_lab_names_every_script() -> None:
    page = (ROOT / "lab" / "README.md").read_text(encoding="utf-8")
    scripts = sorted(path.name for path in (ROOT / "lab").glob("*.py"))
    assert len(scripts) > 20
    assert [name for name in scripts if f"`{name}`" not in page] == []


def test_the_root_holds_no_file_that_a_run_left_behind() -> None:
    known = {"LICENSE", "CITATION.cff", "constraints.txt", "conftest.py", "dev", "pyproject.toml"}
    names = {path.name for path in ROOT.iterdir() if path.is_file() and path.suffix != ".md"}
    assert {name for name in names if not name.startswith(".")} == known
