"""False proofs in whole runs: each is refused, and blamed on her who sent it."""

import dataclasses
from collections.abc import Callable

import pytest

from mix_runs import Network, build, seed, session_of
from shoal_collect.crypto.elgamal import Ciphertext, combined_key
from shoal_collect.crypto.shuffle_proof import ShuffleProof
from shoal_collect.mix.member import AbortedRun, Event, Member
from shoal_collect.mix.messages import Hop, Kind, Session, encode, make_hop


class FalseHop(Member):
    """Sends what ``change`` makes of her sound hop."""

    def _make_hop(self) -> bytes:
        return encode(self.session.group, self.change(self.sound(self.session, self.me)))

    def sound(self, session: Session, me: int, part: bytes = b"") -> Hop:
        shares = [key.share for key in self._keys]
        keys = (shares[self.me], combined_key(session.group, shares[self.me + 1 :]))
        return make_hop(session, me, self._secret, keys, self._list, seed(self._hop_seed, part), bytes(32))

    def change(self, hop: Hop) -> Hop:
        raise NotImplementedError


class OfAnotherRound(FalseHop):
    def change(self, hop: Hop) -> Hop:
        other = dataclasses.replace(self.session, name=seed("another round"))
        return dataclasses.replace(hop, shuffle=self.sound(other, self.me).shuffle)


class OfAnotherPlace(FalseHop):
    def change(self, hop: Hop) -> Hop:
        return dataclasses.replace(hop, shuffle=self.sound(self.session, 1 - self.me).shuffle)


class OfAnotherOrder(FalseHop):
    """A sound proof about the same list, shuffled otherwise."""

    def change(self, hop: Hop) -> Hop:
        return dataclasses.replace(hop, shuffle=self.sound(self.session, self.me, b"another").shuffle)


class OfWhatSheReceived(FalseHop):
    """Passes on what the mixer before her sent, with that mixer's proof."""

    def change(self, hop: Hop) -> Hop:
        earlier = Hop.decode(self.session, self._slots[Kind.HOP, 0].body, last=False) if self.me else hop
        if not self.me:
            return dataclasses.replace(hop, shuffled=self._list)
        return dataclasses.replace(hop, shuffled=earlier.shuffled, shuffle=earlier.shuffle)


class TwoThatCancel(FalseHop):
    def change(self, hop: Hop) -> Hop:
        group, (a, b, *rest) = self.session.group, hop.shuffled
        changed = (
            Ciphertext(a.c1, group.times(a.c2, group.g)),
            Ciphertext(b.c1, group.over(b.c2, group.g)),
            *rest,
        )
        return dataclasses.replace(hop, shuffled=changed)


class BothPartsOutside(FalseHop):
    """A factor of -1 in two records: of their product nothing is seen."""

    def change(self, hop: Hop) -> Hop:
        p = self.session.group.p
        changed = [Ciphertext(p - one.c1, p - one.c2) for one in hop.shuffled[:2]]
        return dataclasses.replace(hop, shuffled=(*changed, *hop.shuffled[2:]))


def of_proof(change: Callable[[Session, ShuffleProof], ShuffleProof]) -> type[FalseHop]:
    class OfProof(FalseHop):
        def change(self, hop: Hop) -> Hop:
            assert hop.shuffle is not None
            return dataclasses.replace(hop, shuffle=change(self.session, hop.shuffle))

    return OfProof


def outside(part: str) -> Callable[[Session, ShuffleProof], ShuffleProof]:
    def change(session: Session, proof: ShuffleProof) -> ShuffleProof:
        a, b, *rest = getattr(proof, part)
        p = session.group.p
        return dataclasses.replace(proof, **{part: (p - a, p - b, *rest)})  # type: ignore[arg-type]  # elements

    return change


def one(_: Session, proof: ShuffleProof) -> ShuffleProof:
    return dataclasses.replace(proof, chain=(*proof.chain[:-1], proof.chain[0] * 0 + 1))


def end_beyond(session: Session, proof: ShuffleProof) -> ShuffleProof:
    """The same number modulo the order, which fits into its bytes."""
    keys, end, *rest = proof.totals
    return dataclasses.replace(proof, totals=(keys, end + int(session.group.q), rest[0], rest[1]))


FALSE: dict[str, type[FalseHop]] = {
    "of another round": OfAnotherRound,
    "of another place": OfAnotherPlace,
    "of another order": OfAnotherOrder,
    "of what she received": OfWhatSheReceived,
    "two that cancel": TwoThatCancel,
    "both parts outside the subgroup": BothPartsOutside,
    "commitments outside the subgroup": of_proof(outside("commitments")),
    "chain outside the subgroup": of_proof(outside("chain")),
    "1 in the chain": of_proof(one),
    "an end beyond the order": of_proof(end_beyond),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_hop_is_blamed_on_who_sent_it(name: str) -> None:
    place = list(FALSE).index(name) % 2
    session = dataclasses.replace(session_of(3, 1, name="false hops"), proven=True)
    members = build(session, {place: FALSE[name]})
    outcomes = Network(members).run()
    others = set(range(3)) - {place}
    assert len(others) == 2
    for me in others:
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.culprits == {place}
        assert outcome.findings.reason == "a bad hop message"


class Accepts(Member):
    """Takes every hop for sound and goes on, as somebody would who plays with its sender."""

    def _read_hop(self) -> Event:
        found = super()._read_hop()
        if found is not Event.FAULTY:
            return found
        self._evidence = None
        self._list = Hop.decode(self.session, self._slots[Kind.HOP, self._hop].body, last=False).shuffled
        return Event.SOUND


def test_two_of_four_who_play_together_bring_the_blame_on_nobody_else() -> None:
    session = dataclasses.replace(session_of(4, 1, name="two cheaters"), proven=True)
    members = build(session, {1: TwoThatCancel, 2: Accepts})
    outcomes = Network(members, schedule=7).run()  # one in which nobody stops her before
    assert (Kind.HOP, 2) in members[2]._slots, "she went on with the false list"
    for me in (0, 3):
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.culprits == {1}
        assert outcome.findings.reason == "a bad hop message"
