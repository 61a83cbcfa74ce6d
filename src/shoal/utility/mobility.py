"""Mobility: gyration, trips, hours, homes, visitors."""

import math
from typing import Final

import numpy as np

from shoal.kernels.box_measures import Areas, BoxColumns, distance_bounds, distances_between_middles
from shoal.kernels.homes import WeightedAreas, check_homes
from shoal.measures.presence import clock_offsets_s, share_of_hours
from shoal.measures.query import Estimates, batches_of_records, some_records, time_profile
from shoal.measures.trips import common_part, people_by_hour
from shoal.model.clocks import Clock, clock_of
from shoal.model.grid import Grid
from shoal.model.release import Boxes, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, read_only
from shoal.utility.facts import Facts, Value

_AT_ONCE: Final = 500  # people whose boxes are looked at together
_ROWS_AT_ONCE: Final = 1 << 16


def gyration_error(facts: Facts) -> Value:
    """Median over people of |expected - true| radius of gyration, meters.

    Moving samples inside their boxes changes a radius by at most the root mean square of half their
    diagonals.
    """
    cell_m, people = facts.original.snapped_grid().cell_m, np.flatnonzero(facts.records >= 0)

    def radii(data: Trajectories | Release) -> Floats:
        spans = batches_of_records(data.offsets, _ROWS_AT_ONCE)
        return np.hstack([gyration_of(*some_records(data, span), cell_m) for span in spans])

    raw, seen = facts.run.map(radii, facts.both)
    true, (low, expected, high) = raw[1, people], seen[:, facts.records[people]]
    return Value(
        value=float(np.median(np.abs(expected - true))),
        low=float(np.median(np.maximum(0, np.maximum(low - true, true - high)))),
        high=float(np.median(np.maximum(np.abs(low - true), np.abs(high - true)))),
        raw=float(true.mean()),
        minimum=float(low.mean()),
        expected=float(expected.mean()),
        maximum=float(high.mean()),
    )


def gyration_of(boxes: Boxes | BoxColumns, offsets: Integers, cell_m: float) -> Floats:
    """[3, records] meters: least, expected and greatest root mean square distance from the mean."""
    starts, lengths = offsets[:-1], np.diff(offsets)

    def mean(values: Floats) -> Floats:
        return np.add.reduceat(values, starts) / lengths

    square, inside, freedom = np.zeros((3, len(lengths)))
    for low, high in ((boxes.x_min, boxes.x_max), (boxes.y_min, boxes.y_max)):
        middle, wide = (low + high) / 2, (high - low).astype(np.float64)
        middle -= np.repeat(mean(middle), lengths)
        square += mean(middle**2)
        inside += mean(wide**2 - 1) / 12  # variance of a random cell of a box
        freedom += mean((wide - 1) ** 2) / 4
    centered, free = cell_m * np.sqrt(square), cell_m * np.sqrt(freedom)
    expected = cell_m * np.sqrt(square + inside * (lengths - 1) / lengths)
    return np.stack([np.maximum(0.0, centered - free), expected, centered + free])


def trip_length_error(facts: Facts) -> Value:
    """1-Wasserstein distance of the lengths of moves, meters; nan without moves.

    Between two boxes a length is from their gap to their farthest cells, expected between their centers.
    Fewer, wider boxes have fewer and longer moves.
    """
    original, release = facts.original, facts.release
    true = _middle_lengths(
        Areas(original.x, original.y, original.x, original.y), original.offsets, original.snapped_grid()
    )
    if not len(true):
        return Value(value=math.nan)
    raw, raw_at = _mean_and_quantiles(true)
    del true  # as long as the data
    seen = trip_lengths(release)
    if not len(seen.expected):
        return Value(value=math.nan, raw=raw)
    minimum, maximum = float(seen.minimum.mean()), float(seen.maximum.mean())
    lengths = seen.expected
    del seen  # its bounds are as long
    expected, seen_at = _mean_and_quantiles(lengths)
    distance = float(np.abs(raw_at - seen_at).mean())
    return Value(value=distance, raw=raw, minimum=minimum, expected=expected, maximum=maximum)


def _mean_and_quantiles(lengths: Floats) -> tuple[float, Floats]:
    mean = float(lengths.mean())
    return mean, np.quantile(lengths, (np.arange(1000) + 0.5) / 1000, overwrite_input=True)


def trip_lengths(release: Release) -> Estimates:
    """[moves] meters, from box to next box."""
    boxes, offsets, cell_m = release.boxes, release.offsets, float(release.snapped_grid().cell_m)
    minimum, expected, maximum = (np.empty(_n_moves(offsets)) for _ in range(3))
    begin = 0
    for span in batches_of_records(offsets, _ROWS_AT_ONCE):
        some = boxes.take(slice(offsets[span.start], offsets[span.stop]))
        areas = Areas(some.x_min, some.y_min, some.x_max - 1, some.y_max - 1)
        ends = read_only(offsets[span.start : span.stop + 1] - offsets[span.start])
        moves = slice(begin, begin + _n_moves(ends))
        distances_between_middles(areas, ends, cell_m, expected[moves])
        distance_bounds(areas, ends, cell_m, minimum[moves], maximum[moves])
        begin = moves.stop
    return Estimates(minimum=minimum, expected=expected, maximum=maximum)


def _n_moves(offsets: Integers) -> int:
    return int(np.maximum(np.diff(offsets) - 1, 0).sum())


