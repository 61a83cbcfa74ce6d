"""Nearest others of merged crowds, 64 at once (docs/bounds.md)."""

from typing import Any

import numpy as np

from shoal.kernels.bounds import (
    LANES,
    BlockCosts,
    add_least_costs,
    minimum_over_lanes,
    possible_ranks,
    transpose_costs,
)
from shoal.kernels.crowd_bounds import (
    Crowds,
    LeastCosts,
    boxes_of,
    empty_least_costs,
    fill_outlines,
    least_costs_to_boxes,
    least_waits_to_boxes,
)
from shoal.kernels.crowd_index import LowerBounds
from shoal.kernels.near_crowds import CrowdSearch, nearest_to_crowd
from shoal.kernels.near_pairs import PairSearch
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


@compiled
def _lane_cost_bounds(crowds: Crowds, search: PairSearch, slots: Integers, least: LeastCosts) -> BlockCosts:
    places, hours, scale = search.people.places, search.people.hours, search.scale
    n_places, n_bins = len(places.costs), hours.n_bins
    near = np.empty((LANES, n_places), dtype=places.costs.dtype)
    soon = np.empty((LANES, n_bins), dtype=places.costs.dtype)
    for lane in range(LANES):
        if lane >= len(slots):
            near[lane], soon[lane] = near[lane - 1], soon[lane - 1]
            continue
        boxes, size = boxes_of(crowds, slots[lane]), crowds.sizes[slots[lane]]
        fill_outlines(boxes, size, hours.first_t, crowds.bounding.shift, scale, least)
        least_costs_to_boxes(places, size, scale, least)
        least_waits_to_boxes(hours, boxes, size, scale, least.waits)
        for p in range(n_places):
            near[lane, p] = least.places[p] // (size + 1)
        for h in range(n_bins):
            soon[lane, h] = least.waits[h] // (size + 1)
    costs = BlockCosts(
        near=np.zeros((n_places, LANES), dtype=np.int16),
        soon=np.zeros((n_bins, LANES), dtype=np.int16),
        least=np.empty(n_places, dtype=near.dtype),
        shift=search.shift,
    )
    half = int(scale.half)
    minimum_over_lanes(near, costs.least)
    transpose_costs(near, costs.least, half, search.shift, costs.near)
    transpose_costs(soon, np.zeros(n_bins, dtype=soon.dtype), half, search.shift, costs.soon)
    return costs


@compiled
def _find_longer_people(
    crowds: Crowds,
    search: PairSearch,
    slots: Integers,
    costs: BlockCosts,
    counts: Integers,
    subjects: Numbers,
) -> None:
    ranked, limits, order = search.ranked, search.limits, search.order
    m = crowds.stops[slots] - crowds.starts[slots]
    shorter = 0
    for length in ranked.lengths:
        shorter += length < m.min()
    begin = shorter // ranked.stratum * ranked.stratum
    possible = np.empty(len(order) + 1, dtype=np.int32)
    count = possible_ranks(ranked, begin, limits, costs.least, costs.shift, possible)
    sums = np.empty(LANES, dtype=np.int32)
    counts[:] = 0
    for r in possible[:count]:
        sums[:] = 0
        passing = add_least_costs(
            ranked.place_offsets, ranked.places, ranked.place_weights, r, costs.near, limits[r], sums
        )
        if passing > 0:
            passing = add_least_costs(
                ranked.bin_offsets, ranked.bins, ranked.bin_weights, r, costs.soon, limits[r], sums
            )
        if passing > 0:
            for lane in range(len(slots)):
                if sums[lane] < limits[r] and ranked.lengths[r] >= m[lane]:
                    subjects[lane, counts[lane]] = order[r]
                    counts[lane] += 1


@compiled
def nearest_to_block(
    search: CrowdSearch,
    people: PairSearch,
    slots: Integers,
    living: Integers,
    lowest: LowerBounds,
    most_boxes: int,
) -> None:
    """As ``nearest_to_crowds``, for up to LANES crowds."""
    crowds = search.crowds
    n_windows = crowds.bounding.visits.n_windows
    least = empty_least_costs(people.people, n_windows, most_boxes, crowds.boxes.t_start)
    counts = np.empty(LANES, dtype=np.int64)
    subjects = np.empty((LANES, len(people.order)), dtype=np.int32)
    _find_longer_people(
        crowds, people, slots, _lane_cost_bounds(crowds, people, slots, least), counts, subjects
    )
    others, room = np.empty(len(living), dtype=np.int64), np.empty((3, len(living) + 1), dtype=np.int64)
    for lane in range(len(slots)):
        slot = slots[lane]
        count = counts[lane]
        others[:count] = subjects[lane, :count]
        m: Any = crowds.stops[slot] - crowds.starts[slot]
        for other in living:
            if crowds.sizes[other] > 1 or crowds.stops[other] - crowds.starts[other] < m:
                others[count] = other
                count += 1
        search.nearest.length[slot] = 0
        nearest_to_crowd(search, slot, others[:count], least, lowest, room)
