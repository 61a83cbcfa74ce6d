"""Trajectories as functions of time: range queries around another trajectory."""

from typing import NamedTuple

import numpy as np

from shoal.kernels.ordering import first_above
from shoal.kernels.passing import Lines
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


class Queries(NamedTuple):
    """[q] each: the line around which the region lies, its radius in meters, and the interval in seconds."""

    region: Integers
    radius_m: Floats
    begin_s: Floats
    end_s: Floats


@compiled
def _place_at(lines: Lines, at: int, last: int, t: float) -> tuple[float, float]:
    if at == last or lines.t[at] == t:
        return lines.x[at], lines.y[at]
    share = (t - lines.t[at]) / (lines.t[at + 1] - lines.t[at])
    return lines.x[at] + share * (lines.x[at + 1] - lines.x[at]), lines.y[at] + share * (
        lines.y[at + 1] - lines.y[at]
    )


@compiled
def stays_near(
    a: Lines, i: int, b: Lines, j: int, radius_m: float, begin_s: float, end_s: float
) -> tuple[bool, bool]:
    """Whether i is within the radius of j at some time, and at all times, of a closed interval."""
    # undefined lines are never near; between fixes the difference is linear: a closed form
    first_a, last_a, first_b, last_b = a.offsets[i], a.offsets[i + 1] - 1, b.offsets[j], b.offsets[j + 1] - 1
    now, end = max(begin_s, a.t[first_a], b.t[first_b]), min(end_s, a.t[last_a], b.t[last_b])
    if now > end:
        return False, False
    sometime, always = False, now == begin_s and end == end_s
    limit = radius_m * radius_m
    at_a = first_above(a.t, first_a, last_a + 1, now) - 1
    at_b = first_above(b.t, first_b, last_b + 1, now) - 1
    while True:
        until = end
        if at_a < last_a:
            until = min(until, a.t[at_a + 1])
        if at_b < last_b:
            until = min(until, b.t[at_b + 1])
        ax, ay = _place_at(a, at_a, last_a, now)
        bx, by = _place_at(b, at_b, last_b, now)
        dx, dy = ax - bx, ay - by
        least = most = dx * dx + dy * dy
        if until > now:
            ax, ay = _place_at(a, at_a, last_a, until)
            bx, by = _place_at(b, at_b, last_b, until)
            ex, ey = ax - bx, ay - by
            most = max(most, ex * ex + ey * ey)
            gx, gy = ex - dx, ey - dy
            square = gx * gx + gy * gy
            if square > 0:
                share = min(max(-(dx * gx + dy * gy) / square, 0.0), 1.0)
                least = min((dx + share * gx) ** 2 + (dy + share * gy) ** 2, ex * ex + ey * ey, least)
        sometime = sometime or least <= limit
        always = always and most <= limit
        if until >= end or (sometime and not always):
            return sometime, always
        now = until
        while at_a < last_a and a.t[at_a + 1] <= now:
            at_a += 1
        while at_b < last_b and b.t[at_b + 1] <= now:
            at_b += 1


@compiled
def count_near(
    lines: Lines, regions: Lines, queries: Queries, begin: int, end: int, sometime: Integers, always: Integers
) -> None:
    """Count the lines inside the region at some time, and at all times."""
    for q in range(begin, end):
        for i in range(len(lines.offsets) - 1):
            if (
                lines.t[lines.offsets[i]] <= queries.end_s[q]
                and lines.t[lines.offsets[i + 1] - 1] >= queries.begin_s[q]
            ):
                some, every = stays_near(
                    lines,
                    i,
                    regions,
                    queries.region[q],
                    queries.radius_m[q],
                    queries.begin_s[q],
                    queries.end_s[q],
                )
                sometime[q] += some
                always[q] += every


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
                x, y = _place_at(published, at, last, t)
                distances[row] = np.sqrt((x - raw.x[row]) ** 2 + (y - raw.y[row]) ** 2)
