"""Swap sets of SwapLocations (Alg. 3, lines 3 to 13).

For each triple of a cluster's leader, one unswapped triple of every other member.
"""

import math
from typing import Final

import numpy as np

from shoal.kernels.shortest_paths import (
    Distances,
    Searches,
    begin_search,
    empty_searches,
    search_radius,
    settle_next,
)
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled

_SLACK: Final = 1 - 1e-9  # of bounds, for what rounding takes


@compiled
def form_groups(distances: Distances, k: int, left: Flags) -> Integers:
    """[groups, k]: the closest two that are left, then whoever adds the least distance, until each is full.

    Of equals the first. ``left`` loses them.
    """
    n = len(left)
    searches = empty_searches(k, n)
    nearest, least = np.full(n, -1), np.full(n, np.inf)
    for node in range(n):
        if left[node]:
            nearest[node], least[node] = _nearest_left(distances, searches, node, left)
    groups = np.empty((np.count_nonzero(left) // k, k), dtype=np.int64)
    for group in groups:
        first = int(np.argmin(least))
        while not left[nearest[first]]:  # it was when it was looked up, so nobody is nearer
            nearest[first], least[first] = _nearest_left(distances, searches, first, left)
            first = int(np.argmin(least))
        group[0], group[1] = first, nearest[first]
        _fill_up(distances, searches, group, left)
        left[group], least[group] = False, np.inf
    return groups


@compiled
def _nearest_left(distances: Distances, searches: Searches, node: int, left: Flags) -> tuple[int, float]:
    """The nearest other node that is left, and how far it is."""
    begin_search(distances, searches, 0, node)
    value = searches.value[0]
    chosen, least = -1, np.inf
    if distances.kept_direct:
        direct = distances.direct
        for there in direct.to[direct.offsets[node] : direct.offsets[node + 1]]:
            if left[there] and value[there] < least:  # they ascend, so of equals it is the first
                chosen, least = int(there), value[there]
    while searches.size[0] > 0 and search_radius(searches, 0) <= least:
        there = settle_next(distances, searches, 0)
        nearer = value[there] < least or (value[there] == least and there < chosen)
        if nearer and left[there] and there != node:
            chosen, least = there, value[there]
    return chosen, least


@compiled
def _fill_up(distances: Distances, searches: Searches, group: Integers, left: Flags) -> None:
    """Fill a group of two up with those that are left, each the one that adds the least distance.

    Whoever a search has not reached is as far from its node as it has come, at least, and from another of the
    group nearer by no more than these two are apart.
    """
    bounds = np.zeros(len(group))
    for begun in range(2, len(group)):
        if begun == 2:
            begin_search(distances, searches, 0, group[0])
            while searches.value[0, group[1]] == np.inf:
                settle_next(distances, searches, 0)
        begin_search(distances, searches, begun - 1, group[begun - 1])
        chosen, least = -1, np.inf
        for node in range(len(left)):
            if left[node] and searches.value[0, node] < np.inf:
                total = _total(searches, group, begun, node)
                if total < least:
                    chosen, least = node, total
        for own in range(begun):
            bounds[own] = _bound(searches, group, begun, own)
        while True:
            slowest = int(np.argmin(bounds[:begun]))
            if searches.size[slowest] == 0 or bounds[slowest] * _SLACK > least:
                break
            node = settle_next(distances, searches, slowest)
            bounds[slowest] = _bound(searches, group, begun, slowest)
            if left[node]:
                total = _total(searches, group, begun, node)
                if total < least or (total == least and node < chosen):
                    chosen, least = node, total
        group[begun] = chosen


@compiled
def _bound(searches: Searches, group: Integers, begun: int, own: int) -> float:
    """What whoever this search has not reached adds to the group, at least."""
    come = search_radius(searches, own)
    bound = come
    for other in range(begun):
        if other != own and come < np.inf:
            bound += max(come - searches.value[min(own, other), group[max(own, other)]], 0.0)
    return bound


@compiled
def _total(searches: Searches, group: Integers, begun: int, node: int) -> float:
    """The sum of the distances of a node from a group; inf = one is not known, or it is of the group."""
    total = 0.0
    for own in range(begun):
        total += searches.value[own, node]
        if group[own] == node:
            return np.inf
    return total


@compiled
def form_swap_sets(
    offsets: Integers,
    t: Floats,
    x: Floats,
    y: Floats,
    members: Integers,
    time_threshold_s: float,
    space_threshold_m: float,
    used: Flags,
    sets: Integers,
) -> int:
    """How many sets one cluster forms.

    members: positions of its trajectories, the leader first; the others are asked in this order. Filled: sets
    [at least the leader's length, members], rows of triples, the leading one first; used [m], the triples in
    sets. Each triple is chosen for the least sum of hypot(dx, dy) / R^s + |dt| / R^t to those collected
    before it, the first of equals.
    """
    n_sets = 0
    for leading in range(offsets[members[0]], offsets[members[0] + 1]):
        chosen = sets[n_sets]
        chosen[0] = leading
        complete = True
        for place in range(1, len(members)):
            best, found = np.inf, -1
            row, end = offsets[members[place]], offsets[members[place] + 1]
            row += np.searchsorted(t[row:end], t[leading] - time_threshold_s)
            while row < end and t[row] - t[leading] <= time_threshold_s:
                near = math.hypot(x[row] - x[leading], y[row] - y[leading]) <= space_threshold_m
                if near and not used[row] and t[leading] - t[row] <= time_threshold_s:
                    added = 0.0
                    for i in range(place):
                        away = math.hypot(x[row] - x[chosen[i]], y[row] - y[chosen[i]])
                        added += away / space_threshold_m + abs(t[row] - t[chosen[i]]) / time_threshold_s
                    if added < best:
                        best, found = added, row
                row += 1
            if found < 0:
                complete = False
                break
            chosen[place] = found
        if complete:
            used[chosen] = True
            n_sets += 1
    return n_sets
