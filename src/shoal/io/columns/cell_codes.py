"""Cells of known systems by their codes: geohashes as rectangles of degrees, H3 cells as ranges of numbers.

No rectangle equals a hexagon. But the finest H3 cells within one have consecutive numbers: a cell is a
range, and a position the number of its finest cell (extra ``h3``).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from shoal.errors import InputError, requiring_extra
from shoal.runtime.arrays import Floats

System = Literal["geohash", "h3"]

_BASE32: Final = "0123456789bcdefghjkmnpqrstuvwxyz"
_GEOHASH: Final = re.compile(rf"^[{_BASE32}]{{2,12}}$")
_H3: Final = re.compile(r"^8[0-9a-f]{14}$")
_FINEST: Final = 15
_LEVEL_BITS: Final = 3
_LEVEL_SHIFT: Final = 52  # above a base cell and fifteen digits, which float64 holds exactly
_MASK: Final = (1 << _LEVEL_SHIFT) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class CellCodes:
    """Different cells of one system, float64 [n]: their bounding rectangles in degrees."""

    west: Floats
    south: Floats
    east: Floats
    north: Floats
    low: Floats | None = None  # of H3, the range of numbers
    high: Floats | None = None
    finest: int = 0  # level of H3


def system_of(texts: Sequence[str]) -> System | None:
    """The system that matches all codes, None if none does."""
    if not texts:
        return None
    if all(_H3.match(text.lower()) for text in texts):
        return "h3"
    if all(_GEOHASH.match(text.lower()) for text in texts) and any(not text.isdecimal() for text in texts):
        return "geohash"
    return None


def cells_of(system: System, texts: Sequence[str]) -> CellCodes:
    """The cells of these codes."""
    return _h3_cells(texts) if system == "h3" else _geohashes(texts)


def h3_numbers(lat: Floats, lon: Floats, level: int) -> Floats:
    """The number of the H3 cell at each position, float64 [n]."""
    h3 = _h3()
    places = zip(lat.tolist(), lon.tolist(), strict=True)
    cells = (h3.str_to_int(h3.latlng_to_cell(*place, level)) for place in places)
    return np.fromiter(map(_first_number, cells), dtype=np.float64, count=len(lat))


def _geohashes(texts: Sequence[str]) -> CellCodes:
    """Rectangles by halving, longitude first (Niemeyer 2008; http://geohash.org)."""
    rectangles = np.empty((4, len(texts)))
    for row, text in enumerate(texts):
        halves = "".join(f"{_BASE32.index(character):05b}" for character in text.lower())
        for axis, end in enumerate((180.0, 90.0)):
            of_axis = halves[axis::2]
            side = 2 * end / 2 ** len(of_axis)
            low = int(of_axis, 2) * side - end
            rectangles[axis::2, row] = low, low + side
    west, south, east, north = rectangles
    return CellCodes(west=west, south=south, east=east, north=north)


def _h3_cells(texts: Sequence[str]) -> CellCodes:
    h3 = _h3()
    bounds, low, high, finest = np.empty((len(texts), 4)), np.empty(len(texts)), np.empty(len(texts)), 0
    for row, text in enumerate(texts):
        if not h3.is_valid_cell(text.lower()):
            raise InputError(f"{text[:20]} looks like a cell of H3, and is none")
        number = int(text, 16)
        level = number >> _LEVEL_SHIFT & 15
        finest = max(finest, level)
        low[row] = _first_number(number)
        high[row] = low[row] + float(1 << _LEVEL_BITS * (_FINEST - level))
        corners = np.array(h3.cell_to_boundary(text.lower()))
        bounds[row] = corners[:, 1].min(), corners[:, 0].min(), corners[:, 1].max(), corners[:, 0].max()
    west, south, east, north = np.ascontiguousarray(bounds.T)
    return CellCodes(west=west, south=south, east=east, north=north, low=low, high=high, finest=finest)


def _first_number(cell: int) -> int:
    """The number of the first finest cell: unused digits are 0."""
    unused = _FINEST - (cell >> _LEVEL_SHIFT & 15)
    return (cell & _MASK) >> _LEVEL_BITS * unused << _LEVEL_BITS * unused


def _h3() -> Any:
    with requiring_extra("H3 cells need h3", "h3"):
        import h3
    return h3
