"""What the sides of hulls tell of the samples in them, and how much of it is right: loops of the insider."""

import math

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled


@compiled
def _holds(boxes: Integers, b: int, t: int, x: int, y: int) -> bool:
    """Whether box b holds the slot and cell of a sample."""
    in_time = boxes[b, 0] <= t < boxes[b, 1]
    return bool(in_time and boxes[b, 2] <= x < boxes[b, 4] and boxes[b, 3] <= y < boxes[b, 5])


@compiled
def possible_sides(boxes: Integers, known: Integers, first: Integers, second: Integers, bound: Flags) -> None:
    """Fill first, second and bound [b, 3]: on each axis t, x, y, where another sample of the box must lie.

    At a side that no known sample [s, 3] touches; both sides where none touches either, then ``second`` is
    the upper one. Where known samples touch both, it is not bound to a side, and the middle of theirs stands
    there.
    """
    lows, highs = (0, 2, 3), (1, 4, 5)
    sums = np.empty(3, dtype=np.int64)
    touched = np.empty((3, 2), dtype=np.bool_)
    for b in range(len(boxes)):
        count = 0
        sums[:] = 0
        touched[:] = False
        for s in range(len(known)):
            if not _holds(boxes, b, known[s, 0], known[s, 1], known[s, 2]):
                continue
            count += 1
            for axis in range(3):
                sums[axis] += known[s, axis]
                touched[axis, 0] |= known[s, axis] == boxes[b, lows[axis]]
                touched[axis, 1] |= known[s, axis] == boxes[b, highs[axis]] - 1
        for axis in range(3):
            low, high = boxes[b, lows[axis]], boxes[b, highs[axis]] - 1
            below = low == high or not touched[axis, 0]
            above = low != high and not touched[axis, 1]
            mean = sums[axis] / count if count else (low + high) / 2
            first[b, axis] = low if below else high if above else int(np.rint(mean))
            second[b, axis] = high if below and above else first[b, axis]
            bound[b, axis] = below or above


@compiled
def most_voted(
    boxes: Integers,
    first: Integers,
    second: Integers,
    bound: Flags,
    cells: Integers,
    votes: Floats,
    best: Integers,
) -> None:
    """Fill best [b]: of the possible cells [c, 2] of each box the first with most votes, -1 = none."""
    for b in range(len(boxes)):
        best[b], most = -1, -1.0
        for c in range(len(cells)):
            if votes[c] <= most:
                continue
            possible = True
            for axis in (1, 2):
                at = cells[c, axis - 1]
                if bound[b, axis]:
                    possible &= at == first[b, axis] or at == second[b, axis]
                else:
                    possible &= boxes[b, 1 + axis] <= at < boxes[b, 3 + axis]
            if possible:
                best[b], most = c, votes[c]


@compiled
def judge_named(
    boxes: Integers,
    named: Integers,
    samples: Integers,
    cell: Integers,
    by_box: Floats,
    by_sample: Floats,
    errors: Floats,
) -> None:
    """Hold what is named in each box [b, 3] against the true samples [s, 3]; cell [s] numbers their cells.

    by_box [b, 4]: whether a sample in the box is named, whether its cell is, and the chances of both for who
    names any cell and slot of the box. by_sample [s, 2]: whether it is named in a box that holds it, and the
    sum of those chances. errors [s, 2]: how far in cells and slots what is named is from it, of several boxes
    where that is nearest in place; infinite where no box holds it.
    """
    seen = np.full(len(samples), -1, dtype=np.int64)
    by_box[:] = 0.0
    by_sample[:] = 0.0
    errors[:] = np.inf
    for b in range(len(boxes)):
        area = (boxes[b, 4] - boxes[b, 2]) * (boxes[b, 5] - boxes[b, 3])
        volume = area * (boxes[b, 1] - boxes[b, 0])
        inside, places = 0, 0
        for s in range(len(samples)):
            t, x, y = samples[s, 0], samples[s, 1], samples[s, 2]
            if not _holds(boxes, b, t, x, y):
                continue
            inside += 1
            if seen[cell[s]] != b:
                seen[cell[s]] = b
                places += 1
            by_sample[s, 1] += 1.0 / volume
            if named[b, 1] == x and named[b, 2] == y:
                by_box[b, 1] = 1.0
                if named[b, 0] == t:
                    by_box[b, 0] = by_sample[s, 0] = 1.0
            away = math.hypot(named[b, 1] - x, named[b, 2] - y)
            if away < errors[s, 0]:
                errors[s, 0], errors[s, 1] = away, abs(named[b, 0] - t)
        by_box[b, 2] = inside / volume
        by_box[b, 3] = places / area
