"""The whole protocol inside one process (Romero-Tris and Megías 2018, Sec. 3.3)."""

import hashlib
import heapq
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.group import FFDHE3072
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import RECORD_BYTES, encode_release
from shoal_collect.matching.subtrajectories import Places, PublicPlaces, trim
from shoal_collect.mix.member import PHASE_LIMIT_S, AbortedRun, Broadcast, Member, OpenedRecords, Output
from shoal_collect.mix.messages import Session
from shoal_collect.roles.authority import Authority, Receipt, claim
from shoal_collect.roles.lottery import Lottery, commitment, divide
from shoal_collect.roles.participant import Participant, blur, choose_questions, count_others, draft_release
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import Answer, read_answer
from shoal_collect.server import mailbox as service

SERVER: Final = b"server"


@dataclass(kw_only=True)
class Person(Participant):
    """With her name at the authority and her key in the round."""

    user: str
    signing_seed: bytes


class ClaimsInMemory(Authority):
    """An authority with its register."""

    def __init__(self, secret: bytes, collector_keys: frozenset[bytes]) -> None:
        super().__init__(secret, collector_keys)
        self.owners: dict[str, str] = {}

    def take(self, sealed: bytes) -> None:
        identifier, user = self.read(sealed)
        if self.owners.setdefault(identifier, user) != user:
            raise PeerError("not-entitled", "an identifier that somebody else has claimed")

    def identifiers_of(self, user: str) -> tuple[str, ...]:
        return tuple(sorted(identifier for identifier, owner in self.owners.items() if owner == user))


@dataclass
class Collector(service.Collector):
    """A collector that is asked directly."""

    def answer(self, _submitter: bytes, record: bytes, today: int) -> bytes:
        """Answer one question."""
        return self.sign_answer(record, self.people(record, today), today)


def require_agreement(answers: Sequence[Answer]) -> Answer:
    """The one answer of all collectors; PeerError when they differ."""
    if not answers or len(set(answers)) != 1:
        raise PeerError("bad-answer", "collectors that do not agree; send nothing to any of them")
    return answers[0]


class Network:
    """A perfect network between identity keys; the server has none.

    Subclasses lose, copy, delay or damage messages. Time is counted; nothing waits. ``limit_s``: for a
    message. ``group``: of the mixes.
    """

    group = FFDHE3072

    def __init__(self, limit_s: float = PHASE_LIMIT_S) -> None:
        self.now_s, self.limit_s = 0.0, limit_s

    def copies(self, sender: bytes, receiver: bytes, text: bytes) -> Sequence[tuple[float, bytes]]:
        """Delay in seconds and bytes of each arriving copy."""
        del sender, receiver
        return [(0.0, text)]

    def alive(self, party: bytes) -> bool:
        """Whether a party still takes part."""
        del party
        return True

    def arrivals(self, sender: bytes, receiver: bytes, text: bytes) -> int:
        """Copies that arrive in time and undamaged."""
        if not (self.alive(sender) and self.alive(receiver)):
            return 0
        return sum(
            delay_s <= self.limit_s and arrived == text
            for delay_s, arrived in self.copies(sender, receiver, text)
        )

    def run(self, machines: Sequence[Member]) -> list[OpenedRecords | AbortedRun | None]:
        """Carry one mix run's messages; each member's outcome, None for a vanished one."""
        run = _Run(self, machines)
        run.start()
        while waiting := run.waiting():
            run.step(waiting)
        return run.outcomes


