"""Closed days: a root for each, one state for all before a day, and witnesses with databases of their own."""

import hashlib
import json
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest

from command_line import Shoal
from service_town import (
    PLACES,
    START_S,
    TERMS,
    TODAY,
    Town,
    asked_by_a_witness,
    identity_of,
    kinds,
    running,
    seed,
    volunteers,
)
from shoal_collect.crypto import merkle
from shoal_collect.device.http_client import RemoteServer, make_asker
from shoal_collect.faults import PeerError, UnavailableError
from shoal_collect.matching.records import encode_points
from shoal_collect.roles.days import NO_STATE, following_state, require_stored_release
from shoal_collect.roles.terms import OtherCollector
from shoal_collect.roles.wire import DAY_S, Call, Reply, read_answer, write_json
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.server.http_witness import DayFollower, Witness
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ClosedDays, StoredReleases
from shoal_collect.storage.phi import PhiStore

pytestmark = pytest.mark.usefixtures("quick_mixes")

WATCHED = TERMS.model_copy(
    update={"witnesses": (OtherCollector(url="https://w", key=identity_of(seed("witness", 0)).hex()),)}
)

TABLES = ("ticket", "asked", "record")  # what a witness has taken over


def test_the_tree_is_that_of_certificate_transparency() -> None:
    """Entries and roots of the reference implementation of RFC 6962."""
    entries = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "60616263646566676869" + "6a6b6c6d6e6f",
    ]
    leaves = [merkle.leaf(bytes.fromhex(one)) for one in entries]
    roots = {
        1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        4: "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    }
    assert merkle.root([]) == hashlib.sha256().digest()
    assert {n: merkle.root(leaves[:n]).hex() for n in roots} == roots


def test_a_path_shows_its_own_leaf_at_its_own_place_and_nothing_else() -> None:
    leaves, tried = [merkle.leaf(bytes((n,))) for n in range(17)], 0
    for n in range(1, 18):
        root = merkle.root(leaves[:n])
        for at in range(n):
            shown = merkle.path(leaves[:n], at)
            merkle.require_path(root, n, at, leaves[at], shown)
            wrong = [
                (root, n, at, merkle.leaf(b"other"), shown),
                (root, n, at, leaves[at], [*shown, bytes(32)]),
                (merkle.leaf(b""), n, at, leaves[at], shown),
                (root, n, n, leaves[at], shown),
                (root, n, -1, leaves[at], shown),
            ]
            wrong += [(root, n, at, leaves[at], shown[:-1])] if shown else []
            wrong += [(root, n, (at + 1) % n, leaves[at], shown)] if n > 1 else []
            for one in wrong:
                tried += 1
                with pytest.raises(PeerError, match="bad-proof"):
                    merkle.require_path(*one)
    assert tried > 900


def of(database: Database) -> Callable[[str], Any]:
    return asked_by_a_witness(database, WATCHED, lambda: TODAY)


def test_a_witness_with_a_database_of_its_own_agrees(database_url: str) -> None:
    """Over several days, with one release taken back among them."""
    with Database(database_url) as database, Database() as own:
        store = PhiStore(database)
        for day in (TODAY - 9, TODAY - 4):
            volunteers(store, 4, day)
        identifier, key = database.rows("SELECT identifier, claim_key FROM record")[0]
        StoredReleases(database).withdraw(identifier, bytes(key), TODAY - 3)
        town = Town(database, 3, terms=WATCHED, k=4)
        town.witnesses = [Witness(own, seed("witness", 0), DayFollower(own, of(database)))]
        endings = town.run()
        assert kinds(endings) == {"shared"}, endings
        assert {phi for one in endings.values() for phi in one.checked.values()} == {4}
        theirs, ours = (ClosedDays(one).after(-1) for one in (database, own))
        assert theirs == ours
        assert [one.n for one in ours] == [4, 4, 0]
        state = NO_STATE
        for one in ours:
            state = following_state(state, one.day, one.added, one.gone)
        assert state == ClosedDays(own).state_before(TODAY, close=False)
        assert own.rows("SELECT COUNT(*) FROM record") == [(7,)], "without what was taken back long ago"
        session = town.own_rounds[0]._session
        assert session is not None
        record, answer = next(iter(session.answers.items()))
        assert read_answer(identity_of(seed("server")), record, answer).state == ours[-1].state


LIES: dict[str, tuple[str, Any]] = {
    "a release left out": ("INSERT INTO withdrawal SELECT identifier, claim_key, id, 0, 0 FROM record", None),
    "a release added": ("", volunteers),
}


@pytest.mark.parametrize("what", LIES)
def test_a_collector_that_changes_a_closed_day_is_found(what: str) -> None:
    """A witness over the same database would count the same; this one has closed the day before."""
    statement, add = LIES[what]
    with Database() as database, Database() as own:
        volunteers(PhiStore(database), 4, TODAY - 4)
        following = DayFollower(own, of(database))
        following.follow_until(TODAY)
        if add is None:
            database.change(statement)
        else:
            add(PhiStore(database), 6, TODAY - 4)
        town = Town(database, 3, terms=WATCHED)
        town.witnesses = [Witness(own, seed("witness", 0), following)]
        endings = town.run()
        assert kinds(endings) == {"failed"}
        assert all("do not agree over the same state" in one.message for one in endings.values()), endings


def test_a_witness_takes_no_day_that_does_not_add_up() -> None:
    with Database() as database, Database() as own:
        volunteers(PhiStore(database), 3, TODAY - 4)
        ask, days = of(database), ClosedDays(own)
        ask("/v1/days?after=-1")
        good = ask(f"/v1/days/{TODAY - 4}")
        first, closed = good["releases"][0], good["closed"]
        bad: list[Any] = [
            {},
            [],
            {**good, "releases": good["releases"][1:]},
            {**good, "releases": [*good["releases"], first]},
            {**good, "releases": [{**first, "points": first["points"][:-2] + "00"}, *good["releases"][1:]]},
            {**good, "releases": [{**first, "tag": bytes(16).hex()}, *good["releases"][1:]]},
            {**good, "releases": [{**first, "name": "x"}, *good["releases"][1:]]},
            {**good, "withdrawn": [first["identifier"]]},
            {**good, "closed": {**closed, "n": 2}},
            {**good, "closed": {**closed, "day": closed["day"] + 1}},
            {**good, "closed": {**closed, "state": bytes(32).hex()}},
        ]
        for said in bad:
            with pytest.raises(PeerError):
                days.take(TODAY - 4, said)
        assert own.rows("SELECT COUNT(*) FROM record") == [(0,)], "nothing of it is kept"
        for _ in range(2):
            days.take(TODAY - 4, good)
            assert own.rows("SELECT COUNT(*) FROM record") == [(3,)]
        with pytest.raises(PeerError, match="not those under its root"):
            days.take(TODAY - 3, good)  # else a collector could keep its witness busy for ever
        database.change("DELETE FROM record WHERE id = (SELECT MIN(id) FROM record)")
        with Database() as later:
            ClosedDays(later).take(TODAY - 4, ask(f"/v1/days/{TODAY - 4}"))
            assert ClosedDays(later).after(-1) == days.after(-1), "what is gone stands there by its digest"


def test_an_owner_sees_that_her_release_stands_in_its_day() -> None:
    with Database() as database:
        volunteers(PhiStore(database), 5, TODAY - 4)
        days = ClosedDays(database)
        identifier, key, points = database.rows("SELECT identifier, claim_key, points FROM record LIMIT 1")[0]
        assert days.path_of(identifier) is None, "not closed yet"
        state = days.state_before(TODAY)
        shown = json.loads(write_json(days.path_of(identifier)))
        assert require_stored_release(shown, bytes(key), bytes(points)).state == state
        text = json.dumps(shown)
        others = database.rows(
            "SELECT name, identifier, points FROM record WHERE identifier <> ?", (identifier,)
        )
        assert len(others) == 4
        assert not any(
            part in text
            for name, other, held in others
            for part in (bytes(name).hex(), other, bytes(held).hex())
        )
        (release,) = StoredReleases(database).all(identifiers={identifier})
        assert encode_points(release.points) == bytes(points)
        wrongs: list[dict[str, Any]] = [
            {**shown, "at": shown["at"] + 1},
            {**shown, "name": bytes(16).hex()},
            {**shown, "path": shown["path"][:-1]},
            {"closed": {}},
        ]
        for wrong in wrongs:
            with pytest.raises(PeerError, match=r"bad-proof|bad-frame|bad-answer"):
                require_stored_release(wrong, bytes(key), bytes(points))
        with pytest.raises(PeerError, match="bad-proof"):
            require_stored_release(shown, seed("another's key"), bytes(points))


def test_without_a_witness_no_day_is_closed() -> None:
    """Nobody else would ever see its root."""
    with Database() as database:
        volunteers(PhiStore(database), 4, TODAY - 3)
        town = Town(database, 3, k=4)
        assert kinds(town.run()) == {"shared"}
        said = [reply.body for _, call, reply in town.calls if "/questions" in call.target]
        assert said
        assert {body[38:70] for body in said} == {NO_STATE}
        app = collector_application(
            database,
            seed("server"),
            TERMS,
            CollectorSettings(PLACES, round_size=3, join_s=60),
            seed,
            clock=lambda: START_S,
            quiet=True,
        )
        with running(app) as url:
            assert json.loads(urllib.request.urlopen(f"{url}/v1/days").read()) == []
        assert database.rows("SELECT * FROM closed_day") == []


def test_two_members_who_ask_at_once_make_a_witness_take_a_day_over_once(tmp_path: Path) -> None:
    """Two processes of one witness do the same: each has a follower."""
    with Database(tmp_path / "c.sqlite") as database, Database(tmp_path / "own.sqlite") as own:
        volunteers(PhiStore(database), 3, TODAY - 2)
        ClosedDays(database).state_before(TODAY)
        ask, both = of(database), Barrier(2)

        def at_once(target: str) -> Any:
            reply = ask(target)
            if target == f"/v1/days/{TODAY - 2}":
                with suppress(BrokenBarrierError):
                    both.wait(0.5)  # both have it before one stores it
            return reply

        with ThreadPoolExecutor(2) as pool:
            followers = [DayFollower(own, at_once) for _ in range(2)]
            for done in [pool.submit(follower.follow_until, TODAY) for follower in followers]:
                done.result()
        assert ClosedDays(own).after(-1) == ClosedDays(database).after(-1)
        assert PhiStore(own).n_records == 3


def test_a_witness_follows_over_http_and_nobody_else_is_told() -> None:
    with Database() as database, Database() as own:
        volunteers(PhiStore(database), 3, TODAY - 4)
        app = collector_application(
            database,
            seed("server"),
            WATCHED,
            CollectorSettings(PLACES, round_size=3, join_s=60),
            lambda n: seed("draw")[:n],
            clock=lambda: START_S,
            quiet=True,
        )
        key = identity_of(seed("server"))
        with running(app) as url, pytest.MonkeyPatch.context() as patch:
            patch.setattr("shoal_collect.device.http_client.time.time", lambda: START_S)
            server = RemoteServer(url)
            ask = make_asker(server, key, seed("witness", 0))
            DayFollower(own, ask).follow_until(TODAY)
            assert ClosedDays(own).after(-1) == ClosedDays(database).after(-1)
            assert own.rows("SELECT COUNT(*) FROM record") == [(3,)]
            stranger = make_asker(server, key, seed("stranger"))
            assert [one["n"] for one in stranger("/v1/days?after=-1")] == [3]
            session = seed("session").hex()
            for target in (f"/v1/days/{TODAY - 4}", f"/v1/groups/{session}/asked"):
                with pytest.raises(PeerError, match="not a witness of this collector"):
                    stranger(target)
            for target in ("/v1/days/7", f"/v1/groups/{session}/asked"):
                with pytest.raises(PeerError, match="not-entitled"):
                    ask(target)
            server.close()
        with pytest.raises(UnavailableError, match="does not answer"):
            make_asker(RemoteServer("http://127.0.0.1:1"), key, seed("witness", 0))("/v1/days")


def test_what_passes_at_the_collector_passes_at_its_witness() -> None:
    """A clock that is not set yet, or a database that is away for a moment, ends nobody's round."""
    with Database() as database, pytest.MonkeyPatch.context() as patch:
        app = collector_application(
            database,
            seed("server"),
            WATCHED,
            CollectorSettings(PLACES, round_size=3, join_s=60),
            lambda n: seed("draw")[:n],
            clock=lambda: START_S,
            quiet=True,
        )
        with running(app) as url:
            server, target = RemoteServer(url), f"/v1/groups/{seed('session').hex()}/asked"
            ask = make_asker(server, identity_of(seed("server")), seed("witness", 0))
            patch.setattr("shoal_collect.device.http_client.time.time", lambda: START_S + 7200)
            with pytest.raises(UnavailableError, match=r"\+7200 s from the server's time"):
                ask(target)
            patch.setattr("shoal_collect.device.http_client.time.time", lambda: START_S)

            def away(*_: object) -> Any:
                raise UnavailableError("the database is away")

            with pytest.MonkeyPatch.context() as gone:
                gone.setattr("shoal_collect.server.http_collector.batches_asked", away)
                gone.setattr("shoal_collect.storage.questions.Groups.terms_of", away)
                with pytest.raises(UnavailableError, match="try again"):
                    ask(target)
            with pytest.raises(PeerError, match="not-entitled"):
                ask(target)
            server.close()


def test_a_member_who_names_a_day_to_come_makes_a_witness_forget_nothing() -> None:
    """Else she could end all rounds of that day, and make an honest witness count otherwise."""
    with Database() as database, Database() as own:
        volunteers(PhiStore(database), 4, TODAY - 4)
        identifier, key = database.rows("SELECT identifier, claim_key FROM record")[0]
        StoredReleases(database).withdraw(identifier, bytes(key), TODAY - 1)
        town = Town(database, 3, terms=WATCHED)
        witness = Witness(own, seed("witness", 0), DayFollower(own, of(database)))
        honest, town.witnesses = town.answer, [witness]
        tried = list[str]()

        def answer(identity: bytes, call: Call) -> Reply:
            if call.to == "witness 1":
                before = [own.rows(f"SELECT COUNT(*) FROM {table}") for table in TABLES]
                bad = honest(identity, replace(call, target=call.target.split("=")[0] + f"={2**31 - 1}"))
                after = [own.rows(f"SELECT COUNT(*) FROM {table}") for table in TABLES]
                tried.append(bad.refusal[0] if bad.refusal else "")
                assert not before[0][0][0] or after == before
            return honest(identity, call)

        town.answer = answer  # type: ignore[method-assign]  # the attack
        endings = town.run()
        assert kinds(endings) == {"shared"}, endings
        assert set(tried) == {"not-entitled"}
        assert own.rows("SELECT COUNT(*) FROM record") == [(4,)], "it counts until no round can ask for it"


@pytest.mark.parametrize(("phase_limit_s", "kept_days"), [(100.0, 3), (float(DAY_S), 26)])
def test_a_witness_keeps_a_group_while_it_may_ask(phase_limit_s: float, kept_days: int) -> None:
    session, terms = seed("session"), WATCHED.model_copy(update={"phase_limit_s": phase_limit_s})
    asked = {"batch": "00", "identity": "00", "day": TODAY, "withheld": None}

    def ask(target: str) -> Any:
        members = [seed("member", place).hex() for place in range(3)]
        group = {"members": members, "terms": terms.model_dump(), "asked": [asked]}
        return group if "groups" in target else []

    with Database() as own:
        following = DayFollower(own, ask)
        following.follow_group(session)
        following.follow_group(session)
        following.follow_until(TODAY + kept_days)
        assert own.rows("SELECT COUNT(*) FROM ticket") == [(3,)]
        following.follow_until(TODAY + kept_days + 1)
        assert [own.rows(f"SELECT COUNT(*) FROM {table}")[0][0] for table in TABLES[:3]] == [0] * 3


def test_a_collector_restored_from_before_its_witness_is_found_by_the_state() -> None:
    """Its log forks from the one that the witness holds; no round shares anything until people mend that."""
    with Database() as database, Database() as own:
        volunteers(PhiStore(database), 4, TODAY - 4)
        following = DayFollower(own, of(database))
        following.follow_until(TODAY)
        for table in ("closed_day", "leaf"):
            database.change(f"DELETE FROM {table}")
        volunteers(PhiStore(database), 2, TODAY - 3)
        database.change("DELETE FROM record WHERE day = ?", (TODAY - 4,))
        town = Town(database, 3, terms=WATCHED)
        town.witnesses = [Witness(own, seed("witness", 0), following)]
        endings = town.run()
        assert kinds(endings) == {"failed"}, endings
        assert town.n_records == 2, "nothing is stored"


def test_the_command_refuses_a_key_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--database", f"sqlite:///{tmp_path / 'own.sqlite'}", "--key", str(tmp_path / "witness.key"))
    ended = Shoal(capsys)("collect", "witness", *words, "--follow", "http://127.0.0.1:1", "xyz")
    assert ended.code == 2
    assert "the key of --follow is not 64 hexadecimal digits" in " ".join(ended.err.split())
    follow = ("--follow", "http://127.0.0.1:1", "ab" * 32)
    ended = Shoal(capsys)("collect", "witness", *words, *follow, "--registrar", "xyz")
    assert (ended.code, "the key of --registrar" in " ".join(ended.err.split())) == (2, True)
    ended = Shoal(capsys)("collect", "witness", *words)
    assert (ended.code, "Missing option '--follow'" in ended.err) == (2, True)


def test_a_witness_says_when_it_cannot_hear_its_collector(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be started first, but who started it should know that it answers nothing."""
    monkeypatch.setattr("shoal_collect.cli.collector.serve_app", lambda *_: None)
    words = ("--database", f"sqlite:///{tmp_path / 'own.sqlite'}", "--key", str(tmp_path / "witness.key"))
    ended = Shoal(capsys)("collect", "witness", *words, "--follow", "http://127.0.0.1:1", "ab" * 32)
    assert ended.code == 0
    assert "http://127.0.0.1:1 does not answer (ConnectionRefusedError); until it answers" in ended.err


def shifted(ahead_s: float) -> float:
    """A clock that is ahead."""
    return time.time() + ahead_s


def test_a_witness_says_what_its_collector_would_refuse_it_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that is hours off, or a collector that was not told of it: rounds would end by it."""
    monkeypatch.setattr("shoal_collect.cli.collector.serve_app", lambda *_: None)
    (tmp_path / "witness.key").write_text(seed("witness", 0).hex())
    words = ("--database", f"sqlite:///{tmp_path / 'own.sqlite'}", "--key", str(tmp_path / "witness.key"))
    for terms, ahead_s, lacks in (
        (WATCHED, 0, ""),
        (TERMS, 0, "the collector does not name this witness"),
        (WATCHED, 7200, "the clock here is -7200 s from the collector's"),
    ):
        with Database() as database:
            app = collector_application(
                database,
                seed("server"),
                terms,
                CollectorSettings(PLACES, round_size=3, join_s=60),
                seed,
                clock=partial(shifted, ahead_s),
                quiet=True,
            )
            with running(app) as url:
                key = identity_of(seed("server")).hex()
                ended = Shoal(capsys)("collect", "witness", *words, "--follow", url, key)
        assert ended.code == 0
        assert lacks in ended.err
        assert bool(lacks) == ("this witness answers nothing" in ended.err)
