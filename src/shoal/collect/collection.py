"""The whole protocol inside one process, in the order of the paper (user-centric.txt, Sec. 3.3)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nacl.bindings import crypto_sign_seed_keypair

from shoal.collect.authority import Authority, claim
from shoal.collect.chance import Chance
from shoal.collect.collector import Answer, Collector, agreed, check_answer
from shoal.collect.counting import CAP
from shoal.collect.cylinders import Blur, Cylinder, Point, cylinder_for
from shoal.collect.faults import PeerError
from shoal.collect.group import FFDHE3072, Group
from shoal.collect.grouping import Lottery, commitment, divide
from shoal.collect.member import Aborted, Broadcast, Member, Opened
from shoal.collect.messages import Session
from shoal.collect.records import RECORD_BYTES, Query, Release, encode_query, encode_release, pieces_needed
from shoal.collect.similarity import Likeness, occurs, similar
from shoal.collect.subtrajectories import Places, Prior, extract, fake_trajectory
from shoal.collect.trimming import Reading, Trimming, needed, trim
from shoal.errors import MisuseError


@dataclass(kw_only=True)
class Participant:
    """A person with her device: her points, what she wants, and what she has sent before (release and day).

    blurs: one for each point, where her profile says more than one blur for all.
    """

    user: str
    signing_seed: bytes
    device_key: bytes
    points: Sequence[Point]
    blur: Blur
    k: int
    trimming: Trimming = "hitting-set"
    reading: Reading = "others"
    sent: list[tuple[tuple[Cylinder, ...], int]] = field(default_factory=list)
    blurs: Sequence[Blur] = ()

    def __post_init__(self) -> None:
        if len(self.blurs) not in (0, len(self.points)):
            raise MisuseError(f"{len(self.blurs)} blurs for {len(self.points)} points; give one for each, or none")
        if not 0 <= self.k < CAP:
            raise MisuseError(f"k = {self.k}: choose 0 (share without a crowd) to {CAP - 1}; answers say no more than 'at least {CAP}'")

    @property
    def identity(self) -> bytes:
        """Her public identity key."""
        return bytes(crypto_sign_seed_keypair(self.signing_seed)[0])


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What all members of a round do alike, so that nobody stands out."""

    group_size: int = 4
    n_real: int = 40
    n_fake: int = 10
    longest: int = 4
    n_pieces: int = 4
    group: Group = FFDHE3072
    likeness: Likeness = field(default_factory=Likeness)
    period_days: int = 365


@dataclass(frozen=True)
class Shared:
    """What became of one participant: what was asked, what it counted, what she kept, and where it lies."""

    phi: Mapping[Places, int]
    kept: Places
    released: tuple[Cylinder, ...]
    identifier: str | None


@dataclass(frozen=True)
class Outcome:
    """What became of a round. failed: groups whose run was stopped, with what was found; waiting: users without a group this time."""

    shared: Mapping[str, Shared]
    failed: tuple[Aborted, ...]
    waiting: tuple[str, ...]


