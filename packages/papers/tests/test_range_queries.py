"""Range queries against a slow count, and the search for a threshold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import MisuseError
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.claims import TrajectoryPrivacy
from shoal.model.release import Losses, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.utility.points import lines_of
from shoal_papers.range_queries import calibrated_threshold, draw_queries, range_distortion, stays_near
from small_points import crowd, small_crowds
from swap_oracles import inside_by_stepping

pytestmark = pytest.mark.kernels


@given(
    original=small_crowds(), radius=st.integers(0, 15), begin=st.integers(-2, 32), length=st.integers(0, 12)
)
def test_inside_sometime_and_always(original: Trajectories, radius: int, begin: int, length: int) -> None:
    lines = lines_of(original.offsets, original)
    found = stays_near(lines, 0, lines, 1, radius + 0.3, float(begin), float(begin + length))
    least, most = inside_by_stepping(
        original.samples_of(0), original.samples_of(1), begin, begin + length, 401
    )
    assert not found[1] or found[0]
    if abs(least - radius - 0.3) > 0.1:
        assert found[0] == (least <= radius + 0.3)
    if abs(most - radius - 0.3) > 0.1:
        assert found[1] == (most <= radius + 0.3)


@pytest.mark.jit_only
def test_range_distortion_is_zero_for_the_same_points_and_one_for_none_of_them() -> None:
    original = crowd()
    release, _ = SwapLocations(k=3).anonymize(original, Randomness.for_research(2))
    queries = draw_queries(original, 500, 60, 200, np.random.default_rng(1))
    same = range_distortion(original, published(original), queries)
    assert (same.sid, same.aid, same.asked) == (0, 0, 500)
    assert same.empty == 0  # the region's own trajectory is always inside
    away = replace(original, x=original.x + 1e9)
    assert range_distortion(original, published(away), queries).sid == 1
    changed = range_distortion(original, release, queries)
    assert 0 < changed.sid <= changed.aid < 1


def published(people: Trajectories) -> shoal.Release:
    """Every point of everybody, with nobody protected."""
    return Release(
        trajectory_ids=tuple(f"r{i}" for i in range(people.n_subjects)),
        offsets=people.offsets,
        payload=Points(t=people.t, x=people.x, y=people.y),
        claim=TrajectoryPrivacy(k=2, time_threshold_s=1.0, space_threshold_m=1.0),
        grid=None,
        method="none",
        parameters={},
        losses=Losses(),
        crs=people.crs,
        unit_of_protection=people.intake.unit_of_protection,
        publishable=False,
    )


@pytest.mark.parametrize(("wished", "wanted"), [(50.0, 50.0), (0.5, 1.0), (5e6, 1e6), (777.0, 777.0)])
def test_a_threshold_is_found_for_a_wished_distortion(wished: float, wanted: float) -> None:
    assert calibrated_threshold(lambda threshold: threshold, wished, 1.0, 1e6) == pytest.approx(
        wanted, rel=1e-3
    )


def test_no_bounds_no_search() -> None:
    with pytest.raises(MisuseError, match="0 < least < most"):
        calibrated_threshold(lambda threshold: threshold, 5, 3, 3)
