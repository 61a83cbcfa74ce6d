"""Files without a column of persons: the person is the file, or its folder."""

from dataclasses import replace
from pathlib import Path

from shoal.errors import InputError
from shoal.io.formats.tables import Owner, Table, add_constants


def add_file_column(table: Table) -> Table:
    """Add a column ``file`` with the file's name without its ending."""
    stem = stem_of(table.name)
    owner = Owner(column="file", value=stem, place=table.place)
    return add_constants(replace(table, owners=(owner,)), {"file": stem})


def owners_of_file(path: Path) -> tuple[Owner, Owner]:
    """The owners of a file, by its name and its folder."""
    whole = path.resolve()
    return (
        Owner(column="uid", value=stem_of(path.name), place=str(whole)),
        Owner(column="folder", value=whole.parent.name, place=str(whole.parent)),
    )


def stem_of(name: str) -> str:
    """A file's name without endings (``ride.gpx.gz``)."""
    path = Path(name)
    return Path(path.stem).stem if path.suffix.lower() in {".gz"} else path.stem


class Owners:
    """The files so far and their persons, to notice two files that would become one person."""

    def __init__(self) -> None:
        self._place_of: dict[str, str] = {}

    def add(self, table: Table, person: str) -> None:
        """Add a table; InputError if its name belongs to another file."""
        for owner in table.owners:
            if owner.column == person:
                self._take(owner.value, owner.place)

    def join(self, later: "Owners") -> None:
        """Add the owners of another piece."""
        for value, place in later._place_of.items():
            self._take(value, place)

    def _take(self, value: str, place: str) -> None:
        if self._place_of.setdefault(value, place) != place:
            raise InputError(
                f"two inputs called {Path(place).name} lie in different folders, and the name "
                "tells whose they are: give --person folder if each folder is a person, "
                "--person path if each file is"
            )
