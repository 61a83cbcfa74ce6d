"""What several releases of the same people reveal together.

The intersection of the sets of people who could be somebody in each of them.

Somebody who holds all releases, and knows for each of them which people share a crowd, who covers whom or who
was swapped with whom, is left with those people who fit in every one (the composition or intersection attack
of Ganta, Kasiviswanathan and Smith 2008). That is the most that the releases can reveal together by their
crowds, so few people left are a warning, and k people left are a promise, as far as the claims go. Nothing
here knows a method.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.model.claims import KAnonymity, KDeltaAnonymity, KteAnonymity
from shoal.model.linked import records_that_belong
from shoal.model.release import Release
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.units import show_m, show_s
from shoal.verification.boxes.classes import records_of
from shoal.verification.checks import verify
from shoal.verification.composition.candidates import Issued, candidates_of, insist_on_candidates

MOST_QUESTIONS: Final = 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Together:
    """For every question (a person of the newest release, or what was seen of one in an interval) who is left.

    k: the least that all claims promise. releases: how many. people: of the newest release. record: int64 [q], the person's record there.
    left, right: [q], people who fit in every release, and whether the person is one of them. alone: [q, releases], people who fit in
    each by itself, newest first, -1 where the person, or what was seen, is not in it. right_alone: [q], as right, of the newest.
    tau_s: length of the intervals, None = everything. within_m: the greatest delta of the claims; places that close are not told apart.
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
    within_m: float
    names: tuple[str, ...]

    @property
    def below(self) -> Flags:
        """[q]: fewer than k people are left, though each release by itself leaves k."""
        return np.asarray((self.left < self.k) & ((self.alone >= self.k) | (self.alone < 0)).all(axis=1))

    @property
    def knowledge(self) -> str:
        """What is known of a person, in short."""
        known = "everything" if self.tau_s is None else f"any {show_s(self.tau_s)}"
        return f"{known}, places to within {show_m(self.within_m)}" if self.within_m else known

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
                    f"{self.left[row]} people fit in all {self.releases} releases together; expected "
                    f"at least {self.k} (each alone: {each})"
                )
                yield Finding("fewer-than-k-together", message, self.names[record])

    def to_json(self) -> dict[str, Any]:
        """Counts, the least set and the mean chance to name the right person."""
        return {
            "releases": self.releases,
            "k": self.k,
            "people": self.people,
            "knowledge": self.knowledge,
            "asked": len(self.left),
            "below_k": int(np.count_nonzero(self.below)),
            "people_below_k": len(set(self.record[self.below].tolist())),
            "least": int(self.left.min()),
            "mean_chance": float((self.right / np.maximum(self.left, 1)).mean()),
        }


def reveal_together(newest: Issued, earlier: Sequence[Issued], *, most: int = MOST_QUESTIONS) -> Together:
    """Who is left for every person of the newest release.

    With a claim about intervals for evenly chosen ones, ``most`` at most.

    Raises InputError when a release does not belong to the raw data, protects another unit, does not keep its
    own claim on this data, or claims something from which nobody follows who could be whom.
    """
    issued = [newest, *earlier]
    ids = {
        uid: place
        for place, uid in enumerate(dict.fromkeys(uid for one in issued for uid in one.original.ids))
    }
    records = np.full((len(ids), len(issued)), -1, dtype=np.int64)
    for column, one in enumerate(issued):
        records[[ids[uid] for uid in one.original.ids], column] = _insist_it_belongs(
            one, newest, check=column > 0
        )
    taus = [one.release.claim.tau_s for one in issued if isinstance(one.release.claim, KteAnonymity)]
    crowds = [
        one.release
        for one in issued
        if isinstance(one.release, Release) and isinstance(one.release.claim, KAnonymity)
    ]
    if len(crowds) == len(issued):
        subjects, left, alone = _left_of_crowds(crowds, records)
        right = right_alone = np.ones(len(left), dtype=np.bool_)
    else:
        subjects, left, right, right_alone, alone = _left_of_questions(
            issued, records, ids, min(taus, default=None), most
        )
    if not len(left):
        raise InputError(
            f"{newest.label} shows nothing of anybody that could be asked about; check that it is the right "
            "folder"
        )
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
        within_m=max(
            (one.release.claim.delta_m for one in issued if isinstance(one.release.claim, KDeltaAnonymity)),
            default=0.0,
        ),
        names=newest.release.trajectory_ids,
    )


