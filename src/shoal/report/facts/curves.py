"""Distributions and k-gaps for a public page: at most 200 steps, none the value of one person.

Of a k-gap, 95 % intervals where only some people were measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.rate import wilson
from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap
from shoal.runtime.arrays import Floats, Integers
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


Range = tuple[float, float]

_NEAR_THE_MIDDLE: Final = 0.1
_RESAMPLES: Final = 500
_RESAMPLING_SEED: Final = 95  # the same intervals to everybody who has the same data
_MIDDLE_95: Final = (0.025, 0.975)
_UPPER: Final = 0.95


@dataclass(frozen=True, kw_only=True)
class GapFacts:
    """One k-gap.

    people: measured. of: in the data. cost_space_m, cost_time_s: mean stretch per sample of the tenth of
    people around the median gap. hidden: people whose gap is 0. upper: the 95th percentile, None below 200
    people. ranges: 95 % intervals; empty if everybody was measured.
    """

    k: int
    people: int
    of: int
    median: float
    mean: float
    upper: float | None
    hidden: int
    cost_space_m: float
    cost_time_s: float
    curve: Curve
    ranges: Mapping[str, Range]


def gap_facts(n_people: int, gap: KGap) -> GapFacts:
    """Summarize a k-gap; raises MisuseError for other people."""
    n = len(gap.gap)
    of_others = n != n_people if gap.subjects is None else bool((gap.subjects >= n_people).any())
    if of_others:
        raise MisuseError(
            f"the k-gap is of {n} people and the data of {n_people}; compute it from the same data"
        )
    values = {name: float(figure[0]) for name, figure in _figures(gap, np.arange(n)[None]).items()}
    return GapFacts(
        k=gap.k,
        people=n,
        of=n_people,
        median=values["median"],
        mean=values["mean"],
        upper=quantile_of_people(gap.gap, _UPPER),
        hidden=int(np.count_nonzero(gap.gap == 0)),
        cost_space_m=values["cost_space_m"],
        cost_time_s=values["cost_time_s"],
        curve=curve_of_people(gap.gap),
        ranges={} if gap.subjects is None else _ranges(gap),
    )


def _ranges(gap: KGap) -> dict[str, Range]:
    """By resampling people; Wilson's for the share hidden, which is right for 0, too."""
    rng, n = np.random.default_rng(_RESAMPLING_SEED), len(gap.gap)
    draws = np.sort([rng.integers(0, n, n) for _ in range(_RESAMPLES)], axis=1)
    quantiles = {name: np.quantile(drawn, _MIDDLE_95) for name, drawn in _figures(gap, draws).items()}
    ranges = {name: (float(low), float(high)) for name, (low, high) in quantiles.items()}
    if quantile_of_people(gap.gap, _UPPER) is None:
        del ranges["upper"]
    return {**ranges, "share_hidden": wilson(int(np.count_nonzero(gap.gap == 0)), n)}


def _figures(gap: KGap, draws: Integers) -> dict[str, Floats]:
    """For draws of people [d, n]. Costs of the tenth (at least ten) around the median gap."""
    gaps = gap.gap[draws]
    n = gaps.shape[1]
    size = min(n, max(10, round(n * _NEAR_THE_MIDDLE)))
    start = (n - size) // 2
    middle = np.argsort(gaps, axis=1, kind="stable")[:, start : start + size]
    around = np.take_along_axis(draws, middle, axis=1)
    return {
        "median": np.median(gaps, axis=1),
        "mean": gaps.mean(axis=1),
        "upper": np.quantile(gaps, _UPPER, axis=1),
        "cost_space_m": gap.space[around].mean(axis=1) * 2 * gap.space_cap_m,
        "cost_time_s": gap.time[around].mean(axis=1) * 2 * gap.time_cap_s,
    }
