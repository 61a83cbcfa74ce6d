"""Hide places, write the rest, and list what a stranger could learn."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError, NothingLeftError
from shoal.runtime.arrays import Flags
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.sharing.tracks import Stay, Track, read_track, require_writable, stays_of, write_track
from shoal.sharing.zones import State, Zone, distances_m, load, offsets_m, save
from shoal.units import counted, length_m, show_m, show_s

BLUR_M: Final = 100.0  # at each cut, up to so much more is left out
_STEPS: Final = 1000
_NAMED_WITHIN_M: Final = 100.0
_LEAST_POINTS: Final = 2


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The result of sharing a track.

    points, hidden: points of the track, and points left out. pieces: the number written. zones: those that
    the track touched. learned: what a stranger could still learn, in sentences. notes: on the reading.
    """

    points: int
    hidden: int
    pieces: int
    zones: tuple[Zone, ...]
    learned: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As ``shoal share --json``; it holds no place."""
        return {
            "points": self.points,
            "points_hidden": self.hidden,
            "pieces": self.pieces,
            "zones": len(self.zones),
            "learned": list(self.learned),
            "notes": list(self.notes),
        }


def place_of(text: str) -> tuple[float, float, float | None]:
    """Latitude, longitude and distance of ``48.85,2.35:300m``."""
    where, _, distance = text.partition(":")
    try:
        lat, lon = (float(part) for part in where.split(","))
    except ValueError as error:
        raise MisuseError(
            f"'{text}' is no place; write latitude and longitude, and a distance if you like: "
            "48.8566,2.3522:300m"
        ) from error
    if not (abs(lat) <= 90 and abs(lon) <= 180):
        raise MisuseError(f"'{text}' is no place on the earth; write latitude before longitude")
    return lat, lon, length_m(distance) if distance else None


def share(
    track_file: Path,
    output: Path,
    *,
    hide: Sequence[str] = (),
    detect: bool = False,
    with_times: bool = True,
    state_file: Path,
    rng: Randomness,
    run: Run | None = None,
    **settings: Any,
) -> Shared:
    """Write a track without what lies around some places.

    Parameters
    ----------
    track_file
        GPX, FIT, GeoJSON or any other format with one person's points and times.
    output
        A new file, .gpx or .geojson.
    hide
        Places, as ``place_of`` reads them. Every place of the state is hidden, too.
    detect
        Whether to hide both ends of the track, and where it stays ten minutes.
    with_times
        Whether times are written.
    state_file
        The key and the places so far; it is written before the track is.
    rng
        Draws how much more is cut at each end.

    Raises
    ------
    InputError, MisuseError, OutputError
        When one of the files, or a place, cannot be used.
    NothingLeftError
        When nothing is left to share.
    """
    require_writable(output)
    if output.resolve() == state_file.resolve():
        raise MisuseError("the state is secret; the output must be another file")
    track, notes = read_track(track_file, run or Run(), **settings)
    state = load(state_file)
    for text in hide:
        state = state.with_place(*place_of(text))
    stays = stays_of(track)
    if detect:
        ends = [(float(track.lat[at]), float(track.lon[at])) for at in (0, -1)]
        for lat, lon in [*ends, *((stay.lat, stay.lon) for stay in stays)]:
            state = state.with_place(lat, lon, None)
    if not state.places:
        raise MisuseError("nothing is to be hidden: name a place with --hide, or let --detect find them")
    zones = state.zones()
    pieces, hidden, touched = cut(track, zones, rng)
    if not pieces:
        raise NothingLeftError(f"all of {track_file.name} lies in hidden zones; nothing is left to share")
    save(state, state_file)  # before the track: a zone that was shown must never be drawn anew
    write_track(pieces, output, with_times=with_times)
    return Shared(
        points=len(track),
        hidden=hidden,
        pieces=len(pieces),
        zones=touched,
        learned=tuple(_learned(track, pieces, touched, stays, state, with_times=with_times)),
        notes=notes,
    )


def cut(track: Track, zones: Sequence[Zone], rng: Randomness) -> tuple[list[Track], int, tuple[Zone, ...]]:
    """The pieces outside all zones, the number of hidden points, and the zones touched.

    A step whose line crosses a zone is cut, too. At each cut up to 100 m more are left out, drawn each
    time, so that ends do not trace the circle.
    """
    inside: Flags = np.zeros(len(track), dtype=np.bool_)
    crossed: Flags = np.zeros(max(len(track) - 1, 0), dtype=np.bool_)
    touched = []
    for zone in zones:
        inside_zone, steps = zone.holds(track.lat, track.lon), _crosses(track, zone)
        if inside_zone.any() or steps.any():
            touched.append(zone)
        inside |= inside_zone
        crossed |= steps
    begins = np.flatnonzero(~inside & np.r_[True, inside[:-1] | crossed])
    ends = np.flatnonzero(~inside & np.r_[inside[1:] | crossed, True]) + 1
    pieces = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        piece = _trim_ends(track.take(slice(begin, end)), begin > 0, end < len(track), rng)
        if len(piece) >= _LEAST_POINTS:
            pieces.append(piece)
    return pieces, len(track) - sum(map(len, pieces)), tuple(touched)


def _crosses(track: Track, zone: Zone) -> Flags:
    """[n - 1]: whether the straight line from each point to the next crosses a zone."""
    if len(track) < _LEAST_POINTS:
        return np.zeros(0, dtype=np.bool_)
    x, y = offsets_m(zone.lat, zone.lon, track.lat, track.lon)
    dx, dy = np.diff(x), np.diff(y)
    length = dx**2 + dy**2
    along = np.clip(-(x[:-1] * dx + y[:-1] * dy) / np.where(length > 0, length, 1.0), 0, 1)
    return np.asarray(np.hypot(x[:-1] + along * dx, y[:-1] + along * dy) <= zone.radius_m)


def _trim_ends(piece: Track, cut_before: bool, cut_after: bool, rng: Randomness) -> Track:
    """The piece without up to 100 m at each cut end."""
    first, last = 0, len(piece)
    if cut_before:
        away = distances_m(float(piece.lat[0]), float(piece.lon[0]), piece.lat, piece.lon)
        first = int(np.argmax(away >= _draw_cut_m(rng))) if (away >= BLUR_M).any() else last
    if cut_after and last > first:
        away = distances_m(float(piece.lat[-1]), float(piece.lon[-1]), piece.lat, piece.lon)
        near = np.flatnonzero(away >= _draw_cut_m(rng))
        last = int(near[-1]) + 1 if (away >= BLUR_M).any() else first
    return piece.take(slice(first, max(first, last)))


def _draw_cut_m(rng: Randomness) -> float:
    return BLUR_M * int(rng.below(_STEPS + 1, 1)[0]) / _STEPS


def _learned(
    track: Track,
    pieces: list[Track],
    touched: Sequence[Zone],
    stays: Sequence[Stay],
    state: State,
    *,
    with_times: bool,
) -> list[str]:
    findings = []
    for zone in touched:
        by_chance = (_NAMED_WITHIN_M / zone.farthest_m) ** 2
        findings.append(
            f"a zone of {show_m(zone.radius_m)} holds one of your places: whoever sees enough tracks "
            f"sees its circle, and names the place within {show_m(_NAMED_WITHIN_M)} in {by_chance:.0%} by "
            "guessing; who "
            "looks back along many of your ways finds it far more often, and nearly always in open country"
        )
    zones = state.zones()
    open_stays = [
        stay
        for stay in stays
        if not any(zone.holds(np.array([stay.lat]), np.array([stay.lon]))[0] for zone in zones)
    ]
    if open_stays:
        longest = max(stay.end_s - stay.start_s for stay in open_stays)
        findings.append(
            f"{counted(len(open_stays), 'stay is', 'stays are')} shown, the longest of "
            f"{show_s(round(longest))}; --detect hides them"
        )
    for at, word, piece in ((0, "begins", pieces[0]), (-1, "ends", pieces[-1])):
        if piece.t[at] == track.t[at]:
            findings.append(f"the track {word} where your own does: that place is shown; --detect hides it")
    if with_times:
        gaps = sum(after.t[0] - before.t[-1] >= 600 for before, after in pairwise(pieces))
        findings.append(
            "days and hours are shown, and with many tracks your habits; --no-times leaves them out"
        )
        if gaps:
            findings.append(f"{gaps} gaps show how long you were in a zone")
    findings.append(
        "the route itself may be known to who has seen you on it, and then tells that the track is yours"
    )
    return findings
