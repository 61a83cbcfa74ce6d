"""What answers to many questions say of one stored circle: its cell, and nothing more."""

import math
import random
from itertools import count

import pytest

import measure_towns
from red_team_oracle import NOON_MIN, SETTINGS, TODAY, Strangers, attack, minority, question
from service_town import identity_of, vouched
from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import MICRO, Cylinder, distance_m
from shoal_collect.matching.records import Query, Release, encode_query
from shoal_collect.matching.similarity import Thresholds, _middle_of_cell, similar
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import body_digest
from shoal_collect.server.mailbox import collector_for
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import StoredReleases
from shoal_collect.storage.phi import PhiStore, TooManyRowsError
from shoal_collect.storage.questions import AskedQuestions

EXACT = Thresholds(theta_m=1000, theta_min=60)
COARSE = Thresholds(theta_m=1000, theta_min=60, resolution_m=250, resolution_min=15)


def test_three_accomplices_see_nobody_or_no_more_than_a_cell() -> None:
    """A short run of ``lab/red_team_oracle.py``; without the limits the attack reads the center."""
    for name, (terms, decoys) in SETTINGS.items():
        periods = 3 if name == "no limits" else 1
        ends = [attack(terms, decoys, Chance(number.to_bytes(32)), 3, periods) for number in range(3)]
        if name in ("threshold", "defaults", "least k of 5, decoys"):
            assert ends == [None] * 3, name
            continue
        away = sorted(one for one in ends if one is not None)
        assert len(away) == 3
        if name == "defaults, decoys":
            assert away[1] > 20, "the middle of a cell of 250 m, wherever in it the center lies"
        else:
            assert away[-1] < (0.2 if name == "no limits" else 40)
    terms, n = SETTINGS["least k of 5, decoys"]
    assert attack(terms, n + 1, Chance(bytes(32)), 3, 1) is not None, "one accomplice more is one too many"


def test_one_of_three_gets_no_answer_to_what_her_group_did_not_mix() -> None:
    assert minority(Chance(bytes(32))) == {"tries": 5, "answered": 0}


def somewhere(chance: random.Random) -> tuple[int, int]:
    """Places all over the world, poles and the antimeridian among them."""
    lat = chance.choice([chance.uniform(-90, 90), chance.uniform(89.9, 90), chance.uniform(-90, -89.9)])
    lon = chance.choice([chance.uniform(-180, 179.99), -180, 179.999])
    return round(lat * MICRO), round(lon * MICRO)


def test_a_cell_s_middle_is_near_and_nobody_counts_who_would_not_exactly() -> None:
    chance, found = random.Random(5), 0
    for _ in range(2000):
        lat, lon = somewhere(chance)
        middle = _middle_of_cell(lat, lon, 250)
        assert distance_m(
            lat / MICRO, lon / MICRO, *(one / MICRO for one in middle)
        ) <= 1.01 * 250 / math.sqrt(2)
        near = [
            min(max(lat + chance.randrange(-30_000, 30_000), -90 * MICRO), 90 * MICRO),
            min(max(lon + chance.randrange(-30_000, 30_000), -180 * MICRO), 180 * MICRO - 1),
        ]
        start = NOON_MIN + chance.randrange(-200, 200)
        asked, stored = Cylinder(NOON_MIN, 30, lat, lon, 500), Cylinder(start, 20, near[0], near[1], 300)
        if similar(asked, stored, COARSE):
            found += 1
            assert similar(asked, stored, EXACT)
    assert found > 100


def test_circles_in_one_cell_cannot_be_told_apart() -> None:
    chance, told = random.Random(6), set[bool]()
    row, column = _middle_of_cell(39_900_000, 116_300_000, 250)
    one = Cylinder(NOON_MIN + 1, 30, row - 900, column + 900, 500)
    other = Cylinder(NOON_MIN + 14, 30, row + 900, column - 900, 500)
    assert _middle_of_cell(one.lat_udeg, one.lon_udeg, 250) == _middle_of_cell(
        other.lat_udeg, other.lon_udeg, 250
    )
    for _ in range(1500):
        lat, lon = (
            39_900_000 + chance.randrange(-30_000, 30_000),
            116_300_000 + chance.randrange(-30_000, 30_000),
        )
        asked = Cylinder(NOON_MIN + chance.randrange(-150, 150), 30, lat, lon, chance.randrange(75, 2000))
        assert similar(asked, one, COARSE) == similar(asked, other, COARSE)
        told.add(similar(asked, one, COARSE))
    assert told == {True, False}


def test_a_town_shares_a_day_and_every_question_is_answered() -> None:
    """A short run of ``lab/measure_towns.py``, and more questions of one place than one person may ask."""
    row = measure_towns.measure(4, Terms(n_real=3, n_fake=6, longest=2), Chance(bytes(32)))
    assert (row["questions"], row["withheld"]) == (36, 0)
    terms, records = (
        Terms(),
        [encode_query(Query(bytes((n,)) * 16, question(39.9, 116.3, 0, 0))) for n in range(61)],
    )
    slices = [body_digest(b"".join(records))]
    with Database() as database:
        asked = AskedQuestions(database)
        for group in range(50):
            session, now_s = bytes((group,)) * 32, TODAY * 86_400.0
            answers = asked.answer(bytes(32), session, records, terms, slices, now_s, lambda *_: 3)
            assert answers[1] == [3] * 61
        assert StoredReleases(database).questions() == (50 * 61, 0)


