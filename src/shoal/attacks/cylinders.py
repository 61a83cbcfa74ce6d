"""The cylinders of a (k, delta)-co-located release, seen in its points alone.

Who was outside a cylinder was moved straight toward its middle and stands at its edge. Three such people show
where the middle is, and two of a crowd of two. So a point that is known of somebody says where in each
cylinder that person would stand.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.target import PointTarget
from shoal.kernels.passing import Lines
from shoal.model.claims import KDeltaAnonymity
from shoal.runtime.arrays import Floats, Integers

_SLACK_M: Final = 0.01  # what writing a place as degrees may move it
_AT_EDGE: Final = 3  # that many people show a circle of known radius


class Cylinders(NamedTuple):
    """Published records, and for each point the middle of the cylinder that it seems to stand in.

    middles: float64 [m, 2]. radius: of all cylinders, in meters.
    """

    lines: Lines
    middles: Floats
    radius: float


def cylinders_of(evaluation: Evaluation[PointTarget] | None) -> Cylinders | None:
    """Those of the records; None = this is no release of cylinders."""
    claim = None if evaluation is None else evaluation.around.claim
    if evaluation is None or not isinstance(claim, KDeltaAnonymity):
        return None
    target = evaluation.target
    return Cylinders(
        Lines(target.offsets, target.t, target.x, target.y),
        middles_of(target, claim.delta_m),
        claim.delta_m / 2,
    )


def middles_of(target: PointTarget, delta_m: float) -> Floats:
    """float64 [m, 2]: for each published point the middle of the cylinder that it seems to stand in.

    Parameters
    ----------
    delta_m
        The diameter of all cylinders.
    """
    if delta_m not in target.middles:
        target.middles[delta_m] = _middles(target, delta_m)
    return target.middles[delta_m]


def _middles(target: PointTarget, delta_m: float) -> Floats:
    same_times: dict[bytes, list[int]] = {}
    for record in range(target.n_records):
        own = target.t[target.offsets[record] : target.offsets[record + 1]]
        same_times.setdefault(own.tobytes(), []).append(record)
    middles = np.column_stack([target.x, target.y])
    for records in same_times.values():
        steps = int(target.offsets[records[0] + 1] - target.offsets[records[0]])
        rows = target.offsets[records][:, None] + np.arange(steps)
        for crowd in _together(target.x, target.y, rows, delta_m):
            x, y = _middle(target.x[crowd], target.y[crowd], delta_m / 2)
            middles[crowd, 0], middles[crowd, 1] = x, y
    return middles


def _together(x: Floats, y: Floats, rows: Integers, delta_m: float) -> Iterator[Integers]:
    """Groups of the records [n, s] that are within delta of their first one all along."""
    while len(rows):
        near = np.arange(len(rows))
        for part in (slice(0, 1), slice(1, None)):  # most are far away at once
            away = np.hypot(x[rows[near, part]] - x[rows[0, part]], y[rows[near, part]] - y[rows[0, part]])
            near = near[(away <= delta_m + _SLACK_M).all(axis=1)]
        yield rows[near]
        rows = np.delete(rows, near, axis=0)


def _middle(x: Floats, y: Floats, radius: float) -> tuple[Floats, Floats]:
    """The middle at each time of people at [n, s].

    Of the circles through two of them that hold all, the one with most at its edge, of several the one
    nearest to their mean. Where less than three stand at an edge, and their mean is the middle of a circle
    that all are within, nobody was moved, and the middle is that mean.
    """
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    middle_x, middle_y = mean_x.copy(), mean_y.copy()
    most, least = np.zeros(x.shape[1], dtype=np.int64), np.full(x.shape[1], np.inf)
    for one, other in combinations(range(len(x)), 2):
        along_x, along_y = x[other] - x[one], y[other] - y[one]
        apart = np.hypot(along_x, along_y)
        aside = np.sqrt(np.maximum(radius**2 - apart**2 / 4, 0)) / np.where(apart > 0, apart, 1)
        for side in (aside, -aside):
            at_x, at_y = x[one] + along_x / 2 - side * along_y, y[one] + along_y / 2 + side * along_x
            away = np.hypot(x - at_x, y - at_y)
            at_edge = (away >= radius - _SLACK_M).sum(axis=0)
            off = np.hypot(at_x - mean_x, at_y - mean_y)
            better = (at_edge > most) | (at_edge == most) & (off < least)
            better &= (apart > 0) & (away.max(axis=0) <= radius + _SLACK_M)
            middle_x, middle_y = np.where(better, at_x, middle_x), np.where(better, at_y, middle_y)
            most, least = np.where(better, at_edge, most), np.where(better, off, least)
    nobody_moved = (most < _AT_EDGE) & (np.hypot(x - mean_x, y - mean_y).max(axis=0) < radius - _SLACK_M)
    return np.where(nobody_moved, mean_x, middle_x), np.where(nobody_moved, mean_y, middle_y)
