"""The nearest of one subject's samples to each of another, chunk by chunk (docs/bounds.md).

From these, the effort to a person's nearest others, by part (Gramaglia and Fiore 2015, Sec. 5.3).
"""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.ordering import sort_in_place
from shoal.kernels.stretch import CHUNK, Raw, Scale
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class Candidates(NamedTuple):
    """Chunks that may contain the nearest, by least cost."""

    chunk: Integers
    cost: Integers


@compiled
def empty_candidates(count: int) -> Candidates:
    """Space for ``count`` candidates."""
    return Candidates(np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64))


@compiled
def _put(candidates: Candidates, count: int, chunk: int, cost: Any) -> int:
    place = count
    while place > 0 and candidates.cost[place - 1] > cost:
        candidates.cost[place] = candidates.cost[place - 1]
        candidates.chunk[place] = candidates.chunk[place - 1]
        place -= 1
    candidates.cost[place], candidates.chunk[place] = cost, chunk
    return count + 1


@compiled
def chunks_in_time(
    raw: Raw, a: int, chunk_of_a: int, b: int, begin: int, scale: Scale, candidates: Candidates
) -> tuple[int, int]:
    """Find b's chunks that may contain the nearest sample, within the cap in time, to any of a's chunk.

    begin: all chunks of b before it are too early for this and later chunks. Returns the count, and the
    next ``begin``. Ties are included.
    """
    per_cell, per_slot, half = scale
    row = raw.offsets[a] + chunk_of_a * CHUNK
    t_min, t_max = raw.t[row], raw.t[min(row + CHUNK, raw.offsets[a + 1]) - 1]
    x_min, x_max, y_min, y_max = raw.chunks.bounds[raw.chunks.offsets[a] + chunk_of_a]
    first, end, hulls = raw.offsets[b], raw.offsets[b + 1], raw.chunks.offsets[b]
    chunks = raw.chunks.offsets[b + 1] - hulls
    while begin < chunks and per_slot * (t_min - raw.t[min(first + (begin + 1) * CHUNK, end) - 1]) >= half:
        begin += 1
    most, count = 2 * half, 0
    for c in range(begin, chunks):
        start, stop = raw.t[first + c * CHUNK], raw.t[min(first + (c + 1) * CHUNK, end) - 1]
        wait = per_slot * max(start - t_max, t_min - stop, 0)
        if wait >= half:
            break
        west, east, south, north = raw.chunks.bounds[hulls + c]
        away = max(west - x_max, x_min - east, 0) + max(south - y_max, y_min - north, 0)
        least = wait + min(per_cell * away, half)
        if least <= most:
            count = _put(candidates, count, c, least)
            longest = per_slot * max(stop - t_min, t_max - start)
            if longest < half:
                wide = max(east - x_min, x_max - west) + max(north - y_min, y_max - south)
                most = min(most, longest + min(per_cell * wide, half))
    while count > 0 and candidates.cost[count - 1] > most:
        count -= 1
    return count, begin


@compiled
def nearest_in_time(
    raw: Raw, i: int, b: int, candidates: Candidates, count: int, guess: int, scale: Scale
) -> tuple[Any, int]:
    """Cost and row of the first of b's samples within the time cap with the least stretch from i."""
    # guess: any row of b, or -1; row -1 = none, at a cost of 2 * half
    per_cell, per_slot, half = scale
    t, x, y = raw.t[i], raw.x[i], raw.y[i]
    first, end, hulls = raw.offsets[b], raw.offsets[b + 1], raw.chunks.offsets[b]
    best, chosen = 2 * half, -1
    if guess >= 0 and per_slot * abs(raw.t[guess] - t) < half:
        away = abs(raw.x[guess] - x) + abs(raw.y[guess] - y)
        best, chosen = per_slot * abs(raw.t[guess] - t) + min(per_cell * away, half), guess
    for place in range(count):
        if candidates.cost[place] > best:
            break
        c = candidates.chunk[place]
        begin, stop = first + c * CHUNK, min(first + (c + 1) * CHUNK, end)
        west, east, south, north = raw.chunks.bounds[hulls + c]
        wait = per_slot * max(raw.t[begin] - t, t - raw.t[stop - 1], 0)
        away = max(west - x, x - east, 0) + max(south - y, y - north, 0)
        if wait >= half or wait + min(per_cell * away, half) > best:
            continue
        least = 2 * half
        for j in range(begin, stop):
            time = per_slot * abs(raw.t[j] - t)
            cost = time + min(per_cell * (abs(raw.x[j] - x) + abs(raw.y[j] - y)), half)
            least = min(least, cost if time < half else 2 * half)
        if least < best or (least == best and begin < chosen):
            for j in range(begin, stop):
                time = per_slot * abs(raw.t[j] - t)
                if (
                    time < half
                    and time + min(per_cell * (abs(raw.x[j] - x) + abs(raw.y[j] - y)), half) == least
                ):
                    chosen = j if least < best else min(j, chosen)
                    break
            best = least
    return best, chosen


