"""Every rule against an oracle that looks at each record in turn, and planted records with known answers."""

import gc
import weakref
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import log1p
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import attack_oracles as oracle
from attack_cases import evaluation_of
from kte_oracle import is_candidate
from naive_release import naive_release, samples_of
from shoal.attacks.attacking import AttackScope, prepare
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.knowledge import parse_knowledge
from shoal.attacks.likelihoods import CUES, WEIGHTS, weigh_blurred, weigh_exact
from shoal.attacks.places import attack_top, top_cells, weigh_visits
from shoal.attacks.target import BoxTarget, index_over_places, index_over_time
from shoal.attacks.tau_knowledge import DrawnWindows, follow, weigh
from shoal.errors import MisuseError
from shoal.kernels.homes import WeightedAreas, chances_at_corners
from shoal.kernels.likelihood import owner_of
from shoal.kernels.noisy_likelihood import MARGIN, Noise
from shoal.kernels.place_likelihood import IndexedRecords, add_expected_visits
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from small_data import populations
from small_releases import random_people

pytestmark = pytest.mark.kernels

RULES = CUES.tolist()


def target_of(people: Trajectories, seed: int, *, generalized: bool = True) -> BoxTarget:
    """Everybody as given, or in classes of two with hulls."""
    if not generalized:
        return BoxTarget.of_trajectories(people)
    return BoxTarget.of_release(naive_release(people, rng=Randomness.for_research(seed))[0])


def records_of(target: BoxTarget) -> list[list[list[int]]]:
    return [target.boxes[a:b].tolist() for a, b in pairwise(target.offsets.tolist())]


def strangers(people: Trajectories, target: BoxTarget, seed: int) -> Evaluation[BoxTarget]:
    """Everybody looked for, each in a record drawn at random."""
    own = np.random.default_rng(seed).integers(0, target.n_records, people.n_subjects)
    return evaluation_of(people, target, own, label="release")


@given(populations(most=7, least=2), st.integers(0, 999), st.booleans())
def test_exact_samples_are_weighed_as_by_brute_force(
    people: Trajectories, seed: int, generalized: bool
) -> None:
    target = target_of(people, seed, generalized=generalized)
    records, evaluation = records_of(target), strangers(people, target, seed)
    offsets, known = evaluation.draw_samples(3, np.random.default_rng(seed))
    found = weigh_exact(evaluation, offsets, known)
    assert len(found.chances) == people.n_subjects > 0
    for victim, own in enumerate(evaluation.records.tolist()):
        told = known[offsets[victim] : offsets[victim + 1]].tolist()
        held = [sum(any(oracle.holds(b, s) for b in record) for s in told) for record in records]
        most = [r for r, count in enumerate(held) if count == max(held) > 0]
        whole = [[s for s in told if any(oracle.holds(b, s) for b in record)] for record in records]

        def cues(r: int, whole: list[list[list[int]]] = whole, told: list[list[int]] = told) -> list[float]:
            n = oracle.equal_to(records, r)
            even, hull, _, _ = oracle.cues_of(records[r], n, whole[r])
            places = sum(
                np.log(max(oracle.visits(records[r], x, y, None) / len(records[r]), 1e-9)) for _, x, y in told
            )
            return [even, hull, places, len(told) * np.log(len(records[r]))]

        assert found.candidates[victim] == sum(count == len(told) for count in held)
        assert found.own_fits[victim] == (held[own] == len(told))
        for rule, weights in enumerate(RULES):
            scores = oracle.weighed(records, most, weights, cues)
            assert found.chances[victim, rule] == pytest.approx(oracle.chance(scores, own))


