"""Which records fit everything that was seen of a person in one interval.

The question is that of Gramaglia et al. 2017, Sec. II-B. A record fits when its boxes hold all
samples seen in the interval, and each of its boxes that lies wholly inside the interval holds one of them:
the attacker follows the person without a gap, so a box at a time when nothing was seen rules a record out.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.cover_index import first_not_below
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


class Records(NamedTuple):
    """Records of boxes, and the same boxes in an index over time.

    offsets: int64 [r + 1]; record i owns boxes offsets[i] to offsets[i + 1]. boxes: int64 [b, 6], columns as
    BOX_COLUMNS, in any order within a record. class_offsets, starts, by_time, record: the boxes [b, 6] in
    classes, class L holding those of at most 2**L slots, sorted by their start within a class; their starts
    and whose they are, int64 [b] each.
    """

    offsets: Integers
    boxes: Integers
    class_offsets: Integers
    starts: Integers
    by_time: Integers
    record: Integers


@compiled
def _holds(boxes: Integers, b: int, t: int, x: int, y: int) -> bool:
    """Whether box b holds the slot and cell of a sample."""
    in_time = boxes[b, 0] <= t < boxes[b, 1]
    return bool(in_time and boxes[b, 2] <= x < boxes[b, 4] and boxes[b, 3] <= y < boxes[b, 5])


@compiled
def _fits(boxes: Integers, seen: Integers, start: int, end: int, held: Integers) -> bool:
    """Whether a record with these boxes fits what was seen in [start, end). held: int64 [s], overwritten."""
    held[:] = 0
    for b in range(len(boxes)):
        if boxes[b, 0] >= end or boxes[b, 1] <= start:
            continue
        filled = False
        for i in range(len(seen)):
            if _holds(boxes, b, seen[i, 0], seen[i, 1], seen[i, 2]):
                held[i] = 1
                filled = True
        if not filled and boxes[b, 0] >= start and boxes[b, 1] <= end:
            return False
    return bool(held.all())


@compiled
def tau_candidates(records: Records, seen: Integers, start: int, end: int, found: Integers) -> int:
    """Write to ``found`` [r] the records that fit what was seen in [start, end), and return how many do.

    seen: int64 [s, 3], t, x and y of all samples seen in the interval, at least one.
    """
    t, x, y = seen[0, 0], seen[0, 1], seen[0, 2]
    looked_at = np.zeros(len(records.offsets) - 1, dtype=np.bool_)
    held = np.empty(len(seen), dtype=np.int64)
    count = 0
    for level in range(len(records.class_offsets) - 1):
        last = records.class_offsets[level + 1]
        place = first_not_below(records.starts, records.class_offsets[level], last, t - (1 << level) + 1)
        while place < last and records.starts[place] <= t:
            one = records.record[place]
            if not looked_at[one] and _holds(records.by_time, place, t, x, y):
                looked_at[one] = True
                boxes = records.boxes[records.offsets[one] : records.offsets[one + 1]]
                if _fits(boxes, seen, start, end, held):
                    found[count] = one
                    count += 1
            place += 1
    return count


@compiled
def holding(records: Records, among: Integers, t: int, x: int, y: int) -> int:
    """How many of these records hold a sample."""
    count = 0
    for one in among:
        for b in range(records.offsets[one], records.offsets[one + 1]):
            if _holds(records.boxes, b, t, x, y):
                count += 1
                break
    return count
