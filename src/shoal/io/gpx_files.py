"""GPX files: every track point of every track, with its position and time.

A GPX file does not say whose it is: the person is the file, by its name; ``--person folder`` takes the folder
that holds it instead, for people with several files. Way points and routes are plans, not movement, and are
left out with a note.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, cast
from xml.etree import ElementTree

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.tables import Table

COLUMNS: Final = ("uid", "folder", "datetime", "lat", "lon")
_POINTS: Final = 1 << 16
_NOT_MOVEMENT: Final = {"wpt", "rtept"}


def open_table(path: Path) -> Table:
    """The track points of one file; one without a time has an empty time.

    Raises InputError for a file that is no whole GPX.
    """
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    notes: list[str] = []

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        points: list[tuple[str, str, str]] = []
        plans = 0
        try:
            for found in _elements(path):
                if found is None:
                    plans += 1
                    continue
                points.append(found)
                if len(points) == _POINTS:
                    yield 0.0, _batch(path, points, columns)
                    points = []
        except (ElementTree.ParseError, UnicodeDecodeError, ValueError) as error:
            raise InputError(
                f"{path.name} is not a whole GPX file; it may be cut off: copy it again"
            ) from error
        if plans:
            notes.append(
                f"{plans:,} way points and route points of {path.name} are plans, not movement, and were "
                "left out"
            )
        yield 1.0, _batch(path, points, columns)

    return Table(name=path.name, columns=COLUMNS, batches=batches, notes=notes)


def _elements(path: Path) -> Iterator[tuple[str, str, str] | None]:
    """(time, latitude, longitude) of each track point as text, None for a point that is no movement."""
    parser: ElementTree.XMLPullParser[ElementTree.Element] = ElementTree.XMLPullParser(["start", "end"])
    root: ElementTree.Element | None = None
    with path.open("rb") as file:
        while block := file.read(1 << 18):
            if b"<!DOCTYPE" in block or b"<!ENTITY" in block:
                raise InputError(
                    f"{path.name} declares XML entities, which no GPX file needs; it is not read"
                )
            parser.feed(block)
            for event, element in cast("Iterator[tuple[str, ElementTree.Element]]", parser.read_events()):
                tag = str(element.tag).rpartition("}")[2]
                if root is None:
                    root = element
                    if tag != "gpx":
                        raise InputError(f"{path.name} is XML, but no GPX: it begins with <{tag}>")
                if event != "end":
                    continue
                if tag == "trkpt":
                    time = next(
                        (
                            child.text or ""
                            for child in element
                            if str(child.tag).rpartition("}")[2] == "time"
                        ),
                        "",
                    )
                    yield time.strip(), element.get("lat", ""), element.get("lon", "")
                elif tag in _NOT_MOVEMENT:
                    yield None
                if tag in {"trkpt", "trkseg", *_NOT_MOVEMENT}:
                    element.clear()
    parser.close()


def _batch(path: Path, points: list[tuple[str, str, str]], columns: Sequence[str]) -> pa.RecordBatch:
    held = {
        "uid": [path.stem] * len(points),
        "folder": [path.resolve().parent.name] * len(points),
        "datetime": [point[0] for point in points],
        "lat": [point[1] for point in points],
        "lon": [point[2] for point in points],
    }
    return pa.record_batch({name: pa.array(held[name], pa.string()) for name in columns})
