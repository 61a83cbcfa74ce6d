"""The collector under attack: does /health answer, and how much memory does it take?

Three attacks, one after the other, on a collector in a process of its own: eight members who send batches of
0.6 MB again and again; eight members of groups of their own who send batches as large as their terms allow,
about the busiest place with the widest circles; and a thousand connections that announce a body and never
send its end. It ends with code 1 when a look at /health takes 100 ms or more (the slowest but one of fifty),
or when the server takes more than 300 MiB.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import FastAPI

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from bench_phi import CONTRIBUTORS, city, fill
from service_town import PLACES, identity_of, seed, vouched
from shoal.local_pages.serving import open_server
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import RECORD_BYTES, Query, encode_query
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import authorization
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import PhiStore

KEY, TERMS = seed("server"), Terms(group_size=3, n_real=49, n_fake=1)
FLOOD_BYTES = 600_000


def started(folder: str, pairs: int, sessions: int) -> tuple[int, str, Cylinder]:
    """A collector over a city, and groups of strangers: its process, its address, the busiest place."""
    url = f"sqlite:///{folder}/collect.sqlite"
    releases = city(Chance(bytes(32)), pairs, CONTRIBUTORS, 5.0 * pairs / 242_582)
    with PhiStore(Database(url)) as store:
        fill(store, releases)
        for number in range(sessions):
            name = seed("round", number)
            store.database.change(
                "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, ?)",
                (name, TERMS.model_dump_json(), time.time() + 1e6),
            )
            round_number = store.database.rows("SELECT id FROM round WHERE name = ?", (name,))[0][0]
            for place in range(3):
                row = (
                    round_number,
                    identity_of(seed("member", number, place)),
                    b"",
                    seed("session", number),
                    place,
                )
                store.database.change(
                    "INSERT INTO ticket (round, identity, signed, dropped, session, place) "
                    "VALUES (?, ?, ?, 0, ?, ?)",
                    row,
                )
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        app = collector_application(
            Database(url),
            KEY,
            TERMS,
            CollectorSettings(PLACES, round_size=3, join_s=600),
            os.urandom,
            quiet=True,
        )
        probe(app, Path(folder) / "longest_ms")
        server, listening, address = open_server(app, "127.0.0.1", 0)
        os.write(writer, address.encode())
        server.run(sockets=[listening])
        os._exit(0)
    return child, os.read(reader, 200).decode(), releases[0].points[0]


def probe(app: FastAPI, file: Path) -> None:
    """Note how much CPU time the event loop spends at most before it looks up: what /health can wait for.

    By the clock that depends on whatever else the machine does.
    """
    inside = app.router.lifespan_context

    async def look() -> None:
        longest, last = 0.0, time.thread_time()
        while True:
            await asyncio.sleep(0.002)
            now = time.thread_time()
            if now - last > longest:
                longest = now - last
                file.write_text(f"{1000 * longest:.1f}")
            last = now

    @asynccontextmanager
    async def looked_at(of: FastAPI) -> AsyncIterator[None]:
        async with inside(of):
            looking = asyncio.create_task(look())
            yield
            looking.cancel()

    app.router.lifespan_context = looked_at


LOOKS = """
import http.client, json, sys, time
took = []
for _ in range(int(sys.argv[2])):
    began = time.perf_counter()
    try:
        connection = http.client.HTTPConnection(sys.argv[1], timeout=5)
        connection.request("GET", "/health")
        connection.getresponse().read()
        connection.close()
    except OSError:
        pass
    took.append(1000 * (time.perf_counter() - began))
    time.sleep(0.02)
print(json.dumps(took))
"""


def looks(address: str, n: int) -> list[float]:
    """How long /health takes, in milliseconds, n times, as another process sees it; 5 s for no answer."""
    asked = [sys.executable, "-c", LOOKS, urlsplit(address).netloc, str(n)]
    took: list[float] = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    return took


def memory_mib(process: int) -> float:
    """The most memory that a process has had."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


