"""The table of points, to the last digit: seconds since 1970 UTC (or step 0) and meters."""

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.model.projection import WGS84, transform
from shoal.model.release import DEGREE_COLUMNS, POINT_COLUMNS, Points, Release
from shoal.release_folder.packing import GEOMETRY, ROWS_PER_GROUP, ColumnwiseWriter, geometry_pairs
from shoal.runtime.arrays import Floats

_POINT: Final = np.dtype(
    [("order", "u1"), ("type", "<u4"), ("place", "<f8", 2)]
)  # well-known binary of a point: 21 bytes


def write_points(release: Release, path: Path) -> None:
    """Write points as GeoParquet; geometry only where there is a plane."""
    points = release.points
    bounds: list[Floats] = []
    whole_seconds = bool((points.t == np.rint(points.t)).all())
    names = list(points.columns())
    kinds = {name: pa.int64() if name == "t" and whole_seconds else pa.float64() for name in names}
    places = {} if release.crs is None else {GEOMETRY: pa.large_binary()}
    with path.open("wb") as file:
        writer = ColumnwiseWriter(file, pa.schema({"trajectory_id": pa.string(), **kinds, **places}))
        for first in range(0, max(len(points), 1), ROWS_PER_GROUP):
            rows = slice(first, min(first + ROWS_PER_GROUP, len(points)))
            record = np.searchsorted(release.offsets, np.arange(rows.start, rows.stop), side="right") - 1
            ids = pa.array(release.trajectory_ids, pa.string()).take(pa.array(record))
            writer.write(pa.table({"trajectory_id": ids}))
            for name, values in points.columns().items():
                kind = np.int64 if name == "t" and whole_seconds else np.float64
                writer.write(pa.table({name: values[rows].astype(kind, copy=False)}))
            if release.crs is not None:
                lonlat = lon_lat(points.take(rows), release.crs)
                bounds.append(np.concatenate([lonlat.min(axis=0), lonlat.max(axis=0)]))
                writer.write(pa.table({GEOMETRY: _geometry(lonlat)}))
        writer.close(_description(bounds))


def _description(bounds: list[Floats]) -> dict[bytes, bytes]:
    if not bounds:
        return {}
    low, high = np.min(bounds, axis=0)[:2], np.max(bounds, axis=0)[2:]
    return geometry_pairs(["Point"], [*low.tolist(), *high.tolist()])


def decode_points(table: pa.Table, where: str) -> Points:
    """The points in file order."""
    missing = [name for name in ("trajectory_id", *POINT_COLUMNS) if name not in table.column_names]
    if missing:
        raise InputError(f"{where} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}")
    if ("lat" in table.column_names) != ("lon" in table.column_names):
        raise InputError(f"{where} has only one of the columns lat and lon")
    if table["trajectory_id"].null_count:
        raise InputError(f"{where} has empty values in its columns")
    names = [name for name in (*POINT_COLUMNS, *DEGREE_COLUMNS) if name in table.column_names]
    return Points(**{name: _finite(table[name], name, where) for name in names})


def lon_lat(points: Points, crs: str) -> Floats:
    """float64 [m, 2]: longitude and latitude, as given, or from the plane."""
    if points.lon is not None and points.lat is not None:
        return np.column_stack([points.lon, points.lat])
    return np.column_stack(transform(crs, WGS84, points.x, points.y))


def decode_places(column: pa.ChunkedArray) -> Floats | None:
    """float64 [m, 2]: longitude and latitude of a geometry column; None when it has no points."""
    try:
        chunks = column.cast(pa.large_binary()).chunks
    except pa.ArrowException:
        return None
    places = np.empty((len(column), 2))
    begin = 0
    for chunk in chunks:
        if chunk.null_count:
            return None
        if not len(chunk):
            continue
        _, ends, content = chunk.buffers()
        offsets = np.frombuffer(ends, dtype=np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        if (np.diff(offsets) != _POINT.itemsize).any():
            return None
        points = np.frombuffer(content, dtype=_POINT, count=len(chunk), offset=int(offsets[0]))
        if not ((points["order"] == 1) & (points["type"] == 1)).all():
            return None
        places[begin : begin + len(chunk)] = points["place"]
        begin += len(chunk)
    return places


def _geometry(lonlat: Floats) -> pa.Array:
    points = np.zeros(len(lonlat), dtype=_POINT)
    points["order"], points["type"], points["place"] = 1, 1, lonlat
    ends = pa.py_buffer(np.arange(len(points) + 1, dtype=np.int64) * _POINT.itemsize)
    return pa.Array.from_buffers(pa.large_binary(), len(points), [None, ends, pa.py_buffer(points)])


def _finite(column: pa.ChunkedArray, name: str, where: str) -> Floats:
    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowException as error:
        raise InputError(
            f"the column {name} of {where} is not made of numbers; write the release again"
        ) from error
    if not np.isfinite(values).all():
        raise InputError(
            f"the column {name} of {where} holds missing or infinite values; write the release again"
        )
    return values
