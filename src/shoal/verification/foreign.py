"""Examine another tool's file: equal records, people, true rows. Axes are cut at every end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.finding_kinds import FindingKind
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.units import counted
from shoal.verification.boxes.loops import Samples, count_possible_members, samples_by_time
from shoal.verification.boxes.records import (
    Records,
    classify_records,
    empty_hulls,
    findings_per_record,
    match_own_samples,
)
from shoal.verification.leaks.digests import find_hashed_names
from shoal.verification.leaks.raw_identifiers import RawIdentifiers

SAME_PEOPLE: Final = "that the records of a class are of different people (needs --linkage or --row-by-row)"
OWN_SAMPLES: Final = "that each row holds a sample of its own person (needs --linkage or --row-by-row)"


@dataclass(frozen=True, eq=False, kw_only=True)
class ExaminedFile:
    """What a published file shows."""

    records: Records
    people: Integers  # int64 [c], behind each class; unlinked: with a sample in every row of it
    linked: bool  # whether the records' people are known
    true_rows: Flags  # [rows] which hold a sample (of their own person, if known)
    covered: Flags | None  # [samples] in a row of the person's record; None without a linkage

    @property
    def sizes(self) -> Integers:
        """Records in each class, int64 [c]."""
        return self.records.size

    @property
    def least(self) -> int:
        """The k of the file: the smallest number of identical records, or of people in them."""
        return int(np.minimum(self.sizes, self.people).min())


def examine_file(release: Release, samples: Samples, person_of: Integers | None) -> ExaminedFile:
    """Classify records and compare them with the samples; person_of: int64 [records], -1 = none."""
    records = classify_records(release)
    if person_of is None:
        people, true_rows = _possible(records, samples)
        return ExaminedFile(records=records, people=people, linked=False, true_rows=true_rows, covered=None)
    matches = match_own_samples(samples, records, person_of, records.offsets[:-1])
    pairs = np.unique(np.column_stack([records.class_of, person_of])[person_of >= 0], axis=0)
    people = np.bincount(pairs[:, 0], minlength=len(records.size))
    return ExaminedFile(
        records=records, people=people, linked=True, true_rows=matches.in_box, covered=matches.covered
    )


def file_findings(examined: ExaminedFile, release: Release, k: int, *, truthful: bool) -> Iterator[Finding]:
    """Classes below k, and rows without a true sample."""
    records = examined.records
    for of_class in np.flatnonzero(records.size < k).tolist():
        name = release.trajectory_ids[records.representative[of_class]]
        message = (
            f"{counted(records.size[of_class], 'record is', 'records are')} alike here, this one included; "
            f"expected at least {k}"
        )
        yield Finding("class-below-k", message, name)
    for of_class in np.flatnonzero((records.size >= k) & (examined.people < k)).tolist():
        name = release.trajectory_ids[records.representative[of_class]]
        one, more = ("is", "are") if examined.linked else ("has", "have")
        relation = "behind" if examined.linked else "a raw sample in every row of"
        message = (
            f"{counted(examined.people[of_class], f'person {one}', f'people {more}')} {relation} "
            f"{records.size[of_class]} records that are alike"
        )
        kind: FindingKind = "class-below-k" if examined.linked else "class-without-subjects"
        yield Finding(kind, f"{message}; expected at least {k}", name)
    if truthful:
        fault = f"holds no raw sample of {'its own person' if examined.linked else 'anybody'}"
        yield from findings_per_record(
            ~examined.true_rows, "sample-without-own-point", fault, records, release
        )


def identifying_names(original: Trajectories, names: tuple[str, ...]) -> tuple[int, list[Finding]]:
    """Count record names that are raw identifiers or plain hashes of one."""
    raw = RawIdentifiers.of(original)
    identifiers = raw.relevant_names(names, names)
    hashed = find_hashed_names(raw.digests, names)
    n_identifying = sum(
        name in identifiers.whole or name in hashed or bool(identifiers.in_text(name)) for name in names
    )
    if not n_identifying:
        return 0, []
    message = (
        f"{n_identifying:,} of {len(names):,} records are named by a raw identifier or by a plain hash of one"
    )
    return n_identifying, [Finding("raw-identifier", message)]


def _possible(records: Records, samples: Samples) -> tuple[Integers, Flags]:
    by_time = samples_by_time(samples)
    hulls = empty_hulls(len(records.boxes))
    scratch = np.zeros(len(samples.offsets) - 1, dtype=np.int64)

    def count_people(first: int, last: int) -> int:
        scratch[:] = 0
        return count_possible_members(samples, by_time, records.boxes, first, last, scratch, hulls)

    people = np.zeros(len(records.size), dtype=np.int64)
    true_of: list[list[bool]] = []
    for number, record in enumerate(records.representative.tolist()):
        first, last = records.offsets[record], records.offsets[record + 1]
        people[number] = count_people(first, last)
        if people[number]:
            true_of.append([True] * int(last - first))
        else:
            true_of.append([bool(count_people(row, row + 1)) for row in range(first, last)])
    flags = [true_of[number] for number in records.class_of.tolist()]
    return people, np.array([flag for of_record in flags for flag in of_record], dtype=np.bool_)
