"""Readers of all boxes together: an oracle over all draws, known answers, and the blind reader."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.kernels.joint_reading import (
    ROUNDS,
    Draws,
    PlaceList,
    expect_visits,
    places_in_boxes,
    read_record,
    surest_place,
)
from shoal.methods.glove.glove import Glove
from shoal.model.places import PublicPlaces
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from small_releases import random_people

pytestmark = pytest.mark.kernels


def listed(cells: list[tuple[int, int]]) -> PlaceList:
    xy = np.array(sorted(cells), dtype=np.int64)
    return PlaceList(xy[:, 0].copy(), xy[:, 1].copy(), np.hstack([xy, xy + 1]), np.ones(len(xy)), public=True)


def expected_at(boxes: Integers, places: PlaceList) -> list[list[float]]:
    """The draws that are expected at each place in each box, of two people."""
    contents, expected = expect_visits(boxes, 2, places, 1, ROUNDS)
    rows = np.repeat(np.arange(len(boxes)), np.diff(contents.offsets))
    return [
        [float(expected[(rows == box) & (contents.places == one)].sum()) for one in range(len(places.x))]
        for box in range(len(boxes))
    ]


@given(seed=st.integers(0, 300), count=st.integers(1, 4), reach=st.integers(1, 3), touched=st.integers(0, 15))
def test_the_surest_place_is_in_most_draws_that_touch_all_sides(
    seed: int, count: int, reach: int, touched: int
) -> None:
    rng = np.random.default_rng(seed)
    box = np.array([[0, 9, 0, 0, 5, 5]])
    contents = places_in_boxes(box, listed([(int(a), int(b)) for a, b in rng.integers(0, 5, (4, 2))]), reach)
    shares = rng.dirichlet(np.ones(len(contents.places)))
    mass: Floats = np.bincount(contents.sides, weights=shares, minlength=16).astype(np.float64)
    surest = surest_place(contents, 0, shares, touched, count, Draws(mass, np.empty((5, 16))))
    chance = np.zeros(len(shares))
    for drawn in product(range(len(shares)), repeat=count):
        if touched | int(np.bitwise_or.reduce(contents.sides[list(drawn)])) == 15:
            chance[list(set(drawn))] += np.prod(shares[list(drawn)])
    assert chance[surest] == pytest.approx(chance.max())


def test_a_place_that_other_boxes_show_explains_a_side_that_two_places_can() -> None:
    places = listed([(3, 4), (3, 7), (8, 2), (6, 8)])
    wide, alone = [0, 9, 3, 2, 9, 9], [[10 + n, 11 + n, 3, 4, 4, 5] for n in range(20)]
    (one, other, *_), *_ = expected_at(np.array([wide]), places)
    assert one == pytest.approx(other)
    (one, other, *_), *_ = expected_at(np.array([wide, *alone]), places)
    assert one > 2 * other


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
    read_record(contents, np.zeros(1, dtype=np.int64), 2, np.ones(1), np.empty(0), named, ROUNDS)
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
def test_who_knows_that_there_is_one_place_learns_nothing_from_boxes() -> None:
    people = random_people(12, 6, seed=1)
    people = replace(people, x=np.full_like(people.x, 7), y=np.full_like(people.y, 7))
    told = rates(people, "grid:500m", with_list=True)["downcoding-place"]
    assert (told.rate, told.baseline, told.gain) == (1, 1, 0)
    assert told.chance == pytest.approx(1 / 25)
    assert told.to_json()["chance"] == told.chance
