"""Greedy clusters around pivots, within a largest radius (Abul, Bonchi and Nanni 2008, the clustering of NWA; as we know it)."""

import numpy as np

from shoal.compiled import compiled
from shoal.trajectories import Floats, Integers


@compiled
def cluster_within(distances: Floats, k: int, radius: float) -> Integers:
    """The pivot of everybody's cluster: int64 [n], a pivot its own, -1 = in no cluster.

    distances: [n, n], symmetric, zeros on the diagonal. The first pivot is farthest from the one with the least sum of distances, each
    next one is farthest from the pivot before it, among those that no cluster holds and that have not failed. With its k - 1 nearest
    in no cluster it makes one, unless the last of these lies beyond ``radius``. Whoever is left joins the nearest pivot within
    ``radius``. Ties: the first.
    """
    n = len(distances)
    pivot_of = np.full(n, -1)
    failed = np.zeros(n, np.bool_)
    pivots = np.empty(n, np.int64)
    n_pivots = 0
    free = n
    middle, least = 0, np.inf
    for i in range(n):
        total = distances[i].sum()
        if total < least:
            middle, least = i, total
    before = middle
    near = np.empty(k - 1, np.int64)
    while free >= k:
        pivot = -1
        for i in range(n):
            if pivot_of[i] < 0 and not failed[i] and (pivot < 0 or distances[before, i] > distances[before, pivot]):
                pivot = i
        if pivot < 0:
            break
        before = pivot
        known = 0
        for i in range(n):
            if i == pivot or pivot_of[i] >= 0 or (known == k - 1 and distances[pivot, i] >= distances[pivot, near[known - 1]]):
                continue
            place = known if known < k - 1 else k - 2
            while place > 0 and distances[pivot, near[place - 1]] > distances[pivot, i]:
                near[place] = near[place - 1]
                place -= 1
            near[place] = i
            known = min(known + 1, k - 1)
        if distances[pivot, near[k - 2]] > radius:
            failed[pivot] = True
            continue
        pivot_of[pivot] = pivot
        pivot_of[near] = pivot
        pivots[n_pivots] = pivot
        n_pivots += 1
        free -= k
    for i in range(n):
        if pivot_of[i] < 0:
            for pivot in pivots[:n_pivots]:
                if distances[i, pivot] <= radius and (pivot_of[i] < 0 or distances[i, pivot] < distances[i, pivot_of[i]]):
                    pivot_of[i] = pivot
    return pivot_of
