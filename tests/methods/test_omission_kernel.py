"""Leaving samples out of a class, against all ways to choose them."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from shoal.kernels.k_merge import IMPOSSIBLE, NONE
from shoal.kernels.omission import OmissionGoal, choose_boxes, choose_boxes_at_prices, runs_with_gaps
from shoal.kernels.weighed_runs import Weights, weighed_partition

pytestmark = pytest.mark.kernels

WEIGHTS = Weights(place=np.rint(400 * np.sqrt(np.arange(60))).astype(np.int64), per_slot=70)


WISH = OmissionGoal(weights=WEIGHTS, at_first=WEIGHTS, longest=IMPOSSIBLE)


def class_of(seed: int, m: int = 8, k: int = 2, width: int = 12, slots: int = 20) -> Any:
    """[3, m] x, y, t of samples by ascending time, and whose each is; everybody has one."""
    rng = np.random.default_rng(seed)
    columns = np.stack([*rng.integers(0, width, (2, m)), np.sort(rng.integers(0, slots, m))])
    owner = np.concatenate([np.arange(k), rng.integers(0, k, m - k)])
    return columns, rng.permutation(owner)


def cost_of(columns: Any, owner: Any, box_of: Any, prices: Any) -> int | None:
    """What boxes and samples left out cost, counted plainly; None where boxes break a rule."""
    total, taken = 0, []
    for number in set(box_of.tolist()) - {NONE}:
        own = np.flatnonzero(box_of == number)
        if len(set(owner[own].tolist())) < len(prices):
            return None
        low, high = columns[:, own].min(axis=1), columns[:, own].max(axis=1)
        dx, dy, dt = (high - low + 1).tolist()
        inside = ((columns >= low[:, None]) & (columns <= high[:, None])).all(axis=0)
        if not (box_of[inside] == number).all():
            return None
        taken.append((int(low[2]), int(high[2])))
        total += len(own) * int(WEIGHTS.place[min(dx + dy, 59)] + WEIGHTS.per_slot * dt)
    if any(before[1] >= after[0] for before, after in pairwise(sorted(taken))):
        return None
    return total + int(prices[owner[box_of == NONE]].sum())


def least_of_all(columns: Any, owner: Any, prices: Any) -> int:
    """The least cost of all ways: each sample left out or in one of the boxes, numbered as they begin."""
    found = []
    for way in product(range(-1, len(owner) // len(prices)), repeat=len(owner)):
        seen = [number for number in way if number != NONE]
        if seen == sorted(seen):
            cost = cost_of(columns, owner, np.array(way), prices)
            found += [] if cost is None else [cost]
    return min(found)


def test_both_steps_come_near_the_best_of_all_ways() -> None:
    above = []
    for seed in range(12):
        columns, owner = class_of(seed, m=6)
        prices = np.full(2, (600, 1500, 4000)[seed % 3])
        box_of = np.empty(6, dtype=np.int64)
        cost = choose_boxes_at_prices(columns, owner, prices, WISH, box_of)
        assert cost == cost_of(columns, owner, box_of, prices)
        above.append(cost / least_of_all(columns, owner, prices))
    assert min(above) >= 1  # no way is better than the best
    assert np.mean(above) < 1.03
    assert max(above) < 1.15


@pytest.mark.parametrize(("price", "longest"), [(700, 200), (3000, 200), (12000, 200), (12000, 12)])
def test_runs_with_gaps_are_the_best_over_time(price: int, longest: int) -> None:
    """Every run that could be the last is tried, at every moment."""
    columns, owner = class_of(price, m=60, k=3, width=25, slots=200)
    prices = price * np.array([1, 2, 1])
    x, y, t = columns
    starts = np.flatnonzero(np.diff(t, prepend=-1))
    stops = [*starts[1:].tolist(), len(t)]
    least, gaps = [0], 0
    for stop in stops:
        begin = int(starts[len(least) - 1])
        best = least[-1] + int(prices[owner[begin:stop]].sum())
        gap = best
        for g, first in enumerate(starts[: len(least)].tolist()):
            lasting = int(t[stop - 1] - t[first] + 1)
            if lasting <= longest and len(set(owner[first:stop].tolist())) == 3:
                sides = int(np.ptp(x[first:stop]) + np.ptp(y[first:stop]) + 2)
                each = int(WEIGHTS.place[sides] + 70 * lasting)
                best = min(best, least[g] + (stop - first) * each)
        gaps += best == gap
        least.append(best)
    box_of = np.empty(60, dtype=np.int64)
    assert runs_with_gaps(t, x, y, owner, prices, WEIGHTS, longest, box_of) == least[-1]
    assert gaps


def test_without_a_price_worth_paying_runs_are_those_of_the_whole() -> None:
    columns, owner = class_of(3, m=200, k=4, width=50, slots=3000)
    x, y, t = columns
    box_of = np.empty(200, dtype=np.int64)
    dear = np.full(4, 1 << 40)
    first, cost = weighed_partition(t, x, y, owner, 4, WEIGHTS)
    assert runs_with_gaps(t, x, y, owner, dear, WEIGHTS, IMPOSSIBLE, box_of) == cost
    assert np.flatnonzero(np.diff(box_of, prepend=-2)).tolist() == first.tolist()


@pytest.mark.parametrize("most", [0, 1, 3])
def test_nobody_loses_more_than_allowed(most: int) -> None:
    unbounded = np.empty(60, dtype=np.int64)
    bounded, lost = unbounded.copy(), []
    for seed in range(4):
        columns, owner = class_of(seed, m=60, k=3, width=40, slots=2000)
        choose_boxes(columns, owner, 4000, np.full(3, 60), WISH, unbounded)
        lost.append(int(np.bincount(owner[unbounded == NONE], minlength=3).max()))
        cost = choose_boxes(columns, owner, 4000, np.full(3, most), WISH, bounded)
        assert cost == cost_of(columns, owner, bounded, np.full(3, 4000))
        assert np.bincount(owner[bounded == NONE], minlength=3).max() <= most
    assert max(lost) > 3  # so the bound does bind
