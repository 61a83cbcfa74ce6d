"""Readers of all boxes of a record together, with a list of places.

A box is taken as the hull of a few draws from the record's habits: shares of places, restricted to those in
the box. Some draw lies at each side. Habits and draws explain each other by expectation maximization
(Dempster, Laird and Rubin 1977), beginning with how busy places are. Who knows where one of the people was
at times gives that one habits apart from those of the others.

A body that moves along streets has no habits. Where boxes follow each other slot by slot, each side is
followed by a hidden Markov model as well: its state is the place that explains the side.
"""

from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.insider import guess_samples, holds, number_cells
from shoal.kernels.ordering import first_not_below
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled

WAYS: Final = ("box by box", "surest place", "usual place", "busiest place", "own place", "followed sides")
N_READING: Final = 3  # the ways that look at sides; blind ones follow
N_STANDING: Final = 5  # the ways where boxes show no motion
_SETS: Final = 16  # of sides: 1 west, 2 south, 4 east, 8 north
_ALL: Final = _SETS - 1
ROUNDS: Final = 12
_ROUNDS_APART: Final = 6  # for one person apart from the others; 12 name half a point more at most
_TRUST: Final = 50.0  # draws that busyness counts for
_RARE: Final = 1e-4  # a share of the draws from a box that is left out
_KNOWN: Final = 10.0  # draws that a known sample counts for
_DRAWS_EACH: Final = 2  # different places of a person in a box
_SIDES: Final = 4  # so many draws touch all sides, if any can
TWO_SLOTS: Final = 2  # of two boxes, one slot each, without a gap
_X_SIDES: Final = (2, 4)  # columns of boxes
_Y_SIDES: Final = (3, 5)


class PlaceList(NamedTuple):
    """Cells that people may be in."""

    x: Integers  # int64 [p], ascending
    y: Integers  # int64 [p]
    bounds: Integers  # int64 [p, 4]; west, south, east, north of the cell, or of the leaf that stands for it
    busyness: Floats  # float64 [p], above 0
    public: bool  # otherwise learned from sides of boxes, so that a blind reader lacks it
    motion: Floats  # float64 [m, m]; how much likelier sides move so many cells in a slot if one body does
    along: Floats  # float64 [m, m]; how likely a body goes so far, next to others, where a side moves so far


class Contents(NamedTuple):
    """Places in the boxes of a record: box b has offsets[b] to offsets[b + 1]."""

    offsets: Integers
    places: Numbers  # uint32 [c], positions in the list
    sides: Numbers  # uint8 [c], the set of sides that a place lies at
    weights: Floats  # float64 [b, 16], how much likelier somebody is at each set of sides, as the sides move


@compiled
def _sides_at(boxes: Integers, b: int, bounds: Integers, reach: int) -> int:
    # the set of sides that these bounds lie at, -1 = they reach out of the box
    if bounds[0] < boxes[b, 2] or bounds[1] < boxes[b, 3]:
        return -1
    if bounds[2] > boxes[b, 4] or bounds[3] > boxes[b, 5]:
        return -1
    return int(
        (bounds[0] < boxes[b, 2] + reach)
        + 2 * (bounds[1] < boxes[b, 3] + reach)
        + 4 * (bounds[2] > boxes[b, 4] - reach)
        + 8 * (bounds[3] > boxes[b, 5] - reach)
    )


@compiled
def _weigh_corners(boxes: Integers, motion: Floats) -> Floats:
    # a body at a corner moves both of its sides from one slot to the next
    weights, most = np.ones((len(boxes), _SETS)), len(motion) - 1
    for b in range(1, len(boxes)):
        if boxes[b, 1] - boxes[b - 1, 0] != TWO_SLOTS:
            continue
        for x in _X_SIDES:
            for y in _Y_SIDES:
                east, north = abs(boxes[b, x] - boxes[b - 1, x]), abs(boxes[b, y] - boxes[b - 1, y])
                likelier = motion[min(east, most), min(north, most)]
                corner = (1 << (x - 2)) | (1 << (y - 2))
                weights[b - 1, corner] *= likelier
                weights[b, corner] *= likelier
    return weights


