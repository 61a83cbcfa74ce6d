"""Each person's list of nearest others."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class Nearest(NamedTuple):
    """Nearest others so far, [n, c], least effort first, ties by number."""

    partner: Numbers
    effort: Floats
    length: Numbers  # [n], entries in each list
    requested: Numbers  # [n], lists to fill
    tally: Integers  # [2], pairs that passed the spatial bound, pairs evaluated to the end


@compiled
def accepts(nearest: Nearest, i: int, j: int, effort: float, threshold: float) -> Any:
    """Whether j enters the list of i at this effort, or a lower bound."""
    if not nearest.requested[i] or effort >= threshold:
        return False
    last = nearest.partner.shape[1] - 1
    if nearest.length[i] <= last or effort < nearest.effort[i, last]:
        return True
    return effort == nearest.effort[i, last] and j < nearest.partner[i, last]


@compiled
def offer(nearest: Nearest, i: int, j: int, effort: float, threshold: float) -> None:
    """Put j into the list of i if it belongs there."""
    if not accepts(nearest, i, j, effort, threshold):
        return
    place = min(nearest.length[i], nearest.partner.shape[1] - 1)
    while place > 0:
        before, holder = nearest.effort[i, place - 1], nearest.partner[i, place - 1]
        if before < effort or (before == effort and holder < j):
            break
        nearest.effort[i, place], nearest.partner[i, place] = before, holder
        place -= 1
    nearest.effort[i, place], nearest.partner[i, place] = effort, j
    nearest.length[i] = min(nearest.length[i] + 1, nearest.partner.shape[1])


@compiled
def ceiling(nearest: Nearest, i: int, threshold: float) -> float:
    """The largest effort that can enter."""
    if not nearest.requested[i]:
        return 0.0
    last = nearest.partner.shape[1] - 1
    return threshold if nearest.length[i] <= last else min(threshold, nearest.effort[i, last])


@compiled
def _merge_lists(nearest: Nearest, other: Nearest, subjects: Integers) -> None:
    for i in subjects:
        for place in range(other.length[i]):
            offer(nearest, i, other.partner[i, place], other.effort[i, place], np.inf)


def merge_parts(parts: Sequence[Nearest], subjects: Integers) -> Nearest:
    """Merge the lists of all parts into the first, for these subjects, and pad them."""
    first, *others = parts
    for other in others:
        _merge_lists(first, other, subjects)
    row, place = np.nonzero(first.length[subjects, None] <= np.arange(first.partner.shape[1]))
    first.partner[subjects[row], place], first.effort[subjects[row], place] = len(first.length), np.inf
    return first
