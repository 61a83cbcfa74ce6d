"""A folder of GPX or GeoLife's PLT files, one for each person or record."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote
from xml.sax.saxutils import escape

import numpy as np

from shoal.errors import MisuseError
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.publishing.ecosystem import BoxAs, degrees_of
from shoal.runtime.arrays import Floats
from shoal.runtime.staging import explain_write_errors, staged_folder

PointFormat = Literal["gpx", "plt"]

_DAY_ZERO: Final = datetime(1899, 12, 30, tzinfo=UTC)  # of the PLT format
_PREAMBLE: Final = (
    "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
)
_PART: Final = {"center": "center", "first-corner": "corner and start"}
_HOW: Final = (
    "Each point is the {} of an area and an interval in which the record was; nobody need have been there."
)
_EXCHANGED: Final = "The points of a record were exchanged or moved; it is nobody's true movement."


def write_points(
    data: Release | Trajectories, folder: Path, how: PointFormat, *, box_as: BoxAs | None = None
) -> int:
    """Write a new folder with a file for each person or record; returns their number.

    gpx: NAME.gpx. plt: NAME/Trajectory/NAME.plt with whole seconds, as in GeoLife. box_as: as for
    ``points_of``.
    """
    if how not in _WRITERS:
        raise MisuseError(f"'{how}' is no point format; choose from {', '.join(_WRITERS)}")
    names, t_s, lon, lat = degrees_of(data, box_as)
    starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]]).tolist() if len(names) else []
    note = _HOW.format(_PART[box_as or "center"]) if isinstance(data, Release) else ""
    if isinstance(data, Release) and data.payload.kind == "points":
        note = _EXCHANGED
    with staged_folder(folder) as staging:
        for first, end in zip(starts, [*starts[1:], len(names)], strict=True):
            part = slice(first, end)
            name = _file_name(str(names[first]))
            path = staging / f"{name}.gpx" if how == "gpx" else staging / name / "Trajectory" / f"{name}.plt"
            with explain_write_errors(folder):
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("w", encoding="utf-8", newline="\n") as file:
                    file.writelines(_WRITERS[how](str(names[first]), note, t_s[part], lon[part], lat[part]))
    return len(starts)


def _gpx(name: str, note: str, t_s: Floats, lon: Floats, lat: Floats) -> Iterator[str]:
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="shoal" '
        'xmlns="http://www.topografix.com/GPX/1/1">\n'
    )
    if note:
        yield f"<metadata><desc>{escape(note)}</desc></metadata>\n"
    yield f"<trk><name>{escape(name)}</name><trkseg>\n"
    for moment, east, north in zip(t_s.tolist(), lon.tolist(), lat.tolist(), strict=True):
        when = _moment(moment).isoformat().replace("+00:00", "Z")
        yield f'<trkpt lat="{north:.7f}" lon="{east:.7f}"><time>{when}</time></trkpt>\n'
    yield "</trkseg></trk>\n</gpx>\n"


def _plt(_name: str, _note: str, t_s: Floats, lon: Floats, lat: Floats) -> Iterator[str]:
    yield _PREAMBLE
    for moment, east, north in zip(t_s.tolist(), lon.tolist(), lat.tolist(), strict=True):
        when = _moment(int(moment // 1))
        days = (when - _DAY_ZERO) / timedelta(days=1)
        yield f"{north:.7f},{east:.7f},0,-777,{days:.10f},{when:%Y-%m-%d},{when:%H:%M:%S}\n"


_WRITERS: Final[dict[str, Callable[[str, str, Floats, Floats, Floats], Iterator[str]]]] = {
    "gpx": _gpx,
    "plt": _plt,
}


def _moment(t_s: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=t_s)


def _file_name(name: str) -> str:
    """Forbidden characters, and a leading dot, as %XX."""
    safe = quote(name, safe=" ()+,;=@!")
    return f"%2E{_file_name(name[1:])}" if safe.startswith(".") else safe
