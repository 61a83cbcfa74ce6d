"""The verifier's loops over boxes against slow ones, on small random data with many ties."""

from itertools import permutations, product

import numpy as np
import pytest

from kte_oracle import chances, covers, leaked, shortfalls
from naive_release import hull, samples_of
from shoal.model.claims import KteAnonymity
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from shoal.verification.boxes.box_index import (
    LEAST_SPACE,
    LEAST_TIME,
    bucket,
    find_boxes,
    index_boxes,
    level,
)
from shoal.verification.boxes.kte import (
    measure_leaked_slots,
    number_components,
    published_records,
    too_few_owners,
)
from shoal.verification.boxes.kte_loops import PATIENCE, RawSamples, find_short_intervals
from shoal.verification.boxes.loops import (
    Samples,
    count_possible_members,
    is_canonical,
    mark_beyond_hulls,
    mark_loose,
    mark_overlaps,
    match_records,
    samples_by_time,
)
from shoal.verification.boxes.records import classify_records, empty_hulls
from shoal.verification.files.loops import are_multiples, round_to
from shoal.verification.linking import link_records
from told_releases import Box, inside, people, told

pytestmark = pytest.mark.kernels

Case = tuple[Trajectories, Release, Linkage]


def random_people(draw: np.random.Generator, n: int, *, most: int = 4) -> Trajectories:
    """Few times and fewer places, so that people meet."""
    return people(
        {
            f"p{i}": [
                (int(draw.integers(12)), int(draw.integers(3)), int(draw.integers(3)))
                for _ in range(draw.integers(1, most + 1))
            ]
            for i in range(n)
        }
    )


def random_boxes(draw: np.random.Generator, n: int) -> list[Box]:
    low = draw.integers(-1, [9, 3, 3], (n, 3))
    high = low + draw.integers(1, [5, 4, 4], (n, 3))
    return sorted(
        (b[0], c[0], b[1], b[2], c[1], c[2]) for b, c in zip(low.tolist(), high.tolist(), strict=True)
    )


def covered_by_own(original: Trajectories, records: list[list[Box]]) -> np.ndarray:
    """[samples], of records in the order of people."""
    return np.array(
        [
            covers(record, sample)
            for subject, record in enumerate(records)
            for sample in samples_of(original, subject)
        ],
        dtype=np.bool_,
    )


# --- loops --------------------------------------------------------------------------------------------------


def test_rows_are_canonical_when_they_ascend_in_each_record() -> None:
    draw = np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        boxes = draw.integers(0, 2, (4, 6))
        if draw.random() < 0.7:
            boxes[:, : draw.integers(6)] = 0
        offsets = np.array([0, draw.integers(0, 3), 4])
        parts = boxes[: offsets[1]].tolist(), boxes[offsets[1] :].tolist()
        expected = all(part == sorted(part) for part in parts)
        assert is_canonical(boxes, offsets) == expected
        seen.add(expected)
    assert seen == {True, False}


def test_overlaps_in_time_are_those_with_any_earlier_box_of_the_record() -> None:
    draw = np.random.default_rng(2)
    n_found = 0
    for _ in range(60):
        boxes = np.array(random_boxes(draw, 4) + random_boxes(draw, 2), dtype=np.int64)
        offsets = np.array([0, 4, 4, 6, *[6] * int(draw.integers(2))])  # with an empty one in the end
        shares = np.zeros(6, dtype=np.bool_)
        mark_overlaps(boxes, offsets, shares)
        expected = [
            any(boxes[a, 1] > boxes[b, 0] for a in range(0 if b < 4 else 4, b)) for b in range(len(boxes))
        ]
        assert shares.tolist() == expected
        n_found += sum(expected)
    assert 0 < n_found < 360


def test_boxes_beyond_their_hulls_are_those_with_a_side_too_far_out_or_inside_it() -> None:
    draw = np.random.default_rng(6)
    seen = set()
    for slack in (0, 1, 3):
        for side, off in product(range(6), range(-5, 6)):
            box = np.array([0, 9, -20, -30, 20, 30]) + draw.integers(-4, 5, 6)
            around = box.copy()
            around[side] += off
            outward = {0: off == 0, 1: off == 0, 2: 0 <= off <= slack, 3: 0 <= off <= slack}
            fits = outward.get(side, 0 <= -off <= slack)
            loose = np.array([fits, not fits])  # of an earlier search
            mark_beyond_hulls(np.array([box, box]), np.array([around, box]), slack, loose)
            assert loose.tolist() == [not fits, False]
            seen.add((side, fits))
    assert len(seen) == 12


