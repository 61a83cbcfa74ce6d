"""Who could be whom in one release, as far as its claim says so.

Sets of people, for whoever knows which people share a crowd.

A k-anonymous record could be anybody's of its class; one of k^(tau,epsilon)-anonymity anybody's whose record
fits what was seen in an interval; a (k, delta)-co-located one anybody's whose record keeps within delta of
it, for whoever cannot tell places that close; and a triple of trajectory p-privacy may have been anybody's
who gave one to the set it was shuffled in. Of other claims no set follows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from shoal.errors import InputError
from shoal.model.claims import KAnonymity, KDeltaAnonymity, KteAnonymity, TrajectoryPrivacy
from shoal.model.release import AnyRelease, Linkage, PointRelease, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled
from shoal.verification.boxes.box_index import boxes_with
from shoal.verification.boxes.classes import records_of
from shoal.verification.boxes.kte import published_of, tau_slots
from shoal.verification.boxes.kte_loops import Published, Raw, fits_until, holds_sample
from shoal.verification.points.co_location import company_of

Fitting = Callable[[int, float], Integers | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Issued:
    """A release with the raw data it is of, read as its manifest says, and its linkage.

    label: how messages call it.
    """

    label: str
    original: Trajectories
    release: AnyRelease
    linkage: Linkage


def insist_on_candidates(one: Issued) -> None:
    """Raises InputError when no set of people follows from the claim, or when what tells it is not there."""
    claim = one.release.claim
    if isinstance(claim, KAnonymity | KteAnonymity | KDeltaAnonymity):
        return
    if not isinstance(claim, TrajectoryPrivacy):
        raise InputError(
            f"{one.label} claims {claim.type}, from which no set of people follows who could be somebody: "
            "its records keep the times of "
            "their people, by which a record may be found for certain; leave this release out and measure "
            "it with shoal attack"
        )
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


def candidates_of(one: Issued, person_at: Integers, record_of: Integers, tau_s: float | None) -> Fitting:
    """A function of (person, moment in seconds).

    The people who could be the person in this release, ascending; None: not in it.

    person_at: the number of the person that each subject of the raw data is. record_of: each person's record,
    -1 = none. tau_s: how long from the moment on the person is followed, where the claim is about that;
    others know everything.
    """
    person_of = np.full(one.release.n_records, -1, dtype=np.int64)
    there = np.flatnonzero(record_of >= 0)
    person_of[record_of[there]] = there
    if isinstance(one.release, PointRelease):
        return _of_points(one, one.release, person_at, record_of, person_of)
    classes = records_of(one.release)
    claim = one.release.claim
    if isinstance(claim, KteAnonymity):
        assert tau_s is not None  # noqa: S101  # the least tau of all claims, of which this is one
        published = published_of(classes.boxes, classes.offsets)
        return _followed(
            one.original, one.release, published, person_at, record_of, person_of, min(tau_s, claim.tau_s)
        )
    order = np.argsort(classes.class_of, kind="stable")
    members = [np.sort(own) for own in np.split(person_of[order], np.cumsum(classes.size)[:-1])]
    return lambda person, _: members[classes.class_of[record_of[person]]] if record_of[person] >= 0 else None


def _of_points(
    one: Issued, release: PointRelease, person_at: Integers, record_of: Integers, person_of: Integers
) -> Fitting:
    """Those in company along the whole record, or those who took part in the same swap sets."""
    if isinstance(release.claim, KDeltaAnonymity):
        company = company_of(release)
        return lambda person, _: (
            np.sort(person_of[company(int(record_of[person]))]) if record_of[person] >= 0 else None
        )
    swapped = _swapped_with(one, person_at)
    return lambda person, _: swapped.get(person) if record_of[person] >= 0 else None


def _swapped_with(one: Issued, person_at: Integers) -> dict[int, Integers]:
    """For each person of whom a triple was swapped those who are in every one of the person's swap sets, ascending."""
    trace = one.linkage.trace
    assert trace is not None  # noqa: S101  # insist_on_candidates was asked
    owner = person_at[np.repeat(np.arange(one.original.n_subjects), one.original.lengths)[trace.set_rows]]
    groups = {own.tobytes(): own for own in map(np.unique, np.split(owner, trace.set_offsets[1:-1]))}
    sets_of: dict[int, list[Integers]] = {}
    for group in groups.values():
        for person in group.tolist():
            sets_of.setdefault(person, []).append(group)
    return {person: reduce(np.intersect1d, sets) for person, sets in sets_of.items()}


def _followed(
    original: Trajectories,
    release: Release,
    published: Published,
    person_at: Integers,
    record_of: Integers,
    person_of: Integers,
    tau_s: float,
) -> Fitting:
    """Those whose records fit what the release shows of the person in an interval that begins at the moment."""
    claim, slot_s = release.claim, release.grid.slot_s
    assert isinstance(claim, KteAnonymity)  # noqa: S101  # candidates_of asked
    raw = Raw(
        original.t, original.x, original.y, original.offsets, np.ones(original.n_samples, dtype=np.bool_)
    )
    subject_at = np.full(len(record_of), -1, dtype=np.int64)
    subject_at[person_at] = np.arange(original.n_subjects)
    tau = min(tau_slots(claim, slot_s), int(tau_s / slot_s))
    scratch = np.empty(len(published.boxes), dtype=np.int64)
    fitting = np.empty(release.n_records, dtype=np.int64)

    def fit(person: int, moment_s: float) -> Integers | None:
        subject = int(subject_at[person])
        if subject < 0 or record_of[person] < 0:
            return None
        start = int(np.floor(moment_s / slot_s))
        count = fitting_records(raw, published, subject, int(record_of[person]), start, tau, scratch, fitting)
        return None if count < 0 else np.sort(person_of[fitting[:count]])

    return fit


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

    How many, -1 where it shows none.
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
