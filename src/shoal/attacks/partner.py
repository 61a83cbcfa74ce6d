"""The partner: a person mixed with another in a release of points subtracts their own.

Shuffled points of a cluster that are not the partner's are the others'. Of two who exchanged places, each
record shows the other's. A crowd was moved toward its middle, which the partner's own step shows.
"""

from typing import Final

import numpy as np

from shoal.attacks.clusters import clusters_of
from shoal.attacks.cylinders import middles_of
from shoal.attacks.evaluation import Evaluation, Victims
from shoal.attacks.rate import Rate
from shoal.attacks.target import PointTarget, RowsByCode
from shoal.errors import MisuseError
from shoal.kernels.moved_inward import correct_places
from shoal.model.claims import Claim, KDeltaAnonymity, LocationPrivacy, TrajectoryPrivacy
from shoal.runtime.arrays import Flags, Floats, Integers

_NEAR_M: Final = 1.0  # how near to the truth a place is told, where places were moved
_MOVED_M: Final = 1e-4  # a shorter step is taken for rounding
_PARALLEL: Final = 1e-3  # ways that turn less than that do not say how far on each
_EDGE_M: Final = 1e-3  # how near to the edge of a cylinder a point counts as moved there

Score = tuple[float, float, float]  # of a person: points said of it, right ones of these, those it published


def attack_partner(
    evaluation: Evaluation[PointTarget], members: int = 1, *, rng: np.random.Generator
) -> list[Rate]:
    """Claims about a person that are right: as a share of claims, and of the person's points.

    members: drawn from those mixed with the person. Baseline: the person's record.
    """
    inside, claim = evaluation.context.inside, evaluation.context.claim
    if evaluation.label == "control" or inside is None:
        raise MisuseError("people who are not in the release were mixed with nobody")
    counts = np.ones((2, 3, len(evaluation.victims)))
    if claim is not None:
        mixed = _mixed(evaluation, inside, claim)
        for place, victim in enumerate(evaluation.victims.tolist()):
            colluding = rng.permutation(mixed.others(victim))[:members]
            counts[1, :, place] = counts[0, :, place] = mixed.guess_from_record(victim)
            if len(colluding):
                counts[0, :, place] = mixed.guess(victim, colluding)
    claimed, right, all_points = counts[0]
    exact, points = (
        np.divide(right, of, out=np.zeros(len(of)), where=of > 0) for of in (claimed, all_points)
    )
    lucky = [np.divide(counts[1, 1], of, out=np.zeros(len(of)), where=of > 0) for of in counts[1, [0, 2]]]
    who = "one" if members == 1 else "all" if members >= evaluation.target.n_records else str(members)
    does = (
        f"Someone who has the raw points of {who} of those that a person was mixed with, takes them away, "
        "and says where and when the person was"
    )
    return [
        evaluation.rate_of(
            won,
            name=name,
            knowledge=f"what {who} of those that were mixed with a person know{'s' * (members == 1)}",
            attacker=f"{does}: {share}.",
            baseline=float(chance.mean()),
        )
        for name, won, chance, share in (
            ("partner-exact", exact, lucky[0], "the share of what is said that is right"),
            ("partner-points", points, lucky[1], "the share of the person's points that are told so"),
        )
    ]


def _mixed(
    evaluation: Evaluation[PointTarget], inside: Victims, claim: Claim
) -> "GuessInClusters | ExchangedPlaces | MovedCrowds":
    if isinstance(claim, TrajectoryPrivacy):
        return GuessInClusters(evaluation, inside)
    if isinstance(claim, LocationPrivacy):
        return ExchangedPlaces(evaluation, inside, claim.time_threshold_s)
    if isinstance(claim, KDeltaAnonymity):
        return MovedCrowds(evaluation, inside, claim.delta_m)
    raise MisuseError(f"nobody was mixed with others in a release that claims {claim.name}")


def records_of(inside: Victims) -> Integers:
    """int64 [n]: each person's record, -1 = none."""
    record = np.full(inside.people.n_subjects, -1)
    record[inside.subjects] = inside.records
    return record


