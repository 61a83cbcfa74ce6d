"""Check k-anonymity (Gramaglia and Fiore 2015, Sec. 2.4).

Each record equals at least k - 1 others. Each subject has one record or counts as suppressed. Each box is
the exact hull of the samples inside it of every member of its class, and each member has one.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from shoal.model.claims import KAnonymity
from shoal.model.claims.hull import parse_hull
from shoal.model.omission import most_allowed
from shoal.model.places import PublicPlaces
from shoal.model.population import Population
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.run import Run
from shoal.units import counted, show_share
from shoal.verification.boxes.leaves import hulls_of_leaves
from shoal.verification.boxes.loops import Samples, count_possible_members, samples_by_time
from shoal.verification.boxes.records import (
    Records,
    boxes_without_own_sample,
    classify_records,
    empty_hulls,
    findings_per_record,
    hull_allowance,
    malformed_boxes,
    match_own_samples,
    miscounted_samples,
    on_one_grid,
    overlaps_in_time,
)
from shoal.verification.examination import Examination, duplicate_pseudonyms
from shoal.verification.linking import Links

_ROWS_AT_ONCE: Final = 1 << 16


def examine_k_anonymity(claim: KAnonymity, case: Examination[Trajectories], _run: Run) -> None:
    """Check a KAnonymity claim."""
    original, release = case.original, case.release
    records = classify_records(release)
    case.add(duplicate_pseudonyms(release))
    case.add(record_faults(claim, records, release))
    case.mark_checked("classes")
    if not on_one_grid(case):
        return
    case.compare_accounts()
    links = case.link()
    if links is None:
        case.add(_possible_members(claim, original, records, release))
    else:
        faults, covered = check_members(claim, original, records, release, links)
        case.add(faults)
        case.add(miscounted_samples(original, covered, links, release))
        case.add(too_much_missing(claim, original, covered, links))
        case.mark_checked("own-samples", "lost-samples")
    if original.sensitive is not None:
        case.mark_checked("diverse-places")
    case.count_subjects(links)


def record_faults(claim: KAnonymity, records: Records, release: Release) -> Iterator[Finding]:
    """Findings from the records alone: malformed, in classes below k, overlapping."""
    yield from malformed_boxes(records, release)
    for of_class in np.flatnonzero(records.size < claim.k).tolist():
        message = (
            f"{counted(records.size[of_class], 'record is', 'records are')} identical to this one, itself "
            f"included; expected at least {claim.k}"
        )
        yield Finding("class-below-k", message, release.trajectory_ids[records.representative[of_class]])
    yield from overlaps_in_time(records, release)


def check_members(
    claim: KAnonymity, original: Trajectories, records: Records, release: Release, links: Links
) -> tuple[list[Finding], int]:
    """Compare records and classes with their members' samples; count the samples in own boxes."""
    findings = list(boxes_near_few_kinds(claim, original, records, release))
    n_boxes = np.diff(records.offsets)[records.representative]
    class_row = (np.cumsum(n_boxes) - n_boxes)[records.class_of]
    matches = match_own_samples(original, records, links.subject_of, class_row)
    if claim.truthful:
        linked = links.subject_of >= 0
        findings += boxes_without_own_sample(matches.in_box, records, links, release)
        members_known = np.bincount(records.class_of[linked], minlength=len(records.size)) == records.size
        hulls = matches.hulls
        if parse_hull(claim.hull).leaf_places:
            faults, hulls = hulls_of_leaves(
                claim.hull, original, records, release, links.subject_of, class_row
            )
            findings += faults
        findings += _boxes_not_tight(claim, hulls, members_known, records, release)
    findings += too_much_of_one_missing(claim, original, matches.covered, links, release)
    return findings, int(matches.covered.sum())