@compiled
def chunks_in_space(raw: Raw, a: int, chunk_of_a: int, b: int, scale: Scale, candidates: Candidates) -> int:
    """Find b's chunks of places that may contain the nearest to a's chunk; return the count."""
    per_cell, half = scale.per_cell, scale.half
    x_min, x_max, y_min, y_max = raw.chunks.bounds[raw.chunks.offsets[a] + chunk_of_a]
    hulls = raw.place_chunks.offsets[b]
    most, count = half, 0
    for c in range(raw.place_chunks.offsets[b + 1] - hulls):
        west, east, south, north = raw.place_chunks.bounds[hulls + c]
        least = min(
            per_cell * (max(west - x_max, x_min - east, 0) + max(south - y_max, y_min - north, 0)), half
        )
        if least <= most:
            count = _put(candidates, count, c, least)
            wide = max(east - x_min, x_max - west) + max(north - y_min, y_max - south)
            most = min(most, per_cell * wide)
            while candidates.cost[count - 1] > most:
                count -= 1
    return count


@compiled
def nearest_place(raw: Raw, i: int, b: int, candidates: Candidates, n: int, scale: Scale) -> tuple[Any, int]:
    """The least spatial cost from row i to any place of b, and the first such place."""
    per_cell, half = scale.per_cell, scale.half
    x, y = raw.x[i], raw.y[i]
    first, end, hulls = raw.place_offsets[b], raw.place_offsets[b + 1], raw.place_chunks.offsets[b]
    best, chosen = half, end
    for place in range(n):
        if candidates.cost[place] > best:
            break
        c = candidates.chunk[place]
        west, east, south, north = raw.place_chunks.bounds[hulls + c]
        if per_cell * (max(west - x, x - east, 0) + max(south - y, y - north, 0)) > best < half:
            continue
        begin, stop = first + c * CHUNK, min(first + (c + 1) * CHUNK, end)
        least = half
        for p in range(begin, stop):
            least = min(least, per_cell * (abs(raw.place_x[p] - x) + abs(raw.place_y[p] - y)))
        if least < best or (least == best and begin < chosen):
            for p in range(begin, stop):
                if min(per_cell * (abs(raw.place_x[p] - x) + abs(raw.place_y[p] - y)), half) == least:
                    chosen = p if least < best else min(p, chosen)
                    break
            best = least
    return best, chosen - first


@compiled
def raw_sum(raw: Raw, a: int, b: int, least_spaces: Integers, scale: Scale, limit: float) -> Any:
    """Sum over a's samples of the least cost to any of b: Eq. 10 before division."""
    # All boxes have one size. Stops early once the sum exceeds ``limit``. Beyond the cap in time only space
    # differs: the least is half plus the distance to b's nearest place, computed once for each place of a.
    # least_spaces: space for one number per place of a.
    per_cell, half = scale.per_cell, scale.half
    x_min, x_max, y_min, y_max = raw.bounds[b]
    least_spaces[: raw.place_offsets[a + 1] - raw.place_offsets[a]] = -1
    near = empty_candidates(raw.chunks.offsets[b + 1] - raw.chunks.offsets[b])
    places = empty_candidates(raw.place_chunks.offsets[b + 1] - raw.place_chunks.offsets[b])
    total, begin, chosen = 0 * half, 0, -1
    for chunk_of_a in range(raw.chunks.offsets[a + 1] - raw.chunks.offsets[a]):
        in_time, begin = chunks_in_time(raw, a, chunk_of_a, b, begin, scale, near)
        in_space = -1
        first = raw.offsets[a] + chunk_of_a * CHUNK
        for i in range(first, min(first + CHUNK, raw.offsets[a + 1])):
            best, chosen = nearest_in_time(raw, i, b, near, in_time, chosen, scale)
            least_space = least_spaces[raw.place[i]]
            if least_space < 0:
                x, y = raw.x[i], raw.y[i]
                away = max(x_min - x, x - x_max, 0) + max(y_min - y, y - y_max, 0)
                if best > half + min(per_cell * away, half):
                    if in_space < 0:
                        in_space = chunks_in_space(raw, a, chunk_of_a, b, scale, places)
                    least_space, _ = nearest_place(raw, i, b, places, in_space, scale)
                    least_spaces[raw.place[i]] = least_space
            if least_space >= 0:
                best = min(best, half + least_space)
            total += best
        if total > limit:
            break
    return total


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
