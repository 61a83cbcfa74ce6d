"""Collected releases as a folder of boxes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import InputError
from shoal.model.claims import Blurred
from shoal.model.grid import Grid
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, equal_area_plane, transform
from shoal.model.release import Boxes, Linkage, Losses, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, build_manifest, write_manifest
from shoal.release_folder.tables import require_places_on_earth, write_table
from shoal.runtime.arrays import Floats
from shoal.verification import verify
from shoal_collect.collected.tables import Records, ring
from shoal_collect.matching.cylinders import MICRO, Cylinder

_NOT_CHECKED: Final = "whether each box holds a sample of its own person (only a laboratory has raw data)"


@dataclass(frozen=True)
class Laboratory:
    """Ground truth of a laboratory.

    ``original``: raw data on the boxes' grid, in ``plane_of`` the releases; ``linkage``: each person's
    record.
    """

    original: Trajectories
    linkage: Linkage


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


def account_for_losses(release: Release, lab: Laboratory) -> Release:
    """Account for raw data that the release leaves out."""
    original = lab.original
    record_at = {name: place for place, name in enumerate(release.trajectory_ids)}
    covered = 0
    for uid, name in zip(lab.linkage.uids, lab.linkage.trajectory_ids, strict=True):
        t, x, y = original.samples_of(original.ids.index(uid))
        inside = np.zeros(len(t), dtype=np.bool_)
        for t_start, t_end, x_min, y_min, x_max, y_max in zip(
            *release.record(record_at[name]).columns(), strict=True
        ):
            inside |= (t >= t_start) & (t < t_end) & (x >= x_min) & (x < x_max) & (y >= y_min) & (y < y_max)
        covered += int(inside.sum())
    losses = Losses(
        rows=dict(original.intake.dropped),
        samples_suppressed=original.n_samples - covered,
        subjects_suppressed=original.n_subjects - len(lab.linkage.uids),
    )
    return replace(
        release,
        losses=losses,
        rows_repaired=dict(original.intake.repaired),
        unit_of_protection=original.intake.unit_of_protection,
        reading=original.intake.reading,
    )


def fill(folder: Path, release: Release, lab: Laboratory | None) -> Verdict:
    """Write table and manifest, with a laboratory's verdict, or none."""
    if lab is None:
        verdict = Verdict.of([], checked=release.n_records, unchecked=[_NOT_CHECKED])
    else:
        verdict = verify(lab.original, release, lab.linkage)
    write_table(release, folder / RELEASE_FILE)
    require_places_on_earth(folder / RELEASE_FILE)
    write_manifest(build_manifest(release, verdict, folder / RELEASE_FILE), folder / MANIFEST_FILE)
    return verdict


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
