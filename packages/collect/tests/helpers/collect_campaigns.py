"""The campaigns of the user-centric protocol.

Cheaters, bad networks, whole rounds over bad networks, and random bytes to every parser.

Each run has a number, and the same number gives the same run. ``./dev soak`` runs many, the tests a few.
"""

import hashlib
import random
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import gmpy2
from gmpy2 import mpz
from nacl.bindings import crypto_sign_seed_keypair
from pydantic import ValidationError

from collect_oracles import claim_key, decode_points
from in_process import ClaimsInMemory, Collector, Network, Outcome, Person, run_collection
from mix_runs import LAST_MIXES_NOTHING, LIMIT_S, PROVEN, SMALL, Withhold, build, records_of, seed, session_of
from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.group import Group
from shoal_collect.crypto.sealing import Correspondence
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.profile import Profile
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Blur, Cylinder, Point
from shoal_collect.matching.records import (
    Query,
    Release,
    decode_query,
    decode_releases,
    encode_points,
    encode_query,
    encode_release,
)
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.mix.member import AbortedRun, Member, OpenedRecords
from shoal_collect.mix.messages import Confession, Hop, Key, Kind, Opening, Vote, decode_list, open_frame
from shoal_collect.roles.authority import claim, receipt
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import bundles, read_answer, unbundle
from shoal_collect.storage.phi import PhiStore


def ffdhe2048() -> Group:
    """RFC 7919, appendix A.1: large enough for the protocol's records, twice as fast as its own group."""
    with gmpy2.context(precision=3000):
        e = int(gmpy2.floor(gmpy2.mul_2exp(gmpy2.exp(gmpy2.mpfr(1)), 1918)))
    return Group(mpz(2**2048 - 2**1984 + (e + 560_316) * 2**64 - 1), mpz(4))


class BadNetwork(Network):
    """Seeded network: every message takes its time, so that none keeps its place.

    Some are lost, copied, damaged or late.

    crash_after: how many messages a party sends before it vanishes, in the middle of telling all others
    perhaps.
    """

    group = ffdhe2048()

    def __init__(
        self, number: int, *, lose: float = 0, copy: float = 0, damage: float = 0, late: float = 0
    ) -> None:
        super().__init__(LIMIT_S)
        self.random, self.trace = random.Random(number), hashlib.sha256()
        self.lose, self.copy, self.damage, self.late = lose, copy, damage, late
        self.crash_after: dict[bytes, int] = {}
        self.sent: Counter[bytes] = Counter()
        self.tellers: dict[bytes, tuple[Member, Sequence[bytes]]] = {}
        self.happened: Counter[str] = Counter()

    @classmethod
    def drawn(cls, number: int, worst: float = 0.02) -> "BadNetwork":
        """Network as bad as the number says; many lose nothing."""
        draw = random.Random(f"wires {number}")  # names the runs that are on record
        lose, damage, late = (draw.choice((0.0, 0.0, worst / 10, worst)) for _ in range(3))
        return cls(number, lose=lose, copy=0.1, damage=damage, late=late)

    def copies(self, sender: bytes, receiver: bytes, text: bytes) -> list[tuple[float, bytes]]:
        self.sent[sender] += 1
        if not self.alive(sender):
            return []
        told: bytes | None = text
        if sender in self.tellers:
            member, identities = self.tellers[sender]
            told = getattr(member, "told", lambda _other, frame: frame)(
                list(identities).index(receiver), text
            )
        if told is None or self._happens("lose", self.lose):
            return []
        if self._happens("damage", self.damage):
            at = self.random.randrange(len(told))
            told = told[:at] + bytes((told[at] ^ (1 + self.random.randrange(255)),)) + told[at + 1 :]
        arrived = []
        for _ in range(1 + self._happens("copy", self.copy)):
            delay_s = 0.1 * self.random.random() + (3 * LIMIT_S if self._happens("late", self.late) else 0)
            arrived.append((delay_s, told))
            self.trace.update(sender + receiver + told + repr(delay_s).encode())
        return arrived

    def _happens(self, what: str, probability: float) -> bool:
        yes = self.random.random() < probability
        self.happened[what] += yes
        return yes

    def alive(self, party: bytes) -> bool:
        return party not in self.crash_after or self.sent[party] <= self.crash_after[party]


