"""Who is covered: loops over boxes that are sorted by one axis, in classes of similar length.

Class L holds the boxes whose extent along the axis is at most 2**L, sorted by their start, so the boxes that
may hold a position start in a known range, and every box stands in the index once.
"""

import math

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


@compiled
def first_not_below(values: Integers, low: int, high: int, wanted: int) -> int:
    """Position of the first of values[low:high] (ascending) that is at least ``wanted``.

    ``high`` where there is none.
    """
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _advance(
    t: int,
    x: int,
    y: int,
    point: int,
    class_offsets: Integers,
    starts: Integers,
    boxes: Integers,
    record: Integers,
    fits: Integers,
    touched: Integers,
    n_touched: int,
) -> tuple[int, int]:
    """Raise ``fits`` of the records that cover this sample and all ``point`` before it.

    How many those are, and how many were touched.
    """
    left = 0
    for level in range(len(class_offsets) - 1):
        end = class_offsets[level + 1]
        place = first_not_below(starts, class_offsets[level], end, t - (1 << level) + 1)
        while place < end and starts[place] <= t:
            if (
                boxes[place, 1] > t
                and boxes[place, 2] <= x < boxes[place, 4]
                and boxes[place, 3] <= y < boxes[place, 5]
            ):
                one = record[place]
                if fits[one] == point:
                    fits[one] = point + 1
                    left += 1
                    if point == 0:
                        touched[n_touched] = one
                        n_touched += 1
            place += 1
    return left, n_touched


@compiled
def follow_points(
    known_offsets: Integers,
    known: Integers,
    own: Integers,
    picks: Numbers,
    class_offsets: Integers,
    boxes: Integers,
    record: Integers,
    n_records: int,
    candidates: Integers,
    own_fits: Integers,
    chosen: Integers,
) -> None:
    """Fill, for each victim and each number of known samples, how many records cover all of them, and whether ``own`` does.

    known: int64 [m, 3] slots and cells; victim v knows rows known_offsets[v] to [v + 1]. boxes: int64 [b, 6] in the order of the
    index. candidates, own_fits: [v, p]; with fewer than p samples known the last count is repeated. chosen: [v], the candidate at
    the share ``picks`` of the list for all known samples, -1 where there is none.
    """
    starts = boxes[:, 0].copy()
    fits = np.zeros(n_records, dtype=np.int64)
    touched = np.empty(n_records, dtype=np.int64)
    for victim in range(len(own)):
        n_touched, left, own_left, point = 0, 0, 0, 0
        for row in range(known_offsets[victim], known_offsets[victim + 1]):
            t, x, y = known[row, 0], known[row, 1], known[row, 2]
            left, n_touched = _advance(
                t, x, y, point, class_offsets, starts, boxes, record, fits, touched, n_touched
            )
            point += 1
            own_left = 1 if own[victim] >= 0 and fits[own[victim]] == point else 0
            if point <= candidates.shape[1]:
                candidates[victim, point - 1] = left
                own_fits[victim, point - 1] = own_left
        for rest in range(point, candidates.shape[1]):
            candidates[victim, rest] = left
            own_fits[victim, rest] = own_left
        chosen[victim] = -1
        wanted = int(picks[victim] * left)
        for i in range(n_touched):
            if fits[touched[i]] == point:
                if wanted == 0:
                    chosen[victim] = touched[i]
                wanted -= 1
            fits[touched[i]] = 0


@compiled
def expected_visits(
    cells: Integers,
    class_offsets: Integers,
    boxes: Integers,
    record: Integers,
    visits: Numbers,
) -> None:
    """Add to ``visits`` [records, cells] each box's share of one visit to each cell that it holds: 1 / its area.

    cells: int64 [c, 2] x and y. boxes: int64 [b, 6] in the order of an index over x.
    """
    starts = boxes[:, 2].copy()
    for number in range(len(cells)):
        x, y = cells[number, 0], cells[number, 1]
        for level in range(len(class_offsets) - 1):
            end = class_offsets[level + 1]
            place = first_not_below(starts, class_offsets[level], end, x - (1 << level) + 1)
            while place < end and starts[place] <= x:
                if boxes[place, 4] > x and boxes[place, 3] <= y < boxes[place, 5]:
                    area = (boxes[place, 4] - boxes[place, 2]) * (boxes[place, 5] - boxes[place, 3])
                    visits[record[place], number] += 1.0 / area
                place += 1


@compiled
def _density(low: float, high: float, seen: float, noise: float) -> float:
    """Density of an observation ``seen`` of a position that is uniform in [low, high), with Gaussian noise.

    Mean over the interval.
    """
    scale = noise * math.sqrt(2.0)
    return 0.5 * (math.erf((high - seen) / scale) - math.erf((low - seen) / scale)) / (high - low)


@compiled
def noisy_scores(
    seen: Numbers,
    noise_slots: float,
    noise_cells: float,
    reach: float,
    floor: float,
    class_offsets: Integers,
    boxes: Integers,
    record: Integers,
    scores: Numbers,
) -> None:
    """Add to ``scores`` [records] the log-likelihood of each noisy observation, taking the record's likeliest box for each.

    seen: float [p, 3] in slots and cells. reach: boxes further than so many deviations on an axis count as impossible.
    floor: the density of an observation that no box explains.
    """
    starts = boxes[:, 0].copy()
    best = np.zeros(len(scores))
    for row in range(len(seen)):
        t, x, y = seen[row, 0], seen[row, 1], seen[row, 2]
        best[:] = 0.0
        first, last = math.floor(t - reach * noise_slots), math.ceil(t + reach * noise_slots)
        for level in range(len(class_offsets) - 1):
            end = class_offsets[level + 1]
            place = first_not_below(starts, class_offsets[level], end, first - (1 << level) + 1)
            while place < end and starts[place] <= last:
                if (
                    boxes[place, 1] >= first
                    and boxes[place, 2] <= x + reach * noise_cells
                    and boxes[place, 4] >= x - reach * noise_cells
                    and boxes[place, 3] <= y + reach * noise_cells
                    and boxes[place, 5] >= y - reach * noise_cells
                ):
                    likelihood = (
                        _density(boxes[place, 0], boxes[place, 1], t, noise_slots)
                        * _density(boxes[place, 2], boxes[place, 4], x, noise_cells)
                        * _density(boxes[place, 3], boxes[place, 5], y, noise_cells)
                    )
                    best[record[place]] = max(best[record[place]], likelihood)
                place += 1
        for one in range(len(scores)):
            scores[one] += math.log(best[one] + floor)