def _possible_members(
    claim: KAnonymity, original: Trajectories, records: Records, release: Release
) -> Iterator[Finding]:
    yield from boxes_near_few_kinds(claim, original, records, release)
    if not claim.truthful:
        return
    samples = Samples(original.offsets, original.t, original.x, original.y)
    by_time = samples_by_time(samples)
    hulls = empty_hulls(len(records.boxes))
    last_tried = np.zeros(original.n_subjects, dtype=np.int64)
    filled = np.zeros(len(records.size), dtype=np.bool_)
    classes = zip(records.representative.tolist(), records.size.tolist(), strict=True)
    for of_class, (record, size) in enumerate(classes):
        possible = count_possible_members(
            samples,
            by_time,
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
    if parse_hull(claim.hull).leaf_places:
        faults, hulls = hulls_of_leaves(claim.hull, original, records, release)
        yield from faults
    hulls = hulls[records.boxes_of(_are_representative(records))]
    yield from _boxes_not_tight(claim, hulls, filled, records, release)


def _are_representative(records: Records) -> Flags:
    flags = np.zeros(len(records.class_of), dtype=np.bool_)
    flags[records.representative] = True
    return flags


def _boxes_not_tight(
    claim: KAnonymity, hulls: Integers, checked_classes: Flags, records: Records, release: Release
) -> Iterator[Finding]:
    """hulls: of the boxes of each class's representative, in their order."""
    allowance = hull_allowance(claim.hull, release.snapped_grid())
    rows = np.flatnonzero(records.boxes_of(_are_representative(records)))
    loose = np.zeros(len(records.boxes), dtype=np.bool_)
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[first : first + _ROWS_AT_ONCE]
        loose[some] = allowance.loose(records.boxes[some], hulls[first : first + _ROWS_AT_ONCE])
    loose &= records.boxes_of(checked_classes[records.class_of])
    yield from findings_per_record(
        loose, "box-not-tight", f"{allowance.fault} its class's raw samples inside it", records, release
    )


def too_much_missing(
    claim: KAnonymity, original: Population, covered: int, links: Links
) -> Iterator[Finding]:
    """A finding when more samples or people are missing than allowed; covered: raw samples in boxes."""
    for what, total, present in (
        ("raw samples", original.n_samples, covered),
        ("people", original.n_subjects, links.n_subjects_with_record),
    ):
        most = most_allowed(claim.missing_at_most, total)
        if total - present > most:
            message = f"{total - present} of {total} {what} are missing; the claim allows {most}"
            yield Finding("too-much-missing", message)


def too_much_of_one_missing(
    claim: KAnonymity, original: Trajectories, covered: Flags, links: Links, release: Release
) -> Iterator[Finding]:
    """Records whose person misses more samples than allowed; covered: raw samples in boxes."""
    if covered.all():
        return
    not_held = np.concatenate([[0], np.cumsum(~covered)])
    missing = np.diff(not_held[original.offsets])
    of_record = np.append(missing, 0)[links.subject_of]  # -1 = no person
    for record in np.flatnonzero(of_record).tolist():
        samples = int(original.lengths[links.subject_of[record]])
        if of_record[record] > most_allowed(claim.missing_of_one_at_most, samples):
            message = (
                f"more of this record's person is missing than {show_share(claim.missing_of_one_at_most)} of "
                "the samples, which the claim allows"
            )
            yield Finding("too-much-of-one-missing", message, release.trajectory_ids[record])


def boxes_near_few_kinds(
    claim: KAnonymity, original: Trajectories, records: Records, release: Release
) -> Iterator[Finding]:
    """Findings of boxes near sensitive places with fewer kinds than claimed, or without an ordinary place.

    A neighborhood, which is measured again here, reaches each cell of which a part is within the place's
    radius. What a box holds are the cells with a place of the public list that the raw data was read with, or
    without such a list all its cells. Nothing is found in data that was read without a list of sensitive
    places; then the part is not checked.
    """
    sensitive, public, cell_m = original.sensitive, original.places, original.snapped_grid().cell_m
    if claim.diverse_places == 1 or sensitive is None:
        return
    if sensitive.sha256 != (release.reading.sensitive_sha256 or ""):
        yield Finding("other-places", "the release was made with another list of sensitive places")
    boxes, number = np.unique(records.boxes[:, 2:], axis=0, return_inverse=True)
    if public is None:
        kinds, ordinary = _of_all_cells(boxes, sensitive, cell_m)
    else:
        kinds, ordinary = _of_listed_cells(boxes, sensitive, public, cell_m)
    bad = kinds.any(axis=1) & ~(ordinary & (kinds.sum(axis=1) + 1 >= claim.diverse_places))
    fault = (
        f"is near sensitive places, and does not hold places of {claim.diverse_places} kinds, one of them "
        "ordinary"
    )
    yield from findings_per_record(bad[number.ravel()], "too-few-kinds", fault, records, release)


def _of_all_cells(boxes: Integers, sensitive: PublicPlaces, cell_m: float) -> tuple[Flags, Flags]:
    kinds = _kinds_reaching(boxes, sensitive, cell_m)
    corners, number = np.unique(boxes[:, :2], axis=0, return_inverse=True)
    of_corner = _kinds_reaching(np.hstack([corners, corners + 1]), sensitive, cell_m)
    ordinary = ~np.asarray(of_corner.any(axis=1))[number.ravel()]
    for row in np.flatnonzero(kinds.any(axis=1) & ~ordinary):
        ordinary[row] = _has_cell_out_of_reach(boxes[row], sensitive, cell_m)
    return kinds, ordinary


def _has_cell_out_of_reach(box: Integers, sensitive: PublicPlaces, cell_m: float) -> bool:
    near = np.flatnonzero(_reach(box[None], sensitive.x, sensitive.y, sensitive.radii_m, cell_m))
    y = np.arange(box[1], box[3])
    for x in range(box[0], box[2]):
        column = np.column_stack([np.full(len(y), x), y, np.full(len(y), x + 1), y + 1])
        reached = np.zeros(len(y), dtype=np.bool_)
        for place in near:
            reached |= _reach(
                column, sensitive.x[place], sensitive.y[place], sensitive.radii_m[place], cell_m
            )
        if not reached.all():
            return True
    return False


def _of_listed_cells(
    boxes: Integers, sensitive: PublicPlaces, public: PublicPlaces, cell_m: float
) -> tuple[Flags, Flags]:
    cells = np.unique(np.floor(np.column_stack([public.x, public.y]) / cell_m).astype(np.int64), axis=0)
    of_cell = _kinds_reaching(np.hstack([cells, cells + 1]), sensitive, cell_m)
    is_near = of_cell.any(axis=1)
    kinds = np.zeros((len(boxes), of_cell.shape[1]), dtype=np.bool_)
    for cell in np.flatnonzero(is_near):
        kinds[_hold(boxes, cells[cell])] |= of_cell[cell]
    waiting = np.flatnonzero(kinds.any(axis=1))
    ordinary = np.ones(len(boxes), dtype=np.bool_)
    ordinary[waiting] = False
    for x_y in cells[~is_near]:
        holds = _hold(boxes[waiting], x_y)
        ordinary[waiting[holds]] = True
        waiting = waiting[~holds]
    return kinds, ordinary


def _hold(boxes: Integers, cell: Integers) -> Flags:
    return np.asarray(((boxes[:, :2] <= cell) & (cell < boxes[:, 2:])).all(axis=1))


def _kinds_reaching(areas: Integers, sensitive: PublicPlaces, cell_m: float) -> Flags:
    """Which kinds of places reach each area, bool [areas, kinds]."""
    names = sensitive.kinds or ("",) * len(sensitive)
    number_of = {kind: number for number, kind in enumerate(dict.fromkeys(names))}
    kinds = np.zeros((len(areas), len(number_of)), dtype=np.bool_)
    rows = zip(names, sensitive.x, sensitive.y, sensitive.radii_m, strict=True)
    for kind, x_m, y_m, radius_m in rows:
        kinds[:, number_of[kind]] |= _reach(areas, x_m, y_m, radius_m, cell_m)
    return kinds


def _reach(areas: Integers, x_m: Floats, y_m: Floats, radius_m: Floats, cell_m: float) -> Flags:
    """Whether areas of cells [a, 4], or one and many places, are within reach of each other."""
    west, south, east, north = areas.T * cell_m
    east_m = np.maximum(0.0, np.maximum(west - x_m, x_m - east))
    north_m = np.maximum(0.0, np.maximum(south - y_m, y_m - north))
    return np.asarray(east_m**2 + north_m**2 <= radius_m**2)