class _Run:
    def __init__(self, network: Network, machines: Sequence[Member]) -> None:
        self.outcomes: list[OpenedRecords | AbortedRun | None] = [None] * len(machines)
        self._network, self._machines, self._identities = network, machines, machines[0].session.identities
        self._on_the_way: list[tuple[float, int, int, bytes]] = []
        self._numbers = itertools.count()

    def start(self) -> None:
        for place, machine in enumerate(self._machines):
            if self._network.alive(self._identities[place]):
                self._process(place, machine.start(self._network.now_s))

    def waiting(self) -> list[int]:
        """Present, without an outcome."""
        return [
            i
            for i, outcome in enumerate(self.outcomes)
            if outcome is None and self._network.alive(self._identities[i])
        ]

    def step(self, waiting: Sequence[int]) -> None:
        """A message arrives, or a time limit passes."""
        limit_s = min(self._machines[place]._deadline_s for place in waiting)
        if self._on_the_way and self._on_the_way[0][0] <= limit_s:
            arrives_s, _, place, frame = heapq.heappop(self._on_the_way)
            self._network.now_s = max(self._network.now_s, arrives_s)
            if self._network.alive(self._identities[place]):
                self._process(place, self._machines[place].receive(frame, self._network.now_s))
            return
        self._network.now_s = math.nextafter(max(self._network.now_s, limit_s), math.inf)
        for place in waiting:
            if self._network.alive(self._identities[place]):
                self._process(place, self._machines[place].tick(self._network.now_s))

    def _process(self, place: int, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if isinstance(output, Broadcast):
                self._send(place, output.frame)
            elif isinstance(output, OpenedRecords | AbortedRun):
                self.outcomes[place] = output

    def _send(self, place: int, frame: bytes) -> None:
        now_s, sender = self._network.now_s, self._identities[place]
        for other, identity in enumerate(self._identities):
            if other != place:
                for delay_s, arrived in self._network.copies(sender, identity, frame):
                    heapq.heappush(self._on_the_way, (now_s + delay_s, next(self._numbers), other, arrived))


@dataclass(frozen=True)
class ParticipantOutcome:
    """One participant's outcome.

    ``phi``: others for each sub-trajectory, by places. ``places_kept``, ``released``: places, and
    cylinders. ``identifier``: of the release. ``unanswered``: questions without an answer; they count as 0.
    """

    phi: Mapping[Places, int]
    places_kept: Places
    released: tuple[Cylinder, ...]
    identifier: str | None
    unanswered: int = 0


@dataclass(frozen=True)
class Outcome:
    """A round's outcome.

    ``shared``: of each user whose group finished. ``failed``: findings where a run was stopped.
    ``waiting``: users without a group. ``restarts``: of the lottery.
    """

    shared: Mapping[str, ParticipantOutcome]
    failed: tuple[AbortedRun, ...]
    waiting: tuple[str, ...]
    restarts: int = 0


def run_collection(
    participants: Sequence[Person],
    collectors: Sequence[Collector],
    authority: ClaimsInMemory,
    prior: PublicPlaces,
    chance: Chance,
    *,
    day: int,
    rules: Terms | None = None,
    network: Network | None = None,
) -> Outcome:
    """One round: group, blur, extract, mix, ask, trim, mix again, release, claim.

    ``day``: since 1970. PeerError if a collector is caught lying, MisuseError if the rules cannot serve.
    """
    rules, network = rules or Terms(resolution_m=0, resolution_min=0), network or Network()
    by_identity = {verify_key(one.signing_seed): one for one in participants}
    groups, waiting, restarts = form_groups(list(by_identity), rules.group_size, chance, network)
    shared: dict[str, ParticipantOutcome] = {}
    failed: list[AbortedRun] = []
    for number, identities in enumerate(groups):
        members = [by_identity[identity] for identity in identities]
        name = b"%d group %d" % (day, number)
        blurred = [blur(member, day // rules.period_days) for member in members]
        rules.require_room(max(map(len, blurred)))
        questions = [
            choose_questions(member, points, prior, rules, chance)
            for member, points in zip(members, blurred, strict=True)
        ]
        records, stopped = mix(
            members,
            [list(asked.records) for asked in questions],
            name + b" questions",
            rules,
            chance,
            network,
        )
        if stopped or records is None:
            failed += stopped
            continue
        answers = submit(records, members, collectors, day, network)
        counts = [
            count_others(m, asked, heard, rules.thresholds)
            for m, asked, heard in zip(members, questions, answers, strict=True)
        ]
        places_left = [
            trim(len(points), phi, m.k, m.trimming)
            for m, points, phi in zip(members, blurred, counts, strict=True)
        ]
        drafts = [
            draft_release(m, points, places, chance, rules.scoping)
            for m, points, places in zip(members, blurred, places_left, strict=True)
        ]
        pieces = [
            encode_release(None if one is None else one.release, rules.n_pieces, chance) for one in drafts
        ]
        for member, one in zip(members, drafts, strict=True):
            # it may be stored from now on without a reply: her own count must not exceed the truth
            if one is not None:
                member.sent.append((one.release.points, day))
        records, stopped = mix(members, pieces, name + b" releases", rules, chance, network)
        failed += stopped
        if records is None:
            continue
        receipts = submit_releases(records, members, collectors, day, network)
        for member, asked, heard, phi, places, one in zip(
            members, questions, answers, counts, places_left, drafts, strict=True
        ):
            stored = (
                None
                if one is None or not network.alive(verify_key(member.signing_seed))
                else receipts.get(one.release.name)
            )
            if one is not None and stored is not None:
                authority.take(claim(stored, member.user, one.claim_seed, authority.public_key, chance))
            released = () if one is None else one.release.points
            unanswered = sum(record not in heard for record in asked.records)
            shared[member.user] = ParticipantOutcome(
                phi, places, released, None if stored is None else stored.identifier, unanswered
            )
    return Outcome(shared, tuple(failed), tuple(by_identity[identity].user for identity in waiting), restarts)


def form_groups(
    identities: Sequence[bytes], size: int, chance: Chance, network: Network
) -> tuple[list[tuple[bytes, ...]], tuple[bytes, ...], int]:
    """Step 1: all commit, reveal and compute the same groups.

    A member without a timely message is left out and the rest start again, at most twice. Groups, waiting
    identities, restarts.
    """
    lottery = Lottery(chance.take(16), tuple(sorted(identities)))
    while True:
        secrets = {identity: chance.seed() for identity in lottery.identities}
        for identity, secret in secrets.items():
            digest = commitment(lottery.roster, identity, secret)
            if network.arrivals(identity, SERVER, digest):
                lottery.commit(identity, digest)
        for identity, secret in secrets.items():
            if len(lottery.commits) == len(lottery.identities) and network.arrivals(identity, SERVER, secret):
                lottery.reveal(identity, secret)
        if lottery.seed is not None:
            groups, waiting = divide(lottery.seed, lottery.identities, size)
            return groups, (*waiting, *sorted(set(identities) - set(lottery.identities))), lottery.restarts
        try:
            lottery = lottery.without_silent()
        except PeerError:
            return [], tuple(identities), lottery.restarts


def mix(
    members: Sequence[Person],
    records: Sequence[list[bytes]],
    name: bytes,
    rules: Terms,
    chance: Chance,
    network: Network,
) -> tuple[tuple[bytes, ...] | None, list[AbortedRun]]:
    """Step 5: the records, if any member opened them, and findings where a run was stopped."""
    identities = tuple(verify_key(member.signing_seed) for member in members)
    run = hashlib.blake2b(name + chance.take(16) + b"".join(identities), digest_size=32).digest()
    session = Session(run, identities, len(records[0]), RECORD_BYTES, network.group, rules.proven_shuffle)
    machines = [
        Member(session, i, m.signing_seed, records[i], Chance(chance.seed()), network.limit_s)
        for i, m in enumerate(members)
    ]
    for machine in machines:
        machine.draw_fresh = bytes  # the same seed gives the same trace
    outcomes = network.run(machines)
    opened = next((outcome.records for outcome in outcomes if isinstance(outcome, OpenedRecords)), None)
    return opened, [outcome for outcome in outcomes if isinstance(outcome, AbortedRun)]


def submit(
    records: Sequence[bytes],
    members: Sequence[Person],
    collectors: Sequence[Collector],
    day: int,
    network: Network,
) -> list[dict[bytes, Answer]]:
    """Step 6: each member submits a slice and informs the others; the next one helps.

    Each member's answers, by record; PeerError if the collectors disagree.
    """
    heard: list[dict[bytes, Answer]] = [{} for _ in members]
    for place, record in enumerate(records):
        first = place * len(members) // len(records)
        for asker in (members[first], members[(first + 1) % len(members)]):
            missing = [i for i, answers in enumerate(heard) if record not in answers]
            if not missing or not network.arrivals(verify_key(asker.signing_seed), SERVER, record):
                continue
            try:
                replies = [
                    collector.answer(verify_key(asker.signing_seed), record, day) for collector in collectors
                ]
            except PeerError as refused:
                if refused.kind != "too-many":
                    raise
                continue
            answer = require_agreement(
                [
                    read_answer(verify_key(collector.signing_seed), record, reply)
                    for collector, reply in zip(collectors, replies, strict=True)
                ]
            )
            if answer.snapshot != day:
                raise PeerError(
                    "bad-answer", "the collector answers from the state of another day; send it nothing"
                )
            for i in missing:
                if members[i] is asker or network.arrivals(
                    verify_key(asker.signing_seed), verify_key(members[i].signing_seed), b"".join(replies)
                ):
                    heard[i][record] = answer
    return heard


def submit_releases(
    records: Sequence[bytes],
    members: Sequence[Person],
    collectors: Sequence[Collector],
    day: int,
    network: Network,
) -> dict[bytes, Receipt]:
    """Send the group's releases, from the first member whose message arrives. Receipts by name."""
    receipts: dict[bytes, Receipt] = {}
    for member in members:
        arrivals = network.arrivals(verify_key(member.signing_seed), SERVER, b"".join(records))
        for _ in range(arrivals):
            receipts, *_ = [collector.accept(records, day)[0] for collector in collectors]
        if arrivals:
            break
    return receipts
