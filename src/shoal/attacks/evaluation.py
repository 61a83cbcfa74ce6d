"""One evaluation: who is looked for, among which records, with whose knowledge."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from shoal.attacks.adversary import Adversary
from shoal.attacks.rate import TargetName
from shoal.attacks.target import BoxTarget, PointTarget
from shoal.attacks.victims import Victims
from shoal.model.claims import Claim, KDeltaAnonymity
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.run import Run

Target = TypeVar("Target", BoxTarget, PointTarget)


Earlier = tuple[Release, Linkage]


@dataclass(frozen=True, eq=False, kw_only=True)
class Surroundings:
    """What stands around the victims, for adversaries who are in it.

    claim: what the release says of itself; None = raw data. inside: everybody who has a record in the target,
    and outside: people who have none, both in the form of the target. earlier: an earlier release of the same
    people, and its linkage, which tells who was right.
    """

    claim: Claim | None = None
    inside: Victims | None = None
    outside: Victims | None = None
    earlier: Earlier | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation(Generic[Target]):
    """One adversary's task on one target.

    Parameters
    ----------
    known
        The raw data that knowledge comes from: snapped for boxes, as given for points.
    target
        The records to search in.
    victims
        int64 [v]: positions of subjects in ``known``.
    own
        int64 [v]: the record of each victim in ``target``. A person of the control group has none; a record
        drawn at random stands in, so that the rate shows what luck alone gives.
    label
        ``raw``, ``release`` or ``control``.
    start
        When the raw data begins: a slot of ``known`` if it is snapped, otherwise seconds.
    run
        Progress and threads.
    around
        Who and what else is there.
    as_given
        The same with points as given, where this is of the cells of records that were moved into cylinders.
        None = it is not.
    """

    known: Trajectories
    target: Target
    victims: Integers
    own: Integers
    label: TargetName
    start: float
    run: Run
    around: Surroundings = field(default_factory=Surroundings)
    as_given: "Evaluation[PointTarget] | None" = None

    @property
    def guess(self) -> float:
        """The chance to name the right record without knowing anything."""
        return 1 / self.target.n_records

    @property
    def clusters(self) -> Integers:
        """int64 [v]: victims of equal number share a record, and so win and lose together."""
        return self.target.class_of[self.own]

    @property
    def most(self) -> float:
        """The greatest chance to name anybody's record: 1 / k where k records are equal."""
        return 1 / int(np.bincount(self.target.class_of).min())

    def draw_rows(self, victim: int, most: int, rng: np.random.Generator) -> Integers:
        """Rows of ``known``: ``most`` different random samples of a victim, all of those who have fewer."""
        length = int(self.known.lengths[victim])
        return np.asarray(
            self.known.offsets[victim] + rng.choice(length, size=min(most, length), replace=False)
        )

    def draw_samples(self, most: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """(offsets [v + 1], samples [m, 3] of t, x, y): ``most`` random samples of each victim."""
        rows: list[Integers] = [self.draw_rows(victim, most, rng) for victim in self.victims.tolist()]
        offsets = np.cumsum([0, *(len(own) for own in rows)], dtype=np.int64)
        taken = np.concatenate(rows)
        return offsets, np.column_stack([self.known.t[taken], self.known.x[taken], self.known.y[taken]])


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluations:
    """The same victims on every target, for adversaries of boxes and for those of points as given.

    original: raw data on the release's grid, or as given. release: None = raw data alone. records: int64 [n],
    the record of everybody, -1 = none. outside: people who have none. earlier: an earlier release, linked.
    """

    original: Trajectories
    release: Release | None
    victims: Sequence[Victims]
    run: Run
    records: Integers
    outside: Victims | None = None
    earlier: Earlier | None = None

    def of(self, adversary: Adversary) -> Sequence[Evaluation[Any]]:
        """Those in the form that an adversary takes."""
        return self.on_boxes if adversary.takes_boxes else self.on_points

    def one_by_one(self, *, boxes: bool) -> Iterator[Evaluation[Any]]:
        """The same, each made when it is asked for, so that one that is let go of leaves room for the next.

        boxes: in slots and cells, instead of as given. Raises MisuseError as ``on_boxes`` and ``on_points``.
        """
        return self._on_boxes() if boxes else self._on_points()

    @cached_property
    def on_boxes(self) -> list[Evaluation[BoxTarget]]:
        """Everything in slots and cells, of 100 m and 60 s where the release holds points.

        Raises MisuseError for raw points as given that come without a release.
        """
        return list(self._on_boxes())

    @cached_property
    def on_points(self) -> list[Evaluation[PointTarget]]:
        """Everything as given; raises MisuseError for boxes."""
        return list(self._on_points())

    def _on_boxes(self) -> Iterator[Evaluation[BoxTarget]]:
        given = self.original
        snapped = given if self.release is None or given.grid is not None else given.snapped_to(Grid())
        grid = snapped.snapped_grid()

        def known_of(people: Trajectories) -> Trajectories:
            if people is given:
                return snapped
            return people.snapped_to(grid) if people.grid is None else people

        in_cells = self._on(
            lambda: BoxTarget.of_trajectories(snapped),
            lambda release: BoxTarget.of_release(release, grid),
            known_of,
        )
        if self.release is None or given.grid is not None or not _in_cylinders(self.release):
            return in_cells
        both = zip(in_cells, self._on_points(), strict=True)
        return (replace(one, as_given=as_given) for one, as_given in both)

    def _on_points(self) -> Iterator[Evaluation[PointTarget]]:
        self.original.require_points_as_given()
        return self._on(
            lambda: PointTarget.of_trajectories(self.original), PointTarget.of_release, lambda people: people
        )

    def _on(
        self,
        raw: Callable[[], Target],
        published: Callable[[Release], Target],
        known_of: Callable[[Trajectories], Trajectories],
    ) -> Iterator[Evaluation[Target]]:
        """One evaluation for each group of victims; groups in a row with the same target share it."""
        target: Target | None = None
        of_raw = True
        for group in self.victims:
            if target is None or of_raw is not (group.label == "raw"):
                of_raw, target = group.label == "raw", None  # the one before goes first
                release_idle_memory()
                target = raw() if of_raw or self.release is None else published(self.release)
            yield Evaluation(
                known=known_of(group.known),
                target=target,
                victims=group.subjects,
                own=group.own,
                label=group.label,
                start=float(known_of(self.original).t.min()),
                run=self.run,
                around=self._around(of_raw, known_of),
            )

    def _around(self, raw: bool, known_of: Callable[[Trajectories], Trajectories]) -> Surroundings:
        everybody = np.arange(self.original.n_subjects)
        records = everybody if raw else self.records
        subjects = everybody[records >= 0]
        outside = self.outside
        return Surroundings(
            claim=None if raw or self.release is None else self.release.claim,
            inside=Victims(
                label="raw" if raw else "release",
                known=known_of(self.original),
                subjects=subjects,
                own=records[subjects],
            ),
            outside=None if outside is None else replace(outside, known=known_of(outside.known)),
            earlier=self.earlier,
        )


def _in_cylinders(release: Release) -> bool:
    """Whether its records are points that were moved into cylinders."""
    return release.kind == "points" and isinstance(release.claim, KDeltaAnonymity)
