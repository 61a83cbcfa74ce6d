"""Cylinders, records, sub-trajectories, trimming: the paper's own answers, brute force, and bad input."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect_oracles import contains
from mix_runs import seed
from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import (
    Blur,
    Cylinder,
    Point,
    cylinder_as_printed,
    cylinder_for,
    distance_m,
)
from shoal_collect.matching.records import (
    Query,
    Release,
    decode_query,
    decode_releases,
    encode_query,
    encode_release,
)
from shoal_collect.matching.similarity import Thresholds, occurs, similar
from shoal_collect.matching.subtrajectories import (
    PublicPlaces,
    Trimming,
    choose_subtrajectories,
    count,
    draw_subtrajectories,
    fake_trajectory,
    most_points_in_pairs,
    trim,
)

seeds = st.integers(0, 10**6).map(lambda number: seed("test", number))
cylinders = st.builds(
    Cylinder,
    st.integers(0, 2**31),
    st.integers(0, 65_535),
    st.integers(-90_000_000, 90_000_000),
    st.integers(-180_000_000, 179_999_999),
    st.integers(0, 65_535),
)


# cylinders


@given(
    st.floats(-90, 90),
    st.floats(-180, 180),
    st.floats(0, 3e7),
    st.integers(75, 5000),
    st.integers(6, 600),
    seeds,
    st.integers(0, 9),
)
def test_a_cylinder_holds_its_point_anywhere_on_earth(
    lat: float, lon: float, t: float, radius: int, gap: int, key: bytes, period: int
) -> None:
    point = Point(lat, lon, t)
    try:
        drawn = cylinder_for(point, Blur(radius_m=radius, gap_min=gap), key, period)
    except MisuseError:
        assert abs(lat) > 89.9  # only cells around a pole are less compact than squares
        return
    assert contains(drawn, point)
    assert drawn == cylinder_for(point, Blur(radius_m=radius, gap_min=gap), key, period)


def test_visits_to_one_cell_always_show_the_same_circle() -> None:
    blurring = Blur(radius_m=1000, gap_min=60)
    near = [Point(39.9000 + step * 1e-6, 116.4, 1000.0 + step) for step in range(40)]
    circles = Counter(
        (one.lat_udeg, one.lon_udeg)
        for one in (cylinder_for(point, blurring, bytes(32), 0) for point in near)
    )
    assert len(circles) <= 2  # 5 meters cross one border of cells at most
    other = {
        (c.lat_udeg, c.lon_udeg)
        for c in (cylinder_for(near[0], blurring, bytes(32), period) for period in range(50))
    }
    assert len(other) == 50


def test_distances_to_the_center_are_uniform_over_the_disc() -> None:
    point, chance = Point(39.9, 116.4, 1000.0), Chance(seed("disc"))
    drawn = [cylinder_as_printed(point, 1000, 30, chance) for _ in range(4000)]
    away = sorted(distance_m(39.9, 116.4, one.lat_udeg / 1e6, one.lon_udeg / 1e6) / 1000 for one in drawn)
    worst = max(abs((i + 0.5) / len(away) - r * r) for i, r in enumerate(away))
    assert worst < 1.95 / math.sqrt(len(away))  # Kolmogorov-Smirnov at 0.1 %


def test_a_circle_smaller_than_its_cell_is_refused() -> None:
    with pytest.raises(MisuseError, match="cannot hide a cell"):
        cylinder_for(Point(0, 0, 0), Blur(radius_m=60, gap_min=60), bytes(32), 0)
    for bad in (math.nan, 91.0):
        with pytest.raises(MisuseError):
            Point(bad, 0, 0)


def test_identical_intervals_are_similar() -> None:
    one = Cylinder(100, 10, 0, 0, 100)
    assert similar(one, one, Thresholds(theta_min=60))
    assert similar(one, Cylinder(170, 5, 0, 0, 1), Thresholds(theta_min=60))
    assert not similar(one, Cylinder(171, 5, 0, 0, 1), Thresholds(theta_min=60))
    east, west = Cylinder(0, 9, 0, 179_999_000, 100), Cylinder(0, 9, 0, -179_999_000, 100)
    assert similar(east, west, Thresholds(theta_m=50, theta_min=0))  # 222 m across the antimeridian


@given(st.lists(st.lists(st.integers(0, 6), max_size=4, unique=True).map(sorted), min_size=1, max_size=4))
def test_a_query_occurs_where_places_can_be_chosen_ascending(lists: list[list[int]]) -> None:
    naive = any(all(a < b for a, b in itertools.pairwise(choice)) for choice in itertools.product(*lists))
    assert occurs(lists) == naive


# records


@given(st.lists(cylinders, min_size=2, max_size=8), st.binary(min_size=16, max_size=16))
def test_queries_come_back(points: list[Cylinder], name: bytes) -> None:
    query = Query(name, tuple(points))
    assert decode_query(encode_query(query)) == query


@given(st.binary(max_size=200) | st.binary(min_size=148, max_size=148))
def test_random_bytes_are_no_query(record: bytes) -> None:
    with pytest.raises(PeerError):
        decode_query(record)


@given(st.lists(cylinders, min_size=1, max_size=28), st.randoms(use_true_random=False))
def test_releases_come_back_from_any_order_among_others(points: list[Cylinder], random: Any) -> None:
    release = Release(b"n" * 16, b"c" * 16, b"k" * 32, tuple(points))
    other = Release(b"m" * 16, b"d" * 16, b"j" * 32, tuple(points[:1]))
    records = [*encode_release(release, 4, Chance(bytes(32))), *encode_release(other, 4, Chance(seed(1)))]
    random.shuffle(records)
    assert decode_releases(records) == ([other, release], 0)
    damaged = [record for record in records if record[4:20] != release.name or record[3] != 0]
    assert decode_releases([*damaged, b"short"])[0] == [other]
    assert decode_releases(encode_release(None, 4, Chance(bytes(32)))) == ([], 0)


def test_records_out_of_range_or_with_bytes_behind_are_refused() -> None:
    good = encode_query(Query(bytes(16), (Cylinder(5, 5, 1, 1, 1), Cylinder(9, 5, 1, 1, 1))))
    for bad in (
        good[:-1],
        good + b"\x00",
        good[:-1] + b"\x01",
        good[:2] + b"\x01" + good[3:],
        b"\x02" + good[1:],
    ):
        with pytest.raises(PeerError):
            decode_query(bad)
    with pytest.raises(PeerError, match="out-of-range"):
        decode_query(good[:20] + b"\x7f\xff\xff\xff" + good[24:])


def test_our_own_misuse_is_no_fault_of_a_peer() -> None:
    """What we make out of range ourselves is a MisuseError; only what comes from outside is a PeerError."""
    pair = (Cylinder(5, 5, 1, 1, 1), Cylinder(9, 5, 1, 1, 1))
    wrong: list[Callable[[], object]] = [
        lambda: Cylinder(5, 5, 91_000_000, 1, 1),
        lambda: Cylinder(2**32, 5, 1, 1, 1),
        lambda: Query(bytes(16), pair[:1]),
        lambda: Query(bytes(15), pair),
        lambda: Release(bytes(16), bytes(16), bytes(31), pair),
        lambda: Release(bytes(16), bytes(16), bytes(32), ()),
        lambda: cylinder_for(Point(0.0, 0.0, 2**32 - 1), Blur(radius_m=500, gap_min=30), bytes(32), 0),
    ]
    for make in wrong:
        with pytest.raises(MisuseError):
            make()


# extraction, trimming, utility


def test_four_points_have_eleven_sub_trajectories() -> None:
    assert count(4, 4) == 11
    every = draw_subtrajectories(4, 50, 4, Chance(bytes(32)))
    assert len(every) == len(set(every)) == 11
    assert [places for places in every if len(places) == 2] == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 3),
    ]


def test_extraction_is_uniform_and_never_lists_everything() -> None:
    drawn = draw_subtrajectories(500, 50, 8, Chance(bytes(32)))
    assert len(set(drawn)) == 50
    assert all(list(places) == sorted(set(places)) and 2 <= len(places) <= 8 for places in drawn)
    tally: Counter[tuple[int, ...]] = Counter()
    for number in range(3000):
        tally.update(draw_subtrajectories(5, 3, 3, Chance(seed(number))))
    expected = 3000 * 3 / count(5, 3)
    chi2 = sum((seen - expected) ** 2 / expected for seen in tally.values())
    assert len(tally) == count(5, 3)
    assert chi2 < 45  # 19 degrees of freedom, 0.1 % lies beyond 43.8


def test_the_examples_of_trimming() -> None:
    """Sec. 3.4: of A1, A2, A3 with A2 -> A3 rare, A1 -> A2 stays; Algorithm 2 would leave A1 alone."""
    phi: dict[tuple[int, ...], int] = {(0, 1): 3, (1, 2): 1, (0, 2): 5}
    assert trim(3, phi, 3, "strict") == ()  # A1 alone holds nothing that was checked
    assert trim(3, phi, 3) == trim(3, phi, 3, "verified-pairs") == (0, 1)
    assert trim(3, phi, 0) == (0, 1, 2)


@given(
    st.dictionaries(
        st.frozensets(st.integers(0, 5), min_size=2).map(lambda s: tuple(sorted(s))), st.integers(0, 4)
    ),
    st.integers(0, 4),
)
def test_no_rare_checked_one_is_left(phi: dict[tuple[int, ...], int], least: int) -> None:
    assert len(get_args(Trimming)) > 1
    for how in get_args(Trimming):
        kept = set(trim(6, phi, least, how))
        assert not [places for places, people in phi.items() if people < least and set(places) <= kept]


@given(
    st.dictionaries(
        st.frozensets(st.integers(0, 5), min_size=2).map(lambda s: tuple(sorted(s))), st.integers(0, 4)
    ),
    st.integers(1, 4),
)
def test_every_two_points_of_a_default_release_were_verified(
    phi: dict[tuple[int, ...], int], least: int
) -> None:
    """By brute force over all sets: it is as large as can be, and the first of these in order."""
    rare = [set(places) for places, people in phi.items() if people < least]
    common = [set(places) for places, people in phi.items() if people >= least]
    trusted = [one for one in common if not any(other <= one for other in rare)]

    def verified(places: tuple[int, ...]) -> bool:
        pairs = itertools.combinations(places, 2)
        return all(any({a, b} <= one for one in trusted) for a, b in pairs) and not any(
            other <= set(places) for other in rare
        )

    every = (c for size in (6, 5, 4, 3, 2) for c in itertools.combinations(range(6), size))
    assert trim(6, phi, least) == next((c for c in every if verified(c)), ())


def test_all_pairs_are_asked_once_where_they_fit() -> None:
    for n_points in (2, 5, 9):
        asked = choose_subtrajectories(n_points, 40, 4, Chance(bytes(32)))
        assert len(asked) == len(set(asked)) == min(40, count(n_points, 4))
        assert set(itertools.combinations(range(n_points), 2)) <= set(asked)
        assert all(len(one) <= 4 for one in asked)
    assert most_points_in_pairs(40) == 9
    for how_many in range(1, 400):
        most = most_points_in_pairs(how_many)
        assert math.comb(most, 2) <= how_many < math.comb(most + 1, 2)
    assert len(choose_subtrajectories(10, 40, 4, Chance(bytes(32)))) == 40  # 45 pairs do not fit


def test_fakes_pass_for_real_and_canaries_are_where_nobody_is() -> None:
    prior = PublicPlaces(
        lat_deg=(39.9, 39.95, 40.0),
        lon_deg=(116.3, 116.4, 116.5),
        weights=(5, 3, 1),
        first_min=1_000_000,
        last_min=1_100_000,
    )
    blurring = Blur(radius_m=500, gap_min=30)
    fake = fake_trajectory(prior, 5, [blurring], Chance(bytes(32)))
    assert len(fake) == 5
    assert all(
        one.radius_m == 500 and one.gap_min == 30 and 39_800_000 < one.lat_udeg < 40_100_000 for one in fake
    )
    assert any(
        one.lat_udeg < -75_000_000
        for one in fake_trajectory(prior, 5, [blurring], Chance(bytes(32)), canary=True)
    )
