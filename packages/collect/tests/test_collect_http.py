"""The collector over a real socket.

Named errors, limits, logs and metrics without content, TLS, signed replies.
"""

import asyncio
import gc
import hashlib
import http.client
import json
import random
import socket
import ssl
import time
import tracemalloc
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import get_args
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from prometheus_client import generate_latest

from deployed import write_certificate
from on_the_way import Said, Sent, on_the_way
from service_town import PLACES, TERMS, identity_of, running, seed, vouched
from shoal.errors import InputError, MisuseError
from shoal.local_pages.serving import open_server
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.faults import STATUS, PeerError
from shoal_collect.faults import Kind as FaultKind
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Query, encode_query
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.terms import read_terms
from shoal_collect.roles.wire import (
    BODY_BYTES,
    Call,
    answer_digest,
    authorization,
    body_digest,
    head_digest,
    longest_vouching,
    require_reply_signature,
    unpack,
)
from shoal_collect.server.http import BodyBudget, new_application
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.server.pools import Pools
from shoal_collect.server.watch import Watch
from shoal_collect.storage.database import AUTHORITY, Database

KEY = seed("server")
MEMBER = seed("sign", 0)


class Site:
    """A collector at an address, with one group of three, already drawn."""

    def __init__(self, url: str, database: Database, app: FastAPI) -> None:
        self.url, self.database, self.app = url, database, app
        self.server, self.book = (
            RemoteServer(url),
            ClaimBook(Database(None, AUTHORITY), seed("authority"), frozenset()),
        )
        self.group = seed("group")
        for place in range(3):
            row = (1, identity_of(seed("sign", place)), bytes(64), self.group, place)
            database.change(
                "INSERT INTO ticket (round, identity, signed, dropped, session, place) VALUES (?, ?, ?, 0, "
                "?, ?)",
                row,
            )
        values = (bytes(32), TERMS.model_dump_json(), time.time() + 1000)
        database.change(
            "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, ?)",
            values,
        )

    def raw(
        self, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        connection.request(method, target, body, {"Shoal-Digest": body_digest(body).hex()} | (headers or {}))
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, content, {name.lower(): value for name, value in response.headers.items()}

    def signed(
        self, method: str, target: str, body: bytes = b"", *, late_s: float = 0.0, to: bytes | None = None
    ) -> tuple[int, str]:
        """Status, and the name of the error."""
        header = authorization(
            MEMBER, identity_of(MEMBER), to or identity_of(KEY), method, target, body, time.time() - late_s
        )
        status, content, _ = self.raw(method, target, body, {"Authorization": header})
        return status, json.loads(content)["error"] if status >= 400 else ""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Database(tmp_path / "collect.sqlite") as database:
        app = collector_application(
            database,
            KEY,
            TERMS,
            CollectorSettings(PLACES, round_size=3, join_s=60),
            lambda n: seed("draw")[:n],
        )
        with running(app) as url:
            site = Site(url, database, app)
            yield site
            site.server.close()


def question(number: int, lat_udeg: int = 0) -> bytes:
    points = (Cylinder(5, 6, 1, 1, 75), Cylinder(9, 6, 1, 1, 75))
    good = encode_query(Query(seed(number)[:16], points))
    return good[:20] + lat_udeg.to_bytes(4, signed=True) + good[24:]


def questions(number: int = 0) -> bytes:
    """As many questions as a member brings."""
    return b"".join(question(3 * number + at) for at in range(3))


def brought(slices: list[bytes], at: int = 0) -> bytes:
    """One member's questions, for which two of the three vouch."""
    return vouched(seed("group"), {place: seed("sign", place) for place in (0, 2)}, slices, at)


def batch(number: int = 0) -> bytes:
    """The questions of one of the three, among all that the group agreed on."""
    return brought([questions(at) for at in range(3)], number)


def instead(bad: bytes) -> bytes:
    """A batch of other questions."""
    return brought([bad, questions(1), questions(2)])


def test_every_refusal_has_a_name(site: Site) -> None:
    ask, other = f"/v1/groups/{site.group.hex()}/questions", f"/v1/groups/{seed('other').hex()}/questions"
    assert site.signed("GET", "/v1/letters?after=0") == (200, "")
    assert site.signed("GET", "/v1/letters?after=0", late_s=400) == (401, "clock-skew")
    assert site.signed("GET", "/v1/letters?after=0", late_s=-400) == (401, "clock-skew")
    assert site.signed("GET", "/v1/letters?after=0", to=seed("another server")) == (401, "bad-signature")
    assert site.signed("GET", "/v1/letters?after=-1") == (422, "out-of-range")
    assert site.signed("GET", "/v1/letters?after=nan") == (422, "bad-frame")
    assert site.signed("GET", "/v1/letters?wait=long") == (422, "bad-frame")
    assert site.signed("GET", "/v1/letters?wait=nan") == (422, "out-of-range")
    assert site.signed("POST", "/v1/letters", b"no letter") == (400, "bad-length")
    assert site.signed("POST", ask, batch()) == (200, "")
    assert site.signed("POST", ask, instead(question(1, 91_000_000))) == (422, "out-of-range")
    assert site.signed("POST", ask, instead(question(1)[:-1])) == (400, "bad-length")
    assert site.signed("POST", ask, instead(bytes(148))) == (422, "bad-record")
    assert site.signed("POST", other, question(1)) == (404, "wrong-session")
    assert site.signed("POST", "/v1/groups/stale/questions", question(1)) == (404, "wrong-session")
    assert site.signed("POST", f"/v1/rounds/{bytes(32).hex()}/roster", bytes(64)) == (401, "bad-signature")
    assert site.signed("POST", f"/v1/rounds/{bytes(32).hex()}/reveals", bytes(32)) == (410, "too-late")
    assert site.signed("POST", f"/v1/rounds/{seed('stale').hex()}/reveals", bytes(32)) == (
        404,
        "wrong-session",
    )
    assert site.signed("POST", f"/v1/rounds/{bytes(32).hex()}/commits", bytes(2000)) == (413, "bad-length")
    for header in ("", "Shoal", "Basic x", "Shoal zz 1 AA==", f"Shoal {bytes(32).hex()} nan AA=="):
        status, content, _ = site.raw("GET", "/v1/letters?after=0", headers={"Authorization": header})
        assert (status, json.loads(content)["error"]) == (401, "bad-signature")
    assert json.loads(site.raw("GET", "/nothing")[1])["error"] == "bad-frame"
    assert site.raw("DELETE", "/v1/letters")[0] == 405


def test_a_status_comes_from_the_name_of_a_fault_and_not_from_its_words() -> None:
    assert set(STATUS) == set(get_args(FaultKind))
    app = new_application("faults", Watch(dict, quiet=True), KEY)
    faults: dict[str, PeerError] = {
        "words": PeerError("bad-length", "a list of more than 5 entries"),
        "body": PeerError("body-too-long", "a body beyond its limit"),
    }

    @app.get("/{which}")
    def fail(which: str) -> None:
        raise faults[which]

    with running(app) as url:
        server = RemoteServer(url)
        replies = [server._exchange("GET", f"/{which}", b"", {})[0] for which in faults]
        server.close()
    assert [(one.status, json.loads(one.body)["error"]) for one in replies] == [
        (400, "bad-length"),
        (413, "bad-length"),
    ]


def test_a_signed_request_cannot_be_used_for_anything_else(site: Site) -> None:
    target = f"/v1/groups/{site.group.hex()}/questions"
    header = {
        "Authorization": authorization(
            MEMBER, identity_of(MEMBER), identity_of(KEY), "POST", target, batch(), time.time()
        )
    }
    first, again = (
        site.raw("POST", target, batch(), header),
        site.raw("POST", target, batch(), header),
    )
    assert (first[0], again[:2]) == (200, first[:2]), "a replay gives the same answer"
    assert site.database.rows("SELECT COUNT(*) FROM asked") == [(1,)], "and costs nothing"
    digest = {"Shoal-Digest": body_digest(batch()).hex()}
    assert site.raw("POST", target, batch(1), header)[0] == 401
    assert site.raw("POST", target, batch(1), header | digest)[0] == 400
    assert site.raw("POST", target.replace("questions", "releases"), question(1), header)[0] == 401


def test_a_body_beyond_the_limit_is_not_read_to_its_end(site: Site) -> None:
    parts, sent, said = urlsplit(site.url), 0, b""
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as connection:
        connection.sendall(b"POST /v1/letters HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        try:
            for _ in range(1000):
                connection.sendall(bytes(1_000_000))
                sent += 1
        except OSError:
            with suppress(OSError):  # a reply may be lost with what was in its way
                said = connection.recv(12)
    assert said in (b"", b"HTTP/1.1 413")
    assert sent < 100
    assert BODY_BYTES < 20_000_000
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as connection:
        connection.sendall(b"POST /v1/letters HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_who_may_send_nothing_is_refused_by_the_head_alone(site: Site) -> None:
    """None of these bodies is ever sent; a server that waited for one would answer 408 after a minute."""
    target, body = f"/v1/groups/{site.group.hex()}/questions", batch()
    stranger, parts = seed("stranger"), urlsplit(site.url)
    for who, at, length, digest, status in (
        (stranger, target, len(body), body_digest(body), 403),
        (stranger, "/v1/letters", 600_000, body_digest(body), 403),
        (MEMBER, target, longest_vouching(3) + 445, body_digest(body), 413),
        (MEMBER, "/v1/letters", BODY_BYTES, body_digest(body), 413),
        (MEMBER, target, len(body), bytes(32), 401),
        (MEMBER, target, len(body), b"", 401),
    ):
        signed = authorization(who, identity_of(who), identity_of(KEY), "POST", at, body, time.time())
        head = f"POST {at} HTTP/1.1\r\nHost: x\r\nAuthorization: {signed}\r\nContent-Length: {length}\r\n"
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as connection:
            connection.sendall(f"{head}Shoal-Digest: {digest.hex()}\r\n\r\n".encode())
            assert connection.recv(12) == f"HTTP/1.1 {status}".encode()
    other = batch(1)
    header = authorization(MEMBER, identity_of(MEMBER), identity_of(KEY), "POST", target, body, time.time())
    said = {"Authorization": header, "Shoal-Digest": body_digest(body).hex()}
    assert site.raw("POST", target, other, said)[0] == 400, "another body than the signed one"
    assert site.raw("POST", target, body, said)[0] == 200


def test_no_more_is_read_at_once_than_the_budget_holds() -> None:
    budget = BodyBudget(100)
    with budget.of(b"a", 60):
        for who, size in ((b"b", 41), (b"a", 1)):
            with pytest.raises(PeerError, match="busy"), budget.of(who, size):
                raise AssertionError("no room")
        with budget.of(b"b", 40):
            pass
    with budget.of(b"a", 100):
        pass


@contextmanager
def bounded(
    host: str = "127.0.0.1",
    cert: Path | None = None,
    key: Path | None = None,
    *,
    of_an_address: int = 0,
    at_once: int = 1000,
) -> Iterator[tuple[str, int]]:
    """Where a server without routes of its own takes so many connections."""
    app = new_application("bounded", Watch(dict, quiet=True), KEY)
    server, listening, url = open_server(app, host, 0, cert, key, of_an_address, at_once)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield host, urlsplit(url).port or 0
    finally:
        server.should_exit = True
        thread.join()


def asked(connection: socket.socket) -> bytes:
    try:
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
        heard = connection.recv(12)
        connection.recv(4096)
        return heard
    except OSError:
        return b""


def test_an_address_has_so_many_connections_and_no_description_of_the_interface() -> None:
    with bounded(of_an_address=3) as where, ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(where, timeout=10)) for _ in range(3)]
        assert [asked(one) for one in held] == [b"HTTP/1.1 404"] * 3
        with socket.create_connection(where, timeout=10) as further:
            assert asked(further) == b""
        held.pop().close()
        until_s, said = time.monotonic() + 10, b""
        while not said and time.monotonic() < until_s:
            with socket.create_connection(where, timeout=10) as further:
                said = asked(further)
        assert said == b"HTTP/1.1 404", "one has gone, another may come"


def test_connections_count_before_their_handshake(tmp_path: Path) -> None:
    """1,500 of one stranger that said nothing took all files of the process, and nobody else was heard."""
    write_certificate(tmp_path)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    trusted = ssl.create_default_context(cafile=cert)
    with bounded("127.0.0.1", cert, key, of_an_address=3) as where, ExitStack() as stack:
        from_elsewhere = [
            stack.enter_context(socket.create_connection(where, 10, ("127.0.0.2", 0))) for _ in range(5)
        ]
        closed = 0
        for one in from_elsewhere[3:]:
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
            closed += 1
        plain = stack.enter_context(socket.create_connection(where, timeout=10))
        line = stack.enter_context(trusted.wrap_socket(plain, server_hostname="localhost"))
        assert (closed, asked(line)) == (2, b"HTTP/1.1 404")


def test_who_is_connected_is_answered_while_there_is_no_room_for_others() -> None:
    with bounded(at_once=2) as where, ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(where, timeout=10)) for _ in range(2)]
        with socket.create_connection(where, timeout=10) as further:
            assert asked(further) == b""
        assert [asked(one) for one in held] == [b"HTTP/1.1 404"] * 2