def _middle_lengths(areas: Areas, offsets: Integers, grid: Grid) -> Floats:
    lengths = np.empty(_n_moves(offsets))
    distances_between_middles(areas, offsets, float(grid.cell_m), lengths)
    return lengths


def time_profile_error(facts: Facts) -> Value:
    """Total variation distance of samples by hour of day; boxes are spread evenly."""
    clock = clock_of(facts.original)
    raw, seen = facts.run.map(lambda data: time_profile(data, clock), facts.both)
    true = raw.expected
    return Value(
        value=float(np.abs(true - seen.expected).sum()) / 2,
        low=max(_excess(seen.minimum, true), _excess(true, seen.maximum)),
        high=min(1.0, _excess(seen.maximum, true), _excess(true, seen.minimum)),
    )


def home_kept(facts: Facts) -> Value:
    """People whose most visited cell at night lies in their record's likeliest area at night.

    Night: 20 to 6 o'clock, by the data's clock. People without a sample then, or a record, do not count.
    """
    original, release = facts.original, facts.release
    slot_s, people = original.snapped_grid().slot_s, np.flatnonzero(facts.records >= 0)
    clock, raw_boxes = clock_of(original), Boxes.of_samples(original.t, original.x, original.y)
    raw = _at_night(raw_boxes, original.offsets, slot_s, clock)
    published = _at_night(release.boxes, release.offsets, slot_s, clock)

    def part(people: Integers) -> Integers:
        has_home, home_inside = np.zeros((2, len(people)), dtype=np.bool_)
        check_homes(raw, published, people, facts.records[people], has_home, home_inside)
        return np.array([np.count_nonzero(has_home), np.count_nonzero(home_inside)])

    parts = np.array_split(people, -(-len(people) // _AT_ONCE) or 1)
    with_home, inside = np.sum(list(facts.run.map(part, parts)), axis=0)
    return Value(value=inside / with_home if with_home else math.nan)


def _at_night(boxes: Boxes, offsets: Integers, slot_s: float, clock: Clock) -> WeightedAreas:
    """In parts, which keeps memory small."""
    shares = np.empty(len(boxes))
    for begin in range(0, len(boxes), _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        intervals = np.column_stack([boxes.t_start[part], boxes.t_end[part]])
        shares[part] = share_of_hours(intervals, slot_s, "home", clock_offsets_s(clock, intervals, slot_s))
    return WeightedAreas(offsets, boxes.x_min, boxes.y_min, boxes.x_max, boxes.y_max, shares)


def _excess(these: Floats, those: Floats) -> float:
    return float(np.maximum(0, these - those).sum())


def od_similarity(facts: Facts) -> Value:
    """Common part of trips from zone to zone, as ``shoal.measures.trips.count_trips`` counts them.

    The guess draws origin and destination of each trip from ``Facts.guessed_shares``, never the same zone.
    """
    raw, released = facts.trips
    pairs = np.union1d(raw.pairs, released.pairs)
    counts = np.zeros((2, len(pairs)))
    for row, trips in zip(counts, (raw, released), strict=True):
        row[np.searchsorted(pairs, trips.pairs)] = trips.counts
    shares = facts.guessed_shares
    guess = np.outer(shares, shares)
    np.fill_diagonal(guess, 0.0)
    guess *= raw.counts.sum() / max(guess.sum(), np.finfo(np.float64).tiny)
    true = np.zeros(guess.size)
    true[raw.pairs] = raw.counts
    return Value(
        value=common_part(*counts),
        baseline=common_part(true, guess.ravel()),
        raw=float(counts[0].sum()),
        expected=float(counts[1].sum()),
    )


def presence_similarity(facts: Facts) -> Value:
    """Common part of the shares of people by zone and hour of the day.

    The guess knows the true share of each hour, and takes zones from ``Facts.guessed_shares`` at all hours.
    """
    clock, zones = clock_of(facts.original), facts.zones
    _, first, size = np.unique(facts.crowds, return_index=True, return_counts=True)
    often = np.zeros(facts.release.n_records, dtype=np.int64)
    often[first] = size
    raw = people_by_hour(facts.original, zones, clock, facts.run)
    released = people_by_hour(facts.release, zones, clock, facts.run, often)
    if not (raw.any() and released.any()):
        return Value(value=math.nan)
    true = raw / raw.sum()
    guess = np.outer(true.sum(axis=1), facts.guessed_shares)
    return Value(value=common_part(true, released / released.sum()), baseline=common_part(true, guess))


def visits_correlation(facts: Facts) -> Value:
    """Spearman's rank correlation of true and expected visitors of zones; nan when either is constant.

    The guess is ``Facts.guessed_shares``.
    """
    true, seen = facts.visitors
    return Value(
        value=rank_correlation(true, seen.expected), baseline=rank_correlation(true, facts.guessed_shares)
    )


def visits_error(facts: Facts) -> Value:
    """Sum over zones of |expected - true| visitors, divided by all true visitors."""
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
    """Mean of |expected - true| / true over ``Facts.range_counts``."""
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
    """Share of queries whose bounds hold the truth; suppression may break it."""
    true, seen = facts.range_counts
    return Value(value=float(np.mean([e.minimum <= c <= e.maximum for c, e in zip(true, seen, strict=True)])))


def rank_correlation(a: Floats, b: Floats) -> float:
    """Spearman's correlation, ties with their mean rank."""
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
