"""Uncertain points: a circle and an interval that contain the true place and time.

Romero-Tris and Megías 2018, Def. 2.2. Fresh circles around one place would average out. So one is drawn
from a device key and the point's public cell and slot: all visits to a cell show the same circle. It
contains the whole cell, so it reveals no more.
"""

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from typing import Final

from pyproj import Geod

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.hashing import hash_of

EARTH_M: Final = 6_371_008.8
_SPHERE: Final = Geod(a=EARTH_M, b=EARTH_M)
MICRO: Final = 1_000_000
MAX_RADIUS_M: Final = 65_535
MAX_GAP_MIN: Final = 65_535
MAX_MINUTE: Final = 2**32 - 1
_CELL_M, _SLOT_MIN = 100, 5  # the public cell and slot inside a circle and interval
_ROUNDING_M: Final = 0.2  # a center is rounded to micro-degrees: at most 0.08 m away


@dataclass(frozen=True, order=True)
class Cylinder:
    """A circle and an interval, as a record can hold.

    ``start_min``, ``gap_min``: since 1970, and length, in minutes. ``lat_udeg``, ``lon_udeg``: center, in
    micro-degrees.
    """

    start_min: int
    gap_min: int
    lat_udeg: int
    lon_udeg: int
    radius_m: int

    def __post_init__(self) -> None:
        if not (
            -90 * MICRO <= self.lat_udeg <= 90 * MICRO
            and -180 * MICRO <= self.lon_udeg < 180 * MICRO
            and 0 <= self.radius_m <= MAX_RADIUS_M
            and 0 <= self.gap_min <= MAX_GAP_MIN
            and 0 <= self.start_min <= MAX_MINUTE - self.gap_min
        ):
            raise MisuseError(
                "a cylinder outside the latitudes, longitudes, radii or times that a record can hold"
            )

    @property
    def row(self) -> list[int]:
        """Its numbers, in the order of COLUMNS."""
        return list(astuple(self))

    @property
    def end_min(self) -> int:
        """The last minute."""
        return self.start_min + self.gap_min


COLUMNS: Final = [field.name for field in fields(Cylinder)]


@dataclass(frozen=True)
class Point:
    """A true place in degrees, minutes since 1970."""

    lat_deg: float
    lon_deg: float
    t_min: float

    def __post_init__(self) -> None:
        # NaN fails all of these
        if not (abs(self.lat_deg) <= 90 and abs(self.lon_deg) <= 180 and 0 <= self.t_min <= MAX_MINUTE):
            raise MisuseError(
                "a point outside latitude -90..90, longitude -180..180 or the years 1970..10135"
            )


@dataclass(frozen=True, kw_only=True)
class Blur:
    """How much a point is blurred.

    ``radius_m``, ``gap_min``: circle and interval; one that hides nothing of its slot is refused.
    """

    radius_m: int
    gap_min: int

    def __post_init__(self) -> None:
        if not 0 < self.radius_m <= MAX_RADIUS_M or not 0 < self.gap_min <= MAX_GAP_MIN:
            raise MisuseError(
                f"radius {self.radius_m} m, gap {self.gap_min} min: choose radii and gaps of 1 to "
                f"{MAX_RADIUS_M}"
            )
        if self.gap_min <= _SLOT_MIN:
            raise MisuseError(
                f"a gap of {self.gap_min} min hides nothing of a slot of {_SLOT_MIN} min; choose a longer gap"
            )


def distance_m(lat1_deg: float, lon1_deg: float, lat2_deg: float, lon2_deg: float) -> float:
    """Haversine; the antimeridian is no border."""
    return distances_from(lat1_deg, lon1_deg)(lat2_deg, lon2_deg)


def distances_from(lat1_deg: float, lon1_deg: float) -> Callable[[float, float], float]:
    """A function for great-circle distances from one place."""
    radians, sin, cos, lat1 = math.radians, math.sin, math.cos, math.radians(lat1_deg)
    cos_lat1 = cos(lat1)

    def distance(lat2_deg: float, lon2_deg: float) -> float:
        lat2 = radians(lat2_deg)
        h = sin((lat2 - lat1) / 2) ** 2 + cos_lat1 * cos(lat2) * sin(radians(lon2_deg - lon1_deg) / 2) ** 2
        return 2 * EARTH_M * math.asin(min(1.0, math.sqrt(h)))

    return distance


