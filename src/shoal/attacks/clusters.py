"""Clusters and tracks, inferred from swapped points alone.

The records of a cluster take one point each of every swap set: they have equally many points, and points at
equal shares of them are near.
"""

from typing import Final

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import PointTarget, RowsByCode
from shoal.errors import MisuseError
from shoal.kernels.kalman import join_with_filter
from shoal.kernels.tracking import find_most_similar, form_clusters, join_points, make_outlines
from shoal.runtime.arrays import Floats, Integers, components, offsets_of
from shoal.runtime.run import Run


def attack_cluster(
    evaluation: Evaluation[PointTarget], places: int = 0, *, rng: np.random.Generator
) -> list[Rate]:
    """Name a record that another was mixed with, or points of a person by the most visited places.

    Two records were mixed if both hold points of one person.
    """
    del rng  # nothing is drawn: the whole release is looked at
    if evaluation.label == "control":
        raise MisuseError("people who are not in the release have no record that others were mixed with")
    if places:
        return _points_by_places(evaluation, places)
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


def _points_by_places(evaluation: Evaluation[PointTarget], most: int) -> list[Rate]:
    target, people, claim = evaluation.target, evaluation.people, evaluation.context.claim
    place_of, raw_places = target.by_place.codes, target.by_place.codes_of(people.x, people.y)
    triple_of, raw_triples = target.by_triple.codes, target.by_triple.codes_of(people.t, people.x, people.y)
    cluster = np.arange(target.n_records)
    if claim is not None:
        cluster = similarity_in(target, claim.k).clusters(claim.k)
    of_point = cluster[target.record_of_point]
    by_cluster = np.argsort(of_point, kind="stable")
    bounds = np.searchsorted(of_point[by_cluster], np.arange(int(cluster.max()) + 2))
    by_place = RowsByCode(place_of)
    shares, won = 1 / np.maximum(np.diff(bounds), 1), np.zeros((4, len(evaluation.victims)))
    for number, victim in enumerate(evaluation.victims.tolist()):
        rows = slice(people.offsets[victim], people.offsets[victim + 1])
        visited, visits = np.unique(raw_places[rows][raw_places[rows] >= 0], return_counts=True)
        known = visited[np.argsort(-visits, kind="stable")[:most]]
        if not len(known):
            continue
        there = by_place.of(known)
        shown = [np.bincount(of_point[at], minlength=len(shares)) * shares for at in there]
        best = int(np.argmax(np.log(np.array(shown) + _RARE).sum(axis=0)))
        points = by_cluster[bounds[best] : bounds[best + 1]]
        at_known = np.isin(place_of[points], known)
        inside, away = points[at_known], points[~at_known]
        near = _nearest_places(target, away, inside)
        for way, claimed in enumerate((inside, near, np.concatenate(there), away)):
            right = np.isin(triple_of[claimed], raw_triples[rows])
            won[way, number] = right.mean() if len(claimed) else 0
    knows = f"{most} most visited place{'s' * (most > 1)}"
    does = (
        f"Someone who knows the {knows} of a person takes the mixed records that show most of them, and says"
    )
    return [
        evaluation.rate_of(
            right,
            name=name,
            knowledge=knows,
            attacker=f"{does} that all points {which} are the person's.",
            baseline=float(guessed.mean()),
        )
        for name, right, guessed, which in (
            ("cluster-points", won[0], won[2], "at these places"),
            ("cluster-away", won[1], won[3], f"at the nearest {_AWAY}th part of their other places"),
        )
    ]


def _nearest_places(target: PointTarget, points: Integers, known: Integers) -> Integers:
    """Of these points those at the places nearest to known points."""
    if not len(points) or not len(known):
        return points[:0]
    places, first, place_of = np.unique(target.by_place.codes[points], return_index=True, return_inverse=True)
    anchors = known[np.unique(target.by_place.codes[known], return_index=True)[1]]
    at = points[first]
    away_m = np.hypot(target.x[at, None] - target.x[anchors], target.y[at, None] - target.y[anchors]).min(
        axis=1
    )
    nearest = np.argsort(away_m, kind="stable")[: max(len(places) // _AWAY, 1)]
    return points[np.isin(place_of.ravel(), nearest)]


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


_RARE: Final = 1e-4  # of a cluster's points, at a place that none of them shows
_AWAY: Final = 8  # places of a cluster, for each that is taken for the person's
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

    def clusters(self, size: int) -> Integers:
        """int64 [r]: the cluster of each record, of this many records."""
        return np.asarray(form_clusters(self.outlines, self.names, self.values, size, self.per_s, self.per_m))

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


def similarity_in(target: PointTarget, k: int) -> RecordSimilarity:
    """The records most similar to each, enough for clusters of k; computed once for a target."""
    if k not in target.similarity:
        target.similarity[k] = RecordSimilarity(target, 4 * k)
    return target.similarity[k]


def smoothest_tracks(target: PointTarget, k: int, run: Run, label: str) -> Integers:
    """int64 [p]: the track that each point seems to belong to.

    Of several groupings, the one whose tracks by last steps bend least; the filter runs on that one only:
    choosing by its result prefers loose groupings, and restores less.
    """
    if k in target.tracks:
        return target.tracks[k]
    similarity = similarity_in(target, k)
    sizes = dict.fromkeys((k, 2 * k, max(min(8 * k, _MOST_TOGETHER), k)))
    gathered = [similarity.clusters(size) for size in sizes]
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
    firsts = offsets_of(int(part.max(initial=-1)) + 1 for part in parts)
    tracks = np.empty(len(order), dtype=np.int64)
    tracks[order] = np.concatenate([part + first for part, first in zip(parts, firsts[:-1], strict=True)])
    return tracks
