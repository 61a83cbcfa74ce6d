"""The published numbers as ranges of sums over the finest cells."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import sparse

from shoal.errors import InputError, MisuseError
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal_tables.hidden_cells.reading import TOTALS, ZONES, Key, PublishedTable

_MOST_CELLS: Final = 2_000_000


@dataclass(frozen=True)
class System:
    """Ranges of unknown counts [n], which of them public sums add up [m, n], ranges of sums [m]."""

    low: Floats
    high: Floats
    sums: Any
    sum_low: Floats
    sum_high: Floats


@dataclass(frozen=True)
class Cells:
    """The finest cells, which of them each row of the table adds up."""

    keys: tuple[Key, ...]
    of_row: tuple[Integers, ...]
    is_sum: Flags


def finest_cells(
    tables: Sequence[PublishedTable], parent_of: Mapping[str, str], absent: str | None
) -> list[Cells]:
    """Find the finest cells of tables with the same columns, and what each row of each adds up.

    Parameters
    ----------
    tables
        One table, or several versions of it.
    parent_of
        The zone around each zone, for tables with nested zones.
    absent
        Whether a cell without a row is "zero" or "hidden"; None = not stated.

    Raises
    ------
    InputError
        For versions with different columns, or a sum without any cell.
    MisuseError
        Where cells have no row, sums depend on them, and ``absent`` is not stated.
    """
    columns = tables[0].columns
    if any(table.columns != columns for table in tables):
        raise InputError("the versions have different columns; give tables of the same cells")
    around = set(parent_of.values())
    sums = [[_is_sum(columns, key, around) for key in table.keys] for table in tables]
    leaf_keys = {
        key for table, is_sum in zip(tables, sums, strict=True)
        for key, one in zip(table.keys, is_sum, strict=True) if not one
    }  # fmt: skip
    if not leaf_keys:
        raise InputError("the table has sums only, and no cell")
    values = [sorted(set(column)) for column in zip(*leaf_keys, strict=True)]
    n_all = int(np.prod([len(one) for one in values], dtype=float))
    has_sums = any(map(any, sums)) or len(tables) > 1
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
    result = []
    for table, is_sum in zip(tables, sums, strict=True):
        of_row = tuple(
            _added_up(key, leaves_in, number) if one else np.array([number[key]])
            for key, one in zip(table.keys, is_sum, strict=True)
        )
        for row, cells in enumerate(of_row, 1):
            if not len(cells):
                raise InputError(f"row {row} is a sum of no cell in the table; name its zones with --nested")
        result.append(Cells(keys, of_row, np.array(is_sum, dtype=bool)))
    return result


def system_of(
    table: PublishedTable, cells: Cells, hidden_range: tuple[int, int] | None, absent: str | None
) -> System:
    """Write the rows of one table as ranges of unknowns and of sums."""
    n = len(cells.keys)
    least, most = hidden_range or (0, np.inf)
    absent_range = (least, most) if absent == "hidden" else (0, 0)
    low, high = np.full(n, float(absent_range[0])), np.full(n, float(absent_range[1]))
    shown = [row for row, one in enumerate(cells.is_sum.tolist()) if one and np.isfinite(table.high[row])]
    for row in np.flatnonzero(~cells.is_sum).tolist():
        cell = int(cells.of_row[row][0])
        low[cell], high[cell] = table.low[row], table.high[row]
        if table.hidden[row]:
            low[cell], high[cell] = max(low[cell], least), min(high[cell], most)
    return System(
        low, high, matrix([cells.of_row[row] for row in shown], n), table.low[shown], table.high[shown]
    )


def matrix(rows: Sequence[Integers], n: int) -> Any:
    """Make the sparse matrix with a 1 for each number in each row."""
    indices = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return sparse.csr_array((np.ones(len(indices)), indices, ends), shape=(len(rows), n))


def stacked_versions(earlier: System, later: System) -> System:
    """Unknowns of two versions: the later counts, and what each count lost since the earlier version."""
    n = len(later.low)
    whole = sparse.hstack([earlier.sums, earlier.sums])
    cells = sparse.hstack([sparse.eye_array(n), sparse.eye_array(n)])
    of_later = sparse.hstack([later.sums, sparse.csr_array(later.sums.shape)])
    return System(
        low=np.concatenate([later.low, np.zeros(n)]),
        high=np.concatenate([later.high, earlier.high]),
        sums=sparse.csr_array(sparse.vstack([of_later, whole, cells])),
        sum_low=np.concatenate([later.sum_low, earlier.sum_low, earlier.low]),
        sum_high=np.concatenate([later.sum_high, earlier.sum_high, earlier.high]),
    )


def _is_sum(columns: Sequence[str], key: Key, around: set[str]) -> bool:
    return any(
        value.lower() in TOTALS or (name in ZONES and value in around)
        for name, value in zip(columns, key, strict=True)
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
            while name in ZONES and above in parent_of:
                above = parent_of[above]
                within.setdefault(above, []).append(value)
        result.append(within | {value: [value] for value in finest} | {"": list(finest)})
    return result


def _added_up(key: Key, leaves_in: Sequence[dict[str, list[str]]], number: Mapping[Key, int]) -> Integers:
    parts = [
        within.get("" if value.lower() in TOTALS else value, [])
        for value, within in zip(key, leaves_in, strict=True)
    ]
    cells = (number.get(one) for one in itertools.product(*parts))
    return np.array([cell for cell in cells if cell is not None], dtype=np.int64)
