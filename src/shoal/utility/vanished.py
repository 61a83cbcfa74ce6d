"""Who vanished: where and at what hour of the day the raw samples lie that a release does not hold, and how many people were there."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.measures.query import Zones
from shoal.model.release import Linkage, PointRelease, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Integers
from shoal.utility.accuracy import extents_of_samples

ACROSS: Final = 8
_HOUR_S: Final = 3600.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Presence:
    """Of each place or hour: raw samples there, how many of them are not published, people there, and those who lost one there."""

    samples: Integers
    lost: Integers
    people: Integers
    losers: Integers


@dataclass(frozen=True, eq=False, kw_only=True)
class Vanished:
    """by_zone: [zones], in the order of ``zones``.

    By_hour: [24], hours of the day in UTC, by the start of a sample's slot.
    """

    zones: Zones
    by_zone: Presence
    by_hour: Presence


def measure_vanished(
    original: Trajectories, release: Release, linkage: Linkage, *, across: int = ACROSS
) -> Vanished:
    """The raw samples that no box of their own subject's record covers, by square zone and by hour of the day.

    across: zones on the longer side of the data, each of whole cells. Raises MisuseError when the parts do not belong together.
    """
    lost = extents_of_samples(original, release, linkage)[1] < 0
    return _by_place_and_hour(original, (original.t, original.x, original.y), original, lost, across)


def measure_vanished_points(
    original: Trajectories,
    snapped: Trajectories,
    release: PointRelease,
    linkage: Linkage,
    *,
    across: int = ACROSS,
) -> Vanished | None:
    """The raw samples that no published point stands for, in the same zones and hours.

    None where the linkage does not know them.

    snapped: the original on the grid of the zones. Swapping tells them in its trace, too, so that they are
    known from files; which samples NWA and W4M kept is known only while they run. Raises MisuseError when the
    linkage tells of other data or another release.
    """
    rows = linkage.stands_for
    if rows is None and linkage.trace is not None:
        rows = linkage.trace.time_from
    if rows is None:
        return None
    kept = rows[rows >= 0]
    lost = np.ones(original.n_samples, dtype=np.bool_)
    if len(rows) == release.n_samples and kept.max(initial=0) < original.n_samples:
        lost[kept] = False
    if np.count_nonzero(lost) != release.losses.samples_suppressed:
        raise MisuseError(
            "the linkage tells of other lost samples than the release counts; use the linkage that was made "
            "with this release"
        )
    grid = snapped.snapped_grid()
    steps = ((original.t, grid.slot_s), (original.x, grid.cell_m), (original.y, grid.cell_m))
    t, x, y = (np.floor(column / step).astype(np.int64) for column, step in steps)
    return _by_place_and_hour(original, (t, x, y), snapped, lost, across)


def _by_place_and_hour(
    original: Trajectories,
    samples: tuple[Integers, Integers, Integers],
    snapped: Trajectories,
    lost: Flags,
    across: int,
) -> Vanished:
    """samples: slot and cell of every sample of the original, on the grid of ``snapped``."""
    grid, (t, x, y) = snapped.snapped_grid(), samples
    longer = max(int(np.ptp(x)), int(np.ptp(y))) + 1
    zones = Zones.over(snapped, max(1, -(-longer // across)) * grid.cell_m)
    east, north = (
        np.searchsorted(edges, (cells + 0.5) * grid.cell_m) - 1
        for edges, cells in ((zones.x_m, x), (zones.y_m, y))
    )
    hour = np.floor(t * grid.slot_s / _HOUR_S).astype(np.int64) % 24
    return Vanished(
        zones=zones,
        by_zone=_presence(original, lost, north * (len(zones.x_m) - 1) + east, len(zones)),
        by_hour=_presence(original, lost, hour, 24),
    )


def _presence(original: Trajectories, lost: Flags, where: Integers, n: int) -> Presence:
    subject = np.repeat(np.arange(original.n_subjects), original.lengths)
    return Presence(
        samples=np.bincount(where, minlength=n),
        lost=np.bincount(where[lost], minlength=n),
        people=np.bincount(
            np.unique(where * original.n_subjects + subject) // original.n_subjects, minlength=n
        ),
        losers=np.bincount(
            np.unique((where * original.n_subjects + subject)[lost]) // original.n_subjects, minlength=n
        ),
    )
