"""Lower bounds on costs to a merged crowd (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.crowd_windows import Visits
from shoal.kernels.people import Hours, People, Places
from shoal.kernels.stretch import Samples, Scale
from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.runtime.compiled import compiled

TOGETHER = 64  # outlines compared with all places of a person between two checks of the limit
STRIDE = 16  # outlines compared at once


class Bounding(NamedTuple):
    """Approximate position and times of each slot's boxes; waits and visits of single people."""

    around: Integers  # [n, 4], first and last x, first and last y of all boxes
    waits: Numbers  # [people, bins], least slots between a bin of 1 << shift slots and any sample
    shift: int
    visits: Visits  # places by window of time


class Crowds(NamedTuple):
    """Boxes of all groups; slot s has starts[s] to stops[s]."""

    boxes: Samples  # fewer than LANES boxes of a slot are padded with copies of the last one
    starts: Integers
    stops: Integers
    sizes: Integers  # [n] people
    turns: Integers  # [n], order in which merged crowds entered, 0 for single people
    slots: Integers  # [n], names in lists; lower names win ties
    bounding: Bounding


class LeastCosts(NamedTuple):
    """Workspace for bounds; sums are times the crowd's size + 1."""

    places: Integers  # [P] least spatial cost of one person's sample at each place
    waits: Integers  # [bins of Hours] least temporal cost
    windows: Numbers  # [windows, P] further least cost within each window of Visits
    outlines: Numbers  # [6, boxes + STRIDE] mostly distinct: x, y ranges, dx + dy - 2, number of boxes
    n_outlines: Integers  # [1]
    outline_of: Integers  # [boxes]
    lengths: Integers  # [boxes] temporal cost of each box's length alone
    length: Integers  # [1] sum of lengths
    begins: Integers  # [boxes] first bin of Bounding that each box touches
    ends: Integers  # [boxes] the last one
    of_outlines: Numbers  # [TOGETHER / STRIDE, P, STRIDE] spatial cost by place of an outline's boxes
    measured: Flags  # [P] where of_outlines is valid
    gaps: Numbers  # [TOGETHER] cells between outlines and all places of a person
    spaces_of: Integers  # [boxes + STRIDE] spatial cost of each outline
    spaces: Integers  # for each box of the longer slot, bound of its spatial cost, times both sizes
    floors: Integers  # the same of its total cost


@compiled
def _least_waits(boxes: Samples, hours: Hours, shift: int, far: int, waits: Numbers) -> None:
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
def set_surroundings(boxes: Samples, bounding: Bounding, slot: int) -> None:
    """Set the surrounding rectangle of a slot."""
    around = bounding.around[slot]
    around[0], around[1] = boxes.x_min.min(), boxes.x_max.max() - 1
    around[2], around[3] = boxes.y_min.min(), boxes.y_max.max() - 1


@compiled
def set_people_bounds(crowds: Crowds, n: int, hours: Hours, far: int) -> None:
    """Set surroundings and waits of single people."""
    for slot in range(n):
        boxes = boxes_of(crowds, slot)
        set_surroundings(boxes, crowds.bounding, slot)
        _least_waits(boxes, hours, crowds.bounding.shift, far, crowds.bounding.waits[slot])


@compiled
def boxes_of(crowds: Crowds, slot: int) -> Samples:
    """The boxes in a slot."""
    boxes, rows = crowds.boxes, slice(crowds.starts[slot], crowds.stops[slot])
    return Samples(
        boxes.t_start[rows],
        boxes.t_end[rows],
        boxes.x_min[rows],
        boxes.y_min[rows],
        boxes.x_max[rows],
        boxes.y_max[rows],
        boxes.latest_end[rows],
    )


@compiled
def fill_outlines(
    boxes: Samples, size: int, first_t: int, shift: int, scale: Scale, least: LeastCosts
) -> None:
    """Fill outlines, lengths, begins and ends."""
    # Bins of 1 << shift slots begin at first_t. The first TOGETHER outlines are distinct; they cover nearly
    # all boxes of call records.
    outlines, count = least.outlines, 0
    least.length[0] = 0
    for j in range(len(boxes.t_start)):
        x_first, x_last = boxes.x_min[j], boxes.x_max[j] - 1
        y_first, y_last = boxes.y_min[j], boxes.y_max[j] - 1
        position = 0
        while position < count and (
            outlines[0, position] != x_first
            or outlines[1, position] != x_last
            or outlines[2, position] != y_first
            or outlines[3, position] != y_last
        ):
            position = position + 1 if position + 1 < TOGETHER else count
        if position == count:
            outlines[0, position], outlines[1, position] = x_first, x_last
            outlines[2, position], outlines[3, position] = y_first, y_last
            outlines[4, position], outlines[5, position] = x_last - x_first + y_last - y_first, 0
            count += 1
        outlines[5, position] += 1
        least.outline_of[j] = position
        length = np.int64(boxes.t_end[j] - boxes.t_start[j] - 1)
        least.lengths[j] = min(scale.per_slot * length, (size + 1) * scale.half)
        least.length[0] += least.lengths[j]
        least.begins[j] = (boxes.t_start[j] - first_t) >> shift
        least.ends[j] = (boxes.t_end[j] - 1 - first_t) >> shift
    for position in range(count, count + STRIDE):  # padding without boxes
        outlines[:, position] = 0
    least.n_outlines[0] = count


