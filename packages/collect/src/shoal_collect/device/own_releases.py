"""A person's releases at the collector: fetched, and withdrawn."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import InputError
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.faults import PeerError, UnavailableError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import encode_points
from shoal_collect.roles.days import require_stored_release
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.requests import Call, read_json
from shoal_collect.roles.stored_releases import StoredRelease, read_release, read_withdrawal


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
