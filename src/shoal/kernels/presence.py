"""Bounds on presence: regions, zones, trips between zones, hours of the day.

Sums follow the rows, so results do not depend on the number of threads.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from shoal.kernels.box_measures import BoxColumns
from shoal.kernels.ordering import first_above, first_not_below
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled, compiled_for_many
from shoal.units import DAY_S, HOUR_S

_ROUNDING: Final = 1e-9
_HOURS: Final = 24
_HOUR_S: Final = int(HOUR_S)
_FEWEST_PAIRS: Final = 256  # a power of two
_SPREAD: Final = 331_804_471  # 2**32 by the golden ratio and 8: consecutive keys fall apart (Knuth, Sec. 6.4)
# Roberts 2018, R3: powers of 1 / 1.22074
_SPREAD_X: Final = 0.8191725134
_SPREAD_Y: Final = 0.6710436067
_SPREAD_T: Final = 0.5497004779
_MONDAY_1970: Final = 4  # 1 January 1970 was a Thursday; days are counted from there


class Windows(NamedTuple):
    """Regions, [w, 6] each, in the order of BoxColumns."""

    edges: Floats  # seconds and meters, half-open
    last: Integers  # last starts and first ends of touching boxes, in slots and cells: integers decide that


class Raster(NamedTuple):
    """Edges of columns and rows in meters, ascending, and a cell's side."""

    x_m: Floats
    y_m: Floats
    cell_m: float


class ClockChanges(NamedTuple):
    """When a clock may change, seconds ascending, and seconds ahead of UTC from then on."""

    moments_s: Floats
    utc_offsets_s: Floats


@compiled
def _share_in(low: float, high: float, first: float, last: float) -> float:
    share = (min(high, last) - max(low, first)) / (high - low)
    if share < _ROUNDING:
        return 0.0
    return 1.0 if share > 1 - _ROUNDING else share


@compiled
def _hull_of(boxes: BoxColumns, begin: int, end: int, hull: Integers) -> bool:
    hull[0], hull[2], hull[3] = boxes.t_start[begin], boxes.x_min[begin], boxes.y_min[begin]
    hull[1], hull[4], hull[5] = boxes.t_end[begin], boxes.x_max[begin], boxes.y_max[begin]
    in_order = True
    for i in range(begin + 1, end):
        if boxes.t_start[i] < boxes.t_start[i - 1] or boxes.t_end[i] < boxes.t_end[i - 1]:
            in_order = False
        hull[0] = min(hull[0], boxes.t_start[i])
        hull[1] = max(hull[1], boxes.t_end[i])
        hull[2] = min(hull[2], boxes.x_min[i])
        hull[3] = min(hull[3], boxes.y_min[i])
        hull[4] = max(hull[4], boxes.x_max[i])
        hull[5] = max(hull[5], boxes.y_max[i])
    return in_order


@compiled
def chances_in(
    boxes: BoxColumns,
    offsets: Integers,
    slot_s: float,
    cell_m: float,
    windows: Windows,
    chances: Floats,
    counts: Integers,
) -> None:
    """Fill chances [w, records] that each record is in each window."""
    # 0 where no box touches; counts: [2, w], incremented by records certainly and possibly inside
    hull = np.empty(6, dtype=np.int64)
    for record in range(len(offsets) - 1):
        begin, end = offsets[record], offsets[record + 1]
        if begin == end:
            continue
        in_order = _hull_of(boxes, begin, end, hull)
        for w in range(len(windows.edges)):
            t0, t1, x0, y0, x1, y1 = windows.last[w]
            if not (
                hull[0] <= t0
                and hull[1] >= t1
                and hull[2] <= x0
                and hull[3] <= y0
                and hull[4] >= x1
                and hull[5] >= y1
            ):
                continue
            near, beyond = begin, end
            if in_order:
                near = first_not_below(boxes.t_end, begin, end, t1)
                beyond = first_above(boxes.t_start, begin, end, t0)
            edges = windows.edges[w]
            touches, surely, perhaps, absent = False, False, False, 1.0
            for i in range(near, beyond):
                if (
                    boxes.x_min[i] <= x0
                    and boxes.x_max[i] >= x1
                    and boxes.y_min[i] <= y0
                    and boxes.y_max[i] >= y1
                    and boxes.t_start[i] <= t0
                    and boxes.t_end[i] >= t1
                ):
                    share = _share_in(boxes.t_start[i] * slot_s, boxes.t_end[i] * slot_s, edges[0], edges[1])
                    share *= _share_in(boxes.x_min[i] * cell_m, boxes.x_max[i] * cell_m, edges[2], edges[4])
                    share *= _share_in(boxes.y_min[i] * cell_m, boxes.y_max[i] * cell_m, edges[3], edges[5])
                    absent *= 1 - share
                    touches = True
                    surely = surely or share >= 1
                    perhaps = perhaps or share > 0
            if touches:
                chances[w, record] = 1 - absent
                counts[0, w] += surely
                counts[1, w] += perhaps


