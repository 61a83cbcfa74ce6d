"""Types of arrays, distinct values and rows, and connected components."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]
"""Numbers of any type: int64 where data is snapped, float64 where it is as given."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def distinct(numbers: Numbers) -> Numbers:
    """Each number once, ascending; sorting is faster than the hashing of ``numpy.unique``."""
    ordered = np.sort(numbers, axis=None)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered[first]


def read_only(column: Numbers) -> Numbers:
    """A contiguous read-only view, of a copy only where needed: kernels are compiled once for all such."""
    array = np.ascontiguousarray(column).view()
    array.flags.writeable = False
    return array


def offsets_of(lengths: Iterable[int] | Integers) -> Integers:
    """int64 [n + 1]: where each of n parts of these lengths begins, and where the last one ends."""
    counts = lengths if isinstance(lengths, np.ndarray) else np.fromiter(lengths, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def rows_of(offsets: Integers, owners: Integers) -> Integers:
    """int64: the rows offsets[i] to offsets[i + 1] of each of these owners."""
    rows = [np.arange(offsets[i], offsets[i + 1]) for i in owners]
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


def components(n: int, one: Integers, other: Integers) -> Integers:
    """int64 [n]: the smallest node of each node's component, by edges from ``one`` [e] to ``other`` [e]."""
    label = np.arange(n)
    while True:
        least = np.minimum(label[one], label[other])
        spread = label.copy()
        np.minimum.at(spread, one, least)
        np.minimum.at(spread, other, least)
        spread = spread[spread]
        if np.array_equal(spread, label):
            return label
        label = spread


def distinct_rows(owner: Integers, t: Integers, x: Integers, y: Integers) -> Integers:
    """int64 [d]: positions of distinct rows, in their order."""
    # Sorts only neighbors of equal owner and time, or everything where a row begins before the one above it.
    first = np.ones(len(t), dtype=np.bool_)  # of its owner and time
    first[1:] = (owner[1:] > owner[:-1]) | ((owner[1:] == owner[:-1]) & (t[1:] > t[:-1]))
    later = np.flatnonzero(~first)
    if ((owner[later] == owner[later - 1]) & (t[later] == t[later - 1])).all():
        unsorted = np.union1d(later - 1, later)
    else:
        unsorted = np.arange(len(t))
    rows, fresh = np.arange(len(t)), np.ones(len(t), dtype=np.bool_)
    order = np.lexsort([column[unsorted] for column in (y, x, t, owner)])
    rows[unsorted] = unsorted[order]
    columns = [column[rows[unsorted]] for column in (owner, t, x, y)]
    fresh[unsorted[1:]] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return rows[fresh]
