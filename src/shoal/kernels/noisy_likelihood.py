"""How likely noisy observations are under each record that could hold what was observed.

The cues are those of exact samples (`shoal.kernels.likelihood`), blurred: an observation is a sample with
Gaussian errors on each axis.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from shoal.kernels.cover_index import Sides, first_not_below
from shoal.kernels.likelihood import NOWHERE, Book, Desk, Followers, Weighed, answer, desk_for
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled

MARGIN: Final = 10.0  # in natural logarithms: a record 22,000 times less likely is not looked at any closer


_AT_ONCE: Final = 4_096  # boxes that are looked at by their columns, before the rest of them is
_WIDE: Final = (
    17.0  # deviations, between the positions where the error function is -1 and 1 to the last digit
)
_MOST_KEPT: Final = 4_096  # positions, of very large errors


class Noise(NamedTuple):
    """Standard deviations of an observation's errors, in slots and in cells on each axis.

    most_deviations: a box farther away than that on an axis counts as impossible. floor: the density of an
    observation that no box explains.
    """

    slots: float
    cells: float
    most_deviations: float
    floor: float


class Blur(NamedTuple):
    """An observation on one axis: where it was seen, its error, and the error function up to each position.

    known: float64 [n], from position ``first`` on; nan where nobody asked yet.
    """

    seen: float
    scale: float
    first: int
    known: Floats


class Blurs(NamedTuple):
    """The three axes of an observation."""

    t: Blur
    x: Blur
    y: Blur


@compiled
def _kept_of(noise: float) -> int:
    """For how many positions the error function is kept; farther out it is -1 or 1 to the last digit."""
    return int(min(_WIDE * noise, float(_MOST_KEPT))) + 2


@compiled
def blur_of(seen: float, noise: float, room: Floats) -> Any:
    """An observation on one axis; room: what is known of the positions around it, nan where nothing is."""
    return Blur(seen, noise * math.sqrt(2.0), math.floor(seen) - len(room) // 2, room)


@compiled
def _until(blur: Blur, position: int) -> float:
    """The error function from the observation to a position."""
    place = position - blur.first
    if 0 <= place < len(blur.known):
        if math.isnan(blur.known[place]):
            blur.known[place] = math.erf((position - blur.seen) / blur.scale)
        return float(blur.known[place])
    return math.erf((position - blur.seen) / blur.scale)


@compiled
def _blurred(low: int, high: int, blur: Blur) -> float:
    """Mean density, over a position's interval [low, high), of the observation."""
    return 0.5 * (_until(blur, high) - _until(blur, low)) / (high - low)


@compiled
def _blurred_hull(low: int, high: int, blur: Blur, n: int, even: float) -> float:
    """The same along one axis of the hull of n samples or a few more; ``even``: as ``_blurred`` gives it."""
    length = high - low
    if length <= 2:
        return even
    ends = _blurred(low, low + 1, blur) + _blurred(high - 1, high, blur)
    return ends / (n + 1) + (even * length - ends) * (n - 1) / (n + 1) / (length - 2)


@compiled
def _explain(
    blurs: Blurs, noise: Noise, book: Book, sides: Sides, near: Integers, desk: Desk, n_touched: int
) -> tuple[int, int]:
    """How many classes could explain an observation, and were touched; their densities stand in ``desk``.

    near: room for the rows of the boxes in the right columns of cells.
    """
    index, starts, n_now = book.by_time, book.by_time.starts, 0
    t, x, y = blurs.t.seen, blurs.x.seen, blurs.y.seen
    late, far = noise.most_deviations * noise.slots, noise.most_deviations * noise.cells
    first, last = math.floor(t - late), math.ceil(t + late)
    west, east = math.ceil(x - far), math.floor(x + far)
    for level in range(len(index.class_offsets) - 1):
        end = index.class_offsets[level + 1]
        begin = first_not_below(starts, index.class_offsets[level], end, first - (1 << level) + 1)
        stop = first_not_below(starts, begin, end, last + 1)
        for part in range(begin, stop, len(near)):
            n_near = 0
            for place in range(part, min(part + len(near), stop)):
                near[n_near] = place
                n_near += (sides.low[place] <= east) & (sides.high[place] >= west)
            for i in range(n_near):
                place = near[i]
                box = index.boxes[place]
                if not (box[1] >= first and box[3] <= y + far and box[5] >= y - far):
                    continue
                one = index.record[place]
                if desk.even[one] == 0.0:
                    desk.now[n_now] = one
                    n_now += 1
                n = max(book.sizes[one], 2)
                in_t = _blurred(box[0], box[1], blurs.t)
                in_x = _blurred(box[2], box[4], blurs.x)
                in_y = _blurred(box[3], box[5], blurs.y)
                desk.even[one] += in_t * in_x * in_y + 1e-300  # not 0, which means untouched
                desk.hull[one] += (
                    _blurred_hull(box[0], box[1], blurs.t, n, in_t)
                    * _blurred_hull(box[2], box[4], blurs.x, n, in_x)
                    * _blurred_hull(box[3], box[5], blurs.y, n, in_y)
                )
    for i in range(n_now):
        if desk.held[desk.now[i]] == 0:
            desk.touched[n_touched] = desk.now[i]
            n_touched += 1
        desk.held[desk.now[i]] += 1
    return n_now, n_touched


