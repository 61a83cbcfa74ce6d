"""Victims, targets and evaluations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.attacks.rate import Rate, Rule, TargetName
from shoal.attacks.target import BoxTarget, PointTarget
from shoal.errors import InputError, MisuseError
from shoal.kernels.noisy_likelihood import Noise
from shoal.model.claims import Claim, KDeltaAnonymity
from shoal.model.grid import Grid
from shoal.model.linkage_checks import require_linked_records
from shoal.model.places import PublicPlaces
from shoal.model.release import Linkage, Release
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, offsets_of
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.run import Run


@dataclass(frozen=True, eq=False, kw_only=True)
class Victims:
    """Who is looked for on one target."""

    label: TargetName
    people: Trajectories  # the data that knowledge of them comes from
    subjects: Integers  # int64 [v], positions in it
    records: Integers  # int64 [v], the record of each


def victims_of(
    original: Trajectories,
    release: Release | None,
    linkage: Linkage | None,
    tries: int,
    control: Trajectories | None,
    rng: np.random.Generator,
    candidates: Integers | None = None,
) -> list[Victims]:
    """The victims (of candidates, None = all) on raw data, release, and control."""
    everybody = np.arange(original.n_subjects)
    if release is None or linkage is None:
        subjects = _some(everybody, tries, rng)
        return [Victims(label="raw", people=original, subjects=subjects, records=subjects)]
    records = require_linked_records(original, release, linkage)
    published = everybody[records >= 0]
    subjects = _some(published if candidates is None else np.intersect1d(published, candidates), tries, rng)
    groups = [
        Victims(label="raw", people=original, subjects=subjects, records=subjects),
        Victims(label="release", people=original, subjects=subjects, records=records[subjects]),
    ]
    if control is None:
        outside, strangers = original, everybody[records < 0]
    else:
        _require_outside(control, original, linkage)
        outside, strangers = control, np.arange(control.n_subjects)
    if len(strangers):
        chosen = _some(strangers, tries, rng)
        stand_ins = rng.integers(0, release.n_records, len(chosen))
        groups.append(Victims(label="control", people=outside, subjects=chosen, records=stand_ins))
    return groups


def people_like(
    original: Trajectories, release: Release | None, linkage: Linkage | None, pseudonym: str
) -> Integers:
    """People with a record equal to this one; of points, the record's person."""
    if release is None or linkage is None or pseudonym not in release.trajectory_ids:
        raise MisuseError("there is no such record in the release; name a trajectory_id of its table")
    records = require_linked_records(original, release, linkage)
    one = release.trajectory_ids.index(pseudonym)
    if release.kind == "points":
        return np.flatnonzero(records == one)
    class_of = BoxTarget.of_release(release).class_of
    return np.flatnonzero((records >= 0) & (class_of[records] == class_of[one]))


def _require_outside(control: Trajectories, original: Trajectories, linkage: Linkage) -> None:
    elsewhere = (control.grid, control.crs) != (original.grid, original.crs)
    if elsewhere or set(control.ids) & set(linkage.uids):
        raise InputError(
            "the control group is on another grid or plane, or includes people of the release; give people "
            "who are not in it"
        )


def _some(subjects: Integers, most: int, rng: np.random.Generator) -> Integers:
    return subjects if len(subjects) <= most else np.sort(rng.choice(subjects, size=most, replace=False))


Target = TypeVar("Target", BoxTarget, PointTarget)


Earlier = tuple[Release, Linkage]