@compiled
def places_in_boxes(boxes: Integers, places: PlaceList, reach: int) -> Contents:
    """The listed places in each box [b, 6], whose sides reach less than ``reach`` cells beyond samples."""
    rows, most = np.empty((len(boxes), 2), dtype=np.int64), 0
    for b in range(len(boxes)):
        rows[b, 0] = first_not_below(places.x, 0, len(places.x), boxes[b, 2])
        rows[b, 1] = first_not_below(places.x, rows[b, 0], len(places.x), boxes[b, 4])
        most += rows[b, 1] - rows[b, 0]
    inside, sides = np.empty(most, dtype=np.uint32), np.empty(most, dtype=np.uint8)
    offsets, n = np.zeros(len(boxes) + 1, dtype=np.int64), 0
    for b in range(len(boxes)):
        for place in range(rows[b, 0], rows[b, 1]):
            if boxes[b, 3] <= places.y[place] < boxes[b, 5]:
                at = _sides_at(boxes, b, places.bounds[place], reach)
                if at >= 0:
                    inside[n], sides[n] = place, at
                    n += 1
        offsets[b + 1] = n
    return Contents(offsets, inside[:n], sides[:n], _weigh_corners(boxes, places.motion))


class Draws(NamedTuple):
    """Workspace: draws from a box."""

    mass: Floats  # [16], the share of the places at each set of sides
    chances: Floats  # [draws + 1, 16], that so many draws touch all sides that a set lacks


@compiled
def _fill_chances(draws: Draws, touched: int, least: int) -> int:
    # the number of draws, at least so many, that can touch the other sides; 0 = none can
    mass, chances = draws
    chances[0] = 0.0
    chances[0, _ALL] = 1.0
    for drawn in range(1, len(chances)):
        chances[drawn] = 0.0
        for c in range(_SETS):
            if mass[c] > 0:
                for have in range(_SETS):
                    chances[drawn, have] += mass[c] * chances[drawn - 1, have | c]
        if drawn >= least and chances[drawn, touched] > 0.0:
            return drawn
    return 0


@compiled
def surest_place(contents: Contents, b: int, shares: Floats, touched: int, count: int, draws: Draws) -> int:
    """The position of the place with the least chance to be in no draw, if all sides are touched.

    shares [c]: of the places in their boxes; draws.mass: of those at each set of sides.
    """
    # only the usual place of each set of sides can be it
    usual, surest, least = np.empty(_SETS, dtype=np.int64), -1, np.inf
    usual[:] = -1
    for c in range(contents.offsets[b], contents.offsets[b + 1]):
        group = contents.sides[c]
        if usual[group] < 0 or shares[c] > shares[usual[group]]:
            usual[group] = c
    for group in range(_SETS):
        at = int(usual[group])
        if at < 0:
            continue
        mass = draws.mass[group]
        draws.mass[group] = max(mass - shares[at], 0.0)
        _fill_chances(draws, touched, count)
        draws.mass[group] = mass
        if draws.chances[count, touched] < least:
            surest, least = at, draws.chances[count, touched]
    return surest


@compiled
def _sum(values: Floats) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@compiled
def _divide(values: Floats, by: float) -> None:
    for i in range(len(values)):
        values[i] /= by


@compiled
def _largest(values: Floats, first: int, end: int) -> int:
    largest = first
    for i in range(first, end):
        if values[i] > values[largest]:
            largest = i
    return largest


@compiled
def _prior(places: Numbers, busyness: Floats) -> Floats:
    prior = np.zeros(len(busyness))
    for place in places:
        prior[place] = busyness[place]
    if len(places):
        scale = _TRUST / _sum(prior)
        for place in range(len(prior)):
            prior[place] *= scale
    return prior


@compiled
def _weigh_places(contents: Contents, b: int, habit: Floats, shares: Floats, mass: Floats) -> float:
    # fill the weights [c] of the places in a box and the share of each set of sides in their sum, returned
    mass[:], inside = 0.0, 0.0
    for c in range(contents.offsets[b], contents.offsets[b + 1]):
        shares[c] = habit[contents.places[c]] * contents.weights[b, contents.sides[c]]
        if contents.sides[c]:
            mass[contents.sides[c]] += shares[c]
        else:  # most places
            inside += shares[c]
    mass[0] = inside
    total = _sum(mass)
    _divide(mass, total)
    return total