@compiled
def _place_density(boxes: Integers, x: Blur, y: Blur, noise: Noise) -> float:
    """The density of an observed place over a record's boxes, each filled evenly."""
    total, far = 0.0, noise.most_deviations * noise.cells
    for b in range(len(boxes)):
        if (
            boxes[b, 2] <= x.seen + far
            and boxes[b, 4] >= x.seen - far
            and boxes[b, 3] <= y.seen + far
            and boxes[b, 5] >= y.seen - far
        ):
            total += _blurred(boxes[b, 2], boxes[b, 4], x) * _blurred(boxes[b, 3], boxes[b, 5], y)
    return total / len(boxes)


@compiled
def add_noisy_record_cues(
    seen: Numbers,
    noise: Noise,
    book: Book,
    logs: Floats,
    rooms: tuple[Floats, Floats],
    desk: Desk,
    n_touched: int,
) -> None:
    """Add what whole records tell of the places of these observations, of records that are likely enough.

    logs: [c], of the number of boxes of each. rooms: for x and y, as ``blur_of`` takes one by observation.
    """
    best, nothing = 0.0, math.log(NOWHERE)
    for i in range(n_touched):
        best = max(best, desk.cues[desk.touched[i], 0])
    for i in range(n_touched):
        one = desk.touched[i]
        desk.cues[one, 3] = len(seen) * logs[one]
        if desk.cues[one, 0] < best - MARGIN:
            for _ in range(len(seen)):
                desk.cues[one, 2] += nothing
            continue
        boxes = book.boxes[book.offsets[one] : book.offsets[one + 1]]
        for row in range(len(seen)):
            x = blur_of(seen[row, 1], noise.cells, rooms[0][row])
            y = blur_of(seen[row, 2], noise.cells, rooms[1][row])
            desk.cues[one, 2] += math.log(max(_place_density(boxes, x, y, noise), NOWHERE))


@compiled
def weigh_noisy(
    known: Followers, noise: Noise, book: Book, sides: Sides, rules: Floats, found: Weighed
) -> None:
    """Fill ``found`` from observations [m, 3] in slots and cells; rules: float64 [rules, 4].

    Candidates are the records that explain all observations within the deviations that count as possible.
    Density over the whole record is asked of the classes that explain the observations about as well as the
    best one does (``MARGIN``); of others it is taken to be nothing.
    """
    desk, near = desk_for(len(book.sizes)), np.empty(_AT_ONCE, dtype=np.int64)
    logs, most = np.empty(len(book.sizes)), np.max(np.diff(known.offsets))
    for one in range(len(book.sizes)):
        logs[one] = math.log(book.offsets[one + 1] - book.offsets[one])
    in_time = np.empty((most, _kept_of(noise.slots)))
    in_x, in_y = np.empty((most, _kept_of(noise.cells))), np.empty((most, _kept_of(noise.cells)))
    for victim in range(len(known.own)):
        own = known.own[victim]
        seen = known.samples[known.offsets[victim] : known.offsets[victim + 1]]
        in_time[:], in_x[:], in_y[:] = np.nan, np.nan, np.nan
        n_touched = 0
        for row in range(len(seen)):
            blurs = Blurs(
                blur_of(seen[row, 0], noise.slots, in_time[row]),
                blur_of(seen[row, 1], noise.cells, in_x[row]),
                blur_of(seen[row, 2], noise.cells, in_y[row]),
            )
            n_now, n_touched = _explain(blurs, noise, book, sides, near, desk, n_touched)
            for i in range(n_now):
                one = desk.now[i]
                desk.cues[one, 0] += math.log((desk.even[one] + noise.floor) / noise.floor)
                desk.cues[one, 1] += math.log((desk.hull[one] + noise.floor) / noise.floor)
                desk.even[one] = 0.0
                desk.hull[one] = 0.0
        add_noisy_record_cues(seen, noise, book, logs, (in_x, in_y), desk, n_touched)
        found.candidates[victim] = 0
        for i in range(n_touched):
            if desk.held[desk.touched[i]] == len(seen):
                found.candidates[victim] += book.sizes[desk.touched[i]]
        found.own_fits[victim] = 1 if desk.held[own] == len(seen) else 0
        for rule in range(len(rules)):
            found.named[victim, rule], found.chances[victim, rule] = answer(
                rules[rule], 1, n_touched, own, known.picks[victim], desk, book.sizes
            )
        for i in range(n_touched):
            desk.held[desk.touched[i]] = 0
            desk.cues[desk.touched[i]] = 0.0
