"""Records of boxes, their classes, and what every release of boxes must keep."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims.hull import parse_hull
from shoal.model.finding_kinds import FindingKind
from shoal.model.grid import Grid
from shoal.model.omission import samples_by_reason
from shoal.model.population import Population
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.units import states, states_counts
from shoal.verification.boxes.loops import (
    Samples,
    is_canonical,
    mark_beyond_hulls,
    mark_overlaps,
    match_records,
)
from shoal.verification.examination import Examination, first_of_each_record
from shoal.verification.linking import Links

NOT_COMPARED: Final = "the boxes were not compared with the raw data, because the two are not on one grid"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Records:
    """N records with m boxes in c classes of identical records."""

    boxes: Integers  # int64 [m, 6], columns as BOX_COLUMNS, each record's rows ascending
    offsets: Integers  # [n + 1]
    class_of: Integers  # [n]
    representative: Integers  # [c], first record of each class
    size: Integers  # [c]

    def boxes_of(self, records: Flags) -> Flags:
        """Which boxes belong to these records, a flag for each box; records: a flag for each record."""
        return np.repeat(records, np.diff(self.offsets))

    def empty_hulls(self, class_row: Integers) -> Integers:
        """Hulls of classes that begin in these rows [n]."""
        return empty_hulls(int((class_row + np.diff(self.offsets)).max(initial=0)))


def classify_records(release: Release) -> Records:
    """Sort the records of a release and classify them."""
    columns = release.boxes.columns()
    if len({len(column) for column in columns}) > 1:
        raise MisuseError(
            "the columns of the release's boxes differ in length; a release is made by a method or read "
            "from a folder"
        )
    if (np.diff(release.offsets) < 0).any():
        raise MisuseError("the release's offsets fall; a release is made by a method or read from a folder")
    # a writable copy: read-only offsets would compile all loops once more
    offsets = np.array(release.offsets, dtype=np.int64)
    boxes = np.stack(columns, axis=1).astype(np.int64, copy=False)
    if not is_canonical(boxes, offsets):
        record = np.repeat(np.arange(release.n_records), np.diff(offsets))
        boxes = boxes[np.lexsort((*boxes.T[::-1], record))]
    class_of, representative = _classify(boxes, offsets)
    return Records(
        boxes=boxes,
        offsets=offsets,
        class_of=class_of,
        representative=representative,
        size=np.bincount(class_of, minlength=len(representative)),
    )


def _classify(boxes: Integers, offsets: Integers) -> tuple[Integers, Integers]:
    classes_with: dict[int, list[int]] = {}
    representative: list[int] = []
    class_of = np.empty(len(offsets) - 1, dtype=np.int64)
    for record in range(len(class_of)):
        content = boxes[offsets[record] : offsets[record + 1]].tobytes()
        same_hash = classes_with.setdefault(hash(content), [])
        for number in same_hash:
            first = representative[number]
            if content == boxes[offsets[first] : offsets[first + 1]].tobytes():
                class_of[record] = number
                break
        else:
            class_of[record] = len(representative)
            same_hash.append(len(representative))
            representative.append(record)
    return class_of, np.array(representative, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """How far a box may reach beyond its samples, in cells."""

    slack: int  # for each side
    align: int  # sides lie on multiples of it; 0 = the rule does not fit the cells
    fault: str  # for messages

    def off_grid(self, boxes: Integers) -> Flags:
        """[m] boxes, int64 [m, 6], with a side off the grid."""
        if not self.align:
            return np.ones(len(boxes), dtype=np.bool_)
        return np.asarray((boxes[:, 2:] % self.align != 0).any(axis=1))

    def loose(self, boxes: Integers, hulls: Integers) -> Flags:
        """[m] boxes beyond the rule around the hulls; time must match exactly."""
        loose = np.zeros(len(boxes), dtype=np.bool_)
        mark_beyond_hulls(boxes, hulls, self.slack, loose)
        return loose if self.align == 1 else loose | self.off_grid(boxes)


def hull_allowance(hull: str, grid: Grid) -> Allowance:
    """The claim's hull rule in cells of a grid."""
    rule = parse_hull(hull)
    if rule.grid_m is not None:
        steps = Fraction(repr(rule.grid_m)) / Fraction(repr(float(grid.cell_m)))
        align = steps.numerator if steps.denominator == 1 else 0
        return Allowance(slack=align - 1, align=align, fault=f"is not the hull, rounded by {hull}, of")
    if rule.outward_cells:
        return Allowance(slack=rule.outward_cells, align=1, fault=f"is not within {hull} of the hull of")
    leaves = "the hull of the leaves of" if rule.leaf_places else "the hull of"
    return Allowance(slack=0, align=1, fault=f"is not {leaves}")


def grid_mismatch(original: Population, release: Release) -> list[Finding]:
    """A finding when the grids differ."""
    grid = original.snapped_grid()
    if (release.grid, release.crs) == (grid, original.crs):
        return []
    plane = "this plane" if release.crs == original.crs else "another plane"  # its text may name a person
    message = f"expected {grid} and the plane '{original.crs}', the release has {release.grid} and {plane}"
    return [Finding("grid-mismatch", message)]


