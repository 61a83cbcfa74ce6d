"""Lines through records: which pass nearest to known points at their times, and how far they are then."""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.ordering import first_above, first_not_below
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

N_SUMS: Final = 3


class Lines(NamedTuple):
    """Line i has points offsets[i] to offsets[i + 1], ascending. Seconds, meters."""

    offsets: Integers
    t: Floats
    x: Floats
    y: Floats


class KnownPoints(NamedTuple):
    """Victim v has points offsets[v] to offsets[v + 1]. own_record: int64 [v]."""

    offsets: Integers
    t: Floats
    x: Floats
    y: Floats
    own_record: Integers


@compiled
def distance_at_time(lines: Lines, record: int, t: float, x: float, y: float) -> tuple[float, bool]:
    """Meters from a record at a time, and whether it exists then."""
    # it stands still before and after; of several points at one time the nearest counts
    begin, end = lines.offsets[record], lines.offsets[record + 1]
    after = first_not_below(lines.t, begin, end, t)
    if after == end:
        return math.hypot(lines.x[end - 1] - x, lines.y[end - 1] - y), False
    if lines.t[after] > t:
        if after == begin:
            return math.hypot(lines.x[begin] - x, lines.y[begin] - y), False
        before = after - 1
        share = (t - lines.t[before]) / (lines.t[after] - lines.t[before])
        at_x = lines.x[before] + share * (lines.x[after] - lines.x[before])
        at_y = lines.y[before] + share * (lines.y[after] - lines.y[before])
        return math.hypot(at_x - x, at_y - y), True
    nearest = math.inf
    while after < end and lines.t[after] == t:
        nearest = min(nearest, math.hypot(lines.x[after] - x, lines.y[after] - y))
        after += 1
    return nearest, True


@compiled
def _distance_sums(lines: Lines, record: int, victims: KnownPoints, victim: int, sums: Floats) -> None:
    sums[:] = 0.0
    for row in range(victims.offsets[victim], victims.offsets[victim + 1]):
        away, exists = distance_at_time(lines, record, victims.t[row], victims.x[row], victims.y[row])
        sums[0] += away
        sums[1] += math.log1p(away)
        sums[2] += away if exists else math.inf


@compiled
def count_ties(sums: Floats, least: Floats, ties: Integers) -> None:
    """Update the least sum of each rule, and how many records have it."""
    for rule in range(len(sums)):
        if sums[rule] < least[rule]:
            least[rule] = sums[rule]
            ties[rule] = 0
        if sums[rule] == least[rule]:
            ties[rule] += 1


@compiled
def set_chances(own_sums: Floats, least: Floats, ties: Integers, chances: Floats) -> None:
    """Fill each rule's chance to be right with one of the records of its least sum."""
    for rule in range(len(own_sums)):
        chances[rule] = 1.0 / ties[rule] if own_sums[rule] == least[rule] else 0.0


@compiled
def link_nearest_passing(victims: KnownPoints, lines: Lines, chances: Floats) -> None:
    """Fill chances [v, 3]: to be right with a record of the least sum."""
    n_records = len(lines.offsets) - 1
    sums, least = np.empty(N_SUMS), np.empty(N_SUMS)
    ties = np.empty(N_SUMS, dtype=np.int64)
    for victim in range(len(victims.own_record)):
        least[:] = math.inf
        ties[:] = 0
        for record in range(n_records):
            _distance_sums(lines, record, victims, victim, sums)
            count_ties(sums, least, ties)
        _distance_sums(lines, victims.own_record[victim], victims, victim, sums)
        set_chances(sums, least, ties, chances[victim])


@compiled
def place_at(lines: Lines, at: int, last: int, t: float) -> tuple[float, float]:
    """Where a line is at a time, from its point ``at`` on."""
    if at == last or lines.t[at] == t:
        return lines.x[at], lines.y[at]
    share = (t - lines.t[at]) / (lines.t[at + 1] - lines.t[at])
    return lines.x[at] + share * (lines.x[at + 1] - lines.x[at]), lines.y[at] + share * (
        lines.y[at + 1] - lines.y[at]
    )


@compiled
def distances_in_time(raw: Lines, published: Lines, record_of: Integers, distances: Floats) -> None:
    """Fill distances [m] to each raw point's record at that time, or nan."""
    for i in range(len(record_of)):
        record = record_of[i]
        if record < 0:
            continue
        first, last = published.offsets[record], published.offsets[record + 1] - 1
        for row in range(raw.offsets[i], raw.offsets[i + 1]):
            t = raw.t[row]
            if published.t[first] <= t <= published.t[last]:
                at = first_above(published.t, first, last + 1, t) - 1
                x, y = place_at(published, at, last, t)
                distances[row] = np.sqrt((x - raw.x[row]) ** 2 + (y - raw.y[row]) ** 2)
