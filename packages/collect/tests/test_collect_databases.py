"""SQLite and PostgreSQL alike.

Counts as brute force gives them, old files brought up to date, transactions whole or not at all.
"""

import os
import resource
import shutil
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect_oracles import claim_key
from service_town import PLACES, TERMS, device_for, identity_of, running, seed
from shoal.errors import InputError, MisuseError
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.faults import PeerError, UnavailableError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.roles.wire import Call, Reply, answer_digest
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.server.registrar import RegisterBook, Registrar, registrar_application
from shoal_collect.storage.database import AUTHORITY, COLLECTOR, Database
from shoal_collect.storage.phi import PhiStore
from test_collect_kills import kill_once
from test_collect_round import naive_count, release, trajectories


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with Database(database_url) as opened:
        yield opened


@given(
    stored=st.lists(st.tuples(st.integers(0, 3), trajectories), max_size=12),
    queries=st.lists(trajectories.filter(lambda t: len(t) > 1), min_size=1, max_size=4),
)
def test_postgres_counts_as_brute_force_does(
    postgres_store: PhiStore, stored: list[tuple[int, list[Cylinder]]], queries: list[list[Cylinder]]
) -> None:
    releases = [release(i, who, own) for i, (who, own) in enumerate(stored)]
    thresholds = Thresholds(theta_m=333.3, theta_min=7)
    postgres_store.database.change("TRUNCATE record, place, contributor")
    for one in releases:
        postgres_store.add(one, day=3)
    assert postgres_store.n_records == len(releases)
    for query in queries:
        count = postgres_store.count(query, thresholds, 4)
        assert count == naive_count(releases, query, thresholds)[0]
        for enough in (1, 2, 3):
            some = postgres_store.count(query, thresholds, 4, enough=enough)
            assert min(some, enough) == min(count, enough)
        assert postgres_store.count(query, thresholds, 3) == 0


@pytest.fixture(scope="module")
def postgres_store(postgres_server: str) -> Iterator[PhiStore]:
    with PhiStore(Database(postgres_server)) as store:
        yield store


def test_releases_are_stored_once_whole_or_not_at_all(database: Database) -> None:
    store, pair = PhiStore(database), [Cylinder(10, 5, 0, 0, 10), Cylinder(30, 5, 0, 0, 10)]
    identifier = store.add(release(1, 1, pair), 4)
    assert store.add(release(1, 1, pair), 9) == identifier
    assert database.rows("SELECT day FROM record WHERE name = ?", (release(1, 1, pair).name,)) == [(4,)]
    with pytest.raises(PeerError, match="name of another"):
        store.add(release(1, 2, pair[:1]), 0)
    assert (store.n_records, store.count(pair, Thresholds(), 5)) == (1, 1)
    assert claim_key(store, identifier) == bytes(32)
    assert database.rows("SELECT COUNT(*) FROM place") == [(2,)]