def longest_s(n: int) -> float:
    """Every phase of a mix run, each waited for to the end.

    Keys 2, inputs 2, n hops, votes, openings, and one NO-GO.
    """
    return (n + 7) * (LIMIT_S + 1)


def cheat(number: int) -> str:
    """One run with one cheater over good network; the verdict in a word."""
    draw = random.Random(number)
    n, kind = draw.randint(3, 6), draw.choice([*PROVEN, Withhold])
    place = draw.randrange(n - 1 if kind in LAST_MIXES_NOTHING else n)
    session = session_of(n, 2, name=number)
    members, network = build(session, {place: kind}), BadNetwork(number)
    network.tellers[session.identities[place]] = (members[place], session.identities)
    outcomes = network.run(members)
    case = f"{kind.__name__} at {place} of {n}, run {number}"
    for me, outcome in enumerate(outcomes):
        if me == place:
            continue
        if not isinstance(outcome, AbortedRun):
            return f"OPENED OR STUCK: {case}"
        found = outcome.findings
        if (found.silent if kind is Withhold else found.culprits) != {place} or (
            kind is Withhold and found.culprits
        ):
            return f"WRONG VERDICT {found}: {case}"
        if {(Kind.OPEN, me), (Kind.BLAME, me)} <= members[me]._slots.keys() or members[
            me
        ]._inner_secret is not None:
            return f"GAVE BOTH KEYS, OR KEPT ONE: {case}"
    return "caught, culprit right" if kind is not Withhold else "withheld, known, nothing opened"


def schedule(number: int) -> str:
    """One mix run over bad network, sometimes with a member who vanishes or cheats; the verdict in a word."""
    draw = random.Random(number)
    n = draw.randint(3, 6)
    session = session_of(n, 1, name=number)
    cheater = {draw.randrange(n): draw.choice(PROVEN)} if draw.random() < 0.3 else {}
    crashed = {draw.randrange(n): draw.randrange(1, 8 * n)} if draw.random() < 0.4 else {}

    def once() -> tuple[BadNetwork, list[Member], list[OpenedRecords | AbortedRun | None]]:
        network, members = BadNetwork.drawn(number), build(session, cheater)
        network.crash_after = {session.identities[place]: after for place, after in crashed.items()}
        network.tellers = {
            session.identities[place]: (members[place], session.identities) for place in cheater
        }
        return network, members, network.run(members)

    network, members, outcomes = once()
    if network.now_s > longest_s(n):
        return f"STUCK until {network.now_s} s: run {number}"
    everything = sorted(record for me in range(n) for record in records_of(session, me))
    honest = set(range(n)) - cheater.keys()
    for me, outcome in enumerate(outcomes):
        if me not in honest or (outcome is None and me in crashed):
            continue
        if outcome is None:
            return f"NO OUTCOME: member {me}, run {number}"
        if isinstance(outcome, AbortedRun) and outcome.findings.culprits & honest:
            return f"HONEST MEMBER BLAMED {outcome.findings}: run {number}"
        if isinstance(outcome, OpenedRecords) and not cheater and list(outcome.records) != everything:
            return f"WRONG RECORDS: run {number}"
        if {(Kind.OPEN, me), (Kind.BLAME, me)} <= members[me]._slots.keys():
            return f"GAVE BOTH KEYS: run {number}"
    again = once()[0]
    if again.trace.digest() != network.trace.digest():
        return f"ANOTHER TRACE: run {number}"
    return (
        "all opened"
        if all(isinstance(one, OpenedRecords) for one in outcomes)
        else "ended without blame for the honest"
    )


