"""Bounds between a crowd and all others at once (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.crowd_bounds import TOGETHER, Crowds
from shoal.kernels.people import Hours
from shoal.kernels.stretch import Scale
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled

_REACH = 1.25  # times the limit of efforts; 1 rules out none, more takes longer
_MOST_WORK = 8  # comparisons for each term of the sums; beyond, the sums themselves are cheaper


class CrowdIndex(NamedTuple):
    """Boxes of crowds, by size and then by the bin of Hours in which they start."""

    slots: Integers  # the crowds
    sizes: Integers  # [s] distinct sizes, ascending
    size_of: Integers  # index of each crowd's size
    until: int  # crowds that entered in this turn or later are not indexed
    boxes: Numbers  # [6, m] first and end of t, x and y
    owner: Numbers  # [m] slots
    offsets: Integers  # [s * bins + 1]


class LowerBounds(NamedTuple):
    """Workspace of one searching crowd."""

    sums: Integers  # [n] bound for each slot, times both sizes
    least: Numbers  # [m + n] least cost for each box of the index, then for each slot
    turn_of: Integers  # [m + n] turn of each entry of ``least``
    turn: Integers  # [1] increases with each searching box
    costs: Numbers  # [TOGETHER]
    near: Integers  # [TOGETHER]


@compiled
def build_crowd_index(crowds: Crowds, hours: Hours, slots: Integers, sizes: Integers, end: int) -> CrowdIndex:
    """Index these crowds."""
    offsets = np.zeros(len(sizes) * hours.n_bins + 1, dtype=np.int64)
    size_of = np.searchsorted(sizes, crowds.sizes[slots])
    first_bins = size_of * hours.n_bins
    for place in range(len(slots)):
        for i in range(crowds.starts[slots[place]], crowds.stops[slots[place]]):
            start = np.int64(crowds.boxes.t_start[i])
            offsets[first_bins[place] + ((start - hours.first_t) >> hours.shift) + 1] += 1
    offsets = np.cumsum(offsets)
    boxes = np.empty((6, offsets[-1]), dtype=crowds.boxes.t_start.dtype)
    owner = np.empty(offsets[-1], dtype=np.int32)
    free = offsets.copy()
    for place in range(len(slots)):
        for i in range(crowds.starts[slots[place]], crowds.stops[slots[place]]):
            start = np.int64(crowds.boxes.t_start[i])
            section_bin = first_bins[place] + ((start - hours.first_t) >> hours.shift)
            j = free[section_bin]
            free[section_bin] += 1
            boxes[0, j], boxes[1, j] = start, crowds.boxes.t_end[i]
            boxes[2, j], boxes[3, j] = crowds.boxes.x_min[i], crowds.boxes.x_max[i]
            boxes[4, j], boxes[5, j] = crowds.boxes.y_min[i], crowds.boxes.y_max[i]
            owner[j] = slots[place]
    return CrowdIndex(slots, sizes, size_of, end, boxes, owner, offsets)


@compiled
def _boxes_starting_within(
    index: CrowdIndex, hours: Hours, section: int, start: Any, early: int, late: int
) -> tuple[int, int]:
    first = max((start - early - hours.first_t) >> hours.shift, 0)
    last = min((start + late - hours.first_t) >> hours.shift, hours.n_bins - 1)
    return index.offsets[section * hours.n_bins + first], index.offsets[section * hours.n_bins + last + 1]


@compiled
def _reaches_and_windows(
    crowds: Crowds, index: CrowdIndex, slot: int, most: float, scale: Scale
) -> tuple[Integers, Integers]:
    """For each size, the largest cost to compare, times both sizes, and slots around the start."""
    size, sizes = crowds.sizes[slot], index.sizes
    reaches, windows = np.empty(len(sizes), dtype=np.int64), np.empty((len(sizes), 2), dtype=np.int64)
    for section in range(len(sizes)):
        reaches[section] = np.int64(min(_REACH * most, float(scale.half)) * (size + sizes[section]))
        windows[section, 0] = reaches[section] // (size * scale.per_slot)
        windows[section, 1] = reaches[section] // (sizes[section] * scale.per_slot)
    return reaches, windows


@compiled
def _count_boxes_within(crowds: Crowds, index: CrowdIndex, hours: Hours, slot: int, windows: Integers) -> Any:
    count = np.int64(0)
    for i in range(crowds.starts[slot], crowds.stops[slot]):
        for section in range(len(windows)):
            start = np.int64(crowds.boxes.t_start[i])
            begin, end = _boxes_starting_within(
                index, hours, section, start, windows[section, 0], windows[section, 1]
            )
            count += end - begin
    return count


@compiled
def _costs_within(
    box: tuple[Any, Any, Any, Any, Any, Any],
    others: Numbers,
    sizes: tuple[Any, Any],
    begin: int,
    count: int,
    reach: Any,
    scale: Scale,
    costs: Numbers,
) -> None:
    # costs[lane]: times both sizes, at most 2 reach. Casts keep numba from widening numbers to 64 bits.
    kind = others.dtype.type
    n_a, n_b = sizes
    t_start, t_end, x_min, x_max, y_min, y_max = box
    slots, cells = kind((n_a + n_b) * scale.per_slot), kind((n_a + n_b) * scale.per_cell)
    slots_b, cells_b = kind(n_b * scale.per_slot), kind(n_b * scale.per_cell)
    own_time = kind(kind(n_a * scale.per_slot) * (t_end - t_start))
    own_space = kind(kind(n_a * scale.per_cell) * (x_max - x_min + y_max - y_min))
    for lane in range(count):
        j = np.uint64(begin) + np.uint64(lane)  # unsigned: no check for negative indexes
        start, end = others[0, j], others[1, j]
        west, east, south, north = others[2, j], others[3, j], others[4, j], others[5, j]
        long = kind(max(t_end, end) - min(t_start, start))
        wide = kind(max(x_max, east) - min(x_min, west))
        high = kind(max(y_max, north) - min(y_min, south))
        time = kind(kind(slots * long) - kind(own_time + kind(slots_b * kind(end - start))))
        spread = kind(kind(east - west) + kind(north - south))
        space = kind(kind(cells * kind(wide + high)) - kind(own_space + kind(cells_b * spread)))
        costs[lane] = kind(min(time, reach) + min(space, reach))


@compiled
def fill_lower_bounds(
    crowds: Crowds, index: CrowdIndex, hours: Hours, slot: int, most: float, lowest: LowerBounds, scale: Scale
) -> None:
    """Fill lowest.sums with bounds to ``slot``: most exceed the effort ``most``, or else all are 0."""
    # each box costs at least the lesser of its reach and the least cost within reach
    boxes, sizes, n_boxes = crowds.boxes, index.sizes, len(index.owner)
    kind = boxes.t_start.dtype.type
    first, stop = crowds.starts[slot], crowds.stops[slot]
    reaches, windows = _reaches_and_windows(crowds, index, slot, most, scale)
    around = crowds.bounding.around
    terms = np.int64(0)
    for place in range(len(index.slots)):
        other = index.slots[place]
        longer = max(stop - first, crowds.stops[other] - crowds.starts[other])
        lowest.sums[other] = reaches[index.size_of[place]] * longer
        away = max(around[slot, 0] - around[other, 1], around[other, 0] - around[slot, 1], 0) + max(
            around[slot, 2] - around[other, 3], around[other, 2] - around[slot, 3], 0
        )
        terms += longer * (scale.per_cell * away <= most)  # the surroundings rule out the others
    if scale.half <= most or _count_boxes_within(crowds, index, hours, slot, windows) > _MOST_WORK * terms:
        lowest.sums[index.slots] = 0
        return
    costs, near, least, turn_of, sums = lowest.costs, lowest.near, lowest.least, lowest.turn_of, lowest.sums
    others, owner, starts, stops = index.boxes, index.owner, crowds.starts, crowds.stops
    since = lowest.turn[0] + 1
    for i in range(first, stop):
        lowest.turn[0] += 1
        turn = lowest.turn[0]
        box = (
            boxes.t_start[i],
            boxes.t_end[i],
            boxes.x_min[i],
            boxes.x_max[i],
            boxes.y_min[i],
            boxes.y_max[i],
        )
        for section in range(len(sizes)):
            reach = kind(reaches[section])
            begin, end = _boxes_starting_within(
                index, hours, section, np.int64(box[0]), windows[section, 0], windows[section, 1]
            )
            for some in range(begin, end, TOGETHER):
                count = min(TOGETHER, end - some)
                both = (crowds.sizes[slot], sizes[section])
                _costs_within(box, others, both, some, count, reach, scale, costs)
                close = 0
                for lane in range(count):
                    near[close] = some + lane
                    close += costs[lane] < reach
                for place in range(close):
                    j = near[place]
                    other, cost = owner[j], costs[j - some]
                    longer = stops[other] - starts[other] > stop - first
                    key = j if longer else n_boxes + other
                    before = least[key] if turn_of[key] >= (since if longer else turn) else reach
                    if cost < before:
                        least[key], turn_of[key] = cost, turn
                        sums[other] -= before - cost


def empty_lower_bounds(index: CrowdIndex, n: int) -> LowerBounds:
    """The workspace for n slots; each thread needs its own."""
    kind = index.boxes.dtype
    return LowerBounds(
        sums=np.zeros(n, dtype=np.int64),
        least=np.zeros(len(index.owner) + n, dtype=kind),
        turn_of=np.zeros(len(index.owner) + n, dtype=np.int64),
        turn=np.zeros(1, dtype=np.int64),
        costs=np.empty(TOGETHER, dtype=kind),
        near=np.empty(TOGETHER, dtype=np.int64),
    )
