"""Limited bodies, signed requests and replies, named errors.

The head brings a signed digest, so a sender without permission is refused by the head alone. Reading is
bounded by route, member and a common budget.
"""

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import Scope

from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError, UnavailableError
from shoal_collect.roles import wire
from shoal_collect.server.pools import Pools
from shoal_collect.server.watch import Watch, WatchMiddleware
from shoal_collect.storage.database import Database

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
        return wire.body_digest(b"")
    try:
        digest = bytes.fromhex(header or "")
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise PeerError("bad-signature", "a body without the header 'Shoal-Digest', 64 hexadecimal digits")
    return digest


def require_digest(body: bytes, digest: bytes) -> None:
    """Raise PeerError for a body that was changed on the way."""
    if wire.body_digest(body) != digest:
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


DOWN: Final = (UnavailableError, sqlite3.OperationalError)  # what a database that does not answer raises
_BAD_ADDRESS: Final = (OverflowError, RequestValidationError)  # the first: more digits than a database has
JSON: Final = "application/json"
_Read = TypeVar("_Read")
_SMALL_BYTES: Final = 1024
_THREADS: Final = 8
_NOT_READ: Final = ("body-too-long", "not-entitled", "bad-signature")
_SWITCH_S: Final = 0.0005


def new_application(title: str, watch: Watch, signing_seed: bytes) -> FastAPI:
    """An application with named, signed errors; its figures are in ``app.state.watch``.

    Refusals are signed, too: a forged one cannot end a member's round.
    """

    @asynccontextmanager
    async def few_threads(_: FastAPI) -> Any:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        before_s = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_S)  # whoever counts lets others in sooner
        yield
        sys.setswitchinterval(before_s)

    app = FastAPI(title=title, openapi_url=None, docs_url=None, redoc_url=None, lifespan=few_threads)

    async def refuse(request: Request, error: Exception) -> Response:
        status, name, message = _refusal_of(error)
        if status == 500:
            watch.fault(error)
        response = signed_reply(request, {"error": name, "message": message}, signing_seed, status)
        if isinstance(error, PeerError) and error.kind in _NOT_READ:
            response.headers["Connection"] = "close"  # else the rest of the body would be taken and dropped
        if isinstance(error, DOWN):
            response.headers["Retry-After"] = "1"
        return response

    for kind in (PeerError, *DOWN, *_BAD_ADDRESS, HTTPException, Exception):
        app.add_exception_handler(kind, refuse)

    app.state.watch = watch
    app.add_middleware(WatchMiddleware, watch=watch)
    return app


def _refusal_of(error: Exception) -> tuple[int, str, str]:
    """Status, name and message."""
    if isinstance(error, PeerError):
        return error.status, error.wire_name, str(error)
    if isinstance(error, DOWN):
        return 503, "unavailable", "the database does not answer; nothing was done, try again"
    if isinstance(error, _BAD_ADDRESS):
        return 422, "bad-frame", "an address or parameters that this interface does not have"
    if isinstance(error, HTTPException):
        return error.status_code, "bad-frame", str(error.detail)
    fault = f"a fault of the server ({type(error).__name__}); nothing was acknowledged, try again"
    return 500, "internal", fault


class PlainRoute(Route):
    """A route that reads only the request: parsing would be a fifth of the cost (bench/bench_service.py)."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As FastAPI's routes."""
        match, more = super().matches(scope)
        return match, more if match is Match.NONE else {**more, "route": self}


