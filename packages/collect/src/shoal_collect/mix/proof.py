"""What signed messages prove to somebody who was not there, and who trusts nobody who shows them.

Whoever shows them may leave some out, or have agreed with others on what they say. So a fault counts only
where the culprit's own messages show it, or where her testimony says that she had received the very messages
that her part is judged by. Whoever testifies to less than she must have received has shown a fault, too.
"""

from collections.abc import Iterable, Sequence

from shoal_collect.crypto import envelope
from shoal_collect.faults import PeerError
from shoal_collect.mix.blame import Testimonies, audit, liars, read_testimonies
from shoal_collect.mix.messages import Opening, Vote
from shoal_collect.mix.received import Received
from shoal_collect.mix.session import Kind, Session, open_frame
from shoal_collect.mix.transcript import BEFORE_VOTE, Slots, read_input, read_key

_NOBODY = -1
_AFTER = (Kind.VOTE, Kind.OPEN, Kind.BLAME)
# what everybody must have sent before a member sends a message of a kind
_BEFORE = {Kind.KEY: Kind.KEY_COMMIT, Kind.INPUT_COMMIT: Kind.KEY, Kind.INPUT: Kind.INPUT_COMMIT}


def evidence(received: Received, testimonies: Testimonies, culprit: int) -> list[bytes]:
    """Choose the messages that may prove a member's fault to others: hers, and those that she received.

    Votes and testimonies of all are among them.
    """
    given = testimonies.get(culprit)
    seen = set[tuple[Kind, int]]() if given is None else set(given.attestation)
    chosen = [
        signed.frame
        for slot, signed in sorted(received.slots.items())
        if slot[1] == culprit or slot[0] in _AFTER or slot in seen
    ]
    second = received.conflicts.get(culprit)
    return chosen if second is None else [*chosen, second.frame]


def proven(session: Session, frames: Sequence[bytes]) -> frozenset[int]:
    """Find the members against whom these messages prove a fault.

    Parameters
    ----------
    session
        The run, whose name everything is signed for.
    frames
        Messages of it, as somebody chose them.

    Raises
    ------
    PeerError
        If one is not a message of this run.
    """
    received = Received(session, _NOBODY)
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
    lied = liars(session, slots, testimonies)
    if lied is not None:
        return lied.culprits
    alone = frozenset(m for m in range(session.n) if _shows_her_own_fault(session, slots, testimonies, m))
    return alone or frozenset(
        m
        for m in audit(session, slots, frozenset()).culprits
        if m in testimonies and _had_received(slots, testimonies, m)
    )


def _shows_her_own_fault(session: Session, slots: Slots, testimonies: Testimonies, member: int) -> bool:
    """Whether her own messages are enough, whatever others sent."""
    try:
        if {(Kind.KEY_COMMIT, member), (Kind.KEY, member)} <= slots.keys():
            key = read_key(session, slots[Kind.KEY_COMMIT, member], slots[Kind.KEY, member])
            given = testimonies.get(member)
            if isinstance(given, Opening) and not envelope.fits(given.inner_secret, key.inner):
                return True
        if {(Kind.INPUT_COMMIT, member), (Kind.INPUT, member)} <= slots.keys():
            read_input(session, slots[Kind.INPUT_COMMIT, member], slots[Kind.INPUT, member])
    except PeerError:
        return True
    return member in testimonies and not _must_have_received(session, slots, member) <= (
        testimonies[member].attestation.keys()
    )


def _must_have_received(session: Session, slots: Slots, member: int) -> set[tuple[Kind, int]]:
    """What an honest member had before she sent what she has sent."""
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


def _had_received(slots: Slots, testimonies: Testimonies, member: int) -> bool:
    """Whether she testifies to every message of others by which her part is judged."""
    judged_by = {slot for slot in slots if slot[0] in BEFORE_VOTE and slot[1] != member}
    return judged_by <= testimonies[member].attestation.keys()
