"""Files that do not say whose they are: the person is the file, by its name, or the folder that holds it."""

from dataclasses import replace
from pathlib import Path

from shoal.errors import InputError
from shoal.io.tables import Owner, Table, with_constants


def file(table: Table) -> Table:
    """The table with a column ``file`` that names its only person: the file's name without its ending."""
    stem = stem_of(table.name)
    owner = Owner(column="file", value=stem, place=table.place)
    return with_constants(replace(table, owner=owner), {"file": stem})


def stem_of(name: str) -> str:
    """A file's name without its ending, and without a second one of a packed file (``ride.gpx.gz``)."""
    path = Path(name)
    return Path(path.stem).stem if path.suffix.lower() in {".gz"} else path.stem


class Owners:
    """The files that were read so far and whom they were taken for, to see two that would become one."""

    def __init__(self) -> None:
        self._place_of: dict[str, str] = {}

    def add(self, table: Table, person: str) -> None:
        """Take a table whose persons stand in the column ``person``.

        Raises InputError when its name was taken for a person before, from another place.
        """
        if table.owner is None or table.owner.column != person:
            return
        before = self._place_of.setdefault(table.owner.value, table.owner.place)
        if before != table.owner.place:
            raise InputError(
                f"two inputs called {Path(table.owner.place).name} lie in different folders, and the name "
                "tells "
                "whose they are: give --person folder if each folder is a person, --person path if each file "
                "is"
            )
