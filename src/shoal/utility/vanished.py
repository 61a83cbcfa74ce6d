"""Who vanished: where and at what hour of the day the raw samples lie that a release does not hold, and how many people were there."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.query import Zones
from shoal.release import Linkage, Release
from shoal.trajectories import Integers, Trajectories
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
    """by_zone: [zones], in the order of ``zones``; by_hour: [24], hours of the day in UTC, by the start of a sample's slot."""

    zones: Zones
    by_zone: Presence
    by_hour: Presence


def measure_vanished(original: Trajectories, release: Release, linkage: Linkage, *, across: int = ACROSS) -> Vanished:
    """The raw samples that no box of their own subject's record covers, by square zone and by hour of the day.

    across: zones on the longer side of the data, each of whole cells. Raises MisuseError when the parts do not belong together.
    """
    grid = original.snapped_grid()
    lost = extents_of_samples(original, release, linkage)[1] < 0
    longer = max(int(np.ptp(original.x)), int(np.ptp(original.y))) + 1
    zones = Zones.over(original, max(1, -(-longer // across)) * grid.cell_m)
    east, north = (
        np.searchsorted(edges, (cells + 0.5) * grid.cell_m) - 1 for edges, cells in ((zones.x_m, original.x), (zones.y_m, original.y))
    )
    hour = np.floor(original.t * grid.slot_s / _HOUR_S).astype(np.int64) % 24
    return Vanished(
        zones=zones,
        by_zone=_presence(original, lost, north * (len(zones.x_m) - 1) + east, len(zones)),
        by_hour=_presence(original, lost, hour, 24),
    )


def _presence(original: Trajectories, lost: np.ndarray[tuple[int], np.dtype[np.bool_]], where: Integers, n: int) -> Presence:
    subject = np.repeat(np.arange(original.n_subjects), original.lengths)
    return Presence(
        samples=np.bincount(where, minlength=n),
        lost=np.bincount(where[lost], minlength=n),
        people=np.bincount(np.unique(where * original.n_subjects + subject) // original.n_subjects, minlength=n),
        losers=np.bincount(np.unique((where * original.n_subjects + subject)[lost]) // original.n_subjects, minlength=n),
    )
