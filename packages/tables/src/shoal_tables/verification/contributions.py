"""What each unit contributes to each cell, recounted from the raw data by the rules of README.md.

Bound, rounding down and sums are in whole numbers.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isqrt, lcm, prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shoal.errors import InputError
from shoal.io.disk.storing import store_people
from shoal.measures.query import batches_of_records
from shoal.model.intake import Reading
from shoal.model.people_on_disk import StoredPeople
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.units import DAY_S
from shoal_tables.definition import manifest as terms
from shoal_tables.definition.manifest import TableManifest
from shoal_tables.verification.zones import OUTSIDE, ZoneFile, cells_of, zone_of_points

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC).date()
_STEP_S: Final = 30
_SAMPLES: Final = 2_000_000


@dataclass(frozen=True)
class Samples:
    """Samples of the period by unit and time [m]: seconds, meters, zone or -1, local date, day, minute."""

    t: Integers
    x: Integers
    y: Integers
    zone: Integers
    date: Integers
    day: Integers
    minute: Integers
    unit: Integers
    piece: Integers


@contextmanager
def people_on_disk(
    raw: Any, manifest: TableManifest, run: Run | None, **overrides: Any
) -> Iterator[StoredPeople]:
    """The raw data, read as the manifest says, in a temporary folder: few people at a time are in memory."""
    settings = {"working_crs": manifest.plane, "cell_m": 1.0, "slot_s": 1.0, "snap": True, **overrides}
    with TemporaryDirectory(prefix="shoal-") as scratch:
        reading = replace(Reading(**manifest.reading), **settings)
        yield store_people(raw, reading, Path(scratch) / "people", run or Run())


def _samples(original: Trajectories, manifest: TableManifest, zones: ZoneFile) -> Samples:
    t = original.t.astype(np.int64)
    person = np.repeat(np.arange(original.n_subjects), np.diff(original.offsets))
    local = t + _offset_s(t, manifest.reading.get("time_zone"))
    dates, back = np.unique(local // DAY_S, return_inverse=True)
    number = {day: place for place, day in enumerate(terms.days_in_order(manifest.day_of))}
    day_of = {(one - EPOCH).days: number[day] for one, day in manifest.day_of.items()}
    first, last = ((one - EPOCH).days for one in (manifest.first_day, manifest.last_day))
    day_of = day_of or dict.fromkeys(range(first, last + 1), 0)  # for homes, each date counts
    day = np.array([day_of.get(one, OUTSIDE) for one in dates.tolist()], dtype=np.int64)[back.ravel()]
    used = np.flatnonzero(day != OUTSIDE)
    t, person, day, date, minute = (
        column[used] for column in (t, person, day, local // DAY_S, local % DAY_S // 60)
    )
    x, y = original.x[used].astype(np.int64), original.y[used].astype(np.int64)
    same_unit = person[1:] == person[:-1]
    if manifest.unit == "person-day":
        same_unit &= date[1:] == date[:-1]
    same_piece = same_unit & (np.diff(t) <= manifest.longest_gap_s)
    zone = zone_of_points(x, y, manifest, zones)
    unit, piece = (np.append(0, np.cumsum(~same))[: len(t)] for same in (same_unit, same_piece))
    return Samples(t=t, x=x, y=y, zone=zone, date=date, day=day, minute=minute, unit=unit, piece=piece)


def _offset_s(t: Integers, zone: str | None) -> Integers:
    """The offset of local time from UTC; since 1970 it changed at whole half minutes alone."""
    try:
        local = ZoneInfo(zone or "UTC")
    except (KeyError, ValueError, OSError) as error:
        raise InputError("manifest.json states a time zone that this machine does not know") from error
    steps, back = np.unique(t // _STEP_S, return_inverse=True)
    moments = (datetime.fromtimestamp(step * _STEP_S, tz=local) for step in steps.tolist())
    offsets = [int(one.replace(tzinfo=UTC).timestamp() - one.timestamp()) for one in moments]
    return np.array(offsets, dtype=np.int64)[back.ravel()]


Contributions = tuple[Integers, Integers, Integers]  # unit, cell and whole number c, ascending, int64 [k]


def _shape(manifest: TableManifest) -> tuple[int, ...]:
    """The number of values of each column of cells; a flow has one destination less than zones."""
    sizes = {"destination": manifest.zones.n_zones - 1, "hour": len(manifest.hours), "stay": len(terms.STAYS)}
    sizes["day"] = len(terms.days_in_order(manifest.day_of))
    return tuple(sizes.get(name, manifest.zones.n_zones) for name in manifest.columns)


def dates_per_day(manifest: TableManifest) -> list[int]:
    """D, for each day of the cells; 1 for homes, whose cells have no day."""
    return list(Counter(manifest.day_of[one] for one in sorted(manifest.day_of)).values()) or [1]


def outer_cells(manifest: TableManifest, zones: ZoneFile) -> Integers:
    """For each cell, the one of outer zones that adds it up, or OUTSIDE: trips within an outer zone."""
    if manifest.zones.nested is None:
        return np.full(prod(_shape(manifest)), OUTSIDE)
    inner, outer = cells_of(manifest, zones.names), cells_of(manifest, zones.outer)
    number = {name: place for place, name in enumerate(zones.outer)}
    above = np.array([number[name] for name in zones.parents])
    places = [above[code] if name in terms.ZONE_COLUMNS else code for name, code in inner.keys.items()]
    numbers: Integers = np.full([len(values) for values in outer.labels.values()], OUTSIDE)
    numbers[tuple(outer.keys.values())] = np.arange(outer.n)
    return np.asarray(numbers[tuple(places)])


def sums_over(outer: Integers, n: int) -> Any:
    """The sparse matrix [n, cells] by which n cells of outer zones add up cells."""
    inside = np.flatnonzero(outer != OUTSIDE)
    return sparse.csr_array(
        (np.ones(len(inside), dtype=np.int64), (outer[inside], inside)), shape=(n, len(outer))
    )


def added_up(counts: npt.NDArray[Any], outer: Integers) -> npt.NDArray[Any]:
    """Counts of all cells, then those of the cells of outer zones, which add them up."""
    inside = outer != OUTSIDE
    return np.append(counts, np.bincount(outer[inside], counts[inside]).astype(counts.dtype))


def _in_hours(samples: Samples, manifest: TableManifest, at: Integers, *codes: Integers) -> Integers:
    """Rows of unit, cell and date for events at these samples, with these numbers before the hour."""
    rows = []
    for hour, (begin, end) in enumerate(manifest.hours):
        within = (samples.minute[at] >= begin) & (samples.minute[at] < end)
        unit, date, day = (column[at[within]] for column in (samples.unit, samples.date, samples.day))
        numbers = (*(code[within] for code in codes), np.full(len(unit), hour), day)
        rows.append(np.stack([unit, np.ravel_multi_index(numbers, _shape(manifest)), date], axis=1))
    return np.concatenate(rows)


def _presence(samples: Samples, manifest: TableManifest) -> Contributions:
    at = np.flatnonzero(samples.zone != OUTSIDE)
    return _counted(np.unique(_in_hours(samples, manifest, at, samples.zone[at]), axis=0))


def _flows(samples: Samples, manifest: TableManifest) -> Contributions:
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
    counted = (origin != destination) & (origin != OUTSIDE) & (destination != OUTSIDE)
    a, b = origin[counted], destination[counted]
    return _counted(_in_hours(samples, manifest, begin[counted], a, b - (b > a)))


def _trips_between_stays(samples: Samples, radius_m: int, least_s: int) -> list[Integers]:
    """For each trip, the last sample of the stay it begins at, its origin and its destination."""
    t, x, y, piece = (one.tolist() for one in (samples.t, samples.x, samples.y, samples.piece))
    found: list[tuple[int, int, int]] = []
    anchor, previous = 0, None  # the last stay of this piece: its zone and its last sample
    for sample in range(1, len(t) + 1):
        ended = sample == len(t) or piece[sample] != piece[anchor]
        if not ended and (x[sample] - x[anchor]) ** 2 + (y[sample] - y[anchor]) ** 2 <= radius_m**2:
            continue
        if t[sample - 1] - t[anchor] >= least_s:
            zone = int(samples.zone[anchor])
            if previous is not None:
                found.append((previous[1], previous[0], zone))
            previous = (zone, sample - 1)
        anchor, previous = sample, None if ended else previous
    return list(np.array(found, dtype=np.int64).reshape(-1, 3).T)


def _dwell(samples: Samples, manifest: TableManifest) -> Contributions:
    fresh = (np.diff(samples.piece, prepend=-1) != 0) | (np.diff(samples.zone, prepend=OUTSIDE) != 0)
    begins = np.flatnonzero(fresh)
    lasts = np.append(begins[1:], len(samples.t)) - 1
    whose = [column[begins] for column in (samples.unit, samples.zone, samples.date, samples.day)]
    visits = np.stack([*whose, samples.t[lasts] - samples.t[begins]], axis=1)
    visits = visits[visits[:, 1] != OUTSIDE]
    visits = visits[np.lexsort(visits.T[::-1])[::-1]]  # the longest of a unit, zone and date before others
    longest = np.unique(visits[:, :-1], axis=0, return_index=True)[1]
    unit, zone, _, day, length = visits[longest].T
    stay = np.searchsorted(terms.STAY_STARTS_S, length, side="right") - 1
    cell = np.ravel_multi_index((zone, stay, day), _shape(manifest))
    return _counted(np.stack([unit, cell], axis=1))


def _homes(samples: Samples, _: TableManifest) -> Contributions:
    at_night = (samples.minute >= terms.NIGHT_BEGINS_MIN) | (samples.minute < terms.NIGHT_ENDS_MIN)
    at_night &= samples.zone != OUTSIDE
    night = samples.date[at_night] - (samples.minute[at_night] < terms.NIGHT_ENDS_MIN)
    nights = np.unique(np.stack([samples.unit[at_night], samples.zone[at_night], night], axis=1), axis=0)
    unit, zone, count = _counted(nights)
    order = np.lexsort((zone, -count, unit))
    unit, first = np.unique(unit[order], return_index=True)
    return unit, zone[order][first], np.ones(len(unit), dtype=np.int64)


def _counted(rows: Integers) -> Contributions:
    """The number of rows for each pair of their first two entries."""
    pairs, count = np.unique(rows[:, :2], axis=0, return_counts=True)
    return pairs[:, 0], pairs[:, 1], count.astype(np.int64)


@dataclass(frozen=True)
class Recount:
    """Sums of all units by the rules, without the bound, and with it on each day alone [cells]."""

    counts: Integers
    unbounded: Integers
    bounded_by_day: Integers
    units: int
    units_over: int
    corner: tuple[int, int] | None
    totals: Integers
    outer: Integers  # the cell of outer zones that adds up each cell


@dataclass(frozen=True)
class UnitVectors:
    """What units contribute to cells, in integers before and after the bound [k]."""

    unit: Integers
    cell: Integers
    unbounded: Integers
    bounded: Integers
    bounded_by_day: Integers
    corner: tuple[int, int]


def unit_vectors(people: StoredPeople, manifest: TableManifest, zones: ZoneFile) -> Iterator[UnitVectors]:
    """Yield what some people contribute after others, each person's together."""
    dates, outer = np.array(dates_per_day(manifest)), outer_cells(manifest, zones)
    common, n_days, first = lcm(*dates.tolist()), len(dates), 0
    count_of = {"presence": _presence, "flows": _flows, "dwell": _dwell, "homes": _homes}[manifest.table]
    for some in batches_of_records(np.cumsum([0, *people.lengths]), _SAMPLES):
        part = _samples(people.load(np.arange(some.start, some.stop)), manifest, zones)
        if not len(part.t):
            continue
        unit, cell, count = count_of(part, manifest)
        whole = count * (common // dates[cell % n_days])  # c / D(day) as whole multiples of 1 / L
        bounded = by_day = _bounded(unit, whole, outer[cell], manifest, common)
        if n_days > 1:
            by_day = _bounded(unit * n_days + cell % n_days, whole, outer[cell], manifest, common)
        yield UnitVectors(
            unit=first + unit,
            cell=cell,
            unbounded=whole * manifest.promise.granularity // common,
            bounded=bounded,
            bounded_by_day=by_day,
            corner=(int(part.x.min()), int(part.y.min())),
        )
        first += int(part.unit[-1]) + 1


def recount(people: StoredPeople, manifest: TableManifest, zones: ZoneFile) -> Recount:
    """Count from the raw data alone."""
    n, promised = prod(_shape(manifest)), manifest.promise.totals
    counts, unbounded, by_day = (np.zeros(n, dtype=np.int64) for _ in range(3))
    corners, totals, units, over = [], np.zeros(2, dtype=np.int64), 0, 0
    for part in unit_vectors(people, manifest, zones):
        np.add.at(counts, part.cell, part.bounded)
        np.add.at(unbounded, part.cell, part.unbounded)
        np.add.at(by_day, part.cell, part.bounded_by_day)
        every, unit = np.unique(part.unit, return_inverse=True)
        both = [np.bincount(unit, integers) for integers in (part.unbounded, part.bounded)]
        units, over = units + len(every), over + int((both[0] > both[1]).sum())
        if promised is not None:
            totals += [int(np.minimum(sums, promised.most).sum()) for sums in both]
        corners.append(part.corner)
    corner = (min(x for x, _ in corners), min(y for _, y in corners)) if corners else None
    outer = outer_cells(manifest, zones)
    return Recount(counts, unbounded, by_day, units, over, corner, totals, outer)


def _bounded(
    group: Integers, whole: Integers, outer: Integers, manifest: TableManifest, common: int
) -> Integers:
    """Integers of each row after the bound on its group."""
    nested = manifest.zones.nested
    noise = nested.noise if nested is not None else 1
    g, bound = manifest.promise.granularity, manifest.promise.sensitivity * noise
    _, number = np.unique(group, return_inverse=True)
    entries = whole.astype(object)  # exact, however large
    squares = _summed(number, (noise * entries) ** 2)
    if nested is not None:
        inside = np.flatnonzero(outer != OUTSIDE)
        pairs = np.stack([number[inside], outer[inside]], axis=1)
        pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        np.add.at(squares, pairs[:, 0], _summed(place.ravel(), entries[inside]) ** 2)
    rows = np.flatnonzero((squares * g**2 > (bound * common) ** 2)[number])
    both = zip(entries[rows], squares[number[rows]], strict=True)
    integers = whole * g // common
    integers[rows] = [isqrt((entry * bound) ** 2 // square) for entry, square in both]
    return integers


def _summed(place: Integers, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    sums = np.zeros(place.max(initial=-1) + 1, dtype=object)
    np.add.at(sums, place, values)
    return sums
