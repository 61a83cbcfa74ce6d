"""A round on a device, from consent to its end, and her releases after it: fetched, and withdrawn."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.disk import DeviceState, StateFolder
from shoal_collect.device.http_client import Connection, Patience, RemoteServer, run_round
from shoal_collect.device.proposal import Plan
from shoal_collect.faults import PeerError, UnavailableError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import encode_points
from shoal_collect.roles.admission import Entry, Purpose, TokenRequest, purpose_in
from shoal_collect.roles.days import StoredRelease, read_release, read_withdrawal, require_stored_release
from shoal_collect.roles.participant_round import Device, Ending, ParticipantRound
from shoal_collect.roles.terms import RegistrarTerms, Terms
from shoal_collect.roles.wire import Call, Reply, read_json

BEFORE_RELEASE: Final = ("lottery", "questions", "asking")  # the phases in which somebody may leave


def begin(
    connection: Connection,
    plan: Plan,
    draw_bytes: Callable[[int], bytes],
    invitation: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
    *,
    patience_s: float = 0.0,
) -> None:
    """Start a round under a key for this round alone, with a token for it if the terms require one.

    InputError if the registrar does not answer, or does not admit her.
    """
    registrar = connection.terms.registrar
    credentials: dict[str, Entry] = {}
    if registrar is None:
        entry = Entry(draw_bytes(32))
    else:
        server = RemoteServer(registrar.url, connection.ca, bytes.fromhex(registrar.key))
        try:
            entry = request_entry(
                server, connection.state.device, registrar, invitation, tell, patience_s=patience_s
            )
            credentials = request_credentials(
                server, connection.state.device, connection.terms, connection.areas, patience_s
            )
        finally:
            server.close()
    connection.state.own_round = ParticipantRound(
        connection.state.device,
        plan.member,
        plan.cylinders,
        connection.terms,
        connection.places,
        Chance(draw_bytes(32)),
        entry,
        credentials,
    )


def finish(
    folder: StateFolder, connection: Connection, say: Callable[[str], None], poll_s: float, patience_s: float
) -> tuple[Ending, Path]:
    """Go on to the end of the round; return the ending and its file."""
    own_round = connection.state.own_round
    if own_round is None:
        raise AssertionError("a round has begun")
    witnesses = {
        f"witness {i}": RemoteServer(witness.url, connection.ca, bytes.fromhex(witness.key))
        for i, witness in enumerate(own_round.terms.witnesses, 1)
    }
    run_round(
        own_round,
        {**connection.servers, **witnesses},
        lambda: folder.save(connection.state),
        say,
        poll_s=poll_s,
        patience_s=patience_s,
    )
    if own_round.ending is None:
        raise AssertionError("the round has ended")
    return own_round.ending, end_round(folder, connection.state, own_round.ending)


def end_round(folder: StateFolder, state: DeviceState, ending: Ending) -> Path:
    """Write the outcome, and free the device; return the file."""
    file = folder.write_ending(state, ending)
    state.own_round, state.rounds = None, state.rounds + 1
    folder.save(state)
    return file


def leave(folder: StateFolder, state: DeviceState) -> Ending:
    """Give up the round; MisuseError without one, or once its group is mixing releases."""
    if state.own_round is None or state.own_round.phase not in BEFORE_RELEASE:
        raise MisuseError("it is too late to leave this round; have the release deleted when it is stored")
    ending = Ending("left", "you left the round; nothing of yours was released", k=state.own_round.member.k)
    end_round(folder, state, ending)
    return ending


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
    ``purpose``: of a contributor's credential. InputError if the registrar does not answer, does not admit
    her, or states an invalid key.
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


@dataclass(frozen=True)
class Withdrawal:
    """A withdrawn release, the day, and ``due``, the first day on which it no longer counts."""

    release: StoredRelease
    day: int
    due: int


def _find(device: Device, identifier: str) -> StoredRelease:
    releases = [release for release in device.owned if release.identifier == identifier]
    if not releases:
        raise InputError("this device has no release of that identifier; without one, all are listed")
    return releases[0]


def fetch(
    server: RemoteServer, device: Device, identifier: str
) -> tuple[int, tuple[Cylinder, ...], bytes | None]:
    """Day of storage, cylinders, and state after that day (None while it is open).

    InputError, also when it is not in the tree of its day.
    """
    release = _find(device, identifier)
    reply = _ask(server, device, release, Call("GET", f"/v1/releases/{identifier}"))
    try:
        day, points = read_release(reply)
        closed_day = reply.get("closed_day")
        if closed_day is None:
            return day, points, None
        closed = require_stored_release(closed_day, verify_key(release.claim_seed), encode_points(points))
        if closed.day != day:
            raise PeerError("bad-proof", "the closed day of another day")
        return day, points, closed.state
    except PeerError as error:
        raise InputError(f"{server.url}: {error}") from error


def points_in_words(cylinders: Sequence[Cylinder]) -> list[tuple[str, str]]:
    """Time and circle of each part."""
    return [
        (
            f"{str(np.datetime64(cylinder.start_min, 'm')).replace('T', ' ')}, {cylinder.gap_min} min",
            f"{cylinder.lat_udeg / 1e6:.4f}, {cylinder.lon_udeg / 1e6:.4f}, {cylinder.radius_m} m",
        )
        for cylinder in cylinders
    ]


def take_back(server: RemoteServer, device: Device, identifier: str) -> Withdrawal:
    """Withdraw a release, check the receipt, and note it on the device."""
    release = _find(device, identifier)
    reply = _ask(server, device, release, Call("POST", f"/v1/releases/{identifier}/withdrawal"))
    try:
        day, due, proof = read_withdrawal(device.server_key, identifier, reply)
    except PeerError as error:
        raise InputError(f"{server.url}: {error}") from error
    withdrawn = replace(release, withdrawn=proof)
    device.owned[device.owned.index(release)] = withdrawn
    return Withdrawal(withdrawn, day, due)


def _ask(server: RemoteServer, device: Device, release: StoredRelease, call: Call) -> Any:
    """Signed with this release's key, which reveals nothing of others."""
    try:
        reply = server.send(call, replace(device, signing_seed=release.claim_seed), time.time())
        if reply.refusal is not None:
            raise InputError(f"{server.url} refused: {reply.refusal[1]}")
        return read_json(reply.body)
    except UnavailableError as error:
        raise InputError(f"{error.cli_message}; try again") from error
    except PeerError as error:
        raise InputError(f"somebody else answers in the place of {server.url} ({error})") from error
    finally:
        server.close()
