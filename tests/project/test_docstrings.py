"""Examples in docstrings run as they stand, and print what they say."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import shoal
import shoal_tables

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "src", *ROOT.glob("packages/*/src")]
MODULES = [
    ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
    for source in SOURCES
    for path in sorted(source.rglob("*.py"))
    if ">>> " in path.read_text()
]


def test_papers_are_cited_by_their_authors() -> None:
    texts = {str(path): path.read_text() for source in SOURCES for path in source.rglob("*.py")}
    assert len(texts) > 100
    by_file = r"\b[a-z-]+\.txt[,;)] |semantics \d"
    assert [name for name, text in texts.items() if re.search(by_file, text)] == []


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0, "an example stands where doctest does not look for it"
    assert result.failed == 0


_ADDS_A_ROW = "register_"  # an example would add a row for all other tests; docs/your-own-method.md has them


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in (shoal, shoal_tables) for name in package.__all__]
)
def test_public_docstrings_have_the_sections_of_numpydoc(package: ModuleType, name: str) -> None:
    public = getattr(package, name)
    sections = re.findall(r"^(\w+)\n-+$", inspect.getdoc(public) or "", re.MULTILINE)
    if inspect.isfunction(public):
        signature = inspect.signature(public)
        needed = {
            "Parameters": bool(signature.parameters),
            "Returns": signature.return_annotation not in (None, "None"),
            "Examples": package is shoal and not name.startswith(_ADDS_A_ROW),
        }
        assert [section for section in needed if needed[section] and section not in sections] == []
    elif inspect.isclass(public) and not issubclass(public, Exception):
        assert {"Parameters", "Attributes"} & set(sections)
    else:
        assert public is not None
