"""Whoever knows the argument as well as the mixer does, and lies: nothing but a permutation passes."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from math import prod

import pytest
from gmpy2 import invert, jacobi, mpz

from mix_runs import seed
from shoal_collect.crypto import elgamal, shuffle_proof
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.elgamal import Ciphertext, remask_with
from shoal_collect.crypto.group import FFDHE3072, Group
from shoal_collect.crypto.shuffle_proof import Shuffle, ShuffleProof, prove_shuffle, require_shuffle_proof
from shoal_collect.faults import PeerError

Matrix = Sequence[Sequence[int]]
Case = tuple[list[Ciphertext], list[Ciphertext], list[int], list[int]]
# a safe prime of 200 bits: enough for answers to be found by nobody who takes milliseconds
TINY = Group(mpz("b0e162981d33591915d7801d319283a1998249cffc2723c4cf", 16), mpz(4))
Y = TINY.power(TINY.g, mpz(123_456_789))
IDENTITY = {n: [[int(i == j) for j in range(n)] for i in range(n)] for n in (1, 2, 3)}


def encrypted(group: Group, y: mpz, plains: Sequence[int], chance: Chance) -> list[Ciphertext]:
    return [elgamal.encrypt(group, y, group.power(group.g, mpz(one)), chance) for one in plains]


def combined(group: Group, elements: Sequence[mpz], powers: Sequence[int]) -> mpz:
    return prod((pow(e, p, group.p) for e, p in zip(elements, powers, strict=True)), start=mpz(1)) % group.p


def made_with(matrix: Matrix) -> Matrix:
    """What becomes of the list so that all statements about its products hold: the inverse, transposed.

    A matrix that has none is its own.
    """
    n, q = len(matrix), TINY.q
    rows = [[mpz(one) for one in row] + [mpz(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    for at in range(n):
        pivot = next((row for row in rows[at:] if row[at] % q), None)
        if pivot is None:
            return matrix
        rows.remove(pivot)
        pivot = [one * invert(pivot[at], q) % q for one in pivot]
        rows = [[(a - row[at] * b) % q for a, b in zip(row, pivot, strict=True)] for row in rows]
        rows.insert(at, pivot)
    return [[int(rows[j][n + i]) for j in range(n)] for i in range(n)]


class Forger:
    """Commits to a matrix, and makes of the list what lets her prove as much as she can.

    Where the matrix is a permutation's she is an honest mixer. She follows the argument in everything but
    what a subclass changes; her answers are sums of what she drew and of what she would have to know.
    """

    def __init__(self, matrix: Matrix, context: bytes = b"c") -> None:
        chance, self.n, self.context = Chance(seed("forger")), len(matrix), context
        self.before = encrypted(TINY, Y, range(2, 2 + self.n), chance)
        masks = [int(TINY.draw_secret(chance)) for _ in matrix]
        self.after = [
            remask_with(
                TINY,
                Y,
                Ciphertext(
                    combined(TINY, [one.c1 for one in self.before], row),
                    combined(TINY, [one.c2 for one in self.before], row),
                ),
                mpz(mask),
            )
            for row, mask in zip(made_with(matrix), masks, strict=True)
        ]
        start, self.bases = shuffle_proof._generators(TINY, self.n)
        keys = [int(TINY.draw_secret(chance)) for _ in matrix]
        self.commitments = [
            TINY.power(TINY.g, mpz(key)) * combined(TINY, self.bases, column) % TINY.p
            for key, column in zip(keys, zip(*matrix, strict=True), strict=True)
        ]
        self.claim = Shuffle(TINY, Y, self.before, self.after, context)
        self.statement = shuffle_proof._statement(self.claim, self.commitments)
        self.weights = shuffle_proof._weights(self.statement, self.n)
        self.moved = [sum(a * b for a, b in zip(row, self.weights, strict=True)) for row in matrix]
        self.chained = self.chain_weights()
        links, self.chain, end = [int(TINY.draw_secret(chance)) for _ in matrix], [start], 0
        for weight, link in zip(self.chained, links, strict=True):
            self.chain.append(
                TINY.power(TINY.g, mpz(link)) * TINY.power(self.chain[-1], mpz(weight)) % TINY.p
            )
            end = int((link + weight * end) % TINY.q)
        own = (
            sum(keys),
            end,
            sum(key * weight for key, weight in zip(keys, self.weights, strict=True)),
            sum(mask * weight for mask, weight in zip(masks, self.moved, strict=True)),
        )
        drawn = [chance.below(1 << 300) for _ in range(4 + 2 * self.n)]
        announced = shuffle_proof._map_totals(
            self.claim,
            drawn[:4],
            TINY.power,
            lambda of: TINY.product_of_powers(of, drawn[4 : 4 + self.n], 304),
            self.bases,
        )
        announced += [
            TINY.power(TINY.g, mpz(link)) * TINY.power(earlier, mpz(weight)) % TINY.p
            for weight, link, earlier in zip(
                drawn[4 : 4 + self.n], drawn[4 + self.n :], self.chain[:-1], strict=True
            )
        ]
        self.challenge = shuffle_proof._challenge(TINY, self.statement, self.chain[1:], announced)
        totals = [one + self.challenge * of for one, of in zip(drawn, own, strict=False)]
        totals[1] %= int(TINY.q)
        self.proof = ShuffleProof(
            tuple(self.commitments),
            tuple(self.chain[1:]),
            self.challenge,
            (totals[0], totals[1], totals[2], totals[3]),
            tuple(map(self.answer, drawn[4 : 4 + self.n], self.moved, self.chained)),
            tuple(one + self.challenge * of for one, of in zip(drawn[4 + self.n :], links, strict=True)),
        )

    def chain_weights(self) -> list[int]:
        return self.moved

    def answer(self, drawn: int, moved: int, chained: int) -> int:
        assert moved == chained or type(self) is not Forger
        return drawn + self.challenge * moved

    def passes(self) -> bool:
        try:
            require_shuffle_proof(Shuffle(TINY, Y, self.before, self.after, self.context), self.proof)
        except PeerError:
            return False
        return True


class FittingChain(Forger):
    """Her chain has the product that it should have; her answers are those of the other weights."""

    def chain_weights(self) -> list[int]:
        return self.weights


class AnswersForTheChain(FittingChain):
    def answer(self, drawn: int, moved: int, chained: int) -> int:
        return drawn + self.challenge * chained


class TwoAnswersInOne(FittingChain):
    """Whoever reads only the low bits finds the moved weights, who reads all modulo q those of the chain."""

    def answer(self, drawn: int, moved: int, chained: int) -> int:
        beyond = 1 << 1024
        high = self.challenge * (chained - moved) * invert(mpz(beyond), TINY.q) % TINY.q
        return int(drawn + self.challenge * moved + beyond * high)


ORDERS: list[Matrix] = [
    tuple(order) for n in (1, 2, 3) for order in itertools.permutations(tuple(map(tuple, IDENTITY[n])))
]


def test_of_all_matrices_only_permutations_pass() -> None:
    drawn = random.Random(0)
    others: list[Matrix] = [((0,),), ((2,),), ((-1,),)]
    for size, number in ((2, 25), (3, 12)):
        others += [
            tuple(tuple(drawn.choices((-1, 0, 1, 2), k=size)) for _ in range(size)) for _ in range(number)
        ]
    # rows that sum to 1, so that only the product of the weights tells
    others += [((a, 1 - a), (b, 1 - b)) for a in range(-1, 3) for b in range(-1, 3)]
    others = [one for one in others if one not in ORDERS]
    assert len(others) > 40
    assert all(Forger(one).passes() for one in ORDERS)
    assert not any(Forger(one).passes() for one in others)


COPY: Matrix = ((0, 1, 0), (0, 1, 0), (1, 0, 0))  # one record twice, another not at all
JOINED: Matrix = ((2, -1, 0), (0, 1, 0), (0, 0, 1))  # halves of one in another: all hold but the product


@pytest.mark.parametrize("matrix", [COPY, JOINED])
@pytest.mark.parametrize("kind", [Forger, FittingChain, AnswersForTheChain, TwoAnswersInOne])
def test_no_chain_helps_a_list_that_is_no_permutation(kind: type[Forger], matrix: Matrix) -> None:
    assert not kind(matrix).passes()


def refusal(proof: ShuffleProof, honest: Forger, context: bytes = b"c") -> str:
    with pytest.raises(PeerError) as caught:
        require_shuffle_proof(Shuffle(TINY, Y, honest.before, honest.after, context), proof)
    return caught.value.kind


def test_answers_outside_their_ranges_are_refused_though_they_are_the_same_modulo_the_order() -> None:
    honest, q = Forger(IDENTITY[3]), int(TINY.q)
    assert honest.passes()
    refused = 0
    for more in (q, -(q << 1000), q << 1000):
        for at in range(4):
            totals = [one + more * (place == at) for place, one in enumerate(honest.proof.totals)]
            if at != 1 and more == q:
                continue  # the group is so small that both are in range; in that of the service none is
            wrong = replace(honest.proof, totals=(totals[0], totals[1], totals[2], totals[3]))
            assert refusal(wrong, honest) == "out-of-range"
            refused += 1
        if more == q:
            continue
        proof = honest.proof
        for wrong in (
            replace(proof, moved=(proof.moved[0] + more, *proof.moved[1:])),
            replace(proof, links=(proof.links[0] + more, *proof.links[1:])),
        ):
            assert refusal(wrong, honest) == "out-of-range"
            refused += 1
    assert refused == 1 + 2 * 6
    for challenge in (honest.proof.challenge - (1 << 128), honest.proof.challenge + (1 << 128)):
        assert refusal(replace(honest.proof, challenge=challenge), honest) == "out-of-range"


def test_in_the_group_of_the_service_every_answer_has_one_number_in_range() -> None:
    longest = max(
        shuffle_proof._answer_bytes(bits) for bits in shuffle_proof._sizes(FFDHE3072, 25 * 1024)[2:]
    )
    assert 8 * longest < FFDHE3072.q.bit_length() - 1
    assert FFDHE3072.q.bit_length() <= 8 * FFDHE3072.element_bytes, "the end of the chain: it is reduced"


def test_the_challenge_binds_the_statement_where_weights_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of one record has a weight of 128 bits: two statements with one weight are found in 2^64."""
    monkeypatch.setattr(shuffle_proof, "_weights", lambda _, size: [7] * size)
    honest = Forger(IDENTITY[1])
    assert honest.passes()
    assert refusal(honest.proof, honest, b"another round") == "bad-proof"


