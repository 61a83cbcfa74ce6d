"""What a Parquet file tells of its own columns: said as it is it passes, and off by one it is found."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from shoal.verification.files.pages import (
    TEXT,
    Chunk,
    column_faults,
    page_faults,
    schema_faults,
    statistics_faults,
)

COLUMN = {"name": b"a", "repetition": 1, "type": 6}
FOOTER = {
    "schema": [{"name": b"schema", "children": 2}, COLUMN, {**COLUMN, "name": b"b"}],
    "version": 2,
    "orders": [{}, {}],
}
ROOT = "more in the root of its schema than the number of columns"
NEEDLESS = "numbers in its schema that nobody needs"
VERSION = "a version of the format that there is not"
ORDERS = "orders of values for columns that there are not"
ENCODINGS = "encodings that no page has"
COUNTS = "statistics that count what is not there"
SIZES = "statistics of sizes that are not those of its pages"


def with_root(**entries: object) -> dict[str, Any]:
    schema: Any = FOOTER["schema"]
    return {"schema": [{**schema[0], **entries}, *schema[1:]]}


def with_column(**entries: object) -> dict[str, Any]:
    schema: Any = FOOTER["schema"]
    return {"schema": [*schema[:2], {**COLUMN, **entries}]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"version": 1}, []),
        ({"version": 0}, [VERSION]),
        ({"version": 3}, [VERSION]),
        ({"version": None}, [VERSION]),
        ({"orders": []}, []),
        ({"orders": [{}]}, [ORDERS]),
        ({"orders": [{}] * 3}, [ORDERS]),
        (with_root(repetition=0), []),
        (with_root(repetition=1), [ROOT]),
        (with_root(children=1), [ROOT]),
        (with_root(children=3), [ROOT]),
        (with_root(field_id=7), [ROOT]),
        (with_root(name=b"root"), [ROOT]),
        (with_column(converted_type=0), []),
        *((with_column(**{name: 0}), [NEEDLESS]) for name in ("type_length", "scale", "precision")),
        (with_column(field_id=0), [NEEDLESS]),
        (with_column(children=0), [NEEDLESS]),
    ],
)
def test_the_schema_says_the_columns_and_no_more(change: Mapping[str, Any], expected: list[str]) -> None:
    assert list(schema_faults({**FOOTER, **change}, 2)) == expected


def test_a_schema_of_no_column_has_no_orders() -> None:
    footer = {"schema": [{"name": b"schema", "children": 0}], "version": 2}
    assert list(schema_faults(footer, 0)) == []
    assert list(schema_faults({**footer, "orders": [{}]}, 0)) == [ORDERS]


def chunk_of(*, physical: str = TEXT, optional: bool = True) -> Chunk:
    """7 rows, 2 of them gaps, of 40 bytes: a dictionary and two pages by it, and one of plain values."""
    chunk = Chunk(physical, optional=optional, stated_values=set(), tell=lambda _: None)
    chunk.pages = Counter({(2, 0): 1, (0, 8): 2, (0, 0): 1})
    chunk.n_values, chunk.n_gaps, chunk.n_bytes = 7, 2, 40
    return chunk


def counted(page_type: int, encoding: int, pages: int) -> dict[str, int]:
    return {"page_type": page_type, "encoding": encoding, "pages": pages}


RIGHT = [counted(2, 0, 1), counted(0, 8, 2), counted(0, 0, 1)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, []),
        ({"encodings": [0, 3, 8, 0, 8, 3]}, []),  # six, as writers give them
        ({"encodings": [0, 3, 8, 0, 8, 3, 0]}, [ENCODINGS]),
        ({"encodings": [0, 3, 8, 4]}, [ENCODINGS]),
        ({"encodings": [2]}, [ENCODINGS]),
        ({"encoding_counts": RIGHT}, []),
        ({"encoding_counts": RIGHT[::-1]}, []),
        ({"encoding_counts": RIGHT[:2]}, [ENCODINGS]),
        ({"encoding_counts": [*RIGHT[:2], counted(0, 0, 2)]}, [ENCODINGS]),
        ({"encoding_counts": [*RIGHT, counted(0, 8, 2)]}, [ENCODINGS]),
        ({"encoding_counts": [*RIGHT, {"page_type": 1, "encoding": 0, "pages": 1}]}, [ENCODINGS]),
        ({"encoding_counts": [*RIGHT, {"page_type": 1, "encoding": 0}]}, []),  # none of these: nothing said
        ({"encoding_counts": [*RIGHT, counted(1, 0, 0)]}, []),
        ({"encoding_counts": [{"page_type": 2, "encoding": 0}, *RIGHT[1:]]}, [ENCODINGS]),
        ({"statistics": {"nulls": 2}}, []),
        ({"statistics": {"nulls": 3}}, [COUNTS]),
        ({"sizes": {"bytes": 40}}, []),
        ({"sizes": {"bytes": 41}}, [SIZES]),
        ({"sizes": {"repetition_levels": [7]}}, []),
        ({"sizes": {"repetition_levels": [6]}}, [SIZES]),
        ({"sizes": {"definition_levels": [2, 5]}}, []),
        ({"sizes": {"definition_levels": [5]}}, [SIZES]),
        ({"sizes": {"definition_levels": [2, 9]}}, [SIZES]),
        ({"sizes": {"definition_levels": []}}, []),
    ],
)
def test_a_column_is_told_as_its_pages_are(data: Mapping[str, Any], expected: list[str]) -> None:
    assert list(column_faults(data, chunk_of())) == expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, []),
        ({"bytes": 40}, [SIZES]),  # numbers have no texts
        ({"bytes": 0}, [SIZES]),
        ({"definition_levels": [5]}, []),
        ({"definition_levels": [2, 5]}, [SIZES]),
        ({"repetition_levels": [7], "definition_levels": [5]}, []),
    ],
)
def test_a_column_of_numbers_without_gaps_has_sizes_of_its_own(
    sizes: Mapping[str, Any], expected: list[str]
) -> None:
    assert list(column_faults({"sizes": sizes}, chunk_of(physical="<i8", optional=False))) == expected


@pytest.mark.parametrize(
    ("statistics", "expected"),
    [
        ({}, []),
        ({"nulls": 2, "max_exact": True, "min_exact": True}, []),
        ({"nulls": 1}, [COUNTS]),
        ({"nulls": 3}, [COUNTS]),
        ({"distinct": 2}, [COUNTS]),
        ({"max_exact": False}, [COUNTS]),
        ({"min_exact": False}, [COUNTS]),
        ({"nulls": 0, "min_exact": False}, [COUNTS] * 2),
    ],
)
def test_statistics_count_what_is_there(statistics: Mapping[str, Any], expected: list[str]) -> None:
    assert list(statistics_faults(statistics, 2)) == expected
    levels = {"definition_levels": 3, "repetition_levels": 3}
    assert list(page_faults({**levels, "statistics": statistics}, 2)) == expected


@pytest.mark.parametrize("levels", [(3, 4), (4, 3), (4, 4), (None, 3), (3, None)])
def test_levels_of_a_page_are_stored_in_runs(levels: tuple[int | None, int | None]) -> None:
    messages = dict(zip(("definition_levels", "repetition_levels"), levels, strict=True))
    head = {name: level for name, level in messages.items() if level is not None}
    assert list(page_faults(head, 0)) == [ENCODINGS]
