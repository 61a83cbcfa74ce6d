"""GPX, KML, KMZ and TCX, read piece by piece, safely; the person is the file.

``--person folder`` takes its folder, of KML ``--person placemark`` the placemark, of GPX ``--person track``
the track. Some programs (PhoneTrack, Maps of Nextcloud) write a track for each device, the person.
"""

import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path
from typing import Final
from xml.etree import ElementTree
from xml.parsers import expat

from shoal.errors import InputError
from shoal.io.columns.owners import stem_of
from shoal.io.formats.input_table import Account, Table, bind_folder, folder_for_a_copy
from shoal.io.formats.row_files import (
    BROKEN_ARCHIVE,
    Row,
    beginning_of,
    explain_damage,
    open_bytes,
    table_of_rows,
)
from shoal.messages import say
from shoal.model.intake import Reading

_NOT_MOVEMENT: Final = {"wpt", "rtept"}
_START_BYTES: Final = 4096
_A_TRACK_EACH: Final = re.compile(rb"<gpx[^>]*creator=[\"'](PhoneTrack|Nextcloud Maps)")
_BLOCK_BYTES: Final = 1 << 18
Element = ElementTree.Element


def iterate_elements(path: Path, root_name: str, format_name: str) -> Iterator[tuple[str, Element]]:
    """Name and element, at the end of every element; the caller clears them. Entities are refused."""
    damaged = f"{path.name} is not a whole {format_name} file; it may be cut off: copy it again"
    errors = (ElementTree.ParseError, LookupError, ValueError)  # LookupError: of an unknown encoding
    with explain_damage(damaged, *errors), open_bytes(path) as file:
        while file.peek(1)[:1].isspace():  # some programs write blanks before the declaration
            file.read(1)
        start = file.tell()
        if _declares_entities(file):
            raise InputError(
                f"{path.name} declares XML entities, which no {format_name} file needs; it is not read"
            )
        file.seek(start)
        events = ElementTree.iterparse(file, ["start", "end"])  # noqa: S314 (without entities)
        _, root = next(events)
        if (tag := _name_of(root)) != root_name:
            raise InputError(f"{path.name} is XML, but no {format_name}: it begins with <{tag}>")
        yield from ((_name_of(element), element) for event, element in events if event == "end")


def _declares_entities(file: BufferedReader) -> bool:
    """Whether a document type, which may declare entities, stands before the first element."""
    parser, found = expat.ParserCreate(), list[bool]()
    parser.StartDoctypeDeclHandler = lambda *_: found.append(True)
    parser.StartElementHandler = lambda *_: found.append(False)
    with suppress(expat.ExpatError, ValueError, LookupError):  # its reader tells what is wrong
        while not found and (block := file.read(_BLOCK_BYTES)):
            parser.Parse(block, False)
    return found[:1] == [True]


def _name_of(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _child_text(element: Element, name: str) -> str:
    """The text of the first child of a name, in any namespace or none; empty without one."""
    return element.findtext(f"{{*}}{name}", "").strip()


def open_gpx(path: Path, _reading: Reading) -> Table:
    """Track points, also those without a time; way points and routes are plans, and left out with a note."""
    by_device = _A_TRACK_EACH.search(beginning_of(path, _START_BYTES))
    person = stem_of(path.name)

    def read(account: Account) -> Iterator[Row]:
        plans, track, named = 0, person, False
        for tag, element in iterate_elements(path, "gpx", "GPX"):
            if tag == "trk":
                track, named = person, False
            elif tag == "name" and not named:  # of the file, and then of the track
                track = (element.text or "").strip() or person
            elif tag == "trkpt":
                named = True
                yield track, _child_text(element, "time"), element.get("lat", ""), element.get("lon", "")
            plans += tag in _NOT_MOVEMENT
            if tag in {"trkpt", "trkseg", *_NOT_MOVEMENT}:
                element.clear()
        if plans:
            text = "{number} way points and route points of {file} are plans, not movement, and were left out"
            account.notes.append(say("reading.plans", text, number=f"{plans:,}", file=path.name))

    table = table_of_rows(path, ("uid" if by_device else "track", "datetime", "lat", "lon"), read)
    if by_device:
        text = "{program} writes a track for each device: people are the names of the tracks"
        table.notes.append(say("reading.tracks", text, program=by_device[1].decode()))
    return table


def open_tcx(path: Path, _reading: Reading) -> Table:
    """Track points; those without a position, as indoors, are counted."""

    def read(_: Account) -> Iterator[Row]:
        for tag, element in iterate_elements(path, "TrainingCenterDatabase", "TCX"):
            if tag != "Trackpoint":
                continue
            position = next(element.iterfind("{*}Position"), element)
            place = (_child_text(position, "LatitudeDegrees"), _child_text(position, "LongitudeDegrees"))
            yield _child_text(element, "Time"), *place
            element.clear()

    return table_of_rows(path, ("datetime", "lat", "lon"), read)


def open_kml(path: Path, _reading: Reading) -> Table:
    """Tracks with times (gx:Track), and points with a time stamp; drawings are left out with a note."""
    return _placemarks(path, path)


def open_kmz(path: Path, _reading: Reading) -> Table:
    """The same of the first KML in a KMZ archive."""
    damaged = f"{path.name} is not a whole KMZ archive; copy it again"
    with folder_for_a_copy() as folder:
        inner = folder / "doc.kml"
        with explain_damage(damaged, *BROKEN_ARCHIVE), zipfile.ZipFile(path) as archive:
            name = next((name for name in archive.namelist() if name.lower().endswith(".kml")), None)
            if name is None:
                raise InputError(f"{path.name} holds no KML file")
            inner.write_bytes(archive.read(name))
        return bind_folder(_placemarks(path, inner), folder)


def _placemarks(path: Path, text: Path) -> Table:
    def read(account: Account) -> Iterator[Row]:
        lines = 0
        for tag, element in iterate_elements(text, "kml", "KML"):
            if tag != "Placemark":
                continue
            points, without = _points(element)
            lines += without
            name = element.findtext(".//{*}name", "").strip()
            for point in points:
                yield name, *point
            element.clear()
        if lines:
            sentence = "{number} placemarks of {file} have no times and were left out"
            account.notes.append(say("reading.placemarks", sentence, number=f"{lines:,}", file=path.name))

    return table_of_rows(path, ("placemark", "datetime", "lat", "lon"), read)


def _points(placemark: Element) -> tuple[list[tuple[str, str, str]], bool]:
    points: list[tuple[str, str, str]] = []
    for track in placemark.iterfind(".//{*}Track"):
        times = [(child.text or "").strip() for child in track.iterfind("{*}when")]
        places = [(child.text or "").split() for child in track.iterfind("{*}coord")]
        # a coordinate without a time, or a time without one, stays in the account as an unreadable row
        for time, place in zip_longest(times, places):
            lon, lat = place[:2] if place and len(place) >= 2 else ("", "")
            points.append((time or "", lat, lon))
    if points:
        return points, False
    moments = [
        (child.text or "").strip()
        for kind in ("TimeStamp", "TimeSpan")
        for stamp in placemark.iterfind(f".//{{*}}{kind}")
        for child in stamp
        if _name_of(child) in {"when", "begin", "end"}
    ]
    for point in placemark.iterfind(".//{*}Point"):
        lon, lat, *_ = [*_child_text(point, "coordinates").split(","), "", ""]
        points += [(moment, lat.strip(), lon.strip()) for moment in moments]
    return points, not points
