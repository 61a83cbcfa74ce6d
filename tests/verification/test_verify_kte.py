"""The compiled check of k^(tau,epsilon)-anonymity agrees with brute force over all intervals and records."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from broken_releases import broken_releases, cities
from claim_check import verdict_on_claim
from damages import rows_of, subject_positions, with_records
from example_counts import examples
from kte_oracle import chances, leaked, shortfalls, with_lasting_hiders
from naive_release import hull, naive_release, samples_of
from shoal.errors import MisuseError
from shoal.io import read
from shoal.methods.glove.glove import Glove
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.model.claims import KteAnonymity
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.synthetic import synthesize
from shoal.units import slots_touched
from shoal.verification import verify
from shoal.verification.boxes.box_index import find_boxes, index_boxes
from shoal.verification.boxes.kte import measure_leaked_slots, published_records
from shoal.verification.boxes.kte_loops import RawSamples, find_short_intervals
from shoal.verification.boxes.records import classify_records

pytestmark = pytest.mark.kernels

Case = tuple[Trajectories, Release, Linkage]


def with_kte_claim(case: Case, tau: int, k: int | None = None) -> Case:
    """The same release under a claim about intervals that can touch ``tau`` slots, at least 2."""
    original, release, linkage = case
    tau_s = 60.0 * (tau - 1)
    claim = KteAnonymity(k=k or release.claim.k, tau_s=tau_s, epsilon_s=tau_s)
    return original, replace(release, claim=claim), linkage


@st.composite
def loose_releases(draw: st.DrawFn) -> Case:
    """Records cut from each subject's samples and grown at random: some fit others, some samples are lost."""
    original = draw(cities(most_subjects=6))
    release, linkage = naive_release(original, rng=Randomness.for_research(draw(st.integers(0, 2**32))))
    records: list[list[tuple[int, ...]]] = []
    for subject in subject_positions(original, release, linkage):
        waiting = samples_of(original, subject)
        record: list[tuple[int, ...]] = []
        while waiting:
            size = draw(st.integers(1, len(waiting)))
            run, waiting = waiting[:size], waiting[size:]
            box = hull(run)
            grow = draw(st.sampled_from([0, 0, 1, 3, 9]))
            record.append(
                (
                    box[0] - grow // 2,
                    box[1] + grow // 2,
                    box[2] - grow,
                    box[3] - grow,
                    box[4] + grow,
                    box[5] + grow,
                )
            )
        remaining_boxes = [box for box in record if draw(st.sampled_from([True, True, True, False]))]
        records.append(remaining_boxes or record)
    return original, with_records(release, records), linkage


@examples(3)
@given(case=st.one_of(broken_releases(), loose_releases()), tau=st.integers(2, 15), k=st.integers(2, 3))
def test_too_few_candidates_are_found_exactly_where_brute_force_finds_them(
    case: Case, tau: int, k: int
) -> None:
    original, release, linkage = with_kte_claim(case, tau, k)
    # else who became which record is not known
    assume(len(set(release.trajectory_ids)) == release.n_records)
    assume(sorted(linkage.trajectory_ids) == sorted(release.trajectory_ids))
    if (release.boxes.t_end <= release.boxes.t_start).any():
        assert not verify(original, release, linkage).holds
        return  # a box that ends before it begins is refused as it is, whatever it would hold
    assume(set(linkage.uids) <= set(original.ids) and len(set(linkage.uids)) == len(linkage.uids))
    expected = shortfalls(original, release, linkage, tau)
    verdict = verdict_on_claim(original, release, linkage)
    assert ("too-few-candidates" in verdict.kinds) == bool(expected.candidates)
    assert ("too-few-covers" in verdict.kinds) == bool(expected.covers)
    records = classify_records(release)
    covered = np.zeros(original.n_samples, dtype=np.bool_)
    subjects = np.array(subject_positions(original, release, linkage))
    for row, subject in zip(rows_of(release), subjects.tolist(), strict=True):
        for place, (t, x, y) in enumerate(
            samples_of(original, subject), start=int(original.offsets[subject])
        ):
            covered[place] = any(b[0] <= t < b[1] and b[2] <= x < b[4] and b[3] <= y < b[5] for b in row)
    raw = RawSamples(original.t, original.x, original.y, original.offsets, covered)
    outcome = np.zeros((len(subjects), 7), dtype=np.int64)
    find_short_intervals(
        raw, published_records(records.boxes, records.offsets), subjects, tau, k, 1 << 40, outcome
    )
    assert not outcome[:, 6].any()
    assert len(subjects) == release.n_records > 0
    for subject, result in zip(subjects.tolist(), outcome.tolist(), strict=True):
        assert result[0] == sum(key[0] == subject for key in expected.candidates)
        assert result[3] == sum(key[0] == subject for key in expected.covers)
        assert result[5] == sum(key[0] == subject for key in expected.strict)
        if result[0]:
            assert result[1] == expected.first_start[subject]
    measured, chance = measure_leaked_slots(
        raw, published_records(records.boxes, records.offsets), np.sort(subjects), tau, tau, Run()
    )
    expected_leaks, expected_chances = (
        leaked(original, release, linkage, tau),
        chances(original, release, linkage, tau, tau),
    )
    assert sorted(measured.tolist()) == sorted(expected_leaks)
    assert sorted(chance.tolist()) == pytest.approx(sorted(expected_chances))


