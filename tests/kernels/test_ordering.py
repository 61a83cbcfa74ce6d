"""Sorting and searching in compiled loops, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.ordering import first_above, first_not_below, sort_in_place

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
    for search, side in ((first_not_below, "left"), (first_above, "right")):
        assert search(values, low, high, value) == low + np.searchsorted(values[low:high], value, side=side)
        assert search(values * 0.5, low, high, value + 0.5) == low + np.searchsorted(
            values[low:high] * 0.5, value + 0.5, side=side
        )


def test_long_and_ordered_numbers_are_sorted() -> None:
    for values in (
        np.random.default_rng(0).integers(0, 9999, 5000),
        np.arange(5000),
        np.arange(5000)[::-1].copy(),
    ):
        expected = np.sort(values)
        sort_in_place(values)
        assert np.array_equal(values, expected)
