"""Nearest others of a merged crowd (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.crowd_bounds import (
    Crowds,
    LeastCosts,
    boxes_of,
    empty_least_costs,
    fill_floors,
    fill_outlines,
    least_costs_to_boxes,
    least_waits_to_boxes,
    lower_bound_to_person,
    rule_out_shorter,
)
from shoal.kernels.crowd_index import CrowdIndex, LowerBounds, fill_lower_bounds
from shoal.kernels.crowd_windows import MAIN, fill_costs
from shoal.kernels.nearest_lists import Nearest, ceiling, offer
from shoal.kernels.people import People
from shoal.kernels.stretch import Samples, Scale
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled

LANES = 16  # boxes that are compared with one box at once
_MANY = 1000  # comparisons of places and boxes that take as long as judging one person


class CrowdSearch(NamedTuple):
    """Inputs that stay the same while crowds search."""

    crowds: Crowds
    people: People
    indexed: CrowdIndex  # merged crowds
    scale: Scale
    nearest: Nearest
    threshold: float  # only efforts below it enter the lists


@compiled
def possible_slots(
    search: CrowdSearch,
    slot: int,
    living: Integers,
    most: float,
    least: LeastCosts,
    lowest: LowerBounds,
    room: Integers,
) -> int:
    """Fill room[0] with slots whose effort may be at most ``most``; return their number.

    People with at least as many samples as the crowd has boxes are judged by places and windows, others by
    the gap between rectangles, indexed crowds by bounds from there. Crowds that entered after ``slot`` have
    searched it themselves. room: [3, n].
    """
    crowds, people, index, scale = search.crowds, search.people, search.indexed, search.scale
    starts, stops, sizes, turns = crowds.starts, crowds.stops, crowds.sizes, crowds.turns
    around, sums, turn = crowds.bounding.around, lowest.sums, crowds.turns[slot]
    possible, others = room[0], room[1]
    size, m = sizes[slot], stops[slot] - starts[slot]
    x_first, x_last, y_first, y_last = around[slot]
    longer, rest = 0, 0
    for other in living:
        is_longer = (sizes[other] == 1) & (stops[other] - starts[other] >= m)
        possible[longer], others[rest] = other, other
        longer += is_longer
        rest += 1 - is_longer
    remaining = _keep_longer(crowds, people, slot, most * (size + 1), least, scale, longer, room)
    for other in others[:rest]:
        m_most, both = max(m, stops[other] - starts[other]), size + sizes[other]
        limit = most * both * m_most
        total = np.int64(0)
        if sizes[other] > 1:
            if turns[other] >= turn:
                continue
            if turns[other] < index.until:
                total = sums[other]
        if total <= limit:
            away = max(x_first - around[other, 1], around[other, 0] - x_last, 0) + max(
                y_first - around[other, 3], around[other, 2] - y_last, 0
            )
            total = np.int64(m_most * min(scale.per_cell * both * away, both * scale.half))
            total += least.length[0] * (sizes[other] == 1)
        possible[remaining] = other
        remaining += total <= limit
    return remaining


@compiled
def _keep_longer(
    crowds: Crowds,
    people: People,
    slot: int,
    most: float,
    least: LeastCosts,
    scale: Scale,
    n: int,
    room: Integers,
) -> int:
    """By places and times; returns their number."""
    # All have at least as many samples as the crowd has boxes. most: cost of a sample, times size + 1. Costs
    # by place and window pay off for many people; few are judged by their bins.
    starts, stops, visits = crowds.starts, crowds.stops, crowds.bounding.visits
    places, hours, main, costs, waits = people.places, people.hours, visits.main, least.places, least.waits
    possible, sums = room[0], room[2]
    count = 0
    for other in possible[:n]:
        total = np.int64(0)
        for place in range(MAIN):
            total += np.int64(main[other, place, 1]) * costs[main[other, place, 0]]
        possible[count], sums[count] = other, total
        count += total <= most * (stops[other] - starts[other])
    by_window = count * _MANY > (stops[slot] - starts[slot]) * len(costs)
    if by_window:
        boxes, size = boxes_of(crowds, slot), crowds.sizes[slot]
        fill_costs(places, boxes, size, hours.first_t, costs, visits.shift, scale, least.windows)
    offsets, bins, weights = hours.offsets, hours.distinct, hours.weights
    in_window, visit_counts, visit_offsets = least.windows.ravel(), visits.counts, visits.offsets
    remaining = 0
    for position in range(count):
        other, total = possible[position], sums[position]
        limit = most * (stops[other] - starts[other])
        if by_window:
            for visit in range(visit_offsets[other], visit_offsets[other + 1]):
                total += np.int64(visit_counts[visit, 1]) * np.int64(in_window[visit_counts[visit, 0]])
                if total > limit:
                    break
        else:
            for time in range(offsets[other], offsets[other + 1]):
                total += np.int64(weights[time]) * waits[bins[time]]
                if total > limit:
                    break
        if total <= limit:
            for place in range(places.offsets[other] + MAIN, places.offsets[other + 1]):
                total += np.int64(places.weights[place]) * costs[places.distinct[place]]
        possible[remaining] = other
        remaining += total <= limit
    return remaining


@compiled
def _sum_to_boxes(
    boxes: Samples,
    a: tuple[int, int, int],
    b: tuple[int, int, int],
    least: LeastCosts,
    lowest: Any,
    scale: Scale,
    limit: float,
) -> Any:
    """Sum over a's boxes of the least cost to any box of b, times the people in both: Eq. 10 before division.

    a, b: begin and end of their boxes, and people. lowest: the sum of a's least.floors, or 0; each box
    replaces its floor, so the sum only grows. Sums above ``limit`` may be inexact. Casts keep numba from
    widening to 64 bits.

    LANES boxes of b in order of start are compared at once: around the start of a's box, then later, then
    earlier, while a bound on all further boxes is below the least cost so far: that of
    ``kernels.stretch._nearest_box``.
    """
    kind = boxes.t_start.dtype.type
    (first, stop, n_a), (first_b, stop_b, n_b) = a, b
    m_b, both = stop_b - first_b, n_a + n_b
    cap, slots, cells = kind(both * scale.half), kind(both * scale.per_slot), kind(both * scale.per_cell)
    slots_a, slots_b = kind(n_a * scale.per_slot), kind(n_b * scale.per_slot)
    cells_a, cells_b = kind(n_a * scale.per_cell), kind(n_b * scale.per_cell)
    chunks = (m_b + LANES - 1) // LANES
    total = np.int64(lowest)
    near = first_b
    for i in range(first, stop):
        t_start, t_end = boxes.t_start[i], boxes.t_end[i]
        x_min, x_max, y_min, y_max = boxes.x_min[i], boxes.x_max[i], boxes.y_min[i], boxes.y_max[i]
        while near < stop_b and boxes.t_start[near] < t_start:
            near += 1
        own_time = kind(slots_a * (t_end - t_start))
        own_space = kind(cells_a * (x_max - x_min + y_max - y_min))
        least_space = least.spaces[i - first] if lowest > 0 else 0
        best = kind(2 * cap)
        middle = min((near - first_b) // LANES, chunks - 1)
        for step in (1, -1):
            chunk = middle if step > 0 else middle - 1
            while 0 <= chunk < chunks:
                begin = first_b + max(min(chunk * LANES, m_b - LANES), 0)
                if chunk > middle:
                    late = boxes.t_start[begin] - t_start
                    bound = slots_b * late + slots_a * max(late - (t_end - t_start), 0)
                elif chunk < middle:
                    last = begin + LANES - 1
                    early = t_start - boxes.t_start[last]
                    bound = slots_a * early + slots_b * max(t_end - boxes.latest_end[last], 0)
                else:
                    bound = 0
                if min(bound, cap) + least_space >= best:
                    break
                for lane in range(LANES):
                    j = np.uint64(begin) + np.uint64(lane)  # unsigned: no check for negative indexes
                    start, end = boxes.t_start[j], boxes.t_end[j]
                    west, east, south, north = boxes.x_min[j], boxes.x_max[j], boxes.y_min[j], boxes.y_max[j]
                    long = kind(max(t_end, end) - min(t_start, start))
                    wide = kind(max(x_max, east) - min(x_min, west))
                    high = kind(max(y_max, north) - min(y_min, south))
                    time = kind(kind(slots * long) - kind(own_time + kind(slots_b * kind(end - start))))
                    spread = kind(kind(east - west) + kind(north - south))
                    space = kind(kind(cells * kind(wide + high)) - kind(own_space + kind(cells_b * spread)))
                    best = min(best, kind(min(time, cap) + min(space, cap)))
                chunk += step
        total += best
        if lowest > 0:
            total -= least.floors[i - first]
        if total > limit:
            break
    return total


@compiled
def sum_of_pair(
    crowds: Crowds, people: People, slot: int, other: int, least: LeastCosts, scale: Scale, limit: float
) -> Any:
    """Eq. 10 before division, times the people in both."""
    # sums above ``limit`` may be inexact
    first = (crowds.starts[slot], crowds.stops[slot], crowds.sizes[slot])
    second = (crowds.starts[other], crowds.stops[other], crowds.sizes[other])
    m, m_other = first[1] - first[0], second[1] - second[0]
    lowest = np.int64(0)
    if second[2] == 1:
        lowest = (
            lower_bound_to_person(crowds, people, slot, other, least, scale, limit)
            if m > m_other
            else fill_floors(people, other, least)
        )
        if lowest > limit:
            return lowest
    total = _sum_to_boxes(
        crowds.boxes,
        first if m > m_other else second,
        second if m > m_other else first,
        least,
        lowest,
        scale,
        limit,
    )
    if m == m_other and total <= limit:
        total = max(total, _sum_to_boxes(crowds.boxes, first, second, least, np.int64(0), scale, limit))
    return total


@compiled
def nearest_to_crowd(
    search: CrowdSearch, slot: int, living: Integers, least: LeastCosts, lowest: LowerBounds, room: Integers
) -> None:
    """Offer to ``slot`` all slots that entered before it, with efforts below the threshold."""
    crowds, people, scale, nearest = search.crowds, search.people, search.scale, search.nearest
    boxes, size = boxes_of(crowds, slot), crowds.sizes[slot]
    person = 0
    while person < len(living) and crowds.sizes[living[person]] > 1:
        person += 1
    if person < len(living):
        fill_outlines(boxes, size, people.hours.first_t, crowds.bounding.shift, scale, least)
        least_costs_to_boxes(people.places, size, scale, least)
        least_waits_to_boxes(people.hours, boxes, size, scale, least.waits)
    most = ceiling(nearest, slot, search.threshold)
    fill_lower_bounds(crowds, search.indexed, people.hours, slot, most, lowest, scale)
    highest = most * (1 + 1e-12)
    count = possible_slots(search, slot, living, highest, least, lowest, room)
    count = rule_out_shorter(crowds, people.places, slot, highest, least, scale, room[0, :count])
    for other in room[0, :count]:
        whole = (size + crowds.sizes[other]) * max(
            len(boxes.t_start), crowds.stops[other] - crowds.starts[other]
        )
        limit = most * whole * (1 + 1e-12)
        total = sum_of_pair(crowds, people, slot, other, least, scale, limit)
        if total <= limit:
            offer(nearest, slot, crowds.slots[other], total / whole, search.threshold)
            most = ceiling(nearest, slot, search.threshold)


@compiled
def nearest_to_crowds(
    search: CrowdSearch, slots: Integers, living: Integers, lowest: LowerBounds, most_boxes: int
) -> None:
    """Empty the list of each of ``slots`` and search its nearest. most_boxes: of any slot."""
    crowds = search.crowds
    n_windows = crowds.bounding.visits.n_windows
    workspace = empty_least_costs(search.people, n_windows, most_boxes, crowds.boxes.t_start)
    room = np.empty((3, len(living) + 1), dtype=np.int64)
    for slot in slots:
        search.nearest.length[slot] = 0
        nearest_to_crowd(search, slot, living, workspace, lowest, room)
