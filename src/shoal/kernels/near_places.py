"""What lies in boxes."""

import numpy as np

from shoal.kernels.ordering import first_not_below
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def join_masks(boxes: Integers, x: Integers, y: Integers, mask: Integers) -> tuple[Integers, Integers]:
    """How many of these cells [c], ascending by x, lie in each box [m, 6], and their masks together."""
    counts, joined = np.zeros(len(boxes), dtype=np.int64), np.zeros(len(boxes), dtype=np.int64)
    for b in range(len(boxes)):
        first = first_not_below(x, 0, len(x), boxes[b, 2])
        for i in range(first, first_not_below(x, first, len(x), boxes[b, 4])):
            if boxes[b, 3] <= y[i] < boxes[b, 5]:
                counts[b] += 1
                joined[b] |= mask[i]
    return counts, joined