def on_one_grid(case: Examination[Trajectories]) -> bool:
    """Whether the boxes can be compared with the raw data; adds why not."""
    findings = grid_mismatch(case.original, case.release)
    case.add(findings)
    if findings:
        case.notes.append(NOT_COMPARED)
    return not findings


def malformed_boxes(records: Records, release: Release) -> Iterator[Finding]:
    """Records without boxes, and boxes that end before they begin."""
    for record in np.flatnonzero(np.diff(records.offsets) == 0).tolist():
        yield Finding("empty-record", "this record holds no box", release.trajectory_ids[record])
    t_start, t_end, x_min, y_min, x_max, y_max = records.boxes.T
    bad = (t_end <= t_start) | (x_max <= x_min) | (y_max <= y_min)
    yield from findings_per_record(
        bad, "malformed-box", "has no extent in time or in space", records, release
    )


def overlaps_in_time(records: Records, release: Release) -> Iterator[Finding]:
    """Boxes that share a moment with another of their record, unless allowed."""
    if release.claim.disjoint_in_time:
        shares_moment = np.zeros(len(records.boxes), dtype=np.bool_)
        mark_overlaps(records.boxes, records.offsets, shares_moment)
        yield from findings_per_record(
            shares_moment, "overlap-in-time", "begins before an earlier box has ended", records, release
        )


def boxes_without_own_sample(
    has_own_sample: Flags, records: Records, links: Links, release: Release
) -> Iterable[Finding]:
    """Boxes of linked records without a sample of their subject. has_own_sample: [boxes]."""
    linked = records.boxes_of(links.subject_of >= 0)
    return findings_per_record(
        ~has_own_sample & linked,
        "sample-without-own-point",
        "holds no raw sample of this record's subject",
        records,
        release,
    )


def miscounted_samples(
    original: Population, covered: int, links: Links, release: Release
) -> Iterator[Finding]:
    """Suppressed samples that differ from the losses; covered: samples in own boxes."""
    lost, by_reason = original.n_samples - covered, release.losses.samples_by_reason
    linked = np.unique(links.subject_of[links.subject_of >= 0])
    of_others = original.n_samples - int(original.lengths[linked].sum())
    if by_reason and not states_counts(by_reason, samples_by_reason(lost, of_others)):
        message = (
            f"{of_others} raw samples are of people without a record and {lost - of_others} in no box of "
            "their person's record; the losses by reason say otherwise"
        )
        yield Finding("lost-samples-not-counted", message)
    if not states(release.losses.samples_suppressed, lost):
        message = (
            f"{lost} raw samples are covered by no box of their own subject's record; the losses say "
            f"{release.losses.samples_suppressed}"
        )
        yield Finding("lost-samples-not-counted", message)


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnMatches:
    """Which boxes hold which samples of the record's own subject."""

    in_box: Flags  # [boxes], the box holds one
    covered: Flags  # [samples], a box of the subject's record holds it
    hulls: Integers  # int64 [rows, 6], around members' samples, in the rows of each class


def match_own_samples(
    samples: Trajectories | Samples, records: Records, subject_of: Integers, class_row: Integers
) -> OwnMatches:
    """Compare records' boxes with their subject's samples; subject_of, class_row: as of ``match_records``."""
    in_box = np.zeros(len(records.boxes), dtype=np.bool_)
    covered = np.zeros(len(samples.t), dtype=np.bool_)
    hulls = records.empty_hulls(class_row)
    match_records(
        Samples(samples.offsets, samples.t, samples.x, samples.y),
        records.boxes,
        records.offsets,
        subject_of,
        class_row,
        hulls,
        in_box,
        covered,
    )
    return OwnMatches(in_box=in_box, covered=covered, hulls=hulls)


def single_record_faults(
    matches: OwnMatches, original: Population, records: Records, release: Release, links: Links
) -> Iterator[Finding]:
    """Boxes without an own sample, and miscounted suppressed samples."""
    yield from boxes_without_own_sample(matches.in_box, records, links, release)
    yield from miscounted_samples(original, int(matches.covered.sum()), links, release)


def empty_hulls(n: int) -> Integers:
    """Hulls that hold nothing: lower bounds at the maximum, upper bounds at the minimum."""
    bottom, top = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    hulls = np.empty((n, 6), dtype=np.int64)
    hulls[:] = [top, bottom, top, top, bottom, bottom]
    return hulls


def findings_per_record(
    bad: Flags, kind: FindingKind, fault: str, records: Records, release: Release
) -> Iterable[Finding]:
    """One finding for each record with a flagged box: the first one, and how many more."""
    for record, row, more in first_of_each_record(bad, records.offsets):
        start, end = records.offsets[record], records.offsets[record + 1]
        message = f"box {row - start + 1} of {end - start} {fault}{more}"
        yield Finding(kind, message, release.trajectory_ids[record])
