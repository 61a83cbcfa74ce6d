"""The partner: whoever was mixed with a person in a release of points, and takes the own points away.

What that tells follows from what was done. Where points were shuffled in a cluster, those that are not the
own ones are the others'. Where two traded places, the place in the own record is the other's, who has the own
one. Where a crowd was moved toward its middle, the own step shows the middle, which is everybody's mean.
"""

from typing import Final

import numpy as np

from shoal.attacks.cluster import clusters_of
from shoal.attacks.cylinders import middles_of
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import PointTarget
from shoal.attacks.victims import Victims
from shoal.errors import MisuseError
from shoal.kernels.moved_inward import correct_places
from shoal.model.claims import Claim, KDeltaAnonymity, LocationPrivacy, TrajectoryPrivacy
from shoal.runtime.arrays import Flags, Floats, Integers

_NEAR_M: Final = 1.0  # how near to the truth a place is told, where places were moved
_MOVED_M: Final = 1e-4  # a shorter step is taken for rounding
_PARALLEL: Final = 1e-3  # ways that turn less than that do not say how far on each
_EDGE_M: Final = 1e-3  # how near to the edge of a cylinder a point counts as moved there

Told = tuple[float, float, float]  # of a person: points said of it, right ones of these, those it published


def attack_partner(
    evaluation: Evaluation[PointTarget], members: int = 1, *, rng: np.random.Generator
) -> list[Rate]:
    """What is said of a person, and how much of it is right: a share of what is said, and one of the points.

    members: who collude, drawn at random from those whom the person was mixed with. Guessing: to take the
    person's record as it stands. A raw record is the person's.
    """
    inside, claim = evaluation.around.inside, evaluation.around.claim
    if evaluation.label == "control" or inside is None:
        raise MisuseError("people who are not in the release were mixed with nobody")
    told = np.ones((2, 3, len(evaluation.victims)))
    if claim is not None:
        mixed = _mixed(evaluation, inside, claim)
        for place, victim in enumerate(evaluation.victims.tolist()):
            colluding = rng.permutation(mixed.others(victim))[:members]
            told[1, :, place] = told[0, :, place] = mixed.as_it_stands(victim)
            if len(colluding):
                told[0, :, place] = mixed.told(victim, colluding)
    said, right, all_points = told[0]
    exact, points = (np.divide(right, of, out=np.zeros(len(of)), where=of > 0) for of in (said, all_points))
    lucky = [np.divide(told[1, 1], of, out=np.zeros(len(of)), where=of > 0) for of in told[1, [0, 2]]]
    who = "one" if members == 1 else "all" if members >= evaluation.target.n_records else str(members)
    does = (
        f"Someone who has the raw points of {who} of those that a person was mixed with, takes them away, "
        "and says where and when the person was"
    )
    return [
        Rate.of(
            won,
            name=name,
            knowledge=f"what {who} of those that were mixed with a person know{'s' * (members == 1)}",
            attacker=f"{does}: {share}.",
            target=evaluation.label,
            baseline=float(chance.mean()),
        )
        for name, won, chance, share in (
            ("partner-exact", exact, lucky[0], "the share of what is said that is right"),
            ("partner-points", points, lucky[1], "the share of the person's points that are told so"),
        )
    ]


def _mixed(
    evaluation: Evaluation[PointTarget], inside: Victims, claim: Claim
) -> "Shuffled | Traded | Gathered":
    """Who was mixed with whom, by what the release claims."""
    if isinstance(claim, TrajectoryPrivacy):
        return Shuffled(evaluation, inside)
    if isinstance(claim, LocationPrivacy):
        return Traded(evaluation, inside, claim.time_threshold_s)
    if isinstance(claim, KDeltaAnonymity):
        return Gathered(evaluation, inside, claim.delta_m)
    raise MisuseError(f"nobody was mixed with others in a release that claims {claim.name}")


def records_of(inside: Victims) -> Integers:
    """int64 [n]: the record of everybody, -1 = none."""
    record = np.full(inside.known.n_subjects, -1)
    record[inside.subjects] = inside.own
    return record


