"""What would be shared of a trip, prepared on the device and shown before anything is sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal.model.projection import WGS84, transform
from shoal.model.trajectories import Trajectories
from shoal.units import counted
from shoal_collect.device.bounds import require_within_bounds
from shoal_collect.device.connection import Connection
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.device.profile import Applied, Profile, apply
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder, Point
from shoal_collect.matching.records import SLOTS
from shoal_collect.matching.subtrajectories import most_points_in_pairs
from shoal_collect.roles.consent import (
    OPEN,
    SHARED,
    days_and_hours,
    describe_collector,
    describe_promise,
    describe_terms,
)
from shoal_collect.roles.participant import Participant, blur
from shoal_collect.roles.terms import Terms

_PREAMBLE_SLOTS: Final = 4


@dataclass(frozen=True)
class Movement:
    """All of a person's points, and the places of one trip among them."""

    points: tuple[Point, ...]
    trip: tuple[int, ...]


def movement_of(found: Trajectories, subject: str | None, trip: int, max_gap_s: float) -> Movement:
    """Find a person's points and one of her trips.

    Parameters
    ----------
    found
        The data.
    subject
        Who she is in the data, when they hold several people.
    trip
        Which trip to share, counted from the newest, from 1.
    max_gap_s
        A longer pause ends a trip, in seconds.

    Raises
    ------
    InputError
        If the data hold nobody of this name, or several people and none was named.
    MisuseError
        If there is no such trip, or the positions have no reference system.
    """
    points, trips = trips_of(found, subject, max_gap_s)
    if trip > len(trips):
        raise MisuseError(
            f"trip {trip} of {len(trips)}; a trip is two points or more without a pause longer than --max-gap"
        )
    return Movement(points, trips[-trip])


def trips_of(
    found: Trajectories, subject: str | None, max_gap_s: float
) -> tuple[tuple[Point, ...], list[tuple[int, ...]]]:
    """Find a person's points, and the places of each of her trips among them, the newest last.

    Raises
    ------
    InputError
        If the data hold nobody of this name, or several people and none was named.
    MisuseError
        If the positions have no reference system.
    """
    ids = list(map(str, found.ids))
    if subject is None and len(ids) > 1:
        raise InputError(f"the data hold {len(ids)} people; name yourself (--subject)")
    if subject is not None and subject not in ids:
        raise InputError("nobody in the data has the id that was given (--subject)")
    if found.crs is None:
        raise MisuseError("these positions have no place on the earth; name their reference system (--crs)")
    t, x, y = list(found)[0 if subject is None else ids.index(subject)]
    lon, lat = transform(found.crs, WGS84, x, y)
    points = tuple(Point(*row) for row in zip(lat.tolist(), lon.tolist(), (t / 60).tolist(), strict=True))
    parts = np.split(np.arange(len(t)), np.flatnonzero(np.diff(t) > max_gap_s) + 1)
    return points, [tuple(part.tolist()) for part in parts if len(part) > 1]


@dataclass(frozen=True)
class Plan:
    """What would be shared, before it is."""

    profile: Profile
    applied: Applied
    member: Participant
    cylinders: tuple[Cylinder, ...]
    thinned_from: int
    terms: Terms
    readable: tuple[str, ...] = ()  # servers to which nothing is encrypted

    @property
    def special(self) -> list[str]:
        """What differs between collectors and trips: who is responsible, days and hours, thresholds."""
        minutes = [point.t_min for point in self.applied.original]
        return [
            *describe_collector(self.terms),
            days_and_hours(min(minutes), max(minutes)),
            *describe_terms(self.terms, self.profile.k),
            *(
                f"The connection to {url} is not encrypted. Whoever carries it can read everything that "
                f"{url} reads."
                for url in self.readable
            ),
        ]

    def lines(self, page: Path) -> list[str]:
        """Return what she is asked to consent to; ``page`` is where the preview lies."""
        dropped = ", ".join(f"{n} by '{rule}'" for rule, n in self.applied.dropped.items()) or "none"
        not_found = [
            f"No {kind} was found in your data, so its rule does nothing." for kind in self.applied.not_found
        ]
        used, own = len(self.applied.original), self.thinned_from
        return [
            f"{'All' if used == own else f'{used} of'} {counted(own, 'point')} of this trip "
            f"{'is' if own == 1 else 'are'} looked at. Your rules leave out: {dropped}. "
            f"{counted(len(self.cylinders), 'circle and interval', 'circles and intervals')} would be "
            f"asked about; see them in {page}.",
            *not_found,
            *SHARED,
            describe_promise(self.profile.k, self.profile.trimming),
            *self.special,
            "What stays open, whatever you set:",
            *(f"- {text}" for text in OPEN),
        ]


def prepare(there: Connection, movement: Movement, profile: Profile) -> Plan:
    """Apply the profile and blur; raise InputError when nothing is left to ask about."""
    most = most_points(profile, there.terms)
    everything = apply(profile, movement.points)
    rows = _thinned([row for row in movement.trip if everything.fates[row].blur is not None], most)
    used = [row for row in movement.trip if row in set(rows) or everything.fates[row].blur is None]
    applied = Applied(
        tuple(movement.points[row] for row in used),
        tuple(everything.fates[row] for row in used),
        everything.circles,
        everything.not_found,
    )
    if len(applied.points) < 2:
        raise InputError(
            "the profile leaves fewer than two points of this trip; choose another trip (--trip), or other "
            "rules"
        )
    device = there.kept.device
    member = Participant(
        user=device.user,
        signing_seed=device.signing_seed,
        device_key=device.device_key,
        points=applied.points,
        blur=applied.blurs[0],
        blurs=applied.blurs,
        k=profile.k,
        trimming=profile.trimming,
        sent=device.sent,
        elsewhere=there.elsewhere,
    )
    cylinders = blur(member, there.day // there.terms.period_days)
    if len(cylinders) < 2:
        raise InputError(
            "after blurring, this trip is a single circle; choose another trip (--trip), or less blur"
        )
    require_within_bounds(
        profile, there.terms, cylinders, [points for points, _ in (*device.sent, *there.elsewhere)]
    )
    try:
        there.terms.require_bounds(cylinders)
    except PeerError as error:
        raise InputError(f"this collector does not take {error}; change the blur (in the profile)") from error
    registrar = [] if there.terms.registrar is None else [there.terms.registrar.url]
    urls = [*(one.url for one in there.terms.witnesses), *registrar]
    asked = [*there.servers.values(), *map(RemoteServer, urls)]
    readable = tuple(server.url for server in asked if server.readable)
    return Plan(profile, applied, member, cylinders, len(movement.trip), there.terms, readable)


def most_points(profile: Profile, terms: Terms) -> int:
    """How many points may take part: those that a release holds, and all of whose pairs can be asked about.

    Without a crowd (k = 0) nothing needs to be asked, and ``hitting-set`` and ``strict`` ask about a
    part of it all.
    """
    held = SLOTS * terms.n_pieces - _PREAMBLE_SLOTS
    if profile.k == 0 or profile.trimming not in ("verified-pairs", "verified-only"):
        return held
    return min(held, most_points_in_pairs(terms.n_real))


def _thinned(rows: Sequence[int], most: int) -> list[int]:
    """Rows evenly spread over the trip, at most so many."""
    if len(rows) <= most:
        return list(rows)
    return [rows[place] for place in np.unique(np.linspace(0, len(rows) - 1, most).round().astype(np.int64))]
