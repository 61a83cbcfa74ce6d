"""A device's token."""

import json
import time
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import urlsplit

from shoal.errors import InputError
from shoal_collect.device.http_client import Patience, RemoteServer
from shoal_collect.faults import PeerError, refusing
from shoal_collect.roles.admission import Entry, Purpose, TokenRequest
from shoal_collect.roles.contributors import purpose_in
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.requests import Call, Reply
from shoal_collect.roles.terms import RegistrarTerms, Terms

_LONGEST_URL: Final = 4_096
_LOOK_S: Final = 2.0


class LoginNeededError(InputError):
    """The registrar admits by an institution's login, and this account has none yet.

    ``number``: for the registrar's page. ``until_s``: the deadline, in seconds since 1970.
    """

    def __init__(self, url: str, number: str, until_s: float) -> None:
        super().__init__(f"log in at {url} ; the page after that asks for the number {number}")
        self.url, self.number, self.until_s = url, number, until_s


def request_entry(
    server: RemoteServer,
    device: Device,
    registrar: RegistrarTerms,
    invitation: str | None,
    tell: Callable[[str], None] | None = None,
    *,
    patience_s: float = 0.0,
    purpose: Purpose | None = None,
) -> Entry:
    """Get the token of this period, or a credential, with an invitation or a login the first time.

    The registrar repeats the same token, so a lost answer costs nothing.

    ``server``: the registrar; the key in the terms checks its replies. ``device``: the device; a secret that
    no other server sees signs for its account. ``registrar``: the registrar in the terms of the round.
    ``invitation``: her invitation code; None when she was admitted before. ``tell``: receives the address
    of a login, which is then waited for, and a message when the registrar is away. ``patience_s``: how long
    the registrar may be away, in seconds. ``purpose``: of a contributor's credential. InputError if the
    registrar does not answer, does not admit her, or states an invalid key. LoginNeededError if it admits by
    a login, and ``tell`` is None; after the login the same call goes on.
    """
    request = TokenRequest(device.device_key, device.server_key, registrar, purpose)

    def send(call: Call) -> Reply:
        patience = Patience(patience_s, tell or (lambda _: None))

        def try_once() -> Reply:
            reply = server.send(call, device, time.time(), request.account_seed)
            if reply.status >= 500 and patience.wait(trouble):
                return try_once()
            return reply

        trouble = "the registrar does not answer yet"
        return patience.until(try_once, trouble, "the registrar is away; try again later")

    def require_body(reply: Reply) -> bytes:
        if reply.refusal is None:
            return reply.body
        kind, message = reply.refusal
        missing = kind == "not-entitled" and invitation is None
        hint = "; give your invitation with --invitation" if missing else ""
        raise InputError(f"the registrar at {server.url} refused: {message}{hint}")

    def token(call: Call) -> bytes:
        reply = send(call)
        if reply.refusal is not None and reply.refusal[0] == "not-entitled" and invitation is None:
            login = send(Call("POST", "/v1/logins", b"", to="registrar"))
            if login.refusal is None:
                reply = _after_login(LoginNeededError(*_read_login(login.body)), tell, lambda: send(call))
        return require_body(reply)

    try:
        if invitation is not None:
            require_body(send(Call("POST", "/v1/persons", invitation.encode(), to="registrar")))
        key_reply = require_body(send(request.ask_for_key()))
        return request.entry(key_reply, token(request.ask_for_token(key_reply)))
    except PeerError as error:
        raise InputError(
            f"the registrar at {server.url} answers with a key or token that does not hold ({error}); ask "
            "its operator"
        ) from error


def request_credentials(
    server: RemoteServer, device: Device, terms: Terms, areas: Iterable[str], patience_s: float = 0.0
) -> dict[str, Entry]:
    """A contributor's credential for each area of a collection; asking for all hides where she was."""
    registrar = terms.registrar
    if registrar is None:
        return {}
    return {
        area: request_entry(
            server,
            device,
            registrar,
            None,
            patience_s=patience_s,
            purpose=purpose_in(device.server_key, terms, registrar, area),
        )
        for area in areas
    }


def _after_login(
    needed: LoginNeededError, tell: Callable[[str], None] | None, retry: Callable[[], Reply]
) -> Reply:
    if tell is None:
        raise needed
    tell(str(needed))
    while time.time() < needed.until_s:
        time.sleep(_LOOK_S)
        reply = retry()
        if reply.refusal is None or reply.refusal[0] != "not-entitled":
            return reply
    raise InputError("no login came in time; run the same command again")


def _read_login(content: bytes) -> tuple[str, str, float]:
    with refusing("bad-answer", "a login that says neither address nor number"):
        document = json.loads(content)
        url, number, until_s = str(document["url"]), str(document["number"]), float(document["until_s"])
        parts = urlsplit(url)
        is_local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not (is_local or (parts.scheme == "https" and parts.hostname)) or not url.isprintable():
        raise PeerError("bad-answer", "a login at an address that others can read")
    if len(url) > _LONGEST_URL or not (number.isascii() and number.isdecimal() and len(number) == 6):
        raise PeerError("bad-answer", "a login that says neither address nor number")
    return url, number, until_s
