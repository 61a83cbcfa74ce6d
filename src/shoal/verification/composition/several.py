"""Who fits in all of several releases (composition attack, Ganta, Kasiviswanathan and Smith 2008).

Classes cannot reveal more, so k remaining people are a promise, as far as the claims go.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.model.linkage_checks import require_linked_records
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.units import show_m, show_s
from shoal.verification.checks import find_check, require_payload, verify
from shoal.verification.composition.candidates import Fitting, IssuedRelease, People

MOST_QUESTIONS: Final = 20_000
_OWN_RAW: Final = "; name the raw data of a release that has its own: FOLDER=LINKAGE=RAW"


@dataclass(frozen=True, eq=False, kw_only=True)
class Composition:
    """Who remains for each question, [q]: a person of the newest release, or an interval of one."""

    k: int  # the lowest of all claims
    releases: int
    people: int
    record: Integers  # int64 [q], the person's record
    remaining: Integers  # people who fit in every release; right: the person is one
    right: Flags
    right_alone: Flags  # [q], the same in the newest release
    alone: Integers  # [q, releases], people who fit in each, newest first, -1 = person missing
    tau_s: float | None  # length of the intervals, None = everything
    within_m: float  # the largest delta
    names: tuple[str, ...]

    @property
    def below(self) -> Flags:
        """[q]: fewer than k remain, though each release by itself leaves k."""
        return np.asarray((self.remaining < self.k) & ((self.alone >= self.k) | (self.alone < 0)).all(axis=1))

    @property
    def knowledge(self) -> str:
        """What the adversary knows, in words."""
        words = "everything" if self.tau_s is None else f"any {show_s(self.tau_s)}"
        return f"{words}, places to within {show_m(self.within_m)}" if self.within_m else words

    @property
    def in_words(self) -> str:
        """The result in a line."""
        facts = self.to_json()
        return (
            f"{self.releases} releases, knowing {self.knowledge}: fewer than {self.k} people are left for "
            f"{facts['people_below_k']:,} of {self.people:,} (the least: {facts['least']}), where each "
            f"release alone leaves {self.k}"
        )

    def findings(self) -> Iterator[Finding]:
        """Records with fewer than k remaining people; the smallest sets first."""
        rows = np.flatnonzero(self.below)
        seen: set[int] = set()
        for row in rows[np.argsort(self.remaining[rows], kind="stable")].tolist():
            record = int(self.record[row])
            if record not in seen:
                seen.add(record)
                sizes_alone = ", ".join(
                    "not in it" if size < 0 else f"{size}" for size in self.alone[row].tolist()
                )
                message = (
                    f"{self.remaining[row]} people fit in all {self.releases} releases together; expected "
                    f"at least {self.k} (each alone: {sizes_alone})"
                )
                yield Finding("fewer-than-k-together", message, self.names[record])

    def to_json(self) -> dict[str, Any]:
        """Counts, the smallest set and the mean chance of a right name."""
        return {
            "releases": self.releases,
            "k": self.k,
            "people": self.people,
            "knowledge": self.knowledge,
            "asked": len(self.remaining),
            "below_k": int(np.count_nonzero(self.below)),
            "people_below_k": len(set(self.record[self.below].tolist())),
            "least": int(self.remaining.min()),
            "mean_chance": float((self.right / np.maximum(self.remaining, 1)).mean()),
        }


def reveal_together(
    newest: IssuedRelease, earlier: Sequence[IssuedRelease], *, most: int = MOST_QUESTIONS
) -> Composition:
    """Who remains for each person of the newest release, or for at most ``most`` intervals."""
    issued = [newest, *earlier]
    ids = {
        uid: position
        for position, uid in enumerate(dict.fromkeys(uid for entry in issued for uid in entry.original.ids))
    }
    records = np.full((len(ids), len(issued)), -1, dtype=np.int64)
    for column, entry in enumerate(issued):
        record_of = _require_same_people(entry, newest)
        if column:
            require_claim_holds(entry)
        records[[ids[uid] for uid in entry.original.ids], column] = record_of
    claims = [entry.release.claim for entry in issued]
    rows = [find_check(claim).candidates for claim in claims]
    followed = [row.followed_s(claim) for row, claim in zip(rows, claims, strict=True)]
    tau_s = min((seconds for seconds in followed if seconds is not None), default=None)
    subjects, remaining, right, right_alone, alone = _remaining_by_question(issued, records, ids, tau_s, most)
    if not len(remaining):
        raise InputError(
            f"{newest.label} shows nothing of anybody that could be asked about; check that it is the right "
            "folder"
        )
    return Composition(
        k=min(claim.k for claim in claims),
        releases=len(issued),
        people=newest.release.n_records,
        record=records[subjects, 0],
        remaining=remaining,
        right=right,
        right_alone=right_alone,
        alone=alone,
        tau_s=tau_s,
        within_m=max(row.within_m(claim) for row, claim in zip(rows, claims, strict=True)),
        names=tuple(newest.release.trajectory_ids),
    )


def require_candidates(entry: IssuedRelease) -> Callable[[Any, IssuedRelease, People, float | None], Fitting]:
    """The claim's function for ``candidates_of``."""
    claim = entry.release.claim
    row = find_check(claim).candidates
    if row.fitting is None:
        raise InputError(
            f"{entry.label} claims {claim.type}, from which no set of people follows who could be somebody: "
            f"{row.why_none}; leave this release out and measure it with shoal attack"
        )
    require_payload(entry.release)
    row.require(entry)
    return row.fitting


