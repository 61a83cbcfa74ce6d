"""Contributor tags that last for one area and one period: people are counted, never more than there are."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import measure_linking
from service_town import TERMS, own_round_for, seed
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import Cylinder, Point
from shoal_collect.matching.records import Release, encode_release
from shoal_collect.matching.similarity import Scoping, Thresholds, count_people, scoped_tag
from shoal_collect.roles.participant import draft_release
from shoal_collect.roles.participant_round import Device
from shoal_collect.server.mailbox import Collector
from shoal_collect.storage.phi import PhiStore

SCOPING = Scoping(20, 365)
YEAR_MIN = 365 * 1440


def first(lat: float, lon: float, start_min: int = 29_000_000) -> Cylinder:
    return Cylinder(start_min, 30, round(lat * 1e6), round(lon * 1e6), 500)


def test_a_tag_is_one_for_each_person_area_and_period() -> None:
    here, near, far = first(39.95, 116.35), first(39.96, 116.36), first(48.85, 2.35)
    later = first(39.95, 116.35, 29_000_000 + YEAR_MIN)
    scopes = [SCOPING.scope_of(one) for one in (here, near, far, later)]
    assert scopes[0] == scopes[1]
    assert len(set(scopes)) == 3
    keys = [seed("device", i) for i in range(3)]
    tags = {scoped_tag(scope, key) for scope in scopes for key in keys}
    assert len(tags) == 9
    assert {len(tag) for tag in tags} == {16}
    assert SCOPING.scope_of(here) != Scoping(50, 365).scope_of(here) != Scoping(50, 366).scope_of(here)


@given(
    lat=st.integers(-90_000_000, 90_000_000),
    lon=st.integers(-180_000_000, 179_999_999),
    area_km=st.integers(20, 5000),
)
def test_every_place_has_an_area_of_the_stated_size(lat: int, lon: int, area_km: int) -> None:
    scoping, side = Scoping(area_km, 365), area_km * 8993
    name = scoping.scope_of(Cylinder(0, 30, lat, lon, 500)).decode()
    _, band, column = map(int, name.split()[0].split("-"))
    period = int(name.split(": ")[1])
    assert 0 <= lat + 90_000_000 - band * side < side
    assert 0 <= column <= 360_000_000 // side
    assert period == 0
    moved = min(lat + side, 90_000_000)
    if moved - lat == side:
        assert scoping.scope_of(Cylinder(0, 30, moved, lon, 500)).decode() != name


@given(
    trips=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=14
    )
)
def test_people_are_never_counted_more_than_there_are(trips: list[tuple[int, int, int, bool]]) -> None:
    """Releases that begin in six areas and four periods, and all pass the circles that are asked about."""
    shared = (first(39.9, 116.3), first(39.91, 116.31, 29_000_060))
    with PhiStore() as store:
        for number, (person, area, period, lasting) in enumerate(trips):
            begins = Cylinder(
                29_000_000 - period * YEAR_MIN, 30, 39_900_000 - area * 300_000, 116_300_000, 500
            )
            scope = b"" if lasting else SCOPING.scope_of(begins)
            key = seed("device", person)
            tag = scoped_tag(scope, key)
            store.add(Release(seed(number)[:16], tag, bytes(32), (begins, *shared)), 1, scope)
        people = {person for person, *_ in trips}
        counted = store.count(shared, Thresholds(), 2)
        assert counted <= len(people)
        assert bool(counted) == bool(people)
        for person in people:  # whoever asks takes herself off, and is left with others only
            assert max(0, counted - 1) <= len(people - {person})
        in_scopes = {(person, 0 if lasting else (area, period)) for person, area, period, lasting in trips}
        most = max((sum(one[1] == s for one in in_scopes) for _, s in in_scopes), default=0)
        assert counted <= most


def test_one_person_in_many_scopes_is_one_person() -> None:
    assert count_people([]) == 0
    assert count_people([1, 2, 3]) == 3
    assert count_people([1 << 40 | 4, 2 << 40 | 5, 3 << 40 | 6]) == 1
    assert count_people([1 << 40 | 4, 2 << 40 | 5, 1 << 40 | 7, 8]) == 2


def test_what_a_device_drafts_is_counted_where_it_began() -> None:
    """Two people with two trips here and one in another city each, stored as a collector stores them."""
    away = tuple(
        Cylinder(one.start_min, 30, 48_850_000, 2_350_000, 500) for one in (first(0, 0), first(0, 1))
    )
    here = (first(39.9, 116.3), first(39.91, 116.31, 29_000_060))
    with PhiStore() as store:
        collector, chance = (
            Collector(store, seed("collector"), scope_of=lambda one: SCOPING.scope_of(one.points[0])),
            Chance(seed("drafts")),
        )
        for number in range(2):
            member = own_round_for(device_for(number), 0).member
            drafts = [draft_release(member, points, (0, 1), chance, SCOPING) for points in (here, here, away)]
            released = [one.release for one in drafts if one is not None]
            assert released[0].contributor == released[1].contributor != released[2].contributor
            records = [record for one in released for record in encode_release(one, 1, chance)]
            receipts, bad = collector.accept(records, 1)
            assert (len(receipts), bad) == (3, 0)
        assert [store.count(points, Thresholds(), 2) for points in (here, away)] == [2, 2]
        assert store.database.rows("SELECT COUNT(*) FROM contributor") == [(4,)]
        assert store.database.rows("SELECT COUNT(*) FROM scope") == [(2,)]


def test_without_a_registrar_a_device_that_makes_up_tags_counts_as_several_people() -> None:
    """What does not hold (docs/collect-review.md): there nothing ties tags to persons but her own device."""
    here = (first(39.9, 116.3), first(39.91, 116.31, 29_000_060))
    with PhiStore() as store:
        collector, chance = (
            Collector(store, seed("collector"), scope_of=lambda one: SCOPING.scope_of(one.points[0])),
            Chance(seed("drafts")),
        )
        one = draft_release(own_round_for(device_for(0), 0).member, here, (0, 1), chance, SCOPING)
        assert one is not None
        several = [replace(one.release, name=seed(i)[:16], contributor=seed(i)[:16]) for i in range(4)]
        records = [record for release in several for record in encode_release(release, 1, chance)]
        assert len(collector.accept(records, 1)[0]) == 4
        assert store.count(here, Thresholds(), 2) == 4


def device_for(number: int) -> Device:
    return Device("u", seed("sign", number), seed("device", number), bytes(32), bytes(32), bytes(32))


def test_terms_that_would_link_or_split_too_much_are_refused() -> None:
    for wrong in (19, 5_001, 0):
        with pytest.raises(ValidationError):
            TERMS.model_validate({**TERMS.model_dump(), "area_km": wrong})


def test_a_short_run_of_the_simulated_intersection_and_of_the_cost_in_phi() -> None:
    """The same code as in the bench, whose long run stands in the docs."""
    lasting, fresh, seen = (measure_linking.pin(kind, 60, 6, 4, seed=1) for kind in measure_linking.KINDS)
    assert lasting.pinned[-1] == lasting.guessed == seen.guessed == 1.0
    assert lasting.releases < 3
    assert max(fresh.pinned) == 0.0
    assert fresh.guessed < 0.5, "a quarter, but for chance in 60 tries"
    people = [
        [
            [Point(39.9 + 0.3 * (trip % 2) + 0.01 * i, 116.3, 29_000_000 + 60 * i) for i in range(3)]
            for trip in range(2 + person % 2)
        ]
        for person in range(5)
    ]
    before, after = measure_linking.compare(people, [SCOPING], 20, seed=1)
    assert before.linked == 1.0 > after.linked
    assert after.larger == 0.0
    assert before.phi >= after.phi > 0
