"""The tables of boxes and of points: columns, and how they are written and read.

Boxes are on the release's grid: seconds since 1970 UTC (or step 0) and meters.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.errors import InputError, MisuseError
from shoal.model.claims import PayloadKind
from shoal.model.grid import Grid
from shoal.model.projection import WGS84, transform
from shoal.model.release import BOX_COLUMNS, DEGREE_COLUMNS, POINT_COLUMNS, Boxes, Payload, Points, Release
from shoal.release_folder.joining import join_files
from shoal.release_folder.outlines import are_cut, cut_outline, polygons_of
from shoal.release_folder.packing import GEOMETRY, ROWS_PER_GROUP, ColumnwiseWriter, geometry_pairs
from shoal.runtime.arrays import Floats, Integers, Numbers

_CELLS_PER_CORNER: Final = 4  # below this, a table with a place for each cell is used
_RING: Final = [0, 1, 2, 3, 0]  # its last corner is the first
_DRAWN_AT_ONCE: Final = 1 << 16  # outlines
_BEYOND_ALL_BOUNDS: Final = 2.0**53  # cells or slots; float64 is exact below
_POLYGON: Final = np.dtype(
    [("order", "u1"), ("type", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("corners", "<f8", (5, 2))]
)  # well-known binary of a polygon with one ring of five corners: 93 bytes


Bounds = list[list[float]]  # of rectangles, each as west, south, east, north


def write_boxes(release: Release, path: Path) -> None:
    """Write boxes as GeoParquet, with rectangles in WGS 84 where there is a plane."""
    write_boxes_in_parts([release], path)


def write_boxes_in_parts(parts: Iterable[Release], path: Path) -> None:
    """Write a release in parts (at least one), each some records."""
    _write(parts, path, described=True)


def write_some_boxes(release: Release, path: Path) -> Bounds:
    """Write some records for ``join_boxes``; return the bounds of their rectangles."""
    return _write([release], path, described=False)


def join_boxes(parts: Sequence[Path], bounds: Bounds, path: Path) -> None:
    """Join files of ``write_some_boxes`` to the bytes of ``write_boxes_in_parts``."""
    with path.open("wb") as file:
        join_files(parts, file, _description(bounds))


def _write(parts: Iterable[Release], path: Path, *, described: bool) -> Bounds:
    corners: Bounds = []
    with path.open("wb") as file:
        writer: ColumnwiseWriter | None = None
        for release, rows in _row_groups(parts):
            writer = writer or ColumnwiseWriter(file, _schema_of(release))
            _write_group(writer, release, rows)
            corners += _write_outlines(writer, release, rows)
        if writer is not None:
            writer.close(_description(corners) if described else {})
    return corners


def _description(corners: Bounds, shape: str = "Polygon") -> dict[bytes, bytes]:
    if not corners:
        return {}
    bounds = [*np.min(corners, axis=0)[:2].tolist(), *np.max(corners, axis=0)[2:].tolist()]
    cut = shape == "Polygon" and (bounds[0], bounds[2]) == (-180.0, 180.0)
    return geometry_pairs([shape, "MultiPolygon"] if cut else [shape], bounds)


def _row_groups(parts: Iterable[Release]) -> Iterator[tuple[Release, slice]]:
    for release in parts:
        for first in range(0, max(release.n_samples, 1), ROWS_PER_GROUP):
            yield release, slice(first, min(first + ROWS_PER_GROUP, release.n_samples))


def _schema_of(release: Release) -> pa.Schema:
    grid = release.snapped_grid()
    kinds = {name: pa.float64() for name in BOX_COLUMNS}
    if float(grid.slot_s).is_integer():
        kinds |= {name: pa.int64() for name in BOX_COLUMNS if name.startswith("t_")}
    outlines = {} if release.crs is None else {GEOMETRY: pa.large_binary()}
    return pa.schema({"trajectory_id": pa.string(), **kinds, **outlines})


def _write_group(writer: ColumnwiseWriter, release: Release, rows: slice) -> None:
    _write_names(writer, release, rows)
    grid = release.snapped_grid()
    whole = float(grid.slot_s).is_integer()
    for name, values in zip(BOX_COLUMNS, release.boxes.take(rows).columns(), strict=True):
        of_time = name.startswith("t_")
        in_units = values * (grid.slot_s if of_time else grid.cell_m)
        kind = np.int64 if of_time and whole else np.float64
        writer.write(pa.table({name: in_units.astype(kind, copy=False)}))


def _write_names(writer: ColumnwiseWriter, release: Release, rows: slice) -> None:
    record = np.searchsorted(release.offsets, np.arange(rows.start, rows.stop), side="right") - 1
    names = pa.array(release.trajectory_ids, pa.string()).take(pa.array(record))
    writer.write(pa.table({"trajectory_id": names}))


def _write_outlines(writer: ColumnwiseWriter, release: Release, rows: slice) -> Bounds:
    if release.crs is None:
        return []
    column, bounds = draw_outlines(release.boxes.take(rows), release.snapped_grid().cell_m, release.crs)
    writer.write(pa.table({GEOMETRY: column}))
    return [bounds]


def decode_boxes(table: pa.Table, grid: Grid, where: str) -> Boxes:
    """The boxes in file order, rounded to the grid."""
    _require_columns(table, BOX_COLUMNS, where)
    if any(table[name].null_count for name in ("trajectory_id", *BOX_COLUMNS)):
        raise InputError(f"{where} has empty values in its columns")
    rounded = {}
    for name in BOX_COLUMNS:
        with np.errstate(over="ignore"):
            exact = np.rint(
                _seconds_or_meters(table[name]) / (grid.slot_s if name.startswith("t_") else grid.cell_m)
            )
        if not (np.abs(exact) < _BEYOND_ALL_BOUNDS).all():
            raise InputError(f"the column {name} of {where} holds infinite or impossibly large values")
        rounded[name] = exact.astype(np.int64)
    return Boxes(**rounded)


def _require_columns(table: pa.Table, columns: Sequence[str], where: str) -> None:
    missing = [name for name in ("trajectory_id", *columns) if name not in table.column_names]
    if missing:
        raise InputError(f"{where} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}")


def corner_places(boxes: Boxes, cell_m: float, crs: str) -> tuple[Floats, Integers]:
    """Longitude and latitude [p, 2] of corners, each projected once, and those of each box [m, 4]."""
    if not len(boxes):
        return np.empty((0, 2)), np.empty((0, 4), dtype=np.int64)
    west, south = (
        int(min(boxes.x_min.min(), boxes.x_max.min())),
        int(min(boxes.y_min.min(), boxes.y_max.min())),
    )
    columns = int(max(boxes.x_min.max(), boxes.x_max.max())) - west + 1
    rows = int(max(boxes.y_min.max(), boxes.y_max.max())) - south + 1
    x_of_each = (boxes.x_min, boxes.x_max, boxes.x_max, boxes.x_min)
    y_of_each = (boxes.y_min, boxes.y_min, boxes.y_max, boxes.y_max)
    if columns * rows < 1 << 63:
        corners = np.empty((len(boxes), 4), dtype=np.int32 if columns * rows < 1 << 31 else np.int64)
        for corner, (column, row) in enumerate(zip(x_of_each, y_of_each, strict=True)):
            corners[:, corner] = (column - west) * rows + (row - south)
        cells, at = _index_cells(corners, columns * rows)
        x, y = cells // rows + west, cells % rows + south
    else:
        x, y = np.stack(x_of_each, axis=1).ravel(), np.stack(y_of_each, axis=1).ravel()
        at = np.arange(len(x)).reshape(-1, 4)
    degrees = transform(crs, WGS84, x.astype(np.float64) * cell_m, y.astype(np.float64) * cell_m)
    return np.stack(degrees, axis=1), at


def _index_cells(cells: Integers, n: int) -> tuple[Integers, Integers]:
    if n > _CELLS_PER_CORNER * cells.size:
        coded = pa.array(cells.ravel()).dictionary_encode()
        indices = coded.indices.to_numpy().astype(cells.dtype, copy=False)
        return coded.dictionary.to_numpy().astype(np.int64), indices.reshape(cells.shape)
    number = np.zeros(n, dtype=cells.dtype)  # a flag for each place fits into memory
    number[cells] = 1
    different = np.flatnonzero(number)
    number[different] = np.arange(len(different))
    return different, number[cells]


def draw_outlines(boxes: Boxes, cell_m: float, crs: str) -> tuple[pa.Array, list[float]]:
    """Well-known binary of each box in WGS 84, and the bounds of all: west, south, east, north."""
    places, at = corner_places(boxes, cell_m, crs)
    polygons = np.zeros(len(boxes), dtype=_POLYGON)
    polygons["order"], polygons["type"], polygons["rings"], polygons["points"] = 1, 3, 1, 5
    for first in range(0, len(boxes), _DRAWN_AT_ONCE):
        some = slice(first, first + _DRAWN_AT_ONCE)
        polygons["corners"][some] = places[at[some]][:, _RING]
    ends = pa.py_buffer(np.arange(len(boxes) + 1, dtype=np.int64) * _POLYGON.itemsize)
    column = pa.Array.from_buffers(
        pa.large_binary(), len(boxes), [None, ends, pa.py_buffer(polygons.view(np.uint8))]
    )
    cut = are_cut(places, at)
    if cut.any():  # across the 180th meridian or around a pole
        parts = [cut_outline(places[corners]) for corners in at[cut]]
        column = pc.replace_with_mask(column, pa.array(cut), pa.array(parts, pa.large_binary()))
        drawn = [
            polygons["corners"][~cut].reshape(-1, 2),
            *(part for wkb in parts for part in polygons_of(wkb)),
        ]
        places = np.concatenate(drawn)
    bounds = [*places.min(axis=0).tolist(), *places.max(axis=0).tolist()]
    if not all(bounds) and not cut.any():  # zeros have the sign of the first corner, which places do not keep
        corners = polygons["corners"].reshape(-1, 2)
        bounds = [*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()]
    return column, bounds


def _seconds_or_meters(column: pa.ChunkedArray) -> Floats:
    if pa.types.is_timestamp(column.type):
        column = pc.divide(column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid as error:
        raise InputError("a coordinate or time of the release is not a number") from error


_POINT: Final = np.dtype(
    [("order", "u1"), ("type", "<u4"), ("place", "<f8", 2)]
)  # well-known binary of a point: 21 bytes


def write_points(release: Release, path: Path) -> None:
    """Write points as GeoParquet; geometry only where there is a plane."""
    points = release.points
    bounds: Bounds = []
    whole_seconds = bool((points.t == np.rint(points.t)).all())
    names = list(points.columns())
    kinds = {name: pa.int64() if name == "t" and whole_seconds else pa.float64() for name in names}
    places = {} if release.crs is None else {GEOMETRY: pa.large_binary()}
    with path.open("wb") as file:
        writer = ColumnwiseWriter(file, pa.schema({"trajectory_id": pa.string(), **kinds, **places}))
        for first in range(0, max(len(points), 1), ROWS_PER_GROUP):
            rows = slice(first, min(first + ROWS_PER_GROUP, len(points)))
            _write_names(writer, release, rows)
            for name, values in points.columns().items():
                kind = np.int64 if name == "t" and whole_seconds else np.float64
                writer.write(pa.table({name: values[rows].astype(kind, copy=False)}))
            if release.crs is not None:
                lonlat = lon_lat(points.take(rows), release.crs)
                bounds.append([*lonlat.min(axis=0).tolist(), *lonlat.max(axis=0).tolist()])
                writer.write(pa.table({GEOMETRY: _geometry(lonlat)}))
        writer.close(_description(bounds, "Point"))


def decode_points(table: pa.Table, where: str) -> Points:
    """The points in file order."""
    _require_columns(table, POINT_COLUMNS, where)
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


@dataclass(frozen=True, kw_only=True)
class Table:
    """A row of TABLES."""

    columns: tuple[str, ...]  # of every table of this kind; rows of a record ascend by them
    write: Callable[[Release, Path], None]
    read: Callable[[pa.Table, Grid | None, str], Payload]


def _boxes(table: pa.Table, grid: Grid | None, where: str) -> Payload:
    if grid is None:
        raise MisuseError("boxes are counted in cells and slots; give the manifest's grid")
    return decode_boxes(table, grid, where)


def _points(table: pa.Table, _grid: Grid | None, where: str) -> Payload:
    return decode_points(table, where)


TABLES: Final[Mapping[PayloadKind, Table]] = {
    "boxes": Table(columns=BOX_COLUMNS, write=write_boxes, read=_boxes),
    "points": Table(columns=POINT_COLUMNS, write=write_points, read=_points),
}


def write_table(release: Release, path: Path) -> None:
    """Write the payload as GeoParquet."""
    TABLES[release.kind].write(release, path)


def decode_records(
    table: pa.Table, kind: PayloadKind, grid: Grid | None, where: str
) -> tuple[tuple[str, ...], Integers, Payload]:
    """Pseudonyms, offsets [n + 1] and payload (boxes on the grid), in order of first rows."""
    payload = TABLES[kind].read(table, grid, where)
    record, ids = number_records(table["trajectory_id"])
    keys = [getattr(payload, name) for name in reversed(TABLES[kind].columns)]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(record, minlength=len(ids)))]).astype(np.int64)
    return ids, offsets, payload if _ascend(record, keys) else payload.take(np.lexsort((*keys, record)))


def number_records(names: pa.ChunkedArray) -> tuple[Integers, tuple[str, ...]]:
    """(the record of each row, the pseudonym of each record), in order of first rows."""
    coded = names.combine_chunks().cast(pa.string()).dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):  # more text than fits one array
        coded = coded.combine_chunks()
    return coded.indices.to_numpy(), tuple(coded.dictionary.to_pylist())


def _ascend(record: Integers, keys: Sequence[Numbers]) -> bool:
    equal_so_far = np.ones(
        max(len(record) - 1, 0), dtype=np.bool_
    )  # rows equal to their next one in the columns so far
    for column in (record, *reversed(keys)):
        if (equal_so_far & ~(column[1:] >= column[:-1])).any():  # false for NaN, too
            return False
        equal_so_far &= column[1:] == column[:-1]
    return True


def require_places_on_earth(path: Path) -> None:
    """Raise InputError where a table reaches beyond its plane's places on the earth."""
    geo = (pq.read_schema(path).metadata or {}).get(b"geo")
    if geo is not None and not np.isfinite(json.loads(geo)["columns"]["geometry"]["bbox"]).all():
        raise InputError(
            "the release reaches beyond the edge of the plane: the data spans too much of the earth; publish "
            "each region on its own"
        )
