"""Likeliest place of each record during some hours."""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from shoal.kernels.likelihood import hull_density
from shoal.kernels.ordering import first_not_below, sort_in_place
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled, compiled_for_many

_ALIKE: Final = 1 - 1e-9  # of the maximum: equal except for rounding


class WeightedAreas(NamedTuple):
    """Weighted rectangles; record i has offsets[i] to offsets[i + 1]. Maxima are excluded."""

    offsets: Integers
    x_min: Integers
    y_min: Integers
    x_max: Integers
    y_max: Integers
    weights: Floats  # 0 = ignored


@compiled
def _sort_distinct(values: Integers) -> Integers:
    sort_in_place(values)
    count = 0
    for i in range(len(values)):
        if count == 0 or values[i] != values[count - 1]:
            values[count] = values[i]
            count += 1
    return values[:count]


@compiled
def _sides_along(spread: WeightedAreas, record: int, low: Integers, high: Integers, inside: int) -> Integers:
    # inside: 1 = the last cell of each area, 0 = the one behind it
    sides, n = np.empty(2 * (spread.offsets[record + 1] - spread.offsets[record]), dtype=np.int64), 0
    for i in range(spread.offsets[record], spread.offsets[record + 1]):
        if spread.weights[i] > 0:
            sides[n], sides[n + 1] = low[i], high[i] - inside
            n += 2
    return _sort_distinct(sides[:n])


@compiled
def _expected_presence(spread: WeightedAreas, record: int) -> Any:
    xs = _sides_along(spread, record, spread.x_min, spread.x_max, 0)
    ys = _sides_along(spread, record, spread.y_min, spread.y_max, 0)
    presence = np.zeros((len(xs), len(ys)))
    for corner in range(4):
        east, north = corner % 2, corner // 2
        for i in range(spread.offsets[record], spread.offsets[record + 1]):
            if spread.weights[i] > 0:
                x0, x1, y0, y1 = spread.x_min[i], spread.x_max[i], spread.y_min[i], spread.y_max[i]
                density = spread.weights[i] / ((x1 - x0) * (y1 - y0))
                at_x = first_not_below(xs, 0, len(xs), x1 if east else x0)
                at_y = first_not_below(ys, 0, len(ys), y1 if north else y0)
                presence[at_x, at_y] += density if east == north else -density
    for i in range(1, len(xs)):
        for j in range(len(ys)):
            presence[i, j] += presence[i - 1, j]
    for i in range(len(xs)):
        for j in range(1, len(ys)):
            presence[i, j] += presence[i, j - 1]
    return xs, ys, presence


@compiled
def _first_likeliest(spread: WeightedAreas, record: int) -> tuple[bool, int, int]:
    xs, ys, presence = _expected_presence(spread, record)
    if len(xs):
        most = presence.max() * _ALIKE
        for i in range(len(xs)):
            for j in range(len(ys)):
                if presence[i, j] >= most:
                    return True, xs[i], ys[j]
    return False, 0, 0


@compiled
def _likeliest_contains(spread: WeightedAreas, record: int, x: int, y: int) -> bool:
    xs, ys, presence = _expected_presence(spread, record)
    if not len(xs) or x < xs[0] or y < ys[0]:
        return False
    i, j = first_not_below(xs, 0, len(xs), x + 1) - 1, first_not_below(ys, 0, len(ys), y + 1) - 1
    return bool(presence[i, j] >= presence.max() * _ALIKE)


@compiled
def chance_at_likeliest(spread: WeightedAreas, record: int, x: int, y: int) -> float:
    """The chance to name this cell among the record's likeliest."""
    xs, ys, presence = _expected_presence(spread, record)
    if not len(xs):
        return 0.0
    most, cells, right = presence.max() * _ALIKE, 0, False
    for i in range(len(xs) - 1):
        for j in range(len(ys) - 1):
            if presence[i, j] >= most:
                cells += (xs[i + 1] - xs[i]) * (ys[j + 1] - ys[j])
                right = right or (xs[i] <= x < xs[i + 1] and ys[j] <= y < ys[j + 1])
    return 1.0 / cells if right else 0.0