@compiled
def least_costs_to_boxes(places: Places, size: int, scale: Scale, least: LeastCosts) -> None:
    """Fill least.places with a sample's least spatial cost, times size + 1, at each place."""
    costs, both, extent = least.places, size + 1, places.side - 1
    costs[:] = both * scale.half
    for j in range(least.n_outlines[0]):
        x_min, x_max = np.int64(least.outlines[0, j]), np.int64(least.outlines[1, j])
        y_min, y_max = np.int64(least.outlines[2, j]), np.int64(least.outlines[3, j])
        extent_of_outline = x_max - x_min + y_max - y_min
        for p in range(len(costs)):
            x, y = places.x[p], places.y[p]
            gap = max(x_min - x - extent, x - x_max, 0) + max(y_min - y - extent, y - y_max, 0)
            costs[p] = min(costs[p], scale.per_cell * (both * gap + extent_of_outline))


@compiled
def least_waits_to_boxes(hours: Hours, boxes: Samples, size: int, scale: Scale, least: Integers) -> None:
    """Fill least[bin] with the least temporal cost, times size + 1, of a sample in each bin."""
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
def empty_least_costs(people: People, n_windows: int, most_boxes: int, like: Numbers) -> LeastCosts:
    """A workspace for crowds of at most ``most_boxes`` boxes, with the number type of ``like``."""
    n_places = len(people.places.costs)
    return LeastCosts(
        places=np.empty(n_places, dtype=np.int64),
        waits=np.empty(people.hours.n_bins, dtype=np.int64),
        windows=np.empty((n_windows, n_places), dtype=like.dtype),
        outlines=np.empty((6, most_boxes + STRIDE), dtype=like.dtype),
        n_outlines=np.zeros(1, dtype=np.int64),
        outline_of=np.empty(most_boxes, dtype=np.int64),
        lengths=np.empty(most_boxes, dtype=np.int64),
        length=np.zeros(1, dtype=np.int64),
        begins=np.empty(most_boxes, dtype=np.int64),
        ends=np.empty(most_boxes, dtype=np.int64),
        of_outlines=np.empty((TOGETHER // STRIDE, n_places, STRIDE), dtype=np.int32),
        measured=np.empty(n_places, dtype=np.bool_),
        gaps=np.empty(TOGETHER, dtype=like.dtype),
        spaces_of=np.empty(most_boxes + STRIDE, dtype=np.int64),
        spaces=np.empty(most_boxes, dtype=np.int64),
        floors=np.empty(most_boxes, dtype=np.int64),
    )


@compiled
def fill_floors(people: People, other: int, least: LeastCosts) -> Any:
    """Fill least.spaces and least.floors for a person's samples; return their sum."""
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
def _least_of_waits(waits: Numbers, other: int, begin: int, end: int) -> Any:
    least = np.int64(waits[other, begin])
    for h in range(begin + 1, end + 1):
        least = min(least, np.int64(waits[other, h]))
    return least


@compiled
def cost_outlines(
    outlines: Numbers, x: int, y: int, side: int, size: int, count: int, scale: Scale, costs: Numbers
) -> None:
    """One place's LeastCosts.of_outlines, capped where a sum over a stride would not fit 32 bits."""
    kind, extent, both, stride = costs.dtype.type, side - 1, size + 1, costs.shape[1]
    cap, most = both * scale.half, ((1 << 31) - 1) // stride
    for j in range(count):
        wide: Any = max(np.int64(outlines[0, j]) - x - extent, x - np.int64(outlines[1, j]), 0)
        high: Any = max(np.int64(outlines[2, j]) - y - extent, y - np.int64(outlines[3, j]), 0)
        cost = min(scale.per_cell * (both * (wide + high) + np.int64(outlines[4, j])), cap)
        costs[j // stride, j % stride] = kind(min(cost * np.int64(outlines[5, j]), most))


@compiled
def least_of_outlines(costs: Numbers, places: Numbers, first_place: int, last: int, room: Numbers) -> Any:
    """Least spatial cost of all boxes with STRIDE outlines to a person."""
    # costs: [P, STRIDE] at each place. room: [STRIDE]. Eight places are compared at once: a minimum through
    # memory for each takes ten times as long.
    room[:] = (1 << 31) - 1
    for first in range(first_place, last + 1, 8):
        a, b = np.uint64(places[first]), np.uint64(places[min(first + 1, last)])
        c, d = np.uint64(places[min(first + 2, last)]), np.uint64(places[min(first + 3, last)])
        e, f = np.uint64(places[min(first + 4, last)]), np.uint64(places[min(first + 5, last)])
        g, h = np.uint64(places[min(first + 6, last)]), np.uint64(places[min(first + 7, last)])
        for lane in range(STRIDE):
            early = min(costs[a, lane], costs[b, lane], costs[c, lane], costs[d, lane])
            late = min(costs[e, lane], costs[f, lane], costs[g, lane], costs[h, lane])
            room[lane] = min(room[lane], early, late)
    total = np.int64(0)
    for lane in range(STRIDE):
        total += np.int64(room[lane])
    return total


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
    """Reduce ``possible`` to slots that the first outlines do not rule out; return their number.

    For people with fewer samples than the crowd has boxes, by the inequalities of
    ``lower_bound_to_person``. Padding outlines have no box.
    """
    m, both = crowds.stops[slot] - crowds.starts[slot], crowds.sizes[slot] + 1
    cap, per_slot, limit = both * scale.half, both * scale.per_slot, most * (both * m)
    waits, begins, ends, lengths = crowds.bounding.waits, least.begins, least.ends, least.lengths
    outlines, costs, measured = least.outlines, least.of_outlines, least.measured
    padded = (min(least.n_outlines[0], TOGETHER) + STRIDE - 1) // STRIDE * STRIDE
    measured[:] = False
    remaining = 0
    room, offsets, distinct = np.empty(STRIDE, dtype=costs.dtype), places.offsets, places.distinct
    for other in possible:
        total = np.int64(0)
        if crowds.sizes[other] == 1 and crowds.stops[other] - crowds.starts[other] < m:
            total = least.length[0]
            for place in range(offsets[other], offsets[other + 1]):
                p = np.uint64(distinct[place])
                if not measured[p]:
                    measured[p] = True
                    x, y, side = places.x[p], places.y[p], places.side
                    cost_outlines(outlines, x, y, side, both - 1, padded, scale, costs[:, p])
            for first in range(0, padded, STRIDE):
                total += least_of_outlines(
                    costs[first // STRIDE], distinct, offsets[other], offsets[other + 1] - 1, room
                )
                if total > limit:
                    break
            for i in range(m):
                if total > limit:
                    break
                wait = _least_of_waits(waits, other, begins[i], ends[i])
                total += min(per_slot * np.int64(wait) + lengths[i], cap) - lengths[i]
        possible[remaining] = other
        remaining += total <= limit
    return remaining


@compiled
def lower_bound_to_person(
    crowds: Crowds, people: People, slot: int, other: int, least: LeastCosts, scale: Scale, limit: float
) -> Any:
    """Lower bound of a crowd's cost to a person with fewer samples, times size + 1."""
    # Fills least.spaces and least.floors unless it stops early above ``limit``. A box of extent d with gap g
    # to the person's nearest place costs at least (size + 1) g + d - 1. Casts keep numba from widening
    # numbers to 64 bits.
    places, outlines, gaps = people.places, least.outlines, least.gaps
    kind = gaps.dtype.type
    m, both = crowds.stops[slot] - crowds.starts[slot], crowds.sizes[slot] + 1
    cap, cell, cells = kind(both * scale.half), kind(scale.per_cell), kind(both * scale.per_cell)
    extent, far = kind(places.side - 1), kind(scale.half // scale.per_cell + 1)  # larger gaps cost no more
    total = least.length[0]
    for begin in range(0, least.n_outlines[0], TOGETHER):
        count = min(TOGETHER, least.n_outlines[0] - begin)
        gaps[:count] = far
        for place in range(places.offsets[other], places.offsets[other + 1]):
            x, y = kind(places.x[places.distinct[place]]), kind(places.y[places.distinct[place]])
            x_last, y_last = kind(x + extent), kind(y + extent)
            for lane in range(count):
                j = np.uint64(begin) + np.uint64(lane)  # unsigned: no check for negative indexes
                wide = max(kind(outlines[0, j] - x_last), kind(x - outlines[1, j]), kind(0))
                high = max(kind(outlines[2, j] - y_last), kind(y - outlines[3, j]), kind(0))
                gaps[lane] = min(gaps[lane], kind(wide + high))
        for lane in range(count):
            cost = min(kind(kind(cells * gaps[lane]) + kind(cell * outlines[4, begin + lane])), cap)
            least.spaces_of[begin + lane] = cost
            total += np.int64(cost) * np.int64(outlines[5, begin + lane])
        if total > limit:
            return total
    waits = crowds.bounding.waits
    for i in range(m):
        least.spaces[i] = least.spaces_of[least.outline_of[i]]
        wait = _least_of_waits(waits, other, least.begins[i], least.ends[i])
        least_wait = min(np.int64(both * scale.per_slot) * wait + least.lengths[i], cap)
        least.floors[i] = least.spaces[i] + least_wait
        total += least_wait - least.lengths[i]
        if total > limit:
            break
    return total
