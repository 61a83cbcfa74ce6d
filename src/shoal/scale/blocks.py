"""Who goes into which block: people who live near each other in place and time, blocks of almost equal size.

The rule: all people stand at the middle of their samples (the medians of slot, x and y). The population is
cut in two at a place along the axis on which it is spread the widest, counted in caps (20 km of place, 8 h of
time), each side is cut again, and so on. A cut leaves as many people on each side as its number of blocks
asks for, so that the sizes of any two blocks differ by one at the most, and no block falls below half of the
size that was asked for. What lies exactly at a cut is parted by the other axes, then by the order of ids.
"""

from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.neighborhoods import bisect_rows
from shoal.model.trajectories import require_people
from shoal.runtime.arrays import Floats, Integers

_EDGES: Final = (0.05, 0.95)  # the spread is that of the middle nine tenths: single outliers decide nothing


def number_of_blocks(n: int, size: int, k: int) -> int:
    """How many blocks of at most ``size`` people n people make.

    Raises MisuseError when blocks of that size could not hold k people each.
    """
    if size < 2 * k:
        raise MisuseError(
            f"blocks of {size} people are too small for k = {k}; make them of {2 * k} people at least, "
            "better of some thousands"
        )
    require_people(n, k)
    return -(-n // size)


def split_into_blocks(
    middles: Integers, caps: tuple[float, float, float], size: int, k: int
) -> list[Integers]:
    """Ascending positions of the people of each block.

    middles: [n, 3] slot and cell of each person. caps: how many slots, cells and cells count as equally far.
    size: the most people in a block. Raises MisuseError when blocks of that size could not hold k people
    each.
    """
    n = len(middles)
    parts = number_of_blocks(n, size, k)
    places: Floats = middles / np.array(caps)

    def by_widest(members: Integers, cut: int) -> Integers:
        own = places[members]
        low, high = np.quantile(own, _EDGES, axis=0)
        first, second, third = np.argsort(low - high, kind="stable")
        place = own[:, first]
        middle = np.partition(place, cut)[cut]
        at = np.flatnonzero(place == middle)
        at = at[np.lexsort((members[at], own[at, third], own[at, second]))]
        return np.concatenate([members[place < middle], members[at], members[place > middle]])

    return list(bisect_rows(np.arange(n), by_widest, parts=parts))
