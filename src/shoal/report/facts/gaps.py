"""The k-gap in a few numbers, with 95 % intervals if only some people were measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.rate import wilson
from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap
from shoal.report.facts.curves import Curve, curve_of_people, quantile_of_people
from shoal.runtime.arrays import Floats, Integers

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
