"""Bounds and bands against the full matrix.

The same nearest others and the same merges, on easy and on hostile populations.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oracles
import shoal
from effort_matrix import EffortMatrix, all_efforts
from shoal.kernels import crowd_windows
from shoal.kernels.crowd_bounds import (
    STRIDE,
    TOGETHER,
    boxes_of,
    cost_outlines,
    empty_least_costs,
    fill_outlines,
    least_costs_to_boxes,
    least_of_outlines,
    least_waits_to_boxes,
    lower_bound_to_person,
    rule_out_shorter,
)
from shoal.kernels.crowd_index import fill_lower_bounds
from shoal.kernels.crowd_windows import MAIN, fill_costs
from shoal.kernels.near_crowds import CrowdSearch, possible_slots, sum_of_pair
from shoal.kernels.stretch import box_effort, nearest_boxes
from shoal.measures import few_people, nearest_pairs
from shoal.measures.few_people import nearest_by_efforts
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps, samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove import closest_pairs as banded_pairs
from shoal.methods.glove import merged_crowds
from shoal.methods.glove.closest_pairs import BandedPairs
from shoal.methods.glove.greedy import ClosestPairs, Merging, merge, merge_greedily
from shoal.methods.glove.merged_crowds import MergedCrowds
from shoal.model.grid import Grid
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import read_only
from shoal.runtime.run import Run
from small_data import population, populations

EVERYTHING = 1e12


def merging(original: Trajectories, pairs: ClosestPairs, k: int, caps: Caps | None = None) -> Merging:
    scale = (caps or Caps()).scale_on(original.snapped_grid())
    return merge_greedily(original, pairs, k, lambda a, b: merge(a, b, scale), Run())


def assert_same_merges(original: Trajectories, k: int, caps: Caps | None = None, threads: int = 2) -> None:
    caps = caps or Caps()
    assert_merged_as(merging(original, EffortMatrix(original, caps), k, caps), original, k, caps, threads)


def assert_merged_as(full: Merging, original: Trajectories, k: int, caps: Caps, threads: int = 2) -> None:
    banded = merging(original, BandedPairs(original, caps, Run(threads=threads)), k, caps)
    assert banded.sequence == full.sequence
    for mine, theirs in zip(banded.finished, full.finished, strict=True):
        assert np.array_equal(mine.members, theirs.members)
        for column, same in zip(mine.boxes.columns(), theirs.boxes.columns(), strict=True):
            assert np.array_equal(column, same)


@cache
def made_once(make: Callable[[], Trajectories]) -> tuple[Trajectories, npt.NDArray[np.float64]]:
    """A population with the efforts of all its pairs, for all tests that take it."""
    original = make()
    return original, read_only(all_efforts(original))


@cache
def merged_once(make: Callable[[], Trajectories], k: int) -> Merging:
    """What the full matrix merges does not depend on how the bands are searched."""
    return merging(made_once(make)[0], EffortMatrix(made_once(make)[0], Caps()), k)


def assert_same_merges_of(make: Callable[[], Trajectories], k: int, threads: int = 2) -> None:
    assert_merged_as(merged_once(make, k), made_once(make)[0], k, Caps(), threads)


def city() -> Trajectories:
    return shoal.read(shoal.synthesize(200, 3, 6, layout="city"))


def nation() -> Trajectories:
    return shoal.read(shoal.synthesize(200, 3, 6, layout="nation"))


def trajectories(rows: list[tuple[int, Any, Any, Any]]) -> Trajectories:
    """Of (person, t, x, y); each may be an array."""
    own = [np.broadcast_arrays(*np.atleast_1d(*row[1:])) for row in rows]
    ids = [f"p{row[0]:04d}" for row, columns in zip(rows, own, strict=True) for _ in columns[0]]
    return Trajectories.from_rows(ids, *np.concatenate(own, axis=1), grid=Grid())


def identical_people() -> Trajectories:
    own = np.arange(6)
    return trajectories([(i, own * 700, own % 3 * 40, own % 2 * 50) for i in range(70)])


def one_place() -> Trajectories:
    rng = np.random.default_rng(0)
    return trajectories([(i, np.unique(rng.integers(0, 2000, rng.integers(1, 9))), 5, 5) for i in range(70)])


def one_sample_people_beside_a_long_one() -> Trajectories:
    rng = np.random.default_rng(1)
    few = [(i, rng.integers(0, 3000), *rng.integers(0, 4, 2) * 30) for i in range(60)]
    return trajectories([*few, (60, np.arange(0, 3000, 2), np.arange(1500) % 90, 0)])


def far_outliers() -> Trajectories:
    """Beyond both caps from everybody, in space, time or both, where a 32-bit product would overflow."""
    rng = np.random.default_rng(2)
    crowd = [(i, rng.integers(0, 900, 4), *rng.integers(0, 30, (2, 4))) for i in range(40)]
    far = [
        (40, 3, 10**9, 0),
        (41, 10**11, 3, 3),
        (42, -(10**11), -(10**9), 10**9),
        (43, [1, 10**11], [2, 10**9], [2, -(10**9)]),
    ]
    return trajectories([*crowd, *far])


def all_out_of_reach() -> Trajectories:
    """Everybody costs everybody the most there is: only the tie rule decides."""
    return trajectories([(i, i * 10_000, i * 10_000, 0) for i in range(45)])


def walkers() -> Trajectories:
    """Places that hardly repeat: more cells than a table holds, so that squares stand for them."""
    rng = np.random.default_rng(3)
    steps = [
        (i, np.arange(400), *rng.integers(-9, 10, (2, 400)).cumsum(axis=1) + rng.integers(0, 60, (2, 1)))
        for i in range(36)
    ]
    original = trajectories(steps)
    assert NearPairs(original, Caps(), Run()).people.places.side > 1
    return original


def equal_lengths() -> Trajectories:
    return population([5] * 70, seed=6, places=9, slots=9000)


HOSTILE = [
    identical_people,
    one_place,
    one_sample_people_beside_a_long_one,
    far_outliers,
    all_out_of_reach,
    equal_lengths,
]


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("make", [*HOSTILE, walkers])
def test_merges_of_hostile_populations(make: Any, k: int) -> None:
    assert_same_merges_of(make, k)


@pytest.mark.parametrize("k", [2, 5])
def test_lists_that_run_out_are_searched_again(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_LIST", "_LIST_OF_PERSON"):
        monkeypatch.setattr(banded_pairs, name, 1)
    for make in (identical_people, one_place, all_out_of_reach, equal_lengths):
        assert_same_merges_of(make, k)


def test_only_whose_lists_are_full_are_searched_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty live in one place at one time; others are far away, and their lists stay valid."""
    crowd = [(i, [3, 5], 5, 5) for i in range(20)]
    apart = [(i, [3 + i, 5 + i], i * 4, 300 + i * 9) for i in range(20, 60)]
    original, asked = trajectories([*crowd, *apart]), []
    nearest = NearPairs.nearest

    def counted(self: NearPairs, among: Any, count: int, below: Any, wanted: Any = None) -> Any:
        asked.append(set(np.flatnonzero(wanted).tolist()))
        return nearest(self, among, count, below, wanted)

    monkeypatch.setattr(banded_pairs, "_LIST_OF_PERSON", 4)
    monkeypatch.setattr(NearPairs, "nearest", counted)
    assert_same_merges(original, 2)
    again = [owners for owners in asked if owners <= set(range(20))]
    assert again
    assert asked[0] == set(range(60))


