"""What every release of boxes must keep, whatever it claims: well-formed records on the raw data's grid."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims.hull import parse_hull
from shoal.model.omission import samples_by_reason
from shoal.model.release import Release
from shoal.model.trajectories import Grid, Population, Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.verification.boxes.loops import is_canonical, mark_beyond_hulls, mark_overlaps, match_records
from shoal.verification.linking import Links

NOT_COMPARED: Final = "the boxes were not compared with the raw data, because the two are not on one grid"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Records:
    """n records with m boxes in c classes.

    boxes: int64 [m, 6], columns as BOX_COLUMNS, each record's rows ascending. offsets: int64 [n + 1].
    class_of: int64 [n]. representative: int64 [c], the first record of each class. size: int64 [c].
    """

    boxes: Integers
    offsets: Integers
    class_of: Integers
    representative: Integers
    size: Integers

    def record_of_box(self, rows: Integers) -> Integers:
        """The record that owns each of these boxes."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    def boxes_of(self, records: Flags) -> Flags:
        """[m] which boxes are of these records [n]."""
        return np.repeat(records, np.diff(self.offsets))


def records_of(release: Release) -> Records:
    """The release's records, sorted and classified.

    Raises MisuseError when its arrays contradict each other.
    """
    columns = release.boxes.columns()
    if len({len(column) for column in columns}) > 1:
        raise MisuseError(
            "the columns of the release's boxes differ in length; a release is made by a method or read "
            "from a folder"
        )
    if (np.diff(release.offsets) < 0).any():
        raise MisuseError("the release's offsets fall; a release is made by a method or read from a folder")
    # a copy of the offsets: all loops would be compiled once more for what may not be written to
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
    """Each record's class and each class's first record; equal hashes are compared box by box."""
    classes_with: dict[int, list[int]] = {}
    representative: list[int] = []
    class_of = np.empty(len(offsets) - 1, dtype=np.int64)
    for record in range(len(class_of)):
        own = boxes[offsets[record] : offsets[record + 1]].tobytes()
        same_hash = classes_with.setdefault(hash(own), [])
        for known in same_hash:
            first = representative[known]
            if own == boxes[offsets[first] : offsets[first + 1]].tobytes():
                class_of[record] = known
                break
        else:
            class_of[record] = len(representative)
            same_hash.append(len(representative))
            representative.append(record)
    return class_of, np.array(representative, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """In cells: each side at most ``slack`` outside the samples, and on a multiple of ``align``.

    align: 0 where no cell can keep to the rule's grid. fault: what is wrong with a box that breaks it, behind
    whose samples these must be.
    """

    slack: int
    align: int
    fault: str

    def off_grid(self, boxes: Integers) -> Flags:
        """[m] the boxes with a side off the rule's grid; boxes: int64 [m, 6]."""
        if not self.align:
            return np.ones(len(boxes), dtype=np.bool_)
        return np.asarray((boxes[:, 2:] % self.align != 0).any(axis=1))

    def loose(self, boxes: Integers, hulls: Integers) -> Flags:
        """[m] the boxes that break the rule around these hulls of the samples inside them; both int64 [m, 6].

        In time a box is the hull itself.
        """
        loose = np.zeros(len(boxes), dtype=np.bool_)
        mark_beyond_hulls(boxes, hulls, self.slack, loose)
        return loose if self.align == 1 else loose | self.off_grid(boxes)


def allowance_of(hull: str, grid: Grid) -> Allowance:
    """The rule in cells of a grid."""
    rule = parse_hull(hull)
    if rule.grid_m is not None:
        steps = Fraction(repr(rule.grid_m)) / Fraction(repr(float(grid.cell_m)))
        align = steps.numerator if steps.denominator == 1 else 0
        return Allowance(slack=align - 1, align=align, fault=f"is not the hull, rounded by {hull}, of")
    if rule.outward_cells:
        return Allowance(slack=rule.outward_cells, align=1, fault=f"is not within {hull} of the hull of")
    return Allowance(slack=0, align=1, fault="is not the hull of")


def off_grid(original: Population, release: Release) -> list[Finding]:
    """A finding when raw data and release cannot be compared.

    Raises MisuseError when the raw data is not snapped to a grid.
    """
    grid = original.snapped_grid()
    if (release.grid, release.crs) == (grid, original.crs):
        return []
    plane = "this plane" if release.crs == original.crs else "another plane"  # its text may name a person
    message = f"expected {grid} and the plane '{original.crs}', the release has {release.grid} and {plane}"
    return [Finding("grid-mismatch", message)]


def malformed(records: Records, release: Release) -> Iterator[Finding]:
    """Records without boxes, and boxes that end before they begin."""
    for record in np.flatnonzero(np.diff(records.offsets) == 0).tolist():
        yield Finding("empty-record", "this record holds no box", release.trajectory_ids[record])
    t_start, t_end, x_min, y_min, x_max, y_max = records.boxes.T
    bad = (t_end <= t_start) | (x_max <= x_min) | (y_max <= y_min)
    yield from one_per_record(bad, "malformed-box", "has no extent in time or in space", records, release)


def overlaps_in_time(records: Records, release: Release) -> Iterator[Finding]:
    """Boxes that share a moment with another of their record, unless the claim allows it."""
    if release.claim.disjoint_in_time:
        shares_moment = np.zeros(len(records.boxes), dtype=np.bool_)
        mark_overlaps(records.boxes, records.offsets, shares_moment)
        yield from one_per_record(
            shares_moment, "overlap-in-time", "begins before an earlier box has ended", records, release
        )


def without_own_sample(
    has_own_sample: Flags, records: Records, links: Links, release: Release
) -> Iterable[Finding]:
    """Boxes of linked records that hold no raw sample of their own subject. has_own_sample: [boxes]."""
    linked = records.boxes_of(links.subject_of >= 0)
    return one_per_record(
        ~has_own_sample & linked,
        "sample-without-own-point",
        "holds no raw sample of this record's subject",
        records,
        release,
    )


def lost_samples(original: Population, covered: int, links: Links, release: Release) -> Iterator[Finding]:
    """Findings when the raw samples that no box of their own record covers are not those of the losses.

    In number, or by reason where the release gives reasons.
    """
    lost, told = original.n_samples - covered, release.losses.samples_by_reason
    linked = np.unique(links.subject_of[links.subject_of >= 0])
    of_others = original.n_samples - int(original.lengths[linked].sum())
    if told and dict(told) != samples_by_reason(lost, of_others):
        message = (
            f"{of_others} raw samples are of people without a record and {lost - of_others} in no box of "
            "their person's record; the losses by reason say otherwise"
        )
        yield Finding("lost-samples-not-counted", message)
    if lost != release.losses.samples_suppressed:
        message = (
            f"{lost} raw samples are covered by no box of their own subject's record; the losses say "
            f"{release.losses.samples_suppressed}"
        )
        yield Finding("lost-samples-not-counted", message)


@dataclass(frozen=True, eq=False, kw_only=True)
class Samples:
    """Raw samples between the ends of a file's ranges, int64; each subject's ascend by t.

    offsets: [subjects + 1].
    """

    offsets: Integers
    t: Integers
    x: Integers
    y: Integers


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnSamples:
    """What the raw samples of the records' own subjects show.

    in_box: [boxes], a sample of the own subject lies in the box. covered: [samples], a box of the own record
    holds the sample. hulls: int64 [boxes, 6], of all samples of the members of a class that lie in its boxes,
    where the record stands that was looked at for the class.
    """

    in_box: Flags
    covered: Flags
    hulls: Integers


def own_samples(
    samples: Trajectories | Samples, records: Records, subject_of: Integers, class_row: Integers
) -> OwnSamples:
    """Hold every record's boxes against the raw samples of its own subject.

    subject_of: int64 [records], the subject of each, -1 = none. class_row: int64 [records], the first box of
    the record where the hulls of its class are kept.
    """
    in_box = np.zeros(len(records.boxes), dtype=np.bool_)
    covered = np.zeros(len(samples.t), dtype=np.bool_)
    hulls = empty_hulls(len(records.boxes))
    match_records(
        samples.t,
        samples.x,
        samples.y,
        samples.offsets,
        records.boxes,
        records.offsets,
        subject_of,
        class_row,
        hulls,
        in_box,
        covered,
    )
    return OwnSamples(in_box=in_box, covered=covered, hulls=hulls)


def faults_of_single_records(
    own: OwnSamples, original: Population, records: Records, release: Release, links: Links
) -> Iterator[Finding]:
    """Boxes without a sample of their own subject, and lost samples that are not counted."""
    yield from without_own_sample(own.in_box, records, links, release)
    yield from lost_samples(original, int(own.covered.sum()), links, release)


def empty_hulls(n: int) -> Integers:
    """[n, 6] hulls that hold nothing yet: every lower bound at the top, every upper bound at the bottom."""
    bottom, top = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    hulls = np.empty((n, 6), dtype=np.int64)
    hulls[:] = [top, bottom, top, top, bottom, bottom]
    return hulls


def one_per_record(
    bad: Flags, kind: str, fault: str, records: Records, release: Release
) -> Iterable[Finding]:
    """One finding for each record with a flagged box: which box, in the order of time, and how many more."""
    rows = np.flatnonzero(bad)
    owners, first, count = np.unique(records.record_of_box(rows), return_index=True, return_counts=True)
    for record, row, flagged in zip(owners.tolist(), rows[first].tolist(), count.tolist(), strict=True):
        start, end = records.offsets[record], records.offsets[record + 1]
        more = f" (and so for {flagged - 1} more)" if flagged > 1 else ""
        yield Finding(
            kind, f"box {row - start + 1} of {end - start} {fault}{more}", release.trajectory_ids[record]
        )
