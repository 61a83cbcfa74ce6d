"""Pages keep to their form: short lines, American spelling, and names of files and modules that exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "shoal"
PAGES = sorted(
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    + [
        *ROOT.glob("packages/*/README.md"),
        *(
            page
            for folder in ("docs", "lab")
            for page in (ROOT / folder).rglob("*.md")
            if "_build" not in page.parts
        ),
    ]
)
TEMPLATES = sorted(
    path
    for package in (SOURCE, *ROOT.glob("packages/*/src/shoal_*"))
    for folder in ("templates", "static")
    for path in package.rglob(f"{folder}/*")
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", [*PAGES, *TEMPLATES], ids=name_of)
def test_lines_of_prose_are_short(page: Path) -> None:
    long = [
        f"{number}: {len(line)}"
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120 and not line.startswith("|")  # Markdown cannot break a row of a table
    ]
    assert long == []


MOST_LINES = {
    "README.md": 120,
    "docs/attacks.md": 200,
    "docs/collect.md": 200,
    "docs/collect-operate.md": 360,
    "docs/collect-review.md": 400,
    "docs/glove.md": 220,
    "docs/performance.md": 250,
    "docs/verification.md": 250,
}


@pytest.mark.parametrize(("page", "most"), MOST_LINES.items())
def test_pages_end_before_a_reader_does(page: str, most: int) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= most


BRITISH = re.compile(
    r"\b\w*(?:neighbour|colour|favour|behaviour|honour|labour|metre|centre|travell|modell|labell|cancell(?!ation)"
    r"|anonymis|generalis|optimis|minimis|maximis|recognis|organis|summaris|analys(?:e|ing)\b|grey|judgement"
    r"|towards|afterwards|misspelt|learnt)\w*",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", [*PAGES, *TEMPLATES], ids=name_of)
def test_spelling_is_american(page: Path) -> None:
    assert BRITISH.findall(page.read_text(encoding="utf-8")) == []


def test_the_spelling_test_knows_british_words() -> None:
    assert BRITISH.findall("neighbours towards the centre") == ["neighbours", "towards", "centre"]


FILES = {path for path in ROOT.rglob("*.py") if ".venv" not in path.parts}
FOLDERS = {path.parent for path in FILES} | {
    *(each.parent for each in TEMPLATES),
    ROOT / "docs",
    ROOT / "docs" / "decisions",
    *ROOT.glob("packages/*"),
    ROOT / "lab" / "notes",
    ROOT / "deploy" / "collect",
}


def file_exists(named: str) -> bool:
    """Whether a page's `room/file.py`, `file.py`, `room/` or `tests/room/file.py` is there."""
    known = FOLDERS if named.endswith("/") else FILES
    return any(str(path).endswith(f"/{named.rstrip('/')}") for path in known)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_pages_name_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w./*-])((?:[\w-]+/)*[a-z_]+\.py)\b", text))
    named |= set(re.findall(r"`((?:src|tests|bench|lab|docs|examples|[a-z_]+)/(?:[a-z_]+/)*)`", text))
    assert sorted(one for one in named if not file_exists(one)) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_modules_and_names_that_pages_name_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w./-])(shoal(?:_[a-z]+)?(?:\.[A-Za-z_]\w*)+)", text))
    groups = {"shoal.metrics", "shoal.folders", "shoal.checks"}  # of entry points; others are modules, too
    assert sorted(one for one in named - groups if not name_exists(one)) == []


def name_exists(dotted: str) -> bool:
    package, *parts = dotted.split(".")
    value = import_module(package)
    for part in parts:
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = import_module(f"{value.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
    return True


def test_the_test_of_names_finds_what_is_gone() -> None:
    assert name_exists("shoal.model.release.Release")
    assert not name_exists("shoal.model.release.Gone")
    assert not name_exists("shoal.gone.Release")
    assert name_exists("shoal_collect.roles.participant.Participant")
    assert not name_exists("shoal_collect.roles.participant.Gone")
    assert file_exists("methods/assembly.py")
    assert file_exists("verification/boxes/")
    assert not file_exists("verification/company.py")


def test_measured_shares_are_written_in_one_way() -> None:
    files = [path for source in (ROOT / "src", ROOT / "packages") for path in source.rglob("*.py")]
    own = re.compile(r":[^{}\s]*\d%\}")  # units.percent writes them
    assert len(files) > 500
    assert [path.name for path in files if "tests" not in path.parts and own.search(path.read_text())] == []