def target_of(request: Request) -> str:
    """Path and query, as signed."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def signed_reply(
    request: Request, content: Any, signing_seed: bytes, status: int = 200, media_type: str | None = None
) -> Response:
    """A signed reply with bytes, or JSON."""
    binary = isinstance(content, bytes)
    body = content if binary else wire.write_json(content)
    kind = media_type or ("application/octet-stream" if binary else JSON)
    fields = (request.headers.get("Authorization", ""), request.headers.get("Content-Length", "0"))
    head = wire.head_digest(
        request.method, target_of(request), *fields, request.headers.get("Shoal-Digest", "")
    )
    signed = wire.sign_reply(signing_seed, head, body)
    return Response(body, status, media_type=kind, headers={"Shoal-Signature": signed})


class Server:
    """A server: its key and clock, and an application whose replies are signed.

    ``gauges``: read for /metrics.
    """

    def __init__(
        self,
        title: str,
        signing_seed: bytes,
        database: Database,
        clock: Callable[[], float],
        gauges: Callable[[], dict[str, float]] = dict,
        *,
        quiet: bool = False,
    ) -> None:
        self.signing_seed, self.clock, self.key = signing_seed, clock, verify_key(signing_seed)
        self.budget, self.pools, self.watch = BodyBudget(), Pools(), Watch(gauges, quiet=quiet)
        self.app = new_application(title, self.watch, signing_seed)

        @self.app.get("/health")
        async def health() -> Response:
            """Within 100 ms, two seconds after a pause, and never well on an old look."""
            state = await self.pools.health(database.trouble)
            body = {"status": state or "ok", "database": state or "answers"}
            return Response(json.dumps(body), 503 if state else 200, media_type=JSON)

    def add(
        self,
        method: str,
        path: str,
        answer: Callable[[Request], Awaitable[Any]],
        media_type: str | None = None,
    ) -> None:
        """Add a route; bytes or JSON that ``answer`` returns are signed."""

        async def signed(request: Request) -> Response:
            return signed_reply(request, await answer(request), self.signing_seed, media_type=media_type)

        self.app.router.routes.append(PlainRoute(path, signed, methods=[method]))

    def add_public(self, path: str, answer: Callable[[Request], Any]) -> None:
        """Add a route for everybody, with an answer from a thread."""
        self.add("GET", path, lambda request: self.pools.quick(answer, request))

    def add_small(self, method: str, path: str, answer: Callable[[Request, bytes, bytes], Any]) -> None:
        """Add a route for signed requests; the answer to sender and short body comes from a thread."""

        async def answer_sender(request: Request) -> Any:
            return await self.pools.quick(answer, request, *await self.read_small(request))

        self.add(method, path, answer_sender)

    async def read_small(self, request: Request) -> tuple[bytes, bytes]:
        """Sender and short body."""
        body = await read_body(request, require_length(request, _SMALL_BYTES))
        digest = announced_digest(request)
        sender = self.sender_of(request, digest)
        require_digest(body, digest)
        return sender, body

    @asynccontextmanager
    async def read_large(
        self, request: Request, limit_bytes: Callable[[bytes], int]
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """Yield sender and long body; its room is free at the end.

        Only the head has been read; ``limit_bytes``: a sender's limit, or PeerError.
        """
        size, digest = require_length(request, wire.BODY_BYTES), announced_digest(request)
        sender = self.sender_of(request, digest)
        require_length(request, await self.pools.quick(limit_bytes, sender))
        with self.budget.of(sender, size):
            body = await read_body(request, size)
            require_digest(body, digest)
            yield sender, body

    def sender_of(self, request: Request, digest: bytes) -> bytes:
        """The signer of a request with this digest."""
        header, target = request.headers.get("Authorization"), target_of(request)
        return wire.read_authorization(header, self.key, request.method, target, digest, self.clock())


def read_query(request: Request, name: str, read: Callable[[str], _Read], default: _Read) -> _Read:
    """One parameter of an address."""
    text = request.query_params.get(name)
    return default if text is None else _read(text, read)


def read_number(text: str) -> int:
    """A number in an address."""
    return _read(text, int)


def _read(text: str, read: Callable[[str], _Read]) -> _Read:
    try:
        return read(text)
    except ValueError as error:
        raise RequestValidationError([]) from error


def waiting_of(request: Request) -> tuple[float, str]:
    """How long a request waits, in seconds, and the last answer's digest."""
    return read_query(request, "wait", float, 0.0), read_query(request, "seen", str, "")


def read_name(request: Request, part: str = "name") -> bytes:
    """The 32 bytes of a name in the address."""
    name = request.path_params[part]
    try:
        digest = bytes.fromhex(name)
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise PeerError("wrong-session", "an address whose name is not 64 hexadecimal digits")
    return digest
