"""Read a track, hide places, write the rest, and list what a stranger could learn."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import InputError, MisuseError, NothingLeftError, OutputError
from shoal.io.reading import read
from shoal.runtime.arrays import Flags, Floats
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import staged_file
from shoal.sharing.zones import State, Zone, distances_m, load, offsets_m, save
from shoal.units import counted, length_m, percent, show_m, show_s

_DIGITS: Final = 5  # of a degree: about a meter
ENDINGS: Final = (".gpx", ".geojson", ".json")


@dataclass(frozen=True, eq=False, kw_only=True)
class Track:
    """Points by time, float64 [n]: seconds since 1970, degrees."""

    t: Floats
    lat: Floats
    lon: Floats

    def __len__(self) -> int:
        return len(self.t)

    def take(self, rows: Any) -> "Track":
        """Only these rows."""
        return Track(t=self.t[rows], lat=self.lat[rows], lon=self.lon[rows])


def read_track(path: Path, run: Run, **settings: Any) -> tuple[Track, tuple[str, ...]]:
    """The track in a file, and notes; InputError for several people, no degrees, or nothing."""
    trajectories = read(path, run=run, **{**settings, "snap": False})
    if trajectories.n_subjects > 1:
        raise InputError(
            f"{path.name} holds tracks of {trajectories.n_subjects} people or devices; share one at a time"
        )
    if trajectories.lat is None or trajectories.lon is None:
        raise InputError(f"{path.name} gives no latitude and longitude; a track to share needs them")
    order = np.argsort(trajectories.t, kind="stable")
    track = Track(t=trajectories.t[order], lat=trajectories.lat[order], lon=trajectories.lon[order])
    lost = sum(trajectories.intake.dropped.values())
    notes = (
        (
            f"{counted(lost, 'point')} without a time or a place, or twice, "
            f"{'was' if lost == 1 else 'were'} left out",
        )
        if lost
        else ()
    )
    return track, notes


def require_writable(path: Path) -> None:
    """Raise MisuseError for a format that is not written, OutputError for a file that exists."""
    if not path.name.lower().endswith(ENDINGS):
        raise MisuseError(f"{path.name} must end in {' or '.join(ENDINGS)}; other formats are not written")
    if path.exists():
        raise OutputError(f"{path} exists; choose another --output or remove it first")


def write_track(pieces: list[Track], path: Path, *, with_times: bool) -> None:
    """Write pieces as GPX or GeoJSON, rounded to meters and seconds."""
    lines = _gpx(pieces, with_times) if path.name.lower().endswith(".gpx") else _geojson(pieces, with_times)
    text = "".join(lines)
    with staged_file(path, lambda file: file.write(text.encode()), mode=0o666):
        pass


def _gpx(pieces: list[Track], with_times: bool) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="shoal" '
    yield 'xmlns="http://www.topografix.com/GPX/1/1">\n<trk>\n'
    for piece in pieces:
        yield "<trkseg>\n"
        for t, lat, lon in zip(piece.t.tolist(), piece.lat.tolist(), piece.lon.tolist(), strict=True):
            when = f"<time>{_moment(t)}</time>" if with_times else ""
            yield f'<trkpt lat="{lat:.{_DIGITS}f}" lon="{lon:.{_DIGITS}f}">{when}</trkpt>\n'
        yield "</trkseg>\n"
    yield "</trk>\n</gpx>\n"


def _geojson(pieces: list[Track], with_times: bool) -> Iterator[str]:
    features = [
        {
            "type": "Feature",
            "properties": {"times": [_moment(t) for t in piece.t.tolist()]} if with_times else {},
            "geometry": {
                "type": "LineString",
                "coordinates": [
                    [round(lon, _DIGITS), round(lat, _DIGITS)]
                    for lat, lon in zip(piece.lat.tolist(), piece.lon.tolist(), strict=True)
                ],
            },
        }
        for piece in pieces
    ]
    yield json.dumps({"type": "FeatureCollection", "features": features}) + "\n"


def _moment(t_s: float) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=round(t_s))
    return moment.isoformat().replace("+00:00", "Z")


_WITHIN_M: Final = 100.0
_LEAST_S: Final = 600.0


@dataclass(frozen=True, kw_only=True)
class Stay:
    """The middle of a stay in degrees, and its first and last moment."""

    lat: float
    lon: float
    start_s: float
    end_s: float


def stays_of(track: Track) -> list[Stay]:
    """The stays of a track (Li et al. 2008): within 100 m of the first point, ten minutes at least."""
    stays = []
    first = 0
    while first < len(track):
        away = distances_m(
            float(track.lat[first]), float(track.lon[first]), track.lat[first:], track.lon[first:]
        )
        outside = np.flatnonzero(away > _WITHIN_M)
        end = first + (int(outside[0]) if len(outside) else len(away))
        if track.t[end - 1] - track.t[first] >= _LEAST_S:
            stays.append(
                Stay(
                    lat=float(np.median(track.lat[first:end])),
                    lon=float(np.median(track.lon[first:end])),
                    start_s=float(track.t[first]),
                    end_s=float(track.t[end - 1]),
                )
            )
            first = end
        else:
            first += 1
    return stays


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

    output: a new file, .gpx or .geojson. hide: places, as ``place_of`` reads them; every place of the state
    is hidden, too. detect: also hide both ends of the track, and where it stays ten minutes. state_file: the
    key and the places so far; it is written before the track is. rng: draws how much more is cut at each
    end. NothingLeftError when nothing is left to share.
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
            f"sees its circle, and names the place within {show_m(_NAMED_WITHIN_M)} in "
            f"{percent(by_chance, 0)} by guessing; who "
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
