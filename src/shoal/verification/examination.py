"""The parts of claims; a part that no check marked breaks the claim."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Generic, TypeVar

import numpy as np

from shoal.errors import MisuseError
from shoal.model.names import Pseudonyms
from shoal.model.population import Population
from shoal.model.release import Linkage, Release
from shoal.model.trace import TRACE_FILES
from shoal.model.verdicts import Finding, Verdict
from shoal.runtime.arrays import Flags, Integers
from shoal.units import counted, states_counts
from shoal.verification.linking import Links, link_records

LINKAGE: Final = "the linkage"
_RAW_DATA: Final = "raw data that the release can be compared with"
People = TypeVar("People", bound=Population)

NO_ACCOUNT: Final = "the raw data was not read from a file, so no rows were dropped on input"


@dataclass(frozen=True, eq=False, repr=False)
class Examination(Generic[People]):
    """One release under examination."""

    original: People
    release: Release
    linkage: Linkage | None
    parts: tuple[str, ...]  # keys of PARTS that its claim consists of
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checked: set[str] = field(default_factory=set)  # those that were checked

    def __post_init__(self) -> None:
        unknown = [part for part in self.parts if part not in PARTS]
        if unknown or not self.parts:
            raise MisuseError(f"a claim needs parts to be checked, of {', '.join(PARTS)}; found {self.parts}")

    @cached_property
    def links(self) -> Links | None:
        """Who became which record, without findings; None without a linkage."""
        return None if self.linkage is None else link_records(self.original, self.release, self.linkage)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings."""
        self.findings.extend(findings)

    def mark_checked(self, *parts: str) -> None:
        """Mark parts as checked; other claims' parts change nothing."""
        self.checked.update(parts)

    def compare_accounts(self) -> None:
        """Compare the reading with the release; unread data must have no account."""
        if self.original.intake.rows_read:
            self.add(account_mismatches(self.original, self.release))
            self.mark_checked("account")
        elif not any(account_mismatches(self.original, self.release)):
            self.notes.append(NO_ACCOUNT)
            self.mark_checked("account")

    def link(self) -> Links | None:
        """Who became which record, with findings; None without a linkage."""
        if self.links is not None:
            self.add(self.links.findings)
            self.mark_checked("subjects")
        return self.links

    def count_subjects(self, links: Links | None) -> None:
        """Compare subjects without a record with the losses; without links, a record is a subject."""
        published = self.release.n_records if links is None else links.n_subjects_with_record
        self.add(miscounted_subjects(len(self.original.ids) - published, self.release))

    def verdict(self) -> Verdict:
        """The verdict; parts without a mark are unchecked."""
        return Verdict.of(
            self.findings,
            checked=self.release.n_records,
            notes=self.notes,
            unchecked=[PARTS[part].words for part in self.parts if part not in self.checked],
        )


def duplicate_pseudonyms(release: Release) -> Iterator[Finding]:
    """Pseudonyms that more than one record carries."""
    for position in Pseudonyms.of(release.trajectory_ids).duplicate_positions():
        name = release.trajectory_ids[position]
        yield Finding("duplicate-pseudonym", "another record carries the same pseudonym", name)


def first_of_each_record(bad: Flags, offsets: Integers) -> Iterator[tuple[int, int, str]]:
    """Each record with a flagged row, its first such row, and how many more there are, in words."""
    rows = np.flatnonzero(bad)
    owners, first, count = np.unique(
        np.searchsorted(offsets, rows, side="right") - 1, return_index=True, return_counts=True
    )
    for record, row, flagged in zip(owners.tolist(), rows[first].tolist(), count.tolist(), strict=True):
        yield record, row, f" (and so for {flagged - 1} more)" if flagged > 1 else ""


def miscounted_subjects(lost: int, release: Release) -> Iterator[Finding]:
    """A finding when subjects without a record differ from the losses."""
    if lost != release.losses.subjects_suppressed:
        message = (
            f"{counted(lost, 'subject has', 'subjects have')} no record; the losses say "
            f"{release.losses.subjects_suppressed}"
        )
        yield Finding("lost-subjects-not-counted", message)


def account_mismatches(original: Population, release: Release) -> Iterator[Finding]:
    """Differences in rows dropped, or in what counts as a person."""
    intake = original.intake
    dropped_rows, recorded = _nonzero(intake.dropped), _nonzero(release.losses.rows)
    if not states_counts(recorded, dropped_rows):
        message = (
            f"reading the raw data dropped {_rows_in_words(dropped_rows)}; the losses say "
            f"{_rows_in_words(recorded)}, or give other reasons"
        )
        yield Finding("lost-rows-not-counted", message)
    screenings = [
        (reading.per_day, reading.min_samples_per_day, reading.min_active_days)
        for reading in (intake.reading, release.reading)
    ]
    if intake.unit_of_protection != release.unit_of_protection or screenings[0] != screenings[1]:
        ours, theirs = (
            f"per day: {per_day}, at least {samples} samples a day, on at least {days} days"
            for per_day, samples, days in screenings
        )
        message = (
            f"the raw data was read as '{intake.unit_of_protection}' ({ours}); the release says otherwise "
            f"({'another unit' if ours == theirs else theirs})"  # its unit of protection may name a person
        )
        yield Finding("unit-mismatch", message)


def _nonzero(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: rows for reason, rows in counts.items() if rows}


def _rows_in_words(dropped: Mapping[str, int]) -> str:
    return f"{counted(sum(dropped.values()), 'row')} for {counted(len(dropped), 'reason')}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a claim, and what is needed to check it."""

    what: str
    needs: str

    @property
    def words(self) -> str:
        """How a verdict shows an unchecked part."""
        return f"{self.what} (needs {self.needs})"


PARTS: Final[dict[str, Part]] = {
    # every claim
    "account": Part(what="the rows dropped on input and the unit of protection", needs=_RAW_DATA),
    "subjects": Part(what="that each subject has exactly one record", needs=LINKAGE),
    "order": Part(what="whether the records follow the order of the input", needs=LINKAGE),
    # of boxes
    "classes": Part(what="that each record is identical to k - 1 others", needs="the records"),
    "own-samples": Part(what="that each box holds samples of its own people, and no more", needs=LINKAGE),
    "lost-samples": Part(what="how many samples were suppressed", needs=LINKAGE),
    "diverse-places": Part(
        what="that boxes near sensitive places hold other places, too", needs="the list of sensitive places"
    ),
    "sizes": Part(what="that no box is smaller than claimed", needs="the records"),
    "candidates": Part(what="how many records fit in each interval of length tau", needs=LINKAGE),
    "hiders": Part(what="that other records hide each subject after every epsilon", needs=LINKAGE),
    # of points
    "near": Part(what="that k - 1 others stay within delta of each record", needs="the records"),
    "counts": Part(what="how many points were suppressed and created", needs=_RAW_DATA),
    "true-points": Part(what="that each point is a true one and none stands twice", needs=_RAW_DATA),
    "own-times": Part(what="that each record has the times of its own person", needs=LINKAGE),
    "swap-sets": Part(what="where each point came from, its swap set and the thresholds", needs=TRACE_FILES),
    "shuffle": Part(
        what="whether the shuffle was fair",
        needs=f"{TRACE_FILES}, and 26 swap sets or more, fewer where they are large",
    ),
    "paths": Part(
        what="the length of the paths along the streets",
        needs="the trace and the street graph: --streets-nodes, --streets-edges",
    ),
}
