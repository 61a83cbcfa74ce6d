"""The insider attack: guess samples from the sides of hulls, find hiders."""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.ordering import first_not_below, sort_in_place
from shoal.kernels.weighed_runs import Tracks
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled, compiled_for_many

N_SHARES: Final = 6


class Readings(NamedTuple):
    """Reading i has rows [i] to [i + 1] of the offsets in each list."""

    box_offsets: Integers
    boxes: Integers  # [b, 6]
    counted: Flags  # [b], whether the box is scored
    true_offsets: Integers
    true_samples: Integers  # [s, 3], ascending in time, at least one for each reading


@compiled
def holds(boxes: Integers, b: int, x: int, y: int) -> bool:
    """Whether box b holds a cell."""
    return bool(boxes[b, 2] <= x < boxes[b, 4] and boxes[b, 3] <= y < boxes[b, 5])


@compiled
def _possible_sides(
    boxes: Integers, known_samples: Integers, first: Integers, second: Integers, bound: Flags
) -> None:
    # Fill [b, 3] of t, x, y: a side that no known sample touches; if neither is touched, both, and ``second``
    # is the upper one. If both are, the axis is not bound: the mean of the known samples is filled in.
    lows, highs = (0, 2, 3), (1, 4, 5)
    sums = np.empty(3, dtype=np.int64)
    touched = np.empty((3, 2), dtype=np.bool_)
    times = known_samples[:, 0].copy()
    for b in range(len(boxes)):
        count = 0
        sums[:] = 0
        touched[:] = False
        for s in range(first_not_below(times, 0, len(times), boxes[b, 0]), len(times)):
            if times[s] >= boxes[b, 1]:
                break
            if not holds(boxes, b, known_samples[s, 1], known_samples[s, 2]):
                continue
            count += 1
            for axis in range(3):
                sums[axis] += known_samples[s, axis]
                touched[axis, 0] |= known_samples[s, axis] == boxes[b, lows[axis]]
                touched[axis, 1] |= known_samples[s, axis] == boxes[b, highs[axis]] - 1
        for axis in range(3):
            low, high = boxes[b, lows[axis]], boxes[b, highs[axis]] - 1
            below = low == high or not touched[axis, 0]
            above = low != high and not touched[axis, 1]
            mean = sums[axis] / count if count else (low + high) / 2
            first[b, axis] = low if below else high if above else int(np.rint(mean))
            second[b, axis] = high if below and above else first[b, axis]
            bound[b, axis] = below or above


@compiled
def _possible_corners(first: Integers, second: Integers, bound: Flags, least: int, width: int) -> Integers:
    codes, n = np.empty(4 * len(first), dtype=np.int64), 0
    for b in range(len(first)):
        if bound[b, 1] and bound[b, 2]:
            codes[n] = first[b, 1] * width + first[b, 2] - least
            codes[n + 1] = first[b, 1] * width + second[b, 2] - least
            codes[n + 2] = second[b, 1] * width + first[b, 2] - least
            codes[n + 3] = second[b, 1] * width + second[b, 2] - least
            n += 4
    codes = codes[:n]
    sort_in_place(codes)
    return codes


@compiled
def _cell_with_most_votes(
    box: Integers, first: Integers, second: Integers, bound: Flags, x: Integers, y: Integers, votes: Integers
) -> int:
    best, most = -1, 0
    for turn in range(2):
        low, high = box[2], box[4] - 1
        if bound[1]:
            low = high = second[1] if turn else first[1]
        if turn and (not bound[1] or first[1] == second[1]):
            break
        c = first_not_below(x, 0, len(x), low)
        while c < len(x) and x[c] <= high:
            possible = box[3] <= y[c] < box[5]
            if bound[2]:
                possible = y[c] == first[2] or y[c] == second[2]
            if possible and votes[c] > most:
                best, most = c, votes[c]
            c += 1
    return best


@compiled
def guess_samples(boxes: Integers, known_samples: Integers, guesses: Integers) -> None:
    """Fill guesses [b, 3] (t, x, y): in each box [b, 6] one sample that is not known.

    known_samples: [s, 3], ascending in time. Each axis as in ``_possible_sides``, the lower of two. Among
    the cells then possible, the one with most votes, the first of equals: the possible corners of a box share
    one vote.
    """
    second, bound = np.empty_like(guesses), np.empty(guesses.shape, dtype=np.bool_)
    _possible_sides(boxes, known_samples, guesses, second, bound)
    least, most = boxes[0, 3], boxes[0, 5]
    for b in range(len(boxes)):
        least, most = min(least, boxes[b, 3]), max(most, boxes[b, 5])
    width = most - least
    codes = _possible_corners(guesses, second, bound, least, width)
    x, y = np.empty(len(codes), dtype=np.int64), np.empty(len(codes), dtype=np.int64)
    votes, n = np.zeros(len(codes), dtype=np.int64), 0
    for place in range(len(codes)):
        if place == 0 or codes[place] != codes[place - 1]:
            x[n], y[n] = codes[place] // width, codes[place] % width + least
            n += 1
        votes[n - 1] += 1
    for b in range(len(boxes)):
        best = _cell_with_most_votes(boxes[b], guesses[b], second[b], bound[b], x[:n], y[:n], votes)
        if best >= 0:
            guesses[b, 1], guesses[b, 2] = x[best], y[best]


