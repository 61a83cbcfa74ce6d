"""The criterion of k-anonymous records, re-derived from raw data, release and linkage (semantics 1.

Glove.txt, Sec. 2.4).

Every record is identical to at least k - 1 others; every subject has exactly one record, or is counted as
suppressed; every box holds a raw sample of each member of its class and is the exact hull of the members'
samples inside it; losses are counted.
"""

from collections.abc import Iterator

import numpy as np

from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.runtime.arrays import Flags, Integers
from shoal.verification.boxes.classes import Records, records_of
from shoal.verification.boxes.loops import count_possible_members, match_records
from shoal.verification.boxes.records import (
    NO_ACCOUNT,
    NOT_COMPARED,
    account_differs,
    empty_hulls,
    lost_samples,
    lost_subjects,
    malformed,
    off_grid,
    one_per_record,
    overlaps_in_time,
    pseudonyms_used_twice,
)
from shoal.verification.linking import Links, links_of

_WITHOUT_LINKAGE = (
    "checked without a linkage table: not that each subject has exactly one record, nor that each member "
    "has a sample in every box "
    "of its own record, nor how many samples were suppressed, nor whether the records follow the order of "
    "the input"
)


def check_k_anonymity(original: Trajectories, release: Release, linkage: Linkage | None) -> Verdict:
    """The verdict on a KAnonymity claim; raises MisuseError when the raw data is not snapped to a grid."""
    grid_findings = off_grid(original, release)
    records = records_of(release)
    findings = [*pseudonyms_used_twice(release), *faults_of_records(records, release)]
    notes = []
    if grid_findings:
        return Verdict.of([*findings, *grid_findings], checked=release.n_records, notes=[NOT_COMPARED])
    if original.intake.rows_read:
        findings += account_differs(original, release)
    else:
        notes.append(NO_ACCOUNT)
    if linkage is None:
        notes.append(_WITHOUT_LINKAGE)
        findings += _possible_members(original, records, release)
        n_published = release.n_records
    else:
        links = links_of(original, release, linkage)
        faults, covered = members_against_boxes(original, records, release, links)
        findings += [*links.findings, *faults, *lost_samples(original.n_samples - covered, release)]
        n_published = links.n_subjects_with_record
    findings += lost_subjects(original.n_subjects - n_published, release)
    return Verdict.of(findings, checked=release.n_records, notes=notes)


def faults_of_records(records: Records, release: Release) -> Iterator[Finding]:
    """What records alone show: malformed ones, classes below k, and overlaps in time."""
    yield from malformed(records, release)
    yield from _classes_below_k(records, release)
    yield from overlaps_in_time(records, release)


def _classes_below_k(records: Records, release: Release) -> Iterator[Finding]:
    k = release.claim.k
    for of_class in np.flatnonzero(records.size < k).tolist():
        message = (
            f"{records.size[of_class]} records are identical to this one, itself included; expected "
            f"at least {k}"
        )
        yield Finding("class-below-k", message, release.trajectory_ids[records.spokesman[of_class]])


def members_against_boxes(
    original: Trajectories, records: Records, release: Release, links: Links
) -> tuple[list[Finding], int]:
    """Every box against the raw samples of its own subject, and every class's boxes against those of all its members.

    Returns what was found, and how many raw samples a box of their own subject's record covers.
    """
    findings: list[Finding] = []
    has_own_point = np.zeros(len(records.boxes), dtype=np.bool_)
    covered = np.zeros(original.n_samples, dtype=np.bool_)
    hulls = empty_hulls(len(records.boxes))
    class_row = records.offsets[:-1][records.spokesman][records.class_of]
    match_records(
        original.t,
        original.x,
        original.y,
        original.offsets,
        records.boxes,
        records.offsets,
        links.subject_of,
        class_row,
        hulls,
        has_own_point,
        covered,
    )
    if release.claim.truthful:
        linked = links.subject_of >= 0
        missing = ~has_own_point & linked[records.record_of_box(np.arange(len(records.boxes)))]
        findings += one_per_record(
            missing,
            "sample-without-own-point",
            "holds no raw sample of this record's subject",
            records,
            release,
        )
        members_known = np.bincount(records.class_of[linked], minlength=len(records.size)) == records.size
        findings += _not_tight(hulls, members_known, records, release)
    return findings, int(covered.sum())


def _possible_members(original: Trajectories, records: Records, release: Release) -> Iterator[Finding]:
    """Without linkage: each class needs as many subjects as members that could be the ones, and boxes as tight as those allow.

    A box is the hull of its members' samples, and what else lies inside it lies inside that hull: so the hull of all possible
    members' samples in it must be the box itself.
    """
    if not release.claim.truthful:
        return
    by_time = np.argsort(original.t, kind="stable")
    subject_of_sample = np.repeat(np.arange(original.n_subjects), original.lengths)
    hulls = empty_hulls(len(records.boxes))
    last_tried = np.zeros(original.n_subjects, dtype=np.int64)
    time_sorted = original.t[by_time]
    filled = np.zeros(len(records.size), dtype=np.bool_)
    for of_class, (record, size) in enumerate(
        zip(records.spokesman.tolist(), records.size.tolist(), strict=True)
    ):
        possible = count_possible_members(
            original.t,
            original.x,
            original.y,
            original.offsets,
            by_time,
            time_sorted,
            subject_of_sample,
            records.boxes,
            records.offsets[record],
            records.offsets[record + 1],
            last_tried,
            hulls,
        )
        filled[of_class] = possible >= size
        if possible < size:
            message = (
                f"{possible} subjects have a raw sample in every box of this record; expected at "
                f"least {size}, one for each member"
            )
            yield Finding("class-without-subjects", message, release.trajectory_ids[record])
    yield from _not_tight(hulls, filled, records, release)


def _not_tight(hulls: Integers, wanted: Flags, records: Records, release: Release) -> Iterator[Finding]:
    """Boxes of the wanted classes that differ from the hull of what lies inside them.

    The first member speaks for its class.
    """
    speaks = np.zeros(release.n_records, dtype=np.bool_)
    speaks[records.spokesman[wanted]] = True
    loose = (hulls != records.boxes).any(axis=1) & speaks[
        records.record_of_box(np.arange(len(records.boxes)))
    ]
    yield from one_per_record(
        loose, "box-not-tight", "is not the hull of its class's raw samples inside it", records, release
    )
