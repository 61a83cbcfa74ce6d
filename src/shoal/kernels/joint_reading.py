"""Readers of all boxes of a record together, with a list of places.

A box is taken as the hull of a few draws from the record's habits: shares of places, restricted to those in
the box. Some draw lies at each side. Habits and draws explain each other by expectation maximization
(Dempster, Laird and Rubin 1977), beginning with how busy places are. Who knows where one of the people was
at times gives that one habits apart from those of the others.
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
_DRAWS_MOVING: Final = 16  # at most, of a body that is seen in every slot
N_SIDES: Final = 4  # so many draws touch all sides, if any can
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
    """Places in the boxes of a record: box b has entries offsets[b] to offsets[b + 1].

    An entry is a place, or several at no side that follow each other in the list.
    """

    offsets: Integers
    places: Numbers  # uint32 [c], the first position in the list
    runs: Numbers  # uint32 [c], how many places
    sides: Numbers  # uint8 [c], the set of sides that a place lies at
    weights: Floats  # float64 [b, 16], how much likelier somebody is at each set of sides, as the sides move


Found = tuple[Contents, Integers, Integers]
"""By ``find_contents``."""


@compiled
def _sides_at(boxes: Integers, b: int, bounds: Integers, place: int, reach: int) -> int:
    # the set of sides that the bounds of a place lie at, -1 = they reach out of the box
    if bounds[place, 0] < boxes[b, 2] or bounds[place, 1] < boxes[b, 3]:
        return -1
    if bounds[place, 2] > boxes[b, 4] or bounds[place, 3] > boxes[b, 5]:
        return -1
    return int(
        (bounds[place, 0] < boxes[b, 2] + reach)
        + 2 * (bounds[place, 1] < boxes[b, 3] + reach)
        + 4 * (bounds[place, 2] > boxes[b, 4] - reach)
        + 8 * (bounds[place, 3] > boxes[b, 5] - reach)
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
    # places are unsigned, which spares a check of each
    rows, most, one = np.empty((len(boxes), 2), dtype=np.uint64), 0, np.uint64(1)
    for b in range(len(boxes)):
        rows[b, 0] = first_not_below(places.x, 0, len(places.x), boxes[b, 2])
        rows[b, 1] = first_not_below(places.x, 0, len(places.x), boxes[b, 4])
        most += int(rows[b, 1] - rows[b, 0])
    inside, runs = np.empty(most, dtype=np.uint32), np.empty(most, dtype=np.uint32)
    sides, offsets, n = np.empty(most, dtype=np.uint8), np.zeros(len(boxes) + 1, dtype=np.int64), 0
    for b in range(len(boxes)):
        south, north, head = boxes[b, 3], boxes[b, 5], rows[b, 0]
        end = rows[b, 1]  # of the last run
        for place in range(rows[b, 0], rows[b, 1]):
            if not south <= places.y[place] < north:
                continue
            at = _sides_at(boxes, b, places.bounds, place, reach)
            if at == 0 and place == end:
                runs[n - 1], end = place + one - head, place + one
            elif at >= 0:
                inside[n], runs[n], sides[n] = place, 1, at
                n, head, end = n + 1, place, place + one if at == 0 else rows[b, 1]
        offsets[b + 1] = n
    return Contents(offsets, inside[:n], runs[:n], sides[:n], _weigh_corners(boxes, places.motion))


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
def usual_places(contents: Contents, b: int, habit: Floats, usual: Integers) -> None:
    """Fill usual [16] with the place in a box that has most draws at each set of sides, -1 = none."""
    usual[:] = -1
    for c in range(contents.offsets[b], contents.offsets[b + 1]):
        at = contents.sides[c]
        for place in range(contents.places[c], contents.places[c] + contents.runs[c]):
            if usual[at] < 0 or habit[place] > habit[usual[at]]:
                usual[at] = place


@compiled
def _likeliest(usual: Integers, habit: Floats, weights: Floats, rates: Floats) -> int:
    # the usual place of which most draws are expected, the first of equals, -1 = none
    likeliest, most = -1, 0.0
    for at in range(_SETS):
        draws = habit[usual[at]] * weights[at] * rates[at] if usual[at] >= 0 else 0.0
        if draws > most or (draws == most > 0.0 and usual[at] < likeliest):
            likeliest, most = usual[at], draws
    return likeliest


@compiled
def surest_set(usual: Integers, shares: Floats, touched: int, count: int, draws: Draws) -> int:
    """The set of sides whose usual place is in most of the ways to touch all sides with so many draws.

    shares [16]: of the usual places; draws.mass: of all places at each set of sides.
    """
    surest, least = -1, np.inf
    for at in range(_SETS):
        if usual[at] < 0:
            continue
        mass = draws.mass[at]
        draws.mass[at] = max(mass - shares[at], 0.0)
        _fill_chances(draws, touched, count)
        draws.mass[at] = mass
        if draws.chances[count, touched] < least:
            surest, least = at, draws.chances[count, touched]
    return surest


@compiled
def sum_of(values: Floats) -> float:
    """The sum, from the first value on."""
    total = 0.0
    for value in values:
        total += value
    return total


@compiled
def divide(values: Floats, by: float) -> None:
    """Divide all values in place."""
    for i in range(len(values)):
        values[i] /= by


@compiled
def _prior(contents: Contents, busyness: Floats) -> Floats:
    prior = np.zeros(len(busyness))
    for c in range(len(contents.places)):
        for place in range(contents.places[c], contents.places[c] + contents.runs[c]):
            prior[place] = busyness[place]
    if len(contents.places):
        prior *= _TRUST / sum_of(prior)
    return prior


@compiled
def _weigh_places(contents: Contents, b: int, habit: Floats, mass: Floats) -> float:
    # fill the share of each set of sides in the weights of the places in a box; their sum is returned
    mass[:], inside = 0.0, 0.0
    for c in range(contents.offsets[b], contents.offsets[b + 1]):
        first, at = contents.places[c], contents.sides[c]
        if at:
            mass[at] += habit[first] * contents.weights[b, at]
        else:  # most places
            for place in range(first, first + contents.runs[c]):
                inside += habit[place]
    mass[0] = inside
    total = sum_of(mass)
    divide(mass, total)
    return total


@compiled
def add_draws(contents: Contents, habit: Floats, rates: Floats, counts: Floats) -> None:
    """Add draws to the counts of places: habits [p], times weights and rates [b, 16] of sets of sides."""
    for b in range(len(rates)):
        for c in range(contents.offsets[b], contents.offsets[b + 1]):
            weight, rate = contents.weights[b, contents.sides[c]], rates[b, contents.sides[c]]
            for place in range(contents.places[c], contents.places[c] + contents.runs[c]):
                counts[place] += habit[place] * weight * rate


@compiled
def draws_from(boxes: Integers, people: int, places: PlaceList) -> Integers:
    """How many draws [b] are from each box at least; where boxes show motion, one of each person and slot."""
    if len(places.along) == 1:
        return np.full(len(boxes), _DRAWS_EACH * people)
    least: Integers = people * np.minimum(boxes[:, 1] - boxes[:, 0], _DRAWS_MOVING)
    return least


@compiled
def read_record(
    contents: Contents,
    touched: Integers,
    least: Integers,
    busyness: Floats,
    rates: Floats,
    named: Integers,
    rounds: int,
) -> Floats:
    """Fill named [2, b]: the place that is surest in each box, and the usual one; -1 = none explains it.

    touched [b]: sides that known samples explain. least [b]: draws from each box, at least. named [2, 0]: not
    filled. Returns habits [p]; with rates [b, 16], draws of ``add_draws`` are the expected ones.
    """
    offsets = contents.offsets
    prior = _prior(contents, busyness)
    habit, usual, shares = prior, np.empty(_SETS, dtype=np.int64), np.empty(_SETS)
    draws = Draws(np.empty(_SETS), np.empty((max(least.max(), N_SIDES) + 1, _SETS)))
    named[:] = -1
    for turn in range(rounds + 1):
        rates[:] = 0.0
        for b in range(len(touched)):
            if offsets[b] == offsets[b + 1]:
                continue
            total = _weigh_places(contents, b, habit, draws.mass)
            count = _fill_chances(draws, touched[b], least[b])
            if not count:
                continue
            for c in range(_SETS):
                rates[b, c] = draws.chances[count - 1, touched[b] | c] / draws.chances[count, touched[b]]
                rates[b, c] *= count / total
            if turn == rounds and named.shape[1]:
                usual_places(contents, b, habit, usual)
                named[1, b] = _likeliest(usual, habit, contents.weights[b], rates[b])
                for c in range(_SETS):
                    shares[c] = habit[usual[c]] * contents.weights[b, c] / total if usual[c] >= 0 else 0.0
                named[0, b] = usual[surest_set(usual, shares, touched[b], count, draws)]
        if turn < rounds:
            counts = prior.copy()
            add_draws(contents, habit, rates, counts)
            habit = counts
    return habit


@compiled
def likely_places(contents: Contents, habit: Floats, rates: Floats) -> Contents:
    """Without places of which nearly no draw from their box is expected."""
    most, offsets, n = contents.runs.sum(), np.zeros_like(contents.offsets), 0
    places, runs = np.empty(most, dtype=np.uint32), np.empty(most, dtype=np.uint32)
    sides = np.empty(most, dtype=np.uint8)
    for b in range(len(offsets) - 1):
        total = 0.0
        for c in range(contents.offsets[b], contents.offsets[b + 1]):
            for place in range(contents.places[c], contents.places[c] + contents.runs[c]):
                total += habit[place] * contents.weights[b, contents.sides[c]] * rates[b, contents.sides[c]]
        for c in range(contents.offsets[b], contents.offsets[b + 1]):
            goes_on, weight, rate = False, contents.weights[b, contents.sides[c]], rates[b, contents.sides[c]]
            for place in range(contents.places[c], contents.places[c] + contents.runs[c]):
                likely = habit[place] * weight * rate > _RARE * total
                if likely and goes_on:
                    runs[n - 1] += 1
                elif likely:
                    places[n], runs[n], sides[n] = place, 1, contents.sides[c]
                    n += 1
                goes_on = likely
        offsets[b + 1] = n
    return Contents(offsets, places[:n].copy(), runs[:n].copy(), sides[:n].copy(), contents.weights)


@compiled
def expect_visits(
    boxes: Integers, people: int, places: PlaceList, reach: int, rounds: int
) -> tuple[Contents, Floats, Floats]:
    """The places in a record's boxes, and habits and rates of ``read_record``."""
    contents = places_in_boxes(boxes, places, reach)
    rates, named = np.empty((len(boxes), _SETS)), np.empty((2, 0), dtype=np.int64)
    nothing, least = np.zeros(len(boxes), dtype=np.int64), draws_from(boxes, people, places)
    return contents, read_record(contents, nothing, least, places.busyness, rates, named, rounds), rates


