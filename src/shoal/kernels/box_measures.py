"""Measures of boxes and the samples they cover."""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.ordering import first_not_below, sort_in_place
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled, compiled_for_many


class Points(NamedTuple):
    """Raw samples, [m] each, ascending within a subject."""

    t: Integers
    x: Integers
    y: Integers


class BoxColumns(NamedTuple):
    """Boxes, [b] each, half-open, ordered by t_start within a record."""

    t_start: Integers
    t_end: Integers
    x_min: Integers
    y_min: Integers
    x_max: Integers
    y_max: Integers


class Ownership(NamedTuple):
    """Samples sample_offsets[s] to [s + 1]; boxes box_offsets[r] to [r + 1]."""

    sample_offsets: Integers
    box_offsets: Integers
    record_of: Integers  # [n] each subject's record, -1 = none


@compiled
def _box_contains(boxes: BoxColumns, j: int, t: int, x: int, y: int) -> bool:
    """Whether a box that begins at t or before contains the sample."""
    return bool(
        t < boxes.t_end[j] and boxes.x_min[j] <= x < boxes.x_max[j] and boxes.y_min[j] <= y < boxes.y_max[j]
    )


@compiled_for_many
def count_covered(points: Points, boxes: BoxColumns) -> int:
    """Count one subject's samples in at least one box of a record."""
    count = 0
    first = 0
    for i in range(len(points.t)):
        t, x, y = points.t[i], points.x[i], points.y[i]
        while first < len(boxes.t_start) and boxes.t_end[first] <= t:
            first += 1
        for j in range(first, len(boxes.t_start)):
            if boxes.t_start[j] > t:
                break
            if _box_contains(boxes, j, t, x, y):
                count += 1
                break
    return count


@compiled_for_many
def count_empty(points: Points, boxes: BoxColumns, owned: Ownership) -> int:
    """Count boxes without a sample of their subject."""
    count = 0
    for subject in range(len(owned.record_of)):
        record = owned.record_of[subject]
        if record < 0:
            continue
        begin, end = owned.sample_offsets[subject], owned.sample_offsets[subject + 1]
        for j in range(owned.box_offsets[record], owned.box_offsets[record + 1]):
            i = first_not_below(points.t, begin, end, boxes.t_start[j])
            while i < end and points.t[i] < boxes.t_end[j]:
                if _box_contains(boxes, j, points.t[i], points.x[i], points.y[i]):
                    break
                i += 1
            count += i == end or points.t[i] >= boxes.t_end[j]
    return count


@compiled_for_many
def covering_extents(
    points: Points, boxes: BoxColumns, owned: Ownership, time_slots: Integers, space_cells: Integers
) -> None:
    """Each sample's duration and extent dx + dy of the covering box of its subject's record, or -1."""
    # of several boxes the shortest, then the smallest
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
                if _box_contains(boxes, j, t, x, y):
                    time = boxes.t_end[j] - boxes.t_start[j]
                    space = boxes.x_max[j] - boxes.x_min[j] + boxes.y_max[j] - boxes.y_min[j]
                    if (
                        time_slots[i] < 0
                        or time < time_slots[i]
                        or (time == time_slots[i] and space < space_cells[i])
                    ):
                        time_slots[i] = time
                        space_cells[i] = space


class Areas(NamedTuple):
    """Rectangles of cells, [m] each, last columns and rows included."""

    x_first: Integers
    y_first: Integers
    x_last: Integers
    y_last: Integers


@compiled_for_many
def distances_between_middles(areas: Areas, offsets: Integers, cell_m: float, lengths: Floats) -> None:
    """Meters between the middles of consecutive areas of each record."""
    move = 0
    for record in range(len(offsets) - 1):
        for i in range(offsets[record] + 1, offsets[record + 1]):
            x = areas.x_first[i] + areas.x_last[i] - areas.x_first[i - 1] - areas.x_last[i - 1]
            y = areas.y_first[i] + areas.y_last[i] - areas.y_first[i - 1] - areas.y_last[i - 1]
            lengths[move] = math.hypot(x / 2, y / 2) * cell_m
            move += 1


@compiled_for_many
def distance_bounds(areas: Areas, offsets: Integers, cell_m: float, least: Floats, longest: Floats) -> None:
    """Meters between the nearest and between the farthest cells of these pairs."""
    move = 0
    for record in range(len(offsets) - 1):
        for i in range(offsets[record] + 1, offsets[record + 1]):
            x_gap, x_span = _gap_and_span(
                areas.x_first[i - 1], areas.x_last[i - 1], areas.x_first[i], areas.x_last[i]
            )
            y_gap, y_span = _gap_and_span(
                areas.y_first[i - 1], areas.y_last[i - 1], areas.y_first[i], areas.y_last[i]
            )
            least[move] = math.hypot(x_gap, y_gap) * cell_m
            longest[move] = math.hypot(x_span, y_span) * cell_m
            move += 1


@compiled
def _gap_and_span(a_first: int, a_last: int, b_first: int, b_last: int) -> tuple[int, int]:
    return max(0, b_first - a_last, a_first - b_last), max(b_last - a_first, a_last - b_first)


_CORNERS: Final = 4


