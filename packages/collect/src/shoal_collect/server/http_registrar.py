"""The registrar's application."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response

from shoal_collect.crypto.blind_signatures import MODULUS_BYTES
from shoal_collect.faults import PeerError
from shoal_collect.roles.registrar import Registrar
from shoal_collect.roles.requests import body_digest
from shoal_collect.server.http import Server, add_health, new_application, read_name
from shoal_collect.server.pools import Pools
from shoal_collect.server.watch import Watch
from shoal_collect.storage.register import RegisterBook


def registrar_application(
    registrar: Registrar,
    book: RegisterBook,
    *,
    quiet: bool = False,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Serve the registrar."""
    app = new_application("shoal registrar", Watch(book.counts, quiet=quiet), registrar.signing_seed)

    add_health(app, Pools(), book.database)
    add_registrar(app, registrar, clock)
    return app


def add_registrar(app: FastAPI, registrar: Registrar, clock: Callable[[], float]) -> None:
    """Add a registrar to its application, or the authority's."""
    server = Server(registrar.signing_seed, clock)
    Small = Annotated[tuple[bytes, bytes], Depends(server.read_small)]  # noqa: N806  (a type)

    @app.get("/v1/registrar")
    def about(request: Request) -> Response:
        facts = {"registrar_key": server.key.hex(), "time_s": clock(), "token_days": registrar.days}
        return server.reply(request, facts)

    @app.get("/v1/keys/{collector}/{days}/{period}")
    def key_of(request: Request, collector: str, days: int, period: int, area: str = "") -> Response:
        person = server.sender_of(request, body_digest(b"")) if area else b""
        content = registrar.key_of(read_name(collector), days, period, clock(), area, person)
        return server.reply(request, content)

    @app.post("/v1/persons")
    def admit(request: Request, sent: Small) -> Response:
        try:
            code = sent[1].decode("ascii")
        except UnicodeDecodeError as error:
            raise PeerError("out-of-range", "an invitation that is not text") from error
        registrar.admit(sent[0], code)
        return server.reply(request, {"admitted": True})

    @app.post("/v1/tokens/{collector}/{days}/{period}")
    async def sign(request: Request, collector: str, days: int, period: int, area: str = "") -> Response:
        about = read_name(collector), days, period
        async with server.read_large(request, lambda _: MODULUS_BYTES) as (sender, body):
            signed = await server.pools.quick(registrar.sign, sender, *about, body, clock(), area)
        return server.reply(request, signed)
