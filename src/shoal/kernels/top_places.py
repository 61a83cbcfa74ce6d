"""The most visited cells of each of many people."""

import numpy as np

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def top_places(
    offsets: Integers, x: Integers, y: Integers, most: int, cells: Integers, found: Integers
) -> None:
    """Fill cells [n, most, 2] with the ``most`` cells of each person that have most samples, by x and y.

    Of equals the first by x and y. found: [n], how many of them a person has.
    """
    for person in range(len(found)):
        first, end = offsets[person], offsets[person + 1]
        found[person] = 0
        if first == end:
            continue
        # in 64 bits, also where places come in 32
        west, south = np.int64(x[first:end].min()), np.int64(y[first:end].min())
        width = y[first:end].max() - south + 1
        own = (x[first:end] - west) * width + (y[first:end] - south)
        own.sort()
        visits = np.zeros(most, dtype=np.int64)
        count, row = 0, 0
        while row < end - first:
            begin = row
            while row < end - first and own[row] == own[begin]:
                row += 1
            place = count
            if count < most:
                count += 1
            else:  # the last of those with fewest visits gives way
                place = 0
                for other in range(1, most):
                    if visits[other] <= visits[place]:
                        place = other
                if visits[place] >= row - begin:
                    continue
                for later in range(place, most - 1):
                    cells[person, later] = cells[person, later + 1]
                    visits[later] = visits[later + 1]
                place = most - 1
            cells[person, place, 0], cells[person, place, 1] = (
                own[begin] // width + west,
                own[begin] % width + south,
            )
            visits[place] = row - begin
        found[person] = count
