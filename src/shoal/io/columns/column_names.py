"""The role of each column: recognized names, and the caller's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shoal.errors import InputError, MisuseError
from shoal.io.columns import meanings
from shoal.io.formats.input_table import Geometry, Table
from shoal.io.toml_tables import TABLES
from shoal.model.intake import Reading

_TABLE: Final = TABLES["column_names"]
NAMES: Final[Mapping[str, Sequence[str]]] = _TABLE["recognized"]
_WORDS: Final = {role: role for role in NAMES} | {"lat": "latitude", "lon": "longitude"}
RECOGNIZED: Final = frozenset(name for names in NAMES.values() for name in names)
CELLS: Final[Sequence[str]] = _TABLE["cells"]["names"]
_WRAPPERS: Final = frozenset(_TABLE["wrappers"]["names"])
_MOST_NAMES: Final = 30  # of columns that an error shows


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns to read."""

    id: str
    person: str
    time: str
    first: str = ""  # longitude when angles, else x
    second: str = ""  # latitude, or y
    angles: bool = False
    geometry: Geometry | None = None  # the column of positions instead
    alternative: str = ""  # unused columns of positions
    date: str = ""  # of days, when the time is a clock time
    signs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # may tell the hemispheres of first and second
    parts: tuple[str, ...] = ()  # may hold minutes of degrees
    zone: tuple[str, ...] = ()  # of the plane of x and y
    beside: tuple[str, ...] = ()  # may tell zones of the times, or halves of the day
    flags: tuple[str, ...] = ()  # may say that a row has no position
    home: str = ""  # within which people may be counted

    def wanted(self) -> list[str]:
        """All columns to read, without repeats."""
        place = self.geometry.column if self.geometry else ""
        names = [self.person, self.time, self.date, place, self.first, self.second, *self.signs[0]]
        names += (*self.signs[1], *self.zone, *self.beside, *self.flags, self.home)
        return list(dict.fromkeys(filter(None, names)))


def find_columns(table: Table, reading: Reading) -> Columns:
    """The named columns, and recognized ones for the rest."""
    _require_all(table, reading)
    columns = _columns_of(table, reading)
    if reading.date is not None:
        columns = replace(columns, date=find_column(table, reading.date))
    roles = [columns.person, columns.time, *filter(None, [columns.date, columns.first, columns.second])]
    free = [name for name in table.columns if name not in {*roles, columns.id, *table.added}]
    beside = meanings.columns_of(free, "perhaps", "dates")
    flags = meanings.columns_of(free, "valid", "untrue", "accuracy", *(["datum"] if columns.angles else []))
    if (twice := repeated(roles)) is not None:
        raise MisuseError(
            f"the column '{twice}' is named for two things; who, when and each coordinate need a column of "
            "their own"
        )
    home = "".join(meanings.columns_of(free, "home")[: reading.person is None])
    return replace(columns, beside=beside, flags=flags, home=home)


def _columns_of(table: Table, reading: Reading) -> Columns:
    degrees_named, planar_named = reading.lat or reading.lon, reading.x or reading.y
    if degrees_named and planar_named:
        raise MisuseError("name either lat and lon or x and y, not both")
    person = _required(table, "id", reading.id if reading.person is None else reading.person)
    own_id = person if reading.person is None or reading.id is None else find_column(table, reading.id)
    columns = Columns(id=own_id, person=person, time=_required(table, "time", reading.time))
    has = {role: bool(_candidates(table, role)) for role in ("lat", "lon", "x", "y")}
    has_degrees, planar_pair = has["lat"] or has["lon"], has["x"] and has["y"]
    without = not planar_pair and table.geometry is None  # other positions
    if not planar_named and (degrees_named or (has["lat"] and has["lon"]) or (has_degrees and without)):
        lat, lon = _required(table, "lat", reading.lat), _required(table, "lon", reading.lon)
        free = [name for name in table.columns if name not in {own_id, person, columns.time, *table.added}]
        other = "planar columns" if planar_pair else "geometry column" if table.geometry else ""
        signs = (meanings.sign_columns(free, "lon", lon), meanings.sign_columns(free, "lat", lat))
        parts = meanings.columns_of([name for name in table.columns if name not in (lat, lon)], "parts")
        angular = replace(columns, first=lon, second=lat, angles=True, signs=signs, parts=parts)
        return angular if degrees_named else replace(angular, alternative=other)
    if planar_named or planar_pair or table.geometry is None:
        x, y = _required(table, "x", reading.x), _required(table, "y", reading.y)
        other = "columns of degrees" if has_degrees else "geometry column" if table.geometry else ""
        zone = meanings.zone_columns(table.columns, x)
        return replace(columns, first=x, second=y, zone=zone, alternative=other)
    _once(table, table.geometry.column)
    return replace(columns, geometry=table.geometry)


