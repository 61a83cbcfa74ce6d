"""The criterion of k-anonymous records, re-derived from raw data, release and linkage (semantics 1; glove.txt, Sec. 2.4).

Every record is identical to at least k - 1 others; every subject has exactly one record, or is counted as suppressed; every box
holds a raw sample of each member of its class and is the exact hull of the members' samples inside it; losses are counted.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from shoal.release import Linkage, Release
from shoal.trajectories import Integers, Trajectories
from shoal.verdicts import Finding, Verdict
from shoal.verification.classes import Records, records_of
from shoal.verification.linking import Links, links_of
from shoal.verification.loops import Flags, count_possible_members, mark_overlaps, match_records

_WITHOUT_LINKAGE = (
    "checked without a linkage table: not that each subject has exactly one record, nor that each member has a sample in every box "
    "of its own record, nor how many samples were suppressed, nor whether the records follow the order of the input"
)
_NO_ACCOUNT = "the raw data carries no account of its reading, so the rows dropped and the unit of protection were not compared"
_NOT_COMPARED = "the boxes were not compared with the raw data, because the two are not on one grid"


def check_k_anonymity(original: Trajectories, release: Release, linkage: Linkage | None) -> Verdict:
    """The verdict on a KAnonymity claim; raises MisuseError when the raw data is not snapped to a grid."""
    grid = original.snapped_grid()
    records = records_of(release)
    findings = [
        *_pseudonyms_used_twice(release),
        *_malformed(records, release),
        *_classes_below_k(records, release),
        *_overlaps_in_time(records, release),
    ]
    notes = []
    if (release.grid, release.crs) != (grid, original.crs):
        message = f"expected {grid} and the plane '{original.crs}', the release has {release.grid} and the plane '{release.crs}'"
        return Verdict.of([*findings, Finding("grid-mismatch", message)], checked=release.n_records, notes=[_NOT_COMPARED])
    if original.intake.rows_read:
        findings += _account_differs(original, release)
    else:
        notes.append(_NO_ACCOUNT)
    if linkage is None:
        notes.append(_WITHOUT_LINKAGE)
        findings += _possible_members(original, records, release)
        n_published = release.n_records
    else:
        links = links_of(original, release, linkage)
        findings += [*links.findings, *_members_against_boxes(original, records, release, links)]
        n_published = links.n_subjects_with_record
    findings += _lost_subjects(original.n_subjects - n_published, release)
    return Verdict.of(findings, checked=release.n_records, notes=notes)


def _pseudonyms_used_twice(release: Release) -> Iterator[Finding]:
    seen: set[str] = set()
    for name in release.trajectory_ids:
        if name in seen:
            yield Finding("duplicate-pseudonym", "another record carries the same pseudonym", name)
        seen.add(name)


def _malformed(records: Records, release: Release) -> Iterator[Finding]:
    """Records without boxes, and boxes that end before they begin."""
    for record in np.flatnonzero(np.diff(records.offsets) == 0).tolist():
        yield Finding("empty-record", "this record holds no box", release.trajectory_ids[record])
    t_start, t_end, x_min, y_min, x_max, y_max = records.boxes.T
    bad = (t_end <= t_start) | (x_max <= x_min) | (y_max <= y_min)
    yield from _one_per_record(bad, "malformed-box", "has no extent in time or in space", records, release)


def _classes_below_k(records: Records, release: Release) -> Iterator[Finding]:
    k = release.claim.k
    for of_class in np.flatnonzero(records.size < k).tolist():
        message = f"{records.size[of_class]} records are identical to this one, itself included; expected at least {k}"
        yield Finding("class-below-k", message, release.trajectory_ids[records.spokesman[of_class]])


def _overlaps_in_time(records: Records, release: Release) -> Iterator[Finding]:
    if release.claim.disjoint_in_time:
        shares_moment = np.zeros(len(records.boxes), dtype=np.bool_)
        mark_overlaps(records.boxes, records.offsets, shares_moment)
        yield from _one_per_record(shares_moment, "overlap-in-time", "begins before an earlier box has ended", records, release)


def _members_against_boxes(original: Trajectories, records: Records, release: Release, links: Links) -> Iterator[Finding]:
    """Every box against the raw samples of its own subject, and every class's boxes against those of all its members."""
    has_own_point = np.zeros(len(records.boxes), dtype=np.bool_)
    covered = np.zeros(original.n_samples, dtype=np.bool_)
    hulls = _empty_hulls(len(records.boxes))
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
        yield from _one_per_record(missing, "sample-without-own-point", "holds no raw sample of this record's subject", records, release)
        members_known = np.bincount(records.class_of[linked], minlength=len(records.size)) == records.size
        yield from _not_tight(hulls, members_known, records, release)
    lost = original.n_samples - int(covered.sum())
    if lost != release.losses.samples_suppressed:
        message = (
            f"{lost} raw samples are covered by no box of their own subject's record; the losses say {release.losses.samples_suppressed}"
        )
        yield Finding("lost-samples-not-counted", message)


