"""Nearest others, and costs of sharing a record with them, by all pairs in NumPy: nothing is compiled."""

from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from shoal.kernels.nearest_lists import Nearest
from shoal.kernels.stretch import Scale
from shoal.kernels.weighed_runs import Weights
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, Numbers, rows_of

_EFFORTS: Final[WeakKeyDictionary[Trajectories, dict[Scale, Floats]]] = WeakKeyDictionary()
_QUANTILES: Final = np.array([0.5, 0.75, 0.99])


def all_efforts(original: Trajectories, scale: Scale) -> Floats:
    """[n, n] efforts of all pairs, in units of 1 / (2 * half); the diagonal is infinite."""
    known = _EFFORTS.setdefault(original, {})
    if scale not in known:
        known[scale] = _efforts_of_pairs(original, scale)
    return known[scale]


def _efforts_of_pairs(original: Trajectories, scale: Scale) -> Floats:
    order = np.argsort(original.lengths, kind="stable")  # a sum is over the longer of two
    lengths = original.lengths[order]
    rows = rows_of(original.offsets, order)
    t, x, y = (column[rows] - column.min() for column in (original.t, original.x, original.y))
    greatest = max(scale.per_slot * int(t.max()), scale.per_cell * (int(x.max()) + int(y.max())))
    kind = np.int32 if greatest < 1 << 31 else np.int64
    columns = tuple(column.astype(kind) for column in (t, x, y))
    starts = np.cumsum(lengths) - lengths
    efforts = np.full((len(order), len(order)), np.inf)
    for place, b in enumerate(order):
        begin, others = starts[place], starts[place + 1 :] - starts[place + 1 : place + 2]
        if not len(others):
            break
        of_b, longer = slice(begin, begin + lengths[place]), slice(begin + lengths[place], None)
        costs = np.add(*_costs(columns, of_b, longer, scale))
        sums = np.add.reduceat(costs.min(axis=0), others)
        equal = others[lengths[place + 1 :] == lengths[place]]  # in number; they come first
        if len(equal):
            least = np.minimum.reduceat(costs[:, : len(equal) * lengths[place]], equal, axis=1)
            sums[: len(equal)] = np.maximum(sums[: len(equal)], least.sum(axis=0))
        efforts[b, order[place + 1 :]] = efforts[order[place + 1 :], b] = sums / lengths[place + 1 :]
    return efforts


def _costs(
    columns: tuple[Integers, ...], some: slice, others: slice, scale: Scale
) -> tuple[Numbers, Numbers]:
    """[s, o] each, the costs in space and in time from every sample to every other."""
    t, x, y = (np.abs(column[some, None] - column[others]) for column in columns)
    return np.minimum(scale.per_cell * (x + y), scale.half), np.minimum(scale.per_slot * t, scale.half)


def nearest_by_efforts(
    efforts: Floats, subjects: Integers, count: int, below: float | Floats, requested: Numbers
) -> Nearest:
    """As ``NearPairs.nearest``."""
    n = len(efforts)
    owners, among = subjects[requested[subjects]], np.sort(subjects)
    costs = efforts[np.ix_(owners, among)]
    costs[costs >= np.broadcast_to(below, n)[owners, None]] = np.inf
    first = np.argsort(costs, axis=1, kind="stable")[:, :count]
    costs = np.take_along_axis(costs, first, axis=1)
    nearest = Nearest(
        partner=np.full((n, count), n, dtype=np.int32),
        effort=np.full((n, count), np.inf),
        length=np.zeros(n, dtype=np.int32),
        requested=requested,
        tally=np.full(2, len(among) * (len(among) - 1) // 2),
    )
    nearest.effort[owners, : first.shape[1]] = costs
    nearest.partner[owners, : first.shape[1]] = np.where(costs < np.inf, among[first], n)
    nearest.length[owners] = (costs < np.inf).sum(axis=1)
    return nearest


def fill_gap_parts_of_few(
    original: Trajectories, subjects: Integers, neighbors: Numbers, scale: Scale, parts: Floats, tails: Floats
) -> None:
    """As ``fill_gap_parts``."""
    columns, offsets, lengths = (original.t, original.x, original.y), original.offsets, original.lengths
    for i in subjects:
        both: list[tuple[Numbers, Numbers]] = []
        parts[i] = 0.0
        for other in neighbors[i]:
            a, b = min(i, other), max(i, other)
            space, time = _costs(
                columns, slice(offsets[a], offsets[a + 1]), slice(offsets[b], offsets[b + 1]), scale
            )
            costs = space + time
            sums = costs.min(axis=1).sum(), costs.min(axis=0).sum()
            # the longer, or of equals the one that costs more
            if (lengths[b], sums[1]) > (lengths[a], sums[0]):
                space, time, costs = space.T, time.T, costs.T
            nearest = np.arange(len(costs)), costs.argmin(axis=1)
            both.append((space[nearest], time[nearest]))
            parts[i] += [column.sum() / len(costs) / len(neighbors[i]) for column in both[-1]]
        space, time = (np.concatenate(column) for column in zip(*both, strict=True))
        tails[i] = _tail_weights(np.stack([space + time, space, time]))


def _tail_weights(values: Numbers) -> Floats:
    """As ``tail_weight`` of each row."""
    ordered, position = np.sort(values, axis=1), _QUANTILES * (values.shape[1] - 1)
    below = position.astype(np.int64)
    low, high = ordered[:, below], ordered[:, np.minimum(below + 1, values.shape[1] - 1)]
    middle, upper, top = (low + (position - below) * (high - low)).T
    weights = np.full(len(values), np.nan)
    np.divide(top - middle, upper - middle, out=weights, where=upper != middle)
    return weights


def least_companion_costs_of_few(
    original: Trajectories, subjects: Integers, weights: Weights, count: int
) -> Integers:
    """[s, count]: what ``least_companion_costs`` fills, for each subject."""
    (t, x, y), offsets = (original.t, original.x, original.y), original.offsets
    least = np.empty((len(subjects), count), dtype=np.int64)
    for row, subject in enumerate(subjects):
        own = slice(offsets[subject], offsets[subject + 1])
        cells = np.abs(x[own, None] - x) + np.abs(y[own, None] - y) + 2
        costs = weights.place[np.minimum(cells, len(weights.place) - 1)]
        costs += weights.per_slot * (np.abs(t[own, None] - t) + 1)
        sums = np.minimum.reduceat(costs, offsets[:-1], axis=1).sum(axis=0)
        least[row] = np.sort(np.delete(sums, subject))[:count]
    return least
