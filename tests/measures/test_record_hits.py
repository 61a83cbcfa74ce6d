"""Whose samples the boxes of records hold, against all pairs of boxes and samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.box_measures import OwnedSamples, find_top_subjects

pytestmark = pytest.mark.kernels


@given(seed=st.integers(0, 2**32 - 1))
def test_the_subjects_with_samples_in_most_boxes_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_subjects, n_samples, lengths = 4, 30, rng.integers(1, 4, 3)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    low = rng.integers(0, 8, (int(offsets[-1]), 3))
    high = low + rng.integers(1, 4, low.shape)
    boxes = np.stack([low[:, 0], high[:, 0], low[:, 1], low[:, 2], high[:, 1], high[:, 2]], axis=1)
    t, x, y = np.sort(rng.integers(0, 10, n_samples)), *rng.integers(0, 10, (2, n_samples))
    subject = rng.integers(0, n_subjects, n_samples)
    hits, named = np.zeros(3, dtype=np.int64), np.zeros((3, 2), dtype=np.int64)
    find_top_subjects(offsets, boxes, OwnedSamples(t, x, y, subject), n_subjects, hits, named)

    def hit(record: int, one: int) -> int:
        own = [
            any(
                s == one and b[0] <= a < b[1] and b[2] <= p < b[4] and b[3] <= q < b[5]
                for a, p, q, s in zip(t, x, y, subject, strict=True)
            )
            for b in boxes[offsets[record] : offsets[record + 1]]
        ]
        return sum(own)

    table = np.array([[hit(record, one) for one in range(n_subjects)] for record in range(3)])
    assert hits.tolist() == table.max(axis=1).tolist()
    expected = [
        ([one for one in range(n_subjects) if row[one] == row.max() > 0] + [-1, -1])[:2] for row in table
    ]
    assert named.tolist() == expected