@given(case=broken_releases(), tau=st.integers(2, 15))
def test_loose_boxes_are_those_that_are_no_hull_of_what_lies_inside(case: Case, tau: int) -> None:
    original, release, linkage = with_kte_claim(case, tau)
    everybody = [sample for subject in range(original.n_subjects) for sample in samples_of(original, subject)]

    def is_hull(box: tuple[int, ...]) -> bool:
        inside = [
            s
            for s in everybody
            if box[0] <= s[0] < box[1] and box[2] <= s[1] < box[4] and box[3] <= s[2] < box[5]
        ]
        return bool(inside) and hull(inside) == box

    tight = all(is_hull(box) for record in rows_of(release) for box in record)
    assert ("box-not-tight" in verdict_on_claim(original, release, linkage).kinds) == (not tight)


@given(
    st.lists(st.tuples(*[st.integers(-90, 90), st.integers(1, 90)] * 3), min_size=1, max_size=40),
    st.tuples(*[st.integers(-90, 180)] * 3),
)
def test_the_index_finds_every_box_that_holds_a_sample_once(
    sides: list[tuple[int, ...]], sample: tuple[int, int, int]
) -> None:
    rows = [(t, t + dt, x, y, x + dx, y + dy) for t, dt, x, dx, y, dy in sides]
    boxes = np.array(rows, dtype=np.int64)
    hits = np.empty(len(rows), dtype=np.int64)
    count = find_boxes(index_boxes(boxes), boxes, *sample, hits)
    t, x, y = sample
    expected = [i for i, b in enumerate(rows) if b[0] <= t < b[1] and b[2] <= x < b[4] and b[3] <= y < b[5]]
    assert sorted(hits[:count].tolist()) == expected


@pytest.mark.jit_only
def test_a_search_without_end_stops_and_counts_as_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody shares one giant box and is told apart by another.

    Each sample lies in the boxes of all, and nobody fits.
    """
    people = 60
    rows = [
        (f"p{person:02d}", t, x)
        for person in range(people)
        for t, x in ((0, person), (4, 999), (20 + person % 7, 500 + person))
    ]
    ids, t, x = zip(*rows, strict=True)
    original = Trajectories.from_rows(ids, t, x, [0] * len(t), grid=Grid())
    release, linkage = naive_release(original, k=2)
    giant: list[list[tuple[int, ...]]] = [
        [(0, 5, 0, 0, 1000, 1), (20 + s % 7, 21 + s % 7, 500 + s, 0, 501 + s, 1)]
        for s in subject_positions(original, release, linkage)
    ]
    case = with_kte_claim((original, with_records(release, giant), linkage), 30)
    patient = verify(*case)
    assert "too-few-candidates" in patient.kinds
    assert "not-decided" not in patient.kinds
    monkeypatch.setattr("shoal.verification.boxes.kte.LOOKS_PER_SAMPLE", 1)
    hasty = verify(*case)
    assert {"too-few-candidates", "not-decided"} <= hasty.kinds
    assert any("not measured" in note for note in hasty.notes)


def test_a_sound_release_that_takes_too_long_to_check_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Trajectories.from_rows(
        ["a", "b", "c", "d"] * 3, [0] * 4 + [40] * 4 + [90] * 4, range(12), [0] * 12, grid=Grid()
    )
    case = with_kte_claim((original, *naive_release(original, k=2)), 30)
    monkeypatch.setattr("shoal.verification.boxes.kte.LOOKS_PER_SAMPLE", 0)
    assert verify(*case).kinds == {"not-decided"}


def test_twins_are_candidates_everywhere() -> None:
    original = Trajectories.from_rows(
        ["a", "b", "c", "d"] * 3, [0] * 4 + [40] * 4 + [90] * 4, range(12), [0] * 12, grid=Grid()
    )
    case = with_kte_claim((original, *naive_release(original, k=2)), 31)
    verdict = verify(*case)
    assert {finding.kind for finding in verdict.findings} == {"same-hiders"}, "but nobody else ever"
    assert any("leakage, epsilon = 30 min" in note for note in verdict.notes)
    long_enough = verify(*with_kte_claim(case, 91))
    assert long_enough.holds, long_enough.findings


@examples(3)
@given(case=loose_releases(), epsilon=st.integers(1, 5), k=st.integers(2, 3))
def test_lasting_hiders_are_found_exactly_where_some_intervals_have_too_few_records_together(
    case: Case, epsilon: int, k: int
) -> None:
    original, release, linkage = with_kte_claim(case, 2 * epsilon + 1, k)
    claim = KteAnonymity(k=k, tau_s=120.0 * epsilon, epsilon_s=60.0 * epsilon)
    release = replace(release, claim=claim)
    findings = verdict_on_claim(original, release, linkage).findings
    assert {
        finding.trajectory_id for finding in findings if finding.kind == "same-hiders"
    } == with_lasting_hiders(original, release, linkage, 2 * epsilon + 1, epsilon)


@pytest.mark.jit_only
def test_a_release_whose_hiders_stay_is_refused_however_many_they_are() -> None:
    people = read(synthesize(60, 2, seed=3))
    claim = KteHide(k=2, tau_s=1800, epsilon_s=1800).claim()
    for method in (KteHide(k=2, hiders="stay"), Glove(k=10)):
        release, linkage = method.anonymize(people, Randomness.from_system())
        verdict = verify(people, replace(release, claim=claim), linkage)
        assert "same-hiders" in {finding.kind for finding in verdict.findings}, method


def test_a_big_box_that_only_covers_by_accident_is_no_candidate() -> None:
    """b's long box would hide a, but b was there when a was silent: an attacker who follows a knows."""
    original = Trajectories.from_rows(["a", "b", "b"], [10, 10, 15], [0, 0, 5], [0, 0, 0], grid=Grid())
    release, linkage = naive_release(original, k=2)
    records: list[list[tuple[int, ...]]] = [
        [(10, 11, 0, 0, 1, 1)],
        [(10, 11, 0, 0, 1, 1), (15, 16, 5, 0, 6, 1)],
    ]
    order = subject_positions(original, release, linkage)
    broken = with_records(release, [records[subject] for subject in order])
    assert "too-few-candidates" in verify(*with_kte_claim((original, broken, linkage), 30)).kinds
    assert (
        "too-few-candidates" in verify(*with_kte_claim((original, broken, linkage), 6)).kinds
    )  # with 10 and 15 both inside
    five = verdict_on_claim(
        *with_kte_claim((original, broken, linkage), 5)
    )  # an attacker who sees 10 to 14 learns nothing ...
    assert all(
        finding.trajectory_id == release.trajectory_ids[order.index(1)]
        for finding in five.findings
        if "few" in finding.kind
    )


