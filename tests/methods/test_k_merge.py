"""k-merge against brute force over all partitions.

Ties in time, unequal lengths, one trajectory far longer than the others.
"""

from itertools import pairwise
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from example_counts import examples
from oracles import Sample, brute_force_cost
from shoal.errors import MisuseError
from shoal.kernels.k_merge import best_partition
from shoal.methods.k_merge import merge_crowds, merge_members
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from small_data import population, populations

pytestmark = pytest.mark.kernels


samples = st.tuples(st.integers(0, 12), st.integers(-4, 4), st.integers(-4, 4))


def arrays(trajectories: list[list[Sample]]) -> list[np.ndarray]:
    return [np.array(rows) * [60, 100, 100] for rows in trajectories]


def assert_optimal(trajectories: list[list[Sample]]) -> None:
    boxes, cost = shoal.k_merge(arrays(trajectories))
    assert cost == brute_force_cost(trajectories)
    cells = boxes / [60, 60, 100, 100, 100, 100]
    assert sum((b[1] - b[0]) * (b[4] - b[2] + b[5] - b[3]) for b in cells) == cost
    assert all(a[1] <= b[0] for a, b in pairwise(cells))
    for rows in trajectories:
        for box in cells:
            assert any(
                box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5] for t, x, y in rows
            )
        for t, x, y in rows:
            assert any(
                box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5] for box in cells
            )


@examples(3)
@given(st.lists(st.lists(samples, min_size=1, max_size=4), min_size=2, max_size=4))
def test_no_partition_is_cheaper(trajectories: list[list[Sample]]) -> None:
    assert_optimal(trajectories)


@given(st.lists(samples, min_size=6, max_size=10), st.lists(samples, min_size=1, max_size=1))
def test_one_far_longer_than_the_other(long: list[Sample], short: list[Sample]) -> None:
    assert_optimal([long, short])


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4),
        min_size=2,
        max_size=3,
    )
)
def test_with_ties_in_time(trajectories: list[list[Sample]]) -> None:
    assert_optimal(trajectories)


def quadratic_cost(trajectories: list[list[Sample]]) -> int:
    """The least cost by trying every last run for every time: slow, but without a range, levels or a stop."""
    tagged = sorted((*sample, owner) for owner, own in enumerate(trajectories) for sample in own)
    times = sorted({sample[0] for sample in tagged})
    best: dict[int, int] = {-1: 0}
    for h, last in enumerate(times):
        for g, first in enumerate(times[: h + 1]):
            run = [sample for sample in tagged if first <= sample[0] <= last]
            if g - 1 in best and len({sample[3] for sample in run}) == len(trajectories):
                _, x, y, _ = zip(*run, strict=True)
                whole = best[g - 1] + (last - first + 1) * (max(x) - min(x) + max(y) - min(y) + 2)
                best[h] = min(best.get(h, whole), whole)
    return best[len(times) - 1]


@examples(0.25)
@given(
    long=st.lists(
        st.tuples(st.integers(0, 80), st.integers(0, 9), st.integers(0, 9)),
        min_size=40,
        max_size=60,
        unique=True,
    ),
    short=st.lists(
        st.lists(st.tuples(st.integers(0, 80), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3),
        max_size=2,
    ),
)
def test_long_ranges_are_searched_as_exactly_as_short_ones(
    long: list[Sample], short: list[list[Sample]]
) -> None:
    """Far more stamps between the short trajectories' samples than are looked at one by one."""
    assert shoal.k_merge(arrays([long, *short]))[1] == quadratic_cost([long, *short])


@pytest.mark.jit_only
@pytest.mark.parametrize("between", [1, 10], ids=["looked at one by one", "levels"])
def test_a_run_begins_no_earlier_than_two_complete_ones_allow(between: int) -> None:
    """The cost would be the same without the bound, and the time would grow as the square of the length."""
    n, draw = 60_000, np.random.default_rng(between)
    t, owner = np.arange(n), (np.arange(n) % (between + 1) == 0).astype(np.int64)
    x, y = draw.integers(0, 50, (2, n))
    best_partition(t[:50], x[:50], y[:50], owner[:50], 2)  # compiles
    began = process_time()
    first, _, _ = best_partition(t, x, y, owner, 2)
    assert process_time() - began < 0.5  # without the bound some 15 s, with it 10 ms
    assert len(first) > n / (2 * between + 2)


def test_one_raw_sample_costs_two() -> None:
    boxes, cost = shoal.k_merge([[[600, 500, 700]]])
    assert cost == 2
    assert boxes.tolist() == [[600, 660, 500, 500 + 200, 600, 800]]


def test_a_trajectory_without_samples_is_an_error() -> None:
    with pytest.raises(MisuseError, match="at least one row"):
        shoal.k_merge([[[0, 0, 0]], []])


def test_subjects_of_trajectories_are_merged_like_their_arrays() -> None:
    together = population([4, 3, 5], seed=3)
    units = np.array(
        [together.snapped_grid().slot_s, together.snapped_grid().cell_m, together.snapped_grid().cell_m]
    )
    boxes, cost = shoal.k_merge(together)
    same, equal = shoal.k_merge([np.stack(own, axis=1) * units for own in together])
    assert (boxes.tolist(), cost) == (same.tolist(), equal)


@given(
    populations(most=9),
    st.lists(st.sets(st.integers(0, 8), min_size=1, max_size=5), max_size=6),
    st.integers(1, 3),
)
def test_many_crowds_are_merged_as_each_alone(
    original: Trajectories, crowds: list[set[int]], threads: int
) -> None:
    members = [np.unique([own % original.n_subjects for own in crowd]) for crowd in crowds]
    found = list(merge_crowds(original, members, Run(threads=threads)))
    assert len(found) == len(members)
    for boxes, own in zip(found, members, strict=True):
        for column, same in zip(boxes.columns(), merge_members(original, own)[0].columns(), strict=True):
            assert np.array_equal(column, same)
