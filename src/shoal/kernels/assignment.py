"""Minimum-cost assignment (the Hungarian method)."""

import numpy as np

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def least_assignment(cost: Integers) -> Integers:
    """The column of each row, all different, at least cost; cost: [n, m], n <= m."""
    n, m = cost.shape
    row_price, column_price = np.zeros(n + 1, dtype=np.int64), np.zeros(m + 1, dtype=np.int64)
    row_of, back = np.zeros(m + 1, dtype=np.int64), np.zeros(m + 1, dtype=np.int64)
    for row in range(1, n + 1):
        row_of[0] = row
        column = 0
        least = np.full(m + 1, 1 << 62, dtype=np.int64)
        done = np.zeros(m + 1, dtype=np.bool_)
        while True:
            done[column] = True
            row_here = row_of[column]
            delta = np.int64(1 << 62)
            next_column = 0
            for other in range(1, m + 1):
                if not done[other]:
                    reduced = cost[row_here - 1, other - 1] - row_price[row_here] - column_price[other]
                    if reduced < least[other]:
                        least[other], back[other] = reduced, column
                    if least[other] < delta:
                        delta, next_column = least[other], other
            for other in range(m + 1):
                if done[other]:
                    row_price[row_of[other]] += delta
                    column_price[other] -= delta
                else:
                    least[other] -= delta
            column = next_column
            if row_of[column] == 0:
                break
        while column:
            row_of[column] = row_of[back[column]]
            column = back[column]
    column_of = np.empty(n + 1, dtype=np.int64)
    for column in range(1, m + 1):
        column_of[row_of[column]] = column - 1  # free columns belong to the dummy row 0
    return column_of[1:]
