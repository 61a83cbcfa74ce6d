"""Find who broke a run: audit signed messages, then replay once inner keys are erased.

No honest member is ever named: each rule needs a message that the member signed, or a part that does not
replay from the secrets that the member revealed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shoal_collect.crypto.elgamal import Ciphertext, combined_key
from shoal_collect.faults import PeerError
from shoal_collect.mix.messages import (
    BEFORE_VOTE,
    Confession,
    Hop,
    Key,
    Kind,
    Opening,
    Session,
    SignedMessage,
    Slots,
    Vote,
    all_slots,
    encode,
    is_attested,
    make_input,
    mix_list,
    open_frame,
    read_hop,
    read_input,
    read_key,
    transcript_hash,
)

_KEYS = (Kind.KEY_COMMIT, Kind.KEY)
_INPUTS = (Kind.INPUT_COMMIT, Kind.INPUT)


@dataclass(frozen=True)
class Findings:
    """The result of an audit.

    ``culprits``: with proof. ``silent``: without an answer, perhaps because of the network. ``disputed``:
    pairs where one misses a message that the other claims to have sent.
    """

    culprits: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()
    disputed: frozenset[int] = frozenset()
    reason: str = ""

    def at_places(self, places: Sequence[int]) -> "Findings":
        """The same by places in the group, of which some took part in the run."""
        culprits, silent, disputed = (
            frozenset(places[member] for member in members)
            for members in (self.culprits, self.silent, self.disputed)
        )
        return Findings(culprits, silent, disputed, self.reason)

    def __str__(self) -> str:
        """By places, from 0."""
        groups = (
            ("proven against", self.culprits),
            ("silent", self.silent),
            ("disputed between", self.disputed),
        )
        parts = [
            f"{word} member {' and '.join(map(str, sorted(members)))}" for word, members in groups if members
        ]
        return "; ".join([self.reason or "no reason was found", *parts])


def audit(session: Session, slots: Slots, conflicts: frozenset[int]) -> Findings:
    """The first proof of a fault, in the protocol's order.

    ``slots``: messages of one member. ``conflicts``: senders of two for one slot.
    """
    if conflicts:
        return Findings(conflicts, reason="told different things to different members")
    bad, testimonies = read_testimonies(session, slots)
    if bad:
        return Findings(bad, reason="sent a testimony that cannot be read")
    return (
        find_liars(session, slots, testimonies)
        or _early_openers(session, slots, testimonies)
        or _bad_messages(session, slots)
        or _bad_replays(session, slots, testimonies)
        or _find_groundless(session, slots, testimonies)
    )


Testimonies = dict[int, Opening | Confession]


def read_testimonies(session: Session, slots: Slots) -> tuple[frozenset[int], Testimonies]:
    """Members without a readable testimony, and the testimonies."""
    bad: set[int] = set()
    testimonies: Testimonies = {}
    for member in range(session.n):
        try:
            if (Kind.VOTE, member) in slots:
                Vote.decode(slots[Kind.VOTE, member].body)
        except PeerError:
            bad.add(member)
        for kind, decode in ((Kind.OPEN, Opening.decode), (Kind.BLAME, Confession.decode)):
            signed = slots.get((kind, member))
            if signed is not None:
                try:
                    testimonies[member] = decode(session, signed.body)
                except PeerError:
                    bad.add(member)
        if (Kind.OPEN, member) in slots and (Kind.BLAME, member) in slots:
            bad.add(member)
    return frozenset(bad), testimonies


def find_liars(session: Session, slots: Slots, testimonies: Testimonies) -> Findings | None:
    """Who signed two messages for one slot, or invents messages."""
    seen = {slot: signed.digest for slot, signed in slots.items()}
    inventors, equivocators = set(), set()
    for witness, testimony in testimonies.items():
        for slot, (digest, signature) in testimony.attestation.items():
            if not is_attested(session, *slot, digest, signature):
                inventors.add(witness)
            elif seen.setdefault(slot, digest) != digest:
                equivocators.add(slot[1])
    if inventors:
        return Findings(frozenset(inventors), reason="testifies to messages that were never signed")
    if equivocators:
        return Findings(frozenset(equivocators), reason="told different things to different members")
    return None


def _early_openers(session: Session, slots: Slots, testimonies: Testimonies) -> Findings | None:
    """Without a GO from all, perhaps to escape the replay."""
    early = set()
    for member, testimony in testimonies.items():
        if isinstance(testimony, Opening):
            saw_all_votes = all_slots(session, (Kind.VOTE,)) <= testimony.attestation.keys()
            if not saw_all_votes or any(
                kind is Kind.VOTE and not Vote.decode(signed.body).go for (kind, _), signed in slots.items()
            ):
                early.add(member)
    return Findings(frozenset(early), reason="opened without everybody's GO") if early else None


def _bad_messages(session: Session, slots: Slots) -> Findings | None:
    """Only the earliest phase counts."""

    def faults(read: Callable[[int], object]) -> frozenset[int]:
        faulty = set()
        for member in range(session.n):
            try:
                read(member)
            except PeerError:
                faulty.add(member)
            except KeyError:
                continue  # not received: nothing to judge
        return frozenset(faulty)

    bad = faults(lambda member: read_key(session, slots[Kind.KEY_COMMIT, member], slots[Kind.KEY, member]))
    bad = bad or faults(
        lambda member: read_input(session, slots[Kind.INPUT_COMMIT, member], slots[Kind.INPUT, member])
    )
    if bad:
        return Findings(bad, reason="keys or ciphertexts that show their own fault")
    if not all_slots(session, (*_KEYS, *_INPUTS)) <= slots.keys():
        return None
    shares = [Key.decode(session, slots[Kind.KEY, member].body).share for member in range(session.n)]
    current: tuple[Ciphertext, ...] = _inputs(session, slots)
    for member in range(session.n):
        if (Kind.HOP, member) not in slots:
            break
        try:
            current = read_hop(session, shares, current, slots[Kind.HOP, member]).shuffled
        except PeerError:
            return Findings(frozenset({member}), reason="a bad hop message")
    return None


def _bad_replays(session: Session, slots: Slots, testimonies: Testimonies) -> Findings | None:
    """They do not follow from the confessed secrets."""
    group = session.group
    if not all_slots(session, _KEYS) <= slots.keys():
        return None
    shares = [Key.decode(session, slots[Kind.KEY, member].body).share for member in range(session.n)]
    confessions = {
        member: confession for member, confession in testimonies.items() if isinstance(confession, Confession)
    }
    wrong = {
        member
        for member, confession in confessions.items()
        if group.power(group.g, confession.secret) != shares[member]
    }
    if wrong:
        return Findings(frozenset(wrong), reason="gave a secret that is not hers")
    y = combined_key(group, shares)
    for member, confession in confessions.items():
        signed = slots.get((Kind.INPUT, member))
        if signed is None:
            continue
        same = encode(group, make_input(session, y, confession.sealed, confession.input_seed)) == signed.body
        if not same or len(set(confession.sealed)) < session.n_records:
            wrong.add(member)
    wrong = wrong or _find_equal_envelopes(
        {member: confession for member, confession in confessions.items() if (Kind.INPUT, member) in slots}
    )
    if wrong:
        return Findings(frozenset(wrong), reason="put in what she cannot account for")
    if not all_slots(session, _INPUTS) <= slots.keys():
        return None
    current = _inputs(session, slots)
    for member in range(session.n):
        signed, confessed = slots.get((Kind.HOP, member)), confessions.get(member)
        if signed is None:
            break
        if confessed is not None:
            keys = (shares[member], combined_key(group, shares[member + 1 :]))
            mixed = mix_list(session, member, confessed.secret, keys, current, confessed.hop_seed)
            hop = Hop.decode(session, signed.body, last=member == session.n - 1)
            second = tuple(ciphertext.c2 for ciphertext in mixed.stripped)
            if (tuple(hop.stripped), tuple(hop.shuffled)) != (second, mixed.shuffled):
                return Findings(frozenset({member}), reason="mixed another list than she received")
        current = _list_after(session, signed)
    return None


def _find_equal_envelopes(confessions: dict[int, Confession]) -> set[int]:
    """Envelopes are random and cannot be copied in time: equal ones were agreed on."""
    owners: dict[bytes, set[int]] = {}
    for member, confession in confessions.items():
        for sealed in confession.sealed:
            owners.setdefault(sealed, set()).add(member)
    return set[int]().union(*(shared for shared in owners.values() if len(shared) > 1))


def _find_groundless(session: Session, slots: Slots, testimonies: Testimonies) -> Findings:
    """After a sound mix: without an answer, with a missing message, or a groundless stop."""
    votes = {
        member: Vote.decode(slots[Kind.VOTE, member].body)
        for member in range(session.n)
        if (Kind.VOTE, member) in slots
    }
    silent = frozenset(set(range(session.n)) - testimonies.keys())
    stoppers = {member for member, vote in votes.items() if not vote.go}
    needed = all_slots(session)
    if not stoppers and len(votes) < session.n:
        silent |= frozenset(set(range(session.n)) - votes.keys() - testimonies.keys())
    if not stoppers and len(votes) == session.n and len({vote.transcript for vote in votes.values()}) == 1:
        stoppers = {
            member for member, testimony in testimonies.items() if isinstance(testimony, Confession)
        }  # all voted GO: none had a reason
        needed = all_slots(session, (Kind.VOTE,))
    groundless = {
        member
        for member, testimony in testimonies.items()
        if isinstance(testimony, Confession) and _confesses_without_cause(testimony, member, votes)
    }
    disputed = set[int]()
    for member in stoppers & testimonies.keys():
        missing = sorted(needed - testimonies[member].attestation.keys())
        if member in votes and not votes[member].go and silent - {member}:
            continue  # a silent member may be the reason
        checked = needed <= slots.keys()  # a missing message may have been faulty
        if (checked and not missing) or (member in votes and _accuses_falsely(session, slots, votes[member])):
            groundless.add(member)
        elif missing and missing[0][1] in testimonies:
            disputed |= {member, missing[0][1]}
    wrong = _wrong_hashes(votes, slots) if all_slots(session) <= slots.keys() else frozenset()
    if groundless or wrong:
        return Findings(frozenset(groundless) | wrong, silent, reason="stopped a sound run")
    return Findings(silent=silent, disputed=frozenset(disputed), reason="a message is missing")


def _confesses_without_cause(confession: Confession, member: int, votes: dict[int, Vote]) -> bool:
    """Without own vote, NO-GO or another confession."""
    received = confession.attestation
    may_have_cause = any(
        kind is Kind.BLAME or (kind is Kind.VOTE and not (m in votes and votes[m].go)) for kind, m in received
    )
    return not may_have_cause and (Kind.VOTE, member) not in received


def _accuses_falsely(session: Session, slots: Slots, vote: Vote) -> bool:
    """A NO-GO with a sound message, and all that it builds on."""
    if not vote.evidence:
        return False
    try:
        signed = open_frame(session, vote.evidence)
    except PeerError:
        return True
    hops = {(Kind.HOP, member) for member in range(signed.sender + 1)} if signed.kind is Kind.HOP else set()
    before = all_slots(session, (kind for kind in BEFORE_VOTE if kind < signed.kind)) | hops
    return before <= slots.keys()


def _wrong_hashes(votes: dict[int, Vote], slots: Slots) -> frozenset[int]:
    """GO over a transcript other than the one of all testimonies."""
    return frozenset(
        member for member, vote in votes.items() if vote.go and vote.transcript != transcript_hash(slots)
    )


def _inputs(session: Session, slots: Slots) -> tuple[Ciphertext, ...]:
    lists = (read_input(session, slots[Kind.INPUT_COMMIT, m], slots[Kind.INPUT, m]) for m in range(session.n))
    return tuple(ciphertext for ciphertexts in lists for ciphertext in ciphertexts)


def _list_after(session: Session, signed: SignedMessage) -> tuple[Ciphertext, ...]:
    return Hop.decode(session, signed.body, last=signed.sender == session.n - 1).shuffled