@dataclass(frozen=True, eq=False, kw_only=True)
class Context:
    """The surroundings of the victims."""

    claim: Claim | None = None  # of the release; None = raw data
    inside: Victims | None = None  # all people with a record in the target
    outside: Victims | None = None  # people without one, both in the form of the target
    earlier: Earlier | None = None  # an earlier release of the same people and its linkage
    places: PublicPlaces | None = None  # a public list, on the plane
    streets: StreetGraph | None = None  # a public map, on the plane, where no list is known


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation(Generic[Target]):
    """One adversary's task on one target.

    records: int64 [v]. People of the control group have none; records drawn at random stand in, so that the
    rate shows luck. as_given: points, for cells of records that were moved into cylinders. release_of: int64
    [samples of people], where records of several releases are joined; as much is known of each. number_of:
    int64 [samples of people], a range for each person; rows of one number are one sample in several releases.
    """

    people: Trajectories  # the data that knowledge comes from: snapped for boxes, as given for points
    target: Target  # the records to search in
    victims: Integers  # int64 [v]: positions of subjects in ``people``
    records: Integers
    label: TargetName  # ``raw``, ``release`` or ``control``
    start: float  # when the raw data begins: a slot if ``people`` is snapped, otherwise seconds
    run: Run  # progress and threads
    context: Context = field(default_factory=Context)  # the claim, the other people and an earlier release
    as_given: "Evaluation[PointTarget] | None" = None
    release_of: Integers | None = None
    number_of: Integers | None = None

    @property
    def guess_rate(self) -> float:
        """The chance to name the right record without knowledge."""
        return 1 / self.target.n_records

    @property
    def clusters(self) -> Integers:
        """int64 [v]: victims of equal number share a record."""
        return self.target.class_of[self.records]

    @property
    def max_chance(self) -> float:
        """The greatest chance to name a record: 1 / k where k are equal."""
        return 1 / int(np.bincount(self.target.class_of).min())

    def rate_of(self, outcomes: npt.ArrayLike, **facts: Any) -> Rate:
        """``Rate.of`` on this target: of all victims, and compared with guessing, unless ``facts`` differ."""
        return Rate.of(outcomes, **self._usual_facts | facts)

    def best_rate(self, rules: Sequence[Rule], **facts: Any) -> Rate:
        """``Rate.best_of`` on this target, as ``rate_of``."""
        return Rate.best_of(rules, **self._usual_facts | facts)

    @property
    def _usual_facts(self) -> dict[str, Any]:
        return {"target": self.label, "baseline": self.guess_rate, "clusters": self.clusters}

    def draw_rows(self, victim: int, count: int, rng: np.random.Generator) -> Integers:
        """``count`` different random rows of a victim, all where there are fewer.

        Where releases are joined, as many of each; the same samples of those that hold the same.
        """
        first, end = self.people.offsets[victim : victim + 2].tolist()
        if self.release_of is None or self.number_of is None:
            return np.asarray(first + rng.choice(end - first, size=min(count, end - first), replace=False))
        release, number = self.release_of[first:end], self.number_of[first:end]
        luck = rng.permutation(np.ptp(number) + 1)[number - number.min()]
        order = np.lexsort((luck, release))
        place = np.arange(end - first) - np.searchsorted(release[order], release[order])
        return np.asarray(first + order[place < count])

    def draw_samples(self, count: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """(offsets [v + 1], samples [m, 3] of t, x, y): ``count`` random samples of each victim."""
        offsets, drawn = self.draw_all_rows(count, rng)
        return offsets, np.column_stack([self.people.t[drawn], self.people.x[drawn], self.people.y[drawn]])

    def draw_noisy_samples(
        self, count: int, noise: Noise, rng: np.random.Generator
    ) -> tuple[Integers, Integers, Floats]:
        """As ``draw_samples``, and the same with errors; of a sample alike in all releases."""
        offsets, drawn = self.draw_all_rows(count, rng)
        samples = np.column_stack([self.people.t[drawn], self.people.x[drawn], self.people.y[drawn]])
        deviations = [noise.slots, noise.cells, noise.cells]
        errors = rng.random(samples.shape) + rng.normal(size=samples.shape) * deviations
        if self.number_of is not None:
            _, first, same = np.unique(self.number_of[drawn], return_index=True, return_inverse=True)
            errors = errors[first[same]]
        return offsets, samples, samples + errors

    def draw_all_rows(self, count: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """(offsets [v + 1], rows): those of ``draw_rows`` for each victim."""
        rows: list[Integers] = [self.draw_rows(victim, count, rng) for victim in self.victims.tolist()]
        return offsets_of(map(len, rows)), np.concatenate(rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluations:
    """The same victims on every target, as boxes and as points."""

    original: Trajectories  # raw data on the release's grid, or as given
    release: Release | None  # None = raw data alone
    victims: Sequence[Victims]
    run: Run
    records: Integers  # int64 [n], the record of all people, -1 = none
    outside: Victims | None = None  # people without one
    earlier: Earlier | None = None  # an earlier release and its linkage
    places: PublicPlaces | None = None  # a public list, on the plane
    streets: StreetGraph | None = None  # a public map, on the plane, where no list is known

    def one_by_one(self, *, boxes: bool) -> Iterator[Evaluation[Any]]:
        """The evaluations on boxes or on points, built on demand; one that is dropped frees its memory."""
        return self._on_boxes() if boxes else self._on_points()

    def _on_boxes(self) -> Iterator[Evaluation[BoxTarget]]:
        as_read, release = self.original, self.release
        snapped = as_read if release is None or as_read.grid is not None else as_read.snapped_to(Grid())
        grid = snapped.snapped_grid()

        def people_of(people: Trajectories) -> Trajectories:
            if people is as_read:
                return snapped
            return people.snapped_to(grid) if people.grid is None else people

        in_cells = self._on(
            lambda: BoxTarget.of_trajectories(snapped),
            lambda release: BoxTarget.of_release(release, grid),
            people_of,
        )
        if release is None or as_read.grid is not None or release.kind != "points":
            return in_cells
        if not isinstance(release.claim, KDeltaAnonymity):  # points that were moved into cylinders
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
        people_of: Callable[[Trajectories], Trajectories],
    ) -> Iterator[Evaluation[Target]]:
        target: Target | None = None
        of_raw = True
        for group in self.victims:
            if target is None or of_raw is not (group.label == "raw"):
                of_raw, target = group.label == "raw", None  # the one before goes first
                release_idle_memory()
                target = raw() if of_raw or self.release is None else published(self.release)
            yield Evaluation(
                people=people_of(group.people),
                target=target,
                victims=group.subjects,
                records=group.records,
                label=group.label,
                start=float(people_of(self.original).t.min()),
                run=self.run,
                context=self._context(of_raw, people_of),
            )

    def _context(self, raw: bool, people_of: Callable[[Trajectories], Trajectories]) -> Context:
        everybody = np.arange(self.original.n_subjects)
        records = everybody if raw else self.records
        subjects = everybody[records >= 0]
        outside = self.outside
        return Context(
            claim=None if raw or self.release is None else self.release.claim,
            inside=Victims(
                label="raw" if raw else "release",
                people=people_of(self.original),
                subjects=subjects,
                records=records[subjects],
            ),
            outside=None if outside is None else replace(outside, people=people_of(outside.people)),
            earlier=self.earlier,
            places=self.places,
            streets=self.streets,
        )
