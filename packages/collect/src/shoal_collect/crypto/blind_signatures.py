"""Blind signatures (RFC 9474): the signer can neither read the message nor recognize the signature.

RSABSSA-SHA384-PSS-Randomized: RSA-PSS with SHA-384, a salt of 48 bytes, and 32 random bytes before the
message. The RFC leaves open whether the signer's key is honest. An exponent that divides the group's order
would make blinding useless, so a key comes with a proof that its powers are a permutation.

Timing: the secret exponent goes through ``powmod_sec``, and the signed number is masked first. Additions,
divisions and conversions of long numbers take time that depends on the numbers, including the client's
inverse of the blind.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA384
from gmpy2 import gcd, invert, is_prime, mpz, powmod, powmod_sec

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError

EXPONENT: Final = 65_537
MODULUS_BYTES: Final = 384  # 3072 bits, as long as the group of the mix
PREFIX_BYTES: Final = 32
_HASH_BYTES: Final = 48
_SALT_BYTES: Final = 48
_ROOTS: Final = 8  # a false key passes each with probability 1/65537 at most: 2^-128 together
PROOF_BYTES: Final = _ROOTS * MODULUS_BYTES
_PRIMALITY_ROUNDS: Final = 40


@dataclass(frozen=True)
class VerifyKey:
    """A public modulus; the exponent is EXPONENT."""

    n: mpz

    @property
    def length(self) -> int:
        """Of the modulus and of signatures, in bytes."""
        return (int(self.n.bit_length()) + 7) // 8

    def to_bytes(self) -> bytes:
        """Big-endian."""
        return int(self.n).to_bytes(self.length)


@dataclass(frozen=True)
class SignKey:
    """Modulus and the exponent inverse to EXPONENT."""

    public: VerifyKey
    d: mpz


@dataclass(frozen=True)
class BlindedMessage:
    """For the signer, and the secret that unblinds the answer."""

    text: bytes
    inverse: mpz


def draw_key(chance: Chance) -> SignKey:
    """A signer's key, fixed by the seed."""
    bits = 8 * MODULUS_BYTES // 2
    while True:
        p, q = _draw_prime(chance, bits), _draw_prime(chance, bits)
        order = (p - 1) * (q - 1)
        if p != q and gcd(order, EXPONENT) == 1:
            return SignKey(VerifyKey(p * q), invert(mpz(EXPONENT), order))


