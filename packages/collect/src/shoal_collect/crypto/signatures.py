"""Ed25519 signatures, each valid for one purpose only."""

from typing import Final

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from shoal_collect.crypto.hashing import hash_of
from shoal_collect.faults import PeerError

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64


def verify_key(signing_seed: bytes) -> bytes:
    """Of a signing seed (32 bytes)."""
    return bytes(crypto_sign_seed_keypair(signing_seed)[0])


def signature(signing_seed: bytes, purpose: bytes, text: bytes) -> bytes:
    """Detached (64 bytes), for one purpose."""
    _, secret = crypto_sign_seed_keypair(signing_seed)
    return bytes(crypto_sign(_for_purpose(purpose, text), secret)[:SIGNATURE_BYTES])


def require_signature(key: bytes, purpose: bytes, text: bytes, signed: bytes) -> None:
    """Raise PeerError unless the key's owner signed this text for this purpose."""
    # a longer signature would move the border between purpose and text
    if len(key) != KEY_BYTES or len(signed) != SIGNATURE_BYTES:
        raise PeerError("bad-signature", f"a key of {len(key)} bytes and a signature of {len(signed)}")
    try:
        crypto_sign_open(signed + _for_purpose(purpose, text), key)
    except (BadSignatureError, ValueError) as error:
        raise PeerError("bad-signature", "a signature that does not hold") from error


def _for_purpose(purpose: bytes, text: bytes) -> bytes:
    return hash_of(b"shoal purpose", purpose) + text
