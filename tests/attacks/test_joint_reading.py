"""Readers of all boxes together: an oracle over all draws, known answers, and the blind reader."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.noisy_reading import each_place
from shoal.attacks.place_lists import _corners, motion_of
from shoal.attacks.target import BoxTarget
from shoal.kernels.followed_sides import follow_sides
from shoal.kernels.joint_reading import (
    ROUNDS,
    Contents,
    Draws,
    PlaceList,
    expect_person,
    expect_visits,
    find_contents,
    guess_in_record,
    guess_of_person,
    likely_places,
    places_in_boxes,
    read_record,
    surest_set,
    usual_places,
)
from shoal.methods.glove.glove import Glove
from shoal.model.grid import Grid
from shoal.model.places import PublicPlaces
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, offsets_of
from shoal.runtime.randomness import Randomness
from small_releases import random_people

pytestmark = pytest.mark.kernels


def listed(cells: list[tuple[int, int]]) -> PlaceList:
    xy = np.array(sorted(cells), dtype=np.int64)
    return PlaceList(
        xy[:, 0].copy(),
        xy[:, 1].copy(),
        np.hstack([xy, xy + 1]),
        np.ones(len(xy)),
        True,
        np.ones((1, 1)),
        np.ones((1, 1)),
    )


def read_alone(boxes: Integers, people: int, places: PlaceList, guesses: Integers) -> Contents:
    """Fill guesses by the boxes alone; the likely places."""
    nobody = np.empty((0, 3), dtype=np.int64)
    found = find_contents(boxes, nobody, places, 1)
    learned = guess_in_record(boxes, nobody, found, people, places, guesses)
    return likely_places(found[0], *learned)


def expected_at(boxes: Integers, places: PlaceList) -> list[list[float]]:
    """The draws that are expected at each place in each box, of two people."""
    rows, inside, expected = each_place(*expect_visits(boxes, 2, places, 1, ROUNDS))
    return [
        [float(expected[(rows == box) & (inside == one)].sum()) for one in range(len(places.x))]
        for box in range(len(boxes))
    ]


@given(seed=st.integers(0, 300), count=st.integers(1, 4), reach=st.integers(1, 3), touched=st.integers(0, 15))
def test_the_surest_place_is_in_most_draws_that_touch_all_sides(
    seed: int, count: int, reach: int, touched: int
) -> None:
    rng = np.random.default_rng(seed)
    box = np.array([[0, 9, 0, 0, 5, 5]])
    contents = places_in_boxes(box, listed([(int(a), int(b)) for a, b in rng.integers(0, 5, (4, 2))]), reach)
    habit, usual = rng.dirichlet(np.ones(4)), np.empty(16, dtype=np.int64)
    _, inside, shares = each_place(contents, habit, np.ones((1, 16)))
    sides = np.repeat(contents.sides, contents.runs)
    mass: Floats = np.bincount(sides, weights=shares, minlength=16).astype(np.float64)
    usual_places(contents, 0, habit, usual)
    surest = usual[surest_set(usual, habit[usual], touched, count, Draws(mass, np.empty((5, 16))))]
    chance = np.zeros(len(shares))
    for drawn in product(range(len(shares)), repeat=count):
        if touched | int(np.bitwise_or.reduce(sides[list(drawn)])) == 15:
            chance[list(set(drawn))] += np.prod(shares[list(drawn)])
    assert chance[inside == surest] == pytest.approx(chance.max())


def test_a_place_that_other_boxes_show_explains_a_side_that_two_places_can() -> None:
    places = listed([(3, 4), (3, 7), (8, 2), (6, 8)])
    wide, alone = [0, 9, 3, 2, 9, 9], [[10 + n, 11 + n, 3, 4, 4, 5] for n in range(20)]
    (one, other, *_), *_ = expected_at(np.array([wide]), places)
    assert one == pytest.approx(other)
    (one, other, *_), *_ = expected_at(np.array([wide, *alone]), places)
    assert one > 2 * other


def by_enumeration(contents: Contents, prior: Floats, known: Floats, people: int, rounds: int) -> Floats:
    """Where one person is expected to be, by all ways in which that one draws once and the others do."""
    own_habit, habit, expected = known, prior, np.zeros(len(contents.places))
    for _ in range(rounds + 1):
        own_counts, counts = known.copy(), prior.copy()
        for first, end in pairwise(contents.offsets.tolist()):
            inside, sides = contents.places[first:end], contents.sides[first:end].tolist()
            own, others = (one[inside] / one[inside].sum() for one in (own_habit, habit))
            for drawn in range(2 * people - 2, 5):
                possible = [
                    draws
                    for draws in product(range(end - first), repeat=1 + drawn)
                    if np.bitwise_or.reduce([sides[one] for one in draws]) == 15
                ]
                if possible:
                    break
            weights = np.array([own[one] * np.prod(others[list(rest)]) for one, *rest in possible])
            weights /= weights.sum()
            expected[first:end] = 0
            for (one, *rest), weight in zip(possible, weights.tolist(), strict=True):
                expected[first + one] += weight
                np.add.at(counts, inside[rest], weight)
            own_counts[inside] += expected[first:end]
        own_habit, habit = own_counts, counts
    return expected


@given(seed=st.integers(0, 10_000), people=st.integers(2, 3), rounds=st.integers(0, 2))
def test_a_person_among_others_is_where_all_ways_to_draw_say(seed: int, people: int, rounds: int) -> None:
    rng = np.random.default_rng(seed)
    places = listed([divmod(int(cell), 6) for cell in rng.choice(36, 5, replace=False)])
    places = places._replace(busyness=rng.uniform(0.1, 3, 5))
    rows = [rng.choice(5, 1 + rng.integers(1, 3), replace=False) for _ in range(3)]
    xy = np.column_stack([places.x, places.y])
    boxes = np.array(
        [[b, b + 1, *xy[some].min(axis=0), *xy[some].max(axis=0) + 1] for b, some in enumerate(rows)]
    )
    cells = np.append(xy[rng.integers(0, 5, 2)], [[9, 9]], axis=0)
    contents, rates = places_in_boxes(boxes, places, 1), np.empty((3, 16))
    habit = expect_person(contents, cells, people, places, rates, rounds)
    box, inside, expected = each_place(contents, habit, rates)
    sides = np.repeat(contents.sides, contents.runs)
    contents = contents._replace(offsets=np.searchsorted(box, np.arange(4)), places=inside, sides=sides)
    prior = np.where(np.isin(np.arange(5), inside), places.busyness, 0)
    prior *= 50 / prior.sum()
    known = prior + 10 * (xy == cells[:2, None]).all(axis=2).sum(axis=0)
    assert expected == pytest.approx(by_enumeration(contents, prior, known, people, rounds))


def chance_to_touch(missing: int, count: int, shares: Floats, sides: Integers) -> float:
    """That so many draws touch these sides: without those that miss one, and so on."""
    some = [one for one in range(16) if one & ~missing == 0]
    return float(
        sum((-1) ** one.bit_count() * float(shares[sides & one == 0].sum()) ** count for one in some)
    )


@given(seed=st.integers(0, 10_000), people=st.integers(1, 3), rounds=st.integers(0, 2))
def test_draws_are_expected_as_if_each_place_of_each_box_were_weighed(
    seed: int, people: int, rounds: int
) -> None:
    """Kernels weigh places at no side run by run."""
    rng = np.random.default_rng(seed)
    places = listed([divmod(int(cell), 7) for cell in rng.choice(49, 30, replace=False)])
    places = places._replace(busyness=rng.uniform(0.1, 3, 30))
    low = rng.integers(0, 3, (4, 2))
    boxes = np.column_stack([np.arange(4), np.arange(1, 5), low, low + rng.integers(3, 6, (4, 2))])
    contents, touched = places_in_boxes(boxes, places, 1), rng.integers(0, 16, 4)
    contents.weights[:] = rng.uniform(0.5, 2, (4, 16))
    contents.weights[:, 0] = 1
    rates, named = np.empty((4, 16)), np.empty((2, 0), dtype=np.int64)
    box, inside, draws = each_place(
        contents,
        read_record(contents, touched, np.full(4, 2 * people), places.busyness, rates, named, rounds),
        rates,
    )
    west, south, east, north = (places.bounds[:, side] for side in range(4))
    of_box = [
        np.flatnonzero((w <= west) & (s <= south) & (east <= e) & (north <= n))
        for _, _, w, s, e, n in boxes.tolist()
    ]
    assert np.concatenate(of_box).tolist() == inside.tolist()
    assert box.tolist() == np.repeat(np.arange(4), [*map(len, of_box)]).tolist()
    prior = np.where(np.isin(np.arange(30), inside), places.busyness, 0)
    prior *= 50 / prior.sum()
    habit, expected = prior, [np.zeros(len(own)) for own in of_box]
    for _ in range(rounds + 1):
        counts = prior.copy()
        for b, own in enumerate(of_box):
            w, s, e, n = boxes[b, 2:].tolist()
            sides = (west == w) + 2 * (south == s) + 4 * (east == e) + 8 * (north == n)
            sides, missing = sides[own], 15 & ~int(touched[b])
            shares = habit[own] * contents.weights[b, sides]
            shares /= shares.sum() or 1
            for count in range(2 * people, max(2 * people, 4) + 1):
                chance = chance_to_touch(missing, count, shares, sides)
                if chance > 1e-9:
                    left = [chance_to_touch(missing & ~int(one), count - 1, shares, sides) for one in sides]
                    expected[b] = count * shares * left / chance
                    counts[own] += expected[b]
                    break
        habit = counts
    assert draws == pytest.approx(np.concatenate(expected), rel=1e-6, abs=1e-9)


def test_a_place_that_the_other_of_two_uses_is_not_hers() -> None:
    """Both are at home by night; one evening the other is at home, and she is not."""
    home, his_home, elsewhere = (2, 2), (6, 6), (9, 9)
    nights = [[9 * day, 9 * day + 1, 2, 2, 7, 7] for day in range(40)]
    boxes = np.array([*nights, [999, 1000, 6, 6, 10, 10]])
    places = listed([home, his_home, elsewhere, (7, 9), (9, 7)])
    guesses = np.zeros((5, 41, 3), dtype=np.int64)
    likely = read_alone(boxes, 2, places, guesses)
    assert guesses[1:4, -1, 1:].tolist() == [[*his_home]] * 3  # by all boxes: he is there most
    guess_of_person(likely, np.array([home]), 2, places, guesses[4])
    assert guesses[4, :, 1:].tolist() == [[*home]] * 40 + [[*elsewhere]]


def test_a_place_of_a_leaf_lies_at_the_sides_of_its_leaf_and_not_in_boxes_that_cut_it() -> None:
    places = listed([(1, 1), (3, 3), (6, 2)])
    leaves = np.array([[1, 1, 4, 4], [1, 1, 4, 4], [6, 2, 7, 3]])
    contents = places_in_boxes(
        np.array([[0, 9, 1, 1, 7, 4], [0, 9, 2, 1, 7, 4]]), places._replace(bounds=leaves), 1
    )
    assert contents.offsets.tolist() == [0, 3, 4]
    west_south_north, east = 1 + 2 + 8, 4
    assert contents.sides.tolist() == [west_south_north, west_south_north, east, east]


def test_a_box_without_a_listed_place_is_not_named() -> None:
    contents = places_in_boxes(np.array([[0, 9, 0, 0, 5, 5]]), listed([(7, 7)]), 1)
    named = np.empty((2, 1), dtype=np.int64)
    nothing = np.zeros(1, dtype=np.int64)
    read_record(contents, nothing, np.full(1, 4), np.ones(1), np.empty((1, 16)), named, ROUNDS)
    assert named.tolist() == [[-1], [-1]]


def rates(people: Trajectories, hull: str, *, with_list: bool) -> dict[str, Rate]:
    release, linkage = Glove(k=2, hull=hull).anonymize(people, Randomness.for_research(1))
    cells = np.unique(np.column_stack([people.x, people.y]), axis=0) * 100.0
    places = PublicPlaces(x=cells[:, 0], y=cells[:, 1]) if with_list else None
    found = attack(
        people,
        release,
        linkage,
        knowledge=["downcoding", "insider"],
        rng=Randomness.for_research(1),
        scope=AttackScope(targets=["release"], places=places),
    )
    return {one.name: one for one in found.rates}


def at_stations(seed: int, stations: int = 25) -> Trajectories:
    people = random_people(30, 12, seed=seed, cells=stations)
    table = np.random.default_rng(seed).integers(0, 200, (stations, 2))
    cells = table[np.asarray(people.x) % stations]
    return replace(people, x=cells[:, 0].copy(), y=cells[:, 1].copy())


@pytest.mark.jit_only
def test_a_coarse_grid_hides_corners_and_not_listed_places() -> None:
    people = at_stations(2)
    alone, with_list = (rates(people, "grid:500m", with_list=one) for one in (False, True))
    assert alone["downcoding-place"].rate < 0.1
    assert with_list["downcoding-place"].rate > 0.8
    assert with_list["downcoding-place"].baseline > 2 * (with_list["downcoding-place"].chance or 1)
    assert with_list["insider-place"].rate > 0.8


@pytest.mark.jit_only
def test_sides_that_repeat_make_a_list() -> None:
    tight = rates(at_stations(2), "tight", with_list=False)["downcoding-place"]
    assert tight.rule == "surest place"
    assert tight.rate > 0.7 > 0.4 > tight.baseline


@pytest.mark.jit_only
def test_corners_that_repeat_are_found_at_the_limits_of_32_bits() -> None:
    west, east = -(1 << 31), (1 << 31) - 2
    boxes = np.array([[0, 1, west, 3, east, 5], [0, 1, west, 3, west + 2, 9], [0, 1, east - 1, 4, east, 5]])
    target = BoxTarget.of_boxes(np.arange(4), boxes, Grid())
    cells, use = _corners(target, fewest=2)
    assert target.boxes.dtype == np.int32
    assert cells.tolist() == [[west, 3], [east - 1, 4]]
    assert use.tolist() == [4, 4]
    assert len(_corners(target, fewest=1)[0]) == 7


@pytest.mark.jit_only
def test_a_corner_whose_sides_move_as_one_body_would_is_likelier_to_hold_somebody() -> None:
    motion = np.array([[1.5, 0.5], [0.25, 4.0]])
    boxes = np.array(
        [
            [0, 1, 0, 0, 5, 5],
            [1, 2, 1, 1, 5, 5],  # south-west moves as one, north-east stays
            [3, 4, 2, 2, 6, 5],  # after a gap
            [4, 6, 3, 3, 7, 5],  # longer than a slot
        ]
    )
    places = listed([(3, 3)])._replace(motion=motion)
    weights = places_in_boxes(boxes, places, 1).weights
    west, south, east, north = 1, 2, 4, 8
    expected = np.ones((4, 16))
    expected[:2, [west | south, east | north, east | south, west | north]] = [4, 1.5, 0.5, 0.25]
    assert weights == pytest.approx(expected)


@given(seed=st.integers(0, 10_000))
def test_sides_are_followed_through_slots_as_all_ways_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = listed(list(product(range(4), range(4))))
    places = places._replace(busyness=rng.uniform(0.1, 3, 16), along=rng.uniform(0, 0.6, (5, 5)))
    low = rng.integers(0, 2, (3, 2))
    boxes = np.column_stack([np.arange(3), np.arange(1, 4), low, low + rng.integers(2, 4, (3, 2))])
    boxes[2, :2] += rng.integers(0, 2)  # sometimes the last box is after a gap
    boxes[2, 1] += rng.choice([0, 0, 4, 30])  # sometimes it is of many slots
    contents, touched = places_in_boxes(boxes, places, 1), rng.integers(0, 16, 3)
    rates, named = np.empty((3, 16)), np.empty((2, 0), dtype=np.int64)
    drawn = 3 * np.minimum(boxes[:, 1] - boxes[:, 0], 16)  # everybody once in a slot
    habit = read_record(contents, touched, drawn, places.busyness, rates, named, 0)
    chances = follow_sides(boxes, contents, touched, 3, places)
    of_box, inside, expected = each_place(contents, habit, rates)
    nowhere, sides = np.ones(len(inside)), np.repeat(contents.sides, contents.runs)
    for side, along in enumerate((places.y, places.x, places.y, places.x)):
        at_side = (sides & ~touched[of_box] & (1 << side) > 0) & (expected > 0)
        rows = [np.flatnonzero(at_side & (of_box == b)) for b in range(3)]
        shares = expected / [expected[rows[b]].sum() or 1 for b in of_box]
        told = np.zeros(len(expected))
        for way in product(*(own.tolist() or [-1] for own in rows)):  # -1 = nobody needs to explain it
            weight = 1.0
            for b, row in enumerate(way):
                if row < 0:
                    continue
                weight *= shares[row]
                if b and way[b - 1] >= 0 and boxes[b, 1] - boxes[b - 1, 0] == 2:
                    moved = abs(boxes[b, 2 + side] - boxes[b - 1, 2 + side])
                    away = abs(along[inside[row]] - along[inside[way[b - 1]]])
                    length = boxes[b, 5 - side % 2] - boxes[b, 3 - side % 2]
                    same = places.along[moved, away] if away < 4 else 0
                    weight *= 1 + same * length / len(rows[b]) / shares[row]
            for row in way:
                told[row] += weight * (row >= 0)
        sums = [told[rows[b]].sum() or 1 for b in of_box]
        nowhere *= 1 - np.where(at_side, told / sums, 0)
    nowhere *= np.exp(-habit[inside] * rates[of_box, 0])  # nor by the draws at no side
    first = offsets_of(contents.runs)[:-1]
    assert chances == pytest.approx(1 - np.minimum.reduceat(nowhere, first))


def walkers(crowds: int, minutes: int, rng: np.random.Generator) -> Integers:
    """Cells [crowds, minutes, 5, 2] of people who stand still for a while, or walk on straight ways."""
    places = np.empty((crowds, minutes, 5, 2), dtype=np.int64)
    places[:, 0] = rng.integers(0, 60, (crowds, 5, 2))
    ways = np.zeros((crowds, 5, 2), dtype=np.int64)
    for minute in range(1, minutes):
        turns = rng.random((crowds, 5)) < 0.2
        ways[turns] = rng.integers(-2, 3, (turns.sum(), 2))
        places[:, minute] = places[:, minute - 1] + ways
    return places


@pytest.mark.jit_only
def test_readers_of_boxes_of_every_minute_use_how_bodies_move() -> None:
    """Without it, any two sides that are touched may be of two people."""
    crowds, minutes = 40, 30
    true = walkers(crowds, minutes, np.random.default_rng(5))
    slots = np.broadcast_to(np.arange(minutes)[:, None], (crowds, minutes, 1))
    boxes = np.concatenate([slots, slots + 1, true.min(axis=2), true.max(axis=2) + 1], axis=2)
    target = BoxTarget.of_boxes(np.arange(0, crowds * minutes + 1, minutes), boxes.reshape(-1, 6), Grid())
    motion, _ = motion_of(target)
    assert motion[1, 1] > motion[0, 0] > 1 > motion[0, 5]  # nobody goes farther than two cells on an axis
    cells, use = _corners(target, fewest=1)
    places = listed([(x, y) for x, y in cells.tolist()])._replace(busyness=use)
    right = {"without": 0, "with": 0}
    for crowd, knows in product(range(crowds), right):
        read = places._replace(motion=motion) if knows == "with" else places
        guesses = np.zeros((5, minutes, 3), dtype=np.int64)
        read_alone(boxes[crowd], 5, read, guesses)
        right[knows] += int((guesses[1, :, None, 1:] == true[crowd]).all(axis=2).any(axis=1).sum())
    assert right["with"] > 1.05 * right["without"]


@pytest.mark.jit_only
def test_who_knows_one_person_leaves_the_corners_that_this_one_may_move() -> None:
    boxes = np.array([[0, 1, 0, 0, 5, 5], [1, 2, 0, 0, 5, 5]])
    places = listed([(0, 0), (0, 4), (4, 0), (4, 4)])._replace(motion=np.full((1, 1), 9.0))
    contents, *_ = find_contents(boxes, np.array([[0, 0, 2]]), places, 1)
    west_south, east_north, east_south, west_north = 3, 12, 6, 9
    assert contents.weights[0, [west_south, east_north, east_south, west_north]].tolist() == [1, 9, 9, 1]
    assert contents.weights[1, [west_south, east_north, east_south, west_north]].tolist() == [9, 9, 9, 9]


@pytest.mark.jit_only
def test_few_steps_tell_no_motion() -> None:
    boxes = np.array([[t, t + 1, 0, 0, 5, 5] for t in range(301)])
    apart = np.array([[9 * t, 9 * t + 1, 0, 0, 5, 5] for t in range(300, 3_001)])
    assert motion_of(BoxTarget.of_boxes(np.array([0, 301]), boxes, Grid()))[0].shape == (33, 33)
    assert motion_of(BoxTarget.of_boxes(np.array([0, 300]), boxes[:-1], Grid()))[0].tolist() == [[1.0]]
    most_apart = BoxTarget.of_boxes(np.array([0, 3_002]), np.concatenate([boxes, apart]), Grid())
    assert motion_of(most_apart)[0].tolist() == [[1.0]]


def test_who_knows_that_there_is_one_place_learns_nothing_from_boxes() -> None:
    people = random_people(12, 6, seed=1)
    people = replace(people, x=np.full_like(people.x, 7), y=np.full_like(people.y, 7))
    told = rates(people, "grid:500m", with_list=True)["downcoding-place"]
    assert (told.rate, told.baseline, told.gain) == (1, 1, 0)
    assert told.chance == pytest.approx(1 / 25)
    assert told.to_json()["chance"] == told.chance
