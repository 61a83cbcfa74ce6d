"""Leave out samples of a class so that the boxes of the others shrink most.

Leaving out a sample costs its person's price, and a sample in a box costs the extents of the box, as in
kernels/weighed_runs.py. Two steps alternate. Over time, exactly: the cheapest split into complete runs,
with moments left out between. Within a run: the outermost samples of one of six sides are left out while
that pays.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from shoal.kernels.k_merge import IMPOSSIBLE, NONE, make_stamps
from shoal.kernels.ordering import first_above, first_not_below
from shoal.kernels.weighed_runs import (
    COST,
    FEW,
    LATEST,
    ROOM,
    X_HIGH,
    X_LOW,
    Y_HIGH,
    Y_LOW,
    Weights,
    fill_hulls,
    forget_candidates,
    take_candidates,
    weigh_candidates,
)
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.compiled import compiled

_TURNS: Final = 4  # of alternating both steps
_DEARER: Final = 4  # factor on a person's prices when too many samples are left out
_ATTEMPTS: Final = 3  # to raise a person's prices before all their samples must stay


class OmissionGoal(NamedTuple):
    """Desired boxes. weights: of extents; at_first: in the first turn; longest: slots."""

    weights: Weights
    at_first: Weights
    longest: int


@compiled
def runs_with_gaps(
    t: Integers,
    x: Integers,
    y: Integers,
    owner: Integers,
    prices: Integers,
    weights: Weights,
    longest: int,
    box_of: Integers,
) -> Any:
    """Split samples into complete runs with gaps; return the least cost."""
    # t, x, y, owner: [m] samples of all k people by ascending time. prices: [k] of a sample left out.
    # longest: maximum slots of a run. box_of: [m] is set to the number of each sample's run, from the latest,
    # or to NONE.
    room = np.empty((ROOM, len(t) + 1), dtype=np.int64)
    stamps = make_stamps(t, x, y, owner, len(prices), room)
    n = len(stamps.t)
    starts, cost = stamps.starts, room[COST]
    gaps = np.zeros(n, dtype=np.int64)
    cost[0] = 0
    low, high, soonest, added, middle, most = 0, 0, 0, NONE, NONE, FEW
    a, b, c, d = stamps.x_low[0], stamps.x_high[0], stamps.y_low[0], stamps.y_high[0]
    for h in range(n):
        for i in range(starts[h], starts[h + 1]):
            gaps[h] += prices[owner[i]]
        cost[h + 1] = cost[h] + gaps[h]
        last = room[LATEST, h]
        if last == NONE:
            continue
        lowest = 0 if last == 0 else room[LATEST, last - 1] + 1
        if last > middle:
            fill_hulls(room, added + 1, h)
            middle = h
            a, b, c, d = room[X_LOW, h], room[X_HIGH, h], room[Y_LOW, h], room[Y_HIGH, h]
        a, b = min(a, room[X_LOW, h]), max(b, room[X_HIGH, h])
        c, d = min(c, room[Y_LOW, h]), max(d, room[Y_HIGH, h])
        while stamps.t[h] + 1 - stamps.t[soonest] > longest:
            soonest += 1
        lowest = max(lowest, soonest)
        low, high = take_candidates(room, (low, high), lowest, added, last, (a, b, c, d), h, weights)
        added = last
        end, time = starts[h + 1], weights.per_slot * (stamps.t[h] + 1)
        cost[h + 1] = min(cost[h + 1], weigh_candidates(room, low, high, end, time))
        if high - low > most:
            low = forget_candidates(room, low, high, end, time)
            most = 2 * (high - low) + FEW
    number, h = 0, n - 1
    while h >= 0:
        g = h
        if cost[h + 1] == cost[h] + gaps[h]:
            number_here = NONE
        else:
            number_here = number
            number += 1
            a, b, c, d = stamps.x_low[h], stamps.x_high[h], stamps.y_low[h], stamps.y_high[h]
            while True:
                a, b = min(a, stamps.x_low[g]), max(b, stamps.x_high[g])
                c, d = min(c, stamps.y_low[g]), max(d, stamps.y_high[g])
                cost_of_sample = _sample_cost(b - a + d - c + 2, stamps.t[h] + 1 - stamps.t[g], weights)
                fits = g <= stamps.latest[h] and stamps.t[h] + 1 - stamps.t[g] <= longest
                if fits and cost[g] + (starts[h + 1] - starts[g]) * cost_of_sample == cost[h + 1]:
                    break
                g -= 1
        for i in range(starts[g], starts[h + 1]):
            box_of[i] = number_here
        h = g - 1
    return cost[n]


@compiled
def _sample_cost(cells: int, slots: int, weights: Weights) -> Any:
    return weights.place[min(cells, len(weights.place) - 1)] + weights.per_slot * slots


@compiled
def _peel(columns: Integers, owner: Integers, prices: Integers, weights: Weights, included: Flags) -> None:
    # each turn takes the side and number of layers that save most; one sample of each person stays
    m = len(owner)
    from_sides = np.empty((6, m), dtype=np.int64)
    for axis in range(3):
        from_sides[2 * axis] = np.argsort(columns[axis], kind="mergesort")
        from_sides[2 * axis + 1] = from_sides[2 * axis][::-1]
    inner = np.empty((m + 1, 6), dtype=np.int64)
    while True:
        best, best_side, best_count = 0, NONE, 0
        for side in range(6):
            _hulls_inward(columns, from_sides[side], included, inner)
            saved, count = _best_layers(
                columns[side // 2], owner, prices, weights, from_sides[side], included, inner
            )
            if saved > best:
                best, best_side, best_count = saved, side, count
        if best_side == NONE:
            return
        included[from_sides[best_side, :best_count]] = False


@compiled
def _hulls_inward(columns: Integers, order: Integers, included: Flags, inner: Integers) -> None:
    m = len(order)
    inner[m, 0::2], inner[m, 1::2] = IMPOSSIBLE, -IMPOSSIBLE
    for place in range(m - 1, -1, -1):
        inner[place] = inner[place + 1]
        if included[order[place]]:
            _extend_hull(inner[place], columns, order[place])


@compiled
def _best_layers(
    along: Integers,
    owner: Integers,
    prices: Integers,
    weights: Weights,
    order: Integers,
    included: Flags,
    inner: Integers,
) -> Any:
    counts, remaining, paid, best, count = np.zeros(len(prices), dtype=np.int64), 0, 0, 0, 0
    for i in range(len(order)):
        if included[i]:
            counts[owner[i]] += 1
            remaining += 1
    now = remaining * _hull_sample_cost(inner[0], weights)
    for place in range(len(order) - 1):
        i = order[place]
        if included[i]:
            counts[owner[i]] -= 1
            if counts[owner[i]] == 0:
                break
            remaining -= 1
            paid += prices[owner[i]]
        if along[order[place + 1]] != along[i]:
            saved = now - paid - remaining * _hull_sample_cost(inner[place + 1], weights)
            if saved > best:
                best, count = saved, place + 1
    return best, count


@compiled
def _extend_hull(hull: Integers, columns: Integers, i: int) -> None:
    for column in range(3):
        hull[2 * column] = min(hull[2 * column], columns[column, i])
        hull[2 * column + 1] = max(hull[2 * column + 1], columns[column, i])


@compiled
def _hull_sample_cost(hull: Integers, weights: Weights) -> Any:
    return _sample_cost(hull[1] - hull[0] + hull[3] - hull[2] + 2, hull[5] - hull[4] + 1, weights)


@compiled
def _fill(columns: Integers, owner: Integers, prices: Integers, weights: Weights, box_of: Integers) -> Any:
    m, total, i = len(owner), 0, 0
    hull = np.empty(6, dtype=np.int64)
    while i < m:
        if box_of[i] == NONE:
            i += 1
            continue
        number, stop = box_of[i], i
        hull[0::2], hull[1::2] = IMPOSSIBLE, -IMPOSSIBLE
        while stop < m and (box_of[stop] == NONE or box_of[stop] == number):
            if box_of[stop] == number:
                _extend_hull(hull, columns, stop)
            stop += 1
        begin = first_not_below(columns[2], 0, m, hull[4])
        stop = first_above(columns[2], 0, m, hull[5])
        n_inside = 0
        for j in range(begin, stop):
            if hull[0] <= columns[0, j] <= hull[1] and hull[2] <= columns[1, j] <= hull[3]:
                box_of[j] = number
                n_inside += 1
        total += n_inside * _hull_sample_cost(hull, weights)
        i = stop
    for j in range(m):
        if box_of[j] == NONE:
            total += prices[owner[j]]
    return total


@compiled
def choose_boxes_at_prices(
    columns: Integers, owner: Integers, prices: Integers, wish: OmissionGoal, box_of: Integers
) -> Any:
    """Choose boxes at these prices; return the total cost."""
    # columns: [3, m] x, y, t, t ascending; owner: [m] in 0..k-1; box_of: [m], NONE where left out
    m = len(owner)
    trial, included, best = np.empty(m, dtype=np.int64), np.ones(m, dtype=np.bool_), IMPOSSIBLE
    for turn in range(_TURNS):
        rows = np.flatnonzero(included)
        run_of = np.empty(len(rows), dtype=np.int64)
        if len(rows):
            runs_with_gaps(
                columns[2][rows],
                columns[0][rows],
                columns[1][rows],
                owner[rows],
                prices,
                wish.at_first if turn == 0 else wish.weights,
                wish.longest,
                run_of,
            )
        trial[:] = NONE
        trial[rows] = run_of
        first = 0
        for place in range(1, len(rows) + 1):
            if place < len(rows) and run_of[place] == run_of[first]:
                continue
            if run_of[first] != NONE:
                part = rows[first:place]
                some = np.ones(len(part), dtype=np.bool_)
                _peel(columns[:, part], owner[part], prices, wish.weights, some)
                trial[part[~some]] = NONE
            first = place
        whole = _fill(columns, owner, prices, wish.weights, trial)
        if whole >= best:
            break
        best = whole
        for i in range(len(trial)):
            box_of[i], included[i] = trial[i], trial[i] != NONE
    return best


@compiled
def choose_boxes(
    columns: Integers, owner: Integers, price: int, most: Integers, wish: OmissionGoal, box_of: Integers
) -> Any:
    """Choose boxes at this price of a sample; return the total cost."""
    # Prices of people who lose more than ``most`` rise, finally so high that all their samples stay.
    k, m = len(most), len(owner)
    box_of[:] = 0
    one_box = _fill(columns, owner, most, wish.weights, box_of)
    never = max(price, min(one_box + 1, IMPOSSIBLE // (2 * m)))  # more than all extents together
    prices, asked = np.full(k, price, dtype=np.int64), np.zeros(k, dtype=np.int64)
    for _ in range((_ATTEMPTS + 1) * k + 1):
        choose_boxes_at_prices(columns, owner, prices, wish, box_of)
        lost = np.zeros(k, dtype=np.int64)
        for i in range(m):
            lost[owner[i]] += box_of[i] == NONE
        if (lost <= most).all():
            prices[:] = price
            return _fill(columns, owner, prices, wish.weights, box_of)
        for person in range(k):
            if lost[person] > most[person]:
                asked[person] += 1
                prices[person] = never if asked[person] > _ATTEMPTS else min(never, prices[person] * _DEARER)
    box_of[:] = 0
    return one_box
