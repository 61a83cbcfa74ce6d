"""Somebody on the way reads and changes all between a device and the servers: no round ends by it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import Shoal
from on_the_way import Said, Sent, on_the_way
from service_town import (
    PLACES,
    TERMS,
    TODAY,
    WAY,
    Town,
    device_for,
    identity_of,
    own_round_for,
    running,
    seed,
)
from shoal.errors import InputError, MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.device.disk import StateFolder
from shoal_collect.device.http_client import RemoteServer, connect, run_round
from shoal_collect.roles.authority import Receipt, claim, receipt
from shoal_collect.roles.wire import Call, authorization
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import AUTHORITY, Database

pytestmark = pytest.mark.usefixtures("quick_mixes")

KEY, STRANGER = seed("server"), seed("stranger")


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[str]:
    with Database(tmp_path / "collect.sqlite") as database:
        app = collector_application(
            database,
            KEY,
            TERMS,
            CollectorSettings(PLACES, round_size=3, join_s=600),
            seed,
            quiet=True,
        )
        with running(app) as url:
            yield url


def book_of(*collectors: bytes) -> ClaimBook:
    return ClaimBook(Database(None, AUTHORITY), seed("authority"), frozenset(map(identity_of, collectors)))


def as_stranger(sent: Sent) -> Sent:
    """The same request, from somebody whom the server refuses."""
    who = authorization(
        STRANGER, identity_of(STRANGER), identity_of(KEY), sent.method, sent.target, sent.body, time.time()
    )
    return sent.but(authorization=who)


CHANGES: dict[str, Callable[[Sent], Sent]] = {
    "a bit of the body": lambda one: replace(one, body=one.body[:-1] + bytes((one.body[-1] ^ 1,))),
    "a body that is too short": lambda one: replace(one, body=one.body[:-1]),
    "a body that is too long": lambda one: replace(one, body=one.body + bytes(70_000)),
    "another digest": lambda one: one.but(shoal_digest=bytes(32).hex()),
    "no digest": lambda one: one.but(shoal_digest=""),
    "another signature": lambda one: one.but(authorization=one.headers["authorization"][:-8] + "AAAAAAA="),
    "no signature": lambda one: one.but(authorization=""),
    "another method": lambda one: replace(one, method="PUT"),
    "another round": lambda one: replace(one, target=f"/v1/rounds/{seed('another').hex()}/roster"),
    "somebody else's request": as_stranger,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_request_that_is_changed_on_the_way_ends_no_round(collector: str, change: str) -> None:
    """The collector refuses it, and signs that; but not as the reply to what the device has sent."""
    device = device_for(0, KEY, book_of(KEY))
    own_round, refused = own_round_for(device, 0), list[int]()

    def passed_on(sent: Sent) -> Said:
        if sent.method == "GET":
            return sent.to(collector)
        said = CHANGES[change](sent).to(collector)
        refused.append(said.status)
        return said

    with on_the_way(passed_on) as url:
        server, said = RemoteServer(url), list[str]()
        with pytest.raises(InputError, match="goes on from here"):
            run_round(
                own_round, {"collector": server}, lambda: None, said.append, poll_s=0.01, patience_s=0.2
            )
        server.close()
    assert min(refused) >= 400
    assert own_round.ending is None
    assert sum("trying again for" in one for one in said) == 1, "she is told, once"
    there = RemoteServer(collector)
    assert there.send(own_round.next_call(), device, time.time()).status == 200, "unchanged, it is taken"
    there.close()


def test_who_waits_is_told_how_many_have_joined(collector: str) -> None:
    own, other = (own_round_for(device_for(number, KEY, book_of(KEY)), 0) for number in (0, 1))
    server, looks = RemoteServer(collector), 0

    def passed_on(sent: Sent) -> Said:
        nonlocal looks
        looks += sent.method == "GET" and "/v1/rounds/" in sent.target
        if looks == 2:
            for _ in range(2):  # finds the round, and joins it
                call = other.next_call()
                other.replied(call, server.send(call, other.device, time.time()), time.time())
        return Said(503, b"", {}) if looks > 2 else sent.to(collector)

    with on_the_way(passed_on) as url:
        there, said = RemoteServer(url), list[str]()
        with pytest.raises(InputError, match="goes on from here"):
            run_round(own, {"collector": there}, lambda: None, said.append, poll_s=0.01, patience_s=0.1)
        there.close()
    server.close()
    told = [one.split(" joined")[0] for one in said if " joined; the lottery begins by " in one]
    assert told == ["1 person has", "2 people have"]


def test_who_interrupts_a_round_is_told_that_it_is_kept(
    collector: str, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal_collect.device.participation.run_round", stopped)
    rows = [f"me,{p.lat_deg},{p.lon_deg},{round(p.t_min * 60)}" for p in WAY]
    (tmp_path / "mine.csv").write_text("\n".join(["uid,lat,lon,t", *rows]) + "\n")
    (tmp_path / "profile.toml").write_text("k = 0\n[blur]\nradius = '500m'\ngap = '30min'\n")
    with running(authority_application(book_of(KEY), quiet=True)) as lawful:
        done = shoal(
            "collect", "join", "--server", collector, "--authority", lawful, "--data", tmp_path / "mine.csv",
            "--profile", tmp_path / "profile.toml", "--state", tmp_path / "state", "--yes",
            "--max-gap", "10h",
        )  # fmt: skip
    assert done.code == 130
    assert "the round is kept: run the same command again" in done.err
    assert "waits for you 1.667 min in each step" in done.err


def test_an_old_reply_to_the_same_address_is_no_reply(collector: str) -> None:
    """A collector that forgets, or letters that were taken: whoever recorded a reply could say so."""
    device, recorded = device_for(0, KEY, book_of(KEY)), list[Said]()

    def passed_on(sent: Sent) -> Said:
        recorded.append(sent.to(collector))
        return recorded[0]

    with on_the_way(passed_on) as url:
        server, look = RemoteServer(url), Call("GET", "/v1/rounds")
        assert server.send(look, device, time.time()).status == 200
        with pytest.raises(Exception, match="bad-signature"):
            server.send(look, device, time.time() + 1)
        server.close()


def claim_for(book: ClaimBook, user: str, number: int = 0) -> bytes:
    """What a device sends when the collector has stored a release of hers."""
    own, identifier = seed("release", number), seed("identifier", number).hex()[:32]
    given: Receipt = receipt(KEY, identifier, identity_of(own))
    return claim(given, user, own, bytes.fromhex(book.facts["authority_key"]), Chance(seed(user, number)))


def test_another_claim_in_the_place_of_hers_loses_her_nothing() -> None:
    """Whoever claims her own release twice gets a signed refusal; it is no reply to anybody else's claim."""
    book = book_of(KEY)
    device, other = device_for(0, KEY, book), claim_for(book, "user 7", 1)
    book.take(claim_for(book, "user 9", 1))
    with running(authority_application(book, quiet=True)) as there:

        def passed_on(sent: Sent) -> Said:
            said = replace(sent, body=other).to(there)
            assert said.status >= 400
            return said

        mine = Call("POST", "/v1/claims", claim_for(book, "user 0"), to="authority")
        with on_the_way(passed_on) as url:
            server = RemoteServer(url)
            refusal = server.send(mine, device, time.time()).refusal
            server.close()
        assert refusal is not None
        assert refusal[0] in ("damaged", "unavailable"), "it passes"
        server = RemoteServer(there)
        assert server.send(mine, device, time.time()).status == 200
        server.close()


