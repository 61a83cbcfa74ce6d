"""What every check asks in the same way: pseudonyms, the account of the reading, the linkage, the losses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Generic, TypeVar

from shoal.errors import MisuseError
from shoal.model.names import Pseudonyms
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Population
from shoal.model.verdicts import Finding, Verdict
from shoal.units import counted
from shoal.verification.linking import Links, links_of

LINKAGE: Final = "the linkage"
_RAW_DATA: Final = "raw data that the release can be compared with"
_TRACE: Final = "origin.parquet beside the linkage"
People = TypeVar("People", bound=Population)

NO_ACCOUNT: Final = "the raw data was not read from a file, so no rows were dropped on input"


@dataclass(frozen=True, eq=False, repr=False)
class Examination(Generic[People]):
    """One release under examination, and what was found and noted so far, in the order of the questions.

    parts: keys of PARTS, what its claim consists of; checked: those that were looked at. Raises MisuseError
    for a claim of no parts, and for a part that stands in no table.
    """

    original: People
    release: Release
    linkage: Linkage | None
    parts: tuple[str, ...]
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        unknown = [part for part in self.parts if part not in PARTS]
        if unknown or not self.parts:
            raise MisuseError(f"a claim needs parts to be checked, of {', '.join(PARTS)}; found {self.parts}")

    @cached_property
    def links(self) -> Links | None:
        """Who became which record, its findings not taken over; None without a linkage."""
        return None if self.linkage is None else links_of(self.original, self.release, self.linkage)

    def find(self, findings: Iterable[Finding]) -> None:
        """Add findings."""
        self.findings.extend(findings)

    def looked_at(self, *parts: str) -> None:
        """Mark parts as checked, whatever was found; those that are no part of this claim change nothing."""
        self.checked.update(parts)

    def compare_accounts(self) -> None:
        """Compare how the raw data was read; where it was not read, the release must tell of no reading."""
        if self.original.intake.rows_read:
            self.find(account_differs(self.original, self.release))
            self.looked_at("account")
        elif not any(account_differs(self.original, self.release)):
            self.notes.append(NO_ACCOUNT)
            self.looked_at("account")

    def link(self) -> Links | None:
        """Who became which record, and what is wrong with that; None without a linkage."""
        if self.links is not None:
            self.find(self.links.findings)
            self.looked_at("subjects")
        return self.links

    def count_subjects(self, links: Links | None) -> None:
        """Compare the subjects without a record with the losses; without links, records count as subjects."""
        published = self.release.n_records if links is None else links.n_subjects_with_record
        self.find(lost_subjects(len(self.original.ids) - published, self.release))

    def verdict(self) -> Verdict:
        """The verdict over all findings so far; parts of the claim that nobody marked are unchecked."""
        return Verdict.of(
            self.findings,
            checked=self.release.n_records,
            notes=self.notes,
            unchecked=[PARTS[part].words for part in self.parts if part not in self.checked],
        )


def pseudonyms_used_twice(release: Release) -> Iterator[Finding]:
    """Pseudonyms that more than one record carries."""
    for place in Pseudonyms.of(release.trajectory_ids).duplicate_positions():
        name = release.trajectory_ids[place]
        yield Finding("duplicate-pseudonym", "another record carries the same pseudonym", name)


def lost_subjects(lost: int, release: Release) -> Iterator[Finding]:
    """A finding when the subjects without a record are not as many as the losses say."""
    if lost != release.losses.subjects_suppressed:
        message = (
            f"{counted(lost, 'subject has', 'subjects have')} no record; the losses say "
            f"{release.losses.subjects_suppressed}"
        )
        yield Finding("lost-subjects-not-counted", message)


def account_differs(original: Population, release: Release) -> Iterator[Finding]:
    """Disagreement about the rows dropped on input, or about who counts as one person."""
    intake = original.intake
    seen, told = _nonzero(intake.dropped), _nonzero(release.losses.rows)
    if seen != told:
        message = (
            f"reading the raw data dropped {_rows_for(seen)}; the losses say "
            f"{_rows_for(told)}, or give other reasons"
        )
        yield Finding("lost-rows-not-counted", message)
    here, there = intake.reading, release.reading
    ours, theirs = ((one.per_day, one.min_samples_per_day, one.min_active_days) for one in (here, there))
    same_screening = ours == theirs
    if intake.unit_of_protection != release.unit_of_protection or not same_screening:
        message = (
            f"the raw data was read as '{intake.unit_of_protection}' (per day: {here.per_day}, at least "
            f"{here.min_samples_per_day} samples a day, on at least {here.min_active_days} days); the "
            f"release says otherwise ({', '.join(str(one) for one in theirs)})"  # its words may name a person
        )
        yield Finding("unit-mismatch", message)


def _nonzero(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts that are not 0."""
    return {reason: rows for reason, rows in counts.items() if rows}


def _rows_for(dropped: Mapping[str, int]) -> str:
    """How many rows, for how many reasons."""
    return f"{counted(sum(dropped.values()), 'row')} for {counted(len(dropped), 'reason')}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a claim. what: in words; needs: without what it cannot be checked."""

    what: str
    needs: str

    @property
    def words(self) -> str:
        """As a verdict shows a part that was not checked."""
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
    "sizes": Part(what="that no box is smaller than claimed", needs="the records"),
    "candidates": Part(what="how many records fit in each interval of length tau", needs=LINKAGE),
    # of points
    "near": Part(what="that k - 1 others stay within delta of each record", needs="the records"),
    "counts": Part(what="how many points were suppressed and created", needs=_RAW_DATA),
    "true-points": Part(what="that each point is a true one and none stands twice", needs=_RAW_DATA),
    "own-times": Part(what="that each record has the times of its own person", needs=LINKAGE),
    "swap-sets": Part(what="where each point came from, its swap set and the thresholds", needs=_TRACE),
    "shuffle": Part(
        what="whether the shuffle was fair",
        needs=f"{_TRACE}, and 26 swap sets or more, fewer where they are large",
    ),
    "paths": Part(
        what="the length of the paths along the streets",
        needs="the trace and the street graph: --streets-nodes, --streets-edges",
    ),
}
