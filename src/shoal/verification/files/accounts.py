"""What a Parquet file tells of its own columns, pages and layout, held against what is there.

Readers pass over most of it, so that a list of encodings or of sizes could hold anything.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from shoal.verification.files.pages import TEXT, Chunk

_BY_RUNS: Final = 3  # how levels are stored
_MOST_ENCODINGS: Final = 6
_ROOT: Final = b"schema"
_NEEDLESS: Final = frozenset({"type_length", "scale", "precision", "field_id"})


def schema_faults(footer: Mapping[str, Any], n_columns: int) -> Iterator[str]:
    """What stands in the footer around the columns, and is no column."""
    root, *columns = footer["schema"]
    if {"repetition": 0, **root} != {"name": _ROOT, "children": n_columns, "repetition": 0}:
        yield "more in the root of its schema than the number of columns"
    if any(_NEEDLESS & column.keys() or "children" in column for column in columns):
        yield "numbers in its schema that nobody needs"
    if footer.get("version") not in {1, 2}:
        yield "a version of the format that there is not"
    if len(footer.get("orders", ())) not in {0, n_columns}:
        yield "orders of values for columns that there are not"


def column_faults(data: Mapping[str, Any], chunk: Chunk) -> Iterator[str]:
    """What the footer tells of one column and group, and its pages do not show."""
    told = data.get("encodings", [])
    used = {encoding for _, encoding in chunk.pages} | {_BY_RUNS}
    if len(told) > _MOST_ENCODINGS or not used.issuperset(told):
        yield "encodings that no page has"
    counts = [(each.get("page_type"), each.get("encoding")) for each in data.get("encoding_counts", [])]
    pages = Counter(
        {
            pair: each.get("pages", 0)
            for pair, each in zip(counts, data.get("encoding_counts", []), strict=True)
        }
    )
    if counts and (pages != chunk.pages or len(set(counts)) != len(counts)):
        yield "encodings that no page has"
    yield from statistics_faults(data.get("statistics", {}), chunk.n_gaps)
    sizes = data.get("sizes", {})
    filled = chunk.n_values - chunk.n_gaps
    levels = [chunk.n_gaps, filled] if chunk.optional else [filled]
    if (
        sizes.get("bytes") not in {None, chunk.n_bytes if chunk.physical == TEXT else None}
        or sizes.get("repetition_levels", []) not in ([], [chunk.n_values])
        or sizes.get("definition_levels", []) not in ([], levels)
    ):
        yield "statistics of sizes that are not those of its pages"


def page_faults(head: Mapping[str, Any], n_gaps: int) -> Iterator[str]:
    """What the header of a data page tells, and the page does not show; n_gaps: in the page."""
    if {head.get("definition_levels"), head.get("repetition_levels")} != {_BY_RUNS}:
        yield "encodings that no page has"
    yield from statistics_faults(head.get("statistics", {}), n_gaps)


def statistics_faults(statistics: Mapping[str, Any], n_gaps: int) -> Iterator[str]:
    """Counts and marks of statistics that are not so; their values are looked up elsewhere."""
    if statistics.get("nulls", n_gaps) != n_gaps or "distinct" in statistics:
        yield "statistics that count what is not there"
    if not (statistics.get("max_exact", True) and statistics.get("min_exact", True)):
        yield "statistics that count what is not there"
