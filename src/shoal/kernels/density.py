"""How many boxes are expected in each pixel of a map, each spread over its area."""

from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

_CORNERS: Final = 4


@compiled
def changes_along(
    low: int, high: int, start: float, side: float, pixels: int, at: Integers, by: Floats
) -> None:
    """Fill in where and by how much the share of a range in a pixel differs from that in the pixel before.

    at, by: [4]. A range has a first pixel, a last one, and equal shares between. Parts outside the pixels are
    cut off.
    """
    length = (high - low) / side
    begin = min(max((low - start) / side, 0.0), float(pixels))
    end = min(max((high - start) / side, 0.0), float(pixels))
    first = int(min(np.floor(begin), pixels - 1))
    last = max(int(np.ceil(end)) - 1, first)
    middle = share_first = share_last = 0.0
    if end > begin and first == last:
        share_first = (end - begin) / length
    elif end > begin:
        middle = 1 / length
        share_first = (first + 1 - begin) / length
        share_last = (end - last) / length
    at[0], at[1], at[2], at[3] = first, first + 1, last, last + 1
    by[0], by[1], by[2], by[3] = share_first, middle - share_first, share_last - middle, -share_last


@compiled
def add_corners(
    x_min: Integers,
    y_min: Integers,
    x_max: Integers,
    y_max: Integers,
    start: tuple[float, float],
    side: float,
    corners: Floats,
) -> None:
    """Add to corners [16, rows + 2, columns + 2] the 4 x 4 changes at the edges of each box.

    start: x and y of the lower corner of the map in cells; side: of a pixel, in cells. Each kind of change
    has its own sums, so that they do not depend on each other's order.
    """
    at_x, at_y = np.empty(_CORNERS, dtype=np.int64), np.empty(_CORNERS, dtype=np.int64)
    by_x, by_y = np.empty(_CORNERS), np.empty(_CORNERS)
    for box in range(len(x_min)):
        changes_along(x_min[box], x_max[box], start[0], side, corners.shape[2] - 2, at_x, by_x)
        changes_along(y_min[box], y_max[box], start[1], side, corners.shape[1] - 2, at_y, by_y)
        for i in range(_CORNERS):
            for j in range(_CORNERS):
                corners[i * _CORNERS + j, at_y[i], at_x[j]] += by_y[i] * by_x[j]
