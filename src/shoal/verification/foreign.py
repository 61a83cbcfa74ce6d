"""What another tool's file shows: records that are alike, who could be behind them, and true samples.

A release of shoal says on which grid it stands, and its boxes are hulls. Such a file says nothing, and its
ranges may have any ends. So each axis is cut at every end that occurs: between two neighboring ends nothing
can be told apart, and whether a range holds a sample is exact, whatever the units.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.units import counted
from shoal.verification.boxes.loops import count_possible_members
from shoal.verification.boxes.records import (
    Records,
    Samples,
    empty_hulls,
    one_per_record,
    own_samples,
    records_of,
)
from shoal.verification.leaks.digests import hashes_among
from shoal.verification.leaks.known import RawIdentifiers

SAME_PEOPLE: Final = "that the records of a class are of different people (needs --linkage or --row-by-row)"
OWN_SAMPLES: Final = "that each row holds a sample of its own person (needs --linkage or --row-by-row)"


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """What a published file shows.

    records: its records, classified. people: int64 [c], how many people stand behind each class; where who
    became which record is not known, how many could (each with a sample in every row of it). known: whether
    it is known. true_rows: [rows] whether each holds a raw sample, of its own person where that is known.
    covered: [samples] which a row of the person's own records holds; None where it is not known.
    """

    records: Records
    people: Integers
    known: bool
    true_rows: Flags
    covered: Flags | None

    @property
    def sizes(self) -> Integers:
        """int64 [c]: how many records are in each class."""
        return self.records.size

    @property
    def least(self) -> int:
        """The k that the file keeps: the least of records that are alike, and of people behind them."""
        return int(np.minimum(self.sizes, self.people).min())


def look_at(release: Release, samples: Samples, person_of: Integers | None) -> Shown:
    """Classify the records of a release between the ends of its ranges, and hold them against the samples.

    person_of: int64 [records], the subject of each, -1 = none; None = not known.
    """
    records = records_of(release)
    if person_of is None:
        people, true_rows = _possible(records, samples)
        return Shown(records=records, people=people, known=False, true_rows=true_rows, covered=None)
    own = own_samples(samples, records, person_of, records.offsets[:-1])
    pairs = np.unique(np.column_stack([records.class_of, person_of])[person_of >= 0], axis=0)
    people = np.bincount(pairs[:, 0], minlength=len(records.size))
    return Shown(records=records, people=people, known=True, true_rows=own.in_box, covered=own.covered)


def findings_on(shown: Shown, release: Release, k: int, *, truthful: bool) -> Iterator[Finding]:
    """Classes below k, in records or in people; and rows without a true sample, where truth is claimed."""
    records = shown.records
    for of_class in np.flatnonzero(records.size < k).tolist():
        name = release.trajectory_ids[records.representative[of_class]]
        message = (
            f"{counted(records.size[of_class], 'record is', 'records are')} alike here, this one included; "
            f"expected at least {k}"
        )
        yield Finding("class-below-k", message, name)
    for of_class in np.flatnonzero((records.size >= k) & (shown.people < k)).tolist():
        name = release.trajectory_ids[records.representative[of_class]]
        one, more = ("is", "are") if shown.known else ("has", "have")
        behind = "behind" if shown.known else "a raw sample in every row of"
        message = (
            f"{counted(shown.people[of_class], f'person {one}', f'people {more}')} {behind} "
            f"{records.size[of_class]} records that are alike"
        )
        kind = "class-below-k" if shown.known else "class-without-subjects"
        yield Finding(kind, f"{message}; expected at least {k}", name)
    if truthful:
        fault = f"holds no raw sample of {'its own person' if shown.known else 'anybody'}"
        yield from one_per_record(~shown.true_rows, "sample-without-own-point", fault, records, release)


def telling_names(original: Trajectories, names: tuple[str, ...]) -> tuple[int, list[Finding]]:
    """How many names of records are raw identifiers or plain hashes of one, and the finding."""
    raw = RawIdentifiers.of(original)
    known = raw.among(names, names)
    hashed = hashes_among(raw.digests, names)
    told = sum(name in known.whole or name in hashed or bool(known.in_text(name)) for name in names)
    if not told:
        return 0, []
    message = f"{told:,} of {len(names):,} records are named by a raw identifier or by a plain hash of one"
    return told, [Finding("raw-identifier", message)]


def _possible(records: Records, samples: Samples) -> tuple[Integers, Flags]:
    """[c] the people with a sample in every row of each class; [rows] whether a row holds anybody's."""
    by_time = np.argsort(samples.t, kind="stable")
    time_sorted = samples.t[by_time]
    n_subjects = len(samples.offsets) - 1
    owner = np.repeat(np.arange(n_subjects), np.diff(samples.offsets))
    hulls = empty_hulls(len(records.boxes))
    scratch = np.zeros(n_subjects, dtype=np.int64)

    def behind(first: int, last: int) -> int:
        scratch[:] = 0
        return count_possible_members(
            samples.t, samples.x, samples.y, samples.offsets, by_time, time_sorted, owner, records.boxes,
            first, last, scratch, hulls,
        )  # fmt: skip

    people = np.zeros(len(records.size), dtype=np.int64)
    true_of: list[list[bool]] = []
    for number, record in enumerate(records.representative.tolist()):
        first, last = records.offsets[record], records.offsets[record + 1]
        people[number] = behind(first, last)
        if people[number]:
            true_of.append([True] * int(last - first))
        else:
            true_of.append([bool(behind(row, row + 1)) for row in range(first, last)])
    flags = [true_of[number] for number in records.class_of.tolist()]
    return people, np.array([flag for own in flags for flag in own], dtype=np.bool_)
