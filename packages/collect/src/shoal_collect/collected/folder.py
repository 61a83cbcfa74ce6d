"""The folder of an export: circles, boxes, and terms."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.model.claims import Blurred
from shoal.model.grid import Grid
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, equal_area_plane, transform
from shoal.model.release import Boxes, Losses, Release
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, build_manifest, write_manifest
from shoal.release_folder.tables import require_places_on_earth, write_table
from shoal.runtime.arrays import Floats
from shoal.runtime.staging import staged_folder
from shoal_collect.collected.tables import Records, ring, write_circles
from shoal_collect.matching.cylinders import MICRO, Cylinder
from shoal_collect.roles.consent import date_of
from shoal_collect.storage.stored import ReleaseRow

CELLS: Final = Grid()
BOXES: Final = "boxes"
_NOT_CHECKED: Final = "whether each box holds a sample of its own person (only a laboratory has raw data)"


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """The result of an export.

    ``releases``, ``circles``: how many. ``first_day``, ``last_day``: of storage, as dates. ``questions``: how
    many all groups have asked, and how many of these the collector did not answer. ``verdict``: that no
    check was possible. ``terms``: the terms of their rounds.
    """

    releases: int
    circles: int
    first_day: str
    last_day: str
    questions: int
    questions_not_answered: int
    verdict: str
    terms: Sequence[Mapping[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """A JSON document."""
        return asdict(self)


def export(
    stored: Sequence[ReleaseRow],
    terms: Sequence[Mapping[str, Any]],
    questions: tuple[int, int],
    output: Path,
    draw_name: Callable[[], str],
) -> ExportResult:
    """Write a new folder with all stored releases, complete or not at all.

    ``stored``: the releases. ``terms``, ``questions``: as in the result. ``output``: the folder; it must not
    exist. ``draw_name``: draws a fresh pseudonym; identifiers and tags go into no table. InputError if
    nothing is stored, or the circles fit into no plane. OutputError if the folder exists or cannot be
    written.
    """
    named = sorted(((draw_name(), entry) for entry in stored), key=lambda pair: pair[0])
    records: Records = [(name, entry.points) for name, entry in named]
    release = boxes_of(records, plane_of(records), CELLS)
    verdict = Verdict.of([], checked=release.n_records, unchecked=[_NOT_CHECKED])
    days = [entry.day for entry in stored]
    with staged_folder(output) as folder:
        write_circles(records, folder / "circles.parquet")
        write_boxes(folder / BOXES, release, verdict)
        result = ExportResult(
            releases=len(stored),
            circles=sum(len(entry.points) for entry in stored),
            first_day=date_of(min(days)),
            last_day=date_of(max(days)),
            questions=questions[0],
            questions_not_answered=questions[1],
            verdict=verdict.word,
            terms=list(terms),
        )
        (folder / "terms.json").write_text(json.dumps(result.to_json(), indent=2) + "\n")
    return result


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
        offsets=np.concatenate([[0], np.cumsum([len(boxes) for boxes in payload])]).astype(np.int64),
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
