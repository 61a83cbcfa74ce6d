"""The middle of a cylinder from those who stand at its edge, beside all circles through two people."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.cylinder_middles import find_middles, outermost
from shoal.runtime.arrays import Floats

SLACK_M = 0.01


def middle_of_all_pairs(x: Floats, y: Floats, radius: float) -> tuple[float, float]:
    """Of the circles through two that hold all, the one with most at its edge, then nearest to the mean.

    Of two people it is their mean.
    """
    mean_x, mean_y = x.mean(), y.mean()
    if len(x) == 2:
        return mean_x, mean_y
    best, middle = (0, -np.inf), (mean_x, mean_y)
    for one, other in combinations(range(len(x)), 2):
        along_x, along_y = x[other] - x[one], y[other] - y[one]
        apart = np.hypot(along_x, along_y)
        if apart == 0:
            continue
        aside = np.sqrt(max(radius**2 - apart**2 / 4, 0)) / apart
        for side in (aside, -aside):
            at = x[one] + along_x / 2 - side * along_y, y[one] + along_y / 2 + side * along_x
            away = np.hypot(x - at[0], y - at[1])
            found = int((away >= radius - SLACK_M).sum()), -np.hypot(at[0] - mean_x, at[1] - mean_y)
            if away.max() <= radius + SLACK_M and found > best:
                best, middle = found, at
    if best[0] < 3 and np.hypot(x - mean_x, y - mean_y).max() < radius - SLACK_M:
        return mean_x, mean_y
    return middle


def moved(rng: np.random.Generator, n: int, radius: float, spread: float) -> tuple[Floats, Floats]:
    """People around a middle at 0, those outside the circle moved to its edge."""
    places = rng.normal(0, radius * spread, (2, n))
    x, y = places / np.maximum(np.hypot(*places) / radius, 1)
    return x, y


@pytest.mark.kernels
@given(
    st.integers(0, 10_000),
    st.integers(1, 12),
    st.sampled_from([0.2, 1.0, 4.0]),
    st.booleans(),
    st.booleans(),
)
def test_the_middle_is_that_of_all_pairs(
    seed: int, n: int, spread: float, rounded: bool, alike: bool
) -> None:
    rng = np.random.default_rng(seed)
    x, y = moved(rng, n, 500.0, spread)
    x, y = x + rng.normal(0, 1e5), y + rng.normal(0, 1e5)
    if rounded:
        x, y = np.round(x, 2), np.round(y, 2)
    if alike:
        x[n // 2 :], y[n // 2 :] = x[0], y[0]
    found = find_middles(x[:, None], y[:, None], x.mean()[None], y.mean()[None], 500.0, SLACK_M)
    assert found[:, 0] == pytest.approx(middle_of_all_pairs(x, y, 500.0), abs=1e-6)


@pytest.mark.kernels
@given(st.lists(st.tuples(*[st.integers(-4, 4)] * 2), min_size=1, max_size=30))
def test_the_outermost_are_the_corners_of_the_hull(places: list[tuple[int, int]]) -> None:
    """Whoever is strictly within a triangle of others, or between two of them, is none of them."""
    x, y = np.array(places, dtype=float).T
    corners = [places[one] for one in outermost(x, y, 0.0).tolist()]
    assert len(corners) == len(set(corners))
    for far in range(360):
        reach = x * np.cos(np.radians(far)) + y * np.sin(np.radians(far))
        assert any(reach[places.index(one)] >= reach.max() - 1e-9 for one in corners)


@pytest.mark.jit_only
@pytest.mark.parametrize("n", [300, 2000])
def test_of_a_great_many_at_one_edge_the_middle_is_found(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = moved(rng, n, 500.0, 3.0)
    found = find_middles(x[:, None], y[:, None], x.mean()[None], y.mean()[None], 500.0, SLACK_M)
    assert found[:, 0] == pytest.approx((0, 0), abs=0.1)


@pytest.mark.kernels
@given(st.integers(0, 1000), st.sampled_from([0.5, 3.0, 20.0]))
def test_the_middle_of_two_is_as_exact_as_their_places(seed: int, spread: float) -> None:
    """Written to the centimeter, two at opposite ends leave the center of a circle open by some meters."""
    rng = np.random.default_rng(seed)
    true = rng.normal(0, 500 * spread, (2, 2))
    middle = true.mean(axis=1)
    way = true - middle[:, None]
    shown = middle[:, None] + way / max(np.hypot(*way[:, 0]) / 500, 1)
    x, y = shown.round(2)
    found = find_middles(x[:, None], y[:, None], x.mean()[None], y.mean()[None], 500.0, SLACK_M)
    assert np.hypot(*(found[:, 0] - middle)) < 0.01