@pytest.mark.parametrize("paces_s", [(6, 0), (0, 6)])
def test_of_two_who_bring_a_batch_at_once_both_hear_what_was_noted_first(paces_s: tuple[int, int]) -> None:
    """Else a collector would contradict its witness, which repeats that."""
    points = question(39.9, 116.3, 0, 0)
    records = [encode_query(Query(bytes((n,)) * 16, points)) for n in range(61)]
    about = (bytes(32), bytes(32), records, Terms(), [body_digest(b"".join(records))], TODAY * 86_400.0)
    heard: list[list[int | None]] = []
    with Database() as database:
        first, second = (AskedQuestions(database, count(0.0, pace_s).__next__) for pace_s in paces_s)

        def people(_record: bytes, _day: int) -> int:
            if not heard:
                heard.append(second.answer(*about, lambda *_: 3)[1])
            return 3

        assert first.answer(*about, people)[1] == heard[0]
    assert heard == [[3, *[None if paces_s[1] else 3] * 60]]


def test_a_session_asks_once_exactly_the_agreed_number_within_bounds() -> None:
    with Database() as database:
        terms = Terms(group_size=3, n_real=2, n_fake=1, longest=2)
        strangers = Strangers(database, terms, Chance(bytes(32)))
        session, seeds = strangers.group()
        first, second, _ = map(identity_of, seeds)
        now_s = strangers.now_s
        good = [encode_query(Query(bytes((n,)) * 16, question(39.9, 116.3, 0, 0))) for n in range(12)]
        sets = [[b"".join(good[at + n : at + n + 3]) for n in (0, 3, 6)] for at in (0, 1)]

        def ask(who: bytes, slices: list[bytes], at: int = 0, later_s: float = 0) -> bytes:
            body = vouched(session, dict(enumerate(seeds)), slices, at)
            return strangers.mailbox.ask(who, session, body, now_s + later_s)

        for records in (good[:2], good[:4], good[:1]):
            with pytest.raises(PeerError, match="exactly 3"):
                ask(first, [b"".join(records), *sets[0][1:]])
        for radius_m, gap_min, n_points in (
            (74, 30, 2),
            (2001, 30, 2),
            (100, 5, 2),
            (100, 721, 2),
            (100, 30, 3),
        ):
            points = tuple(Cylinder(NOON_MIN + at, gap_min, 0, 0, radius_m) for at in range(n_points))
            body = good[0] + good[1] + encode_query(Query(bytes(16), points))
            with pytest.raises(PeerError, match="out-of-range"):
                ask(first, [body, *sets[0][1:]])
        own = ask(first, sets[0])
        assert ask(second, sets[0], later_s=86_400) == own, "from the same state"
        with pytest.raises(PeerError, match="second set of questions"):
            ask(first, sets[1])
        ask(first, sets[0], 1)
        with pytest.raises(PeerError, match="has asked its questions"):
            ask(first, sets[0], 2)
        ask(second, sets[0], 2)


def test_a_batch_has_a_budget_of_rows_and_time_and_keeps_to_what_it_answered(database_url: str) -> None:
    """What is not counted is not answered, also when the batch comes again; a crowd is one all the same."""
    clock = iter([0.0, 1.0, 9.0, 11.0, *[11.0] * 9])
    point = Cylinder(NOON_MIN, 30, 0, 0, 500), Cylinder(NOON_MIN + 120, 30, 0, 0, 500)
    terms = Terms(group_size=3, n_real=2, n_fake=1, longest=2)
    records = [encode_query(Query(bytes((n,)) * 16, point)) for n in range(3)]
    with Database(database_url) as database:
        store = PhiStore(database, most_rows=6)
        for person in range(6):
            store.add(Release(bytes((person,)) * 16, bytes((person,)) * 16, bytes(32), point), TODAY - 2)
        asked = AskedQuestions(database, lambda: next(clock))
        collector = collector_for(store, bytes(32), terms, bytes(32))

        def ask(session: bytes) -> list[int | None]:
            now_s = TODAY * 86_400 + 1000.0
            slices = [body_digest(b"".join(records))]
            return asked.answer(bytes(32), session, records, terms, slices, now_s, collector.people)[1]

        assert ask(b"slow".ljust(32)) == [6, 6, None], "the third came after ten seconds"
        assert ask(b"slow".ljust(32)) == [6, 6, None], "and is answered the same again"
        assert next(clock) == 11.0
        far = Cylinder(NOON_MIN, 30, 0, 5_000, 500), Cylinder(NOON_MIN + 120, 30, 0, 5_000, 500)
        store.add(Release(bytes(15) + b"!", bytes(15) + b"!", bytes(32), far), TODAY - 2)
        with pytest.raises(TooManyRowsError):
            store.count(point, terms.thresholds, TODAY)
        assert ask(b"crowded".ljust(32)) == [None, None, None]
        assert StoredReleases(database).questions() == (6, 4)
        crowd = PhiStore(database, most_rows=20)
        for person in range(20):
            crowd.add(Release(bytes((99, person)) * 8, bytes((99, person)) * 8, bytes(32), point), TODAY - 2)
        assert crowd.count(point, terms.thresholds, TODAY, enough=16) >= 16
        with pytest.raises(TooManyRowsError):
            crowd.count(point, terms.thresholds, TODAY, enough=26)
