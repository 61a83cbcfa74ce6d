"""What every release of points must keep, whatever it claims.

Well-formed records in canonical order, on the raw data's plane.
"""

from collections.abc import Iterator

import numpy as np

from shoal.model.release import PointRelease
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding


def off_plane(original: Trajectories, release: PointRelease, *, moved: bool = False) -> list[Finding]:
    """A finding when raw data and release cannot be compared.

    Raises MisuseError when the raw data is snapped.

    moved: the published points are no raw ones, and have no degrees as given.
    """
    original.require_points_as_given()
    degrees = original.lat is not None and not moved
    if release.crs == original.crs and (release.points.lat is not None) == degrees:
        return []
    message = f"expected points in the plane '{original.crs}'{' with degrees' * degrees}, "
    message += f"the release has '{release.crs}'{' with degrees' * (release.points.lat is not None)}"
    return [Finding("grid-mismatch", message)]


def malformed_points(release: PointRelease, *, repeats: bool = False) -> Iterator[Finding]:
    """Records without points, points that are no numbers, that do not ascend by (t, x, y), or that stand twice (unless ``repeats``)."""
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
