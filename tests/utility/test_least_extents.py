"""The bound below all classes against every way to part a few people into classes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_release import naive_release
from shoal.measures.least_extents import even_weights, lower_bound_of_costs
from shoal.methods.glove.refine import merge_by_weights
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.compiled import SWITCH
from shoal.runtime.run import Run
from shoal.utility import measure
from shoal.utility.facts import Facts
from shoal.utility.samples import above_least
from small_data import populations
from small_releases import random_people

pytestmark = pytest.mark.kernels


def cost_beside(original: Trajectories, p: int, q: int) -> int:
    """What p's samples cost, each beside the sample of q nearest to it, with both weights at their finest."""
    own, other = (list(zip(*original.samples_of(person), strict=True)) for person in (p, q))
    return sum(
        min(1000 * (abs(x - u) + abs(y - v) + 2 + abs(t - s) + 1) for s, u, v in other) for t, x, y in own
    )


@given(populations(least=3, most=6), st.integers(2, 3), st.sampled_from([1, 2, 1000]))
def test_nobody_costs_less_in_any_class(original: Trajectories, k: int, together: int) -> None:
    weights, everybody = even_weights(original, 1.0, 1.0), np.arange(original.n_subjects)
    with pytest.MonkeyPatch.context() as patched:  # so many people in order, and rows at once
        patched.setattr("shoal.measures.least_extents._IN_ORDER", together)
        patched.setattr("shoal.measures.least_extents._ROWS_AT_ONCE", together)
        least = lower_bound_of_costs(original, k, weights, everybody, Run(threads=1))
        patched.setenv(SWITCH, "1")
        assert np.array_equal(lower_bound_of_costs(original, k, weights, everybody, Run(threads=1)), least)
    assert least.tolist() == [
        sorted(cost_beside(original, p, q) for q in everybody.tolist() if q != p)[k - 2]
        for p in everybody.tolist()
    ]
    for size in range(k, original.n_subjects + 1):
        for people in combinations(everybody.tolist(), size):
            assert merge_by_weights(original, np.array(people), weights)[1] >= least[list(people)].sum()


@given(populations(least=4, most=8))
def test_a_release_of_classes_is_never_below_the_bound(original: Trajectories) -> None:
    (above,) = measure(original, *naive_release(original, k=2), ["extents-above-least"])
    assert above.result.value >= 1 - 1e-9


def test_boxes_wider_than_any_that_are_told_apart() -> None:
    ids, far = ["anna", "ben", "cleo", "dora"], 3 << 20  # cells; fine ones over a wide country
    original = Trajectories.from_rows(ids, [0, 0, 9, 9], [0, far, 0, far], [0, far, far, 0], grid=Grid())
    (above,) = measure(original, *naive_release(original, k=2), ["extents-above-least"])
    assert above.result.value >= 1 - 1e-9


@pytest.mark.jit_only
def test_of_some_people_the_interval_holds_what_all_would_give(monkeypatch: pytest.MonkeyPatch) -> None:
    original = random_people(150, 6, seed=4)
    release = naive_release(original, k=2)
    true = above_least(Facts(original, *release, exact=True))
    assert (true.drawn_low, true.drawn_high) == (None, None)
    monkeypatch.setattr("shoal.utility.samples._ASKED", 40)
    held, draws = 0, 25
    for seed in range(draws):
        monkeypatch.setattr("shoal.utility.samples._ASKED_SEED", seed)
        some = above_least(Facts(original, *release))
        assert some.drawn_low is not None
        assert some.drawn_high is not None
        assert some.drawn_low < some.value < some.drawn_high
        assert some.drawn_high - some.drawn_low < 0.5 * true.value, "what says nothing holds everything"
        held += some.drawn_low <= true.value <= some.drawn_high
    # of 25 intervals of 95 %, fewer than 21 hold the truth once in 140 times
    assert held >= 21
    assert above_least(Facts(original, *release, exact=True)) == true
