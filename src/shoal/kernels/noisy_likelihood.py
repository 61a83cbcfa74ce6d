"""How likely noisy observations are under each record that could hold what was observed.

The cues are those of exact samples (`shoal.kernels.likelihood`), blurred: an observation is a sample with
Gaussian errors on each axis.
"""

import math
from typing import Final, NamedTuple

from shoal.kernels.cover_index import first_not_below
from shoal.kernels.likelihood import NOWHERE, Book, Desk, Followers, Weighed, answer, desk_for
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

MARGIN: Final = 10.0  # in natural logarithms: a record 22,000 times less likely is not looked at any closer


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
def _blurred(low: int, high: int, seen: float, noise: float) -> float:
    """Mean density, over a position's interval [low, high), of seeing it at ``seen`` with Gaussian noise."""
    scale = noise * math.sqrt(2.0)
    return 0.5 * (math.erf((high - seen) / scale) - math.erf((low - seen) / scale)) / (high - low)


@compiled
def _blurred_hull(low: int, high: int, seen: float, noise: float, n: int, even: float) -> float:
    """The same along one axis of the hull of n samples or a few more; ``even``: as ``_blurred`` gives it."""
    length = high - low
    if length <= 2:
        return even
    ends = _blurred(low, low + 1, seen, noise) + _blurred(high - 1, high, seen, noise)
    return ends / (n + 1) + (even * length - ends) * (n - 1) / (n + 1) / (length - 2)


@compiled
def _explain(
    seen: Floats, noise: Noise, book: Book, starts: Integers, desk: Desk, n_touched: int
) -> tuple[int, int]:
    """How many classes could explain an observation, and were touched; their densities stand in ``desk``."""
    index, n_now = book.by_time, 0
    t, x, y = seen[0], seen[1], seen[2]
    late, far = noise.most_deviations * noise.slots, noise.most_deviations * noise.cells
    first, last = math.floor(t - late), math.ceil(t + late)
    for level in range(len(index.class_offsets) - 1):
        end = index.class_offsets[level + 1]
        place = first_not_below(starts, index.class_offsets[level], end, first - (1 << level) + 1)
        while place < end and starts[place] <= last:
            box = index.boxes[place]
            if (
                box[1] >= first
                and box[2] <= x + far
                and box[4] >= x - far
                and box[3] <= y + far
                and box[5] >= y - far
            ):
                one = index.record[place]
                if desk.even[one] == 0.0:
                    desk.now[n_now] = one
                    n_now += 1
                n = max(book.sizes[one], 2)
                in_t = _blurred(box[0], box[1], t, noise.slots)
                in_x = _blurred(box[2], box[4], x, noise.cells)
                in_y = _blurred(box[3], box[5], y, noise.cells)
                desk.even[one] += in_t * in_x * in_y + 1e-300  # not 0, which means untouched
                desk.hull[one] += (
                    _blurred_hull(box[0], box[1], t, noise.slots, n, in_t)
                    * _blurred_hull(box[2], box[4], x, noise.cells, n, in_x)
                    * _blurred_hull(box[3], box[5], y, noise.cells, n, in_y)
                )
            place += 1
    for i in range(n_now):
        if desk.held[desk.now[i]] == 0:
            desk.touched[n_touched] = desk.now[i]
            n_touched += 1
        desk.held[desk.now[i]] += 1
    return n_now, n_touched


@compiled
def _place_density(boxes: Integers, x: float, y: float, noise: Noise) -> float:
    """The density of an observed place over a record's boxes, each filled evenly."""
    total, far = 0.0, noise.most_deviations * noise.cells
    for b in range(len(boxes)):
        if (
            boxes[b, 2] <= x + far
            and boxes[b, 4] >= x - far
            and boxes[b, 3] <= y + far
            and boxes[b, 5] >= y - far
        ):
            total += _blurred(boxes[b, 2], boxes[b, 4], x, noise.cells) * _blurred(
                boxes[b, 3], boxes[b, 5], y, noise.cells
            )
    return total / len(boxes)


@compiled
def weigh_noisy(known: Followers, noise: Noise, book: Book, rules: Floats, found: Weighed) -> None:
    """Fill ``found`` from observations [m, 3] in slots and cells; rules: float64 [rules, 4].

    Candidates are the records that explain all observations within the deviations that count as possible.
    Density over the whole record is asked of the classes that explain the observations about as well as the
    best one does (``MARGIN``); of others it is taken to be nothing.
    """
    desk = desk_for(len(book.sizes))
    starts = book.by_time.starts
    for victim in range(len(known.own)):
        own = known.own[victim]
        seen = known.samples[known.offsets[victim] : known.offsets[victim + 1]]
        n_touched = 0
        for row in range(len(seen)):
            n_now, n_touched = _explain(seen[row], noise, book, starts, desk, n_touched)
            for i in range(n_now):
                one = desk.now[i]
                desk.cues[one, 0] += math.log((desk.even[one] + noise.floor) / noise.floor)
                desk.cues[one, 1] += math.log((desk.hull[one] + noise.floor) / noise.floor)
                desk.even[one] = 0.0
                desk.hull[one] = 0.0
        best = 0.0
        for i in range(n_touched):
            best = max(best, desk.cues[desk.touched[i], 0])
        found.candidates[victim] = 0
        for i in range(n_touched):
            one = desk.touched[i]
            boxes = book.boxes[book.offsets[one] : book.offsets[one + 1]]
            if desk.held[one] == len(seen):
                found.candidates[victim] += book.sizes[one]
            for row in range(len(seen)):
                density = 0.0
                if desk.cues[one, 0] >= best - MARGIN:
                    density = _place_density(boxes, seen[row, 1], seen[row, 2], noise)
                desk.cues[one, 2] += math.log(max(density, NOWHERE))
            desk.cues[one, 3] = len(seen) * math.log(len(boxes))
        found.own_fits[victim] = 1 if desk.held[own] == len(seen) else 0
        for rule in range(len(rules)):
            found.named[victim, rule], found.chances[victim, rule] = answer(
                rules[rule], 1, n_touched, own, known.picks[victim], desk, book.sizes
            )
        for i in range(n_touched):
            desk.held[desk.touched[i]] = 0
            desk.cues[desk.touched[i]] = 0.0
