"""Which column is which: recognized names, names that the caller gives, and errors that say what to name."""

from dataclasses import dataclass
from typing import Final

from shoal.errors import InputError, MisuseError
from shoal.io.tables import Geometry, Table
from shoal.model.intake import Reading

# fmt: off
NAMES: Final = {
    "id": (
        "uid", "user_id", "user", "id", "userid", "caller", "caller_id", "msisdn", "imsi", "imei",
        "device_id", "device", "deviceid", "vehicle_id", "vehicle", "vehicleid", "cab", "cab_id", "taxi",
        "taxi_id", "taxiid", "person", "person_id", "personid", "traj_user", "subject", "subject_id",
        "subscriber", "subscriber_id", "trajectory_id", "individual-local-identifier",
    ),
    "time": (
        "t", "datetime", "timestamp", "tracked_at", "time", "date_time", "ts", "unixtime", "unix_time",
        "epoch",
    ),
    "lat": ("lat", "latitude"),
    "lon": ("lon", "lng", "long", "longitude"),
    "x": ("x", "x_m", "easting"),
    "y": ("y", "y_m", "northing"),
}
# fmt: on
WORDS: Final = {
    "id": "id",
    "time": "time",
    "lat": "latitude",
    "lon": "longitude",
    "x": "x",
    "y": "y",
    "person": "person",
}
RECOGNIZED: Final = frozenset(name for names in NAMES.values() for name in names)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns to read.

    person: names the subject. first, second: longitude and latitude when ``angles``, else x and y. geometry:
    the column that gives the position instead. beside: what else could have given it.
    """

    id: str
    person: str
    time: str
    first: str = ""
    second: str = ""
    angles: bool = False
    geometry: Geometry | None = None
    beside: str = ""

    def wanted(self) -> list[str]:
        """Every column that must be read, once each."""
        position = [self.geometry.column] if self.geometry else [self.first, self.second]
        return list(dict.fromkeys([self.person, self.time, *position]))


def find_columns(table: Table, reading: Reading) -> Columns:
    """The columns that ``reading`` names, and the recognized ones for what it leaves open.

    Raises InputError when one is missing or two could be meant, MisuseError when both kinds of position are
    named, or one column twice.
    """
    found = _columns_of(table, reading)
    roles = [found.person, found.time, *([] if found.geometry else [found.first, found.second])]
    twice = next((name for name in roles if roles.count(name) > 1), None)
    if twice is not None:
        raise MisuseError(
            f"the column '{twice}' is named for two things; who, when and each coordinate need a column of "
            "their own"
        )
    return found


def _columns_of(table: Table, reading: Reading) -> Columns:
    degrees_named, planar_named = reading.lat or reading.lon, reading.x or reading.y
    if degrees_named and planar_named:
        raise MisuseError("name either lat and lon or x and y, not both")
    if reading.person is not None:
        person = _named(table, reading.person)
        own_id = person if reading.id is None else _named(table, reading.id)
    else:
        person = own_id = _required(table, "id", reading.id)
    time = _required(table, "time", reading.time)
    has_degrees = any(_candidates(table, role) for role in ("lat", "lon"))
    planar_pair = all(_candidates(table, role) for role in ("x", "y"))
    degrees_pair = all(_candidates(table, role) for role in ("lat", "lon"))
    if not planar_named and (
        degrees_named or degrees_pair or (has_degrees and not planar_pair and table.geometry is None)
    ):
        other = "planar columns" if planar_pair else "geometry column" if table.geometry else ""
        lat, lon = _required(table, "lat", reading.lat), _required(table, "lon", reading.lon)
        return Columns(
            id=own_id,
            person=person,
            time=time,
            first=lon,
            second=lat,
            angles=True,
            beside="" if degrees_named else other,
        )
    if (
        planar_named
        or planar_pair
        or (any(_candidates(table, role) for role in ("x", "y")) and table.geometry is None)
    ):
        x, y = _required(table, "x", reading.x), _required(table, "y", reading.y)
        return Columns(
            id=own_id,
            person=person,
            time=time,
            first=x,
            second=y,
            beside="columns of degrees" if has_degrees else "geometry column" if table.geometry else "",
        )
    if table.geometry is not None:
        _once(table, table.geometry.column)
        return Columns(id=own_id, person=person, time=time, geometry=table.geometry)
    raise InputError(
        f"no latitude column in {table.name} ({_found(table)}); name it with --lat, or give planar --x and "
        "--y"
    )


def _required(table: Table, role: str, given: str | None) -> str:
    """The column of a role: the one given, or the only one whose name is recognized."""
    if given is not None:
        return _named(table, given)
    candidates = _candidates(table, role)
    if not candidates:
        other = ", or give planar --x and --y" if role in {"lat", "lon"} else ""
        raise InputError(
            f"no {WORDS[role]} column in {table.name} ({_found(table)}); name it with --{role}{other}"
        )
    if len(candidates) > 1:
        raise InputError(
            f"{len(candidates)} columns of {table.name} could be the {WORDS[role]}: "
            f"{', '.join(candidates)}; name one with --{role}"
        )
    return candidates[0]


def _candidates(table: Table, role: str) -> list[str]:
    """Columns whose names are recognized for a role, whatever their case and surrounding blanks."""
    return [name for name in table.columns if name.strip().lower() in NAMES[role]]


def _named(table: Table, given: str) -> str:
    """The column of that name: exactly, or else whatever its case."""
    if given in table.columns:
        return _once(table, given)
    matches = [name for name in table.columns if name.strip().lower() == given.strip().lower()]
    if not matches:
        raise InputError(f"no column '{given}' in {table.name} ({_found(table)})")
    if len(matches) > 1:
        raise InputError(
            f"{len(matches)} columns of {table.name} are called '{given}': {', '.join(matches)}; write one "
            "name exactly"
        )
    return _once(table, matches[0])


def _once(table: Table, name: str) -> str:
    if table.columns.count(name) > 1:
        raise InputError(
            f"{table.columns.count(name)} columns of {table.name} are called '{name}'; rename one of them"
        )
    return name


def _found(table: Table, most: int = 30) -> str:
    names = [" ".join(name.split()) for name in table.columns]
    return f"found: {', '.join(names[:most])}{', ...' if len(names) > most else ''}"
