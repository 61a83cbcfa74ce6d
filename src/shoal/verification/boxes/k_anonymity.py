"""k-anonymity of records, re-derived from raw data, release and linkage.

Source: Gramaglia and Fiore 2015, Sec. 2.4.

Every record is identical to at least k - 1 others. Every subject has exactly one record or counts as
suppressed. Every box holds a raw sample of each member of its class and is the exact hull of the members'
samples inside it. All losses are counted.
"""

from collections.abc import Iterator

import numpy as np

from shoal.model.claims import KAnonymity
from shoal.model.omission import most_allowed
from shoal.model.release import Release
from shoal.model.trajectories import Population, Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.run import Run
from shoal.units import counted, show_share
from shoal.verification.boxes.loops import count_possible_members
from shoal.verification.boxes.records import (
    NOT_COMPARED,
    Records,
    allowance_of,
    empty_hulls,
    lost_samples,
    malformed,
    off_grid,
    one_per_record,
    overlaps_in_time,
    own_samples,
    records_of,
    without_own_sample,
)
from shoal.verification.examination import Examination, pseudonyms_used_twice
from shoal.verification.linking import Links


def examine_k_anonymity(claim: KAnonymity, case: Examination[Trajectories], _run: Run) -> None:
    """Hold a KAnonymity claim against the raw data; raises MisuseError when that is not snapped to a grid."""
    original, release = case.original, case.release
    on_other_grid = off_grid(original, release)
    records = records_of(release)
    case.find(pseudonyms_used_twice(release))
    case.find(faults_of_records(claim, records, release))
    case.looked_at("classes")
    if on_other_grid:
        case.find(on_other_grid)
        case.notes.append(NOT_COMPARED)
        return
    case.compare_accounts()
    links = case.link()
    if links is None:
        case.find(_possible_members(claim, original, records, release))
    else:
        faults, covered = members_against_boxes(claim, original, records, release, links)
        case.find(faults)
        case.find(lost_samples(original, covered, links, release))
        case.find(beyond_shares(claim, original, covered, links))
        case.looked_at("own-samples", "lost-samples")
    case.count_subjects(links)


def faults_of_records(claim: KAnonymity, records: Records, release: Release) -> Iterator[Finding]:
    """What records alone show: malformed ones, classes below k, and overlaps in time."""
    yield from malformed(records, release)
    for of_class in np.flatnonzero(records.size < claim.k).tolist():
        message = (
            f"{counted(records.size[of_class], 'record is', 'records are')} identical to this one, itself "
            f"included; expected at least {claim.k}"
        )
        yield Finding("class-below-k", message, release.trajectory_ids[records.representative[of_class]])
    yield from overlaps_in_time(records, release)


def members_against_boxes(
    claim: KAnonymity, original: Trajectories, records: Records, release: Release, links: Links
) -> tuple[list[Finding], int]:
    """Every box against its own subject's samples, and every class's boxes against those of all its members.

    Returns what was found, and how many raw samples a box of their own subject's record covers.
    """
    findings: list[Finding] = []
    class_row = records.offsets[:-1][records.representative][records.class_of]
    own = own_samples(original, records, links.subject_of, class_row)
    if claim.truthful:
        linked = links.subject_of >= 0
        findings += without_own_sample(own.in_box, records, links, release)
        members_known = np.bincount(records.class_of[linked], minlength=len(records.size)) == records.size
        findings += _not_tight(claim, own.hulls, members_known, records, release)
    findings += beyond_own_share(claim, original, own.covered, links, release)
    return findings, int(own.covered.sum())


def _possible_members(
    claim: KAnonymity, original: Trajectories, records: Records, release: Release
) -> Iterator[Finding]:
    """Without linkage, each class needs as many possible members as records, and boxes that fit these.

    A box is the hull of its members' samples, and what else lies inside it lies inside that hull: so the hull
    of all possible members' samples in it must be the box itself.
    """
    if not claim.truthful:
        return
    by_time = np.argsort(original.t, kind="stable")
    subject_of_sample = np.repeat(np.arange(original.n_subjects), original.lengths)
    hulls = empty_hulls(len(records.boxes))
    last_tried = np.zeros(original.n_subjects, dtype=np.int64)
    time_sorted = original.t[by_time]
    filled = np.zeros(len(records.size), dtype=np.bool_)
    classes = zip(records.representative.tolist(), records.size.tolist(), strict=True)
    for of_class, (record, size) in enumerate(classes):
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
                f"{counted(possible, 'subject has', 'subjects have')} a raw sample in every box of this "
                f"record; expected at least {size}, one for each member"
            )
            yield Finding("class-without-subjects", message, release.trajectory_ids[record])
    yield from _not_tight(claim, hulls, filled, records, release)


def _not_tight(
    claim: KAnonymity, hulls: Integers, wanted: Flags, records: Records, release: Release
) -> Iterator[Finding]:
    """Boxes of the wanted classes that are not the hull of what lies inside, said of the representative.

    Or that reach beyond it farther than the claim allows.
    """
    allowance = allowance_of(claim.hull, release.snapped_grid())
    representative = np.zeros(release.n_records, dtype=np.bool_)
    representative[records.representative[wanted]] = True
    loose = allowance.loose(records.boxes, hulls) & records.boxes_of(representative)
    yield from one_per_record(
        loose, "box-not-tight", f"{allowance.fault} its class's raw samples inside it", records, release
    )


def beyond_shares(claim: KAnonymity, original: Population, covered: int, links: Links) -> Iterator[Finding]:
    """A finding when more samples, or more people, are missing than the claim allows.

    covered: the raw samples that a box of their own person's record holds.
    """
    for what, total, found in (
        ("raw samples", original.n_samples, covered),
        ("people", original.n_subjects, links.n_subjects_with_record),
    ):
        most = most_allowed(claim.missing_at_most, total)
        if total - found > most:
            message = f"{total - found} of {total} {what} are missing; the claim allows {most}"
            yield Finding("too-much-missing", message)


def beyond_own_share(
    claim: KAnonymity, original: Trajectories, covered: Flags, links: Links, release: Release
) -> Iterator[Finding]:
    """A finding for each record whose person misses more samples than the claim allows.

    covered: [samples] whether a box of the own record holds each.
    """
    if covered.all():
        return
    not_held = np.concatenate([[0], np.cumsum(~covered)])
    missing = np.diff(not_held[original.offsets])
    of_record = np.append(missing, 0)[links.subject_of]  # -1, nobody, misses nothing
    for record in np.flatnonzero(of_record).tolist():
        samples = int(original.lengths[links.subject_of[record]])
        if of_record[record] > most_allowed(claim.missing_of_one_at_most, samples):
            message = (
                f"more of this record's person is missing than {show_share(claim.missing_of_one_at_most)} of "
                "the samples, which the claim allows"
            )
            yield Finding("too-much-of-one-missing", message, release.trajectory_ids[record])
