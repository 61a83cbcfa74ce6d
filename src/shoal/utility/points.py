"""Distortion and removals (Domingo-Ferrer and Trujillo-Rasua 2012)."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.kernels.passing import Lines, distances_in_time
from shoal.model.linkage_checks import match_records
from shoal.model.release import Linkage, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers


@dataclass(frozen=True, kw_only=True)
class PointUtility:
    """Space distortion and removals.

    total_distortion_m, mean_distortion_m: distance of raw points from their person's record at their time
    (TotalSD). total_at_same_times_m, at_same_times: the sum as in Def. 3, over raw points whose exact time
    stamp stands in the record (of several, the mean), and their number. removed_trajectories,
    removed_locations: shares; below 0 where there are more points than before.
    """

    total_distortion_m: float
    mean_distortion_m: float
    defined: int  # raw points at whose time their record has a place
    total_at_same_times_m: float
    at_same_times: int
    removed_trajectories: float
    removed_locations: float

    def to_json(self) -> dict[str, Any]:
        """All figures by name."""
        return asdict(self)


def measure_points(original: Trajectories, release: Release, linkage: Linkage) -> PointUtility:
    """Space distortion and removals (Def. 3, Sec. 4.1 and 7.1.4).

    A record moves straight between its points. A raw point at whose time its record has no place counts 0
    (Omega of Def. 3).
    """
    return space_distortion(original, release, match_records(original, release, linkage))


def space_distortion(original: Trajectories, release: Release, records: Integers) -> PointUtility:
    """The same from each subject's record: int64 [n], -1 = none."""
    away = np.full(original.n_samples, np.nan)
    lines = lines_of(original.offsets, original), lines_of(release.offsets, release.points)
    distances_in_time(*lines, records, away)
    defined = ~np.isnan(away)
    total = float(away[defined].sum())
    same = _away_at_same_times(original, release, records)
    stamped = ~np.isnan(same)
    return PointUtility(
        total_distortion_m=total,
        mean_distortion_m=total / max(int(np.count_nonzero(defined)), 1),
        defined=int(np.count_nonzero(defined)),
        total_at_same_times_m=float(same[stamped].sum()),
        at_same_times=int(np.count_nonzero(stamped)),
        removed_trajectories=1 - release.n_records / original.n_subjects,
        removed_locations=1 - release.n_samples / original.n_samples,
    )


def _away_at_same_times(original: Trajectories, release: Release, records: Integers) -> Floats:
    points = release.points
    stamps, rank = np.unique(np.concatenate([original.t, points.t]), return_inverse=True)
    rank = rank.astype(np.int64)
    stamp_codes = np.repeat(np.arange(release.n_records), np.diff(release.offsets)) * len(stamps)
    stamp_codes = stamp_codes + rank[original.n_samples :]
    order = np.argsort(stamp_codes, kind="stable")
    record = np.repeat(records, original.lengths)
    raw_codes = np.where(record >= 0, record * len(stamps) + rank[: original.n_samples], -1)
    first, last = (np.searchsorted(stamp_codes[order], raw_codes, side=side) for side in ("left", "right"))
    count = last - first
    raw = np.repeat(np.arange(original.n_samples), count)
    place = order[np.arange(len(raw)) - np.repeat(np.cumsum(count) - count, count) + first[raw]]
    apart = np.hypot(points.x[place] - original.x[raw], points.y[place] - original.y[raw])
    total = np.bincount(raw, weights=apart, minlength=original.n_samples)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def lines_of(offsets: Integers, points: Trajectories | Points) -> Lines:
    """Points for kernels."""
    return Lines(offsets, points.t, points.x, points.y)
