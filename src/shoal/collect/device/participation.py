"""What ``shoal collect join`` does: connect, prepare what would be shared, and take part in a round."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.collect.crypto.chance import Chance
from shoal.collect.device.admission import admitted, report
from shoal.collect.device.bounds import require_within_bounds
from shoal.collect.device.disk import Kept, StateFolder
from shoal.collect.device.http_client import RemoteServer, run_round
from shoal.collect.device.keys import follow_authority, follow_collector, follow_registrar, remember
from shoal.collect.device.past import Sent
from shoal.collect.device.profile import Applied, Profile, apply
from shoal.collect.faults import PeerError
from shoal.collect.matching.cylinders import Cylinder, Point
from shoal.collect.matching.records import SLOTS
from shoal.collect.matching.subtrajectories import most_points_in_pairs
from shoal.collect.roles.admission import Entry
from shoal.collect.roles.consent import (
    OPEN,
    SHARED,
    days_and_hours,
    promise,
    stated,
    terms_in_words,
)
from shoal.collect.roles.participant import Participant, blur
from shoal.collect.roles.participant_round import Device, Ending, ParticipantRound
from shoal.collect.roles.requests import SKEW_S
from shoal.collect.roles.terms import PublicPlaces, Terms, read_terms
from shoal.collect.roles.wire import DAY_S
from shoal.errors import InputError, MisuseError
from shoal.model.projection import WGS84, transform
from shoal.model.trajectories import Trajectories
from shoal.units import counted

_PREAMBLE_SLOTS: Final = 4
BEFORE_RELEASE: Final = ("lottery", "questions", "asking")  # the phases in which somebody may leave


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
        If the folder belongs to another user name.
    """
    servers = {"collector": RemoteServer(server_url, ca), "authority": RemoteServer(authority_url, ca)}
    said, lawful = (server.about(patience_s, say) for server in servers.values())
    for server in servers.values():
        server.close()  # until she has read what is asked of her
    try:
        key, now_s = bytes.fromhex(said["server_key"]), time.time()
        ahead_s = now_s - float(said["time_s"])
        keys = bytes.fromhex(lawful["authority_key"]), bytes.fromhex(lawful["signing_key"])
        terms, places = read_terms(said["terms"]), PublicPlaces.model_validate(said["places"])
    except (KeyError, TypeError, ValueError) as error:
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
            *stated(self.terms),
            days_and_hours(min(minutes), max(minutes)),
            *terms_in_words(self.terms, self.profile.k),
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
            promise(self.profile.k, self.profile.trimming),
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


def begin(
    there: Connection,
    plan: Plan,
    draw_bytes: Callable[[int], bytes],
    invitation: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Start a round, under a key that lives as long as it; get a token for it where the terms ask for one.

    Parameters
    ----------
    there
        The servers, and the device's state.
    plan
        What she consented to.
    draw_bytes
        Draws the secrets of the round.
    invitation
        The registrar's invitation, the first time.
    tell
        Told where to log in, where the registrar asks for that; then the login is waited for.

    Raises
    ------
    InputError
        If the registrar does not answer, or does not admit her.
    LoginNeededError
        If she has to log in first, and nobody is told.
    """
    registrar = there.terms.registrar
    if registrar is None:
        entry = Entry(draw_bytes(32))
    else:
        server = RemoteServer(registrar.url, there.ca, bytes.fromhex(registrar.key))
        try:
            entry = admitted(server, there.kept.device, registrar, invitation, tell)
        finally:
            server.close()
    there.kept.own_round = ParticipantRound(
        there.kept.device,
        plan.member,
        plan.cylinders,
        there.terms,
        there.places.prior,
        Chance(draw_bytes(32)),
        entry,
    )


def finish(
    folder: StateFolder, there: Connection, say: Callable[[str], None], poll_s: float, patience_s: float
) -> tuple[Ending, Path]:
    """Go on until the round has ended, and write down what became of it; the ending, and the file."""
    own_round = there.kept.own_round
    if own_round is None:
        raise AssertionError("a round has begun")
    witnesses = {
        f"witness {i}": RemoteServer(one.url, there.ca, bytes.fromhex(one.key))
        for i, one in enumerate(own_round.terms.witnesses, 1)
    }
    try:
        run_round(
            own_round,
            {**there.servers, **witnesses},
            lambda: folder.keep(there.kept),
            say,
            poll_s=poll_s,
            patience_s=patience_s,
        )
    except PeerError as error:
        raise InputError(
            f"somebody else answers in the place of a server ({error}); run the same command again"
        ) from error
    if own_round.ending is None:
        raise AssertionError("the round has ended")
    registrar = own_round.terms.registrar
    if registrar is not None and own_round.accusations:
        server = RemoteServer(registrar.url, there.ca, bytes.fromhex(registrar.key))
        taken = report(server, there.kept.device, own_round.accusations, own_round.entry.signing_seed)
        server.close()
        say(f"proofs of blame that the registrar took: {taken} of {len(own_round.accusations)}")
    return own_round.ending, end(folder, there.kept, own_round.ending)


def end(folder: StateFolder, kept: Kept, ending: Ending) -> Path:
    """Write down what became of the round under way, and be free for the next one; the file."""
    file = folder.note(kept, ending)
    kept.own_round, kept.rounds = None, kept.rounds + 1
    folder.keep(kept)
    return file


def leave(folder: StateFolder, kept: Kept) -> Ending:
    """Give up the round under way.

    Raises
    ------
    MisuseError
        If there is none, or it is too late: the group has begun to mix what it releases.
    """
    if kept.own_round is None or kept.own_round.phase not in BEFORE_RELEASE:
        raise MisuseError("it is too late to leave this round; have the release deleted when it is stored")
    ending = Ending("left", "you left the round; nothing of yours was released", k=kept.own_round.member.k)
    end(folder, kept, ending)
    return ending
