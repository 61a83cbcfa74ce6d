"""Whose boxes hold a position: searches through boxes that are sorted along one axis.

They stand in classes of similar length. Class L holds the boxes whose extent along the axis is at most 2**L,
sorted by their start. So the boxes that may hold a position start in a known range, and every box stands in
the index once.
"""

from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


class CoverIndex(NamedTuple):
    """Boxes of records, [b, 6], in classes along one axis; all but class_offsets in 32 bits where these do.

    Class L is rows class_offsets[L] to class_offsets[L + 1], and holds boxes whose extent is at most 2**L.
    record: [b] whose box each one is. starts: [b] where each begins along the axis, ascending in each class:
    a view of the boxes, which takes no memory.
    """

    class_offsets: Integers
    boxes: Integers
    record: Integers
    starts: Integers


@compiled
def fill_levels(boxes: Integers, levels: Numbers) -> None:
    """Fill levels [b]: the least L for which a box takes at most 2**L slots."""
    for b in range(len(boxes)):
        level = 0
        while boxes[b, 1] - boxes[b, 0] > 1 << level:
            level += 1
        levels[b] = level


@compiled
def fill_time_index(
    boxes: Integers, offsets: Integers, levels: Numbers, least: int, counts: Integers, filed: CoverIndex
) -> None:
    """Fill an index over time but for its class_offsets; boxes of equal level and start as they stand.

    offsets: record i owns boxes offsets[i] to offsets[i + 1]. counts: [p + 1] zeros, a place for each level
    and each start from ``least`` on.
    """
    span = (len(counts) - 1) // (len(filed.class_offsets) - 1)
    for b in range(len(boxes)):
        counts[np.int64(levels[b]) * span + boxes[b, 0] - least + 1] += 1
    for key in range(1, len(counts)):
        counts[key] += counts[key - 1]
    for record in range(len(offsets) - 1):
        for b in range(offsets[record], offsets[record + 1]):
            key = np.int64(levels[b]) * span + boxes[b, 0] - least
            place = counts[key]
            counts[key] += 1
            for side in range(6):  # a whole row would be an array, whose users numba counts
                filed.boxes[place, side] = boxes[b, side]
            filed.record[place] = record


@compiled
def first_not_below(values: Numbers, low: int, high: int, value: float) -> int:
    """Position of the first of values[low:high] (ascending) that is at least ``wanted``.

    ``high`` where there is none.
    """
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def records_ascend(boxes: Integers, offsets: Integers) -> bool:
    """Whether the boxes [b, 6] of each record ascend, column by column, repeats allowed."""
    for record in range(len(offsets) - 1):
        for b in range(offsets[record] + 1, offsets[record + 1]):
            for column in range(boxes.shape[1]):
                if boxes[b - 1, column] < boxes[b, column]:
                    break
                if boxes[b - 1, column] > boxes[b, column]:
                    return False
    return True
