"""Check k^(tau,epsilon)-anonymity (Gramaglia et al. 2017, Sec. II-C).

An adversary who knows a subject's samples in an interval of length tau looks for records that hold all of
them and have no box inside the interval where the subject has no sample. At least k records must fit.
"""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from shoal.model.claims import KteAnonymity
from shoal.model.claims.hull import parse_hull
from shoal.model.finding_kinds import FindingKind
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled
from shoal.runtime.run import Run
from shoal.units import counted, percent, rounded_up, show_s, slots_touched
from shoal.verification.boxes.box_index import index_boxes
from shoal.verification.boxes.kte_hiders import Lengths, find_lasting_hiders
from shoal.verification.boxes.kte_leakage import measure_leakage
from shoal.verification.boxes.kte_loops import (
    FOREVER,
    PublishedRecords,
    RawSamples,
    find_records,
    find_short_intervals,
    fits_at,
    new_search,
    split_samples,
)
from shoal.verification.boxes.leaves import hulls_of_leaves
from shoal.verification.boxes.loops import mark_loose
from shoal.verification.boxes.records import (
    Records,
    classify_records,
    findings_per_record,
    hull_allowance,
    malformed_boxes,
    match_own_samples,
    on_one_grid,
    overlaps_in_time,
    single_record_faults,
)
from shoal.verification.examination import Examination, duplicate_pseudonyms
from shoal.verification.linking import Links

# more would only narrow the reported shares, not the verdict
LEAKAGE_SAMPLES: Final = 40_000
# average boxes around a sample: sound releases have tens, giant boxes hold all samples
LOOKS_PER_SAMPLE: Final = 2000
_FEWEST_SUBJECTS: Final = 25

_SUBJECTS_AT_ONCE: Final = 512
_BOXES_AT_ONCE: Final = 1 << 16


def examine_kte_anonymity(claim: KteAnonymity, case: Examination[Trajectories], run: Run) -> None:
    """Check a KteAnonymity claim and note the leakage."""
    original, release = case.original, case.release
    records = classify_records(release)
    case.add(duplicate_pseudonyms(release))
    case.add(malformed_boxes(records, release))
    case.add(overlaps_in_time(records, release))
    if not on_one_grid(case):
        return
    case.add(_boxes_not_tight(claim, original, records, release, run))
    case.compare_accounts()
    links = case.link()
    if links is not None:
        matches = match_own_samples(original, records, links.subject_of, records.offsets[:-1])
        case.add(single_record_faults(matches, original, records, release, links))
        raw = RawSamples(original.t, original.x, original.y, original.offsets, matches.covered)
        del matches  # free the hulls
        findings, notes = _candidates(original, records, release, claim, links, raw, run)
        case.add(findings)
        case.notes.extend(notes)
        if claim.hiders_stay:
            case.add(too_few_owners(claim, raw, records, release, links))
        case.mark_checked("own-samples", "lost-samples", "candidates", "hiders")
    case.count_subjects(links)


