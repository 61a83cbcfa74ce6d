"""Outlines of boxes in degrees.

Every corner as pyproj gives it on its own, however near or far apart the boxes lie.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Transformer

from naive_release import rings_of
from shoal.model.release import Boxes

PLANE = "+proj=laea +lat_0=48.9 +lon_0=2.3 +datum=WGS84 +units=m +no_defs"
NEAR, FAR = st.integers(-30, 30), st.integers(-60_000, 60_000)


@given(
    st.sampled_from([NEAR, FAR]).flatmap(
        lambda cells: st.lists(st.tuples(cells, cells, st.integers(1, 9), st.integers(1, 9)), max_size=8)
    )
)
def test_every_corner_is_projected_as_on_its_own(expected: list[tuple[int, int, int, int]]) -> None:
    x, y, width, height = np.array(expected, dtype=np.int64).reshape(-1, 4).T
    boxes = Boxes(t_start=x, t_end=x + 1, x_min=x, y_min=y, x_max=x + width, y_max=y + height)
    corners = rings_of(boxes, 100.0, PLANE)
    assert corners.shape == (len(expected), 5, 2)
    to_degrees = Transformer.from_crs(PLANE, "EPSG:4326", always_xy=True)
    for (remaining, low, wide, high), ring in zip(expected, corners, strict=True):
        right, top = remaining + wide, low + high
        for place, (lon, lat) in zip(
            [(remaining, low), (right, low), (right, top), (remaining, top), (remaining, low)],
            ring,
            strict=True,
        ):
            assert (lon, lat) == pytest.approx(
                to_degrees.transform(place[0] * 100.0, place[1] * 100.0), abs=1e-12
            )


def test_boxes_too_far_apart_to_number_their_corners() -> None:
    far = np.array([-(1 << 33), 0, 1 << 33])
    boxes = Boxes(t_start=far, t_end=far + 1, x_min=far, y_min=far, x_max=far + 1, y_max=far + 1)
    corners = rings_of(boxes, 100.0, PLANE)
    assert np.isinf(corners[[0, 2]]).all(), "off the plane there is no place"
    assert corners[1, 0] == pytest.approx((2.3, 48.9))