def _insist_it_belongs(one: Issued, newest: Issued, *, check: bool) -> Integers:
    """Each subject's record; raises InputError in terms of the release that does not belong."""
    if (
        one.release.unit_of_protection != newest.release.unit_of_protection
        or one.release.reading.per_day != newest.release.reading.per_day
    ):
        raise InputError(
            f"{one.label} protects {one.release.unit_of_protection}, the newest release "
            f"{newest.release.unit_of_protection}; "
            "only releases with the same unit of protection can be put together"
        )
    try:
        records = records_that_belong(one.original, one.release, one.linkage)
    except InputError as error:
        raise InputError(f"{one.label}: {error}") from error
    insist_on_candidates(one)
    if check:
        verdict = verify(one.original, one.release, one.linkage)
        if not verdict.holds:
            kinds = ", ".join(sorted(verdict.kinds))
            raise InputError(
                f"{one.label} was made from other data, or was changed since: checked against this raw data "
                f"it fails ({kinds})"
            )
    return records


def _left_of_crowds(issued: Sequence[Release], records: Integers) -> tuple[Integers, Integers, Integers]:
    """(subjects of the newest release, people left, people alone) where every release publishes crowds of identical records.

    People left for somebody: those who share the crowd in every release that the person is in.
    """
    crowds = np.full_like(records, -1)
    alone = np.full_like(records, -1)
    for column, one in enumerate(issued):
        classes, there = records_of(one), records[:, column] >= 0
        crowds[there, column] = classes.class_of[records[there, column]]
        alone[there, column] = classes.size[crowds[there, column]]
    subjects = np.flatnonzero(records[:, 0] >= 0)
    left = np.zeros(len(records), dtype=np.int64)
    present = crowds >= 0
    for pattern in np.unique(present[subjects], axis=0):
        among = np.flatnonzero(present[:, pattern].all(axis=1))
        _, group, count = np.unique(
            crowds[among][:, pattern], axis=0, return_inverse=True, return_counts=True
        )
        same = (present[among] == pattern).all(axis=1)
        left[among[same]] = count[group.ravel()][same]
    return subjects, left[subjects], alone[subjects]


def _left_of_questions(
    issued: Sequence[Issued], records: Integers, ids: Mapping[str, int], tau_s: float | None, most: int
) -> tuple[Integers, Integers, Flags, Flags, Integers]:
    """(person, left, right, right_alone, alone), as in Together.

    Everybody of the newest release, or intervals that begin with a sample.

    ids: the number of every person, a row of ``records``. tau_s: length of the intervals, of which ``most``
    are chosen evenly.
    """
    base = issued[0].original
    person_at = [np.array([ids[uid] for uid in one.original.ids], dtype=np.int64) for one in issued]
    if tau_s is None:
        people = np.flatnonzero(records[:, 0] >= 0)
        moments_s = np.zeros(len(people))
    else:
        person_of_row = np.repeat(person_at[0], base.lengths)
        asked = np.flatnonzero(records[person_of_row, 0] >= 0)
        asked = asked[np.unique(np.linspace(0, len(asked) - 1, min(most, len(asked))).astype(np.int64))]
        people = person_of_row[asked]
        moments_s = base.t[asked] * (1.0 if base.grid is None else base.grid.slot_s)
    fitting = [
        candidates_of(one, own, records[:, column], tau_s)
        for column, (one, own) in enumerate(zip(issued, person_at, strict=True))
    ]
    who, rows, alone = [], [], []
    for person, moment_s in zip(people.tolist(), moments_s.tolist(), strict=True):
        sets = [fit(person, moment_s) for fit in fitting]
        shown = [own for own in sets if own is not None]
        if sets[0] is None:
            continue  # what the newest release suppressed, it does not show
        common: Integers = reduce(np.intersect1d, shown)
        who.append(person)
        rows.append((len(common), person in common, person in sets[0]))
        alone.append([-1 if own is None else len(own) for own in sets])
    left, right, right_alone = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return (
        np.array(who, dtype=np.int64),
        left,
        right.astype(np.bool_),
        right_alone.astype(np.bool_),
        np.array(alone, dtype=np.int64).reshape(-1, len(issued)),
    )
