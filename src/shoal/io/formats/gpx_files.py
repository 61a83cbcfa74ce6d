"""GPX files: every track point, with its position and time.

The person is the file; ``--person folder`` takes its folder. Some programs (PhoneTrack, Maps of Nextcloud)
write a track for each device: there the person is the track. Way points and routes are plans, and left out
with a note.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shoal.io.columns.owners import stem_of
from shoal.io.formats.input_table import Table
from shoal.io.formats.row_files import Account, Row, beginning_of, table_of_rows
from shoal.io.formats.xml_files import child_text, iterate_elements
from shoal.messages import say
from shoal.model.intake import Reading

_NOT_MOVEMENT: Final = {"wpt", "rtept"}
_START_BYTES: Final = 4096
_A_TRACK_EACH: Final = re.compile(rb"<gpx[^>]*creator=[\"'](PhoneTrack|Nextcloud Maps)")


def open_table(path: Path, _reading: Reading) -> Table:
    """Track points of a whole file, also those without a time."""
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
                point = child_text(element, "time"), element.get("lat", ""), element.get("lon", "")
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
