"""Rows cut in two again and again, and boxes around boxes: against what their definitions say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oracles import Box, hull
from shoal.model.neighborhoods import bisect_rows, order_by_longest_axis, split_rows
from shoal.model.release import Boxes
from shoal.runtime.arrays import Integers

places_of_rows = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=40).map(
    np.array
)
tables = st.lists(
    st.tuples(*[st.tuples(st.integers(-9, 9), st.integers(1, 5)) for _ in range(3)]), min_size=1, max_size=12
)


@given(places_of_rows, st.integers(1, 12))
def test_neighborhoods_take_everybody_once_and_are_small_enough(places: Integers, most: int) -> None:
    parts = list(bisect_rows(np.arange(len(places)), order_by_longest_axis(places), most=most))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(places)))
    assert all(1 <= len(part) <= most and (np.diff(part) > 0).all() for part in parts)
    if len(places) > most:
        assert min(len(part) for part in parts) >= (most + 1) // 2


@given(places_of_rows, st.integers(1, 12))
def test_so_many_parts_differ_by_one_row_at_the_most(places: Integers, parts: int) -> None:
    count = min(parts, len(places))
    sizes = [
        len(part) for part in bisect_rows(np.arange(len(places)), order_by_longest_axis(places), parts=count)
    ]
    assert len(sizes) == count
    assert sum(sizes) == len(places)
    assert max(sizes) - min(sizes) <= 1


@given(places_of_rows)
def test_a_cut_goes_across_the_longer_side(places: Integers) -> None:
    low, high = split_rows(np.arange(len(places)), order_by_longest_axis(places))
    axis = int(np.argmax(np.ptp(places, axis=0)))
    assert len(low) == len(places) // 2
    if len(low):
        assert places[low, axis].max() <= places[high, axis].min()


def boxes_of(rows: list[tuple[tuple[int, int], ...]]) -> Boxes:
    (t, long), (x, wide), (y, high) = (np.array(axis).T for axis in zip(*rows, strict=True))
    return Boxes(t_start=t, t_end=t + long, x_min=x, y_min=y, x_max=x + wide, y_max=y + high)


def as_tuples(boxes: Boxes) -> list[Box]:
    return [tuple(row) for row in np.stack(boxes.columns(), axis=1).tolist()]


@given(tables, st.sets(st.integers(1, 11)))
def test_hulls_of_runs_are_those_of_the_oracle(
    rows: list[tuple[tuple[int, int], ...]], cuts: set[int]
) -> None:
    boxes = boxes_of(rows)
    first = np.array([0, *sorted(cut for cut in cuts if cut < len(boxes))])
    every, ends = as_tuples(boxes), [*first[1:].tolist(), len(boxes)]
    expected = [hull(every[a:b]) for a, b in zip(first.tolist(), ends, strict=True)]
    assert as_tuples(boxes.hulls(first)) == expected