def _draw_prime(chance: Chance, bits: int) -> mpz:
    """The two highest bits are set, so that a product has full length."""
    while True:
        drawn = mpz(int.from_bytes(chance.take(bits // 8))) | mpz(3) << (bits - 2) | 1
        if is_prime(drawn, _PRIMALITY_ROUNDS):
            return drawn


def read_key(modulus: bytes) -> VerifyKey:
    """A public key; PeerError for an even modulus or a wrong length."""
    n = mpz(int.from_bytes(modulus))
    if len(modulus) != MODULUS_BYTES or n.bit_length() != 8 * MODULUS_BYTES or n % 2 == 0:
        raise PeerError("bad-element", f"a signer's key that is not a modulus of {8 * MODULUS_BYTES} bits")
    return VerifyKey(n)


def prove_key(key: SignKey) -> bytes:
    """Prove that raising to EXPONENT is a permutation: roots of numbers fixed by the key.

    If EXPONENT divided the group's order, at most one number in 65,537 would have a root (Goldberg, Reyzin,
    Sagga and Baldimtsi 2019, with a prime exponent).
    """
    n = key.public.n
    return b"".join(
        int(powmod_sec(challenge, key.d, n)).to_bytes(key.public.length)
        for challenge in _challenges(key.public)
    )


def require_key_proof(key: VerifyKey, proof: bytes) -> None:
    """Raise PeerError unless blinding is proven to hide the message."""
    if len(proof) != _ROOTS * key.length:
        raise PeerError("bad-length", f"a proof of {len(proof)} bytes for a signer's key")
    roots = (mpz(int.from_bytes(proof[at : at + key.length])) for at in range(0, len(proof), key.length))
    for root, challenge in zip(roots, _challenges(key), strict=True):
        if not 0 < root < key.n or powmod(root, EXPONENT, key.n) != challenge or gcd(challenge, key.n) != 1:
            raise PeerError("bad-proof", "a signer's key under which blinding might hide nothing")


def _challenges(key: VerifyKey) -> list[mpz]:
    """128 bits more than the modulus make them uniform below it."""
    return [
        mpz(
            int.from_bytes(
                hashlib.shake_256(b"shoal permutation" + bytes((place,)) + key.to_bytes()).digest(
                    key.length + 16
                )
            )
        )
        % key.n
        for place in range(_ROOTS)
    ]


def prepare(message: bytes, chance: Chance) -> bytes:
    """PrepareRandomize: 32 random bytes before a message."""
    return chance.take(PREFIX_BYTES) + message


def blind(key: VerifyKey, prepared: bytes, chance: Chance) -> BlindedMessage:
    """Sec. 4.2; check the key with ``require_key_proof`` first."""
    salt = chance.take(_SALT_BYTES)
    while True:
        inverse = mpz(1 + chance.below(int(key.n - 1)))
        if gcd(inverse, key.n) == 1:
            return blind_with(key, prepared, salt, inverse)


def blind_with(key: VerifyKey, prepared: bytes, salt: bytes, inverse: mpz) -> BlindedMessage:
    """With this salt and inverse; PeerError for a key that shares a factor."""
    encoded = mpz(int.from_bytes(encode(prepared, salt, int(key.n.bit_length()) - 1)))
    if gcd(encoded, key.n) != 1:
        raise PeerError("bad-element", "a signer's key that shares a factor with the message")
    mask = powmod(invert(inverse, key.n), EXPONENT, key.n)
    return BlindedMessage(int(encoded * mask % key.n).to_bytes(key.length), inverse)


def blind_sign(key: SignKey, text: bytes) -> bytes:
    """Sec. 4.3; PeerError when the text does not fit the key.

    The number is masked by one that only the signer can compute; the result is checked before it leaves.
    """
    n, length = key.public.n, key.public.length
    blinded = mpz(int.from_bytes(text))
    if len(text) != length or not 0 < blinded < n or gcd(blinded, n) != 1:
        raise PeerError("bad-length", f"a blinded message of {len(text)} bytes that does not fit the key")
    seed = hmac.digest(int(key.d).to_bytes(length), b"shoal signer's mask" + text, "sha256")
    mask = mpz(2 + Chance(seed).below(int(n - 2)))
    signed = powmod_sec(blinded * powmod(mask, EXPONENT, n) % n, key.d, n) * invert(mask, n) % n
    if powmod(signed, EXPONENT, n) != blinded:
        raise AssertionError("a signature that does not hold would show the key's factors")
    return int(signed).to_bytes(length)


def finalize(key: VerifyKey, prepared: bytes, signed: bytes, inverse: mpz) -> bytes:
    """Sec. 4.4; PeerError unless the result signs the message."""
    if len(signed) != key.length:
        raise PeerError("bad-length", f"a blind signature of {len(signed)} bytes instead of {key.length}")
    plain = int(mpz(int.from_bytes(signed)) * inverse % key.n).to_bytes(key.length)
    require_blind_signature(key, prepared, plain)
    return plain


def require_blind_signature(
    key: VerifyKey, prepared: bytes, signed: bytes, salt_bytes: int = _SALT_BYTES
) -> None:
    """RSASSA-PSS-VERIFY, RFC 8017 Sec. 8.1.2, or PeerError."""
    try:
        public = RSAPublicNumbers(EXPONENT, int(key.n)).public_key()
        public.verify(signed, prepared, PSS(MGF1(SHA384()), salt_bytes), SHA384())
    except (InvalidSignature, ValueError) as error:
        raise PeerError("bad-signature", "a signature that does not hold") from error


def encode(message: bytes, salt: bytes, bits: int) -> bytes:
    """EMSA-PSS-ENCODE, RFC 8017 Sec. 9.1.1; MisuseError for short keys.

    ``bits``: one less than the modulus has.
    """
    size = (bits + 7) // 8
    room = size - _HASH_BYTES - len(salt) - 2
    if room < 0:
        raise MisuseError(f"a key of {bits + 1} bits is too short for a salt of {len(salt)} bytes")
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    data = bytes(room) + b"\x01" + salt
    stretched = _stretch(digest, len(data))
    masked = bytearray(a ^ b for a, b in zip(data, stretched, strict=True))
    masked[0] &= 0xFF >> (8 * size - bits)
    return bytes(masked) + digest + b"\xbc"


def _stretch(seed: bytes, length: int) -> bytes:
    """MGF1 with SHA-384, RFC 8017 appendix B.2.1."""
    blocks = range(-(-length // _HASH_BYTES))
    return b"".join(hashlib.sha384(seed + at.to_bytes(4)).digest() for at in blocks)[:length]
