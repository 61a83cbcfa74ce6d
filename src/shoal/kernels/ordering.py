"""Sort and search in compiled loops; numba's own take seconds to compile."""

from shoal.runtime.arrays import Numbers
from shoal.runtime.compiled import compiled


@compiled
def first_not_below(values: Numbers, low: int, high: int, value: float) -> int:
    """The first place in values[low:high] (ascending) with at least ``value``, else ``high``."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def first_above(values: Numbers, low: int, high: int, value: float) -> int:
    """The first place in values[low:high] (ascending) with more than ``value``, else ``high``."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def sort_in_place(values: Numbers) -> None:
    """Sort ascending, by Shell's method with gaps of Gonnet and Baeza-Yates 1991."""
    gap = len(values)
    while gap > 1:
        gap = max((5 * gap - 1) // 11, 1)
        for place in range(gap, len(values)):
            value, before = values[place], place - gap
            while before >= 0 and values[before] > value:
                values[before + gap] = values[before]
                before -= gap
            values[before + gap] = value
