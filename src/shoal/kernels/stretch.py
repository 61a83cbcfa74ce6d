"""Sample and fingerprint stretch over plain arrays (Gramaglia and Fiore 2015, Eq. 1-10).

All sums are in units of 1 / (2 * half) of the total stretch and, in snapped data, integers: ties are exact.
Arrays are ordered by start time, which lets each search begin at the nearest time and stop where time alone
costs more than the best found.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


class Scale(NamedTuple):
    """What a cell and a slot of stretch cost, and half, the most that space or time may cost."""

    per_cell: float
    per_slot: float
    half: float


class Samples(NamedTuple):
    """Boxes of one fingerprint in canonical order, [m] each.

    latest_end: the latest end among this and all earlier boxes.
    """

    t_start: Numbers
    t_end: Numbers
    x_min: Numbers
    y_min: Numbers
    x_max: Numbers
    y_max: Numbers
    latest_end: Numbers


CHUNK: Final = 32  # samples or places one after another, which lie near each other, by one hull


class Hulls(NamedTuple):
    """The rectangles around every CHUNK samples, or places, of each subject.

    Subject i owns those from offsets[i] to offsets[i + 1]. bounds: [c, 4] least and greatest x, least and
    greatest y.
    """

    offsets: Integers
    bounds: Integers


class Raw(NamedTuple):
    """Raw samples of all subjects, ordered by (t, x, y) within each.

    Subject i owns rows offsets[i] to offsets[i + 1]. place: [m] which of its subject's distinct places a
    sample is at, counted from 0. place_offsets [n + 1], place_x, place_y: the distinct places of each
    subject. bounds: [n, 4] least and greatest x, least and greatest y of each subject. chunks,
    place_chunks: the hulls of its samples and of its places, one after another.
    """

    offsets: Integers
    t: Integers
    x: Integers
    y: Integers
    place: Integers
    place_offsets: Integers
    place_x: Integers
    place_y: Integers
    bounds: Integers
    chunks: Hulls
    place_chunks: Hulls


@compiled
def chunk_away(hulls: Hulls, b: int, chunk: int, x: int, y: int) -> Any:
    """How many cells (x, y) is from everything in b's chunk at least."""
    x_min, x_max, y_min, y_max = hulls.bounds[hulls.offsets[b] + chunk]
    return max(x_min - x, x - x_max, 0) + max(y_min - y, y - y_max, 0)


