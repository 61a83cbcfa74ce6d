"""The data to share from a trip, prepared on the device."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal.model.projection import WGS84, transform
from shoal.model.trajectories import Trajectories
from shoal.units import counted, percent
from shoal_collect.device.http_client import Connection, RemoteServer
from shoal_collect.device.profile import Applied, Profile, apply, rule_rows
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder, Point
from shoal_collect.matching.records import PREAMBLE_SLOTS, SLOTS
from shoal_collect.matching.subtrajectories import most_points_in_pairs
from shoal_collect.mix.messages import least_left
from shoal_collect.roles import consent
from shoal_collect.roles.admission import MOST_AREAS
from shoal_collect.roles.participant import Participant, blur
from shoal_collect.roles.terms import Terms


@dataclass(frozen=True)
class Movement:
    """A person's points, and one trip's indices."""

    points: tuple[Point, ...]
    trip: tuple[int, ...]


def movement_of(data: Trajectories, subject: str | None, trip: int, max_gap_s: float) -> Movement:
    """Find a person's points and one of her trips.

    ``trip``: counted from the newest, from 1. InputError if the data hold no such person, or several people
    without a name to choose. MisuseError if there is no such trip, or the positions have no reference system.
    """
    points, trips = trips_of(data, subject, max_gap_s)
    if trip > len(trips):
        raise MisuseError(
            f"trip {trip} of {len(trips)}; a trip is two points or more without a pause longer than --max-gap"
        )
    return Movement(points, trips[-trip])


def trips_of(
    data: Trajectories, subject: str | None, max_gap_s: float
) -> tuple[tuple[Point, ...], list[tuple[int, ...]]]:
    """A person's points, and each trip's indices, the newest last."""
    ids = list(map(str, data.ids))
    if subject is None and len(ids) > 1:
        raise InputError(f"the data hold {len(ids)} people; name yourself (--subject)")
    if subject is not None and subject not in ids:
        raise InputError("nobody in the data has the id that was given (--subject)")
    if data.crs is None:
        raise MisuseError("these positions have no place on the earth; name their reference system (--crs)")
    t, x, y = list(data)[0 if subject is None else ids.index(subject)]
    lon, lat = transform(data.crs, WGS84, x, y)
    points = tuple(Point(*row) for row in zip(lat.tolist(), lon.tolist(), (t / 60).tolist(), strict=True))
    parts = np.split(np.arange(len(t)), np.flatnonzero(np.diff(t) > max_gap_s) + 1)
    return points, [tuple(part.tolist()) for part in parts if len(part) > 1]


@dataclass(frozen=True)
class Plan:
    """The data to share, before consent."""

    profile: Profile
    applied: Applied
    member: Participant
    cylinders: tuple[Cylinder, ...]
    thinned_from: int
    terms: Terms
    readable: tuple[str, ...] = ()  # servers to which nothing is encrypted

    @property
    def special(self) -> list[str]:
        """What differs: controller, days and hours, thresholds."""
        minutes = [point.t_min for point in self.applied.original]
        return [
            *consent.describe_collector(self.terms),
            consent.days_and_hours(min(minutes), max(minutes)),
            *consent.describe_terms(self.terms),
            *(
                f"The connection to {url} is not encrypted. Whoever carries it can read everything that "
                f"{url} reads."
                for url in self.readable
            ),
        ]

    def lines(self) -> list[str]:
        """The text of the consent."""
        used, total = len(self.applied.original), self.thinned_from
        return [
            f"{'All' if used == total else f'{used} of'} {counted(total, 'point')} of this trip "
            f"{'is' if total == 1 else 'are'} looked at. "
            f"{counted(len(self.cylinders), 'circle and interval', 'circles and intervals')} would be "
            "asked about. Your rules:",
            *(
                f"- {row.name}: {row.says}; {counted(row.n_met, 'point')}, {row.left_out} left out"
                for row in rule_rows(self.profile, self.applied)
            ),
            *consent.SHARED,
            consent.describe_promise(self.profile.k, self.profile.trimming),
            *self.special,
            "What stays open, whatever you set:",
            *(f"- {text}" for text in consent.OPEN),
        ]


def prepare(connection: Connection, movement: Movement, profile: Profile) -> Plan:
    """Apply the profile and blur; InputError when nothing is left."""
    most = most_points(profile, connection.terms)
    everything = apply(profile, movement.points)
    rows = _thin_evenly([row for row in movement.trip if everything.fates[row].blur is not None], most)
    used = [row for row in movement.trip if row in set(rows) or everything.fates[row].blur is None]
    applied = Applied(
        tuple(movement.points[row] for row in used),
        tuple(everything.fates[row] for row in used),
        everything.not_found,
    )
    if len(applied.points) < 2:
        raise InputError(
            "the profile leaves fewer than two points of this trip; choose another trip (--trip), or other "
            "rules"
        )
    device = connection.state.device
    member = Participant(
        device_key=device.device_key,
        points=applied.points,
        blur=applied.blurs[0],
        blurs=applied.blurs,
        k=profile.k,
        trimming=profile.trimming,
        sent=device.sent,
        elsewhere=connection.elsewhere,
    )
    cylinders = blur(member, connection.day // connection.terms.period_days)
    if len(cylinders) < 2:
        raise InputError(
            "after blurring, this trip is a single circle; choose another trip (--trip), or less blur"
        )
    require_within_bounds(
        profile, connection.terms, cylinders, [points for points, _ in (*device.sent, *connection.elsewhere)]
    )
    try:
        connection.terms.require_bounds(cylinders)
    except PeerError as error:
        raise InputError(f"this collector does not take {error}; change the blur (in the profile)") from error
    _require_areas(connection, cylinders)
    registrar = [] if connection.terms.registrar is None else [connection.terms.registrar.url]
    urls = [*(witness.url for witness in connection.terms.witnesses), *registrar]
    asked = [*connection.servers.values(), *map(RemoteServer, urls)]
    readable = tuple(server.url for server in asked if server.readable)
    return Plan(profile, applied, member, cylinders, len(movement.trip), connection.terms, readable)


def _require_areas(connection: Connection, cylinders: Sequence[Cylinder]) -> None:
    """A device asks for credentials of the collection's areas alone, or the registrar would learn hers."""
    terms, areas = connection.terms, connection.areas
    if terms.registrar is None:
        return
    if len(areas) > MOST_AREAS:
        raise InputError(
            f"this collector's places lie in more than {MOST_AREAS} areas, for which a device does not ask; "
            "ask its operator"
        )
    scoping = terms.scoping
    if not {scoping.area_of(cylinder) for cylinder in cylinders} <= set(areas):
        raise InputError(
            "this trip leaves the areas around the public places of this collection; choose another trip "
            "(--trip)"
        )