@pytest.mark.parametrize("ahead", [1, 30])
def test_however_many_pairs_are_merged_ahead(ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banded_pairs, "_AHEAD", ahead)
    for make in (identical_people, one_place, all_out_of_reach, equal_lengths):
        assert_same_merges_of(make, 4)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("k", [3, 10])
def test_however_many_threads_there_are(threads: int, k: int) -> None:
    for make in (*HOSTILE, walkers, city):
        assert_same_merges_of(make, k, threads=threads)


class LateSearches:
    """In the place of a pool of threads: nothing is searched for before somebody waits for it."""

    def __init__(self, threads: int) -> None:
        self.waiting: tuple[Any, ...] = ()

    def submit(self, *task: Any) -> "LateSearches":
        late = LateSearches(1)
        late.waiting = task
        return late

    def done(self) -> bool:
        return False

    def cancel(self) -> bool:
        return True

    def result(self) -> None:
        search, *given = self.waiting
        search(*given)


@pytest.mark.parametrize("k", [3, 5, 10])
def test_searches_that_end_as_late_as_they_can(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they began with is still there, though others have entered since."""
    monkeypatch.setattr(merged_crowds, "ThreadPoolExecutor", LateSearches)
    monkeypatch.setattr(banded_pairs, "_ENOUGH", 30)
    monkeypatch.setattr(banded_pairs, "_AHEAD", 15)
    for make in (*HOSTILE, walkers, city, nation):
        assert_same_merges_of(make, k)


def test_nothing_is_merged_ahead_where_rows_are_left_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_crowds, "_ROWS", 2)
    for make in (identical_people, equal_lengths):
        assert_same_merges_of(make, 5)


@pytest.mark.kernels
@given(populations(most=9), st.integers(2, 5))
def test_merges_of_small_populations(original: Trajectories, k: int) -> None:
    assert_same_merges(original, k)


@pytest.mark.parametrize(("k", "seed"), [(2, 0), (3, 1), (5, 2)])
def test_merges_of_synthetic_call_records(k: int, seed: int) -> None:
    assert_same_merges(shoal.read(shoal.synthesize(250, 3, seed)), k)


@pytest.mark.parametrize(
    "caps", [Caps(space_cap_m=3000, time_cap_s=600), Caps(space_cap_m=7000, time_cap_s=33 * 60)]
)
def test_other_caps_and_wider_integers(caps: Caps) -> None:
    """The second has no small common unit: costs outgrow 16 bits."""
    assert_same_merges(population([1, 4, 9, 4, 30] * 12, seed=7, slots=4000), 3, caps)


def test_crowds_that_outgrow_32_bits() -> None:
    """Two towns so far apart that the costs between crowds of two fit, and those of three do not."""
    t, x, y = np.random.default_rng(3).integers(0, 40, (3, 30, 5))
    assert_same_merges(trajectories([(i, t[i], x[i] + i % 2 * 40_000_000, y[i]) for i in range(30)]), 6)


class SearchingCrowd:
    """A crowd of the first two people, and what others cost at least beside it."""

    def __init__(self, original: Trajectories) -> None:
        self.scale = Caps().scale_on(original.snapped_grid())
        self.people = NearPairs(original, Caps(), Run(threads=1)).people
        self.singles = [
            EquivalenceClass(members=np.array([i]), boxes=Boxes.of_samples(*own))
            for i, own in enumerate(original)
        ]
        crowd = merge(self.singles[0], self.singles[1], self.scale)
        self.merged = MergedCrowds(original, NearPairs(original, Caps(), Run(threads=1)), 1, 16)
        self.row = self.merged.store(0, crowd)
        self.crowds, self.own = self.merged.crowds, samples_of_boxes(crowd.boxes)
        visits, bounding = self.crowds.bounding.visits, self.crowds.bounding
        longest = max(len(self.own.t_start), int(original.lengths.max()))
        self.least = empty_least_costs(self.people, visits.n_windows, longest, self.crowds.boxes.t_start)
        stored, hours, places = boxes_of(self.crowds, self.row), self.people.hours, self.people.places
        fill_outlines(stored, 2, hours.first_t, bounding.shift, self.scale, self.least)
        least_costs_to_boxes(places, 2, self.scale, self.least)
        least_waits_to_boxes(hours, stored, 2, self.scale, self.least.waits)
        costs, first_t, shift = self.least.windows, hours.first_t, visits.shift
        fill_costs(places, stored, 2, first_t, self.least.places, shift, self.scale, costs)


@pytest.mark.kernels
@given(populations(most=9))
def test_sums_of_crowds_are_exact_and_their_bounds_below(original: Trajectories) -> None:
    """A crowd of two beside everybody else: the sum by sixteen at a time, its floors, and the slow sum."""
    assume(original.n_subjects > 2)
    beside = SearchingCrowd(original)
    crowds, people, row, own = beside.crowds, beside.people, beside.row, beside.own
    least, scale, singles = beside.least, beside.scale, beside.singles
    found, slow = [], []
    for other, single in enumerate(singles[2:], start=2):
        its = samples_of_boxes(single.boxes)
        whole = 3 * max(len(own.t_start), len(its.t_start))
        total = sum_of_pair(crowds, people, row, other, least, scale, np.inf)
        found.append(total / whole)
        slow.append(box_effort(own, 2, its, 1, scale, np.inf))
        if len(own.t_start) > len(its.t_start):
            lowest = lower_bound_to_person(crowds, people, row, other, least, scale, np.inf)
            costs = nearest_boxes(own, 2, its, 1, scale)[1]
            floors = least.floors[: len(costs)]
            assert lowest == floors.sum()
            assert np.all(least.spaces[: len(costs)] <= floors)
            assert np.all(floors <= costs)
    assert found == slow
    index, lowest = beside.merged._index, beside.merged._lowest[0]
    crowds.turns[row] = 1
    for limit in slow:
        living, room = np.arange(2, len(singles)), np.empty((3, len(singles)), dtype=np.int64)
        most = limit * (1 + 1e-12)
        search = CrowdSearch(crowds, people, index, scale, beside.merged._found, np.inf)
        count = possible_slots(search, row, living, most, least, lowest, room)
        kept = room[0, :count]
        kept = kept[: rule_out_shorter(crowds, people.places, row, most, least, scale, kept)]
        expected = [other for other, effort in enumerate(slow, start=2) if effort <= limit]
        assert np.isin(expected, kept).all()


def cost_in_window(beside: SearchingCrowd, place: int, window: int) -> int:
    """The least of what a sample at a place within a window costs, compared with every box, slot by slot."""
    places, visits, scale = beside.people.places, beside.crowds.bounding.visits, beside.scale
    begin = beside.people.hours.first_t + (window << visits.shift)
    slots = np.arange(begin, begin + (1 << visits.shift))
    cap, costs = 3 * scale.half, []
    for t_start, t_end, x_min, y_min, x_max, y_max, _ in zip(*beside.own, strict=True):
        x, y = (np.arange(first[place], first[place] + places.side) for first in (places.x, places.y))
        away = np.maximum(np.maximum(x_min - x, x - x_max + 1), 0).min()
        away += np.maximum(np.maximum(y_min - y, y - y_max + 1), 0).min()
        space = scale.per_cell * (3 * away + x_max - x_min + y_max - y_min - 2)
        wait = np.maximum(np.maximum(t_start - slots, slots - t_end + 1), 0).min()
        time = scale.per_slot * (3 * wait + t_end - t_start - 1)
        costs.append(min(space, cap) + min(time, cap))
    return int(min(costs))


@pytest.mark.kernels
@pytest.mark.parametrize("most", [1 << 16, 12])
@given(original=populations(most=5))
def test_costs_by_place_and_window(most: int, original: Trajectories) -> None:
    """A crowd of two beside each place and window, and who is where; long windows where few numbers fit."""
    assume(original.n_subjects > 2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(crowd_windows, "MOST", most)
        beside = SearchingCrowd(original)
    places, hours, visits = beside.people.places, beside.people.hours, beside.crowds.bounding.visits
    n_places = len(places.costs)
    assert visits.n_windows * n_places <= most or visits.n_windows == 1
    for i in range(original.n_subjects):
        rows = slice(int(original.offsets[i]), int(original.offsets[i + 1]))
        windows, where = np.asarray(hours.slot[rows], dtype=np.int64) >> visits.shift, places.of_sample[rows]
        expected = Counter((windows * n_places + where).tolist())
        assert dict(visits.counts[visits.offsets[i] : visits.offsets[i + 1]].tolist()) == expected
        mine = slice(places.offsets[i], min(places.offsets[i + 1], places.offsets[i] + MAIN))
        main = visits.main[i][visits.main[i][:, 1] > 0]
        assert main.tolist() == np.stack([places.distinct[mine], places.weights[mine]], axis=1).tolist()
        for visit in expected:
            window, place = divmod(visit, n_places)
            found = beside.least.places[place] + beside.least.windows[window, place]
            assert found == cost_in_window(beside, place, window)


@pytest.mark.kernels
@given(populations(most=5))
def test_costs_of_outlines_beside_people(original: Trajectories) -> None:
    """Sixteen outlines beside all places of each person."""
    assume(original.n_subjects > 2)
    beside = SearchingCrowd(original)
    places, scale, own, least = beside.people.places, beside.scale, beside.own, beside.least
    room, count = np.empty(STRIDE, dtype=np.int32), min(int(least.n_outlines[0]), TOGETHER)
    for p, (x, y) in enumerate(zip(places.x, places.y, strict=True)):
        padded = -(-count // STRIDE) * STRIDE
        cost_outlines(least.outlines, x, y, places.side, 2, padded, scale, least.of_outlines[:, p])
    found, expected = [], []
    for first in range(0, count, STRIDE):
        some = (least.outline_of[: len(own.t_start)] >= first) & (
            least.outline_of[: len(own.t_start)] < first + STRIDE
        )
        for i in range(original.n_subjects):
            begin, last = places.offsets[i], places.offsets[i + 1] - 1
            its, total = places.distinct[begin : last + 1], 0
            for j in np.flatnonzero(some):
                spread = own.x_max[j] - own.x_min[j] + own.y_max[j] - own.y_min[j] - 2
                gaps = [
                    max(own.x_min[j] - x - places.side + 1, x - own.x_max[j] + 1, 0)
                    + max(own.y_min[j] - y - places.side + 1, y - own.y_max[j] + 1, 0)
                    for x, y in zip(places.x[its], places.y[its], strict=True)
                ]
                total += min(scale.per_cell * (3 * min(gaps) + spread), 3 * scale.half)
            costs = least.of_outlines[first // STRIDE]
            found.append(least_of_outlines(costs, places.distinct, begin, last, room))
            expected.append(total)
    assert found == expected
    assert len(found) >= original.n_subjects


def sums_by_index_and_by_hand(original: Trajectories, most: float) -> list[tuple[int, int]]:
    """Between all crowds of two neighbors in order: the bound by the index, and what it stands for."""
    scale, near = Caps().scale_on(original.snapped_grid()), NearPairs(original, Caps(), Run(threads=1))
    singles = [
        EquivalenceClass(members=np.array([i]), boxes=Boxes.of_samples(*p)) for i, p in enumerate(original)
    ]
    slots = np.arange(0, len(singles) - 1, 2)
    merged, boxes = MergedCrowds(original, near, 1, 16), {}
    for slot in slots.tolist():
        crowd = merge(singles[slot], singles[slot + 1], scale)
        row = merged.store(slot, crowd)
        merged.enter(row)
        boxes[row] = samples_of_boxes(crowd.boxes)
    merged._rebuild_index(np.array(list(boxes)))
    lowest, reach, both = merged._lowest[0], int(min(1.25 * most, scale.half) * 4), []
    for row, own in boxes.items():
        fill_lower_bounds(merged.crowds, merged._index, near.people.hours, row, most, lowest, scale)
        for other, its in boxes.items():
            a, b = own, its
            if len(b.t_start) > len(a.t_start):
                a, b = b, a
            costs = nearest_boxes(a, 2, b, 2, scale)[1]
            both.append((int(lowest.sums[other]), int(np.minimum(costs, reach).sum())))
    return both


@pytest.mark.kernels
@given(populations(most=9), st.sampled_from([30.0, 300.0, 1100.0, 2300.0]))
def test_bounds_by_the_index_of_crowds(original: Trajectories, most: float) -> None:
    """No box costs less than the lesser of reach and its cost, and the index finds just that, or gives up."""
    assume(original.n_subjects > 3)
    both = sums_by_index_and_by_hand(original, most)
    assert [found for found, _ in both] == [expected if found else 0 for found, expected in both]


def test_the_index_of_crowds_does_not_give_up_on_call_records() -> None:
    both = sums_by_index_and_by_hand(shoal.read(shoal.synthesize(60, 7, 4, layout="city")), 600.0)
    assert len(both) == 900
    assert [found for found, _ in both] == [expected for _, expected in both]


def test_merges_with_everybody_in_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_crowds, "_SINCE", -1)
    assert_same_merges(shoal.read(shoal.synthesize(200, 3, 5, layout="city")), 5)
    for make in (one_place, one_sample_people_beside_a_long_one, far_outliers, equal_lengths):
        assert_same_merges_of(make, 5)


@pytest.mark.kernels
@given(populations(), st.integers(1, 6), st.sampled_from([30.0, 700.0, 2400.0, EVERYTHING]))
def test_nearest_others_are_those_of_the_matrix(original: Trajectories, count: int, threshold: float) -> None:
    assert_nearest(original, all_efforts(original), count, threshold)


@pytest.mark.parametrize("make", [*HOSTILE, walkers])
@pytest.mark.parametrize("threshold", [400.0, EVERYTHING])
def test_nearest_others_of_hostile_populations(make: Any, threshold: float) -> None:
    assert_nearest(*made_once(make), 7, threshold)


@pytest.mark.parametrize("make", [*HOSTILE, walkers])
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("together", [2, 64])
@pytest.mark.parametrize("step", [1, 7])
def test_limits_of_each_person_lose_nobody(
    make: Any, count: int, together: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stands in a neighborhood only decides how far the search looks."""
    monkeypatch.setattr(nearest_pairs, "_TOGETHER", together)
    original, efforts = made_once(make)
    asked = np.arange(original.n_subjects) % step == 0
    found = NearPairs(original, Caps(), Run(threads=2)).nearest_others(count, asked).partner
    nearest = np.argsort(efforts, axis=1, kind="stable")[:, :count]
    assert np.array_equal(found[asked], nearest[asked])


@given(populations(), st.integers(1, 6), st.integers(1, 3))
def test_lists_of_some_among_some_without_compiling(original: Trajectories, count: int, step: int) -> None:
    """Whatever is asked for: owners, others, and a limit for each."""
    near = NearPairs(original, Caps(), Run(threads=1))
    some = np.arange(original.n_subjects)[::-step]
    limits = (np.arange(original.n_subjects) * 400).astype(np.float64)
    asked = np.arange(original.n_subjects) % 2 == 0
    plain = nearest_by_efforts(all_efforts(original), some, count, limits, asked)
    compiled = near.nearest(some, count, limits, asked)
    assert len(plain) == len(compiled)
    for column, same in zip(plain[:3], compiled[:3], strict=True):
        assert np.array_equal(column[some[asked[some]]], same[some[asked[some]]])


@pytest.mark.parametrize("far", [1 << 20, 1 << 40])  # costs fit 32 bits, and do not
def test_efforts_of_few_people_who_are_far_apart(far: int) -> None:
    t, x = [0, 7, far, far], [0, 3, 0, far]
    original = Trajectories.from_rows(["a", "b", "c", "d"], t, x, [0] * 4, grid=Grid(cell_m=100, slot_s=60))
    scale = Caps().scale_on(original.snapped_grid())
    near = scale.per_slot * 7 + scale.per_cell * 3
    efforts = few_people.all_efforts(original, scale)
    assert efforts[0].tolist() == [np.inf, near, scale.half, 2 * scale.half]
    assert efforts[1, 2:].tolist() == [scale.half + 3 * scale.per_cell, 2 * scale.half]
    assert efforts[2, 3] == scale.half


def assert_nearest(
    original: Trajectories, efforts: npt.NDArray[np.float64], count: int, threshold: float
) -> None:
    everybody = np.arange(original.n_subjects)
    assert efforts.shape == (len(everybody), len(everybody))
    if original.n_samples <= 10_000:  # more are never compared in NumPy
        scale = Caps().scale_on(original.snapped_grid())
        assert np.array_equal(few_people.all_efforts(original, scale), efforts)
    all_lists = np.ones(len(everybody), dtype=np.bool_)
    for found in (
        NearPairs(original, Caps(), Run(threads=2)).nearest(everybody, count, threshold),
        nearest_by_efforts(efforts, everybody, count, threshold, all_lists),
    ):
        for i, row in enumerate(efforts):
            order = [j for j in np.lexsort((everybody, row)) if row[j] < threshold][:count]
            assert found.partner[i, : found.length[i]].tolist() == order
            assert found.effort[i, : found.length[i]].tolist() == row[order].tolist()


@pytest.mark.kernels
@given(populations())
def test_efforts_found_are_exact(original: Trajectories) -> None:
    groups = oracles.singles(original)
    found = NearPairs(original, Caps(), Run(threads=1)).nearest(
        np.arange(len(groups)), len(groups), EVERYTHING
    )
    assert found.length.tolist() == [len(groups) - 1] * len(groups)
    for i, group in enumerate(groups):
        for j, effort in zip(found.partner[i, : len(groups) - 1], found.effort[i], strict=False):
            assert effort == float(oracles.effort(group, groups[j]) * 4800)


def test_certificate_where_a_matrix_is_impossible() -> None:
    """At k = 2, no two people have an effort below the smaller match value of the two.

    Else they would have been merged first.

    Sampled among 6,000 people, each sampled one against all others, with a kernel that knows no bounds
    between people.
    """
    original = shoal.read(shoal.synthesize(6000, 2, 3))
    sequence = merging(original, BandedPairs(original, Caps(), Run()), 2).sequence
    scale = Caps().scale_on(Grid())
    samples = [samples_of_boxes(Boxes.of_samples(*own)) for own in original]
    match = np.full(original.n_subjects, np.inf)
    for a, b in sequence:
        match[[a, b]] = box_effort(samples[a], 1, samples[b], 1, scale, np.inf)
    values = [match[a] for a, _ in sequence]
    assert values == sorted(values)
    for i in np.random.default_rng(0).choice(original.n_subjects, 20, replace=False).tolist():
        for j in range(original.n_subjects):
            if i != j:
                assert box_effort(samples[i], 1, samples[j], 1, scale, np.inf) >= min(match[i], match[j])