def test_a_list_of_nothing_is_no_list() -> None:
    empty = ShuffleProof((), (), 0, (0, 0, 0, 0), (), ())
    with pytest.raises(PeerError, match="bad-length"):
        require_shuffle_proof(Shuffle(TINY, Y, [], [], b"c"), empty)


def test_generators_are_drawn_from_a_hash_into_the_subgroup_for_each_group_and_place() -> None:
    """Squares of what a hash says: nobody chose them, so nobody knows their logarithms."""
    drawn: list[mpz] = []
    for group in (TINY, Group(TINY.p, mpz(9)), FFDHE3072):
        start, bases = shuffle_proof._generators(group, 40)
        assert all(jacobi(one, group.p) == 1 and 1 < one < group.p - 1 for one in (start, *bases))
        assert (start, bases[:7]) == shuffle_proof._generators(group, 7), "the same for lists of any length"
        drawn += [start, *bases, group.g]
    assert len(set(drawn)) == 3 * 42 - 1  # both large groups are generated by 4


def case(size: int, number: int) -> tuple[Case, bytes]:
    """A list with equal ciphertexts, masks of 0, and 1 where a second part may be 1."""
    drawn, chance = random.Random(f"{size} {number}"), Chance(seed("complete", size, number))
    before = encrypted(TINY, Y, range(size), chance)
    if drawn.random() < 0.3:
        before = [drawn.choice(before) for _ in before]
    if drawn.random() < 0.3:
        before[0] = Ciphertext(before[0].c1, mpz(1))
    order = chance.permutation(size)
    masks = [0 if drawn.random() < 0.2 else int(TINY.draw_secret(chance)) for _ in before]
    after = [
        Ciphertext(
            before[place].c1 * TINY.power(TINY.g, mpz(masks[place])) % TINY.p,
            before[place].c2 * TINY.power(Y, mpz(masks[place])) % TINY.p,
        )
        for place in order
    ]
    return (before, after, order, masks), drawn.randbytes(33)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 16, 61])
def test_every_honest_mixer_is_believed(size: int) -> None:
    for number in range(1 + 12 // size):
        (before, after, order, masks), context = case(size, number)
        proof = prove_shuffle(
            Shuffle(TINY, Y, before, after, context), order, masks, Chance(seed("prove", number))
        )
        require_shuffle_proof(Shuffle(TINY, Y, before, after, context), proof)
