"""Beside our figures stands what the papers print: `printed_figures.toml` was copied from their text."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shoal_papers.table import papers

COPIED: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "printed_figures.toml").read_text(encoding="utf-8")
)
EVERY = [(paper, one) for paper, those in papers().items() for one in those]


def number(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def copied(table: Mapping[str, Any]) -> dict[tuple[str, str], float | tuple[float, ...]]:
    """The figures of one table or figure, by our names of its rows and columns."""
    values: dict[tuple[str, str], float | tuple[float, ...]] = {}
    for row, cells in zip(table.get("rows", []), table.get("cells", []), strict=True):
        for column, cell in zip(table["columns"], cells.split(), strict=True):
            if cell != "-":
                values[row, column] = number(cell) * table.get("scale", 1)
    for sentence in table.get("sentences", []):
        numbers = tuple(map(number, sentence["value"].split()))
        for row in sentence["rows"]:
            for column in sentence["columns"]:
                values[row, column] = numbers if len(numbers) > 1 else numbers[0]
    return values


@pytest.mark.parametrize(("paper", "one"), EVERY, ids=lambda each: getattr(each, "figure", each))
def test_printed_numbers_are_those_of_the_paper(paper: str, one: Any) -> None:
    wanted = copied(COPIED[paper].get(one.figure, {}))
    assert wanted.keys() == one.printed.keys()
    for key, value in wanted.items():
        assert one.printed[key] == pytest.approx(value, rel=1e-9), key


def test_nothing_is_copied_that_no_figure_has() -> None:
    named = {(paper, one.figure) for paper, one in EVERY}
    assert {(paper, figure) for paper, those in COPIED.items() for figure in those} <= named
