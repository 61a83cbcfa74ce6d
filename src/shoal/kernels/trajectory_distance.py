"""The distance of every two synchronized trajectories, and shortest paths through the distance graph.

Nothing is interpolated at single stamps. Between two fixes of either trajectory, the difference of their
places is linear in time. So the sum of its squares over all stamps there has a closed form, in the number of
these stamps and the sums of their times and squared times.
"""

import math
from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


class Courses(NamedTuple):
    """Trajectories as broken lines over shared stamps.

    Course i owns fixes offsets[i] to offsets[i + 1], at least one.

    rank: [m] which stamp a fix is at, rising in a course. x, y: [m] meters. vx, vy: [m] meters a tick until
    the next fix, 0 at the last.
    """

    offsets: Integers
    rank: Integers
    x: Floats
    y: Floats
    vx: Floats
    vy: Floats


class Stamps(NamedTuple):
    """The different times of the whole data set in whole ticks since the first, ascending.

    t: [s]. sum_t, sum_tt: [s + 1] sums of t and t * t over all stamps before a rank; they may wrap around,
    and their differences are exact all the same as long as these fit 63 bits.
    """

    t: Integers
    sum_t: Integers
    sum_tt: Integers


@compiled
def sum_of_squares(courses: Courses, stamps: Stamps, i: int, j: int, first: int, last: int) -> float:
    """Sum of the squared distance over the stamps of ranks first to last, where both courses are defined.

    Def. 12 without p and |ot|.
    """
    offsets, rank = courses.offsets, courses.rank
    a = offsets[i] + np.searchsorted(rank[offsets[i] : offsets[i + 1]], first, side="right") - 1
    b = offsets[j] + np.searchsorted(rank[offsets[j] : offsets[j + 1]], first, side="right") - 1
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
def direct_distances(
    courses: Courses, stamps: Stamps, begin: int, end: int, power: int, distances: Floats
) -> None:
    """Set the distances [n, n] of courses begin to end from all later ones, both ways (Def. 10 and 12).

    Only where the courses overlap in time. power: of the percentage of common time that divides a distance.
    """
    offsets, rank = courses.offsets, courses.rank
    n = len(offsets) - 1
    for i in range(begin, end):
        start, stop = rank[offsets[i]], rank[offsets[i + 1] - 1]
        lasts = stamps.t[stop] - stamps.t[start]
        for j in range(i + 1, n):
            first, last = max(start, rank[offsets[j]]), min(stop, rank[offsets[j + 1] - 1])
            if first < last:
                longer = max(lasts, stamps.t[rank[offsets[j + 1] - 1]] - stamps.t[rank[offsets[j]]])
                percent = 100.0 * float(stamps.t[last] - stamps.t[first]) / float(longer)
                square = sum_of_squares(courses, stamps, i, j, first, last)
                distance = math.sqrt(square) / (last - first + 1)
                for _ in range(power):
                    distance /= percent
                distances[i, j] = distances[j, i] = distance


@compiled
def close_block(block: Floats) -> None:
    """Shortest paths inside one square block (Floyd-Warshall), in place."""
    n = len(block)
    for k in range(n):
        for i in range(n):
            through = block[i, k]
            if through < np.inf:
                for j in range(n):
                    block[i, j] = min(block[i, j], through + block[k, j])


@compiled
def relax_panel(block: Floats, before: Floats, panel: Floats) -> None:
    """Panel [b, n] = min(before, block (min, +) before), for a closed block [b, b]."""
    for i in range(len(block)):
        for j in range(panel.shape[1]):
            panel[i, j] = before[i, j]
    for i in range(len(block)):
        for k in range(len(block)):
            through = block[i, k]
            if through < np.inf:
                for j in range(panel.shape[1]):
                    panel[i, j] = min(panel[i, j], through + before[k, j])


@compiled
def relax_rows(panel: Floats, begin: int, end: int, width: int, distances: Floats) -> None:
    """Distances [n, n] = min(distances, panel' (min, +) panel) in rows begin to end, from the diagonal on.

    panel: [b, n] with b a multiple of 4, the paths' middle. width: columns that are worked on at a time, so
    that they stay in the cache.
    """
    n = len(distances)
    for left in range(begin, n, width):
        right = min(left + width, n)
        for i in range(begin, min(end, right)):
            row = distances[i, left:right]
            for k in range(0, len(panel), 4):
                p, q, r, s = panel[k, i], panel[k + 1, i], panel[k + 2, i], panel[k + 3, i]
                if min(p, q, r, s) < np.inf:
                    via_p, via_q, via_r, via_s = (
                        panel[k, left:right],
                        panel[k + 1, left:right],
                        panel[k + 2, left:right],
                        panel[k + 3, left:right],
                    )
                    for j in range(right - left):
                        one, two = p + via_p[j], q + via_q[j]
                        three, four = r + via_r[j], s + via_s[j]
                        one = one if one < two else two
                        three = three if three < four else four
                        one = one if one < three else three
                        row[j] = one if one < row[j] else row[j]