def published_records(boxes: Integers, offsets: Integers) -> PublishedRecords:
    """Prepare records (boxes int64 [m, 6] ascending, offsets [n + 1]) for the loops."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    longest = np.zeros(len(offsets) - 1, dtype=np.int64)
    np.maximum.at(longest, owner, boxes[:, 1] - boxes[:, 0])
    # a writable copy: read-only offsets would compile all loops once more
    return PublishedRecords(boxes, offsets.copy(), owner, longest, index_boxes(boxes))


def _boxes_not_tight(
    claim: KteAnonymity, original: Trajectories, records: Records, release: Release, run: Run
) -> Iterator[Finding]:
    allowance = hull_allowance(claim.hull, release.snapped_grid())
    fault = f"{allowance.fault} the raw samples inside it"
    if parse_hull(claim.hull).leaf_places:
        faults, hulls = hulls_of_leaves(claim.hull, original, records, release)
        yield from faults
        loose = allowance.loose(records.boxes, hulls)
        yield from findings_per_record(loose, "box-not-tight", fault, records, release)
        return
    # a box is made as the hull of some samples, and any other sample inside lies inside that hull
    order = np.lexsort((original.x, original.t))
    slots, starts = np.unique(original.t[order], return_index=True)
    loose = np.zeros(len(records.boxes), dtype=np.bool_)
    ends, x, y = np.append(starts, original.n_samples), original.x[order], original.y[order]

    def look(part: slice) -> None:
        mark_loose(records.boxes[part], allowance.slack, slots, ends, x, y, loose[part])

    parts = [slice(start, start + _BOXES_AT_ONCE) for start in range(0, len(loose), _BOXES_AT_ONCE)]
    for _ in run.map(look, parts):
        pass
    loose |= allowance.off_grid(records.boxes)
    yield from findings_per_record(loose, "box-not-tight", fault, records, release)


def _candidates(
    original: Trajectories,
    records: Records,
    release: Release,
    claim: KteAnonymity,
    links: Links,
    raw: RawSamples,
    run: Run,
) -> tuple[list[Finding], list[str]]:
    slot_s = release.snapped_grid().slot_s
    tau = slots_touched(claim.tau_s, slot_s)
    published = published_records(records.boxes, records.offsets)
    linked = np.flatnonzero(links.subject_of >= 0)
    record_of = np.full(original.n_subjects, -1, dtype=np.int64)
    record_of[links.subject_of[linked]] = linked
    subjects = np.flatnonzero(record_of >= 0)

    outcome = _count_short_intervals(raw, published, subjects, tau, claim.k, run)
    undecided = outcome[:, 6] != 0
    first_slot = int(original.t.min())
    findings = list[Finding]()
    if undecided.any():
        message = (
            f"{int(undecided.sum()):,} of {len(subjects):,} subjects were not looked at to the end: so many "
            "boxes lie around their samples that looking through them all would take hours; what cannot be "
            "checked does not hold"
        )
        findings.append(Finding("not-decided", message))
    for subject, row in zip(subjects.tolist(), outcome.tolist(), strict=True):
        name = release.trajectory_ids[record_of[subject]]
        findings += _shortfalls(claim, row, first_slot, slot_s, name)
    strict = int(outcome[:, 5].sum())
    if undecided.any():
        return findings, ["leakage: not measured, because the candidates were not looked through to the end"]
    epsilon = math.ceil(claim.epsilon_s / slot_s)
    if not claim.hiders_stay:
        window = math.ceil((claim.tau_s + claim.epsilon_s) / slot_s)
        lengths = Lengths(tau, window, epsilon)
        outcome = _count_lasting_hiders(raw, published, subjects, record_of, lengths, claim.k, run)
        for subject, (n_intervals, lacking, start) in zip(subjects.tolist(), outcome.tolist(), strict=True):
            if lacking:
                name = release.trajectory_ids[record_of[subject]]
                findings.append(
                    _same_hiders(claim, n_intervals, lacking, (start - first_slot) * slot_s, name)
                )
    leaked, chance = measure_leaked_slots(
        raw, published, _choose_subjects(subjects, original), tau, epsilon, run
    )
    notes = [
        f"every interval of {show_s(claim.tau_s)} of {len(subjects):,} subjects was looked at, with all "
        f"{tau} slots that it can touch; around "
        f"suppressed samples, {strict:,} sets of samples have fewer than {claim.k} records without a box "
        "where the subject is not published",
        _leakage_note(leaked, chance, claim, slot_s),
    ]
    return findings, notes


def _shortfalls(
    claim: KteAnonymity, row: list[int], first_slot: int, slot_s: float, name: str
) -> Iterator[Finding]:
    few_holders = f"samples around suppressed ones, held by fewer than {claim.k} records"
    kinds: tuple[tuple[FindingKind, int, int, str], ...] = (
        ("too-few-candidates", row[0], row[1], counted(row[2], "record fits", "records fit")),
        ("too-few-covers", row[3], row[4], few_holders),
    )
    for kind, sets, start, seen in kinds:
        if sets:
            after = show_s(abs(start - first_slot) * slot_s)
            side = "before" if start < first_slot else "after"
            message = (
                f"in the interval of {show_s(claim.tau_s)} that begins {after} {side} the first sample of "
                f"the data: {seen}; expected at least {claim.k} ({sets} sets of samples in all)"
            )
            yield Finding(kind, message, name)


def _count_short_intervals(
    raw: RawSamples, published: PublishedRecords, subjects: Integers, tau: int, k: int, run: Run
) -> Integers:
    # parts after one that ran out of looks stay undecided
    def ask(part: Integers) -> Integers:
        outcome = np.zeros((len(part), 7), dtype=np.int64)
        looks = LOOKS_PER_SAMPLE * int((raw.offsets[part + 1] - raw.offsets[part]).sum())
        find_short_intervals(raw, published, part, tau, k, looks, outcome)
        return outcome

    outcome = np.zeros((len(subjects), 7), dtype=np.int64)
    outcome[:, 6] = 1
    cuts = list(pairwise([*range(0, len(subjects), _SUBJECTS_AT_ONCE), len(subjects)]))
    parts = run.map(ask, [subjects[start:stop] for start, stop in cuts])
    for (start, stop), part in zip(cuts, parts, strict=False):
        outcome[start:stop] = part
        if part[:, 6].any():
            break
    return outcome


def _count_lasting_hiders(
    raw: RawSamples,
    published: PublishedRecords,
    subjects: Integers,
    record_of: Integers,
    lengths: Lengths,
    k: int,
    run: Run,
) -> Integers:
    def ask(part: Integers) -> Integers:
        outcome = np.zeros((len(part), 3), dtype=np.int64)
        find_lasting_hiders(raw, published, part, record_of, lengths, k, outcome)
        return outcome

    parts = np.split(subjects, range(_SUBJECTS_AT_ONCE, len(subjects), _SUBJECTS_AT_ONCE))
    return np.concatenate(list(run.map(ask, parts)))


def _same_hiders(claim: KteAnonymity, n_intervals: int, lacking: int, after_s: float, name: str) -> Finding:
    message = (
        f"the same records hide the subject for longer than epsilon = {show_s(claim.epsilon_s)}: of "
        f"{n_intervals} intervals of {show_s(claim.tau_s)} that begin so far apart, {lacking} have fewer "
        f"than {claim.k - 1} other records of their own, the first {show_s(after_s)} after the first sample "
        "of the data"
    )
    return Finding("same-hiders", message, name)


def _choose_subjects(subjects: Integers, original: Trajectories) -> Integers:
    n_chosen = max(_FEWEST_SUBJECTS, LEAKAGE_SAMPLES * original.n_subjects // original.n_samples)
    return np.asarray(
        subjects[np.unique(np.linspace(0, len(subjects) - 1, min(len(subjects), n_chosen)).astype(int))]
    )


def measure_leaked_slots(
    raw: RawSamples, published: PublishedRecords, subjects: Integers, tau: int, epsilon: int, run: Run
) -> tuple[Integers, Numbers]:
    """Leakage of each interval at a sample, in slots, and its chance beyond epsilon."""

    def measure(part: Integers) -> tuple[Integers, Numbers]:
        leaked = np.empty((int((raw.offsets[part + 1] - raw.offsets[part]).sum()), 2), dtype=np.int64)
        chance = np.empty(leaked.shape)
        measure_leakage(raw, published, part, tau, epsilon, leaked, chance)
        return leaked, chance

    parts = list(run.map(measure, np.array_split(subjects, max(run.threads, len(subjects) // 16))))
    leaked, chance = (np.concatenate(columns).ravel() for columns in zip(*parts, strict=True))
    return leaked[leaked >= 0], chance[leaked >= 0]


def _leakage_note(leaked: Integers, chance: Numbers, claim: KteAnonymity, slot_s: float) -> str:
    if not len(leaked):
        return "leakage: no interval without suppressed samples to measure"
    beyond = float((leaked * slot_s > claim.epsilon_s).mean())
    middle, high = np.quantile(leaked, [0.5, 0.95]) * slot_s
    by_accident = float(chance.mean())
    explained = f", {percent(min(1.0, by_accident / beyond), 0)} of that" if beyond else ""
    return (
        f"leakage, epsilon = {show_s(claim.epsilon_s)}: all candidates together can be followed for "
        f"{show_s(middle)} (median) and {show_s(high)} (95 %) beyond what is known; {percent(beyond, 2)} of "
        f"about {rounded_up(len(leaked)):,} intervals beyond epsilon (as many records near by that are no "
        f"candidates would do so by accident in {percent(by_accident, 2)}{explained})"
    )


def too_few_owners(
    claim: KteAnonymity, raw: RawSamples, records: Records, release: Release, links: Links
) -> Iterator[Finding]:
    """Linked records whose person could be matched with fewer than k records (k-concealment).

    A record holds a person when its boxes cover all published samples of the person and each box has one.
    An adversary who knows all raw data assigns to everybody a record that holds them: it can be a person's
    exactly when its owner and the person are in one strong component (Tassa, Mazza and Gionis 2012).
    """
    linked = np.flatnonzero(links.subject_of >= 0)
    place_of = np.full(release.n_records, -1, dtype=np.int64)
    place_of[linked] = np.arange(len(linked))
    published, people = published_records(records.boxes, records.offsets), links.subject_of[linked]
    starts, holders = find_holders(raw, published, place_of, people)
    person = np.repeat(np.arange(len(linked)), np.diff(starts))
    circle = np.full(len(linked), -1, dtype=np.int64)
    number_components(starts, holders, circle)
    could_be = np.bincount(person[circle[person] == circle[holders]], minlength=len(linked))
    for row in np.flatnonzero(could_be < claim.k).tolist():
        message = (
            f"{counted(could_be[row], 'record')} could be the own one of this record's person, to whoever "
            f"knows all raw data; expected at least {claim.k}"
        )
        yield Finding("too-few-owners", message, release.trajectory_ids[linked[row]])


@compiled
def find_holders(
    raw: RawSamples, published: PublishedRecords, place_of: Integers, people: Integers
) -> tuple[Integers, Integers]:
    """Starts [p + 1] and holders: of person i, from starts[i] on, the places of the records that hold it.

    place_of: int64 [n], -1 = has no person.
    """
    search = new_search(published)
    starts, holders = np.zeros(len(people) + 1, dtype=np.int64), np.empty(len(people), dtype=np.int64)
    for i in range(len(people)):
        samples, _ = split_samples(raw, people[i])
        end = starts[i]
        for found in range(find_records(raw, published, samples[0], search) if len(samples) else 0):
            record = search.records[found]
            if place_of[record] >= 0 and fits_at(raw, published, record, samples, 0, -FOREVER, 2 * FOREVER):
                if end == len(holders):
                    holders = np.append(holders, np.empty(end + 1, dtype=np.int64))
                holders[end] = place_of[record]
                end += 1
        starts[i + 1] = end
    return starts, holders[: starts[-1]]


@compiled
def number_components(starts: Integers, holders: Integers, circle: Integers) -> None:
    """Number strong components (Tarjan 1972); edges: i to holders[starts[i]:starts[i + 1]]; circle: -1."""
    n = len(circle)
    reached = np.full(n, -1, dtype=np.int64)  # order in which nodes were reached
    lowest = np.zeros(n, dtype=np.int64)  # the earliest open node that each leads to
    turn = starts[:-1].copy()
    waiting = np.empty(n, dtype=np.int64)
    path = np.empty(n, dtype=np.int64)
    n_waiting = 0
    clock = 0
    circles = 0
    for root in range(n):
        if circle[root] >= 0:
            continue
        path[0] = root
        depth = 1
        while depth:
            at = path[depth - 1]
            if reached[at] < 0:
                reached[at] = lowest[at] = clock
                clock += 1
                waiting[n_waiting] = at
                n_waiting += 1
            deeper = False
            while turn[at] < starts[at + 1]:
                onto = holders[turn[at]]
                if reached[onto] < 0:
                    path[depth] = onto
                    depth += 1
                    deeper = True
                    break
                if circle[onto] < 0:
                    lowest[at] = min(lowest[at], lowest[onto])
                turn[at] += 1
            if deeper:
                continue
            depth -= 1
            if lowest[at] < reached[at]:
                continue
            while True:
                n_waiting -= 1
                circle[waiting[n_waiting]] = circles
                if waiting[n_waiting] == at:
                    break
            circles += 1
