"""Density and flow from circles, with bounds.

A release certainly was in a zone when a circle lies in it whole, and its interval in the slot. It may have
been there when one reaches in. The expected value takes every place of a circle and every minute as equally
likely. Releases are counted, not people: which ones share a person is unknown.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from shoal.errors import MisuseError
from shoal_collect.collected.tables import Records, polygon, rectangle, write_geo
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder

Zone = tuple[int, int]
_SPOTS: Final = 64  # places of a circle, evenly spread
_MOST_ZONES: Final = 10_000


@dataclass(frozen=True)
class Bounds:
    """Bounds and expected value of a number of releases."""

    least: int
    expected: float
    most: int


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Zones of about one size on the earth, and slots since 1970.

    ``zone_m``: height of rows and about the width of zones (100 m to 1000 km).
    """

    zone_m: float
    slot_min: int

    def __post_init__(self) -> None:
        if not 100 <= self.zone_m <= 1e6 or self.slot_min < 1:
            raise MisuseError(
                f"zones of {self.zone_m:g} m and slots of {self.slot_min} min: choose zones of 100 m to "
                "1000 km, and slots of 1 min or more"
            )

    @property
    def height_deg(self) -> float:
        """Of a row."""
        return 180.0 / max(1, round(180.0 / math.degrees(self.zone_m / EARTH_M)))

    def columns(self, row: int) -> int:
        """Zones in a row."""
        middle = math.radians(-90 + (row + 0.5) * self.height_deg)
        return max(1, round(2 * math.pi * EARTH_M * math.cos(middle) / self.zone_m))

    def zone_at(self, lat_deg: float, lon_deg: float) -> Zone:
        """The zone of a place."""
        row = min(int((lat_deg + 90) / self.height_deg), round(180 / self.height_deg) - 1)
        width = 360 / self.columns(row)
        return row, int((lon_deg + 180) % 360 / width) % self.columns(row)

    def sides(self, zone: Zone) -> tuple[float, float, float, float]:
        """West, south, east and north in degrees."""
        row, column = zone
        width, south = 360 / self.columns(row), -90 + row * self.height_deg
        return -180 + column * width, south, -180 + (column + 1) * width, south + self.height_deg


@dataclass(frozen=True)
class Spread:
    """A circle's share in each zone, and whether one holds all of it."""

    shares: dict[Zone, float]
    reached: frozenset[Zone]
    whole: Zone | None


def spread(point: Cylinder, grid: Grid) -> Spread:
    """Spread a circle; MisuseError when it reaches into too many zones."""
    lat, lon, away = point.lat_udeg / MICRO, point.lon_udeg / MICRO, point.radius_m / EARTH_M
    low, high = lat - math.degrees(away), lat + math.degrees(away)
    ratio = math.sin(away) / max(math.cos(math.radians(lat)), 1e-12)
    half_deg = 180.0 if low <= -90 or high >= 90 or ratio >= 1 else math.degrees(math.asin(ratio))
    first = grid.zone_at(max(low, -90.0), lon)[0]
    last = grid.zone_at(min(high, 90.0), lon)[0]
    reached: set[Zone] = set()
    for row in range(first, last + 1):
        n = grid.columns(row)
        width = 360 / n
        west, east = (math.floor((lon + side * half_deg + 180) / width) for side in (-1, 1))
        if (last - first + 1) * min(n, east - west + 1) > _MOST_ZONES:
            raise MisuseError(
                f"a circle of {point.radius_m} m reaches into more than {_MOST_ZONES} zones of "
                f"{grid.zone_m:g} m; choose larger ones"
            )
        reached |= {(row, column % n) for column in range(west, min(east, west + n - 1) + 1)}
    shares: dict[Zone, float] = defaultdict(float)
    for zone in _spots(lat, lon, away, grid):
        shares[zone] += 1 / _SPOTS
    whole = next(iter(reached)) if len(reached) == 1 else None
    return Spread(
        {zone: share for zone, share in shares.items() if zone in reached}, frozenset(reached), whole
    )


def _spots(lat_deg: float, lon_deg: float, away: float, grid: Grid) -> list[Zone]:
    """Evenly, along a spiral."""
    number = np.arange(_SPOTS) + 0.5
    far, turn = away * np.sqrt(number / _SPOTS), number * math.pi * (3 - math.sqrt(5))
    lat = math.radians(lat_deg)
    north = np.clip(math.sin(lat) * np.cos(far) + math.cos(lat) * np.sin(far) * np.cos(turn), -1, 1)
    east = np.arctan2(np.sin(turn) * np.sin(far) * math.cos(lat), np.cos(far) - math.sin(lat) * north)
    return [
        grid.zone_at(*place)
        for place in zip(
            np.degrees(np.arcsin(north)).tolist(), (lon_deg + np.degrees(east)).tolist(), strict=True
        )
    ]


