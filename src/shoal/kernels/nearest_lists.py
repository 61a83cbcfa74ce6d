"""Everybody's list of nearest others: what enters it, and what no longer can."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class Nearest(NamedTuple):
    """The nearest others of each subject found so far, [n, c], least effort first, of equals the first.

    known: [n] how many. wanted: [n] whose nearest are asked for. tally: [2] pairs that passed the spatial
    bound, pairs evaluated to the end.
    """

    partner: Numbers
    effort: Floats
    length: Numbers
    requested: Numbers
    tally: Integers


@compiled
def accepts(nearest: Nearest, i: int, j: int, effort: float, threshold: float) -> Any:
    """Whether j, at this effort, would enter the list of i; a bound below the effort may stand for it."""
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
    """The effort that nothing entering the list of i exceeds."""
    if not nearest.requested[i]:
        return 0.0
    last = nearest.partner.shape[1] - 1
    return threshold if nearest.length[i] <= last else min(threshold, nearest.effort[i, last])


@compiled
def merge_lists(nearest: Nearest, other: Nearest, subjects: Integers) -> None:
    """Offer to these subjects what stands in their lists elsewhere."""
    for i in subjects:
        for place in range(other.length[i]):
            offer(nearest, i, other.partner[i, place], other.effort[i, place], np.inf)


@compiled
def pad_lists(nearest: Nearest, subjects: Integers) -> None:
    """Say of each place behind the last in these subjects' lists that nobody is known, infinitely far."""
    for i in subjects:
        for place in range(nearest.length[i], nearest.partner.shape[1]):
            nearest.partner[i, place], nearest.effort[i, place] = len(nearest.length), np.inf


def merge_parts(parts: Sequence[Nearest], subjects: Integers) -> Nearest:
    """The nearest of these subjects in any of the parts: the first one, which is filled up."""
    first, *others = parts
    for other in others:
        merge_lists(first, other, subjects)
    pad_lists(first, subjects)
    return first
