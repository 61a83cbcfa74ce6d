"""What several releases of the same people reveal together: the intersection of the sets of people who could be somebody in each of them.

Somebody who holds all releases, and knows for each of them which people share a crowd or who covers whom, is left with those people who fit
in every one (the composition or intersection attack of Ganta, Kasiviswanathan and Smith 2008). That is the most that the releases can
reveal together by their crowds, so few people left are a warning, and k people left are a promise. Nothing here knows a method.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress
from typing import Any, Final

import numpy as np

from shoal.claims import KAnonymity, KteAnonymity
from shoal.compiled import compiled
from shoal.errors import InputError
from shoal.linked import records_that_belong
from shoal.release import Linkage, Release
from shoal.trajectories import Integers, Trajectories
from shoal.units import show_s
from shoal.verdicts import Finding
from shoal.verification.box_index import boxes_with
from shoal.verification.claim import verify
from shoal.verification.classes import records_of
from shoal.verification.kte import published_of, tau_slots
from shoal.verification.kte_loops import Published, Raw, fits_until, holds_sample
from shoal.verification.loops import Flags

MOST_QUESTIONS: Final = 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Issued:
    """A release with the raw data it is of, read as its manifest says, and its linkage. label: how messages call it."""

    label: str
    original: Trajectories
    release: Release
    linkage: Linkage


@dataclass(frozen=True, eq=False, kw_only=True)
class Together:
    """For every question (a person of the newest release, or what was seen of one in an interval) who is left.

    k: the least that all claims promise. releases: how many. people: of the newest release. record: int64 [q], the person's record there.
    left, right: [q], people who fit in every release, and whether the person is one of them. alone: [q, releases], people who fit in
    each by itself, newest first, -1 where the person, or what was seen, is not in it. right_alone: [q], as right, of the newest.
    tau_s: length of the intervals, None = everything.
    """

    k: int
    releases: int
    people: int
    record: Integers
    left: Integers
    right: Flags
    right_alone: Flags
    alone: Integers
    tau_s: float | None
    names: tuple[str, ...]

    @property
    def below(self) -> Flags:
        """[q]: fewer than k people are left, though each release by itself leaves k."""
        return np.asarray((self.left < self.k) & ((self.alone >= self.k) | (self.alone < 0)).all(axis=1))

    def findings(self) -> Iterator[Finding]:
        """One for each record with fewer than k people left; the smallest sets first."""
        rows = np.flatnonzero(self.below)
        seen: set[int] = set()
        for row in rows[np.argsort(self.left[rows], kind="stable")].tolist():
            record = int(self.record[row])
            if record not in seen:
                seen.add(record)
                each = ", ".join("not in it" if size < 0 else f"{size}" for size in self.alone[row].tolist())
                message = (
                    f"{self.left[row]} people fit in all {self.releases} releases together; expected at least {self.k} (each alone: {each})"
                )
                yield Finding("fewer-than-k-together", message, self.names[record])

    def to_json(self) -> dict[str, Any]:
        """Counts, the least set and the mean chance to name the right person."""
        return {
            "releases": self.releases,
            "k": self.k,
            "people": self.people,
            "knowledge": "everything" if self.tau_s is None else f"any {show_s(self.tau_s)}",
            "asked": len(self.left),
            "below_k": int(np.count_nonzero(self.below)),
            "people_below_k": len(set(self.record[self.below].tolist())),
            "least": int(self.left.min()),
            "mean_chance": float((self.right / np.maximum(self.left, 1)).mean()),
        }


def reveal_together(newest: Issued, earlier: Sequence[Issued], *, most: int = MOST_QUESTIONS) -> Together:
    """Who is left for every person of the newest release; with a claim about intervals for evenly chosen ones, ``most`` at most.

    Raises InputError when a release does not belong to the raw data, protects another unit, or does not keep its own claim on this data.
    """
    issued = [newest, *earlier]
    ids = {uid: place for place, uid in enumerate(dict.fromkeys(uid for one in issued for uid in one.original.ids))}
    records = np.full((len(ids), len(issued)), -1, dtype=np.int64)
    for column, one in enumerate(issued):
        records[[ids[uid] for uid in one.original.ids], column] = _insist_it_belongs(one, newest, check=column > 0)
    taus = [one.release.claim.tau_s for one in issued if isinstance(one.release.claim, KteAnonymity)]
    if taus:
        subjects, left, right, right_alone, alone = _left_after_intervals(issued, records, min(taus), most)
    else:
        subjects, left, alone = _left_of_crowds(issued, records)
        right = right_alone = np.ones(len(left), dtype=np.bool_)
    return Together(
        k=min(one.release.claim.k for one in issued),
        releases=len(issued),
        people=newest.release.n_records,
        record=records[subjects, 0],
        left=left,
        right=right,
        right_alone=right_alone,
        alone=alone,
        tau_s=min(taus, default=None),
        names=newest.release.trajectory_ids,
    )


def _insist_it_belongs(one: Issued, newest: Issued, *, check: bool) -> Integers:
    """Each subject's record; raises InputError in terms of the release that does not belong."""
    if not isinstance(one.release.claim, KAnonymity | KteAnonymity):
        raise InputError(f"{one.label} claims {one.release.claim.type}; only crowds and covers of boxes can be intersected so far")
    if one.release.unit_of_protection != newest.release.unit_of_protection or one.release.reading.per_day != newest.release.reading.per_day:
        raise InputError(
            f"{one.label} protects {one.release.unit_of_protection}, the newest release {newest.release.unit_of_protection}; "
            "only releases with the same unit of protection can be put together"
        )
    try:
        records = records_that_belong(one.original, one.release, one.linkage)
    except InputError as error:
        raise InputError(f"{one.label}: {error}") from error
    if check:
        verdict = verify(one.original, one.release, one.linkage)
        if not verdict.holds:
            kinds = ", ".join(sorted(verdict.kinds))
            raise InputError(
                f"{one.label} was made from other data, or was changed since: checked against this raw data it fails ({kinds})"
            )
    return records


