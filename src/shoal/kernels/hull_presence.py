"""How much the boxes of a record speak for each cell where somebody could have been again and again."""

import math
from typing import Final

import numpy as np

from shoal.kernels.cover_index import first_not_below
from shoal.kernels.homes import Spread, chance_where_likeliest, distinct
from shoal.kernels.likelihood import hull_density
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

_ALIKE: Final = 1 - 1e-9  # of the most presence: what is as much but for rounding


@compiled
def add_presence(
    boxes: Integers, weights: Floats, n: int, xs: Integers, ys: Integers, expected: Floats, steady: Floats
) -> None:
    """Add what boxes [b, 6] tell of the cells (xs[i], ys[j]), both ascending.

    A box is taken for the hull of n samples, or a few more. expected: [i, j], by the share that the cell has
    of each box. steady: by how much likelier the box is if the person returns to this cell than if the person
    was anywhere among 1,000 cells; many boxes that could hold the cell count more than one that must.
    """
    for b in range(len(boxes)):
        x0, y0, x1, y1 = boxes[b, 2], boxes[b, 3], boxes[b, 4], boxes[b, 5]
        first_i, first_j = first_not_below(xs, 0, len(xs), x0), first_not_below(ys, 0, len(ys), y0)
        last_i, last_j = first_not_below(xs, 0, len(xs), x1), first_not_below(ys, 0, len(ys), y1)
        kinds = np.full((2, 2), -1.0)  # the same four shares again and again: their logarithms are kept
        for i in range(first_i, last_i):
            in_x = hull_density(x0, x1, xs[i], n)
            end_x = 1 if xs[i] == x0 or xs[i] == x1 - 1 else 0
            for j in range(first_j, last_j):
                end_y = 1 if ys[j] == y0 or ys[j] == y1 - 1 else 0
                share = in_x * hull_density(y0, y1, ys[j], n)
                if kinds[end_x, end_y] < 0.0:
                    kinds[end_x, end_y] = math.log1p(1000.0 * share)
                expected[i, j] += weights[b] * share
                steady[i, j] += weights[b] * kinds[end_x, end_y]


@compiled
def _chance_of(presence: Floats, xs: Integers, ys: Integers, x: int, y: int) -> float:
    """The chance to name a cell, for who names one of those (xs[i], ys[j]) with the most presence."""
    cells, most = 0, presence.max() * _ALIKE
    for i in range(len(xs)):
        for j in range(len(ys)):
            cells += presence[i, j] >= most
    i, j = first_not_below(xs, 0, len(xs), x), first_not_below(ys, 0, len(ys), y)
    right = i < len(xs) and j < len(ys) and xs[i] == x and ys[j] == y and presence[i, j] >= most
    return 1.0 / cells if right else 0.0


@compiled
def chances_where_sides_meet(spread: Spread, one: int, n: int, x: int, y: int) -> tuple[float, float]:
    """The chances to name a cell by the steadiest and by the most expected presence of a record.

    Of the cells where sides of its boxes meet; each is taken for the hull of n samples, or a few more.
    """
    rows = np.arange(spread.offsets[one], spread.offsets[one + 1])
    rows = rows[spread.weights[rows] > 0]
    if not len(rows):
        return 0.0, 0.0
    boxes = np.zeros((len(rows), 6), dtype=np.int64)
    boxes[:, 2], boxes[:, 3] = spread.x_min[rows], spread.y_min[rows]
    boxes[:, 4], boxes[:, 5] = spread.x_max[rows], spread.y_max[rows]
    xs = distinct(np.concatenate((spread.x_min[rows], spread.x_max[rows] - 1)))
    ys = distinct(np.concatenate((spread.y_min[rows], spread.y_max[rows] - 1)))
    expected, steady = np.zeros((len(xs), len(ys))), np.zeros((len(xs), len(ys)))
    add_presence(boxes, spread.weights[rows], n, xs, ys, expected, steady)
    return _chance_of(steady, xs, ys, x, y), _chance_of(expected, xs, ys, x, y)


@compiled
def chances_of_places(spread: Spread, sizes: Integers, x: Integers, y: Integers, chances: Floats) -> None:
    """Fill chances [r, 3]: to name the cell (x, y) of each record where it is steadiest, and where likeliest.

    Boxes are taken for hulls of as many samples as ``sizes`` says, at last for filled evenly.
    """
    for one in range(len(chances)):
        chances[one, 0], chances[one, 1] = chances_where_sides_meet(spread, one, sizes[one], x[one], y[one])
        chances[one, 2] = chance_where_likeliest(spread, one, x[one], y[one])