def candidates_of(
    entry: IssuedRelease, person_at: Integers, record_of: Integers, tau_s: float | None
) -> Fitting:
    """A function of (person, moment in seconds): who could be the person in ``tau_s``, or None."""
    fitting = require_candidates(entry)
    return fitting(entry.release.claim, entry, People.of(entry.release, person_at, record_of), tau_s)


def _require_same_people(entry: IssuedRelease, newest: IssuedRelease) -> Integers:
    if (
        entry.release.unit_of_protection != newest.release.unit_of_protection
        or entry.release.reading.per_day != newest.release.reading.per_day
    ):
        raise InputError(
            f"{entry.label} protects {entry.release.unit_of_protection}, the newest release "
            f"{newest.release.unit_of_protection}; only releases with the same unit of protection can be "
            "put together"
        )
    try:
        records = require_linked_records(entry.original, entry.release, entry.linkage)
    except InputError as error:
        raise InputError(f"{entry.label}: {error.cli_message}{_OWN_RAW}") from error
    require_candidates(entry)
    return records


def require_claim_holds(entry: IssuedRelease) -> None:
    """Raise InputError for a release that fails its own claim."""
    verdict = verify(entry.original, entry.release, entry.linkage)
    if verdict.findings:  # unchecked parts of an earlier release do not count against it
        why = ", ".join(sorted(verdict.kinds))
        raise InputError(
            f"{entry.label} was made from other data, or was changed since: checked against this raw data it "
            f"fails ({why}){_OWN_RAW}"
        )


def _remaining_by_question(
    issued: Sequence[IssuedRelease], records: Integers, ids: Mapping[str, int], tau_s: float | None, most: int
) -> tuple[Integers, Integers, Flags, Flags, Integers]:
    """As in Composition; ids: their rows in ``records``."""
    base = issued[0].original
    person_at = [np.array([ids[uid] for uid in entry.original.ids], dtype=np.int64) for entry in issued]
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
        candidates_of(entry, candidates, records[:, column], tau_s)
        for column, (entry, candidates) in enumerate(zip(issued, person_at, strict=True))
    ]
    who, rows, alone = [], [], []
    for person, moment_s in zip(people.tolist(), moments_s.tolist(), strict=True):
        sets = [fit(person, moment_s) for fit in fitting]
        present = [candidates for candidates in sets if candidates is not None]
        if sets[0] is None:
            continue  # suppressed in the newest release
        common: Integers = reduce(np.intersect1d, present)
        who.append(person)
        rows.append((len(common), person in common, person in sets[0]))
        alone.append([-1 if candidates is None else len(candidates) for candidates in sets])
    remaining, *rights = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    right, right_alone = (is_right.astype(np.bool_) for is_right in rights)
    every_alone = np.array(alone, dtype=np.int64).reshape(-1, len(issued))
    return np.array(who, dtype=np.int64), remaining, right, right_alone, every_alone
