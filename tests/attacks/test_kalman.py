"""The filter against matrices, what it adds to last steps, and that no track bends more for it."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks.clusters import bending, straighter_tracks
from shoal.kernels.kalman import PLACE_M2, filter_states, join_with_filter, negative_log_density
from shoal.kernels.tracking import join_points
from shoal.runtime.arrays import Floats, Integers


def predicted(mean: Floats, covariance: Floats, lasts: float, walk: float) -> tuple[Floats, Floats]:
    """The textbook's step of a body with random velocity: place, velocity of one axis."""
    moved = np.array([[1, lasts], [0, 1]])
    noise = walk * np.array([[lasts**3 / 3, lasts**2 / 2], [lasts**2 / 2, lasts]])
    return moved @ mean, moved @ covariance @ moved.T + noise


def updated(mean: Floats, covariance: Floats, seen: float) -> tuple[Floats, Floats]:
    """The textbook's update by a place."""
    sees = np.array([[1.0, 0.0]])
    gain = covariance @ sees.T / (sees @ covariance @ sees.T + PLACE_M2)
    return mean + (gain * (seen - mean[0])).ravel(), (np.eye(2) - gain @ sees) @ covariance


@pytest.mark.kernels
@given(seed=st.integers(0, 10_000), freedom=st.sampled_from([1.0, 4.0, 1e9]))
def test_the_filter_is_that_of_the_textbook(seed: int, freedom: float) -> None:
    draw = np.random.default_rng(seed)
    n, walk, speed_m2s2 = 5, float(draw.uniform(0.01, 2)), float(draw.uniform(1, 90))
    t, x, y = np.cumsum(draw.uniform(1, 60, n)), *draw.normal(0, 300, (2, n))
    earlier = np.arange(n) - 1
    found = filter_states(t, x, y, earlier, np.arange(n), walk, speed_m2s2)
    axes = [(np.array([seen[0], 0.0]), np.diag([PLACE_M2, speed_m2s2])) for seen in (x, y)]
    rows, expected, gauss = [], [], []
    for i in range(1, n):
        axes = [predicted(*one, t[i] - t[i - 1], walk) for one in axes]
        variance = axes[0][1][0, 0] + PLACE_M2
        off = sum((seen[i] - one[0][0]) ** 2 for seen, one in zip((x, y), axes, strict=True)) / variance
        expected.append(math.log(variance) + (freedom / 2 + 1) * math.log1p(off / freedom))
        gauss.append(math.log(variance) + off / 2)
        axes = [updated(*one, seen[i]) for seen, one in zip((x, y), axes, strict=True)]
        (to_x, covariance), (to_y, _) = axes
        rows.append([to_x[0], to_y[0], to_x[1], to_y[1], *covariance[0], covariance[1, 1]])
    told = [
        negative_log_density(found, i - 1, t[i] - t[i - 1], x[i], y[i], walk, freedom) for i in range(1, n)
    ]
    np.testing.assert_allclose(found[1:], rows, rtol=1e-6, atol=1e-6)
    assert told == pytest.approx(expected, rel=1e-6)
    assert freedom < 1e6 or told == pytest.approx(gauss, rel=1e-4), "many degrees are Gauss' law"


def crossing(seed: int, n: int, steps: int = 30) -> tuple[Floats, Floats, Floats, Integers]:
    """t, x, y and who, by time, of bodies that go straight on through one another, seen with small errors."""
    draw = np.random.default_rng(seed)
    at = np.arange(steps) - steps / 2 + 0.5  # nobody is in the middle
    heading = np.pi * np.arange(n) / n
    who, t = np.tile(np.arange(n, dtype=np.int64), steps), np.repeat(at * 10, n)
    x, y = (
        np.repeat(at, n) * 60 * np.tile(way, steps) + draw.normal(0, 15, n * steps)
        for way in (np.cos(heading), np.sin(heading))
    )
    return t, x, y, who


@pytest.mark.jit_only
@pytest.mark.kernels
def test_the_filter_follows_bodies_where_last_steps_lose_them() -> None:
    better = worse = 0
    for n, seed in product((2, 3), range(40)):
        t, x, y, who = crossing(seed, n)
        by_steps = np.asarray(join_points(t, x, y, n, 2))
        filtered = np.asarray(join_with_filter(t, x, y, by_steps, n, 3, 1.0))
        whole = [len(set(zip(who.tolist(), one.tolist(), strict=True))) == n for one in (by_steps, filtered)]
        better, worse = better + (whole[1] > whole[0]), worse + (whole[1] < whole[0])
    assert better > worse


@pytest.mark.kernels
@given(seed=st.integers(0, 1000))
def test_what_bends_less_is_kept(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n, steps = 3, 6
    t, (x, y) = np.repeat(np.arange(steps) * 30.0, n), draw.uniform(0, 500, (2, n * steps))
    by_steps = np.asarray(join_points(t, x, y, n, 2))
    filtered = np.asarray(join_with_filter(t, x, y, by_steps, n, 3, 1.0))
    least = min(bending(t, x, y, one) for one in (by_steps, filtered))
    assert bending(t, x, y, straighter_tracks(t, x, y, n, by_steps)) == least
