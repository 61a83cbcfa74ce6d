"""The servers' keys: trusted on first contact, replaced by signed successors alone."""

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


def remember(device: Device, facts: Mapping[str, Any]) -> None:
    """Record the collector's earlier keys, on first contact.

    The account's releases are filed under the first.
    """
    device.followed += find_predecessors("collector", device.server_key, _stated_successors(facts))


def follow_collector(device: Device, facts: Mapping[str, Any], now_s: float) -> bool:
    """Accept a collector's key if the known one has signed it; whether it is new."""
    way = _path_to(
        device, "collector", device.server_key, str(facts["server_key"]), _stated_successors(facts), now_s
    )
    if way:
        device.server_key = bytes.fromhex(way[-1].new)
        device.followed += way
    return bool(way)


def follow_authority(device: Device, facts: Mapping[str, Any], now_s: float) -> bool:
    """The same with an authority's two keys."""
    stated_key = str(facts["signing_key"])
    path = _path_to(
        device, "authority", device.authority_signing_key, stated_key, _stated_successors(facts), now_s
    )
    sealing = path[-1].sealing if path else device.authority_key.hex()
    if sealing != facts["authority_key"]:
        raise _other_key("its key for claims was not signed by the one before")
    if path:
        device.authority_signing_key, device.authority_key = bytes.fromhex(stated_key), bytes.fromhex(sealing)
        device.followed += path
    return bool(path)


def follow_registrar(device: Device, named: str, facts: Mapping[str, Any], now_s: float) -> None:
    """Accept the registrar in the terms if the known key has signed it."""
    if device.registrar_key is None:
        return
    way = _path_to(device, "registrar", device.registrar_key, named, _stated_successors(facts), now_s)
    if way:
        device.account_key = device.account_key or device.registrar_key
        device.registrar_key = bytes.fromhex(named)
        device.followed += [step for step in way if step not in device.followed]


def _path_to(
    device: Device,
    role: Role,
    known_key: bytes,
    stated_key: str,
    successors: Sequence[Successor],
    now_s: float,
) -> list[Successor]:
    try:
        return follow_succession(
            role, known_key, bytes.fromhex(stated_key), successors, device.followed, now_s
        )
    except PeerError as error:
        raise _other_key(str(error)) from error


def _stated_successors(facts: Mapping[str, Any]) -> tuple[Successor, ...]:
    try:
        return read_successors(facts.get("successors", ()))
    except PeerError as error:
        raise _other_key(str(error)) from error


def _other_key(why: str) -> InputError:
    return InputError(f"a server shows another key than when you first took part ({why}); ask its operator")
