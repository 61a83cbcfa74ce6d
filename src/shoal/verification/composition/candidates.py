"""Who could be whom in one release, as far as its claim says so: sets of people.

They are asked for by somebody who knows which people share a class, who covers whom, or who was swapped with
whom. A k-anonymous record could be anybody's of its class; one of k^(tau,epsilon)-anonymity anybody's whose
record fits what was seen in an interval; a (k, delta)-co-located one anybody's whose record keeps within
delta of it, for whoever cannot tell places that close; and a triple of trajectory p-privacy may have been
anybody's who gave one to the set it was shuffled in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.model.claims import KAnonymity, KDeltaAnonymity, KteAnonymity, TrajectoryPrivacy
from shoal.model.release import Linkage, Release
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled
from shoal.units import slots_touched
from shoal.verification.boxes.box_index import boxes_with
from shoal.verification.boxes.kte import published_of
from shoal.verification.boxes.kte_loops import Published, Raw, fits_until, holds_sample
from shoal.verification.boxes.records import records_of
from shoal.verification.points.co_location import co_located_with

Fitting = Callable[[int, float], Integers | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Issued:
    """A release with the raw data it is of, read as its manifest says, and its linkage.

    label: how messages call it.
    """

    label: str
    original: Trajectories
    release: Release
    linkage: Linkage


@dataclass(frozen=True, eq=False, kw_only=True)
class People:
    """The numbers of people in one release.

    person_at: [subjects] the person that each subject of the raw data is. record_of: [people] each person's
    record, -1 = none. person_of: [records] the person of each record, -1 = unknown.
    """

    person_at: Integers
    record_of: Integers
    person_of: Integers

    @classmethod
    def of(cls, release: Release, person_at: Integers, record_of: Integers) -> "People":
        """The same numbers, with the way back from records to people."""
        person_of = np.full(release.n_records, -1, dtype=np.int64)
        there = np.flatnonzero(record_of >= 0)
        person_of[record_of[there]] = there
        return cls(person_at=person_at, record_of=record_of, person_of=person_of)


def nothing_needed(_one: Issued) -> None:
    """The linkage alone tells who could be whom."""


def everything(_claim: Any) -> float | None:
    """Whoever asks knows all of a person's movement."""
    return None


def exactly(_claim: Any) -> float:
    """Whoever asks tells any two places apart."""
    return 0.0


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """How it follows from one type of claim who could be whom.

    fitting: (claim, release, people, tau_s) to a function of (person, moment in seconds): the people who
    could be the person in this release, ascending, None = not in it. tau_s: how long from the moment on the
    person is followed at most, None = as long as the claim says. None instead of a function: no set of people
    follows, and ``why_none`` says why. require: raises InputError when what tells it is not there.
    followed_s, within_m: of a claim, what is known of a person (seconds of movement, None = everything) and
    how close two places are when they are not told apart.
    """

    fitting: Callable[[Any, Issued, People, float | None], Fitting] | None
    why_none: str = ""
    require: Callable[[Issued], None] = nothing_needed
    followed_s: Callable[[Any], float | None] = everything
    within_m: Callable[[Any], float] = exactly


def _of_a_class(_claim: KAnonymity, one: Issued, people: People, _tau_s: float | None) -> Fitting:
    """Those whose records are identical."""
    classes = records_of(one.release)
    order = np.argsort(classes.class_of, kind="stable")
    members = [np.sort(own) for own in np.split(people.person_of[order], np.cumsum(classes.size)[:-1])]

    def fit(person: int, _moment_s: float) -> Integers | None:
        record = people.record_of[person]
        return members[classes.class_of[record]] if record >= 0 else None

    return fit


def _co_located(claim: KDeltaAnonymity, one: Issued, people: People, _tau_s: float | None) -> Fitting:
    """Those whose records keep within delta all along."""
    near = co_located_with(claim, one.release)

    def fit(person: int, _moment_s: float) -> Integers | None:
        record = int(people.record_of[person])
        return np.sort(people.person_of[near(record)]) if record >= 0 else None

    return fit


