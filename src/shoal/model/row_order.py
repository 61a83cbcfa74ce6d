"""The different rows of a table in order, where most stand in order already."""

import numpy as np

from shoal.runtime.arrays import Integers


def different_rows(owner: Integers, t: Integers, x: Integers, y: Integers) -> Integers:
    """int64 [d]: positions of the different rows (owner, t, x, y), in their order.

    Only neighbors of equal owner and time are sorted, or everything where a row begins before the one above.
    """
    first = np.ones(len(t), dtype=np.bool_)  # of its owner and time
    first[1:] = (owner[1:] > owner[:-1]) | ((owner[1:] == owner[:-1]) & (t[1:] > t[:-1]))
    later = np.flatnonzero(~first)
    if ((owner[later] == owner[later - 1]) & (t[later] == t[later - 1])).all():
        among = np.union1d(later - 1, later)
    else:
        among = np.arange(len(t))
    rows, fresh = np.arange(len(t)), np.ones(len(t), dtype=np.bool_)
    order = np.lexsort([column[among] for column in (y, x, t, owner)])
    rows[among] = among[order]
    columns = [column[rows[among]] for column in (owner, t, x, y)]
    fresh[among[1:]] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return rows[fresh]
