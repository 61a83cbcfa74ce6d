"""Both servers' identities, trusted on first contact."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, MisuseError
from shoal_collect.crypto.envelope import require_point
from shoal_collect.device.disk import DeviceState, Sent, StateFolder
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.faults import PeerError
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles.admission import areas_of
from shoal_collect.roles.authority import MAX_USER_BYTES
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.terms import Terms, read_terms
from shoal_collect.roles.wire import DAY_S, SKEW_S


@dataclass
class Connection:
    """Both servers, the collector's statements, and the device's state.

    ``state``: the device's state. ``servers``: the collector and the authority. ``terms``, ``places``: the
    collector's statements. ``day``: the day since 1970 by the device's own clock; the collector's would
    choose her circles. ``ca``: certificates (PEM) to trust instead of the system's. ``elsewhere``: her
    releases from other states.
    """

    state: DeviceState
    servers: dict[str, RemoteServer]
    terms: Terms
    places: PublicPlaces
    day: int
    ca: Path | None
    elsewhere: Sent = ()

    @property
    def areas(self) -> tuple[str, ...]:
        """The areas of the collection."""
        return areas_of(self.places, self.terms.scoping)


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
    """Ask both servers for their identities; their keys are trusted on first contact.

    ``folder``: the device's state. ``server_url``, ``authority_url``: the addresses of the servers. ``ca``:
    certificates (PEM) to trust instead of the system's. ``user``: her name at the authority. ``draw_bytes``:
    draws the secrets of a new device. ``patience_s``: how long a server may be away, in seconds. ``say``:
    receives a message when one is. InputError if a server does not answer or shows another key than before,
    or the clocks differ too much. MisuseError if the folder belongs to another user name, or the name is
    invalid.
    """
    _require_name(user)
    servers = {"collector": RemoteServer(server_url, ca), "authority": RemoteServer(authority_url, ca)}
    facts, authority_facts = (server.about(patience_s, say) for server in servers.values())
    for server in servers.values():
        server.close()  # until she has read what is asked of her
    try:
        key, now_s = bytes.fromhex(facts["server_key"]), time.time()
        ahead_s = now_s - float(facts["time_s"])
        keys = bytes.fromhex(authority_facts["authority_key"]), bytes.fromhex(authority_facts["signing_key"])
        require_point(keys[0])  # else she would hear of it when all is released
        terms, places = read_terms(facts["terms"]), PublicPlaces.model_validate(facts["places"])
    except (KeyError, TypeError, ValueError, PeerError) as error:
        raise InputError(
            "a server does not describe itself; check the addresses of --server and --authority"
        ) from error
    if not abs(ahead_s) <= SKEW_S:
        raise InputError(
            f"this device's clock is {ahead_s:+.0f} s from the collector's; set it, or no request is taken"
        )
    state = folder.load()
    if state is None:
        state = DeviceState(Device(user, draw_bytes(32), draw_bytes(32), key, *keys))
        folder.save(state)
    _require_same_keys(state.device, key, *keys)
    if state.device.user != user:
        raise MisuseError("this folder belongs to another user name; give the same one (--user)")
    if state.own_round is None:
        _require_claimable(state.device, authority_url, authority_facts)
        _keep_named(folder, state, terms)
    return Connection(state, servers, terms, places, int(now_s // DAY_S), ca, _past_of(folder, state.device))


def _require_same_keys(device: Device, server: bytes, sealing: bytes, signing: bytes) -> None:
    known = device.server_key, device.authority_key, device.authority_signing_key
    if known != (server, sealing, signing):
        raise InputError("a server shows another key than when you first took part; ask its operator")


def _require_name(user: str) -> None:
    """The authority would refuse such a name only after everything is released."""
    try:
        size = len(user.encode())
    except UnicodeEncodeError:  # bytes of the command line that are no text
        size = 0
    if not 0 < size <= MAX_USER_BYTES:
        raise MisuseError(f"a user name is text of 1 to {MAX_USER_BYTES} bytes; give another one (--user)")


def _require_claimable(device: Device, authority_url: str, authority_facts: Any) -> None:
    """An authority that does not know the collector could not let her claim her releases."""
    collectors = authority_facts.get("collectors")
    if not isinstance(collectors, list) or device.server_key.hex() not in collectors:
        raise InputError(
            f"the authority at {authority_url} does not know this collector, so nobody could claim there "
            "what is shared; check the addresses of --server and --authority, or ask the authority's operator"
        )


def _past_of(folder: StateFolder, device: Device) -> Sent:
    if folder.past is None:
        return ()
    sent_here, others = folder.past.of(device)
    device.sent.extend(release for release in sent_here if release not in device.sent)
    return others


def _keep_named(folder: StateFolder, state: DeviceState, terms: Terms) -> None:
    """A collector that wants to lie would leave out a witness, or the registrar, and be everybody."""
    device, registrar = state.device, terms.registrar
    key = None if registrar is None else bytes.fromhex(registrar.key)
    if {witness.key for witness in device.witnesses} - {witness.key for witness in terms.witnesses}:
        raise InputError("the collector no longer names a witness that it named before; ask its operator")
    if device.registrar_key not in (None, key):
        raise InputError("the collector no longer names the registrar that it named before; ask its operator")
    if (device.witnesses, device.registrar_key) != (terms.witnesses, key):
        device.witnesses, device.registrar_key = terms.witnesses, key
        folder.save(state)
