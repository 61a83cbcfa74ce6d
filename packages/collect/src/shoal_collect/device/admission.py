"""How a device gets its token from a registrar."""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from shoal.errors import InputError
from shoal_collect.device.http_client import (
    Patience,
    RemoteServer,
    silence_in_words,
)
from shoal_collect.faults import PeerError
from shoal_collect.roles.admission import MOST_CLEARANCES, Entry, TokenRequest
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.requests import Call, Reply, read_json
from shoal_collect.roles.terms import RegistrarTerms

_DOWN: Final = (OSError, http.client.HTTPException)
_LONGEST_URL: Final = 4_096
_LOOK_S: Final = 2.0


class LoginNeededError(InputError):
    """The registrar admits by an institution's login, and this account has none yet.

    Parameters
    ----------
    url
        Where to log in.
    number
        What the registrar's page asks for after that.
    until_s
        Until when, in seconds since 1970.
    """

    def __init__(self, url: str, number: str, until_s: float) -> None:
        super().__init__(f"log in at {url} ; the page after that asks for the number {number}")
        self.url, self.number, self.until_s = url, number, until_s


def admitted(
    server: RemoteServer,
    device: Device,
    registrar: RegistrarTerms,
    invitation: str | None,
    tell: Callable[[str], None] | None = None,
    *,
    patience_s: float = 0.0,
) -> Entry:
    """Get the token of this period, with an invitation or a login the first time.

    Asked again, the registrar gives the same token, so an answer that was lost costs nothing.

    Parameters
    ----------
    server
        The registrar, whose replies are checked with the key in the terms.
    device
        Who asks; her account is signed for by a secret that no other server sees used.
    registrar
        The registrar in the terms of the round.
    invitation
        The code that she was given; None when she was admitted before.
    tell
        Told where to log in, where that is needed; then the login is waited for. Also told when the registrar
        is away.
    patience_s
        How long the registrar may be away, in seconds.

    Raises
    ------
    InputError
        If the registrar does not answer, does not admit her, or states a key that does not hold.
    LoginNeededError
        If it admits by a login, and nobody is told; after the login the same call goes on.
    """
    request = TokenRequest(device.device_key, device.server_key, registrar, device.account_key)

    def send(call: Call, signing_seed: bytes = request.account_seed) -> Reply:
        return _patiently(
            server, lambda: server.send(call, device, time.time(), signing_seed), patience_s, tell
        )

    def taken(reply: Reply) -> bytes:
        if reply.refusal is None:
            return reply.body
        kind, message = reply.refusal
        missing = kind == "not-entitled" and invitation is None
        hint = "; give your invitation with --invitation" if missing else ""
        raise InputError(f"the registrar at {server.url} refused: {message}{hint}")

    def token(call: Call) -> bytes:
        reply = send(call)
        if reply.refusal is not None and reply.refusal[0] == "not-entitled" and invitation is None:
            begun = send(Call("POST", "/v1/logins", b"", to="registrar"))
            if begun.refusal is None:
                reply = _after_login(LoginNeededError(*_read_begun(begun.body)), tell, lambda: send(call))
        return taken(reply)

    try:
        if invitation is not None:
            taken(send(Call("POST", "/v1/persons", invitation.encode(), to="registrar")))
        said = taken(send(request.ask_for_key()))
        periods = _periods_of(taken(send(request.ask_what_to_clear())))
        earlier = (request.of_period(number) for number in periods)
        cleared = b"".join(_cleared(lambda *call: taken(send(*call)), one) for one in earlier)
        return request.entry(said, token(request.ask_for_token(said, cleared)))
    except PeerError as error:
        raise InputError(
            f"the registrar at {server.url} answers with a key or token that does not hold ({error}); ask "
            "its operator"
        ) from error


def _patiently(
    server: RemoteServer, send: Callable[[], Reply], patience_s: float, tell: Callable[[str], None] | None
) -> Reply:
    """Send a request again while the registrar, or its database, is away; raise InputError in the end."""
    patience, trouble = Patience(patience_s, tell or (lambda _: None)), "the registrar does not answer yet"
    while True:
        try:
            reply = send()
            if reply.status < 500 or not patience.wait(trouble):
                return reply
        except _DOWN as error:
            untrusted = isinstance(error, ssl.SSLCertVerificationError)  # waiting mends nothing
            if untrusted or not patience.wait(trouble):
                raise InputError(
                    f"{silence_in_words(f'the registrar at {server.url}', error)}; try again later"
                ) from error


def _periods_of(content: bytes) -> list[Any]:
    """Read which earlier tokens are to be cleared; raise PeerError for anything else."""
    said = read_json(content)
    periods = said.get("periods") if isinstance(said, dict) else None
    if not isinstance(periods, list) or len(periods) > MOST_CLEARANCES:
        raise PeerError("bad-frame", "a list of earlier tokens that is none")
    return periods


def _cleared(ask: Callable[..., bytes], request: TokenRequest) -> bytes:
    """Get the clearance of an earlier token, under the key that it admits."""
    said = ask(request.ask_for_key())
    entry = request.entry(said, ask(request.ask_for_token(said)))
    said = ask(request.ask_for_clearing_key())
    return request.clearance(said, ask(request.ask_for_clearance(said, entry.token), entry.signing_seed))


def report(server: RemoteServer, device: Device, accusations: Sequence[bytes], signing_seed: bytes) -> int:
    """Bring proofs of blame to the registrar, under the key of the round; returns how many it took.

    A registrar that does not answer, or refuses, keeps nobody from the end of her round.
    """
    taken = 0
    for body in accusations:
        try:
            call = Call("POST", "/v1/accusations", body, to="registrar")
            taken += server.send(call, device, time.time(), signing_seed).refusal is None
        except (*_DOWN, PeerError):
            continue
    return taken


def _after_login(
    needed: LoginNeededError, tell: Callable[[str], None] | None, again: Callable[[], Reply]
) -> Reply:
    """Tell where to log in, and ask again until it has happened; raise it where nobody is told."""
    if tell is None:
        raise needed
    tell(str(needed))
    while time.time() < needed.until_s:
        time.sleep(_LOOK_S)
        reply = again()
        if reply.refusal is None or reply.refusal[0] != "not-entitled":
            return reply
    raise InputError("nobody has logged in in time; run the same command again")


def _read_begun(content: bytes) -> tuple[str, str, float]:
    """Read where to log in, the number to show, and until when; raise PeerError for anything else."""
    try:
        said = json.loads(content)
        url, number, until_s = str(said["url"]), str(said["number"]), float(said["until_s"])
        parts = urlsplit(url)
        here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PeerError("bad-answer", "a login that says neither address nor number") from error
    if not (here or (parts.scheme == "https" and parts.hostname)) or not url.isprintable():
        raise PeerError("bad-answer", "a login at an address that others can read")
    if len(url) > _LONGEST_URL or not (number.isascii() and number.isdecimal() and len(number) == 6):
        raise PeerError("bad-answer", "a login that says neither address nor number")
    return url, number, until_s
