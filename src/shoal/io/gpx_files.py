"""GPX files: every track point of every track, with its position and time.

A GPX file does not say whose it is: the person is the file, by its name; ``--person folder`` takes the folder
that holds it instead, for people with several files. Way points and routes are plans, not movement, and are
left out with a note.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from shoal.io.tables import Table, text_batch
from shoal.io.whose import of_file, stem_of
from shoal.io.xml_files import child_text, ended
from shoal.model.intake import Reading

COLUMNS: Final = ("uid", "folder", "datetime", "lat", "lon")
_POINTS: Final = 1 << 16
_NOT_MOVEMENT: Final = {"wpt", "rtept"}


def open_table(path: Path, _reading: Reading) -> Table:
    """The track points of one file; one without a time has an empty time.

    Raises InputError for a file that is no whole GPX.
    """
    notes: list[str] = []
    person, folder = stem_of(path.name), path.resolve().parent.name

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        points: list[tuple[str, ...]] = []
        plans = 0
        for tag, element in ended(path, "gpx", "GPX"):
            if tag == "trkpt":
                time = child_text(element, "time")
                points.append((person, folder, time, element.get("lat", ""), element.get("lon", "")))
                if len(points) == _POINTS:
                    yield 0.0, text_batch(points, COLUMNS, columns)
                    points = []
            plans += tag in _NOT_MOVEMENT
            if tag in {"trkpt", "trkseg", *_NOT_MOVEMENT}:
                element.clear()
        if plans:
            notes.append(
                f"{plans:,} way points and route points of {path.name} are plans, not movement, and were "
                "left out"
            )
        yield 1.0, text_batch(points, COLUMNS, columns)

    return Table(name=path.name, columns=COLUMNS, batches=batches, owners=of_file(path), notes=notes)
