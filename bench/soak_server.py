"""Kill the collector during writes over HTTP, again and again.

No acknowledged letter or release may be lost, none half-written.
"""

import argparse
import http.client
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from service_town import PLACES, TERMS, identity_of, seed
from shoal.collect.crypto.chance import Chance
from shoal.collect.crypto.sealing import Correspondence
from shoal.collect.matching.cylinders import Cylinder
from shoal.collect.matching.records import Release, encode_release
from shoal.collect.roles.requests import authorization, body_digest
from shoal.collect.roles.wire import bundles
from shoal.collect.server.http_collector import collector_application
from shoal.collect.server.serving import bound
from shoal.collect.storage.database import Database
from shoal.collect.storage.phi import PhiStore

KEY, POINTS = seed("server"), 4


def member(group: int, place: int) -> bytes:
    return seed("member", group, place)


def channel(group: int) -> bytes:
    return seed("channel", group)


def prepare(url: str, groups: int) -> None:
    """A round whose groups of three are drawn, without a lottery."""
    with Database(url) as database, database.transaction():
        row = (bytes(32), TERMS.model_dump_json(), time.time() + 1e6)
        database.change(
            "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, ?)", row
        )
        for group in range(groups):
            for place in range(3):
                ticket = (1, identity_of(member(group, place)), bytes(64), channel(group), place)
                database.change(
                    "INSERT INTO ticket (round, identity, signed, dropped, session, place) VALUES (?, ?, ?, "
                    "0, ?, ?)",
                    ticket,
                )


def start(url: str) -> tuple[int, str]:
    """The collector in a process of its own (forked, so that a thousand starts are affordable).

    Its id and address.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        database = Database(url)
        app = collector_application(
            database, KEY, TERMS, PLACES, os.urandom, round_size=3, join_s=60, quota=5, quiet=True
        )
        server, listening, address = bound(app, "127.0.0.1", 0)
        os.write(writer, address.encode())
        os.close(writer)
        server.run(sockets=[listening])
        os._exit(0)
    os.close(writer)
    address = os.read(reader, 200).decode()
    os.close(reader)
    return child, address


def release_of(group: int) -> Release:
    points = tuple(Cylinder(60 * i, 10, group % 80 * 1_000_000, 0, 100) for i in range(POINTS))
    return Release(seed("release", group)[:16], seed("who", group)[:16], bytes(32), points)


def write(address: str, groups: range, done: list[tuple[str, int]]) -> None:
    """Letters and releases of these groups, until the server is gone; what it acknowledged is noted."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    chance = Chance(seed("writer", groups.start))

    def post(group: int, place: int, target: str, body: bytes) -> bytes:
        who = member(group, place)
        header = authorization(who, identity_of(who), identity_of(KEY), "POST", target, body, time.time())
        digest = body_digest(body).hex()
        connection.request("POST", target, body, {"Authorization": header, "Shoal-Digest": digest})
        response = connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise AssertionError(content)
        return content

    try:
        for group in groups:
            identities = [identity_of(member(group, place)) for place in range(3)]
            letter = Correspondence(channel(group), identities, 0, member(group, 0)).seal(
                1, b"a letter", chance
            )
            post(group, 0, "/v1/letters", bundles([letter])[0])
            done.append(("letter", group))
            body = b"".join(encode_release(release_of(group), 1, chance))
            for place in (0, 1):
                post(group, place, f"/v1/groups/{channel(group).hex()}/releases", body)
            done.append(("release", group))
    except (OSError, http.client.HTTPException):
        return


def campaign(url: str, kills: int, chance: random.Random) -> Counter[str]:
    """Counts of what was acknowledged, and of what is missing after all kills (nothing may be)."""
    per_kill, done = 40, list[tuple[str, int]]()
    prepare(url, kills * per_kill)
    for kill in range(kills):
        child, address = start(url)
        writer = Thread(target=write, args=(address, range(kill * per_kill, (kill + 1) * per_kill), done))
        enough, patience_s = len(done) + chance.randrange(8), 20.0  # none: the kill falls into the start
        writer.start()
        began = time.perf_counter()
        while len(done) < enough and time.perf_counter() - began < patience_s:
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        writer.join()
    counts = Counter(kind for kind, _ in done)
    with PhiStore(Database(url)) as store:
        database = store.database
        for kind, group in done:
            if kind == "letter":
                found = database.row("SELECT LENGTH(body) FROM letter WHERE session = ?", (channel(group),))
            else:
                found = database.row(
                    "SELECT LENGTH(points) FROM record WHERE name = ?", (release_of(group).name,)
                )
            counts[f"{kind}s lost"] += found is None
        places = database.rows("SELECT COUNT(*) FROM place")[0][0]
        counts["half-written"] = abs(places - POINTS * store.n_records)
        counts["stored"] = store.n_records
        if not database.postgres and database.row("SELECT rtreecheck('place')") != ("ok",):
            counts["half-written"] += 1
    return counts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument(
        "--database", help="instead of a SQLite file of its own: an empty one, for example postgresql://..."
    )
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began, url = time.perf_counter(), given.database or f"sqlite:///{folder}/collect.sqlite"
        counts = campaign(url, given.kills, random.Random(given.seed))
        took_s = time.perf_counter() - began
    print(f"{given.kills} kills in {took_s:.0f} s: {dict(counts)}")
    sys.exit(
        bool(
            counts["letters lost"]
            or counts["releases lost"]
            or counts["half-written"]
            or not counts["letter"]
        )
    )


if __name__ == "__main__":
    main()
