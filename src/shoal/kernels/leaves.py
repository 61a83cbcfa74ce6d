"""Boxes around whole leaves."""

from shoal.kernels.ordering import first_not_below
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def grow_to_leaves(boxes: Integers, t: Integers, leaf: Integers, middles: Integers, bounds: Integers) -> None:
    """Extend each box [m, 6] in place to the bounds of all leaves with a sample whose middle it holds.

    t, leaf: int64 [s], ascending by t. middles: [L, 2] cells. bounds: [L, 4], x_min, y_min, x_max, y_max.
    """
    for b in range(len(boxes)):
        west, south, east, north = boxes[b, 2], boxes[b, 3], boxes[b, 4], boxes[b, 5]
        first = first_not_below(t, 0, len(t), boxes[b, 0])
        for i in range(first, first_not_below(t, first, len(t), boxes[b, 1])):
            x, y = middles[leaf[i], 0], middles[leaf[i], 1]
            if west <= x < east and south <= y < north:
                for side in range(2):
                    boxes[b, 2 + side] = min(boxes[b, 2 + side], bounds[leaf[i], side])
                    boxes[b, 4 + side] = max(boxes[b, 4 + side], bounds[leaf[i], 2 + side])
