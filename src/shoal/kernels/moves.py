"""How far it is from each box of a record to the next: from the nearest cells to the farthest ones."""

import math
from typing import NamedTuple

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


class Areas(NamedTuple):
    """Rectangles of cells, [m] each, with their last columns and rows."""

    x_first: Integers
    y_first: Integers
    x_last: Integers
    y_last: Integers


@compiled
def middle_lengths(areas: Areas, offsets: Integers, cell_m: float, lengths: Floats) -> None:
    """Fill in the distance in meters between the middles of each area of a record and its next one."""
    move = 0
    for record in range(len(offsets) - 1):
        for i in range(offsets[record] + 1, offsets[record + 1]):
            x = areas.x_first[i] + areas.x_last[i] - areas.x_first[i - 1] - areas.x_last[i - 1]
            y = areas.y_first[i] + areas.y_last[i] - areas.y_first[i - 1] - areas.y_last[i - 1]
            lengths[move] = math.hypot(x / 2, y / 2) * cell_m
            move += 1


@compiled
def bounds_of_lengths(
    areas: Areas, offsets: Integers, cell_m: float, shortest: Floats, longest: Floats
) -> None:
    """Fill in the distance in meters between the nearest and between the farthest cells of the same pairs."""
    move = 0
    for record in range(len(offsets) - 1):
        for i in range(offsets[record] + 1, offsets[record + 1]):
            x_gap, x_span = gap_and_span(
                areas.x_first[i - 1], areas.x_last[i - 1], areas.x_first[i], areas.x_last[i]
            )
            y_gap, y_span = gap_and_span(
                areas.y_first[i - 1], areas.y_last[i - 1], areas.y_first[i], areas.y_last[i]
            )
            shortest[move] = math.hypot(x_gap, y_gap) * cell_m
            longest[move] = math.hypot(x_span, y_span) * cell_m
            move += 1


@compiled
def gap_and_span(a_first: int, a_last: int, b_first: int, b_last: int) -> tuple[int, int]:
    """How far apart two ranges are where they are nearest, and where they are farthest."""
    return max(0, b_first - a_last, a_first - b_last), max(b_last - a_first, a_last - b_first)