def test_numbers_are_rounded_to_cells_until_one_reaches_the_bound() -> None:
    cells = np.full(6, 7)
    values = np.array([-26.0, -14.9, 0.0, 5.1, 14.9, 29.9])
    assert round_to(values, 10.0, 4.0, cells)
    assert cells.tolist() == [-3, -1, 0, 1, 1, 3]
    for far, reaches in ((39.0, True), (-39.0, True), (np.nan, True), (34.0, False), (-34.0, False)):
        assert round_to(np.array([0.0, far]), 10.0, 4.0, cells) is not reaches
    assert round_to(np.empty(0), 10.0, 4.0, cells)


def test_multiples_are_exact_and_zeros_have_no_sign() -> None:
    cells, steps = np.array([-3, 0, 2, 5]), 0.1
    values = cells * steps
    assert are_multiples(values, cells, steps)
    for place in range(4):
        for other in (np.nextafter(values[place], np.inf), np.nextafter(values[place], -np.inf)):
            moved = values.copy()
            moved[place] = other
            assert not are_multiples(moved, cells, steps)
    assert not are_multiples(np.array([-0.0]), np.array([0]), steps)
    assert are_multiples(np.array([-steps]), np.array([-1]), steps)


def test_records_are_matched_with_their_own_samples_and_hulls_grow_by_class() -> None:
    draw = np.random.default_rng(3)
    n_covered = 0
    for _ in range(60):
        original = random_people(draw, 3)
        one, other = random_boxes(draw, 3), random_boxes(draw, 2)
        boxes = np.array([*one, *one, *other], dtype=np.int64)
        offsets, subject_of = np.array([0, 3, 6, 8]), np.array([2, 0, -1 if draw.random() < 0.3 else 1])
        class_row = np.array([0, 0, 6])
        hulls, person_samples = empty_hulls(8), np.zeros(8, dtype=np.bool_)
        covered = np.zeros(original.n_samples, dtype=np.bool_)
        match_records(
            Samples(original.offsets, original.t, original.x, original.y),
            boxes, offsets, subject_of, class_row, hulls, person_samples, covered,
        )  # fmt: skip
        expected_hulls, expected_own = empty_hulls(8), np.zeros(8, dtype=np.bool_)
        expected = np.zeros(original.n_samples, dtype=np.bool_)
        inner: list[list[tuple[int, int, int]]] = [[] for _ in range(8)]
        for record, subject in enumerate(subject_of.tolist()):
            if subject < 0:
                continue
            for b in range(offsets[record], offsets[record + 1]):
                for i, sample in enumerate(
                    samples_of(original, subject), start=int(original.offsets[subject])
                ):
                    if inside(sample, tuple(boxes[b].tolist())):
                        expected_own[b] = expected[i] = True
                        inner[class_row[record] + b - offsets[record]].append(sample)
        for row, samples in enumerate(inner):
            if samples:
                expected_hulls[row] = hull(samples)
        assert person_samples.tolist() == expected_own.tolist()
        assert covered.tolist() == expected.tolist()
        assert hulls.tolist() == expected_hulls.tolist()
        n_covered += int(covered.sum())
    assert n_covered > 30


