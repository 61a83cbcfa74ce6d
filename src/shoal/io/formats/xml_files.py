"""GPX, KML, KMZ and TCX, read piece by piece, safely; the person is the file.

``--person folder`` takes its folder, of KML ``--person placemark`` the placemark. Some programs (PhoneTrack,
Maps of Nextcloud) write a track of GPX for each device: there the person is the track.
"""

import re
import zipfile
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Final, cast
from xml.etree import ElementTree
from xml.parsers import expat

from shoal.errors import InputError
from shoal.io.columns.owners import stem_of
from shoal.io.formats.input_table import Table, bind_folder, folder_for_a_copy
from shoal.io.formats.row_files import (
    BROKEN_ARCHIVE,
    Account,
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
    """Name and element, at the end of every element; the caller clears them.

    A file that declares entities is refused.
    """
    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(["start", "end"])
    root: Element | None = None
    guard = _guard_of(path.name, format_name)
    damaged = f"{path.name} is not a whole {format_name} file; it may be cut off: copy it again"
    errors = (ElementTree.ParseError, LookupError, ValueError)  # LookupError: of an unknown encoding
    with explain_damage(damaged, *errors), open_bytes(path) as file:
        first = True
        while block := file.read(_BLOCK_BYTES):
            if first:  # some programs write blanks before the declaration
                block, first = block.lstrip(), False
            guard(block)
            parser.feed(block)
            for event, element in cast("Iterator[tuple[str, Element]]", parser.read_events()):
                tag = _name_of(element)
                if root is None:
                    root = element
                    if tag != root_name:
                        raise InputError(f"{path.name} is XML, but no {format_name}: it begins with <{tag}>")
                if event == "end":
                    yield tag, element
        parser.close()


def _guard_of(name: str, format_name: str) -> Callable[[bytes], None]:
    """Takes the blocks of a file; raises InputError for a document type, which may declare entities."""
    parser, over = expat.ParserCreate(), False

    def refuse(*_: object) -> None:
        raise InputError(f"{name} declares XML entities, which no {format_name} file needs; it is not read")

    def stop(*_: object) -> None:
        raise ValueError("the first element")

    def guard(block: bytes) -> None:
        nonlocal over
        if not over:
            try:
                parser.Parse(block, False)
            except (expat.ExpatError, ValueError, LookupError):
                over = True  # what is wrong with the file is told by its reader

    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, stop
    return guard


def _name_of(element: Element) -> str:
    """Without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _child_text(element: Element, name: str) -> str:
    """The text of the first child of a name, in any namespace or none; empty without one."""
    return element.findtext(f"{{*}}{name}", "").strip()


def open_gpx(path: Path, _reading: Reading) -> Table:
    """Track points, also those without a time; way points and routes are plans, and left out with a note."""
    by_device = _A_TRACK_EACH.search(beginning_of(path, _START_BYTES))
    person = stem_of(path.name)

    def read(account: Account) -> Iterator[Row]:
        plans, device, named = 0, person, False
        for tag, element in iterate_elements(path, "gpx", "GPX"):
            if tag == "trk":
                device, named = person, False
            elif tag == "name" and by_device and not named:  # of the file, and then of the track
                device = (element.text or "").strip() or person
            elif tag == "trkpt":
                point = _child_text(element, "time"), element.get("lat", ""), element.get("lon", "")
                named = True
                yield (device, *point) if by_device else point
            plans += tag in _NOT_MOVEMENT
            if tag in {"trkpt", "trkseg", *_NOT_MOVEMENT}:
                element.clear()
        if plans:
            text = "{number} way points and route points of {file} are plans, not movement, and were left out"
            account.notes.append(say("reading.plans", text, number=f"{plans:,}", file=path.name))

    names = ("datetime", "lat", "lon")
    table = table_of_rows(path, ("uid", *names) if by_device else names, read)
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
    with folder_for_a_copy() as folder, explain_damage(damaged, *BROKEN_ARCHIVE):
        inner = folder / "doc.kml"
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith(".kml")]
            if not names:
                raise InputError(f"{path.name} holds no KML file")
            inner.write_bytes(archive.read(names[0]))
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
