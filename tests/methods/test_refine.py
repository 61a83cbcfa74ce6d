"""The refinement after GLOVE: its costs against slow oracles, and what a search may never do."""

import importlib.util
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from example_counts import examples
from shoal.errors import MisuseError
from shoal.kernels import regrouping
from shoal.kernels.companions import companion_cost
from shoal.kernels.k_merge import IMPOSSIBLE
from shoal.kernels.regrouping import Regrouping
from shoal.kernels.weighed_runs import (
    BEGIN,
    END,
    ROOM,
    UNTIL,
    Tracks,
    Weights,
    added_without_cuts,
    boxes_without,
    class_cost,
    joined_tracks,
)
from shoal.measures.least_extents import make_squares
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.glove import Glove
from shoal.methods.glove.refine import (
    halve_people,
    merge_by_weights,
    refine_classes,
    search_neighborhood,
    weights_of,
)
from shoal.methods.k_merge import merge_members
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.verification import verify
from small_data import populations

pytestmark = pytest.mark.kernels

Sample = tuple[int, int, int]
WEIGHTS = Weights(place=np.array([0, 0, 14, 21, 28, *range(33, 900, 3)]), per_slot=3)


def samples(original: Trajectories, person: int) -> list[Sample]:
    return [tuple(int(value) for value in row) for row in zip(*original.samples_of(person), strict=True)]  # type: ignore[misc]


def price(run: list[Sample]) -> int:
    """What the samples of one box cost, as the docs say it."""
    t, x, y = zip(*run, strict=True)
    side, slots = max(x) - min(x) + 1 + max(y) - min(y) + 1, max(t) - min(t) + 1
    return len(run) * int(WEIGHTS.place[min(side, len(WEIGHTS.place) - 1)] + WEIGHTS.per_slot * slots)


def cheapest(trajectories: list[list[Sample]]) -> int:
    """The least cost over every way to cut the different times into runs with a sample of each."""
    tagged = sorted((*sample, owner) for owner, own in enumerate(trajectories) for sample in own)
    times = sorted({sample[0] for sample in tagged})
    found = []
    for choice in range(2 ** (len(times) - 1)):
        cuts = [0, *(i + 1 for i in range(len(times) - 1) if choice >> i & 1), len(times)]
        runs = [
            [sample for sample in tagged if times[low] <= sample[0] <= times[high - 1]]
            for low, high in pairwise(cuts)
        ]
        if all(len({sample[3] for sample in run}) == len(trajectories) for run in runs):
            found.append(sum(price([sample[:3] for sample in run]) for run in runs))
    return min(found)