@compiled_for_many
def find_homes(spread: WeightedAreas, present: Flags, x: Integers, y: Integers) -> None:
    """Whether records have weighted areas, and the first of their likeliest cells."""
    for record in range(len(present)):
        present[record], x[record], y[record] = _first_likeliest(spread, record)


@compiled_for_many
def check_homes(
    raw: WeightedAreas,
    published: WeightedAreas,
    people: Integers,
    records: Integers,
    present: Flags,
    retained: Flags,
) -> None:
    """Fill present [n] (raw data has an area) and retained [n] (the record's likeliest area contains it)."""
    for i in range(len(people)):
        present[i], x, y = _first_likeliest(raw, people[i])
        retained[i] = present[i] and _likeliest_contains(published, records[i], x, y)


@compiled
def _add_presence(
    spread: WeightedAreas, record: int, n: int, xs: Integers, ys: Integers, expected: Floats, steady: Floats
) -> None:
    # A box is taken as the hull of n samples or a few more. expected: [i, j], the cell's share of each box.
    # steady: log of how much likelier the box is if the person returns to this cell than for one of 1,000
    # cells; many boxes that could contain the cell count more than one that must.
    kinds = np.empty((2, 2))  # logarithms of the four possible shares
    for b in range(spread.offsets[record], spread.offsets[record + 1]):
        if spread.weights[b] <= 0:
            continue
        x0, y0, x1, y1 = spread.x_min[b], spread.y_min[b], spread.x_max[b], spread.y_max[b]
        first_i, first_j = first_not_below(xs, 0, len(xs), x0), first_not_below(ys, 0, len(ys), y0)
        last_i, last_j = first_not_below(xs, 0, len(xs), x1), first_not_below(ys, 0, len(ys), y1)
        kinds[:] = -1.0
        for i in range(first_i, last_i):
            in_x = hull_density(x0, x1, xs[i], n)
            end_x = 1 if xs[i] == x0 or xs[i] == x1 - 1 else 0
            for j in range(first_j, last_j):
                end_y = 1 if ys[j] == y0 or ys[j] == y1 - 1 else 0
                share = in_x * hull_density(y0, y1, ys[j], n)
                if kinds[end_x, end_y] < 0.0:
                    kinds[end_x, end_y] = math.log1p(1000.0 * share)
                expected[i, j] += spread.weights[b] * share
                steady[i, j] += spread.weights[b] * kinds[end_x, end_y]


@compiled
def _chance_of(presence: Floats, xs: Integers, ys: Integers, x: int, y: int) -> float:
    cells, most = 0, presence.max() * _ALIKE
    for i in range(len(xs)):
        for j in range(len(ys)):
            cells += presence[i, j] >= most
    i, j = first_not_below(xs, 0, len(xs), x), first_not_below(ys, 0, len(ys), y)
    right = i < len(xs) and j < len(ys) and xs[i] == x and ys[j] == y and presence[i, j] >= most
    return 1.0 / cells if right else 0.0


@compiled
def chances_at_corners(spread: WeightedAreas, record: int, n: int, x: int, y: int) -> tuple[float, float]:
    """The chances by the steadiest and by the highest expected presence."""
    # candidates are the cells where sides meet; a box is taken as the hull of n samples or a few more
    xs = _sides_along(spread, record, spread.x_min, spread.x_max, 1)
    ys = _sides_along(spread, record, spread.y_min, spread.y_max, 1)
    if not len(xs):
        return 0.0, 0.0
    expected, steady = np.zeros((len(xs), len(ys))), np.zeros((len(xs), len(ys)))
    _add_presence(spread, record, n, xs, ys, expected, steady)
    return _chance_of(steady, xs, ys, x, y), _chance_of(expected, xs, ys, x, y)


@compiled_for_many
def fill_place_chances(
    spread: WeightedAreas, sizes: Integers, x: Integers, y: Integers, chances: Floats
) -> None:
    """Fill chances [r, 3] to name (x, y) by steadiest, expected and even presence."""
    # boxes are taken as hulls of ``sizes`` samples, in the last column as filled evenly
    for record in range(len(chances)):
        chances[record, 0], chances[record, 1] = chances_at_corners(
            spread, record, sizes[record], x[record], y[record]
        )
        chances[record, 2] = chance_at_likeliest(spread, record, x[record], y[record])
