"""Collected releases as GeoParquet."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from shoal.release_folder.packing import ROWS_PER_GROUP, parquet_writer
from shoal.runtime.arrays import Floats
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder

CORNERS: Final = 32
_WIDER: Final = 1 / np.cos(np.pi / CORNERS)  # so that a polygon holds the circle that it stands for

Records = Sequence[tuple[str, Sequence[Cylinder]]]
"""A fresh pseudonym and the cylinders of each release."""


def ring(lat_deg: float, lon_deg: float, radius_m: float) -> Floats:
    """Corners around a circle on the sphere.

    float64 [CORNERS, 2]: longitude, perhaps beyond 180 degrees, and latitude.
    """
    bearing = -2 * np.pi * np.arange(CORNERS) / CORNERS
    lat, away = np.radians(lat_deg), radius_m * _WIDER / EARTH_M
    corner_lat = np.arcsin(
        np.clip(np.sin(lat) * np.cos(away) + np.cos(lat) * np.sin(away) * np.cos(bearing), -1, 1)
    )
    turn = np.arctan2(
        np.sin(bearing) * np.sin(away) * np.cos(lat), np.cos(away) - np.sin(lat) * np.sin(corner_lat)
    )
    return np.column_stack([lon_deg + np.degrees(turn), np.degrees(corner_lat)])


def outlines(lat_deg: float, lon_deg: float, radius_m: float) -> list[Floats]:
    """Polygons within -180 to 180 that together hold a circle.

    float64 [corners, 2], counterclockwise and open. Over the antimeridian it is cut; with a pole inside it
    becomes the belt up to it.
    """
    away_deg = np.degrees(radius_m * _WIDER / EARTH_M)
    if abs(lat_deg) + away_deg >= 90:
        low, high = max(-90.0, lat_deg - away_deg), min(90.0, lat_deg + away_deg)
        return [np.array([[-180.0, low], [180.0, low], [180.0, high], [-180.0, high]])]
    corners = ring(lat_deg, lon_deg, radius_m)
    parts = []
    for shift in (0.0, 360.0, -360.0):
        moved = corners + np.array([shift, 0.0])
        part = _cut(_cut(moved, -180.0, above=True), 180.0, above=False)
        if len(part) > 2:
            parts.append(part)
    return parts


def _cut(corners: Floats, border: float, *, above: bool) -> Floats:
    clipped: list[tuple[float, float]] = []
    for (x, y), (next_x, next_y) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        inside, next_inside = (x >= border, next_x >= border) if above else (x <= border, next_x <= border)
        if inside:
            clipped.append((x, y))
        if inside != next_inside:
            clipped.append((border, y + (next_y - y) * (border - x) / (next_x - x)))
    return np.array(clipped).reshape(-1, 2)


def write_circles(records: Records, path: Path) -> None:
    """A row for each circle: pseudonym, interval, middle, radius, outline."""
    rows = [(name, point) for name, points in records for point in points]
    shapes = [
        outlines(circle.lat_udeg / MICRO, circle.lon_udeg / MICRO, circle.radius_m) for _, circle in rows
    ]
    columns = {
        "trajectory_id": pa.array([name for name, _ in rows], pa.string()),
        "t_start": _moments([circle.start_min for _, circle in rows]),
        "t_end": _moments([circle.end_min for _, circle in rows]),
        "lat": pa.array([circle.lat_udeg / MICRO for _, circle in rows], pa.float64()),
        "lon": pa.array([circle.lon_udeg / MICRO for _, circle in rows], pa.float64()),
        "radius_m": pa.array([circle.radius_m for _, circle in rows], pa.int32()),
        "geometry": pa.array([_multipolygon(parts) for parts in shapes], pa.large_binary()),
    }
    _write_geo(columns, [corner for parts in shapes for corner in parts], path)


def _write_geo(columns: dict[str, pa.Array], corners: Sequence[Floats], path: Path) -> None:
    about: dict[str, object] = {"encoding": "WKB", "geometry_types": ["MultiPolygon"]}
    every = np.concatenate([*corners, np.empty((0, 2))])
    if len(every):
        about["bbox"] = [*every.min(axis=0).tolist(), *every.max(axis=0).tolist()]
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": about}}
    table = pa.table(columns)
    with parquet_writer(path, table.schema) as writer:
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)
        writer.add_key_value_metadata({"geo": json.dumps(geo)})


def _polygon(corners: Floats) -> bytes:
    closed = np.concatenate([corners, corners[:1]])
    return struct.pack("<BIII", 1, 3, 1, len(closed)) + closed.astype("<f8").tobytes()


def _multipolygon(parts: Sequence[Floats]) -> bytes:
    return struct.pack("<BII", 1, 6, len(parts)) + b"".join(map(_polygon, parts))


def _moments(minutes: Sequence[int]) -> pa.Array:
    return pa.array([minute * 60 for minute in minutes], pa.timestamp("s", tz="UTC"))
