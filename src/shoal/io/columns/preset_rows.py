"""Samples from known data sets: trips by their ends, polylines, numbered days and cells."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.io.columns.column_names import find_column
from shoal.io.columns.values import numbers, plain
from shoal.io.formats.tables import Owner, Table, reshape
from shoal.runtime.arrays import Floats
from shoal.units import DAY_S

_TWO_ENDS: Final = "each trip counts as two rows, its start and its end"
_ALONE: Final = "no column says who traveled: each trip is a person of its own"


def taxi_ny(table: Table) -> Table:
    """Yellow and green cabs with places: by medallion if the file has it, else each trip on its own."""
    times = _first(table, ("tpep_pickup_datetime", "lpep_pickup_datetime", "pickup_datetime"))
    ends = _first(table, ("tpep_dropoff_datetime", "lpep_dropoff_datetime", "dropoff_datetime"))
    return _of_ends(
        table,
        start=(times, "pickup_latitude", "pickup_longitude"),
        end=(ends, "dropoff_latitude", "dropoff_longitude"),
        names=("time", "lat", "lon"),
        who=next((name for name in table.columns if name.strip().lower() == "medallion"), None),
    )


def taxi_ny_zones(table: Table) -> Table:
    """Cabs since July 2016, whose places are zones: positions come from a table of zones."""
    times = _first(table, ("tpep_pickup_datetime", "lpep_pickup_datetime", "pickup_datetime"))
    ends = _first(
        table, ("tpep_dropoff_datetime", "lpep_dropoff_datetime", "dropoff_datetime", "dropOff_datetime")
    )
    return _of_ends(
        table,
        start=(times, "PULocationID"),
        end=(ends, "DOLocationID"),
        names=("time", "zone"),
        who=None,
    )


def citi_bike(table: Table) -> Table:
    """Trips since February 2021, which name no bike."""
    return _of_ends(
        table,
        start=("started_at", "start_lat", "start_lng"),
        end=("ended_at", "end_lat", "end_lng"),
        names=("time", "lat", "lon"),
        who=None,
    )


def citi_bike_2013(table: Table) -> Table:
    """Trips until January 2021: the bike is the unit."""
    return _of_ends(
        table,
        start=("starttime", "start station latitude", "start station longitude"),
        end=("stoptime", "end station latitude", "end station longitude"),
        names=("time", "lat", "lon"),
        who="bikeid",
    )


def _of_ends(
    table: Table, *, start: Sequence[str], end: Sequence[str], names: Sequence[str], who: str | None
) -> Table:
    """Two samples a trip; without ``who``, the column ``trip`` numbers the trips in file order."""
    start, end = ([find_column(table, name) for name in ends] for ends in (start, end))
    trips = 0

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal trips
        rows = pa.array([row for row in range(batch.num_rows) for _ in range(2)], pa.int64())
        doubled = batch.take(rows)
        columns = {name: doubled.column(name) for name in batch.schema.names if name not in names}
        both = pa.array([place % 2 == 1 for place in range(2 * batch.num_rows)])
        for name, first, second in zip(names, start, end, strict=True):
            one, other = (plain(doubled.column(column)) for column in (first, second))
            columns[name] = pc.if_else(both, other, one)
        columns["trip"] = (
            doubled.column(who)
            if who is not None
            else pa.array(
                [f"{table.name} {trips + row // 2 + 1}" for row in range(2 * batch.num_rows)], pa.string()
            )
        )
        trips += batch.num_rows
        return pa.record_batch(columns)

    needs = list(dict.fromkeys([*start, *end, *([who] if who else [])]))
    table.notes.extend([_TWO_ENDS, *([] if who else [_ALONE])])
    if who is None:
        table = replace(table, owners=(Owner(column="trip", value=table.name, place=table.place),))
    return reshape(table, [*names, "trip"], needs, change)


def _first(table: Table, names: Sequence[str]) -> str:
    available = {name.strip().lower() for name in table.columns}
    return next((name for name in names if name.lower() in available), names[0])


NO_POINTS: Final = "trip without points"
BROKEN: Final = "trip whose polyline cannot be read"
_EVERY_S: Final = 15


def porto(table: Table) -> Table:
    """Porto's taxis: a fix every 15 s from the start of a trip, as [[longitude, latitude], ...]."""
    start, line = find_column(table, "TIMESTAMP"), find_column(table, "POLYLINE")

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows: list[int] = []
        lon: list[float | None] = []
        lat: list[float | None] = []
        steps: list[int] = []
        for row, text in enumerate(plain(batch.column(line)).to_pylist()):
            points = _points(text)
            if not points:
                reason = BROKEN if points is None else NO_POINTS
                table.unreadable[reason] = table.unreadable.get(reason, 0) + 1
                continue
            rows += [row] * len(points)
            steps += range(len(points))
            lon += [point[0] for point in points]
            lat += [point[1] for point in points]
        repeated = batch.take(pa.array(rows, pa.int64()))
        columns = {
            name: repeated.column(name) for name in batch.schema.names if name not in {"time", "lat", "lon"}
        }
        starts = (
            plain(repeated.column(start)).cast(pa.int64(), safe=False) if rows else pa.array([], pa.int64())
        )
        columns["time"] = pc.add(starts, pa.array(np.array(steps, dtype=np.int64) * _EVERY_S))
        columns["lat"] = pa.array(lat, pa.float64())
        columns["lon"] = pa.array(lon, pa.float64())
        return pa.record_batch(columns)

    table.notes.append("each point of a polyline counts as a row, 15 s after the one before")
    return reshape(table, ("time", "lat", "lon"), (start, line), change)


def _points(text: str | None) -> list[tuple[float, float]] | None:
    try:
        parsed = json.loads(text or "[]")
        return [(float(lon), float(lat)) for lon, lat in parsed]
    except (ValueError, TypeError):
        return None


_SLOT_S: Final = 1800
_CELL_M: Final = 500.0


def yjmob(table: Table) -> Table:
    """YJMob100K: days from 0, half hours from 0 to 47, cells of 500 m; 999 = withheld.

    Times become seconds since the start of day 0; positions the centers of cells in meters.
    """
    day, slot, x, y = (find_column(table, name) for name in ("d", "t", "x", "y"))

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        def values(name: str) -> tuple[Floats, Any]:
            return numbers(batch.column(name), f"column '{name}' of {table.name}")

        (days, day_known), (slots, slot_known) = values(day), values(slot)
        readable = day_known & slot_known & (slots >= 0) & (slots < DAY_S // _SLOT_S) & (days >= 0)
        seconds = np.where(readable, days, 0) * DAY_S + np.where(readable, slots, 0) * _SLOT_S
        columns = {name: batch.column(name) for name in batch.schema.names if name not in {"t", "x", "y"}}
        columns["t"] = pa.array(seconds.astype(np.int64), mask=~readable)
        for name, cell in (("x", x), ("y", y)):
            cells, cell_known = values(cell)
            cell_known &= cells < 999
            columns[name] = pa.array((np.where(cell_known, cells, 0) + 0.5) * _CELL_M, mask=~cell_known)
        return pa.record_batch(columns)

    return reshape(table, ("t", "x", "y"), (day, slot, x, y), change)
