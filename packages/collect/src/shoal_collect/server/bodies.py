"""Bodies: sender and greatest length are known before one is read.

The head brings a signed digest, so a sender without permission is refused by the head alone. Reading is
bounded by route, member and a common budget.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fastapi import Request

from shoal_collect.faults import PeerError
from shoal_collect.roles.requests import body_digest

_BODY_LIMIT_S: Final = 60.0
ALL_BODIES_BYTES: Final = 64 << 20


def require_length(request: Request, limit_bytes: int) -> int:
    """The length in the head, within the limit."""
    length = request.headers.get("Content-Length", "0")
    if "Transfer-Encoding" in request.headers or not length.isdecimal() or len(length) > 18:
        raise PeerError("bad-length", "a body whose length the head of the request does not say")
    if int(length) > limit_bytes:
        raise PeerError("body-too-long", f"a body of more than {limit_bytes} bytes")
    return int(length)


async def read_body(request: Request, limit_bytes: int) -> bytes:
    """The body; PeerError beyond the limit (not read further) or too late."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(_BODY_LIMIT_S):
            async for part in request.stream():
                size += len(part)
                if size > limit_bytes:
                    raise PeerError("body-too-long", f"a body of more than {limit_bytes} bytes")
                parts.append(part)
    except TimeoutError as error:
        raise PeerError("too-slow", f"a body that did not come within {_BODY_LIMIT_S:.0f} s") from error
    return b"".join(parts)


def announced_digest(request: Request) -> bytes:
    """The body's digest in the head."""
    header = request.headers.get("Shoal-Digest")
    if header is None and request.headers.get("Content-Length", "0") == "0":
        return body_digest(b"")
    try:
        digest = bytes.fromhex(header or "")
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise PeerError("bad-signature", "a body without the header 'Shoal-Digest', 64 hexadecimal digits")
    return digest


def require_digest(body: bytes, digest: bytes) -> None:
    """Raise PeerError for a body that was changed on the way."""
    if body_digest(body) != digest:
        raise PeerError("damaged", "another body than the one that the head of the request signs; try again")


class BodyBudget:
    """Bytes of all bodies in memory; on the event loop alone."""

    def __init__(self, total_bytes: int = ALL_BODIES_BYTES) -> None:
        self._left = total_bytes
        self._senders: set[bytes] = set()

    @contextmanager
    def of(self, sender: bytes, n_bytes: int) -> Iterator[None]:
        """Reserve room; PeerError when none is left, or the sender is sending another."""
        if sender in self._senders or n_bytes > self._left:
            raise PeerError("busy", "too much is being sent at once; try again")
        self._senders.add(sender)
        self._left -= n_bytes
        try:
            yield
        finally:
            self._left += n_bytes
            self._senders.discard(sender)
