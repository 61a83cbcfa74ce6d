"""Find the boxes around a sample by a hash of grid cells, in memory that does not depend on their size."""

from typing import Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled

LEAST_TIME: Final = 5  # steps of 32 slots at least
LEAST_SPACE: Final = 3  # and of 8 cells


class BoxIndex(NamedTuple):
    """Hash table of m boxes: items heads[h] to heads[h + 1] have hash h."""

    heads: Integers  # int64 [2^bits + 1]
    items: Integers
    times: Integers  # int64 [m, 2], start and end slot of each item
    levels: Integers  # int64 [l, 2], grids in use


def index_boxes(boxes: Integers) -> BoxIndex:
    """Index boxes, int64 [m, 6]."""
    bits = max(4, len(boxes).bit_length())
    where = np.empty(len(boxes), dtype=np.int64)
    levels = np.empty((len(boxes), 2), dtype=np.int64)
    _fill_buckets(boxes, bits, where, levels)
    counts = np.bincount(where, minlength=1 << bits)
    items = np.argsort(where, kind="stable")
    return BoxIndex(
        heads=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        items=items,
        times=boxes[items, :2],
        levels=np.unique(levels, axis=0) if len(boxes) else levels,
    )


@compiled
def level(side: int, least: int) -> int:
    """Exponent of the smallest power of two >= ``side``, in steps of two to keep grids few."""
    power = least
    while (1 << power) < side and power < 60:
        power += 2
    return power


@compiled
def bucket(time_level: int, space_level: int, t: int, x: int, y: int, bits: int) -> int:
    """Hash one cell below 2^bits; no product exceeds 63 bits, with or without the compiler."""
    mixed = (
        (t & 0xFFFFFF) * 73856093
        ^ (x & 0xFFFFFF) * 19349663
        ^ (y & 0xFFFFFF) * 83492791
        ^ (time_level * 64 + space_level) * 2654435761
    )
    mixed = ((mixed ^ (mixed >> 23)) & 0x7FFFFFFF) * 0x2545F491
    return int((mixed ^ (mixed >> 31)) & ((1 << bits) - 1))


@compiled
def _fill_buckets(boxes: Integers, bits: int, where: Integers, levels: Integers) -> None:
    for b in range(len(boxes)):
        t_level = level(boxes[b, 1] - boxes[b, 0], LEAST_TIME)
        s_level = level(max(boxes[b, 4] - boxes[b, 2], boxes[b, 5] - boxes[b, 3]), LEAST_SPACE)
        levels[b, 0], levels[b, 1] = t_level, s_level
        where[b] = bucket(
            t_level, s_level, boxes[b, 0] >> t_level, boxes[b, 2] >> s_level, boxes[b, 3] >> s_level, bits
        )


@compiled
def holds(boxes: Integers, b: int, t: int, x: int, y: int) -> bool:
    """Whether a box holds a slot and cell."""
    return bool(
        boxes[b, 0] <= t < boxes[b, 1] and boxes[b, 2] <= x < boxes[b, 4] and boxes[b, 3] <= y < boxes[b, 5]
    )


@compiled
def find_boxes(index: BoxIndex, boxes: Integers, t: int, x: int, y: int, hits: Integers) -> int:
    """Write the boxes that hold a sample to ``hits`` [m], each once; return their number."""
    bits = 0
    while (1 << bits) < len(index.heads) - 1:
        bits += 1
    count = 0
    for row in range(len(index.levels)):
        t_level, s_level = index.levels[row, 0], index.levels[row, 1]
        for cell in range(8):
            ct = (t >> t_level) - (cell & 1)
            cx = (x >> s_level) - ((cell >> 1) & 1)
            cy = (y >> s_level) - ((cell >> 2) & 1)
            h = bucket(t_level, s_level, ct, cx, cy, bits)
            for position in range(index.heads[h], index.heads[h + 1]):
                if not index.times[position, 0] <= t < index.times[position, 1]:
                    continue
                b = index.items[position]
                if not holds(boxes, b, t, x, y):
                    continue
                if (
                    boxes[b, 0] >> t_level != ct
                    or boxes[b, 2] >> s_level != cx
                    or boxes[b, 3] >> s_level != cy
                ):
                    continue
                if level(boxes[b, 1] - boxes[b, 0], LEAST_TIME) != t_level:
                    continue
                if level(max(boxes[b, 4] - boxes[b, 2], boxes[b, 5] - boxes[b, 3]), LEAST_SPACE) != s_level:
                    continue
                hits[count] = b
                count += 1
    return count