def _left_of_crowds(issued: Sequence[Issued], records: Integers) -> tuple[Integers, Integers, Integers]:
    """(subjects of the newest release, people left, people alone) where every release publishes crowds of identical records.

    People left for somebody: those who share the crowd in every release that the person is in.
    """
    crowds = np.full_like(records, -1)
    alone = np.full_like(records, -1)
    for column, one in enumerate(issued):
        classes, there = records_of(one.release), records[:, column] >= 0
        crowds[there, column] = classes.class_of[records[there, column]]
        alone[there, column] = classes.size[crowds[there, column]]
    subjects = np.flatnonzero(records[:, 0] >= 0)
    left = np.zeros(len(records), dtype=np.int64)
    present = crowds >= 0
    for pattern in np.unique(present[subjects], axis=0):
        among = np.flatnonzero(present[:, pattern].all(axis=1))
        _, group, count = np.unique(crowds[among][:, pattern], axis=0, return_inverse=True, return_counts=True)
        same = (present[among] == pattern).all(axis=1)
        left[among[same]] = count[group.ravel()][same]
    return subjects, left[subjects], alone[subjects]


def _left_after_intervals(
    issued: Sequence[Issued], records: Integers, tau_s: float, most: int
) -> tuple[Integers, Integers, Flags, Flags, Integers]:
    """(subject, left, right, right_alone, alone), as in Together, for intervals that begin with a sample, evenly chosen."""
    base = issued[0].original
    of_person = {uid: place for place, uid in enumerate(dict.fromkeys(uid for one in issued for uid in one.original.ids))}
    subject_of_row = np.repeat(np.arange(base.n_subjects), base.lengths)
    asked = np.flatnonzero(records[[of_person[uid] for uid in base.ids], 0][subject_of_row] >= 0)
    asked = asked[np.unique(np.linspace(0, len(asked) - 1, min(most, len(asked))).astype(np.int64))]
    people = np.array([of_person[uid] for uid in base.ids], dtype=np.int64)[subject_of_row[asked]]
    moments_s = base.t[asked] * base.snapped_grid().slot_s
    found = [_who_fits(one, records[:, column], people, moments_s, tau_s, of_person) for column, one in enumerate(issued)]
    alone = np.array([[-1 if who is None else len(who) for who in each] for each in zip(*found, strict=True)], dtype=np.int64)
    known = alone[:, 0] >= 0  # what the newest release suppressed, it does not show
    rows = []
    for person, sets in compress(zip(people.tolist(), zip(*found, strict=True), strict=True), known.tolist()):
        common: Integers = reduce(np.intersect1d, [who for who in sets if who is not None])
        rows.append((len(common), person in common, person in sets[0]))
    left, right, right_alone = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return people[known], left, right.astype(np.bool_), right_alone.astype(np.bool_), alone[known]


