"""Answers with bounds: by hand, and against every raw data set that a release could come from."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import MisuseError
from shoal.measures.query import (
    Region,
    Zones,
    people_in,
    people_in_zones,
)
from shoal.methods.glove.glove import Glove
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from small_data import populations
from small_releases import naive_release, random_people


def one_record(boxes: list[tuple[int, ...]]) -> Release:
    people = Trajectories.from_rows(["a", "b"], [0, 0], [0, 0], [0, 0], grid=Grid(cell_m=1, slot_s=1))
    release, _ = naive_release(people, boxes_per_record=1)
    columns = dict(zip(BOX_COLUMNS, np.array(boxes, dtype=np.int64).T, strict=True))
    return replace(
        release, trajectory_ids=("r",), offsets=np.array([0, len(boxes)]), payload=Boxes(**columns)
    )


def test_by_hand_a_box_half_inside() -> None:
    release = one_record([(0, 4, 0, 0, 2, 2), (10, 12, 0, 0, 4, 1)])
    inside = people_in(release, Region(x_min_m=0, x_max_m=2, y_min_m=0, y_max_m=2))
    assert (inside.minimum, inside.expected, inside.maximum) == (1, 1, 1)
    half = people_in(release, Region(x_min_m=0, x_max_m=2, y_min_m=0, y_max_m=2, t_start_s=2, t_end_s=20))
    assert (half.minimum, half.maximum) == (0, 1)
    assert half.expected == pytest.approx(1 - 0.5 * 0.5)
    nowhere = people_in(release, Region(x_min_m=50, x_max_m=51, y_min_m=0, y_max_m=1))
    assert (nowhere.minimum, nowhere.expected, nowhere.maximum) == (0, 0, 0)


@given(populations(most=5), st.integers(0, 10_000))
def test_raw_answers_are_counts(people: Trajectories, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x0, x1 = np.sort(rng.choice(np.arange(-300, 302), 2, replace=False))
    t0, t1 = np.sort(rng.choice(np.arange(0, 2001), 2, replace=False))
    region = Region(
        x_min_m=100.0 * x0,
        x_max_m=100.0 * x1,
        y_min_m=-1e6,
        y_max_m=1e6,
        t_start_s=60.0 * t0,
        t_end_s=60.0 * t1,
    )
    expected = sum(
        any(x0 <= x < x1 and t0 <= t < t1 for t, x, _ in zip(*samples, strict=True)) for samples in people
    )
    found = people_in(people, region)
    assert found.minimum == expected == found.maximum
    assert found.expected == pytest.approx(expected)


def test_bounds_and_expectation_are_those_of_all_possible_worlds() -> None:
    release = one_record([(0, 2, 0, 0, 2, 1), (3, 4, 1, 0, 4, 1)])
    region = Region(x_min_m=1, x_max_m=2, y_min_m=0, y_max_m=1, t_start_s=0, t_end_s=1.0)
    worlds = list(itertools.product([(t, x) for t in (0, 1) for x in (0, 1)], [(3, x) for x in (1, 2, 3)]))
    answers = [any(x == 1 and t == 0 for t, x in world) for world in worlds]
    found = people_in(release, region)
    assert (found.minimum, found.maximum) == (min(answers), max(answers))
    assert found.expected == pytest.approx(np.mean(answers))


@given(populations(most=8), st.sampled_from([2000.0, 9000.0]))
def test_without_suppression_the_bounds_hold_the_truth(people: Trajectories, zone_m: float) -> None:
    release, _ = Glove(k=2).anonymize(
        people, Randomness.from_system()
    )  # every box holds a sample of each member
    zones = Zones.over(people, zone_m)
    true, seen = people_in_zones(people, zones), people_in_zones(release, zones)
    assert (true.minimum == true.maximum).all()
    assert (seen.minimum <= true.expected + 1e-9).all()
    assert (true.expected <= seen.maximum + 1e-9).all()
    assert (seen.minimum <= seen.expected + 1e-9).all()
    assert (seen.expected <= seen.maximum + 1e-9).all()


def test_zones_and_regions_agree_over_many_records() -> None:
    people = random_people(300, 30, seed=3, grid=Grid(cell_m=0.1, slot_s=60))
    release, _ = naive_release(people)
    zones = Zones.over(people, 3.0)
    found = people_in_zones(release, zones)
    nx = len(zones.x_m) - 1
    for zone in (0, len(zones) // 2, len(zones) - 1, int(np.argmax(found.expected))):
        i, j = zone % nx, zone // nx
        alone = people_in(
            release,
            Region(
                x_min_m=zones.x_m[i], x_max_m=zones.x_m[i + 1], y_min_m=zones.y_m[j], y_max_m=zones.y_m[j + 1]
            ),
        )
        assert (alone.minimum, alone.maximum) == (found.minimum[zone], found.maximum[zone])
        assert alone.expected == pytest.approx(found.expected[zone])


def test_bad_questions_are_refused() -> None:
    people = random_people(5, 5)
    with pytest.raises(MisuseError, match="empty"):
        Region(x_min_m=0, x_max_m=0, y_min_m=0, y_max_m=1)
    with pytest.raises(MisuseError, match="larger"):
        Zones.over(people, 1.0)
    with pytest.raises(MisuseError, match="greater than 0"):
        Zones.over(people, 0)
