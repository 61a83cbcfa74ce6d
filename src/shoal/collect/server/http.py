"""What the collector's and the authority's web applications share.

Bodies with limits, named errors, logs without content, metrics.
"""

import asyncio
import json
import socket
import sqlite3
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import h11
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from nacl.bindings import crypto_sign_seed_keypair
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

from shoal.collect.faults import PeerError
from shoal.collect.roles.wire import (
    BODY_BYTES,
    DAY_S,
    OTHER_STATUS,
    SETTLE_S,
    STATUS,
    check_authorization,
    sign_reply,
)
from shoal.collect.storage.database import UnavailableError
from shoal.errors import InputError

_BODY_LIMIT_S: Final = 60.0
_HEAD_LIMIT_S: Final = 30.0
_SMALL_BYTES: Final = 1024
_BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)
_THREADS: Final = 8

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


async def read_body(request: Request, limit_bytes: int) -> bytes:
    """The whole body.

    Raises PeerError when it is longer than the limit (unread beyond it), or does not come in time.
    """
    parts, size = [], 0
    try:
        async with asyncio.timeout(_BODY_LIMIT_S):
            async for part in request.stream():
                size += len(part)
                if size > limit_bytes:
                    raise PeerError("bad-length", f"a body of more than {limit_bytes} bytes")
                parts.append(part)
    except TimeoutError as error:
        raise PeerError("too-late", f"a body that did not come within {_BODY_LIMIT_S:.0f} s") from error
    return b"".join(parts)


def new_application(title: str, watch: "Watch") -> FastAPI:
    """An application with named errors, /health and /metrics; nothing on its pages comes from elsewhere."""

    @asynccontextmanager
    async def few_threads(_: FastAPI) -> Any:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        yield

    app = FastAPI(title=title, docs_url=None, redoc_url=None, lifespan=few_threads)

    @app.exception_handler(PeerError)
    async def peer_fault(_: Request, error: PeerError) -> Response:
        oversized = error.kind == "bad-length" and "more than" in str(error)
        response = error_reply(
            413 if oversized else STATUS.get(error.kind, OTHER_STATUS), error.kind, str(error)
        )
        if error.kind == "too-many":
            response.headers["Retry-After"] = str(int(DAY_S - (time.time() - SETTLE_S) % DAY_S) + 1)
        return response

    @app.exception_handler(UnavailableError)
    @app.exception_handler(sqlite3.OperationalError)
    async def no_database(_: Request, __: Exception) -> Response:
        response = error_reply(
            503, "unavailable", "the database does not answer; nothing was done, try again"
        )
        response.headers["Retry-After"] = "1"
        return response

    @app.exception_handler(RequestValidationError)
    async def bad_request(_: Request, __: RequestValidationError) -> Response:
        return error_reply(
            422, "bad-frame", "a request whose address or parameters are not those of this interface"
        )

    @app.exception_handler(HTTPException)
    async def no_such_thing(_: Request, error: HTTPException) -> Response:
        return error_reply(error.status_code, "bad-frame", str(error.detail))

    @app.exception_handler(Exception)
    async def our_fault(_: Request, error: Exception) -> Response:
        watch.fault(error)
        return error_reply(
            500,
            "internal",
            f"a fault of the server ({type(error).__name__}); nothing was acknowledged, try again",
        )

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(watch.text(), media_type="text/plain; version=0.0.4")

    app.add_middleware(Watched, watch=watch)
    return app


def error_reply(status: int, kind: str, message: str) -> Response:
    """An error as JSON."""
    return Response(json.dumps({"error": kind, "message": message}), status, media_type="application/json")


def target_of(request: Request) -> str:
    """Path and query, as the request was signed."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def signed_reply(request: Request, content: Any, signing_seed: bytes) -> Response:
    """Bytes, or anything else as JSON, with the server's signature as the reply to this very address."""
    binary = isinstance(content, bytes)
    body = content if binary else json.dumps(content).encode()
    kind, signed = (
        "application/octet-stream" if binary else "application/json",
        sign_reply(signing_seed, target_of(request), body),
    )
    return Response(body, media_type=kind, headers={"Shoal-Signature": signed})


@dataclass
class Desk:
    """A collector's or witness's own key and clock; whoever sends it something has signed it."""

    signing_seed: bytes
    clock: Callable[[], float]

    @property
    def key(self) -> bytes:
        """The public key that its replies are checked with."""
        return bytes(crypto_sign_seed_keypair(self.signing_seed)[0])

    def signed(self, request: Request, content: Any) -> Response:
        """A reply with its signature."""
        return signed_reply(request, content, self.signing_seed)

    async def small(self, request: Request) -> tuple[bytes, bytes]:
        """Who sent a short body, and the body."""
        return self._checked(request, await read_body(request, _SMALL_BYTES))

    async def large(self, request: Request) -> tuple[bytes, bytes]:
        """The same for a long one, checked beside the others."""
        return await run_in_threadpool(self._checked, request, await read_body(request, BODY_BYTES))

    def _checked(self, request: Request, body: bytes) -> tuple[bytes, bytes]:
        header = request.headers.get("Authorization")
        return check_authorization(
            header, self.key, request.method, target_of(request), body, self.clock()
        ), body


def named(name: str) -> bytes:
    """The 32 bytes of a name in an address; raises PeerError."""
    try:
        found = bytes.fromhex(name)
    except ValueError:
        found = b""
    if len(found) != 32:
        raise PeerError("wrong-session", "an address whose name is not 64 hexadecimal digits")
    return found


