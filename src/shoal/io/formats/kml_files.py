"""KML and KMZ files: tracks with times (gx:Track), and points with a time stamp.

The person is the file; ``--person folder`` takes its folder, ``--person placemark`` the placemark. Lines
without times are drawings: left out with a note.
"""

import zipfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from shoal.errors import InputError
from shoal.io.formats.input_table import Table, bind_folder, folder_for_a_copy
from shoal.io.formats.row_files import BROKEN_ARCHIVE, Account, Row, explain_damage, table_of_rows
from shoal.io.formats.xml_files import Element, child_text, children, iterate_elements
from shoal.messages import say
from shoal.model.intake import Reading


def open_table(path: Path, _reading: Reading) -> Table:
    """Points with times of a whole file."""
    return _of(path, path)


def open_zipped(path: Path, _reading: Reading) -> Table:
    """The same of the first KML in a KMZ archive."""
    damaged = f"{path.name} is not a whole KMZ archive; copy it again"
    with folder_for_a_copy() as folder, explain_damage(damaged, *BROKEN_ARCHIVE):
        inner = folder / "doc.kml"
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith(".kml")]
            if not names:
                raise InputError(f"{path.name} holds no KML file")
            inner.write_bytes(archive.read(names[0]))
        return bind_folder(_of(path, inner), folder)


def _of(path: Path, text: Path) -> Table:
    def read(account: Account) -> Iterator[Row]:
        lines = 0
        for tag, element in iterate_elements(text, "kml", "KML"):
            if tag != "Placemark":
                continue
            points, without = _points(element)
            lines += without
            name = next((child.text or "" for child in _all(element, "name")), "").strip()
            for point in points:
                yield name, *point
            element.clear()
        if lines:
            sentence = "{number} placemarks of {file} have no times and were left out"
            account.notes.append(say("reading.placemarks", sentence, number=f"{lines:,}", file=path.name))

    return table_of_rows(path, ("placemark", "datetime", "lat", "lon"), read)


def _points(placemark: Element) -> tuple[list[tuple[str, str, str]], bool]:
    points: list[tuple[str, str, str]] = []
    for track in _all(placemark, "Track"):
        times = [(child.text or "").strip() for child in children(track, "when")]
        places = [(child.text or "").split() for child in children(track, "coord")]
        # a coordinate without a time, or a time without one, stays in the account as an unreadable row
        for time, place in zip_longest(times, places):
            lon, lat = place[:2] if place and len(place) >= 2 else ("", "")
            points.append((time or "", lat, lon))
    if points:
        return points, False
    moments = [
        (child.text or "").strip()
        for stamp in (*_all(placemark, "TimeStamp"), *_all(placemark, "TimeSpan"))
        for child in stamp
        if _name(child) in {"when", "begin", "end"}
    ]
    for point in _all(placemark, "Point"):
        lon, lat, *_ = [*child_text(point, "coordinates").split(","), "", ""]
        points += [(moment, lat.strip(), lon.strip()) for moment in moments]
    return points, not points


def _all(element: Element, name: str) -> list[Element]:
    return [descendant for descendant in element.iter() if _name(descendant) == name]


def _name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
