"""How a device gets its token from a registrar."""

import http.client
import time
from typing import Final

from shoal.collect.crypto.signatures import verify_key
from shoal.collect.device.http_client import RemoteServer
from shoal.collect.faults import PeerError
from shoal.collect.roles.admission import Entry, TokenRequest
from shoal.collect.roles.participant_round import Device
from shoal.collect.roles.requests import Call
from shoal.collect.roles.terms import RegistrarTerms
from shoal.errors import InputError

_DOWN: Final = (OSError, http.client.HTTPException)


def admitted(
    server: RemoteServer, device: Device, registrar: RegistrarTerms, invitation: str | None
) -> Entry:
    """Get the token of this period, with an invitation the first time.

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

    Raises
    ------
    InputError
        If the registrar does not answer, does not admit her, or states a key that does not hold.
    """
    request = TokenRequest(device.device_key, device.server_key, registrar, device.account_key)

    def ask(call: Call) -> bytes:
        try:
            reply = server.send(call, device, time.time(), request.account_seed)
        except _DOWN as error:
            raise InputError(
                f"the registrar at {server.url} does not answer ({type(error).__name__}); try again later"
            ) from error
        if reply.refusal is None:
            return reply.body
        kind, message = reply.refusal
        hint = ""
        if kind == "not-entitled" and invitation is None:
            account = verify_key(request.account_seed).hex()
            hint = f"; give your invitation with --invitation, or have the account {account} allowed"
        raise InputError(f"the registrar at {server.url} refused: {message}{hint}")

    try:
        if invitation is not None:
            ask(Call("POST", "/v1/persons", invitation.encode(), to="registrar"))
        said = ask(request.ask_for_key())
        return request.entry(said, ask(request.ask_for_token(said)))
    except PeerError as error:
        raise InputError(
            f"the registrar at {server.url} answers with a key or token that does not hold ({error}); ask "
            "its operator"
        ) from error
