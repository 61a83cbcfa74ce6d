"""A person's releases at the collector, from her device: fetched, and taken back against a receipt."""

import http.client
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import InputError
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.http_client import RemoteServer, silence_in_words
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import encode_points
from shoal_collect.roles.days import require_stored_release
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.requests import Call, read_json
from shoal_collect.roles.stored_releases import StoredRelease, read_release, read_withdrawal


@dataclass(frozen=True)
class TakenBack:
    """A release that was taken back.

    Attributes
    ----------
    own
        The release, with the collector's signed word.
    day, due
        The day since 1970 on which it was taken back, and the first day on which it no longer counts.
    """

    own: StoredRelease
    day: int
    due: int


def find(device: Device, identifier: str) -> StoredRelease:
    """Return one of her releases; raise InputError when the device knows none of this identifier."""
    found = [one for one in device.owned if one.identifier == identifier]
    if not found:
        raise InputError("this device has no release of that identifier; without one, all are listed")
    return found[0]


def fetch(
    server: RemoteServer, device: Device, own: StoredRelease
) -> tuple[int, tuple[Cylinder, ...], bytes | None]:
    """Fetch one of her releases; raises InputError, also when it is not in the day that it was stored on.

    Returns
    -------
    int, tuple of Cylinder, bytes or None
        The day on which it was stored, its cylinders, and the state after that day, under which it was shown
        to stand; None while the day is open.
    """
    said = _asked(server, device, own, Call("GET", f"/v1/releases/{own.identifier}"))
    try:
        day, points = read_release(said)
        shown = said.get("closed_day")
        if shown is None:
            return day, points, None
        closed = require_stored_release(shown, verify_key(own.claim_seed), encode_points(points))
        if closed.day != day:
            raise PeerError("bad-proof", "the closed day of another day")
        return day, points, closed.state
    except PeerError as error:
        raise InputError(f"{server.url}: {error}") from error


def points_in_words(cylinders: Sequence[Cylinder]) -> list[tuple[str, str]]:
    """Return the time and the circle of each part of a release, in words."""
    return [
        (
            f"{str(np.datetime64(one.start_min, 'm')).replace('T', ' ')}, {one.gap_min} min",
            f"{one.lat_udeg / 1e6:.4f}, {one.lon_udeg / 1e6:.4f}, {one.radius_m} m",
        )
        for one in cylinders
    ]


def take_back(server: RemoteServer, device: Device, own: StoredRelease) -> TakenBack:
    """Have one of her releases deleted, and check the receipt; raises InputError."""
    said = _asked(server, device, own, Call("POST", f"/v1/releases/{own.identifier}/withdrawal"))
    try:
        day, due, proof = read_withdrawal(device.server_key, own.identifier, said)
    except PeerError as error:
        raise InputError(f"{server.url}: {error}") from error
    return TakenBack(replace(own, withdrawn=proof), day, due)


def _asked(server: RemoteServer, device: Device, own: StoredRelease, call: Call) -> Any:
    """The collector's words to the key of this release, which says nothing of her other ones."""
    try:
        reply = server.send(call, replace(device, signing_seed=own.claim_seed), time.time())
        if reply.refusal is not None:
            raise InputError(f"{server.url} refused: {reply.refusal[1]}")
        return read_json(reply.body)
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"{silence_in_words(server.url, error)}; try again") from error
    except PeerError as error:
        raise InputError(f"somebody else answers in the place of {server.url} ({error})") from error
    finally:
        server.close()
