"""A proof that a list was only re-masked and permuted.

Source: Terelius and Wikström, Proofs of Restricted Shuffles, AFRICACRYPT 2010; Haenni, Locher, Koenig and
Dubuis, Pseudo-Code Algorithms for Verifiable Re-encryption Mix-Nets, FC 2017 workshops.

The mixer commits to the order. A hash then gives each place before the shuffle a weight. A chain of
commitments shows that the product of the weights, moved by the order, is unchanged; the commitments show
the same for their sum and their products with the lists. Only a permutation keeps all of these, except with
probability N / 2^128. Moved weights and masks stay hidden: each answer adds a mask 128 bits longer, so that
2^16 answers leak less than 2^-112.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from gmpy2 import mpz

from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.elgamal import Ciphertext, flatten
from shoal_collect.crypto.group import Group, Powers
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.faults import PeerError

_WEIGHT_BYTES: Final = 16  # of a weight, and of the challenge
_WEIGHT_BITS: Final = 8 * _WEIGHT_BYTES
_HIDING_BITS: Final = 128  # a mask is so much longer than what it must hide


class Shuffle(NamedTuple):
    """What is proven: ``after`` is ``before``, masked again under ``y`` and permuted, in one ``context``."""

    group: Group
    y: mpz
    before: Sequence[Ciphertext]
    after: Sequence[Ciphertext]
    context: bytes


class _Sizes(NamedTuple):
    """Answers are longer by the challenge and the mask."""

    sum_of_keys: int
    chain: int
    weighted: int
    moved: int
    link: int


@dataclass(frozen=True)
class ShuffleProof:
    """Commitments, challenge, answers.

    commitments, chain: per record. totals: for the sum of the commitments' keys, the end of the chain, and
    the weighted keys and masks. moved, links: per record.
    """

    commitments: tuple[mpz, ...]
    chain: tuple[mpz, ...]
    challenge: int
    totals: tuple[int, int, int, int]
    moved: tuple[int, ...]
    links: tuple[int, ...]

    def encode(self, group: Group) -> bytes:
        """At a length fixed by group and records."""
        elements = b"".join(map(group.to_bytes, (*self.commitments, *self.chain)))
        numbers = zip((self.challenge, *self._answers), _lengths(group, len(self.chain)), strict=True)
        return elements + b"".join(int(number).to_bytes(length) for number, length in numbers)

    @property
    def _answers(self) -> tuple[int, ...]:
        return (*self.totals, *self.moved, *self.links)


def read_shuffle_proof(
    group: Group, size: int, element: Callable[[], mpz], take: Callable[[int], bytes]
) -> ShuffleProof:
    """A proof about ``size`` records.

    ``element`` reads a group element, ``take`` bytes; both raise PeerError.
    """
    elements = tuple(element() for _ in range(2 * size))
    challenge, *answers = (int.from_bytes(take(length)) for length in _lengths(group, size))
    keys, end, weighted, masks = answers[:4]
    return ShuffleProof(
        elements[:size],
        elements[size:],
        challenge,
        (keys, end, weighted, masks),
        tuple(answers[4 : 4 + size]),
        tuple(answers[4 + size :]),
    )


def proof_bytes(group: Group, size: int) -> int:
    """Of ``size`` records."""
    return 2 * size * group.element_bytes + sum(_lengths(group, size))


def prove_shuffle(
    shuffle: Shuffle, order: Sequence[int], masks: Sequence[int], chance: Chance
) -> ShuffleProof:
    """Prove that after[i] is before[order[i]] under a further mask masks[order[i]]."""
    group, _, before, _, _ = shuffle
    size, sizes = len(before), _sizes(group, len(before))
    start, bases = _generators(group, size)

    keys = [int(group.draw_secret(chance)) for _ in before]  # by places before
    commitments = [mpz(0)] * size
    for base, place in zip(bases, order, strict=True):
        commitments[place] = group.times(group.secret_power(group.g, mpz(keys[place])), base)
    statement = _statement(shuffle, commitments)
    weights = _weights(statement, size)

    moved = [weights[place] for place in order]
    links, chain, end = [int(group.draw_secret(chance)) for _ in before], [start], 0
    for weight, link in zip(moved, links, strict=True):
        chain.append(group.secret_product((group.g, chain[-1]), (link, weight)))
        end = int((link + weight * end) % group.q)
    hidden = (
        sum(keys),
        end,
        sum(key * weight for key, weight in zip(keys, weights, strict=True)),
        sum(masks[place] * weight for place, weight in zip(order, moved, strict=True)),
    )

    def mask_of(bits: int) -> int:
        return chance.below(1 << _mask_bits(bits))

    drawn_end = int(group.draw_mask(chance))
    drawn = (mask_of(sizes.sum_of_keys), drawn_end, mask_of(sizes.weighted), mask_of(sizes.weighted))
    drawn_moved = [mask_of(sizes.moved) for _ in before]
    drawn_links = [mask_of(sizes.link) for _ in before]
    announced = [
        *_map_totals(
            shuffle, drawn, group.secret_power, lambda of: group.secret_product(of, drawn_moved), bases
        ),
        *(
            group.secret_product((group.g, earlier), (link, weight))
            for link, weight, earlier in zip(drawn_links, drawn_moved, chain[:-1], strict=True)
        ),
    ]
    challenge = _challenge(group, statement, chain[1:], announced)
    totals = [mask + challenge * secret for mask, secret in zip(drawn, hidden, strict=True)]
    return ShuffleProof(
        tuple(commitments),
        tuple(chain[1:]),
        challenge,
        (totals[0], int(totals[1] % group.q), totals[2], totals[3]),
        tuple(mask + challenge * secret for mask, secret in zip(drawn_moved, moved, strict=True)),
        tuple(mask + challenge * secret for mask, secret in zip(drawn_links, links, strict=True)),
    )


def require_shuffle_proof(shuffle: Shuffle, proof: ShuffleProof) -> None:
    """Raise PeerError unless the proof holds.

    Elements must have been checked as members of the group, or nothing is proven.
    """
    group, _, before, after, _ = shuffle
    size = len(before)
    lengths = {len(after), *map(len, (proof.commitments, proof.chain, proof.moved, proof.links))}
    if not size or lengths != {size}:
        raise PeerError("bad-length", f"a proof about another number of records than {size}")
    _require_ranges(group, proof)
    start, bases = _generators(group, size)
    statement = _statement(shuffle, proof.commitments)
    weights = _weights(statement, size)
    product = mpz(1)
    for weight in weights:
        product = product * weight % group.q

    def weighted(elements: Sequence[mpz]) -> mpz:
        return group.product_of_powers(elements, weights, _WEIGHT_BITS)

    images = (
        group.over(group.product(proof.commitments), group.product(bases)),
        group.over(proof.chain[-1], group.power(start, product)),
        weighted(proof.commitments),
        weighted([ciphertext.c1 for ciphertext in before]),
        weighted([ciphertext.c2 for ciphertext in before]),
    )
    bits = 8 * _answer_bytes(_sizes(group, size).moved)
    answered = _map_totals(
        shuffle, proof.totals, group.power, lambda of: group.product_of_powers(of, proof.moved, bits), bases
    )
    of_g = _powers_of_generator(group, 8 * _answer_bytes(_sizes(group, size).link))
    answered += [
        group.times(of_g.of(link), group.power(earlier, mpz(weight)))
        for link, weight, earlier in zip(proof.links, proof.moved, (start, *proof.chain), strict=False)
    ]
    challenge = mpz(proof.challenge)
    announced = [
        group.over(element, group.power(image, challenge))
        for element, image in zip(answered, (*images, *proof.chain), strict=True)
    ]
    if _challenge(group, statement, proof.chain, announced) != proof.challenge:
        raise PeerError("bad-proof", "a list that is not what the mixer received in another order")


def _require_ranges(group: Group, proof: ShuffleProof) -> None:
    """No answer may be read as two numbers."""
    numbers = zip((proof.challenge, *proof._answers), _lengths(group, len(proof.chain)), strict=True)
    if not all(0 <= number < 1 << 8 * length for number, length in numbers) or proof.totals[1] >= group.q:
        raise PeerError("out-of-range", "an answer that no honest mixer gives")


def _map_totals(
    shuffle: Shuffle,
    totals: Sequence[int],
    power: Callable[[mpz, mpz], mpz],
    joined: Callable[[Sequence[mpz]], mpz],
    bases: Sequence[mpz],
) -> list[mpz]:
    """Applied to masks or answers; ``joined``: a product of powers to the moved ones."""
    group, y, _, after, _ = shuffle
    of_keys, of_end, of_weighted, of_masks = map(mpz, totals)
    return [
        power(group.g, of_keys),
        power(group.g, of_end),
        group.times(power(group.g, of_weighted), joined(bases)),
        group.over(joined([ciphertext.c1 for ciphertext in after]), power(group.g, of_masks)),
        group.over(joined([ciphertext.c2 for ciphertext in after]), power(y, of_masks)),
    ]


@lru_cache(maxsize=2)
def _powers_of_generator(group: Group, bits: int) -> Powers:
    return Powers(group, group.g, bits)


def _sizes(group: Group, size: int) -> _Sizes:
    secret, more = group.secret_bits, size.bit_length()
    return _Sizes(
        secret + more, int(group.q.bit_length()), secret + _WEIGHT_BITS + more, _WEIGHT_BITS, secret
    )


def _mask_bits(bits: int) -> int:
    """It hides ``bits`` bits times the challenge."""
    return bits + _WEIGHT_BITS + _HIDING_BITS


def _answer_bytes(bits: int) -> int:
    """The mask and a carry (once in 2^128)."""
    return _mask_bits(bits) // 8 + 1


def _lengths(group: Group, size: int) -> list[int]:
    sizes = _sizes(group, size)
    weighted = _answer_bytes(sizes.weighted)
    totals = [_answer_bytes(sizes.sum_of_keys), group.element_bytes, weighted, weighted]
    return [_WEIGHT_BYTES, *totals, *[_answer_bytes(sizes.moved)] * size, *[_answer_bytes(sizes.link)] * size]


def _generators(group: Group, size: int) -> tuple[mpz, list[mpz]]:
    """The start of the chain and a base per place, with unknown logarithms."""

    def drawn(number: int) -> mpz:
        prefix = b"shoal generator" + group.to_bytes(group.g) + int(group.p).to_bytes(group.element_bytes)
        wide = hashlib.shake_256(prefix + number.to_bytes(4)).digest(group.element_bytes + 16)
        return group.times(root := mpz(int.from_bytes(wide)) % group.p, root)

    return drawn(0), [drawn(1 + number) for number in range(size)]


def _statement(shuffle: Shuffle, commitments: Sequence[mpz]) -> bytes:
    """The hash of all messages before the weights."""
    group, y, before, after, context = shuffle
    elements = (group.p, group.g, y, *commitments, *flatten((*before, *after)))
    head = len(context).to_bytes(4) + context + len(before).to_bytes(4)
    return hash_of(b"shoal weights", head, *map(group.to_bytes, elements))


def _weights(statement: bytes, size: int) -> list[int]:
    stream = Chance(statement)
    return [int.from_bytes(stream.take(_WEIGHT_BYTES)) for _ in range(size)]


def _challenge(group: Group, statement: bytes, chain: Sequence[mpz], announced: Sequence[mpz]) -> int:
    """256 bits, fixed by the statement and later messages."""
    elements = map(group.to_bytes, (*chain, *announced))
    return int.from_bytes(hash_of(b"shoal shuffle", statement, *elements, size=_WEIGHT_BYTES))
