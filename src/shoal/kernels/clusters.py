"""Greedy clusters around pivots within a radius (NWA; Abul, Bonchi and Nanni 2008)."""

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled


@compiled
def cluster_within(distances: Floats, k: int, radius: float) -> Integers:
    """The pivot of each person's cluster: int64 [n], -1 = unclustered."""
    # distances: [n, n], symmetric. The first pivot is farthest from the person with the least sum of
    # distances; each next pivot is farthest from the previous one, among unclustered people that have not
    # failed. A pivot and its k - 1 nearest unclustered people form a cluster unless the last lies beyond
    # ``radius``. The rest join the nearest pivot within ``radius``, the earliest of equals. Other ties go to
    # the lowest number.
    n = len(distances)
    pivot_of = np.full(n, -1)
    failed = np.zeros(n, np.bool_)
    pivots = np.empty(n, np.int64)
    n_pivots = 0
    before = int(np.argmin(distances.sum(axis=1)))
    near = np.empty(k - 1, np.int64)
    while n - n_pivots * k >= k:
        pivot = _farthest(distances[before], pivot_of, failed)
        if pivot < 0:
            break
        before = pivot
        _nearest(distances[pivot], pivot, pivot_of, near)
        if distances[pivot, near[k - 2]] > radius:
            failed[pivot] = True
            continue
        pivot_of[pivot] = pivot
        pivot_of[near] = pivot
        pivots[n_pivots] = pivot
        n_pivots += 1
    for i in range(n):
        if pivot_of[i] < 0:
            for pivot in pivots[:n_pivots]:
                if distances[i, pivot] <= radius and (
                    pivot_of[i] < 0 or distances[i, pivot] < distances[i, pivot_of[i]]
                ):
                    pivot_of[i] = pivot
    return pivot_of


@compiled
def _farthest(distance: Floats, pivot_of: Integers, failed: Flags) -> int:
    chosen = -1
    for i in range(len(distance)):
        if pivot_of[i] < 0 and not failed[i] and (chosen < 0 or distance[i] > distance[chosen]):
            chosen = i
    return chosen


@compiled
def _nearest(distance: Floats, pivot: int, pivot_of: Integers, near: Integers) -> None:
    count = 0
    for i in range(len(distance)):
        if (
            i == pivot
            or pivot_of[i] >= 0
            or (count == len(near) and distance[i] >= distance[near[count - 1]])
        ):
            continue
        place = min(count, len(near) - 1)
        while place > 0 and distance[near[place - 1]] > distance[i]:
            near[place] = near[place - 1]
            place -= 1
        near[place] = i
        count = min(count + 1, len(near))
