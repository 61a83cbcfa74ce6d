"""GeoLife's PLT files: six lines of preamble, then one fix a line.

A fix is latitude, longitude, 0, altitude, days, date, time in GMT. The person is the folder above
``Trajectory`` (``010/Trajectory/x.plt``), else the file's folder. Column ``file`` tells files apart
(``--person file``), ``track`` those of all people.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePath
from typing import Final

from shoal.errors import InputError
from shoal.io.formats.input_table import WRONG_FIELDS, Account, Owner, Table
from shoal.io.formats.row_files import Row, explain_damage, table_of_rows
from shoal.model.intake import Reading

_PREAMBLE_LINES: Final = 6
_FIELDS: Final = 7


def labels(paths: Iterable[PurePath]) -> set[PurePath]:
    """GeoLife's means of transport (``010/labels.txt``) among these files: no movement, so not read."""
    every = set(paths)
    people = {_person(path) for path in every if path.suffix.lower() == ".plt"}
    return {path for path in every if path.name == "labels.txt" and path.parent in people}


def open_table(path: Path, _reading: Reading) -> Table:
    """Fixes of one file; lines with another number of fields are counted."""
    folder = Path(_person(path.resolve()))
    person = folder.name
    stem, track = path.stem, f"{person}/{path.stem}"
    damaged = f"{path.name} is not text, so no PLT file; copy it again"

    def read(account: Account) -> Iterator[Row]:
        with explain_damage(damaged, UnicodeDecodeError), path.open(encoding="utf-8") as file:
            preamble = list(islice(file, _PREAMBLE_LINES))
            if len(preamble) < _PREAMBLE_LINES or not preamble[0].startswith("Geolife trajectory"):
                raise InputError(
                    f"{path.name} does not begin like a PLT file ('Geolife trajectory' and five more lines); "
                    "it may be cut off"
                )
            for number, line in enumerate(file, start=_PREAMBLE_LINES + 1):
                fields = line.strip().split(",")
                if len(fields) == _FIELDS:
                    yield person, stem, track, f"{fields[5]}T{fields[6]}Z", fields[0], fields[1]
                elif line.strip():
                    account.leave_out(WRONG_FIELDS, number)

    owners = (
        Owner(column="uid", value=person, place=str(folder), what="folder"),
        Owner(column="file", value=stem, place=str(path.resolve())),
        Owner(column="track", value=track, place=str(path.resolve())),
    )
    return table_of_rows(path, ("uid", "file", "track", "datetime", "lat", "lon"), read, owners=owners)


def _person(path: PurePath) -> PurePath:
    folder = path.parent
    return folder.parent if folder.name.lower() == "trajectory" else folder