class Watch:
    """Counters and times by route.

    One line a request on standard error, with no address, identity or content.
    """

    def __init__(self, gauges: Callable[[], dict[str, float]], *, quiet: bool = False) -> None:
        self._gauges, self._quiet = gauges, quiet
        self._requests: Counter[tuple[str, int]] = Counter()
        self._below: Counter[tuple[str, float]] = Counter()
        self._took_s: defaultdict[str, float] = defaultdict(float)
        self._more: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, n: int) -> None:
        """Count something else than requests."""
        with self._lock:
            self._more[name] += n

    def fault(self, error: Exception) -> None:
        """Note a fault of our own: its type and where it arose, not what it says."""
        self.add("faults", 1)
        where = [
            f"{Path(one.filename).name}:{one.lineno}"
            for one in traceback.extract_tb(error.__traceback__)[-1:]
        ]
        line = {"at_s": round(time.time(), 3), "fault": type(error).__name__, "where": where}
        print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201  (the log)

    def saw(self, route: str, status: int, took_s: float, bytes_in: int, bytes_out: int) -> None:
        """Note a request that was answered."""
        with self._lock:
            self._requests[route, status] += 1
            self._took_s[route] += took_s
            for bucket in _BUCKETS_S:
                self._below[route, bucket] += took_s <= bucket
        if not self._quiet:
            line = {
                "at_s": round(time.time(), 3),
                "route": route,
                "status": status,
                "ms": round(1000 * took_s, 1),
            }
            line |= {"bytes_in": bytes_in, "bytes_out": bytes_out}
            print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201  (the log)

    def text(self) -> str:
        """All counts in Prometheus' text format."""
        gauges = self._gauges()
        with self._lock:
            lines = ["# TYPE shoal_requests_total counter"]
            lines += [
                f'shoal_requests_total{{route="{r}",status="{s}"}} {n}'
                for (r, s), n in sorted(self._requests.items())
            ]
            lines.append("# TYPE shoal_request_seconds histogram")
            for route in sorted(self._took_s):
                total = sum(n for (one, _), n in self._requests.items() if one == route)
                lines += [
                    f'shoal_request_seconds_bucket{{route="{route}",le="{b}"}} {self._below[route, b]}'
                    for b in _BUCKETS_S
                ]
                lines.append(f'shoal_request_seconds_bucket{{route="{route}",le="+Inf"}} {total}')
                lines.append(f'shoal_request_seconds_sum{{route="{route}"}} {self._took_s[route]:.6f}')
                lines.append(f'shoal_request_seconds_count{{route="{route}"}} {total}')
            for name, n in sorted(self._more.items()):
                lines += [f"# TYPE shoal_{name}_total counter", f"shoal_{name}_total {n}"]
        for name, value in sorted(gauges.items()):
            lines += [f"# TYPE shoal_{name} gauge", f"shoal_{name} {value:g}"]
        return "\n".join(lines) + "\n"


class Watched:
    """Tells the watch about every request, by the route's pattern and never by its address."""

    def __init__(self, app: Application, watch: Watch) -> None:
        self._app, self._watch = app, watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 500, [0, 0]

        async def counted_receive() -> MutableMapping[str, Any]:
            message = await receive()
            size[0] += len(message.get("body", b""))
            return message

        async def counted_send(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            size[1] += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, counted_receive, counted_send)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            self._watch.saw(route, status, time.perf_counter() - began, *size)


class Punctual(H11Protocol):
    """Closes a connection on which the head of a request does not come in time, so that a thousand idle ones shut nobody out."""

    _late: asyncio.TimerHandle | None = None

    # as uvicorn narrows it
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """From now on time counts."""
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Bytes that complete a head stop the clock; those of the next one start it."""
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        """The next head may have begun already."""
        super().on_response_complete()
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        super().connection_lost(exc)
        if self._late is not None:
            self._late.cancel()

    def _watch_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            if self._late is not None:
                self._late.cancel()
                self._late = None
        elif self._late is None:
            self._late = self.loop.call_later(_HEAD_LIMIT_S, self.transport.close)


def serve(
    app: FastAPI,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    ready: Callable[[str], None],
) -> None:
    """Run until interrupted; ``ready`` is told the address, with the port that was free for port 0."""
    server, listening, url = bound(app, host, port, tls_cert, tls_key)
    ready(url)
    server.run(sockets=[listening])


def bound(
    app: FastAPI, host: str, port: int, tls_cert: Path | None = None, tls_key: Path | None = None
) -> tuple[uvicorn.Server, socket.socket, str]:
    """A server that is ready to run on its socket, and its address.

    Raises InputError for an address that cannot be had.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=16_384,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        http=Punctual,
    )
    try:
        config.load()
    except OSError as error:
        raise InputError(
            f"{tls_cert} and {tls_key} are no certificate and key that belong together; give both in PEM "
            "format"
        ) from error
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=256
        )
    except OSError as error:
        raise InputError(
            f"nothing can listen at {host}, port {port} ({error.strerror}); choose another with --host or "
            "--port"
        ) from error
    shown = f"[{host}]" if ":" in host else host
    return (
        uvicorn.Server(config),
        listening,
        f"{'https' if tls_cert else 'http'}://{shown}:{listening.getsockname()[1]}",
    )
