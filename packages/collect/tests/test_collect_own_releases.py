"""A person fetches her releases and has them deleted; what is outlived goes; no count contradicts another."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from command_line import Shoal
from service_town import PLACES, SCOPING, TERMS, WAY, Town, identity_of, kinds, running, seed, volunteers
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.disk import DeviceState, StateFolder
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Blur, cylinder_for
from shoal_collect.matching.records import Release
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.roles.days import StoredRelease, read_withdrawal
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.wire import DAY_S
from shoal_collect.server.http_collector import CollectorSettings, DailyCleanup, collector_application
from shoal_collect.storage.database import Database, may_delete
from shoal_collect.storage.days import SETTLES_DAYS, StoredReleases
from shoal_collect.storage.phi import PhiStore

CLAIM = seed("claim")
POINTS = tuple(sorted(cylinder_for(one, Blur(radius_m=500, gap_min=30), seed("key"), 0) for one in WAY))
DAY = int(time.time() // DAY_S)


def count(store: PhiStore, before_day: int) -> int:
    """How many people share the way, before a day."""
    return store.count(POINTS[:2], Thresholds(), before_day)


def stored(store: PhiStore, day: int) -> str:
    release = Release(seed("mine")[:16], seed("tag")[:16], verify_key(CLAIM), POINTS)
    return store.add(release, day, SCOPING.scope_of(POINTS[0]))


@pytest.fixture
def store(tmp_path: Path) -> PhiStore:
    return PhiStore(tmp_path / "collect.sqlite")


def test_deletion_is_for_the_owner_alone_and_changes_no_count_of_today(store: PhiStore) -> None:
    volunteers(store, 2, DAY - 3)
    identifier, held = stored(store, DAY - 3), StoredReleases(store.database)
    for key, name in ((identity_of(seed("other")), identifier), (verify_key(CLAIM), "0" * 32)):
        with pytest.raises(PeerError, match="no release of this identifier is stored under this key"):
            held.withdraw(name, key, DAY)
    before = [count(store, day) for day in (DAY - 3, DAY - 2, DAY)]
    assert held.withdraw(identifier, verify_key(CLAIM), DAY) == (DAY, DAY + 1)
    assert [count(store, day) for day in (DAY - 3, DAY - 2, DAY)] == before == [0, 3, 3]
    assert count(store, DAY + 1) == 2
    assert [one.identifier for one in held.all()].count(identifier) == 0
    with pytest.raises(PeerError):
        held.owned(identifier, verify_key(CLAIM))
    # rounds of the day before may still ask a witness, whatever the collector has tidied up meanwhile
    assert held.tidy(DAY + 2, None) == 0
    assert (count(store, DAY), count(store, DAY + 1)) == (3, 2)
    assert held.tidy(DAY + 1 + SETTLES_DAYS, None) == 1
    assert (store.n_records, count(store, DAY + 9)) == (2, 2)
    assert held.withdraw(identifier, verify_key(CLAIM), DAY + 9) == (DAY, DAY + 1), "the same receipt again"
    assert store.database.rows("SELECT COUNT(*) FROM place") == [(2 * len(WAY),)]


def test_what_a_round_of_long_phases_counts_stays_until_it_is_over(store: PhiStore) -> None:
    """On the third day its answers differed from those of the first, and an honest collector had lied."""
    identifier, held = stored(store, DAY - 3), StoredReleases(store.database)
    store.database.change(
        "INSERT INTO round (id, name, terms, phase, restarts, deadline_s) VALUES (1, ?, '', 'grouped', 0, ?)",
        (bytes(32), (DAY + 24) * DAY_S),
    )
    store.database.change(
        "INSERT INTO ticket (round, identity, signed, dropped, session, place) VALUES (1, ?, ?, 0, ?, 0)",
        (bytes(32), bytes(64), seed("session")),
    )
    row = (seed("session"), bytes(32), bytes(32), DAY, bytes(1))
    store.database.change("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", row)
    held.withdraw(identifier, verify_key(CLAIM), DAY)
    assert (held.tidy(DAY + 24, None), count(store, DAY)) == (0, 1)
    assert (held.tidy(DAY + 25, None), count(store, DAY)) == (1, 0)


def test_a_new_record_never_inherits_the_deletion_of_an_old_one(store: PhiStore) -> None:
    """SQLite gives the number of the newest record away again."""
    held, identifier = StoredReleases(store.database), stored(store, DAY)
    held.withdraw(identifier, verify_key(CLAIM), DAY)
    held.tidy(DAY + 1 + SETTLES_DAYS, None)
    volunteers(store, 1, DAY + 5)
    assert count(store, DAY + 9) == 1


@pytest.mark.usefixtures("quick_mixes")
def test_no_member_of_her_group_brings_a_deleted_release_again() -> None:
    with Database() as database:
        town, held = Town(database, 3), StoredReleases(database)
        assert kinds(town.run()) == {"shared"}
        own, day = town.own_rounds[0].device.owned[0], int(town.now_s // DAY_S)
        held.withdraw(own.identifier, verify_key(own.claim_seed), day)
        number, call, reply = next(
            sent for sent in reversed(town.calls) if sent[1].target.endswith("/releases")
        )
        identity = identity_of(town.own_rounds[number].entry.signing_seed)
        assert town.answer(identity, call) == reply, "until the row is deleted it is the same release"
        held.tidy(day + 1 + SETTLES_DAYS, None)
        said = json.loads(town.answer(identity, call).body)
        assert (said["refused"], len(said["receipts"]), town.n_records) == (1, 2, 2)


def test_what_is_outlived_is_deleted_and_the_shortest_promise_holds(store: PhiStore) -> None:
    volunteers(store, 1, DAY - 40)
    stored(store, DAY - 5)
    held = StoredReleases(store.database)
    assert held.tidy(DAY, None) == 0
    promised = TERMS.model_copy(update={"kept_days": 30}).model_dump_json()
    store.database.change(
        "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'over', 0, 0)",
        (bytes(32), promised),
    )
    cleanup = DailyCleanup(store.database, held, TERMS.model_copy(update={"kept_days": 90}))
    cleanup.at(DAY * DAY_S)
    assert len(held.all()) == 2, "a clock that is looked at for the first time may have leapt"
    for hours in range(-24, 1, 8):  # from an earlier day on it goes evenly
        cleanup.at(DAY * DAY_S + 3600 * hours)
    assert (count(store, DAY), count(store, DAY + 1)) == (2, 1)
    assert len(held.all()) == 1
    cleanup.at((DAY + 1 + SETTLES_DAYS) * DAY_S)
    assert store.n_records == 2, "days were leapt over"
    for hours in range(0, 25, 8):
        cleanup.at((DAY + 1 + SETTLES_DAYS) * DAY_S + 3600 * hours)
    assert store.n_records == 1


def test_looks_at_the_clock_within_a_minute_write_nothing() -> None:
    """Each was a write to the disk: a stranger with 100 connections made members wait for 1.4 s."""
    with Database() as database:
        noted = list[float]()
        for now_s in (0.0, 30.0, 59.0, 60.0, 61.0, 0.0):
            may_delete(database, now_s)
            noted.append(database.rows("SELECT seen_s FROM clock")[0][0])
        assert noted == [0.0, 0.0, 0.0, 60.0, 60.0, 0.0]
        assert [may_delete(database, 30.0 * look) for look in (2_879, 2_880)] == [False, False], "a leap"
        assert [may_delete(database, 86_370.0 + 30.0 * look) for look in range(2_881)][-2:] == [False, True]


def test_deletion_in_postgresql(postgres_url: str) -> None:
    with PhiStore(Database(postgres_url)) as store:
        volunteers(store, 2, DAY - 3)
        identifier, held = stored(store, DAY - 3), StoredReleases(store.database)
        held.withdraw(identifier, verify_key(CLAIM), DAY)
        assert (count(store, DAY), count(store, DAY + 1)) == (3, 2)
        assert store.count(POINTS[:2], Thresholds(), DAY + 1, enough=1) == 2
        assert held.tidy(DAY + 1 + SETTLES_DAYS, None) == 1
        assert (store.n_records, len(held.all())) == (2, 2)


def test_mine_lists_fetches_and_deletes_over_a_socket(shoal: Shoal, store: PhiStore, tmp_path: Path) -> None:
    volunteers(store, 2, DAY - 3)
    identifier = stored(store, DAY)
    server_key = identity_of(seed("server"))
    folder = StateFolder(tmp_path / "state")
    device = Device("me", seed("sign"), seed("device"), server_key, bytes(32), bytes(32))
    device.owned.append(StoredRelease(identifier, CLAIM, DAY))
    device.owned.append(StoredRelease("ab" * 16, seed("another"), DAY))
    folder.save(DeviceState(device))
    app = collector_application(
        store.database,
        seed("server"),
        TERMS,
        CollectorSettings(PLACES, round_size=3, join_s=300),
        seed,
        quiet=True,
    )
    with running(app) as url:

        def mine(*more: str) -> tuple[int, str, str]:
            done = shoal("collect", "mine", "--state", str(folder.folder), *more)
            return done.code, done.out, done.err

        listed = json.loads(mine("--json")[1])["releases"]
        assert [one["identifier"] for one in listed] == [identifier, "ab" * 16]
        fetched = json.loads(mine("--server", url, "--fetch", identifier, "--json")[1])
        first = POINTS[0]
        assert fetched["points"][0] == [
            first.start_min, first.gap_min, first.lat_udeg, first.lon_udeg, first.radius_m
        ]  # fmt: skip
        said = mine("--server", url, "--fetch", identifier)[1]
        assert f"\nfrom {np.datetime64(first.start_min, 'm')}".replace("T", " ") in said
        assert f"{first.radius_m} m\n" in said, "for people"
        assert "Cylinder" not in said
        code, _, told = mine("--server", url, "--delete", "ab" * 16)
        assert (code, "no release of this identifier" in told) == (2, True)
        receipts = [json.loads(mine("--server", url, "--delete", identifier, "--json")[1]) for _ in range(2)]
        assert receipts[0] == receipts[1]
        code, _, told = mine("--server", url, "--fetch", identifier)
        assert (code, "no release of this identifier" in told) == (2, True)
        assert "deleted" in mine()[1]
        for wrong in (("--fetch", identifier), ("--server", url), ("--server", url, "--delete", "nothing")):
            assert mine(*wrong)[0] == 2
    kept = folder.load()
    assert kept is not None
    proof = {"day": DAY, "due": DAY + 1, "proof": receipts[0]["proof"]}
    assert read_withdrawal(server_key, identifier, proof)[:2] == (DAY, DAY + 1)
    with pytest.raises(PeerError):
        read_withdrawal(server_key, identifier, {**proof, "due": DAY + 2})


def test_a_state_that_is_not_there_is_not_made(shoal: Shoal, tmp_path: Path) -> None:
    done = shoal("collect", "mine", "--state", str(tmp_path / "none"))
    assert (done.code, "does not exist" in done.err, list(tmp_path.iterdir())) == (2, True, [])