def test_possible_members_have_a_sample_in_every_box_of_a_record() -> None:
    draw = np.random.default_rng(4)
    hits = 0
    for _ in range(60):
        original = random_people(draw, 4)
        boxes = np.array([box for _ in range(3) for box in random_boxes(draw, 2)], dtype=np.int64)
        samples = Samples(original.offsets, original.t, original.x, original.y)
        by_time = samples_by_time(samples)
        owner = np.repeat(np.arange(4), original.lengths)
        tried, hulls = np.zeros(4, dtype=np.int64), empty_hulls(6)
        expected_hulls = empty_hulls(6)
        for start, end in ((0, 1), (1, 3), (3, 6)):
            count = count_possible_members(samples, by_time, boxes, start, end, tried, hulls)
            rows = [tuple(boxes[b].tolist()) for b in range(start, end)]
            members = [
                s
                for s in range(4)
                if all(any(inside(one, box) for one in samples_of(original, s)) for box in rows)
            ]
            assert count == len(members)
            # tried are those with a sample in the time of the box around which there are fewest
            times = [{i for i, t in enumerate(original.t.tolist()) if box[0] <= t < box[1]} for box in rows]
            rarest = min(times, key=len)
            assert np.flatnonzero(tried == start + 1).tolist() == sorted({int(owner[i]) for i in rarest})
            for b, box in zip(range(start, end), rows, strict=True):
                within = [one for s in members for one in samples_of(original, s) if inside(one, box)]
                if within:
                    expected_hulls[b] = hull(within)
            hits += count
        assert hulls.tolist() == expected_hulls.tolist()
    assert hits > 10


@pytest.mark.parametrize("slack", [0, 1, 2])
def test_a_box_is_loose_when_it_is_not_the_hull_of_anybodys_samples_inside(slack: int) -> None:
    draw = np.random.default_rng(5)
    seen = {True: 0, False: 0}
    for _ in range(60):
        original = random_people(draw, 3)
        everybody = [sample for s in range(3) for sample in samples_of(original, s)]
        grown = []
        for _ in range(8):
            some = [everybody[i] for i in draw.integers(0, len(everybody), draw.integers(1, 4))]
            box = np.array(hull(some)) + draw.choice([0, 0, 0, 0, 1], 6) * [-1, 1, -1, -1, 1, 1]
            box[2:] += draw.choice([0, 0, slack], 4) * [-1, -1, 1, 1]
            grown.append(box)
        boxes = np.array([*grown, (90, 91, 0, 0, 9, 9), (0, 0, 0, 0, 9, 9)], dtype=np.int64)
        order = np.lexsort((original.x, original.t))
        slots, starts = np.unique(original.t[order], return_index=True)
        loose = np.zeros(len(boxes), dtype=np.bool_)
        ends = np.append(starts, original.n_samples)
        mark_loose(boxes, slack, slots, ends, original.x[order], original.y[order], loose)
        for box, is_loose in zip(boxes.tolist(), loose.tolist(), strict=True):
            person_samples = [one for one in everybody if inside(one, tuple(box))]
            tight = False
            if person_samples:
                out = (np.array(box) - hull(person_samples)) * [-1, 1, -1, -1, 1, 1]
                tight = not out[:2].any() and bool((out[2:] <= slack).all())
            assert is_loose == (not tight)
            seen[is_loose] += 1
    assert min(seen.values()) > 40


# --- the index ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "least", "power"),
    [
        (1, 5, 5),
        (32, 5, 5),
        (33, 5, 7),
        (128, 5, 7),
        (129, 5, 9),
        (8, 3, 3),
        (9, 3, 5),
        (32, 3, 5),
        (33, 3, 7),
    ],
)
def test_a_level_is_no_shorter_than_the_side(side: int, least: int, power: int) -> None:
    assert level(side, least) == power
    assert (LEAST_TIME, LEAST_SPACE) == (5, 3)
    assert level(1 << 62, least) == 61


def test_cells_are_spread_over_all_buckets() -> None:
    cells = list(product(range(-4, 4), repeat=3))
    for bits, most in ((4, 64), (9, 8)):
        counts = np.bincount([bucket(5, 3, t, x, y, bits) for t, x, y in cells], minlength=1 << bits)
        assert len(counts) == 1 << bits
        assert counts.max() <= most
    levels = {bucket(t, s, 0, 0, 0, 20) for t in (5, 7, 9) for s in (3, 5, 7)}
    assert len(levels) == 9


