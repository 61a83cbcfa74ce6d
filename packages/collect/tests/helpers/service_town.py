"""A collector, an authority and devices in one process, on a clock that the test moves.

Every device goes through its bytes on disk.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any

from fastapi import FastAPI
from nacl.bindings import crypto_sign_seed_keypair

from shoal.local_pages.serving import open_server
from shoal_collect.crypto.chance import Chance
from shoal_collect.device.disk import DeviceState, read_state, state_text
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Blur, Cylinder, Point
from shoal_collect.matching.records import Release
from shoal_collect.matching.similarity import Scoping
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles.admission import Entry
from shoal_collect.roles.participant import Participant, blur
from shoal_collect.roles.participant_round import Device, Ending, ParticipantRound
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import (
    DAY_S,
    Batch,
    Call,
    Reply,
    body_digest,
    snapshot_day,
    vouch,
    write_json,
)
from shoal_collect.server.http_authority import ClaimBook
from shoal_collect.server.http_witness import DayFollower, Witness
from shoal_collect.server.mailbox import Mailbox
from shoal_collect.server.rounds import Rounds
from shoal_collect.storage.database import AUTHORITY, Database, may_delete
from shoal_collect.storage.days import ClosedDays
from shoal_collect.storage.phi import PhiStore
from shoal_collect.storage.questions import batches_asked

START_S = 1_800_000_000.0
TODAY = int(START_S // DAY_S)
WAY = [Point(39.9 + 0.01 * i, 116.3 + 0.01 * i, 29_000_000.0 + 60 * i) for i in range(3)]
PLACES = PublicPlaces(
    lat_deg=(39.9, 39.95), lon_deg=(116.3, 116.4), weights=(2, 1), first_min=29_000_000, last_min=29_001_440
)
TERMS = Terms(group_size=3, n_real=2, n_fake=1, longest=2, n_pieces=1, phase_limit_s=100)
SCOPING = Scoping(TERMS.area_km, TERMS.period_days)


def seed(*parts: object) -> bytes:
    """Reproducible bytes."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=32).digest()


def identity_of(signing_seed: bytes) -> bytes:
    return bytes(crypto_sign_seed_keypair(signing_seed)[0])


def device_for(number: int, server_seed: bytes, book: ClaimBook) -> Device:
    facts = book.facts
    keys = bytes.fromhex(facts["authority_key"]), bytes.fromhex(facts["signing_key"])
    return Device(
        f"user {number}", seed("sign", number), seed("device", number), identity_of(server_seed), *keys
    )


def own_round_for(
    device: Device,
    k: int,
    points: list[Point] = WAY,
    name: object = 0,
    terms: Terms = TERMS,
    entry: Entry | None = None,
    credentials: Mapping[str, Entry] | None = None,
) -> ParticipantRound:
    member = Participant(
        device_key=device.device_key,
        points=points,
        blur=Blur(radius_m=500, gap_min=30),
        k=k,
        sent=device.sent,
    )
    return ParticipantRound(
        device,
        member,
        blur(member, 0),
        terms,
        PLACES,
        Chance(seed("journey", device.user, name)),
        entry,
        credentials,
    )


def through_disk(own_round: ParticipantRound) -> ParticipantRound:
    """What a device that was killed now would go on with."""
    kept = read_state(state_text(DeviceState(own_round.device, own_round)), "the state")
    assert kept.own_round is not None
    assert kept.own_round.device is kept.device
    return kept.own_round


def asked_by_a_witness(database: Database, terms: Terms, today: Callable[[], int]) -> Callable[[str], Any]:
    """What the collector over a database says to its witness, through JSON."""
    days = ClosedDays(database)

    def ask(target: str) -> Any:
        path, _, after = target.partition("?after=")
        parts = path.strip("/").split("/")[1:]
        if parts == ["days"]:
            days.state_before(today())
            said: Any = days.after(int(after))
        elif parts[0] == "days":
            said = days.batch(int(parts[1]))
        else:
            session = bytes.fromhex(parts[1])
            rows = database.rows("SELECT identity FROM ticket WHERE session = ? ORDER BY place", (session,))
            said = {
                "members": [bytes(row[0]).hex() for row in rows],
                "terms": terms.model_dump(),
                "asked": batches_asked(database, session),
            }
        return json.loads(write_json(said))

    return ask


