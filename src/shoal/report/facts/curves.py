"""Distributions for a public page: at most 200 steps, none the value of one person."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats
from shoal.utility.accuracy import Extents

STEPS: Final = 200
LEAST_PEOPLE: Final = 10


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A cumulative distribution: ``share`` of all lies at or below ``value``; both ascend.

    Empty when not publishable.
    """

    value: tuple[float, ...] = ()
    share: tuple[float, ...] = ()


def curve_of_people(values: Floats) -> Curve:
    """One value per person, each point the mean of at least ten neighbors in order.

    The extremes are not shown, as each belongs to one person. Empty below twenty people.
    """
    finite = np.sort(values[np.isfinite(values)])
    blocks = min(STEPS, len(finite) // LEAST_PEOPLE)
    if blocks < 2:
        return Curve()
    edges = np.linspace(0, len(finite), blocks + 1).astype(np.int64)
    means = np.add.reduceat(finite, edges[:-1]) / np.diff(edges)
    return Curve(value=_short(means), share=_short((edges[:-1] + edges[1:]) / 2 / len(finite)))


def curve_of_extents(extents: Extents, *, spatial: bool) -> Curve:
    """Of dx + dy in meters, or durations in seconds, in 200 quantiles."""
    if not extents.n_samples:
        return Curve()
    shares = np.arange(1, STEPS + 1) / STEPS
    values = extents.space_m(shares) if spatial else extents.time_s(shares)
    return Curve(value=_short(np.r_[values[:1], values]), share=_short(np.r_[0, shares]))


def quantile_of_people(values: Floats, share: float) -> float | None:
    """A quantile over people; None when fewer than ten lie on either side."""
    finite = values[np.isfinite(values)]
    if len(finite) * min(share, 1 - share) < LEAST_PEOPLE:
        return None
    return float(np.quantile(finite, share))


def _short(values: Floats) -> tuple[float, ...]:
    return tuple(float(f"{value:.5g}") for value in values)
