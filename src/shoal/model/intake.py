"""The account of a reading, and how to read the file again."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from shoal.errors import MisuseError
from shoal.messages import say

if TYPE_CHECKING:
    from shoal.runtime.arrays import Numbers

_WORDS: Final = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    NoneType: "null",
}
_CLOCK_UNITS: Final = (None, "s", "ms", "us", "ns", "serial-days")
_FIRST_CLOCK_S: Final = 1e8  # March 1973: readers take smaller numbers for steps, not for seconds of a clock
_FILES: Final = {"cells", "places", "sensitive"}
_OF_ONE_READER: Final = {"ids_as_they_are", "lose_people", "not_after_s"}

# how many, the order of the input decides
OUT_OF_ORDER: Final = say("row.out_of_order", "rows out of time order")
# start of the note that local meters were read although columns of degrees exist
DEGREES_IGNORED: Final = "local meters were read, although columns of degrees lie beside them"
# how the note begins that no plane around all positions has true distances
TOO_WIDE: Final = "the data spans too much of the earth"


def require_types(kind: type, values: Mapping[str, Any]) -> None:
    """Raise MisuseError for the first value from JSON that a dataclass cannot take."""
    known_fields = {known_field.name: known_field for known_field in fields(kind)}
    hints = get_type_hints(kind)
    for name, known_field in known_fields.items():
        if name not in values and known_field.default is MISSING:
            raise MisuseError(f"'{name}' is missing")
    for name, value in values.items():
        if name not in known_fields:
            raise MisuseError(f"'{name}' is not known to this version; known: {', '.join(known_fields)}")
        allowed = get_args(hints[name]) or (hints[name],)
        if type(value) not in allowed and not (type(value) is int and float in allowed):
            raise MisuseError(
                f"'{name}' must be {' or '.join(_WORDS[allowed_type] for allowed_type in allowed)}"
            )


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read an input: all that decides which samples come out of a file."""

    id: str | None = None  # of columns: None = recognized
    time: str | None = None
    lat: str | None = None
    lon: str | None = None
    x: str | None = None
    y: str | None = None
    person: str | None = None  # column of the unit of protection, None = id
    per_day: bool = False  # each person's UTC day is its own unit
    crs: str | None = None  # of planar x, y; None or "local" = local meters ("local" confirms small numbers)
    working_crs: str | None = None  # plane to project into, None = an equal-area plane centered on the data
    cell_m: float = 100.0
    slot_s: float = 60.0
    snap: bool = True  # False keeps points as given
    time_unit: str | None = None  # numeric times: s, ms, us, ns or a duration (steps); None = by size
    not_after_s: float | None = None  # later rows are dropped, None = after the day of reading
    min_samples_per_day: float = 0.0  # people with fewer on average over the data's days are left out
    min_active_days: int = 0  # people with fewer UTC days are left out; 0 = none, -1 = all lacking a day
    preset: str | None = None  # layout of a known data set or program, None = recognized
    columns: str | None = None  # names for a file without a header, separated by commas
    table: str | None = None  # table, sheet or layer to read
    date: str | None = None  # column of dates where ``time`` holds the clock time alone
    time_format: str | None = None  # of times as text, in strptime's signs
    time_zone: str | None = None  # of times without a zone, and of hours that are shown, None = UTC
    cells: str | None = None  # file of cells' positions, for rows that name a cell
    cell_id: str | None = None  # column that names the cell
    places: str | None = None  # file of a public list of places; rows in other cells are dropped
    places_sha256: str | None = None  # of that file, None = any
    places_are_public: bool = False  # although the list has exactly the cells of the data
    sensitive: str | None = None  # file of sensitive places, each of a kind
    sensitive_sha256: str | None = None  # of that file, None = any
    ids_as_they_are: bool = False  # ids that look alike are different people
    lose_people: bool = False  # read on although more than 1 % of the people have no usable row

    def other_settings(self, other: "Reading") -> list[str]:
        """The settings that differ, without those of one reader alone: answers, the day, names of files."""
        differ = [name for name in vars(self) if getattr(self, name) != getattr(other, name)]
        named = {name for name in _FILES if None not in (getattr(self, name), getattr(other, name))}
        return [name for name in differ if name not in named | _OF_ONE_READER]

    def counts_steps(self, t_s: "Numbers") -> bool:
        """Whether these times number steps."""
        if self.time_unit not in _CLOCK_UNITS:
            return True
        import numpy as np  # not needed by the command line's help

        return bool(len(t_s) and np.median(np.abs(t_s)) < _FIRST_CLOCK_S)


@dataclass(frozen=True, kw_only=True)
class Intake:
    """The account of one reading. rows_read = rows kept + all rows dropped."""

    rows_read: int = 0
    people_read: int = 0  # ids in these rows, before any row was dropped
    people_lost: int = 0  # those of them without a usable row
    dropped: Mapping[str, int] = field(default_factory=dict)  # rows by reason
    repaired: Mapping[str, int] = field(default_factory=dict)  # rows by reason
    notes: tuple[str, ...] = ()  # assumptions of the reader, for the user (zone, unit, format)
    unit_of_protection: str = "each subject"
    reading: Reading = field(default_factory=Reading)  # with all column names, to read the file again

    def with_dropped(self, reason: str, rows: int) -> "Intake":
        """The account with ``rows`` more dropped for ``reason``."""
        return (
            replace(self, dropped={**self.dropped, reason: self.dropped.get(reason, 0) + rows})
            if rows
            else self
        )

    def to_json(self) -> dict[str, Any]:
        """Counts and notes for ``--json``."""
        return {
            "rows_read": self.rows_read,
            "rows_dropped": dict(self.dropped),
            "rows_repaired": dict(self.repaired),
            "notes": list(self.notes),
        }
