"""Find the boxes that contain a position, in classes of extents of at most 2**L by start.

So possible boxes start in a known range. The index holds rows of boxes, and no copy of them.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.ordering import first_above
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled, compiled_for_many


class CoverIndex(NamedTuple):
    """Boxes [b, 6] in classes along one axis; 32-bit where values fit."""

    class_offsets: Integers  # int64; class L is places class_offsets[L] to class_offsets[L + 1]
    boxes: Integers  # in their own order
    rows: Integers  # [b], the box at each place: in a class by where they begin along the axis
    offsets: Integers  # int64; record i owns boxes offsets[i] to offsets[i + 1]


@compiled
def may_contain(index: CoverIndex, level: int, t: int) -> tuple[int, int]:
    """The first place of a class whose box may contain ``t``, and the first behind the last one."""
    return _first_from(index, level, t - (1 << level) + 1), _first_from(index, level, t + 1)


@compiled
def _first_from(index: CoverIndex, level: int, least: int) -> int:
    low, high = index.class_offsets[level], index.class_offsets[level + 1]
    while low < high:
        middle = (low + high) // 2
        if index.boxes[index.rows[middle], 0] < least:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def owner_of(index: CoverIndex, row: int) -> int:
    """The record that owns a box."""
    return first_above(index.offsets, 0, len(index.offsets), row) - 1


@compiled_for_many
def fill_levels(boxes: Integers, levels: Numbers) -> None:
    """Fill levels [b] with the least L for which a box lasts at most 2**L slots."""
    for b in range(len(boxes)):
        level = 0
        while boxes[b, 1] - boxes[b, 0] > 1 << level:
            level += 1
        levels[b] = level


@compiled
def fill_time_index(levels: Numbers, least: int, counts: Integers, filed: CoverIndex) -> None:
    """Fill the rows of an index over time; the sort is stable."""
    # counts: [p + 1] zeros, one entry for each level and each start from ``least`` on
    boxes, span = filed.boxes, (len(counts) - 1) // (len(filed.class_offsets) - 1)
    for b in range(len(boxes)):
        counts[np.int64(levels[b]) * span + boxes[b, 0] - least + 1] += 1
    for key in range(1, len(counts)):
        counts[key] += counts[key - 1]
    for b in range(len(boxes)):
        key = np.int64(levels[b]) * span + boxes[b, 0] - least
        filed.rows[counts[key]] = b
        counts[key] += 1


@compiled_for_many
def records_ascend(boxes: Integers, offsets: Integers) -> bool:
    """Whether the boxes [b, 6] of each record ascend; duplicates are allowed."""
    for record in range(len(offsets) - 1):
        for b in range(offsets[record] + 1, offsets[record + 1]):
            for column in range(boxes.shape[1]):
                if boxes[b - 1, column] < boxes[b, column]:
                    break
                if boxes[b - 1, column] > boxes[b, column]:
                    return False
    return True
