"""Read a table in each of its formats; and the zone of each point, from the public file of zones alone."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import shapely
from pyarrow import csv, parquet

from shoal.errors import InputError, requiring_extra
from shoal.model.projection import WGS84, transform
from shoal.release_folder.files import require_plain_file
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.files import require_unique_keys
from shoal.runtime.gdal import one_driver
from shoal_tables.definition import manifest as terms
from shoal_tables.definition.manifest import Files, TableManifest
from shoal_tables.verification.finding_kinds import Finding

OUTSIDE: Final = -1
_HALF: Final = np.float64(0.5)  # of a meter: the middle of a position


@dataclass(frozen=True)
class ZoneFile:
    """The names of the zones, in their order, their geometries as WKB, their weights, and outer zones."""

    names: tuple[str, ...]
    geometries: list[Any]
    weights: Floats  # 1 without a column of them
    parents: tuple[str, ...]  # of each zone, none without a column of them

    @property
    def outer(self) -> tuple[str, ...]:
        """The names of the outer zones, in the order in which zones name them."""
        return tuple(dict.fromkeys(self.parents))

    def weights_of(self, n_cells: int) -> Floats:
        """The weight of the zone of each cell; of a flow, where it begins."""
        return np.repeat(self.weights, n_cells // max(len(self.names), 1))


def read_zones(folder: Path) -> ZoneFile:
    """Read the zones of a folder."""
    try:
        table = parquet.ParquetFile(folder / Files.ZONES).read()
        geometries = table["geometry"].to_pylist()
        if None in geometries:
            raise InputError(f"{folder / Files.ZONES} has a zone without a geometry")
        shapely.from_wkb(geometries)
        weights = np.ones(len(table))
        if "weight" in table.column_names:
            weights = table["weight"].cast(pa.float64()).to_numpy()
        parents = table["parent"].to_pylist() if "parent" in table.column_names else ()
        names = tuple(map(str, table["zone"].to_pylist()))
        return ZoneFile(names, geometries, weights, tuple(str(one or "") for one in parents))
    except (OSError, KeyError, ValueError, TypeError, shapely.errors.GEOSException) as error:
        raise InputError(f"{folder / Files.ZONES} cannot be read as a table of zones") from error


def zone_of_points(x: Integers, y: Integers, manifest: TableManifest, zones: ZoneFile) -> Integers:
    """Find the number of the zone of each point in whole meters of the plane, or OUTSIDE."""
    if manifest.zones.kind == "grid":
        return _in_grid(x, y, manifest)
    find = {"cells": _at_cells, "h3": _in_h3, "polygons": _in_polygons}[manifest.zones.kind]
    points, back = np.unique(np.stack([x, y], axis=1), axis=0, return_inverse=True)
    return find(points[:, 0], points[:, 1], manifest, zones)[back.ravel()]


def _in_grid(x: Integers, y: Integers, manifest: TableManifest) -> Integers:
    grid = manifest.zones
    numbers = (grid.x0, grid.y0, grid.side_m, grid.columns, grid.rows)
    if None in numbers:
        raise InputError("manifest.json states a grid without its corner, side, columns or rows")
    x0, y0, side, columns, rows = (int(one or 0) for one in numbers)
    column, row = (x - x0) // side, (y - y0) // side
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    return np.where(inside, row * columns + column, OUTSIDE)


def zone_findings(zones: ZoneFile, manifest: TableManifest) -> Iterator[Finding]:
    """Find zones that are not those of the manifest."""
    names, grid = zones.names, manifest.zones
    rows, columns = range(grid.rows or 0), range(grid.columns or 0)
    squares = tuple(f"r{row}c{column}" for row in rows for column in columns)
    if len(names) != grid.n_zones or len(set(names)) < len(names):
        yield Finding("zones-differ", "zones.parquet has other zones than the manifest states, or one twice")
    elif grid.kind == "grid" and names != squares:
        yield Finding("zones-differ", "the zones are not the squares of the stated grid, row by row")
    elif len(zones.outer) != (grid.nested.n_zones if grid.nested else 0):
        yield Finding("zones-differ", "zones.parquet has other outer zones than the manifest states")
    elif not {"", *names}.isdisjoint(zones.parents):
        yield Finding("zones-differ", "a zone has no outer zone, or one that is a zone itself")
    elif not ((zones.weights > 0) & np.isfinite(zones.weights)).all():
        yield Finding("zones-differ", "a weight of a zone is not a number above 0")
    else:
        expected = _shapes_of(names, manifest)
        shapes = shapely.normalize(shapely.from_wkb(zones.geometries))
        if expected is not None and not shapely.equals_exact(shapes, shapely.normalize(expected), 1e-7).all():
            yield Finding("zones-differ", "zones.parquet draws other shapes than those of the stated zones")


def _shapes_of(names: tuple[str, ...], manifest: TableManifest) -> Any:
    """The shapes of the squares of a grid and of H3 cells; None where the file of zones decides."""
    grid = manifest.zones
    if grid.kind == "grid":
        row, column = np.divmod(np.arange(grid.n_zones), grid.columns or 1)
        side = grid.side_m or 0
        left, low = (grid.x0 or 0) + side * column, (grid.y0 or 0) + side * row
        return shapely.box(left, low, left + side, low + side)
    if grid.kind != "h3":
        return None
    h3 = _h3()
    if not all(map(h3.is_valid_cell, names)):
        return np.full(len(names), shapely.Point())
    rings = ([(lon, lat) for lat, lon in h3.cell_to_boundary(name)] for name in names)
    return np.array([shapely.Polygon(ring) for ring in rings], dtype=object)


def _in_polygons(west: Integers, south: Integers, manifest: TableManifest, zones: ZoneFile) -> Integers:
    x, y = west + _HALF, south + _HALF
    if manifest.plane is not None and manifest.zones.crs is not None:
        x, y = transform(manifest.plane, manifest.zones.crs, x, y)
    zone = np.full(len(x), OUTSIDE, dtype=np.int64)
    for number, polygon in enumerate(shapely.from_wkb(zones.geometries)):
        x0, y0, x1, y1 = polygon.bounds
        near = np.flatnonzero((zone == OUTSIDE) & (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1))
        shapely.prepare(polygon)
        inside = shapely.intersects_xy(polygon, x[near], y[near])
        zone[near[inside]] = number
    return zone


def _h3() -> Any:
    with requiring_extra("zones of H3 need the library h3", "zones", of="shoal-tables"):
        import h3
    return h3


def _in_h3(x: Integers, y: Integers, manifest: TableManifest, zones: ZoneFile) -> Integers:
    h3 = _h3()
    if manifest.plane is None or manifest.zones.resolution is None:
        raise InputError("manifest.json states H3 zones without a plane or a resolution")
    lon, lat = transform(manifest.plane, WGS84, x + _HALF, y + _HALF)
    number = {name: zone for zone, name in enumerate(zones.names)}
    places = zip(lat.tolist(), lon.tolist(), strict=True)
    cells = (h3.latlng_to_cell(*place, manifest.zones.resolution) for place in places)
    return np.array([number.get(cell, OUTSIDE) for cell in cells], dtype=np.int64)


def _at_cells(x: Integers, y: Integers, manifest: TableManifest, zones: ZoneFile) -> Integers:
    first, second = shapely.get_coordinates(shapely.from_wkb(zones.geometries)).T
    if manifest.plane is not None and manifest.zones.crs is not None:
        first, second = transform(manifest.zones.crs, manifest.plane, first, second)
    corners = zip(np.floor(first).astype(int).tolist(), np.floor(second).astype(int).tolist(), strict=True)
    at = {corner: number for number, corner in reversed(list(enumerate(corners)))}  # the first of a place
    points = zip(x.tolist(), y.tolist(), strict=True)
    return np.array([at.get(point, OUTSIDE) for point in points], dtype=np.int64)


@dataclass(frozen=True)
class Cells:
    """The cells of a table in order: names of the values of each key, and their numbers [n]."""

    labels: Mapping[str, Sequence[str]]
    keys: Mapping[str, Integers]

    @property
    def n(self) -> int:
        """The number of cells."""
        return len(next(iter(self.keys.values()), ()))

    def texts(self, name: str) -> Any:
        """The value of a key in each cell."""
        return np.array(self.labels[name], dtype=object)[self.keys[name]]


@dataclass(frozen=True)
class Level:
    """A table of zones or of outer zones, its cells and their place among all, its noise in sigmas."""

    file: str
    table: pa.Table
    cells: Cells
    place: slice
    noise: int


def read_levels(folder: Path, manifest: TableManifest, zones: ZoneFile) -> list[Level]:
    """The table, and with outer zones theirs; without cells where it has not a row for each of them."""
    places = [(Files.TABLE, table_file(folder), zones.names, 1)]
    if manifest.zones.nested is not None:
        places.append((Files.OUTER, Files.OUTER, zones.outer, manifest.zones.nested.noise))
    levels, first = [], 0
    for name, file, names, noise in places:
        table = read_table(folder / file, manifest)
        place, first = slice(first, first + table.num_rows), first + table.num_rows
        levels.append(Level(name, table, cells_of(manifest, names, table.num_rows), place, noise))
    return levels


def cells_of(manifest: TableManifest, zones: Sequence[str], rows: int | None = None) -> Cells:
    """All cells of a table, empty ones too; none where there are not as many rows."""
    labels = terms.labels_of(manifest.table, zones, manifest.hours, terms.days_in_order(manifest.day_of))
    sizes = [len(one) for one in labels.values()]
    none = prod(sizes[1:]) if manifest.table == "flows" else 0  # no trip ends where it begins
    if rows not in (None, prod(sizes) - none):
        return Cells({}, {})
    numbers = np.indices(sizes).reshape(len(labels), -1)
    if manifest.table == "flows":
        numbers = numbers[:, numbers[0] != numbers[1]]
    return Cells(labels, dict(zip(labels, numbers, strict=True)))


def column_types(manifest: TableManifest) -> dict[str, pa.DataType]:
    """The type of each column of a table, in order."""
    names = dict.fromkeys(terms.COLUMNS[manifest.table], pa.string())
    return {**names, **dict.fromkeys(terms.NUMBERS, pa.float64()), "shown": pa.int64()}


def table_file(folder: Path) -> str:
    """The name of the file with the table: that of an export, if the folder holds one and no Parquet."""
    exports = (name for name in terms.EXPORTED.values() if (folder / name).exists())
    return Files.TABLE if (folder / Files.TABLE).exists() else next(exports, Files.TABLE)


def read_table(path: Path, manifest: TableManifest | None = None) -> pa.Table:
    """Read a table, an export (which needs its manifest), zones, or a secret file; InputError for others."""
    require_plain_file(path)
    readers = {terms.EXPORTED["omx"]: _from_omx, terms.EXPORTED["geopackage"]: _from_geopackage}
    try:
        if manifest is not None and path.name == terms.EXPORTED["csv"]:
            return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=column_types(manifest)))
        if manifest is None or path.name not in readers:
            return parquet.ParquetFile(path).read()
        return readers[path.name](path, manifest)
    except (OSError, ValueError, KeyError, RuntimeError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read as a table; it may be cut short") from error


def export_findings(folder: Path, manifest: TableManifest) -> Iterator[Finding]:
    """Find an export whose list of files is not that of the files that the folder holds."""
    name = table_file(folder)
    if name == Files.TABLE:
        return
    require_plain_file(folder / Files.PACKAGE)
    try:
        listed = json.loads((folder / Files.PACKAGE).read_bytes(), object_pairs_hook=require_unique_keys)
    except (OSError, ValueError, RecursionError) as error:
        words = f"{folder / Files.PACKAGE} does not list the files; export the table again"
        raise InputError(words) from error
    form = next(form for form, file in terms.EXPORTED.items() if file == name)
    if listed != terms.package_of(folder, manifest, form):
        yield Finding("changed-file", f"{Files.PACKAGE} says something else than the folder holds")


def _from_omx(path: Path, manifest: TableManifest) -> pa.Table:
    with requiring_extra("omx needs h5py", "omx", of="shoal-tables"):
        import h5py
    zones, days = read_zones(path.parent).names, terms.days_in_order(manifest.day_of)
    slices, n = [f"{terms.hour_label(*hour)} {day}" for hour in manifest.hours for day in days], len(zones)
    with h5py.File(path, "r") as file:
        data = file["data"]
        expected = {f"{name} {one}" for name in terms.NUMBERS for one in slices}
        if set(file) != {"data", "lookup"} or set(file["lookup"]) != {"zone"} or set(data) != expected:
            raise ValueError("other matrices")
        if not np.array_equal(file["lookup/zone"][:], np.arange(1, n + 1)):
            raise ValueError("other zones")
        apart, columns = ~np.eye(n, dtype=bool), dict[str, Any]()
        for name in terms.NUMBERS:
            matrices = [_matrix(data, f"{name} {one}", n)[apart] for one in slices]
            columns[name] = np.stack(matrices, axis=1).ravel()
    cells = cells_of(manifest, zones, len(columns["count"]))
    if not cells.keys:
        raise ValueError("other cells")
    shown = pa.array(columns["shown"], from_pandas=True).cast(pa.int64())
    return pa.table({**{name: cells.texts(name) for name in cells.keys}, **columns, "shown": shown})


def _matrix(data: Any, name: str, n: int) -> Any:
    import h5py

    if not isinstance(data.get(name, getlink=True), h5py.HardLink) or data[name].external:
        raise ValueError("a matrix in another file")
    matrix = data[name]
    if matrix.shape != (n, n) or matrix.dtype != np.float64 or not np.isnan(np.diagonal(matrix[:])).all():
        raise ValueError("a matrix of another shape")
    return matrix[:]


def _from_geopackage(path: Path, manifest: TableManifest) -> pa.Table:
    with one_driver(path) as (pyogrio, place):
        table = pyogrio.raw.read_arrow(place, layer="table")[1]
        _, _, shapes, (names,) = pyogrio.raw.read(place, layer="zones")
        layers = sorted(pyogrio.list_layers(place)[:, 0].tolist())
    zones = parquet.ParquetFile(path.parent / "zones.parquet").read()
    if layers != ["table", "zones"] or table.column_names != list(column_types(manifest)):
        raise ValueError("other layers or columns")
    drawn, stated = shapely.from_wkb(shapes), shapely.from_wkb(zones["geometry"].to_pylist())
    if names.tolist() != zones["zone"].to_pylist() or not shapely.equals_exact(drawn, stated).all():
        raise ValueError("other zones")
    return table
