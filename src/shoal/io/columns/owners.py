"""Files without a column of persons: the person is the file, or its folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from shoal.errors import InputError
from shoal.io.formats.input_table import Owner, Table, add_constants
from shoal.io.toml_tables import TABLES
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
    person = Owner(column="uid", value=stem_of(path.name), place=str(whole))
    if account is not None:
        person = Owner(column="uid", value=account.name, place=str(account), what="export")
    folder = whole.parent
    return person, Owner(column="folder", value=folder.name, place=str(folder), what="folder")


def stem_of(name: str) -> str:
    """A file's name without endings (``ride.gpx.gz``)."""
    path = Path(name)
    is_packed = path.suffix.lower() in {".gz", ".zst", ".bz2", ".xz", ".lz4"}
    return Path(path.stem).stem if is_packed else path.stem


_PEOPLE, _SHARED, _USERS, _AT_SEA, _OTHER_THINGS, _PERHAPS = (
    frozenset(TABLES["column_names"]["people"][kind])
    for kind in ("people", "shared", "users", "at_sea", "other_things", "perhaps")
)
_ENDING: Final = re.compile(f"(?:{'|'.join(TABLES['column_names']['people']['endings'])})$")
_IDS: Final = frozenset({"id", "identifier", "uid", "uuid", "guid", "oid", "hash"})
_NUMBERS: Final = _IDS | {"key", "nr", "no", "number", "name", "address", "fk", "ref", "code", "handle"}
_TRUTH: Final = frozenset({"is", "has", "was"})  # begin the name of a column of yes and no
UNITS: Final = {
    "file": say("reading.unit_file", "each file, which counts as one person"),
    "folder": say("reading.unit_folder", "each folder, which counts as one person"),
    "export": say("reading.unit_export", "each export, which counts as one person"),
    "trip": say("reading.unit_trip", "each trip, which counts as one person"),
}
_INSTEAD: Final = say("reading.instead", "--id names a column of people instead")
_EACH: Final = {
    "file": say("reading.each_file", "each file counts as one person; {instead}", instead=_INSTEAD),
    "folder": say("reading.each_folder", "each folder counts as one person; {instead}", instead=_INSTEAD),
    "export": say("reading.each_export", "each export counts as one person; {instead}", instead=_INSTEAD),
    "trip": say("reading.each_trip", "each trip counts as one person; {instead}", instead=_INSTEAD),
}
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_APART: Final = "in several places at one time (or faster than sound between them)"
_MAY_NUMBER_ROWS: Final = frozenset({"id", "trajectory_id"})
MAY_BE_GENERATED: Final = frozenset({"uid", "uuid", "guid"})


def names_people(column: str) -> bool:
    """Whether a column's name is that of people, or of what they carry (riderId, icao24, user_id.$uuid)."""
    return _last_word(column) in _PEOPLE


def may_name_people(column: str) -> bool:
    """Whether a column's name is that of people, or of ids of an unknown kind (uuid, asset_id)."""
    words = _words(column)
    if names_people(column) or "_".join(words) in _PERHAPS:
        return True
    return bool(words) and words[-1] in _IDS and not _OTHER_THINGS & set(words)


def may_be_at_sea(column: str) -> bool:
    """Whether a column's name is that of boats, aircraft or animals."""
    return _last_word(column) in _AT_SEA


def _words(column: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(column.partition(".$")[0])]


def _last_word(column: str) -> str:
    """The last word that says of what a column is (owner of ownerId)."""
    words = _words(column)
    if _TRUTH.intersection(words[:1]):
        return ""
    while len(words) > 1 and words[-1] in _NUMBERS:
        words.pop()
    last = words[-1] if words else ""
    return last if last in _PEOPLE else _ENDING.sub("", last) or last


@dataclass(frozen=True, kw_only=True)
class Doubts:
    """Questions to ask if people are in several places at one time, or have one row each; empty = none.

    days: if names of files differ by dates alone. who: columns that may name people, where rows have no id.
    homes: if one id stands in several households.
    """

    at_once: str = ""
    each_row: str = ""
    days: str = ""
    who: str = ""
    homes: str = ""