START: Final = 25_000_000


RULES: Final = Terms(
    group_size=3, n_real=1, n_fake=1, longest=2, n_pieces=1, resolution_m=0, resolution_min=0
)
PLACES: Final = PublicPlaces(
    lat_deg=(39.9, 39.95), lon_deg=(116.3, 116.4), weights=(2, 1), first_min=START, last_min=START + 1440
)


def people(n: int) -> list[Person]:
    """All on one way at one time."""
    return [
        Person(
            user=f"user {i}",
            signing_seed=seed("identity", i),
            device_key=seed("device", i),
            points=[Point(39.90, 116.30, START + i), Point(39.95, 116.35, START + 60 + i)],
            blur=Blur(radius_m=500, gap_min=30),
            k=0,
        )
        for i in range(n)
    ]


def whole_round(number: int) -> str:
    """Two whole rounds over a bad network: lottery, questions, releases and claims.

    The verdict in a word.
    """
    draw = random.Random(number)
    n = draw.randint(3, 6)
    vanishing = draw.randrange(n) if draw.random() < 0.5 else None
    after = draw.randrange(40)

    def once() -> tuple[str, bytes]:
        everybody, network = people(n), BadNetwork.drawn(number, worst=0.005)
        if vanishing is not None:
            network.crash_after[verify_key(everybody[vanishing].signing_seed)] = after
        chance = Chance(seed("round", number))
        with PhiStore(draw_bytes=chance.take) as store:
            collector = Collector(store, seed("collector"))
            authority = ClaimsInMemory(
                envelope.draw_secret(chance), frozenset({verify_key(collector.signing_seed)})
            )
            outcomes = [
                run_collection(
                    everybody, [collector], authority, PLACES, chance, day=day, rules=RULES, network=network
                )
                for day in (1, 2)
            ]
            verdict = _judge(everybody, outcomes, store, authority, network)
        return verdict, network.trace.digest()

    verdict, trace = once()
    return verdict if number % 8 or once() == (verdict, trace) else f"ANOTHER TRACE: run {number}"


def _judge(
    everybody: Sequence[Person],
    outcomes: Sequence[Outcome],
    store: PhiStore,
    authority: ClaimsInMemory,
    network: BadNetwork,
) -> str:
    n = len(everybody)
    if network.now_s > 2 * 2 * 2 * longest_s(n):  # two rounds of at most two groups with two mixes each
        return f"STUCK until {network.now_s} s"
    if any(found.findings.culprits for outcome in outcomes for found in outcome.failed):
        return "HONEST MEMBER BLAMED"
    named = [
        one.identifier
        for outcome in outcomes
        for one in outcome.shared.values()
        if one.identifier is not None
    ]
    claimed = [identifier for one in everybody for identifier in authority.identifiers_of(one.user)]
    if sorted(named) != sorted(claimed) or any(claim_key(store, identifier) is None for identifier in named):
        return "A RELEASE WITHOUT RECORD OR CLAIM"
    if not len(named) <= store.n_records <= sum(len(one.sent) for one in everybody) <= 2 * n:
        return "A RELEASE IS STORED TWICE"
    way = [
        Cylinder(START - 60, 120, 39_900_000, 116_300_000, 500),
        Cylinder(START, 120, 39_950_000, 116_350_000, 500),
    ]
    if store.count(way, RULES.thresholds, 99) > n:
        return "MORE PEOPLE THAN THERE ARE"
    for one in everybody:
        phi = outcomes[1].shared[one.user].phi.values() if one.user in outcomes[1].shared else ()
        if max(phi, default=0) > sum(bool(other.sent) for other in everybody if other is not one):
            return "COUNTED HERSELF, OR SOMEBODY TWICE"
    if any(outcome.failed for outcome in outcomes):
        return "a group was stopped, and nothing wrong"
    if any(outcome.restarts or not outcome.shared for outcome in outcomes):
        return "the lottery started again, and nothing wrong"
    return (
        "everybody in a group shared"
        if all(one.identifier for o in outcomes for one in o.shared.values())
        else "shared less"
    )