@given(populations(most=6, least=2), st.integers(0, 999))
def test_noisy_samples_are_weighed_as_by_brute_force(people: Trajectories, seed: int) -> None:
    target = target_of(people, seed)
    records, evaluation = records_of(target), strangers(people, target, seed)
    offsets, known = evaluation.draw_samples(2, np.random.default_rng(seed))
    seen = known + np.random.default_rng(seed).normal(0, 20, known.shape)
    noise = Noise(slots=7.0, cells=11.0, most_deviations=1e4, floor=1e-12)
    found = weigh_blurred(evaluation, offsets, seen, noise)
    assert len(found.chances) == people.n_subjects > 0
    for victim, own in enumerate(evaluation.records.tolist()):
        told = seen[offsets[victim] : offsets[victim + 1]].tolist()
        of_record = [
            oracle.noisy_cues_of(record, oracle.equal_to(records, r), told, 7.0, 11.0, 1e-12)
            for r, record in enumerate(records)
        ]
        best = max(cues[0] for cues in of_record)
        for cues in of_record:
            if cues[0] < best - MARGIN:
                cues[2] = len(told) * float(np.log(1e-9))
        for rule, weights in enumerate(RULES):
            scores = oracle.weighed(records, range(len(records)), weights, of_record.__getitem__)
            near = sorted(scores)[-2:]
            if len(near) == 1 or near[1] - near[0] > 1e-6 or near[1] - near[0] < 1e-9:  # no tie by rounding
                assert found.chances[victim, rule] == pytest.approx(oracle.chance(scores, own))
    assert len(RULES) == len(WEIGHTS)


@given(populations(least=3, longest=5), st.integers(1, 60), st.integers(1, 2), st.integers(0, 99))
def test_what_was_seen_in_windows_is_weighed_as_by_brute_force(
    people: Trajectories, tau: int, windows: int, seed: int
) -> None:
    target = target_of(people, seed)
    records, evaluation = records_of(target), strangers(people, target, seed)
    rng = np.random.default_rng(seed)
    begins = np.array(
        [np.sort(rng.choice(people.samples_of(v)[0], windows)) for v in range(people.n_subjects)]
    )
    asked = rng.integers(0, people.n_samples, people.n_subjects)
    followed = follow(evaluation, DrawnWindows(np.arange(people.n_subjects), begins, asked), tau)
    found, told = weigh(evaluation, followed)
    everything = [s for v in range(people.n_subjects) for s in samples_of(people, v)]
    assert len(begins) == people.n_subjects > 0
    for victim, own in enumerate(evaluation.records.tolist()):
        parts = [
            (start, [s for s in samples_of(people, victim) if start <= s[0] < start + tau])
            for start in begins[victim].tolist()
        ]
        fits = [
            r
            for r, record in enumerate(records)
            if all(is_candidate(record, seen, start, tau) for start, seen in parts)  # type: ignore[arg-type]
        ]
        other = everything[asked[victim]]
        assert found.candidates[victim] == len(fits)
        assert found.own_fits[victim] == (own in fits)
        hold = {r for r, record in enumerate(records) if any(oracle.holds(box, other) for box in record)}
        assert told.by_all[victim] == (bool(fits) and set(fits) <= hold)
        if not fits:
            continue
        known = [s for _, seen in parts for s in seen]
        for rule, weights in enumerate(RULES):
            scores = oracle.weighed(
                records,
                fits,
                weights,
                lambda r, known=known: oracle.cues_of(  # type: ignore[misc]
                    records[r], oracle.equal_to(records, r), known
                ),
            )
            assert found.chances[victim, rule] == pytest.approx(oracle.chance(scores, own))


def wide(times: int) -> Trajectories:
    """People in hulls where two scores differ by 4e-9; a hundred times as wide, by a millionth of that."""
    x, y = [0, -177, 0, 276, -176, 0, 219], [0, -295, 98, 0, -282, 169, 0]
    sides = (np.array(side, dtype=float) * times for side in (x, y))
    return Trajectories.from_rows(list("abbbccd"), [0] * 7, *sides, grid=Grid())