def require_person(
    table: Table, person: str, named: Reading, home: str, *, of_several: bool = False
) -> Doubts:
    """Note that each file or trip counts as a person, or ask about columns that may name people.

    named: settings of the caller, who answers by naming a column. home: of households. of_several: files.
    """
    if named.id is not None or named.person is not None:
        return Doubts()
    owner = next((owner for owner in table.owners if owner.column == person), None)
    remedy = f"{table.name}: name the column of people with --id"
    looks = may_name_people if person.strip().lower() == "trajectory_id" else names_people
    others = [name for name in table.columns if name != person and looks(name)]
    if owner is not None:
        column = "file" if owner.what == "file" else owner.column
        if table.like_ids:
            raise InputError(
                f"which column of {table.name} names people? {_listed(table.like_ids)}: name it with --id, "
                f"or give --id {column} if each {owner.what} is one person"
            )
        table.notes.append(_EACH[owner.what])
        names = [name for name in table.columns if name not in table.added]
        some = f"{', '.join(names[:_MOST_NAMES])}{', ...' * (len(names) > _MOST_NAMES)}"
        days = (
            f"names of files such as {table.name} differ by dates alone, as those of one person's days do: "
            "give --person folder if each folder is one person, or --id file if each file is"
        )
        return Doubts(
            days=days if owner.what == "file" else "",
            at_once=f"the {owner.what} would count as one person, who is {_APART} in {remedy} (it has "
            f"{some}), or give --id {column} if that is so",
        )
    may_number = person.strip().lower() in _MAY_NUMBER_ROWS
    if others and may_number:
        raise InputError(
            f"column '{person}' of {table.name} may number rows or trips, and {_listed(others)}: name the "
            "column of people with --id"
        )
    users = [name for name in others if _last_word(name) in _USERS]
    if users and _last_word(person) in _SHARED:
        raise InputError(
            f"several people may use what column '{person}' of {table.name} names, and {_listed(users)}: "
            f"name the column of people with --id, or give --id {person}"
        )
    other_people = others
    others = [name for name in table.columns if name != person and may_name_people(name)]
    each = f"each row has its own '{person}', which may number the rows of {remedy}, or give --id {person}"
    at_once = ""
    if others:
        at_once = (
            f"people of column '{person}' are {_APART}, as if several had one id, and {_listed(others)} in "
            f"{remedy}, or add one that joins several, or give --id {person} if that is so"
        )
    elif of_several and may_number:
        at_once = (
            f"people of column '{person}' are {_APART}, as if each file numbered its own, in {remedy}, or "
            f"give --id file if each file is one person, or --id {person} if that is so"
        )
    may_number |= person.strip().lower() in MAY_BE_GENERATED
    counted = (
        f"one '{person}' of {table.name} stands in several '{home}', as where people are counted within "
        f"each: write both into one column, or give --id {person} if that is one person"
    )
    return Doubts(
        at_once=at_once,
        each_row=each if may_number else "",
        who=f", and {_listed(other_people)}: name the column of people with --id" if other_people else "",
        homes=counted if home else "",
    )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_MOST_NAMES])} {'look' if len(names) > 1 else 'looks'} like ids"


class Owners:
    """The files so far and their persons, to notice two files that would become one person."""

    def __init__(self) -> None:
        self._place_of: dict[str, str] = {}
        self.what = ""  # counts as a person: a file, a folder, an export or a trip

    def add(self, table: Table, person: str) -> None:
        """Add a table; InputError if its name belongs to another file."""
        for owner in table.owners:
            if owner.column == person:
                self._take(owner.value, owner.place)
                self.what = owner.what

    def name_people(self) -> bool:
        """Whether files or folders are the people, so that each line's person is known."""
        return bool(self._place_of)

    def join(self, later: "Owners") -> None:
        """Add the owners of another piece."""
        self.what = self.what or later.what
        for value, place in later._place_of.items():
            self._take(value, place)

    def _take(self, value: str, place: str) -> None:
        if self._place_of.setdefault(value, place) != place:
            raise InputError(
                f"two inputs called {Path(place).name} lie in different folders, and the name "
                "tells whose they are: give --person folder if each folder is a person, "
                "--person path if each file is"
            )