class GuessInClusters:
    """Points shuffled in clusters: claims are the points of the cluster that no member has."""

    def __init__(self, evaluation: Evaluation[PointTarget], inside: Victims) -> None:
        self.target, self.people = evaluation.target, inside.people
        self.record = records_of(inside)
        self.subjects, self.cluster = inside.subjects, clusters_of(evaluation)
        self.codes = self.target.by_triple.codes_of(self.people.t, self.people.x, self.people.y)
        self.offsets, self.record_of = self.target.offsets, self.target.record_of_point

    def others(self, victim: int) -> Integers:
        """The other members."""
        same = self.cluster[self.record[self.subjects]] == self.cluster[self.record[victim]]
        return np.setdiff1d(self.subjects[same], [victim])

    def of_person(self, person: int) -> Integers:
        """The numbers of a person's points."""
        codes = np.unique(self.codes[self.people.offsets[person] : self.people.offsets[person + 1]])
        return codes[codes >= 0]

    def guess(self, victim: int, members: Integers) -> Score:
        """The remaining points are the others', all equally likely."""
        members_codes = np.concatenate([self.of_person(person) for person in members.tolist()])
        seen = np.isin(self.target.by_triple.codes, members_codes)
        records = np.unique(self.record_of[seen])
        remaining = self.target.by_triple.codes[np.isin(self.record_of, records) & ~seen]
        victim_codes, share = self.of_person(victim), 1 / max(len(records) - len(members), 1)
        return (
            len(remaining) * share,
            float(np.isin(victim_codes, remaining).sum()) * share,
            len(victim_codes),
        )

    def guess_from_record(self, victim: int) -> Score:
        """Claim the points of the person's record."""
        own_record = self.record[victim]
        record_codes = self.target.by_triple.codes[self.offsets[own_record] : self.offsets[own_record + 1]]
        victim_codes = self.of_person(victim)
        return len(record_codes), float(np.isin(victim_codes, record_codes).sum()), len(victim_codes)


class ExchangedPlaces:
    """Places that two people exchanged, keeping their times."""

    def __init__(self, evaluation: Evaluation[PointTarget], inside: Victims, within_s: float) -> None:
        self.target, self.people, self.within_s = evaluation.target, inside.people, within_s
        self.record = records_of(inside)
        self.place_codes = self.target.by_place.codes
        self.raw_codes = self.target.by_place.codes_of(self.people.x, self.people.y)
        self.by_place = RowsByCode(self.place_codes)
        self.person_of = np.repeat(np.arange(self.people.n_subjects), self.people.lengths)

    def record_points(self, person: int) -> tuple[Integers, Integers]:
        """Points [p] of a person's record, and raw rows [p] of the same times."""
        record = self.record[person]
        points = np.arange(self.target.offsets[record], self.target.offsets[record + 1])
        first, last = self.people.offsets[person], self.people.offsets[person + 1]
        rows = first + np.searchsorted(self.people.t[first:last], self.target.t[points])
        return points, np.minimum(rows, last - 1)

    def others(self, victim: int) -> Integers:
        """People whose places stand in the person's record."""
        points, rows = self.record_points(victim)
        foreign = self.place_codes[points][self.place_codes[points] != self.raw_codes[rows]]
        others = np.setdiff1d(self.person_of[np.isin(self.raw_codes, foreign)], [victim])
        return np.asarray(others[self.record[others] >= 0])

    def guess(self, victim: int, members: Integers) -> Score:
        """Who has a member's place gave the one in the member's record."""
        claimed = right = 0.0
        place_codes, (points, rows) = self.place_codes, self.record_points(victim)
        true = self.raw_codes[rows]
        for member in members.tolist():
            for point, row in zip(*self.record_points(member), strict=True):
                if place_codes[point] == self.raw_codes[row] or self.raw_codes[row] < 0:
                    continue
                (with_place,) = self.by_place.of(self.raw_codes[row : row + 1])
                with_place = with_place[
                    np.abs(self.target.t[with_place] - self.people.t[row]) <= self.within_s
                ]
                theirs = with_place[self.target.record_of_point[with_place] == self.record[victim]]
                claimed += len(theirs) / max(len(with_place), 1)
                right += float((true[theirs - points[0]] == place_codes[point]).sum()) / max(
                    len(with_place), 1
                )
        return claimed, right, len(points)

    def guess_from_record(self, victim: int) -> Score:
        """Claim the points of the person's record."""
        points, rows = self.record_points(victim)
        return len(points), float((self.place_codes[points] == self.raw_codes[rows]).sum()), len(points)


