"""Homes that a release keeps, against one person at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_release import naive_release
from presence_oracle import cells_of, holds, likeliest_area
from shoal.kernels.homes import WeightedAreas, chance_at_likeliest
from shoal.measures.presence import share_of_hours
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.utility import measure
from small_data import populations

pytestmark = pytest.mark.kernels


def area_at_night(boxes: Boxes, slot_s: float) -> Integers:
    table = np.column_stack(boxes.columns())
    return likeliest_area(table, share_of_hours(table, slot_s, "home"))


@given(populations(most=7, least=2), st.integers(0, 999))
def test_homes_are_kept_as_one_by_one(people: Trajectories, seed: int) -> None:
    release, linkage = naive_release(people, rng=Randomness.for_research(seed))
    slot_s, kept = people.snapped_grid().slot_s, []
    record_of = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    for subject, name in enumerate(people.ids):
        home = area_at_night(Boxes.of_samples(*people.samples_of(subject)), slot_s)
        if len(home) and name in record_of:
            record = release.record(release.trajectory_ids.index(record_of[name]))
            area = area_at_night(record, slot_s)
            kept.append(len(area) > 0 and holds(area, int(home[0, 0]), int(home[0, 1])))
    (found,) = measure(people, release, linkage, ["home-kept"])
    assert found.result.value == (sum(kept) / len(kept) if kept else math.nan) or not kept


@given(st.integers(0, 999), st.integers(0, 6))
def test_the_chance_to_name_a_cell_is_one_over_the_likeliest_cells(seed: int, n: int) -> None:
    draw = np.random.default_rng(seed)
    low, sides = draw.integers(-2, 3, (n, 2)), draw.integers(1, 4, (n, 2))
    boxes = np.column_stack([np.zeros((n, 2), dtype=np.int64), low, low + sides])
    weights = draw.integers(0, 3, n) / 2
    west, south, east, north = np.ascontiguousarray(boxes[:, 2:].T)
    spread, area = (
        WeightedAreas(np.array([0, n]), west, south, east, north, weights),
        likeliest_area(boxes, weights),
    )
    cells = [(x, y) for x in range(-3, 7) for y in range(-3, 7)]
    expected = [holds(area, x, y) / cells_of(area) if len(area) else 0.0 for x, y in cells]
    assert [chance_at_likeliest(spread, 0, x, y) for x, y in cells] == expected