def cylinder_for(point: Point, blur: Blur, device_key: bytes, period: int) -> Cylinder:
    """The sticky cylinder of a point, uniform over those with its whole cell and slot.

    Drawn from ``device_key`` (32 secret bytes) and ``period``.
    """
    lat, lon, half_diagonal_m = _cell(point)
    room_m = blur.radius_m - half_diagonal_m - _ROUNDING_M
    if room_m <= 0:
        raise MisuseError(
            f"a radius of {blur.radius_m} m cannot hide a cell with {half_diagonal_m:.0f} m to its corners; "
            "choose a larger one"
        )
    slot = math.floor(point.t_min / _SLOT_MIN)
    place = Chance(_key(device_key, "place", period, _CELL_M, blur.radius_m, *_udeg(lat, lon)))
    moment = Chance(_key(device_key, "time", period, _SLOT_MIN, blur.gap_min, slot))
    away_m, bearing = room_m * math.sqrt(place.unit()), 2 * math.pi * place.unit()
    before_min = moment.below(blur.gap_min - _SLOT_MIN + 1)
    lat_udeg, lon_udeg = _udeg(*destination(lat, lon, away_m, bearing))
    start_min = max(0, slot * _SLOT_MIN - before_min)
    return Cylinder(start_min, blur.gap_min, lat_udeg, lon_udeg, blur.radius_m)


def cylinder_as_printed(point: Point, radius_m: int, gap_min: int, chance: Chance) -> Cylinder:
    """A fresh cylinder, as printed but uniform over the disc; for replication only."""
    bearing, away_m = 2 * math.pi * chance.unit(), max(0.0, radius_m - _ROUNDING_M) * math.sqrt(chance.unit())
    lat_udeg, lon_udeg = _udeg(*destination(point.lat_deg, point.lon_deg, away_m, bearing))
    start_min = max(0, math.floor(point.t_min) - chance.below(gap_min + 1))
    return Cylinder(start_min, gap_min + 1, lat_udeg, lon_udeg, radius_m)


def _cell(point: Point) -> tuple[float, float, float]:
    """Its center, and the largest distance within it."""
    height = math.degrees(_CELL_M / EARTH_M)
    band = min(math.floor((point.lat_deg + 90) / height), math.ceil(180 / height) - 1)
    low, high = -90 + band * height, min(90.0, -90 + (band + 1) * height)
    middle = (low + high) / 2
    columns = max(1, math.floor(2 * math.pi * EARTH_M * math.cos(math.radians(middle)) / _CELL_M))
    width = 360 / columns
    column = min(math.floor((point.lon_deg + 180) / width), columns - 1)
    lon = -180 + (column + 0.5) * width
    along_m = EARTH_M * math.cos(math.radians(middle)) * math.radians(width / 2) + EARTH_M * math.radians(
        (high - low) / 2
    )
    corners_m = max(distance_m(middle, lon, edge, lon + width / 2) for edge in (low, high))
    return middle, lon, along_m if width > 90 else corners_m


def destination(lat_deg: float, lon_deg: float, away_m: float, bearing: float) -> tuple[float, float]:
    """The place ``away_m`` along a great circle."""
    new_lon, new_lat, _ = _SPHERE.fwd(lon_deg, lat_deg, math.degrees(bearing), away_m)
    return new_lat, new_lon


def bearing_between(lat1_deg: float, lon1_deg: float, lat2_deg: float, lon2_deg: float) -> float:
    """In radians from north."""
    return math.radians(_SPHERE.inv(lon1_deg, lat1_deg, lon2_deg, lat2_deg)[0])


def _udeg(lat_deg: float, lon_deg: float) -> tuple[int, int]:
    return round(lat_deg * MICRO), (round(lon_deg * MICRO) + 180 * MICRO) % (360 * MICRO) - 180 * MICRO


def _key(device_key: bytes, *parts: object) -> bytes:
    return hash_of(b"shoal cylinder", "|".join(map(str, parts)).encode(), key=device_key)
