"""The verifier's own loops over boxes and samples.

Boxes are int64 [m, 6], columns as BOX_COLUMNS, each record's ascending. Samples are slots t and cells x, y,
each subject's ascending. A box holds a sample when the whole slot and cell lie inside.
"""

from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.runtime.compiled import compiled, compiled_for_many


class Samples(NamedTuple):
    """Raw samples, int64, in the units of the boxes; offsets: [subjects + 1]."""

    offsets: Integers
    t: Integers
    x: Integers
    y: Integers


class SamplesByTime(NamedTuple):
    """The time and the subject of all samples by time, int64 [samples]."""

    t: Integers
    subject_of: Integers


def samples_by_time(samples: Samples) -> SamplesByTime:
    """Sort samples by time."""
    position = np.argsort(samples.t, kind="stable")
    subject_of = np.repeat(np.arange(len(samples.offsets) - 1), np.diff(samples.offsets))
    return SamplesByTime(samples.t[position], subject_of[position])


@compiled_for_many
def is_canonical(boxes: Numbers, offsets: Integers) -> bool:
    """Whether each record's rows ascend; repeats are allowed."""
    for record in range(len(offsets) - 1):
        for b in range(offsets[record] + 1, offsets[record + 1]):
            for column in range(boxes.shape[1]):
                if boxes[b - 1, column] < boxes[b, column]:
                    break
                if boxes[b - 1, column] > boxes[b, column]:
                    return False
    return True


@compiled_for_many
def mark_overlaps(boxes: Integers, offsets: Integers, shares_moment: Flags) -> None:
    """Set shares_moment [m] for boxes that begin before an earlier one of the record has ended."""
    for record in range(len(offsets) - 1):
        if offsets[record] < offsets[record + 1]:
            reached = boxes[offsets[record], 1]
            for b in range(offsets[record] + 1, offsets[record + 1]):
                shares_moment[b] = boxes[b, 0] < reached
                reached = max(reached, boxes[b, 1])


@compiled_for_many
def mark_beyond_hulls(boxes: Integers, hulls: Integers, slack: int, loose: Flags) -> None:
    """Set loose [m] for boxes unlike their hull in time, or by more than ``slack`` in space."""
    for b in range(len(boxes)):
        bad = boxes[b, 0] != hulls[b, 0] or boxes[b, 1] != hulls[b, 1]
        for low in range(2, 4):
            high = low + 2
            bad |= hulls[b, low] < boxes[b, low] or hulls[b, low] > boxes[b, low] + slack
            bad |= boxes[b, high] < hulls[b, high] or boxes[b, high] > hulls[b, high] + slack
        loose[b] = bad


@compiled_for_many
def match_records(
    samples: Samples,
    boxes: Integers,
    box_offsets: Integers,
    subject_of: Integers,
    class_row: Integers,
    hulls: Integers,
    has_own_sample: Flags,
    covered: Flags,
) -> None:
    """Compare records with their own subject's samples; fills hulls, has_own_sample and covered.

    subject_of [n]: -1 = none. class_row [n]: first row of the class in ``hulls`` [m, 6], grown by members'
    samples.
    """
    for record in range(len(subject_of)):
        subject = subject_of[record]
        if subject < 0:
            continue
        first = samples.offsets[subject]
        end = samples.offsets[subject + 1]
        for b in range(box_offsets[record], box_offsets[record + 1]):
            row = class_row[record] + b - box_offsets[record]
            while first < end and samples.t[first] < boxes[b, 0]:
                first += 1
            i = first
            while i < end and samples.t[i] < boxes[b, 1]:
                if boxes[b, 2] <= samples.x[i] < boxes[b, 4] and boxes[b, 3] <= samples.y[i] < boxes[b, 5]:
                    has_own_sample[b] = True
                    covered[i] = True
                    _grow(hulls, row, samples, i)
                i += 1


@compiled
def count_possible_members(
    samples: Samples,
    by_time: SamplesByTime,
    boxes: Integers,
    start: int,
    end: int,
    last_tried: Integers,
    hulls: Integers,
) -> int:
    """Count subjects with a sample in every box from ``start`` to ``end``; their samples grow ``hulls``.

    last_tried [subjects]: smaller than any later ``start + 1``.
    """
    rarest_first = 0
    rarest_end = 0
    for b in range(start, end):
        first = np.searchsorted(by_time.t, boxes[b, 0])
        last = np.searchsorted(by_time.t, boxes[b, 1])
        if b == start or last - first < rarest_end - rarest_first:
            rarest_first, rarest_end = first, last
    count = 0
    for position in range(rarest_first, rarest_end):
        subject = by_time.subject_of[position]
        if last_tried[subject] == start + 1:
            continue
        last_tried[subject] = start + 1
        fits = True
        for b in range(start, end):
            if not _visit(samples, subject, boxes, b, hulls, False):
                fits = False
                break
        if fits:
            count += 1
            for b in range(start, end):
                _visit(samples, subject, boxes, b, hulls, True)
    return count


@compiled
def _visit(samples: Samples, subject: int, boxes: Integers, b: int, hulls: Integers, growing: bool) -> bool:
    """When growing, all its samples there grow the box's hull."""
    has_sample = False
    first, end = samples.offsets[subject], samples.offsets[subject + 1]
    for i in range(first + np.searchsorted(samples.t[first:end], boxes[b, 0]), end):
        if samples.t[i] >= boxes[b, 1]:
            break
        if boxes[b, 2] <= samples.x[i] < boxes[b, 4] and boxes[b, 3] <= samples.y[i] < boxes[b, 5]:
            has_sample = True
            if not growing:
                break
            _grow(hulls, b, samples, i)
    return has_sample


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
    """Set loose [m] for boxes not within ``slack`` of the hull of all samples inside (by slot, x)."""
    for b in range(len(boxes)):
        t_start, t_end, x_min, y_min, x_max, y_max = boxes[b]
        sides = 0
        first = np.searchsorted(slots, t_start)
        last = np.searchsorted(slots, t_end) - 1
        for turn in range(max(0, last - first + 1)):
            at = first if turn == 0 else last + 1 - turn  # the ends first: they decide most sides
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
def _grow(hulls: Integers, row: int, samples: Samples, i: int) -> None:
    t, x, y = samples.t[i], samples.x[i], samples.y[i]
    hulls[row, 0] = min(hulls[row, 0], t)
    hulls[row, 1] = max(hulls[row, 1], t + 1)
    hulls[row, 2] = min(hulls[row, 2], x)
    hulls[row, 3] = min(hulls[row, 3], y)
    hulls[row, 4] = max(hulls[row, 4], x + 1)
    hulls[row, 5] = max(hulls[row, 5], y + 1)
