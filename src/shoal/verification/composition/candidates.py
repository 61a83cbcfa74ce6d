"""Which people a record could belong to, as far as its claim says.

To an adversary who knows classes, covers and swaps: anyone in its class (k-anonymity); anyone whose record
fits what was seen in an interval (k^(tau,epsilon)); anyone whose record stays within delta of it
((k,delta), if such places look the same); anyone who gave a triple to its swap set (trajectory p-privacy).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.model.claims import KAnonymity, KDeltaAnonymity, KteAnonymity, TrajectoryPrivacy
from shoal.model.release import Linkage, Release
from shoal.model.trace import TRACE_FILES, Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled
from shoal.units import slots_touched
from shoal.verification.boxes.kte import published_records
from shoal.verification.boxes.kte_loops import (
    PublishedRecords,
    RawSamples,
    Search,
    find_records,
    first_at_or_after,
    fits_at,
    new_search,
    split_samples,
)
from shoal.verification.boxes.records import classify_records, match_own_samples
from shoal.verification.points.co_location import co_located_records

Fitting = Callable[[int, float], Integers | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class IssuedRelease:
    """A release with its raw data and linkage."""

    label: str
    original: Trajectories
    release: Release
    linkage: Linkage


@dataclass(frozen=True, eq=False, kw_only=True)
class People:
    """Numbers of people in one release."""

    person_at: Integers  # [subjects] the person of each subject of the raw data
    record_of: Integers  # [people] each person's record, -1 = none
    person_of: Integers  # [records] the person of each record, -1 = unknown

    @classmethod
    def of(cls, release: Release, person_at: Integers, record_of: Integers) -> "People":
        """Add the way back to people."""
        person_of = np.full(release.n_records, -1, dtype=np.int64)
        present = np.flatnonzero(record_of >= 0)
        person_of[record_of[present]] = present
        return cls(person_at=person_at, record_of=record_of, person_of=person_of)


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """How one type of claim says whose a record could be.

    fitting: from (claim, release, people, tau_s) to a function of (person, moment in seconds): the people
    who could be the person, ascending, None = not in the release. None with a reason in ``why_none`` where
    the claim implies no set. followed_s, within_m: seconds of movement known (None = all), and how near
    places look the same.
    """

    fitting: Callable[[Any, IssuedRelease, People, float | None], Fitting] | None
    why_none: str = ""
    require: Callable[[IssuedRelease], object] = lambda _: None  # raises InputError when data is missing
    followed_s: Callable[[Any], float | None] = lambda _: None
    within_m: Callable[[Any], float] = lambda _: 0.0


def _class_members(_claim: KAnonymity, entry: IssuedRelease, people: People, _tau_s: float | None) -> Fitting:
    classes = classify_records(entry.release)
    order = np.argsort(classes.class_of, kind="stable")
    members = [
        np.sort(persons) for persons in np.split(people.person_of[order], np.cumsum(classes.size)[:-1])
    ]

    def fit(person: int, _moment_s: float) -> Integers | None:
        record = people.record_of[person]
        return members[classes.class_of[record]] if record >= 0 else None

    return fit


def _co_located(
    claim: KDeltaAnonymity, entry: IssuedRelease, people: People, _tau_s: float | None
) -> Fitting:
    near = co_located_records(claim, entry.release)

    def fit(person: int, _moment_s: float) -> Integers | None:
        record = int(people.record_of[person])
        return np.sort(people.person_of[near(record)]) if record >= 0 else None

    return fit


def _swap_partners(
    _claim: TrajectoryPrivacy, entry: IssuedRelease, people: People, _tau_s: float | None
) -> Fitting:
    trace = _trace_of(entry)
    owner = people.person_at[
        np.repeat(np.arange(entry.original.n_subjects), entry.original.lengths)[trace.set_rows]
    ]
    groups = {givers.tobytes(): givers for givers in map(np.unique, np.split(owner, trace.set_offsets[1:-1]))}
    sets_of: dict[int, list[Integers]] = {}
    for group in groups.values():
        for person in group.tolist():
            sets_of.setdefault(person, []).append(group)
    together = {person: reduce(np.intersect1d, sets) for person, sets in sets_of.items()}
    return lambda person, _moment_s: together.get(person) if people.record_of[person] >= 0 else None


def _trace_of(entry: IssuedRelease) -> Trace:
    trace, m = entry.linkage.trace, entry.original.n_samples
    if trace is None:
        raise InputError(
            f"{entry.label} was swapped, and who was swapped with whom stands only in {TRACE_FILES}, which "
            "is missing"
        )
    rows = trace.set_rows
    outside = len(rows) > 0 and (rows.min() < 0 or rows.max() >= m)
    if outside or len(trace.swap_set) != entry.release.n_samples:
        raise InputError(
            f"{entry.label}: other points or raw samples than there are in {TRACE_FILES}; "
            "use the file made with it"
        )
    return trace


def _fitting_in_interval(
    claim: KteAnonymity, entry: IssuedRelease, people: People, tau_s: float | None
) -> Fitting:
    original, release = entry.original, entry.release
    records, slot_s = classify_records(release), release.snapped_grid().slot_s
    published = published_records(records.boxes, records.offsets)
    subject_at = np.full(len(people.record_of) + 1, -1, dtype=np.int64)  # the last: of nobody
    subject_at[people.person_at] = np.arange(original.n_subjects)
    covered = match_own_samples(original, records, subject_at[people.person_of], records.offsets[:-1]).covered
    raw = RawSamples(original.t, original.x, original.y, original.offsets, covered)
    tau = slots_touched(claim.tau_s if tau_s is None else min(claim.tau_s, tau_s), slot_s)
    search = new_search(published)

    def fit(person: int, moment_s: float) -> Integers | None:
        subject = int(subject_at[person])
        if subject < 0 or people.record_of[person] < 0:
            return None
        start = int(np.floor(moment_s / slot_s))
        count = fitting_records(raw, published, subject, start, tau, search)
        return None if count < 0 else np.sort(people.person_of[search.records[:count]])

    return fit


OF_CLASSES: Final = Candidates(fitting=_class_members)
OF_INTERVALS: Final = Candidates(fitting=_fitting_in_interval, followed_s=lambda claim: float(claim.tau_s))
OF_CO_LOCATION: Final = Candidates(fitting=_co_located, within_m=lambda claim: float(claim.delta_m))
OF_SWAP_SETS: Final = Candidates(fitting=_swap_partners, require=_trace_of)
NONE_OF_PLACES: Final = Candidates(
    fitting=None,
    why_none="its records keep the times of their people, by which a record may be found for certain",
)
NONE_OF_BLUR: Final = Candidates(
    fitting=None, why_none="its records were blurred by each person alone, and no others need to be like them"
)


@compiled
def fitting_records(
    raw: RawSamples, published: PublishedRecords, subject: int, a: int, tau: int, search: Search
) -> int:
    """Write to ``search.records`` what fits the subject in [a, a + tau); -1 = is not published there."""
    samples, _ = split_samples(raw, subject)
    low = first_at_or_after(raw, samples, a)
    if low == len(samples) or raw.t[samples[low]] >= a + tau:
        return -1
    count = 0
    for position in range(find_records(raw, published, samples[low], search)):
        if fits_at(raw, published, search.records[position], samples, low, a, tau):
            search.records[count] = search.records[position]
            count += 1
    return count