@compiled
def number_cells(samples: Integers) -> Integers:
    """int64 [s]: samples of equal number share a cell."""
    least = most = samples[0, 2]
    for s in range(len(samples)):
        least, most = min(least, samples[s, 2]), max(most, samples[s, 2])
    cell, ordered = np.empty(len(samples), dtype=np.int64), np.empty(len(samples), dtype=np.int64)
    for s in range(len(samples)):
        cell[s] = ordered[s] = samples[s, 1] * (most - least + 1) + samples[s, 2] - least
    sort_in_place(ordered)
    for s in range(len(samples)):
        cell[s] = first_not_below(ordered, 0, len(ordered), cell[s])
    return cell


@compiled
def score_guesses(
    boxes: Integers, guesses: Integers, counted: Flags, samples: Integers, shares: Floats, errors: Floats
) -> None:
    """Score the guess in each counted box [b, 3] against the true samples [s, 3]."""
    # shares [6]: boxes where the guess is a sample of the box, and where its cell is; both for random
    # guesses; samples guessed in a box that contains them, and the same for random guesses. errors [s, 2]:
    # cells and slots from a sample to the guess nearest in place; infinite where no box contains it.
    times, cell = samples[:, 0].copy(), number_cells(samples)
    seen = np.full(len(samples), -1, dtype=np.int64)
    exact, lucky = np.zeros(len(samples)), np.zeros(len(samples))
    shares[:] = 0.0
    errors[:] = np.inf
    n = 0
    for b in range(len(boxes)):
        if not counted[b]:
            continue
        n += 1
        area = (boxes[b, 4] - boxes[b, 2]) * (boxes[b, 5] - boxes[b, 3])
        volume = area * (boxes[b, 1] - boxes[b, 0])
        inside, places, same_cell, same = 0, 0, False, False
        s = first_not_below(times, 0, len(times), boxes[b, 0])
        while s < len(times) and times[s] < boxes[b, 1]:
            x, y = samples[s, 1], samples[s, 2]
            if holds(boxes, b, x, y):
                inside += 1
                if seen[cell[s]] != b:
                    seen[cell[s]] = b
                    places += 1
                lucky[s] += 1.0 / volume
                if guesses[b, 1] == x and guesses[b, 2] == y:
                    same_cell = True
                    if guesses[b, 0] == times[s]:
                        same, exact[s] = True, 1.0
                away = math.hypot(guesses[b, 1] - x, guesses[b, 2] - y)
                if away < errors[s, 0]:
                    errors[s, 0], errors[s, 1] = away, abs(guesses[b, 0] - times[s])
            s += 1
        shares[0] += same
        shares[1] += same_cell
        shares[2] += inside / volume
        shares[3] += places / area
    for s in range(len(samples)):
        shares[4] += exact[s]
        shares[5] += min(lucky[s], 1.0)
    for share in range(N_SHARES):
        shares[share] /= n if share < 4 else len(samples)


@compiled_for_many
def score_in_records(readings: Readings, guesses: Integers, shares: Floats, errors: Floats) -> None:
    """Score guesses [b, 3]; shares [r, 6] and errors [s, 2] as ``score_guesses`` fills them."""
    for reading in range(len(readings.box_offsets) - 1):
        rows = slice(readings.box_offsets[reading], readings.box_offsets[reading + 1])
        true_rows = slice(readings.true_offsets[reading], readings.true_offsets[reading + 1])
        score_guesses(
            readings.boxes[rows],
            guesses[rows],
            readings.counted[rows],
            readings.true_samples[true_rows],
            shares[reading],
            errors[true_rows],
        )


@compiled_for_many
def find_sharers(
    tracks: Tracks, people: Integers, boxes: Integers, begin: int, end: int, shares: Flags
) -> None:
    """Fill shares [a]: who has samples in all boxes, and none outside from begin to end."""
    # boxes: ordered by time and disjoint in it
    offsets, t, x, y = tracks
    for place in range(len(people)):
        last = offsets[people[place] + 1]
        s = first_not_below(t, offsets[people[place]], last, begin)
        box, within = -1, 0  # the current box, and its samples so far
        fits = True
        while fits and s < last and t[s] < end:
            while fits and (box < 0 or t[s] >= boxes[box, 1]):  # a box without a sample ends the search
                fits = (box < 0 or within > 0) and box + 1 < len(boxes)
                box, within = box + 1, 0
            fits = (
                fits
                and boxes[box, 0] <= t[s]
                and boxes[box, 2] <= x[s] < boxes[box, 4]
                and boxes[box, 3] <= y[s] < boxes[box, 5]
            )
            within += 1
            s += 1
        shares[place] = fits and within > 0 and box == len(boxes) - 1