def test_many_threads_write_without_losing_anything(database: Database) -> None:
    def write(first: int) -> None:
        for number in range(first, first + 10):
            PhiStore(database).add(release(number, number, [Cylinder(number, 5, 0, 0, 10)]), 0)

    threads = [threading.Thread(target=write, args=(100 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert PhiStore(database).n_records == 60


def test_opening_again_keeps_everything_and_another_schema_is_refused(database_url: str) -> None:
    with PhiStore(Database(database_url)) as store:
        store.add(release(1, 1, [Cylinder(10, 5, 0, 0, 10)]), 0)
    with PhiStore(Database(database_url)) as store:
        assert store.n_records == 1
    for number in (COLLECTOR.number - 1, COLLECTOR.number + 1):
        with pytest.raises(InputError, match="another version of shoal"):
            Database(database_url, replace(COLLECTOR, number=number))
    with PhiStore(Database(database_url)) as store:
        assert store.n_records == 1


def test_a_collector_that_lost_its_key_does_not_go_on_under_another(database_url: str) -> None:
    """Its releases could be claimed by nobody, and every device that knew it would refuse it."""

    def start(key: bytes) -> None:
        with Database(database_url) as database:
            collector_application(
                database, key, TERMS, CollectorSettings(PLACES, round_size=3, join_s=60), bytes
            )

    start(seed("server"))
    start(seed("server"))
    with pytest.raises(
        InputError, match=f"belongs to the collector with the key {identity_of(seed('server')).hex()}"
    ):
        start(seed("another"))
    start(seed("server"))


def test_what_is_no_database_of_ours_is_refused_in_words(tmp_path: Path) -> None:
    for nothing in ("mysql://somewhere/else", "sqlite:///", "sqlite://x"):
        with pytest.raises(MisuseError, match="sqlite:///FILE"):
            Database(nothing)
    with pytest.raises(InputError, match="name another file"):
        Database(tmp_path / "no such folder" / "file")
    with pytest.raises(InputError) as refused:
        Database("postgresql://someone:topsecret@127.0.0.1:1/none")
    assert "topsecret" not in str(refused.value)
    file = tmp_path / "collector.sqlite"
    Database(file).close()
    with pytest.raises(InputError, match="something else"):
        Database(file, AUTHORITY)


def test_a_killed_writer_loses_no_acknowledged_release_in_postgres(postgres_url: str) -> None:
    acknowledged = []
    for attempt in range(3):
        acknowledged += kill_once(postgres_url, 1_000_000 * attempt, 0.05)
    assert acknowledged
    with PhiStore(Database(postgres_url)) as store:
        assert all(store.identifier(number.to_bytes(16)) for number in acknowledged)
        assert store.database.rows("SELECT COUNT(*) FROM place") == [(4 * store.n_records,)]


def test_a_lost_connection_to_postgres_is_named_and_mended(postgres_url: str, postgres_server: str) -> None:
    with PhiStore(Database(postgres_url)) as store, Database(postgres_server) as admin:
        store.add(release(1, 1, [Cylinder(10, 5, 0, 0, 10)]), 0)
        (name,) = store.database.rows("SELECT current_database()")[0]
        admin.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ?", (name,))
        with pytest.raises(UnavailableError, match="try again"):
            store.add(release(2, 1, [Cylinder(10, 5, 0, 0, 10)]), 0)
        store.add(release(2, 1, [Cylinder(10, 5, 0, 0, 10)]), 0)
        assert store.n_records == 2
        database = store.database
        lost = database._connection()
        database._forget(lost)
        lost.close()
        database._url = "postgresql://nobody@127.0.0.1:1/nowhere"  # the server is away
        with pytest.raises(UnavailableError, match="away") as away:
            database.rows("SELECT 1")
        assert "nobody" not in str(away.value)


def test_while_postgres_is_away_everything_is_503_and_then_well_again(
    postgres_url: str, postgres_server: str
) -> None:
    """Also a request that was waiting for news when it went away."""
    with Database(postgres_url) as database, Database(postgres_server) as admin:
        app = collector_application(
            database,
            seed("server"),
            TERMS,
            CollectorSettings(PLACES, round_size=3, join_s=60),
            os.urandom,
            quiet=True,
        )
        (name,) = database.rows("SELECT current_database()")[0]

        statuses: dict[str, list[int]] = {"away": [], "back": []}
        with running(app) as url:
            device = device_for(
                0, seed("server"), ClaimBook(Database(None, AUTHORITY), seed("authority"), frozenset())
            )

            def look(target: str) -> Reply:
                server = RemoteServer(url)
                try:
                    return server.send(Call("GET", target), device, time.time())
                finally:
                    server.close()

            database.change(  # only members wait
                "INSERT INTO ticket (round, identity, signed, dropped, session, place) "
                "VALUES (1, ?, ?, 0, ?, 0)",
                (identity_of(device.signing_seed), bytes(64), seed("group")),
            )
            waiting = f"/v1/letters?after=0&wait=20&seen={answer_digest(b'')}"
            with ThreadPoolExecutor(1) as pool:
                held = pool.submit(look, waiting)
                time.sleep(0.5)
                admin.change(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
                admin.rows(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ?", (name,)
                )
                try:
                    statuses["away"] += [held.result().status, look("/v1/rounds").status]
                    refused = look("/v1/letters?after=0")
                    assert refused.refusal is not None
                    assert (refused.status, refused.refusal[0]) == (503, "unavailable")
                finally:
                    admin.change(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            statuses["back"] += [look("/v1/rounds").status, look("/v1/letters?after=0").status]
        assert statuses == {"away": [503, 503], "back": [200, 200]}


def test_what_is_deleted_is_overwritten(tmp_path: Path) -> None:
    file, secret = tmp_path / "c.sqlite", b"nobody may read this again" * 40
    with Database(file) as database:
        row = "INSERT INTO letter (session, sender, receiver, number, owner, body, digest, at_s) VALUES "
        database.change(row + "(?, 0, 1, 0, ?, ?, ?, 0)", (bytes(32), bytes(32), secret, bytes(32)))
        database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        assert secret[:26] in file.read_bytes()
        database.change("DELETE FROM letter")
        database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        assert secret[:26] not in file.read_bytes()


def test_threads_that_have_ended_leave_no_connections(tmp_path: Path) -> None:
    with Database(tmp_path / "c.sqlite") as database:
        for _ in range(20):
            thread = threading.Thread(target=database.rows, args=("SELECT 1",))
            thread.start()
            thread.join()
        assert len(database._all) <= 2


def test_health_sees_a_full_disk_and_a_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.sqlite"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Database(file) as database:
        assert not database.trouble()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
        try:
            full = database.trouble()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert full.startswith("unusable")
        assert not database.trouble(), "there is room again"
        with monkeypatch.context() as patch:  # a heartbeat still fits into what the file has, letters do not
            nearly = SimpleNamespace(total=1 << 30, used=(1 << 30) - (1 << 20), free=1 << 20)
            patch.setattr(shutil, "disk_usage", lambda _: nearly)
            assert database.trouble() == "the disk is full"
        with PhiStore(database) as store:
            for n in range(1, 60):
                store.add(release(n, n, [Cylinder(10, 5, 0, 0, 10)]), 0)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) * 2 // 3] + bytes(4096) + content[len(content) * 2 // 3 + 4096 :])
    with Database(file) as database:
        assert database.trouble()


def test_authority_and_registrar_say_that_their_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They said that all was well while no claim and no token could be kept."""

    def health(url: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=20) as said:
                return said.status, said.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    monkeypatch.setattr("shoal_collect.server.pools._LONG_WAIT_S", 20)
    nearly = SimpleNamespace(total=1 << 30, used=(1 << 30) - (1 << 20), free=1 << 20)
    for full in (False, True):
        with Database(tmp_path / "a.sqlite", AUTHORITY) as database, monkeypatch.context() as patch:
            if full:
                patch.setattr(shutil, "disk_usage", lambda _: nearly)
            book, register = ClaimBook(database, seed("authority"), frozenset()), RegisterBook(database)
            signer = Registrar(register, seed("registrar"), frozenset(), 1)
            for app in (
                authority_application(book, quiet=True),
                registrar_application(signer, register, quiet=True),
            ):
                with running(app) as url:
                    status, said = health(url)
                assert (status, b"the disk is full" in said) == (503 if full else 200, full)
