"""A coarse map of land, to notice swapped latitude and longitude: the half-degree squares that touch it.

From Natural Earth's 1:10,000,000 land polygons (public domain, naturalearthdata.com, version 4.1.0).
"""

import zlib
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers

_PER_DEGREE: Final = 2
_SIDE: Final = 360 * _PER_DEGREE + 1  # squares from -180 to 180 degrees, both ends


def on_land(lon_deg: Floats, lat_deg: Floats) -> Flags:
    """Whether each position's square touches land, bool [n]; False off the globe."""
    column = np.floor((lon_deg + 180) * _PER_DEGREE)
    row = np.floor((lat_deg + 90) * _PER_DEGREE)
    mask = _mask()
    inside = (column >= 0) & (column < mask.shape[1]) & (row >= 0) & (row < mask.shape[0])
    is_land: Flags = np.zeros(len(column), dtype=np.bool_)
    is_land[inside] = mask[row[inside].astype(np.int64), column[inside].astype(np.int64)]
    return is_land


def squares(lon_deg: Floats, lat_deg: Floats) -> Integers:
    """The square of each position, [n]; either angle may be a longitude."""
    row, column = (np.floor((angle + 180) * _PER_DEGREE) for angle in (lat_deg, lon_deg))
    return (row * _SIDE + column).astype(np.int64)


def middles(square: Integers) -> tuple[Floats, Floats]:
    """Longitude and latitude of each center, [n]."""
    row, column = np.divmod(square, _SIDE)
    return (column + 0.5) / _PER_DEGREE - 180, (row + 0.5) / _PER_DEGREE - 180


def neighbors(square: Integers) -> Integers:
    """These squares and the eight around each."""
    around = np.array([-_SIDE - 1, -_SIDE, 1 - _SIDE, -1, 0, 1, _SIDE - 1, _SIDE, _SIDE + 1])
    return np.unique(square[:, None] + around)


@cache
def _mask() -> Flags:
    shape = (180 * _PER_DEGREE, 360 * _PER_DEGREE)
    # rows of squares from -90 degrees up, each from -180 degrees on; one bit a square, deflated
    bits = np.frombuffer(zlib.decompress(Path(__file__).with_suffix(".bin").read_bytes()), dtype=np.uint8)
    return np.unpackbits(bits)[: shape[0] * shape[1]].reshape(shape).astype(np.bool_)
