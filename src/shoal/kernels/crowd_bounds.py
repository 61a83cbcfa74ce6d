"""Bounds on what others cost beside a merged crowd (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.people import Hours, People, Places
from shoal.kernels.stretch import Samples, Scale
from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.runtime.compiled import compiled

TOGETHER = 64  # boxes that are compared with all places of a person before it is looked whether to go on


class Bounding(NamedTuple):
    """Where and when the boxes of each slot are, roughly.

    around: [n, 4] first and last x, first and last y of all boxes. waits: [n, bins] least slots between any
    slot of a bin of 1 << shift slots and any box. main_place, main_weight: [n] the place with most samples of
    the person who began in the slot, and how many those are.
    """

    around: Integers
    waits: Numbers
    shift: int
    main_place: Integers
    main_weight: Integers


class Crowds(NamedTuple):
    """Everybody's boxes, by slot: those of slot s from starts[s] to stops[s].

    Behind fewer than LANES boxes, the last is repeated until there are as many. sizes: [n] people in each
    slot; bounding: where and when the boxes of each slot are.
    """

    boxes: Samples
    starts: Integers
    stops: Integers
    sizes: Integers
    bounding: Bounding


class LeastCosts(NamedTuple):
    """A workspace for bounds on what others cost beside the crowd that searches.

    places: [P] what one person's sample at each place costs in space at least, and waits: [bins of Hours] in
    time, both times size + 1. outlines: [5, boxes] first and last x, first and last y, and dx + dy - 2 of the
    boxes of the crowd. gaps: [TOGETHER] cells between boxes and all places of a person, and gaps_of_place
    [P, TOGETHER] between its first boxes and one place, where measured [P] is set. spaces, floors: for each
    box of the longer of two slots, bounds below its cost in space and in all, times the size of both.
    """

    places: Integers
    waits: Integers
    outlines: Numbers
    gaps: Numbers
    gaps_of_place: Numbers
    measured: Flags
    spaces: Integers
    floors: Integers


@compiled
def least_waits(boxes: Samples, hours: Hours, shift: int, far: int, waits: Numbers) -> None:
    """Fill waits[bin], at most ``far``."""
    width, later = 1 << shift, 0
    for h in range(len(waits)):
        begin = hours.first_t + (h << shift)
        while later < len(boxes.t_start) and boxes.t_start[later] < begin + width:
            later += 1
        wait = far
        if later > 0:
            wait = min(wait, max(begin - boxes.latest_end[later - 1] + 1, 0))
        if later < len(boxes.t_start):
            wait = min(wait, boxes.t_start[later] - begin - width + 1)
        waits[h] = wait


@compiled
def bound_slot(boxes: Samples, hours: Hours, far: int, bounding: Bounding, slot: int) -> None:
    """Set the surroundings and waits of a slot with these boxes."""
    around = bounding.around[slot]
    around[0], around[1] = boxes.x_min.min(), boxes.x_max.max() - 1
    around[2], around[3] = boxes.y_min.min(), boxes.y_max.max() - 1
    least_waits(boxes, hours, bounding.shift, far, bounding.waits[slot])


@compiled
def bound_slots(crowds: Crowds, hours: Hours, far: int) -> None:
    """The same for each slot."""
    for slot in range(len(crowds.starts)):
        bound_slot(boxes_of(crowds, slot), hours, far, crowds.bounding, slot)


@compiled
def boxes_of(crowds: Crowds, slot: int) -> Samples:
    """The boxes in a slot."""
    every, own = crowds.boxes, slice(crowds.starts[slot], crowds.stops[slot])
    return Samples(
        every.t_start[own],
        every.t_end[own],
        every.x_min[own],
        every.y_min[own],
        every.x_max[own],
        every.y_max[own],
        every.latest_end[own],
    )


@compiled
def least_costs_to_boxes(places: Places, boxes: Samples, size: int, scale: Scale, least: Integers) -> None:
    """Fill least[p] with the least spatial cost of a sample at each place to any of a crowd's boxes.

    The sample is one person's; costs are times size + 1.
    """
    both = size + 1
    least[:] = both * scale.half
    extent = places.side - 1
    for j in range(len(boxes.t_start)):
        x_min, x_max, y_min, y_max = boxes.x_min[j], boxes.x_max[j] - 1, boxes.y_min[j], boxes.y_max[j] - 1
        own = x_max - x_min + y_max - y_min
        for p in range(len(least)):
            x, y = places.x[p], places.y[p]
            gap = max(x_min - x - extent, x - x_max, 0) + max(y_min - y - extent, y - y_max, 0)
            least[p] = min(least[p], scale.per_cell * (both * gap + own))


@compiled
def least_waits_to_boxes(hours: Hours, boxes: Samples, size: int, scale: Scale, least: Integers) -> None:
    """Fill least[bin] with the least temporal cost of a sample in each bin to any of a crowd's boxes.

    The sample is one person's; costs are times size + 1.
    """
    both, far, width = size + 1, scale.half // scale.per_slot + 1, 1 << hours.shift
    least[:] = both * scale.half
    for j in range(len(boxes.t_start)):
        first, last = boxes.t_start[j] - hours.first_t, boxes.t_end[j] - 1 - hours.first_t
        for h in range(
            max(first - far, 0) >> hours.shift, min((last + far) >> hours.shift, hours.n_bins - 1) + 1
        ):
            begin = h << hours.shift
            gap = max(first - begin - width + 1, begin - last, 0)
            least[h] = min(least[h], scale.per_slot * (both * gap + last - first))


@compiled
def fill_floors(people: People, other: int, least: LeastCosts) -> Any:
    """Fill least.spaces and least.floors for a person's samples beside the crowd that searches.

    Returns the sum of the floors.
    """
    places, hours, raw = people.places, people.hours, people.raw
    total = np.int64(0)
    first = raw.offsets[other]
    for i in range(first, raw.offsets[other + 1]):
        space = least.places[places.of_sample[i]]
        least.spaces[i - first] = space
        least.floors[i - first] = space + least.waits[hours.slot[i] >> hours.shift]
        total += least.floors[i - first]
    return total


@compiled
def copy_outlines(boxes: Samples, outlines: Numbers) -> None:
    """Fill outlines[:, j] with first and last x, first and last y of box j, and its dx + dy - 2."""
    for j in range(len(boxes.t_start)):
        outlines[0, j], outlines[1, j] = boxes.x_min[j], boxes.x_max[j] - 1
        outlines[2, j], outlines[3, j] = boxes.y_min[j], boxes.y_max[j] - 1
        outlines[4, j] = boxes.x_max[j] - boxes.x_min[j] + boxes.y_max[j] - boxes.y_min[j] - 2


@compiled
def rule_out_shorter(
    crowds: Crowds,
    places: Places,
    slot: int,
    most: float,
    least: LeastCosts,
    scale: Scale,
    possible: Integers,
) -> int:
    """Keep in ``possible`` who is not ruled out by the first boxes of ``slot``; how many those are.

    People with fewer samples than the crowd has boxes are judged, by the same inequality in space as in
    lowest_to_person, in one loop for all of them.
    """
    outlines, gaps, rows, measured = least.outlines, least.gaps, least.gaps_of_place, least.measured
    kind = gaps.dtype.type
    m, both = crowds.stops[slot] - crowds.starts[slot], crowds.sizes[slot] + 1
    cap, cell, cells = kind(both * scale.half), kind(scale.per_cell), kind(both * scale.per_cell)
    extent, far = kind(places.side - 1), kind(scale.half // scale.per_cell + 1)  # no gap costs more than far
    limit, count = most * (both * m), min(m, TOGETHER)
    measured[:] = False
    kept = 0
    for other in possible:
        total = np.int64(0)
        if crowds.sizes[other] == 1 and crowds.stops[other] - crowds.starts[other] < m:
            for lane in range(count):
                gaps[lane] = far
            for own in range(places.offsets[other], places.offsets[other + 1]):
                p = np.uint64(places.own[own])
                if not measured[p]:
                    measured[p] = True
                    x, y = kind(places.x[p]), kind(places.y[p])
                    x_last, y_last = kind(x + extent), kind(y + extent)
                    for lane in range(count):
                        wide = max(kind(outlines[0, lane] - x_last), kind(x - outlines[1, lane]), kind(0))
                        high = max(kind(outlines[2, lane] - y_last), kind(y - outlines[3, lane]), kind(0))
                        rows[p, lane] = kind(wide + high)
                for lane in range(count):
                    gaps[lane] = min(gaps[lane], rows[p, lane])
            for lane in range(count):
                total += min(kind(kind(cells * min(gaps[lane], far)) + kind(cell * outlines[4, lane])), cap)
        if total <= limit:
            possible[kept] = other
            kept += 1
    return kept


@compiled
def lowest_to_person(
    crowds: Crowds, people: People, slot: int, other: int, least: LeastCosts, scale: Scale, limit: float
) -> Any:
    """A bound below the sum of a crowd's boxes to one person's fewer samples, times size + 1.

    Fills least.spaces and least.floors unless it ends early above ``limit``. The same inequality as in
    least_costs_to_boxes: a box of extent d with gap g to the nearest of the person's places costs at least
    (size + 1) g + d - 1.

    Each number is cast to the type of the boxes, since numba adds and multiplies in 64 bits otherwise.
    """
    places, hours, outlines, gaps = people.places, people.hours, least.outlines, least.gaps
    kind = gaps.dtype.type
    first, m, both = crowds.starts[slot], crowds.stops[slot] - crowds.starts[slot], crowds.sizes[slot] + 1
    cap, cell, cells = kind(both * scale.half), kind(scale.per_cell), kind(both * scale.per_cell)
    extent, far = kind(places.side - 1), kind(scale.half // scale.per_cell + 1)  # no gap costs more than far
    total = np.int64(0)
    for begin in range(0, m, TOGETHER):
        count = min(TOGETHER, m - begin)
        gaps[:count] = far
        for own in range(places.offsets[other], places.offsets[other + 1]):
            x, y = kind(places.x[places.own[own]]), kind(places.y[places.own[own]])
            x_last, y_last = kind(x + extent), kind(y + extent)
            for lane in range(count):
                j = np.uint64(begin) + np.uint64(lane)  # unsigned, so that it is not taken from the end
                wide = max(kind(outlines[0, j] - x_last), kind(x - outlines[1, j]), kind(0))
                high = max(kind(outlines[2, j] - y_last), kind(y - outlines[3, j]), kind(0))
                gaps[lane] = min(gaps[lane], kind(wide + high))
        for lane in range(count):
            cost = min(kind(kind(cells * gaps[lane]) + kind(cell * outlines[4, begin + lane])), cap)
            least.spaces[begin + lane] = cost
            total += cost
        if total > limit:
            return total
    boxes, waits, shift = crowds.boxes, crowds.bounding.waits[other], crowds.bounding.shift
    for i in range(m):
        start, end = boxes.t_start[first + i] - hours.first_t, boxes.t_end[first + i] - hours.first_t
        wait = np.int64(waits[start >> shift])
        for h in range((start >> shift) + 1, ((end - 1) >> shift) + 1):
            wait = min(wait, np.int64(waits[h]))
        least_wait = min(scale.per_slot * (both * wait + end - start - 1), cap)
        least.floors[i] = least.spaces[i] + least_wait
        total += least_wait
        if total > limit:
            break
    return total
