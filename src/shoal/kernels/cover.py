"""Which raw samples a set of boxes covers (semantics 0)."""

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def count_covered(
    t: Integers,
    x: Integers,
    y: Integers,
    t_start: Integers,
    t_end: Integers,
    x_min: Integers,
    y_min: Integers,
    x_max: Integers,
    y_max: Integers,
) -> int:
    """How many samples lie wholly inside at least one box. t: ascending slots; boxes ordered by t_start."""
    count = 0
    first = 0
    for i in range(len(t)):
        while first < len(t_start) and t_end[first] <= t[i]:
            first += 1
        for j in range(first, len(t_start)):
            if t_start[j] > t[i]:
                break
            if t[i] < t_end[j] and x_min[j] <= x[i] < x_max[j] and y_min[j] <= y[i] < y_max[j]:
                count += 1
                break
    return count
