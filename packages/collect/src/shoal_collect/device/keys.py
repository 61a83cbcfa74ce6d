"""The servers' keys that a device knows: kept on first contact, replaced by signed successors alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import InputError
from shoal_collect.faults import PeerError
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.succession import (
    Role,
    Successor,
    find_predecessors,
    follow_succession,
    read_successors,
)


def remember(device: Device, said: Mapping[str, Any]) -> None:
    """Note how the collector's key followed earlier ones, on first contact.

    What other states of this account released stands under the first of these keys.
    """
    device.followed += find_predecessors("collector", device.server_key, _shown(said))


def follow_collector(device: Device, said: Mapping[str, Any], now_s: float) -> bool:
    """Accept the key in a collector's words when the known one has signed it.

    Parameters
    ----------
    device
        Its keys are replaced.
    said
        What the collector says of itself.
    now_s
        The time, in seconds since 1970.

    Returns
    -------
    bool
        Whether it is another key than before.

    Raises
    ------
    InputError
        If nothing leads to it from the known key.
    """
    way = _way(device, "collector", device.server_key, str(said["server_key"]), _shown(said), now_s)
    if way:
        device.server_key = bytes.fromhex(way[-1].new)
        device.followed += way
    return bool(way)


def follow_authority(device: Device, said: Mapping[str, Any], now_s: float) -> bool:
    """Do the same with an authority's two keys; the old one has signed both."""
    shown = str(said["signing_key"])
    way = _way(device, "authority", device.authority_signing_key, shown, _shown(said), now_s)
    sealing = way[-1].sealing if way else device.authority_key.hex()
    if sealing != said["authority_key"]:
        raise _another("its key for claims was not signed by the one before")
    if way:
        device.authority_signing_key, device.authority_key = bytes.fromhex(shown), bytes.fromhex(sealing)
        device.followed += way
    return bool(way)


def follow_registrar(device: Device, named: str, said: Mapping[str, Any], now_s: float) -> None:
    """Accept the registrar that the collector names when the known key has signed it; the account stays."""
    if device.registrar_key is None:
        return
    way = _way(device, "registrar", device.registrar_key, named, _shown(said), now_s)
    if way:
        device.account_key = device.account_key or device.registrar_key
        device.registrar_key = bytes.fromhex(named)
        device.followed += [one for one in way if one not in device.followed]


def _way(
    device: Device, role: Role, known: bytes, shown: str, said: Sequence[Successor], now_s: float
) -> list[Successor]:
    try:
        return follow_succession(role, known, bytes.fromhex(shown), said, device.followed, now_s)
    except PeerError as error:
        raise _another(str(error)) from error


def _shown(said: Mapping[str, Any]) -> tuple[Successor, ...]:
    try:
        return read_successors(said.get("successors", ()))
    except PeerError as error:
        raise _another(str(error)) from error


def _another(why: str) -> InputError:
    return InputError(f"a server shows another key than when you first took part ({why}); ask its operator")
