"""The registrar's web application: invitations, keys of periods, blind signatures."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response

from shoal.collect.faults import PeerError
from shoal.collect.roles.registrar import Registrar
from shoal.collect.server.http import Server, named, new_application
from shoal.collect.server.http_login import LoginDesk, add_logins
from shoal.collect.server.watch import Watch
from shoal.collect.storage.register import RegisterBook


def registrar_application(
    registrar: Registrar,
    book: RegisterBook,
    *,
    quiet: bool = False,
    clock: Callable[[], float] = time.time,
    login: LoginDesk | None = None,
) -> FastAPI:
    """Put the registrar behind its addresses.

    Parameters
    ----------
    registrar
        Who signs.
    book
        Who is admitted.
    quiet
        Whether to leave out the log.
    clock
        Tells the time, in seconds since 1970.
    login
        An institution's login, which admits people, too.
    """
    app = new_application("shoal registrar", Watch(book.counts, quiet=quiet), registrar.signing_seed)

    @app.get("/health")
    def health() -> Response:
        book.counts()
        return Response('{"status": "ok"}', media_type="application/json")

    add_registrar(app, registrar, clock)
    if login is not None:
        add_logins(app, Server(registrar.signing_seed, clock), login)
    return app


def add_registrar(app: FastAPI, registrar: Registrar, clock: Callable[[], float]) -> None:
    """Add the addresses of a registrar to an application of its own, or to the authority's."""
    server = Server(registrar.signing_seed, clock)
    Small = Annotated[tuple[bytes, bytes], Depends(server.small)]  # noqa: N806  (a type)

    @app.get("/v1/registrar")
    def about(request: Request) -> Response:
        facts = {"registrar_key": server.key.hex(), "time_s": clock(), "token_days": registrar.days}
        return server.signed(request, facts)

    @app.get("/v1/keys/{collector}/{days}/{period}")
    def key_of(request: Request, collector: str, days: int, period: int) -> Response:
        return server.signed(request, registrar.key_of(named(collector), days, period, clock()))

    @app.post("/v1/persons")
    def admit(request: Request, sent: Small) -> Response:
        try:
            code = sent[1].decode("ascii")
        except UnicodeDecodeError as error:
            raise PeerError("out-of-range", "an invitation that is not text") from error
        registrar.admit(sent[0], code)
        return server.signed(request, {"admitted": True})

    @app.post("/v1/tokens/{collector}/{days}/{period}")
    def sign(request: Request, collector: str, days: int, period: int, sent: Small) -> Response:
        signed = registrar.sign(sent[0], named(collector), days, period, sent[1], clock())
        return server.signed(request, signed)