class MovedCrowds:
    """Crowds whose points were moved to within half of delta of their mean."""

    def __init__(self, evaluation: Evaluation[PointTarget], inside: Victims, delta_m: float) -> None:
        self.target, self.people, self.delta_m = evaluation.target, inside.people, delta_m
        self.record = records_of(inside)
        people_by_times: dict[bytes, list[int]] = {}
        for person in inside.subjects.tolist():
            people_by_times.setdefault(self.published(person)[0].tobytes(), []).append(person)
        self.people_by_times: dict[bytes, tuple[Integers, Floats]] = {}
        for times, people in people_by_times.items():
            places = np.empty((len(people), len(times) // self.target.t.itemsize, 2))
            for row, person in enumerate(people):
                places[row] = self.published(person)[1]
            self.people_by_times[times] = np.array(people), places

    def published(self, person: int) -> tuple[Floats, Floats]:
        """Times [s] and places [s, 2] of a person's record."""
        rows = slice(*self.target.offsets[self.record[person] + np.arange(2)].tolist())
        return self.target.t[rows], np.column_stack([self.target.x[rows], self.target.y[rows]])

    def raw_at(self, person: int, t: Floats) -> Floats:
        """Where a person was [s, 2], on straight lines."""
        moments, *places = self.people.samples_of(person)
        moments, first = np.unique(moments, return_index=True)
        return np.column_stack([np.interp(t, moments, column[first]) for column in places])

    def others(self, victim: int) -> Integers:
        """People within delta of the person's record at all its times, and at no other."""
        t, places = self.published(victim)
        people, crowd_places = self.people_by_times[t.tobytes()]
        apart = np.hypot(crowd_places[..., 0] - places[:, 0], crowd_places[..., 1] - places[:, 1])
        return np.setdiff1d(people[(apart <= self.delta_m).all(axis=1)], [victim])

    def guess(self, victim: int, members: Integers) -> Score:
        """Where the person was, inferred from the middle and the others."""
        t, record_places = self.published(victim)
        others = self.others(victim)
        x = np.stack([self.raw_at(one, t) for one in members.tolist()])
        p, q = (
            np.stack([self.published(one)[1] for one in some.tolist()] or [record_places])
            for some in (members, np.setdiff1d(others, members))
        )
        strangers, radius = len(others) - len(members), self.delta_m / 2
        middle = self._middle(victim, x, p, np.concatenate([p, q, record_places[None]]))
        places = x.copy()  # where each was moved from: these, or any raw sample (W4M moves times, too)
        for row, one in enumerate(members.tolist()):
            samples = np.column_stack(self.people.samples_of(one)[1:])
            correct_places(samples, middle, radius, p[row], _EDGE_M, places[row])
        at_edge = _away(record_places, middle) >= radius - _EDGE_M
        moved = (_away(q, middle) >= radius - _EDGE_M) & (strangers > 0)
        known_total = places.sum(axis=0) + np.where(moved[..., None], 0, q * (strangers > 0)).sum(axis=0)
        alone, guessed = at_edge & ~moved.any(axis=0), record_places.copy()
        guessed[alone] = ((len(others) + 1) * middle - known_total)[alone]
        pair = at_edge & (moved.sum(axis=0) == 1)
        other = q[moved.argmax(axis=0), np.arange(len(t))]
        both = (len(others) + 1) * middle - known_total  # where the two were, added
        far, sure = _far_along(record_places - middle, other - middle, both - 2 * middle)
        guessed = np.where((pair & sure)[:, None], middle + far[:, None] * (record_places - middle), guessed)
        right = np.hypot(*(guessed - self.raw_at(victim, t)).T) <= _NEAR_M
        return len(t), float(right.sum()), len(t)

    def _middle(self, victim: int, x: Floats, p: Floats, crowd: Floats) -> Floats:
        """A member's step, from x [m, s, 2] to p, leads straight toward the middle and ends at the edge.

        Where no step does so with the whole crowd [n, s, 2] inside, published points show it.
        """
        radius = self.delta_m / 2
        step = p - x
        size = np.hypot(step[..., 0], step[..., 1])
        most, every = size.argmax(axis=0), np.arange(x.shape[1])
        size = size[most, every]
        middle = p[most, every] + step[most, every] / np.maximum(size, _MOVED_M)[:, None] * radius
        shows = (size > _MOVED_M) & (_away(crowd, middle).max(axis=0) <= radius + _EDGE_M)
        record_rows = slice(*self.target.offsets[self.record[victim] + np.arange(2)].tolist())
        return np.where(shows[:, None], middle, middles_of(self.target, self.delta_m)[record_rows])

    def guess_from_record(self, victim: int) -> Score:
        """Claim the points of the person's record."""
        t, record_places = self.published(victim)
        right = np.hypot(*(record_places - self.raw_at(victim, t)).T) <= _NEAR_M
        return len(t), float(right.sum()), len(t)


def _away(places: Floats, middle: Floats) -> Floats:
    return np.asarray(np.hypot(*np.moveaxis(places - middle, -1, 0)))


def _far_along(one: Floats, other: Floats, both: Floats) -> tuple[Floats, Flags]:
    """(factor of one vector [s, 2] in the sum, at least 1 as people come from outside; its certainty)."""
    across = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    sure = np.abs(across) > _PARALLEL * np.hypot(*one.T) * np.hypot(*other.T)
    across = np.where(sure, across, 1.0)
    far = (both[:, 0] * other[:, 1] - both[:, 1] * other[:, 0]) / across
    farther = (one[:, 0] * both[:, 1] - one[:, 1] * both[:, 0]) / across
    return far, sure & (far >= 1) & (farther >= 1)
