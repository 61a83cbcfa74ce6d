"""Swap sets of SwapLocations (Alg. 3, lines 3 to 13).

For each triple of a cluster's leader, one unswapped triple of every other member.
"""

import math

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled


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
