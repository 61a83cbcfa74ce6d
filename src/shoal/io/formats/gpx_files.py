"""GPX files: every track point, with its position and time.

The person is the file; ``--person folder`` takes its folder. Some programs (PhoneTrack, Maps of Nextcloud)
write a track for each device: there the person is the track. Way points and routes are plans, and left out
with a note.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from shoal.io.columns.owners import owners_of_file, stem_of
from shoal.io.formats.input_table import Owner, Table, text_batch
from shoal.io.formats.xml_files import BROKEN_GZIP, child_text, iterate_elements, open_bytes
from shoal.messages import say
from shoal.model.intake import Reading

COLUMNS: Final = ("uid", "folder", "datetime", "lat", "lon")
_POINTS: Final = 1 << 16
_NOT_MOVEMENT: Final = {"wpt", "rtept"}
_START_BYTES: Final = 4096
_A_TRACK_EACH: Final = re.compile(rb"<gpx[^>]*creator=[\"'](PhoneTrack|Nextcloud Maps)")


def open_table(path: Path, _reading: Reading) -> Table:
    """Track points of a whole file, also those without a time."""
    notes: list[str] = []
    person, folder = stem_of(path.name), path.resolve().parent.name
    program = _of_several_devices(path)

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        points: list[tuple[str, ...]] = []
        plans, device, named = 0, person, False
        for tag, element in iterate_elements(path, "gpx", "GPX"):
            if tag == "trk":
                device, named = person, False
            elif tag == "name" and program and not named:  # of the file, and then of the track
                device = (element.text or "").strip() or person
            elif tag == "trkpt":
                time, named = child_text(element, "time"), True
                points.append((device, folder, time, element.get("lat", ""), element.get("lon", "")))
                if len(points) == _POINTS:
                    yield 0.0, text_batch(points, COLUMNS, columns)
                    points = []
            plans += tag in _NOT_MOVEMENT
            if tag in {"trkpt", "trkseg", *_NOT_MOVEMENT}:
                element.clear()
        if plans:
            text = "{number} way points and route points of {file} are plans, not movement, and were left out"
            notes.append(say("reading.plans", text, number=f"{plans:,}", file=path.name))
        yield 1.0, text_batch(points, COLUMNS, columns)

    owners: tuple[Owner, ...] = owners_of_file(path)
    if program:
        text = "{program} writes a track for each device: people are the names of the tracks"
        notes.append(say("reading.tracks", text, program=program))
        owners = tuple(owner for owner in owners if owner.column != "uid")
    return Table(name=path.name, columns=COLUMNS, batches=batches, owners=owners, notes=notes)


def _of_several_devices(path: Path) -> str:
    try:
        with open_bytes(path) as file:
            match = _A_TRACK_EACH.search(file.read(_START_BYTES))
    except (OSError, *BROKEN_GZIP):
        return ""  # whoever reads the file says what is wrong
    return match[1].decode() if match else ""
