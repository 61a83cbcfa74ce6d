"""Lengths of moves between boxes, against every pair of cells that they could be in."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.model.release import BOX_COLUMNS, Boxes
from shoal.utility.mobility import trip_lengths
from small_releases import naive_release, random_people

pytestmark = pytest.mark.kernels

SIDES = st.tuples(st.integers(-9, 9), st.integers(1, 3), st.integers(-9, 9), st.integers(1, 3))


@given(st.lists(st.lists(SIDES, max_size=4), min_size=1, max_size=3))
def test_a_move_is_between_the_cells_that_allow_the_least_and_the_most(
    records: list[list[tuple[int, int, int, int]]],
) -> None:
    rows = [(i, i + 1, x, y, x + dx, y + dy) for i, (x, dx, y, dy) in enumerate(itertools.chain(*records))]
    release, _ = naive_release(random_people(2, 3), boxes_per_record=1)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    release = replace(
        release,
        trajectory_ids=tuple(f"r{i}" for i in range(len(records))),
        offsets=np.cumsum([0, *(len(record) for record in records)]),
        payload=Boxes(**dict(zip(BOX_COLUMNS, columns, strict=True))),
    )
    least, middle, most = [], [], []
    for record in records:
        for (x, dx, y, dy), (x2, dx2, y2, dy2) in itertools.pairwise(record):
            lengths = [
                math.hypot(b - a, d - c) * 100
                for a, b in itertools.product(range(x, x + dx), range(x2, x2 + dx2))
                for c, d in itertools.product(range(y, y + dy), range(y2, y2 + dy2))
            ]
            least.append(min(lengths))
            most.append(max(lengths))
            middle.append(math.hypot(x2 + dx2 / 2 - x - dx / 2, y2 + dy2 / 2 - y - dy / 2) * 100)
    found = trip_lengths(release)
    assert found.minimum.tolist() == pytest.approx(least)
    assert found.expected.tolist() == pytest.approx(middle)
    assert found.maximum.tolist() == pytest.approx(most)
