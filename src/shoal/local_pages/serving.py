"""A web application on a socket."""

import asyncio
import asyncio.sslproto
import gc
import socket
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from html import escape
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from shoal.errors import InputError
from shoal.local_pages.guard import HOST, Keys
from shoal.runtime.staging import write_private

_HEAD_LIMIT_S: Final = 30.0
# asyncio holds a buffer of 256 KiB for each TLS connection; no record of TLS is longer than 16 KiB
asyncio.sslproto.SSLProtocol.max_size = 16 * 1024


class _Door(socket.socket):
    """Takes so many connections of an address (0 = any number) and in all, and closes any further one.

    They count before the handshake of TLS, which a stranger may never begin. Whoever has one address of
    version 6 has all with its first half.
    """

    of_an_address, at_once = 0, 0

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(fileno=listening.detach())
        self._taken: list[tuple[bytes, socket.socket]] = []

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        who = ip_address(address[0])
        network = (getattr(who, "ipv4_mapped", None) or who).packed[:8]
        self._taken = [(of, taken) for of, taken in self._taken if taken.fileno() >= 0]
        n_of_it = sum(of == network for of, _ in self._taken)
        if 0 < self.of_an_address <= n_of_it or self.at_once <= len(self._taken):
            connection.close()
            raise ConnectionAbortedError("too many connections")
        self._taken.append((network, connection))
        return connection, address


class PunctualProtocol(H11Protocol):
    """Close a connection when a head is late, or a body that was answered, so that idle ones block no one."""

    _late: asyncio.TimerHandle | None = None

    # as uvicorn narrows it
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of TCP
        """Start the clock."""
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Stop the clock at a complete head; start it for the next."""
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        """Watch the next head, which may have begun."""
        super().on_response_complete()
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        super().connection_lost(exc)
        if self._late is not None:
            self._late.cancel()

    def _watch_head(self) -> None:
        if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY):  # it is our turn
            if self._late is not None:
                self._late.cancel()
                self._late = None
        elif self._late is None:
            self._late = self.loop.call_later(_HEAD_LIMIT_S, self.transport.close)


class _Stopping(uvicorn.Server):
    """A server that releases waiting requests before it stops.

    Objects of the start are frozen for garbage collection: scanning them delayed every request by 50 ms
    during a flood.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.freeze()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        gc.unfreeze()
        if isinstance(self.config.app, FastAPI) and hasattr(self.config.app.state, "release"):
            self.config.app.state.release()
        await super().shutdown(sockets)


def serve(
    app: FastAPI,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    ready: Callable[[str], None],
    of_an_address: int = 0,
    at_once: int = 1000,
) -> None:
    """Run until interrupted.

    port: 0 takes a free one. tls_cert, tls_key: PEM files; None for plain HTTP. ready: called with the
    address. of_an_address, at_once: most connections of one address (0 = any number) and in all.
    """
    server, listening, url = open_server(app, host, port, tls_cert, tls_key, of_an_address, at_once)
    ready(url)
    server.run(sockets=[listening])


def open_server(
    app: FastAPI,
    host: str,
    port: int,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    of_an_address: int = 0,
    at_once: int = 1000,
) -> tuple[uvicorn.Server, socket.socket, str]:
    """Server, socket and address, as of ``serve``."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=16_384,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        http=PunctualProtocol,
        loop="asyncio",  # another one takes connections without the door
    )
    try:
        config.load()
    except OSError as error:
        raise InputError(
            f"{tls_cert} and {tls_key} are not a certificate and its key; give both in PEM format"
        ) from error
    try:
        listening = _Door(
            socket.create_server(
                (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
            )
        )
    except OSError as error:
        raise InputError(
            f"nothing can listen at {host}, port {port} ({error.strerror}); choose another with --host or "
            "--port"
        ) from error
    listening.of_an_address, listening.at_once = of_an_address, at_once
    bracketed_host = f"[{host}]" if ":" in host else host
    return (
        _Stopping(config),
        listening,
        f"{'https' if tls_cert else 'http'}://{bracketed_host}:{listening.getsockname()[1]}",
    )


def serve_one_person(
    app: FastAPI, keys: Keys, port: int, browse_from: Path | None, ready: Callable[[str], None], name: str
) -> None:
    """Serve at this machine alone until interrupted.

    port: 0 takes a free one. browse_from: a folder for the file that opens the address in a browser; None =
    no browser. ready: called with the address and its token.
    """
    try:
        server, listening, address = open_server(app, HOST, port)
    except InputError as error:
        raise InputError(f"nothing can listen at port {port}; choose another with --port") from error
    with listening, ExitStack() as stack:
        entry = f"{address}/{keys.prefix}/enter?token={keys.token}"
        ready(entry)
        if browse_from is not None:
            page = browse_from / "open.html"
            stack.callback(page.unlink, missing_ok=True)
            _open_page(page, entry, name)
        server.run(sockets=[listening])


def _open_page(file: Path, address: str, name: str) -> None:
    """Open the address by a file: everybody can read a browser's command line."""
    write_private(
        file,
        f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(address)}">'
        f'<title>{name}</title><a href="{escape(address)}">{name}</a>\n',
    )
    webbrowser.open(file.absolute().as_uri())