@compiled
def least_space_to_places(raw: Raw, b: int, x: int, y: int, scale: Scale) -> Any:
    """The least spatial cost from (x, y) to any place of b."""
    least, begin, end = scale.half, raw.place_offsets[b], raw.place_offsets[b + 1]
    for first in range(begin, end, CHUNK):
        if scale.per_cell * chunk_away(raw.place_chunks, b, (first - begin) // CHUNK, x, y) < least:
            for j in range(first, min(first + CHUNK, end)):
                least = min(least, scale.per_cell * (abs(raw.place_x[j] - x) + abs(raw.place_y[j] - y)))
    return least


@compiled
def _least_cost(raw: Raw, b: int, i: int, near: int, least_space: Any, scale: Scale) -> Any:
    """What row i costs beside any sample of b nearer in time than the cap, at most 2 * half.

    near: b's first row that is not earlier. least_space: what all of b cost in space at least.
    """
    per_cell, per_slot, half = scale
    t, x, y = raw.t[i], raw.x[i], raw.y[i]
    first, last = raw.offsets[b], raw.offsets[b + 1]
    best, j = 2 * half, near
    while j < last:
        time = per_slot * (raw.t[j] - t)
        if time >= half or time + least_space >= best:
            break
        if (j - first) % CHUNK == 0:
            away = per_cell * chunk_away(raw.chunks, b, (j - first) // CHUNK, x, y)
            if time + min(away, half) >= best:
                j += CHUNK
                continue
        best = min(best, time + min(per_cell * (abs(raw.x[j] - x) + abs(raw.y[j] - y)), half))
        j += 1
    j = near - 1
    while j >= first:
        time = per_slot * (t - raw.t[j])
        if time >= half or time + least_space >= best:
            break
        if (j - first) % CHUNK == CHUNK - 1:
            away = per_cell * chunk_away(raw.chunks, b, (j - first) // CHUNK, x, y)
            if time + min(away, half) >= best:
                j -= CHUNK
                continue
        best = min(best, time + min(per_cell * (abs(raw.x[j] - x) + abs(raw.y[j] - y)), half))
        j -= 1
    return best


@compiled
def raw_sum(raw: Raw, a: int, b: int, least_spaces: Integers, scale: Scale, limit: float) -> Any:
    """Sum over a's raw samples of the least cost to any raw sample of b: Eq. 10 before division.

    All boxes are of one size. Ends early, with a sum above ``limit``, once the sum exceeds it. The search for
    the least runs both ways from the nearest time, past chunks whose hull is too far. No further sample costs
    less than its time plus the distance to b's bounding rectangle, so the search ends where that bound is no
    better than the best found.
    Beyond the time cap only space differs: the least is half plus the distance to b's nearest place, which is
    found once for each place of a. least_spaces: space for as many numbers as a has places.
    """
    per_cell, half = scale.per_cell, scale.half
    first, last = raw.offsets[b], raw.offsets[b + 1]
    x_min, x_max, y_min, y_max = raw.bounds[b]
    least_spaces[: raw.place_offsets[a + 1] - raw.place_offsets[a]] = -1
    total = 0 * half
    near = first
    for i in range(raw.offsets[a], raw.offsets[a + 1]):
        t, x, y = raw.t[i], raw.x[i], raw.y[i]
        while near < last and raw.t[near] < t:
            near += 1
        place = raw.place[i]
        least_space = least_spaces[place]
        if least_space < 0:
            least_space = min(per_cell * (max(x_min - x, x - x_max, 0) + max(y_min - y, y - y_max, 0)), half)
        best = _least_cost(raw, b, i, near, least_space, scale)
        if best > half + least_space:
            if least_spaces[place] < 0:
                least_space = least_space_to_places(raw, b, x, y, scale)
                least_spaces[place] = least_space
            best = min(best, half + least_space)
        total += best
        if total > limit:
            break
    return total


@compiled
def surrounding_box(boxes: Samples) -> tuple[Any, Any, Any, Any]:
    """Least and greatest x, least and greatest y over all boxes."""
    return boxes.x_min.min(), boxes.x_max.max(), boxes.y_min.min(), boxes.y_max.max()


@compiled
def least_space_to(
    around: tuple[Any, Any, Any, Any], a: Samples, i: int, n_a: int, n_b: int, scale: Scale
) -> Any:
    """What a's box i costs in space at least, times n_a + n_b, beside boxes with these surroundings."""
    away = max(around[0] - a.x_max[i], a.x_min[i] - around[1], 0) + max(
        around[2] - a.y_max[i], a.y_min[i] - around[3], 0
    )
    return (n_a + n_b) * min(scale.per_cell * away, scale.half)


@compiled
def nearest_box(
    a: Samples, i: int, n_a: int, b: Samples, near: int, n_b: int, least_space: Any, scale: Scale
) -> tuple[int, Any]:
    """Position and cost (times n_a + n_b) of the first of b's boxes with the least stretch from a's box i.

    near: the first position in b whose start is not before the start of a's box i. least_space: what all
    boxes of b cost in space at least, times n_a + n_b, at most half of it. The search runs both ways from
    ``near`` and ends where a bound on the cost of all further boxes is no better than the best found. With H
    the length of the hull in time, the cost is n_a (H - d_a) + n_b (H - d_b). A box that starts s after a's
    has H - d_b >= s and H - d_a >= s - d_a. One that starts s before has H - d_a >= s and H - d_b >= the end
    of a's box less its own.
    """
    both = n_a + n_b
    cap = both * scale.half
    t_start, t_end, x_min, y_min, x_max, y_max = (
        a.t_start[i],
        a.t_end[i],
        a.x_min[i],
        a.y_min[i],
        a.x_max[i],
        a.y_max[i],
    )
    own_space = x_max - x_min + y_max - y_min
    own_time = t_end - t_start
    best = 2 * cap + 1
    chosen = -1
    for step in (1, -1):
        j = near if step > 0 else near - 1
        while 0 <= j < len(b.t_start):
            if step > 0:
                late = b.t_start[j] - t_start
                bound = n_b * late + n_a * max(late - own_time, 0)
            else:
                bound = n_a * (t_start - b.t_start[j]) + n_b * max(t_end - b.latest_end[j], 0)
            least = min(scale.per_slot * bound, cap) + least_space
            if least > best or (least == best and step > 0):
                break
            long = max(t_end, b.t_end[j]) - min(t_start, b.t_start[j])
            time = min(
                scale.per_slot * (both * long - n_a * own_time - n_b * (b.t_end[j] - b.t_start[j])), cap
            )
            if time + least_space <= best:
                wide = (
                    max(x_max, b.x_max[j])
                    - min(x_min, b.x_min[j])
                    + max(y_max, b.y_max[j])
                    - min(y_min, b.y_min[j])
                )
                other_space = b.x_max[j] - b.x_min[j] + b.y_max[j] - b.y_min[j]
                cost = time + min(scale.per_cell * (both * wide - n_a * own_space - n_b * other_space), cap)
                if cost < best or (cost == best and step < 0):
                    best, chosen = cost, j
            j += step
    return chosen, best


@compiled
def nearest_boxes(a: Samples, n_a: int, b: Samples, n_b: int, scale: Scale) -> tuple[Integers, Numbers]:
    """Position and cost (times n_a + n_b) of b's first box with the least stretch from each box of a."""
    chosen = np.empty(len(a.t_start), dtype=np.int64)
    cost = np.empty(len(a.t_start), dtype=a.t_start.dtype)
    around_b = surrounding_box(b)
    near = 0
    for i in range(len(a.t_start)):
        while near < len(b.t_start) and b.t_start[near] < a.t_start[i]:
            near += 1
        chosen[i], cost[i] = nearest_box(
            a, i, n_a, b, near, n_b, least_space_to(around_b, a, i, n_a, n_b, scale), scale
        )
    return chosen, cost


@compiled
def box_sum(a: Samples, n_a: int, b: Samples, n_b: int, scale: Scale, limit: float) -> Any:
    """Sum over a's boxes of the least cost to any box of b, times n_a + n_b: Eq. 10 before division.

    Ends early above ``limit``.
    """
    total = 0 * scale.half
    around_b = surrounding_box(b)
    near = 0
    for i in range(len(a.t_start)):
        while near < len(b.t_start) and b.t_start[near] < a.t_start[i]:
            near += 1
        total += nearest_box(a, i, n_a, b, near, n_b, least_space_to(around_b, a, i, n_a, n_b, scale), scale)[
            1
        ]
        if total > limit:
            break
    return total


@compiled
def box_effort(a: Samples, n_a: int, b: Samples, n_b: int, scale: Scale, ceiling: float) -> float:
    """Fingerprint stretch, times 2 * half, of two groups' boxes.

    Of equal lengths the larger direction counts. An effort above ``ceiling`` may come out
    as any effort above it.
    """
    total = 0 * scale.half
    m_a, m_b = len(a.t_start), len(b.t_start)
    whole = (n_a + n_b) * max(m_a, m_b)
    limit = ceiling * whole * (1 + 1e-12)
    if m_a >= m_b:
        total = box_sum(a, n_a, b, n_b, scale, limit)
    if m_b >= m_a and total <= limit:
        total = max(total, box_sum(b, n_b, a, n_a, scale, limit))
    return float(total / whole)
