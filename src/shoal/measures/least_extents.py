"""Lower bound of box extents, from best companions.

In a class of k, every box contains a sample of each member. So a sample's box reaches to one sample of each
of k - 1 companions, and a person's samples together cost at least as much as with the worst of these. The k
- 1 cheapest companions bound that, whatever the classes are.
"""

from typing import Final

import numpy as np

from shoal.kernels.companions import Squares, least_companion_costs
from shoal.kernels.people import distinct_within_subjects
from shoal.kernels.weighed_runs import Tracks, Weights
from shoal.measures.few_people import least_companion_costs_of_few
from shoal.model.argument_checks import require_people
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import are_few
from shoal.runtime.run import Run

_FINEST: Final = 1000  # the larger of both weights
_SQUARES_ACROSS: Final = 256
_IN_ORDER: Final = 1000  # people
_ROWS_AT_ONCE: Final = 1 << 16
_WIDEST: Final = 1 << 20  # cells; a million of 100 m is more than twice around the world


def even_weights(original: Trajectories, cells: float, slots: float) -> Weights:
    """Integer weights: ``cells`` of dx + dy count as ``slots``."""
    return Weights(
        place=np.arange(widest_cells(original) + 1) * max(1, round(_FINEST * min(1.0, slots / cells))),
        per_slot=max(1, round(_FINEST * min(1.0, cells / slots))),
    )


def widest_cells(original: Trajectories) -> int:
    """The largest possible dx + dy in cells, up to a maximum."""
    return min(_WIDEST, int(np.ptp(original.x)) + int(np.ptp(original.y)) + 2)


def lower_bound_of_costs(
    original: Trajectories, k: int, weights: Weights, subjects: Integers, run: Run
) -> Integers:
    """[subjects] least cost in any class of k."""
    # a sample costs its box's dx + dy in cells and its duration in slots, each times its weight
    require_people(original.n_subjects, k)
    starts = original.offsets[:-1]
    if are_few(original.n_samples, original.n_subjects):
        return least_companion_costs_of_few(original, subjects, weights, k - 1)[:, -1]
    middles = [np.add.reduceat(column, starts) / original.lengths for column in (original.x, original.y)]
    tracks = Tracks(original.offsets, original.t, original.x, original.y)
    squares = make_squares(tracks)

    def least(subject: int) -> int:
        away = sum(np.abs(middle - middle[subject]) for middle in middles)
        costs = np.empty(k - 1, dtype=np.int64)
        least_companion_costs(tracks, squares, subject, _nearest_thousand_first(away), weights, costs)
        return int(costs[-1])

    return np.array(list(run.map(least, subjects.tolist(), label="bounding the extents")), dtype=np.int64)


def _nearest_thousand_first(away: Floats) -> Integers:
    order = np.argpartition(away, min(_IN_ORDER, len(away) - 1))
    near, others = order[:_IN_ORDER], order[_IN_ORDER:]
    return np.concatenate([near[np.argsort(away[near], kind="stable")], np.sort(others)])


def make_squares(tracks: Tracks) -> Squares:
    """A raster over all samples, 256 squares along its longer side."""
    west, south = int(tracks.x.min()), int(tracks.y.min())
    wide, high = int(tracks.x.max()) - west, int(tracks.y.max()) - south
    side = max(wide, high) // _SQUARES_ACROSS + 1
    columns, rows = wide // side + 1, high // side + 1
    number = np.empty(len(tracks.x), dtype=np.int32)
    for first in range(0, len(number), _ROWS_AT_ONCE):
        some = slice(first, first + _ROWS_AT_ONCE)
        number[some] = (tracks.y[some] - south) // side * columns + (tracks.x[some] - west) // side
    square_of, offsets, numbers, samples = distinct_within_subjects(tracks.offsets, number, columns * rows)
    return Squares(
        offsets=offsets,
        column=numbers % columns,
        row=numbers // columns,
        samples=samples,
        square_of=square_of,
        side=side,
    )
