"""The optimal time-coherent generalization of k trajectories (Gramaglia et al. 2017, Alg. 1)."""

from typing import Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled, compiled_for_many

NONE: Final = -1
IMPOSSIBLE: Final = 1 << 60
ROWS: Final = 15  # of a merge's workspace; many small merges share one
# below this number of stamps direct evaluation is faster than levels (measured), with the same result
_SHORT: Final = 8


class Stamps(NamedTuple):
    """The s distinct times of samples, where cuts may fall, and the hull at each."""

    starts: Integers  # [s + 1], first sample of each
    t: Integers
    x_low: Integers
    x_high: Integers
    y_low: Integers
    y_high: Integers
    latest: Integers  # greatest g for which stamps g..h hold a sample of every owner, or NONE, for each h


@compiled
def make_stamps(t: Integers, x: Integers, y: Integers, owner: Integers, k: int, room: Integers) -> Stamps:
    """The stamps of samples with ascending t and an owner in 0..k-1; fills room [ROWS, > m]."""
    starts, times, x_low, x_high = room[0], room[1], room[2], room[3]
    y_low, y_high, latest, last_stamp_of = room[4], room[5], room[6], room[7]
    for o in range(k):
        last_stamp_of[o] = NONE
    h, oldest = NONE, NONE
    for i in range(len(t)):
        if h == NONE or t[i] != times[h]:
            h += 1
            starts[h], times[h] = i, t[i]
            x_low[h], x_high[h], y_low[h], y_high[h] = x[i], x[i], y[i], y[i]
        else:
            x_low[h], x_high[h] = min(x_low[h], x[i]), max(x_high[h], x[i])
            y_low[h], y_high[h] = min(y_low[h], y[i]), max(y_high[h], y[i])
        before = last_stamp_of[owner[i]]
        last_stamp_of[owner[i]] = h
        if before == oldest:
            oldest = h
            for o in range(k):
                oldest = min(oldest, last_stamp_of[o])
        latest[h] = oldest
    s = h + 1
    starts[s] = len(t)
    return Stamps(starts[: s + 1], times[:s], x_low[:s], x_high[:s], y_low[:s], y_high[:s], latest[:s])


@compiled
def _least_cost_directly(stamps: Stamps, cost: Integers, h: int, lowest: int) -> int:
    t, x_low, x_high, y_low, y_high = stamps.t, stamps.x_low, stamps.x_high, stamps.y_low, stamps.y_high
    a, b, c, d = x_low[h], x_high[h], y_low[h], y_high[h]
    for g in range(h - 1, stamps.latest[h], -1):
        a, b, c, d = min(a, x_low[g]), max(b, x_high[g]), min(c, y_low[g]), max(d, y_high[g])
    best = IMPOSSIBLE
    for g in range(stamps.latest[h], lowest - 1, -1):
        a, b, c, d = min(a, x_low[g]), max(b, x_high[g]), min(c, y_low[g]), max(d, y_high[g])
        best = min(best, cost[g] + (t[h] + 1 - t[g]) * (b - a + d - c + 2))
    return best


@compiled
def least_costs(stamps: Stamps, room: Integers) -> Integers:
    """[s + 1]: least cost of splitting the first h stamps into complete runs (Eq. 7), or IMPOSSIBLE."""
    # The result lies in the room of the stamps. A run of stamps g..h can be split into two complete runs
    # exactly when g <= P(P(h) - 1), with P the latest complete start: the candidates for g are the range
    # above it, up to P(h), and stay the same until P(h) moves. For a long range the hulls back from P(h) are
    # stored, and candidates whose runs have equal sides form one level: cost[g] - t[g] sides decides among
    # them for every later h.
    t, x_low, x_high = stamps.t, stamps.x_low, stamps.x_high
    y_low, y_high, latest = stamps.y_low, stamps.y_high, stamps.latest
    cost, west, east, south = room[8], room[9], room[10], room[11]
    north, sides, least = room[12], room[13], room[14]
    cost[0] = 0
    hulls_from, levels, low, high, bottom, top = NONE, 0, 0, 0, 0, 0
    for h in range(len(t)):
        last = latest[h]
        if last == NONE:
            cost[h + 1] = IMPOSSIBLE
            continue
        lowest = 0 if last == 0 else latest[last - 1] + 1
        if h - lowest < _SHORT:
            cost[h + 1] = _least_cost_directly(stamps, cost, h, lowest)
            continue
        moved = last != hulls_from
        if moved:
            hulls_from = last
            a, b, c, d = x_low[last], x_high[last], y_low[last], y_high[last]
            low, high, bottom, top = x_low[h], x_high[h], y_low[h], y_high[h]
            for g in range(last, lowest - 1, -1):
                a, b, c, d = min(a, x_low[g]), max(b, x_high[g]), min(c, y_low[g]), max(d, y_high[g])
                west[g], east[g], south[g], north[g] = a, b, c, d
            for g in range(last + 1, h):
                low, high = min(low, x_low[g]), max(high, x_high[g])
                bottom, top = min(bottom, y_low[g]), max(top, y_high[g])
        if moved or x_low[h] < low or x_high[h] > high or y_low[h] < bottom or y_high[h] > top:
            low, high = min(low, x_low[h]), max(high, x_high[h])
            bottom, top = min(bottom, y_low[h]), max(top, y_high[h])
            levels = 0
            for g in range(last, lowest - 1, -1):
                side = max(east[g], high) - min(west[g], low) + max(north[g], top) - min(south[g], bottom) + 2
                if levels == 0 or sides[levels - 1] != side:
                    sides[levels], least[levels] = side, cost[g] - t[g] * side
                    levels += 1
                else:
                    least[levels - 1] = min(least[levels - 1], cost[g] - t[g] * side)
        best = IMPOSSIBLE
        for level in range(levels):
            best = min(best, least[level] + (t[h] + 1) * sides[level])
        cost[h + 1] = best
    costs: Integers = cost[: len(t) + 1]
    return costs


@compiled_for_many
def best_partition(
    t: Integers, x: Integers, y: Integers, owner: Integers, k: int
) -> tuple[Integers, Integers, int]:
    """The cheapest partition into complete runs: first and last samples, and cost (Eq. 7).

    t, x, y: [m] samples of all k by ascending time; owner: [m] in 0..k-1. Spans count slots and cells, so
    one raw sample costs 2. Ties prefer the shortest last runs.
    """
    room = np.empty((ROWS, len(t) + 1), dtype=np.int64)
    stamps = make_stamps(t, x, y, owner, k, room)
    cost = least_costs(stamps, room)
    begins = room[7]  # reused
    runs = 0
    h = len(stamps.t) - 1
    while h >= 0:
        a, b, c, d = stamps.x_low[h], stamps.x_high[h], stamps.y_low[h], stamps.y_high[h]
        g = h
        while True:
            a, b = min(a, stamps.x_low[g]), max(b, stamps.x_high[g])
            c, d = min(c, stamps.y_low[g]), max(d, stamps.y_high[g])
            whole = cost[g] + (stamps.t[h] + 1 - stamps.t[g]) * (b - a + d - c + 2)
            if g <= stamps.latest[h] and whole == cost[h + 1]:
                break
            g -= 1
        begins[runs] = g
        runs += 1
        h = g - 1
    first, final = np.empty(runs, dtype=np.int64), np.empty(runs, dtype=np.int64)
    end = len(stamps.t)
    for run in range(runs):
        first[runs - 1 - run] = stamps.starts[begins[run]]
        final[runs - 1 - run] = stamps.starts[end] - 1
        end = begins[run]
    return first, final, cost[-1]
