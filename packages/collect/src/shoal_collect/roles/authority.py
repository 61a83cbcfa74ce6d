"""The legal authority: it knows who owns each identifier, and sees no trajectory (Sec. 3.3.7).

Anyone could claim any identifier. So each release has its own key, the collector signs which identifier
belongs to which key, and a claim is signed with that key.
"""

import itertools
from dataclasses import dataclass
from typing import Final

from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import KEY_BYTES, SIGNATURE_BYTES, require_signature, signature
from shoal_collect.faults import PeerError

IDENTIFIER_BYTES: Final = 32  # 16 random bytes in hexadecimal
MAX_USER_BYTES: Final = 256
_CONTEXT: Final = b"shoal claim"
_FIXED_BYTES: Final = IDENTIFIER_BYTES + KEY_BYTES + 2 * SIGNATURE_BYTES


@dataclass(frozen=True)
class Receipt:
    """A signed statement that an identifier belongs to a key."""

    identifier: str
    claim_key: bytes
    signed: bytes


def receipt(collector_seed: bytes, identifier: str, claim_key: bytes) -> Receipt:
    """Sign a receipt, as the collector does."""
    signed = signature(collector_seed, b"receipt", identifier.encode() + claim_key)
    return Receipt(identifier, claim_key, signed)


def claim(stored: Receipt, user: str, claim_seed: bytes, authority_key: bytes, chance: Chance) -> bytes:
    """Claim an identifier for a user, sealed so that only the authority reads it."""
    claim_signature = signature(
        claim_seed, b"claim", authority_key + stored.identifier.encode() + user.encode()
    )
    text = stored.identifier.encode() + stored.claim_key + stored.signed + claim_signature + user.encode()
    return envelope.seal(text, authority_key, _CONTEXT, chance)


class Authority:
    """Opens claims, and checks that they prove themselves."""

    def __init__(self, secret: bytes, collector_keys: frozenset[bytes]) -> None:
        self._secret, self._collector_keys = secret, collector_keys

    @property
    def public_key(self) -> bytes:
        """The key that seals claims."""
        return envelope.public_key(self._secret)

    def read(self, sealed: bytes) -> tuple[str, str]:
        """Identifier and user of a claim; PeerError unless it proves itself."""
        if not _FIXED_BYTES < len(sealed) - envelope.OVERHEAD_BYTES <= _FIXED_BYTES + MAX_USER_BYTES:
            raise PeerError("bad-length", f"a claim of {len(sealed)} bytes")
        text = envelope.unseal(sealed, self._secret, _CONTEXT)
        sizes = (IDENTIFIER_BYTES, KEY_BYTES, SIGNATURE_BYTES, SIGNATURE_BYTES)
        ends = (0, *itertools.accumulate(sizes), len(text))
        raw_id, key, receipt_signed, claim_signature, raw_user = (
            text[a:b] for a, b in itertools.pairwise(ends)
        )
        try:
            identifier, user = raw_id.decode("ascii"), raw_user.decode()
        except UnicodeDecodeError as error:
            raise PeerError("bad-record", "a claim whose identifier or user is not text") from error
        if not any(
            _is_signed(collector_key, b"receipt", raw_id + key, receipt_signed)
            for collector_key in self._collector_keys
        ):
            raise PeerError(
                "unknown-collector",
                "an identifier of no collector that this authority knows; its operator has to name each one",
            )
        require_signature(key, b"claim", self.public_key + raw_id + raw_user, claim_signature)
        return identifier, user


def _is_signed(key: bytes, purpose: bytes, text: bytes, signed: bytes) -> bool:
    try:
        require_signature(key, purpose, text, signed)
    except PeerError:
        return False
    return True
