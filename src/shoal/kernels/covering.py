"""Which boxes cover raw samples, and how wide these boxes are."""

from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


class Points(NamedTuple):
    """Raw samples, [m] each: slots, ascending within a subject, and cells."""

    t: Integers
    x: Integers
    y: Integers


class BoxColumns(NamedTuple):
    """Boxes in slots and cells, [b] each, half-open, ordered by t_start within a record."""

    t_start: Integers
    t_end: Integers
    x_min: Integers
    y_min: Integers
    x_max: Integers
    y_max: Integers


class Owned(NamedTuple):
    """Whose rows are whose.

    Subject s owns samples sample_offsets[s] to sample_offsets[s + 1]; record r owns boxes box_offsets[r] to
    box_offsets[r + 1]. record_of: [n] each subject's record, -1 = none.
    """

    sample_offsets: Integers
    box_offsets: Integers
    record_of: Integers


@compiled
def holds(boxes: BoxColumns, j: int, t: int, x: int, y: int) -> bool:
    """Whether a box that begins at t or before holds this sample."""
    return bool(
        t < boxes.t_end[j] and boxes.x_min[j] <= x < boxes.x_max[j] and boxes.y_min[j] <= y < boxes.y_max[j]
    )


@compiled
def count_covered(points: Points, boxes: BoxColumns) -> int:
    """How many samples of one subject lie wholly inside at least one box of one record."""
    count = 0
    first = 0
    for i in range(len(points.t)):
        t, x, y = points.t[i], points.x[i], points.y[i]
        while first < len(boxes.t_start) and boxes.t_end[first] <= t:
            first += 1
        for j in range(first, len(boxes.t_start)):
            if boxes.t_start[j] > t:
                break
            if holds(boxes, j, t, x, y):
                count += 1
                break
    return count


@compiled
def count_empty(points: Points, boxes: BoxColumns, owned: Owned) -> int:
    """How many boxes hold no sample of their own record's subject."""
    count = 0
    for subject in range(len(owned.record_of)):
        record = owned.record_of[subject]
        if record < 0:
            continue
        begin, end = owned.sample_offsets[subject], owned.sample_offsets[subject + 1]
        for j in range(owned.box_offsets[record], owned.box_offsets[record + 1]):
            i = begin + np.searchsorted(points.t[begin:end], boxes.t_start[j])
            while i < end and points.t[i] < boxes.t_end[j]:
                if holds(boxes, j, points.t[i], points.x[i], points.y[i]):
                    break
                i += 1
            count += i == end or points.t[i] >= boxes.t_end[j]
    return count


@compiled
def covering_extents(
    points: Points, boxes: BoxColumns, owned: Owned, time_slots: Integers, space_cells: Integers
) -> None:
    """Fill in the duration and the extent dx + dy of the box that covers each sample, -1 where none does.

    The box is looked for in the record of the sample's own subject. Of several it is the least in time, then
    in space.
    """
    for subject in range(len(owned.record_of)):
        record = owned.record_of[subject]
        first = owned.box_offsets[record] if record >= 0 else 0
        end = owned.box_offsets[record + 1] if record >= 0 else 0
        for i in range(owned.sample_offsets[subject], owned.sample_offsets[subject + 1]):
            t, x, y = points.t[i], points.x[i], points.y[i]
            time_slots[i] = -1
            space_cells[i] = -1
            while first < end and boxes.t_end[first] <= t:
                first += 1
            for j in range(first, end):
                if boxes.t_start[j] > t:
                    break
                if holds(boxes, j, t, x, y):
                    time = boxes.t_end[j] - boxes.t_start[j]
                    space = boxes.x_max[j] - boxes.x_min[j] + boxes.y_max[j] - boxes.y_min[j]
                    if (
                        time_slots[i] < 0
                        or time < time_slots[i]
                        or (time == time_slots[i] and space < space_cells[i])
                    ):
                        time_slots[i] = time
                        space_cells[i] = space
