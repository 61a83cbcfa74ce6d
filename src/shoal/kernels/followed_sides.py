"""Readers that follow each side of a record's boxes from slot to slot.

A body that moves along streets has no habits. Where boxes follow each other slot by slot, each side is
followed by a hidden Markov model: its state is the place that explains the side.
"""

import math

import numpy as np

from shoal.kernels.joint_reading import (
    N_SIDES,
    TWO_SLOTS,
    Contents,
    Found,
    PlaceList,
    divide,
    draws_from,
    read_record,
    sum_of,
)
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


@compiled
def _pass_on(
    boxes: Integers, side: int, step: int, starts: Integers, along: Integers, prior: Floats, moves: Floats
) -> Floats:
    # how much likelier each place [r] explains this side by the boxes before (step 1) or after (step -1)
    told, share, most = np.ones(len(prior)), prior.copy(), len(moves) - 1
    for turn in range(len(boxes)):
        b = turn if step > 0 else len(boxes) - 1 - turn
        a, first, end = b - step, starts[b], starts[b + 1]
        if not 0 <= a < len(boxes) or boxes[max(a, b), 1] - boxes[min(a, b), 0] != TWO_SLOTS:
            continue
        if first == end or starts[a] == starts[a + 1]:
            continue
        moved, late = min(abs(boxes[b, 2 + side] - boxes[a, 2 + side]), most), max(a, b)
        each = (boxes[late, 5 - side % 2] - boxes[late, 3 - side % 2]) / (starts[late + 1] - starts[late])
        for r in range(first, end):
            came = 0.0
            for q in range(starts[a], starts[a + 1]):
                away = abs(along[r] - along[q])
                if away < most:
                    came += share[q] * moves[moved, away] / prior[r if step > 0 else q]
            told[r] += came * each
            share[r] = prior[r] * told[r]
        divide(share[first:end], sum_of(share[first:end]))
    return told


@compiled
def most_usual(contents: Contents, c: int, habit: Floats) -> int:
    """The place of an entry with the largest habit."""
    first = np.int64(contents.places[c])
    return int(first + np.argmax(habit[first : first + np.int64(contents.runs[c])]))


@compiled
def follow_sides(
    boxes: Integers, contents: Contents, touched: Integers, people: int, places: PlaceList
) -> Floats:
    """The chance [c] that somebody was at each place of a box, the most usual one of an entry with several.

    Somebody explains each side, as sides move from slot to slot: in the next slot, the same body is at a side
    as often as another one. Others were elsewhere, by the draws of ``read_record``. Weights of contents are
    all 1.
    """
    rates, named = np.empty_like(contents.weights), np.empty((2, 0), dtype=np.int64)
    least = draws_from(boxes, people, places)
    habit = read_record(contents, touched, least, places.busyness, rates, named, 0)
    offsets, inside, _, sides, _ = contents
    expected = np.empty(len(sides))
    nowhere, rows, starts = np.ones(len(sides)), np.empty(len(sides), dtype=np.int64), np.zeros_like(offsets)
    for side in range(N_SIDES):
        n = 0
        for b in range(len(boxes)):
            for c in range(offsets[b], offsets[b + 1]):
                if sides[c] & ~touched[b] & (1 << side) and rates[b, sides[c]] > 0.0:
                    rows[n], expected[n] = c, habit[inside[c]] * rates[b, sides[c]]
                    n += 1
            starts[b + 1] = n
        prior, along = expected[:n].copy(), (places.x if side % 2 else places.y)[inside[rows[:n]]]
        for b in range(len(boxes)):
            own = prior[starts[b] : starts[b + 1]]
            divide(own, sum_of(own))
        chances = prior * _pass_on(boxes, side, 1, starts, along, prior, places.along)
        chances *= _pass_on(boxes, side, -1, starts, along, prior, places.along)
        for b in range(len(boxes)):
            own = chances[starts[b] : starts[b + 1]]
            divide(own, sum_of(own))
        for r in range(n):
            nowhere[rows[r]] *= 1.0 - chances[r]
    for b in range(len(boxes)):
        for c in range(offsets[b], offsets[b + 1]):
            nowhere[c] *= math.exp(-habit[most_usual(contents, c, habit)] * rates[b, 0])
    return 1.0 - nowhere


@compiled
def guess_by_followed_sides(
    boxes: Integers, found: Found, people: int, places: PlaceList, guesses: Integers
) -> None:
    """Move guesses [b, 3] of slots and cells to the place where somebody was most likely, if there is one."""
    contents, touched, _ = found
    alike = Contents(*contents[:4], np.ones_like(contents.weights))
    chances = follow_sides(boxes, alike, touched, people, places)
    for b in range(len(guesses)):
        likeliest, most = -1, 0.0
        for c in range(contents.offsets[b], contents.offsets[b + 1]):
            if chances[c] > most:
                likeliest, most = most_usual(contents, c, places.busyness), chances[c]
        if likeliest >= 0:
            guesses[b, 1], guesses[b, 2] = places.x[likeliest], places.y[likeliest]
