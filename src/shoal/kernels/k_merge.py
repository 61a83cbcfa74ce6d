"""The optimal time-coherent generalisation of k trajectories (kte-anonymity.txt, Alg. 1; semantics 2.2)."""

import numpy as np

from shoal.compiled import compiled
from shoal.kernels.stretch import Integers

NONE = -1


@compiled
def stamps(t: Integers) -> Integers:
    """Where each distinct time begins, and the end: int64 [s + 1]. t: ascending. No cut may fall between samples of equal time."""
    starts = np.empty(len(t) + 1, dtype=np.int64)
    count = 0
    for i in range(len(t)):
        if i == 0 or t[i] != t[i - 1]:
            starts[count] = i
            count += 1
    starts[count] = len(t)
    return starts[: count + 1]


@compiled
def latest_complete_starts(owner: Integers, starts: Integers, k: int) -> Integers:
    """For each stamp h, the greatest stamp g for which stamps g..h hold a sample of each of k owners; NONE where there is none."""
    last = len(starts) - 1
    latest = np.full(last, NONE, dtype=np.int64)
    seen = np.zeros(k, dtype=np.int64)
    present = 0
    g = 0
    for h in range(last):
        for i in range(starts[h], starts[h + 1]):
            present += seen[owner[i]] == 0
            seen[owner[i]] += 1
        while present == k:
            latest[h] = g
            for i in range(starts[g], starts[g + 1]):
                seen[owner[i]] -= 1
                present -= seen[owner[i]] == 0
            g += 1
        if latest[h] == NONE and g > 0:
            latest[h] = g - 1
    return latest


@compiled
def best_partition(t: Integers, x: Integers, y: Integers, owner: Integers, k: int) -> tuple[Integers, Integers, int]:
    """First and last sample of every run of the cheapest partition into complete runs, in time order, and its cost (Eq. 7).

    t, x, y: [m] samples of all k trajectories by ascending time; owner: [m] in 0..k-1, each present. Integers: spans count slots and
    cells, so one raw sample costs 2. A run of stamps g..h can be split into two complete runs exactly when g <= P(P(h) - 1), with P
    the latest complete start: the candidates for g are the range above it. A run may end before the last stamp only where what follows
    it is complete, too: this keeps somebody with very many samples beside one with few from costing their square.
    """
    starts = stamps(t)
    last = len(starts) - 1
    latest = latest_complete_starts(owner, starts, k)
    cost = np.full(last + 1, -1, dtype=np.int64)  # cost[h + 1]: of the best partition of stamps 0..h; -1 where there is none
    cost[0] = 0
    begin = np.full(last, NONE, dtype=np.int64)
    for h in range(last):
        if latest[h] == NONE or latest[last - 1] <= h < last - 1:
            continue
        before = latest[h] - 1
        lowest = 0 if before < 0 or latest[before] == NONE else latest[before] + 1
        x_min, x_max = x[starts[h]], x[starts[h]]
        y_min, y_max = y[starts[h]], y[starts[h]]
        for g in range(h, lowest - 1, -1):
            for i in range(starts[g], starts[g + 1]):
                x_min, x_max = min(x_min, x[i]), max(x_max, x[i])
                y_min, y_max = min(y_min, y[i]), max(y_max, y[i])
            if g > latest[h] or cost[g] < 0:
                continue
            whole = cost[g] + (t[starts[h]] - t[starts[g]] + 1) * (x_max - x_min + y_max - y_min + 2)
            if begin[h] == NONE or whole < cost[h + 1]:
                cost[h + 1], begin[h] = whole, g
    runs = 0
    h = last - 1
    while h >= 0:
        h = begin[h] - 1
        runs += 1
    first, final = np.empty(runs, dtype=np.int64), np.empty(runs, dtype=np.int64)
    h = last - 1
    while h >= 0:
        runs -= 1
        first[runs], final[runs] = starts[begin[h]], starts[h + 1] - 1
        h = begin[h] - 1
    return first, final, cost[last]
