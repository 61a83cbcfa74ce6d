"""Hash trees as in RFC 6962, Sec. 2.1, with SHA-256.

A path of log n digests proves that an entry is in the list, and reveals only digests of others.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from shoal_collect.faults import PeerError

DIGEST_BYTES: Final = 32


def leaf(entry: bytes) -> bytes:
    """One entry's digest."""
    return hashlib.sha256(b"\x00" + entry).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """A list's digest; it may be empty."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    split = _split(len(leaves))
    return _node(root(leaves[:split]), root(leaves[split:]))


def path(leaves: Sequence[bytes], at: int) -> list[bytes]:
    """The siblings of a leaf, from the bottom to the top."""
    if len(leaves) < 2:
        return []
    split = _split(len(leaves))
    if at < split:
        return [*path(leaves[:split], at), root(leaves[split:])]
    return [*path(leaves[split:], at - split), root(leaves[:split])]


def require_path(expected: bytes, n: int, at: int, leaf_digest: bytes, siblings: Sequence[bytes]) -> None:
    """Raise PeerError unless the siblings prove a leaf at ``at`` of ``n``."""
    digest, last = leaf_digest, n - 1
    remaining = list(siblings)
    if not 0 <= at < n:
        raise PeerError("bad-proof", "a place that the list does not have")
    while last:
        if at % 2 or at < last:  # else it has no neighbor at this height, and goes up as it is
            if not remaining:
                raise PeerError("bad-proof", "a path that ends too early")
            side = remaining.pop(0)
            digest = _node(side, digest) if at % 2 else _node(digest, side)
        at, last = at // 2, last // 2
    if remaining or digest != expected:
        raise PeerError("bad-proof", "a path that leads to another root")


def _node(first: bytes, second: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + first + second).digest()


def _split(n: int) -> int:
    """The largest power of two below n."""
    return 1 << ((n - 1).bit_length() - 1)
