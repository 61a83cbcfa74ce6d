"""Every public name stands once, in ``shoal/__init__.pyi``; everything else follows from that list."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal import errors
from shoal.model.claims import CLAIMS

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


def test_all_claims_and_all_errors_are_public() -> None:
    claims = {claim.__name__ for claim in CLAIMS.values()}
    tree = {
        name
        for name, each in vars(errors).items()
        if inspect.isclass(each) and issubclass(each, errors.ShoalError)
    }
    assert len(claims) >= 5
    assert len(tree) >= 8
    assert claims | tree <= set(shoal.__all__)
    assert all(issubclass(getattr(shoal, name), shoal.ShoalError) for name in tree)


def test_no_package_is_named_after_a_public_name() -> None:
    """``import shoal.compare`` would put the package in the place of the function."""
    packages = {path.parent.name for path in SOURCE.rglob("__init__.py")} - {"shoal"}
    beside = {path.stem for path in SOURCE.glob("*.py")}
    assert {"methods", "utility"} <= packages
    assert (packages | beside) & set(shoal.__all__) == set()
