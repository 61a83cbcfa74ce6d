"""Lower bounds on a person's cost in any class, from its best companions."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.k_merge import IMPOSSIBLE
from shoal.kernels.weighed_runs import Tracks, Weights
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


class Squares(NamedTuple):
    """Raster squares with samples; person i has offsets[i] to offsets[i + 1]."""

    offsets: Integers
    column: Numbers
    row: Numbers
    samples: Numbers  # in each square
    square_of: Numbers  # [m], index among its person's squares
    side: int  # in cells


@compiled
def _least_cells_between_squares(one: int, other: int, side: int) -> Any:
    return (abs(one - other) - 1) * side + 1 if one != other else 0


@compiled
def _place_bounds(squares: Squares, p: int, q: int, weights: Weights, limit: int, bounds: Integers) -> Any:
    """A bound of ``companion_cost`` by place, early above ``limit``; bounds: least cost by square."""
    widest, first, total = len(weights.place) - 1, squares.offsets[p], 0
    for i in range(first, squares.offsets[p + 1]):
        row, column, least = squares.row[i], squares.column[i], widest
        for j in range(squares.offsets[q], squares.offsets[q + 1]):
            along_y = _least_cells_between_squares(row, squares.row[j], squares.side)
            along_x = _least_cells_between_squares(column, squares.column[j], squares.side)
            least = min(least, along_x + along_y + 2)
        bounds[i - first] = weights.place[least] + weights.per_slot
        total += squares.samples[i] * bounds[i - first]
        if total >= limit:
            break
    return total


@compiled
def _cheapest_sample(
    tracks: Tracks, i: int, near: int, first: int, last: int, weights: Weights, floor: int, likely: int
) -> tuple[Any, Any]:
    # The first row of q not before i is ``near``, a lower bound ``floor``. From the guess ``likely``, the
    # search runs both ways from ``near`` and ends where time alone costs too much.
    _, t, x, y = tracks
    place, per_slot = weights
    widest, row = len(place) - 1, likely
    best = place[min(abs(x[row] - x[i]) + abs(y[row] - y[i]) + 2, widest)]
    best += per_slot * (abs(t[row] - t[i]) + 1)
    for j in range(near, last):
        later = per_slot * (t[j] - t[i])
        if later + floor >= best:
            break
        cost = later + per_slot + place[min(abs(x[j] - x[i]) + abs(y[j] - y[i]) + 2, widest)]
        if cost < best:
            best, row = cost, j
    for j in range(near - 1, first - 1, -1):
        sooner = per_slot * (t[i] - t[j])
        if sooner + floor >= best:
            break
        cost = sooner + per_slot + place[min(abs(x[j] - x[i]) + abs(y[j] - y[i]) + 2, widest)]
        if cost < best:
            best, row = cost, j
    return best, row


@compiled
def companion_cost(
    tracks: Tracks, squares: Squares, p: int, q: int, weights: Weights, limit: int, bounds: Integers
) -> Any:
    """Least cost of p's samples in any record shared with q, each box with samples of both."""
    # sums above the limit return limit + 1; bounds: space for p's squares
    offsets, t, _, _ = tracks
    total = _place_bounds(squares, p, q, weights, limit + 1, bounds)
    first, last = offsets[q], offsets[q + 1]
    near = likely = first
    for i in range(offsets[p], offsets[p + 1]):
        if total > limit:
            return limit + 1
        while near < last and t[near] < t[i]:
            near += 1
        floor = bounds[squares.square_of[i]]
        cost, likely = _cheapest_sample(tracks, i, near, first, last, weights, floor, likely)
        total += cost - floor
    return min(total, limit + 1)


@compiled
def least_companion_costs(
    tracks: Tracks, squares: Squares, p: int, others: Integers, weights: Weights, costs: Integers
) -> None:
    """Fill costs [count] with p's smallest, ascending. others: likeliest first."""
    costs[:] = IMPOSSIBLE
    bounds = np.empty(squares.offsets[p + 1] - squares.offsets[p], dtype=np.int64)
    for q in others:
        if q == p:
            continue
        most = costs[-1]
        cost = companion_cost(tracks, squares, p, q, weights, most - 1, bounds)
        place = len(costs) - 1
        if cost < most:
            while place > 0 and costs[place - 1] > cost:
                costs[place] = costs[place - 1]
                place -= 1
            costs[place] = cost