@compiled
def read_record(
    contents: Contents,
    touched: Integers,
    people: int,
    busyness: Floats,
    expected: Floats,
    named: Integers,
    rounds: int,
) -> None:
    """Fill named [2, b]: the place that is surest in each box, and the usual one; -1 = none explains it.

    touched [b]: sides that known samples explain. people: those whose samples are not known. expected [c]:
    draws of each place in a box. named [2, 0]: only these are filled.
    """
    offsets, places, sides, _ = contents
    prior, least = _prior(places, busyness), _DRAWS_EACH * people
    habit, shares, each = prior.copy(), np.empty(len(places)), np.empty(_SETS)
    draws = Draws(np.empty(_SETS), np.empty((max(least, _SIDES) + 1, _SETS)))
    named[:], expected[:] = -1, 0.0
    for turn in range(rounds + 1):
        counts = prior.copy()
        for b in range(len(touched)):
            first, end = offsets[b], offsets[b + 1]
            if first == end:
                continue
            total = _weigh_places(contents, b, habit, shares, draws.mass)
            count = _fill_chances(draws, touched[b], least)
            if not count:
                continue
            for c in range(_SETS):
                each[c] = draws.chances[count - 1, touched[b] | c] / draws.chances[count, touched[b]]
                each[c] *= count / total
            for c in range(first, end):
                expected[c] = shares[c] * each[sides[c]]
                counts[places[c]] += expected[c]
            if turn == rounds and named.shape[1]:
                _divide(shares[first:end], total)
                named[0, b] = places[surest_place(contents, b, shares, touched[b], count, draws)]
                named[1, b] = places[_largest(expected, first, end)]
        habit = counts


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
        _divide(share[first:end], _sum(share[first:end]))
    return told


@compiled
def follow_sides(
    boxes: Integers, contents: Contents, touched: Integers, people: int, places: PlaceList
) -> Floats:
    """The chance [c] that each place explains a side of its box, as sides move from slot to slot.

    In the next slot, the same body is at a side as often as another one.
    """
    offsets, inside, sides, _ = contents
    expected, named = np.empty(len(sides)), np.empty((2, 0), dtype=np.int64)
    alike = Contents(offsets, inside, sides, np.ones_like(contents.weights))
    read_record(alike, touched, people, places.busyness, expected, named, 0)
    nowhere, rows, starts = np.ones(len(sides)), np.empty(len(sides), dtype=np.int64), np.zeros_like(offsets)
    for side in range(_SIDES):
        n = 0
        for b in range(len(boxes)):
            for c in range(offsets[b], offsets[b + 1]):
                if sides[c] & ~touched[b] & (1 << side) and expected[c] > 0.0:
                    rows[n] = c
                    n += 1
            starts[b + 1] = n
        at_side = rows[:n]
        prior, along = expected[at_side], (places.x if side % 2 else places.y)[inside[at_side]]
        for b in range(len(boxes)):
            own = prior[starts[b] : starts[b + 1]]
            _divide(own, _sum(own))
        chances = prior * _pass_on(boxes, side, 1, starts, along, prior, places.along)
        chances *= _pass_on(boxes, side, -1, starts, along, prior, places.along)
        for b in range(len(boxes)):
            own = chances[starts[b] : starts[b + 1]]
            _divide(own, _sum(own))
        for r in range(n):
            nowhere[at_side[r]] *= 1.0 - chances[r]
    return 1.0 - nowhere


@compiled
def expect_visits(
    boxes: Integers, people: int, places: PlaceList, reach: int, rounds: int
) -> tuple[Contents, Floats]:
    """The places in a record's boxes, and the draws that are expected of each."""
    contents = places_in_boxes(boxes, places, reach)
    expected, named = np.empty(len(contents.places)), np.empty((2, 0), dtype=np.int64)
    nothing = np.zeros(len(boxes), dtype=np.int64)
    read_record(contents, nothing, people, places.busyness, expected, named, rounds)
    return contents, expected


@compiled
def _chance_with(own_mass: Floats, chances: Floats, touched: int) -> float:
    # that one more draw, from these shares, and draws with these chances touch all sides that a set lacks
    chance = 0.0
    for c in range(_SETS):
        if own_mass[c] > 0.0:
            chance += own_mass[c] * chances[touched | c]
    return chance


