"""Clusters and tracks that a release of swapped points shows to whoever looks at it alone.

Records of a cluster took one point of every swap set each. So they have equally many points, and the points
at equal shares of them are close in time and place. Clusters are inferred from that; within one, points are
joined by speed and heading, in two ways, of which the release shows which suits it.
"""

from typing import Final

import numpy as np

from shoal.attacks.target import PointTarget
from shoal.kernels.kalman import join_with_filter
from shoal.kernels.tracking import find_most_similar, form_clusters, join_points, make_outlines
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run

_SHARES: Final = 24  # of a record's points, at which records are compared
_ROUNDS: Final = 2  # of joining by speed and heading
_KALMAN_ROUNDS: Final = 3
_FREEDOM: Final = 1.0  # degrees, of the filter's errors: heavy tails
_MOST_TOGETHER: Final = 40  # records whose points are joined at once
_EQUAL_FROM: Final = (
    0.5  # share of records as long as the most like one, from which length gives clusters away
)


class Likeness:
    """How like each other records are; the least is the most alike.

    names, values: [r, l] the l most like records of each, and how unlike they are.
    """

    def __init__(self, target: PointTarget, most: int) -> None:
        self.outlines: Floats = make_outlines(target.offsets, target.t, target.x, target.y, _SHARES)
        lengths, anything = np.diff(target.offsets), np.zeros(target.n_records, dtype=np.int64)
        nearest, _ = self._most_alike(anything, 1)
        partner = nearest[:, 0]
        self.equally_long = bool(
            partner.min(initial=0) >= 0 and (lengths[partner] == lengths).mean() >= _EQUAL_FROM
        )
        self.names, self.values = self._most_alike(lengths if self.equally_long else anything, most)

    def _most_alike(self, kind: Integers, most: int) -> tuple[Integers, Floats]:
        """The most like records of a kind; seconds and meters count by what is usual between neighbors."""
        self.per_s, self.per_m = (self._usual(kind, *scales) for scales in ((1.0, 0.0), (0.0, 1.0)))
        return self._listed(kind, most, self.per_s, self.per_m)

    def _usual(self, kind: Integers, per_s: float, per_m: float) -> float:
        """One over the median difference to the most like record in time alone, or in place alone."""
        least = self._listed(kind, 1, per_s, per_m)[1]
        least = least[np.isfinite(least)]
        return 1 / max(float(np.median(least)), 1e-9) if len(least) else 1.0

    def _listed(self, kind: Integers, most: int, per_s: float, per_m: float) -> tuple[Integers, Floats]:
        shape = (len(self.outlines), most)
        names, values = np.empty(shape, dtype=np.int64), np.empty(shape)
        find_most_similar(self.outlines, kind, per_s, per_m, names, values)
        return names, values


def smoothest_tracks(target: PointTarget, k: int, run: Run, label: str) -> Integers:
    """int64 [p]: the track that each point seems to be of.

    Records are gathered k by k, and more loosely, in case clusters are hard to tell. The gathering is kept
    whose tracks by last steps bend least: the release alone shows which that is. The filter runs on that one
    only; to choose by what it finds prefers loose gatherings more often, and restores less. It is found once
    for a target.
    """
    if k in target.tracks:
        return target.tracks[k]
    alike = Likeness(target, 4 * k)
    gathered = [
        np.asarray(form_clusters(alike.outlines, alike.names, alike.values, size, alike.per_s, alike.per_m))
        for size in dict.fromkeys((k, 2 * k, max(min(8 * k, _MOST_TOGETHER), k)))
    ]
    found = [restored_tracks(target, cluster, None, run, label) for cluster in gathered]
    bends = [bending(target.t, target.x, target.y, tracks) for tracks in found]
    least = bends.index(min(bends))
    target.tracks[k] = restored_tracks(target, gathered[least], found[least], run, label)
    return target.tracks[k]


def bending(t: Floats, x: Floats, y: Floats, tracks: Integers) -> float:
    """How much tracks [p] change speed and heading from step to step: the mean of log(1 + meters)."""
    order = np.lexsort((t, tracks))
    (t, x, y), own = (column[order] for column in (t, x, y)), tracks[order]
    three = (own[2:] == own[:-2]) & (t[1:-1] > t[:-2])
    first, then = (np.diff(t)[part][three] for part in (slice(None, -1), slice(1, None)))
    errors = [np.diff(column)[1:][three] - np.diff(column)[:-1][three] * then / first for column in (x, y)]
    return float(np.log1p(np.hypot(*errors)).mean()) if three.any() else 0.0


def by_last_steps(t: Floats, x: Floats, y: Floats, tracks: int) -> Integers:
    """int64 [p]: the track of each point, as the last step of each shows; points ascend by time."""
    return np.asarray(join_points(t, x, y, tracks, _ROUNDS))


def least_bent(t: Floats, x: Floats, y: Floats, tracks: int, by_steps: Integers) -> Integers:
    """int64 [p]: the track of each point, by last steps or by a Kalman filter that starts from there."""
    filtered = np.asarray(join_with_filter(t, x, y, by_steps, tracks, _KALMAN_ROUNDS, _FREEDOM))
    return min((by_steps, filtered), key=lambda found: bending(t, x, y, found))


def restored_tracks(
    target: PointTarget, cluster: Integers, by_steps: Integers | None, run: Run, label: str
) -> Integers:
    """int64 [p]: the track that each point seems to be of.

    cluster: [r], whose points may be joined. by_steps: [p] the tracks by last steps if they are known, from
    which the filter starts.
    """
    of_point = cluster[target.record_of_point]
    order = np.lexsort((target.y, target.x, target.t, of_point))
    bounds = np.searchsorted(of_point[order], np.arange(int(cluster.max()) + 2))
    sizes = np.bincount(cluster)
    t, x, y = (column[order] for column in (target.t, target.x, target.y))
    begun = None if by_steps is None else by_steps[order]

    def join(one: int) -> Integers:
        mine = slice(bounds[one], bounds[one + 1])
        points, tracks = (t[mine], x[mine], y[mine]), int(sizes[one])
        if begun is None:
            return by_last_steps(*points, tracks)
        return least_bent(*points, tracks, begun[mine] - begun[mine][:1])

    found = list(run.map(join, range(len(sizes)), label=f"joining points ({label})"))
    counts = [int(part.max(initial=-1)) + 1 for part in found]
    firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    tracks = np.empty(len(order), dtype=np.int64)
    tracks[order] = np.concatenate([part + first for part, first in zip(found, firsts[:-1], strict=True)])
    return tracks
