"""Proofs of shuffles: sound ones pass, any change is refused, and cheaters are named at their hop."""

import dataclasses
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

from in_process import Network
from mix_runs import LIMIT_S, SMALL, Drop, Duplicate, Replace, Tag, build, records_of, seed, session_of
from shoal.errors import MisuseError
from shoal_collect.crypto import elgamal
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.elgamal import Ciphertext, remask_with
from shoal_collect.crypto.group import Powers
from shoal_collect.crypto.shuffle_proof import (
    Shuffle,
    ShuffleProof,
    proof_bytes,
    prove_shuffle,
    read_shuffle_proof,
    require_shuffle_proof,
)
from shoal_collect.faults import PeerError
from shoal_collect.mix.member import AbortedRun, Member, OpenedRecords
from shoal_collect.mix.messages import Kind, Reader, Session

SECRET = mpz(123_456_789)
Y = SMALL.power(SMALL.g, SECRET)
P = int(SMALL.p)


@pytest.mark.parametrize("bits", [1, 6, 7, 100])
def test_powers_by_a_table_are_powers(bits: int) -> None:
    powers, chance = Powers(SMALL, Y, bits), random.Random(bits)
    for exponent in {
        0,
        1,
        (1 << bits) - 1,
        1 << (bits - 1),
        *(chance.randrange(1 << bits) for _ in range(40)),
    }:
        assert powers.of(exponent) == pow(int(Y), exponent, int(SMALL.p))
    for beyond in (-1, 1 << (6 * -(-bits // 6))):
        with pytest.raises(MisuseError):
            powers.of(beyond)


Change = Callable[[list[Ciphertext]], list[Ciphertext]]


def lists(size: int = 5) -> tuple[list[Ciphertext], list[Ciphertext], list[int], list[int]]:
    """Before, after, order and masks."""
    chance = Chance(seed("shuffle", size))
    before = [elgamal.encrypt(SMALL, Y, SMALL.encode(bytes((i,)) * 8, 8), chance) for i in range(size)]
    order, masks = chance.permutation(size), [SMALL.draw_secret(chance) for _ in range(size)]
    return (
        before,
        [remask_with(SMALL, Y, before[place], masks[place]) for place in order],
        order,
        list(map(int, masks)),
    )


@given(st.lists(st.tuples(st.integers(0, P - 1), st.integers(0, (1 << 100) - 1)), max_size=40))
def test_a_product_of_powers_is_one(terms: list[tuple[int, int]]) -> None:
    product = 1
    for base, exponent in terms:
        product = product * pow(base, exponent, P) % P
    bases, exponents = [mpz(base) for base, _ in terms], [exponent for _, exponent in terms]
    assert SMALL.product_of_powers(bases, exponents, 100) == product


@pytest.mark.parametrize("size", [1, 2, 5, 17])
def test_a_sound_shuffle_passes_as_it_is_read_again(size: int) -> None:
    before, after, order, masks = lists(size)
    proof = prove_shuffle(Shuffle(SMALL, Y, before, after, b"c"), order, masks, Chance(bytes(32)))
    sent = proof.encode(SMALL)
    assert len(sent) == proof_bytes(SMALL, size)
    assert read_again(sent, size) == proof
    require_shuffle_proof(Shuffle(SMALL, Y, before, after, b"c"), read_again(sent, size))


def read_again(sent: bytes, size: int) -> ShuffleProof:
    with Reader(session_of(3, 1), sent) as reader:
        return read_shuffle_proof(SMALL, size, reader.element, reader.take)


def tag(after: list[Ciphertext]) -> list[Ciphertext]:
    return [Ciphertext(after[0].c1, SMALL.times(after[0].c2, SMALL.g)), *after[1:]]


CHANGES: dict[str, Change] = {
    "tagged": tag,
    "copied": lambda after: [after[1], *after[1:]],
    "dropped": lambda after: after[1:],
    "replaced": lambda after: [
        elgamal.encrypt(SMALL, Y, SMALL.encode(bytes(8), 8), Chance(bytes(32))),
        *after[1:],
    ],
    "two that cancel": lambda after: [
        Ciphertext(after[0].c1, SMALL.times(after[0].c2, SMALL.g)),
        Ciphertext(after[1].c1, SMALL.over(after[1].c2, SMALL.g)),
        *after[2:],
    ],
    "under another key": lambda after: [
        remask_with(SMALL, SMALL.times(Y, SMALL.g), after[0], mpz(5)),
        *after[1:],
    ],
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_list_is_refused_with_an_honest_or_a_new_proof(name: str) -> None:
    before, after, order, masks = lists()
    honest = prove_shuffle(Shuffle(SMALL, Y, before, after, b"c"), order, masks, Chance(bytes(32)))
    changed = CHANGES[name](after)
    with pytest.raises(PeerError):
        require_shuffle_proof(Shuffle(SMALL, Y, before, changed, b"c"), honest)
    if len(changed) < len(after):
        return
    anew = prove_shuffle(Shuffle(SMALL, Y, before, changed, b"c"), order, masks, Chance(seed(1)))
    with pytest.raises(PeerError):
        require_shuffle_proof(Shuffle(SMALL, Y, before, changed, b"c"), anew)


def test_a_copy_does_not_pass_as_an_order_that_names_a_place_twice() -> None:
    before, _, _, masks = lists()
    for order in ([1, 1, 2, 3, 4], [0, 0, 0, 0, 0], [4, 3, 3, 1, 0]):
        after = [remask_with(SMALL, Y, before[place], mpz(masks[place])) for place in order]
        proof = prove_shuffle(Shuffle(SMALL, Y, before, after, b"c"), order, masks, Chance(bytes(32)))
        members = tuple(one or SMALL.g for one in proof.commitments)  # of whom no place remains
        with pytest.raises(PeerError, match="bad-proof"):
            require_shuffle_proof(Shuffle(SMALL, Y, before, after, b"c"), replace(proof, commitments=members))


def test_commitments_to_another_order_do_not_pass() -> None:
    """They come before the weights: with any other commitment all weights are others."""
    before, after, order, masks = lists()
    proof = prove_shuffle(Shuffle(SMALL, Y, before, after, b"c"), order, masks, Chance(bytes(32)))
    swapped = (proof.commitments[1], proof.commitments[0], *proof.commitments[2:])
    with pytest.raises(PeerError, match="bad-proof"):
        require_shuffle_proof(Shuffle(SMALL, Y, before, after, b"c"), replace(proof, commitments=swapped))


def test_a_proof_is_bound_to_its_place_and_no_part_can_change() -> None:
    before, after, order, masks = lists(3)
    proof = prove_shuffle(Shuffle(SMALL, Y, before, after, b"c"), order, masks, Chance(bytes(32)))
    for context, first, key in (
        (b"d", before, Y),
        (b"c", before[::-1], Y),
        (b"c", before, SMALL.times(Y, SMALL.g)),
    ):
        with pytest.raises(PeerError):
            require_shuffle_proof(Shuffle(SMALL, key, first, after, context), proof)
    sent, refused = proof.encode(SMALL), 0
    for at in range(0, len(sent), 41):
        wrong = sent[:at] + bytes((sent[at] ^ 1 << at % 8,)) + sent[at + 1 :]
        with pytest.raises(PeerError):
            require_shuffle_proof(Shuffle(SMALL, Y, before, after, b"c"), read_again(wrong, 3))
        refused += 1
    assert refused > 15
    for cut in (sent[:-1], sent + b"a"):
        with pytest.raises(PeerError):
            read_again(cut, 3)
    with pytest.raises(PeerError, match="another number of records"):
        require_shuffle_proof(Shuffle(SMALL, Y, before[1:], after[1:], b"c"), proof)


def test_answers_are_as_long_as_the_masks_that_hide_what_is_in_them() -> None:
    before, after, order, masks = lists()
    answers = []
    for number in range(40):
        proof = prove_shuffle(Shuffle(SMALL, Y, before, after, b"c"), order, masks, Chance(seed(number)))
        answers.append([one.bit_length() for one in proof.moved + proof.links])
    longest = [max(column) for column in zip(*answers, strict=True)]
    assert set(longest[:5]) <= {382, 383, 384}, "128 bits of a weight, 128 of the challenge, 128 more"
    assert set(longest[5:]) <= {542, 543, 544}


def proven(n: int) -> Session:
    return dataclasses.replace(session_of(n, 1, name="proven"), proven=True)


def test_a_proven_run_opens_the_same_records() -> None:
    session = proven(3)
    members = build(session)
    outcomes = Network(LIMIT_S).run(members)
    expected = tuple(sorted(record for me in range(3) for record in records_of(session, me)))
    assert [one.records for one in outcomes if isinstance(one, OpenedRecords)] == [expected] * 3


@pytest.mark.parametrize("kind", [Duplicate, Replace, Tag, Drop], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("place", [0, 1])
def test_cheaters_are_stopped_at_their_own_hop(kind: type[Member], place: int) -> None:
    members = build(proven(3), {place: kind})
    outcomes = Network(LIMIT_S).run(members)
    for me in set(range(3)) - {place}:
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.culprits == {place}
        assert outcome.findings.reason == "a bad hop message"
    assert (Kind.HOP, 2) not in members[2]._slots, "nobody went on with a bad list"
