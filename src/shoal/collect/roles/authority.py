"""The legal authority (user-centric.txt, Sec. 3.3.7): who owns which identifier, and no trajectory.

Anyone could claim any identifier. So each release carries a key of its own, the collector signs which
identifier belongs to which key, and a claim is signed with that key.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from shoal.collect.crypto import envelope
from shoal.collect.crypto.chance import Chance
from shoal.collect.faults import PeerError

IDENTIFIER_BYTES: Final = 32  # 16 random bytes in hexadecimal
KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_CONTEXT: Final = b"shoal claim"
_FIXED_BYTES: Final = IDENTIFIER_BYTES + 32 + 2 * _SIGNATURE_BYTES
MAX_USER_BYTES: Final = 256


def signature(signing_seed: bytes, purpose: bytes, text: bytes) -> bytes:
    """A detached signature, good for one purpose."""
    _, secret = crypto_sign_seed_keypair(signing_seed)
    return bytes(crypto_sign(_purposed(purpose, text), secret)[:_SIGNATURE_BYTES])


def check_signature(key: bytes, purpose: bytes, text: bytes, signed: bytes) -> None:
    """Raises PeerError unless the key's owner signed this text for this purpose."""
    if (
        len(key) != KEY_BYTES or len(signed) != _SIGNATURE_BYTES
    ):  # a longer one would move the border between purpose and text
        raise PeerError("bad-signature", f"a key of {len(key)} bytes and a signature of {len(signed)}")
    try:
        crypto_sign_open(signed + _purposed(purpose, text), key)
    except (BadSignatureError, ValueError) as error:
        raise PeerError("bad-signature", "a signature that does not hold") from error


def _purposed(purpose: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(purpose, digest_size=32, person=b"shoal purpose").digest() + text


@dataclass(frozen=True)
class Receipt:
    """The collector's word that an identifier belongs to a release's key."""

    identifier: str
    claim_key: bytes
    signed: bytes


def receipt(collector_seed: bytes, identifier: str, claim_key: bytes) -> Receipt:
    """Made by the collector when it stores a release."""
    return Receipt(
        identifier, claim_key, signature(collector_seed, b"receipt", identifier.encode() + claim_key)
    )


def claim(given: Receipt, user: str, claim_seed: bytes, authority_key: bytes, chance: Chance) -> bytes:
    """A user's claim, sealed so that only the authority reads it."""
    own = signature(claim_seed, b"claim", authority_key + given.identifier.encode() + user.encode())
    text = given.identifier.encode() + given.claim_key + given.signed + own + user.encode()
    return envelope.seal(text, authority_key, _CONTEXT, chance)


class Authority:
    """Takes claims, and says on lawful request which identifiers are a user's."""

    def __init__(self, secret: bytes, collector_keys: frozenset[bytes]) -> None:
        self._secret, self._collector_keys = secret, collector_keys
        self._owners: dict[str, str] = {}

    @property
    def public_key(self) -> bytes:
        """What claims are sealed with."""
        return envelope.public_key(self._secret)

    def take(self, sealed: bytes) -> None:
        """Keep a claim; the same again has no effect.

        Raises PeerError for one that proves nothing, or comes second.
        """
        identifier, user = self.read(sealed)
        if self._owners.setdefault(identifier, user) != user:
            raise PeerError("not-entitled", "an identifier that somebody else has claimed")

    def read(self, sealed: bytes) -> tuple[str, str]:
        """Identifier and user of a claim that proves itself; raises PeerError."""
        if not _FIXED_BYTES < len(sealed) - envelope.OVERHEAD_BYTES <= _FIXED_BYTES + MAX_USER_BYTES:
            raise PeerError("bad-length", f"a claim of {len(sealed)} bytes")
        text = envelope.unseal(sealed, self._secret, _CONTEXT)
        ends = (
            IDENTIFIER_BYTES,
            IDENTIFIER_BYTES + 32,
            IDENTIFIER_BYTES + 32 + _SIGNATURE_BYTES,
            _FIXED_BYTES,
        )
        raw_id, key, receipt_signed, own, raw_user = (
            text[a:b] for a, b in zip((0, *ends), (*ends, len(text)), strict=True)
        )
        try:
            identifier, user = raw_id.decode("ascii"), raw_user.decode()
        except UnicodeDecodeError as error:
            raise PeerError("bad-record", "a claim whose identifier or user is no text") from error
        if not any(
            _holds(collector, b"receipt", raw_id + key, receipt_signed) for collector in self._collector_keys
        ):
            raise PeerError("bad-signature", "an identifier that no known collector gave to this key")
        check_signature(key, b"claim", self.public_key + raw_id + raw_user, own)
        return identifier, user

    def identifiers_of(self, user: str) -> tuple[str, ...]:
        """All identifiers that a user has claimed."""
        return tuple(sorted(identifier for identifier, owner in self._owners.items() if owner == user))


def _holds(key: bytes, purpose: bytes, text: bytes, signed: bytes) -> bool:
    try:
        check_signature(key, purpose, text, signed)
    except PeerError:
        return False
    return True
