"""Sorting and searching in compiled loops, against NumPy."""

from typing import Final, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.ordering import first_above, first_not_below, sort_in_place

SIDES: Final[tuple[Literal["left", "right"], ...]] = ("left", "right")

pytestmark = pytest.mark.kernels


@given(
    st.lists(st.integers(-(1 << 62), 1 << 62) | st.integers(-3, 3), max_size=200),
    st.integers(-4, 4),
    st.data(),
)
def test_as_numpy_sorts_and_searches(listed: list[int], value: int, data: st.DataObject) -> None:
    values = np.array(listed, dtype=np.int64)
    expected = np.sort(values)
    sort_in_place(values)
    assert np.array_equal(values, expected)
    low = data.draw(st.integers(0, len(listed)))
    high = data.draw(st.integers(low, len(listed)))
    for numbers, asked in ((values, value), (values * 0.5, value + 0.5)):
        below, above = (np.searchsorted(numbers[low:high], [asked], side=side)[0] for side in SIDES)
        assert first_not_below(numbers, low, high, asked) == low + below
        assert first_above(numbers, low, high, asked) == low + above


def test_long_and_ordered_numbers_are_sorted() -> None:
    for values in (
        np.random.default_rng(0).integers(0, 9999, 5000),
        np.arange(5000),
        np.arange(5000)[::-1].copy(),
    ):
        expected = np.sort(values)
        sort_in_place(values)
        assert np.array_equal(values, expected)
