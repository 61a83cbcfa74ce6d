"""What the checks of boxes find in releases written out by hand: each bound met, and missed by one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from claim_check import verdict_on_claim
from naive_release import boxes_from
from shoal.errors import MisuseError
from shoal.model.claims import Blurred, KAnonymity, KteAnonymity
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.verification.boxes.records import (
    NOT_COMPARED,
    classify_records,
    findings_per_record,
    hull_allowance,
)
from told_releases import Box, people, told

Told = list[tuple[str, Sequence[Box]]]
UNIT = (0, 1, 0, 0, 1, 1)
FREE: dict[str, Any] = {"truthful": False, "disjoint_in_time": False}


def messages(verdict: Verdict, kind: str) -> list[tuple[str | None, str]]:
    """(pseudonym, message) of the findings of one kind."""
    return [(finding.trajectory_id, finding.message) for finding in verdict.findings if finding.kind == kind]


def case_of(
    samples: dict[str, list[tuple[int, int, int]]], records: Told, claim: Any
) -> tuple[Trajectories, Release, Linkage]:
    original = people(samples)
    return original, *told(original, records, claim)


# --- records ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("box", "bad"),
    [
        (UNIT, False),
        ((0, 0, 0, 0, 1, 1), True),
        ((1, 0, 0, 0, 1, 1), True),
        ((0, 1, 1, 0, 1, 1), True),
        ((0, 1, 2, 0, 1, 1), True),
        ((0, 1, 0, 1, 1, 1), True),
        ((0, 1, 0, 2, 1, 1), True),
    ],
)
def test_a_box_has_an_extent_on_each_axis(box: Box, bad: bool) -> None:
    claim = KAnonymity(k=2, **FREE)
    verdict = verdict_on_claim(
        *case_of({"a": [(0, 0, 0)], "b": [(0, 0, 0)]}, [("a", [box]), ("b", [box])], claim)
    )
    assert ("malformed-box" in verdict.kinds) == bad


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([2], "box 1 of 3 is bad"),
        ([3], "box 2 of 3 is bad"),
        ([4], "box 3 of 3 is bad"),
        ([2, 4], "box 1 of 3 is bad (and so for 1 more)"),
        ([2, 3, 4], "box 1 of 3 is bad (and so for 2 more)"),
    ],
)
def test_a_finding_names_the_first_box_of_a_record_and_how_many_more(bad: list[int], message: str) -> None:
    boxes = [(t, t + 1, 0, 0, 1, 1) for t in range(3)]
    _, release, _ = case_of(
        {"a": [(0, 0, 0)], "b": [(0, 0, 0)]}, [("a", boxes[:2]), ("b", boxes)], KAnonymity(k=2)
    )
    flags = np.isin(np.arange(5), bad)
    (the_finding,) = findings_per_record(flags, "malformed-box", "is bad", classify_records(release), release)
    assert (the_finding.trajectory_id, the_finding.message) == ("r1", message)
    everywhere = findings_per_record(
        np.ones(5, dtype=np.bool_), "malformed-box", "is bad", classify_records(release), release
    )
    assert [finding.trajectory_id for finding in everywhere] == ["r0", "r1"]


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        ([(0, 2, 0, 0, 1, 1), (2, 3, 0, 0, 1, 1)], []),
        ([(0, 2, 0, 0, 1, 1), (1, 3, 0, 0, 1, 1)], [2]),
        ([(0, 9, 0, 0, 1, 1), (1, 2, 0, 0, 1, 1), (8, 9, 0, 0, 1, 1)], [2, 3]),
        ([(0, 9, 0, 0, 1, 1), (1, 2, 0, 0, 1, 1), (9, 10, 0, 0, 1, 1)], [2]),
    ],
)
def test_boxes_touch_and_do_not_overlap(boxes: list[Box], expected: list[int]) -> None:
    samples = {uid: [(box[0], 0, 0) for box in boxes] for uid in "ab"}
    records: Told = [("a", boxes), ("b", boxes)]
    claim = KAnonymity(k=2)
    verdict = verdict_on_claim(*case_of(samples, records, claim))
    more = f" (and so for {len(expected) - 1} more)" if len(expected) > 1 else ""
    words = (
        f"box {expected[0]} of {len(boxes)} begins before an earlier box has ended{more}" if expected else ""
    )
    assert messages(verdict, "overlap-in-time") == ([("r0", words), ("r1", words)] if expected else [])
    free = verdict_on_claim(*case_of(samples, records, replace(claim, disjoint_in_time=False)))
    assert "overlap-in-time" not in free.kinds


@pytest.mark.parametrize(("by_reason", "total", "findings"), [(0, 0, 0), (1, 0, 1), (0, 1, 1), (1, 1, 2)])
def test_lost_samples_are_counted_in_all_and_by_reason(by_reason: int, total: int, findings: int) -> None:
    original, release, linkage = case_of(
        {"a": [(0, 0, 0), (5, 9, 9)], "b": [(0, 0, 0)], "c": [(3, 3, 3)]},
        [("a", [UNIT]), ("b", [UNIT])],
        KAnonymity(k=2),
    )
    losses = release.losses
    reasons = {reason: count + by_reason for reason, count in losses.samples_by_reason.items()}
    assert losses.samples_suppressed == 2
    assert sorted(reasons.values()) == [1 + by_reason] * 2
    other = replace(losses, samples_suppressed=2 + total, samples_by_reason=reasons)
    verdict = verdict_on_claim(original, replace(release, losses=other), linkage)
    found = [message for _, message in messages(verdict, "lost-samples-not-counted")]
    assert len(found) == len(verdict.findings) == findings
    by_reason_words = (
        "1 raw samples are of people without a record and 1 in no box of their person's record; the losses "
        "by reason say otherwise"
    )
    assert (by_reason_words in found) == bool(by_reason)
    counted = "2 raw samples are covered by no box of their own subject's record; the losses say 3"
    assert (counted in found) == bool(total)
    untold = replace(losses, samples_by_reason={})
    assert verdict_on_claim(original, replace(release, losses=untold), linkage).holds


def test_a_record_without_boxes_and_one_beside_the_raw_data_are_found() -> None:
    case = case_of(
        {uid: [(0, 0, 0)] for uid in "abc"}, [("a", [UNIT]), ("b", [UNIT]), ("c", [])], KAnonymity(k=1 + 1)
    )
    verdict = verdict_on_claim(*case)
    assert messages(verdict, "empty-record") == [("r2", "this record holds no box")]
    away = case_of(
        {uid: [(0, 0, 0), (4, 0, 0)] for uid in "ab"},
        [(uid, [UNIT, (2, 3, 0, 0, 1, 1), (4, 5, 0, 0, 1, 1)]) for uid in "ab"],
        KAnonymity(k=2),
    )
    words = "box 2 of 3 holds no raw sample of this record's subject"
    assert messages(verdict_on_claim(*away), "sample-without-own-point") == [("r0", words), ("r1", words)]


@pytest.mark.parametrize("changes", [{"crs": "EPSG:3035"}, {"grid": Grid(cell_m=50.0)}])
@pytest.mark.parametrize(
    "claim",
    [KAnonymity(k=2), KteAnonymity(k=2, tau_s=60, epsilon_s=60), Blurred(width_m=100, duration_s=60)],
)
def test_a_release_on_another_grid_or_plane_is_not_compared(claim: Any, changes: dict[str, Any]) -> None:
    original, release, linkage = case_of(
        {uid: [(0, 0, 0)] for uid in "ab"}, [("a", [UNIT]), ("b", [UNIT])], claim
    )
    assert verdict_on_claim(original, release, linkage).holds
    verdict = verdict_on_claim(original, replace(release, **changes), linkage)
    assert "grid-mismatch" in verdict.kinds
    assert verdict.notes[:1] == (NOT_COMPARED,)
    words = " ".join(message for _, message in messages(verdict, "grid-mismatch"))
    assert ("and this plane" in words) == ("crs" not in changes)
    assert not any("linked" in finding.message for finding in verdict.findings)


# --- classes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_class_has_k_records_whatever_the_order_of_their_boxes(k: int) -> None:
    boxes = [(0, 1, 0, 0, 1, 1), (0, 1, 4, 0, 5, 1), (3, 4, 0, 0, 1, 1)]
    samples = {uid: [(0, 0, 0), (0, 4, 0), (3, 0, 0)] for uid in "abc"}
    orders: Told = [("a", boxes), ("b", boxes[::-1]), ("c", [boxes[1], boxes[0], boxes[2]])]
    original, release, linkage = case_of(samples, orders, KAnonymity(k=k, disjoint_in_time=False))
    records = classify_records(release)
    assert records.size.tolist() == [3]
    verdict = verdict_on_claim(original, release, linkage)
    words = f"3 records are identical to this one, itself included; expected at least {k}"
    assert messages(verdict, "class-below-k") == ([("r0", words)] if k > 3 else [])
    assert verdict.holds == (k <= 3)


def test_records_are_told_apart_by_every_column_and_by_their_number_of_boxes() -> None:
    others = [tuple(side + (place == moved) for place, side in enumerate(UNIT)) for moved in range(6)]
    records: Told = [("a", [UNIT]), *(("a", [box]) for box in others), ("a", [UNIT, UNIT]), ("a", [UNIT])]
    _, release, _ = case_of({"a": [(0, 0, 0)]}, records, KAnonymity(k=2))
    classified = classify_records(release)
    assert classified.class_of.tolist() == [*range(8), 0]
    assert classified.representative.tolist() == list(range(8))
    assert classified.size.tolist() == [2] + [1] * 7


def test_a_release_whose_arrays_contradict_each_other_is_misuse() -> None:
    _, release, _ = case_of(
        {"a": [(0, 0, 0)], "b": [(0, 0, 0)]}, [("a", [UNIT, UNIT]), ("b", [UNIT])], KAnonymity(k=2)
    )
    with pytest.raises(MisuseError, match="offsets fall"):
        classify_records(replace(release, trajectory_ids=("r0", "r1", "r2"), offsets=np.array([0, 2, 1, 3])))
    short = replace(boxes_from([UNIT] * 3), x_min=np.zeros(2, dtype=np.int64))
    with pytest.raises(MisuseError, match="differ in length"):
        classify_records(replace(release, payload=short))


# --- hulls --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hull", "slack", "align", "fault"),
    [
        ("tight", 0, 1, "is not the hull of"),
        ("outward:1", 1, 1, "is not within outward:1 of the hull of"),
        ("outward:3", 3, 1, "is not within outward:3 of the hull of"),
        ("grid:500m", 4, 5, "is not the hull, rounded by grid:500m, of"),
        ("grid:100m", 0, 1, "is not the hull, rounded by grid:100m, of"),
    ],
)
def test_each_side_may_lie_as_far_out_as_the_rule_allows(
    hull: str, slack: int, align: int, fault: str
) -> None:
    allowance = hull_allowance(hull, Grid(cell_m=100))
    assert (allowance.slack, allowance.align, allowance.fault) == (slack, align, fault)
    inner = np.array([[0, 8, 10, 20, 30, 40]], dtype=np.int64)
    sides = 0
    for side, out in [(0, -1), (1, 1), (2, -1), (3, -1), (4, 1), (5, 1)]:
        for by in range(-2, slack + 3):
            box = inner.copy()
            box[0, side] += out * by
            on_grid = (box[0, 2:] % align == 0).all()
            allowed = by == 0 if side < 2 else 0 <= by <= slack and on_grid
            assert allowance.loose(box, inner).tolist() == [not allowed], (side, by)
            assert allowance.off_grid(box).tolist() == [not on_grid]
            sides += 1
    assert sides == 6 * (slack + 5)


def test_a_grid_that_no_cell_keeps_to_allows_no_box() -> None:
    allowance = hull_allowance("grid:250m", Grid(cell_m=100))
    boxes = np.array([[0, 1, 0, 0, 5, 5]], dtype=np.int64)
    assert allowance.off_grid(boxes).tolist() == [True]
    assert allowance.loose(boxes, boxes).tolist() == [True]


# --- what may be missing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "most"),
    [(1.0, None), (0.25, None), (0.24, (1, 0)), (0.125, (1, 0)), (0.0, (0, 0))],
)
def test_no_more_is_missing_than_the_claim_allows(share: float, most: tuple[int, int] | None) -> None:
    """Of 8 samples 2 are missing, and of 4 people 1. most: samples and people that may be."""
    near = [(0, 0, 0), (1, 0, 0)]
    box = (0, 2, 0, 0, 1, 1)
    samples = {"a": [*near, (9, 9, 9)], "b": near, "c": near, "d": [(5, 5, 5)]}
    claim = KAnonymity(k=2, missing_at_most=share)
    verdict = verdict_on_claim(*case_of(samples, [("a", [box]), ("b", [box]), ("c", [box])], claim))
    findings = [message for _, message in messages(verdict, "too-much-missing")]
    if most is None:
        assert findings == []
    else:
        assert findings == [
            f"2 of 8 raw samples are missing; the claim allows {most[0]}",
            f"1 of 4 people are missing; the claim allows {most[1]}",
        ]
    assert verdict.holds == (most is None)


@pytest.mark.parametrize(("share", "expected"), [(1.0, []), (0.34, []), (0.33, ["r0"]), (0.0, ["r0"])])
def test_nobody_misses_more_than_the_claim_allows(share: float, expected: list[str]) -> None:
    near = [(0, 0, 0), (1, 0, 0)]
    box = (0, 2, 0, 0, 1, 1)
    samples = {"a": near, "b": [(5, 5, 5)], "c": [*near, (9, 9, 9)]}
    claim = KAnonymity(k=2, missing_of_one_at_most=share)
    original, release, linkage = case_of(samples, [("c", [box]), ("a", [box])], claim)
    verdict = verdict_on_claim(original, release, linkage)
    assert [name for name, _ in messages(verdict, "too-much-of-one-missing")] == expected
    unlinked = Linkage(linkage.uids[1:], linkage.trajectory_ids[1:])
    assert "too-much-of-one-missing" not in verdict_on_claim(original, release, unlinked).kinds


# --- blurred at the source ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("box", "small"),
    [
        ((0, 3, 0, 0, 2, 2), False),
        ((0, 2, 0, 0, 2, 2), True),
        ((0, 3, 0, 0, 1, 2), True),
        ((0, 3, 0, 0, 2, 1), True),
        ((0, 9, -4, -4, 5, 5), False),
    ],
)
def test_no_box_is_smaller_than_claimed(box: Box, small: bool) -> None:
    """At least 200 m wide and high and 3 min long, in cells of 100 m and slots of 1 min."""
    claim = Blurred(width_m=200, duration_s=180)
    case = case_of({"a": [(0, 0, 0)]}, [("a", [(0, 3, 0, 0, 2, 2), box])], claim)
    verdict = verdict_on_claim(*case)
    place = 2 if box > (0, 3, 0, 0, 2, 2) else 1
    words = [("r0", f"box {place} of 2 is smaller than claimed")]
    assert messages(verdict, "small-box") == words * small
    assert verdict.holds == (not small)
    finer = case[0], replace(case[1], claim=Blurred(width_m=200.5, duration_s=180)), case[2]
    assert "small-box" in verdict_on_claim(*finer).kinds


DAMAGES: dict[str, tuple[dict[str, Any], str]] = {
    "the same pseudonym": ({"trajectory_ids": ("r0", "r0")}, "duplicate-pseudonym"),
    "no extent": ({"payload": boxes_from([UNIT, (0, 1, 0, 0, 0, 1)])}, "malformed-box"),
    "somewhere else": ({"payload": boxes_from([UNIT, (5, 6, 0, 0, 1, 1)])}, "sample-without-own-point"),
    "another unit": ({"unit_of_protection": "each trip"}, "unit-mismatch"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_release_of_blurred_boxes_does_not_hold(name: str) -> None:
    original, release, linkage = case_of(
        {"a": [(0, 0, 0)], "b": [(0, 0, 0)]},
        [("a", [UNIT]), ("b", [UNIT])],
        Blurred(width_m=100, duration_s=60),
    )
    assert verdict_on_claim(original, release, linkage).holds
    changes, kind = DAMAGES[name]
    assert kind in verdict_on_claim(original, replace(release, **changes), linkage).kinds
    losses = replace(release.losses, subjects_suppressed=1)
    fewer = verdict_on_claim(original, replace(release, losses=losses), linkage)
    assert fewer.kinds == {"lost-subjects-not-counted"}
    losses = replace(release.losses, samples_suppressed=1)
    lost = verdict_on_claim(original, replace(release, losses=losses), linkage)
    assert lost.kinds == {"lost-samples-not-counted"}
    without = verdict_on_claim(original, release, None)
    assert (without.word, without.findings) == ("NOT CHECKED", ())
    assert any("suppressed" in part for part in without.unchecked)
    assert not any("smaller" in part for part in without.unchecked)
