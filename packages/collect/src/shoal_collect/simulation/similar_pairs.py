"""Scan trajectories for pairs of uncertain points (Def. 2.5)."""

import math
from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class Cylinders(NamedTuple):
    """[m] each: first and last minute, center in radians, radius."""

    start_min: Integers
    end_min: Integers
    lat: Floats
    lon: Floats
    radius_m: Integers


class StoredTrajectories(NamedTuple):
    """By owner; r has points offsets[r] to offsets[r + 1] and belongs to owner[r]."""

    points: Cylinders
    offsets: Integers
    owner: Integers


class Thresholds(NamedTuple):
    """Theta in meters and minutes. literal: Def. 2.5(b) as printed.

    earth_m: the earth's radius.
    """

    theta_m: float
    theta_min: float
    literal: bool
    earth_m: float


@compiled
def count_pairs(
    points: Cylinders,
    pairs: Integers,
    stored: StoredTrajectories,
    thresholds: Thresholds,
    without: int,
    people: Integers,
    occurrences: Integers,
) -> None:
    """Count owners of similar pairs, and these pairs.

    pairs: [p, 2] ascending. without: an ignored owner. people, occurrences: [p], overwritten.
    """
    offsets, owner = stored.offsets, stored.owner
    people[:], occurrences[:] = 0, 0
    latest = np.full(len(pairs), -1, dtype=np.int64)
    near = np.zeros((len(points.lat), np.diff(offsets).max() if len(owner) else 0), dtype=np.bool_)
    for record in range(len(owner)):
        first, length = offsets[record], offsets[record + 1] - offsets[record]
        if owner[record] == without or not _mark_similar(
            points, stored.points, first, length, thresholds, near
        ):
            continue
        for pair in range(len(pairs)):
            count, before = 0, 0
            for place in range(length):
                count += before * near[pairs[pair, 1], place]
                before += near[pairs[pair, 0], place]
            occurrences[pair] += count
            if count and latest[pair] != owner[record]:
                latest[pair] = owner[record]
                people[pair] += 1


@compiled
def _mark_similar(
    points: Cylinders, stored: Cylinders, first: int, length: int, thresholds: Thresholds, near: Numbers
) -> bool:
    """Fill near[i, place]; whether any pair is. Unchanged if no stored point is near in time."""
    theta_m, theta_min, literal, earth_m = thresholds
    earliest, latest = points.start_min.min() - theta_min - 1, points.end_min.max() + theta_min + 1
    in_time = False
    for other in range(first, first + length):
        in_time |= earliest <= stored.end_min[other] and stored.start_min[other] <= latest
    if not in_time:  # the usual case: other days; ``near`` is not used then
        return False
    any_near = False
    for place in range(length):
        other = first + place
        for i in range(len(points.lat)):
            a_end, b_end = points.end_min[i] + theta_min, stored.end_min[other] + theta_min
            if literal:
                times = (
                    points.start_min[i] <= b_end <= points.end_min[i]
                    or stored.start_min[other] <= a_end <= stored.end_min[other]
                )
            else:
                times = points.start_min[i] <= b_end and stored.start_min[other] <= a_end
            near[i, place] = False
            if not times:
                continue
            limit_m = points.radius_m[i] + stored.radius_m[other] + theta_m
            half_lat = (stored.lat[other] - points.lat[i]) / 2
            if 2 * earth_m * abs(half_lat) > limit_m + 1:  # no great circle is shorter
                continue
            half_lon = (stored.lon[other] - points.lon[i]) / 2
            h = (
                math.sin(half_lat) ** 2
                + math.cos(points.lat[i]) * math.cos(stored.lat[other]) * math.sin(half_lon) ** 2
            )
            near[i, place] = 2 * earth_m * math.asin(min(1.0, math.sqrt(h))) <= limit_m
            any_near |= near[i, place]
    return any_near
