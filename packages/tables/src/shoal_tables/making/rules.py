"""The rules of counting: kind, zones, days, hours, trips, unit; checked before any data is read."""

from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from math import lcm, prod
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError
from shoal.model.clocks import Clock
from shoal.runtime.arrays import Floats, Integers
from shoal.units import HOUR_S, duration_s
from shoal_tables.definition import manifest as terms
from shoal_tables.definition.manifest import COLUMNS, WORKDAY, Hours, Kind, Labels, Trips, Unit
from shoal_tables.definition.text_tables import read_two_columns
from shoal_tables.making.zones import OUTSIDE, ZoneSet

MOST_CELLS: Final = 20_000_000
MOST_DAYS: Final = 3660
WHOLE_DAY: Final[Hours] = ((0, 1440),)
WEEK: Final = (WORKDAY,) * 5 + ("saturday", "sunday")
BY_ZONES: Final = Trips(definition="zones")
_DAY_MIN: Final = 24 * 60

DaysKind = Literal["typical", "workday", "kinds", "each"]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Everything that decides what a unit contributes to which cell; README.md, "Meaning".

    Parameters
    ----------
    table : str
        "presence", "flows", "dwell" or "homes".
    zones : ZoneSet
        Public zones.
    day_of : dict of date to str
        The day of the cells for each date that counts: "typical", a kind, or the date itself.
    hours : tuple of (int, int)
        Begin and end in local minutes since midnight, for presence and flows.
    trips : Trips
        What a trip is.
    longest_gap_s : int
        A longer time between two samples cuts a sequence.
    unit : str
        "person" or "person-day".
    time_zone : str
        The zone of local time.

    Raises
    ------
    MisuseError
        For values that cannot work together; the message says which.

    Examples
    --------
    >>> from datetime import date
    >>> from shoal_tables.making.zones import grid_zones
    >>> rules = Rules(table="flows", zones=grid_zones(2000, (2.3, 48.8, 2.35, 48.83)),
    ...               day_of=days_of("typical", date(2024, 1, 1), date(2024, 1, 6)))
    >>> rules.shape, rules.common_days
    ((4, 3, 1, 1), 6)
    """

    table: Kind
    zones: ZoneSet
    day_of: dict[date, str]
    hours: Hours = WHOLE_DAY
    trips: Trips = BY_ZONES
    longest_gap_s: int = 4 * HOUR_S
    unit: Unit = "person"
    time_zone: str = "UTC"
    days: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.table == "homes":  # without days: every date counts
            object.__setattr__(self, "day_of", days_of("typical", self.first_day, self.last_day))
        object.__setattr__(self, "days", terms.days_in_order(self.day_of))
        if self.table not in COLUMNS:
            raise MisuseError(f"--kind {self.table} is no table; choose one of {', '.join(COLUMNS)}")
        if self.unit not in get_args(Unit):
            raise MisuseError(f"--unit {self.unit} is no unit; choose person or person-day")
        if self.table == "homes" and self.unit != "person":
            raise MisuseError("a home belongs to a person, not to a day: leave out --unit person-day")
        nested = self.zones.statement.nested
        if self.table == "flows" and self.zones.statement.n_zones < 2:
            raise MisuseError("flows need at least two zones; choose smaller zones or a larger --area")
        if self.table == "flows" and nested is not None and nested.n_zones < 2:
            raise MisuseError(f"flows need at least two outer zones, and {nested.source} names one")
        if self.longest_gap_s < 1:
            raise MisuseError("--longest-gap must be at least 1s")
        Clock(self.time_zone)
        if self.n_cells > MOST_CELLS:
            raise MisuseError(
                f"the table has {self.n_cells:,} cells, at most {MOST_CELLS:,} are possible; choose larger "
                "zones, longer --hours or --days typical"
            )

    @property
    def first_day(self) -> date:
        """The first date of the period."""
        return min(self.day_of)

    @property
    def last_day(self) -> date:
        """The last date of the period."""
        return max(self.day_of)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each column of cells; a flow has one destination less than zones."""
        sizes = [len(values) for values in self.labels().values()]
        if self.table == "flows":
            sizes[1] -= 1
        return tuple(sizes)

    @property
    def n_cells(self) -> int:
        """Number of cells, empty ones too."""
        return prod(self.shape)

    @cached_property
    def dates_per_day(self) -> Integers:
        """int64 [days]: how many dates count in each day of the cells; 1 for homes, which have none."""
        if self.table == "homes":
            return np.ones(1, dtype=np.int64)
        each = list(self.day_of.values())
        return np.array([each.count(day) for day in self.days], dtype=np.int64)

    @cached_property
    def common_days(self) -> int:
        """The least common multiple of ``dates_per_day``."""
        return lcm(*self.dates_per_day.tolist())

    @cached_property
    def day_of_date(self) -> Integers:
        """int64 [dates]: the position in ``days`` of each date of the period, -1 for none."""
        place = {day: index for index, day in enumerate(self.days)}
        period = _dates(self.first_day, self.last_day)
        return np.array([place.get(self.day_of.get(one, ""), -1) for one in period], dtype=np.int64)

    @cached_property
    def hour_of_minute(self) -> Integers:
        """int64 [1440]: the position in ``hours`` of each local minute, -1 for none."""
        hour = np.full(_DAY_MIN, -1, dtype=np.int64)
        for index, (begin, end) in enumerate(self.hours):
            hour[begin:end] = index
        return hour

    @cached_property
    def weights(self) -> Floats:
        """float64 [cells]: of the zone of each cell; of a flow, where it begins."""
        weights = self.zones.weights or (1.0,) * self.shape[0]
        return np.repeat(np.array(weights, dtype=np.float64), self.n_cells // self.shape[0])

    @cached_property
    def outer(self) -> "Rules | None":
        """The same table of the outer zones; None without them."""
        return None if self.zones.outer is None else replace(self, zones=self.zones.outer)

    @cached_property
    def levels(self) -> tuple["Level", ...]:
        """This table, and that of the outer zones; the cells of both stand behind each other."""
        own, nested = Level(rules=self, noise=1, cells=slice(0, self.n_cells)), self.zones.statement.nested
        if self.outer is None or nested is None:
            return (own,)
        cells = slice(self.n_cells, self.n_cells + self.outer.n_cells)
        return (own, Level(rules=self.outer, noise=nested.noise, cells=cells))

    @cached_property
    def outer_cell(self) -> Integers:
        """int64 [cells]: the cell of outer zones that adds up each cell; -1 for trips within one of them."""
        if self.outer is None or self.zones.parents is None:
            return np.full(self.n_cells, OUTSIDE)
        number = np.full([len(values) for values in self.outer.labels().values()], OUTSIDE)
        number[tuple(self.outer.codes().values())] = np.arange(self.outer.n_cells)
        codes = self.codes()
        for name in codes.keys() & terms.ZONE_COLUMNS:
            codes[name] = self.zones.parents[codes[name]]
        return np.asarray(number[tuple(codes.values())])

    def with_sums(self, counts: Integers) -> Integers:
        """Counts of all cells, and behind them those of the cells of outer zones, which are their sums."""
        inside = self.outer_cell != OUTSIDE
        sums = np.bincount(self.outer_cell[inside], counts[inside])  # exact: whole numbers below 2^53
        return np.append(counts, sums.astype(np.int64))

    def labels(self) -> Labels:
        """The values of each column of cells."""
        return terms.labels_of(self.table, self.zones.names, self.hours, self.days)

    def codes(self) -> dict[str, Integers]:
        """For each column, the position of every cell's value in ``labels``, int64 [cells]."""
        codes = np.unravel_index(np.arange(self.n_cells), self.shape)
        named = {name: code.astype(np.int64) for name, code in zip(COLUMNS[self.table], codes, strict=True)}
        if self.table == "flows":
            named["destination"] += named["destination"] >= named["origin"]
        return named


@dataclass(frozen=True, kw_only=True)
class Level:
    """A table of zones or of outer zones, the deviation of its noise in sigmas, and where its cells stand."""

    rules: Rules
    noise: int
    cells: slice


def days_of(
    kind: DaysKind, first: date, last: date, calendar: dict[date, str] | Path | None = None
) -> dict[date, str]:
    """The day of the cells in which each date of a period counts.

    Parameters
    ----------
    kind : str
        "typical" (all dates together, as their mean), "workday" (workdays together, no other date), "kinds"
        (workdays, Saturdays and Sundays) or "each" (every date by itself).
    first, last : date
        The period, both included.
    calendar : dict of date to str, Path or None
        Other kinds of some dates, such as "holiday", for "workday" and "kinds"; or a CSV file of them with
        the columns ``date`` and ``kind``.

    Returns
    -------
    dict of date to str
        For the dates that count.

    Raises
    ------
    MisuseError
        For a period of no day or too many, or without a workday.
    InputError
        For a line of the file without a date or a kind, or a date that repeats.

    Examples
    --------
    >>> from datetime import date
    >>> days_of("each", date(2024, 1, 1), date(2024, 1, 2))
    {datetime.date(2024, 1, 1): '2024-01-01', datetime.date(2024, 1, 2): '2024-01-02'}
    >>> sorted(set(days_of("kinds", date(2024, 1, 1), date(2024, 1, 7)).values()))
    ['saturday', 'sunday', 'workday']
    """
    dates = _dates(first, last)
    if kind == "typical":
        return dict.fromkeys(dates, "typical")
    if kind == "each":
        return {one: one.isoformat() for one in dates}
    if isinstance(calendar, Path):
        calendar = read_two_columns(calendar, ("date", "kind"), "2024-12-25,holiday", date.fromisoformat, str)
    kinds = {one: (calendar or {}).get(one, WEEK[one.weekday()]) for one in dates}
    if kind == "workday":
        kinds = {day: of_day for day, of_day in kinds.items() if of_day == WORKDAY}
    if not kinds:
        raise MisuseError(f"--period {first},{last} has no workday; choose another --period or --days")
    return kinds


def slots_of(slot_s: float, option: str = "--slot") -> Hours:
    """Equal slots of a day."""
    minutes = int(slot_s // 60)
    if slot_s != minutes * 60 or not minutes or _DAY_MIN % minutes:
        raise MisuseError(
            f"{option} of {slot_s:g} s does not divide a day; choose for example 30min, 1h or 24h"
        )
    return tuple((begin, begin + minutes) for begin in range(0, _DAY_MIN, minutes))


def hours_of(text: str) -> Hours:
    """Hours of the day to count in.

    Parameters
    ----------
    text : str
        The length of equal slots, such as ``30min``, or hours that ascend, such as ``6-10,16:30-20``.

    Returns
    -------
    tuple of (int, int)
        The minutes of the day at which each begins and ends.

    Raises
    ------
    MisuseError
        When the text says neither, slots do not divide the day, or hours overlap.

    Examples
    --------
    >>> hours_of("6-10,16:30-20")
    ((360, 600), (990, 1200))
    """
    if text[:1].isdigit() and text[-1:].isalpha():
        return slots_of(duration_s(text), "--hours")
    hours = []
    for part in text.split(","):
        begin, _, end = part.strip().partition("-")
        try:
            hours.append((_minute(begin), _minute(end)))
        except ValueError as error:
            raise MisuseError(
                f"--hours {text} is not understood at '{part}'; write for example 6-10,10-16"
            ) from error
    flat = [minute for hour in hours for minute in hour]
    if any(a > b for a, b in pairwise(flat)) or any(a == b for a, b in hours):
        raise MisuseError(f"--hours {text} must ascend without overlaps, from 0 to 24")
    return tuple(hours)


def _minute(text: str) -> int:
    hour, _, minute = text.partition(":")
    value = int(hour) * 60 + int(minute or 0)
    if not (0 <= value <= _DAY_MIN and 0 <= int(minute or 0) < 60):
        raise ValueError(text)
    return value


def _dates(first: date, last: date) -> list[date]:
    number = (last - first).days + 1
    if not 1 <= number <= MOST_DAYS:
        raise MisuseError(f"--period {first},{last} has {number:,} days; 1 to {MOST_DAYS:,} are possible")
    return [first + timedelta(days=step) for step in range(number)]
