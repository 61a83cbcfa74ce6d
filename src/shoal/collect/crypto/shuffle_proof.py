"""A proof by cut and choose that a list was only re-masked and permuted; it hides order and masks.

In each round the mixer shuffles the list once more, and names the result by its hash. A hash over all of it
then asks, round by round, how the result follows from the list, or from what she passes on. Somebody who
changed a record can answer only one of the two, and passes all rounds with probability 2^-80. The reader
recomputes the results; they are never sent.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gmpy2 import mpz

from shoal.collect.crypto.chance import SEED_BYTES, Chance
from shoal.collect.crypto.elgamal import Ciphertext
from shoal.collect.crypto.group import Group, Powers
from shoal.collect.faults import PeerError

ROUNDS: Final = 80
_DIGEST_BYTES: Final = 32
# the masks of a round are so much longer than those that their differences must hide
_HIDING_BITS: Final = 80
_PLACE_BYTES: Final = 2


@dataclass(frozen=True)
class ShuffleProof:
    """For each round the hash of its result, and the opening that was asked for.

    An opening is the round's seed, or places and differences of masks.
    """

    digests: tuple[bytes, ...]
    openings: tuple[bytes, ...]

    def encode(self) -> bytes:
        """Encode the digests, then each opening with its length before it."""
        framed = (len(opening).to_bytes(4) + opening for opening in self.openings)
        return b"".join(self.digests) + b"".join(framed)


def opening_bytes(group: Group, size: int) -> int:
    """Return the length of an opening from what is passed on, for a list of this size."""
    return size * (_PLACE_BYTES + _mask_bytes(group))


def largest_proof(group: Group, size: int) -> int:
    """Return the length of the longest encoded proof."""
    return ROUNDS * (_DIGEST_BYTES + 4 + max(SEED_BYTES, opening_bytes(group, size)))


def prove_shuffle(
    group: Group,
    y: mpz,
    before: Sequence[Ciphertext],
    after: Sequence[Ciphertext],
    order: Sequence[int],
    masks: Sequence[int],
    context: bytes,
    chance: Chance,
) -> ShuffleProof:
    """Prove that after[i] is before[order[i]] under a further mask masks[order[i]]."""
    rounds, powers = [_round(group, masks, chance) for _ in range(ROUNDS)], _powers(group, y)
    digests = tuple(_digest(group, _shuffled(group, powers, before, seed)) for seed in rounds)
    bits = _bits(group, y, before, after, digests, context)
    there = {place: at for at, place in enumerate(order)}
    openings = []
    for seed, bit in zip(rounds, bits, strict=True):
        own_order, own_masks = _drawn(group, len(before), seed)
        rows = [(there[place], own_masks[place] - masks[place]) for place in own_order]
        size = _mask_bytes(group)
        openings.append(
            b"".join(at.to_bytes(_PLACE_BYTES) + int(mask).to_bytes(size) for at, mask in rows)
            if bit
            else seed
        )
    return ShuffleProof(digests, tuple(openings))


def require_shuffle_proof(
    group: Group,
    y: mpz,
    before: Sequence[Ciphertext],
    after: Sequence[Ciphertext],
    proof: ShuffleProof,
    context: bytes,
) -> None:
    """Raise PeerError unless the proof holds."""
    bits, powers = _bits(group, y, before, after, proof.digests, context), _powers(group, y)
    for digest, opening, bit in zip(proof.digests, proof.openings, bits, strict=True):
        if bit:
            result = _remasked(group, powers, after, *_read_opening(group, opening, len(after)))
        else:
            if len(opening) != SEED_BYTES:
                raise PeerError("bad-length", f"a seed of {len(opening)} bytes")
            result = _shuffled(group, powers, before, opening)
        if _digest(group, result) != digest:
            raise PeerError("bad-proof", "a list that is not what the mixer received in another order")


def _round(group: Group, masks: Sequence[int], chance: Chance) -> bytes:
    """The seed of one round; drawn again when a mask is smaller than the one it must hide (once in 2^80)."""
    while True:
        seed = chance.seed()
        if all(own >= mask for own, mask in zip(_drawn(group, len(masks), seed)[1], masks, strict=True)):
            return seed


def _drawn(group: Group, size: int, seed: bytes) -> tuple[list[int], list[int]]:
    stream, bound = Chance(seed), 1 << (group.secret_bits + _HIDING_BITS)
    return stream.permutation(size), [stream.below(bound) for _ in range(size)]


def _powers(group: Group, y: mpz) -> tuple[Powers, Powers]:
    """Tables for the two bases of every mask."""
    bits = 8 * _mask_bytes(group)
    return Powers(group, group.g, bits), Powers(group, y, bits)


def _shuffled(
    group: Group, powers: tuple[Powers, Powers], before: Sequence[Ciphertext], seed: bytes
) -> list[Ciphertext]:
    """The list as a round's seed shuffles it; masks belong to places before the shuffle."""
    order, masks = _drawn(group, len(before), seed)
    return _remasked(group, powers, before, order, [masks[place] for place in order])


def _remasked(
    group: Group,
    powers: tuple[Powers, Powers],
    before: Sequence[Ciphertext],
    order: Sequence[int],
    masks: Sequence[int],
) -> list[Ciphertext]:
    """The list in another order, its i-th entry under the i-th mask."""
    of_g, of_y = powers
    listed = [before[place] for place in order]
    return [
        Ciphertext(group.times(one.c1, of_g.of(mask)), group.times(one.c2, of_y.of(mask)))
        for one, mask in zip(listed, masks, strict=True)
    ]


def _read_opening(group: Group, opening: bytes, size: int) -> tuple[list[int], list[int]]:
    if len(opening) != opening_bytes(group, size):
        raise PeerError("bad-length", f"an opening of {len(opening)} bytes for a list of {size}")
    row = _PLACE_BYTES + _mask_bytes(group)
    rows = [opening[at : at + row] for at in range(0, len(opening), row)]
    order = [int.from_bytes(one[:_PLACE_BYTES]) for one in rows]
    if sorted(order) != list(range(size)):
        raise PeerError("bad-proof", "an opening that does not go through every place once")
    return order, [int.from_bytes(one[_PLACE_BYTES:]) for one in rows]


def _mask_bytes(group: Group) -> int:
    return -(-(group.secret_bits + _HIDING_BITS) // 8)


def _digest(group: Group, ciphertexts: Sequence[Ciphertext]) -> bytes:
    state = hashlib.blake2b(digest_size=_DIGEST_BYTES, person=b"shoal shuffled")
    for one in ciphertexts:
        state.update(group.to_bytes(one.c1) + group.to_bytes(one.c2))
    return state.digest()


def _bits(
    group: Group,
    y: mpz,
    before: Sequence[Ciphertext],
    after: Sequence[Ciphertext],
    digests: Sequence[bytes],
    context: bytes,
) -> list[int]:
    """What each round is asked for, fixed by everything that was said before."""
    state = hashlib.blake2b(digest_size=ROUNDS // 8, person=b"shoal shuffle")
    for part in (context, group.to_bytes(y), _digest(group, before), _digest(group, after), *digests):
        state.update(len(part).to_bytes(4) + part)
    number = int.from_bytes(state.digest())
    return [number >> place & 1 for place in range(ROUNDS)]
