"""Link people to records whose points were moved into cylinders."""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.ordering import first_not_below
from shoal.kernels.passing import KnownPoints, Lines, count_ties, distance_at_time, set_chances
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

N_SUMS: Final = 2
FLOOR_M: Final = 0.01  # least distance: rounding of places written in degrees
_ROUNDING: Final = 1e-6  # of sums of logarithms
MOST_DEVIATIONS: Final = 6.0  # of time; beyond, only the nearest points before and after count
ANY_TIME: Final = 1e-9  # the weight of a point at any other time


class Errors(NamedTuple):
    """Standard deviations, in meters on each axis and in seconds."""

    m: float
    s: float


@compiled
def _distance_moved(
    x: float, y: float, middle_x: float, middle_y: float, known_x: float, known_y: float, radius: float
) -> float:
    along_x, along_y = known_x - middle_x, known_y - middle_y
    away = math.sqrt(along_x * along_x + along_y * along_y)  # three times as fast as hypot
    share = radius / away if away > radius else 1.0
    off_x, off_y = x - middle_x - along_x * share, y - middle_y - along_y * share
    return math.sqrt(off_x * off_x + off_y * off_y)


@compiled
def correct_places(
    samples: Floats, middles: Floats, radius: float, published: Floats, near_m: float, places: Floats
) -> None:
    """Replace places [s, 2] that do not end at ``published`` [s, 2] when moved."""
    # The replacement is the sample of ``samples`` [m, 2] that ends nearest, if nearer; places that end within
    # near_m stay. middles: [s, 2], of the cylinders.
    for at in range(len(places)):
        x, y = published[at]
        least = _distance_moved(x, y, middles[at, 0], middles[at, 1], places[at, 0], places[at, 1], radius)
        if least <= near_m:
            continue
        for sample in range(len(samples)):
            off = _distance_moved(
                x, y, middles[at, 0], middles[at, 1], samples[sample, 0], samples[sample, 1], radius
            )
            if off < least:
                least = off
                places[at] = samples[sample]


@compiled
def _distance_after_move_at(
    lines: Lines, middles: Floats, radius: float, record: int, t: float, x: float, y: float
) -> float:
    begin, end = lines.offsets[record], lines.offsets[record + 1]
    after = first_not_below(lines.t, begin, end, t)
    if after == end:
        after = end - 1
    before, share = after, 0.0
    if after > begin and lines.t[after] > t:
        before = after - 1
        share = (t - lines.t[before]) / (lines.t[after] - lines.t[before])
    return _distance_moved(
        lines.x[before] + share * (lines.x[after] - lines.x[before]),
        lines.y[before] + share * (lines.y[after] - lines.y[before]),
        middles[before, 0] + share * (middles[after, 0] - middles[before, 0]),
        middles[before, 1] + share * (middles[after, 1] - middles[before, 1]),
        x,
        y,
        radius,
    )


@compiled
def _misfit_sums(
    lines: Lines,
    middles: Floats,
    radius: float,
    record: int,
    victims: KnownPoints,
    victim: int,
    most: float,
    sums: Floats,
) -> None:
    # at their times and at any time; above ``most`` the second sum may be infinite
    sums[:] = 0.0
    begin, end = victims.offsets[victim], victims.offsets[victim + 1]
    bound = (end - begin) * math.log(FLOOR_M) - _ROUNDING
    for row in range(begin, end):
        away, _ = distance_at_time(lines, record, victims.t[row], victims.x[row], victims.y[row])
        off = _distance_after_move_at(
            lines, middles, radius, record, victims.t[row], victims.x[row], victims.y[row]
        )
        sums[0] += math.log1p(away) + math.log(off + FLOOR_M)
        bound += math.log1p(away)
    for row in range(begin, end):
        if bound > most:  # even at distance 0
            sums[1] = math.inf
            return
        t, x, y = victims.t[row], victims.x[row], victims.y[row]
        away, _ = distance_at_time(lines, record, t, x, y)
        off = _distance_after_move_at(lines, middles, radius, record, t, x, y)
        for at in range(lines.offsets[record], lines.offsets[record + 1]):
            off = min(
                off, _distance_moved(lines.x[at], lines.y[at], middles[at, 0], middles[at, 1], x, y, radius)
            )
        sums[1] += math.log1p(away) + math.log(off + FLOOR_M)
        bound += math.log(off + FLOOR_M) - math.log(FLOOR_M)


@compiled
def link_moved_points(
    victims: KnownPoints, lines: Lines, middles: Floats, radius: float, chances: Floats, least: Floats
) -> None:
    """Fill chances [v, 2]: to be right with a record of the least sum."""
    # middles: float64 [m, 2], cylinder of each point of the records. least: float64 [v, 2], these sums.
    sums, ties = np.empty(N_SUMS), np.empty(N_SUMS, dtype=np.int64)
    least[:] = math.inf
    for victim in range(len(victims.own_record)):
        ties[:] = 0
        for record in range(len(lines.offsets) - 1):
            _misfit_sums(lines, middles, radius, record, victims, victim, least[victim, 1], sums)
            count_ties(sums, least[victim], ties)
        _misfit_sums(lines, middles, radius, victims.own_record[victim], victims, victim, math.inf, sums)
        set_chances(sums, least[victim], ties, chances[victim])


@compiled
def _blurred_sum(
    lines: Lines,
    middles: Floats,
    radius: float,
    errors: Errors,
    record: int,
    victims: KnownPoints,
    victim: int,
) -> float:
    # Higher is better: for each known point, the mean over the record's points, weighted by difference in
    # time.
    begin, end = lines.offsets[record], lines.offsets[record + 1]
    fit = 0.0
    for row in range(victims.offsets[victim], victims.offsets[victim + 1]):
        t, x, y = victims.t[row], victims.x[row], victims.y[row]
        first = first_not_below(lines.t, begin, end, t - MOST_DEVIATIONS * errors.s)
        after = first_not_below(lines.t, begin, end, t + MOST_DEVIATIONS * errors.s)
        seen, weights = 0.0, 0.0
        for at in range(
            max(first - 1, begin), min(after + 1, end)
        ):  # including both neighbors, however far in time
            late = (lines.t[at] - t) / errors.s
            weight = math.exp(-late * late / 2) + ANY_TIME
            off = (
                _distance_moved(lines.x[at], lines.y[at], middles[at, 0], middles[at, 1], x, y, radius)
                / errors.m
            )
            off_x, off_y = (lines.x[at] - x) / errors.m, (lines.y[at] - y) / errors.m
            seen += weight / ((1 + off * off) * (1 + math.sqrt(off_x * off_x + off_y * off_y)))
            weights += weight
        fit += math.log(seen / weights)
    return fit


@compiled
def link_moved_points_with_errors(
    victims: KnownPoints,
    lines: Lines,
    middles: Floats,
    radius: float,
    errors: Errors,
    chances: Floats,
    named: Integers,
) -> None:
    """Fill chances [v], and named [v], the first record of highest score."""
    for victim in range(len(victims.own_record)):
        most, ties = -math.inf, 0
        for record in range(len(lines.offsets) - 1):
            fit = _blurred_sum(lines, middles, radius, errors, record, victims, victim)
            if fit > most:
                most, ties, named[victim] = fit, 0, record
            if fit == most:
                ties += 1
        own_fit = _blurred_sum(lines, middles, radius, errors, victims.own_record[victim], victims, victim)
        chances[victim] = 1.0 / ties if own_fit == most else 0.0
