"""The effort to a person's nearest others, by part (Gramaglia and Fiore 2015, Sec. 5.3)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.nearest_samples import (
    chunks_in_space,
    chunks_in_time,
    empty_candidates,
    nearest_in_time,
    nearest_place,
    raw_sum,
)
from shoal.kernels.ordering import sort_in_place
from shoal.kernels.stretch import CHUNK, Raw, Scale
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class PlaceWork(NamedTuple):
    """Workspace of one pair, [places] each."""

    least: Numbers  # least spatial cost from a place to any of the other's, -1 = unknown
    nearest: Integers  # the first such place
    first: Integers  # the first sample at each place of the other


@compiled
def _stretches(raw: Raw, a: int, b: int, scale: Scale, work: PlaceWork, space: Numbers, time: Numbers) -> int:
    # a comes before b in canonical order. Of equal lengths, the longer is the one whose direction costs more,
    # then a. Beyond the cap in time only the nearest place counts, searched once for each place.
    m_a, m_b = raw.offsets[a + 1] - raw.offsets[a], raw.offsets[b + 1] - raw.offsets[b]
    longer_is_b = m_b > m_a
    if m_a == m_b:
        longer_is_b = raw_sum(raw, b, a, work.least, scale, np.inf) > raw_sum(
            raw, a, b, work.least, scale, np.inf
        )
    many, few = (b, a) if longer_is_b else (a, b)
    per_cell, per_slot, half = scale
    work.least[: raw.place_offsets[many + 1] - raw.place_offsets[many]] = -1
    for j in range(raw.offsets[few + 1] - 1, raw.offsets[few] - 1, -1):
        work.first[raw.place[j]] = j
    near = empty_candidates(raw.chunks.offsets[few + 1] - raw.chunks.offsets[few])
    places = empty_candidates(raw.place_chunks.offsets[few + 1] - raw.place_chunks.offsets[few])
    x_min, x_max, y_min, y_max = raw.bounds[few]
    begin, chosen = 0, -1
    for chunk in range(raw.chunks.offsets[many + 1] - raw.chunks.offsets[many]):
        in_time, begin = chunks_in_time(raw, many, chunk, few, begin, scale, near)
        in_space = -1
        first = raw.offsets[many] + chunk * CHUNK
        for i in range(first, min(first + CHUNK, raw.offsets[many + 1])):
            t, x, y, place_of_many = raw.t[i], raw.x[i], raw.y[i], raw.place[i]
            best, chosen = nearest_in_time(raw, i, few, near, in_time, chosen, scale)
            least = work.least[place_of_many]
            if least < 0:
                away = max(x_min - x, x - x_max, 0) + max(y_min - y, y - y_max, 0)
                least = min(per_cell * away, half)
                if best >= half + least:
                    if in_space < 0:
                        in_space = chunks_in_space(raw, many, chunk, few, scale, places)
                    least, work.nearest[place_of_many] = nearest_place(raw, i, few, places, in_space, scale)
                    work.least[place_of_many] = least
            place = i - raw.offsets[many]
            beyond = chosen < 0 or best > half + least
            if best == half + least and not beyond:
                beyond = per_slot * (t - raw.t[work.first[work.nearest[place_of_many]]]) >= half
            if beyond:
                space[place], time[place] = least, half
            else:
                space[place] = min(per_cell * (abs(raw.x[chosen] - x) + abs(raw.y[chosen] - y)), half)
                time[place] = per_slot * abs(raw.t[chosen] - t)
    return int(raw.offsets[many + 1] - raw.offsets[many])


@compiled
def tail_weight(values: Numbers) -> float:
    """(Q99 - Q50) / (Q75 - Q50), nan where Q75 equals Q50. Sorts ``values``."""
    sort_in_place(values)
    quantiles = np.empty(3)
    for place, share in enumerate((0.5, 0.75, 0.99)):
        position = share * (len(values) - 1)
        below = int(position)
        above = min(below + 1, len(values) - 1)
        quantiles[place] = values[below] + (position - below) * (values[above] - values[below])
    middle, upper, top = quantiles
    return (top - middle) / (upper - middle) if upper != middle else np.nan


@compiled
def fill_gap_parts(
    raw: Raw,
    subjects: Integers,
    neighbors: Integers,
    scale: Scale,
    parts: Floats,
    tails: Floats,
    longest: int,
) -> Any:
    """Fill parts [n, 2] and tails [n, 3]."""
    # parts: mean costs in space and in time. tails: total, space, time. neighbors: [n, c]. longest: most
    # samples of one subject.
    count, most_places = neighbors.shape[1], np.diff(raw.place_offsets).max()
    space, time = (np.empty(count * longest, dtype=raw.t.dtype), np.empty(count * longest, dtype=raw.t.dtype))
    work = PlaceWork(
        least=np.empty(most_places, dtype=np.int64),
        nearest=np.empty(most_places, dtype=np.int64),
        first=np.empty(most_places, dtype=np.int64),
    )
    for i in subjects:
        filled = 0
        parts[i] = 0.0
        for place in range(count):
            a, b = min(i, neighbors[i, place]), max(i, neighbors[i, place])
            m = _stretches(raw, a, b, scale, work, space[filled:], time[filled:])
            parts[i, 0] += space[filled : filled + m].sum() / m / count
            parts[i, 1] += time[filled : filled + m].sum() / m / count
            filled += m
        tails[i, 0] = tail_weight(space[:filled] + time[:filled])
        tails[i, 1] = tail_weight(space[:filled])
        tails[i, 2] = tail_weight(time[:filled])
