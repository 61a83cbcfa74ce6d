"""The middle of a circle of known radius that holds people, some of whom were moved to its edge.

Whoever stands at the edge of a circle that holds all is one of the outermost, which are few.
"""

import math
from typing import Any, Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

_AT_EDGE: Final = 3  # that many people show a circle of known radius
_PAIRED: Final = 40  # of the outermost at most, since pairs times people are looked at; more show the same


@compiled
def find_middles(x: Floats, y: Floats, mean_x: Floats, mean_y: Floats, radius: float, slack: float) -> Any:
    """float64 [2, s]: the middle at each time of people at x, y [n, s], whose means are given.

    Of the circles through two of them that hold all, the one with most at its edge, of several the one
    nearest to their mean. Where less than three stand at an edge, and their mean is the middle of a circle
    that all are within, nobody was moved, and the middle is that mean. Of two people it always is, since both
    are as far from it. slack: what rounding may move a place.
    """
    middles = np.empty((2, x.shape[1]))
    for at in range(x.shape[1]):
        middles[:, at] = _middle(x[:, at].copy(), y[:, at].copy(), mean_x[at], mean_y[at], radius, slack)
    return middles


@compiled
def _middle(x: Floats, y: Floats, mean_x: float, mean_y: float, radius: float, slack: float) -> Any:
    if len(x) == 2:  # both were moved as far, or neither
        return mean_x, mean_y
    outer = outermost(x, y, 2 * slack)
    step = (len(outer) + _PAIRED - 1) // _PAIRED
    best_x, best_y, most, least = mean_x, mean_y, 0, np.inf
    for i in range(0, len(outer), step):
        for j in range(i + step, len(outer), step):
            first, second = outer[i], outer[j]
            along_x, along_y = x[second] - x[first], y[second] - y[first]
            apart = math.hypot(along_x, along_y)
            aside = math.sqrt(max(radius * radius - apart * apart / 4, 0.0)) / apart
            for side in (aside, -aside):
                at_x, at_y = x[first] + along_x / 2 - side * along_y, y[first] + along_y / 2 + side * along_x
                at_edge = _at_edge(x, y, outer, at_x, at_y, radius, slack)
                if at_edge < max(most, 1):
                    continue
                off = math.hypot(at_x - mean_x, at_y - mean_y)
                if at_edge > most or off < least:
                    best_x, best_y, most, least = at_x, at_y, at_edge, off
    if most < _AT_EDGE:
        farthest = 0.0
        for first in range(len(x)):
            farthest = max(farthest, math.hypot(x[first] - mean_x, y[first] - mean_y))
        if farthest < radius - slack:
            return mean_x, mean_y
    return best_x, best_y


@compiled
def _at_edge(
    x: Floats, y: Floats, outer: Integers, at_x: float, at_y: float, radius: float, slack: float
) -> int:
    """How many people stand at the edge of a circle; -1 where it does not hold all of the outermost."""
    for person in outer:
        if math.hypot(x[person] - at_x, y[person] - at_y) > radius + slack:
            return -1
    count = 0
    for person in range(len(x)):
        count += math.hypot(x[person] - at_x, y[person] - at_y) >= radius - slack
    return count


@compiled
def outermost(x: Floats, y: Floats, near: float) -> Integers:
    """Ascending: whoever stands at a corner of the hull of all, or so near to its edge; one of each place."""
    order = np.argsort(y, kind="mergesort")
    order = order[np.argsort(x[order], kind="mergesort")]
    places = np.empty(len(order), dtype=np.int64)
    n = 0
    for person in order:
        if n == 0 or x[person] != x[places[n - 1]] or y[person] != y[places[n - 1]]:
            places[n] = person
            n += 1
    corners = _hull(x, y, places[:n])
    outer = np.empty(n, dtype=np.int64)
    count = 0
    for person in places[:n]:
        for corner in range(len(corners)):
            first, second = corners[corner - 1], corners[corner]
            if n < 3 or _off_line(x, y, first, second, person) <= near:
                outer[count] = person
                count += 1
                break
    return np.sort(outer[:count])


@compiled
def _hull(x: Floats, y: Floats, places: Integers) -> Integers:
    """The corners of the hull of different places in their order by x, then y; counterclockwise."""
    n = len(places)
    corners = np.empty(2 * n + 1, dtype=np.int64)
    count = 0
    for turn in range(2):
        begin = count
        for step in range(n):
            person = places[step] if turn == 0 else places[n - 1 - step]
            while count - begin >= 2 and _turn(x, y, corners[count - 2], corners[count - 1], person) <= 0:
                count -= 1
            corners[count] = person
            count += 1
        count -= 1  # the last is the first of the other turn
    return corners[: max(count, 1)]


@compiled
def _turn(x: Floats, y: Floats, first: int, second: int, third: int) -> float:
    """Above 0 for a turn to the left: twice the area between three people."""
    return float(
        (x[second] - x[first]) * (y[third] - y[first]) - (y[second] - y[first]) * (x[third] - x[first])
    )


@compiled
def _off_line(x: Floats, y: Floats, first: int, second: int, third: int) -> float:
    """How far the third is from the line through the others."""
    length = math.hypot(x[second] - x[first], y[second] - y[first])
    return abs(_turn(x, y, first, second, third)) / length if length > 0 else 0.0
