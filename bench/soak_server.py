"""Kill one of a collector's processes during writes over HTTP, again and again.

Letters, releases and entries with a registrar's tokens go to its processes in turn. Nothing that was
acknowledged may be lost or half-written, and no token may open two rounds.
"""

import argparse
import http.client
import itertools
import json
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

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from service_town import PLACES, TERMS, identity_of, seed
from shoal.local_pages.serving import open_server
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.sealing import Correspondence
from shoal_collect.crypto.signatures import signature
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Release, encode_release
from shoal_collect.roles.admission import Entry, TokenRequest
from shoal_collect.roles.terms import RegistrarTerms, Terms, read_terms
from shoal_collect.roles.wire import authorization, body_digest, bundles
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.server.registrar import CODE_BYTES, RegisterBook, Registrar, code_digest, write_code
from shoal_collect.storage.database import AUTHORITY, Database
from shoal_collect.storage.phi import PhiStore

KEY, POINTS = seed("server"), 4
Done = tuple[str, int, str]
_TWICE = ("tokens spent twice", "tokens in two rounds")


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


def start(url: str, terms: Terms) -> tuple[int, str]:
    """A process of the collector in a process of its own (forked, so that a thousand starts are affordable).

    Its id and address.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        database = Database(url)
        app = collector_application(
            database,
            KEY,
            terms,
            CollectorSettings(PLACES, round_size=3, join_s=60),
            os.urandom,
            quiet=True,
        )
        server, listening, address = open_server(app, "127.0.0.1", 0)
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


class Office:
    """A registrar that admits everybody."""

    def __init__(self) -> None:
        self._book = RegisterBook(Database(None, AUTHORITY))
        self._registrar = Registrar(self._book, seed("registrar"), frozenset({identity_of(KEY)}), 1)
        key = self._registrar.public_key.hex()
        self.terms = TERMS.model_copy(update={"registrar": RegistrarTerms(url="http://127.0.0.1:1", key=key)})

    def entry(self, number: int, terms: Terms) -> Entry:
        """What somebody enters a round with."""
        if terms.registrar is None:
            raise AssertionError("the collector asks for tokens")
        request = TokenRequest(seed("device", number), identity_of(KEY), terms.registrar)
        account = identity_of(request.account_seed)
        code = write_code(os.urandom(CODE_BYTES))
        self._book.invite([code_digest(code)])
        self._registrar.admit(account, code)
        said = self._registrar.key_of(request.purpose, account, time.time())
        blinded = request.ask_for_token(said).body
        return request.entry(said, self._registrar.sign(request.purpose, account, blinded, time.time()))


class Writer:
    """Writes to the processes of a collector in turn; what was acknowledged is noted.

    Parameters
    ----------
    addresses
        Those of the processes.
    office
        Where tokens come from.
    done
        What was acknowledged: its kind, its number, and the name of the round that somebody entered.
    """

    def __init__(self, addresses: list[str], office: Office, done: list[Done]) -> None:
        self._lines = itertools.cycle(
            [http.client.HTTPConnection(urlsplit(one).netloc, timeout=10) for one in addresses]
        )
        self._office, self._done = office, done
        self.spent_twice = 0

    def _send(self, who: bytes, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
        header = authorization(who, identity_of(who), identity_of(KEY), method, target, body, time.time())
        digest = body_digest(body).hex()
        connection = next(self._lines)
        connection.request(method, target, body, {"Authorization": header, "Shoal-Digest": digest})
        response = connection.getresponse()
        return response.status, response.read()

    def _post(self, who: bytes, target: str, body: bytes) -> None:
        status, content = self._send(who, "POST", target, body)
        if status != 200:
            raise AssertionError(content)

    def write(self, groups: range) -> None:
        """Letters, releases and entries of these groups, until a process is gone."""
        chance = Chance(seed("writer", groups.start))
        before: tuple[int, str] | None = None
        try:
            for group in groups:
                identities = [identity_of(member(group, place)) for place in range(3)]
                letter = Correspondence(channel(group), identities, 0, member(group, 0)).seal(1, b"a letter")
                self._post(member(group, 0), "/v1/letters", bundles([letter])[0])
                self._done.append(("letter", group, ""))
                body = b"".join(encode_release(release_of(group), 1, chance))
                for place in (0, 1):
                    self._post(member(group, place), f"/v1/groups/{channel(group).hex()}/releases", body)
                self._done.append(("release", group, ""))
                name = self._enter(group)
                if name:
                    self._done.append(("entry", group, name))
                    if before is not None and before[1] != name:  # the token of a round that is full
                        self.spent_twice += bool(self._enter(before[0]))
                    before = group, name
        except (OSError, http.client.HTTPException):
            return

    def _enter(self, number: int) -> str:
        """The name of the round that takes members now, once somebody is in it; nothing when refused."""
        view = json.loads(self._send(member(0, 0), "GET", "/v1/rounds")[1])
        terms, name = read_terms(view["terms"]), str(view["round"])
        entry = self._office.entry(number, terms)
        signed = signature(entry.signing_seed, b"join", terms.join_text(bytes.fromhex(name)))
        body = signed + entry.token + entry.statement
        status, _ = self._send(entry.signing_seed, "POST", f"/v1/rounds/{name}/roster", body)
        return name if status == 200 else ""


def campaign(url: str, kills: int, processes: int, chance: random.Random) -> Counter[str]:
    """Counts of what was acknowledged, and of what is missing after all kills (nothing may be)."""
    per_kill, done, office = 40, list[Done](), Office()
    counts = Counter[str]()
    prepare(url, kills * per_kill)
    for kill in range(kills):
        children, addresses = zip(*(start(url, office.terms) for _ in range(processes)), strict=True)
        writing = Writer(list(addresses), office, done)
        writer = Thread(target=writing.write, args=(range(kill * per_kill, (kill + 1) * per_kill),))
        enough, patience_s = len(done) + chance.randrange(12), 20.0  # none: the kill falls into the start
        writer.start()
        began = time.perf_counter()
        while len(done) < enough and time.perf_counter() - began < patience_s:
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.02))
        for child in chance.sample(children, len(children)):  # one first, and the others a little later
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            time.sleep(chance.uniform(0.0, 0.02))
        writer.join()
        counts["tokens spent twice"] += writing.spent_twice
    counts.update(kind for kind, _, _ in done)
    with PhiStore(Database(url)) as store:
        database = store.database
        for kind, group, name in done:
            counts[f"{kind} lost"] += not is_there(database, office, kind, group, name)
        places = database.rows("SELECT COUNT(*) FROM place")[0][0]
        counts["half-written"] = abs(places - POINTS * store.n_records)
        counts["stored"] = store.n_records
        several = "SELECT COUNT(*) FROM ticket WHERE LENGTH(token) > 0 GROUP BY identity HAVING COUNT(*) > 1"
        counts["tokens in two rounds"] = len(database.rows(several))
        if not database.postgres and database.row("SELECT rtreecheck('place')") != ("ok",):
            counts["half-written"] += 1
    return counts


def is_there(database: Database, office: Office, kind: str, group: int, name: str) -> bool:
    """Whether what was acknowledged stands in the database."""
    if kind == "letter":
        return database.row("SELECT 1 FROM letter WHERE session = ?", (channel(group),)) is not None
    if kind == "release":
        return database.row("SELECT 1 FROM record WHERE name = ?", (release_of(group).name,)) is not None
    number, terms = database.rows("SELECT id, terms FROM round WHERE name = ?", (bytes.fromhex(name),))[0]
    who = identity_of(office.entry(group, Terms.model_validate_json(terms)).signing_seed)
    return database.row("SELECT 1 FROM ticket WHERE round = ? AND identity = ?", (number, who)) is not None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=1_000)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument(
        "--database", help="instead of a SQLite file of its own: an empty one, for example postgresql://..."
    )
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began, url = time.perf_counter(), given.database or f"sqlite:///{folder}/collect.sqlite"
        counts = campaign(url, given.kills, given.processes, random.Random(given.seed))
        took_s = time.perf_counter() - began
    print(f"{given.kills} kills in {took_s:.0f} s: {dict(counts)}")
    wrong = ("letter lost", "release lost", "entry lost", "half-written", *_TWICE)
    sys.exit(any(counts[name] for name in wrong) or not (counts["letter"] and counts["entry"]))


if __name__ == "__main__":
    main()
