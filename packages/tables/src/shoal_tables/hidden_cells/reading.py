"""Read a published table of counts, and write its numbers as ranges of sums over the finest cells."""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import sparse

from shoal.errors import InputError, MisuseError
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal_tables.definition.manifest import COLUMNS, ZONE_COLUMNS, Kind
from shoal_tables.definition.text_tables import open_texts, texts_of

_NOT_NEEDED: Final = ("hour", "day")  # columns that a table may lack
TOTALS: Final = frozenset({"total", "all", "sum"})
_HIDDEN: Final = frozenset({"", "*", "x", "c", ".", "..", "...", "na", "n/a", "nan", "null", "hidden"})
_BELOW: Final = re.compile(r"<\s*(=?)\s*(\d{1,12})")
_COUNTS: Final = ("count", "trips", "people", "flow", "n", "value", "freq")
_LARGEST: Final = 1e12

Key = tuple[str, ...]


@dataclass(frozen=True)
class PublishedTable:
    """A table as published: keys of rows, which add up others, ranges of true counts, hidden ones."""

    columns: tuple[str, ...]
    keys: tuple[Key, ...]
    is_sum: Flags
    low: Floats
    high: Floats
    hidden: Flags


@dataclass(frozen=True)
class Hiding:
    """How the publisher hid and rounded, as far as this is public."""

    hidden_range: tuple[int, int] | None = None  # the least and the largest count of a hidden cell
    rounded_to: int = 1
    at_random: bool = False  # to the next multiple below or above, else to the nearest

    def __post_init__(self) -> None:
        if self.rounded_to < 1:
            raise MisuseError(f"--rounded-to {self.rounded_to} is no step; give a whole number above 0")
        if self.hidden_range is not None and not 0 <= self.hidden_range[0] <= self.hidden_range[1]:
            raise MisuseError(
                "--hidden-range needs two whole numbers from the least to the largest, such as 1-9"
            )
        if self.at_random and self.rounded_to == 1:
            raise MisuseError("--rounded-at-random needs the step: give --rounded-to, for example 3")

    @property
    def reach(self) -> int:
        """The furthest that a shown count lies from the true one."""
        return self.rounded_to - 1 if self.at_random else self.rounded_to // 2


def read_published(
    path: Path, kind: Kind, rules: Hiding, outer: Collection[str], count: str | None = None
) -> PublishedTable:
    """Read a CSV or Parquet file with a row for each cell or sum, also of outer zones. count: its column."""
    table = open_texts(path)
    names = {name.strip().lower(): name for name in table.column_names}
    columns = tuple(name for name in COLUMNS[kind] if name in names or name not in _NOT_NEEDED)
    absent = [name for name in columns if name not in names]
    if absent:
        raise InputError(
            f"{path.name} has no column '{absent[0]}', which a table of {kind} needs; "
            f"its columns: {', '.join(table.column_names)}"
        )
    texts = [texts_of(table[names[name]]) for name in columns]
    keys = tuple(zip(*texts, strict=True))
    if not keys:
        raise InputError(f"{path.name} has no rows; nothing can be checked")
    _require_keys(path, columns, keys)
    low, high, hidden = _ranges(path, texts_of(table[_count_column(path, names, count)]), rules)
    is_sum = np.zeros(len(keys), dtype=bool)
    for name, column in zip(columns, texts, strict=True):
        sums = outer if name in ZONE_COLUMNS else ()
        is_sum |= [value.lower() in TOTALS or value in sums for value in column]
    return PublishedTable(columns, keys, is_sum, low, high, hidden)


def _require_keys(path: Path, columns: Sequence[str], keys: Sequence[Key]) -> None:
    rows: dict[Key, int] = {}
    for row, key in enumerate(keys, 1):
        if not all(key):
            raise InputError(f"{path.name}, row {row}: '{columns[key.index('')]}' is empty")
        if key in rows:
            raise InputError(f"{path.name}: rows {rows[key]} and {row} are the same cell; leave one out")
        rows[key] = row


def _count_column(path: Path, names: Mapping[str, str], count: str | None) -> str:
    if count is not None:
        if count.lower() not in names:
            raise InputError(f"{path.name} has no column '{count}'; name the counts with --count")
        return names[count.lower()]
    recognized = [names[name] for name in _COUNTS if name in names]
    if len(recognized) != 1:
        raise InputError(f"{path.name}: which column holds the counts? Name it with --count")
    return recognized[0]


def _ranges(path: Path, texts: Sequence[str], rules: Hiding) -> tuple[Floats, Floats, Flags]:
    low, high = np.zeros(len(texts)), np.full(len(texts), np.inf)
    hidden = np.zeros(len(texts), dtype=bool)
    for row, text in enumerate(texts):
        below = _BELOW.fullmatch(text)
        if below or text.lower() in _HIDDEN:
            hidden[row] = True
            if below:
                high[row] = int(below[2]) - (not below[1])
            continue
        try:
            value = float(text)
            is_whole = 0 <= value <= _LARGEST and value == int(value)
        except ValueError:
            is_whole = False
        if not is_whole:
            raise InputError(
                f"{path.name}, row {row + 1}: the count is neither a whole number up to {_LARGEST:.0e}, nor "
                "a mark of a hidden cell (empty, *, x, c, .., <10); of means, give sums"
            )
        if value % rules.rounded_to:
            raise InputError(f"{path.name}, row {row + 1}: the count is no multiple of --rounded-to")
        low[row], high[row] = max(value - rules.reach, 0), value + rules.reach
    return low, high, hidden


