"""What the effort to somebody's nearest others is made of: its parts, and the tails of its sample stretches.

After Gramaglia and Fiore 2015, Sec. 5.3.
"""

from typing import Any

import numpy as np

from shoal.kernels.stretch import Samples, Scale, box_sum, nearest_boxes
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


@compiled
def boxes_of(all_boxes: Samples, first: int, end: int) -> Samples:
    """The boxes of one subject."""
    return Samples(
        all_boxes.t_start[first:end],
        all_boxes.t_end[first:end],
        all_boxes.x_min[first:end],
        all_boxes.y_min[first:end],
        all_boxes.x_max[first:end],
        all_boxes.y_max[first:end],
        all_boxes.latest_end[first:end],
    )


@compiled
def pair_stretches(a: Samples, b: Samples, scale: Scale, space: Numbers, time: Numbers) -> int:
    """Fill in the spatial and temporal cost of each sample of the longer; how many there are.

    a stands before b in canonical order. Of equal lengths, the longer is the one whose direction costs more,
    then a.
    """
    longer_is_b = len(b.t_start) > len(a.t_start)
    if len(a.t_start) == len(b.t_start):
        longer_is_b = box_sum(b, 1, a, 1, scale, np.inf) > box_sum(a, 1, b, 1, scale, np.inf)
    many, few = (b, a) if longer_is_b else (a, b)
    chosen, _ = nearest_boxes(many, 1, few, 1, scale)
    for i in range(len(chosen)):
        j = chosen[i]
        away = abs(many.x_min[i] - few.x_min[j]) + abs(many.y_min[i] - few.y_min[j])
        space[i] = min(away * scale.per_cell, scale.half)
        time[i] = min(abs(many.t_start[i] - few.t_start[j]) * scale.per_slot, scale.half)
    return len(chosen)


@compiled
def tail_weight(values: Numbers) -> float:
    """(Q99 - Q50) / (Q75 - Q50), interpolated linearly, nan where Q75 equals Q50. Sorts ``values``."""
    values.sort()
    quantiles = np.empty(3)
    for place, share in enumerate((0.5, 0.75, 0.99)):
        position = share * (len(values) - 1)
        below = int(position)
        above = min(below + 1, len(values) - 1)
        quantiles[place] = values[below] + (position - below) * (values[above] - values[below])
    middle, upper, top = quantiles
    return (top - middle) / (upper - middle) if upper != middle else np.nan


@compiled
def gap_parts(
    boxes: Samples,
    offsets: Integers,
    subjects: Integers,
    neighbors: Integers,
    scale: Scale,
    parts: Floats,
    tails: Floats,
    longest: int,
) -> Any:
    """Fill parts [n, 2] and tails [n, 3] of these subjects.

    parts: mean costs in space and in time. tails: of both together, of space, of time. boxes, offsets:
    raw samples of all subjects as boxes of one cell and slot. neighbors: [n, c]. longest: most samples of
    one subject.
    """
    count = neighbors.shape[1]
    space, time = (
        np.empty(count * longest, dtype=boxes.t_start.dtype),
        np.empty(count * longest, dtype=boxes.t_start.dtype),
    )
    for i in subjects:
        filled = 0
        parts[i] = 0.0
        for place in range(count):
            a, b = min(i, neighbors[i, place]), max(i, neighbors[i, place])
            own = boxes_of(boxes, offsets[a], offsets[a + 1])
            other = boxes_of(boxes, offsets[b], offsets[b + 1])
            m = pair_stretches(own, other, scale, space[filled:], time[filled:])
            parts[i, 0] += space[filled : filled + m].sum() / m / count
            parts[i, 1] += time[filled : filled + m].sum() / m / count
            filled += m
        tails[i, 0] = tail_weight(space[:filled] + time[:filled])
        tails[i, 1] = tail_weight(space[:filled])
        tails[i, 2] = tail_weight(time[:filled])