def test_the_index_finds_boxes_of_all_sizes_on_both_sides_of_every_cell() -> None:
    draw = np.random.default_rng(6)
    result, n_found = np.empty(400, dtype=np.int64), 0
    for n, spread in ((400, 130), *[(6, 3)] * 60):
        sides = draw.choice([1, 7, 8, 9, 31, 32, 33, 127, 128, 129], (n, 3))
        low = draw.integers(-spread, spread, (n, 3))
        boxes = np.column_stack([low[:, 0], low[:, 0] + sides[:, 0], low[:, 1:], low[:, 1:] + sides[:, 1:]])
        index = index_boxes(boxes)
        for b in draw.integers(0, n, 12).tolist():
            inner = low[b] + draw.choice([0, 1], 3) * (sides[b] - 1)
            for t, x, y in (inner.tolist(), (inner + draw.integers(-1, 2, 3)).tolist()):
                count = find_boxes(index, boxes, t, x, y, result)
                expected = [i for i, box in enumerate(boxes.tolist()) if inside((t, x, y), tuple(box))]
                assert sorted(result[:count].tolist()) == expected
                n_found += count
    assert n_found > 1000


# --- candidates and what follows them -----------------------------------------------------------------------


def loose_case(draw: np.random.Generator, k: int, tau: int) -> tuple[Case, list[list[Box]]]:
    """People with a record each, of boxes around their samples, some grown and some left out."""
    original = random_people(draw, int(draw.integers(2, 6)))
    records = []
    for subject in range(original.n_subjects):
        samples, boxes = samples_of(original, subject), []
        while samples:
            size = int(draw.integers(1, len(samples) + 1))
            grow = draw.choice([0, 0, 1], 6) * [-1, 1, -1, -1, 1, 1]
            boxes.append(tuple((np.array(hull(samples[:size])) + grow).tolist()))
            samples = samples[size:]
        remaining_boxes = [box for box in boxes if draw.random() < 0.85] or boxes
        records.append(sorted(remaining_boxes))
    claim = KteAnonymity(k=k, tau_s=60.0 * (tau - 1), epsilon_s=60.0 * (tau - 1))
    case = original, *told(original, list(zip(original.ids, records, strict=True)), claim)
    return case, records


@pytest.mark.parametrize("k", [2, 3])
def test_candidates_and_leakage_are_those_of_brute_force(k: int) -> None:
    """Of random records, with candidates that go elsewhere, and suppressed samples."""
    draw = np.random.default_rng(7)
    short = suppressed = followed = by_chance = 0
    for _ in range(35):
        tau, epsilon = int(draw.integers(2, 7)), int(draw.integers(1, 4))
        case, records = loose_case(draw, k, tau)
        original, release, _ = case
        raw = RawSamples(
            original.t, original.x, original.y, original.offsets, covered_by_own(original, records)
        )
        classified = classify_records(release)
        published, subjects = (
            published_records(classified.boxes, classified.offsets),
            np.arange(original.n_subjects),
        )
        outcome = np.ones((len(subjects), 7), dtype=np.int64)
        find_short_intervals(raw, published, subjects, tau, k, 1 << 40, outcome)
        expected = shortfalls(*case, tau)
        for subject, row in enumerate(outcome.tolist()):
            n_short, n_covers, n_strict = (
                sum(key[0] == subject for key in sets)
                for sets in (expected.candidates, expected.covers, expected.strict)
            )
            assert row == [
                n_short,
                expected.first_start.get(subject, 0),
                expected.fitting.get(subject, 0),
                n_covers,
                expected.first_cover.get(subject, 0),
                n_strict,
                0,
            ]
            short, suppressed = short + n_short, suppressed + n_strict
        measured, chance = measure_leaked_slots(raw, published, subjects, tau, epsilon, Run())
        assert measured.tolist() == leaked(*case, tau)
        assert chance.tolist() == pytest.approx(chances(*case, tau, epsilon))
        followed += int((measured > 0).sum())
        by_chance += int((chance > 0).sum())
    assert min(short, suppressed, followed, by_chance) > 5


