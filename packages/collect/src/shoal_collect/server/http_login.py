"""Logins over HTTP: a device begins one, and its owner confirms it."""

import secrets
import time
from collections.abc import Callable
from typing import Annotated, Any, Final
from urllib.parse import parse_qs

from fastapi import Depends, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from shoal_collect.faults import PeerError
from shoal_collect.server.bodies import read_body, require_length
from shoal_collect.server.http import Server
from shoal_collect.server.login import LoginKeys, Provider
from shoal_collect.server.plain_pages import page_response, render
from shoal_collect.storage.logins import Logins

RETURN: Final = "/login/return"
CONFIRM: Final = "/login/confirm"
_STATE_BYTES: Final = 32
_LONGEST: Final = 4_096


class LoginDesk:
    """The steps of a login."""

    def __init__(
        self, provider: Provider, keys: LoginKeys, logins: Logins, clock: Callable[[], float] = time.time
    ) -> None:
        self._provider, self._keys, self._logins, self._clock = provider, keys, logins, clock

    def begin(self, account: bytes) -> dict[str, Any]:
        """Where the owner logs in, and the number on the device."""
        state = secrets.token_hex(_STATE_BYTES)
        address = self._provider.address(state, self._keys.nonce(state), self._keys.verifier(state))
        until_s = self._logins.begin(state.encode(), account, self._clock())
        return {"url": address, "number": self._keys.number(state), "until_s": until_s}

    def take_return(self, state: str, code: str) -> None:
        """Take the institution's answer."""
        self._logins.use(state.encode(), self._clock())
        subject = self._provider.subject_of(code, self._keys.nonce(state), self._keys.verifier(state))
        self._logins.note_person(state.encode(), self._keys.person(self._provider.issuer, subject))

    def confirm(self, state: str, number: str) -> None:
        """Admit the account; PeerError for a wrong number."""
        digits = "".join(number.split())
        self._logins.confirm(state.encode(), digits, self._keys.number(state), self._clock())


def add_logins(app: FastAPI, server: Server, desk: LoginDesk) -> None:
    """Add logins to a registrar."""
    Small = Annotated[tuple[bytes, bytes], Depends(server.read_small)]  # noqa: N806  (a type)

    @app.post("/v1/logins")
    def begin(request: Request, sent: Small) -> Response:
        return server.reply(request, desk.begin(sent[0]))

    @app.get(RETURN)
    def come_back(request: Request) -> Response:
        parameters = request.query_params
        try:
            if len(str(request.url.query)) > _LONGEST:
                raise PeerError("bad-length", "an address that is too long")
            if "error" in parameters or not parameters.get("code"):
                raise PeerError("not-entitled", "the institution did not log you in; begin it again")
            desk.take_return(parameters.get("state", ""), parameters["code"])
        except PeerError as error:
            return _refusal_page(error)
        return _number_page(parameters["state"])

    @app.post(CONFIRM)
    async def confirm(request: Request) -> Response:
        try:
            body = await read_body(request, require_length(request, _LONGEST))
            form = parse_qs(body.decode("ascii", "replace"), max_num_fields=10)
        except (PeerError, ValueError):
            return _refusal_page(PeerError("bad-frame", "a form that this page does not send"))
        state, number = (form.get(name, [""])[0] for name in ("state", "number"))
        try:
            await run_in_threadpool(desk.confirm, state, number)
        except PeerError as error:
            if error.kind == "not-entitled":
                return _number_page(state, error.status, wrong=_message_of(error))
            return _refusal_page(error)
        return page_response(render("login.html.j2", done=True))


def _number_page(state: str, status: int = 200, **content: str) -> Response:
    return page_response(render("login.html.j2", state=state, action=CONFIRM, **content), status, forms=True)


def _refusal_page(error: PeerError) -> Response:
    html = render("login.html.j2", refused=_message_of(error), name=error.wire_name)
    return page_response(html, error.status)


def _message_of(error: PeerError) -> str:
    return str(error).removeprefix(f"{error.wire_name}: ")
