"""How much the boxes of a record speak for each cell where somebody could have been again and again."""

import math

import numpy as np

from shoal.kernels.cover_index import first_not_below
from shoal.kernels.likelihood import hull_density
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


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
