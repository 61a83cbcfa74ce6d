"""Places: visitors of zones, daily trips between them, and counts in random areas and intervals.

Estimates come from ``shoal.measures.query``.
"""

import math
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from shoal.measures.query import Estimate, Region, origin_destination, people_in, people_in_zones
from shoal.runtime.arrays import Floats
from shoal.utility.measuring import Pair, Value

_QUERIES: Final = 200
_ANSWERS: Final[WeakKeyDictionary[Pair, tuple[list[float], list[Estimate]]]] = (
    WeakKeyDictionary()
)  # two metrics ask the same
_QUERY_SEED: Final = (
    20_889  # the same questions to every release of the same data, so that figures can be compared
)


def od_similarity(pair: Pair) -> Value:
    """Common part of the daily trips between zones.

    2 sum min(raw, expected) / (sum raw + sum expected), 1 = the same matrix.

    raw and expected: how many daily trips there are. low, high: bounds over all trips that the boxes allow;
    how many there are is fixed.
    """
    true, seen = (
        origin_destination(pair.original, pair.zones).expected,
        origin_destination(pair.release, pair.zones),
    )
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


def visits_correlation(pair: Pair) -> Value:
    """Spearman's rank correlation between true and expected visitors, over the zones of the raw data.

    Nan when either is constant.
    """
    true, seen = _visitors(pair)
    return Value(value=rank_correlation(true, seen))


def visits_error(pair: Pair) -> Value:
    """Sum over zones of |expected - true| visitors, divided by all true visitors.

    low, high: what the bounds of each zone allow.
    """
    true = people_in_zones(pair.original, pair.zones).expected
    seen = people_in_zones(pair.release, pair.zones)
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


def range_error(pair: Pair) -> Value:
    """Mean over 200 range queries of |expected - true| / true people.

    Each query is a square and an interval around a random raw sample, of a random 5 to 25 % of the data's
    extent, on cells and slots.
    """
    true, seen = _queries(pair)
    value = np.array(
        [abs(estimate.expected - count) / count for count, estimate in zip(true, seen, strict=True)]
    )
    low = np.array([max(0.0, e.minimum - c, c - e.maximum) / c for c, e in zip(true, seen, strict=True)])
    high = np.array(
        [max(abs(e.minimum - c), abs(e.maximum - c)) / c for c, e in zip(true, seen, strict=True)]
    )
    return Value(value=float(value.mean()), low=float(low.mean()), high=float(high.mean()))


def range_bounded(pair: Pair) -> Value:
    """Share of the same queries whose minimum and maximum hold the truth; suppression may break it."""
    true, seen = _queries(pair)
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


def _visitors(pair: Pair) -> tuple[Floats, Floats]:
    return people_in_zones(pair.original, pair.zones).expected, people_in_zones(
        pair.release, pair.zones
    ).expected


def _queries(pair: Pair) -> tuple[list[float], list[Estimate]]:
    """The true answers, none of them 0 as each region holds a sample, and the release's."""
    if pair not in _ANSWERS:
        _ANSWERS[pair] = _asked(pair)
    return _ANSWERS[pair]


def _asked(pair: Pair) -> tuple[list[float], list[Estimate]]:
    rng = np.random.default_rng(_QUERY_SEED)
    original, grid = pair.original, pair.original.snapped_grid()
    side = max(int(np.ptp(original.x)), int(np.ptp(original.y)), 1)
    duration = max(int(np.ptp(original.t)), 1)
    regions = []
    for row in rng.integers(0, original.n_samples, _QUERIES):
        half, span = (max(1, int(extent * rng.uniform(0.05, 0.25) / 2)) for extent in (side, duration))
        t, x, y = int(original.t[row]), int(original.x[row]), int(original.y[row])
        regions.append(
            Region(
                x_min_m=(x - half) * grid.cell_m,
                x_max_m=(x + half + 1) * grid.cell_m,
                y_min_m=(y - half) * grid.cell_m,
                y_max_m=(y + half + 1) * grid.cell_m,
                t_start_s=(t - span) * grid.slot_s,
                t_end_s=(t + span + 1) * grid.slot_s,
            )
        )
    return [people_in(original, region).expected for region in regions], [
        people_in(pair.release, region) for region in regions
    ]
