"""Keeping the least entry of every row of an upper triangle while rows and columns come and go."""

import numpy as np

from shoal.compiled import compiled
from shoal.kernels.stretch import Floats, Integers

GONE = -1


@compiled
def least_of_row(efforts: Floats, row: int, living: Integers) -> int:
    """The living column beyond ``row`` with the least effort, the first of equals; GONE when there is none.

    living: ascending slots.
    """
    chosen = GONE
    best = np.inf
    for column in living[np.searchsorted(living, row + 1) :]:
        if efforts[row, column] < best:
            best, chosen = efforts[row, column], column
    return chosen


@compiled
def least_of_rows(efforts: Floats, rows: Integers, living: Integers, nearest: Integers) -> None:
    """Fill nearest[row] for each of ``rows``."""
    for row in rows:
        nearest[row] = least_of_row(efforts, row, living)


@compiled
def least_pair(efforts: Floats, living: Integers, nearest: Integers) -> int:
    """The living row whose nearest column has the least effort of all, the first of equals; GONE when no pair is left."""
    chosen = GONE
    best = np.inf
    for row in living:
        if nearest[row] != GONE and efforts[row, nearest[row]] < best:
            best, chosen = efforts[row, nearest[row]], row
    return chosen


@compiled
def rows_pointing_at(living: Integers, nearest: Integers, first: int, second: int) -> Integers:
    """The living rows whose nearest column is one of two slots."""
    rows = np.empty(len(living), dtype=np.int64)
    count = 0
    for row in living:
        if nearest[row] in (first, second):
            rows[count] = row
            count += 1
    return rows[:count]


@compiled
def offer_column(efforts: Floats, column: int, living: Integers, nearest: Integers) -> None:
    """Let every living row before ``column`` take it as its nearest when it is nearer, or as near and earlier."""
    for row in living:
        if row >= column:
            break
        known = nearest[row]
        gain = known == GONE or efforts[row, column] < efforts[row, known]
        if gain or (efforts[row, column] == efforts[row, known] and column < known):
            nearest[row] = column


@compiled
def k_nearest(efforts: Floats, count: int, neighbours: Integers) -> None:
    """Fill neighbours[i, :] with the ``count`` others of least effort, nearest first, the first of equals, from the upper triangle."""
    n = len(efforts)
    nearest = np.empty(count, dtype=np.float64)
    for i in range(n):
        nearest[:] = np.inf
        for j in range(n):
            if i == j:
                continue
            effort = efforts[min(i, j), max(i, j)]
            if effort >= nearest[count - 1]:
                continue
            place = count - 1
            while place > 0 and nearest[place - 1] > effort:
                nearest[place] = nearest[place - 1]
                neighbours[i, place] = neighbours[i, place - 1]
                place -= 1
            nearest[place] = effort
            neighbours[i, place] = j
