"""The intersection attack: combine several releases of the same people (Ganta et al. 2008).

An error in the verifier does not hide here: no code is shared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from shoal.attacks.lines import LinkedRelease
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.errors import InputError
from shoal.kernels.tau_candidates import record_holds, tau_candidates
from shoal.model.claims import Claim, KAnonymity, KDeltaAnonymity, KteAnonymity, TrajectoryPrivacy
from shoal.model.linkage_checks import require_linked_records
from shoal.model.release import Release
from shoal.model.trace import TRACE_FILES
from shoal.model.trajectories import Trajectories
from shoal.units import show_m, show_s, slots_touched

MOST_QUESTIONS: Final = 20_000

FindCandidates = Callable[[str, float], frozenset[str] | None]
"""Who could be a person, as seen from a moment in seconds on; None = the release does not show the person."""


@dataclass(frozen=True, kw_only=True)
class CompositionRule:
    """How releases of one claim are combined.

    who: made from the linked release, its record of each person, and tau. tau_s: how long the attacker may
    follow, None = always.
    """

    who: Callable[[LinkedRelease, Mapping[str, int], float], FindCandidates]
    tau_s: Callable[[Any], float | None] = lambda _: None
    within_m: Callable[[Any], float] = lambda _: 0.0  # places this close are not told apart


def attack_together(releases: Sequence[LinkedRelease], *, most: int = MOST_QUESTIONS) -> list[Rate]:
    """Linkage by a person's candidates: in the newest release alone, and in all.

    releases: raw data, release and linkage of each, newest first. most: intervals asked about, evenly
    chosen from those at samples; all people where claims have no intervals, so both rates are exact.
    Source: Ganta, Kasiviswanathan and Smith, Composition attacks and auxiliary information in data privacy,
    KDD 2008.
    """
    original, newest, _ = releases[0]
    rows = [_rule_of(release) for _, release, _ in releases]
    records = [_records_by_person(linked, newest) for linked in releases]
    taus_s = [row.tau_s(release.claim) for row, (_, release, _) in zip(rows, releases, strict=True)]
    tau_s = min((tau for tau in taus_s if tau is not None), default=None)
    within_m = max(row.within_m(release.claim) for row, (_, release, _) in zip(rows, releases, strict=True))
    known_s = np.inf if tau_s is None else tau_s
    asks = [
        row.who(linked, records_of_people, known_s)
        for row, linked, records_of_people in zip(rows, releases, records, strict=True)
    ]
    alone, together, clusters = [], [], []
    numbers: dict[str | frozenset[str], int] = {}
    for person, moment_s in _questions(original, records[0], tau_s, most):
        sets = [ask(person, moment_s) for ask in asks]
        if sets[0] is None:
            continue  # what the newest release suppressed, it does not show
        alone.append(_chance(person, sets[0]))
        shared = sets[0] if taus_s[0] is None else person  # by whom the chances are equal
        clusters.append(numbers.setdefault(shared, len(numbers)))
        together.append(
            _chance(person, reduce(frozenset.intersection, [one for one in sets if one is not None]))
        )
    if not alone:
        raise InputError("the newest release shows nothing of anybody; check that it is the right folder")
    followed = "" if tau_s is None else f", having followed the person for {show_s(tau_s)}"
    near = f", and cannot tell places apart that are within {show_m(within_m)}" if within_m else ""
    return [
        Rate.of(
            chances,
            name="intersection",
            knowledge=knowledge,
            attacker=f"Someone who knows who could be this person in {where}{followed}{near}, and names one "
            "of them at random.",
            target="release",
            baseline=1 / newest.n_records,
            clusters=np.array(clusters),
        )
        for knowledge, where, chances in (
            ("this release alone", "this release", alone),
            (f"{len(releases)} releases together", "every release", together),
        )
    ]


def _rule_of(release: Release) -> CompositionRule:
    row = CANDIDATES.get(type(release.claim))
    if row is None:
        raise InputError(
            f"a release claims {release.claim.type}, from which it does not follow who could be whom; leave "
            "it out and measure it by itself"
        )
    return row


def _records_by_person(linked: LinkedRelease, newest: Release) -> dict[str, int]:
    original, release, linkage = linked
    if (release.unit_of_protection, release.reading.per_day) != (
        newest.unit_of_protection,
        newest.reading.per_day,
    ):
        raise InputError(
            f"one release protects {release.unit_of_protection}, the newest {newest.unit_of_protection}; "
            "only releases with the same unit of protection can be put together"
        )
    records = require_linked_records(original, release, linkage).tolist()
    return {uid: record for uid, record in zip(original.ids, records, strict=True) if record >= 0}


def _questions(
    original: Trajectories, records: Mapping[str, int], tau_s: float | None, most: int
) -> list[tuple[str, float]]:
    if tau_s is None:
        return [(uid, 0.0) for uid in records]
    subject_of_row = np.repeat(np.arange(original.n_subjects), original.lengths)
    published = np.array([uid in records for uid in original.ids])
    rows = np.flatnonzero(published[subject_of_row])
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64))]
    step_s = 1.0 if original.grid is None else original.grid.slot_s
    return [
        (original.ids[subject], float(t) * step_s)
        for subject, t in zip(subject_of_row[chosen].tolist(), original.t[chosen].tolist(), strict=True)
    ]


def _chance(person: str, candidates: frozenset[str]) -> float:
    return 1 / len(candidates) if person in candidates else 0.0


def _in_class(linked: LinkedRelease, records: Mapping[str, int], tau_s: float) -> FindCandidates:
    del tau_s  # whatever is known, the records of a class stay equal
    release = linked[1]
    members: dict[bytes, set[str]] = {}
    content = {uid: _content(release, record) for uid, record in records.items()}
    for uid, boxes in content.items():
        members.setdefault(boxes, set()).add(uid)
    classes = {boxes: frozenset(people) for boxes, people in members.items()}
    return lambda person, _: classes[content[person]] if person in content else None


def _content(release: Release, record: int) -> bytes:
    return np.column_stack(release.record(record).sorted().columns()).tobytes()


def _fitting(linked: LinkedRelease, records: Mapping[str, int], tau_s: float) -> FindCandidates:
    """People whose records fit what was seen for ``tau_s`` from a moment on."""
    original, release, _ = linked
    target = BoxTarget.of_release(release)
    book = target.book_of(np.ones(target.n_records, dtype=np.int64))
    slot_s = release.snapped_grid().slot_s
    tau = slots_touched(tau_s, slot_s)
    subject_at = {uid: place for place, uid in enumerate(original.ids)}
    names = np.empty(release.n_records, dtype=object)
    for uid, record in records.items():
        names[record] = uid

    def who(person: str, moment_s: float) -> frozenset[str] | None:
        if person not in records:
            return None
        start = int(np.floor(moment_s / slot_s))
        samples = np.column_stack(original.samples_of(subject_at[person]))
        during = samples[(samples[:, 0] >= start) & (samples[:, 0] < start + tau)]
        seen = during[[record_holds(book, records[person], sample) for sample in during]]
        if not len(seen):
            return None
        candidates = np.empty(release.n_records, dtype=np.int64)
        count = tau_candidates(book, np.ascontiguousarray(seen), start, start + tau, candidates)
        return frozenset(names[candidates[:count]])

    return who


def _within_delta(linked: LinkedRelease, records: Mapping[str, int], tau_s: float) -> FindCandidates:
    del tau_s  # the whole record is known
    release = linked[1]
    delta_m = _rule_of(release).within_m(release.claim)
    people_by_times: dict[bytes, list[str]] = {}
    for uid, record in records.items():
        people_by_times.setdefault(release.record(record).t.tobytes(), []).append(uid)
    near_people: dict[str, frozenset[str]] = {}
    for people in people_by_times.values():
        samples = [release.record(records[uid]) for uid in people]
        x, y = np.stack([one.x for one in samples]), np.stack([one.y for one in samples])
        for place, uid in enumerate(people):
            near = np.arange(len(people))
            for columns in (slice(0, 1), slice(1, None)):  # the first time rules out most
                apart_m = np.hypot(x[near, columns] - x[place, columns], y[near, columns] - y[place, columns])
                near = near[(apart_m <= delta_m).all(axis=1)]
            near_people[uid] = frozenset(people[other] for other in near.tolist())
    return lambda person, _: near_people.get(person)


def _in_all_swap_sets(linked: LinkedRelease, records: Mapping[str, int], tau_s: float) -> FindCandidates:
    del tau_s  # the whole record is known
    original, _, linkage = linked
    trace = linkage.trace
    if trace is None:
        raise InputError(
            f"a release was swapped, and who was swapped with whom stands only in {TRACE_FILES}, which is "
            "missing"
        )
    rows, n_rows = trace.set_rows, original.n_samples
    if len(rows) and (rows.min() < 0 or rows.max() >= n_rows):
        raise InputError(
            f"other raw samples than there are in {TRACE_FILES}; use the file made with the release"
        )
    giver = np.repeat(np.arange(original.n_subjects), original.lengths)[rows]
    partners: dict[str, frozenset[str]] = {}
    for subjects in {np.unique(givers).tobytes() for givers in np.split(giver, trace.set_offsets[1:-1])}:
        people = frozenset(original.ids[place] for place in np.frombuffer(subjects, dtype=np.int64).tolist())
        for uid in people:
            partners[uid] = partners.get(uid, people) & people
    return lambda person, _: partners.get(person) if person in records else None


CANDIDATES: Final[dict[type[Claim], CompositionRule]] = {
    KAnonymity: CompositionRule(who=_in_class),
    KteAnonymity: CompositionRule(who=_fitting, tau_s=lambda claim: claim.tau_s),
    KDeltaAnonymity: CompositionRule(who=_within_delta, within_m=lambda claim: claim.delta_m),
    TrajectoryPrivacy: CompositionRule(who=_in_all_swap_sets),
}
"""How releases take part, for every claim from which it follows who could be whom."""
