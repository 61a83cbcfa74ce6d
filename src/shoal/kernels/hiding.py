"""Choose who hides whom at least k-merge cost in a neighborhood."""

from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.assignment import least_assignment
from shoal.kernels.k_merge import ROWS, best_partition, least_costs, make_stamps
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled

NO_ONE: Final = -1
_FORBIDDEN: Final = 1 << 48
_CYCLES_TRIED: Final = 8


class Pieces(NamedTuple):
    """Samples by subject and epoch: first[p] to end[p], ascending by t."""

    t: Integers
    x: Integers
    y: Integers
    first: Integers
    end: Integers


class HidingHistory(NamedTuple):
    """Who has hidden subject s, hiders[s, : used[s]], and must not do so again."""

    hiders: Integers
    used: Integers


@compiled
def _merged_cost(pieces: Pieces, a: int, b: int, merged: Integers, room: Integers) -> int:
    t = pieces.t
    i, j = pieces.first[a], pieces.first[b]
    end_a, end_b = pieces.end[a], pieces.end[b]
    size = end_a - i + end_b - j
    for place in range(size):
        of_a = j == end_b or (i < end_a and t[i] <= t[j])
        source = i if of_a else j
        merged[0, place], merged[1, place] = t[source], pieces.x[source]
        merged[2, place], merged[3, place] = pieces.y[source], not of_a
        i += of_a
        j += not of_a
    return int(
        least_costs(
            make_stamps(merged[0, :size], merged[1, :size], merged[2, :size], merged[3, :size], 2, room), room
        )[-1]
    )


@compiled
def pair_costs(pieces: Pieces, chosen: Integers, space_weight: int) -> Integers:
    """[n, n] costs between these pieces, 0 on the diagonal."""
    # The k-merge cost, plus ``space_weight`` times dx + dy of the common hull. If either piece has a single
    # time, the k-merge cost is that of the hull.
    n = len(chosen)
    hull = np.empty((6, n), dtype=np.int64)
    most = 0
    for a in range(n):
        rows = slice(pieces.first[chosen[a]], pieces.end[chosen[a]])
        x, y = pieces.x[rows], pieces.y[rows]
        hull[0, a], hull[1, a], hull[2, a], hull[3, a] = x.min(), x.max(), y.min(), y.max()
        hull[4, a], hull[5, a] = pieces.t[rows.start], pieces.t[rows.stop - 1]
        most = max(most, rows.stop - rows.start)
    merged, room = np.empty((4, 2 * most), dtype=np.int64), np.empty((ROWS, 2 * most + 1), dtype=np.int64)
    cost = np.zeros((n, n), dtype=np.int64)
    for a in range(n):
        for b in range(a):
            sides = (
                max(hull[1, a], hull[1, b])
                - min(hull[0, a], hull[0, b])
                + max(hull[3, a], hull[3, b])
                - min(hull[2, a], hull[2, b])
                + 2
            )
            if hull[4, a] == hull[5, a] or hull[4, b] == hull[5, b]:
                merge = (max(hull[5, a], hull[5, b]) - min(hull[4, a], hull[4, b]) + 1) * sides
            else:
                merge = _merged_cost(pieces, chosen[a], chosen[b], merged, room)
            cost[a, b] = merge + space_weight * sides
            cost[b, a] = cost[a, b]
    return cost


@compiled
def _greedy_cycle(cost: Integers) -> Integers:
    """The cheapest step, a after b if b hides a; NO_ONE if none closes."""
    n = len(cost)
    column_of = np.full(n, NO_ONE, dtype=np.int64)
    for first in range(min(n, _CYCLES_TRIED)):
        column_of[:] = NO_ONE
        b = first
        for _ in range(n - 1):
            chosen = NO_ONE
            for a in range(n):
                open_to = a != first and column_of[a] == NO_ONE and cost[a, b] < _FORBIDDEN
                if open_to and (chosen == NO_ONE or cost[a, b] < cost[chosen, b]):
                    chosen = a
            if chosen == NO_ONE:
                break
            column_of[chosen] = b
            b = chosen
        if b != first and cost[first, b] < _FORBIDDEN and np.count_nonzero(column_of == NO_ONE) == 1:
            column_of[first] = b
            return column_of
    column_of[:] = NO_ONE
    return column_of


@compiled
def _costs(
    pieces: Pieces, window: Integers, subjects: Integers, past: HidingHistory, space_weight: int
) -> Integers:
    n, epochs = window.shape
    cost = np.zeros((n, n), dtype=np.int64)
    for epoch in range(epochs):
        if window[0, epoch] >= 0:
            cost += pair_costs(pieces, window[:, epoch].copy(), space_weight)
    row_of = np.full(len(past.used), NO_ONE, dtype=np.int64)
    for a in range(n):
        row_of[subjects[a]] = a
        cost[a, a] = _FORBIDDEN
    for a in range(n):
        for turn in range(past.used[subjects[a]]):
            b = row_of[past.hiders[subjects[a], turn]]
            if b != NO_ONE:
                cost[a, b] = _FORBIDDEN
    return cost


@compiled
def assign_hiders(
    pieces: Pieces,
    window: Integers,
    subjects: Integers,
    past: HidingHistory,
    space_weight: int,
    turns: int,
    cycles: bool,
    hiders: Integers,
) -> int:
    """Assign each person ``turns`` different hiders; each hides ``turns`` others.

    cycles: each turn is a greedy cycle through all instead of the cheapest assignment. window: int64 [n, w]
    each person's piece in each epoch, -1 without. hiders: int64 [n, turns], filled with rows; NO_ONE where
    all have already hidden the person. Returns the number of NO_ONE.
    """
    n = len(window)
    cost = _costs(pieces, window, subjects, past, space_weight)
    missing = 0
    for turn in range(turns):
        column_of = _greedy_cycle(cost) if cycles else least_assignment(cost)
        for a in range(n):
            b = column_of[a]
            if b == NO_ONE or cost[a, b] >= _FORBIDDEN:
                hiders[a, turn] = NO_ONE
                missing += 1
            else:
                hiders[a, turn] = b
                cost[a, b] = _FORBIDDEN
    return missing


@compiled
def generalize_pieces(
    pieces: Pieces,
    chosen: Integers,
    guest_starts: Integers,
    guests: Integers,
    room: Integers,
    boxes: Integers,
    counts: Integers,
) -> None:
    """Generalize chosen[i] by k-merge with its guests; boxes from room[i] on, counts[i] <= its samples."""
    for i in range(len(chosen)):
        members = np.concatenate((chosen[i : i + 1], guests[guest_starts[i] : guest_starts[i + 1]]))
        size = 0
        for p in members:
            size += pieces.end[p] - pieces.first[p]
        rows = np.empty(size, dtype=np.int64)
        owner = np.empty(size, dtype=np.int64)
        place = 0
        for m in range(len(members)):
            for row in range(pieces.first[members[m]], pieces.end[members[m]]):
                rows[place], owner[place] = row, m
                place += 1
        order = np.argsort(pieces.t[rows])
        t, x, y = pieces.t[rows][order], pieces.x[rows][order], pieces.y[rows][order]
        first, final, _ = best_partition(t, x, y, owner[order], len(members))
        for run in range(len(first)):
            run_rows = slice(first[run], final[run] + 1)
            at = room[i] + run
            boxes[at, 0], boxes[at, 1] = t[first[run]], t[final[run]] + 1
            boxes[at, 2], boxes[at, 3] = x[run_rows].min(), y[run_rows].min()
            boxes[at, 4], boxes[at, 5] = x[run_rows].max() + 1, y[run_rows].max() + 1
        counts[i] = len(first)
