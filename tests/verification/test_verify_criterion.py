"""The compiled check of k-anonymity agrees with a slow, obvious one, also on randomly broken releases."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from broken_releases import Case, broken_releases, releases
from claim_check import verdict_on_claim
from damages import Box, rows_of, with_records
from example_counts import examples
from kte_oracle import lies_in
from naive_release import hull, naive_release, samples_of
from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.omission import OUTSIDE_ALL_BOXES, PERSON_LEFT_OUT
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.verification import verify
from shoal.verification.checks import CHECKS
from shoal.verification.examination import PARTS

pytestmark = pytest.mark.kernels


THE_CLAIM = {
    *(
        "class-below-k",
        "malformed-box",
        "empty-record",
        "duplicate-pseudonym",
        "overlap-in-time",
        "sample-without-own-point",
    ),
    *(
        "box-not-tight",
        "record-without-subject",
        "record-with-two-subjects",
        "subject-in-two-classes",
        "unknown-record",
        "doubled-link",
    ),
    *("unknown-subject", "lost-samples-not-counted", "lost-subjects-not-counted"),
}


def kinds_by_hand(original: Trajectories, release: Release, linkage: Linkage) -> set[str]:
    """The criterion in plain Python, one question after the other."""
    records = [sorted(record) for record in rows_of(release)]
    subject, result = subjects_by_hand(original, release, linkage)
    return result | shapes_by_hand(records, release) | matches_by_hand(original, records, subject, release)


def shapes_by_hand(records: list[list[Box]], release: Release) -> set[str]:
    """What the records alone break."""
    checks = {
        "duplicate-pseudonym": len(set(release.trajectory_ids)) < release.n_records,
        "empty-record": any(not record for record in records),
        "malformed-box": any(
            b[1] <= b[0] or b[4] <= b[2] or b[5] <= b[3] for record in records for b in record
        ),
        "class-below-k": any(records.count(record) < release.claim.k for record in records),
        "overlap-in-time": release.claim.disjoint_in_time
        and any(earlier[1] > later[0] for record in records for earlier, later in combinations(record, 2)),
    }
    return {kind for kind, broken in checks.items() if broken}


def subjects_by_hand(
    original: Trajectories, release: Release, linkage: Linkage
) -> tuple[list[int | None], set[str]]:
    """The subject of each record, None where there is not exactly one; and what the linkage breaks."""
    names = release.trajectory_ids
    pairs = set(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    links = [(uid, name) for uid, name in pairs if name in names and uid in original.ids]
    uids_of = [[uid for uid, linked in links if linked == name] for name in names]
    checks = {
        "doubled-link": len(pairs) < len(linkage.uids),
        "unknown-record": any(name not in names for _, name in pairs),
        "unknown-subject": any(uid not in original.ids for uid, name in pairs if name in names),
        "subject-in-two-classes": max(Counter(uid for uid, _ in links).values(), default=0) > 1,
        "record-without-subject": any(not uids for uids in uids_of),
        "record-with-two-subjects": any(len(uids) > 1 for uids in uids_of),
        "lost-subjects-not-counted": original.n_subjects - len({uid for uid, _ in links})
        != release.losses.subjects_suppressed,
    }
    subject = [original.ids.index(uids[0]) if len(uids) == 1 else None for uids in uids_of]
    return subject, {kind for kind, broken in checks.items() if broken}


def may_be_stated(stated: int, count: int) -> bool:
    """The count itself, or the next of 0, 10, 20 ... from it; no count here has three digits."""
    assert count < 100
    return stated == count or stated == next(ten for ten in range(0, 101, 10) if ten >= count)


def matches_by_hand(
    original: Trajectories, records: list[list[Box]], subject: list[int | None], release: Release
) -> set[str]:
    """What the boxes break against the raw samples of their subjects."""
    findings: set[str] = set()
    lost = sum(
        not any(
            lies_in(sample, box)
            for record, owner in zip(records, subject, strict=True)
            if owner == person
            for box in record
        )
        for person in range(original.n_subjects)
        for sample in samples_of(original, person)
    )
    without = sum(len(samples_of(original, one)) for one in range(original.n_subjects) if one not in subject)
    reasons = {PERSON_LEFT_OUT: without, OUTSIDE_ALL_BOXES: lost - without}
    messages = release.losses.samples_by_reason
    counted = {reason: n for reason, n in reasons.items() if n}
    if not may_be_stated(release.losses.samples_suppressed, lost) or (
        messages
        and not (
            messages.keys() == counted.keys()
            and all(may_be_stated(messages[reason], n) for reason, n in counted.items())
        )
    ):
        findings.add("lost-samples-not-counted")
    for record in records if release.claim.truthful else []:
        people = [owner for item, owner in zip(records, subject, strict=True) if item == record]
        for box in record:
            inside = [
                [s for s in samples_of(original, person) if lies_in(s, box)]
                for person in people
                if person is not None
            ]
            together = [sample for person_samples in inside for sample in person_samples]
            if not all(inside):
                findings.add("sample-without-own-point")
            if None not in people and (not together or hull(together) != box):
                findings.add("box-not-tight")
    return findings


@examples(1.5)
@given(case=releases())
def test_a_sound_release_always_holds(case: Case) -> None:
    original, release, linkage = case
    assert kinds_by_hand(original, release, linkage) == set()
    assert verify(original, release, linkage).findings == ()
    assert verify(original, release).findings == ()


@examples(4)
@given(case=broken_releases())
def test_the_check_agrees_with_the_slow_one_on_broken_releases(case: Case) -> None:
    original, release, linkage = case
    result, expected = (
        verdict_on_claim(original, release, linkage).kinds,
        kinds_by_hand(original, release, linkage),
    )
    assert expected <= THE_CLAIM
    if "duplicate-pseudonym" in expected:  # the linkage is ambiguous then, and so is what follows from it
        assert "duplicate-pseudonym" in result
    else:
        assert result == expected


@examples(2)
@given(case=st.one_of(releases(), broken_releases()))
def test_without_linkage_nothing_is_found_that_the_linkage_would_clear(case: Case) -> None:
    original, release, linkage = case
    assume(verdict_on_claim(original, release, linkage).holds)
    without = verdict_on_claim(original, release, None)
    assert without.findings == ()
    assert without.word == "NOT CHECKED"


def test_a_class_needs_as_many_possible_members_as_records() -> None:
    original = Trajectories.from_rows(["a", "b", "c"], [0, 0, 5], [0, 1, 9], [0, 0, 9], grid=Grid())
    release, _ = naive_release(original, k=3, n_boxes=1)
    two = with_records(release, [[hull([(0, 0, 0), (0, 1, 0)])]] * 3)
    (finding,) = [
        one_finding
        for one_finding in verdict_on_claim(original, two, None).findings
        if one_finding.kind == "class-without-subjects"
    ]
    assert (
        finding.message
        == "2 subjects have a raw sample in every box of this record; expected at least 3, one for each "
        "member"
    )


def test_records_in_any_order_of_boxes_are_one_class() -> None:
    original = Trajectories.from_rows(
        ["a", "b"] * 3, [0, 0, 5, 5, 9, 9], [0, 1, 2, 3, 4, 5], [0] * 6, grid=Grid()
    )
    release, linkage = naive_release(original, k=2, n_boxes=3)
    first, second = rows_of(release)
    assert len(first) == 3
    shuffled = np.array([*first, *reversed(second)], dtype=np.int64)
    boxes = Boxes(**dict(zip(BOX_COLUMNS, shuffled.T, strict=True)))
    assert verify(original, replace(release, payload=boxes), linkage).holds


def test_an_untruthful_claim_is_held_to_nothing_about_raw_samples() -> None:
    original = Trajectories.from_rows(["a", "b"], [0, 0], [0, 1], [0, 0], grid=Grid())
    release, linkage = naive_release(original, k=2)
    wide = with_records(release, [[(0, 9, -5, -5, 5, 5)]] * 2)
    assert verdict_on_claim(original, wide, linkage).kinds == {"box-not-tight"}
    untruthful = replace(wide, claim=KAnonymity(k=2, truthful=False))
    assert verdict_on_claim(original, untruthful, linkage).holds
    own_samples = PARTS["own-samples"].words
    assert own_samples in verify(original, release).unchecked
    assert own_samples not in verify(original, untruthful).unchecked
    assert "own-samples" not in CHECKS[KAnonymity].parts_of(untruthful.claim)
