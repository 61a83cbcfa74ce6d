"""Sample and fingerprint stretch (Gramaglia and Fiore 2015, Eq. 1-10).

Sums are in units of 1 / (2 * half) of the total stretch and integers for snapped data, so ties are exact.
Arrays are ordered by start: a search begins at the nearest time and stops where time alone costs more than
the best.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled, compiled_for_many


class Scale(NamedTuple):
    """Cost of a cell and of a slot, and half, the maximum of space or time."""

    per_cell: float
    per_slot: float
    half: float


class Samples(NamedTuple):
    """Boxes of a fingerprint in canonical order, [m] each."""

    t_start: Numbers
    t_end: Numbers
    x_min: Numbers
    y_min: Numbers
    x_max: Numbers
    y_max: Numbers
    latest_end: Numbers  # the latest end among this and all earlier boxes


CHUNK: Final = 32  # consecutive samples or places per hull; they lie near each other


class Hulls(NamedTuple):
    """Rectangles around every CHUNK samples, or places: offsets[i] to offsets[i + 1]."""

    offsets: Integers
    bounds: Integers  # [c, 4], least and greatest x, least and greatest y


class Raw(NamedTuple):
    """Raw samples, by (t, x, y) within each subject."""

    offsets: Integers  # subject i owns rows offsets[i] to offsets[i + 1]
    t: Integers
    x: Integers
    y: Integers
    place: Integers  # [m] index among its subject's distinct places
    place_offsets: Integers  # [n + 1] distinct places of each subject
    place_x: Integers
    place_y: Integers
    bounds: Integers  # [n, 4] least and greatest x, least and greatest y
    chunks: Hulls  # hulls of samples
    place_chunks: Hulls  # hulls of places


@compiled
def _surrounding_box(boxes: Samples) -> tuple[Any, Any, Any, Any]:
    return boxes.x_min.min(), boxes.x_max.max(), boxes.y_min.min(), boxes.y_max.max()


@compiled
def _space_to(around: tuple[Any, Any, Any, Any], a: Samples, i: int, n_a: int, n_b: int, scale: Scale) -> Any:
    away = max(around[0] - a.x_max[i], a.x_min[i] - around[1], 0) + max(
        around[2] - a.y_max[i], a.y_min[i] - around[3], 0
    )
    return (n_a + n_b) * min(scale.per_cell * away, scale.half)


@compiled
def _nearest_box(
    a: Samples, i: int, n_a: int, b: Samples, near: int, n_b: int, least_space: Any, scale: Scale
) -> tuple[int, Any]:
    """(Position, cost times n_a + n_b) of the first of b's boxes with the least stretch."""
    # near: the first position in b whose start is not before that of box i. least_space: lower bound of the
    # spatial cost, times n_a + n_b. The search runs both ways from ``near`` until a bound on the cost of all
    # further boxes reaches the best so far. With H the length of the hull in time, the cost is n_a (H - d_a)
    # + n_b (H - d_b). A box that starts s after a's has H - d_b >= s and H - d_a >= s - d_a. One that starts
    # s before has H - d_a >= s and H - d_b >= the end of a's box less its own.
    both = n_a + n_b
    cap = both * scale.half
    t_start, t_end, x_min = a.t_start[i], a.t_end[i], a.x_min[i]
    y_min, x_max, y_max = a.y_min[i], a.x_max[i], a.y_max[i]
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
    """(Position, cost times n_a + n_b) of b's first box with the least stretch from each of a's."""
    chosen = np.empty(len(a.t_start), dtype=np.int64)
    cost = np.empty(len(a.t_start), dtype=a.t_start.dtype)
    around_b = _surrounding_box(b)
    near = 0
    for i in range(len(a.t_start)):
        while near < len(b.t_start) and b.t_start[near] < a.t_start[i]:
            near += 1
        chosen[i], cost[i] = _nearest_box(
            a, i, n_a, b, near, n_b, _space_to(around_b, a, i, n_a, n_b, scale), scale
        )
    return chosen, cost


@compiled
def box_sum(a: Samples, n_a: int, b: Samples, n_b: int, scale: Scale, limit: float) -> Any:
    """Sum over a's boxes of the least cost to any of b, times n_a + n_b: Eq. 10 before division."""
    # stops early above ``limit``
    total = 0 * scale.half
    around_b = _surrounding_box(b)
    near = 0
    for i in range(len(a.t_start)):
        while near < len(b.t_start) and b.t_start[near] < a.t_start[i]:
            near += 1
        total += _nearest_box(a, i, n_a, b, near, n_b, _space_to(around_b, a, i, n_a, n_b, scale), scale)[1]
        if total > limit:
            break
    return total


@compiled_for_many
def box_effort(a: Samples, n_a: int, b: Samples, n_b: int, scale: Scale, ceiling: float) -> float:
    """Fingerprint stretch, times 2 * half; of equal lengths the larger direction counts."""
    # efforts above ``ceiling`` may be inexact
    total = 0 * scale.half
    m_a, m_b = len(a.t_start), len(b.t_start)
    whole = (n_a + n_b) * max(m_a, m_b)
    limit = ceiling * whole * (1 + 1e-12)
    if m_a >= m_b:
        total = box_sum(a, n_a, b, n_b, scale, limit)
    if m_b >= m_a and total <= limit:
        total = max(total, box_sum(b, n_b, a, n_a, scale, limit))
    return float(total / whole)
