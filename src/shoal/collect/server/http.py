"""What the web applications of the collector, its witnesses and the authority share.

Bodies with limits, requests and replies with signatures, errors by name.
"""

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from shoal.collect.crypto.signatures import verify_key
from shoal.collect.faults import PeerError
from shoal.collect.roles.requests import read_authorization, sign_reply
from shoal.collect.roles.wire import BODY_BYTES, DAY_S, SETTLE_S
from shoal.collect.server.watch import Watch, Watched
from shoal.collect.storage.database import UnavailableError

_BODY_LIMIT_S: Final = 60.0
_SMALL_BYTES: Final = 1024
_THREADS: Final = 8


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


def new_application(title: str, watch: Watch, signing_seed: bytes) -> FastAPI:
    """Make an application with named, signed errors and /metrics; nothing on its pages comes from elsewhere.

    A refusal is signed like any other reply: whoever can forge one ends nobody's round.
    """

    @asynccontextmanager
    async def few_threads(_: FastAPI) -> Any:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        yield

    app = FastAPI(title=title, docs_url=None, redoc_url=None, lifespan=few_threads)

    def refused(request: Request, status: int, name: str, message: str) -> Response:
        return signed_reply(request, {"error": name, "message": message}, signing_seed, status)

    @app.exception_handler(PeerError)
    async def peer_fault(request: Request, error: PeerError) -> Response:
        response = refused(request, error.status, error.wire_name, str(error))
        if error.kind == "too-many":
            response.headers["Retry-After"] = str(int(DAY_S - (time.time() - SETTLE_S) % DAY_S) + 1)
        return response

    @app.exception_handler(UnavailableError)
    @app.exception_handler(sqlite3.OperationalError)
    async def no_database(request: Request, _: Exception) -> Response:
        response = refused(
            request, 503, "unavailable", "the database does not answer; nothing was done, try again"
        )
        response.headers["Retry-After"] = "1"
        return response

    @app.exception_handler(RequestValidationError)
    async def bad_request(request: Request, _: RequestValidationError) -> Response:
        said = "an address or parameters that this interface does not have"
        return refused(request, 422, "bad-frame", said)

    @app.exception_handler(HTTPException)
    async def no_such_thing(request: Request, error: HTTPException) -> Response:
        return refused(request, error.status_code, "bad-frame", str(error.detail))

    @app.exception_handler(Exception)
    async def our_fault(request: Request, error: Exception) -> Response:
        watch.fault(error)
        return refused(
            request,
            500,
            "internal",
            f"a fault of the server ({type(error).__name__}); nothing was acknowledged, try again",
        )

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(watch.text(), media_type="text/plain; version=0.0.4")

    app.add_middleware(Watched, watch=watch)
    return app


def target_of(request: Request) -> str:
    """Return path and query, as the request was signed."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def signed_reply(request: Request, content: Any, signing_seed: bytes, status: int = 200) -> Response:
    """Reply with bytes, or anything else as JSON, and the server's signature for this very address."""
    binary = isinstance(content, bytes)
    body = content if binary else json.dumps(content).encode()
    kind = "application/octet-stream" if binary else "application/json"
    signed = sign_reply(signing_seed, target_of(request), body)
    return Response(body, status, media_type=kind, headers={"Shoal-Signature": signed})


@dataclass
class Server:
    """A collector or witness with its own key and clock; whoever sends it something has signed it.

    Parameters
    ----------
    signing_seed
        32 secret bytes; replies are signed with them.
    clock
        Tells the time, in seconds since 1970.
    """

    signing_seed: bytes
    clock: Callable[[], float]

    @property
    def key(self) -> bytes:
        """The public key that its replies are checked with."""
        return verify_key(self.signing_seed)

    def signed(self, request: Request, content: Any) -> Response:
        """Reply with a signature."""
        return signed_reply(request, content, self.signing_seed)

    async def small(self, request: Request) -> tuple[bytes, bytes]:
        """Return who sent a short body, and the body."""
        return self._checked(request, await read_body(request, _SMALL_BYTES))

    async def large(self, request: Request) -> tuple[bytes, bytes]:
        """Return who sent a long body, and the body; checked beside other requests."""
        return await run_in_threadpool(self._checked, request, await read_body(request, BODY_BYTES))

    def _checked(self, request: Request, body: bytes) -> tuple[bytes, bytes]:
        header, target = request.headers.get("Authorization"), target_of(request)
        return read_authorization(header, self.key, request.method, target, body, self.clock()), body


def named(name: str) -> bytes:
    """Read the 32 bytes of a name in an address; raise PeerError when they are not there."""
    try:
        found = bytes.fromhex(name)
    except ValueError:
        found = b""
    if len(found) != 32:
        raise PeerError("wrong-session", "an address whose name is not 64 hexadecimal digits")
    return found
