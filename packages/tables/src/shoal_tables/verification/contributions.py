"""What each unit contributes to each cell before the bound: whole numbers, by the rules of README.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Final

import numpy as np

from shoal.errors import InputError
from shoal.runtime.arrays import Integers
from shoal_tables.definition.manifest import (
    NIGHT_BEGINS_MIN,
    NIGHT_ENDS_MIN,
    STAY_STARTS_S,
    STAYS,
    TableManifest,
    days_in_order,
)
from shoal_tables.verification.samples import Samples, days_since_1970
from shoal_tables.verification.zones import OUTSIDE


@dataclass(frozen=True)
class Contributions:
    """The whole number c of each unit and cell, ascending, int64 [k]."""

    unit: Integers
    cell: Integers
    count: Integers


@dataclass(frozen=True)
class Frame:
    """The cells of a table, and the days that dates count in."""

    n_zones: int
    days: tuple[str, ...]
    hours: tuple[tuple[int, int], ...]
    day_of_date: Mapping[int, int]
    n_dates: Integers

    @classmethod
    def of(cls, manifest: TableManifest) -> "Frame":
        """The frame that a manifest states."""
        days = days_in_order(manifest.day_of)
        number = {day: place for place, day in enumerate(days)}
        day_of_date = {days_since_1970(date): number[day] for date, day in manifest.day_of.items()}
        counts = np.bincount(list(day_of_date.values()), minlength=len(days))
        return cls(manifest.zones.n_zones, days, manifest.hours, day_of_date, counts.astype(np.int64))

    @property
    def common_multiple(self) -> int:
        """L, of the numbers of dates in each day."""
        return lcm(*map(int, self.n_dates)) if len(self.n_dates) else 1

    def day(self, date: Integers) -> Integers:
        """The day of each date."""
        dates, back = np.unique(date, return_inverse=True)
        try:
            days = [self.day_of_date[one] for one in dates.tolist()]
        except KeyError as error:
            raise InputError("manifest.json names no day for some date of the period") from error
        return np.array(days, dtype=np.int64)[back.ravel()]


def contributions(samples: Samples, frame: Frame, manifest: TableManifest) -> Contributions:
    """Count what each unit contributes to each cell."""
    return _COUNTS[manifest.table](samples, frame, manifest)


def n_cells(frame: Frame, table: str) -> int:
    """The number of cells of a table."""
    zones, hours, days = frame.n_zones, len(frame.hours), len(frame.days)
    return {
        "presence": zones * hours * days,
        "flows": zones * (zones - 1) * hours * days,
        "dwell": zones * len(STAYS) * days,
        "homes": zones,
    }[table]


def weights(entries: Contributions, frame: Frame, table: str) -> Integers:
    """The contributions c / D(day) as whole multiples of 1 / L."""
    if table == "homes":
        return entries.count
    day = entries.cell % len(frame.days)
    return entries.count * (frame.common_multiple // frame.n_dates[day])


def _presence(samples: Samples, frame: Frame, _: TableManifest) -> Contributions:
    rows = []
    for hour, (begin, end) in enumerate(frame.hours):
        within = (samples.zone != OUTSIDE) & (samples.minute >= begin) & (samples.minute < end)
        zone, date = samples.zone[within], samples.date[within]
        cell = (zone * len(frame.hours) + hour) * len(frame.days) + frame.day(date)
        rows.append(np.stack([samples.unit[within], cell, date], axis=1))
    return _counted(np.unique(np.concatenate(rows), axis=0))


def _flows(samples: Samples, frame: Frame, manifest: TableManifest) -> Contributions:
    trips = manifest.trips
    if trips is None:
        raise InputError("manifest.json of a table of flows does not say what a trip is")
    if trips.definition == "zones":
        first = np.flatnonzero(samples.piece[1:] == samples.piece[:-1])
        begin, origin, destination = first, samples.zone[first], samples.zone[first + 1]
    elif trips.radius_m is None or trips.least_s is None:
        raise InputError("manifest.json states no radius or least time of stays")
    else:
        begin, origin, destination = _trips_between_stays(samples, trips.radius_m, trips.least_s)
    rows = []
    for hour, (start, end) in enumerate(frame.hours):
        minute = samples.minute[begin]
        counted = (origin != destination) & (origin != OUTSIDE) & (destination != OUTSIDE)
        counted &= (minute >= start) & (minute < end)
        a, b, date = origin[counted], destination[counted], samples.date[begin[counted]]
        pair = a * (frame.n_zones - 1) + b - (b > a)
        cell = (pair * len(frame.hours) + hour) * len(frame.days) + frame.day(date)
        rows.append(np.stack([samples.unit[begin[counted]], cell], axis=1))
    return _counted(np.concatenate(rows))


def _trips_between_stays(
    samples: Samples, radius_m: int, least_s: int
) -> tuple[Integers, Integers, Integers]:
    """For each trip, the last sample of the stay it begins at, its origin and its destination."""
    t, x, y, piece = (one.tolist() for one in (samples.t, samples.x, samples.y, samples.piece))
    begins, origins, destinations = [], [], []
    anchor, previous = 0, None  # the last stay of this piece: its zone and its last sample
    for sample in range(1, len(t) + 1):
        ended = sample == len(t) or piece[sample] != piece[anchor]
        if not ended and (x[sample] - x[anchor]) ** 2 + (y[sample] - y[anchor]) ** 2 <= radius_m**2:
            continue
        if t[sample - 1] - t[anchor] >= least_s:
            zone = int(samples.zone[anchor])
            if previous is not None:
                begins.append(previous[1])
                origins.append(previous[0])
                destinations.append(zone)
            previous = (zone, sample - 1)
        anchor, previous = sample, None if ended else previous
    return tuple(np.array(one, dtype=np.int64) for one in (begins, origins, destinations))  # type: ignore[return-value]  # three


def _dwell(samples: Samples, frame: Frame, _: TableManifest) -> Contributions:
    if not len(samples.t):
        return _counted(np.zeros((0, 2), dtype=np.int64))
    begins = np.flatnonzero(
        np.concatenate([[True], (np.diff(samples.piece) != 0) | (np.diff(samples.zone) != 0)])
    )
    lasts = np.append(begins[1:], len(samples.t)) - 1
    visits = np.stack(
        [
            samples.unit[begins],
            samples.zone[begins],
            samples.date[begins],
            samples.t[lasts] - samples.t[begins],
        ],
        axis=1,
    )
    visits = visits[visits[:, 1] != OUTSIDE]
    visits = visits[np.lexsort(visits.T[::-1])]
    is_longest = np.ones(len(visits), dtype=bool)
    is_longest[:-1] = (visits[1:, :3] != visits[:-1, :3]).any(axis=1)
    unit, zone, date, length = visits[is_longest].T
    stay = np.searchsorted(STAY_STARTS_S, length, side="right") - 1
    return _counted(np.stack([unit, (zone * len(STAYS) + stay) * len(frame.days) + frame.day(date)], axis=1))


def _homes(samples: Samples, _frame: Frame, _: TableManifest) -> Contributions:
    at_night = (samples.minute >= NIGHT_BEGINS_MIN) | (samples.minute < NIGHT_ENDS_MIN)
    at_night &= samples.zone != OUTSIDE
    night = samples.date[at_night] - (samples.minute[at_night] < NIGHT_ENDS_MIN)
    nights = np.unique(np.stack([samples.unit[at_night], samples.zone[at_night], night], axis=1), axis=0)
    entries = _counted(nights)
    order = np.lexsort((entries.cell, -entries.count, entries.unit))
    unit, first = np.unique(entries.unit[order], return_index=True)
    return Contributions(unit, entries.cell[order][first], np.ones(len(unit), dtype=np.int64))


def _counted(rows: Integers) -> Contributions:
    """The number of rows for each pair of their first two entries."""
    pairs, count = np.unique(rows[:, :2], axis=0, return_counts=True)
    return Contributions(pairs[:, 0], pairs[:, 1], count.astype(np.int64))


_COUNTS: Final[Mapping[str, Callable[[Samples, Frame, TableManifest], Contributions]]] = {
    "presence": _presence,
    "flows": _flows,
    "dwell": _dwell,
    "homes": _homes,
}
