"""Every public name stands once, in ``shoal/__init__.pyi``; everything else follows from that list."""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pyarrow
import pytest

import shoal
from shoal import errors

SOURCE = Path(shoal.__file__).parent
LAZY = ("click", "jinja2", "numba", "numpy", "pandas", "plotly", "pyarrow", "pydantic", "pyproj", "rich")


def test_every_public_name_is_there() -> None:
    assert len(shoal.__all__) > 50
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    assert dir(shoal) == shoal.__all__


def test_a_row_of_the_stub_names_one_thing_that_is_called_so_where_it_lives() -> None:
    rows = re.findall(
        r"^from (\S+) import (\w+) as (\w+)$", (SOURCE / "__init__.pyi").read_text(), re.MULTILINE
    )
    assert sorted(name for _, _, name in rows) == shoal.__all__
    assert len({name for _, _, name in rows}) == len(rows)
    assert [row for row in rows if row[1] != row[2]] == []


def test_no_public_name_is_written_into_the_package_itself() -> None:
    code = (SOURCE / "__init__.py").read_text()
    assert [name for name in shoal.__all__ if re.search(rf"[\"'.]{name}\b", code)] == []


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(AttributeError, match="module 'shoal' has no attribute 'nothing'"):
        getattr(shoal, "nothing")  # noqa: B009  # type checkers refuse it too
    told = subprocess.run(
        [sys.executable, "-c", "import shoal; shoal.reed"], capture_output=True, text=True, check=False
    )
    assert "Did you mean: 'read'?" in told.stderr


def test_importing_shoal_loads_no_library() -> None:
    code = f"import shoal, sys; print([name for name in {LAZY} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_all_errors_are_public() -> None:
    tree = {
        name
        for name, each in vars(errors).items()
        if inspect.isclass(each) and issubclass(each, errors.ShoalError)
    }
    assert len(tree) >= 8
    assert tree <= set(shoal.__all__)
    assert all(issubclass(getattr(shoal, name), shoal.ShoalError) for name in tree)


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (
            shoal.CLAIMS,
            {"KAnonymity", "KDeltaAnonymity", "KteAnonymity", "LocationPrivacy", "TrajectoryPrivacy"},
        ),
        (
            shoal.METHODS,
            {"Glove", "KteHide", "Nwa", "ReachLocations", "StaticGeneralization", "SwapLocations", "W4m"},
        ),
    ],
    ids=["claims", "methods"],
)
def test_the_published_ones_of_a_table_are_public(table: dict[str, type], names: set[str]) -> None:
    """Others of a table, such as toys, are at hand through it: ``shoal.METHODS["toy"]``."""
    assert names <= {each.__name__ for each in table.values()}
    assert names <= set(shoal.__all__)


def classes_in(annotation: object) -> Iterator[type]:
    """Every class that an annotation names."""
    if isinstance(annotation, type):
        yield annotation
    for part in get_args(annotation):
        yield from classes_in(part)


def test_what_a_public_function_takes_or_gives_is_public() -> None:
    functions = [each for name in shoal.__all__ if inspect.isfunction(each := getattr(shoal, name))]
    assert len(functions) > 15
    named = {
        (function.__name__, each.__name__)
        for function in functions
        for annotation in get_type_hints(function, localns={"pa": pyarrow}).values()
        for each in classes_in(annotation)
        if each.__module__.startswith("shoal.")
    }
    assert ("publish", "Method") in named
    assert [pair for pair in sorted(named) if pair[1] not in shoal.__all__] == []


def test_no_package_is_named_after_a_public_name() -> None:
    """``import shoal.compare`` would put the package in the place of the function."""
    packages = {path.parent.name for path in SOURCE.rglob("__init__.py")} - {"shoal"}
    beside = {path.stem for path in SOURCE.glob("*.py")}
    assert {"methods", "utility"} <= packages
    assert (packages | beside) & set(shoal.__all__) == set()