@pytest.mark.parametrize(
    "addresses",
    [
        ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "2001:db8::3"],  # who has one has 2^64
        ["::ffff:192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2", "::ffff:192.0.2.1"],
    ],
)
def test_addresses_of_one_network_are_one(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> None:
    take, came = socket.socket.accept, iter(addresses)
    monkeypatch.setattr(socket.socket, "accept", lambda self: (take(self)[0], (next(came), 1, 0, 0)))
    with bounded(of_an_address=2) as where, ExitStack() as stack:
        lines = [stack.enter_context(socket.create_connection(where, timeout=10)) for _ in range(4)]
        assert [asked(one) for one in lines] == [*[b"HTTP/1.1 404"] * 3, b""]


def test_a_body_that_goes_on_after_its_answer_has_no_more_time_than_a_head(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.local_pages.serving._HEAD_LIMIT_S", 0.5)
    parts = urlsplit(site.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20) as line:
        line.sendall(b"POST /v1/letters HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        heard = b""
        while part := line.recv(4096):
            heard += part
    assert heard.startswith(b"HTTP/1.1 400")


def test_health_does_not_wait_for_the_database(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(site.raw("GET", "/health")[1]) == {"status": "ok", "database": "answers"}
    monkeypatch.setattr("shoal_collect.server.pools._LOOK_EVERY_S", 0.0)

    asked, answers = Event(), Event()

    def slow(*_: object, **__: object) -> str:
        asked.set()
        answers.wait(60)
        return ""

    monkeypatch.setattr(Database, "trouble", slow)
    assert site.raw("GET", "/health")[0] == 200
    assert asked.wait(60)
    assert site.raw("GET", "/health")[0] == 200, "it answers while the database does not"
    assert not answers.is_set()
    answers.set()
    monkeypatch.setattr(Database, "trouble", lambda *_, **__: "unusable (OSError)")
    until_s = time.monotonic() + 10
    while (said := site.raw("GET", "/health"))[0] == 200 and time.monotonic() < until_s:
        time.sleep(0.05)
    assert (said[0], json.loads(said[1])["database"][:8]) == (503, "unusable")


def test_health_says_what_is_wrong_after_a_long_pause() -> None:
    """A monitor that looked every half minute was told 200 with a full disk, 4 times of 4."""

    async def look() -> tuple[str, str]:
        pools = Pools()
        before = await pools.health(lambda: "")
        pools._looked_s -= 30
        return before, await pools.health(lambda: "the disk is full")

    assert asyncio.run(look()) == ("", "the disk is full")


def test_numbers_that_no_database_holds_are_refused(site: Site) -> None:
    for target in (f"/v1/days?after={10**26}", f"/v1/days?after=-{10**26}", f"/v1/days/{10**26}"):
        assert site.raw("GET", target)[0] in (401, 422)
    assert site.signed("GET", f"/v1/letters?after={10**26}")[0] == 422


@pytest.mark.parametrize("second", ["Content-Length: 0", "Transfer-Encoding: chunked"])
def test_a_request_with_two_lengths_closes_its_connection(site: Site, second: str) -> None:
    """A proxy in front may have read the other one, and what follows as somebody else's request."""
    where = urlsplit(site.url)
    with socket.create_connection((where.hostname, where.port), timeout=10) as line:
        # In one piece: what comes after the server closed would be answered by a reset.
        both = f"POST /v1/letters HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n{second}\r\n\r\n0\r\n\r\n"
        line.sendall(both.encode() + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        heard = b""
        while part := line.recv(4096):
            heard += part
    assert heard.startswith(b"HTTP/1.1 400")
    assert heard.count(b"HTTP/1.1") == 1


def test_only_members_wait(site: Site) -> None:
    """A stranger with a key of her own is answered at once."""
    began = time.monotonic()
    seen = answer_digest(b"")
    target = f"/v1/letters?after=0&wait=20&seen={seen}"
    header = authorization(
        seed("x"), identity_of(seed("x")), identity_of(KEY), "GET", target, b"", time.time()
    )
    assert site.raw("GET", target, b"", {"Authorization": header})[0] == 200
    assert time.monotonic() - began < 15


def test_threads_share_a_server_and_it_opens_again(site: Site) -> None:
    server, names, both = RemoteServer(site.url), list[str](), Barrier(2)

    def ask() -> None:
        for _ in range(20):
            both.wait()
            names.append(server.about()["server_key"])

    for _ in range(2):
        threads = [Thread(target=ask) for _ in range(2)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        server.close()
    assert names == [identity_of(KEY).hex()] * 80


def test_nothing_in_the_environment_and_no_redirect_changes_whom_a_device_asks(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of the machine must not send sealed letters through somebody else's proxy."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server = RemoteServer(site.url)
    assert server.about()["server_key"] == identity_of(KEY).hex()
    server.close()
    heard = list[dict[str, str]]()

    def redirect(sent: Sent) -> Said:
        heard.append(dict(sent.headers))
        return Said(302, b"", {"location": site.url + "/v1/about"})

    with on_the_way(redirect) as url:
        server = RemoteServer(url)
        with pytest.raises(InputError, match="status 302"):
            server.about()
        server.close()
    assert len(heard) == 1


def test_logs_and_metrics_hold_no_content(
    site: Site, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal_collect.storage.questions.MOST_S", -1.0)  # so that nothing is answered
    target = f"/v1/groups/{site.group.hex()}/questions"
    assert site.signed("POST", target, batch()) == (200, "")
    assert site.raw("GET", "/health")[0] == 200
    text = generate_latest(site.app.state.watch.registry).decode()
    assert site.raw("GET", "/metrics")[0] == 404, "figures are not public"
    logged = capfd.readouterr().err
    lines = [json.loads(line) for line in logged.splitlines()]
    (unanswered,) = [line for line in lines if "route" not in line]
    assert (unanswered.pop("at_s") > 0, unanswered) == (True, {"questions": 3, "withheld": 3})
    requests = [line for line in lines if "route" in line]
    assert {line["route"] for line in requests} >= {"/v1/groups/{name}/questions", "/health"}
    assert set(requests[0]) == {"at_s", "route", "status", "ms", "bytes_in", "bytes_out"}
    for secret in (site.group.hex(), identity_of(MEMBER).hex(), "127.0.0.1"):
        assert secret not in logged
        assert secret not in text
    assert "shoal_phi_queries_total 3" in text
    assert "shoal_withheld_answers_total 3" in text
    assert 'shoal_requests_total{route="/v1/groups/{name}/questions",status="200"} 1' in text
    assert "shoal_rounds_grouped 1" in text


def test_random_requests_are_refused_by_name_and_never_crash(site: Site) -> None:
    chance, routes = (
        random.Random(1),
        ("rounds/{}/roster", "rounds/{}/commits", "letters", "groups/{}/questions", "groups/{}/releases"),
    )
    statuses: set[int] = set()
    for _ in range(150):
        name = chance.choice(
            [site.group.hex(), bytes(32).hex(), chance.randbytes(chance.randrange(40)).hex()]
        )
        target = "/v1/" + chance.choice(routes).format(name)
        body = chance.choice(
            [
                question(1) * chance.randrange(3),
                instead(question(1, 91_000_000)),
                chance.randbytes(148),
                chance.randbytes(chance.randrange(400)),
            ]
        )
        statuses.add(site.signed("POST", target, body)[0])
    assert max(statuses) < 500
    assert statuses >= {400, 404, 422}


def test_a_fault_of_our_own_is_named_and_says_no_more(
    site: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("shoal_collect.server.mailbox.Mailbox.fetch", broken)
    assert site.signed("GET", "/v1/letters?after=0") == (500, "internal")
    logged = capfd.readouterr().err
    assert '"fault": "RuntimeError"' in logged
    assert "a secret" not in logged
    assert b"shoal_faults_total 1" in generate_latest(site.app.state.watch.registry)


def test_replies_are_signed_for_their_question(site: Site) -> None:
    status, body, headers = site.raw("GET", "/v1/about")
    assert status == 200
    no_digest = "", "0", body_digest(b"").hex()
    require_reply_signature(
        identity_of(KEY), head_digest("GET", "/v1/about", *no_digest), body, headers["shoal-signature"]
    )
    for key, target, content, signed in (
        (seed("x"), "/v1/about", body, headers["shoal-signature"]),
        (identity_of(KEY), "/v1/rounds", body, headers["shoal-signature"]),
        (identity_of(KEY), "/v1/about", body + b" ", headers["shoal-signature"]),
        (identity_of(KEY), "/v1/about", body, None),
        (identity_of(KEY), "/v1/about", body, "no hexadecimal"),
    ):
        with pytest.raises(PeerError, match="bad-signature"):
            require_reply_signature(key, head_digest("GET", target, *no_digest), content, signed)
    device = Device("user", MEMBER, bytes(32), identity_of(KEY), bytes(32), bytes(32))
    ask = Call(
        "POST",
        f"/v1/groups/{site.group.hex()}/questions",
        instead(
            next(one for one in map(question, range(5000)) if begins_like_json(one)) + questions()[: 2 * 148]
        ),
    )
    for call in (Call("GET", "/v1/rounds"), Call("GET", "/v1/letters?after=0"), ask):
        assert site.server.send(call, device, time.time()).status == 200, (
            "binary replies are signed, too, whatever they begin with"
        )
    impostor = Device("user", MEMBER, bytes(32), identity_of(seed("another")), bytes(32), bytes(32))
    with pytest.raises(PeerError, match="bad-signature"):
        site.server.send(Call("GET", "/v1/rounds"), impostor, time.time())


def begins_like_json(record: bytes) -> bool:
    return hashlib.blake2b(record, digest_size=32).digest()[:1] == b"{"


def test_terms_and_mailbags_that_make_no_sense_are_refused() -> None:
    for terms in (
        {"theta_m": float("nan")},
        {"group_size": 2},
        {"n_real": 1024, "n_fake": 1},
        {"group_size": 15, "n_real": 1000},
        {"x": 1},
        7,
    ):
        with pytest.raises(PeerError, match="out-of-range"):
            read_terms(terms)
    for batch in (b"x", bytes(12), bytes(11) + b"\x05" + b"abcd"):
        with pytest.raises(PeerError, match="bad-length"):
            unpack(batch)
    assert unpack(bytes(7) + b"\x09" + bytes(3) + b"\x02" + b"ab") == [(9, b"ab")]


def bytes_of_a_connection(url: str, cert: Path) -> float:
    """Bytes of Python objects that a server in this process holds for a TLS connection that says nothing."""
    parts, trusting, connections = urlsplit(url), ssl.create_default_context(cafile=cert), 40
    tracemalloc.start()
    try:
        with ExitStack() as clients:
            for _ in range(connections):
                plain = socket.create_connection((str(parts.hostname), parts.port or 0))
                clients.enter_context(trusting.wrap_socket(plain, server_hostname=parts.hostname))
            return tracemalloc.get_traced_memory()[0] / connections
    finally:
        tracemalloc.stop()


def test_tls_by_configuration(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(tmp_path)
    with Database(None, AUTHORITY) as database:
        app = authority_application(ClaimBook(database, seed("authority"), frozenset()), quiet=True)
        server, listening, url = open_server(app, "127.0.0.1", 0, cert, key)
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert url.startswith("https://")
            trusting = RemoteServer(url, cert)
            assert "signing_key" in trusting.about()
            trusting.close()
            with pytest.raises(InputError, match=r"certificate of .* is not trusted"):
                RemoteServer(url).about()
            assert bytes_of_a_connection(url, cert) < 100_000, "thousands of devices wait at once"
        finally:
            server.should_exit = True
            thread.join()
            listening.close()


def test_addresses_that_lead_nowhere_are_named(site: Site) -> None:
    for url in ("collect.example.org", "ftp://x", "http://", "http://x/path?query"):
        with pytest.raises(MisuseError, match="not an address of a server"):
            RemoteServer(url)
    with pytest.raises(InputError, match="does not answer"):
        RemoteServer("http://127.0.0.1:1").about()
    with pytest.raises(InputError, match="nothing can listen"):
        open_server(authority_application(site.book), "127.0.0.1", urlsplit(site.url).port or 0)


def test_what_is_there_at_the_start_is_never_looked_through_for_garbage() -> None:
    """It held up every request for 50 ms, /health too; bench/bench_flood.py shows it."""
    app = new_application("x", Watch(dict, quiet=True), KEY)
    with running(app) as url:
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"{url}/nothing").close()
        kept = gc.get_freeze_count()
        assert len(gc.get_objects()) < kept / 2
    assert gc.get_freeze_count() == 0
