"""Bodies of requests: who sends one, and how long it may be, is known before it is read.

The head of a request brings a digest of its body and a signature over it. So somebody who may send nothing
is refused by the head alone. What is read is never more than the route needs, than one body of a member at a
time, and than the budget of all bodies together.
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
    """Return the length that the head announces; raise PeerError for a longer body, or one without it."""
    said = request.headers.get("Content-Length", "0")
    if "Transfer-Encoding" in request.headers or not said.isdecimal() or len(said) > 18:
        raise PeerError("bad-length", "a body whose length the head of the request does not say")
    if int(said) > limit_bytes:
        raise PeerError("body-too-long", f"a body of more than {limit_bytes} bytes")
    return int(said)


async def read_body(request: Request, limit_bytes: int) -> bytes:
    """Read the whole body.

    Raises PeerError when it is longer than the limit (it is not read beyond), or does not come in time.
    """
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


def digest_said(request: Request) -> bytes:
    """Return the digest of the body that the head brings, where there is one; raise PeerError without."""
    said = request.headers.get("Shoal-Digest")
    if said is None and request.headers.get("Content-Length", "0") == "0":
        return body_digest(b"")
    try:
        digest = bytes.fromhex(said or "")
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise PeerError("bad-signature", "a body without the header 'Shoal-Digest', 64 hexadecimal digits")
    return digest


def require_digest(body: bytes, digest: bytes) -> None:
    """Raise PeerError for another body than the one that the head says: somebody changed it on the way."""
    if body_digest(body) != digest:
        raise PeerError("damaged", "another body than the one that the head of the request signs; try again")


class BodyBudget:
    """How much of all bodies together is in memory; used on the event loop alone.

    Parameters
    ----------
    total_bytes
        No more is read at once.
    """

    def __init__(self, total_bytes: int = ALL_BODIES_BYTES) -> None:
        self._left = total_bytes
        self._senders: set[bytes] = set()

    @contextmanager
    def of(self, sender: bytes, n_bytes: int) -> Iterator[None]:
        """Hold room for a body; raise PeerError when there is none, or the sender already sends another."""
        if sender in self._senders or n_bytes > self._left:
            raise PeerError("busy", "too much is being sent at once; try again")
        self._senders.add(sender)
        self._left -= n_bytes
        try:
            yield
        finally:
            self._left += n_bytes
            self._senders.discard(sender)
