"""One track: read, searched for stays, and written."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import InputError, MisuseError, OutputError
from shoal.io.reading import read
from shoal.runtime.arrays import Floats
from shoal.runtime.run import Run
from shoal.runtime.staging import staged_file
from shoal.sharing.zones import distances_m
from shoal.units import counted

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
