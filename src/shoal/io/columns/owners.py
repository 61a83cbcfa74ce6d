"""Files without a column of persons: the person is the file, or its folder."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from shoal.errors import InputError
from shoal.io.columns.column_names import TABLES
from shoal.io.formats.input_table import Owner, Table, add_constants
from shoal.messages import say
from shoal.model.intake import Reading

_MOST_NAMES: Final = 10
_ACCOUNT: Final = "Takeout"  # the folder of an account at Google
_TRIPS, _OF_A_TRIP = "trip", frozenset({"trip.json", "locations.json"})  # of an account at Polarsteps


def add_file_column(table: Table) -> Table:
    """Add a column ``file`` with the file's name without its ending."""
    stem = stem_of(table.name)
    owner = Owner(column="file", value=stem, place=table.place)
    return add_constants(replace(table, owners=(*table.owners, owner)), {"file": stem})


def owners_of_file(path: Path) -> tuple[Owner, Owner]:
    """The owners of a file, by its name and its folder; all files of an account have one."""
    whole = path.resolve()
    account = next((above.parent for above in whole.parents if above.name == _ACCOUNT), None)
    if account is None and whole.name in _OF_A_TRIP:
        above = whole.parent.parent
        account = above.parent if above.name == _TRIPS else whole.parent
    return (
        Owner(column="uid", value=stem_of(path.name), place=str(whole))
        if account is None
        else Owner(column="uid", value=account.name, place=str(account), what="export"),
        Owner(column="folder", value=whole.parent.name, place=str(whole.parent), what="folder"),
    )


def stem_of(name: str) -> str:
    """A file's name without endings (``ride.gpx.gz``)."""
    path = Path(name)
    return (
        Path(path.stem).stem if path.suffix.lower() in {".gz", ".zst", ".bz2", ".xz", ".lz4"} else path.stem
    )


_PEOPLE, _OTHER_THINGS, _PERHAPS = (
    frozenset(TABLES["people"][kind]) for kind in ("people", "other_things", "perhaps")
)
_IDS: Final = frozenset({"id", "identifier", "uid", "uuid", "guid", "oid", "hash"})
_NUMBERS: Final = _IDS | {"key", "nr", "no", "number", "name"}
_INSTEAD: Final = say("reading.instead", "--id names a column of people instead")
_EACH: Final = {
    "file": say("reading.each_file", "each file counts as one person; {instead}", instead=_INSTEAD),
    "folder": say("reading.each_folder", "each folder counts as one person; {instead}", instead=_INSTEAD),
    "export": say("reading.each_export", "each export counts as one person; {instead}", instead=_INSTEAD),
    "trip": say("reading.each_trip", "each trip counts as one person; {instead}", instead=_INSTEAD),
}
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MAY_NUMBER_ROWS: Final = frozenset({"id", "trajectory_id"})


def names_people(column: str) -> bool:
    """Whether a column's name is that of people, or of what they carry (riderId, icao24, user_id.$uuid)."""
    words = _words(column)
    while len(words) > 1 and words[-1] in _NUMBERS:
        words.pop()
    return bool(words) and (words[-1] in _PEOPLE or words[-1].removesuffix("id") in _PEOPLE)


def may_name_people(column: str) -> bool:
    """Whether a column's name is that of people, or of ids of an unknown kind (uuid, asset_id)."""
    words = _words(column)
    if names_people(column) or "_".join(words) in _PERHAPS:
        return True
    return bool(words) and words[-1] in _IDS and not _OTHER_THINGS & set(words)


def _words(column: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(column.partition(".$")[0])]


def require_person(table: Table, person: str, named: Reading) -> None:
    """Add a note where each file or trip counts as a person, since no column names people.

    named: settings of the caller, who answers by naming a column. Raises InputError where other columns look
    like ids of people.
    """
    if named.id is not None or named.person is not None:
        return
    owner = next((owner for owner in table.owners if owner.column == person), None)
    if owner is not None and table.like_ids:
        column = "file" if owner.what == "file" else owner.column
        raise InputError(
            f"which column of {table.name} names people? {_listed(table.like_ids)}: name it with --id, or "
            f"give --id {column} if each {owner.what} is one person"
        )
    others = [name for name in table.columns if name != person and names_people(name)]
    if owner is None and others and person.strip().lower() in _MAY_NUMBER_ROWS:
        raise InputError(
            f"column '{person}' of {table.name} may number rows or trips, and {_listed(others)}: name the "
            "column of people with --id"
        )
    if owner is not None:
        table.notes.append(_EACH[owner.what])


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_MOST_NAMES])} {'look' if len(names) > 1 else 'looks'} like ids"


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
