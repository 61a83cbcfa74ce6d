"""The map: no box is lost or counted twice, and each pixel holds what a loop over boxes puts there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.model.release import BOX_COLUMNS, Boxes
from shoal.report.facts.ground import Window, density_map, expected_density, some_boxes, window_around

pytestmark = pytest.mark.kernels

COORDINATE = st.integers(-500, 500)
SIDE = st.integers(1, 400)


@st.composite
def some_random_boxes(draw: st.DrawFn) -> Boxes:
    rows = draw(st.lists(st.tuples(COORDINATE, SIDE, COORDINATE, SIDE), min_size=1, max_size=25))
    table = np.array([(0, 1, x, y, x + dx, y + dy) for x, dx, y, dy in rows], dtype=np.int64)
    return Boxes(**dict(zip(BOX_COLUMNS, table.T, strict=True)))


@given(some_random_boxes(), st.integers(3, 60))
def test_a_window_around_all_boxes_holds_all_of_them(boxes: Boxes, pixels: int) -> None:
    low = min(boxes.x_min.min(), boxes.y_min.min())
    high = max(boxes.x_max.max(), boxes.y_max.max())
    window = Window(x=float(low), y=float(low), side=float(high - low) / pixels, columns=pixels, rows=pixels)
    density = expected_density(boxes, window)
    assert density.min() >= 0
    assert density.sum() == pytest.approx(len(boxes), rel=1e-9)


@given(
    some_random_boxes(),
    st.floats(-600, 300),
    st.floats(-600, 300),
    st.floats(0.7, 90),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_every_pixel_holds_the_sum_of_the_shares_in_it(
    boxes: Boxes, x: float, y: float, side: float, columns: int, rows: int
) -> None:
    slow = np.zeros((rows, columns))
    for row in range(rows):
        for column in range(columns):
            left, low = x + column * side, y + row * side
            for x0, y0, x1, y1 in zip(boxes.x_min, boxes.y_min, boxes.x_max, boxes.y_max, strict=True):
                wide = max(0.0, min(x1, left + side) - max(x0, left))
                tall = max(0.0, min(y1, low + side) - max(y0, low))
                slow[row, column] += wide * tall / ((x1 - x0) * (y1 - y0))
    fast = expected_density(boxes, Window(x=x, y=y, side=side, columns=columns, rows=rows))
    np.testing.assert_allclose(fast, slow, atol=1e-9)


@given(some_random_boxes())
def test_the_chosen_window_loses_nothing_without_saying_so(boxes: Boxes) -> None:
    density = density_map(boxes)
    assert density.expected.sum() + density.share_outside * len(boxes) == pytest.approx(len(boxes), rel=1e-9)
    assert max(density.expected.shape) <= 155


def test_a_few_boxes_far_out_do_not_shrink_the_map() -> None:
    near = np.arange(2000, dtype=np.int64) % 100
    x = np.r_[near, 1_000_000]
    boxes = Boxes(t_start=x * 0, t_end=x * 0 + 1, x_min=x, y_min=x, x_max=x + 2, y_max=x + 2)
    window = window_around(boxes)
    assert window.side * window.columns < 200
    assert density_map(boxes).share_outside == pytest.approx(1 / 2001)


def test_outlines_are_of_different_areas_of_all_sizes() -> None:
    side = np.repeat(np.arange(1, 301, dtype=np.int64), 3)
    zero = np.zeros_like(side)
    chosen = some_boxes(Boxes(t_start=zero, t_end=zero + 1, x_min=zero, y_min=zero, x_max=side, y_max=side))
    assert len(chosen) == 80
    assert len(set(chosen.x_max.tolist())) == 80
    assert (chosen.x_max.min(), chosen.x_max.max()) == (1, 300)


@given(some_random_boxes(), st.sampled_from([1, 10**9]))
def test_each_area_is_shown_once_however_far_apart_they_lie(boxes: Boxes, factor: int) -> None:
    """With such distances no whole number of 64 bits tells all areas apart."""
    far = {name: getattr(boxes, name) * factor for name in ("x_min", "y_min", "x_max", "y_max")}
    n = len(boxes)
    spread = Boxes(t_start=np.arange(n), t_end=np.arange(1, n + 1), **far)
    chosen = some_boxes(spread)
    first: dict[tuple[int, ...], int] = {}
    for row, area in enumerate(zip(*(column.tolist() for column in far.values()), strict=True)):
        first.setdefault(area, row)
    by_size = sorted(first, key=lambda area: ((area[2] - area[0]) * (area[3] - area[1]), area))
    if factor == 1:  # sizes of the others are beyond 64 bits, and in no order
        assert chosen.t_start.tolist() == [first[area] for area in by_size]
    assert sorted(chosen.t_start.tolist()) == sorted(first.values())