class Town:
    """restart: whether the collector forgets everything but its database before each request."""

    def __init__(
        self,
        database: Database,
        n: int,
        *,
        terms: Terms = TERMS,
        restart: bool = False,
        k: int = 0,
        entry_of: Callable[[Device], Entry | None] = lambda _: None,
        credentials_of: Callable[[Device], Mapping[str, Entry]] = lambda _: {},
    ) -> None:
        self.database, self.n, self.terms, self.restart = database, n, terms, restart
        self.server_seed, self.now_s = seed("server"), START_S
        self.book = ClaimBook(
            Database(None, AUTHORITY), seed("authority"), frozenset({identity_of(self.server_seed)})
        )
        devices = [device_for(i, self.server_seed, self.book) for i in range(n)]
        self.own_rounds = {
            i: own_round_for(one, k, terms=terms, entry=entry_of(one), credentials=credentials_of(one))
            for i, one in enumerate(devices)
        }
        ask = asked_by_a_witness(database, terms, lambda: snapshot_day(self.now_s))
        copies = [Database() for _ in terms.witnesses]
        self.witnesses = [
            Witness(own, seed("witness", i), DayFollower(own, ask)) for i, own in enumerate(copies)
        ]
        self.gone: set[int] = set()
        self.calls: list[tuple[int, Call, Reply]] = []
        self.tamper: Callable[[int, Call], Call | None] = lambda _, call: call
        self._names = Chance(seed("names"))
        self._open()

    def wait(self, seconds: float) -> None:
        """Let time pass while the collector looks at its clock now and then."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s = min(until_s, self.now_s + 6 * 3600)
            with self.database.transaction():
                may_delete(self.database, self.now_s)

    def _open(self) -> None:
        self.rounds = Rounds(
            self.database,
            self.terms,
            self._names.take,
            round_size=self.n,
            join_s=300,
            collector_key=identity_of(self.server_seed),
        )
        self.mailbox = Mailbox(self.database, self.server_seed)

    @property
    def n_records(self) -> int:
        """How many releases are stored."""
        return PhiStore(self.database).n_records

    def answer(self, identity: bytes, call: Call) -> Reply:
        """What the collector or the authority says."""
        if self.restart:
            self._open()
        try:
            body = self._answer(identity, call)
        except PeerError as error:
            said = {"error": error.wire_name, "message": str(error)}
            return Reply(error.status, json.dumps(said).encode())
        return Reply(200, body if isinstance(body, bytes) else write_json(body))

    def _answer(self, identity: bytes, call: Call) -> Any:
        parts = call.target.split("?")[0].strip("/").split("/")[1:]
        if call.to.startswith("witness"):
            return self.witnesses[int(call.to.split()[1]) - 1].ask(
                identity, bytes.fromhex(parts[1]), call.body, int(call.target.split("=")[1])
            )
        if parts == ["claims"]:
            return self.book.take(call.body)
        if parts == ["rounds"]:
            return self.rounds.open_round(self.now_s)
        if parts == ["letters"]:
            if call.method == "POST":
                return {"new": self.mailbox.send(identity, call.body, self.now_s)}
            return self.mailbox.fetch(identity, int(call.target.split("=")[1]))
        name = bytes.fromhex(parts[1])
        if len(parts) == 2:
            return self.rounds.view(name, identity, self.now_s)
        if parts[0] == "rounds":
            take = {"roster": self.rounds.join, "commits": self.rounds.commit, "reveals": self.rounds.reveal}[
                parts[2]
            ]
            return take(name, identity, call.body, self.now_s)
        return (self.mailbox.ask if parts[2] == "questions" else self.mailbox.deliver)(
            identity, name, call.body, self.now_s
        )

    def step(self, number: int) -> bool:
        """One request of one device; whether anything changed."""
        own_round = self.own_rounds[number]
        call = self.tamper(number, own_round.next_call())
        if call is None:
            return False
        reply = self.answer(identity_of(own_round.entry.signing_seed), call)
        self.calls.append((number, call, reply))
        return own_round.replied(call, reply, self.now_s)

    def run_losing_every_first_reply(self) -> dict[int, Ending]:
        """The first try of every step is forgotten.

        The device is killed after it, goes on from what it kept before, and asks again.
        """
        kept = {i: through_disk(own_round) for i, own_round in self.own_rounds.items()}
        lost = dict.fromkeys(kept, False)

        def lose(number: int) -> None:
            lost[number] = not lost[number]
            if lost[number]:
                self.own_rounds[number] = through_disk(kept[number])
            else:
                kept[number] = through_disk(self.own_rounds[number])

        return self.run(after_step=lose)

    def run(
        self, *, after_step: Callable[[int], None] = lambda _: None, most_s: float = 5_000
    ) -> dict[int, Ending]:
        """Until everybody who is not gone has ended; time passes only when nothing else happens."""
        until_s = self.now_s + most_s
        while self.now_s < until_s:
            active = [i for i in self.own_rounds if i not in self.gone and self.own_rounds[i].ending is None]
            if not active:
                break
            changed = False
            for number in active:
                changed |= self.step(number)
                after_step(number)
            if not changed:
                self.now_s += 10
        return {
            i: own_round.ending for i, own_round in self.own_rounds.items() if own_round.ending is not None
        }


def kinds(endings: dict[int, Ending]) -> set[str]:
    """How the devices' rounds ended."""
    return {one.kind for one in endings.values()}


def vouched(session: bytes, seeds: Mapping[int, bytes], slices: Sequence[bytes], at: int = 0) -> bytes:
    """One batch of a set for which these members vouch: everybody's questions, and whose they are."""
    digests = tuple(map(body_digest, slices))
    signed = {place: vouch(one, session, digests) for place, one in seeds.items()}
    return Batch(slices[at], digests, signed).encode()


def volunteers(store: PhiStore, n: int, day: int, points: list[Point] = WAY) -> None:
    """What ``n`` other people released on a day."""
    for number in range(n):
        tag = seed("volunteer", number)[:16]
        way: tuple[Cylinder, ...] = tuple(
            Cylinder(round(p.t_min), 10, round(p.lat_deg * 1e6), round(p.lon_deg * 1e6), 200) for p in points
        )
        scope = SCOPING.scope_of(way[0])
        store.add(Release(seed("release", number, day)[:16], tag, bytes(32), way), day, scope)


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """A real web server in a thread; its address."""
    server, listening, url = open_server(app, "127.0.0.1", 0)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield url
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