_MOST_CELLS: Final = 2_000_000


@dataclass(frozen=True)
class System:
    """Ranges of unknown counts [n], which of them public sums add up [m, n], ranges of sums [m]."""

    low: Floats
    high: Floats
    sums: Any
    sum_low: Floats
    sum_high: Floats


def finest_cells(
    tables: Sequence[PublishedTable], parent_of: Mapping[str, str], absent: str | None
) -> tuple[tuple[Key, ...], list[list[Integers]]]:
    """Find the finest cells of the versions of a table, and what each row of each version adds up."""
    columns = tables[0].columns
    if any(table.columns != columns for table in tables):
        raise InputError("the versions have different columns; give tables of the same cells")
    leaf_keys = {table.keys[row] for table in tables for row in np.flatnonzero(~table.is_sum)}
    if not leaf_keys:
        raise InputError("the table has sums only, and no cell")
    values = [sorted(set(column)) for column in zip(*leaf_keys, strict=True)]
    n_all = int(np.prod([len(one) for one in values], dtype=float))
    has_sums = any(table.is_sum.any() for table in tables) or len(tables) > 1
    if n_all > len(leaf_keys) and has_sums and absent is None:
        raise MisuseError(
            f"{n_all - len(leaf_keys):,} of {n_all:,} cells have no row, and sums depend on them: are they "
            "zero or hidden? Say --absent zero or --absent hidden"
        )
    if absent == "hidden":
        if n_all > _MOST_CELLS:
            raise MisuseError(
                f"{n_all:,} cells are too many; check parts of the table, at most {_MOST_CELLS:,} cells"
            )
        leaf_keys = set(itertools.product(*values))
    keys = tuple(sorted(leaf_keys))
    number = {key: cell for cell, key in enumerate(keys)}
    leaves_in = _leaves_in(columns, values, parent_of)
    added_up = [
        [_added_up(row, key, leaves_in, number) for row, key in enumerate(table.keys, 1)] for table in tables
    ]
    return keys, added_up


def system_of(
    table: PublishedTable,
    n: int,
    of_row: Sequence[Integers],
    hidden_range: tuple[int, int] | None,
    absent: str | None,
) -> System:
    """Write the rows of one table as ranges of n unknowns and of sums."""
    least, most = hidden_range or (0, np.inf)
    low, high = (np.full(n, float(end)) for end in ((least, most) if absent == "hidden" else (0, 0)))
    shown = np.flatnonzero(table.is_sum & np.isfinite(table.high))
    leaves = np.flatnonzero(~table.is_sum)
    cells = np.array([of_row[row][0] for row in leaves.tolist()], dtype=np.int64)
    low[cells] = np.maximum(table.low, np.where(table.hidden, least, 0))[leaves]
    high[cells] = np.minimum(table.high, np.where(table.hidden, most, np.inf))[leaves]
    rows = [of_row[row] for row in shown.tolist()]
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    ends = np.cumsum([0, *map(len, rows)])
    sums = sparse.csr_array((np.ones(len(indices)), indices, ends), shape=(len(rows), n))
    return System(low, high, sums, table.low[shown], table.high[shown])


def stacked_versions(earlier: System, later: System) -> System:
    """Unknowns of two versions: the later counts, and what each count lost since the earlier version."""
    n = len(later.low)
    one = sparse.eye_array(n)
    blocks = [[later.sums, None], [earlier.sums, earlier.sums], [one, one]]
    return System(
        low=np.concatenate([later.low, np.zeros(n)]),
        high=np.concatenate([later.high, earlier.high]),
        sums=sparse.block_array(blocks, format="csr"),
        sum_low=np.concatenate([later.sum_low, earlier.sum_low, earlier.low]),
        sum_high=np.concatenate([later.sum_high, earlier.sum_high, earlier.high]),
    )


def _leaves_in(
    columns: Sequence[str], values: Sequence[Sequence[str]], parent_of: Mapping[str, str]
) -> list[dict[str, list[str]]]:
    """For each column, the finest values within each value that is a sum."""
    result = []
    for name, finest in zip(columns, values, strict=True):
        within: dict[str, list[str]] = {}
        for value in finest:
            above = value
            while name in ZONE_COLUMNS and above in parent_of:
                above = parent_of[above]
                within.setdefault(above, []).append(value)
        result.append(within | {value: [value] for value in finest} | {"": list(finest)})
    return result


def _added_up(
    row: int, key: Key, leaves_in: Sequence[dict[str, list[str]]], number: Mapping[Key, int]
) -> Integers:
    parts = [
        within.get("" if value.lower() in TOTALS else value, [])
        for value, within in zip(key, leaves_in, strict=True)
    ]
    cells = [number[one] for one in itertools.product(*parts) if one in number]
    if not cells:
        raise InputError(f"row {row} is a sum of no cell in the table; name its zones with --nested")
    return np.array(cells, dtype=np.int64)