def test_a_claim_waits_for_an_authority_whose_operator_forgot_the_collector(tmp_path: Path) -> None:
    """Her release is stored; she keeps the round, and claims when the authority knows the collector."""
    with Database(tmp_path / "collect.sqlite") as database:
        town = Town(database, 3)
        right, town.book = town.book, book_of(seed("another collector"))
        town.tamper = lambda _, call: None if call.to == "authority" else call
        town.run(most_s=1_000)
        own_round = town.own_rounds[0]
    assert own_round.phase == "claiming"
    for book, ends in ((town.book, False), (right, True)):
        with running(authority_application(book, quiet=True)) as url:
            servers = {"authority": RemoteServer(url)}
            if ends:
                run_round(own_round, servers, lambda: None, lambda _: None, poll_s=0.01, patience_s=5)
            else:
                with pytest.raises(InputError, match=r"that this authority knows.*is stored.*goes on"):
                    run_round(own_round, servers, lambda: None, lambda _: None, poll_s=0.01, patience_s=0.2)
            servers["authority"].close()
        assert (own_round.ending is not None) == ends
    assert own_round.ending is not None
    assert own_round.ending.kind == "shared"
    assert right.identifiers_of("user 0") == [own_round.ending.identifier]


@pytest.mark.parametrize("user", ["", "x" * 257, "\udcff"])
def test_a_name_that_the_authority_would_refuse_is_refused_first(user: str, tmp_path: Path) -> None:
    """Else she hears of it when all is released."""
    with pytest.raises(MisuseError, match="1 to 256 bytes"):
        connect(StateFolder(tmp_path), "http://127.0.0.1:1", "http://127.0.0.1:1", None, user, seed)


@pytest.mark.parametrize("key", ["", "00" * 32, "01" + "00" * 31, "ab" * 31, 7])
def test_a_key_that_no_claim_can_be_sealed_with_is_refused_first(
    collector: str, key: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device ended in a fault when all was released, and at each start again."""
    book = book_of(KEY)
    monkeypatch.setattr(ClaimBook, "facts", {**book.facts, "authority_key": key})
    with (
        running(authority_application(book, quiet=True)) as url,
        pytest.raises(InputError, match="does not describe itself"),
    ):
        connect(StateFolder(tmp_path / "state"), collector, url, None, "me", seed)


def test_nobody_joins_where_the_authority_does_not_know_the_collector(collector: str, tmp_path: Path) -> None:
    """All would be released, and nobody could claim it; so it is said before anything is sent."""
    folder, said = StateFolder(tmp_path / "state"), list[str]()

    def connected(book: ClaimBook) -> int:
        with running(authority_application(book, quiet=True)) as url:
            there = connect(folder, collector, url, None, "me", seed, say=said.append)
            for server in there.servers.values():
                server.close()
            return there.day

    with pytest.raises(InputError, match="does not know this collector"):
        connected(book_of(seed("another collector")))
    assert connected(book_of(seed("another collector"), KEY)) > TODAY - 10_000