@compiled
def _chance_with(own_mass: Floats, chances: Floats, touched: int) -> float:
    # that one more draw, from these shares, and draws with these chances touch all sides that a set lacks
    chance = 0.0
    for c in range(_SETS):
        if own_mass[c] > 0.0:
            chance += own_mass[c] * chances[touched | c]
    return chance


@compiled
def expect_person(
    contents: Contents, cells: Integers, people: int, places: PlaceList, rates: Floats, rounds: int
) -> Floats:
    """Habits [p] of one person who is known in cells [m, 2].

    The person has habits of their own and draws once from each box, the others from theirs as in
    ``read_record``. So sides that one of them must explain tell where the other was. With rates [b, 16],
    which are filled, draws of ``add_draws`` are the chance that the person was at a place of a box.
    """
    offsets = contents.offsets
    prior, least = _prior(contents, places.busyness), _DRAWS_EACH * max(people - 1, 1)
    known = prior.copy()
    for m in range(len(cells)):
        place = _place_at(places, cells[m, 0], cells[m, 1])
        if place >= 0:
            known[place] += _KNOWN
    own_habit, habit, own_mass = known, prior, np.empty(_SETS)
    draws = Draws(np.empty(_SETS), np.empty((max(least, N_SIDES) + 1, _SETS)))
    for turn in range(rounds + 1):
        rates[:], joined = 0.0, np.zeros_like(rates)
        for b in range(len(offsets) - 1):
            if offsets[b] == offsets[b + 1]:
                continue
            own_total = _weigh_places(contents, b, own_habit, own_mass)
            total = _weigh_places(contents, b, habit, draws.mass)
            count, possible = least, _fill_chances(draws, 0, len(draws.chances) - 1)
            while count < len(draws.chances) - 1 and _chance_with(own_mass, draws.chances[count], 0) == 0.0:
                count += 1
            chance = _chance_with(own_mass, draws.chances[count], 0)
            if not possible or chance == 0.0:
                continue
            for c in range(_SETS):
                if draws.mass[c] > 0.0:
                    rates[b, c] = draws.chances[count, c] / (chance * own_total)
                    joined[b, c] = _chance_with(own_mass, draws.chances[count - 1], c)
                    joined[b, c] *= count / (chance * total)
        if turn < rounds:
            own_counts, counts = known.copy(), prior.copy()
            add_draws(contents, own_habit, rates, own_counts)
            add_draws(contents, habit, joined, counts)
            own_habit, habit = own_counts, counts
    return own_habit


