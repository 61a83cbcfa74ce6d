"""Nobody can bring an honest mixer to send what others must refuse."""

import dataclasses

import pytest
from gmpy2 import mpz

from mix_runs import Network, _Mixer, build, session_of
from shoal_collect.crypto.elgamal import Ciphertext, combined_key
from shoal_collect.mix.member import AbortedRun, Member
from shoal_collect.mix.messages import Kind, Session, Vote, decode_list, encode


class _OneForSomebody(Member):
    """Puts in what becomes 1 when somebody strips it, so that it looks like no member of the group."""

    def stripped_by(self) -> range:
        raise NotImplementedError

    def _make_input(self) -> bytes:
        group, listed = self.session.group, list(decode_list(self.session, super()._make_input()))
        key = combined_key(group, [self._keys[m].share for m in self.stripped_by()])
        mask = mpz(123_456_789)
        listed[0] = Ciphertext(group.power(group.g, mask), group.power(key, mask))
        return encode(group, listed)


class OneForTheFirst(_OneForSomebody):
    def stripped_by(self) -> range:
        return range(1)


class OneForTheLast(_OneForSomebody):
    def stripped_by(self) -> range:
        return range(self.session.n)


def session(*, with_proofs: bool) -> Session:
    return dataclasses.replace(session_of(3, 2, name="framing"), proven=with_proofs)


@pytest.mark.parametrize("with_proofs", [False, True], ids=["replayed", "proven"])
@pytest.mark.parametrize("kind", [OneForTheFirst, OneForTheLast], ids=lambda kind: kind.__name__)
def test_who_puts_in_what_becomes_one_is_named_and_not_the_mixer(
    kind: type[Member], with_proofs: bool
) -> None:
    run = session(with_proofs=with_proofs)
    members = build(run, {1: kind})
    outcomes = Network(members).run()
    for me in (0, 2):
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.culprits == {1}
        assert outcome.findings.reason == "put in what she cannot account for"


class AccusesTheMixer(Member):
    """Stops the run with the hop of her who had to strip what became 1, as if that were her fault."""

    def _make_vote(self) -> Vote:
        return Vote(False, super()._make_vote().transcript, self._slots[Kind.HOP, 0].frame)


def test_two_of_four_who_play_together_do_not_frame_the_mixer() -> None:
    run = session_of(4, 2, name="framing by two")
    members = build(run, {1: OneForTheFirst, 3: AccusesTheMixer})
    outcomes = Network(members).run()
    for me in (0, 2):
        assert Vote.decode(members[me]._slots[Kind.VOTE, 3].body).evidence
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.culprits
        assert outcome.findings.culprits <= {1, 3}


class OneForTheNext(_Mixer):
    """Passes on what becomes 1 when the next one strips it."""

    def spoil(self, shuffled: tuple[Ciphertext, ...], rest: mpz) -> tuple[Ciphertext, ...]:
        group, mask = self.session.group, mpz(123_456_789)
        share = self._keys[self.me + 1].share
        return (Ciphertext(group.power(group.g, mask), group.power(share, mask)), *shuffled[1:])


@pytest.mark.parametrize(
    ("with_proofs", "reason"),
    [(False, "mixed another list than she received"), (True, "a bad hop message")],
    ids=["replayed", "proven"],
)
def test_who_passes_on_what_becomes_one_is_named_and_not_the_next(with_proofs: bool, reason: str) -> None:
    outcomes = Network(build(session(with_proofs=with_proofs), {0: OneForTheNext})).run()
    for me in (1, 2):
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.culprits == {0}
        assert outcome.findings.reason == reason
