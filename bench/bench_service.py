"""The collector over HTTP on loopback.

Phi queries a second, and what a whole round of one group costs the server and its members.
"""

import argparse
import http.client
import json
import os
import resource
import signal
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from fastapi import FastAPI

from bench_phi import CONTRIBUTORS, city, fill, started_postgres
from collect_costs import paper_messages
from service_town import PLACES, device_for, identity_of, own_round_for, seed, vouched
from shoal.local_pages.serving import open_server
from shoal_collect.crypto.chance import Chance
from shoal_collect.device.http_client import RemoteServer, run_round
from shoal_collect.matching.records import Query, encode_query
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import Call, Reply, answer_digest, authorization, body_digest
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import AUTHORITY, Database
from shoal_collect.storage.phi import PhiStore

KEY = seed("server")


def start(url: str, terms: Terms, members: int) -> tuple[list[int], str, str]:
    """Collector and authority, each in a process of its own: their ids and addresses."""

    def collector() -> FastAPI:
        database = Database(url)
        return collector_application(
            database,
            KEY,
            terms,
            CollectorSettings(PLACES, round_size=members, join_s=600),
            os.urandom,
            quiet=True,
        )

    def authority() -> FastAPI:
        return authority_application(book(), quiet=True)

    addresses = []
    for make in (collector, authority):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            server, listening, address = open_server(make(), "127.0.0.1", 0)
            os.write(writer, address.encode())
            server.run(sockets=[listening])
            os._exit(0)
        addresses.append((child, os.read(reader, 200).decode()))
    return [child for child, _ in addresses], addresses[0][1], addresses[1][1]


def book() -> ClaimBook:
    return ClaimBook(Database(None, AUTHORITY), seed("authority"), frozenset({identity_of(KEY)}))


def stop(children: list[int]) -> None:
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def nothing(*_: object) -> None:
    """Keep nothing, say nothing."""


def cpu_of(process: int) -> float:
    """CPU seconds of another process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(address: str, batches: list[tuple[str, bytes]], member: int, took_s: list[float]) -> None:
    """One member's questions, one batch after the other; how long each takes, in seconds, is added."""
    connection, who = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60), seed("sign", member)
    for target, body in batches:
        header = authorization(who, identity_of(who), identity_of(KEY), "POST", target, body, time.time())
        digest, began = body_digest(body).hex(), time.perf_counter()
        connection.request("POST", target, body, {"Authorization": header, "Shoal-Digest": digest})
        response = connection.getresponse()
        if response.status != 200 or not response.read():
            raise AssertionError(response.status)
        took_s.append(time.perf_counter() - began)


def queries(url: str, pairs: int, batches: int, batch: int) -> dict[str, object]:
    """Sustained phi queries, signed answers included, from two connections at once."""
    releases = city(Chance(bytes(32)), pairs, CONTRIBUTORS, 5.0 * pairs / 242_582)
    terms = Terms(group_size=3, n_real=batch - 1, n_fake=1, least_radius_m=1, least_gap_min=1)
    with PhiStore(Database(url)) as store:
        fill(store, releases)
        db = store.database
        for number in range(batches):  # a session is answered once for each member
            row = (seed("round", number), terms.model_dump_json(), time.time() + 1e6)
            db.change(
                "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, ?)",
                row,
            )
            ticket = (
                number + 1,
                identity_of(seed("sign", number % 2)),
                bytes(64),
                seed("session", number),
                0,
            )
            db.change(
                "INSERT INTO ticket (round, identity, signed, dropped, session, place) "
                "VALUES (?, ?, ?, 0, ?, ?)",
                ticket,
            )
    children, address, _ = start(url, terms, 3)
    chance = Chance(seed("questions"))
    bodies = [
        b"".join(
            encode_query(Query(chance.take(16), releases[chance.below(len(releases))].points))
            for _ in range(batch)
        )
        for _ in range(batches)
    ]
    asked = [
        (
            f"/v1/groups/{seed('session', i).hex()}/questions",
            vouched(seed("session", i), {0: seed("sign", i % 2)}, (body,)),
        )
        for i, body in enumerate(bodies)
    ]
    each_s = list[float]()
    threads = [threading.Thread(target=ask, args=(address, asked[i::2], i, each_s)) for i in range(2)]
    before, began = cpu_of(children[0]), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s, cpu_s, n = time.perf_counter() - began, cpu_of(children[0]) - before, batches * batch
    stop(children)
    return {
        "pairs": pairs,
        "queries": n,
        "queries_in_a_request": batch,
        "first_batch_ms": round(1000 * max(each_s[:2])),  # which closes the day on which all was stored
        "batch_median_ms": round(1000 * statistics.median(each_s[2:])),
        "batch_p99_ms": round(1000 * statistics.quantiles(each_s[2:], n=100)[98]),
        "server_cpu_ms_a_batch": round(1000 * cpu_s / batches, 1),
        "queries_a_second": round(n / took_s),
        "queries_a_server_cpu_second": round(n / cpu_s),
    }


