"""Clusters and tracks, inferred from swapped points alone.

The records of a cluster take one point each of every swap set: they have equally many points, and points at
equal shares of them are near.
"""

from typing import Final

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import PointTarget
from shoal.errors import MisuseError
from shoal.kernels.kalman import join_with_filter
from shoal.kernels.tracking import find_most_similar, form_clusters, join_points, make_outlines
from shoal.runtime.arrays import Floats, Integers, components
from shoal.runtime.run import Run


def attack_cluster(evaluation: Evaluation[PointTarget], *, rng: np.random.Generator) -> list[Rate]:
    """Name a record that another was mixed with: both hold points of one person."""
    del rng  # nothing is drawn: the whole release is looked at
    if evaluation.label == "control":
        raise MisuseError("people who are not in the release have no record that others were mixed with")
    target = evaluation.target
    together = clusters_of(evaluation)
    if evaluation.context.claim is None:
        named = np.full(target.n_records, -1, dtype=np.int64)
    else:
        named = RecordSimilarity(target, 1).names[:, 0]
    records = evaluation.records
    right = (named[records] >= 0) & (together[named[records]] == together[records])
    sizes = np.bincount(together)[together[records]]
    return [
        evaluation.rate_of(
            right,
            name="cluster-pairs",
            knowledge="the release alone",
            attacker="Someone who takes a record and names the one that is most like it in length, times and "
            "places, as one that it was mixed with.",
            baseline=float((sizes - 1).mean()) / max(target.n_records - 1, 1),
        )
    ]


def clusters_of(evaluation: Evaluation[PointTarget]) -> Integers:
    """int64 [r]: equal for records that share people's points, even indirectly."""
    target, inside = evaluation.target, evaluation.context.inside
    if inside is None:
        return np.arange(target.n_records)
    people = inside.people
    owner_of = np.full(int(target.by_triple.codes.max()) + 1, -1, dtype=np.int64)
    numbers = target.by_triple.codes_of(people.t, people.x, people.y)
    owners = np.repeat(np.arange(people.n_subjects), people.lengths)
    owner_of[numbers[numbers >= 0]] = owners[numbers >= 0]
    owner = owner_of[target.by_triple.codes]
    people_of = target.n_records + owner[owner >= 0]  # nodes behind those of the records
    both = target.n_records + people.n_subjects
    return components(both, people_of, target.record_of_point[owner >= 0])[: target.n_records]


_SHARES: Final = 24  # of a record's points, at which records are compared
_ROUNDS: Final = 2  # of joining by speed and heading
_KALMAN_ROUNDS: Final = 3
_FREEDOM: Final = 1.0  # degrees, of the filter's errors: heavy tails
_MOST_TOGETHER: Final = 40  # records whose points are joined at once
_EQUAL_FROM: Final = (
    0.5  # share of records as long as the most like one, from which length gives clusters away
)


class RecordSimilarity:
    """The most similar records of each: names [r, l], and differences, values [r, l]."""

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
        self.per_s, self.per_m = (
            self._scale_of_feature(kind, *scales) for scales in ((1.0, 0.0), (0.0, 1.0))
        )
        return self._listed(kind, most, self.per_s, self.per_m)

    def _scale_of_feature(self, kind: Integers, per_s: float, per_m: float) -> float:
        least = self._listed(kind, 1, per_s, per_m)[1]
        least = least[np.isfinite(least)]
        return 1 / max(float(np.median(least)), 1e-9) if len(least) else 1.0

    def _listed(self, kind: Integers, most: int, per_s: float, per_m: float) -> tuple[Integers, Floats]:
        shape = (len(self.outlines), most)
        names, values = np.empty(shape, dtype=np.int64), np.empty(shape)
        find_most_similar(self.outlines, kind, per_s, per_m, names, values)
        return names, values


def smoothest_tracks(target: PointTarget, k: int, run: Run, label: str) -> Integers:
    """int64 [p]: the track that each point seems to belong to.

    Of several groupings, the one whose tracks by last steps bend least; the filter runs on that one only:
    choosing by its result prefers loose groupings, and restores less.
    """
    if k in target.tracks:
        return target.tracks[k]
    similarity = RecordSimilarity(target, 4 * k)
    gathered = [
        np.asarray(
            form_clusters(
                similarity.outlines,
                similarity.names,
                similarity.values,
                size,
                similarity.per_s,
                similarity.per_m,
            )
        )
        for size in dict.fromkeys((k, 2 * k, max(min(8 * k, _MOST_TOGETHER), k)))
    ]
    by_steps = [restored_tracks(target, cluster, None, run, label) for cluster in gathered]
    bends = [bending(target.t, target.x, target.y, tracks) for tracks in by_steps]
    least = bends.index(min(bends))
    target.tracks[k] = restored_tracks(target, gathered[least], by_steps[least], run, label)
    return target.tracks[k]


def bending(t: Floats, x: Floats, y: Floats, tracks: Integers) -> float:
    """How much tracks [p] bend from step to step: the mean of log(1 + meters)."""
    order = np.lexsort((t, tracks))
    (t, x, y), track_of = (column[order] for column in (t, x, y)), tracks[order]
    three = (track_of[2:] == track_of[:-2]) & (t[1:-1] > t[:-2])
    first, then = (np.diff(t)[part][three] for part in (slice(None, -1), slice(1, None)))
    errors = [np.diff(column)[1:][three] - np.diff(column)[:-1][three] * then / first for column in (x, y)]
    return float(np.log1p(np.hypot(*errors)).mean()) if three.any() else 0.0


def by_last_steps(t: Floats, x: Floats, y: Floats, tracks: int) -> Integers:
    """int64 [p]: the track of each point by last steps; points ascend by time."""
    return np.asarray(join_points(t, x, y, tracks, _ROUNDS))


def straighter_tracks(t: Floats, x: Floats, y: Floats, tracks: int, by_steps: Integers) -> Integers:
    """int64 [p]: the track of each point, by last steps or by a Kalman filter from there."""
    filtered = np.asarray(join_with_filter(t, x, y, by_steps, tracks, _KALMAN_ROUNDS, _FREEDOM))
    return min((by_steps, filtered), key=lambda tracks_of: bending(t, x, y, tracks_of))


def restored_tracks(
    target: PointTarget, cluster: Integers, by_steps: Integers | None, run: Run, label: str
) -> Integers:
    """int64 [p]: the track of each point; cluster [r]: records joined; by_steps [p]: the start."""
    of_point = cluster[target.record_of_point]
    order = np.lexsort((target.y, target.x, target.t, of_point))
    bounds = np.searchsorted(of_point[order], np.arange(int(cluster.max()) + 2))
    sizes = np.bincount(cluster)
    t, x, y = (column[order] for column in (target.t, target.x, target.y))
    start_tracks = None if by_steps is None else by_steps[order]

    def join(one: int) -> Integers:
        mine = slice(bounds[one], bounds[one + 1])
        points, tracks = (t[mine], x[mine], y[mine]), int(sizes[one])
        if start_tracks is None:
            return by_last_steps(*points, tracks)
        return straighter_tracks(*points, tracks, start_tracks[mine] - start_tracks[mine][:1])

    parts = list(run.map(join, range(len(sizes)), label=f"joining points ({label})"))
    counts = [int(part.max(initial=-1)) + 1 for part in parts]
    firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    tracks = np.empty(len(order), dtype=np.int64)
    tracks[order] = np.concatenate([part + first for part, first in zip(parts, firsts[:-1], strict=True)])
    return tracks