@compiled
def guess_of_person(
    contents: Contents, cells: Integers, people: int, places: PlaceList, guesses: Integers
) -> None:
    """Set the cells of guesses [b, 3] to the likeliest places by ``expect_person``, where there is one."""
    rates, usual = np.empty((len(guesses), _SETS)), np.empty(_SETS, dtype=np.int64)
    habit = expect_person(contents, cells, people, places, rates, _ROUNDS_APART)
    for b in range(len(guesses)):
        usual_places(contents, b, habit, usual)
        place = _likeliest(usual, habit, contents.weights[b], rates[b])
        if place >= 0:
            guesses[b, 1], guesses[b, 2] = places.x[place], places.y[place]


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
                place = _place_at(places, x, y)
                bounds = places.bounds if place >= 0 else np.array([[x, y, x + 1, y + 1]])
                touched[b] |= max(_sides_at(boxes, b, bounds, max(place, 0), reach), 0)
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
        for c in range(contents.offsets[b], contents.offsets[b + 1] if places.public else 0):
            for place in range(contents.places[c], contents.places[c] + contents.runs[c]):
                if places.busyness[place] > busiest:
                    guesses[b, 1], guesses[b, 2] = places.x[place], places.y[place]
                    busiest = places.busyness[place]


@compiled
def find_contents(boxes: Integers, known: Integers, places: PlaceList, reach: int) -> Found:
    """The places in boxes, the sides that known samples explain, the most usual of these samples in each."""
    contents = places_in_boxes(boxes, places, reach)
    touched, own = np.empty(len(boxes), dtype=np.int64), np.empty(len(boxes), dtype=np.int64)
    _find_known(boxes, known, places, reach, touched, own)
    for b in range(len(boxes)):
        for c in range(_SETS):
            if c & touched[b]:  # the known ones may move it
                contents.weights[b, c] = 1.0
    return contents, touched, own


@compiled
def guess_in_record(
    boxes: Integers, known: Integers, found: Found, people: int, places: PlaceList, guesses: Integers
) -> tuple[Floats, Floats]:
    """Fill guesses [5, b, 3] of slots and cells, by the first ``WAYS``; known: samples [s, 3], by time.

    people: how many are not known. Returns habits and rates of ``read_record``.
    """
    guess_samples(boxes, known, guesses[0])
    contents, touched, own = found
    rates, named = np.empty((len(boxes), _SETS)), np.empty((2, len(boxes)), dtype=np.int64)
    least = draws_from(boxes, people, places)
    habit = read_record(contents, touched, least, places.busyness, rates, named, ROUNDS)
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
    return habit, rates