class Flood:
    """Threads that send batches until they are told to stop."""

    def __init__(self, address: str, place: Cylinder, n_questions: int) -> None:
        self.address, self.place, self.n_questions = address, place, n_questions
        self.statuses: dict[str, int] = {}
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(i,)) for i in range(8)]

    def __enter__(self) -> "Flood":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _batch(self, chance: random.Random) -> bytes:
        at = self.place
        wide = [Cylinder(at.start_min + t, 720, at.lat_udeg, at.lon_udeg, 2000) for t in (0, 1, 2, 3)]
        one = encode_query(Query(bytes(16), tuple(wide)))
        return b"".join(one[:4] + chance.randbytes(16) + one[20:] for _ in range(self.n_questions))

    def _vouched(self, session: int, questions: bytes) -> bytes:
        """Members who play together vouch for whatever they like."""
        seeds = {place: seed("member", session, place) for place in range(3)}
        return vouched(seed("session", session), seeds, (questions, b"1", b"2"))

    def _send(self, thread: int) -> None:
        chance, session = random.Random(thread), thread
        while not self._stop.is_set() and session < 8 * 100:
            who, body = seed("member", session, 0), self._vouched(session, self._batch(chance))
            target = f"/v1/groups/{seed('session', session).hex()}/questions"
            signed = authorization(who, identity_of(who), identity_of(KEY), "POST", target, body, time.time())
            try:
                from shoal_collect.roles.wire import body_digest

                headers = {"Authorization": signed, "Shoal-Digest": body_digest(body).hex()}
            except ImportError:  # a version before bodies had digests, for the figures before
                headers = {"Authorization": signed}
            try:
                connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=5)
                connection.request("POST", target, body, headers)
                said = str(connection.getresponse().status)
                connection.close()
            except OSError as error:
                said = type(error).__name__
            self.statuses[said] = self.statuses.get(said, 0) + 1
            session += 8
            if session >= 800:
                session = thread


def hold(address: str, n: int) -> list[socket.socket]:
    """Connections of members and strangers that announce a body and send all of it but its end."""
    held, parts = [], urlsplit(address)
    for number in range(n):
        who, body = seed("member", number % 800, 0), bytes(50 * RECORD_BYTES)
        target = f"/v1/groups/{seed('session', number % 800).hex()}/questions"
        signed = authorization(who, identity_of(who), identity_of(KEY), "POST", target, body, time.time())
        head = f"POST {target} HTTP/1.1\r\nHost: x\r\nAuthorization: {signed}\r\n"
        head += f"Shoal-Digest: {'00' * 32}\r\nContent-Length: {FLOOD_BYTES}\r\n\r\n"
        try:
            connection = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5)
            connection.setblocking(False)
            held.append(connection)
            connection.send(head.encode() + bytes(FLOOD_BYTES - 1))
        except OSError:
            continue
    return held


def of(took: list[float]) -> dict[str, float]:
    """Median, and the slowest but one of fifty."""
    slow = sorted(took)[max(0, len(took) - max(2, len(took) // 50))]
    return {"health_median_ms": round(statistics.median(took), 1), "health_slow_ms": round(slow, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--looks", type=int, default=100)
    parser.add_argument("--connections", type=int, default=1000)
    given = parser.parse_args()
    rows: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        child, address, place = started(folder, given.pairs, 800)
        try:
            rows["at rest"] = {**of(looks(address, given.looks)), "memory_mib": round(memory_mib(child))}
            for name, n in (("batches of 0.6 MB", FLOOD_BYTES // RECORD_BYTES), ("batches as agreed", 50)):
                with Flood(address, place, n) as flood:
                    time.sleep(1.0)
                    rows[name] = {**of(looks(address, given.looks))}
                rows[name] |= {"statuses": flood.statuses, "memory_mib": round(memory_mib(child))}
                rows[name]["loop_cpu_ms_at_most"] = float((Path(folder) / "longest_ms").read_text())
            held = hold(address, given.connections)
            time.sleep(2.0)
            rows[f"{given.connections} connections"] = {
                **of(looks(address, given.looks)),
                "memory_mib": round(memory_mib(child)),
            }
            for connection in held:
                connection.close()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    print(json.dumps(rows, indent=2))
    worst_ms = max(float(str(row["health_slow_ms"])) for row in rows.values())
    most_mib = max(float(str(row["memory_mib"])) for row in rows.values())
    return int(worst_ms >= 100 or most_mib > 300)


if __name__ == "__main__":
    sys.exit(main())
