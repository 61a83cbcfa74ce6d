"""Fake questions that hide: as many for each decoy as for the real trip, alike in times, steps and sizes."""

import itertools
import math

import pytest

import measure_decoys
from service_town import seed
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import (
    MICRO,
    Blur,
    Cylinder,
    Point,
    bearing_between,
    destination,
    distance_m,
)
from shoal_collect.matching.records import Query, decode_query
from shoal_collect.matching.subtrajectories import NOBODY_SOUTH_OF_UDEG, PublicPlaces, draw_decoys
from shoal_collect.roles.participant import Participant, Questions, blur, choose_questions
from shoal_collect.roles.terms import Terms

PLACES = PublicPlaces(
    lat_deg=(45.70, 45.75, 45.80),
    lon_deg=(4.80, 4.85, 4.90),
    weights=(1, 5, 2),
    first_min=20_000_000,
    last_min=20_500_000,
)
TRIP = [Point(45.74 + 0.01 * i, 4.83 + 0.02 * (i % 3), 20_400_000.0 + 47 * i) for i in range(6)]
SHARP = Blur(radius_m=72, gap_min=6)  # so that circles are almost where they should be


def member_of(trip: list[Point], size: Blur = SHARP, key: object = 0) -> Participant:
    return Participant(device_key=seed("device", key), points=trip, blur=size, k=2)


def asked(member: Participant, rules: Terms, draw: object = 0) -> tuple[Questions, list[Query]]:
    questions = choose_questions(member, blur(member, 0), PLACES, rules, Chance(seed("round", draw)))
    return questions, [decode_query(record) for record in questions.records]


@pytest.mark.parametrize("n_points", [2, 3, 4, 5, 6])
def test_every_trajectory_is_asked_about_equally_often_and_each_question_once(n_points: int) -> None:
    rules = Terms()
    member = member_of(TRIP[:n_points], Blur(radius_m=500, gap_min=30))
    questions, every = asked(member, rules)
    assert len(every) == len({one.points for one in every}) == rules.n_real + rules.n_fake
    told = [(one.points, one.name in questions.places) for one in every if one.name not in questions.canaries]
    sets = measure_decoys.linked(told)
    pairs = math.comb(n_points, 2)
    assert {len(own) for own in sets} == {pairs}
    assert len(sets) == (rules.n_real + rules.n_fake) // pairs > 3
    assert [sum(told[number][1] for number in own) for own in sets].count(pairs) == 1
    real = {one.points for one in every if one.name in questions.places}
    assert real == set(itertools.combinations(questions.points, 2))


def test_canaries_are_apart_and_fill_what_holds_no_decoy() -> None:
    questions, every = asked(member_of(TRIP), Terms(n_real=15, n_fake=50))
    canaries = [one for one in every if one.name in questions.canaries]
    assert len(canaries) == 65 % 15
    assert all(any(point.lat_udeg < NOBODY_SOUTH_OF_UDEG for point in one.points) for one in canaries)
    elsewhere = {point for one in every if one.name not in questions.canaries for point in one.points}
    assert not elsewhere & {point for one in canaries for point in one.points}
    assert asked(member_of(TRIP), Terms(n_real=15, n_fake=45))[0].canaries == frozenset(), "they are rare"


def middle(point: Cylinder) -> tuple[float, float]:
    return point.lat_udeg / MICRO, point.lon_udeg / MICRO


def test_a_decoy_has_the_times_the_steps_and_the_sizes_of_the_real_trip() -> None:
    sizes = [SHARP, Blur(radius_m=80, gap_min=7)] * 3
    found = draw_decoys(TRIP, sizes, PLACES, 5, Chance(bytes(32)))
    assert len({one for fake in found for one in fake}) == 30
    for fake in found:
        for one, size, true in zip(fake, sizes, TRIP, strict=True):
            assert (one.radius_m, one.gap_min) == (size.radius_m, size.gap_min)
            assert abs(one.start_min - true.t_min) <= 7
        for a, b in itertools.combinations(range(6), 2):
            apart_m = distance_m(*middle(fake[a]), *middle(fake[b]))
            true_m = distance_m(TRIP[a].lat_deg, TRIP[a].lon_deg, TRIP[b].lat_deg, TRIP[b].lon_deg)
            assert abs(apart_m - true_m) < 320  # two cells, two circles
        assert max(distance_m(*middle(one), TRIP[0].lat_deg, TRIP[0].lon_deg) for one in fake) > 1000
    assert len(found) == 5


def test_the_same_trip_has_the_same_decoys_in_every_round_and_another_device_others() -> None:
    def without_canaries(key: object, draw: object) -> set[tuple[Cylinder, ...]]:
        questions, every = asked(member_of(TRIP, key=key), Terms(), draw)
        return {one.points for one in every if one.name not in questions.canaries}

    assert without_canaries(0, 1) == without_canaries(0, 2)
    assert not without_canaries(0, 1) & without_canaries(1, 1)


def test_a_place_is_found_again_by_its_direction_and_distance() -> None:
    chance = Chance(bytes(32))
    for _ in range(50):
        one, other = ((170 * chance.unit() - 85, 360 * chance.unit() - 180) for _ in range(2))
        there = destination(*one, distance_m(*one, *other), bearing_between(*one, *other))
        assert distance_m(*there, *other) < 1


def test_the_measure_itself_finds_the_old_fakes() -> None:
    """A short run of lab/measure_decoys.py; its figures stand in the documentation."""
    found = measure_decoys.measure(16, None, 500, 1, Terms())
    assert found["now"]["joined"] == 1.0, "as the consent says"
    assert found["before"]["wins"] > 0.9
    assert found["now"]["wins"] < found["before"]["wins"]
    assert found["now"]["guessing"] < 0.35
    close, wide = measure_decoys.counted(12, None, 500, 1, Terms())
    assert close["decoys"] < wide["decoys"], "the wider theta, the more plausible questions are somebody's"
    assert wide["decoys"] > 0, "so a plausible canary would accuse an honest collector"
