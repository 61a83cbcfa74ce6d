"""The verifier's own compiled loops over plain arrays; they share nothing with the methods' kernels.

Boxes come as int64 [m, 6] with the columns t_start, t_end, x_min, y_min, x_max, y_max, each record's rows
ascending. Raw samples come as slots t and cells x, y, each subject's ascending by t. A box holds a sample
when the whole slot and cell lie inside.
"""

import numpy as np

from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.runtime.compiled import compiled


@compiled
def is_canonical(boxes: Numbers, offsets: Integers) -> bool:
    """Whether each record's rows ascend by their columns, the first one first, repeats allowed."""
    for record in range(len(offsets) - 1):
        for b in range(offsets[record] + 1, offsets[record + 1]):
            for column in range(boxes.shape[1]):
                if boxes[b - 1, column] < boxes[b, column]:
                    break
                if boxes[b - 1, column] > boxes[b, column]:
                    return False
    return True


@compiled
def mark_overlaps(boxes: Integers, offsets: Integers, shares_moment: Flags) -> None:
    """Set shares_moment [m] for each box that begins before an earlier one of its record has ended."""
    for record in range(len(offsets) - 1):
        if offsets[record] < offsets[record + 1]:
            reached = boxes[offsets[record], 1]
            for b in range(offsets[record] + 1, offsets[record + 1]):
                shares_moment[b] = boxes[b, 0] < reached
                reached = max(reached, boxes[b, 1])


@compiled
def mark_beyond_hulls(boxes: Integers, hulls: Integers, slack: int, loose: Flags) -> None:
    """Set loose [m] for each box that is not its hull, in space at most ``slack`` cells farther out."""
    for b in range(len(boxes)):
        bad = boxes[b, 0] != hulls[b, 0] or boxes[b, 1] != hulls[b, 1]
        for low in range(2, 4):
            high = low + 2
            bad |= hulls[b, low] < boxes[b, low] or hulls[b, low] > boxes[b, low] + slack
            bad |= boxes[b, high] < hulls[b, high] or boxes[b, high] > hulls[b, high] + slack
        loose[b] = bad


@compiled
def match_records(
    t: Integers,
    x: Integers,
    y: Integers,
    sample_offsets: Integers,
    boxes: Integers,
    box_offsets: Integers,
    subject_of: Integers,
    class_row: Integers,
    hulls: Integers,
    has_own_sample: Flags,
    covered: Flags,
) -> None:
    """Hold every record's boxes against the raw samples of its own subject.

    subject_of [n]: the subject of each record, -1 = none. class_row [n]: the row of ``hulls`` where the
    record's class begins. Set: has_own_sample [m], a sample of the own subject lies in the box; covered
    [samples], a box of the own record holds it; hulls [m, 6], grown (from an empty hull) by every sample of a
    member that lies in the class's box.
    """
    for record in range(len(subject_of)):
        subject = subject_of[record]
        if subject < 0:
            continue
        first = sample_offsets[subject]
        end = sample_offsets[subject + 1]
        for b in range(box_offsets[record], box_offsets[record + 1]):
            row = class_row[record] + b - box_offsets[record]
            while first < end and t[first] < boxes[b, 0]:
                first += 1
            i = first
            while i < end and t[i] < boxes[b, 1]:
                if boxes[b, 2] <= x[i] < boxes[b, 4] and boxes[b, 3] <= y[i] < boxes[b, 5]:
                    has_own_sample[b] = True
                    covered[i] = True
                    _grow(hulls, row, t[i], x[i], y[i])
                i += 1


