"""The nearest others of a merged crowd, by the same bounds as those of single people (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.compiled import compiled
from shoal.kernels.near_pairs import Nearest, Places, accepts, ceiling, offer
from shoal.kernels.stretch import Integers, Samples, Scale, box_effort


class Crowds(NamedTuple):
    """Everybody's boxes, by slot: those of slot s from starts[s] to stops[s]. sizes: [n] people in each slot.

    around: [n, 4] least and greatest x, least and greatest y that each slot's boxes reach.
    """

    boxes: Samples
    starts: Integers
    stops: Integers
    sizes: Integers
    around: Integers


@compiled
def boxes_of(crowds: Crowds, slot: int) -> Samples:
    """The boxes in a slot."""
    every, own = crowds.boxes, slice(crowds.starts[slot], crowds.stops[slot])
    return Samples(
        every.t_start[own], every.t_end[own], every.x_min[own], every.y_min[own], every.x_max[own], every.y_max[own], every.reach[own]
    )


@compiled
def least_costs_to_boxes(places: Places, boxes: Samples, size: int, scale: Scale, least: Integers) -> None:
    """Fill least[p] with the least spatial cost, times size + 1, of one person's sample at each place to any of a crowd's boxes."""
    both = size + 1
    least[:] = both * scale.half
    reach = places.side - 1
    for j in range(len(boxes.t_start)):
        x_min, x_max, y_min, y_max = boxes.x_min[j], boxes.x_max[j] - 1, boxes.y_min[j], boxes.y_max[j] - 1
        own = x_max - x_min + y_max - y_min
        for p in range(len(least)):
            x, y = places.x[p], places.y[p]
            gap = max(x_min - x - reach, x - x_max, 0) + max(y_min - y - reach, y - y_max, 0)
            least[p] = min(least[p], scale.per_cell * (both * gap + own))


@compiled
def lowest_effort(crowds: Crowds, places: Places, slot: int, other: int, m: int, m_other: int, least: Integers, scale: Scale) -> float:
    """A bound below the effort between a crowd and another slot: by the places of a person with more samples, else by the ways between."""
    both = crowds.sizes[slot] + crowds.sizes[other]
    if crowds.sizes[other] == 1 and m_other >= m:
        total = 0 * scale.half
        for own in range(places.offsets[other], places.offsets[other + 1]):
            total += int(places.weights[own]) * least[places.own[own]]
        return float(total / (both * m_other))
    a, b = crowds.around[slot], crowds.around[other]
    away = max(a[0] - b[1], b[0] - a[1], 0) + max(a[2] - b[3], b[2] - a[3], 0)
    return float(min(scale.per_cell * away, scale.half))


@compiled
def nearest_to_crowd(
    crowds: Crowds, places: Places, slot: int, living: Integers, threshold: float, nearest: Nearest, least: Integers, scale: Scale
) -> Any:
    """Offer to ``slot`` all other living slots with an effort below ``threshold``. least: room for [P] costs."""
    boxes, size = boxes_of(crowds, slot), crowds.sizes[slot]
    m = len(boxes.t_start)
    least_costs_to_boxes(places, boxes, size, scale, least)
    for other in living:
        if other == slot:
            continue
        m_other = crowds.stops[other] - crowds.starts[other]
        # A bound is rounded like an effort: it may stand above an equal effort by the last digit.
        lowest = lowest_effort(crowds, places, slot, other, m, m_other, least, scale) * (1 - 1e-12)
        if not accepts(nearest, slot, other, lowest, threshold):
            continue
        effort = box_effort(boxes, size, boxes_of(crowds, other), crowds.sizes[other], scale, ceiling(nearest, slot, threshold))
        offer(nearest, slot, other, effort, threshold)


@compiled
def nearest_to_crowds(
    crowds: Crowds, places: Places, slots: Integers, living: Integers, threshold: float, nearest: Nearest, scale: Scale
) -> None:
    """The same for each of ``slots``."""
    least = np.empty(len(places.costs), dtype=np.int64)
    for slot in slots:
        nearest.known[slot] = 0
        nearest_to_crowd(crowds, places, slot, living, threshold, nearest, least, scale)
