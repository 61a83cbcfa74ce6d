"""Trips that are given by their two ends: each becomes two samples, the start and the end.

Files that name a vehicle give its samples; files that do not are read trip by trip, each a unit of its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shoal.io.columns.columns import named_in
from shoal.io.columns.values import plain
from shoal.io.formats.tables import Owner, Table, reshaped

_TWO_ENDS: Final = "each trip counts as two rows, its start and its end"
_ALONE: Final = "no column says who traveled: each trip is a person of its own"


def taxi_ny(table: Table) -> Table:
    """Yellow and green cabs with places: by medallion where the file has it, else each trip on its own."""
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
    """A table of samples; without ``who``, the column ``trip`` numbers the trips in the file's order."""
    start, end = ([named_in(table, name) for name in ends] for ends in (start, end))
    trips = 0

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal trips
        rows = pa.array([row for row in range(batch.num_rows) for _ in range(2)], pa.int64())
        kept = batch.take(rows)
        columns = {name: kept.column(name) for name in batch.schema.names if name not in names}
        both = pa.array([place % 2 == 1 for place in range(2 * batch.num_rows)])
        for name, first, second in zip(names, start, end, strict=True):
            one, other = (plain(kept.column(each)) for each in (first, second))
            columns[name] = pc.if_else(both, other, one)
        columns["trip"] = (
            kept.column(who)
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
    return reshaped(table, [*names, "trip"], needs, change)


def _first(table: Table, names: Sequence[str]) -> str:
    """The first of these names that the table has, else the first."""
    held = {name.strip().lower() for name in table.columns}
    return next((name for name in names if name.lower() in held), names[0])
