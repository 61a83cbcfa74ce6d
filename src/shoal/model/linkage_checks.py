"""Checks that raw data, a release and a linkage belong together."""

from typing import Final

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.units import counted, show_m, show_s

_ROOM: Final = 10_000  # slots or cells


def match_records(original: Trajectories, release: Release, linkage: Linkage) -> Integers:
    """int64 [n]: each subject's record, -1 = suppressed."""
    subject_at = {uid: position for position, uid in enumerate(original.ids)}
    record_at = {name: position for position, name in enumerate(release.trajectory_ids)}
    strangers = sum(uid not in subject_at for uid in linkage.uids) + sum(
        name not in record_at for name in linkage.trajectory_ids
    )
    repeats = 2 * len(linkage.uids) - len(set(linkage.uids)) - len(set(linkage.trajectory_ids))
    if strangers or repeats:
        raise MisuseError(
            f"the linkage does not fit: {strangers} of its names are in neither the data nor the release, "
            f"{repeats} appear twice; use the linkage that was made with this release"
        )
    records = np.full(original.n_subjects, -1, dtype=np.int64)
    for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True):
        records[subject_at[uid]] = record_at[name]
    return records


def require_linked_records(original: Trajectories, release: Release, linkage: Linkage) -> Integers:
    """``match_records`` for judging a release from outside, where a mismatch is an error, never a figure.

    Raises InputError for an empty release, another grid (of points another plane), another unit of
    protection, or a linkage that does not fit, leaves records without a subject, or omits other subjects
    than were suppressed; MisuseError for points as given with boxes, or snapped samples with points.
    """
    if not release.n_records:
        raise InputError(
            "the release holds no record, so there is nothing to measure; check that it is the right folder"
        )
    _require_one_grid(original, release)
    if original.intake.unit_of_protection != release.unit_of_protection:
        raise InputError(
            f"the release protects {release.unit_of_protection}, the raw data was read for "
            f"{original.intake.unit_of_protection}; read it with the same --person and --per-day"
        )
    try:
        records = match_records(original, release, linkage)
    except MisuseError as error:
        raise InputError(f"the release does not belong to this raw data, or {error.cli_message}") from error
    missing, suppressed = int(np.count_nonzero(records < 0)), release.losses.subjects_suppressed
    orphans = release.n_records - len(linkage.uids)
    if orphans:
        raise InputError(
            f"the linkage gives {counted(orphans, 'record')} no subject; use the whole linkage that was "
            "made with this release"
        )
    if missing != suppressed:
        raise InputError(
            f"the linkage misses {counted(missing, 'subject')} of the raw data and the release says that "
            f"{suppressed} were suppressed; "
            "use the raw data and the whole linkage that belong to this release"
        )
    return records


def require_boxes_near_data(original: Trajectories, release: Release) -> None:
    """Raise InputError for boxes so far from the data that figures would be wrong."""
    if release.kind == "points" or not len(release.boxes):
        return
    boxes = release.boxes
    for axis, starts, ends, samples in (
        ("time", boxes.t_start, boxes.t_end, original.t),
        ("space", boxes.x_min, boxes.x_max, original.x),
        ("space", boxes.y_min, boxes.y_max, original.y),
    ):
        if (ends <= starts).any():
            raise InputError(
                f"the release holds boxes without extent in {axis}; look at it with shoal verify"
            )
        first, last = int(samples.min()), int(samples.max())
        beyond = last - first + _ROOM  # coarse boxes reach over the data's edge, other tools' may more
        if int(starts.min()) < first - beyond or int(ends.max()) > last + beyond:
            raise InputError(
                "the release does not belong to this raw data, or was changed since: it has boxes far "
                f"beyond all raw samples in {axis}; look at it with shoal verify"
            )


def _require_one_grid(original: Trajectories, release: Release) -> None:
    if release.kind == "points":
        original.require_points_as_given()
        if original.crs != release.crs:
            planes = [crs or "local meters" for crs in (original.crs, release.crs)]
            raise InputError(
                f"the raw data is in the plane '{planes[0]}', the release in '{planes[1]}'; read the raw "
                "data as the manifest says"
            )
        return
    grids = original.snapped_grid(), release.snapped_grid()
    if grids[0] != grids[1]:
        words = [f"{show_m(grid.cell_m)} and {show_s(grid.slot_s)}" for grid in grids]
        raise InputError(
            f"the raw data is on a grid of {words[0]}, the release of {words[1]}; read the raw data as the "
            "manifest says"
        )