@pytest.mark.parametrize(("tau", "followed"), [(3, [0, 0, 0, 7]), (4, [6, 0, 0, 6])])
def test_who_was_elsewhere_in_the_last_slot_of_an_interval_is_no_candidate(
    tau: int, followed: list[int]
) -> None:
    """The second person's record holds the first's sample at 0, and has a box at 3, but none at 9."""
    samples = {"a": [(0, 0, 0), (9, 0, 0)], "b": [(0, 0, 0), (3, 5, 5)]}
    boxes: list[list[Box]] = [
        [(t, t + 1, x, y, x + 1, y + 1) for t, x, y in person_samples] for person_samples in samples.values()
    ]
    original = people(samples)
    claim = KteAnonymity(k=2, tau_s=60.0 * (tau - 1), epsilon_s=60)
    case = original, *told(original, list(zip(samples, boxes, strict=True)), claim)
    raw = RawSamples(original.t, original.x, original.y, original.offsets, np.ones(4, dtype=np.bool_))
    records = classify_records(case[1])
    measured, _ = measure_leaked_slots(
        raw, published_records(records.boxes, records.offsets), np.array([0]), tau, 1, Run(threads=1)
    )
    assert measured.tolist() == leaked(*case, tau)[:4] == followed


def searched(n: int, companions: int, looks: int) -> list[list[int]]:
    """The outcome for somebody with n samples far apart, and for the first companion.

    Each companion has a record of one box, at one of the samples: so every sample finds two boxes, its own
    and one more, and those without a companion one.
    """
    samples = [(100 * i, 0, 0) for i in range(n)]
    boxes = [(t, t + 1, 0, 0, 1, 1) for t, _, _ in samples]
    crowd = {f"b{i:02d}": samples[i : i + 1] for i in range(companions)}
    original = people({"a": samples, **crowd})
    person_samples = [(uid, boxes[i : i + 1]) for i, uid in enumerate(crowd)]
    release, _ = told(original, [("a", boxes), *person_samples], KteAnonymity(k=2, tau_s=60, epsilon_s=60))
    result, all_held = classify_records(release), np.ones(original.n_samples, dtype=np.bool_)
    raw = RawSamples(original.t, original.x, original.y, original.offsets, all_held)
    outcome = np.ones((2, 7), dtype=np.int64)
    find_short_intervals(
        raw, published_records(result.boxes, result.offsets), np.array([0, 1]), 2, 2, looks, outcome
    )
    return outcome.tolist()


@pytest.mark.parametrize(
    ("n", "looks", "decided"), [(5, 1, True), (6, 1, False), (10, 2, True), (11, 2, False), (1, 0, False)]
)
def test_a_search_in_which_nobody_is_short_ends_after_ten_times_its_looks(
    n: int, looks: int, decided: bool
) -> None:
    """Each sample finds two boxes."""
    assert PATIENCE == 10
    first, _ = searched(n, n, looks)
    assert first == [0, 0, 0, 0, 0, 0, int(not decided)]
    assert searched(n, n, 10**9) == [[0] * 7, [0] * 7]


@pytest.mark.parametrize(("looks", "undecided"), [(7, 0), (6, 1)])
def test_a_search_in_which_somebody_is_short_ends_after_its_looks(looks: int, undecided: int) -> None:
    """Three samples find two boxes, the fourth its own alone: 7 in all."""
    first, second = searched(4, 3, looks)
    assert first == [1, 299, 1, 0, 0, 0, undecided]
    assert second[6] >= undecided


# --- concealment --------------------------------------------------------------------------------------------


def test_circles_are_places_that_lead_to_each_other() -> None:
    draw = np.random.default_rng(8)
    sizes = set()
    for turn in range(200):
        n = int(draw.integers(1, 8))
        ties = draw.random((n, n)) < (0.15, 0.25, 0.4)[turn % 3]
        starts = np.concatenate([[0], np.cumsum(ties.sum(axis=1))]).astype(np.int64)
        circle = np.full(n, -1, dtype=np.int64)
        number_components(starts, np.nonzero(ties)[1].copy(), circle)
        reach = ties | np.eye(n, dtype=np.bool_)
        for middle in range(n):
            reach |= reach[:, [middle]] & reach[[middle]]
        assert ((circle[:, None] == circle) == (reach & reach.T)).all()
        assert sorted(set(circle.tolist())) == list(range(circle.max() + 1))
        sizes.add(len(set(circle.tolist())))
    assert len(sizes) > 4


