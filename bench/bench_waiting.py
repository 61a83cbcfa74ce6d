"""Devices that wait for letters: how soon they hear of one, and what waiting costs the collector.

So many devices, in groups of four, wait at a collector of some processes over one database. One after the
other, members send letters to others of their group. The time is from the moment a letter is acknowledged to
its arrival; CPU and memory are those of the collector's processes. With --tls each process speaks HTTPS by
itself. It ends with code 1 when the 99th percentile is a second or more, or a letter is lost.
"""

import argparse
import asyncio
import json
import os
import resource
import signal
import ssl
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from bench_flood import memory_mib
from bench_service import cpu_of
from deployed import write_certificate
from service_town import PLACES, TERMS, identity_of, seed
from shoal.local_pages.serving import open_server
from shoal_collect.crypto.sealing import Correspondence
from shoal_collect.roles.wire import answer_digest, authorization, body_digest, bundles, unpack
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import Database

KEY, GROUP, AT_ONCE = seed("server"), 4, 50_000


def prepare(url: str, devices: int) -> None:
    """A round whose groups are drawn."""
    with Database(url) as database, database.transaction():
        row = (bytes(32), TERMS.model_dump_json(), time.time() + 1e6)
        database.change(
            "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, ?)", row
        )
        for number in range(devices):
            ticket = (1, identity_of(seed("member", number)), bytes(64), channel(number), number % GROUP)
            database.change(
                "INSERT INTO ticket (round, identity, signed, dropped, session, place) "
                "VALUES (?, ?, ?, 0, ?, ?)",
                ticket,
            )


