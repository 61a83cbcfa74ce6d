"""What every release of points must keep."""

from collections.abc import Iterator

import numpy as np

from shoal.model.finding_kinds import FindingKind
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags
from shoal.verification.examination import first_of_each_record


def plane_mismatch(original: Trajectories, release: Release, *, moved: bool = False) -> list[Finding]:
    """A finding when planes differ; moved: no point is raw."""
    original.require_points_as_given()
    degrees = original.lat is not None and not moved
    if release.crs == original.crs and (release.points.lat is not None) == degrees:
        return []
    plane = "this plane" if release.crs == original.crs else "another plane"  # its text may name a person
    message = f"expected points in the plane '{original.crs}'{' with degrees' * degrees}, "
    message += f"the release has {plane}{' with degrees' * (release.points.lat is not None)}"
    return [Finding("grid-mismatch", message)]


def malformed_points(release: Release, *, repeats: bool = False) -> Iterator[Finding]:
    """Empty records, and points that are no numbers, do not ascend, or repeat unless allowed."""
    for record in np.flatnonzero(np.diff(release.offsets) == 0).tolist():
        yield Finding("empty-record", "this record holds no point", release.trajectory_ids[record])
    t, x, y = release.points.t, release.points.x, release.points.y
    if not all(np.isfinite(column).all() for column in release.points.columns().values()):
        yield Finding("malformed-point", "a published coordinate or time is no finite number")
        return
    dt, dx, dy = np.diff(t), np.diff(x), np.diff(y)
    ascends = (dt > 0) | ((dt == 0) & ((dx > 0) | ((dx == 0) & (dy >= 0 if repeats else dy > 0))))
    inner = release.offsets[1:-1]
    ascends[inner[(inner > 0) & (inner < len(t))] - 1] = True
    wrong = np.flatnonzero(~ascends) + 1
    for record in np.unique(np.searchsorted(release.offsets, wrong, side="right") - 1).tolist():
        message = "the points of this record do not ascend by time, x and y, or one stands twice"
        yield Finding("malformed-point", message, release.trajectory_ids[record])


def findings_per_point(release: Release, bad: Flags, kind: FindingKind, fault: str) -> Iterator[Finding]:
    """One finding for each record with a flagged point."""
    for record, row, more in first_of_each_record(bad, release.offsets):
        message = f"point {row - release.offsets[record] + 1} of this record {fault}{more}"
        yield Finding(kind, message, release.trajectory_ids[record])
