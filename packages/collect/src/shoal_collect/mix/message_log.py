"""A member's messages: one per slot, with proof against senders of two."""

from collections.abc import Collection

from shoal_collect.faults import PeerError
from shoal_collect.mix.blame import read_testimonies
from shoal_collect.mix.messages import Attestation, Vote
from shoal_collect.mix.session import Kind, Session, SignedMessage, open_frame
from shoal_collect.mix.transcript import Slots


class MessageLog:
    """``conflicts``: a second signed message per cheating sender."""

    def __init__(self, session: Session, me: int) -> None:
        self._session, self._me = session, me
        self.slots: Slots = {}
        self.conflicts: dict[int, SignedMessage] = {}

    def take(self, signed: SignedMessage) -> None:
        """Store a message; PeerError for a copy.

        A different second one proves its sender's fault.
        """
        slot = (signed.kind, signed.sender)
        earlier = self.slots.get(slot)
        if earlier is None:
            self.slots[slot] = signed
        elif earlier.digest == signed.digest:
            raise PeerError("duplicate", "a message that is already there")
        elif signed.sender != self._me:
            self.conflicts[signed.sender] = signed
        if signed.kind is Kind.VOTE and earlier is None:
            self._take_evidence(signed)

    def _take_evidence(self, signed: SignedMessage) -> None:
        """A NO-GO may carry it."""
        try:
            vote = Vote.decode(signed.body)
            if vote.evidence:
                evidence = open_frame(self._session, vote.evidence)
                if evidence.kind is not Kind.VOTE:
                    self.take(evidence)
        except PeerError:
            return  # the audit judges a vote that cannot be read; evidence that cannot be read is none

    def silent(self, kinds: Collection[Kind]) -> frozenset[int]:
        """Without a message of these kinds."""
        members = range(self._session.n)
        return frozenset(m for m in members if not any((kind, m) in self.slots for kind in kinds))

    def overdue(self) -> frozenset[int]:
        """Attested but missing here (later ones may overtake them)."""
        if not any(kind is Kind.BLAME for kind, _ in self.slots):
            return frozenset()
        _, testimonies = read_testimonies(self._session, self.slots)
        return frozenset(
            slot[1]
            for testimony in testimonies.values()
            for slot in testimony.attestation
            if slot not in self.slots
        )

    def is_stopped(self) -> bool:
        """A NO-GO, an unreadable vote, or a confession."""
        for (kind, _), signed in self.slots.items():
            if kind is Kind.BLAME:
                return True
            if kind is Kind.VOTE:
                try:
                    if not Vote.decode(signed.body).go:
                        return True
                except PeerError:
                    return True
        return False

    def attestation(self) -> Attestation:
        """Digest and signature of all messages so far."""
        return {slot: (signed.digest, signed.signature) for slot, signed in self.slots.items()}
