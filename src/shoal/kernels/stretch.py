"""Sample and fingerprint stretch over plain arrays (glove.txt, Eq. 1-10; closed form in semantics 1.1).

All sums are in units of 1 / (2 * half) of the total stretch and, in snapped data, integers: ties are exact. Arrays are ordered
by start time, which lets each search begin at the nearest time and stop where time alone costs more than the best found.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.compiled import compiled

Numbers = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Scale(NamedTuple):
    """What a unit of stretch costs. per_cell, per_slot: cost of one unit in space and time; half: the most either may cost."""

    per_cell: float
    per_slot: float
    half: float


class Samples(NamedTuple):
    """Boxes of one fingerprint in canonical order, [m] each; reach: the latest end among this and all earlier boxes."""

    t_start: Numbers
    t_end: Numbers
    x_min: Numbers
    y_min: Numbers
    x_max: Numbers
    y_max: Numbers
    reach: Numbers


@compiled
def surroundings(offsets: Integers, x: Integers, y: Integers) -> Integers:
    """[n, 4] least and greatest x, least and greatest y of each subject."""
    bounds = np.empty((len(offsets) - 1, 4), dtype=x.dtype)
    for i in range(len(offsets) - 1):
        own = slice(offsets[i], offsets[i + 1])
        bounds[i, 0], bounds[i, 1] = x[own].min(), x[own].max()
        bounds[i, 2], bounds[i, 3] = y[own].min(), y[own].max()
    return bounds


@compiled
def raw_sum(
    t_a: Integers, x_a: Integers, y_a: Integers, t_b: Integers, x_b: Integers, y_b: Integers, bounds_b: Integers, scale: Scale
) -> Any:
    """Sum over a's raw samples of the least cost to any raw sample of b: Eq. 10 before division, all boxes of one size.

    No sample of b costs less than its time alone plus the way to b's surroundings, so a search that runs away from the nearest
    time ends where that bound reaches the best found.
    """
    per_cell, per_slot, half = scale
    total = 0
    near = 0
    last = len(t_b)
    for i in range(len(t_a)):
        t, x, y = t_a[i], x_a[i], y_a[i]
        while near < last and t_b[near] < t:
            near += 1
        away = max(bounds_b[0] - x, x - bounds_b[1], 0) + max(bounds_b[2] - y, y - bounds_b[3], 0)
        least_space = min(per_cell * away, half)
        best = 2 * half
        for j in range(near, last):
            time = min(per_slot * (t_b[j] - t), half)
            if time + least_space >= best:
                break
            best = min(best, time + min(per_cell * (abs(x_b[j] - x) + abs(y_b[j] - y)), half))
        for j in range(near - 1, -1, -1):
            time = min(per_slot * (t - t_b[j]), half)
            if time + least_space >= best:
                break
            best = min(best, time + min(per_cell * (abs(x_b[j] - x) + abs(y_b[j] - y)), half))
        total += best
    return total


@compiled
def raw_efforts(
    offsets: Integers, t: Integers, x: Integers, y: Integers, bounds: Integers, first: int, stop: int, scale: Scale, efforts: Floats
) -> None:
    """Fill efforts[i, j] for first <= i < stop and every j > i with the fingerprint stretch times 2 * half (Eq. 10).

    An exact integer sum divided by an exact integer, so equal stretches give equal floats.
    """
    n = len(offsets) - 1
    for i in range(first, stop):
        a, a_end = offsets[i], offsets[i + 1]
        for j in range(i + 1, n):
            b, b_end = offsets[j], offsets[j + 1]
            total = 0
            if a_end - a >= b_end - b:
                total = raw_sum(t[a:a_end], x[a:a_end], y[a:a_end], t[b:b_end], x[b:b_end], y[b:b_end], bounds[j], scale)
            if b_end - b >= a_end - a:
                other = raw_sum(t[b:b_end], x[b:b_end], y[b:b_end], t[a:a_end], x[a:a_end], y[a:a_end], bounds[i], scale)
                total = max(total, other)
            efforts[i, j] = total / max(a_end - a, b_end - b)


@compiled
def stretch_parts(a: Samples, i: int, n_a: int, b: Samples, j: int, n_b: int, scale: Scale) -> tuple[Any, Any]:
    """Cost in space and in time of merging a's box i with b's box j, times n_a + n_b (Eq. 2-9)."""
    both = n_a + n_b
    wide = max(a.x_max[i], b.x_max[j]) - min(a.x_min[i], b.x_min[j]) + max(a.y_max[i], b.y_max[j]) - min(a.y_min[i], b.y_min[j])
    own_a = a.x_max[i] - a.x_min[i] + a.y_max[i] - a.y_min[i]
    own_b = b.x_max[j] - b.x_min[j] + b.y_max[j] - b.y_min[j]
    space = scale.per_cell * (both * wide - n_a * own_a - n_b * own_b)
    long = max(a.t_end[i], b.t_end[j]) - min(a.t_start[i], b.t_start[j])
    time = scale.per_slot * (both * long - n_a * (a.t_end[i] - a.t_start[i]) - n_b * (b.t_end[j] - b.t_start[j]))
    return min(space, both * scale.half), min(time, both * scale.half)


@compiled
def nearest_box(a: Samples, i: int, n_a: int, b: Samples, near: int, n_b: int, scale: Scale) -> tuple[int, Any]:
    """Position and cost (times n_a + n_b) of b's box with the least stretch from a's box i; the first of equals.

    near: the first position in b whose start is not before the start of a's box i. A box that begins after a's has ended, or has
    ended before a's begins, costs at least n_a + n_b times the gap plus n_b times a's own duration.
    """
    both = n_a + n_b
    cap = both * scale.half
    best = 2 * cap + 1
    chosen = -1
    own = n_b * (a.t_end[i] - a.t_start[i])
    for j in range(near, len(b.t_start)):
        gap = b.t_start[j] - a.t_end[i]
        if gap > 0 and min(scale.per_slot * (both * gap + own), cap) >= best:
            break
        space, time = stretch_parts(a, i, n_a, b, j, n_b, scale)
        if space + time < best:
            best, chosen = space + time, j
    for j in range(near - 1, -1, -1):
        gap = a.t_start[i] - b.reach[j]
        if gap > 0 and min(scale.per_slot * (both * gap + own), cap) > best:
            break
        space, time = stretch_parts(a, i, n_a, b, j, n_b, scale)
        if space + time <= best:
            best, chosen = space + time, j
    return chosen, best


@compiled
def nearest_boxes(a: Samples, n_a: int, b: Samples, n_b: int, scale: Scale) -> tuple[Integers, Numbers]:
    """For each box of a: position and cost (times n_a + n_b) of the box of b with the least stretch, the first of equals."""
    chosen = np.empty(len(a.t_start), dtype=np.int64)
    cost = np.empty(len(a.t_start), dtype=a.t_start.dtype)
    near = 0
    for i in range(len(a.t_start)):
        while near < len(b.t_start) and b.t_start[near] < a.t_start[i]:
            near += 1
        chosen[i], cost[i] = nearest_box(a, i, n_a, b, near, n_b, scale)
    return chosen, cost


@compiled
def box_sum(a: Samples, n_a: int, b: Samples, n_b: int, scale: Scale) -> Any:
    """Sum over a's boxes of the least cost to any box of b, times n_a + n_b: Eq. 10 before division."""
    total = 0 * scale.half
    near = 0
    for i in range(len(a.t_start)):
        while near < len(b.t_start) and b.t_start[near] < a.t_start[i]:
            near += 1
        total += nearest_box(a, i, n_a, b, near, n_b, scale)[1]
    return total


@compiled
def box_effort(a: Samples, n_a: int, b: Samples, n_b: int, scale: Scale) -> float:
    """Fingerprint stretch times 2 * half of two groups' boxes; with equal lengths the larger direction (semantics 1.2)."""
    total = 0 * scale.half
    m_a, m_b = len(a.t_start), len(b.t_start)
    if m_a >= m_b:
        total = box_sum(a, n_a, b, n_b, scale)
    if m_b >= m_a:
        total = max(total, box_sum(b, n_b, a, n_a, scale))
    return float(total / ((n_a + n_b) * max(m_a, m_b)))


@compiled
def box_efforts(
    a: Samples, n_a: int, every: Samples, starts: Integers, stops: Integers, sizes: Integers, slots: Integers, scale: Scale, efforts: Floats
) -> None:
    """Fill efforts[s] with the effort between a and the group at each slot s; its boxes are every[starts[s]:stops[s]]."""
    for slot in slots:
        own = slice(starts[slot], stops[slot])
        b = Samples(
            every.t_start[own],
            every.t_end[own],
            every.x_min[own],
            every.y_min[own],
            every.x_max[own],
            every.y_max[own],
            every.reach[own],
        )
        efforts[slot] = box_effort(a, n_a, b, sizes[slot], scale)
