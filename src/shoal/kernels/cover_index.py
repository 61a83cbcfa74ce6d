"""Whose boxes hold a position: searches through boxes that are sorted along one axis.

They stand in classes of similar length. Class L holds the boxes whose extent along the axis is at most 2**L,
sorted by their start. So the boxes that may hold a position start in a known range, and every box stands in
the index once.
"""

import math
from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


class Index(NamedTuple):
    """Boxes of records, int64 [b, 6], in classes along one axis.

    Class L is rows class_offsets[L] to class_offsets[L + 1]. record: [b] whose box each one is.
    """

    class_offsets: Integers
    boxes: Integers
    record: Integers


class Known(NamedTuple):
    """What is known of each victim, and where the search may come out.

    Victim v knows samples[offsets[v] : offsets[v + 1]], int64 [m, 3] slots and cells. own: [v] the own
    record, -1 = none. picks: [v] shares of the list of candidates, 0 to 1.
    """

    offsets: Integers
    samples: Integers
    own: Integers
    picks: Numbers


class Followed(NamedTuple):
    """What was found for each victim and each number of known samples.

    candidates: [v, p] records that cover the first 1..p known samples; own_fits: whether the own one does.
    With fewer than p samples known, the last count is repeated. chosen: [v] the candidate at the share
    ``picks`` of the list for all known samples, -1 where there is none.
    """

    candidates: Integers
    own_fits: Integers
    chosen: Integers


class Trail(NamedTuple):
    """A workspace: fits [records], how many samples in a row each record covers; touched [records]."""

    fits: Integers
    touched: Integers


class Noise(NamedTuple):
    """Standard deviations of an observation's errors, in slots and in cells on each axis.

    most_deviations: a box farther away than that on an axis counts as impossible. floor: the density of an
    observation that no box explains.
    """

    slots: float
    cells: float
    most_deviations: float
    floor: float


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
    sample: Integers, point: int, index: Index, starts: Integers, trail: Trail, n_touched: int
) -> tuple[int, int]:
    """Raise ``fits`` of the records that cover this sample and all ``point`` before it.

    How many those are, and how many were touched.
    """
    t, x, y = sample
    boxes, fits = index.boxes, trail.fits
    left = 0
    for level in range(len(index.class_offsets) - 1):
        end = index.class_offsets[level + 1]
        place = first_not_below(starts, index.class_offsets[level], end, t - (1 << level) + 1)
        while place < end and starts[place] <= t:
            if (
                boxes[place, 1] > t
                and boxes[place, 2] <= x < boxes[place, 4]
                and boxes[place, 3] <= y < boxes[place, 5]
            ):
                one = index.record[place]
                if fits[one] == point:
                    fits[one] = point + 1
                    left += 1
                    if point == 0:
                        trail.touched[n_touched] = one
                        n_touched += 1
            place += 1
    return left, n_touched


@compiled
def follow_points(known: Known, index: Index, n_records: int, found: Followed) -> None:
    """Fill ``found``: for each victim and number of known samples, which records cover all of them."""
    own, candidates, own_fits = known.own, found.candidates, found.own_fits
    starts = index.boxes[:, 0].copy()
    fits = np.zeros(n_records, dtype=np.int64)
    touched = np.empty(n_records, dtype=np.int64)
    trail = Trail(fits, touched)
    for victim in range(len(own)):
        n_touched, left, own_left, point = 0, 0, 0, 0
        for row in range(known.offsets[victim], known.offsets[victim + 1]):
            left, n_touched = _advance(known.samples[row], point, index, starts, trail, n_touched)
            point += 1
            own_left = 1 if own[victim] >= 0 and fits[own[victim]] == point else 0
            if point <= candidates.shape[1]:
                candidates[victim, point - 1] = left
                own_fits[victim, point - 1] = own_left
        for rest in range(point, candidates.shape[1]):
            candidates[victim, rest] = left
            own_fits[victim, rest] = own_left
        found.chosen[victim] = -1
        wanted = int(known.picks[victim] * left)
        for i in range(n_touched):
            if fits[touched[i]] == point:
                if wanted == 0:
                    found.chosen[victim] = touched[i]
                wanted -= 1
            fits[touched[i]] = 0


@compiled
def expected_visits(cells: Integers, index: Index, visits: Numbers) -> None:
    """Add to ``visits`` [records, cells] what each box gives to each cell that it holds: 1 / its area.

    cells: int64 [c, 2] x and y. index: over x.
    """
    boxes, class_offsets = index.boxes, index.class_offsets
    starts = boxes[:, 2].copy()
    for number in range(len(cells)):
        x, y = cells[number, 0], cells[number, 1]
        for level in range(len(class_offsets) - 1):
            end = class_offsets[level + 1]
            place = first_not_below(starts, class_offsets[level], end, x - (1 << level) + 1)
            while place < end and starts[place] <= x:
                if boxes[place, 4] > x and boxes[place, 3] <= y < boxes[place, 5]:
                    area = (boxes[place, 4] - boxes[place, 2]) * (boxes[place, 5] - boxes[place, 3])
                    visits[index.record[place], number] += 1.0 / area
                place += 1


@compiled
def _density(low: float, high: float, seen: float, noise: float) -> float:
    """Mean density, over a position's interval [low, high), of seeing it at ``seen`` with Gaussian noise."""
    scale = noise * math.sqrt(2.0)
    return 0.5 * (math.erf((high - seen) / scale) - math.erf((low - seen) / scale)) / (high - low)


@compiled
def noisy_scores(seen: Numbers, noise: Noise, index: Index, scores: Numbers) -> None:
    """Add to ``scores`` [records] the log-likelihood of each noisy observation by a record's likeliest box.

    seen: float [p, 3] in slots and cells. index: over time.
    """
    boxes, class_offsets = index.boxes, index.class_offsets
    late, far = noise.most_deviations * noise.slots, noise.most_deviations * noise.cells
    starts = boxes[:, 0].copy()
    best = np.zeros(len(scores))
    for row in range(len(seen)):
        t, x, y = seen[row, 0], seen[row, 1], seen[row, 2]
        best[:] = 0.0
        first, last = math.floor(t - late), math.ceil(t + late)
        for level in range(len(class_offsets) - 1):
            end = class_offsets[level + 1]
            place = first_not_below(starts, class_offsets[level], end, first - (1 << level) + 1)
            while place < end and starts[place] <= last:
                if (
                    boxes[place, 1] >= first
                    and boxes[place, 2] <= x + far
                    and boxes[place, 4] >= x - far
                    and boxes[place, 3] <= y + far
                    and boxes[place, 5] >= y - far
                ):
                    likelihood = (
                        _density(boxes[place, 0], boxes[place, 1], t, noise.slots)
                        * _density(boxes[place, 2], boxes[place, 4], x, noise.cells)
                        * _density(boxes[place, 3], boxes[place, 5], y, noise.cells)
                    )
                    best[index.record[place]] = max(best[index.record[place]], likelihood)
                place += 1
        for one in range(len(scores)):
            scores[one] += math.log(best[one] + noise.floor)
