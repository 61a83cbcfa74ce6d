"""The protocol's hash: BLAKE2b, personal to each use."""

import hashlib


def hash_of(use: bytes, *parts: bytes, size: int = 32, key: bytes = b"") -> bytes:
    """Of the parts, one after the other."""
    return hashlib.blake2b(b"".join(parts), digest_size=size, key=key, person=use).digest()
