"""The zone of each point, from the public file of zones and the stated rules alone."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import shapely
from pyarrow import parquet

from shoal.errors import InputError, MissingExtraError
from shoal.model.projection import transform
from shoal.runtime.arrays import Floats, Integers
from shoal_tables.definition.manifest import ZONES_FILE, TableManifest

OUTSIDE: Final = -1
_DEGREES: Final = "EPSG:4326"


def read_zones(folder: Path) -> tuple[tuple[str, ...], list[Any]]:
    """Read the names of the zones, in their order, and their geometries as WKB."""
    try:
        table = parquet.ParquetFile(folder / ZONES_FILE).read()
        geometries = table["geometry"].to_pylist()
        if None in geometries:
            raise InputError(f"{folder / ZONES_FILE} has a zone without a geometry")
        shapely.from_wkb(geometries)
        return tuple(map(str, table["zone"].to_pylist())), geometries
    except (OSError, KeyError, ValueError, TypeError, shapely.errors.GEOSException) as error:
        raise InputError(f"{folder / ZONES_FILE} cannot be read as a table of zones") from error


def zone_of_points(
    x: Integers, y: Integers, manifest: TableManifest, names: tuple[str, ...], geometries: list[Any]
) -> Integers:
    """Find the number of the zone of each point in whole meters of the plane, or OUTSIDE."""
    kind = manifest.zones.kind
    if kind == "grid":
        return _in_grid(x, y, manifest)
    points, back = np.unique(np.stack([x, y], axis=1), axis=0, return_inverse=True)
    first, second = points[:, 0], points[:, 1]
    middle: tuple[Floats, Floats] = (first.astype(np.float64) + 0.5, second.astype(np.float64) + 0.5)
    if kind == "cells":
        zone = _at_cells(first, second, manifest, geometries)
    elif kind == "h3":
        zone = _in_h3(*middle, manifest, names)
    else:
        zone = _in_polygons(*middle, manifest, geometries)
    return zone[back.ravel()]


def _in_grid(x: Integers, y: Integers, manifest: TableManifest) -> Integers:
    grid = manifest.zones
    numbers = (grid.x0, grid.y0, grid.side_m, grid.columns, grid.rows)
    if None in numbers:
        raise InputError("manifest.json states a grid without its corner, side, columns or rows")
    x0, y0, side, columns, rows = (int(one or 0) for one in numbers)
    column, row = (x - x0) // side, (y - y0) // side
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    return np.where(inside, row * columns + column, OUTSIDE)


def grid_names(manifest: TableManifest) -> tuple[str, ...]:
    """The names of the squares of a grid, in their order."""
    grid = manifest.zones
    return tuple(f"r{row}c{column}" for row in range(grid.rows or 0) for column in range(grid.columns or 0))


def shapes_of_zones(names: tuple[str, ...], manifest: TableManifest) -> Any:
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


def _in_polygons(x: Floats, y: Floats, manifest: TableManifest, geometries: list[Any]) -> Integers:
    if manifest.plane is not None and manifest.zones.crs is not None:
        x, y = transform(manifest.plane, manifest.zones.crs, x, y)
    zone = np.full(len(x), OUTSIDE, dtype=np.int64)
    for number, polygon in enumerate(shapely.from_wkb(geometries)):
        west, south, east, north = polygon.bounds
        near = np.flatnonzero((zone == OUTSIDE) & (x >= west) & (x <= east) & (y >= south) & (y <= north))
        shapely.prepare(polygon)
        inside = shapely.intersects_xy(polygon, x[near], y[near])
        zone[near[inside]] = number
    return zone


def _h3() -> Any:
    try:
        import h3
    except ImportError as error:
        raise MissingExtraError(
            "zones of H3 need the library h3: pip install 'shoal-tables[zones]'"
        ) from error
    return h3


def _in_h3(x: Floats, y: Floats, manifest: TableManifest, names: tuple[str, ...]) -> Integers:
    h3 = _h3()
    if manifest.plane is None or manifest.zones.resolution is None:
        raise InputError("manifest.json states H3 zones without a plane or a resolution")
    lon, lat = transform(manifest.plane, _DEGREES, x, y)
    number = {name: zone for zone, name in enumerate(names)}
    cells = (
        h3.latlng_to_cell(a, b, manifest.zones.resolution)
        for a, b in zip(lat.tolist(), lon.tolist(), strict=True)
    )
    return np.array([number.get(cell, OUTSIDE) for cell in cells], dtype=np.int64)


def _at_cells(x: Integers, y: Integers, manifest: TableManifest, geometries: list[Any]) -> Integers:
    places: npt.NDArray[Any] = shapely.get_coordinates(shapely.from_wkb(geometries))
    first, second = places[:, 0], places[:, 1]
    if manifest.plane is not None and manifest.zones.crs is not None:
        first, second = transform(manifest.zones.crs, manifest.plane, first, second)
    at: dict[tuple[int, int], int] = {}
    corners = zip(np.floor(first).astype(int).tolist(), np.floor(second).astype(int).tolist(), strict=True)
    for number, corner in enumerate(corners):
        at.setdefault(corner, number)
    points = zip(x.tolist(), y.tolist(), strict=True)
    return np.array([at.get(point, OUTSIDE) for point in points], dtype=np.int64)
