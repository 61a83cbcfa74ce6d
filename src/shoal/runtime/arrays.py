"""The kinds of arrays that type hints name, said once; docstrings add shapes and units."""

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]
"""Numbers of any type: int64 where data is snapped, float64 where it is as given."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def different(numbers: Numbers) -> Numbers:
    """Each number once, ascending: sorted, which for many takes less than the hashing of ``numpy.unique``."""
    ordered = np.sort(numbers, axis=None)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered[first]


def fixed(column: Numbers) -> Numbers:
    """The same numbers side by side, to be read only: kernels are compiled once for all such arrays."""
    found = np.ascontiguousarray(column).view()
    found.flags.writeable = False
    return found
