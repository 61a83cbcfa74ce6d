"""From cleaned rows to the arrays of Trajectories."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.io.cleaning import LARGEST_M, OFF_LIST, OUTSIDE, TOO_LARGE
from shoal.io.columns.public_places import ListedPlaces
from shoal.io.columns.time_text import SECOND, Micros
from shoal.io.columns.values import Codes
from shoal.model.grid import Grid
from shoal.model.projection import WGS84, transform
from shoal.runtime.arrays import Flags, Floats, Integers, Numbers
from shoal.units import DAY_S

FINEST_M: Final = 0.001
COARSEST_M: Final = 40_075_000.0
LONGEST_S: Final = 1000 * 365.25 * DAY_S


@dataclass(frozen=True)
class Rows:
    """Rows in input order. Microseconds and degrees or meters at first, then units of Trajectories."""

    code: Codes  # of the subject
    t: Numbers
    x: Numbers
    y: Numbers
    lat: Floats | None = None  # degrees of the input, for points without a grid
    lon: Floats | None = None

    def take(self, rows: Flags) -> "Rows":
        """These rows."""
        present = {name: values for name, values in vars(self).items() if values is not None}
        return Rows(**{name: values[rows] for name, values in present.items()})


@dataclass(frozen=True, kw_only=True)
class Arranged:
    """The arrays of Trajectories."""

    ids: tuple[str, ...]
    offsets: Integers
    t: Numbers
    x: Numbers
    y: Numbers
    input_rank: Integers
    lat: Floats | None = None
    lon: Floats | None = None


def require_grid(grid: Grid) -> None:
    """Raise MisuseError for cells below a millimeter or wider than the earth, and slots beyond use."""
    if not grid.cell_m <= COARSEST_M:
        raise MisuseError(f"cell_m = {grid.cell_m} is wider than the earth; choose at most {COARSEST_M:.0f}")
    if not grid.slot_s <= LONGEST_S:
        raise MisuseError(f"slot_s = {grid.slot_s} is longer than a thousand years; choose a shorter slot")
    if grid.cell_m < FINEST_M:
        raise MisuseError(
            f"cell_m = {grid.cell_m} is finer than a millimeter; choose at least {FINEST_M}, or keep points "
            "with --no-snap"
        )
    if grid.slot_s * SECOND < 1:
        raise MisuseError(
            f"slot_s = {grid.slot_s} is finer than a microsecond; choose a longer slot, or keep points with "
            "--no-snap"
        )


def place_rows(
    rows: Rows,
    plane: str | None,
    grid: Grid | None,
    *,
    keep_degrees: bool = False,
    listed: ListedPlaces | None = None,
) -> tuple[Rows, dict[str, int]]:
    """The rows in ``plane`` (None = meters already) and in listed cells; the number of others by reason.

    Without ``grid`` units are seconds and meters; ``keep_degrees`` keeps the degrees as well.
    """
    x, y = (rows.x, rows.y) if plane is None else transform(WGS84, plane, rows.x, rows.y)
    placed = Rows(rows.code, rows.t, x, y, rows.y, rows.x) if keep_degrees else Rows(rows.code, rows.t, x, y)
    inside = (np.abs(x) <= LARGEST_M) & (np.abs(y) <= LARGEST_M)
    lost: dict[str, int] = {}
    if not inside.all():
        lost[OUTSIDE if plane is not None else TOO_LARGE] = int(np.count_nonzero(~inside))
        placed = placed.take(inside)
    if grid is None:
        return replace(placed, t=placed.t / SECOND), lost
    x, y = cells(placed.x, grid.cell_m), cells(placed.y, grid.cell_m)
    placed = Rows(placed.code, slots(placed.t, grid.slot_s), x, y)
    on_list = np.ones(1, dtype=np.bool_) if listed is None else listed.hold(x, y)
    if not on_list.all():
        lost[OFF_LIST] = int(np.count_nonzero(~on_list))
        placed = placed.take(on_list)
    return placed, lost


def slots(t: Micros, slot_s: float) -> Micros:
    """floor(t / slot_s) of microseconds, exact for whole microseconds."""
    width = Fraction(str(float(slot_s))) * SECOND
    if width.denominator == 1:
        return t // width.numerator
    return np.floor(t / float(width)).astype(np.int64)


def cells(meters: Floats, cell_m: float) -> Integers:
    """floor(meters / cell_m)."""
    scaled = np.asarray(meters / cell_m)
    return np.floor(scaled, out=scaled).astype(np.int64)


def arrange(parts: list[Rows], texts: Sequence[str]) -> tuple[Arranged, int]:
    """Subjects by id, their samples by (t, x, y), and the number of exact duplicates. Empties ``parts``."""
    first_row = np.full(len(texts), -1, dtype=np.int64)
    row = sum(len(part.code) for part in parts)
    for part in reversed(parts):
        row -= len(part.code)
        first_row[part.code[::-1]] = np.arange(row + len(part.code) - 1, row - 1, -1)
    present = np.flatnonzero(first_row >= 0)
    by_text = sorted(present.tolist(), key=texts.__getitem__)
    subject_of_code = np.zeros(len(texts), dtype=np.int64)
    subject_of_code[by_text] = np.arange(len(by_text))
    rank = np.empty(len(by_text), dtype=np.int64)
    rank[np.argsort(first_row[by_text])] = np.arange(len(by_text))
    n_rows = sum(len(part.code) for part in parts)
    subject, t, x, y, *degrees = sorted_rows(parts, subject_of_code, len(by_text))
    arranged = Arranged(
        ids=tuple(texts[code] for code in by_text),
        offsets=np.searchsorted(subject, np.arange(len(by_text) + 1)).astype(np.int64),
        t=t,
        x=x,
        y=y,
        input_rank=rank,
        lat=degrees[0] if degrees else None,
        lon=degrees[1] if degrees else None,
    )
    return arranged, n_rows - len(t)


def sorted_rows(parts: list[Rows], subject_of_code: Integers, n_subjects: int) -> Sequence[Any]:
    """The different rows (subject, t, x, y, degrees), ascending. Empties ``parts``.

    Whole numbers are packed with the subject into one 64-bit key if they fit: that takes a tenth of time
    and memory.
    """
    filled = [part for part in parts if part.code.size]
    if filled and filled[0].t.dtype == np.int64:
        axes = [(part.t, part.x, part.y) for part in filled]
        lowest = np.min([[values.min() for values in part] for part in axes], axis=0).tolist()
        highest = np.max([[values.max() for values in part] for part in axes], axis=0).tolist()
        bits = [(high - low).bit_length() for low, high in zip(lowest, highest, strict=True)]
        if sum(bits) + (n_subjects - 1).bit_length() <= 64:
            return _sorted_keys(parts, subject_of_code, lowest, bits)
    return _sorted_columns(parts, subject_of_code)


def _sorted_keys(
    parts: list[Rows], subject_of_code: Integers, lowest: Sequence[int], bits: Sequence[int]
) -> Sequence[Integers]:
    """For rows that fit a key. lowest, bits: of t, x and y."""
    key = np.empty(sum(len(part.code) for part in parts), dtype=np.uint64)
    end = len(key)
    while parts:
        part = parts.pop()
        packed = subject_of_code[part.code].astype(np.uint64)
        for values, low, width in zip((part.t, part.x, part.y), lowest, bits, strict=True):
            packed <<= np.uint64(width)
            packed |= (values - low).view(np.uint64)
        key[end - len(packed) : end] = packed
        end -= len(packed)
    key.sort()
    fresh = np.ones(len(key), dtype=np.bool_)
    np.not_equal(key[1:], key[:-1], out=fresh[1:])
    if not fresh.all():
        key = key[fresh]
    columns: list[Integers] = []
    for low, width in zip(reversed(lowest), reversed(bits), strict=True):
        columns.append((key & np.uint64((1 << width) - 1)).view(np.int64))
        columns[-1] += low
        key >>= np.uint64(width)
    return [key.view(np.int64), *reversed(columns)]


def _sorted_columns(parts: list[Rows], subject_of_code: Integers) -> list[Any]:
    """For rows that fit no key."""
    filled = [part for part in parts if part.code.size] or parts[:1]
    names = [name for name, values in vars(filled[0]).items() if values is not None]
    columns = [np.concatenate([getattr(part, name) for part in filled]) for name in names]
    columns[0] = subject_of_code[columns[0]]
    parts.clear()
    order = np.lexsort(columns[3::-1])
    for place, column in enumerate(columns):
        columns[place] = column[order]
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns[:4]])
    return [column[fresh] for column in columns]
