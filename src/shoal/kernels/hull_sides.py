"""Which sides of hulls known samples leave untouched, and whether cells named for hulls are right."""

import numpy as np

from shoal.kernels.cover_index import first_not_below
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled


@compiled
def untouched_sides(
    boxes: Integers, known: Integers, first: Integers, second: Integers, bound: Flags
) -> None:
    """Fill first, second [b, 3] (t, x, y): the coordinates of each box [b, 6] that no known sample touches.

    known: [s, 3], ascending in time. Where one side is free, both are that side; where both are, the lower
    and the upper one. bound [b, 3]: whether any is. Where none is, both are the mean of the known samples in
    the box, of the box itself where there is none, to the nearest whole number, of two the even one.
    """
    sums = np.zeros(3, dtype=np.int64)
    for b in range(len(boxes)):
        low = (boxes[b, 0], boxes[b, 2], boxes[b, 3])
        high = (boxes[b, 1] - 1, boxes[b, 4] - 1, boxes[b, 5] - 1)
        bound[b] = False
        sums[:] = 0
        count, touched = 0, 0
        for row in range(first_not_below(known[:, 0], 0, len(known), low[0]), len(known)):
            if known[row, 0] > high[0]:
                break
            if not (low[1] <= known[row, 1] <= high[1] and low[2] <= known[row, 2] <= high[2]):
                continue
            count += 1
            for axis in range(3):
                sums[axis] += known[row, axis]
                touched |= (known[row, axis] == low[axis]) << (2 * axis)
                touched |= (known[row, axis] == high[axis]) << (2 * axis + 1)
        for axis in range(3):
            alone = low[axis] == high[axis]
            free_low = alone or not touched >> (2 * axis) & 1
            free_high = not alone and not touched >> (2 * axis + 1) & 1
            bound[b, axis] = free_low or free_high
            if free_low:
                first[b, axis] = low[axis]
            elif free_high:
                first[b, axis] = high[axis]
            elif count > 0:
                first[b, axis] = int(np.rint(sums[axis] / count))
            else:
                first[b, axis] = int(np.rint((low[axis] + high[axis]) / 2))
            second[b, axis] = high[axis] if free_low and free_high else first[b, axis]


@compiled
def choose_cells(
    boxes: Integers,
    first: Integers,
    second: Integers,
    bound: Flags,
    cells: Integers,
    votes: Floats,
    named: Integers,
) -> None:
    """Set the cells in named [b, 3] to the one with most votes among those that are possible in each box.

    cells: [c, 2], different ones, ascending; votes: [c]; of equals the first. Where none is possible, named
    stays. first, second, bound: as ``untouched_sides`` fills them.
    """
    for b in range(len(boxes)):
        best = -1
        for c in range(first_not_below(cells[:, 0], 0, len(cells), boxes[b, 2]), len(cells)):
            x, y = cells[c, 0], cells[c, 1]
            if x >= boxes[b, 4]:
                break
            if bound[b, 1] and x != first[b, 1] and x != second[b, 1]:
                continue
            if bound[b, 2] and y != first[b, 2] and y != second[b, 2]:
                continue
            if boxes[b, 3] <= y < boxes[b, 5] and (best < 0 or votes[c] > votes[best]):
                best = c
        if best >= 0:
            named[b, 1], named[b, 2] = cells[best, 0], cells[best, 1]


@compiled
def samples_of_named(
    boxes: Integers, named: Integers, samples: Integers, cell_of: Integers, found: Integers
) -> None:
    """Fill found [b, 4]: whether a sample in the box is the named one, whether one is in its cell.

    Then how many samples lie in the box, and in how many cells. samples: [s, 3], ascending in time; cell_of:
    [s] the number of each one's cell.
    """
    last = np.full(len(samples) + 1, -1, dtype=np.int64)  # the last box in which a cell was met
    found[:] = 0
    for b in range(len(boxes)):
        for row in range(first_not_below(samples[:, 0], 0, len(samples), boxes[b, 0]), len(samples)):
            t, x, y = samples[row, 0], samples[row, 1], samples[row, 2]
            if t >= boxes[b, 1]:
                break
            if not (boxes[b, 2] <= x < boxes[b, 4] and boxes[b, 3] <= y < boxes[b, 5]):
                continue
            if x == named[b, 1] and y == named[b, 2]:
                found[b, 1] = 1
                found[b, 0] |= t == named[b, 0]
            found[b, 2] += 1
            if last[cell_of[row]] != b:
                last[cell_of[row]] = b
                found[b, 3] += 1