@compiled
def _pixel_share_steps(
    low: int, high: int, start: float, side: float, pixels: int, at: Integers, by: Floats
) -> None:
    # Shares are equal except in the first and last pixel. Parts outside the map are cut off.
    length = (high - low) / side
    begin = min(max((low - start) / side, 0.0), float(pixels))
    end = min(max((high - start) / side, 0.0), float(pixels))
    first = int(min(np.floor(begin), pixels - 1))
    last = max(int(np.ceil(end)) - 1, first)
    middle = share_first = share_last = 0.0
    if end > begin and first == last:
        share_first = (end - begin) / length
    elif end > begin:
        middle = 1 / length
        share_first = (first + 1 - begin) / length
        share_last = (end - last) / length
    at[0], at[1], at[2], at[3] = first, first + 1, last, last + 1
    by[0], by[1], by[2], by[3] = share_first, middle - share_first, share_last - middle, -share_last


@compiled_for_many
def add_density_changes(
    x_min: Integers,
    y_min: Integers,
    x_max: Integers,
    y_max: Integers,
    start: tuple[float, float],
    side: float,
    corners: Floats,
) -> None:
    """Add to corners [16, rows + 2, columns + 2] the 4 x 4 density changes at box edges."""
    # Each kind of change has its own sums, so that they do not depend on each other's order.
    at_x, at_y = np.empty(_CORNERS, dtype=np.int64), np.empty(_CORNERS, dtype=np.int64)
    by_x, by_y = np.empty(_CORNERS), np.empty(_CORNERS)
    for box in range(len(x_min)):
        _pixel_share_steps(x_min[box], x_max[box], start[0], side, corners.shape[2] - 2, at_x, by_x)
        _pixel_share_steps(y_min[box], y_max[box], start[1], side, corners.shape[1] - 2, at_y, by_y)
        for i in range(_CORNERS):
            for j in range(_CORNERS):
                corners[i * _CORNERS + j, at_y[i], at_x[j]] += by_y[i] * by_x[j]


class OwnedSamples(NamedTuple):
    """Raw samples, [m] each, ascending by t, and their subjects."""

    t: Integers
    x: Integers
    y: Integers
    subject: Integers


@compiled
def find_top_subjects(
    offsets: Integers,
    boxes: Integers,
    samples: OwnedSamples,
    n_subjects: int,
    hits: Integers,
    named: Integers,
) -> None:
    """The subjects with samples in the most boxes of each record."""
    # hits: [r], in how many; named: [r, c], the first such subjects, ascending, -1 = no more
    t, x, y, subject = samples
    count = np.zeros(n_subjects, dtype=np.int64)
    last_box = np.full(n_subjects, -1, dtype=np.int64)
    touched = np.empty(n_subjects, dtype=np.int64)
    for record in range(len(offsets) - 1):
        n_touched = 0
        for b in range(offsets[record], offsets[record + 1]):
            for i in range(first_not_below(t, 0, len(t), boxes[b, 0]), len(t)):
                if t[i] >= boxes[b, 1]:
                    break
                if not (boxes[b, 2] <= x[i] < boxes[b, 4] and boxes[b, 3] <= y[i] < boxes[b, 5]):
                    continue
                person = subject[i]
                if last_box[person] == b:
                    continue
                last_box[person] = b
                if count[person] == 0:
                    touched[n_touched] = person
                    n_touched += 1
                count[person] += 1
        most = 0
        for place in range(n_touched):
            most = max(most, count[touched[place]])
        hits[record] = most
        named[record] = -1
        seen = touched[:n_touched].copy()
        sort_in_place(seen)
        place = 0
        for person in seen:
            if count[person] == most and place < named.shape[1]:
                named[record, place] = person
                place += 1
            count[person] = 0


@compiled
def join_masks(boxes: Integers, x: Integers, y: Integers, mask: Integers) -> tuple[Integers, Integers]:
    """How many of these cells [c], ascending by x, lie in each box [m, 6], and their masks together."""
    counts, joined = np.zeros(len(boxes), dtype=np.int64), np.zeros(len(boxes), dtype=np.int64)
    for b in range(len(boxes)):
        first = first_not_below(x, 0, len(x), boxes[b, 2])
        for i in range(first, first_not_below(x, first, len(x), boxes[b, 4])):
            if boxes[b, 3] <= y[i] < boxes[b, 5]:
                counts[b] += 1
                joined[b] |= mask[i]
    return counts, joined


@compiled
def grow_to_leaves(boxes: Integers, t: Integers, leaf: Integers, middles: Integers, bounds: Integers) -> None:
    """Extend each box [m, 6] in place to the bounds of all leaves with a sample whose middle it holds.

    t, leaf: int64 [s], ascending by t. middles: [L, 2] cells. bounds: [L, 4], x_min, y_min, x_max, y_max.
    """
    for b in range(len(boxes)):
        west, south, east, north = boxes[b, 2], boxes[b, 3], boxes[b, 4], boxes[b, 5]
        first = first_not_below(t, 0, len(t), boxes[b, 0])
        for i in range(first, first_not_below(t, first, len(t), boxes[b, 1])):
            x, y = middles[leaf[i], 0], middles[leaf[i], 1]
            if west <= x < east and south <= y < north:
                for side in range(2):
                    boxes[b, 2 + side] = min(boxes[b, 2 + side], bounds[leaf[i], side])
                    boxes[b, 4 + side] = max(boxes[b, 4 + side], bounds[leaf[i], 2 + side])
