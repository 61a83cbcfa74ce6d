"""What several releases of the same people reveal together: the people who could be somebody in all of them.

Somebody who holds all releases, and knows for each of them which people share a class, who covers whom or who
was swapped with whom, is left with the people who fit in every one (the composition or intersection attack of
Ganta, Kasiviswanathan and Smith 2008). That is the most that the releases can reveal together by their
classes. So few people left are a warning, and k people left are a promise, as far as the claims go. Nothing
here knows a method.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.model.linkage_checks import require_linked_records
from shoal.model.release import Release
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.units import show_m, show_s
from shoal.verification.boxes.records import records_of
from shoal.verification.checks import check_of, require_payload, verify
from shoal.verification.composition.candidates import Fitting, Issued, People

MOST_QUESTIONS: Final = 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Together:
    """Who is left for every question: a person of the newest release, or what was seen of one in an interval.

    k: the least that all claims promise. releases: how many. people: of the newest release. record: int64
    [q], the person's record there. left, right: [q], people who fit in every release, and whether the person
    is one of them. alone: [q, releases], people who fit in each by itself, newest first, -1 where the person,
    or what was seen, is not in it. right_alone: [q], as right, of the newest. tau_s: length of the intervals,
    None = everything. within_m: the greatest delta of the claims; places that close are not told apart.
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
    """Who is left for every person of the newest release, or for intervals where a claim is about these.

    most: how many intervals are asked for at most, evenly chosen. Raises InputError when a release does not
    belong to the raw data, protects another unit, does not keep its own claim on this data, or claims
    something from which it does not follow who could be whom.
    """
    issued = [newest, *earlier]
    ids = {
        uid: place
        for place, uid in enumerate(dict.fromkeys(uid for one in issued for uid in one.original.ids))
    }
    records = np.full((len(ids), len(issued)), -1, dtype=np.int64)
    for column, one in enumerate(issued):
        own = _require_it_belongs(one, newest)
        if column:
            _require_it_holds(one)
        records[[ids[uid] for uid in one.original.ids], column] = own
    claims = [one.release.claim for one in issued]
    rows = [check_of(claim).candidates for claim in claims]
    followed = [row.followed_s(claim) for row, claim in zip(rows, claims, strict=True)]
    tau_s = min((seconds for seconds in followed if seconds is not None), default=None)
    if all(claim.in_classes for claim in claims):
        subjects, left, alone = _left_of_classes([one.release for one in issued], records)
        right = right_alone = np.ones(len(left), dtype=np.bool_)
    else:
        subjects, left, right, right_alone, alone = _left_of_questions(issued, records, ids, tau_s, most)
    if not len(left):
        raise InputError(
            f"{newest.label} shows nothing of anybody that could be asked about; check that it is the right "
            "folder"
        )
    return Together(
        k=min(claim.k for claim in claims),
        releases=len(issued),
        people=newest.release.n_records,
        record=records[subjects, 0],
        left=left,
        right=right,
        right_alone=right_alone,
        alone=alone,
        tau_s=tau_s,
        within_m=max(row.within_m(claim) for row, claim in zip(rows, claims, strict=True)),
        names=tuple(newest.release.trajectory_ids),
    )


def require_candidates(one: Issued) -> Callable[[Any, Issued, People, float | None], Fitting]:
    """How it follows from the claim who could be whom.

    Raises InputError when it does not, or when what tells it is missing.
    """
    claim = one.release.claim
    row = check_of(claim).candidates
    if row.fitting is None:
        raise InputError(
            f"{one.label} claims {claim.type}, from which no set of people follows who could be somebody: "
            f"{row.why_none}; leave this release out and measure it with shoal attack"
        )
    require_payload(one.release)
    row.require(one)
    return row.fitting


def candidates_of(one: Issued, person_at: Integers, record_of: Integers, tau_s: float | None) -> Fitting:
    """A function of (person, moment in seconds): the people who could be the person in this release.

    They ascend; None where the person is not in it. person_at: the number of the person that each subject of
    the raw data is. record_of: each person's record, -1 = none. tau_s: how long from the moment on the person
    is followed, where the claim is about that; of other claims everything is known.
    """
    fitting = require_candidates(one)
    return fitting(one.release.claim, one, People.of(one.release, person_at, record_of), tau_s)


def _require_it_belongs(one: Issued, newest: Issued) -> Integers:
    """Each subject's record; raises InputError in terms of the release that does not belong."""
    if (
        one.release.unit_of_protection != newest.release.unit_of_protection
        or one.release.reading.per_day != newest.release.reading.per_day
    ):
        raise InputError(
            f"{one.label} protects {one.release.unit_of_protection}, the newest release "
            f"{newest.release.unit_of_protection}; only releases with the same unit of protection can be "
            "put together"
        )
    try:
        records = require_linked_records(one.original, one.release, one.linkage)
    except InputError as error:
        raise InputError(f"{one.label}: {error}") from error
    require_candidates(one)
    return records


def _require_it_holds(one: Issued) -> None:
    """Raise InputError when an earlier release does not keep its own claim on this raw data."""
    verdict = verify(one.original, one.release, one.linkage)
    if verdict.findings:  # what could not be checked of an earlier release says nothing against it
        why = ", ".join(sorted(verdict.kinds))
        raise InputError(
            f"{one.label} was made from other data, or was changed since: checked against this raw data it "
            f"fails ({why})"
        )


def _left_of_classes(issued: Sequence[Release], records: Integers) -> tuple[Integers, Integers, Integers]:
    """(subjects of the newest release, people left, people alone) where all records come in classes.

    People left for somebody: those who share the class in every release that the person is in.
    """
    classes = np.full_like(records, -1)
    alone = np.full_like(records, -1)
    for column, one in enumerate(issued):
        own, there = records_of(one), records[:, column] >= 0
        classes[there, column] = own.class_of[records[there, column]]
        alone[there, column] = own.size[classes[there, column]]
    subjects = np.flatnonzero(records[:, 0] >= 0)
    left = np.zeros(len(records), dtype=np.int64)
    present = classes >= 0
    for pattern in np.unique(present[subjects], axis=0):
        among = np.flatnonzero(present[:, pattern].all(axis=1))
        _, group, count = np.unique(
            classes[among][:, pattern], axis=0, return_inverse=True, return_counts=True
        )
        same = (present[among] == pattern).all(axis=1)
        left[among[same]] = count[group.ravel()][same]
    return subjects, left[subjects], alone[subjects]


def _left_of_questions(
    issued: Sequence[Issued], records: Integers, ids: Mapping[str, int], tau_s: float | None, most: int
) -> tuple[Integers, Integers, Flags, Flags, Integers]:
    """(person, left, right, right_alone, alone), as in Together.

    Asked for everybody of the newest release, or for intervals that begin with a sample. ids: the number of
    every person, a row of ``records``. tau_s: length of the intervals, of which ``most`` are chosen evenly.
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
