"""Recover the middle of a circle of known radius, with some people moved to its edge."""

import math
from typing import Any, Final

import numpy as np

from shoal.kernels.ordering import sort_in_place
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

_AT_EDGE: Final = 3  # people that determine a circle of known radius
_PAIRED: Final = 40  # outermost people to pair at most; more give the same circle and take longer


@compiled
def find_middles(x: Floats, y: Floats, mean_x: Floats, mean_y: Floats, radius: float, slack: float) -> Any:
    """float64 [2, s]: the middle at each time of people at x, y [n, s]."""
    # Of the circles through two people that contain all, the one with most people at its edge, then the one
    # nearest to the mean. If fewer than three stand at an edge and all lie within a circle around the mean,
    # no one was moved, and the mean is the middle; for two people it always is. slack: tolerance for rounded
    # places.
    middles = np.empty((2, x.shape[1]))
    for at in range(x.shape[1]):
        middles[:, at] = _middle(x[:, at].copy(), y[:, at].copy(), mean_x[at], mean_y[at], radius, slack)
    return middles


@compiled
def _middle(x: Floats, y: Floats, mean_x: float, mean_y: float, radius: float, slack: float) -> Any:
    if len(x) == 2:  # both were moved equally far, or neither
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
    for person in outer:
        if math.hypot(x[person] - at_x, y[person] - at_y) > radius + slack:
            return -1
    count = 0
    for person in range(len(x)):
        count += math.hypot(x[person] - at_x, y[person] - at_y) >= radius - slack
    return count


@compiled
def outermost(x: Floats, y: Floats, near: float) -> Integers:
    """Ascending: people within ``near`` of the hull; one for each place."""
    order = np.argsort(y, kind="mergesort")
    order = order[np.argsort(x[order], kind="mergesort")]
    places = np.empty(len(order), dtype=np.int64)
    n = 0
    for person in order:
        if n == 0 or x[person] != x[places[n - 1]] or y[person] != y[places[n - 1]]:
            places[n] = person
            n += 1
    corners = hull(x, y, places[:n])
    outer = np.empty(n, dtype=np.int64)
    count = 0
    for person in places[:n]:
        for corner in range(len(corners)):
            first, second = corners[corner - 1], corners[corner]
            if n < 3 or _off_line(x, y, first, second, person) <= near:
                outer[count] = person
                count += 1
                break
    outer = outer[:count].copy()
    sort_in_place(outer)
    return outer


@compiled
def hull(x: Floats, y: Floats, places: Integers) -> Integers:
    """The corners of the convex hull of places in the order of x, then y; two of places on a line."""
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
        count -= 1  # the last is the first of the next turn
    return corners[: max(count, 1)]


@compiled
def _turn(x: Floats, y: Floats, first: int, second: int, third: int) -> float:
    return float(
        (x[second] - x[first]) * (y[third] - y[first]) - (y[second] - y[first]) * (x[third] - x[first])
    )


@compiled
def _off_line(x: Floats, y: Floats, a: int, b: int, c: int) -> float:
    length = math.hypot(x[b] - x[a], y[b] - y[a])
    return abs(_turn(x, y, a, b, c)) / length if length > 0 else 0.0
