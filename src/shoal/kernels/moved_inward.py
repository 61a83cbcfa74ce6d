"""Link people to records whose points were moved into cylinders, and undo the moves.

A moved point lies on the line from the middle through the true place. Two such lines cross at places
visited twice; an unmoved point shows one directly.
"""

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
NEAR_M: Final = 30.0  # standard deviation of a place in a cell of 100 m, on each axis
CANDIDATES: Final = 200  # of each kind per record
LINE_M: Final = 100.0  # points and middles that share squares of this side count as one line
MOST_MOVED_M: Final = 50_000.0
_FLAT: Final = 0.01  # least sine of the angle between crossing lines
_STEPS: Final = (0.7548776662466927, 0.5698402909980532)  # spread pairs evenly over all pairs (Roberts 2018)


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


@compiled
def _evidence(
    x: float, y: float, middle_x: float, middle_y: float, radius: float, place_x: float, place_y: float
) -> float:
    # 1 = the point is there, less if farther from the place's position after a move, relative to the
    # remainder of ``NEAR_M`` there; and, much less, by its distance from the place.
    along_x, along_y = place_x - middle_x, place_y - middle_y
    away = math.sqrt(along_x * along_x + along_y * along_y)
    share = radius / away if away > radius else 1.0
    off_x, off_y = x - middle_x - along_x * share, y - middle_y - along_y * share
    near = max(NEAR_M * share, 1.0)
    far_x, far_y = x - place_x, y - place_y
    far = math.sqrt(far_x * far_x + far_y * far_y) / NEAR_M
    return 1.0 / ((1.0 + (off_x * off_x + off_y * off_y) / (near * near)) * math.sqrt(math.sqrt(1.0 + far)))


@compiled
def _crossing(first: Floats, first_middle: Floats, second: Floats, second_middle: Floats, at: Floats) -> bool:
    ax, ay = first[0] - first_middle[0], first[1] - first_middle[1]
    bx, by = second[0] - second_middle[0], second[1] - second_middle[1]
    turn = ax * by - ay * bx
    length = math.sqrt((ax * ax + ay * ay) * (bx * bx + by * by))
    if abs(turn) <= _FLAT * length:
        return False
    off_x, off_y = second[0] - first[0], second[1] - first[1]
    along_a, along_b = (off_x * by - off_y * bx) / turn, (off_x * ay - off_y * ax) / turn
    if along_a < 0.0 or along_b < 0.0 or along_a * math.sqrt(ax * ax + ay * ay) > MOST_MOVED_M:
        return False
    at[0], at[1] = first[0] + along_a * ax, first[1] + along_a * ay
    return True


@compiled
def _candidates(points: Floats, middles: Floats, moved: Integers, places: Floats) -> int:
    # A regular selection of its points, and crossings of lines through those at an edge (rows ``moved``).
    count, n = 0, len(points)
    step = max((n + CANDIDATES - 1) // CANDIDATES, 1)
    for row in range(0, n, step):
        places[count] = points[row]
        count += 1
    if len(moved) < 2:
        return count
    for turn in range(CANDIDATES):
        first = moved[int((turn + 1) * _STEPS[0] % 1.0 * len(moved))]
        second = moved[int((turn + 1) * _STEPS[1] % 1.0 * len(moved))]
        if _crossing(points[first], middles[first], points[second], middles[second], places[count]):
            count += 1
    return count


@compiled
def _count_on_same_line(points: Floats, middles: Floats) -> Integers:
    # their line goes through every place beyond the point, so repeating it adds no information
    squares = np.empty((4, len(points)), dtype=np.int64)
    for axis in range(2):
        squares[axis] = np.floor(points[:, axis] / LINE_M).astype(np.int64)
        squares[2 + axis] = np.floor(middles[:, axis] / LINE_M).astype(np.int64)
    order = np.arange(len(points))
    for column in range(4):
        order = order[np.argsort(squares[column][order], kind="mergesort")]
    counts, first = np.empty(len(points), dtype=np.int64), 0
    for place in range(len(order)):
        ends = place + 1 == len(order)
        for column in range(4):
            ends = ends or squares[column, order[place]] != squares[column, order[place + 1]]
        if ends:
            counts[order[first : place + 1]] = place + 1 - first
            first = place + 1
    return counts


@compiled
def undo_moves(
    lines: Lines,
    middles: Floats,
    radius: float,
    slack: float,
    first: int,
    end: int,
    undone: Floats,
    evidence: Floats,
) -> None:
    """Fill undone [m, 2] for records from first to end."""
    # Points inside a cylinder stay. Others go to the candidate with the greatest product of their own
    # evidence and the square of the evidence of all points of the record, where those on one line count as
    # one. evidence: float64 [m], that product, infinite for points that stay.
    places = np.empty((2 * CANDIDATES, 2))
    for record in range(first, end):
        begin, beyond = lines.offsets[record], lines.offsets[record + 1]
        n = beyond - begin
        points, own_middles = np.empty((n, 2)), middles[begin:beyond]
        moved, n_moved = np.empty(n, dtype=np.int64), 0
        for row in range(n):
            points[row, 0], points[row, 1] = lines.x[begin + row], lines.y[begin + row]
            if (
                math.hypot(points[row, 0] - own_middles[row, 0], points[row, 1] - own_middles[row, 1])
                >= radius - slack
            ):
                moved[n_moved] = row
                n_moved += 1
        undone[begin:beyond], evidence[begin:beyond] = points, np.inf
        count = _candidates(points, own_middles, moved[:n_moved], places)
        places_x, places_y = places[:count, 0].copy(), places[:count, 1].copy()
        total_evidence, on_same_line = np.zeros(count), _count_on_same_line(points, own_middles)
        for row in range(n):  # places in the inner loop: vectorized, and sums in row order
            x, y = points[row, 0], points[row, 1]
            middle_x, middle_y = own_middles[row, 0], own_middles[row, 1]
            weight = 1.0 / on_same_line[row]
            for place in range(count):
                total_evidence[place] += weight * _evidence(
                    x, y, middle_x, middle_y, radius, places_x[place], places_y[place]
                )
        total_evidence *= total_evidence
        order = np.argsort(-total_evidence, kind="mergesort")
        for row in moved[:n_moved]:
            most = 0.0
            for place in order:
                if total_evidence[place] <= most:  # evidence of a point is at most 1
                    break
                product = total_evidence[place] * _evidence(
                    points[row, 0],
                    points[row, 1],
                    own_middles[row, 0],
                    own_middles[row, 1],
                    radius,
                    places[place, 0],
                    places[place, 1],
                )
                if product > most:
                    most = product
                    undone[begin + row] = places[place]
            evidence[begin + row] = most


@compiled
def sum_origin_evidence(
    lines: Lines, middles: Floats, radius: float, x: float, y: float, visits: Floats
) -> None:
    """Fill visits [r]: evidence of each record's points for having come from a place."""
    for record in range(len(visits)):
        begin, end = lines.offsets[record], lines.offsets[record + 1]
        own_x, own_y = lines.x[begin:end], lines.y[begin:end]
        middle_x, middle_y = middles[begin:end, 0].copy(), middles[begin:end, 1].copy()
        evidence = np.empty(end - begin)
        for row in range(end - begin):  # separate from the sum: vectorized
            evidence[row] = _evidence(own_x[row], own_y[row], middle_x[row], middle_y[row], radius, x, y)
        visits[record] = 0.0
        for value in evidence:
            visits[record] += value
