"""Who became which record, as far as a linkage table tells it without contradiction."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.names import Pseudonyms, positions_among
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Population
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.units import counted

_FEW: Final = 1000


def far_too_many_records(original: Population, n_records: int) -> list[Finding]:
    """A finding when records are far more than people, so that nothing needs to be asked of each of them.

    A small file can hold a million; with this, no folder costs much more than a sound one of the same people.
    """
    if n_records <= 2 * len(original.ids) + _FEW:
        return []
    message = (
        f"the release holds {counted(n_records, 'record')}, and the raw data "
        f"{counted(len(original.ids), 'subject')}"
    )
    return [Finding("record-without-subject", message)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Links:
    """Who became which record, by position.

    subject_of: int64 [n], the one subject of each record, -1 where there is none or more than one.
    n_subjects_with_record: subjects with at least one record. findings: where the linkage contradicts itself,
    the raw data or the release.
    """

    subject_of: Integers
    n_subjects_with_record: int
    findings: tuple[Finding, ...]


def links_of(original: Population, release: Release, linkage: Linkage) -> Links:
    """The linkage by position. Unknown names in it are never shown, for they may be raw identifiers."""
    record = Pseudonyms.of(release.trajectory_ids).positions_of(Pseudonyms.of(linkage.trajectory_ids))
    subject = positions_among(original.ids, linkage.uids)
    known = (record >= 0) & (subject >= 0)
    kept = _first_of_each_pair(linkage, record, subject, known)
    findings = list(_unknown(linkage, record, known, kept))
    record, subject = record[known & kept], subject[known & kept]
    n_subjects, n_records = np.bincount(record, minlength=release.n_records), np.bincount(subject)
    strange = n_subjects != 1
    strange[record[n_records[subject] > 1]] = True
    of_strange: dict[int, list[int]] = {place: [] for place in np.flatnonzero(strange).tolist()}
    for row in np.flatnonzero(strange[record]).tolist():
        of_strange[int(record[row])].append(int(subject[row]))
    for place, subjects in of_strange.items():
        name = release.trajectory_ids[place]
        if not subjects:
            findings.append(
                Finding(
                    "record-without-subject", "no subject is linked to this record; expected exactly 1", name
                )
            )
        elif len(subjects) > 1:
            message = (
                f"{counted(len(subjects), 'subject is', 'subjects are')} linked to this record; expected "
                "exactly 1"
            )
            findings.append(Finding("record-with-two-subjects", message, name))
        findings += [
            Finding(
                "subject-in-two-classes",
                f"the subject of this record is linked to {n_records[subject]} records; expected exactly 1",
                name,
            )
            for subject in subjects
            if n_records[subject] > 1
        ]
    subject_of = np.full(release.n_records, -1, dtype=np.int64)
    subject_of[record] = subject
    subject_of[n_subjects > 1] = -1
    return Links(
        subject_of=subject_of,
        n_subjects_with_record=int(np.count_nonzero(n_records)),
        findings=tuple(findings),
    )


def _first_of_each_pair(linkage: Linkage, record: Integers, subject: Integers, known: Flags) -> Flags:
    """Boolean [pairs]: without those that stand before, too."""
    kept = np.ones(len(record), dtype=np.bool_)
    if (np.bincount(record[known]) > 1).any():
        own = np.flatnonzero(known)
        first = np.unique(np.stack([record[own], subject[own]]), axis=1, return_index=True)[1]
        kept[own] = False
        kept[own[first]] = True
    seen: set[tuple[str, str]] = set()
    for row in np.flatnonzero(~known).tolist():
        pair = linkage.uids[row], linkage.trajectory_ids[row]
        kept[row] = pair not in seen
        seen.add(pair)
    return kept


def _unknown(linkage: Linkage, record: Integers, known: Flags, kept: Flags) -> Iterator[Finding]:
    """Pairs that name a record or a subject that is not there, by their number among different ones."""
    number = np.cumsum(kept)
    for row in np.flatnonzero(~known & kept).tolist():
        if record[row] < 0:
            message = f"pair {number[row]} of the linkage names a record that the release does not hold"
            yield Finding("unknown-record", message)
        else:
            pair = f"pair {number[row]} of the linkage"
            message = f"{pair} gives this record a subject that the raw data does not hold"
            yield Finding("unknown-subject", message, linkage.trajectory_ids[row])