class CountedServer(RemoteServer):
    """Notes each request."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.calls: list[Call] = []

    def send(self, call: Call, *more: Any) -> Reply:
        self.calls.append(call)
        return super().send(call, *more)


def groups(url: str, n_groups: int, terms: Terms) -> dict[str, object]:
    """Whole rounds of several groups at once: CPU of server and members, requests and bytes of each."""
    members = n_groups * terms.group_size
    children, collector, authority = start(url, terms, members)
    own_rounds = [own_round_for(device_for(i, KEY, book()), 0, terms=terms) for i in range(members)]
    threads, asked = [], list[CountedServer]()
    before, began, before_own = cpu_of(children[0]), time.perf_counter(), time.process_time()
    for own_round in own_rounds:
        servers = {"collector": CountedServer(collector), "authority": CountedServer(authority)}
        asked += servers.values()
        options = {"poll_s": 0.5, "patience_s": 600.0}
        threads.append(
            threading.Thread(target=run_round, args=(own_round, servers, nothing, nothing), kwargs=options)
        )
        threads[-1].start()
    for thread in threads:
        thread.join()
    took_s, server_s, own_s = (
        time.perf_counter() - began,
        cpu_of(children[0]) - before,
        time.process_time() - before_own,
    )
    stop(children)
    n, calls = terms.group_size, [call for server in asked for call in server.calls]
    return {
        "groups": n_groups,
        "members_of_each": n,
        "records_of_each_member": terms.n_real + terms.n_fake,
        "proven": terms.proven_shuffle,
        "endings": sorted(
            {own_round.ending.kind for own_round in own_rounds if own_round.ending is not None}
        ),
        "wall_s": round(took_s, 1),
        "server_cpu_s_a_group": round(server_s / n_groups, 2),
        "cpu_s_a_member": round(own_s / members, 2),
        "requests_without_polls_a_member": round(sum(not call.poll for call in calls) / members, 1),
        "requests_a_member": round(len(calls) / members, 1),
        "messages_of_the_paper": [paper_messages(n, place) for place in range(n)],
        "bytes_out_a_member": round(sum(len(call.body) for call in calls) / members),
    }


def letters(url: str, n: int) -> dict[str, object]:
    """What a look for letters costs the server, and what it spends while one device waits for news."""
    children, address, _ = start(url, Terms(), 3)

    def look(target: str, times: int) -> None:
        connection, who = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60), seed("sign", 0)
        for _ in range(times):
            header = authorization(who, identity_of(who), identity_of(KEY), "GET", target, b"", time.time())
            connection.request("GET", target, headers={"Authorization": header})
            response = connection.getresponse()
            if response.status != 200 or response.read():
                raise AssertionError(response.status)

    found: dict[str, object] = {"looks": n}
    look("/v1/letters?after=0", 50)
    for connections in (1, 4):
        before, each = cpu_of(children[0]), n // connections
        threads = [
            threading.Thread(target=look, args=("/v1/letters?after=0", each)) for _ in range(connections)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent_s = cpu_of(children[0]) - before
        found[f"cpu_ms_a_look_{connections}_connections"] = round(1000 * spent_s / (each * connections), 2)
    before = cpu_of(children[0])
    look(f"/v1/letters?after=0&wait=20&seen={answer_digest(b'')}", 1)
    found["cpu_percent_while_one_waits"] = round(100 * (cpu_of(children[0]) - before) / 20, 2)
    stop(children)
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=242_582)
    options.add_argument("--batches", type=int, default=100)
    options.add_argument("--batch", type=int, default=50)
    options.add_argument("--groups", type=int, default=2)
    options.add_argument("--letters", type=int, default=0, help="looks for letters, one after the other")
    options.add_argument("--real", type=int, default=40)
    options.add_argument("--fake", type=int, default=10)
    options.add_argument("--no-proven-shuffle", dest="proven", action="store_false")
    options.add_argument("--postgres", action="store_true")
    given = options.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        terms = Terms(n_real=given.real, n_fake=given.fake, proven_shuffle=given.proven, phase_limit_s=3600)
        if given.letters:
            print(
                json.dumps(
                    {"letters": letters(f"sqlite:///{folder}/letters.sqlite", given.letters)}, indent=2
                )
            )
        wanted = {"queries": given.batches, "groups": given.groups}
        for name in (name for name, n in wanted.items() if n):  # none of one with 0
            url = (
                stack.enter_context(started_postgres(None))
                if given.postgres
                else f"sqlite:///{folder}/{name}.sqlite"
            )
            asked = name == "queries"
            found = (
                queries(url, given.pairs, given.batches, given.batch)
                if asked
                else groups(url, given.groups, terms)
            )
            print(json.dumps({name: found}, indent=2), flush=True)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu_s_of_this_command": round(used.ru_utime + used.ru_stime, 1)}))


if __name__ == "__main__":
    main()