def _swapped(_claim: TrajectoryPrivacy, one: Issued, people: People, _tau_s: float | None) -> Fitting:
    """Those who are in every swap set that a triple of the person was in."""
    trace = _trace_of(one)
    owner = people.person_at[
        np.repeat(np.arange(one.original.n_subjects), one.original.lengths)[trace.set_rows]
    ]
    groups = {own.tobytes(): own for own in map(np.unique, np.split(owner, trace.set_offsets[1:-1]))}
    sets_of: dict[int, list[Integers]] = {}
    for group in groups.values():
        for person in group.tolist():
            sets_of.setdefault(person, []).append(group)
    together = {person: reduce(np.intersect1d, sets) for person, sets in sets_of.items()}
    return lambda person, _moment_s: together.get(person) if people.record_of[person] >= 0 else None


def _trace_of(one: Issued) -> Trace:
    """The trace of a run of swapping; raises InputError when it is missing or of another run."""
    trace, m = one.linkage.trace, one.original.n_samples
    if trace is None:
        raise InputError(
            f"{one.label} was swapped, and who was swapped with whom stands only in origin.parquet, which "
            "is missing beside its linkage"
        )
    rows = trace.set_rows
    if len(trace.swap_set) != one.release.n_samples or (len(rows) and (rows.min() < 0 or rows.max() >= m)):
        raise InputError(
            f"{one.label}: origin.parquet speaks of other points or raw samples than there are; use the one "
            "made with it"
        )
    return trace


def _require_trace(one: Issued) -> None:
    _trace_of(one)


def _followed(claim: KteAnonymity, one: Issued, people: People, tau_s: float | None) -> Fitting:
    """Those whose records fit what is published of the person in an interval that begins at the moment."""
    original, release = one.original, one.release
    records, slot_s = records_of(release), release.snapped_grid().slot_s
    published = published_of(records.boxes, records.offsets)
    raw = Raw(
        original.t, original.x, original.y, original.offsets, np.ones(original.n_samples, dtype=np.bool_)
    )
    subject_at = np.full(len(people.record_of), -1, dtype=np.int64)
    subject_at[people.person_at] = np.arange(original.n_subjects)
    tau = slots_touched(claim.tau_s if tau_s is None else min(claim.tau_s, tau_s), slot_s)
    scratch = np.empty(len(published.boxes), dtype=np.int64)
    fitting = np.empty(release.n_records, dtype=np.int64)

    def fit(person: int, moment_s: float) -> Integers | None:
        subject, record = int(subject_at[person]), int(people.record_of[person])
        if subject < 0 or record < 0:
            return None
        start = int(np.floor(moment_s / slot_s))
        count = fitting_records(raw, published, subject, record, start, tau, scratch, fitting)
        return None if count < 0 else np.sort(people.person_of[fitting[:count]])

    return fit


OF_CLASSES: Final = Candidates(fitting=_of_a_class)
OF_INTERVALS: Final = Candidates(fitting=_followed, followed_s=lambda claim: float(claim.tau_s))
OF_CO_LOCATION: Final = Candidates(fitting=_co_located, within_m=lambda claim: float(claim.delta_m))
OF_SWAP_SETS: Final = Candidates(fitting=_swapped, require=_require_trace)
NONE_OF_PLACES: Final = Candidates(
    fitting=None,
    why_none="its records keep the times of their people, by which a record may be found for certain",
)
NONE_OF_BLUR: Final = Candidates(
    fitting=None,
    why_none="its records were blurred by each person alone, and no others need to be like them",
)


@compiled
def fitting_records(
    raw: Raw,
    published: Published,
    subject: int,
    record: int,
    a: int,
    tau: int,
    found: Integers,
    fitting: Integers,
) -> int:
    """Write to ``fitting`` the records that fit what ``record`` shows of its subject in [a, a + tau).

    Returns how many there are, -1 where it shows nothing of the subject then.
    """
    own = np.empty(raw.offsets[subject + 1] - raw.offsets[subject], dtype=np.int64)
    n_own = 0
    for i in range(raw.offsets[subject], raw.offsets[subject + 1]):
        if raw.t[i] >= a and holds_sample(raw, published, record, i):
            own[n_own] = i
            n_own += 1
    own = own[:n_own]
    if n_own == 0 or raw.t[own[0]] >= a + tau:
        return -1
    count = 0
    for place in range(
        boxes_with(published.index_, published.boxes, raw.t[own[0]], raw.x[own[0]], raw.y[own[0]], found)
    ):
        other = published.owner[found[place]]
        known = False
        for c in range(count):
            known = known or fitting[c] == other
        if not known and fits_until(raw, published, other, own, 0, a, tau) > a:
            fitting[count] = other
            count += 1
    return count