def _who_fits(
    one: Issued, records: Integers, people: Integers, moments_s: np.ndarray[Any, Any], tau_s: float, of_person: dict[str, int]
) -> list[Integers | None]:
    """For each question the people of one release who fit, ascending; None where it shows nothing of the person then."""
    person_of = np.full(one.release.n_records, -1, dtype=np.int64)
    there = np.flatnonzero(records >= 0)
    person_of[records[there]] = there
    classes = records_of(one.release)
    if isinstance(one.release.claim, KAnonymity):
        order = np.argsort(classes.class_of, kind="stable")
        members = np.split(person_of[order], np.cumsum(classes.size)[:-1])
        return [np.sort(members[classes.class_of[records[p]]]) if records[p] >= 0 else None for p in people.tolist()]
    original, published = one.original, published_of(classes.boxes, classes.offsets)
    raw = Raw(original.t, original.x, original.y, original.offsets, np.ones(original.n_samples, dtype=np.bool_))
    subject_at = np.full(len(of_person), -1, dtype=np.int64)
    subject_at[[of_person[uid] for uid in original.ids]] = np.arange(original.n_subjects)
    tau = min(tau_slots(one.release.claim, one.release.grid.slot_s), int(tau_s / one.release.grid.slot_s))
    scratch = np.empty(len(published.boxes), dtype=np.int64)
    fitting = np.empty(one.release.n_records, dtype=np.int64)
    answers: list[Integers | None] = []
    for person, moment_s in zip(people.tolist(), moments_s.tolist(), strict=True):
        subject = subject_at[person]
        count = -1
        if subject >= 0 and records[person] >= 0:
            start = int(np.floor(moment_s / one.release.grid.slot_s))
            count = fitting_records(raw, published, int(subject), int(records[person]), start, tau, scratch, fitting)
        answers.append(None if count < 0 else np.sort(person_of[fitting[:count]]))
    return answers


@compiled
def fitting_records(raw: Raw, published: Published, subject: int, record: int, a: int, tau: int, found: Integers, fitting: Integers) -> int:
    """Write to ``fitting`` the records that fit what ``record`` shows of its subject in [a, a + tau); how many, -1 where it shows none."""
    own = np.empty(raw.offsets[subject + 1] - raw.offsets[subject], dtype=np.int64)
    n_own = 0
    for i in range(raw.offsets[subject], raw.offsets[subject + 1]):
        if raw.t[i] >= a and holds_sample(raw, published, record, i):
            own[n_own] = i
            n_own += 1
    own = own[:n_own]
    if n_own == 0 or raw.t[own[0]] >= a + tau:
        return -1
    count = 0
    for place in range(boxes_with(published.index_, published.boxes, raw.t[own[0]], raw.x[own[0]], raw.y[own[0]], found)):
        other = published.owner[found[place]]
        known = False
        for c in range(count):
            known = known or fitting[c] == other
        if not known and fits_until(raw, published, other, own, 0, a, tau) > a:
            fitting[count] = other
            count += 1
    return count
