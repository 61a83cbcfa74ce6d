"""Split rows in two repeatedly, along the axis where they are farthest apart."""

from collections.abc import Callable, Iterator

import numpy as np

from shoal.runtime.arrays import Integers, Numbers

Ordering = Callable[[Integers, int], Integers]
"""Puts rows in the order along which they are to be cut, as far as to tell which stand before that place."""


def bisect_rows(
    rows: Integers, ordering: Ordering, *, most: int | None = None, parts: int | None = None
) -> Iterator[Integers]:
    """Neighborhoods of at most ``most`` rows, or ``parts`` parts of almost equal size."""
    waiting = [(rows, parts)]
    while waiting:
        part, count = waiting.pop()
        if count == 1 or (count is None and most is not None and len(part) <= most):
            yield np.sort(part)
            continue
        low, high = split_rows(part, ordering, (count or 2) // 2, count or 2)
        waiting += [(high, None if count is None else count - count // 2), (low, count and count // 2)]


def split_rows(rows: Integers, ordering: Ordering, share: int = 1, of: int = 2) -> tuple[Integers, Integers]:
    """Two parts; the first gets ``share`` of ``of``."""
    cut = len(rows) * share // of
    ordered = ordering(rows, cut)
    return ordered[:cut], ordered[cut:]


def order_by_longest_axis(places: Numbers) -> Ordering:
    """An ordering by the axis of ``places`` [n, axes] on which rows differ most; ties keep the order."""

    def ordering(rows: Integers, _: int) -> Integers:
        row_places = places[rows]
        axis = int(np.argmax(np.ptp(row_places, axis=0)))
        return rows[np.argsort(row_places[:, axis], kind="stable")]

    return ordering