PROFILE: Final = b"""k = 3
[blur]
radius = "500m"
gap = "30min"
[kinds.home]
drop = true
[[places]]
name = "x"
lat = 1.5
lon = 2
radius = "1km"
"""


def parse_profile(data: bytes) -> None:
    try:
        Profile.model_validate(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise PeerError("bad-record", "no profile") from error


def parsers() -> dict[str, tuple[Callable[[bytes], Any], bytes]]:
    """Every parser of bytes from outside, with one good message."""
    session = session_of(3, 2)
    body: dict[Kind, bytes] = {}
    for cheaters in ({}, {1: PROVEN[0]}):  # a sound run, and one that ends in confessions
        members = build(session, cheaters)
        Network(LIMIT_S).run(members)
        frames = {kind: signed.frame for (kind, sender), signed in members[0]._slots.items() if sender == 0}
        body |= {kind: frame[40:-64] for kind, frame in frames.items()}
    pair = (Cylinder(5, 5, 1, 1, 1), Cylinder(9, 5, 1, 1, 1))
    query, chance, collector = (
        encode_query(Query(bytes(16), pair)),
        Chance(bytes(32)),
        Collector(PhiStore(), seed("collector")),
    )
    secret, owner = envelope.draw_secret(chance), seed("owner")
    authority = ClaimsInMemory(secret, frozenset({verify_key(collector.signing_seed)}))
    given = receipt(collector.signing_seed, "ab" * 16, bytes(crypto_sign_seed_keypair(owner)[0]))
    letter = Correspondence(seed(1), session.identities, 0, seed("identity", 0)).seal(1, b"text")
    reader = Correspondence(seed(1), session.identities, 1, seed("identity", 1))
    return {
        "frame": (lambda data: open_frame(session, data), frames[Kind.VOTE]),
        "element": (SMALL.from_bytes, SMALL.to_bytes(SMALL.g)),
        "key": (lambda data: Key.decode(session, data), body[Kind.KEY]),
        "input": (lambda data: decode_list(session, data), body[Kind.INPUT]),
        "hop": (lambda data: Hop.decode(session, data, last=False), body[Kind.HOP]),
        "vote": (Vote.decode, body[Kind.VOTE]),
        "opening": (lambda data: Opening.decode(session, data), body[Kind.OPEN]),
        "confession": (lambda data: Confession.decode(session, data), body[Kind.BLAME]),
        "query": (decode_query, query),
        "points": (decode_points, encode_points(pair)),
        "releases": (
            lambda data: decode_releases([data]),
            encode_release(Release(bytes(16), bytes(16), bytes(32), pair), 1, chance)[0],
        ),
        "claim": (authority.take, claim(given, "alice", owner, authority.public_key, chance)),
        "answer": (
            lambda data: read_answer(verify_key(collector.signing_seed), query, data),
            collector.answer(b"someone", query, 1),
        ),
        "letter": (reader.open, letter),
        "letters of a request": (unbundle, bundles([letter, letter])[0]),
        "profile": (parse_profile, PROFILE),
    }


def fuzz(parse: Callable[[bytes], Any], good: bytes, times: int) -> Counter[str]:
    """Random and mutated bytes: accepted or refused with a name; anything else ends the campaign."""
    chance, outcome = random.Random(1), Counter[str]()
    for _ in range(times):
        data = bytearray(good if chance.random() < 0.8 else chance.randbytes(chance.randrange(400)))
        for _ in range(chance.randrange(1, 5)):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data) + 1) :]
        try:
            parse(bytes(data))
            outcome["accepted"] += 1
        except PeerError as refused:
            outcome[refused.kind] += 1
    return outcome
