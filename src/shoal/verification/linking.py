"""Who became which record, as far as a linkage table tells it without contradiction."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Population
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers

_FEW: Final = 1000


def far_too_many_records(original: Population, n_records: int) -> list[Finding]:
    """A finding when records are far more than people, so that nothing needs to be asked of each of them.

    A small file can hold a million; with this, no folder costs much more than a sound one of the same people.
    """
    if n_records <= 2 * len(original.ids) + _FEW:
        return []
    message = f"the release holds {n_records:,} records, and the raw data {len(original.ids):,} subjects"
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
    subject_at = {uid: position for position, uid in enumerate(original.ids)}
    record_at = {name: position for position, name in enumerate(release.trajectory_ids)}
    pairs = dict.fromkeys(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    findings = []
    subjects_of: list[list[int]] = [[] for _ in range(release.n_records)]
    records_per_subject: Counter[int] = Counter()
    for row, (uid, name) in enumerate(pairs, start=1):
        if name not in record_at:
            findings.append(
                Finding(
                    "unknown-record",
                    f"pair {row} of the linkage names a record that the release does not hold",
                )
            )
            continue
        if uid not in subject_at:
            message = f"pair {row} of the linkage gives this record a subject that the raw data does not hold"
            findings.append(Finding("unknown-subject", message, name))
            continue
        subjects_of[record_at[name]].append(subject_at[uid])
        records_per_subject[subject_at[uid]] += 1
    for name, subjects in zip(release.trajectory_ids, subjects_of, strict=True):
        if not subjects:
            findings.append(
                Finding(
                    "record-without-subject", "no subject is linked to this record; expected exactly 1", name
                )
            )
        elif len(subjects) > 1:
            message = f"{len(subjects)} subjects are linked to this record; expected exactly 1"
            findings.append(Finding("record-with-two-subjects", message, name))
        findings += [
            Finding(
                "subject-in-two-classes",
                f"the subject of this record is linked to {records_per_subject[subject]} records; expected "
                "exactly 1",
                name,
            )
            for subject in subjects
            if records_per_subject[subject] > 1
        ]
    return Links(
        subject_of=np.array(
            [subjects[0] if len(subjects) == 1 else -1 for subjects in subjects_of], dtype=np.int64
        ),
        n_subjects_with_record=len(records_per_subject),
        findings=tuple(findings),
    )
