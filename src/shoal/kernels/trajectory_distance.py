"""Distances between synchronized trajectories.

Between two fixes, the difference of places is linear in time. So the sum of its squares over all stamps
there has a closed form, in their number and the sums of their times and squared times.
"""

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.ordering import first_above
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class Courses(NamedTuple):
    """Polylines over shared stamps; course i has fixes offsets[i] to offsets[i + 1]."""

    offsets: Integers
    rank: Integers  # [m], stamp of a fix, rising in a course
    x: Floats  # meters
    y: Floats
    vx: Floats  # meters a tick until the next fix, 0 at the last
    vy: Floats


class Stamps(NamedTuple):
    """The data set's distinct times in whole ticks since the first."""

    t: Integers
    sum_t: Integers  # [s + 1], sums of t before a rank; may wrap, but differences that fit 63 bits stay exact
    sum_tt: Integers  # [s + 1], the same of t * t


@compiled
def _sum_of_squares(courses: Courses, stamps: Stamps, i: int, j: int, first: int, last: int) -> float:
    # Def. 12 without p and |ot|
    offsets, rank = courses.offsets, courses.rank
    a = first_above(rank, offsets[i], offsets[i + 1], first) - 1
    b = first_above(rank, offsets[j], offsets[j + 1], first) - 1
    at, total = first, 0.0
    while at <= last:
        t = stamps.t[at]
        since_a, since_b = float(t - stamps.t[rank[a]]), float(t - stamps.t[rank[b]])
        away_x = (courses.x[a] - courses.x[b]) + (courses.vx[a] * since_a - courses.vx[b] * since_b)
        away_y = (courses.y[a] - courses.y[b]) + (courses.vy[a] * since_a - courses.vy[b] * since_b)
        total += away_x * away_x + away_y * away_y
        if at == last:
            break
        until = min(rank[a + 1], rank[b + 1], last)
        n = until - at
        while n > 1 and float(n) * float(stamps.t[until - 1] - t) ** 2 > 4e18:
            until = at + n // 2
            n = until - at
        if n > 1:
            drift_x, drift_y = courses.vx[a] - courses.vx[b], courses.vy[a] - courses.vy[b]
            sum_t = stamps.sum_t[until] - stamps.sum_t[at]
            sum_tt = stamps.sum_tt[until] - stamps.sum_tt[at]
            later = float(sum_t - n * t)
            later_squared = float(sum_tt - 2 * t * sum_t + n * t * t)
            total += (n - 1) * (away_x * away_x + away_y * away_y)
            total += (
                2 * (away_x * drift_x + away_y * drift_y) * later
                + (drift_x * drift_x + drift_y * drift_y) * later_squared
            )
        at = until
        if rank[a + 1] == at and a + 2 < offsets[i + 1]:
            a += 1
        if rank[b + 1] == at and b + 2 < offsets[j + 1]:
            b += 1
    return max(total, 0.0)


@compiled
def distances_to_later(
    courses: Courses, stamps: Stamps, begin: int, end: int, power: int
) -> tuple[Integers, Numbers, Floats]:
    """Distances from later courses that overlap (Def. 10 and 12)."""
    # returns the number of each, the others, and distances; power: of the share of common time
    offsets, rank = courses.offsets, courses.rank
    n = len(offsets) - 1
    counts = np.zeros(end - begin, dtype=np.int64)
    for i in range(begin, end):
        start, stop = rank[offsets[i]], rank[offsets[i + 1] - 1]
        for j in range(i + 1, n):
            counts[i - begin] += max(start, rank[offsets[j]]) < min(stop, rank[offsets[j + 1] - 1])
    to, length = np.empty(counts.sum(), dtype=np.int32), np.empty(counts.sum())
    filled = 0
    for i in range(begin, end):
        start, stop = rank[offsets[i]], rank[offsets[i + 1] - 1]
        lasts = stamps.t[stop] - stamps.t[start]
        for j in range(i + 1, n):
            first, last = max(start, rank[offsets[j]]), min(stop, rank[offsets[j + 1] - 1])
            if first < last:
                longer = max(lasts, stamps.t[rank[offsets[j + 1] - 1]] - stamps.t[rank[offsets[j]]])
                percent = 100.0 * float(stamps.t[last] - stamps.t[first]) / float(longer)
                square = _sum_of_squares(courses, stamps, i, j, first, last)
                distance = math.sqrt(square) / (last - first + 1)
                for _ in range(power):
                    distance /= percent
                to[filled], length[filled] = j, distance
                filled += 1
    return counts, to, length
