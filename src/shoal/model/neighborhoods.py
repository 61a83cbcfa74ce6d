"""Rows cut in two, again and again, each time along the axis on which they lie the farthest apart."""

from collections.abc import Callable, Iterator

import numpy as np

from shoal.runtime.arrays import Integers, Numbers

Ordering = Callable[[Integers, int], Integers]
"""Puts rows in the order along which they are to be cut, as far as to tell which stand before that place."""


def bisected(
    rows: Integers, ordering: Ordering, *, most: int | None = None, parts: int | None = None
) -> Iterator[Integers]:
    """Neighborhoods of at most ``most`` rows, or so many parts of almost equal size; each ascending."""
    waiting = [(rows, parts)]
    while waiting:
        own, count = waiting.pop()
        if count == 1 or (count is None and most is not None and len(own) <= most):
            yield np.sort(own)
            continue
        low, high = cut_in_two(own, ordering, (count or 2) // 2, count or 2)
        waiting += [(high, None if count is None else count - count // 2), (low, count and count // 2)]


def cut_in_two(rows: Integers, ordering: Ordering, share: int = 1, of: int = 2) -> tuple[Integers, Integers]:
    """The rows in two parts, of which the first takes ``share`` of ``of``."""
    cut = len(rows) * share // of
    ordered = ordering(rows, cut)
    return ordered[:cut], ordered[cut:]


def along_longest(places: Numbers) -> Ordering:
    """By the axis of ``places`` [n, axes] on which rows differ most; equal places as the rows stand."""

    def ordering(rows: Integers, _: int) -> Integers:
        own = places[rows]
        axis = int(np.argmax(np.ptp(own, axis=0)))
        return rows[np.argsort(own[:, axis], kind="stable")]

    return ordering
