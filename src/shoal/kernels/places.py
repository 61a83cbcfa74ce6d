"""The distinct places of a population and of each of its people, over plain arrays."""

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


@compiled
def numbered_cells(row: Integers, column: Integers, seen: Numbers) -> tuple[Numbers, int]:
    """The number of each sample's cell among all that occur, row by row, and how many these are.

    row, column: [m] from 0. seen: int32 [rows, columns], all zero; overwritten.
    """
    for i in range(len(row)):
        seen[row[i], column[i]] = 1
    count = 0
    for r in range(seen.shape[0]):
        for c in range(seen.shape[1]):
            if seen[r, c]:
                seen[r, c] = count
                count += 1
    numbers = np.empty(len(row), dtype=np.int32)
    for i in range(len(row)):
        numbers[i] = seen[row[i], column[i]]
    return numbers, count


@compiled
def own_places(offsets: Integers, number: Numbers, count: int) -> tuple[Numbers, Integers, Numbers, Numbers]:
    """Distinct values of ``number`` within each subject, in order of first appearance.

    Returns which of its subject's distinct values each sample has [m], where each subject's begin [n + 1],
    the distinct values, and how many samples have each. count: ``number`` is below it.
    """
    n, m = len(offsets) - 1, len(number)
    local = np.empty(m, dtype=np.int32)
    starts = np.zeros(n + 1, dtype=np.int64)
    last_subject = np.full(count, -1, dtype=np.int64)
    position = np.empty(count, dtype=np.int32)
    total = 0
    for subject in range(n):
        own = 0
        for i in range(offsets[subject], offsets[subject + 1]):
            if last_subject[number[i]] != subject:
                last_subject[number[i]] = subject
                position[number[i]] = own
                own += 1
            local[i] = position[number[i]]
        total += own
        starts[subject + 1] = total
    values = np.empty(total, dtype=np.int32)
    weights = np.zeros(total, dtype=np.int32)
    for subject in range(n):
        for i in range(offsets[subject], offsets[subject + 1]):
            values[starts[subject] + local[i]] = number[i]
            weights[starts[subject] + local[i]] += 1
    return local, starts, values, weights


@compiled
def gap_costs(row: Integers, column: Integers, side: int, per_cell: int, half: int, costs: Numbers) -> None:
    """Fill costs[p, q] with the least spatial cost between any cells of squares p and q, at most ``half``.

    row, column: [P] positions of the squares; side: cells along each. With side 1 the cost is exact.
    """
    for p in range(len(row)):
        for q in range(len(row)):
            wide, high = abs(row[p] - row[q]), abs(column[p] - column[q])
            gap = max(side * wide - side + 1, 0) + max(side * high - side + 1, 0)
            costs[p, q] = min(per_cell * min(gap, half // per_cell + 1), half)


@compiled
def middles(offsets: Integers, t: Integers, x: Integers, y: Integers) -> Integers:
    """[n, 3] the lower median of each subject's t, x and y. t ascends within each."""
    n = len(offsets) - 1
    found = np.empty((n, 3), dtype=np.int64)
    for i in range(n):
        first, end = offsets[i], offsets[i + 1]
        middle = (end - first - 1) // 2
        found[i, 0] = t[first + middle]
        found[i, 1] = np.sort(x[first:end])[middle]
        found[i, 2] = np.sort(y[first:end])[middle]
    return found
