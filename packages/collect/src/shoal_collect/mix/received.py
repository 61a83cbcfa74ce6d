"""The messages that a member has received and sent: one for each place, and proof against who sent two."""

from collections.abc import Collection

from shoal_collect.faults import PeerError
from shoal_collect.mix.blame import read_testimonies
from shoal_collect.mix.messages import Attestation, Vote
from shoal_collect.mix.session import Kind, Session, Signed, open_frame
from shoal_collect.mix.transcript import Slots


class Received:
    """One member's view of the run.

    ``conflicts`` holds a second message of each sender who signed two for one place.
    """

    def __init__(self, session: Session, me: int) -> None:
        self._session, self._me = session, me
        self.slots: Slots = {}
        self.conflicts: dict[int, Signed] = {}

    def take(self, signed: Signed) -> None:
        """Put a message in its place; raise PeerError for a copy.

        A second, different message proves that its sender is at fault.
        """
        slot = (signed.kind, signed.sender)
        there = self.slots.get(slot)
        if there is None:
            self.slots[slot] = signed
        elif there.digest == signed.digest:
            raise PeerError("duplicate", "a message that is already there")
        elif signed.sender != self._me:
            self.conflicts[signed.sender] = signed
        if signed.kind is Kind.VOTE and there is None:
            self._take_evidence(signed)

    def _take_evidence(self, signed: Signed) -> None:
        """A NO-GO may bring the message that is to blame for it."""
        try:
            vote = Vote.decode(signed.body)
            if vote.evidence:
                evidence = open_frame(self._session, vote.evidence)
                if evidence.kind is not Kind.VOTE:
                    self.take(evidence)
        except PeerError:
            return  # the audit judges a vote that cannot be read; evidence that cannot be read is none

    def silent(self, kinds: Collection[Kind]) -> frozenset[int]:
        """The members of whom no message of these kinds is there."""
        members = range(self._session.n)
        return frozenset(m for m in members if not any((kind, m) in self.slots for kind in kinds))

    def overdue(self) -> frozenset[int]:
        """Members whose earlier messages others have seen but we have not (later ones may overtake them)."""
        if not any(kind is Kind.BLAME for kind, _ in self.slots):
            return frozenset()
        _, given = read_testimonies(self._session, self.slots)
        return frozenset(
            slot[1]
            for testimony in given.values()
            for slot in testimony.attestation
            if slot not in self.slots
        )

    def others_stop(self) -> bool:
        """Say whether somebody voted NO-GO, sent a vote that cannot be read, or already confesses."""
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
        """Digest and signature of everything received and sent so far."""
        return {slot: (signed.digest, signed.signature) for slot, signed in self.slots.items()}
