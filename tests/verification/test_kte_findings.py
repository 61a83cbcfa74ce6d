"""What the check of intervals tells about releases written out by hand, and the limits it states."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from claim_check import verdict_on_claim
from shoal.model.claims import KteAnonymity
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.verification.boxes import kte
from shoal.verification.boxes.kte_loops import PATIENCE
from told_releases import people, told

HALF_HOUR = KteAnonymity(k=2, tau_s=1800, epsilon_s=1800)


def lonely(claim: KteAnonymity = HALF_HOUR) -> tuple[Trajectories, Release, Linkage]:
    """Two people meet, and one goes on alone an hour later."""
    original = people({"a": [(0, 0, 0), (60, 5, 5), (200, 9, 9)], "b": [(0, 0, 0)]})
    here_box = (0, 1, 0, 0, 1, 1)
    return original, *told(original, [("a", [here_box, (60, 61, 5, 5, 6, 6)]), ("b", [here_box])], claim)


def test_a_finding_says_where_the_interval_begins_and_how_many_fit() -> None:
    original, release, linkage = lonely()
    verdict = verdict_on_claim(original, release, linkage)
    (finding,) = verdict.findings
    assert (finding.kind, finding.trajectory_id) == ("too-few-candidates", "r0")
    assert finding.message == (
        "in the interval of 30 min that begins 30 min after the first sample of the data: 1 record fits; "
        "expected at least 2 (1 sets of samples in all)"
    )
    looked, leaked = verdict.notes[-2:]
    assert looked == (
        "every interval of 30 min of 2 subjects was looked at, with all 31 slots that it can touch; around "
        "suppressed samples, 0 sets of samples have fewer than 2 records without a box where the subject is "
        "not published"
    )
    assert leaked.startswith("leakage, epsilon = 30 min: all candidates together can be followed for ")


def test_an_interval_can_begin_before_the_first_sample_and_covers_can_be_too_few() -> None:
    original = people({"a": [(0, 0, 0), (3, 7, 7)], "b": [(90, 0, 0)]})
    records = [("a", [(0, 1, 0, 0, 1, 1)]), ("b", [(90, 91, 0, 0, 1, 1)])]
    release, linkage = told(original, records, HALF_HOUR)
    verdict = verdict_on_claim(original, release, linkage)
    found = [
        (finding.kind, finding.trajectory_id, finding.message.partition(" (")[0])
        for finding in verdict.findings
    ]
    assert found == [
        (
            "too-few-candidates",
            "r0",
            "in the interval of 30 min that begins 30 min before the first sample of the data: 1 record "
            "fits; expected at least 2",
        ),
        (
            "too-few-covers",
            "r0",
            "in the interval of 30 min that begins 27 min before the first sample of the data: samples "
            "around suppressed ones, held by fewer than 2 records; expected at least 2",
        ),
        (
            "too-few-candidates",
            "r1",
            "in the interval of 30 min that begins 1 h after the first sample of the data: 1 record fits; "
            "expected at least 2",
        ),
    ]


def test_records_that_hold_the_rest_around_a_suppressed_sample_are_enough() -> None:
    """Strictly only one fits: the other has a box where nothing is published of the first."""
    here_box, other = (0, 1, 0, 0, 1, 1), (5, 6, 0, 0, 1, 1)
    original = people({"a": [(0, 0, 0), (3, 7, 7)], "b": [(0, 0, 0), (5, 0, 0)]})
    release, linkage = told(original, [("a", [here_box]), ("b", [here_box, other])], HALF_HOUR)
    verdict = verdict_on_claim(original, release, linkage)
    assert "too-few-covers" not in verdict.kinds
    (looked,) = (note for note in verdict.notes if note.startswith("every interval"))
    assert "around suppressed samples, 1 sets of samples have fewer than 2 records" in looked


def test_a_box_where_a_person_was_not_rules_a_record_out() -> None:
    """The wide box holds both people, and the two boxes only the one that has a sample in each."""
    stay = KteAnonymity(k=2, tau_s=1800, epsilon_s=1800, hiders_stay=True)
    original = people({"a": [(0, 0, 0)], "b": [(0, 0, 0), (4, 0, 0)]})
    records = [("a", [(0, 9, 0, 0, 1, 1)]), ("b", [(0, 1, 0, 0, 1, 1), (4, 5, 0, 0, 1, 1)])]
    verdict = verdict_on_claim(original, *told(original, records, stay))
    found = [finding for finding in verdict.findings if finding.kind == "too-few-owners"]
    assert [finding.trajectory_id for finding in found] == ["r0", "r1"]
    assert all(finding.message.startswith("1 record could be the own one") for finding in found)


def test_an_interval_can_begin_with_the_first_sample() -> None:
    original = people({"a": [(0, 0, 0), (30, 5, 5)], "b": [(0, 0, 0)]})
    here_box = (0, 1, 0, 0, 1, 1)
    records = [("a", [here_box, (30, 31, 5, 5, 6, 6)]), ("b", [here_box])]
    verdict = verdict_on_claim(original, *told(original, records, HALF_HOUR))
    begin = "in the interval of 30 min that begins 0 s after the first sample"
    assert [finding.message[: len(begin)] for finding in verdict.findings] == [begin] * 2


@pytest.mark.parametrize("at_once", [1, 2, 3, 4])
@pytest.mark.parametrize("bad", range(4))
def test_every_box_is_the_hull_of_what_lies_inside(
    bad: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kte, "_BOXES_AT_ONCE", at_once)
    times = (0, 5)
    original = people({uid: [(t, 0, 0) for t in times] for uid in "ab"})
    boxes = [[(t, t + 1, 0, 0, 1 + (bad == 2 * who + at), 1) for at, t in enumerate(times)] for who in (0, 1)]
    case = original, *told(original, list(zip("ab", boxes, strict=True)), HALF_HOUR)
    (the_finding,) = (
        finding for finding in verdict_on_claim(*case).findings if finding.kind == "box-not-tight"
    )
    words = f"box {1 + bad % 2} of 2 is not the hull of the raw samples inside it"
    assert (the_finding.trajectory_id, the_finding.message) == (f"r{bad // 2}", words)


def test_leakage_is_asked_for_beyond_epsilon_in_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    measure = kte.measure_leaked_slots

    def spy(*arguments: Any) -> Any:
        asked.append(arguments[3:5])
        return measure(*arguments)

    monkeypatch.setattr(kte, "measure_leaked_slots", spy)
    verdict_on_claim(*lonely(KteAnonymity(k=2, tau_s=1800, epsilon_s=600)))
    assert asked == [(31, 10)]


def test_hiders_that_stay_are_asked_for_owners_only_where_the_claim_says_so() -> None:
    stay = KteAnonymity(k=2, tau_s=1800, epsilon_s=1800, hiders_stay=True)
    assert "too-few-owners" in verdict_on_claim(*lonely(stay)).kinds
    assert "too-few-owners" not in verdict_on_claim(*lonely()).kinds


def test_the_limits_of_the_search_are_those_in_the_documents() -> None:
    page = (Path(__file__).parents[2] / "docs" / "verification.md").read_text()
    words = " ".join(page.split())
    looks, subjects = kte.LOOKS_PER_SAMPLE, kte._SUBJECTS_AT_ONCE
    assert f"After {looks:,} boxes a sample, on average over {subjects} subjects, the search ends" in words
    assert f"and after {PATIENCE * looks:,} in any case" in words
    assert f"evenly chosen subjects with about {kte.LEAKAGE_SAMPLES:,} samples together" in words


@pytest.mark.parametrize(("samples", "chosen"), [(60, 30), (10, 25), (0, 25), (1000, 100)])
def test_leakage_is_measured_on_evenly_chosen_subjects(
    samples: int, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 people with two samples each, at least 25."""
    original = people({f"p{i:03d}": [(0, 0, 0), (5, 0, 0)] for i in range(100)})
    monkeypatch.setattr(kte, "LEAKAGE_SAMPLES", samples)
    subjects = np.arange(100)
    some = kte._choose_subjects(subjects, original)
    assert len(some) == chosen
    assert (some[0], some[-1]) == (0, 99)
    assert np.diff(some).max() - np.diff(some).min() <= 1
    assert kte._choose_subjects(subjects[:7], original).tolist() == list(range(7))


