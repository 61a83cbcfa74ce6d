"""Whose boxes hold a position: searches through boxes that are sorted along one axis.

They stand in classes of similar length. Class L holds the boxes whose extent along the axis is at most 2**L,
sorted by their start. So the boxes that may hold a position start in a known range, and every box stands in
the index once.
"""

from typing import NamedTuple

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


class Index(NamedTuple):
    """Boxes of records, int64 [b, 6], in classes along one axis.

    Class L is rows class_offsets[L] to class_offsets[L + 1], and holds boxes whose extent is at most 2**L.
    record: [b] whose box each one is. starts: [b] where each begins along the axis, ascending in each class.
    """

    class_offsets: Integers
    boxes: Integers
    record: Integers
    starts: Integers


class Sides(NamedTuple):
    """int64 [b] where the boxes of an index begin and end along another axis, in the order of the index.

    Most boxes that its own axis leaves do not reach a position on the other, which these tell from little
    memory.
    """

    low: Integers
    high: Integers


@compiled
def first_not_below(values: Numbers, low: int, high: int, wanted: float) -> int:
    """Position of the first of values[low:high] (ascending) that is at least ``wanted``.

    ``high`` where there is none.
    """
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