@given(populations(most=6, least=2), st.integers(1, 3), st.integers(0, 99))
@example(wide(1), 1, 0)
@example(wide(100), 1, 0)
def test_places_are_weighed_as_by_brute_force(people: Trajectories, most: int, seed: int) -> None:
    target = target_of(people, seed)
    records, evaluation = records_of(target), strangers(people, target, seed)
    places = top_cells(people, most)
    found = weigh_visits(evaluation, target, evaluation.records, places, None)
    spread = len({(x, y) for _, x, y in (s for v in range(people.n_subjects) for s in samples_of(people, v))})
    assert len(places) == people.n_subjects > 0
    for victim, own in enumerate(evaluation.records.tolist()):
        cells = places[victim].tolist()
        rule = 0
        for hull in (False, True):
            of_record = [
                [oracle.visits(record, x, y, oracle.equal_to(records, r) if hull else None) for x, y in cells]
                for r, record in enumerate(records)
            ]
            for gain, shares in ((10.0, False), (9.0 * spread, True)):
                scores = [
                    sum(log1p(gain * v / (len(record) if shares else 1)) for v in seen)
                    for record, seen in zip(records, of_record, strict=True)
                ]
                chance = oracle.chance(scores, own, rounding=max(scores) * 1e-9)
                assert found.chances[victim, rule] == pytest.approx(chance)
                rule += 1
        whole = [all(oracle.visits(record, x, y, None) > 0 for x, y in cells) for record in records]
        assert (found.candidates[victim], found.own_fits[victim]) == (sum(whole), whole[own])


@given(populations(most=4, least=2), st.integers(2, 6), st.integers(0, 99))
def test_the_cell_that_boxes_speak_for_is_that_of_brute_force(
    people: Trajectories, members: int, seed: int
) -> None:
    target = target_of(people, seed)
    rng = np.random.default_rng(seed)
    for record in records_of(target):
        weights = rng.random(len(record))
        weights[: rng.integers(0, 2)] = 0
        west, south, east, north = (np.array([box[column] for box in record]) for column in (2, 3, 4, 5))
        spread = WeightedAreas(np.array([0, len(record)]), west, south, east, north, weights)
        boxes, weights = [record[row] for row in np.flatnonzero(weights)], weights[weights > 0]
        cells = [
            (x, y)
            for x in {side for b in boxes for side in (b[2], b[4] - 1)}
            for y in {side for b in boxes for side in (b[3], b[5] - 1)}
        ]
        told = [oracle.presence(boxes, weights.tolist(), members, x, y) for x, y in cells]
        for kind in (0, 1):
            best = max((one[kind] for one in told), default=0.0)
            expected = {cell for cell, one in zip(cells, told, strict=True) if one[kind] >= best * (1 - 1e-9)}
            for x, y in [*cells, (-9, -9), (99, 99)]:
                chance = ((x, y) in expected) / max(len(expected), 1)
                assert chances_at_corners(spread, 0, members, x, y)[1 - kind] == chance
    assert target.n_records > 0


def planted(boxes: list[list[list[int]]], samples: list[list[int]]) -> Evaluation[BoxTarget]:
    """One victim with these samples, whose record is the first."""
    known = Trajectories.from_rows(["a"] * len(samples), *np.array(samples).T, grid=Grid())
    target = BoxTarget(offsets=np.cumsum([0, *map(len, boxes)]), boxes=np.concatenate(boxes), grid=Grid())
    return evaluation_of(known, target, np.array([0]), label="release")


@given(st.integers(0, 999), st.integers(1, 4))
def test_top_cells_of_all_are_those_of_each(seed: int, most: int) -> None:
    draw = np.random.default_rng(seed)
    offsets = np.cumsum([0, 1, 3, 12, 20], dtype=np.int64)
    people = Trajectories(
        ids=("a", "b", "c", "d"),
        offsets=offsets,
        t=np.arange(offsets[-1]),
        x=draw.integers(-2, 2, offsets[-1]),
        y=draw.integers(-2, 2, offsets[-1]),
    )
    of_all = top_cells(people, most)
    assert len(of_all) == people.n_subjects
    for person, found in enumerate(of_all):
        visits = Counter(zip(*(column.tolist() for column in people.samples_of(person)[1:]), strict=True))
        top = [cell for _, cell in sorted((-count, cell) for cell, count in visits.items())][:most]
        assert found.tolist() == sorted(map(list, top))


