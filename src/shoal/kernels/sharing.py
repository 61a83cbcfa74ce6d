"""Who is in every box of a window of a record: the loops of those who hide somebody."""

from shoal.kernels.cover_index import first_not_below
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.compiled import compiled


@compiled
def find_sharers(
    offsets: Integers,
    t: Integers,
    x: Integers,
    y: Integers,
    asked: Integers,
    boxes: Integers,
    begin: int,
    end: int,
    shares: Flags,
) -> None:
    """Fill shares [a]: who of the asked people has samples in all boxes, and none from begin to end outside.

    Person p has samples offsets[p] to offsets[p + 1], ordered by time. boxes: [b, 6], columns as BOX_COLUMNS,
    ordered by time and disjoint in it.
    """
    for place in range(len(asked)):
        last = offsets[asked[place] + 1]
        s = first_not_below(t, offsets[asked[place]], last, begin)
        box, within = -1, 0  # the box that was looked at last, and the samples in it
        fits = True
        while fits and s < last and t[s] < end:
            while fits and (box < 0 or t[s] >= boxes[box, 1]):  # a box without a sample ends the search
                fits = (box < 0 or within > 0) and box + 1 < len(boxes)
                box, within = box + 1, 0
            fits = (
                fits
                and boxes[box, 0] <= t[s]
                and boxes[box, 2] <= x[s] < boxes[box, 4]
                and boxes[box, 3] <= y[s] < boxes[box, 5]
            )
            within += 1
            s += 1
        shares[place] = fits and within > 0 and box == len(boxes) - 1