def test_subjects_after_an_end_of_the_search_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    box = (0, 1, 0, 0, 1, 1)
    uids = "abcdef"
    original = people({uid: [(0, 0, 0)] for uid in uids})
    release, linkage = told(original, [(uid, [box]) for uid in uids], HALF_HOUR)
    monkeypatch.setattr(kte, "_SUBJECTS_AT_ONCE", 2)
    assert verdict_on_claim(original, release, linkage).holds
    monkeypatch.setattr(kte, "LOOKS_PER_SAMPLE", 0)
    verdict = verdict_on_claim(original, release, linkage)
    (finding,) = verdict.findings
    assert finding.message.startswith("6 of 6 subjects were not looked at to the end: ")
    assert verdict.notes[-1] == (
        "leakage: not measured, because the candidates were not looked through to the end"
    )


@pytest.mark.parametrize(
    ("leaked", "chance", "words"),
    [
        (
            [0, 30, 31, 60],
            [0.0, 0.25, 0.25, 0.5],
            "30.5 min (median) and 55.65 min (95 %) beyond what is known; 50 % of about 10 intervals "
            "beyond epsilon (as many records near by that are no candidates would do so by accident "
            "in 25 %, 50 % of that)",
        ),
        (
            [30, 30],
            [0.0, 0.5],
            "30 min (median) and 30 min (95 %) beyond what is known; 0 % of about 10 intervals "
            "beyond epsilon (as many records near by that are no candidates would do so by accident "
            "in 25 %)",
        ),
        (
            [31, 0],
            [1.0, 0.5],
            "15.5 min (median) and 29.45 min (95 %) beyond what is known; 50 % of about 10 intervals "
            "beyond epsilon (as many records near by that are no candidates would do so by accident "
            "in 75 %, 100 % of that)",
        ),
    ],
)
def test_leakage_in_words(leaked: list[int], chance: list[float], words: str) -> None:
    """In slots of 1 min; exactly epsilon is not beyond it."""
    note = kte._leakage_note(np.array(leaked), np.array(chance), HALF_HOUR, Grid().slot_s)
    start = "leakage, epsilon = 30 min: all candidates together can be followed for "
    assert note == start + words
    empty = kte._leakage_note(np.zeros(0, dtype=np.int64), np.zeros(0), HALF_HOUR, 60.0)
    assert empty == "leakage: no interval without suppressed samples to measure"
