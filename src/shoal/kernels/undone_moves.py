"""Recover places of moved points from the others of the record.

A moved point lies on the line from the middle through the true place. Two such lines cross at places
visited twice; an unmoved point shows one directly.
"""

import math
from typing import Final

import numpy as np

from shoal.kernels.passing import Lines
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

NEAR_M: Final = 30.0  # standard deviation of a place in a cell of 100 m, on each axis
CANDIDATES: Final = 200  # of each kind per record
LINE_M: Final = 100.0  # points and middles that share squares of this side count as one line
MOST_MOVED_M: Final = 50_000.0
_FLAT: Final = 0.01  # least sine of the angle between crossing lines
_STEPS: Final = (0.7548776662466927, 0.5698402909980532)  # spread pairs evenly over all pairs (Roberts 2018)


@compiled
def _evidence(
    x: float, y: float, middle_x: float, middle_y: float, radius: float, place_x: float, place_y: float
) -> float:
    # 1 = the point is there, less if farther from the place's position after a move, relative to the
    # remainder of ``NEAR_M`` there; and, much less, by its distance from the place.
    along_x, along_y = place_x - middle_x, place_y - middle_y
    away = math.sqrt(along_x * along_x + along_y * along_y)
    share = radius / away if away > radius else 1.0
    off_x, off_y = x - middle_x - along_x * share, y - middle_y - along_y * share
    near = max(NEAR_M * share, 1.0)
    far_x, far_y = x - place_x, y - place_y
    far = math.sqrt(far_x * far_x + far_y * far_y) / NEAR_M
    return 1.0 / ((1.0 + (off_x * off_x + off_y * off_y) / (near * near)) * math.sqrt(math.sqrt(1.0 + far)))


@compiled
def _crossing(first: Floats, first_middle: Floats, second: Floats, second_middle: Floats, at: Floats) -> bool:
    ax, ay = first[0] - first_middle[0], first[1] - first_middle[1]
    bx, by = second[0] - second_middle[0], second[1] - second_middle[1]
    turn = ax * by - ay * bx
    length = math.sqrt((ax * ax + ay * ay) * (bx * bx + by * by))
    if abs(turn) <= _FLAT * length:
        return False
    off_x, off_y = second[0] - first[0], second[1] - first[1]
    along_a, along_b = (off_x * by - off_y * bx) / turn, (off_x * ay - off_y * ax) / turn
    if along_a < 0.0 or along_b < 0.0 or along_a * math.sqrt(ax * ax + ay * ay) > MOST_MOVED_M:
        return False
    at[0], at[1] = first[0] + along_a * ax, first[1] + along_a * ay
    return True


@compiled
def _candidates(points: Floats, middles: Floats, moved: Integers, places: Floats) -> int:
    # A regular selection of its points, and crossings of lines through those at an edge (rows ``moved``).
    count, n = 0, len(points)
    step = max((n + CANDIDATES - 1) // CANDIDATES, 1)
    for row in range(0, n, step):
        places[count] = points[row]
        count += 1
    if len(moved) < 2:
        return count
    for turn in range(CANDIDATES):
        first = moved[int((turn + 1) * _STEPS[0] % 1.0 * len(moved))]
        second = moved[int((turn + 1) * _STEPS[1] % 1.0 * len(moved))]
        if _crossing(points[first], middles[first], points[second], middles[second], places[count]):
            count += 1
    return count


@compiled
def _count_on_same_line(points: Floats, middles: Floats) -> Integers:
    # their line goes through every place beyond the point, so repeating it adds no information
    squares = np.empty((4, len(points)), dtype=np.int64)
    for axis in range(2):
        squares[axis] = np.floor(points[:, axis] / LINE_M).astype(np.int64)
        squares[2 + axis] = np.floor(middles[:, axis] / LINE_M).astype(np.int64)
    order = np.arange(len(points))
    for column in range(4):
        order = order[np.argsort(squares[column][order], kind="mergesort")]
    counts, first = np.empty(len(points), dtype=np.int64), 0
    for place in range(len(order)):
        ends = place + 1 == len(order)
        for column in range(4):
            ends = ends or squares[column, order[place]] != squares[column, order[place + 1]]
        if ends:
            counts[order[first : place + 1]] = place + 1 - first
            first = place + 1
    return counts


@compiled
def undo_moves(
    lines: Lines,
    middles: Floats,
    radius: float,
    slack: float,
    first: int,
    end: int,
    undone: Floats,
    evidence: Floats,
) -> None:
    """Fill undone [m, 2] for records from first to end."""
    # Points inside a cylinder stay. Others go to the candidate with the greatest product of their own
    # evidence and the square of the evidence of all points of the record, where those on one line count as
    # one. evidence: float64 [m], that product, infinite for points that stay.
    places = np.empty((2 * CANDIDATES, 2))
    for record in range(first, end):
        begin, beyond = lines.offsets[record], lines.offsets[record + 1]
        n = beyond - begin
        points, own_middles = np.empty((n, 2)), middles[begin:beyond]
        moved, n_moved = np.empty(n, dtype=np.int64), 0
        for row in range(n):
            points[row, 0], points[row, 1] = lines.x[begin + row], lines.y[begin + row]
            if (
                math.hypot(points[row, 0] - own_middles[row, 0], points[row, 1] - own_middles[row, 1])
                >= radius - slack
            ):
                moved[n_moved] = row
                n_moved += 1
        undone[begin:beyond], evidence[begin:beyond] = points, np.inf
        count = _candidates(points, own_middles, moved[:n_moved], places)
        places_x, places_y = places[:count, 0].copy(), places[:count, 1].copy()
        total_evidence, on_same_line = np.zeros(count), _count_on_same_line(points, own_middles)
        for row in range(n):  # places in the inner loop: vectorized, and sums in row order
            x, y = points[row, 0], points[row, 1]
            middle_x, middle_y = own_middles[row, 0], own_middles[row, 1]
            weight = 1.0 / on_same_line[row]
            for place in range(count):
                total_evidence[place] += weight * _evidence(
                    x, y, middle_x, middle_y, radius, places_x[place], places_y[place]
                )
        total_evidence *= total_evidence
        order = np.argsort(-total_evidence, kind="mergesort")
        for row in moved[:n_moved]:
            most = 0.0
            for place in order:
                if total_evidence[place] <= most:  # evidence of a point is at most 1
                    break
                product = total_evidence[place] * _evidence(
                    points[row, 0],
                    points[row, 1],
                    own_middles[row, 0],
                    own_middles[row, 1],
                    radius,
                    places[place, 0],
                    places[place, 1],
                )
                if product > most:
                    most = product
                    undone[begin + row] = places[place]
            evidence[begin + row] = most


@compiled
def sum_origin_evidence(
    lines: Lines, middles: Floats, radius: float, x: float, y: float, visits: Floats
) -> None:
    """Fill visits [r]: evidence of each record's points for having come from a place."""
    for record in range(len(visits)):
        begin, end = lines.offsets[record], lines.offsets[record + 1]
        own_x, own_y = lines.x[begin:end], lines.y[begin:end]
        middle_x, middle_y = middles[begin:end, 0].copy(), middles[begin:end, 1].copy()
        evidence = np.empty(end - begin)
        for row in range(end - begin):  # separate from the sum: vectorized
            evidence[row] = _evidence(own_x[row], own_y[row], middle_x[row], middle_y[row], radius, x, y)
        visits[record] = 0.0
        for value in evidence:
            visits[record] += value