class Shuffled:
    """Points that were shuffled in clusters: those of the cluster's records that no colluding member has."""

    def __init__(self, evaluation: Evaluation[PointTarget], inside: Victims) -> None:
        self.target, self.known = evaluation.target, inside.known
        self.record = records_of(inside)
        self.people, self.cluster = inside.subjects, clusters_of(evaluation)
        self.codes = self.target.by_triple.codes_of(self.known.t, self.known.x, self.known.y)
        self.offsets, self.record_of = self.target.offsets, self.target.record_of_point

    def others(self, victim: int) -> Integers:
        """The other members of the cluster."""
        same = self.cluster[self.record[self.people]] == self.cluster[self.record[victim]]
        return np.setdiff1d(self.people[same], [victim])

    def of_person(self, one: int) -> Integers:
        """The numbers of a person's published points."""
        codes = np.unique(self.codes[self.known.offsets[one] : self.known.offsets[one + 1]])
        return codes[codes >= 0]

    def told(self, victim: int, members: Integers) -> Told:
        """What is left is of the others, who are all as likely; so one in so many of these points is said."""
        mine = np.concatenate([self.of_person(one) for one in members.tolist()])
        seen = np.isin(self.target.by_triple.codes, mine)
        records = np.unique(self.record_of[seen])
        left = self.target.by_triple.codes[np.isin(self.record_of, records) & ~seen]
        theirs, share = self.of_person(victim), 1 / max(len(records) - len(members), 1)
        return len(left) * share, float(np.isin(theirs, left).sum()) * share, len(theirs)

    def as_it_stands(self, victim: int) -> Told:
        """The points of the person's record."""
        own = self.record[victim]
        shown = self.target.by_triple.codes[self.offsets[own] : self.offsets[own + 1]]
        theirs = self.of_person(victim)
        return len(shown), float(np.isin(theirs, shown).sum()), len(theirs)


class Traded:
    """Places that two people traded, each keeping the own times."""

    def __init__(self, evaluation: Evaluation[PointTarget], inside: Victims, within_s: float) -> None:
        self.target, self.known, self.within_s = evaluation.target, inside.known, within_s
        self.record = records_of(inside)
        self.shown = self.target.by_place.codes
        self.place = self.target.by_place.codes_of(self.known.x, self.known.y)
        self.order = np.argsort(self.shown, kind="stable")
        self.ascending = self.shown[self.order]
        self.person_of = np.repeat(np.arange(self.known.n_subjects), self.known.lengths)

    def own(self, one: int) -> tuple[Integers, Integers]:
        """Points [p] of a person's record, and raw rows [p] of the same times; of several equal ones one."""
        record = self.record[one]
        points = np.arange(self.target.offsets[record], self.target.offsets[record + 1])
        first, last = self.known.offsets[one], self.known.offsets[one + 1]
        rows = first + np.searchsorted(self.known.t[first:last], self.target.t[points])
        return points, np.minimum(rows, last - 1)

    def others(self, victim: int) -> Integers:
        """Whose places stand in the person's record."""
        points, rows = self.own(victim)
        foreign = self.shown[points][self.shown[points] != self.place[rows]]
        others = np.setdiff1d(self.person_of[np.isin(self.place, foreign)], [victim])
        return np.asarray(others[self.record[others] >= 0])

    def told(self, victim: int, members: Integers) -> Told:
        """Who has a member's place gave the one in the member's record; several with it are as likely."""
        said = right = 0.0
        shown, (points, rows) = self.shown, self.own(victim)
        true = self.place[rows]
        for one in members.tolist():
            for point, row in zip(*self.own(one), strict=True):
                if shown[point] == self.place[row] or self.place[row] < 0:
                    continue
                begin, end = (
                    np.searchsorted(shown, self.place[row], sorter=self.order),
                    np.searchsorted(shown, self.place[row], side="right", sorter=self.order),
                )
                there = self.order[begin:end]
                there = there[np.abs(self.target.t[there] - self.known.t[row]) <= self.within_s]
                theirs = there[self.target.record_of_point[there] == self.record[victim]]
                said += len(theirs) / max(len(there), 1)
                right += float((true[theirs - points[0]] == shown[point]).sum()) / max(len(there), 1)
        return said, right, len(points)

    def as_it_stands(self, victim: int) -> Told:
        """The points of the person's record."""
        points, rows = self.own(victim)
        return len(points), float((self.shown[points] == self.place[rows]).sum()), len(points)


