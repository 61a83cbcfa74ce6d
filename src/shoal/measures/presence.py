"""Hours of home (at night) and work (on working days)."""

from typing import Final, Literal

import numpy as np

from shoal.kernels.presence import share_in_hours
from shoal.model.clocks import Clock
from shoal.runtime.arrays import Floats, Integers

HomeOrWork = Literal["home", "work"]

# 30 = 6:00 on the next day
HOURS: Final[dict[str, tuple[float, float]]] = {"home": (20.0, 30.0), "work": (9.0, 17.0)}


def clock_offsets_s(clock: Clock, boxes: Integers, slot_s: float) -> Floats:
    """[b]: seconds ahead of UTC in the middle of each box's interval."""
    return clock.utc_offset_s((boxes[:, 0] + boxes[:, 1]) * (slot_s / 2))


def share_of_hours(
    boxes: Integers, slot_s: float, place: HomeOrWork, utc_offset_s: Floats | float = 0.0
) -> Floats:
    """[b]: the share of each box's interval in the hours of ``place``."""
    # home: 20 to 6; work: Monday to Friday 9 to 17; one offset even if a box spans a change of the clock
    start, end = (np.asarray(boxes[:, side] * slot_s + utc_offset_s, dtype=np.float64) for side in (0, 1))
    first, last = (hour * 3600.0 for hour in HOURS[place])
    inside = np.zeros(len(boxes))
    if not len(boxes):
        return inside
    share_in_hours(start, end, first, last, place == "work", inside)
    return inside
