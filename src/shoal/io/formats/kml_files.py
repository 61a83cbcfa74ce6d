"""KML and KMZ files: tracks with times (gx:Track), and points with a time stamp.

The person is the file; ``--person folder`` takes its folder, ``--person placemark`` the placemark. Lines
without times are drawings: left out with a note.
"""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.columns.owners import owners_of_file, stem_of
from shoal.io.formats.input_table import Table, bind_folder, folder_for_a_copy, text_batch
from shoal.io.formats.xml_files import BROKEN_ARCHIVE, Element, iterate_elements
from shoal.messages import say
from shoal.model.intake import Reading

COLUMNS: Final = ("uid", "folder", "placemark", "datetime", "lat", "lon")


def open_table(path: Path, _reading: Reading) -> Table:
    """Points with times of a whole file."""
    return _of(path, path)


def open_zipped(path: Path, _reading: Reading) -> Table:
    """The same of the first KML in a KMZ archive."""
    with folder_for_a_copy() as folder:
        inner = folder / "doc.kml"
        try:
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.lower().endswith(".kml")]
                if not names:
                    raise InputError(f"{path.name} holds no KML file")
                inner.write_bytes(archive.read(names[0]))
        except BROKEN_ARCHIVE as error:
            raise InputError(f"{path.name} is not a whole KMZ archive; copy it again") from error
        return bind_folder(_of(path, inner), folder)


def _of(path: Path, text: Path) -> Table:
    notes: list[str] = []
    owner = (stem_of(path.name), path.resolve().parent.name)

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        lines = 0
        rows: list[tuple[str, ...]] = []
        for tag, element in iterate_elements(text, "kml", "KML"):
            if tag != "Placemark":
                continue
            points, without = _points(element)
            lines += without
            name = next((child.text or "" for child in _all(element, "name")), "").strip()
            rows += [(*owner, name, *point) for point in points]
            element.clear()
            if len(rows) >= 1 << 16:
                yield 0.0, text_batch(rows, COLUMNS, columns)
                rows = []
        if lines:
            sentence = "{number} placemarks of {file} have no times and were left out"
            notes.append(say("reading.placemarks", sentence, number=f"{lines:,}", file=path.name))
        yield 1.0, text_batch(rows, COLUMNS, columns)

    return Table(name=path.name, columns=COLUMNS, batches=batches, owners=owners_of_file(path), notes=notes)


def _points(placemark: Element) -> tuple[list[tuple[str, str, str]], bool]:
    points: list[tuple[str, str, str]] = []
    for track in _all(placemark, "Track"):
        times = [(child.text or "").strip() for child in track if _name(child) == "when"]
        places = [(child.text or "").split() for child in track if _name(child) == "coord"]
        # a coordinate without a time, or a time without one, stays in the account as an unreadable row
        for place in range(max(len(times), len(places))):
            position = places[place] if place < len(places) and len(places[place]) >= 2 else ["", ""]
            points.append((times[place] if place < len(times) else "", position[1], position[0]))
    if points:
        return points, False
    moments = [
        (child.text or "").strip()
        for stamp in (*_all(placemark, "TimeStamp"), *_all(placemark, "TimeSpan"))
        for child in stamp
        if _name(child) in {"when", "begin", "end"}
    ]
    for point in _all(placemark, "Point"):
        text = next(((child.text or "") for child in point if _name(child) == "coordinates"), "")
        lon, lat, *_ = [*text.strip().split(","), "", ""]
        points += [(moment, lat.strip(), lon.strip()) for moment in moments]
    return points, not points


def _all(element: Element, name: str) -> list[Element]:
    return [descendant for descendant in element.iter() if _name(descendant) == name]


def _name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
