"""Rectangles around the boxes of a crowd, which tell from afar that others are not near (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.people import Hours
from shoal.kernels.stretch import Samples, Scale
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled

MOST_RECTANGLES = 8


class Bounding(NamedTuple):
    """Where and when the boxes of each slot are, roughly.

    around: [n, 4] first and last x, first and last y of all boxes. rectangles: [n, MOST_RECTANGLES, 4] the
    same of bounding rectangles that together hold all boxes, in_use[s] of them. waits: [n, bins] least
    slots between any slot of a bin of 1 << shift slots and any box. longest: [n] slots of the longest box.
    """

    around: Integers
    rectangles: Integers
    in_use: Integers
    waits: Numbers
    shift: int
    longest: Integers


class LeastCosts(NamedTuple):
    """A workspace for bounds on what others cost beside the crowd that searches.

    places: [P] what one person's sample at each place costs in space at least, and waits: [bins of Hours] in
    time, both times size + 1. spaces, floors: for each box of the longer of two slots, bounds below its cost
    in space and in all, times the size of both.
    """

    places: Integers
    waits: Integers
    spaces: Integers
    floors: Integers


@compiled
def enclose(boxes: Samples, own: Integers, r: int, rectangles: Integers) -> None:
    """Make rectangles[r] hold the boxes that are its own, of which there is at least one."""
    first = True
    for j in range(len(own)):
        if own[j] == r:
            x_min, x_max, y_min, y_max = (
                boxes.x_min[j],
                boxes.x_max[j] - 1,
                boxes.y_min[j],
                boxes.y_max[j] - 1,
            )
            rectangles[r, 0] = x_min if first else min(rectangles[r, 0], x_min)
            rectangles[r, 1] = x_max if first else max(rectangles[r, 1], x_max)
            rectangles[r, 2] = y_min if first else min(rectangles[r, 2], y_min)
            rectangles[r, 3] = y_max if first else max(rectangles[r, 3], y_max)
            first = False


@compiled
def cut_into_rectangles(boxes: Samples, rectangles: Integers) -> int:
    """Make ``rectangles`` hold all boxes; how many are in use. The longest is cut while there is space."""
    own = np.zeros(len(boxes.t_start), dtype=np.int64)
    enclose(boxes, own, 0, rectangles)
    count = 1
    while count < len(rectangles):
        cut, extent, axis = 0, 0, 0
        for r in range(count):
            for along in range(2):
                length = rectangles[r, 2 * along + 1] - rectangles[r, 2 * along]
                if length > extent:
                    cut, extent, axis = r, length, along
        middle = rectangles[cut, 2 * axis] + rectangles[cut, 2 * axis + 1]
        beyond = 0
        for j in range(len(own)):
            if own[j] == cut:
                ends = boxes.x_min[j] + boxes.x_max[j] if axis == 0 else boxes.y_min[j] + boxes.y_max[j]
                if ends - 1 > middle:
                    own[j] = count
                    beyond += 1
        # one place, or boxes that overlap: more rectangles would tell no more
        if beyond == 0 or not np.any(own == cut):
            break
        enclose(boxes, own, cut, rectangles)
        enclose(boxes, own, count, rectangles)
        count += 1
    return count


@compiled
def least_waits(boxes: Samples, hours: Hours, shift: int, far: int, waits: Numbers) -> Any:
    """Fill waits[bin], at most ``far``, and return the slots of the longest box."""
    width, later, longest = 1 << shift, 0, 1
    for h in range(len(waits)):
        begin = hours.first_t + (h << shift)
        while later < len(boxes.t_start) and boxes.t_start[later] < begin + width:
            longest = max(longest, boxes.t_end[later] - boxes.t_start[later])
            later += 1
        wait = far
        if later > 0:
            wait = min(wait, max(begin - boxes.latest_end[later - 1] + 1, 0))
        if later < len(boxes.t_start):
            wait = min(wait, boxes.t_start[later] - begin - width + 1)
        waits[h] = wait
    return longest


@compiled
def bound_slot(boxes: Samples, hours: Hours, far: int, bounding: Bounding, slot: int) -> None:
    """Set the bounding rectangles and waits of a slot with these boxes."""
    bounding.in_use[slot] = cut_into_rectangles(boxes, bounding.rectangles[slot])
    rectangles = bounding.rectangles[slot, : bounding.in_use[slot]]
    for side in (0, 2):
        bounding.around[slot, side], bounding.around[slot, side + 1] = (
            rectangles[:, side].min(),
            rectangles[:, side + 1].max(),
        )
    bounding.longest[slot] = least_waits(boxes, hours, bounding.shift, far, bounding.waits[slot])


@compiled
def bound_slots(
    boxes: Samples, starts: Integers, stops: Integers, hours: Hours, far: int, bounding: Bounding
) -> None:
    """The same for each slot, with its boxes from starts to stops."""
    for slot in range(len(starts)):
        own = slice(starts[slot], stops[slot])
        some = Samples(
            boxes.t_start[own],
            boxes.t_end[own],
            boxes.x_min[own],
            boxes.y_min[own],
            boxes.x_max[own],
            boxes.y_max[own],
            boxes.latest_end[own],
        )
        bound_slot(some, hours, far, bounding, slot)


@compiled
def lowest_sum_to_rectangles(
    a: Samples,
    n_a: int,
    bounding: Bounding,
    b: int,
    n_b: int,
    hours: Hours,
    least: LeastCosts,
    scale: Scale,
    limit: float,
) -> Any:
    """A bound below the sum of a's boxes to those in slot b, times n_a + n_b; ends early above ``limit``.

    Fills least.spaces and least.floors unless it ends early. With gap g on an axis, and d_a, d_b the lengths
    of both, the hull H costs n_a (H - d_a) + n_b (H - d_b), which is at least (n_a + n_b) g + n_b (d_a - D)
    if no box of b is longer than D.
    """
    m, both = len(a.t_start), n_a + n_b
    cap = both * scale.half
    spaces = least.spaces
    spaces[:m] = cap
    for r in range(bounding.in_use[b]):
        x_min, x_max, y_min, y_max = bounding.rectangles[b, r]
        wide, high = x_max - x_min + 1, y_max - y_min + 1
        for j in range(m):
            gap = max(x_min - a.x_max[j] + 1, a.x_min[j] - x_max, 0) + max(
                y_min - a.y_max[j] + 1, a.y_min[j] - y_max, 0
            )
            more = max(a.x_max[j] - a.x_min[j] - wide, 0) + max(a.y_max[j] - a.y_min[j] - high, 0)
            spaces[j] = min(spaces[j], scale.per_cell * (both * gap + n_b * more))
    total = np.int64(0)
    for j in range(m):
        total += spaces[j]
    if total > limit:
        return total
    waits, longest, shift = bounding.waits[b], bounding.longest[b], bounding.shift
    for j in range(m):
        first, last = (a.t_start[j] - hours.first_t) >> shift, (a.t_end[j] - 1 - hours.first_t) >> shift
        wait = np.int64(waits[first])
        for h in range(first + 1, last + 1):
            wait = min(wait, np.int64(waits[h]))
        least_wait = min(
            scale.per_slot * (both * wait + n_b * max(a.t_end[j] - a.t_start[j] - longest, 0)), cap
        )
        least.floors[j] = spaces[j] + least_wait
        total += least_wait
        if total > limit:
            break
    return total