@compiled
def _shares_along(low: float, high: float, edges: Floats, shares: Floats) -> tuple[int, int]:
    first = max(first_above(edges, 0, len(edges), low) - 1, 0)
    while first < len(edges) - 1 and _share_in(low, high, edges[first], edges[first + 1]) == 0:
        first += 1
    end = first
    while end < len(edges) - 1:
        shares[end] = _share_in(low, high, edges[end], edges[end + 1])
        if shares[end] == 0:
            break
        end += 1
    return first, end


@compiled
def count_visitors(boxes: BoxColumns, offsets: Integers, raster: Raster, counts: Floats) -> None:
    """Fill counts [3, zones] with certain, expected and possible visitors."""
    columns, rows, cell_m = len(raster.x_m) - 1, len(raster.y_m) - 1, raster.cell_m
    east, north = np.empty(columns), np.empty(rows)
    absent, sure, seen = np.ones(columns * rows), np.zeros(columns * rows), np.zeros(columns * rows)
    touched = np.empty(columns * rows, dtype=np.int64)
    counts[:] = 0.0
    area = (0, 0, 0, 0)  # of no box
    for record in range(len(offsets) - 1):
        n_touched = 0
        for i in range(offsets[record], offsets[record + 1]):
            before, area = area, (boxes.x_min[i], boxes.x_max[i], boxes.y_min[i], boxes.y_max[i])
            if area != before:  # many samples are where the last one was
                x0, x1 = _shares_along(area[0] * cell_m, area[1] * cell_m, raster.x_m, east)
                y0, y1 = _shares_along(area[2] * cell_m, area[3] * cell_m, raster.y_m, north)
            for row in range(y0, y1):
                for column in range(x0, x1):
                    zone, share = row * columns + column, north[row] * east[column]
                    if seen[zone] == 0:
                        seen[zone] = 1.0
                        touched[n_touched] = zone
                        n_touched += 1
                    absent[zone] *= 1 - share
                    sure[zone] = max(sure[zone], share)
        for place in range(n_touched):
            zone = touched[place]
            counts[0, zone] += sure[zone] >= 1
            counts[1, zone] += 1 - absent[zone]
            counts[2, zone] += 1
            absent[zone], sure[zone], seen[zone] = 1.0, 0.0, 0.0


@compiled
def _last_edge(edges: Floats, at: float, first: int) -> int:
    # the last edge that is not above ``at``, from this one on; at most few lie between
    while first + 1 < len(edges) and edges[first + 1] <= at:
        first += 1
    return first


@compiled
def _point_in(low: int, high: int, number: float) -> float:
    # the fraction of the number: its remainder by 1, many times faster
    return low + (number - math.floor(number)) * (high - low)


@compiled
def _slot_of(key: int, pairs: Integers) -> int:
    # the row of this pair of hour and zone, or the free one for it
    last = len(pairs) - 1
    place = (key * _SPREAD >> 16) & last
    while pairs[place, 1] > 0 and pairs[place, 0] != key:
        place = (place + 1) & last
    return place


@compiled
def _with_room(full: Integers, n: int) -> Integers:
    pairs = np.zeros((2 * len(full), 3), dtype=np.int64)
    for number in range(n):
        row = full[number, 2]
        pairs[number, 2] = place = _slot_of(full[row, 0], pairs)
        pairs[place, 0], pairs[place, 1] = full[row, 0], full[row, 1]
    return pairs


