"""Threshold ElGamal (n of n) with proofs (Romero-Tris and Megías 2018, Sec. 2.4).

A Schnorr proof shows that a share's owner knows its secret, so that no share can cancel the others. One
Chaum-Pedersen proof shows for a whole list that the right share was stripped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gmpy2 import mpz

from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.group import Group
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.faults import PeerError

_WEIGHT_BYTES: Final = 16


@dataclass(frozen=True)
class Ciphertext:
    """(g^phi, m y^phi)."""

    c1: mpz
    c2: mpz


@dataclass(frozen=True)
class KeyProof:
    """A Schnorr proof of the share's secret."""

    announced: mpz
    response: mpz


@dataclass(frozen=True)
class StripProof:
    """A Chaum-Pedersen proof that a list was stripped of a share."""

    announced_key: mpz
    announced_list: mpz
    response: mpz


def encrypt(group: Group, y: mpz, plain: mpz, chance: Chance) -> Ciphertext:
    """E_y(m, phi), two exponentiations."""
    phi = group.draw_secret(chance)
    return Ciphertext(group.secret_power(group.g, phi), group.times(plain, group.secret_power(y, phi)))


def strip(group: Group, secret: mpz, ciphertext: Ciphertext) -> Ciphertext:
    """Remove one share's layer, one exponentiation."""
    return Ciphertext(ciphertext.c1, group.over(ciphertext.c2, group.secret_power(ciphertext.c1, secret)))


def remask_with(group: Group, y: mpz, ciphertext: Ciphertext, phi: mpz) -> Ciphertext:
    """Mask again under the key ``y`` of later members, two exponentiations."""
    return Ciphertext(
        group.times(ciphertext.c1, group.secret_power(group.g, phi)),
        group.times(ciphertext.c2, group.secret_power(y, phi)),
    )


def combined_key(group: Group, shares: Sequence[mpz]) -> mpz:
    """The key that all owners of shares strip together."""
    return group.product(shares)


def prove_key(group: Group, secret: mpz, share: mpz, context: bytes, chance: Chance) -> KeyProof:
    """A proof of knowing the secret of a key, for one session and one member: ``context``."""
    mask = group.draw_mask(chance)
    announced = group.secret_power(group.g, mask)
    challenge = _challenge(group, b"key", context, [share, announced])
    return KeyProof(announced, (mask + challenge * secret) % group.q)


def require_key_proof(group: Group, share: mpz, proof: KeyProof, context: bytes) -> None:
    """Raise PeerError unless the proof holds."""
    challenge = _challenge(group, b"key", context, [share, proof.announced])
    if group.power(group.g, proof.response) != group.times(proof.announced, group.power(share, challenge)):
        raise PeerError("bad-proof", "a share whose owner does not prove that she knows its secret")


def prove_strip(
    group: Group,
    secret: mpz,
    share: mpz,
    before: Sequence[Ciphertext],
    after: Sequence[mpz],
    context: bytes,
    chance: Chance,
) -> StripProof:
    """Prove that ``after`` holds the second parts of ``before`` without ``share``'s layer."""
    base, _ = _combine(group, share, before, after, context)
    mask = group.draw_mask(chance)
    announced_key, announced_list = group.secret_power(group.g, mask), group.secret_power(base, mask)
    elements = [share, *flatten(before), *after, announced_key, announced_list]
    challenge = _challenge(group, b"strip", context, elements)
    return StripProof(announced_key, announced_list, (mask + challenge * secret) % group.q)


def require_strip_proof(
    group: Group,
    share: mpz,
    before: Sequence[Ciphertext],
    after: Sequence[mpz],
    proof: StripProof,
    context: bytes,
) -> None:
    """Raise PeerError unless the proof holds."""
    base, image = _combine(group, share, before, after, context)
    elements = [share, *flatten(before), *after, proof.announced_key, proof.announced_list]
    challenge = _challenge(group, b"strip", context, elements)
    fits_key = group.power(group.g, proof.response) == group.times(
        proof.announced_key, group.power(share, challenge)
    )
    fits_list = group.power(base, proof.response) == group.times(
        proof.announced_list, group.power(image, challenge)
    )
    if not (fits_key and fits_list):
        raise PeerError("bad-proof", "a list that was not stripped with the sender's share")


def _combine(
    group: Group, share: mpz, before: Sequence[Ciphertext], after: Sequence[mpz], context: bytes
) -> tuple[mpz, mpz]:
    """(base, base^secret): a random combination with weights fixed by the list."""
    stream = Chance(_digest(group, b"weights", context, [share, *flatten(before), *after]))
    weights = [1 + int.from_bytes(stream.take(_WEIGHT_BYTES)) for _ in after]

    def weighted(elements: Sequence[mpz]) -> mpz:
        return group.product_of_powers(elements, weights, 8 * _WEIGHT_BYTES + 1)

    base = weighted([ciphertext.c1 for ciphertext in before])
    over, under = weighted([ciphertext.c2 for ciphertext in before]), weighted(after)
    return base, group.over(over, under)


def flatten(ciphertexts: Sequence[Ciphertext]) -> list[mpz]:
    """Both parts of each."""
    return [part for ciphertext in ciphertexts for part in (ciphertext.c1, ciphertext.c2)]


def _challenge(group: Group, label: bytes, context: bytes, elements: Sequence[mpz]) -> mpz:
    return mpz(int.from_bytes(_digest(group, label, context, elements))) % group.q


def _digest(group: Group, label: bytes, context: bytes, elements: Sequence[mpz]) -> bytes:
    """Unique to elements, context and purpose."""
    head = (len(part).to_bytes(4) + part for part in (label, context, group.to_bytes(group.g)))
    return hash_of(b"shoal proof", *head, *map(group.to_bytes, elements))
