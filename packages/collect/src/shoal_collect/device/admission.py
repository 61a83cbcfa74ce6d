"""A device's token."""

import time
from collections.abc import Callable, Iterable

from shoal.errors import InputError
from shoal_collect.device.http_client import Patience, RemoteServer
from shoal_collect.faults import PeerError
from shoal_collect.roles.admission import Entry, Purpose, TokenRequest
from shoal_collect.roles.contributors import purpose_in
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.requests import Call, Reply
from shoal_collect.roles.terms import RegistrarTerms, Terms


def request_entry(
    server: RemoteServer,
    device: Device,
    registrar: RegistrarTerms,
    invitation: str | None,
    tell: Callable[[str], None] = lambda _: None,
    *,
    patience_s: float = 0.0,
    purpose: Purpose | None = None,
) -> Entry:
    """Get the token of this period, or a credential, with an invitation the first time.

    The registrar repeats the same token, so a lost answer costs nothing.

    ``server``: the registrar; the key in the terms checks its replies. ``device``: the device; a secret that
    no other server sees signs for its account. ``registrar``: the registrar in the terms of the round.
    ``invitation``: her invitation code; None when she was admitted before. ``tell``: receives a message when
    the registrar is away. ``patience_s``: how long the registrar may be away, in seconds. ``purpose``: of a
    contributor's credential. InputError if the registrar does not answer, does not admit her, or states an
    invalid key.
    """
    request = TokenRequest(device.device_key, device.server_key, registrar, purpose)
    patience, trouble = Patience(patience_s, tell), "the registrar does not answer yet"

    def send(call: Call) -> bytes:
        def try_once() -> Reply:
            reply = server.send(call, device, time.time(), request.account_seed)
            return try_once() if reply.status >= 500 and patience.wait(trouble) else reply

        patience.reset()
        reply = patience.until(try_once, trouble, "the registrar is away; try again later")
        if reply.refusal is None:
            return reply.body
        kind, message = reply.refusal
        missing = kind == "not-entitled" and invitation is None
        hint = "; give your invitation with --invitation" if missing else ""
        raise InputError(f"the registrar at {server.url} refused: {message}{hint}")

    try:
        if invitation is not None:
            send(Call("POST", "/v1/persons", invitation.encode(), to="registrar"))
        statement = send(request.ask_for_key())
        return request.entry(statement, send(request.ask_for_token(statement)))
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