def _possible_members(original: Trajectories, records: Records, release: Release) -> Iterator[Finding]:
    """Without linkage: each class needs as many subjects as members that could be the ones, and boxes as tight as those allow.

    A box is the hull of its members' samples, and what else lies inside it lies inside that hull: so the hull of all possible
    members' samples in it must be the box itself.
    """
    if not release.claim.truthful:
        return
    by_time = np.argsort(original.t, kind="stable")
    subject_of_sample = np.repeat(np.arange(original.n_subjects), original.lengths)
    hulls = _empty_hulls(len(records.boxes))
    last_tried = np.zeros(original.n_subjects, dtype=np.int64)
    time_sorted = original.t[by_time]
    filled = np.zeros(len(records.size), dtype=np.bool_)
    for of_class, (record, size) in enumerate(zip(records.spokesman.tolist(), records.size.tolist(), strict=True)):
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
            message = f"{possible} subjects have a raw sample in every box of this record; expected at least {size}, one for each member"
            yield Finding("class-without-subjects", message, release.trajectory_ids[record])
    yield from _not_tight(hulls, filled, records, release)


def _not_tight(hulls: Integers, wanted: Flags, records: Records, release: Release) -> Iterator[Finding]:
    """Boxes of the wanted classes that differ from the hull of what lies inside them; the first member speaks for its class."""
    speaks = np.zeros(release.n_records, dtype=np.bool_)
    speaks[records.spokesman[wanted]] = True
    loose = (hulls != records.boxes).any(axis=1) & speaks[records.record_of_box(np.arange(len(records.boxes)))]
    yield from _one_per_record(loose, "box-not-tight", "is not the hull of its class's raw samples inside it", records, release)


def _lost_subjects(lost: int, release: Release) -> Iterator[Finding]:
    if lost != release.losses.subjects_suppressed:
        message = f"{lost} subjects have no record; the losses say {release.losses.subjects_suppressed}"
        yield Finding("lost-subjects-not-counted", message)


def _account_differs(original: Trajectories, release: Release) -> Iterator[Finding]:
    """What was dropped on input, and who counts as one person, in the raw data as read and in the release."""
    intake = original.intake
    seen, told = _nonzero(intake.dropped), _nonzero(release.losses.rows)
    if seen != told:
        message = f"reading the raw data dropped {sum(seen.values())} rows for {len(seen)} reasons; the losses say "
        yield Finding("lost-rows-not-counted", f"{message}{sum(told.values())} rows for {len(told)} reasons, or give other reasons")
    here, there = intake.reading, release.reading
    same_screening = (here.per_day, here.min_samples_per_day) == (there.per_day, there.min_samples_per_day)
    if intake.unit_of_protection != release.unit_of_protection or not same_screening:
        message = f"the raw data was read as '{intake.unit_of_protection}' (per day: {here.per_day}, at least {here.min_samples_per_day} "
        message += f"samples a day); the release says '{release.unit_of_protection}' ({there.per_day}, {there.min_samples_per_day})"
        yield Finding("unit-mismatch", message)


def _nonzero(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: rows for reason, rows in counts.items() if rows}


def _empty_hulls(n: int) -> Integers:
    """[n, 6] hulls that hold nothing yet: every lower bound at the top, every upper bound at the bottom."""
    bottom, top = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    return np.tile(np.array([top, bottom, top, top, bottom, bottom], dtype=np.int64), (n, 1))


def _one_per_record(bad: Flags, kind: str, fault: str, records: Records, release: Release) -> Iterable[Finding]:
    """One finding for each record with a flagged box: which box, in the order of time, and how many more."""
    rows = np.flatnonzero(bad)
    owners, first, count = np.unique(records.record_of_box(rows), return_index=True, return_counts=True)
    for record, row, flagged in zip(owners.tolist(), rows[first].tolist(), count.tolist(), strict=True):
        start, end = records.offsets[record], records.offsets[record + 1]
        more = f" (and so for {flagged - 1} more)" if flagged > 1 else ""
        yield Finding(kind, f"box {row - start + 1} of {end - start} {fault}{more}", release.trajectory_ids[record])