@compiled
def count_possible_members(
    t: Integers,
    x: Integers,
    y: Integers,
    sample_offsets: Integers,
    by_time: Integers,
    time_sorted: Integers,
    subject_of_sample: Integers,
    boxes: Integers,
    start: int,
    end: int,
    last_tried: Integers,
    hulls: Integers,
) -> int:
    """How many subjects have a sample in every box from row ``start`` to ``end``.

    Their samples there grow ``hulls``.

    by_time [samples]: positions of all samples in the order of t, time_sorted: their slots. last_tried
    [subjects]: scratch, smaller than any ``start + 1`` handed in later. Only subjects with a sample in the
    box with the fewest samples around it are tried.
    """
    rarest_first = 0
    rarest_end = 0
    for b in range(start, end):
        first = np.searchsorted(time_sorted, boxes[b, 0])
        last = np.searchsorted(time_sorted, boxes[b, 1])
        if b == start or last - first < rarest_end - rarest_first:
            rarest_first, rarest_end = first, last
    count = 0
    for place in range(rarest_first, rarest_end):
        subject = subject_of_sample[by_time[place]]
        if last_tried[subject] == start + 1:
            continue
        last_tried[subject] = start + 1
        own_first, own_end = sample_offsets[subject], sample_offsets[subject + 1]
        fits = True
        for b in range(start, end):
            if not _visit(t, x, y, own_first, own_end, boxes, b, hulls, False):
                fits = False
                break
        if fits:
            count += 1
            for b in range(start, end):
                _visit(t, x, y, own_first, own_end, boxes, b, hulls, True)
    return count


@compiled
def _visit(
    t: Integers,
    x: Integers,
    y: Integers,
    own_first: int,
    own_end: int,
    boxes: Integers,
    b: int,
    hulls: Integers,
    growing: bool,
) -> bool:
    """Whether one subject has a sample in one box.

    When growing, all its samples there grow the box's hull.
    """
    found = False
    for i in range(own_first + np.searchsorted(t[own_first:own_end], boxes[b, 0]), own_end):
        if t[i] >= boxes[b, 1]:
            break
        if boxes[b, 2] <= x[i] < boxes[b, 4] and boxes[b, 3] <= y[i] < boxes[b, 5]:
            found = True
            if not growing:
                break
            _grow(hulls, b, t[i], x[i], y[i])
    return found


@compiled
def mark_loose(
    boxes: Integers,
    slack: int,
    slots: Integers,
    slot_starts: Integers,
    x: Integers,
    y: Integers,
    loose: Flags,
) -> None:
    """Set loose [m] for each box that is not the hull of the raw samples, of anybody, that lie inside it.

    In space, each side may lie up to ``slack`` cells outside that hull.

    slots: [s] the distinct times, ascending; the samples of slots[i] stand from slot_starts[i] on, in the
    order of x.
    """
    for b in range(len(boxes)):
        t_start, t_end, x_min, y_min, x_max, y_max = boxes[b]
        sides = 0
        first = np.searchsorted(slots, t_start)
        last = np.searchsorted(slots, t_end) - 1
        for turn in range(max(0, last - first + 1)):
            at = first if turn == 0 else last + 1 - turn  # the ends first: they decide about most sides
            start, stop = slot_starts[at], slot_starts[at + 1]
            for i in range(start + np.searchsorted(x[start:stop], x_min), stop):
                if x[i] >= x_max:
                    break
                if not y_min <= y[i] < y_max:
                    continue
                sides |= (
                    (slots[at] == t_start)
                    | (slots[at] == t_end - 1) << 1
                    | (x[i] <= x_min + slack) << 2
                    | (x[i] >= x_max - 1 - slack) << 3
                )
                sides |= (y[i] <= y_min + slack) << 4 | (y[i] >= y_max - 1 - slack) << 5
            if sides == 63:
                break
        loose[b] = sides != 63


@compiled
def _grow(hulls: Integers, row: int, t: int, x: int, y: int) -> None:
    """Let one hull take in one sample's slot and cell."""
    hulls[row, 0] = min(hulls[row, 0], t)
    hulls[row, 1] = max(hulls[row, 1], t + 1)
    hulls[row, 2] = min(hulls[row, 2], x)
    hulls[row, 3] = min(hulls[row, 3], y)
    hulls[row, 4] = max(hulls[row, 4], x + 1)
    hulls[row, 5] = max(hulls[row, 5], y + 1)