def _slots(point: Cylinder, grid: Grid) -> dict[int, float]:
    """The last minute is part of it."""
    first, end = point.start_min, point.end_min + 1
    numbers = range(first // grid.slot_min, (end - 1) // grid.slot_min + 1)
    if len(numbers) > _MOST_ZONES:
        raise MisuseError(
            f"an interval of {point.gap_min} min reaches into too many slots; choose longer ones"
        )
    return {
        slot: (min(end, (slot + 1) * grid.slot_min) - max(first, slot * grid.slot_min)) / (end - first)
        for slot in numbers
    }


def density(records: Records, grid: Grid) -> dict[tuple[Zone, int], Bounds]:
    """Releases by zone and slot; zeros are absent."""
    least: dict[tuple[Zone, int], int] = defaultdict(int)
    most: dict[tuple[Zone, int], int] = defaultdict(int)
    expected: dict[tuple[Zone, int], float] = defaultdict(float)
    for _, points in records:
        sure: set[tuple[Zone, int]] = set()
        absent: dict[tuple[Zone, int], float] = {}
        for point in points:
            where, when = spread(point, grid), _slots(point, grid)
            if where.whole is not None and len(when) == 1:
                sure.add((where.whole, next(iter(when))))
            for zone, slot in product(where.reached, when):
                probability = where.shares.get(zone, 0.0) * when[slot]
                absent[zone, slot] = absent.get((zone, slot), 1.0) * (1 - probability)
        for key in sure:
            least[key] += 1
        for key, share in absent.items():
            most[key] += 1
            expected[key] += 1 - share
    return {key: Bounds(least[key], expected[key], most[key]) for key in sorted(most)}


def flow(records: Records, grid: Grid) -> dict[tuple[Zone, Zone], Bounds]:
    """Steps between circles, by both zones; impossible ones are absent."""
    least: dict[tuple[Zone, Zone], int] = defaultdict(int)
    most: dict[tuple[Zone, Zone], int] = defaultdict(int)
    expected: dict[tuple[Zone, Zone], float] = defaultdict(float)
    for _, points in records:
        places = [spread(point, grid) for point in points]
        for before, after in pairwise(places):
            if len(before.reached) * len(after.reached) > _MOST_ZONES:
                raise MisuseError("a step leads between too many zones; choose larger ones")
            for zone, other in product(before.reached, after.reached):
                most[zone, other] += 1
                expected[zone, other] += before.shares.get(zone, 0.0) * after.shares.get(other, 0.0)
            if before.whole is not None and after.whole is not None:
                least[before.whole, after.whole] += 1
    return {key: Bounds(least[key], expected[key], most[key]) for key in sorted(most)}


def write_density(counts: dict[tuple[Zone, int], Bounds], grid: Grid, path: Path) -> None:
    """A row for each zone and slot, with the rectangle."""
    zones = [zone for zone, _ in counts]
    corners = [rectangle(*grid.sides(zone)) for zone in zones]
    starts = [slot * grid.slot_min * 60 for _, slot in counts]
    columns = {
        "zone": pa.array([_name(zone) for zone in zones], pa.string()),
        "t_start": pa.array(starts, pa.timestamp("s", tz="UTC")),
        "t_end": pa.array([start + grid.slot_min * 60 for start in starts], pa.timestamp("s", tz="UTC")),
        **_numbers(list(counts.values())),
        "geometry": pa.array(list(map(polygon, corners)), pa.large_binary()),
    }
    write_geo(columns, "Polygon", corners, path)


def write_flow(counts: dict[tuple[Zone, Zone], Bounds], grid: Grid, path: Path) -> None:
    """A row for each two zones, with a line between."""
    ends = []
    for zones in counts:
        for zone in zones:
            west, south, east, north = grid.sides(zone)
            ends.append([(west + east) / 2, (south + north) / 2])
    lines = np.array(ends).reshape(-1, 2, 2)
    head = b"\x01\x02\x00\x00\x00\x02\x00\x00\x00"  # well-known binary of a line of two places
    columns = {
        "from_zone": pa.array([_name(zone) for zone, _ in counts], pa.string()),
        "to_zone": pa.array([_name(zone) for _, zone in counts], pa.string()),
        **_numbers(list(counts.values())),
        "geometry": pa.array([head + line.astype("<f8").tobytes() for line in lines], pa.large_binary()),
    }
    write_geo(columns, "LineString", [lines.reshape(-1, 2)], path)


def _numbers(bounds: Sequence[Bounds]) -> dict[str, pa.Array]:
    return {
        "at_least": pa.array([count.least for count in bounds], pa.int64()),
        "expected": pa.array([count.expected for count in bounds], pa.float64()),
        "at_most": pa.array([count.most for count in bounds], pa.int64()),
    }


def _name(zone: Zone) -> str:
    return f"{zone[0]}/{zone[1]}"
