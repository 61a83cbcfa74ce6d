"""How people move: radius of gyration, lengths of trips, hours of the day, home."""

import math
from typing import Final

import numpy as np

from shoal.kernels.box_measures import Areas, distance_bounds, distances_between_middles
from shoal.kernels.homes import WeightedAreas, check_homes
from shoal.measures.presence import ahead_of, share_of_hours
from shoal.measures.query import Estimates, runs_of_records, time_profile
from shoal.model.clocks import Clock, clock_of
from shoal.model.release import Boxes, Release
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Floats, Integers, read_only
from shoal.utility.facts import Facts
from shoal.utility.measuring import Value

_AT_ONCE: Final = 500  # people whose boxes are looked at together
_ROWS_AT_ONCE: Final = 1 << 16


def gyration_error(facts: Facts) -> Value:
    """Median over people of |expected - true| radius of gyration, meters.

    raw, minimum, expected, maximum: the mean radius. A record's bounds hold for its published samples, each
    counted once: moving them inside their boxes changes the radius by at most the root mean square of half
    their diagonals.
    """
    cell_m, original, release = facts.original.snapped_grid().cell_m, facts.original, facts.release
    people = np.flatnonzero(facts.records >= 0)
    own = Boxes.of_samples(original.t, original.x, original.y)
    records = ((own, original.offsets), (release.boxes, release.offsets))
    raw, seen = facts.run.map(lambda which: gyration_of(*which, cell_m), records)
    true = raw.expected[people]
    low, expected, high = (
        values[facts.records[people]] for values in (seen.minimum, seen.expected, seen.maximum)
    )
    return Value(
        value=float(np.median(np.abs(expected - true))),
        low=float(np.median(np.maximum(0, np.maximum(low - true, true - high)))),
        high=float(np.median(np.maximum(np.abs(low - true), np.abs(high - true)))),
        raw=float(true.mean()),
        minimum=float(low.mean()),
        expected=float(expected.mean()),
        maximum=float(high.mean()),
    )


def gyration_of(boxes: Boxes, offsets: Integers, cell_m: float) -> Estimates:
    """[records] meters: root mean square distance of samples from their mean; a cell counts as its center."""
    parts = [
        _gyration_in(
            boxes.take(slice(offsets[own.start], offsets[own.stop])),
            np.diff(offsets[own.start : own.stop + 1]),
            cell_m,
        )
        for own in runs_of_records(offsets, _ROWS_AT_ONCE)
    ]
    minimum, expected, maximum = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Estimates(minimum=minimum, expected=expected, maximum=maximum)


def _gyration_in(boxes: Boxes, lengths: Integers, cell_m: float) -> tuple[Floats, Floats, Floats]:
    """The same of some records with so many boxes each: at least, expected, at most."""
    starts = np.cumsum(lengths) - lengths

    def mean(values: Floats) -> Floats:
        """Of each record."""
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
    return np.maximum(0.0, centered - free), expected, centered + free


def trip_length_error(facts: Facts) -> Value:
    """1-Wasserstein distance of the lengths of moves from one sample to the next, meters; nan without moves.

    raw, minimum, expected, maximum: the mean length. Between two boxes it runs from their gap to their
    farthest cells, and is expected between their centers. A release with fewer, wider boxes has fewer and
    longer moves, which is part of the error.
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
        return Value(value=math.nan)
    minimum, maximum = float(seen.minimum.mean()), float(seen.maximum.mean())
    expected, seen_at = _mean_and_quantiles(seen.expected)
    distance = float(np.abs(raw_at - seen_at).mean())
    return Value(value=distance, raw=raw, minimum=minimum, expected=expected, maximum=maximum)


def _mean_and_quantiles(lengths: Floats) -> tuple[float, Floats]:
    """The mean and the middles of a thousand equal parts; changes the order of the lengths."""
    mean = float(lengths.mean())
    return mean, np.quantile(lengths, (np.arange(1000) + 0.5) / 1000, overwrite_input=True)


def trip_lengths(release: Release) -> Estimates:
    """[moves] meters, from each box of a record to the next."""
    boxes, offsets, cell_m = release.boxes, release.offsets, float(release.snapped_grid().cell_m)
    minimum, expected, maximum = (np.empty(_n_moves(offsets)) for _ in range(3))
    begin = 0
    for own in runs_of_records(offsets, _ROWS_AT_ONCE):
        some = boxes.take(slice(offsets[own.start], offsets[own.stop]))
        areas = Areas(some.x_min, some.y_min, some.x_max - 1, some.y_max - 1)
        ends = read_only(offsets[own.start : own.stop + 1] - offsets[own.start])
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
    """Total variation distance of the shares of samples in the 24 hours of the day, by the clock of the data.

    Each box is spread evenly over its interval. low, high: bounds of the distance over all times that the
    boxes allow (what must lie in other hours than the raw samples, and what can).
    """
    clock = clock_of(facts.original)
    raw, seen = facts.run.map(lambda data: time_profile(data, clock), facts.both)
    true = raw.expected
    return Value(
        value=float(np.abs(true - seen.expected).sum()) / 2,
        low=max(_excess(seen.minimum, true), _excess(true, seen.maximum)),
        high=min(1.0, _excess(seen.maximum, true), _excess(true, seen.minimum)),
    )


def home_kept(facts: Facts) -> Value:
    """Share of people whose most visited cell at night lies in their record's likeliest area at night.

    Night is from 20 to 6 o'clock, by the clock of the data (UTC without a zone). People without a sample
    then, or without a record, do not count; nan without anybody.
    """
    original, release = facts.original, facts.release
    slot_s, people = original.snapped_grid().slot_s, np.flatnonzero(facts.records >= 0)
    clock, raw_boxes = clock_of(original), Boxes.of_samples(original.t, original.x, original.y)
    raw = _at_night(raw_boxes, original.offsets, slot_s, clock)
    published = _at_night(release.boxes, release.offsets, slot_s, clock)

    def part(people: Integers) -> Integers:
        known, kept = np.zeros((2, len(people)), dtype=np.bool_)
        check_homes(raw, published, people, facts.records[people], known, kept)
        return np.array([np.count_nonzero(known), np.count_nonzero(kept)])

    parts = np.array_split(people, -(-len(people) // _AT_ONCE) or 1)
    known, kept = np.sum(list(facts.run.map(part, parts)), axis=0)
    return Value(value=kept / known if known else math.nan)


def _at_night(boxes: Boxes, offsets: Integers, slot_s: float, clock: Clock) -> WeightedAreas:
    """Boxes, each with the share of it that lies at night; looked at in parts, which keeps memory small."""
    shares = np.empty(len(boxes))
    for begin in range(0, len(boxes), _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        intervals = np.column_stack([boxes.t_start[part], boxes.t_end[part]])
        shares[part] = share_of_hours(intervals, slot_s, "home", ahead_of(clock, intervals, slot_s))
    return WeightedAreas(offsets, boxes.x_min, boxes.y_min, boxes.x_max, boxes.y_max, shares)


def _excess(these: Floats, those: Floats) -> float:
    """The sum of what the first have more than the second."""
    return float(np.maximum(0, these - those).sum())
