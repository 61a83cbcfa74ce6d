"""What a device keeps, what it tells its owner, and the words for addresses and files that cannot be used."""

import socket
import time
from pathlib import Path
from threading import Thread

import pytest
import uvicorn
from fastapi import FastAPI

from deployed import write_certificate
from service_town import (
    PLACES,
    TERMS,
    Town,
    device_for,
    identity_of,
    own_round_for,
    running,
    seed,
)
from shoal.errors import InputError, MisuseError, OutputError
from shoal.local_pages.serving import open_server
from shoal_collect.device.disk import DeviceState, StateFolder
from shoal_collect.device.http_client import RemoteServer, connect, make_asker
from shoal_collect.device.profile import Profile, apply
from shoal_collect.device.proposal import Plan
from shoal_collect.faults import UnavailableError
from shoal_collect.roles.wire import DAY_S, Call, Reply
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.storage.database import AUTHORITY, Database


def test_the_day_that_circles_depend_on_is_her_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that chose the day would get fresh circles around the same place whenever it likes."""
    server_seed, book = seed("server"), Town(Database(), 3).book
    said = {
        "server_key": identity_of(server_seed).hex(),
        "time_s": time.time(),
        "day": 7,
        "terms": TERMS.model_dump(),
    }
    facts = {**said, "places": PLACES.model_dump(), **book.facts, "collectors": book.collectors}
    monkeypatch.setattr(RemoteServer, "about", lambda *_: facts)
    there = connect(
        StateFolder(tmp_path),
        "http://127.0.0.1:1",
        "http://127.0.0.1:2",
        None,
        "me",
        lambda n: seed("draw")[:n],
    )
    assert abs(there.day - time.time() / DAY_S) < 2
    known = dict(facts)
    for name in ("server_key", "authority_key", "signing_key"):
        facts.update({**known, name: identity_of(seed("another")).hex()})
        with pytest.raises(InputError, match="shows another key"):
            connect(StateFolder(tmp_path), "http://a", "http://b", None, "me", bytes)
    facts.update(known)
    facts["time_s"] = float("nan")
    with pytest.raises(InputError, match="clock"):
        connect(
            StateFolder(tmp_path),
            "http://127.0.0.1:1",
            "http://127.0.0.1:2",
            None,
            "me",
            lambda n: seed("draw")[:n],
        )


def test_she_is_told_what_the_collector_calls_shared() -> None:
    """With theta at 5,000 km everything is shared by everybody, whatever her k."""
    profile = Profile.model_validate({"k": 3, "blur": {"radius": "500m", "gap": "30min"}})
    terms = TERMS.model_copy(update={"theta_m": 5e6, "theta_min": 9000.0, "group_size": 5})
    member = own_round_for(device_for(0, seed("server"), Town(Database(), 3).book), 3).member
    readable = tuple(
        one.url
        for one in map(RemoteServer, ("http://a.example", "http://127.0.0.1:1", "https://b.example"))
        if one.readable
    )
    plan = Plan(profile, apply(profile, member.points), member, (), 3, terms, readable)
    text = "\n".join(plan.lines())
    for part in ("5000 km", "9000 min", "group of 5 or 6", "to http://a.example is not encrypted"):
        assert part in text
    assert text.count("is not encrypted") == 1
    assert any("whoever is in a group with you more than once" in one for one in plan.special), (
        "tags are seen by the group, too"
    )


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:abc", "http://[::1", "http://127.0.0.1:99999", "http://exa mple\n"]
)
def test_addresses_that_are_none_are_refused_in_words(url: str) -> None:
    with pytest.raises(MisuseError, match="not an address of a server"):
        RemoteServer(url)


@pytest.mark.parametrize(
    "body",
    [b"7", b"[", b"[" * 200_000, b'{"server_key": 7}', b'{"server_key": "zz"}', b'{"server_key": "00"}'],
)
def test_whoever_describes_herself_as_no_server_is_told_so(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = RemoteServer("http://127.0.0.1:1")
    monkeypatch.setattr(server, "_exchange", lambda *_: (Reply(200, body), None))
    with pytest.raises(InputError, match="not a server of shoal"):
        server.about()


def test_what_cannot_be_read_or_kept_is_told_in_words(tmp_path: Path) -> None:
    kept = DeviceState(device_for(0, seed("server"), Town(Database(), 3).book))
    for name, kind in (("lock", OutputError), ("state.json", InputError)):
        folder = StateFolder(tmp_path / name)
        (folder.folder / name).mkdir()
        with pytest.raises(kind, match="cannot be"), folder.lock():
            folder.load()
    full = StateFolder(tmp_path / "full")
    full.save(kept)
    (full.folder / "state.new").mkdir()
    before = (full.folder / "state.json").read_bytes()
    with pytest.raises(OutputError, match="make room"):
        full.save(kept)
    assert (full.folder / "state.json").read_bytes() == before, "what was kept before is whole"
    with Database(tmp_path / "authority.sqlite", AUTHORITY):
        pass
    with pytest.raises(InputError, match="something else"):
        Database(tmp_path / "authority.sqlite")
    assert (tmp_path / "authority.sqlite").stat().st_mode & 0o077 == 0, (
        "who owns what is for the authority alone"
    )
    for name in ("cert", "key"):
        (tmp_path / name).write_text("no PEM")
    with pytest.raises(InputError, match="not a certificate and its key"):
        open_server(FastAPI(), "127.0.0.1", 0, tmp_path / "cert", tmp_path / "key")


CUT_OFF = b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\nShoal-Signature: 00\r\n\r\n{"


def test_a_server_that_is_killed_in_the_middle_of_a_reply_is_away_and_nobody_else() -> None:
    device = device_for(0, seed("server"), Town(Database(), 3).book)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for _ in range(2):
                with listening.accept()[0] as connection:
                    connection.recv(4096)
                    connection.sendall(CUT_OFF)

        thread = Thread(target=answer)
        thread.start()
        server = RemoteServer(f"http://127.0.0.1:{listening.getsockname()[1]}")
        with pytest.raises(UnavailableError, match="does not answer"):
            server.send(Call("GET", "/v1/letters?after=0", poll=True), device, time.time())
        with pytest.raises(InputError, match="does not answer"):
            server.about()
        thread.join()


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(tmp_path: Path) -> None:
    """Waiting for half an hour would not mend it; the complaint names what does."""
    write_certificate(tmp_path)
    book, said = ClaimBook(Database(None, AUTHORITY), seed("authority"), frozenset()), list[str]()
    app = authority_application(book, quiet=True)
    server, listening, url = open_server(app, "127.0.0.1", 0, tmp_path / "cert.pem", tmp_path / "key.pem")
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with pytest.raises(InputError, match=r"not trusted \(self.signed certificate\)") as refused:
            RemoteServer(url).about(600.0, said.append)
        assert "--ca" in refused.value.cli_message
        assert said == [], "who waits says so first"
        with pytest.raises(UnavailableError, match="not trusted"):
            make_asker(RemoteServer(url), identity_of(seed("authority")), seed("witness"))("/v1/about")
        known = RemoteServer(url, tmp_path / "cert.pem")
        assert known.about()["signing_key"] == book.facts["signing_key"]
        known.close()
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def test_joining_waits_for_a_server_that_starts_later() -> None:
    said: list[str] = []
    servers: list[uvicorn.Server] = []
    book = ClaimBook(Database(None, AUTHORITY), seed("authority"), frozenset())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])

    def start_late() -> None:
        time.sleep(0.3)
        server, listening, _ = open_server(authority_application(book, quiet=True), "127.0.0.1", port)
        servers.append(server)
        server.run(sockets=[listening])

    thread = Thread(target=start_late)
    thread.start()
    there = RemoteServer(f"http://127.0.0.1:{port}")
    assert there.about(30.0, said.append)["signing_key"] == book.facts["signing_key"]
    there.close()
    servers[0].should_exit = True
    thread.join()
    assert len(said) == 1
    assert "does not answer yet" in said[0]


def test_a_head_that_does_not_come_closes_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a thousand connections that say nothing, or a byte a minute, shut everybody out."""
    monkeypatch.setattr("shoal.local_pages.serving._HEAD_LIMIT_S", 0.4)
    with running(FastAPI(openapi_url=None)) as url:
        port = int(url.rsplit(":", 1)[1])
        for said in (b"", b"GET / HTTP/1.1\r\nHo", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /"):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(said)
                heard = b""
                while part := connection.recv(4096):
                    heard += part
                assert heard.startswith(b"HTTP/1.1 404") == (said.count(b"GET") == 2), (
                    "a whole request is answered"
                )
