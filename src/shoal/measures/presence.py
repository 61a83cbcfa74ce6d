"""Where a record most likely is at certain hours: home at night, work on working days."""

from typing import Final, Literal

import numpy as np

from shoal.kernels.presence import share_in_hours
from shoal.model.clocks import Clock
from shoal.runtime.arrays import Floats, Integers

Place = Literal["home", "work"]

HOURS: Final[dict[str, tuple[float, float]]] = {
    "home": (20.0, 30.0),
    "work": (9.0, 17.0),
}  # 30 = 6 on the next morning


def ahead_of(clock: Clock, boxes: Integers, slot_s: float) -> Floats:
    """[b]: how many seconds the clock is ahead of UTC in the middle of each box's interval."""
    return clock.ahead_s((boxes[:, 0] + boxes[:, 1]) * (slot_s / 2))


def share_of_hours(
    boxes: Integers, slot_s: float, place: Place, utc_offset_s: Floats | float = 0.0
) -> Floats:
    """[b]: the share of each box's interval, its first two columns, that lies in the hours of ``place``.

    These are 20 to 6 for home, and 9 to 17 on Monday to Friday for work. utc_offset_s: of the clock, for all
    boxes or for each: a box that spans a change of the clock has one offset all the same.
    """
    start, end = (np.asarray(boxes[:, side] * slot_s + utc_offset_s, dtype=np.float64) for side in (0, 1))
    first, last = (hour * 3600.0 for hour in HOURS[place])
    inside = np.zeros(len(boxes))
    if not len(boxes):
        return inside
    share_in_hours(start, end, first, last, place == "work", inside)
    return inside


def likeliest_area(boxes: Integers, weights: Floats) -> Integers:
    """int64 [a, 4] (x_min, y_min, x_max, y_max): the rectangles of cells with the most expected presence.

    Each box spreads its weight evenly over its cells. The expected presence of a cell is the sum over the
    boxes that hold it. Empty when no box has a weight.
    """
    kept = weights > 0
    if not kept.any():
        return np.empty((0, 4), dtype=np.int64)
    x0, y0, x1, y1 = (boxes[kept, column] for column in (2, 3, 4, 5))
    density = weights[kept] / ((x1 - x0) * (y1 - y0))
    xs, ys = np.unique(np.r_[x0, x1]), np.unique(np.r_[y0, y1])
    corners = np.zeros((len(xs), len(ys)))
    for at_x, at_y, sign in ((x0, y0, 1), (x1, y0, -1), (x0, y1, -1), (x1, y1, 1)):
        np.add.at(corners, (np.searchsorted(xs, at_x), np.searchsorted(ys, at_y)), sign * density)
    presence = corners.cumsum(axis=0).cumsum(axis=1)
    i, j = np.nonzero(presence >= presence.max() * (1 - 1e-9))
    return np.column_stack([xs[i], ys[j], xs[i + 1], ys[j + 1]])


def cells_of(area: Integers) -> int:
    """How many cells these rectangles hold."""
    return int(((area[:, 2] - area[:, 0]) * (area[:, 3] - area[:, 1])).sum())


def holds(area: Integers, x: int, y: int) -> bool:
    """Whether a cell lies in one of these rectangles."""
    return bool(((area[:, 0] <= x) & (x < area[:, 2]) & (area[:, 1] <= y) & (y < area[:, 3])).any())