@compiled
def expect_person(contents: Contents, cells: Integers, people: int, places: PlaceList, rounds: int) -> Floats:
    """The chance [c] that one person was at each place in a record's boxes, who is known in cells [m, 2].

    The person has habits of their own and draws once from each box, the others from theirs as in
    ``read_record``. So sides that one of them must explain tell where the other was.
    """
    offsets, inside, sides, _ = contents
    prior, least = _prior(inside, places.busyness), _DRAWS_EACH * max(people - 1, 1)
    known = prior.copy()
    for m in range(len(cells)):
        place = _place_at(places, cells[m, 0], cells[m, 1])
        if place >= 0:
            known[place] += _KNOWN
    own_habit, habit, own_mass = known, prior, np.empty(_SETS)
    each, joined = np.empty(_SETS), np.empty(_SETS)
    own, others, expected = np.empty(len(inside)), np.empty(len(inside)), np.zeros(len(inside))
    draws = Draws(np.empty(_SETS), np.empty((max(least, _SIDES) + 1, _SETS)))
    for _ in range(rounds + 1):
        own_counts, counts = known.copy(), prior.copy()
        for b in range(len(offsets) - 1):
            first, end = offsets[b], offsets[b + 1]
            if first == end:
                continue
            own_total = _weigh_places(contents, b, own_habit, own, own_mass)
            total = _weigh_places(contents, b, habit, others, draws.mass)
            if not _fill_chances(draws, 0, len(draws.chances) - 1):
                continue
            count, chance = least, _chance_with(own_mass, draws.chances[least], 0)
            while chance == 0.0 and count < len(draws.chances) - 1:
                count += 1
                chance = _chance_with(own_mass, draws.chances[count], 0)
            if chance == 0.0:
                continue
            for c in range(_SETS):
                if draws.mass[c] > 0.0:
                    each[c] = draws.chances[count, c] / (chance * own_total)
                    joined[c] = _chance_with(own_mass, draws.chances[count - 1], c) * count / (chance * total)
            for c in range(first, end):
                expected[c] = own[c] * each[sides[c]]
                own_counts[inside[c]] += expected[c]
                counts[inside[c]] += others[c] * joined[sides[c]]
        own_habit, habit = own_counts, counts
    return expected


@compiled
def _name_likeliest(contents: Contents, chances: Floats, places: PlaceList, guesses: Integers) -> None:
    for b in range(len(guesses)):
        first, end = contents.offsets[b], contents.offsets[b + 1]
        if _sum(chances[first:end]) > 0.0:
            place = contents.places[_largest(chances, first, end)]
            guesses[b, 1], guesses[b, 2] = places.x[place], places.y[place]


@compiled
def guess_of_person(
    contents: Contents, cells: Integers, people: int, places: PlaceList, guesses: Integers
) -> None:
    """Set the cells of guesses [b, 3] to the likeliest places by ``expect_person``, where there is one."""
    expected = expect_person(contents, cells, people, places, _ROUNDS_APART)
    _name_likeliest(contents, expected, places, guesses)


@compiled
def _likely_places(contents: Contents, expected: Floats) -> Contents:
    # without those of which nearly no draw from their box is expected
    offsets, n = np.zeros(len(contents.offsets), dtype=np.int64), 0
    places, sides = np.empty_like(contents.places), np.empty_like(contents.sides)
    for b in range(len(offsets) - 1):
        first, end = contents.offsets[b], contents.offsets[b + 1]
        least = _RARE * _sum(expected[first:end])
        for c in range(first, end):
            if expected[c] > least:
                places[n], sides[n] = contents.places[c], contents.sides[c]
                n += 1
        offsets[b + 1] = n
    return Contents(offsets, places[:n].copy(), sides[:n].copy(), contents.weights)


@compiled
def _place_at(places: PlaceList, x: int, y: int) -> int:
    # the last that is listed in a cell, -1 = none
    found, place = -1, first_not_below(places.x, 0, len(places.x), x)
    while place < len(places.x) and places.x[place] == x:
        if places.y[place] == y:
            found = place
        place += 1
    return found


