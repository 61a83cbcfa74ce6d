"""What the effort to somebody's nearest others is made of: its parts, and the tails of its sample stretches.

After Gramaglia and Fiore 2015, Sec. 5.3.
"""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.stretch import CHUNK, Raw, Scale, chunk_away, raw_sum
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class PlaceWork(NamedTuple):
    """Space for one pair of subjects, [most places of one subject] each.

    least: the least spatial cost from a place to any of the other's, -1 = not looked for; earliest: the first
    sample of the other at such a place. first: the first sample at each place of the other.
    """

    least: Numbers
    earliest: Integers
    first: Integers


@compiled
def first_at_places(raw: Raw, b: int, first: Integers) -> None:
    """Fill first[p] with the first row of b at its place p."""
    for j in range(raw.offsets[b + 1] - 1, raw.offsets[b] - 1, -1):
        first[raw.place[j]] = j


@compiled
def look_at_places(raw: Raw, i: int, b: int, half: Any, per_cell: Any, work: PlaceWork) -> None:
    """Find the least spatial cost from the place of row i to any place of b, and b's first row there."""
    x, y, own, begin = raw.x[i], raw.y[i], raw.place[i], raw.place_offsets[b]
    least, earliest = half, raw.offsets[b + 1]
    end = raw.place_offsets[b + 1]
    for some in range(begin, end, CHUNK):
        if min(per_cell * chunk_away(raw.place_chunks, b, (some - begin) // CHUNK, x, y), half) > least:
            continue
        for p in range(some, min(some + CHUNK, end)):
            space = min(per_cell * (abs(raw.place_x[p] - x) + abs(raw.place_y[p] - y)), half)
            if space < least:
                least, earliest = space, work.first[p - begin]
            elif space == least:
                earliest = min(earliest, work.first[p - begin])
    work.least[own], work.earliest[own] = least, earliest


@compiled
def nearest_within(
    raw: Raw, i: int, b: int, near: int, within: int, least: Any, scale: Scale
) -> tuple[Any, int]:
    """Cost and row of the first of b's samples nearer in time than the cap with the least stretch from row i.

    near: b's first row that is not earlier. within: its first nearer than the cap. least: what all of b cost
    in space at least. Row -1 = there is none below 2 * half.
    """
    per_cell, per_slot, half = scale
    t, x, y = raw.t[i], raw.x[i], raw.y[i]
    best, chosen = 2 * half, -1
    first, end = raw.offsets[b], raw.offsets[b + 1]
    j = near
    while j < end:
        away = per_slot * (raw.t[j] - t)
        if away >= half or away + least >= best:
            break
        if (j - first) % CHUNK == 0:
            space = per_cell * chunk_away(raw.chunks, b, (j - first) // CHUNK, x, y)
            if away + min(space, half) >= best:
                j += CHUNK
                continue
        cost = away + min(per_cell * (abs(raw.x[j] - x) + abs(raw.y[j] - y)), half)
        if cost < best:
            best, chosen = cost, j
        j += 1
    j = near - 1
    while j >= within:
        away = per_slot * (t - raw.t[j])
        if away + least > best:
            break
        if (j - first) % CHUNK == CHUNK - 1:
            space = per_cell * chunk_away(raw.chunks, b, (j - first) // CHUNK, x, y)
            if away + min(space, half) > best:
                j -= CHUNK
                continue
        cost = away + min(per_cell * (abs(raw.x[j] - x) + abs(raw.y[j] - y)), half)
        if cost <= best:
            best, chosen = cost, j
        j -= 1
    return best, chosen


@compiled
def pair_stretches(
    raw: Raw, a: int, b: int, scale: Scale, work: PlaceWork, space: Numbers, time: Numbers
) -> int:
    """Fill in the spatial and temporal cost of each sample of the longer; how many there are.

    a stands before b in canonical order. Of equal lengths, the longer is the one whose direction costs more,
    then a. The cost is that of the first of the other's samples with the least stretch. Those nearer in time
    than the cap are looked at one by one. Of all others only the nearest place counts, which is found once
    for each place.
    """
    m_a, m_b = raw.offsets[a + 1] - raw.offsets[a], raw.offsets[b + 1] - raw.offsets[b]
    longer_is_b = m_b > m_a
    if m_a == m_b:
        longer_is_b = raw_sum(raw, b, a, work.least, scale, np.inf) > raw_sum(
            raw, a, b, work.least, scale, np.inf
        )
    many, few = (b, a) if longer_is_b else (a, b)
    per_cell, per_slot, half = scale
    work.least[: raw.place_offsets[many + 1] - raw.place_offsets[many]] = -1
    first_at_places(raw, few, work.first)
    begin, end = raw.offsets[few], raw.offsets[few + 1]
    x_min, x_max, y_min, y_max = raw.bounds[few]
    near = within = begin  # the first row that is not earlier, and the first that is nearer than the cap
    for i in range(raw.offsets[many], raw.offsets[many + 1]):
        t, x, y, own = raw.t[i], raw.x[i], raw.y[i], raw.place[i]
        while near < end and raw.t[near] < t:
            near += 1
        while within < end and per_slot * (t - raw.t[within]) >= half:
            within += 1
        least = work.least[own]
        if least < 0:
            least = min(per_cell * (max(x_min - x, x - x_max, 0) + max(y_min - y, y - y_max, 0)), half)
        best, chosen = nearest_within(raw, i, few, near, within, least, scale)
        place = i - raw.offsets[many]
        if best >= half + least and work.least[own] < 0:
            look_at_places(raw, i, few, half, per_cell, work)
            least = work.least[own]
        if best > half + least or chosen < 0 or (best == half + least and work.earliest[own] < within):
            space[place], time[place] = least, half
        else:
            space[place] = min(per_cell * (abs(raw.x[chosen] - x) + abs(raw.y[chosen] - y)), half)
            time[place] = min(per_slot * abs(raw.t[chosen] - t), half)
    return int(raw.offsets[many + 1] - raw.offsets[many])


@compiled
def tail_weight(values: Numbers) -> float:
    """(Q99 - Q50) / (Q75 - Q50), interpolated linearly, nan where Q75 equals Q50. Sorts ``values``."""
    values.sort()
    quantiles = np.empty(3)
    for place, share in enumerate((0.5, 0.75, 0.99)):
        position = share * (len(values) - 1)
        below = int(position)
        above = min(below + 1, len(values) - 1)
        quantiles[place] = values[below] + (position - below) * (values[above] - values[below])
    middle, upper, top = quantiles
    return (top - middle) / (upper - middle) if upper != middle else np.nan


@compiled
def gap_parts(
    raw: Raw,
    subjects: Integers,
    neighbors: Integers,
    scale: Scale,
    parts: Floats,
    tails: Floats,
    longest: int,
) -> Any:
    """Fill parts [n, 2] and tails [n, 3] of these subjects.

    parts: mean costs in space and in time. tails: of both together, of space, of time. neighbors: [n, c].
    longest: most samples of one subject.
    """
    count, most_places = neighbors.shape[1], np.diff(raw.place_offsets).max()
    space, time = (
        np.empty(count * longest, dtype=raw.t.dtype),
        np.empty(count * longest, dtype=raw.t.dtype),
    )
    work = PlaceWork(
        least=np.empty(most_places, dtype=np.int64),
        earliest=np.empty(most_places, dtype=np.int64),
        first=np.empty(most_places, dtype=np.int64),
    )
    for i in subjects:
        filled = 0
        parts[i] = 0.0
        for place in range(count):
            a, b = min(i, neighbors[i, place]), max(i, neighbors[i, place])
            m = pair_stretches(raw, a, b, scale, work, space[filled:], time[filled:])
            parts[i, 0] += space[filled : filled + m].sum() / m / count
            parts[i, 1] += time[filled : filled + m].sum() / m / count
            filled += m
        tails[i, 0] = tail_weight(space[:filled] + time[:filled])
        tails[i, 1] = tail_weight(space[:filled])
        tails[i, 2] = tail_weight(time[:filled])
