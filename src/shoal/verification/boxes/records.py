"""What every release of boxes must keep, whatever it claims.

Well-formed records, truthful accounts, boxes on the raw data's grid.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from shoal.model.release import AnyRelease, Release
from shoal.model.trajectories import Population
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.verification.boxes.classes import Records
from shoal.verification.boxes.loops import mark_overlaps

NO_ACCOUNT: Final = (
    "the raw data carries no account of its reading, so the rows dropped and the unit of "
    "protection were not compared"
)
NOT_COMPARED: Final = "the boxes were not compared with the raw data, because the two are not on one grid"


def off_grid(original: Population, release: Release) -> list[Finding]:
    """A finding when raw data and release cannot be compared.

    Raises MisuseError when the raw data is not snapped to a grid.
    """
    grid = original.snapped_grid()
    if (release.grid, release.crs) == (grid, original.crs):
        return []
    message = (
        f"expected {grid} and the plane '{original.crs}', the release has {release.grid} and the "
        f"plane '{release.crs}'"
    )
    return [Finding("grid-mismatch", message)]


def lost_samples(lost: int, release: Release) -> Iterator[Finding]:
    """A finding when the raw samples that no box of their own record covers are not as many as the losses say."""
    if lost != release.losses.samples_suppressed:
        message = (
            f"{lost} raw samples are covered by no box of their own subject's record; the losses say "
            f"{release.losses.samples_suppressed}"
        )
        yield Finding("lost-samples-not-counted", message)


def pseudonyms_used_twice(release: AnyRelease) -> Iterator[Finding]:
    """Pseudonyms that more than one record carries."""
    seen: set[str] = set()
    for name in release.trajectory_ids:
        if name in seen:
            yield Finding("duplicate-pseudonym", "another record carries the same pseudonym", name)
        seen.add(name)


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


def lost_subjects(lost: int, release: AnyRelease) -> Iterator[Finding]:
    """A finding when the subjects without a record are not as many as the losses say."""
    if lost != release.losses.subjects_suppressed:
        message = f"{lost} subjects have no record; the losses say {release.losses.subjects_suppressed}"
        yield Finding("lost-subjects-not-counted", message)


def account_differs(original: Population, release: AnyRelease) -> Iterator[Finding]:
    """What was dropped on input, and who counts as one person, in the raw data as read and in the release."""
    intake = original.intake
    seen, told = _nonzero(intake.dropped), _nonzero(release.losses.rows)
    if seen != told:
        message = (
            f"reading the raw data dropped {sum(seen.values())} rows for {len(seen)} reasons; the losses say "
        )
        yield Finding(
            "lost-rows-not-counted",
            f"{message}{sum(told.values())} rows for {len(told)} reasons, or give other reasons",
        )
    here, there = intake.reading, release.reading
    same_screening = (here.per_day, here.min_samples_per_day) == (there.per_day, there.min_samples_per_day)
    if intake.unit_of_protection != release.unit_of_protection or not same_screening:
        message = (
            f"the raw data was read as '{intake.unit_of_protection}' (per day: {here.per_day}, at "
            f"least {here.min_samples_per_day} "
        )
        message += (
            f"samples a day); the release says '{release.unit_of_protection}' ({there.per_day}, "
            f"{there.min_samples_per_day})"
        )
        yield Finding("unit-mismatch", message)


def _nonzero(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: rows for reason, rows in counts.items() if rows}


def empty_hulls(n: int) -> Integers:
    """[n, 6] hulls that hold nothing yet: every lower bound at the top, every upper bound at the bottom."""
    bottom, top = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    return np.tile(np.array([top, bottom, top, top, bottom, bottom], dtype=np.int64), (n, 1))


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
