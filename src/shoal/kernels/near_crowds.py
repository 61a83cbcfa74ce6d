"""The nearest others of a merged crowd, by the same bounds as those of single people (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.bounding_rectangles import Bounding, LeastCosts, lowest_sum_to_rectangles
from shoal.kernels.nearest_lists import Nearest, ceiling, offer
from shoal.kernels.people import Hours, People, Places
from shoal.kernels.stretch import Samples, Scale, box_sum, box_sum_from
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


class Crowds(NamedTuple):
    """Everybody's boxes, by slot: those of slot s from starts[s] to stops[s].

    sizes: [n] people in each slot; bounding: the rectangles of each slot.
    """

    boxes: Samples
    starts: Integers
    stops: Integers
    sizes: Integers
    bounding: Bounding


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
def possible_slots(
    crowds: Crowds,
    people: People,
    slot: int,
    living: Integers,
    ceiling_of_slot: float,
    least: LeastCosts,
    scale: Scale,
    possible: Integers,
) -> int:
    """Fill ``possible`` with the living slots that may be close enough to ``slot``; how many there are.

    Their effort may be at most the ceiling. People with at least as many samples as the crowd has boxes
    are judged by their places and bins, others by the gap between the rectangles around all boxes.
    """
    places, hours, sizes, around = people.places, people.hours, crowds.sizes, crowds.bounding.around
    size, m = sizes[slot], crowds.stops[slot] - crowds.starts[slot]
    x_first, x_last, y_first, y_last = around[slot]
    count = 0
    for other in living:
        m_other = crowds.stops[other] - crowds.starts[other]
        both, longer = size + sizes[other], max(m, m_other)
        limit = ceiling_of_slot * both * longer * (1 + 1e-12)
        total = np.int64(0)
        if sizes[other] == 1 and m_other >= m:
            for own in range(places.offsets[other], places.offsets[other + 1]):
                total += np.int64(places.weights[own]) * least.places[places.own[own]]
                if total > limit:
                    break
            else:
                for own in range(hours.offsets[other], hours.offsets[other + 1]):
                    total += np.int64(hours.weights[own]) * least.waits[hours.own[own]]
                    if total > limit:
                        break
        else:
            away = max(x_first - around[other, 1], around[other, 0] - x_last, 0) + max(
                y_first - around[other, 3], around[other, 2] - y_last, 0
            )
            total = longer * min(scale.per_cell * both * away, both * scale.half)
        if total <= limit and other != slot:
            possible[count] = other
            count += 1
    return count


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
def sum_of_pair(
    crowds: Crowds, people: People, slot: int, other: int, least: LeastCosts, scale: Scale, limit: float
) -> Any:
    """Eq. 10 before division, times the people in both: that of the crowd that searches and another slot.

    A sum above ``limit`` may come out as any sum above it.
    """
    n, n_other = crowds.sizes[slot], crowds.sizes[other]
    own, its = boxes_of(crowds, slot), boxes_of(crowds, other)
    m, m_other = len(own.t_start), len(its.t_start)
    if m > m_other:
        lowest = lowest_sum_to_rectangles(
            own, n, crowds.bounding, other, n_other, people.hours, least, scale, limit
        )
        return (
            lowest
            if lowest > limit
            else box_sum_from(own, n, its, n_other, least.spaces, least.floors, lowest, scale, limit)
        )
    if n_other == 1:
        lowest = fill_floors(people, other, least)
    else:
        lowest = lowest_sum_to_rectangles(
            its, n_other, crowds.bounding, slot, n, people.hours, least, scale, limit
        )
    total = (
        lowest
        if lowest > limit
        else box_sum_from(its, n_other, own, n, least.spaces, least.floors, lowest, scale, limit)
    )
    if m == m_other and total <= limit:
        total = max(total, box_sum(own, n, its, n_other, scale, limit))
    return total


@compiled
def nearest_to_crowd(
    crowds: Crowds,
    people: People,
    slot: int,
    living: Integers,
    threshold: float,
    nearest: Nearest,
    least: LeastCosts,
    possible: Integers,
    scale: Scale,
) -> None:
    """Offer to ``slot`` all other living slots with an effort below ``threshold``.

    possible: space for as many as there are living.
    """
    boxes, size = boxes_of(crowds, slot), crowds.sizes[slot]
    least_costs_to_boxes(people.places, boxes, size, scale, least.places)
    least_waits_to_boxes(people.hours, boxes, size, scale, least.waits)
    count = possible_slots(
        crowds, people, slot, living, ceiling(nearest, slot, threshold), least, scale, possible
    )
    for other in possible[:count]:
        whole = (size + crowds.sizes[other]) * max(
            len(boxes.t_start), crowds.stops[other] - crowds.starts[other]
        )
        limit = ceiling(nearest, slot, threshold) * whole * (1 + 1e-12)
        total = sum_of_pair(crowds, people, slot, other, least, scale, limit)
        if total <= limit:
            offer(nearest, slot, other, total / whole, threshold)


@compiled
def nearest_to_crowds(
    crowds: Crowds,
    people: People,
    slots: Integers,
    living: Integers,
    threshold: float,
    nearest: Nearest,
    most_boxes: int,
    scale: Scale,
) -> None:
    """The same for each of ``slots``, after emptying its list. most_boxes: that any slot has."""
    workspace = LeastCosts(
        places=np.empty(len(people.places.costs), dtype=np.int64),
        waits=np.empty(people.hours.n_bins, dtype=np.int64),
        spaces=np.empty(most_boxes, dtype=np.int64),
        floors=np.empty(most_boxes, dtype=np.int64),
    )
    possible = np.empty(len(living) + 1, dtype=np.int64)
    for slot in slots:
        nearest.known[slot] = 0
        nearest_to_crowd(crowds, people, slot, living, threshold, nearest, workspace, possible, scale)


@compiled
def offer_all(nearest: Nearest, more: Nearest, slot: int, threshold: float) -> None:
    """Offer to ``slot`` what another list has for it."""
    for place in range(more.known[slot]):
        offer(nearest, slot, more.partner[slot, place], more.effort[slot, place], threshold)
