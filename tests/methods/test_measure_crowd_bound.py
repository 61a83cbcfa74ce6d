"""The bench that bounds what the refinement can reach: against the best of all ways to pair few people."""

from collections.abc import Iterator

import numpy as np
import pytest

import measure_crowd_bound as bench
import shoal
from shoal.methods.glove.glove import Glove
from shoal.methods.glove.refine import weights_of
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

pytestmark = pytest.mark.kernels


def pairings(people: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    if not people:
        yield []
        return
    for other in people[1:]:
        left = tuple(person for person in people[1:] if person != other)
        for further in pairings(left):
            yield [(people[0], other), *further]


@pytest.fixture(scope="module")
def few() -> Trajectories:
    return shoal.read(shoal.synthesize(6, 2, 3, layout="city"))


@pytest.mark.jit_only
def test_the_bound_rises_to_near_the_cheapest_pairing_and_never_above(few: Trajectories) -> None:
    weights = weights_of(few, Glove(k=2).classes(few, Run()), ramp=True)
    search = bench.Search(few, weights, 2)
    start = [np.array(pair) for pair in ((0, 3), (1, 4), (2, 5))]
    found = list(bench.bounds(search, start, 2, 60))
    best = min(sum(search.cost(np.array(pair)) for pair in ways) for ways in pairings(tuple(range(6))))
    assert found == sorted(found)
    assert found[0] < found[-1] <= best
    assert found[-1] > 0.97 * best


@pytest.mark.jit_only
def test_the_lines_say_what_no_crowds_of_k_cost_less_than() -> None:
    told = list(bench.lines(shoal.read(shoal.synthesize(21, 2, 3, layout="city")), 2, 3))
    assert told[0].startswith("20 people, k = 2: ")
    shares = [float(line.rsplit(" ", 1)[1]) for line in (*told[:2], told[-1])]
    assert told[-1].startswith("after 3 steps ")
    assert 0 < shares[1] <= shares[0] < 1
    assert 0 < shares[2] < 1
