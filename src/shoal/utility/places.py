"""Places: visitors of zones, daily trips between zones, and counts in random areas and intervals.

The estimates come from ``shoal.measures.query``.
"""

import math

import numpy as np

from shoal.measures.query import origin_destination
from shoal.runtime.arrays import Floats
from shoal.utility.facts import Facts
from shoal.utility.measuring import Value


def od_similarity(facts: Facts) -> Value:
    """Common part of the daily trips between zones; 1 = the same matrix.

    It is 2 sum min(raw, expected) / (sum raw + sum expected). raw and expected: how many daily trips there
    are. low, high: bounds over all trips that the boxes allow; how many there are is fixed.
    """
    zones = facts.zones
    raw, seen = facts.run.map(lambda data: origin_destination(data, zones), facts.both)
    true = raw.expected
    trips, trips_seen = float(true.sum()), float(seen.expected.sum())
    total = trips + trips_seen
    if not total:
        return Value(value=math.nan, raw=trips, expected=trips_seen)
    sure = max(
        float(np.minimum(true, seen.minimum).sum()),
        trips_seen - float(np.maximum(0, seen.maximum - true).sum()),
    )
    possible = min(float(np.minimum(true, seen.maximum).sum()), trips_seen)
    return Value(
        value=2 * float(np.minimum(true, seen.expected).sum()) / total,
        low=2 * sure / total,
        high=2 * possible / total,
        raw=trips,
        expected=trips_seen,
    )


def visits_correlation(facts: Facts) -> Value:
    """Spearman's rank correlation of true and expected visitors of zones; nan when either is constant."""
    true, seen = facts.visitors
    return Value(value=rank_correlation(true, seen.expected))


def visits_error(facts: Facts) -> Value:
    """Sum over zones of |expected - true| visitors, divided by all true visitors.

    low, high: what the bounds of each zone allow.
    """
    true, seen = facts.visitors
    outside = np.maximum(0, np.maximum(seen.minimum - true, true - seen.maximum))
    farthest = np.maximum(np.abs(seen.minimum - true), np.abs(seen.maximum - true))
    total = float(true.sum())
    return Value(
        value=float(np.abs(seen.expected - true).sum()) / total,
        low=float(outside.sum()) / total,
        high=float(farthest.sum()) / total,
        raw=total,
        minimum=float(seen.minimum.sum()),
        expected=float(seen.expected.sum()),
        maximum=float(seen.maximum.sum()),
    )


def range_error(facts: Facts) -> Value:
    """Mean of |expected - true| / true people over the 200 range queries of ``queries.ask``."""
    true, seen = facts.range_counts
    value = np.array(
        [abs(estimate.expected - count) / count for count, estimate in zip(true, seen, strict=True)]
    )
    low = np.array([max(0.0, e.minimum - c, c - e.maximum) / c for c, e in zip(true, seen, strict=True)])
    high = np.array(
        [max(abs(e.minimum - c), abs(e.maximum - c)) / c for c, e in zip(true, seen, strict=True)]
    )
    return Value(value=float(value.mean()), low=float(low.mean()), high=float(high.mean()))


def range_bounded(facts: Facts) -> Value:
    """Share of the same queries whose minimum and maximum hold the truth; suppression may break it."""
    true, seen = facts.range_counts
    return Value(value=float(np.mean([e.minimum <= c <= e.maximum for c, e in zip(true, seen, strict=True)])))


def rank_correlation(a: Floats, b: Floats) -> float:
    """Spearman's correlation, ties with their mean rank; nan when either is constant."""
    ranks = [_mean_ranks(np.round(values, 9)) for values in (a, b)]
    spread = [float(np.std(rank)) for rank in ranks]
    if min(spread) == 0:
        return math.nan
    return float(
        np.mean((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())) / (spread[0] * spread[1])
    )


def _mean_ranks(values: Floats) -> Floats:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], dtype=np.float64)