def run_collection(
    participants: Sequence[Participant],
    collectors: Sequence[Collector],
    authority: Authority,
    prior: Prior,
    chance: Chance,
    *,
    day: int,
    rules: Rules | None = None,
) -> Outcome:
    """One round of everybody: group, blur, extract, mix, ask, trim, mix again, release, claim.

    Raises PeerError when a collector is caught lying, MisuseError for participants that the rules cannot serve.
    """
    rules = rules or Rules()
    by_identity = {one.identity: one for one in participants}
    groups, waiting = form_groups(list(by_identity), rules.group_size, chance)
    shared: dict[str, Shared] = {}
    failed: list[Aborted] = []
    for number, identities in enumerate(groups):
        members = [by_identity[identity] for identity in identities]
        name = b"%d group %d" % (day, number)
        blurred = [blur(member, day // rules.period_days) for member in members]
        check_rules(rules, max(map(len, blurred)))
        questions = [ask_for(member, points, prior, rules, chance) for member, points in zip(members, blurred, strict=True)]
        opened = mix(members, [list(asked.records) for asked in questions], name + b" questions", rules.group, chance)
        if isinstance(opened, Aborted):
            failed.append(opened)
            continue
        answers = submit(opened.records, members, collectors, day)
        counts = [phi_of(member, asked, answers, rules.likeness) for member, asked in zip(members, questions, strict=True)]
        kept = [trim(len(points), phi, needed(m.k, m.reading), m.trimming) for m, points, phi in zip(members, blurred, counts, strict=True)]
        drafts = [draft(m, points, places, chance) for m, points, places in zip(members, blurred, kept, strict=True)]
        pieces = [encode_release(None if one is None else one.release, rules.n_pieces, chance) for one in drafts]
        opened = mix(members, pieces, name + b" releases", rules.group, chance)
        if isinstance(opened, Aborted):
            failed.append(opened)
            continue
        receipts, _ = collectors[0].accept(opened.records, day)
        for mirror in collectors[1:]:
            mirror.accept(opened.records, day)
        for member, phi, places, one in zip(members, counts, kept, drafts, strict=True):
            given = None if one is None else receipts.get(one.release.name)
            if one is not None and given is not None:
                authority.take(claim(given, member.user, one.claim_seed, authority.public_key, chance))
                member.sent.append((one.release.points, day))
            released = () if one is None else one.release.points
            shared[member.user] = Shared(phi, places, released, None if given is None else given.identifier)
    return Outcome(shared, tuple(failed), tuple(by_identity[identity].user for identity in waiting))


def form_groups(identities: Sequence[bytes], size: int, chance: Chance) -> tuple[list[tuple[bytes, ...]], tuple[bytes, ...]]:
    """Step 1: everybody commits, everybody reveals, everybody computes the same groups."""
    lots = Lottery(chance.take(16), tuple(sorted(identities)))
    secrets = {identity: chance.seed() for identity in identities}
    for identity, secret in secrets.items():
        lots.commit(identity, commitment(lots.roster, identity, secret))
    for identity, secret in secrets.items():
        lots.reveal(identity, secret)
    if lots.seed is None:
        raise AssertionError("everybody has revealed")
    return divide(lots.seed, identities, size)


def blur(member: Participant, period: int) -> tuple[Cylinder, ...]:
    """Step 2: uncertain points, in their order in time."""
    blurs = member.blurs or [member.blur] * len(member.points)
    return tuple(sorted({cylinder_for(point, one, member.device_key, period) for point, one in zip(member.points, blurs, strict=True)}))


@dataclass(frozen=True)
class Questions:
    """Steps 3 and 4: a person's real sub-trajectories, hidden among fake ones in a fixed number of records."""

    places: Mapping[bytes, Places]
    canaries: frozenset[bytes]
    points: tuple[Cylinder, ...]
    records: tuple[bytes, ...]


def ask_for(member: Participant, points: tuple[Cylinder, ...], prior: Prior, rules: Rules, chance: Chance) -> Questions:
    """Real sub-trajectories, and whole fake trajectories to fill up, the first of which is a canary."""
    places: dict[bytes, Places] = {}
    canaries: set[bytes] = set()
    records: list[bytes] = []
    for chosen in extract(len(points), rules.n_real, rules.longest, chance):
        name = chance.take(16)
        places[name] = chosen
        records.append(encode_query(Query(name, tuple(points[place] for place in chosen))))
    canary = True
    while len(records) < rules.n_real + rules.n_fake:
        fake = fake_trajectory(prior, max(3, len(points)), member.blurs or [member.blur], chance, canary=canary)
        room = rules.n_real + rules.n_fake - len(records)
        for chosen in extract(len(fake), min(room, rules.n_real + rules.n_fake), rules.longest, chance):
            name = chance.take(16)
            asked = tuple(fake[place] for place in chosen)
            if any(point.lat_udeg < -75_000_000 for point in asked):
                canaries.add(name)
            records.append(encode_query(Query(name, asked)))
        canary = False
    return Questions(places, frozenset(canaries), points, tuple(records[place] for place in chance.permutation(len(records))))


def mix(members: Sequence[Participant], records: Sequence[list[bytes]], name: bytes, group: Group, chance: Chance) -> Opened | Aborted:
    """Step 5: nobody can tell whose a record is. Every member gets the same outcome, or the run is stopped."""
    identities = tuple(member.identity for member in members)
    run = hashlib.blake2b(name + chance.take(16) + b"".join(identities), digest_size=32).digest()
    session = Session(run, identities, len(records[0]), RECORD_BYTES, group)
    machines = [Member(session, i, m.signing_seed, records[i], Chance(chance.seed())) for i, m in enumerate(members)]
    waiting = [(i, event) for i, machine in enumerate(machines) for event in machine.start(0.0)]
    outcomes: list[Opened | Aborted] = []
    while waiting:
        sender, event = waiting.pop(0)
        if isinstance(event, Broadcast):
            for i, machine in enumerate(machines):
                if i != sender:
                    waiting += [(i, further) for further in machine.receive(event.frame, 0.0)]
        elif isinstance(event, Opened | Aborted):
            outcomes.append(event)
    return next((one for one in outcomes if isinstance(one, Aborted)), outcomes[0])


def submit(records: Sequence[bytes], members: Sequence[Participant], collectors: Sequence[Collector], day: int) -> dict[bytes, Answer]:
    """Step 6: each submits her slice, the next member in her place when it is refused; all collectors must agree."""
    answers: dict[bytes, Answer] = {}
    for place, record in enumerate(records):
        submitter = members[place * len(members) // len(records)]
        backup = members[(place * len(members) // len(records) + 1) % len(members)]
        try:
            answers[record] = _ask_all(submitter, record, collectors, day)
        except PeerError as refused:
            if refused.kind != "too-many":
                raise
            answers[record] = _ask_all(backup, record, collectors, day)
    return answers


def _ask_all(submitter: Participant, record: bytes, collectors: Sequence[Collector], day: int) -> Answer:
    return agreed([check_answer(one.public_key, record, one.answer(submitter.identity, record, day)) for one in collectors])


def phi_of(member: Participant, asked: Questions, answers: Mapping[bytes, Answer], likeness: Likeness) -> dict[Places, int]:
    """Step 7: the counts of her own sub-trajectories, herself taken off; raises PeerError when a canary was counted.

    She knows what she sent, and takes herself off the count, so that no question needs to say whose it is.
    """
    phi: dict[Places, int] = {}
    for record in asked.records:
        name, answer = record[4:20], answers[record]
        if name in asked.canaries and answer.people:
            raise PeerError("bad-answer", "a collector that counts people where nobody can have been; send it nothing")
        if name in asked.places:
            query = [asked.points[place] for place in asked.places[name]]
            own = any(day < answer.snapshot and _holds(points, query, likeness) for points, day in member.sent)
            phi[asked.places[name]] = max(0, answer.people - own)
    return phi


def _holds(points: Sequence[Cylinder], query: Sequence[Cylinder], likeness: Likeness) -> bool:
    return occurs([[place for place, point in enumerate(points) if similar(one, point, likeness)] for one in query])


@dataclass(frozen=True)
class Draft:
    """A release before it is sent, and the seed of the key that can claim it."""

    release: Release
    claim_seed: bytes


def draft(member: Participant, points: Sequence[Cylinder], kept: Places, chance: Chance) -> Draft | None:
    """What is left, under a fresh name and key; None when nothing is."""
    if not kept:
        return None
    claim_seed = chance.seed()
    tag = hashlib.blake2b(b"contributor", digest_size=16, key=member.device_key).digest()
    key = bytes(crypto_sign_seed_keypair(claim_seed)[0])
    return Draft(Release(chance.take(16), tag, key, tuple(points[place] for place in kept)), claim_seed)


def check_rules(rules: Rules, longest_trajectory: int) -> None:
    """Raises MisuseError when a trajectory of this length cannot be released within the rules."""
    if pieces_needed(longest_trajectory) > rules.n_pieces:
        raise MisuseError(f"{longest_trajectory} points need {pieces_needed(longest_trajectory)} records; the rules allow {rules.n_pieces}")