def test_the_owner_is_dense_at_home_at_all_times_and_a_hider_only_once() -> None:
    """Both records hold the known sample in equal boxes; one of them is at that place again and again."""
    owner = [[0, 10, 0, 0, 4, 4], *([t, t + 10, 0, 0, 4, 4] for t in range(100, 1000, 100))]
    hider = [[0, 10, 0, 0, 4, 4], *([t, t + 10, 90, 90, 94, 94] for t in range(100, 1000, 100))]
    evaluation = planted([owner, hider], [[5, 1, 1], [500, 1, 1]])
    found = weigh_exact(evaluation, np.array([0, 1]), np.array([[5, 1, 1]]))
    chances = {one.name: found.chances[0, number] for number, one in enumerate(WEIGHTS)}
    assert chances == {
        "hulls and density": 1,
        "densest record": 1,
        "likeliest hulls": 0.5,
        "smallest boxes": 0.5,
        "any": 0.5,
    }
    drawn = DrawnWindows(np.array([0]), np.array([[5]]), np.array([1]))
    found, told = weigh(evaluation, follow(evaluation, drawn, 1))
    assert (found.candidates[0], found.chances[0, 1], found.chances[0, 4]) == (2, 1, 0.5)
    assert (told.by_all[0], told.by_named[0, 1]) == (0, 1)  # at 500 the hider is elsewhere


def test_a_hull_touches_what_it_holds() -> None:
    """Two boxes of one size: the known sample is a corner of one, and in the middle of the other."""
    evaluation = planted([[[0, 9, 0, 0, 9, 9]], [[-4, 5, -4, -4, 5, 5]]], [[0, 0, 0]])
    found = weigh_exact(evaluation, np.array([0, 1]), np.array([[0, 0, 0]]))
    chances = {one.name: found.chances[0, number] for number, one in enumerate(WEIGHTS)}
    assert (chances["likeliest hulls"], chances["smallest boxes"], chances["any"]) == (1, 0.5, 0.5)


def test_nobody_who_holds_nothing_is_named_but_by_luck() -> None:
    evaluation = planted([[[0, 9, 0, 0, 9, 9]], [[0, 9, 0, 0, 5, 5]]], [[50, 50, 50]])
    found = weigh_exact(evaluation, np.array([0, 1]), np.array([[50, 50, 50]]))
    assert found.chances.tolist() == [[0.5] * len(WEIGHTS)]
    assert found.named.tolist() == [[-1] * len(WEIGHTS)]
    top, fits = attack_top(evaluation, 1, rng=np.random.default_rng(0))
    assert (top.rate, fits.rate) == (0.5, 0)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=12),
    st.sampled_from([1, 3, 1 << 40, 1 << 58]),
)
def test_an_index_stands_by_length_start_and_row_however_far_apart(
    spans: list[tuple[int, int]], scale: int
) -> None:
    boxes = np.array([[a * scale, a * scale + length, 0, 0, 1, 1] for a, length in spans], dtype=np.int64)
    index = index_over_time(boxes.reshape(-1, 6), np.arange(len(spans) + 1))
    level = {1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 7: 3, 8: 3, 9: 4}
    order = sorted(range(len(spans)), key=lambda row: (level[spans[row][1]], spans[row][0], row))
    assert index.rows.tolist() == order
    assert [owner_of(index, row) for row in order] == order
    assert np.diff(index.class_offsets).tolist() == [
        sum(level[length] == one for _, length in spans) for one in range(len(index.class_offsets) - 1)
    ]


