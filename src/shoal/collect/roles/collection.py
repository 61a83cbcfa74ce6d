"""The whole protocol inside one process, in the order of the paper (user-centric.txt, Sec. 3.3)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nacl.bindings import crypto_sign_seed_keypair

from shoal.collect.crypto.chance import Chance
from shoal.collect.crypto.group import FFDHE3072, Group
from shoal.collect.faults import PeerError
from shoal.collect.matching.counting import CAP
from shoal.collect.matching.cylinders import Blur, Cylinder, Point, cylinder_for
from shoal.collect.matching.records import (
    RECORD_BYTES,
    Query,
    Release,
    encode_query,
    encode_release,
    pieces_needed,
)
from shoal.collect.matching.similarity import Likeness, occurs, similar
from shoal.collect.matching.subtrajectories import Places, Prior, extract, fake_trajectory
from shoal.collect.matching.trimming import Reading, Trimming, needed, trim
from shoal.collect.mix.grouping import Lottery, commitment, divide
from shoal.collect.mix.member import Aborted, Member, Opened
from shoal.collect.mix.messages import Session
from shoal.collect.roles.authority import Authority, Receipt, claim
from shoal.collect.roles.collector import Answer, Collector, agreed, check_answer
from shoal.collect.roles.network import SERVER, Wires
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
            raise MisuseError(
                f"{len(self.blurs)} blurs for {len(self.points)} points; give one for each, or none"
            )
        if not 0 <= self.k < CAP:
            raise MisuseError(
                f"k = {self.k}: choose 0 (share without a crowd) to {CAP - 1}; answers say no more than 'at "
                f"least {CAP}'"
            )

    @property
    def identity(self) -> bytes:
        """Her public identity key."""
        return bytes(crypto_sign_seed_keypair(self.signing_seed)[0])


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What all members of a round do alike, so that nobody stands out.

    proven_shuffle: every mixer proves her shuffle (docs/decisions/0039 says what that costs).
    bootstrap_until: before this day, what is released is a record of nobody, forgotten on it
    (docs/decisions/0071).
    """

    group_size: int = 4
    n_real: int = 40
    n_fake: int = 10
    longest: int = 4
    n_pieces: int = 4
    group: Group = FFDHE3072
    likeness: Likeness = field(default_factory=Likeness)
    period_days: int = 365
    proven_shuffle: bool = False
    bootstrap_until: int | None = None

    def until(self, day: int) -> int | None:
        """When the records of nobody that are released on this day are forgotten.

        None when they are somebody's.
        """
        return None if self.bootstrap_until is None or day >= self.bootstrap_until else self.bootstrap_until


