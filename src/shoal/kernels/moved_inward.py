"""Which records stand where somebody who is known at some points would stand after a move into a cylinder."""

import math
from typing import Final

import numpy as np

from shoal.kernels.cover_index import first_not_below
from shoal.kernels.passing import KnownPoints, Lines, apart
from shoal.runtime.arrays import Floats
from shoal.runtime.compiled import compiled

N_SUMS: Final = 2
FLOOR_M: Final = 0.01  # nearer than that nobody is: what writing a place as degrees may move it


@compiled
def _off(
    x: float, y: float, middle_x: float, middle_y: float, known_x: float, known_y: float, radius: float
) -> float:
    """How far a record at x, y is from where a known point would be moved to in this cylinder."""
    along_x, along_y = known_x - middle_x, known_y - middle_y
    away = math.sqrt(along_x * along_x + along_y * along_y)  # three times as fast as hypot
    share = radius / away if away > radius else 1.0
    off_x, off_y = x - middle_x - along_x * share, y - middle_y - along_y * share
    return math.sqrt(off_x * off_x + off_y * off_y)


@compiled
def off_at_its_time(
    lines: Lines, middles: Floats, radius: float, record: int, t: float, x: float, y: float
) -> float:
    """The same at one time: record and middle move in straight lines, and stand still before and after."""
    begin, end = lines.offsets[record], lines.offsets[record + 1]
    after = first_not_below(lines.t, begin, end, t)
    if after == end:
        after = end - 1
    before, share = after, 0.0
    if after > begin and lines.t[after] > t:
        before = after - 1
        share = (t - lines.t[before]) / (lines.t[after] - lines.t[before])
    return _off(
        lines.x[before] + share * (lines.x[after] - lines.x[before]),
        lines.y[before] + share * (lines.y[after] - lines.y[before]),
        middles[before, 0] + share * (middles[after, 0] - middles[before, 0]),
        middles[before, 1] + share * (middles[after, 1] - middles[before, 1]),
        x,
        y,
        radius,
    )


@compiled
def _sums(
    lines: Lines, middles: Floats, radius: float, record: int, known: KnownPoints, victim: int, sums: Floats
) -> None:
    """Write how badly a record fits a victim's points, at their times and at any time, with how far it is."""
    sums[:] = 0.0
    for row in range(known.offsets[victim], known.offsets[victim + 1]):
        t, x, y = known.t[row], known.x[row], known.y[row]
        away, _ = apart(lines, record, t, x, y)
        off = off_at_its_time(lines, middles, radius, record, t, x, y)
        sums[0] += math.log1p(away) + math.log(off + FLOOR_M)
        for at in range(lines.offsets[record], lines.offsets[record + 1]):
            off = min(off, _off(lines.x[at], lines.y[at], middles[at, 0], middles[at, 1], x, y, radius))
        sums[1] += math.log1p(away) + math.log(off + FLOOR_M)


@compiled
def stand_moved(known: KnownPoints, lines: Lines, middles: Floats, radius: float, chances: Floats) -> None:
    """Fill chances [v, 2]: to be right when one of the records with the least of each sum is named.

    middles: float64 [m, 2], of the cylinder of each point of the records.
    """
    n_records = len(lines.offsets) - 1
    sums, own, least = np.empty(N_SUMS), np.empty(N_SUMS), np.empty(N_SUMS)
    ties = np.empty(N_SUMS, dtype=np.int64)
    for victim in range(len(known.own)):
        least[:] = math.inf
        ties[:] = 0
        for record in range(n_records):
            _sums(lines, middles, radius, record, known, victim, sums)
            for rule in range(N_SUMS):
                if sums[rule] < least[rule]:
                    least[rule] = sums[rule]
                    ties[rule] = 0
                if sums[rule] == least[rule]:
                    ties[rule] += 1
        _sums(lines, middles, radius, known.own[victim], known, victim, own)
        for rule in range(N_SUMS):
            chances[victim, rule] = 1.0 / ties[rule] if own[rule] == least[rule] else 0.0
