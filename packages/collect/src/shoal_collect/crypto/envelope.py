"""The inner envelope: it opens only after all voted GO and published their inner keys.

So the mix can be audited without showing a record. ElGamal over Ed25519's group to the sum of keys, and
XSalsa20-Poly1305.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Final

from nacl import bindings as curve
from nacl.exceptions import CryptoError

from shoal_collect.crypto.chance import Chance, bound_chance
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.faults import PeerError

POINT_BYTES: Final = 32
OVERHEAD_BYTES: Final = POINT_BYTES + 16
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_NO_NONCE: Final = bytes(24)  # each key seals exactly one record


def draw_secret(chance: Chance) -> bytes:
    """A secret scalar."""
    return bytes(curve.crypto_core_ed25519_scalar_reduce(chance.take(64)))


def public_key(secret: bytes) -> bytes:
    """The point of a scalar."""
    return bytes(curve.crypto_scalarmult_ed25519_base_noclamp(secret))


def require_point(point: bytes) -> bytes:
    """The point; PeerError outside the group of prime order."""
    if len(point) != POINT_BYTES or not curve.crypto_core_ed25519_is_valid_point(point):
        raise PeerError("bad-element", "32 bytes that are not a point of the curve")
    return point


def prove(secret: bytes, point: bytes, context: bytes, chance: Chance) -> bytes:
    """A Schnorr proof (64 bytes) of the point's secret, bound to ``context``."""
    mask = draw_secret(chance)
    announced = public_key(mask)
    challenge = _challenge(point, announced, context)
    return announced + bytes(
        curve.crypto_core_ed25519_scalar_add(mask, curve.crypto_core_ed25519_scalar_mul(challenge, secret))
    )


def require_proof(point: bytes, proof: bytes, context: bytes) -> None:
    """Raise PeerError unless the proof holds."""
    announced, response = require_point(proof[:POINT_BYTES]), proof[POINT_BYTES:]
    challenge = _challenge(point, announced, context)
    expected = curve.crypto_core_ed25519_add(
        announced, curve.crypto_scalarmult_ed25519_noclamp(challenge, point)
    )
    if not is_secret_of(response, expected):
        raise PeerError("bad-proof", "an inner key whose owner does not prove that she knows its secret")


def is_secret_of(secret: bytes, point: bytes) -> bool:
    """In its one encoding."""
    return 0 < int.from_bytes(secret, "little") < _ORDER and public_key(secret) == point


def combined_key(points: Sequence[bytes]) -> bytes:
    """The key that all owners open together."""
    return reduce(curve.crypto_core_ed25519_add, points)


def combined_secret(secrets: Sequence[bytes]) -> bytes:
    """The secret of the combined key."""
    return reduce(curve.crypto_core_ed25519_scalar_add, secrets)


def seal(record: bytes, key: bytes, context: bytes, chance: Chance) -> bytes:
    """OVERHEAD_BYTES longer."""
    secret = draw_secret(bound_chance(chance.seed(), record, key, context))
    point = public_key(secret)
    shared = bytes(curve.crypto_scalarmult_ed25519_noclamp(secret, key))
    return point + bytes(curve.crypto_secretbox(record, _NO_NONCE, _key(shared, point, context)))


def unseal(sealed: bytes, secret: bytes, context: bytes) -> bytes:
    """PeerError for another key or session, or damage."""
    point = require_point(sealed[:POINT_BYTES])
    shared = bytes(curve.crypto_scalarmult_ed25519_noclamp(secret, point))
    try:
        return bytes(
            curve.crypto_secretbox_open(sealed[POINT_BYTES:], _NO_NONCE, _key(shared, point, context))
        )
    except CryptoError as error:
        raise PeerError("bad-record", "an envelope that does not open") from error


def _key(shared: bytes, point: bytes, context: bytes) -> bytes:
    return hash_of(b"shoal envelope", shared, point, context)


def _challenge(point: bytes, announced: bytes, context: bytes) -> bytes:
    wide = hash_of(b"shoal inner key", point, announced, context, size=64)
    return bytes(curve.crypto_core_ed25519_scalar_reduce(wide))