class Gathered:
    """Crowds whose points were moved to within half of delta of their mean, at the same times."""

    def __init__(self, evaluation: Evaluation[PointTarget], inside: Victims, delta_m: float) -> None:
        self.target, self.known, self.delta_m = evaluation.target, inside.known, delta_m
        self.record = records_of(inside)
        alike: dict[bytes, list[int]] = {}
        for one in inside.subjects.tolist():
            alike.setdefault(self.published(one)[0].tobytes(), []).append(one)
        self.alike: dict[bytes, tuple[Integers, Floats]] = {}
        for times, people in alike.items():
            places = np.empty((len(people), len(times) // self.target.t.itemsize, 2))
            for row, one in enumerate(people):
                places[row] = self.published(one)[1]
            self.alike[times] = np.array(people), places

    def published(self, one: int) -> tuple[Floats, Floats]:
        """Times [s] and places [s, 2] of a person's record."""
        rows = slice(*self.target.offsets[self.record[one] + np.arange(2)].tolist())
        return self.target.t[rows], np.column_stack([self.target.x[rows], self.target.y[rows]])

    def raw_at(self, one: int, t: Floats) -> Floats:
        """Where a person was [s, 2], on straight lines; of several places at one time the first."""
        moments, *places = self.known.samples_of(one)
        moments, first = np.unique(moments, return_index=True)
        return np.column_stack([np.interp(t, moments, column[first]) for column in places])

    def others(self, victim: int) -> Integers:
        """Who is within delta of the person's record at all its times, and at no other."""
        t, places = self.published(victim)
        people, there = self.alike[t.tobytes()]
        apart = np.hypot(there[..., 0] - places[:, 0], there[..., 1] - places[:, 1])
        return np.setdiff1d(people[(apart <= self.delta_m).all(axis=1)], [victim])

    def told(self, victim: int, members: Integers) -> Told:
        """Where the person was at each published time, as far as the middle and the others tell it."""
        t, shown = self.published(victim)
        others = self.others(victim)
        x = np.stack([self.raw_at(one, t) for one in members.tolist()])
        p, q = (
            np.stack([self.published(one)[1] for one in some.tolist()] or [shown])
            for some in (members, np.setdiff1d(others, members))
        )
        strangers, radius = len(others) - len(members), self.delta_m / 2
        middle = self._middle(victim, x, p, np.concatenate([p, q, shown[None]]))
        places = np.stack(
            [self._moved_from(one, x[row], p[row], middle) for row, one in enumerate(members.tolist())]
        )
        at_edge = _away(shown, middle) >= radius - _EDGE_M
        moved = (_away(q, middle) >= radius - _EDGE_M) & (strangers > 0)
        known = places.sum(axis=0) + np.where(moved[..., None], 0, q * (strangers > 0)).sum(axis=0)
        alone, told = at_edge & ~moved.any(axis=0), shown.copy()
        told[alone] = ((len(others) + 1) * middle - known)[alone]
        pair = at_edge & (moved.sum(axis=0) == 1)
        other = q[moved.argmax(axis=0), np.arange(len(t))]
        both = (len(others) + 1) * middle - known  # where the two were, added
        far, sure = _far_along(shown - middle, other - middle, both - 2 * middle)
        told = np.where((pair & sure)[:, None], middle + far[:, None] * (shown - middle), told)
        right = np.hypot(*(told - self.raw_at(victim, t)).T) <= _NEAR_M
        return len(t), float(right.sum()), len(t)

    def _middle(self, victim: int, x: Floats, p: Floats, crowd: Floats) -> Floats:
        """The middle [s, 2] of the cylinder at each time.

        A member's step, from where it was x [m, s, 2] to where it stands p, leads straight there, and ends at
        the edge. Where no step does so that everybody of the crowd [n, s, 2] is within it, published points
        show it.
        """
        radius = self.delta_m / 2
        step = p - x
        size = np.hypot(step[..., 0], step[..., 1])
        most, every = size.argmax(axis=0), np.arange(x.shape[1])
        size = size[most, every]
        middle = p[most, every] + step[most, every] / np.maximum(size, _MOVED_M)[:, None] * radius
        shows = (size > _MOVED_M) & (_away(crowd, middle).max(axis=0) <= radius + _EDGE_M)
        own = slice(*self.target.offsets[self.record[victim] + np.arange(2)].tolist())
        return np.where(shows[:, None], middle, middles_of(self.target, self.delta_m)[own])

    def _moved_from(self, one: int, x: Floats, p: Floats, middle: Floats) -> Floats:
        """Where [s, 2] a member was who now stands at p: at x, or where a move from an own sample ends there.

        W4M moves samples in time, too; so they may have been there at any time.
        """
        found = x.copy()
        samples = np.column_stack(self.known.samples_of(one)[1:])
        correct_places(samples, middle, self.delta_m / 2, p, _EDGE_M, found)
        return found

    def as_it_stands(self, victim: int) -> Told:
        """The points of the person's record."""
        t, shown = self.published(victim)
        right = np.hypot(*(shown - self.raw_at(victim, t)).T) <= _NEAR_M
        return len(t), float(right.sum()), len(t)


def _away(places: Floats, middle: Floats) -> Floats:
    """How far places [..., 2] are from others."""
    return np.asarray(np.hypot(*np.moveaxis(places - middle, -1, 0)))


def _far_along(one: Floats, other: Floats, both: Floats) -> tuple[Floats, Flags]:
    """(how many times the first way [s, 2], with some times the second, gives both; whether that is sure).

    People at an edge were moved there from outside: each goes its way at least once.
    """
    across = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    sure = np.abs(across) > _PARALLEL * np.hypot(*one.T) * np.hypot(*other.T)
    across = np.where(sure, across, 1.0)
    far = (both[:, 0] * other[:, 1] - both[:, 1] * other[:, 0]) / across
    farther = (one[:, 0] * both[:, 1] - one[:, 1] * both[:, 0]) / across
    return far, sure & (far >= 1) & (farther >= 1)