def _require_all(table: Table, reading: Reading) -> None:
    requested = {role: getattr(reading, role) for role in NAMES} | {"id": reading.person or reading.id}
    lacks = {role: requested[role] is None and not _candidates(table, role) for role in NAMES}
    missing = [role for role in ("id", "time") if lacks[role]]
    planar = not lacks["x"] or not lacks["y"] or table.geometry is not None
    if not (lacks["lat"] and lacks["lon"]) or not planar:
        missing += [role for role in ("lat", "lon") if lacks[role] and (lacks["x"] or lacks["y"])]
    elif table.geometry is None:
        missing += [role for role in ("x", "y") if lacks[role]]
    if len(missing) > 1:
        raise _missing(table, missing)


def _missing(table: Table, roles: Sequence[str]) -> InputError:
    *words, last = (_WORDS[role] for role in roles)
    *options, last_option = (f"--{role}" for role in roles)
    what = f"{', '.join(words)} and {last} columns" if words else f"{last} column"
    names = f"{', '.join(options)} and {last_option}" if options else last_option
    other = ", or give planar --x and --y" if {"lat", "lon"} & set(roles) else ""
    if words and other and any(name.strip().lower() in CELLS for name in table.columns):
        other += "; records that name a cell need a table of cells: --cells FILE"
    if not words and last == "id" and table.place:
        other = ", or give --id file if each file is one person"
    which = "them" if words else "it"
    return InputError(f"no {what} in {table.name} ({_found(table)}); name {which} with {names}{other}")


def _required(table: Table, role: str, requested: str | None) -> str:
    if requested is not None:
        return find_column(table, requested)
    candidates = _candidates(table, role)
    if not candidates:
        raise _missing(table, [role])
    if len(candidates) > 1:
        raise InputError(
            f"{len(candidates)} columns of {table.name} could be the {_WORDS[role]}: "
            f"{', '.join(candidates)}; name one with --{role}"
        )
    return candidates[0]


def _candidates(table: Table, role: str) -> list[str]:
    """Columns of the usual names, else with a unit ("Latitude [deg]"), else within others ("gps.lat")."""
    with_unit = [name for name in table.columns if meanings.split_unit(name)[0] in NAMES[role]]
    with_unit = [name for name in with_unit if meanings.split_unit(name)[1] in meanings.UNITS.get(role, ())]
    inner = [] if role == "id" else [name for name in table.columns if _inner(name) in NAMES[role]]
    return usual_columns(table, role) or with_unit or inner


def _inner(name: str) -> str:
    """What stands in objects that hold no other thing, as in _source.location.lat and time.$date of JSON."""
    *around, last = name.partition(".$")[0].lower().split(".")
    return last if _WRAPPERS.issuperset(around) else ""


def usual_columns(table: Table, role: str) -> list[str]:
    """The columns with one of the usual names of a role."""
    return [name for name in table.columns if name.strip().lower() in NAMES[role]]


def column_called(columns: Sequence[str], names: Sequence[str]) -> str:
    """The column of the first of some names that one has; empty if none has any."""
    lower = {column.strip().lower(): column for column in reversed(columns)}
    return next((lower[name] for name in names if name in lower), "")


def find_column(table: Table, requested: str) -> str:
    """The column of that name, exactly or ignoring case."""
    if requested in table.columns:
        return _once(table, requested)
    matches = [name for name in table.columns if name.strip().lower() == requested.strip().lower()]
    if not matches:
        raise InputError(f"no column '{requested}' in {table.name} ({_found(table)})")
    if len(matches) > 1:
        raise InputError(
            f"{len(matches)} columns of {table.name} are called '{requested}': {', '.join(matches)}; write "
            "one name exactly"
        )
    return _once(table, matches[0])


def repeated(names: Sequence[str]) -> str | None:
    """The first of some names that is there more than once."""
    return next((name for name in names if names.count(name) > 1), None)


def _once(table: Table, name: str) -> str:
    if table.columns.count(name) > 1:
        raise InputError(
            f"{table.columns.count(name)} columns of {table.name} are called '{name}'; rename one of them"
        )
    return name


def _found(table: Table) -> str:
    names = [" ".join(name.split()) for name in table.columns if name not in table.added]
    return f"found: {', '.join(names[:_MOST_NAMES])}{', ...' if len(names) > _MOST_NAMES else ''}"
