"""SwapLocations: clusters (Sec. 7.1.1) and swap sets (Alg. 3, lines 3 to 13).

Clusters are k nodes of a graph, begun with the closest available pair. Searches stop where all farther
nodes add more than the best.
"""

import math
from typing import Final

import numpy as np

from shoal.kernels.ordering import first_not_below
from shoal.kernels.passing import Lines
from shoal.kernels.shortest_paths import (
    Distances,
    Searches,
    begin_search,
    empty_searches,
    search_radius,
    settle_next,
)
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.compiled import compiled

_SLACK: Final = 1 - 1e-9  # on bounds, for rounding


@compiled
def form_groups(distances: Distances, k: int, available: Flags) -> Integers:
    """[groups, k]: the closest available pair, then the nodes that add least."""
    # the first of equals; used nodes are cleared in ``available``
    n = len(available)
    searches = empty_searches(k, n)
    nearest, least = np.full(n, -1), np.full(n, np.inf)
    for node in range(n):
        if available[node]:
            nearest[node], least[node] = _nearest_free(distances, searches, node, available)
    groups = np.empty((np.count_nonzero(available) // k, k), dtype=np.int64)
    for group in groups:
        first = int(np.argmin(least))
        while not available[nearest[first]]:  # all remaining nodes are farther than this one was
            nearest[first], least[first] = _nearest_free(distances, searches, first, available)
            first = int(np.argmin(least))
        group[0], group[1] = first, nearest[first]
        _fill_up(distances, searches, group, available)
        available[group], least[group] = False, np.inf
    return groups


@compiled
def _nearest_free(distances: Distances, searches: Searches, node: int, available: Flags) -> tuple[int, float]:
    begin_search(distances, searches, 0, node)
    value = searches.value[0]
    chosen, least = -1, np.inf
    if distances.keeps_direct:
        direct = distances.direct
        for other in direct.to[direct.offsets[node] : direct.offsets[node + 1]]:
            if available[other] and value[other] < least:  # ascending: the first of equals
                chosen, least = int(other), value[other]
    while searches.size[0] > 0 and search_radius(searches, 0) <= least:
        other = settle_next(distances, searches, 0)
        nearer = value[other] < least or (value[other] == least and other < chosen)
        if nearer and available[other] and other != node:
            chosen, least = other, value[other]
    return chosen, least


@compiled
def _fill_up(distances: Distances, searches: Searches, group: Integers, available: Flags) -> None:
    # A node that a search has not reached is at least as far from its center as the search radius, and from
    # another member nearer by no more than the distance between the two members.
    bounds = np.zeros(len(group))
    for size in range(2, len(group)):
        if size == 2:
            begin_search(distances, searches, 0, group[0])
            while searches.value[0, group[1]] == np.inf:
                settle_next(distances, searches, 0)
        begin_search(distances, searches, size - 1, group[size - 1])
        chosen, least = -1, np.inf
        for node in range(len(available)):
            if available[node] and searches.value[0, node] < np.inf:
                total = _total(searches, group, size, node)
                if total < least:
                    chosen, least = node, total
        for member in range(size):
            bounds[member] = _bound(searches, group, size, member)
        while True:
            slowest = int(np.argmin(bounds[:size]))
            if searches.size[slowest] == 0 or bounds[slowest] * _SLACK > least:
                break
            node = settle_next(distances, searches, slowest)
            bounds[slowest] = _bound(searches, group, size, slowest)
            if available[node]:
                total = _total(searches, group, size, node)
                if total < least or (total == least and node < chosen):
                    chosen, least = node, total
        group[size] = chosen


@compiled
def _bound(searches: Searches, group: Integers, size: int, member: int) -> float:
    come = search_radius(searches, member)
    bound = come
    for other in range(size):
        if other != member and come < np.inf:
            bound += max(come - searches.value[min(member, other), group[max(member, other)]], 0.0)
    return bound


@compiled
def _total(searches: Searches, group: Integers, size: int, node: int) -> float:
    total = 0.0
    for member in range(size):
        total += searches.value[member, node]
        if group[member] == node:
            return np.inf
    return total


@compiled
def form_swap_sets(
    lines: Lines,
    members: Integers,
    time_threshold_s: float,
    space_threshold_m: float,
    used: Flags,
    sets: Integers,
) -> int:
    """For each triple of the leader, one unswapped triple of every other member.

    members: the leader first, in this order. Fills sets [at least the leader's length, members], rows of
    triples, the leading one first, and used [m]; returns the number of sets. Each triple has the least sum
    of hypot(dx, dy) / R^s + |dt| / R^t to those collected before, the first of equals.
    """
    offsets, t, x, y = lines
    n_sets = 0
    for leading in range(offsets[members[0]], offsets[members[0] + 1]):
        chosen = sets[n_sets]
        chosen[0] = leading
        complete = True
        for place in range(1, len(members)):
            best, best_row = np.inf, -1
            row, end = offsets[members[place]], offsets[members[place] + 1]
            row = first_not_below(t, row, end, t[leading] - time_threshold_s)
            while row < end and t[row] - t[leading] <= time_threshold_s:
                near = math.hypot(x[row] - x[leading], y[row] - y[leading]) <= space_threshold_m
                if near and not used[row] and t[leading] - t[row] <= time_threshold_s:
                    added = 0.0
                    for i in range(place):
                        away = math.hypot(x[row] - x[chosen[i]], y[row] - y[chosen[i]])
                        added += away / space_threshold_m + abs(t[row] - t[chosen[i]]) / time_threshold_s
                    if added < best:
                        best, best_row = added, row
                row += 1
            if best_row < 0:
                complete = False
                break
            chosen[place] = best_row
        if complete:
            used[chosen] = True
            n_sets += 1
    return n_sets