@compiled
def _find_known(
    boxes: Integers, known: Integers, places: PlaceList, reach: int, touched: Integers, own: Integers
) -> None:
    # the sides that known samples [s, 3], ascending in time, touch; the one in each box whose place is most
    # common, -1 = none
    touched[:], own[:] = 0, -1
    if not len(known):
        return
    cell, often = number_cells(known), np.zeros(len(known), dtype=np.int64)
    times = known[:, 0].copy()
    for s in range(len(known)):
        often[cell[s]] += 1
    for b in range(len(boxes)):
        s = first_not_below(times, 0, len(times), boxes[b, 0])
        while s < len(times) and times[s] < boxes[b, 1]:
            if holds(boxes, b, known[s, 1], known[s, 2]):
                x, y = known[s, 1], known[s, 2]
                bounds = np.array([x, y, x + 1, y + 1])
                place = _place_at(places, x, y)
                if place >= 0:
                    bounds = places.bounds[place]
                touched[b] |= max(_sides_at(boxes, b, bounds, reach), 0)
                if own[b] < 0 or often[cell[s]] > often[cell[own[b]]]:
                    own[b] = s
            s += 1


@compiled
def _guess_blindly(boxes: Integers, contents: Contents, places: PlaceList, guesses: Integers) -> None:
    # the busiest public place; without one, the middle of the smallest box of the record inside this one
    areas = np.empty(len(boxes), dtype=np.int64)
    for b in range(len(boxes)):
        areas[b] = (boxes[b, 4] - boxes[b, 2]) * (boxes[b, 5] - boxes[b, 3])
    for b in range(len(boxes)):
        guesses[b, 0] = (boxes[b, 0] + boxes[b, 1] - 1) // 2
        least, busiest = areas[b] + 1, 0.0
        for a in range(len(boxes)):
            x, y = (boxes[a, 2] + boxes[a, 4] - 1) // 2, (boxes[a, 3] + boxes[a, 5] - 1) // 2
            if areas[b] == 1:
                x, y = boxes[b, 2], boxes[b, 3]
            if areas[a] < least and holds(boxes, b, x, y):
                guesses[b, 1], guesses[b, 2], least = x, y, areas[a]
            if least == 1:
                break
        for c in range(contents.offsets[b], contents.offsets[b + 1]):
            place = contents.places[c]
            if places.public and places.busyness[place] > busiest:
                guesses[b, 1], guesses[b, 2] = places.x[place], places.y[place]
                busiest = places.busyness[place]


@compiled
def _find_contents(
    boxes: Integers, known: Integers, places: PlaceList, reach: int
) -> tuple[Contents, Integers, Integers]:
    contents = places_in_boxes(boxes, places, reach)
    touched, own = np.empty(len(boxes), dtype=np.int64), np.empty(len(boxes), dtype=np.int64)
    _find_known(boxes, known, places, reach, touched, own)
    for b in range(len(boxes)):
        for c in range(_SETS):
            if c & touched[b]:  # the known ones may move it
                contents.weights[b, c] = 1.0
    return contents, touched, own


@compiled
def guess_by_followed_sides(
    boxes: Integers, known: Integers, people: int, places: PlaceList, reach: int, guesses: Integers
) -> None:
    """Move guesses [b, 3] of slots and cells to the places that explain a side most likely, if any does."""
    contents, touched, _ = _find_contents(boxes, known, places, reach)
    _name_likeliest(contents, follow_sides(boxes, contents, touched, people, places), places, guesses)


@compiled
def guess_in_record(
    boxes: Integers, known: Integers, people: int, places: PlaceList, reach: int, guesses: Integers
) -> Contents:
    """Fill guesses [5, b, 3] of slots and cells, by the first ``WAYS``; known: samples [s, 3], by time.

    people: how many of the record are not known. Returns the places where these may have been.
    """
    guess_samples(boxes, known, guesses[0])
    contents, touched, own = _find_contents(boxes, known, places, reach)
    expected, named = np.empty(len(contents.places)), np.empty((2, len(boxes)), dtype=np.int64)
    read_record(contents, touched, people, places.busyness, expected, named, ROUNDS)
    _guess_blindly(boxes, contents, places, guesses[3])
    for b in range(len(boxes)):
        for way in range(2):
            for axis in range(3):
                guesses[1 + way, b, axis] = guesses[0, b, axis]
            if named[way, b] >= 0:
                guesses[1 + way, b, 1] = places.x[named[way, b]]
                guesses[1 + way, b, 2] = places.y[named[way, b]]
        for axis in range(3):
            guesses[4, b, axis] = known[own[b], axis] if own[b] >= 0 else guesses[3, b, axis]
    return _likely_places(contents, expected)
