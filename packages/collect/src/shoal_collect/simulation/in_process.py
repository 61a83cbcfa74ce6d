"""The whole protocol inside one process, in the order of the paper.

Source: Romero-Tris and Megías 2018, Sec. 3.3.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import RECORD_BYTES, encode_release
from shoal_collect.matching.subtrajectories import Places, Prior
from shoal_collect.matching.trimming import needed, trim
from shoal_collect.mix.grouping import Lottery, commitment, divide
from shoal_collect.mix.member import Aborted, Member, Opened
from shoal_collect.mix.session import Session
from shoal_collect.roles.authority import Authority, Receipt, claim
from shoal_collect.roles.collector import Answer, Collector, agreed, read_answer
from shoal_collect.roles.participant import Participant, ask_for, blur, draft, phi_of
from shoal_collect.roles.rules import Rules, require_room
from shoal_collect.simulation.network import SERVER, Network


@dataclass(frozen=True)
class Shared:
    """What became of one participant.

    Attributes
    ----------
    phi
        How many others share each sub-trajectory that she asked about, by its places.
    kept, released
        The places that were left, and their cylinders.
    identifier
        Where her release lies; None when nothing was stored for her.
    unanswered
        Questions that nobody brought her an answer to. They count as 0, so that nothing is shared for want of
        an answer.
    """

    phi: Mapping[Places, int]
    kept: Places
    released: tuple[Cylinder, ...]
    identifier: str | None
    unanswered: int = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a round.

    Attributes
    ----------
    shared
        What became of each user whose group ended its round.
    failed
        What members found whose run was stopped.
    waiting
        Users without a group this time.
    restarts
        How often the lottery started again, without those who kept silent.
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
    network: Network | None = None,
) -> Outcome:
    """Take everybody through one round: group, blur, extract, mix, ask, trim, mix again, release, claim.

    Parameters
    ----------
    participants
        The people; what they release is noted in them.
    collectors
        The collectors that are asked; they must agree.
    authority
        Takes the claims.
    prior
        What fakes are drawn from.
    chance
        Where all randomness comes from.
    day
        The day since 1970.
    rules
        What all members do alike; by default ``Rules()``.
    network
        What carries all messages; by default a perfect one.

    Raises
    ------
    PeerError
        If a collector is caught lying.
    MisuseError
        If the rules cannot serve the participants.
    """
    rules, network = rules or Rules(), network or Network()
    until = rules.until(day)
    by_identity = {one.identity: one for one in participants}
    groups, waiting, restarts = form_groups(list(by_identity), rules.group_size, chance, network)
    shared: dict[str, Shared] = {}
    failed: list[Aborted] = []
    for number, identities in enumerate(groups):
        members = [by_identity[identity] for identity in identities]
        name = b"%d group %d" % (day, number)
        blurred = [blur(member, day // rules.period_days) for member in members]
        require_room(rules, max(map(len, blurred)))
        questions = [
            ask_for(member, points, prior, rules, chance)
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
            phi_of(m, asked, heard, rules.thresholds)
            for m, asked, heard in zip(members, questions, answers, strict=True)
        ]
        kept = [
            trim(len(points), phi, needed(m.k, m.reading), m.trimming)
            for m, points, phi in zip(members, blurred, counts, strict=True)
        ]
        nobody = until is not None
        drafts = [
            draft(m, points, places, chance, of_nobody=nobody, scoping=rules.scoping)
            for m, points, places in zip(members, blurred, kept, strict=True)
        ]
        pieces = [
            encode_release(None if one is None else one.release, rules.n_pieces, chance) for one in drafts
        ]
        for member, one in zip(members, drafts, strict=True):
            # it may be stored from now on, whatever she hears: her own count must not exceed the truth
            if one is not None and not nobody:
                member.sent.append((one.release.points, day))
        records, stopped = mix(members, pieces, name + b" releases", rules, chance, network)
        failed += stopped
        if records is None:
            continue
        receipts = hand_in(records, members, collectors, day, network, until)
        for member, asked, heard, phi, places, one in zip(
            members, questions, answers, counts, kept, drafts, strict=True
        ):
            given = (
                None if one is None or not network.alive(member.identity) else receipts.get(one.release.name)
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
    identities: Sequence[bytes], size: int, chance: Chance, network: Network
) -> tuple[list[tuple[bytes, ...]], tuple[bytes, ...], int]:
    """Step 1: everybody commits, everybody reveals, everybody computes the same groups.

    Whoever is not heard in time is left out and the rest start again, at most twice; then everybody waits for
    the next round.

    Returns
    -------
    list of tuple
        The groups.
    tuple
        The identities of those who wait.
    int
        How often the lottery started again.
    """
    lottery = Lottery(chance.take(16), tuple(sorted(identities)))
    while True:
        secrets = {identity: chance.seed() for identity in lottery.identities}
        for identity, secret in secrets.items():
            said = commitment(lottery.roster, identity, secret)
            if network.arrivals(identity, SERVER, said):
                lottery.commit(identity, said)
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
    members: Sequence[Participant],
    records: Sequence[list[bytes]],
    name: bytes,
    rules: Rules,
    chance: Chance,
    network: Network,
) -> tuple[tuple[bytes, ...] | None, list[Aborted]]:
    """Step 5: mix the records, so that nobody can tell whose a record is.

    Returns
    -------
    tuple of bytes or None
        The records, if anybody opened them.
    list of Aborted
        What the members found whose run was stopped.
    """
    identities = tuple(member.identity for member in members)
    run = hashlib.blake2b(name + chance.take(16) + b"".join(identities), digest_size=32).digest()
    session = Session(run, identities, len(records[0]), RECORD_BYTES, rules.group, rules.proven_shuffle)
    machines = [
        Member(session, i, m.signing_seed, records[i], Chance(chance.seed()), network.limit_s)
        for i, m in enumerate(members)
    ]
    outcomes = network.run(machines)
    opened = next((one.records for one in outcomes if isinstance(one, Opened)), None)
    return opened, [one for one in outcomes if isinstance(one, Aborted)]


def submit(
    records: Sequence[bytes],
    members: Sequence[Participant],
    collectors: Sequence[Collector],
    day: int,
    network: Network,
) -> list[dict[bytes, Answer]]:
    """Step 6: each member submits her slice and tells the others; the next one helps who did not hear.

    Returns
    -------
    list of dict
        The answers that each member has, by record.

    Raises
    ------
    PeerError
        If an answer does not hold, or the collectors do not agree.
    """
    heard: list[dict[bytes, Answer]] = [{} for _ in members]
    for place, record in enumerate(records):
        first = place * len(members) // len(records)
        for asker in (members[first], members[(first + 1) % len(members)]):
            missing = [i for i, answers in enumerate(heard) if record not in answers]
            if not missing or not network.arrivals(asker.identity, SERVER, record):
                continue
            try:
                given = [one.answer(asker.identity, record, day) for one in collectors]
            except PeerError as refused:
                if refused.kind != "too-many":
                    raise
                continue
            answer = agreed(
                [
                    read_answer(one.public_key, record, said)
                    for one, said in zip(collectors, given, strict=True)
                ]
            )
            if answer.snapshot != day:
                raise PeerError(
                    "bad-answer", "the collector answers from the state of another day; send it nothing"
                )
            for i in missing:
                if members[i] is asker or network.arrivals(
                    asker.identity, members[i].identity, b"".join(given)
                ):
                    heard[i][record] = answer
    return heard


def hand_in(
    records: Sequence[bytes],
    members: Sequence[Participant],
    collectors: Sequence[Collector],
    day: int,
    network: Network,
    until: int | None = None,
) -> dict[bytes, Receipt]:
    """Send every collector what the group releases, from the first member whose message arrives.

    A copy has no effect.

    Parameters
    ----------
    records
        What the mix opened.
    members, collectors
        The group, and who stores its releases.
    day
        The day since 1970.
    network
        What carries the messages.
    until
        The day since 1970 on which records of nobody are deleted; None for records of somebody.

    Returns
    -------
    dict
        The receipt of each release, by its name; none for records of nobody.
    """
    receipts: dict[bytes, Receipt] = {}
    for member in members:
        arrivals = network.arrivals(member.identity, SERVER, b"".join(records))
        for _ in range(arrivals):
            if until is None:
                receipts, *_ = [one.accept(records, day)[0] for one in collectors]
            else:
                for one in collectors:
                    one.accept_bootstrap(records, day, until)
        if arrivals:
            break
    return receipts
