"""The bootstrapping phase over the service.

Bootstrap records, which count in no crowd, cannot be claimed, and are gone on their day.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from service_processes import OF_THREE, Site, finish
from service_town import (
    PLACES,
    START_S,
    TERMS,
    TODAY,
    WAY,
    Town,
    identity_of,
    own_round_for,
    running,
    seed,
    volunteers,
)
from shoal.cli.documents import documents
from shoal_collect.device.disk import DeviceState, StateFolder
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import decode_releases, encode_points
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.roles.consent import date_of, describe_bootstrap
from shoal_collect.roles.requests import Call, Reply
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import DAY_S, split_records
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import Database
from shoal_collect.storage.migrations import MIGRATIONS
from shoal_collect.storage.phi import PhiStore
from test_collect_round import release

FILLING = TERMS.model_copy(update={"bootstrap_until": TODAY + 3})


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with Database(database_url) as opened:
        yield opened


def test_records_of_nobody_have_no_owner_count_in_no_crowd_and_go(database: Database, tmp_path: Path) -> None:
    town = Town(database, 3, terms=FILLING)
    endings = town.run()
    assert {one.kind for one in endings.values()} == {"shared"}, endings
    assert database.rows("SELECT DISTINCT who, claim_key, identifier, expires FROM record") == [
        (0, None, None, TODAY + 3)
    ]
    assert database.rows("SELECT COUNT(*) FROM contributor") == [(0,)], "no tag is kept"
    assert not any(call.to == "authority" for _, call, _ in town.calls), "there is nothing to claim"
    assert not any(one.device.sent for one in town.own_rounds.values()), (
        "and nothing to take off her own counts later"
    )
    bodies = {call.body for _, call, _ in town.calls if call.target.endswith("/releases")}
    shown = {one.contributor for body in bodies for one in decode_releases(split_records(body))[0]}
    own = {
        hashlib.blake2b(b"contributor", digest_size=16, key=one.device.device_key).digest()
        for one in town.own_rounds.values()
    }
    assert (len(shown), shown & own) == (3, set()), "not even the collector sees a tag that comes again"
    file = StateFolder(tmp_path).write_ending(DeviceState(town.own_rounds[0].device), endings[0])
    noted = TypeAdapter(documents()["collect-join"]).validate_json(file.read_text())
    assert noted["bootstrap"] == {"until": date_of(TODAY + 3), "records": 3}
    assert (noted["k"], noted["identifier"], len(noted["released"]["points"])) == (0, None, 3)
    assert town.mailbox.gauges(town.now_s) == {"releases": 0, "bootstrap_records": 3}

    for (
        number,
        own_round,
    ) in town.own_rounds.items():  # the next day everybody asks for a crowd of one, and there is none
        town.own_rounds[number] = own_round_for(own_round.device, 1, name="next day", terms=FILLING)
    town.now_s += DAY_S
    endings = town.run()
    assert {one.kind for one in endings.values()} == {"nothing-left"}, endings
    assert {phi for one in endings.values() for phi in one.checked.values()} == {0}
    assert town.n_records == 3

    town.wait(2 * DAY_S)
    town.rounds.open_round(town.now_s)
    assert database.rows("SELECT (SELECT COUNT(*) FROM record), (SELECT COUNT(*) FROM place)") == [(0, 0)]
    assert town.mailbox.gauges(town.now_s) == {"releases": 0, "bootstrap_records": 0}


def test_after_the_phase_people_count_and_volunteers_make_a_crowd(database: Database) -> None:
    town = Town(database, 3, terms=FILLING)
    town.run()
    ordinary = FILLING.model_copy(update={"bootstrap_until": None})
    town.wait(3 * DAY_S)
    for day, k in enumerate((0, 2)):
        for number, own_round in town.own_rounds.items():
            town.own_rounds[number] = own_round_for(own_round.device, k, name=day, terms=ordinary)
        endings = town.run()
        assert {one.kind for one in endings.values()} == {"shared"}, endings
        assert all(one.identifier and one.bootstrap_until is None for one in endings.values())
        town.wait(DAY_S)
    assert {phi for one in endings.values() for phi in one.checked.values()} == {2}, (
        "two others, and nobody twice"
    )
    assert town.mailbox.gauges(town.now_s) == {"releases": 6, "bootstrap_records": 0}


def test_only_what_is_over_goes_and_counts_stay_as_brute_force_has_them(database: Database) -> None:
    store, pair = PhiStore(database), [Cylinder(10, 5, 0, 0, 10), Cylinder(30, 5, 0, 0, 10)]
    for number in range(12):
        if number % 3:
            store.add_bootstrap(release(number, number, pair), 0, 5 + number)
            store.add_bootstrap(release(number, number, pair), 1, 50)  # the same again changes nothing
        else:
            store.add(release(number, number, pair), 0)
    for day in range(20):
        left = sum(5 + number > day for number in range(12) if number % 3)
        before = store.n_bootstrap
        assert store.expire(day) == before - left
        count = store.count(pair, Thresholds(), 1)
        assert (count.people, count.bootstrap, store.n_bootstrap, store.n_records) == (
            4,
            left,
            left,
            left + 4,
        )
        assert database.rows("SELECT COUNT(*) FROM place") == [(2 * (left + 4),)]


def test_no_phase_is_joined_unseen(database: Database) -> None:
    """The phase ends between her consent and the round: she is asked again.

    And rounds that nobody could join any more are given up.
    """
    town = Town(database, 3, terms=FILLING)
    for number in (0, 1):
        for _ in range(2):
            town.step(number)
    town.now_s += 3 * DAY_S
    endings = town.run()
    assert (endings[2].kind, "you accepted" in endings[2].message) == ("failed", True)
    assert {endings[number].kind for number in (0, 1)} == {"alone"}
    assert database.rows("SELECT COUNT(*) FROM record") == [(0,)]
    assert [
        Terms.model_validate_json(row[0]).bootstrap_until
        for row in database.rows("SELECT terms FROM round ORDER BY id")
    ] == [
        TODAY + 3,
        None,
    ]


def test_what_comes_after_the_last_day_of_the_phase_is_not_kept(database: Database) -> None:
    midnight_s = (TODAY + 1) * DAY_S
    town = Town(database, 3, terms=TERMS.model_copy(update={"bootstrap_until": TODAY + 1}))
    town.now_s = midnight_s - 100

    def wait(_: int, call: Call) -> Call | None:
        if not call.target.endswith("/releases"):
            return call
        if all(own_round.phase == "mixed" for own_round in town.own_rounds.values()):
            town.now_s = max(town.now_s, midnight_s)
        return call if town.now_s >= midnight_s else None

    town.tamper = wait
    endings = town.run()
    assert {one.kind for one in endings.values()} == {"failed"}
    assert all("bootstrapping phase is over" in one.message for one in endings.values())
    assert town.n_records == 0


def test_a_collector_that_does_not_say_that_it_keeps_a_record_is_noticed() -> None:
    with Database() as database:
        town = Town(database, 3, terms=FILLING)
        honest = town.answer

        def lie(identity: bytes, call: Call) -> Reply:
            reply = honest(identity, call)
            if not call.target.endswith("/releases"):
                return reply
            return Reply(200, json.dumps({**json.loads(reply.body), "of_nobody": []}).encode())

        town.answer = lie  # type: ignore[method-assign]  # the lie
        endings = town.run()
    assert {(one.kind, one.message[:10]) for one in endings.values()} == {("failed", "bad-answer")}


def test_older_records_of_nobody_lose_identifier_and_key(database_url: str) -> None:
    with Database(database_url, MIGRATIONS[:2]) as old:
        points = encode_points([Cylinder(10, 5, 0, 0, 10)])
        for who, expires in ((0, 9), (1, None)):
            row = (bytes((who,)) * 16, who, 2, expires, bytes(32), points, f"identifier {who}")
            old.change(
                "INSERT INTO record (name, who, day, expires, claim_key, points, identifier) VALUES (?, ?, "
                "?, ?, ?, ?, ?)",
                row,
            )
    with PhiStore(Database(database_url)) as store:
        rows = store.database.rows(
            "SELECT id, who, day, expires, claim_key, points, identifier FROM record ORDER BY id"
        )
        assert rows == [(1, 0, 2, 9, None, points, None), (2, 1, 2, None, bytes(32), points, "identifier 1")]
        store.add(release(7, 7, [Cylinder(10, 5, 0, 0, 10)]), 2)
        assert (store.expire(9), store.n_records) == (1, 2)


def test_the_switch_is_seen_in_about_and_in_metrics_and_ends_by_itself(database: Database) -> None:
    clock = [START_S]
    volunteers(PhiStore(database), 2, TODAY)
    PhiStore(database).add_bootstrap(release(1, 1, [Cylinder(10, 5, 0, 0, 10)]), TODAY, TODAY + 3)
    key = seed("server")
    app = collector_application(
        database,
        key,
        FILLING,
        CollectorSettings(PLACES, round_size=3, join_s=60, quota=5),
        lambda n: seed("draw")[:n],
        clock=lambda: clock[0],
        quiet=True,
    )
    with running(app) as url:
        server = RemoteServer(url)
        for day in (0, 0.5, 1, 1.5, 2, 2.5, 3):  # a clock that is looked at now and then is believed
            until, n = (TODAY + 3, 1) if (START_S + day * DAY_S) // DAY_S < TODAY + 3 else (None, 0)
            clock[0] = START_S + day * DAY_S
            said = server.about()
            assert (said["server_key"], said["terms"]["bootstrap_until"]) == (identity_of(key).hex(), until)
            text = server._exchange("GET", "/metrics", b"", {})[0].body.decode()
            assert f"\nshoal_bootstrap_records {n}.0\n" in text
            assert "\nshoal_releases 2.0\n" in text
        server.close()
    assert database.rows("SELECT COUNT(*) FROM place") == [(2 * len(WAY),)]


def test_three_devices_take_part_in_the_phase(tmp_path: Path) -> None:
    today = int(time.time() // DAY_S)
    url, until = f"sqlite:///{tmp_path / 'collect.sqlite'}", date_of(today + 30)
    with Site(
        tmp_path, url, (0, 0, 0), today * 1440 - 2000, more=(*OF_THREE, "--bootstrap-until", until)
    ) as site:
        devices = [site.join(number) for number in range(3)]
        said = [device.communicate(timeout=300) for device in devices]
        for number, (out, err) in enumerate(said):
            assert out.startswith(f"shared without identifier, as a bootstrap record until {until}"), err
            assert f"deleted on {until}" in err, "she reads it before she consents"
            assert site.noted(number)["bootstrap"] == {"until": until, "records": 3}
        asked = (
            "--database",
            f"sqlite:///{tmp_path / 'authority.sqlite'}",
            "--key",
            str(tmp_path / "authority.key"),
        )
        assert finish([site.start("authority", *asked, "--identifiers-of", "user 2")]) == [""]
    with Database(url) as database:
        assert database.rows("SELECT COUNT(*), MIN(expires), MAX(who) FROM record") == [(3, today + 30, 0)]


def test_she_is_told_before_she_consents() -> None:
    assert date_of(0) == "1970-01-01"
    said = describe_bootstrap(20_819, 3)
    for part in ("without an identifier", "nobody's crowd", "deleted on 2027-01-01", "k = 3 holds"):
        assert part in said
    assert "k = " not in describe_bootstrap(20_819, 0)