def test_a_claim_whose_tau_does_not_fit_is_refused() -> None:
    with pytest.raises(
        MisuseError, match=r"tau = 45 min is not a multiple of epsilon = 30 min; use tau = 30 min or 1 h"
    ):
        KteAnonymity(k=2, tau_s=45 * 60, epsilon_s=30 * 60)
    with pytest.raises(MisuseError, match="k = 1 hides nobody"):
        KteAnonymity(k=1, tau_s=60, epsilon_s=60)


@pytest.mark.parametrize(
    ("tau_s", "slot_s", "slots"),
    [
        (1800, 60, 31),
        (1799, 60, 31),
        (1801, 60, 32),
        (60, 600, 2),
        (600, 600, 2),
        (0.7, 0.1, 8),
        (1.1, 0.1, 12),
    ],
)
def test_how_many_slots_an_interval_can_touch(tau_s: float, slot_s: float, slots: int) -> None:
    assert slots_touched(tau_s, slot_s) == slots


def test_an_interval_that_begins_within_a_slot_is_looked_at() -> None:
    """30 min from the middle of a slot on touch 31 slots of 1 min; only 30 were looked at, and this held."""
    original = Trajectories.from_rows(
        ["a", "a", "b", "c"], [0, 30, 0, 30], [0, 5, 0, 5], [0, 0, 0, 0], grid=Grid(slot_s=60)
    )
    release, linkage = naive_release(original, k=2)
    here_box, other = (0, 1, 0, 0, 1, 1), (30, 31, 5, 0, 6, 1)
    own_items = {0: [here_box, other], 1: [here_box], 2: [other]}
    order = subject_positions(original, release, linkage)
    case = original, with_records(release, [list(own_items[subject]) for subject in order]), linkage
    assert verify(*with_kte_claim(case, 30)).holds  # 29 min
    verdict = verify(*with_kte_claim(case, 31))  # 30 min
    assert verdict.kinds == {"too-few-candidates"}
    assert "expected at least 2" in verdict.findings[0].message


def test_without_a_linkage_no_tau_is_checked() -> None:
    """Seven days once held."""
    original = Trajectories.from_rows(["a", "b"], [0, 0], [0, 0], [0, 0], grid=Grid())
    release, linkage = naive_release(original, k=2)
    week = replace(release, claim=KteAnonymity(k=2, tau_s=7 * 86_400, epsilon_s=1800))
    assert verify(original, week, linkage).holds
    verdict = verify(original, week)
    assert (verdict.holds, verdict.word, verdict.findings) == (False, "NOT CHECKED", ())
    assert "how many records fit in each interval of length tau (needs the linkage)" in verdict.unchecked