def test_a_record_counts_for_a_person_when_some_pairing_of_all_gives_it_to_them() -> None:
    draw = np.random.default_rng(9)
    told_short = 0
    for _ in range(60):
        n, k = int(draw.integers(2, 6)), int(draw.integers(2, 4))
        times = [0, 4, 8]
        samples = {
            f"p{i}": [
                (t, int(draw.integers(2)), int(draw.integers(2)))
                for t in sorted(draw.choice(times, draw.integers(1, 4), replace=False).tolist())
            ]
            for i in range(n)
        }
        original = people(samples)
        records: list[list[Box]] = []
        for person_samples in samples.values():
            boxes: list[Box] = []
            for t, x, y in person_samples[: max(1, len(person_samples) - int(draw.random() < 0.2))]:
                wide, high = draw.integers(2, size=2).tolist()
                boxes.append(
                    (
                        t,
                        t + 1 + int(draw.integers(3)),
                        x * (1 - wide),
                        y * (1 - high),
                        x + 1 + wide,
                        y + 1 + high,
                    )
                )
            records.append(boxes)
        claim = KteAnonymity(k=k, tau_s=60, epsilon_s=60, hiders_stay=True)
        order = draw.permutation(n).tolist()
        release, linkage = told(original, [(f"p{i}", records[i]) for i in order], claim)
        remaining = int(draw.integers(0, 2)) if n > 2 else 0  # the last record is nobody's
        links = link_records(
            original, release, Linkage(linkage.uids[: n - remaining], linkage.trajectory_ids[: n - remaining])
        )
        covered = covered_by_own(original, records)
        raw = RawSamples(original.t, original.x, original.y, original.offsets, covered)
        classified = list(too_few_owners(claim, raw, classify_records(release), release, links))
        linked = order[: n - remaining]
        covered_samples = [
            [one for one in samples_of(original, i) if covers(records[i], one)] for i in linked
        ]
        holds = np.array(
            [
                [
                    bool(person_samples) and all(covers(records[j], one) for one in person_samples)
                    and all(any(inside(one, box) for one in person_samples) for box in records[j])
                    for j in linked
                ]
                for person_samples in covered_samples
            ]
        )  # fmt: skip
        assert holds.diagonal().all()
        possible = np.zeros_like(holds)
        for pairing in permutations(range(len(linked))):
            if all(holds[i, j] for i, j in enumerate(pairing)):
                possible[np.arange(len(linked)), pairing] = True
        expected = [
            (
                f"r{row}",
                f"{count} record{'s' * (count != 1)} could be the own one of this record's person, to "
                f"whoever knows all raw data; expected at least {k}",
            )
            for row, count in enumerate(possible.sum(axis=1).tolist())
            if count < k
        ]
        assert [(finding.trajectory_id, finding.message) for finding in classified] == expected
        assert {finding.kind for finding in classified} <= {"too-few-owners"}
        told_short += len(classified)
    assert 20 < told_short < 200


@pytest.mark.parametrize(("middle", "short"), [(4, ["r0", "r1"]), (None, [])])
def test_a_box_in_which_somebody_was_silent_rules_a_record_out(middle: int | None, short: list[str]) -> None:
    """The first person's record holds all of the second; the second's has a box between, or none."""
    between = [] if middle is None else [(middle, 0, 0)]
    samples = {"p0": [(0, 0, 0), (8, 0, 0)], "p1": [(0, 0, 0), *between, (8, 0, 0)]}
    original = people(samples)
    records: list[list[Box]] = [
        [(0, 5, 0, 0, 1, 1), (8, 9, 0, 0, 1, 1)],
        [(t, t + 1, 0, 0, 1, 1) for t, _, _ in samples["p1"]],
    ]
    claim = KteAnonymity(k=2, tau_s=60, epsilon_s=60, hiders_stay=True)
    release, linkage = told(original, list(zip(samples, records, strict=True)), claim)
    covered = np.ones(original.n_samples, dtype=np.bool_)
    raw = RawSamples(original.t, original.x, original.y, original.offsets, covered)
    links = link_records(original, release, linkage)
    classified = too_few_owners(claim, raw, classify_records(release), release, links)
    assert [finding.trajectory_id for finding in classified] == short
