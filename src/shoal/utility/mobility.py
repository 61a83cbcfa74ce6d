"""How people move: radius of gyration, lengths of trips, hours of the day, home."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from shoal.kernels.moves import Areas, bounds_of_lengths, middle_lengths
from shoal.measures.presence import ahead_of, holds, likeliest_area, share_of_hours
from shoal.measures.query import Estimates, time_profile
from shoal.model.clocks import Clock, clock_of
from shoal.model.release import Boxes, Release
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Floats, Integers
from shoal.utility.facts import Facts
from shoal.utility.measuring import Value

_AT_ONCE: Final = 500  # people whose boxes are looked at together


def gyration_error(facts: Facts) -> Value:
    """Median over people of |expected - true| radius of gyration, meters.

    raw, minimum, expected, maximum: the mean radius. A record's bounds hold for its published samples, each
    counted once: moving them inside their boxes changes the radius by at most the root mean square of half
    their diagonals.
    """
    cell_m, original = facts.original.snapped_grid().cell_m, facts.original
    rows = [
        (
            gyration_of(Boxes.of_samples(*original.samples_of(subject)), cell_m).expected[0],
            *_three(gyration_of(boxes, cell_m)),
        )
        for subject, boxes in facts.linked()
    ]
    true, low, expected, high = np.array(rows).T
    return Value(
        value=float(np.median(np.abs(expected - true))),
        low=float(np.median(np.maximum(0, np.maximum(low - true, true - high)))),
        high=float(np.median(np.maximum(np.abs(low - true), np.abs(high - true)))),
        raw=float(true.mean()),
        minimum=float(low.mean()),
        expected=float(expected.mean()),
        maximum=float(high.mean()),
    )


def gyration_of(boxes: Boxes, cell_m: float) -> Estimates:
    """[1] meters: root mean square distance of samples from their mean; a cell counts as its center."""
    x, y = (boxes.x_min + boxes.x_max) / 2 * cell_m, (boxes.y_min + boxes.y_max) / 2 * cell_m
    wide, tall = boxes.x_max - boxes.x_min, boxes.y_max - boxes.y_min
    square, n = float(np.var(x) + np.var(y)), len(boxes)
    centered, freedom = (
        math.sqrt(square),
        cell_m * math.sqrt(float(np.mean((wide - 1) ** 2 + (tall - 1) ** 2)) / 4),
    )
    inside = cell_m**2 * float(np.mean(wide**2 + tall**2 - 2)) / 12  # variance of a random cell of a box
    expected = math.sqrt(square + inside * (n - 1) / n)
    return Estimates(
        minimum=np.array([max(0.0, centered - freedom)]),
        expected=np.array([expected]),
        maximum=np.array([centered + freedom]),
    )


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
    seen = trip_lengths(release)
    if not len(true) or not len(seen.expected):
        return Value(value=math.nan)
    shares = (np.arange(1000) + 0.5) / 1000
    distance = np.abs(np.quantile(true, shares) - np.quantile(seen.expected, shares)).mean()
    return Value(
        value=float(distance),
        raw=float(true.mean()),
        minimum=float(seen.minimum.mean()),
        expected=float(seen.expected.mean()),
        maximum=float(seen.maximum.mean()),
    )


def trip_lengths(release: Release) -> Estimates:
    """[moves] meters, from each box of a record to the next."""
    boxes, cell_m = release.boxes, release.snapped_grid().cell_m
    areas = Areas(boxes.x_min, boxes.y_min, boxes.x_max - 1, boxes.y_max - 1)
    expected = _middle_lengths(areas, release.offsets, release.snapped_grid())
    shortest, longest = np.empty_like(expected), np.empty_like(expected)
    bounds_of_lengths(areas, release.offsets, cell_m, shortest, longest)
    return Estimates(minimum=shortest, expected=expected, maximum=longest)


def _middle_lengths(areas: Areas, offsets: Integers, grid: Grid) -> Floats:
    lengths = np.empty(int(np.maximum(np.diff(offsets) - 1, 0).sum()))
    middle_lengths(areas, offsets, grid.cell_m, lengths)
    return lengths


def time_profile_error(facts: Facts) -> Value:
    """Total variation distance of the shares of samples in the 24 hours of the day, by the clock of the data.

    Each box is spread evenly over its interval. low, high: bounds of the distance over all times that the
    boxes allow (what must lie in other hours than the raw samples, and what can).
    """
    clock = clock_of(facts.original)
    true, seen = time_profile(facts.original, clock).expected, time_profile(facts.release, clock)
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
    slot_s, clock, kept = original.snapped_grid().slot_s, clock_of(original), []
    for people in np.array_split(np.flatnonzero(facts.records >= 0), -(-facts.n_published // _AT_ONCE) or 1):
        raw = [Boxes.of_samples(*original.samples_of(subject)) for subject in people.tolist()]
        published = [release.record(record) for record in facts.records[people].tolist()]
        for own, record in zip(
            _at_night(raw, slot_s, clock), _at_night(published, slot_s, clock), strict=True
        ):
            home = likeliest_area(*own)
            if len(home):
                area = likeliest_area(*record)
                kept.append(len(area) > 0 and holds(area, int(home[0, 0]), int(home[0, 1])))
    return Value(value=float(np.mean(kept)) if kept else math.nan)


def _at_night(records: list[Boxes], slot_s: float, clock: Clock) -> Iterator[tuple[Integers, Floats]]:
    """Of each record the boxes, [b, 6], and the share of each that lies at night: looked at all together."""
    table = np.column_stack(Boxes.concatenate(records).columns())
    ends = np.cumsum([len(record) for record in records])[:-1]
    shares = share_of_hours(table, slot_s, "home", ahead_of(clock, table, slot_s))
    return zip(np.split(table, ends), np.split(shares, ends), strict=True)


def _excess(these: Floats, those: Floats) -> float:
    """The sum of what the first have more than the second."""
    return float(np.maximum(0, these - those).sum())


def _three(estimates: Estimates) -> tuple[float, float, float]:
    return float(estimates.minimum[0]), float(estimates.expected[0]), float(estimates.maximum[0])
