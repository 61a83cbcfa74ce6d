"""The faults that signed messages prove to an outsider.

The person showing them may leave some out, or have agreed on a story. So a fault counts only where the
culprit's own messages show it, or where the culprit's testimony admits having received the very messages by
which the part is judged. Testifying to fewer messages than must have been received is a fault, too.
"""

from collections.abc import Iterable, Sequence

from shoal_collect.crypto import envelope
from shoal_collect.faults import PeerError
from shoal_collect.mix.blame import Testimonies, audit, find_liars, read_testimonies
from shoal_collect.mix.message_log import MessageLog
from shoal_collect.mix.messages import Opening, Vote
from shoal_collect.mix.session import Kind, Session, open_frame
from shoal_collect.mix.transcript import BEFORE_VOTE, Slots, read_input, read_key

_NOBODY = -1
_AFTER = (Kind.VOTE, Kind.OPEN, Kind.BLAME)
# the kinds that all must have sent before a member sends a message of a kind
_BEFORE = {Kind.KEY: Kind.KEY_COMMIT, Kind.INPUT_COMMIT: Kind.KEY, Kind.INPUT: Kind.INPUT_COMMIT}


def choose_evidence(received: MessageLog, testimonies: Testimonies, culprit: int) -> list[bytes]:
    """Messages that may prove a fault: what the member sent or received, with all votes and testimonies."""
    testimony = testimonies.get(culprit)
    received_slots = set[tuple[Kind, int]]() if testimony is None else set(testimony.attestation)
    chosen = [
        signed.frame
        for slot, signed in sorted(received.slots.items())
        if slot[1] == culprit or slot[0] in _AFTER or slot in received_slots
    ]
    second = received.conflicts.get(culprit)
    return chosen if second is None else [*chosen, second.frame]


def find_proven_culprits(session: Session, frames: Sequence[bytes]) -> frozenset[int]:
    """The members whose fault these messages prove.

    ``frames``: any selection. PeerError for a message of another run.
    """
    received = MessageLog(session, _NOBODY)
    for frame in frames:
        try:
            received.take(open_frame(session, frame))
        except PeerError as error:
            if error.kind != "duplicate":  # a vote may have brought it as evidence
                raise
    if received.conflicts:
        return frozenset(received.conflicts)
    slots = received.slots
    bad, testimonies = read_testimonies(session, slots)
    if bad:
        return bad
    lied = find_liars(session, slots, testimonies)
    if lied is not None:
        return lied.culprits
    alone = frozenset(m for m in range(session.n) if _shows_fault(session, slots, testimonies, m))
    return alone or frozenset(
        m
        for m in audit(session, slots, frozenset()).culprits
        if m in testimonies and _testifies_to_inputs(slots, testimonies, m)
    )


def _shows_fault(session: Session, slots: Slots, testimonies: Testimonies, member: int) -> bool:
    """Own messages suffice."""
    try:
        if {(Kind.KEY_COMMIT, member), (Kind.KEY, member)} <= slots.keys():
            key = read_key(session, slots[Kind.KEY_COMMIT, member], slots[Kind.KEY, member])
            testimony = testimonies.get(member)
            if isinstance(testimony, Opening) and not envelope.is_secret_of(
                testimony.inner_secret, key.inner
            ):
                return True
        if {(Kind.INPUT_COMMIT, member), (Kind.INPUT, member)} <= slots.keys():
            read_input(session, slots[Kind.INPUT_COMMIT, member], slots[Kind.INPUT, member])
    except PeerError:
        return True
    return member in testimonies and not _required_slots(session, slots, member) <= (
        testimonies[member].attestation.keys()
    )


def _required_slots(session: Session, slots: Slots, member: int) -> set[tuple[Kind, int]]:
    """What an honest member had before sending hers."""
    everybody = range(session.n)

    def all_of(kinds: Iterable[Kind]) -> set[tuple[Kind, int]]:
        return {(kind, m) for kind in kinds for m in everybody}

    needed = all_of(kind for sent, kind in _BEFORE.items() if (sent, member) in slots)
    if (Kind.HOP, member) in slots:
        needed |= all_of([Kind.INPUT]) | {(Kind.HOP, m) for m in range(member)}
    vote = slots.get((Kind.VOTE, member))
    if vote is not None and Vote.decode(vote.body).go:
        needed |= all_of([Kind.HOP])
    if (Kind.OPEN, member) in slots:
        needed |= all_of([Kind.VOTE])
    return needed


def _testifies_to_inputs(slots: Slots, testimonies: Testimonies, member: int) -> bool:
    """Each message of others by which the part is judged."""
    judged_by = {slot for slot in slots if slot[0] in BEFORE_VOTE and slot[1] != member}
    return judged_by <= testimonies[member].attestation.keys()
