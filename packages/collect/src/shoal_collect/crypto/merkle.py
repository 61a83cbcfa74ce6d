"""Hash trees as in RFC 6962, Sec. 2.1 (Certificate Transparency), with SHA-256.

One root stands for a list of entries; a path of log n digests shows that one entry is among them, and says
nothing of the others but digests.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from shoal_collect.faults import PeerError

DIGEST_BYTES: Final = 32


def leaf(entry: bytes) -> bytes:
    """Digest one entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """Digest a list of leaves, which may be empty."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    split = _split(len(leaves))
    return _node(root(leaves[:split]), root(leaves[split:]))


def path(leaves: Sequence[bytes], at: int) -> list[bytes]:
    """Return what shows that the leaf at a place is in the list, from the bottom to the top."""
    if len(leaves) < 2:
        return []
    split = _split(len(leaves))
    if at < split:
        return [*path(leaves[:split], at), root(leaves[split:])]
    return [*path(leaves[split:], at - split), root(leaves[:split])]


def require_in(expected: bytes, n: int, at: int, own: bytes, shown: Sequence[bytes]) -> None:
    """Raise PeerError unless a path shows that a leaf is at this place of the n under a root."""
    digest, last = own, n - 1
    sides = list(shown)
    if not 0 <= at < n:
        raise PeerError("bad-proof", "a place that the list does not have")
    while last:
        if at % 2 or at < last:  # else it has no neighbor at this height, and goes up as it is
            if not sides:
                raise PeerError("bad-proof", "a path that ends too early")
            side = sides.pop(0)
            digest = _node(side, digest) if at % 2 else _node(digest, side)
        at, last = at // 2, last // 2
    if sides or digest != expected:
        raise PeerError("bad-proof", "a path that leads to another root")


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(n: int) -> int:
    """The largest power of two below n."""
    return 1 << ((n - 1).bit_length() - 1)
