"""Who the servers are, asked before a round; keys are kept on first contact and followed from then on."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, MisuseError
from shoal_collect.crypto.envelope import require_point
from shoal_collect.device.disk import Kept, StateFolder
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.device.keys import follow_authority, follow_collector, follow_registrar, remember
from shoal_collect.device.past import Sent
from shoal_collect.faults import PeerError
from shoal_collect.roles.authority import MAX_USER_BYTES
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.requests import SKEW_S
from shoal_collect.roles.terms import PublicPlaces, Terms, read_terms
from shoal_collect.roles.wire import DAY_S


@dataclass
class Connection:
    """Both servers, what the collector says, and the device's state.

    Attributes
    ----------
    kept
        The device's state.
    servers
        The collector and the authority.
    terms, places
        What the collector states.
    day
        The day since 1970 by the device's own clock; the collector's would choose her circles.
    ca
        Certificates (PEM) to trust instead of the system's.
    elsewhere
        What she released from other states.
    """

    kept: Kept
    servers: dict[str, RemoteServer]
    terms: Terms
    places: PublicPlaces
    day: int
    ca: Path | None
    elsewhere: Sent = ()


def connect(
    folder: StateFolder,
    server_url: str,
    authority_url: str,
    ca: Path | None,
    user: str,
    draw_bytes: Callable[[int], bytes],
    patience_s: float = 0.0,
    say: Callable[[str], None] = lambda _: None,
) -> Connection:
    """Ask both servers who they are; their keys are kept on first contact.

    Parameters
    ----------
    folder
        The device's state.
    server_url, authority_url
        Where the servers are.
    ca
        Certificates (PEM) to trust instead of the system's.
    user
        Her name at the authority.
    draw_bytes
        Draws the secrets of a new device.
    patience_s
        How long a server may be away, in seconds.
    say
        Told in words when one is.

    Raises
    ------
    InputError
        If a server does not answer or shows another key than before, or the clocks differ too much.
    MisuseError
        If the folder belongs to another user name, or the name cannot be one.
    """
    _require_name(user)
    servers = {"collector": RemoteServer(server_url, ca), "authority": RemoteServer(authority_url, ca)}
    said, lawful = (server.about(patience_s, say) for server in servers.values())
    for server in servers.values():
        server.close()  # until she has read what is asked of her
    try:
        key, now_s = bytes.fromhex(said["server_key"]), time.time()
        ahead_s = now_s - float(said["time_s"])
        keys = bytes.fromhex(lawful["authority_key"]), bytes.fromhex(lawful["signing_key"])
        require_point(keys[0])  # else she would hear of it when all is released
        terms, places = read_terms(said["terms"]), PublicPlaces.model_validate(said["places"])
    except (KeyError, TypeError, ValueError, PeerError) as error:
        raise InputError(
            "a server does not describe itself; check the addresses of --server and --authority"
        ) from error
    if not abs(ahead_s) <= SKEW_S:
        raise InputError(
            f"this device's clock is {ahead_s:+.0f} s from the collector's; set it, or no request is taken"
        )
    kept = folder.load()
    if kept is None:
        kept = Kept(Device(user, draw_bytes(32), draw_bytes(32), key, *keys))
        remember(kept.device, said)
        folder.keep(kept)
    _follow(folder, kept, said, lawful, now_s, say)
    if kept.device.user != user:
        raise MisuseError("this folder belongs to another user name; give the same one (--user)")
    if kept.own_round is None:
        _require_known_there(kept.device, authority_url, lawful)
        _keep_witnesses(folder, kept, terms)
        _keep_registrar(folder, kept, terms, said, now_s)
    return Connection(kept, servers, terms, places, int(now_s // DAY_S), ca, _past_of(folder, kept.device))


def _follow(
    folder: StateFolder, kept: Kept, said: Any, lawful: Any, now_s: float, say: Callable[[str], None]
) -> None:
    """Accept successors of the servers' keys; a round that began under others is given up.

    Raises InputError for other keys.
    """
    new = [
        name
        for name, is_new in (
            ("collector", follow_collector(kept.device, said, now_s)),
            ("authority", follow_authority(kept.device, lawful, now_s)),
        )
        if is_new
    ]
    if not new:
        return
    say(f"a new key of the {' and the '.join(new)}, signed by the one before, is accepted")
    if kept.own_round is not None:
        kept.own_round = None
        say("the round that was begun under the old key is given up; what it released counts as yours")
    folder.keep(kept)


def _require_name(user: str) -> None:
    """Raises MisuseError for a name that the authority would refuse when all is released."""
    try:
        size = len(user.encode())
    except UnicodeEncodeError:  # bytes of the command line that are no text
        size = 0
    if not 0 < size <= MAX_USER_BYTES:
        raise MisuseError(f"a user name is text of 1 to {MAX_USER_BYTES} bytes; give another one (--user)")


def _require_known_there(device: Device, authority_url: str, lawful: Any) -> None:
    """Raises InputError where nobody could claim what she would share."""
    known = lawful.get("collectors")
    if not isinstance(known, list) or device.server_key.hex() not in known:
        raise InputError(
            f"the authority at {authority_url} does not know this collector, so nobody could claim there "
            "what is shared; check the addresses of --server and --authority, or ask the authority's operator"
        )


def _past_of(folder: StateFolder, device: Device) -> Sent:
    """Add what a copy of this state has released meanwhile; what other states have released."""
    if folder.past is None:
        return ()
    own, others = folder.past.of(device)
    device.sent.extend(one for one in own if one not in device.sent)
    return others


def _keep_witnesses(folder: StateFolder, kept: Kept, terms: Terms) -> None:
    """Raises InputError when a witness is gone: a collector that wants to lie would leave it out."""
    if {one.key for one in kept.device.witnesses} - {one.key for one in terms.witnesses}:
        raise InputError("the collector no longer names a witness that it named before; ask its operator")
    if kept.device.witnesses != terms.witnesses:
        kept.device.witnesses = terms.witnesses
        folder.keep(kept)


def _keep_registrar(folder: StateFolder, kept: Kept, terms: Terms, said: Any, now_s: float) -> None:
    """Raises InputError when the registrar is another one, or gone: then anybody could be everybody else."""
    named = None if terms.registrar is None else terms.registrar.key
    if named is None and kept.device.registrar_key is not None:
        raise InputError("the collector no longer names the registrar that it named before; ask its operator")
    if named is None or kept.device.registrar_key == bytes.fromhex(named):
        return
    try:
        follow_registrar(kept.device, named, said, now_s)
    except InputError as error:
        raise InputError(
            "the collector no longer names the registrar that it named before, nor a successor of its key; "
            "ask its operator"
        ) from error
    kept.device.registrar_key = bytes.fromhex(named)
    folder.keep(kept)