def least_beside(own: list[Sample], other: list[Sample]) -> int:
    return sum(min(price([sample, near]) // 2 for near in other) for sample in own)


def tracks_of(original: Trajectories) -> Tracks:
    return Tracks(original.offsets, original.t, original.x, original.y)


def cost_of(original: Trajectories, people: tuple[int, ...], limit: int = IMPOSSIBLE) -> int:
    room = np.empty((ROOM, original.n_samples + 1), dtype=np.int64)
    return int(class_cost(tracks_of(original), np.array(people), WEIGHTS, room, limit))


def partitions(people: tuple[int, ...], k: int) -> Iterator[list[tuple[int, ...]]]:
    """Every way to part these people into classes of at least k."""
    if not people:
        yield []
        return
    first, rest = people[0], people[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = tuple(person for person in rest if person not in others)
            for further in partitions(left, k):
                yield [(first, *others), *further]


@examples(3)
@given(populations(least=2, most=4, longest=4))
def test_no_partition_is_cheaper(original: Trajectories) -> None:
    people = tuple(range(original.n_subjects))
    expected = cheapest([samples(original, person) for person in people])
    assert cost_of(original, people) == expected
    boxes, cost = merge_by_weights(original, np.array(people), WEIGHTS)
    assert cost == expected
    inside = [
        [sample for person in people for sample in samples(original, person) if box[0] <= sample[0] < box[1]]
        for box in zip(*boxes.columns(), strict=True)
    ]
    assert sum(price(run) for run in inside) == expected


def cheapest_of_all_starts(trajectories: list[list[Sample]]) -> int:
    """As ``cheapest``, from time to time: of every last run that holds a sample of each."""
    tagged = sorted((*sample, owner) for owner, own in enumerate(trajectories) for sample in own)
    times = sorted({sample[0] for sample in tagged})
    costs = [0]
    for end in times:
        until = [sample for sample in tagged if sample[0] <= end]
        runs = [[sample for sample in until if sample[0] >= begin] for begin in times if begin <= end]
        costs.append(
            min(
                cost + price([sample[:3] for sample in run])
                if len({sample[3] for sample in run}) == len(trajectories)
                else IMPOSSIBLE
                for cost, run in zip(costs, runs, strict=True)
            )
        )
    return costs[-1]


@pytest.mark.parametrize("seed", range(6))
def test_no_partition_of_longer_tracks_is_cheaper(seed: int) -> None:
    """Some people have few samples, so that many moments wait for one; some stay where they are."""
    draws = np.random.default_rng(seed)
    lengths = [30, 12, 3 + seed]
    ids = [f"p{person}" for person, length in enumerate(lengths) for _ in range(length)]
    t = draws.integers(0, 60, len(ids))
    x, y = (draws.integers(0, 3 + 9 * (seed % 3), len(ids)) for _ in range(2))
    original = Trajectories.from_rows(ids, t, x, y, grid=Grid())
    expected = cheapest_of_all_starts([samples(original, person) for person in range(len(lengths))])
    assert cost_of(original, (0, 1, 2)) == expected
    assert merge_by_weights(original, np.arange(3), WEIGHTS)[1] == expected


@pytest.mark.parametrize("seed", range(3))
def test_no_partition_is_cheaper_where_long_and_short_ranges_take_turns(seed: int) -> None:
    """One person is silent again and again, so that many moments may begin a run, and then few."""
    draws = np.random.default_rng(seed)
    always, sometimes = np.arange(0, 160, 2), np.concatenate([np.arange(at, at + 15) for at in (5, 70, 140)])
    t = np.concatenate([always, sometimes])
    ids = ["a"] * len(always) + ["b"] * len(sometimes)
    x, y = (draws.integers(0, 12, len(ids)) for _ in range(2))
    original = Trajectories.from_rows(ids, t, x, y, grid=Grid())
    assert cost_of(original, (0, 1)) == cheapest_of_all_starts([samples(original, p) for p in (0, 1)])


@given(populations(least=2, most=5), st.integers(0, 60_000))
def test_a_search_that_ends_early_never_takes_what_is_dearer(original: Trajectories, limit: int) -> None:
    people = tuple(range(original.n_subjects))
    cost = cost_of(original, people)
    asked = cost_of(original, people, limit)
    assert asked == cost if cost <= limit else asked > limit


@given(populations(least=2, most=5), st.integers(0, 20_000))
def test_least_costs_beside_one_other(original: Trajectories, limit: int) -> None:
    """The kernel against its definition; and no class that holds both is cheaper for the one's samples."""
    everybody = tuple(range(original.n_subjects))
    pairs = [(p, q) for p in everybody for q in everybody if p != q]
    tracks = tracks_of(original)
    squares, space = make_squares(tracks), np.empty(original.n_samples, dtype=np.int64)

    def found(most: int) -> list[int]:
        return [int(companion_cost(tracks, squares, p, q, WEIGHTS, most, space)) for p, q in pairs]

    least = found(IMPOSSIBLE)
    assert least == [least_beside(samples(original, p), samples(original, q)) for p, q in pairs]
    assert found(limit) == [min(cost, limit + 1) for cost in least]
    whole = cost_of(original, everybody)
    without = [cost_of(original, tuple(other for other in everybody if other != p)) for p, _ in pairs]
    assert whole >= max(np.add(without, least).tolist())


def cheapest_without_cuts(runs: list[list[Sample]], own: list[Sample]) -> int:
    """The least cost over every way to unite these runs, each with the samples that are nearest in time."""
    middles = [(before[-1][0] + after[0][0]) // 2 for before, after in pairwise(runs)]
    owned: list[list[Sample]] = [[] for _ in runs]
    for sample in own:
        owned[sum(sample[0] > middle for middle in middles)].append(sample)
    found = []
    for choice in range(2 ** (len(runs) - 1)):
        cuts = [0, *(i + 1 for i in range(len(runs) - 1) if choice >> i & 1), len(runs)]
        if all(any(owned[low:high]) for low, high in pairwise(cuts)):
            found.append(
                sum(
                    price([s for run in (*runs[low:high], *owned[low:high]) for s in run])
                    for low, high in pairwise(cuts)
                )
            )
    return min(found)


@given(populations(least=3, most=4, longest=6))
def test_what_a_person_adds_without_new_cuts(original: Trajectories) -> None:
    """Kept boxes are the cheapest; to put someone into them costs what the docs say, and never too little."""
    everybody = np.arange(original.n_subjects)
    tracks = tracks_of(original)
    room = np.empty((ROOM, original.n_samples + 1), dtype=np.int64)
    joined = joined_tracks(tracks, everybody, room)
    added, exact, expected = [], [], []
    for p in everybody.tolist():
        others = everybody[everybody != p]
        boxes, cost = boxes_without(joined, len(everybody), p, WEIGHTS, room)
        best, least = merge_by_weights(original, others, WEIGHTS)
        assert cost == least == boxes[UNTIL, -1]
        assert boxes[BEGIN].tolist() == best.t_start.tolist()
        added.append(int(added_without_cuts(tracks, p, boxes, WEIGHTS, room, IMPOSSIBLE)))
        exact.append(cost_of(original, tuple(everybody.tolist())) - cost)
        rest = sorted(sample for q in others.tolist() for sample in samples(original, q))
        runs = [
            [sample for sample in rest if begin <= sample[0] <= end]
            for begin, end in zip(boxes[BEGIN], boxes[END], strict=True)
        ]
        expected.append(cheapest_without_cuts(runs, samples(original, p)) - cost)
    assert added == expected
    assert np.greater_equal(added, exact).all()


@given(populations(least=4, most=6))
def test_two_classes_never_gain_by_becoming_one(original: Trajectories) -> None:
    people = tuple(range(original.n_subjects))
    assert cost_of(original, people) >= cost_of(original, people[:2]) + cost_of(original, people[2:])


@given(populations(least=4, most=8), st.integers(2, 3), st.integers(0, 400))
def test_a_search_keeps_everybody_in_classes_of_k_and_never_costs_more(
    original: Trajectories, k: int, allowance: int
) -> None:
    everybody = np.arange(original.n_subjects)
    start = list(np.array_split(everybody, max(1, original.n_subjects // k)))
    assume(min(len(own) for own in start) >= k)
    found = search_neighborhood(original, start, k, WEIGHTS, allowance)
    assert sorted(np.concatenate(found).tolist()) == everybody.tolist()
    assert min(len(own) for own in found) >= k
    costs = {
        people: cost_of(original, people)
        for size in range(k, original.n_subjects + 1)
        for people in combinations(range(original.n_subjects), size)
    }
    cost = sum(costs[tuple(own.tolist())] for own in found)
    assert cost <= sum(costs[tuple(own.tolist())] for own in start)
    assert cost >= min(sum(costs[own] for own in ways) for ways in partitions(tuple(everybody.tolist()), k))


@pytest.mark.jit_only
def test_early_ends_change_nothing(city: Trajectories, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search in plain Python, which computes every cost to the end, forms the same classes."""
    start = [each.members for each in Glove(k=2).classes(city, Run())]
    weights = weights_of(city, Glove(k=2).classes(city, Run()), ramp=True)
    expected = search_neighborhood(city, start, 2, weights, 200)
    monkeypatch.setattr("shoal.runtime.compiled._SWITCHED_OFF", True)
    spec = importlib.util.spec_from_file_location("plain_regrouping", regrouping.__file__)
    assert spec is not None
    assert spec.loader is not None
    plain: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    ended_early: list[bool] = []

    def to_the_end(search: Regrouping, chosen: Integers, limit: int) -> int:
        if len(chosen) == 0:
            return 0
        costs = [
            int(class_cost(search.tracks, chosen, search.weights, search.room, most))
            for most in (limit, IMPOSSIBLE)
        ]
        ended_early.append(costs[0] > costs[1])
        return costs[1]

    monkeypatch.setattr(plain, "cost_of", to_the_end)
    monkeypatch.setattr("shoal.methods.glove.refine.regroup", plain.regroup)
    found = search_neighborhood(city, start, 2, weights, 200)
    assert [own.tolist() for own in found] == [own.tolist() for own in expected]
    assert [own.tolist() for own in found] != [own.tolist() for own in start]
    assert any(ended_early)


def pairs_far_apart(pairs: int) -> Trajectories:
    """Couples who are always together, each in a place and an hour of its own."""
    ids = [f"p{person:02d}" for person in range(2 * pairs) for _ in range(3)]
    t = [600 * (person % pairs) + 7 * i for person in range(2 * pairs) for i in range(3)]
    x = [500 * (person % pairs) + i for person in range(2 * pairs) for i in range(3)]
    return Trajectories.from_rows(ids, np.array(t), np.array(x), np.array(x), grid=Grid())


@pytest.mark.parametrize(
    ("cell_m", "apart", "share_beyond"),
    [(100.0, 10, 0.0), (100.0, 40, 0.5), (1000.0, 4, 0.5), (500.0, 3, 0.0)],
)
def test_boxes_cost_what_the_docs_say(cell_m: float, apart: int, share_beyond: float) -> None:
    """Two couples, one in one place and the other so many cells apart; all have samples at the same times."""
    ids = [name for name in "abcd" for _ in range(3)]
    x = [0] * 9 + [apart] * 3
    original = Trajectories.from_rows(
        ids, np.array([0, 60, 120] * 4), np.array(x), np.array([0] * 12), grid=Grid(cell_m=cell_m)
    )
    classes = [
        EquivalenceClass(members=np.array(own), boxes=merge_members(original, np.array(own))[0])
        for own in ((0, 1), (2, 3))
    ]
    mean_cells = (2 + 2 + apart) / 2
    for height in (0, 4):
        weights = weights_of(original, classes, ramp=height > 0)
        for cells, cost in enumerate(weights.place.tolist()):
            ramp = height * share_beyond**2 * min(1, cells * cell_m / 2500)
            assert cost == pytest.approx(100_000 * (4 * (cells / mean_cells) ** 0.5 + ramp), abs=1)
        assert weights.per_slot == 100_000


def test_a_search_brings_those_together_who_belong_together() -> None:
    """From classes of strangers to couples, which cost as little as anything can."""
    original = pairs_far_apart(6)
    strangers = [np.array([2 * i, 2 * i + 1]) for i in range(6)]
    found = search_neighborhood(original, strangers, 2, WEIGHTS, 10_000)
    assert sorted(own.tolist() for own in found) == [[i, i + 6] for i in range(6)]


@pytest.mark.jit_only
def test_few_people_are_searched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers from everywhere become couples in one round, but not in neighborhoods of sixteen classes."""
    original = pairs_far_apart(40)
    order = np.random.default_rng(1).permutation(80)
    strangers = [
        EquivalenceClass(members=own, boxes=merge_members(original, own)[0])
        for own in np.sort(order.reshape(40, 2), axis=1)
    ]
    weights = weights_of(original, strangers, ramp=False)

    def found() -> list[list[int]]:
        classes = refine_classes(original, strangers, 2, 1, Run(), weights=weights)
        return sorted(each.members.tolist() for each in classes)

    couples = [[i, i + 40] for i in range(40)]
    assert found() == couples
    monkeypatch.setattr("shoal.methods.glove.refine._WORK", 0)
    assert found() != couples


def test_a_class_of_two_k_is_split() -> None:
    original = pairs_far_apart(4)
    together = search_neighborhood(
        original, [np.array([0, 1, 4, 5]), np.array([2, 3, 6, 7])], 2, WEIGHTS, 10_000
    )
    assert sorted(own.tolist() for own in together) == [[i, i + 4] for i in range(4)]


def released(
    original: Trajectories, run: Run | None = None, **settings: Any
) -> list[tuple[list[int], bytes]]:
    classes = Glove(k=2, refine=True, **settings).classes(original, run or Run())
    return [(each.members.tolist(), np.stack(each.boxes.columns()).tobytes()) for each in classes]


@pytest.fixture(scope="module")
def city() -> Trajectories:
    return shoal.read(shoal.synthesize(24, 2, 3, layout="city"))


@pytest.mark.jit_only
def test_a_refined_release_keeps_its_claim_and_has_smaller_extents(city: Trajectories) -> None:
    release, linkage = Glove(k=3, refine=True).anonymize(city, Randomness.for_research(1))
    assert verify(city, release, linkage).holds
    assert release.losses.samples_suppressed == 0
    before = Glove(k=3).classes(city, Run())
    weights = weights_of(city, before, ramp=True)
    after = Glove(k=3, refine=True).classes(city, Run())
    assert sum(merge_by_weights(city, each.members, weights)[1] for each in after) < sum(
        merge_by_weights(city, each.members, weights)[1] for each in before
    )


@pytest.mark.jit_only
def test_no_round_and_no_refinement_are_glove(city: Trajectories) -> None:
    greedy = [
        (each.members.tolist(), np.stack(each.boxes.columns()).tobytes())
        for each in Glove(k=2).classes(city, Run())
    ]
    assert released(city, refine_rounds=0) == greedy
    assert released(city) != greedy


def test_halves_are_classes_of_k_or_a_few_more_of_those_who_are_near() -> None:
    """Whoever is in one place is together, though no two people were compared."""
    original = pairs_far_apart(6)
    for k, sizes in ((2, [2] * 6), (3, [3] * 4), (5, [6] * 2), (12, [12])):
        classes = halve_people(original, k, Run())
        assert sorted(np.concatenate([each.members for each in classes]).tolist()) == list(range(12))
        assert [len(each.members) for each in classes] == sizes
    assert sorted(each.members.tolist() for each in halve_people(original, 2, Run())) == [
        [i, i + 6] for i in range(6)
    ]


@pytest.mark.jit_only
def test_a_search_from_halves_keeps_the_claim_and_needs_the_refinement(city: Trajectories) -> None:
    method = Glove(k=3, start="halves", refine=True)
    release, linkage = method.anonymize(city, Randomness.for_research(1))
    assert verify(city, release, linkage).holds
    assert release.losses.samples_suppressed == 0
    start = halve_people(city, 3, Run())
    weights = weights_of(city, start, ramp=True)
    assert sum(
        merge_by_weights(city, each.members, weights)[1] for each in method.classes(city, Run())
    ) < sum(merge_by_weights(city, each.members, weights)[1] for each in start)
    for refine in (False, True):
        with pytest.raises(MisuseError, match="set refine, or choose"):
            Glove(start="halves", refine=refine, refine_rounds=0)


@pytest.mark.jit_only
def test_the_same_classes_whoever_works_and_however_rows_stand(city: Trajectories) -> None:
    expected = released(city, Run(threads=1))
    assert released(city, Run(threads=3)) == expected
    order = np.random.default_rng(0).permutation(city.n_samples)
    ids = np.repeat(np.array(city.ids), city.lengths)
    shuffled = Trajectories.from_rows(
        ids[order].tolist(), city.t[order], city.x[order], city.y[order], grid=Grid()
    )
    assert released(shuffled) == expected


@pytest.mark.jit_only
def test_an_interrupted_search_continues_where_it_was(
    city: Trajectories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.methods.glove.refine._WORK", 0)
    expected = released(city)
    rounds: list[int] = []

    def stop(label: str, done: int, total: int) -> None:
        if label == "refining classes":
            rounds.append(done)
            if len(rounds) == total // 2 + 2:
                raise KeyboardInterrupt

    kept = Checkpoint.open(tmp_path, {"job": "refinement"})
    with pytest.raises(KeyboardInterrupt):
        released(city, Run(progress=stop, checkpoint=kept))
    finished = sorted(path.name for path in tmp_path.glob("refined-*"))
    assert 0 < len(finished) < Glove().refine_rounds
    assert released(city, Run(checkpoint=kept)) == expected


def test_refining_boxes_of_another_reading_is_refused() -> None:
    with pytest.raises(MisuseError, match="choose k-merge, or leave refine out"):
        Glove(refine=True, generalize="none")
    with pytest.raises(MisuseError, match="must be at least 0"):
        Glove(refine_rounds=-1)
