"""What a person's samples cost at least in any class: beside the companions that suit them best."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.k_merge import IMPOSSIBLE
from shoal.kernels.weighed_runs import Tracks, Weights, cheapest_beside
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


class Squares(NamedTuple):
    """The squares of a raster in which each person has samples; person i owns offsets[i] to offsets[i + 1].

    column, row: of each; samples: how many are in it. square_of: [m] which of its person's squares each
    sample is in. side: of a square, in cells.
    """

    offsets: Integers
    column: Numbers
    row: Numbers
    samples: Numbers
    square_of: Numbers
    side: int


@compiled
def cells_apart(one: int, other: int, side: int) -> Any:
    """How many cells lie at least between samples in two rows or columns of squares."""
    return (abs(one - other) - 1) * side + 1 if one != other else 0


@compiled
def place_bounds(squares: Squares, p: int, q: int, weights: Weights, limit: int, bounds: Integers) -> Any:
    """What p's samples cost at least beside q, as far as their squares tell; ends early from ``limit`` on.

    bounds: filled with what one sample of each of p's squares costs at least.
    """
    widest, first, total = len(weights.place) - 1, squares.offsets[p], 0
    for i in range(first, squares.offsets[p + 1]):
        row, column, least = squares.row[i], squares.column[i], widest
        for j in range(squares.offsets[q], squares.offsets[q + 1]):
            along_y = cells_apart(row, squares.row[j], squares.side)
            along_x = cells_apart(column, squares.column[j], squares.side)
            least = min(least, along_x + along_y + 2)
        bounds[i - first] = weights.place[least] + weights.per_slot
        total += squares.samples[i] * bounds[i - first]
        if total >= limit:
            break
    return total


@compiled
def beside_from(
    tracks: Tracks,
    squares: Squares,
    p: int,
    q: int,
    weights: Weights,
    limit: int,
    bounds: Integers,
    total: int,
) -> Any:
    """As ``beside``, but the sum starts from that of these bounds, so that it ends sooner above ``limit``."""
    offsets, t, _, _ = tracks
    first, last = offsets[q], offsets[q + 1]
    near = first
    for i in range(offsets[p], offsets[p + 1]):
        while near < last and t[near] < t[i]:
            near += 1
        total += cheapest_beside(tracks, i, near, first, last, weights) - bounds[squares.square_of[i]]
        if total > limit:
            break
    return total


@compiled
def companion_costs(
    tracks: Tracks, squares: Squares, p: int, others: Integers, weights: Weights, costs: Integers
) -> None:
    """Fill costs [count] with what p's samples cost beside each of the ``count`` others that suit them best.

    others: who is looked at, the likeliest first, which makes the search short.
    """
    costs[:] = IMPOSSIBLE
    bounds = np.empty(squares.offsets[p + 1] - squares.offsets[p], dtype=np.int64)
    for q in others:
        if q == p:
            continue
        most = costs[-1]
        cost = place_bounds(squares, p, q, weights, most, bounds)
        if cost < most:
            cost = beside_from(tracks, squares, p, q, weights, most, bounds, cost)
        place = len(costs) - 1
        if cost < most:
            while place > 0 and costs[place - 1] > cost:
                costs[place] = costs[place - 1]
                place -= 1
            costs[place] = cost