def most_points(profile: Profile, terms: Terms) -> int:
    """How many points fit a release, with all pairs answerable.

    Without a crowd (k = 0) nothing is asked; ``strict`` asks about a part.
    """
    capacity = SLOTS * terms.n_pieces - PREAMBLE_SLOTS
    if profile.k == 0 or profile.trimming == "strict":
        return capacity
    return min(capacity, most_points_in_pairs(terms.n_real))


def _thin_evenly(rows: Sequence[int], most: int) -> list[int]:
    if len(rows) <= most:
        return list(rows)
    return [rows[place] for place in np.unique(np.linspace(0, len(rows) - 1, most).round().astype(np.int64))]


def require_within_bounds(
    profile: Profile, terms: Terms, cylinders: Sequence[Cylinder], sent: Sequence[Sequence[Cylinder]]
) -> None:
    """Raise InputError, with every reason, unless terms and trip lie within the profile's bounds.

    No consent overrides them.
    """
    reasons = list(_beyond(profile, terms, repeated_share(cylinders, sent)))
    if reasons:
        raise InputError(f"nothing was sent: {'; '.join(reasons)}")


def repeated_share(cylinders: Sequence[Cylinder], sent: Sequence[Sequence[Cylinder]]) -> float:
    """The share of circles that stood in an earlier release."""
    earlier = {_circle(point) for points in sent for point in points}
    return sum(_circle(point) in earlier for point in cylinders) / max(1, len(cylinders))


def _circle(point: Cylinder) -> tuple[int, int, int]:
    return point.lat_udeg, point.lon_udeg, point.radius_m


def _beyond(profile: Profile, terms: Terms, repeated: float) -> Iterator[str]:
    bounds = profile.bounds
    if terms.theta_m > bounds.theta_space:
        yield (
            f"at this collector circles {terms.theta_m:g} m apart count as shared, your profile allows "
            f"{bounds.theta_space} m (bounds.theta_space)"
        )
    if terms.theta_min > bounds.theta_time:
        yield (
            f"at this collector intervals {terms.theta_min:g} min apart count as shared, your profile allows "
            f"{bounds.theta_time} min (bounds.theta_time)"
        )
    if (least := least_left(terms.group_size)) < bounds.group:
        yield (
            f"groups of {terms.group_size} at this collector go on with {least} when others fall silent, "
            f"your profile asks for {bounds.group} (bounds.group)"
        )
    if profile.k < bounds.k:
        yield f"k = {profile.k} in your profile, which also asks for at least {bounds.k} (bounds.k)"
    if profile.k < terms.least_k:
        yield f"k = {profile.k} in your profile, this collector takes k = {terms.least_k} or more"
    if repeated > bounds.repeated:
        yield (
            f"{percent(repeated, 0)} of these circles stand in releases of yours that they link, your "
            f"profile allows {percent(bounds.repeated, 0)} (bounds.repeated); choose another trip (--trip)"
        )