@dataclass(frozen=True)
class Shared:
    """What became of one participant: what was asked, what it counted, what she kept, and where it lies.

    unanswered: questions that nobody brought her an answer to; they count as 0, so that nothing is shared for
    want of an answer.
    """

    phi: Mapping[Places, int]
    kept: Places
    released: tuple[Cylinder, ...]
    identifier: str | None
    unanswered: int = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a round.

    failed: what members found whose run was stopped; waiting: users without a group this time; restarts: how
    often lots were drawn again, without those who kept silent.
    """

    shared: Mapping[str, Shared]
    failed: tuple[Aborted, ...]
    waiting: tuple[str, ...]
    restarts: int = 0


def run_collection(
    participants: Sequence[Participant],
    collectors: Sequence[Collector],
    authority: Authority,
    prior: Prior,
    chance: Chance,
    *,
    day: int,
    rules: Rules | None = None,
    wires: Wires | None = None,
) -> Outcome:
    """One round of everybody: group, blur, extract, mix, ask, trim, mix again, release, claim.

    wires: what carries all messages; perfect by default. Raises PeerError when a collector is caught lying,
    MisuseError for participants that the rules cannot serve.
    """
    rules, wires = rules or Rules(), wires or Wires()
    until = rules.until(day)
    by_identity = {one.identity: one for one in participants}
    groups, waiting, restarts = form_groups(list(by_identity), rules.group_size, chance, wires)
    shared: dict[str, Shared] = {}
    failed: list[Aborted] = []
    for number, identities in enumerate(groups):
        members = [by_identity[identity] for identity in identities]
        name = b"%d group %d" % (day, number)
        blurred = [blur(member, day // rules.period_days) for member in members]
        check_rules(rules, max(map(len, blurred)))
        questions = [
            ask_for(member, points, prior, rules, chance)
            for member, points in zip(members, blurred, strict=True)
        ]
        records, stopped = mix(
            members, [list(asked.records) for asked in questions], name + b" questions", rules, chance, wires
        )
        if stopped or records is None:
            failed += stopped
            continue
        answers = submit(records, members, collectors, day, wires)
        counts = [
            phi_of(m, asked, heard, rules.likeness)
            for m, asked, heard in zip(members, questions, answers, strict=True)
        ]
        kept = [
            trim(len(points), phi, needed(m.k, m.reading), m.trimming)
            for m, points, phi in zip(members, blurred, counts, strict=True)
        ]
        nobody = until is not None
        drafts = [
            draft(m, points, places, chance, of_nobody=nobody)
            for m, points, places in zip(members, blurred, kept, strict=True)
        ]
        pieces = [
            encode_release(None if one is None else one.release, rules.n_pieces, chance) for one in drafts
        ]
        for member, one in zip(members, drafts, strict=True):
            # from now on it may be stored, whatever she gets to know: her own count must not exceed the truth
            if one is not None and not nobody:
                member.sent.append((one.release.points, day))
        records, stopped = mix(members, pieces, name + b" releases", rules, chance, wires)
        failed += stopped
        if records is None:
            continue
        receipts = hand_in(records, members, collectors, day, wires, until)
        for member, asked, heard, phi, places, one in zip(
            members, questions, answers, counts, kept, drafts, strict=True
        ):
            given = (
                None if one is None or not wires.alive(member.identity) else receipts.get(one.release.name)
            )
            if one is not None and given is not None:
                authority.take(claim(given, member.user, one.claim_seed, authority.public_key, chance))
            released = () if one is None else one.release.points
            unanswered = sum(record not in heard for record in asked.records)
            shared[member.user] = Shared(
                phi, places, released, None if given is None else given.identifier, unanswered
            )
    return Outcome(shared, tuple(failed), tuple(by_identity[identity].user for identity in waiting), restarts)


def form_groups(
    identities: Sequence[bytes], size: int, chance: Chance, wires: Wires
) -> tuple[list[tuple[bytes, ...]], tuple[bytes, ...], int]:
    """Step 1: everybody commits, everybody reveals, everybody computes the same groups.

    The groups, who waits, and the restarts.

    Whoever is not heard in time is left out and the rest start again, at most twice; then everybody waits for
    the next round.
    """
    lots = Lottery(chance.take(16), tuple(sorted(identities)))
    while True:
        secrets = {identity: chance.seed() for identity in lots.identities}
        for identity, secret in secrets.items():
            said = commitment(lots.roster, identity, secret)
            if wires.arrivals(identity, SERVER, said):
                lots.commit(identity, said)
        for identity, secret in secrets.items():
            if len(lots.commits) == len(lots.identities) and wires.arrivals(identity, SERVER, secret):
                lots.reveal(identity, secret)
        if lots.seed is not None:
            groups, waiting = divide(lots.seed, lots.identities, size)
            return groups, (*waiting, *sorted(set(identities) - set(lots.identities))), lots.restarts
        try:
            lots = lots.without_silent()
        except PeerError:
            return [], tuple(identities), lots.restarts


def blur(member: Participant, period: int) -> tuple[Cylinder, ...]:
    """Step 2: uncertain points, in their order in time."""
    blurs = member.blurs or [member.blur] * len(member.points)
    return tuple(
        sorted(
            {
                cylinder_for(point, one, member.device_key, period)
                for point, one in zip(member.points, blurs, strict=True)
            }
        )
    )


@dataclass(frozen=True)
class Questions:
    """Steps 3 and 4: a person's real sub-trajectories, hidden among fake ones in a fixed number of records."""

    places: Mapping[bytes, Places]
    canaries: frozenset[bytes]
    points: tuple[Cylinder, ...]
    records: tuple[bytes, ...]


def ask_for(
    member: Participant, points: tuple[Cylinder, ...], prior: Prior, rules: Rules, chance: Chance
) -> Questions:
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
        fake = fake_trajectory(
            prior, max(3, len(points)), member.blurs or [member.blur], chance, canary=canary
        )
        room = rules.n_real + rules.n_fake - len(records)
        for chosen in extract(len(fake), min(room, rules.n_real + rules.n_fake), rules.longest, chance):
            name = chance.take(16)
            asked = tuple(fake[place] for place in chosen)
            if any(point.lat_udeg < -75_000_000 for point in asked):
                canaries.add(name)
            records.append(encode_query(Query(name, asked)))
        canary = False
    return Questions(
        places,
        frozenset(canaries),
        points,
        tuple(records[place] for place in chance.permutation(len(records))),
    )


def mix(
    members: Sequence[Participant],
    records: Sequence[list[bytes]],
    name: bytes,
    rules: Rules,
    chance: Chance,
    wires: Wires,
) -> tuple[tuple[bytes, ...] | None, list[Aborted]]:
    """Step 5: nobody can tell whose a record is.

    The records, if anybody opened them, and what those found whose run was stopped.
    """
    identities = tuple(member.identity for member in members)
    run = hashlib.blake2b(name + chance.take(16) + b"".join(identities), digest_size=32).digest()
    session = Session(run, identities, len(records[0]), RECORD_BYTES, rules.group, rules.proven_shuffle)
    machines = [
        Member(session, i, m.signing_seed, records[i], Chance(chance.seed()), wires.limit_s)
        for i, m in enumerate(members)
    ]
    outcomes = wires.run(machines)
    opened = next((one.records for one in outcomes if isinstance(one, Opened)), None)
    return opened, [one for one in outcomes if isinstance(one, Aborted)]


