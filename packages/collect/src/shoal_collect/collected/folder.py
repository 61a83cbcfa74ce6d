"""The folder of an export: circles as GeoParquet, boxes, and terms."""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.model.claims import Blurred
from shoal.model.grid import Grid
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, equal_area_plane, transform
from shoal.model.release import Boxes, Losses, Release
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, build_manifest, write_manifest
from shoal.release_folder.packing import ROWS_PER_GROUP, geometry_pairs, parquet_writer
from shoal.release_folder.tables import require_places_on_earth, write_table
from shoal.runtime.arrays import Floats, offsets_of
from shoal.runtime.staging import staged_folder
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder
from shoal_collect.roles.consent import date_of
from shoal_collect.storage.days import ReleaseRow

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
    every = np.concatenate([corner for parts in shapes for corner in parts])
    bounds = [*every.min(axis=0).tolist(), *every.max(axis=0).tolist()]
    table = pa.table(columns)
    with parquet_writer(path, table.schema) as writer:
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)
        writer.add_key_value_metadata(geometry_pairs(["MultiPolygon"], bounds))


def _polygon(corners: Floats) -> bytes:
    closed = np.concatenate([corners, corners[:1]])
    return struct.pack("<BIII", 1, 3, 1, len(closed)) + closed.astype("<f8").tobytes()


def _multipolygon(parts: Sequence[Floats]) -> bytes:
    return struct.pack("<BII", 1, 6, len(parts)) + b"".join(map(_polygon, parts))


def _moments(minutes: Sequence[int]) -> pa.Array:
    return pa.array([minute * 60 for minute in minutes], pa.timestamp("s", tz="UTC"))


CELLS: Final = Grid()
BOXES: Final = "boxes"
_NOT_CHECKED: Final = "whether each box holds a sample of its own person (only a laboratory has raw data)"


def export(
    stored: Sequence[ReleaseRow],
    terms: Sequence[Mapping[str, Any]],
    questions: tuple[int, int],
    output: Path,
    draw_name: Callable[[], str],
) -> dict[str, Any]:
    """Write a new folder with all stored releases, complete or not at all; return its facts (terms.json).

    ``terms``, ``questions``: of the rounds, and how many groups have asked and how many were not answered.
    ``draw_name``: draws a fresh pseudonym; identifiers and tags go into no table. InputError if nothing is
    stored, or the circles fit into no plane. OutputError if the folder exists or cannot be written.
    """
    named = sorted(((draw_name(), entry) for entry in stored), key=lambda pair: pair[0])
    records: Records = [(name, entry.points) for name, entry in named]
    release = boxes_of(records, plane_of(records), CELLS)
    verdict = Verdict.of([], checked=release.n_records, unchecked=[_NOT_CHECKED])
    days = [entry.day for entry in stored]
    with staged_folder(output) as folder:
        write_circles(records, folder / "circles.parquet")
        write_boxes(folder / BOXES, release, verdict)
        facts = {
            "releases": len(stored),
            "circles": sum(len(entry.points) for entry in stored),
            "first_day": date_of(min(days)),
            "last_day": date_of(max(days)),
            "questions": questions[0],
            "questions_not_answered": questions[1],
            "verdict": verdict.word,
            "terms": list(terms),
        }
        (folder / "terms.json").write_text(json.dumps(facts, indent=2) + "\n")
    return facts


def plane_of(records: Records) -> str:
    """The plane of the boxes, centered on the circles."""
    points = [point for _, points in records for point in points]
    if not points:
        raise InputError("there is nothing to export: no release is stored that fits what was asked for")
    lon, lat = (
        np.array([getattr(point, f"{axis}_udeg") / MICRO for point in points]) for axis in ("lon", "lat")
    )
    return equal_area_plane(lon, lat)


def boxes_of(records: Records, plane: str, grid: Grid) -> Release:
    """A release with whole cells around each circle, and whole slots.

    The claim states the smallest box.
    """
    named = sorted(records)
    payload = [_boxes(points, plane, grid) for _, points in named]
    every = Boxes.concatenate(payload)
    sides = np.minimum(every.x_max - every.x_min, every.y_max - every.y_min)
    claim = Blurred(
        width_m=float(sides.min() * grid.cell_m),
        duration_s=float((every.t_end - every.t_start).min() * grid.slot_s),
    )
    return Release(
        trajectory_ids=tuple(name for name, _ in named),
        offsets=offsets_of(map(len, payload)),
        payload=every,
        claim=claim,
        grid=grid,
        method="collect",
        parameters={},
        losses=Losses(),
        crs=plane,
        unit_of_protection="each release",
        publishable=True,
        reading=Reading(cell_m=grid.cell_m, slot_s=grid.slot_s),
    )


def write_boxes(folder: Path, release: Release, verdict: Verdict) -> None:
    """Table and manifest, into a new folder."""
    folder.mkdir()
    write_table(release, folder / RELEASE_FILE)
    require_places_on_earth(folder / RELEASE_FILE)
    write_manifest(build_manifest(release, verdict, folder / RELEASE_FILE), folder / MANIFEST_FILE)


def _boxes(points: Sequence[Cylinder], plane: str, grid: Grid) -> Boxes:
    outline = np.array([_extent(point, plane) for point in points])
    low, high = np.floor(outline[:, :2] / grid.cell_m), np.ceil(outline[:, 2:] / grid.cell_m)
    first = np.array([point.start_min * 60 for point in points]) / grid.slot_s
    end = np.array([(point.end_min + 1) * 60 for point in points]) / grid.slot_s
    return Boxes(
        t_start=np.floor(first).astype(np.int64),
        t_end=np.ceil(end).astype(np.int64),
        x_min=low[:, 0].astype(np.int64),
        y_min=low[:, 1].astype(np.int64),
        x_max=high[:, 0].astype(np.int64),
        y_max=high[:, 1].astype(np.int64),
    ).sorted()


def _extent(point: Cylinder, plane: str) -> Floats:
    """West, south, east and north, in meters."""
    corners = ring(point.lat_udeg / MICRO, point.lon_udeg / MICRO, point.radius_m)
    x, y = transform(WGS84, plane, corners[:, 0], corners[:, 1])
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("the circles span too much of the earth for one plane; export each day on its own")
    return np.array([x.min(), y.min(), x.max(), y.max()])