@compiled
def count_people_by_hour(
    boxes: BoxColumns,
    offsets: Integers,
    slot_s: float,
    raster: Raster,
    clock: ClockChanges,
    points: int,
    often: Integers,
    counts: Floats,
) -> None:
    """Add to counts [24, zones] the records in each zone in each local hour, as shares of points of a box.

    often [records]: how many equal records each stands for.
    """
    columns, rows, cell_m = len(raster.x_m) - 1, len(raster.y_m) - 1, raster.cell_m
    # a hash table of hour and zone, and their points, 0 = free; the last column lists the rows in use
    pairs = np.zeros((_FEWEST_PAIRS, 3), dtype=np.int64)
    for record in range(len(offsets) - 1):
        if often[record] == 0:
            continue
        n_pairs = 0
        for i in range(offsets[record], offsets[record + 1]):
            x_min, y_min, t_start = boxes.x_min[i], boxes.y_min[i], boxes.t_start[i]
            x_max, y_max, t_end = boxes.x_max[i], boxes.y_max[i], boxes.t_end[i]
            # of the box alone, so that the order of records does not matter
            number = (t_start * 73_856_093 ^ x_min * 19_349_663 ^ y_min * 83_492_791) & 0xFFFF
            number = 0 if points == 1 else number * points
            west = first_above(raster.x_m, 0, columns + 1, x_min * cell_m) - 1
            south = first_above(raster.y_m, 0, rows + 1, y_min * cell_m) - 1
            before = first_above(clock.moments_s, 0, len(clock.moments_s), t_start * slot_s) - 1
            for point in range(number, number + points):
                x = _point_in(x_min, x_max, 0.5 + _SPREAD_X * point)
                y = _point_in(y_min, y_max, 0.5 + _SPREAD_Y * point)
                column = _last_edge(raster.x_m, x * cell_m, west)
                row = _last_edge(raster.y_m, y * cell_m, south)
                if not (0 <= column < columns and 0 <= row < rows):
                    continue
                at_s = _point_in(t_start, t_end, 0.5 + _SPREAD_T * point) * slot_s
                ahead_s = clock.utc_offsets_s[_last_edge(clock.moments_s, at_s, before)]
                key = (int(np.floor((at_s + ahead_s) / HOUR_S)) * rows + row) * columns + column
                place = _slot_of(key, pairs)
                if pairs[place, 1] == 0:
                    pairs[place, 0], pairs[n_pairs, 2] = key, place
                    n_pairs += 1
                pairs[place, 1] += 1
                if 2 * n_pairs > len(pairs):
                    pairs = _with_room(pairs, n_pairs)
        for place in pairs[:n_pairs, 2]:
            hour, zone = divmod(pairs[place, 0], columns * rows)
            counts[hour % _HOURS, zone] += often[record] * min(1.0, pairs[place, 1] / points)
            pairs[place, 1] = 0


@compiled
def _seconds_until(moment: float, hour: int) -> float:
    whole, rest = moment // DAY_S, moment % DAY_S
    return whole * HOUR_S + min(max(rest - hour * HOUR_S, 0.0), HOUR_S)


@compiled_for_many
def hours_of_day(t_start: Integers, t_end: Integers, slot_s: float, counts: Floats) -> Any:
    """Add to counts [3, 24]: intervals wholly inside, sum of shares, touching intervals."""
    for i in range(len(t_start)):
        start, end = t_start[i] * slot_s, t_end[i] * slot_s
        hour = int(start) // _HOUR_S
        if start < end <= (hour + 1) * _HOUR_S and start == int(start) and end == int(end):
            for kind in range(3):  # whole seconds within one hour, as nearly all samples have
                counts[kind, hour % _HOURS] += 1
            continue
        first = int(np.floor(start / HOUR_S + _ROUNDING))
        hours = min(int(np.ceil(end / HOUR_S - _ROUNDING)) - first, _HOURS)
        if hours == 1:
            counts[0, first % _HOURS] += 1
        for hour in range(first, first + hours):
            counts[2, hour % _HOURS] += 1
        first, last = int(start % DAY_S // HOUR_S), int(end % DAY_S // HOUR_S) + 1
        if start // DAY_S != end // DAY_S:
            first, last = 0, _HOURS
        for hour in range(first, min(last, _HOURS)):
            counts[1, hour] += (_seconds_until(end, hour) - _seconds_until(start, hour)) / (end - start)


@compiled_for_many
def share_in_hours(
    start: Floats, end: Floats, first: float, last: float, working_days: bool, inside: Floats
) -> None:
    """Add to inside [b] the share of each interval between two times of day, in seconds UTC."""
    # first, last: of the day on which the hours begin; working_days: only Monday to Friday
    for b in range(len(start)):
        total = 0.0
        for day in range(math.floor((start[b] - last) / DAY_S), math.floor(end[b] / DAY_S) + 1):
            if working_days and (day - _MONDAY_1970) % 7 >= 5:
                continue
            total += max(min(end[b], day * DAY_S + last) - max(start[b], day * DAY_S + first), 0.0)
        inside[b] += total / (end[b] - start[b])
