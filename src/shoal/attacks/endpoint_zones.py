"""The attack on zones that hide the ends of tracks: it finds where all of them come from.

Fitness services cut away what lies around a home. Hassan et al. (2018) fit a circle to the places where the
tracks of somebody break off, and name its center; that finds 95 % of moderately active users. It meets zones
that are not centered here, so the adversary also looks back along the headings at the cuts, knows how far
from its circle's center the place may lie, and weighs every possible place.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.runtime.arrays import Floats

FEWEST: Final = 3  # ends that a circle goes through
_WIDE_M: Final = 40.0  # how far beside the place a way that comes from it may point
_STEP_M: Final = 20.0
_TURNS: Final = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class Cuts:
    """Where tracks break off at a zone (x, y in meters), and the direction away from it, float64 [n, 2]."""

    ends: Floats
    away: Floats


def circle_center(ends: Floats, radius_m: float | None = None) -> Floats:
    """[2]: the center of the circle that fits best to the ends, of the radius if that is known.

    Least squares (Kasa 1976), then Gauss-Newton steps on the distances. Raises MisuseError for fewer than
    three.
    """
    if len(ends) < FEWEST:
        raise MisuseError(f"{len(ends)} ends draw no circle; {FEWEST} are needed")
    middle = ends.mean(axis=0)
    moved = ends - middle
    table = np.column_stack([2 * moved, np.ones(len(moved))])
    center: Floats = np.linalg.lstsq(table, (moved**2).sum(axis=1), rcond=None)[0][:2]
    if radius_m is None:
        return np.asarray(center + middle)
    for _ in range(_TURNS):
        apart = moved - center
        away = np.maximum(np.hypot(*apart.T), 1e-9)
        step = np.linalg.lstsq(-apart / away[:, None], radius_m - away, rcond=None)[0]
        center = center + step
        if np.abs(step).max() < 1e-3:
            break
    return np.asarray(center + middle)


def mean_of_ends(ends: Floats) -> Floats:
    """[2]: the middle of the ends, for zones that are drawn anew for each track."""
    middle: Floats = ends.mean(axis=0)
    return middle


def crossing_of_headings(cuts: Cuts) -> Floats:
    """[2]: the place that most of the lines back from the cuts pass near: repeated weighted least squares."""
    normal = np.column_stack([-cuts.away[:, 1], cuts.away[:, 0]])
    beside = (normal * cuts.ends).sum(axis=1)
    weights = np.ones(len(normal))
    place = cuts.ends.mean(axis=0)
    for _ in range(_TURNS):
        place = np.linalg.lstsq(normal * weights[:, None], beside * weights, rcond=None)[0]
        weights = 1 / (1 + ((normal @ place - beside) / _WIDE_M) ** 2)
    found: Floats = place
    return found


def likeliest_place(cuts: Cuts, center: Floats, farthest_m: float) -> Floats:
    """[2]: of all places up to so far from the center, the one that most ways away seem to come from.

    A way speaks for a place by how far beside it the line back passes (Cauchy), and against one before it.
    """
    steps = np.arange(-farthest_m, farthest_m + _STEP_M, _STEP_M)
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    grid = grid[np.hypot(*grid.T) <= farthest_m] + center
    back = grid[:, None, :] - cuts.ends[None, :, :]
    beside = back[..., 0] * -cuts.away[:, 1] + back[..., 1] * cuts.away[:, 0]
    before = np.maximum((back * cuts.away).sum(axis=-1), 0.0)
    score = -np.log1p((np.hypot(beside, before) / _WIDE_M) ** 2).sum(axis=1)
    best: Floats = grid[np.flatnonzero(score >= score.max() - 1e-9)].mean(axis=0)
    return best
