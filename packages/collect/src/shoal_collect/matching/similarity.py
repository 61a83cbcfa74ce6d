"""Similarity, and the count that answers a question (Romero-Tris and Megías 2018, Def. 2.5).

A lasting tag of a contributor would link a person's releases. So releases that begin in another area or
period have another tag, and only the device can link them. A query may then meet several tags of one person,
but one per scope: the count is the largest number of tags in one scope, at most the number of people.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shoal.errors import MisuseError
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder, distances_from

TAG_BYTES: Final = 16
_DAY_MIN: Final = 1440
_UDEG_PER_KM: Final = 8993
# columns become twice as wide, four times, eight times from these latitudes on: whole numbers are the same on
# every machine, as cosines need not be
_WIDER_FROM_UDEG: Final = (48 * MICRO, 66 * MICRO, 78 * MICRO)
SCOPE_SHIFT: Final = 40  # a stored contributor's number has its scope's number above these bits
PROVEN: Final = 1 << 62  # and this one if a credential proves it


@dataclass(frozen=True)
class Scoping:
    """Areas ``area_km`` high (at most twice as wide), periods of ``period_days``."""

    area_km: int
    period_days: int

    @property
    def side_udeg(self) -> int:
        """The height of an area, and its least width."""
        return self.area_km * _UDEG_PER_KM

    def area_at(self, lat_udeg: int, lon_udeg: int) -> str:
        """The area of a place."""
        side = self.side_udeg
        band = (lat_udeg + 90 * MICRO) // side
        middle = abs(band * side + side // 2 - 90 * MICRO)
        wide = side << sum(middle >= border for border in _WIDER_FROM_UDEG)
        return f"{self.area_km}-{band}-{(lon_udeg + 180 * MICRO) // wide}"

    def area_of(self, first: Cylinder) -> str:
        """The area of a release, by its first circle."""
        return self.area_at(first.lat_udeg, first.lon_udeg)

    def scope_of(self, first: Cylinder) -> bytes:
        """Area and period of a release's first circle, where no credential says when it counts."""
        period = first.start_min // (self.period_days * _DAY_MIN)
        return f"{self.area_of(first)} {self.period_days} days: {period}".encode()


def scoped_tag(scope: bytes, device_key: bytes) -> bytes:
    """A device's tag in a scope; without the key, two look like two people's."""
    return hash_of(b"shoal tag", scope, size=TAG_BYTES, key=device_key)


def count_people(contributors: Iterable[int]) -> int:
    """The most contributors in any one scope.

    A person may have releases in several scopes, which a sum would count several times.
    """
    return max(Counter(number >> SCOPE_SHIFT for number in contributors).values(), default=0)


CAP: Final = 16  # larger answers say no more than "at least 16"
_Alike = Callable[[int, int, int, int, float], bool]
_SLACK: Final = 1.01  # a cell's middle is rounded to micro-degrees, and its rows are bent


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """The largest distance between similar uncertain points; must be finite and not negative.

    ``theta_m``, ``theta_min``: theta_L in meters and theta_T in minutes. ``resolution_m``,
    ``resolution_min``: stored points are compared as if their centers lay in the middle of a public grid cell
    of this width, in meters, and their intervals between marks of a clock, in minutes. No number of questions
    reveals more, and none is counted that an exact comparison would not count. 0 compares exactly.
    """

    theta_m: float = 1_000.0
    theta_min: float = 60.0
    resolution_m: float = 0.0
    resolution_min: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.theta_m < 1e8 and 0 <= self.theta_min < 1e9):
            raise MisuseError(
                f"theta = {self.theta_m} m and {self.theta_min} min; give two finite numbers that are not "
                "negative, for example 1000 and 60"
            )
        if not (0 <= self.resolution_m <= 100_000 and 0 <= self.resolution_min <= 1440):
            raise MisuseError(
                f"a resolution of {self.resolution_m} m and {self.resolution_min} min; give at most 100 km "
                "and a day, 0 for exact comparisons"
            )


def similarity_test(point: Cylinder, thresholds: Thresholds) -> _Alike:
    """A function that tests similarity to this point.

    It takes the other's start_min, gap_min, lat_udeg, lon_udeg and radius_m.
    """
    start, end, own_radius_m = point.start_min, point.end_min, point.radius_m
    theta_m, theta = thresholds.theta_m, thresholds.theta_min
    away_m = distances_from(point.lat_udeg / MICRO, point.lon_udeg / MICRO)

    if thresholds.resolution_m or thresholds.resolution_min:
        return _coarse_test(point, thresholds)

    def is_similar(its_start: int, its_gap: int, lat_udeg: int, lon_udeg: int, radius_m: float) -> bool:
        times = start <= its_start + its_gap + theta and its_start <= end + theta
        return times and away_m(lat_udeg / MICRO, lon_udeg / MICRO) <= own_radius_m + radius_m + theta_m

    return is_similar


def _coarse_test(point: Cylinder, thresholds: Thresholds) -> _Alike:
    """By cell and marks; never true where the exact comparison is not."""
    wide_m, mark = thresholds.resolution_m, max(1, thresholds.resolution_min)
    exactly = similarity_test(point, replace(thresholds, resolution_m=0.0, resolution_min=0))
    least_m = _SLACK * wide_m / math.sqrt(2)  # how far the middle may lie from the center

    def is_similar(its_start: int, its_gap: int, lat_udeg: int, lon_udeg: int, radius_m: float) -> bool:
        first, last = -(-its_start // mark) * mark, (its_start + its_gap) // mark * mark
        lat, lon = _middle_of_cell(lat_udeg, lon_udeg, wide_m)
        return exactly(first, last - first, lat, lon, radius_m - least_m)

    return is_similar


def _middle_of_cell(lat_udeg: int, lon_udeg: int, wide_m: float) -> tuple[int, int]:
    """Rows of one height, columns of about one width."""
    if not wide_m:
        return lat_udeg, lon_udeg
    step = MICRO * math.degrees(wide_m / EARTH_M)
    row = math.floor(lat_udeg / step)
    lat = min(max((row + 0.5) * step, -90.0 * MICRO), 90.0 * MICRO)
    nearest = max(0.0, min(abs(row), abs(row + 1)) * step / MICRO)  # where the row is widest
    columns = max(1, math.ceil(360 * MICRO * max(0.0, math.cos(math.radians(min(90.0, nearest)))) / step))
    wide = 360 * MICRO / columns
    return round(lat), round((math.floor(lon_udeg / wide) + 0.5) * wide)


def similar(a: Cylinder, b: Cylinder, thresholds: Thresholds) -> bool:
    """At most theta_T apart, and circles at most theta_L."""
    return similarity_test(a, thresholds)(b.start_min, b.gap_min, b.lat_udeg, b.lon_udeg, b.radius_m)


def occurs(query_places: Sequence[Sequence[int]]) -> bool:
    """Whether one place of each list can be chosen, ascending; the earliest fitting one is always the best.

    ``query_places``: a trajectory's similar points for each point of the query.
    """
    reached = -1
    for places in query_places:
        later = [place for place in places if place > reached]
        if not later:
            return False
        reached = min(later)
    return True


Places = dict[tuple[int, int], list[int]]  # (record, contributor) -> positions in the record


def count_sharing(places_by_point: Sequence[Places]) -> int:
    """The people who share a query, from places similar to its points."""
    people = set()
    for key in set(places_by_point[0]).intersection(*places_by_point[1:]):
        if occurs([places[key] for places in places_by_point]):
            people.add(key[1])
    return count_people(people)
