"""Range queries around another trajectory, and the threshold for a wished distortion (Sec. 7.1.3 and 7.1.4).

Trajectories are functions of time, straight between their points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.ordering import first_above
from shoal.kernels.passing import Lines, place_at
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled
from shoal.runtime.run import Run
from shoal.utility.points import lines_of

_QUERIES_PER_PART: Final = 500


class Queries(NamedTuple):
    """[q] each: the line around which the region lies, its radius in meters, and the interval in seconds."""

    region: Integers
    radius_m: Floats
    begin_s: Floats
    end_s: Floats


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
        ax, ay = place_at(a, at_a, last_a, now)
        bx, by = place_at(b, at_b, last_b, now)
        dx, dy = ax - bx, ay - by
        least = most = dx * dx + dy * dy
        if until > now:
            ax, ay = place_at(a, at_a, last_a, until)
            bx, by = place_at(b, at_b, last_b, until)
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


def calibrated_threshold(
    distortion_at: Callable[[float], float], wished: float, least: float, most: float, *, steps: int = 16
) -> float:
    """The threshold in [least, most] whose TotalSD is nearest the wished one (Sec. 7.1.3)."""
    if not 0 < least < most:
        raise MisuseError(
            f"thresholds from {least} m to {most} m leave nothing to search; give 0 < least < most"
        )
    tried = {threshold: distortion_at(threshold) for threshold in (least, most)}
    for _ in range(steps):
        if not tried[least] < wished < tried[most]:
            break
        middle = float(np.sqrt(least * most))
        tried[middle] = distortion_at(middle)
        least, most = (middle, most) if tried[middle] < wished else (least, middle)
    return min(tried, key=lambda threshold: abs(tried[threshold] - wished))


@dataclass(frozen=True, kw_only=True)
class RangeDistortion:
    """Mean relative differences of counts; 0 / 0 counts as 0."""

    sid: float
    aid: float
    asked: int  # the number of queries
    empty: int  # those that nothing satisfies in either


def draw_queries(
    original: Trajectories, count: int, longest_s: float, widest_m: float, rng: np.random.Generator
) -> Queries:
    """Queries around random trajectories, up to ``widest_m`` wide and ``longest_s`` long (Sec. 7.1.4).

    The paper does not place the interval: here it lies within the trajectory.
    """
    if count < 1 or not (longest_s >= 0 and widest_m >= 0):
        raise MisuseError(
            f"{count} queries of up to {longest_s} s and {widest_m} m cannot be drawn; all must be at least "
            "0, and one query"
        )
    region = rng.integers(0, original.n_subjects, count)
    first, last = original.t[original.offsets[:-1]][region], original.t[original.offsets[1:] - 1][region]
    begin = first + rng.random(count) * (last - first)
    return Queries(
        region, rng.random(count) * widest_m, begin, np.minimum(begin + rng.random(count) * longest_s, last)
    )


def range_distortion(
    original: Trajectories, release: Release, queries: Queries, run: Run | None = None
) -> RangeDistortion:
    """SID and AID for these queries around original trajectories."""
    run, regions = run or Run(), lines_of(original.offsets, original)
    counts = []
    for source in (regions, lines_of(release.offsets, release.points)):
        sometime, always = np.zeros((2, len(queries.region)), dtype=np.int64)
        parts = range(0, len(queries.region), _QUERIES_PER_PART)
        for _ in run.map(
            _asking(source, regions, queries, sometime, always), parts, label="asking range queries"
        ):
            pass
        counts.append((sometime, always))
    (some, every), (some_then, every_then) = counts
    return RangeDistortion(
        sid=_relative(some, some_then),
        aid=_relative(every, every_then),
        asked=len(queries.region),
        empty=int(np.count_nonzero((some == 0) & (some_then == 0))),
    )


def _asking(
    source: Lines,
    regions: Lines,
    queries: Queries,
    sometime: Integers,
    always: Integers,
) -> Callable[[int], None]:
    return lambda begin: count_near(
        source, regions, queries, begin, min(begin + _QUERIES_PER_PART, len(queries.region)), sometime, always
    )


def _relative(before: Integers, after: Integers) -> float:
    larger = np.maximum(before, after)
    return float((np.abs(before - after) / np.maximum(larger, 1)).mean())
