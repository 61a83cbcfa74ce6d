"""Who became which record, as a linkage says without contradiction."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.names import Pseudonyms, positions_among
from shoal.model.population import Population
from shoal.model.release import Linkage, Release
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.units import counted

_FEW: Final = 1000


def too_many_records(original: Population, n_records: int) -> list[Finding]:
    """A finding for far more records than people: a small file would cost much to check."""
    if n_records <= 2 * len(original.ids) + _FEW:
        return []
    message = (
        f"the release holds {counted(n_records, 'record')}, and the raw data "
        f"{counted(len(original.ids), 'subject')}"
    )
    return [Finding("record-without-subject", message)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Links:
    """Who became which record, by position, and contradictions."""

    subject_of: Integers  # int64 [n], the one subject of each record, -1 where there is none or more than one
    n_subjects_with_record: int
    findings: tuple[Finding, ...]


def link_records(original: Population, release: Release, linkage: Linkage) -> Links:
    """Resolve a linkage. Unknown names are never shown: they may be raw identifiers."""
    record = Pseudonyms.of(release.trajectory_ids).positions_of(Pseudonyms.of(linkage.trajectory_ids))
    subject = positions_among(original.ids, linkage.uids)
    resolved = (record >= 0) & (subject >= 0)
    is_first = _first_of_each_pair(linkage, record, subject, resolved)
    findings = list(_unknown(linkage, record, resolved, is_first))
    if doubled := int(np.count_nonzero(~is_first)):
        rows = counted(doubled, "row of the linkage repeats", "rows of the linkage repeat")
        message = f"{rows} another; expected each pair once"
        findings.append(Finding("doubled-link", message))
    record, subject = record[resolved & is_first], subject[resolved & is_first]
    n_subjects, n_records = np.bincount(record, minlength=release.n_records), np.bincount(subject)
    strange = n_subjects != 1
    strange[record[n_records[subject] > 1]] = True
    of_strange: dict[int, list[int]] = {place: [] for place in np.flatnonzero(strange).tolist()}
    for row in np.flatnonzero(strange[record]).tolist():
        of_strange[int(record[row])].append(int(subject[row]))
    for place, subjects in of_strange.items():
        name = release.trajectory_ids[place]
        if not subjects:
            message = "no subject is linked to this record; expected exactly 1"
            findings.append(Finding("record-without-subject", message, name))
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


def _first_of_each_pair(linkage: Linkage, record: Integers, subject: Integers, resolved: Flags) -> Flags:
    is_first = np.ones(len(record), dtype=np.bool_)
    if (np.bincount(record[resolved]) > 1).any():
        rows = np.flatnonzero(resolved)
        first = np.unique(np.stack([record[rows], subject[rows]]), axis=1, return_index=True)[1]
        is_first[rows] = False
        is_first[rows[first]] = True
    seen: set[tuple[str, str]] = set()
    for row in np.flatnonzero(~resolved).tolist():
        pair = linkage.uids[row], linkage.trajectory_ids[row]
        is_first[row] = pair not in seen
        seen.add(pair)
    return is_first


def _unknown(linkage: Linkage, record: Integers, resolved: Flags, is_first: Flags) -> Iterator[Finding]:
    number = np.cumsum(is_first)
    for row in np.flatnonzero(~resolved & is_first).tolist():
        if record[row] < 0:
            message = f"pair {number[row]} of the linkage names a record that the release does not hold"
            yield Finding("unknown-record", message)
        else:
            pair = f"pair {number[row]} of the linkage"
            message = f"{pair} gives this record a subject that the raw data does not hold"
            yield Finding("unknown-subject", message, linkage.trajectory_ids[row])
