"""GeoLife's PLT files: six lines of preamble, then one fix a line.

A fix is latitude, longitude, 0, altitude, days, date, time in GMT. The person is the folder above
``Trajectory`` (``010/Trajectory/x.plt``), else the file's folder. Column ``file`` tells files apart
(``--person file``), ``track`` those of all people.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePath
from typing import Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.formats.input_table import WRONG_FIELDS, Owner, Table
from shoal.model.intake import Reading

COLUMNS: Final = ("uid", "file", "track", "datetime", "lat", "lon")
_PREAMBLE_LINES: Final = 6
_FIELDS: Final = 7
_LINES: Final = 1 << 16


def labels(paths: Iterable[PurePath]) -> set[PurePath]:
    """GeoLife's means of transport (``010/labels.txt``) among these files: no movement, so not read.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> people = [PurePosixPath(one) for one in ("10/labels.txt", "10/Trajectory/1.plt", "11/labels.txt")]
    >>> [str(one) for one in labels(people)]
    ['10/labels.txt']
    """
    every = set(paths)
    people = {_person(path) for path in every if path.suffix.lower() == ".plt"}
    return {path for path in every if path.name == "labels.txt" and path.parent in people}


def open_table(path: Path, _reading: Reading) -> Table:
    """Fixes of one file; lines with another number of fields are counted."""
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    person = _folder(path).name
    track = f"{person}/{path.stem}"
    unreadable: dict[str, int] = {}

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        try:
            with path.open(encoding="utf-8", errors="strict") as file:
                preamble = list(islice(file, _PREAMBLE_LINES))
                if len(preamble) < _PREAMBLE_LINES or not preamble[0].startswith("Geolife trajectory"):
                    raise InputError(
                        f"{path.name} does not begin like a PLT file ('Geolife trajectory' and five more "
                        "lines); it may be cut off"
                    )
                while lines := list(islice(file, _LINES)):
                    rows = [fields for line in lines if line.strip() for fields in [line.strip().split(",")]]
                    sound = [fields for fields in rows if len(fields) == _FIELDS]
                    if len(sound) < len(rows):
                        unreadable[WRONG_FIELDS] = unreadable.get(WRONG_FIELDS, 0) + len(rows) - len(sound)
                    texts = {
                        "uid": [person] * len(sound),
                        "file": [path.stem] * len(sound),
                        "track": [track] * len(sound),
                        "datetime": [f"{fields[5]}T{fields[6]}Z" for fields in sound],
                        "lat": [fields[0] for fields in sound],
                        "lon": [fields[1] for fields in sound],
                    }
                    yield 0.0, pa.record_batch({name: pa.array(texts[name], pa.string()) for name in columns})
        except UnicodeDecodeError as error:
            raise InputError(f"{path.name} is not text, so no PLT file; copy it again") from error

    owners = (
        Owner(column="uid", value=person, place=str(_folder(path)), what="folder"),
        Owner(column="file", value=path.stem, place=str(path.resolve())),
        Owner(column="track", value=track, place=str(path.resolve())),
    )
    return Table(name=path.name, columns=COLUMNS, batches=batches, owners=owners, unreadable=unreadable)


def _folder(path: Path) -> Path:
    return Path(_person(path.resolve()))


def _person(path: PurePath) -> PurePath:
    folder = path.parent
    return folder.parent if folder.name.lower() == "trajectory" else folder