@given(st.integers(0, 999), st.integers(0, 12), st.sampled_from([1, 5, 1 << 20, 1 << 33]))
def test_visits_to_a_cell_are_those_of_all_boxes_however_far_apart(seed: int, n: int, scale: int) -> None:
    draw = np.random.default_rng(seed)
    low, sides = draw.integers(-4, 4, (n, 2)) * scale, draw.integers(1, 1 + scale, (n, 2))
    boxes = np.column_stack([np.zeros((n, 2), dtype=np.int64), low, low + sides])
    record, sizes = np.sort(draw.integers(0, 3, n)), np.array([1, 2, 3])
    places = IndexedRecords(index_over_places(boxes, record), np.ones(3, dtype=np.int64), sizes)
    corners = [(x, y) for box in boxes.tolist() for x in (box[2], box[4] - 1) for y in (box[3], box[5])]
    for x, y in [*corners, (0, 0), (-9 * scale, 0), (0, 9 * scale)]:
        even, hull, now = np.zeros(3), np.zeros(3), np.empty(3, dtype=np.int64)
        found = add_expected_visits(places, x, y, even, hull, now)
        own = [boxes[record == one].tolist() for one in range(3)]
        assert even.tolist() == pytest.approx([oracle.visits(one, x, y, None) for one in own])
        assert hull.tolist() == pytest.approx(
            [oracle.visits(one, x, y, max(size, 2)) for one, size in zip(own, sizes.tolist(), strict=True)]
        )
        assert sorted(now[:found].tolist()) == np.flatnonzero(even).tolist()


def test_indexes_go_with_their_records() -> None:
    """Without Python's search for circles: they are as large as the data."""
    target = BoxTarget.of_trajectories(random_people(20, 5, seed=1))
    assert len(target.book.sizes) == target.classes.records.n_records == 20
    gone = weakref.ref(target)
    gc.disable()
    try:
        del target
        assert gone() is None
    finally:
        gc.enable()


def test_the_records_of_one_target_go_before_those_of_the_next_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where knowledge is refused, as ``period`` is here: nobody has samples before the moment."""
    people = random_people(20, 5, seed=1)
    release, linkage = naive_release(people)
    made: list[weakref.ref[BoxTarget]] = []
    alive: list[int] = []
    for name in ("of_trajectories", "of_release"):
        make = getattr(BoxTarget, name)

        def noted(*given: Any, make: Callable[..., BoxTarget] = make) -> BoxTarget:
            alive.append(sum(one() is not None for one in made))
            target = make(*given)
            made.append(weakref.ref(target))
            return target

        monkeypatch.setattr(BoxTarget, name, noted)
    prepared = prepare(
        people, release, linkage, Randomness.for_research(1), tries=9,
        scope=AttackScope(targets=("raw", "release")),
    )  # fmt: skip
    asked = [parse_knowledge(text) for text in ("points:2", "top:1", "period:1s")]
    gc.disable()
    try:
        played = prepared.play(asked)
    finally:
        gc.enable()
    assert alive == [0, 0]
    assert all(set(one) == {"raw", "release"} for one in played)
    assert all(isinstance(found, MisuseError) for found in played[2].values())


def test_whoever_searches_places_plays_last_and_is_told_in_the_order_asked() -> None:
    people = random_people(20, 5, seed=1)
    release, linkage = naive_release(people)

    def rates(*texts: str) -> list[Any]:
        prepared = prepare(
            people, release, linkage, Randomness.for_research(1), tries=9,
            scope=AttackScope(targets=("raw", "release")),
        )  # fmt: skip
        return prepared.play([parse_knowledge(text) for text in texts])

    assert rates("top:1", "points:2") == [*rates("top:1"), *rates("points:2")]


def test_an_index_over_time_is_made_again_after_it_was_let_go_of() -> None:
    target = BoxTarget.of_release(naive_release(random_people(20, 5, seed=1))[0])
    before, gone = target.book.by_time, weakref.ref(target.by_time.rows)
    expected = [column.copy() for column in before]
    del before
    target.drop_time_index()
    assert gone() is None
    assert all(np.array_equal(one, other) for one, other in zip(target.book.by_time, expected, strict=True))
