"""Everybody's list of nearest others: what enters it, and what no longer can."""

from typing import Any, NamedTuple

from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class Nearest(NamedTuple):
    """The nearest others of each subject found so far, [n, c], least effort first, of equals the first.

    known: [n] how many. wanted: [n] whose nearest are asked for. tally: [2] pairs that passed the spatial
    bound, pairs evaluated to the end.
    """

    partner: Numbers
    effort: Floats
    known: Numbers
    wanted: Numbers
    tally: Integers


@compiled
def accepts(nearest: Nearest, i: int, j: int, effort: float, threshold: float) -> Any:
    """Whether j, at this effort, would enter the list of i; a bound below the effort may stand for it."""
    if not nearest.wanted[i] or effort >= threshold:
        return False
    last = nearest.partner.shape[1] - 1
    if nearest.known[i] <= last or effort < nearest.effort[i, last]:
        return True
    return effort == nearest.effort[i, last] and j < nearest.partner[i, last]


@compiled
def offer(nearest: Nearest, i: int, j: int, effort: float, threshold: float) -> None:
    """Put j into the list of i if it belongs there."""
    if not accepts(nearest, i, j, effort, threshold):
        return
    place = min(nearest.known[i], nearest.partner.shape[1] - 1)
    while place > 0:
        before, holder = nearest.effort[i, place - 1], nearest.partner[i, place - 1]
        if before < effort or (before == effort and holder < j):
            break
        nearest.effort[i, place], nearest.partner[i, place] = before, holder
        place -= 1
    nearest.effort[i, place], nearest.partner[i, place] = effort, j
    nearest.known[i] = min(nearest.known[i] + 1, nearest.partner.shape[1])


@compiled
def ceiling(nearest: Nearest, i: int, threshold: float) -> float:
    """The effort that nothing entering the list of i exceeds."""
    if not nearest.wanted[i]:
        return 0.0
    last = nearest.partner.shape[1] - 1
    return threshold if nearest.known[i] <= last else min(threshold, nearest.effort[i, last])
