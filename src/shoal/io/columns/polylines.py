"""Trips given as one polyline in a column: each point becomes a sample."""

import json
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.io.columns.columns import named_in
from shoal.io.columns.values import plain
from shoal.io.formats.tables import Table, reshaped

NO_POINTS: Final = "trip without points"
BROKEN: Final = "trip whose polyline cannot be read"
_EVERY_S: Final = 15


def porto(table: Table) -> Table:
    """Porto's taxis: a fix every 15 s from the start of the trip, as [[longitude, latitude], ...].

    Trips without points, and those that cannot be read, are counted.
    """
    start, line = named_in(table, "TIMESTAMP"), named_in(table, "POLYLINE")

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
        taken = batch.take(pa.array(rows, pa.int64()))
        columns = {
            name: taken.column(name) for name in batch.schema.names if name not in {"time", "lat", "lon"}
        }
        starts = plain(taken.column(start)).cast(pa.int64(), safe=False) if rows else pa.array([], pa.int64())
        columns["time"] = pc.add(starts, pa.array(np.array(steps, dtype=np.int64) * _EVERY_S))
        columns["lat"] = pa.array(lat, pa.float64())
        columns["lon"] = pa.array(lon, pa.float64())
        return pa.record_batch(columns)

    table.notes.append("each point of a polyline counts as a row, 15 s after the one before")
    return reshaped(table, ("time", "lat", "lon"), (start, line), change)


def _points(text: str | None) -> list[tuple[float, float]] | None:
    """Longitude and latitude of each point; None for what is no polyline."""
    try:
        found = json.loads(text or "[]")
        return [(float(lon), float(lat)) for lon, lat in found]
    except (ValueError, TypeError):
        return None
