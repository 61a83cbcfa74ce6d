"""Distinct rows in order, from rows in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.arrays import distinct_rows


@pytest.mark.parametrize(
    "by", [0, 2, 4]
)  # by how many columns rows stand in order: none, owner and time, all
@given(rows=st.lists(st.tuples(*(st.integers(0, most) for most in (2, 3, 1, 1))), max_size=12))
def test_distinct_rows_are_those_of_a_sorted_set(by: int, rows: list[tuple[int, ...]]) -> None:
    rows.sort(key=lambda row: row[:by])
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    positions = distinct_rows(*columns)
    assert [tuple(row) for row in columns[:, positions].T.tolist()] == sorted(set(rows))