def submit(
    records: Sequence[bytes],
    members: Sequence[Participant],
    collectors: Sequence[Collector],
    day: int,
    wires: Wires,
) -> list[dict[bytes, Answer]]:
    """Step 6: the answers that each member has.

    Each submits her slice and tells the others; the next member helps those who did not hear.

    Raises PeerError for an answer that is none, and for collectors that do not agree.
    """
    heard: list[dict[bytes, Answer]] = [{} for _ in members]
    for place, record in enumerate(records):
        first = place * len(members) // len(records)
        for asker in (members[first], members[(first + 1) % len(members)]):
            missing = [i for i, answers in enumerate(heard) if record not in answers]
            if not missing or not wires.arrivals(asker.identity, SERVER, record):
                continue
            try:
                given = [one.answer(asker.identity, record, day) for one in collectors]
            except PeerError as refused:
                if refused.kind != "too-many":
                    raise
                continue
            answer = agreed(
                [
                    check_answer(one.public_key, record, said)
                    for one, said in zip(collectors, given, strict=True)
                ]
            )
            if answer.snapshot != day:
                raise PeerError(
                    "bad-answer", "a collector that answers from the state of another day; send it nothing"
                )
            for i in missing:
                if members[i] is asker or wires.arrivals(
                    asker.identity, members[i].identity, b"".join(given)
                ):
                    heard[i][record] = answer
    return heard


def hand_in(
    records: Sequence[bytes],
    members: Sequence[Participant],
    collectors: Sequence[Collector],
    day: int,
    wires: Wires,
    until: int | None = None,
) -> dict[bytes, Receipt]:
    """What the group releases goes to every collector, from the first member whose message arrives.

    A copy has no effect.

    until: the day on which it is forgotten, as records of nobody, for which there are no receipts.
    """
    receipts: dict[bytes, Receipt] = {}
    for member in members:
        arrivals = wires.arrivals(member.identity, SERVER, b"".join(records))
        for _ in range(arrivals):
            if until is None:
                receipts, *_ = [one.accept(records, day)[0] for one in collectors]
            else:
                for one in collectors:
                    one.accept_bootstrap(records, day, until)
        if arrivals:
            break
    return receipts


def phi_of(
    member: Participant, asked: Questions, answers: Mapping[bytes, Answer], likeness: Likeness
) -> dict[Places, int]:
    """Step 7: the counts of her own sub-trajectories, herself taken off.

    Raises PeerError when a canary was counted.

    She knows what she sent, and takes herself off the count, so that no question needs to say whose it is.
    """
    phi: dict[Places, int] = {}
    for record in asked.records:
        name, answer = record[4:20], answers.get(record)
        if answer is None:
            if name in asked.places:
                phi[asked.places[name]] = 0
            continue
        if name in asked.canaries and answer.people:
            raise PeerError(
                "bad-answer", "a collector that counts people where nobody can have been; send it nothing"
            )
        if name in asked.places:
            query = [asked.points[place] for place in asked.places[name]]
            own = any(
                day < answer.snapshot and _holds(points, query, likeness) for points, day in member.sent
            )
            phi[asked.places[name]] = max(0, answer.people - own)
    return phi


def _holds(points: Sequence[Cylinder], query: Sequence[Cylinder], likeness: Likeness) -> bool:
    return occurs(
        [[place for place, point in enumerate(points) if similar(one, point, likeness)] for one in query]
    )


@dataclass(frozen=True)
class Draft:
    """A release before it is sent, and the seed of the key that can claim it."""

    release: Release
    claim_seed: bytes


def draft(
    member: Participant, points: Sequence[Cylinder], kept: Places, chance: Chance, *, of_nobody: bool = False
) -> Draft | None:
    """What is left, under a fresh name and key; None when nothing is.

    of_nobody: under a fresh tag, too, which nobody can link.
    """
    if not kept:
        return None
    claim_seed = chance.seed()
    tag = (
        chance.take(16)
        if of_nobody
        else hashlib.blake2b(b"contributor", digest_size=16, key=member.device_key).digest()
    )
    key = bytes(crypto_sign_seed_keypair(claim_seed)[0])
    return Draft(Release(chance.take(16), tag, key, tuple(points[place] for place in kept)), claim_seed)


def check_rules(rules: Rules, longest_trajectory: int) -> None:
    """Raises MisuseError when a trajectory of this length cannot be released within the rules."""
    if pieces_needed(longest_trajectory) > rules.n_pieces:
        raise MisuseError(
            f"{longest_trajectory} points need {pieces_needed(longest_trajectory)} records; the rules allow "
            f"{rules.n_pieces}"
        )