def channel(number: int) -> bytes:
    return seed("channel", number // GROUP)


def start(url: str, certificate: Path | None, key: Path | None) -> tuple[int, str]:
    """A process of the collector: its id and address. certificate and key: of HTTPS."""
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
        server, listening, address = open_server(app, "127.0.0.1", 0, certificate, key, at_once=AT_ONCE)
        os.write(writer, address.encode())
        server.run(sockets=[listening])
        os._exit(0)
    return child, os.read(reader, 200).decode()


class Device:
    """One connection, which asks again and again."""

    def __init__(self, number: int, address: str, tls: ssl.SSLContext | None) -> None:
        self.number, self.seed, self.parts = number, seed("member", number), urlsplit(address)
        self.tls = tls
        self.heard: dict[int, float] = {}  # when each letter came, by its place in the mailbox
        self.after = self.asked = 0

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(
            self.parts.hostname, self.parts.port, ssl=self.tls
        )

    async def send(self, method: str, target: str, body: bytes = b"") -> bytes:
        """One request; its reply."""
        signed = authorization(
            self.seed, identity_of(self.seed), identity_of(KEY), method, target, body, time.time()
        )
        head = f"{method} {target} HTTP/1.1\r\nHost: x\r\nAuthorization: {signed}\r\n"
        head += f"Shoal-Digest: {body_digest(body).hex()}\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        said = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = int(said.split(b"content-length: ")[1].split(b"\r\n")[0])
        content = await self.reader.readexactly(length)
        if not said.startswith(b"http/1.1 200"):
            raise RuntimeError(said + content)
        return content

    async def wait(self, wait_s: float) -> None:
        """Wait for letters until it is canceled."""
        known = answer_digest(b"")
        while True:
            self.asked += 1
            found = await self.send("GET", f"/v1/letters?after={self.after}&wait={wait_s:g}&seen={known}")
            for number, _ in unpack(found):
                self.after = number
                self.heard[len(self.heard)] = time.perf_counter()


async def sleeping(late_s: list[float]) -> None:
    """How much later than asked for a timer of this process rings: what the machine alone adds."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.05)
        late_s.append(time.perf_counter() - began - 0.05)


async def run(
    addresses: list[str], given: argparse.Namespace, children: list[int], tls: ssl.SSLContext | None
) -> dict[str, object]:
    devices = [Device(i, addresses[i % len(addresses)], tls) for i in range(given.devices)]
    began = time.perf_counter()
    waiting = []
    for device in devices:  # as people come: not all in one moment
        await device.connect()
        waiting.append(asyncio.create_task(device.wait(given.wait)))
        await asyncio.sleep(given.settle / len(devices))
    await asyncio.sleep(2)
    settled_s, cpu_before = time.perf_counter() - began, sum(map(cpu_of, children))
    before_quiet = time.perf_counter()
    await asyncio.sleep(5)
    quiet = (sum(map(cpu_of, children)) - cpu_before) / (time.perf_counter() - before_quiet)
    senders = [Device(GROUP * i, addresses[i % len(addresses)], tls) for i in range(8)]
    sent: list[tuple[int, int, float]] = []
    late_s = list[float]()
    timer = asyncio.create_task(sleeping(late_s))
    cpu_before, before = sum(map(cpu_of, children)), time.perf_counter()
    for number in range(given.letters):
        group = (number * 37) % (given.devices // GROUP)
        sender = senders[number % len(senders)]
        if number < len(senders):
            await sender.connect()
        sender.seed = seed("member", GROUP * group)
        identities = [identity_of(seed("member", GROUP * group + place)) for place in range(GROUP)]
        count = sum(one[0] == group for one in sent)
        place = 1 + count % (GROUP - 1)
        letter = Correspondence(channel(GROUP * group), identities, 0, sender.seed).seal(
            place, bytes(given.bytes)
        )
        await sender.send("POST", "/v1/letters", bundles([letter])[0])
        sent.append((group, place, time.perf_counter()))
        await asyncio.sleep(given.every)
    receivers = [(devices[GROUP * group + place], at) for group, place, at in sent]
    until = time.perf_counter() + 60
    while time.perf_counter() < until and not all(one.heard for one, _ in receivers):
        await asyncio.sleep(0.1)
    busy = (sum(map(cpu_of, children)) - cpu_before) / (time.perf_counter() - before)
    broken = [task.exception() for task in waiting if task.done()]
    for task in (timer, *waiting):
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    late = sorted(one.heard.get(0, 1e6) - at for one, at in receivers)
    for device in (*devices, *senders):
        device.writer.close()
    return {
        "devices": given.devices,
        "processes": len(children),
        "settled_s": round(settled_s, 1),
        "letters": len(sent),
        "lost": sum(not one.heard for one, _ in receivers),
        "broken": [f"{one!r}"[:200] for one in broken[:3]],
        "median_ms": round(1000 * statistics.median(late)),
        "p99_ms": round(1000 * late[min(len(late) - 1, int(0.99 * len(late)))]),
        "slowest_ms": round(1000 * late[-1]),
        "p99_ms_of_a_timer": round(1000 * sorted(late_s)[int(0.99 * len(late_s))]),
        "cores_while_nothing_comes": round(quiet, 2),
        "cores_while_letters_come": round(busy, 2),
        "requests_of_a_device": round(sum(one.asked for one in devices) / len(devices), 2),
        "memory_mib_of_each_process": [round(memory_mib(child)) for child in children],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--devices", type=int, default=5000)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--letters", type=int, default=300)
    options.add_argument("--bytes", type=int, default=2000, help="of each letter")
    options.add_argument("--every", type=float, default=0.03, help="seconds between letters")
    options.add_argument("--settle", type=float, default=20, help="seconds in which devices come")
    options.add_argument("--wait", type=float, default=30, help="seconds that a request is held")
    options.add_argument(
        "--database", help="an empty one instead of a SQLite file, for example postgresql://..."
    )
    options.add_argument("--tls", action="store_true", help="HTTPS, spoken by the collector's processes")
    given = options.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 3 * given.devices)), hard))
    with tempfile.TemporaryDirectory() as folder:
        url = given.database or f"sqlite:///{folder}/collect.sqlite"
        prepare(url, given.devices)
        certificate, key, tls = None, None, None
        if given.tls:
            write_certificate(Path(folder))
            certificate, key = Path(folder, "cert.pem"), Path(folder, "key.pem")
            tls = ssl.create_default_context(cafile=certificate)
        started = [start(url, certificate, key) for _ in range(given.processes)]
        children = [child for child, _ in started]
        try:
            found = asyncio.run(run([address for _, address in started], given, children, tls))
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
    print(json.dumps(found, indent=2))
    late = found["p99_ms"]
    sys.exit(bool(found["lost"]) or not isinstance(late, int) or late >= 1000)


if __name__ == "__main__":
    main()
