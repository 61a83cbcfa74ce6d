"""The tables of boxes and of points: columns, and how they are written and read.

Boxes are on the release's grid: seconds since 1970 UTC (or step 0) and meters.
"""

import json
from collections.abc import Iterator, Sequence
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
from shoal.release_folder.outlines import are_cut, cut_outline, polygons_of, shorter_way
from shoal.release_folder.packing import (
    GEOMETRY,
    ROWS_PER_GROUP,
    ColumnwiseWriter,
    geometry_pairs,
    share_equal,
    take_views,
)
from shoal.runtime.arrays import Floats, Integers, Numbers, offsets_of
from shoal.runtime.memory import release_idle_memory

_CELLS_PER_CORNER: Final = 4  # below this, a table with a place for each cell is used
_RING: Final = [0, 1, 2, 3, 0]  # its last corner is the first
_DRAWN_AT_ONCE: Final = 1 << 16  # outlines
_WIDE_M: Final = 2e6  # sides from here on may go around half of the earth or more
_ALONG: Final = np.linspace(0.0, 1.0, 33)  # where such a side is looked at
_BEYOND_ALL_BOUNDS: Final = 2.0**53  # cells or slots; float64 is exact below
# well-known binary of a polygon with one ring of five corners: 93 bytes
_POLYGON: Final = np.dtype(
    [("order", "u1"), ("type", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("corners", "<f8", (5, 2))]
)


Bounds = list[list[float]]  # of rectangles, each as west, south, east, north


def write_table(release: Release, path: Path) -> None:
    """Write a release as GeoParquet, with rectangles or points in WGS 84 where there is a plane."""
    write_table_in_parts([release], path)


def write_table_in_parts(parts: Sequence[Release], path: Path) -> None:
    """Write a release in parts (at least one), each some records."""
    _write(parts, path, described=True)


def write_some_boxes(release: Release, path: Path) -> Bounds:
    """Write some records for ``join_boxes``; return the bounds of their rectangles."""
    return _write([release], path, described=False)


def join_boxes(parts: Sequence[Path], bounds: Bounds, path: Path) -> None:
    """Join files of ``write_some_boxes`` to the bytes of ``write_table_in_parts``."""
    with path.open("wb") as file:
        join_files(parts, file, _description(bounds, "Polygon"))


def _write(parts: Sequence[Release], path: Path, *, described: bool) -> Bounds:
    corners, schema = Bounds(), _schema_of(parts[0])
    shape, draw = ("Polygon", _rectangles) if parts[0].payload.on_grid else ("Point", _places)
    with path.open("wb") as file:
        writer = ColumnwiseWriter(file, schema)
        for release, rows in _row_groups(parts):
            record = np.searchsorted(release.offsets, np.arange(rows.start, rows.stop), side="right") - 1
            names = pa.array(release.trajectory_ids, pa.string())
            writer.write(pa.table({"trajectory_id": take_views(names, record)}))
            for name, values in _columns_of(release, rows):
                kind = np.int64 if pa.types.is_int64(schema.field(name).type) else np.float64
                writer.write(pa.table({name: values.astype(kind, copy=False)}))
            if release.crs is not None:
                del record, names, values  # outlines need the memory
                release_idle_memory()
                drawn = list[pa.Array]()
                for first in range(rows.start, rows.stop, _DRAWN_AT_ONCE):
                    some = slice(first, min(first + _DRAWN_AT_ONCE, rows.stop))
                    column, bounds = draw(release, some, release.crs)
                    drawn.append(share_equal(column))
                    corners.append(bounds)
                outlines = pa.concat_arrays(drawn)
                del drawn  # writing needs the memory
                release_idle_memory()
                writer.write(pa.table({GEOMETRY: outlines}))
                del outlines
        writer.close(_description(corners, shape) if described else {})
    return corners


def _row_groups(parts: Sequence[Release]) -> Iterator[tuple[Release, slice]]:
    for release in parts:
        for first in range(0, max(release.n_samples, 1), ROWS_PER_GROUP):
            yield release, slice(first, min(first + ROWS_PER_GROUP, release.n_samples))


def _description(corners: Bounds, shape: str) -> dict[bytes, bytes]:
    if not corners:
        return {}
    bounds = [*np.min(corners, axis=0)[:2].tolist(), *np.max(corners, axis=0)[2:].tolist()]
    cut = shape == "Polygon" and (bounds[0], bounds[2]) == (-180.0, 180.0)
    return geometry_pairs([shape, "MultiPolygon"] if cut else [shape], bounds)


def _schema_of(release: Release) -> pa.Schema:
    names: tuple[str, ...]
    if release.payload.on_grid:
        names, whole = BOX_COLUMNS, float(release.snapped_grid().slot_s).is_integer()
    else:
        t = release.points.t
        names, whole = tuple(release.points.columns()), bool((t == np.rint(t)).all())
    times = {"t", *BOX_COLUMNS[:2]} if whole else set()
    kinds = {name: pa.int64() if name in times else pa.float64() for name in names}
    drawn = {} if release.crs is None else {GEOMETRY: pa.large_binary()}
    return pa.schema({"trajectory_id": pa.string(), **kinds, **drawn})


def _columns_of(release: Release, rows: slice) -> Iterator[tuple[str, Numbers]]:
    """The columns, in seconds and meters."""
    if not release.payload.on_grid:
        yield from ((name, values[rows]) for name, values in release.points.columns().items())
        return
    grid = release.snapped_grid()
    for name, values in zip(BOX_COLUMNS, release.boxes.take(rows).columns(), strict=True):
        yield name, values * (grid.slot_s if name.startswith("t_") else grid.cell_m)


def _rectangles(release: Release, rows: slice, crs: str) -> tuple[pa.Array, list[float]]:
    return draw_outlines(release.boxes.take(rows), release.snapped_grid().cell_m, crs)


def _places(release: Release, rows: slice, crs: str) -> tuple[pa.Array, list[float]]:
    lonlat = lon_lat(release.points.take(rows), crs)
    points = np.zeros(len(lonlat), dtype=_POINT)
    points["order"], points["type"], points["place"] = 1, 1, lonlat
    ends = pa.py_buffer(np.arange(len(points) + 1, dtype=np.int64) * _POINT.itemsize)
    column = pa.Array.from_buffers(pa.large_binary(), len(points), [None, ends, pa.py_buffer(points)])
    return column, [*lonlat.min(axis=0).tolist(), *lonlat.max(axis=0).tolist()]


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
    west = int(min(boxes.x_min.min(), boxes.x_max.min()))
    south = int(min(boxes.y_min.min(), boxes.y_max.min()))
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
    sides = np.maximum(boxes.x_max - boxes.x_min, boxes.y_max - boxes.y_min)
    wide = np.flatnonzero(sides * cell_m > _WIDE_M)
    del sides  # before the outlines are drawn, which need the most memory
    places, at = corner_places(boxes, cell_m, crs)
    polygons = np.zeros(len(boxes), dtype=_POLYGON)
    polygons["order"], polygons["type"], polygons["rings"], polygons["points"] = 1, 3, 1, 5
    polygons["corners"] = places[at][:, _RING]
    ends = pa.py_buffer(np.arange(len(boxes) + 1, dtype=np.int64) * _POLYGON.itemsize)
    column = pa.Array.from_buffers(
        pa.large_binary(), len(boxes), [None, ends, pa.py_buffer(polygons.view(np.uint8))]
    )
    cut = are_cut(places, at)
    turns: dict[int, Floats] = {}
    for box in wide[np.isfinite(places[at[wide]]).all(axis=(1, 2))].tolist():
        turns[box] = _turns(boxes.take([box]), cell_m, crs)
        cut[box] = (np.abs(turns[box] - np.diff(places[at[box]][_RING, 0])) > 1).any()
    if cut.any():  # across the 180th meridian or around a pole
        parts = [cut_outline(places[at[box]], turns.get(box)) for box in np.flatnonzero(cut).tolist()]
        column = pc.replace_with_mask(column, pa.array(cut), pa.array(parts, pa.large_binary()))
        whole, cut_parts = polygons["corners"][~cut].reshape(-1, 2), map(polygons_of, parts)
        places = np.concatenate([whole, *(part for drawn in cut_parts for part in drawn)])
    bounds = [*places.min(axis=0).tolist(), *places.max(axis=0).tolist()]
    if not all(bounds) and not cut.any():  # zeros have the sign of the first corner, which places do not keep
        corners = polygons["corners"].reshape(-1, 2)
        bounds = [*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()]
    return column, bounds


def _turns(box: Boxes, cell_m: float, crs: str) -> Floats:
    """The degrees to the east along each edge [4] of one box, counterclockwise."""
    x = np.concatenate([box.x_min, box.x_max, box.x_max, box.x_min])[_RING] * cell_m
    y = np.concatenate([box.y_min, box.y_min, box.y_max, box.y_max])[_RING] * cell_m
    along_x, along_y = (side[:-1, None] + np.diff(side)[:, None] * _ALONG for side in (x, y))
    lon, _ = transform(crs, WGS84, along_x, along_y)
    return np.asarray(shorter_way(np.diff(lon, axis=1)).sum(axis=1))


def _seconds_or_meters(column: pa.ChunkedArray) -> Floats:
    if pa.types.is_timestamp(column.type):
        column = pc.divide(column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid as error:
        raise InputError("a coordinate or time of the release is not a number") from error


# well-known binary of a point: 21 bytes
_POINT: Final = np.dtype([("order", "u1"), ("type", "<u4"), ("place", "<f8", 2)])


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


def decode_records(
    table: pa.Table, kind: PayloadKind, grid: Grid | None, where: str
) -> tuple[tuple[str, ...], Integers, Payload]:
    """Pseudonyms, offsets [n + 1] and payload (boxes on the grid), in order of first rows."""
    payload: Payload
    columns: tuple[str, ...]
    if kind == "points":
        payload, columns = decode_points(table, where), POINT_COLUMNS
    elif grid is None:
        raise MisuseError("boxes are counted in cells and slots; give the manifest's grid")
    else:
        payload, columns = decode_boxes(table, grid, where), BOX_COLUMNS
    record, ids = number_records(table["trajectory_id"])
    keys = [getattr(payload, name) for name in reversed(columns)]
    offsets = offsets_of(np.bincount(record, minlength=len(ids)))
    return ids, offsets, payload if _ascend(record, keys) else payload.take(np.lexsort((*keys, record)))


def number_records(names: pa.ChunkedArray) -> tuple[Integers, tuple[str, ...]]:
    """(the record of each row, the pseudonym of each record), in order of first rows."""
    coded = names.combine_chunks().cast(pa.string()).dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):  # more text than fits one array
        coded = coded.combine_chunks()
    return coded.indices.to_numpy(), tuple(coded.dictionary.to_pylist())


def _ascend(record: Integers, keys: Sequence[Numbers]) -> bool:
    # rows whose columns so far equal the next
    equal_so_far = np.ones(max(len(record) - 1, 0), dtype=np.bool_)
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
