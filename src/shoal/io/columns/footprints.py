"""Footprints of cells: areas where a cell is received, as polygons, as bounds, or as widths around a center.

A sample is a cell of the grid and has no extent of its own, so a record stands at the center of its cell's
footprint. How large the footprints are is told with the count of records, so that nobody takes the center for
all of what is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, MissingExtraError
from shoal.io.columns.values import is_text, numbers, plain
from shoal.io.formats.tables import Table
from shoal.model.projection import WGS84, is_geographic, transform
from shoal.runtime.arrays import Floats

_AREAS: Final = ("geometry", "geom", "wkt", "footprint", "polygon")
_BOUNDS: Final = (
    ("lon_min", "lat_min", "lon_max", "lat_max"),
    ("min_lon", "min_lat", "max_lon", "max_lat"),
    ("lon_from", "lat_from", "lon_to", "lat_to"),
)
_SIDES: Final = ((("width_m", "width"), ("height_m", "height")),)
_RADII: Final = ("radius_m", "radius", "range_m", "range")
_METERS_PER_DEGREE: Final = 111_195.0  # of the mean sphere: an extent is told to two digits
_POLYGON: Final = b'Polygon"'


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Where cells are, float64 [n]: degrees of the center, meters of the extent (nan = not known)."""

    lon: Floats
    lat: Floats
    width_m: Floats
    height_m: Floats


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a table tells where its cells are.

    area: a column of polygons; crs: their system. bounds: west, south, east, north. center: longitude and
    latitude. sides: width and height. radius: half of both.
    """

    area: str = ""
    crs: str = WGS84
    bounds: tuple[str, ...] = ()
    center: tuple[str, ...] = ()
    sides: tuple[str, ...] = ()
    radius: str = ""

    def wanted(self) -> list[str]:
        """Every column that must be read."""
        own = [self.area, *self.bounds, *self.center, *self.sides, self.radius]
        return [name for name in own if name]


def holds_areas(path: Path) -> bool:
    """Whether a file is GeoJSON with polygons, which only a library of geometry reads."""
    return path.suffix.lower() in {".geojson", ".json"} and _POLYGON in path.read_bytes()


def layout_of(table: Table, centers: Sequence[str]) -> Layout | None:
    """How the table tells places, None when it does not. centers: its columns of longitude and latitude."""
    own = {name.strip().lower(): name for name in table.columns}
    if table.geometry is not None:
        if table.geometry.crs is None:
            raise InputError(f"{table.name} does not say of which reference system its geometry is")
        if not centers:
            return Layout(area=table.geometry.column, crs=table.geometry.crs)
    else:
        area = next((own[name] for name in _AREAS if name in own), "")
        if area:
            return Layout(area=area)
    for bounds in _BOUNDS:
        if all(name in own for name in bounds):
            return Layout(bounds=tuple(own[name] for name in bounds))
    if not centers:
        return None
    for pair in _SIDES:
        sides = tuple(own[name] for names in pair for name in names if name in own)
        if len(sides) == len(pair):
            return Layout(center=tuple(centers), sides=sides)
    radius = next((own[name] for name in _RADII if name in own), "")
    return Layout(center=tuple(centers), radius=radius)


def places(batch: pa.RecordBatch, layout: Layout, where: str) -> Places:
    """The places of these cells; a center that cannot be told is nan."""
    if layout.area:
        west, south, east, north = _bounds_of(batch.column(layout.area), where)
        return _between(layout.crs, west, south, east, north)
    if layout.bounds:
        return _between(WGS84, *(_numbers(batch, name, where) for name in layout.bounds))
    lon, lat = (_numbers(batch, name, where) for name in layout.center)
    width_m = height_m = np.full(len(lon), np.nan)
    if layout.sides:
        width_m, height_m = (_lengths(batch, name, where) for name in layout.sides)
    elif layout.radius:
        width_m = height_m = 2 * _lengths(batch, layout.radius, where)
    return Places(lon=lon, lat=lat, width_m=width_m, height_m=height_m)


def _numbers(batch: pa.RecordBatch, name: str, where: str) -> Floats:
    return numbers(batch.column(name), f"column '{name}' of {where}")[0]


def _lengths(batch: pa.RecordBatch, name: str, where: str) -> Floats:
    """Meters; what is no length is not known."""
    found = _numbers(batch, name, where)
    return np.where(np.isfinite(found) & (found >= 0), found, np.nan)


def _between(crs: str, west: Floats, south: Floats, east: Floats, north: Floats) -> Places:
    """The middle and the extent of bounds; of none where they are turned round."""
    sound = (west <= east) & (south <= north)
    x, y = (np.where(sound, (low + high) / 2, np.nan) for low, high in ((west, east), (south, north)))
    width_m, height_m = east - west, north - south
    lon, lat = x, y
    if is_geographic(crs):
        width_m = width_m * _METERS_PER_DEGREE * np.cos(np.radians(y))
        height_m = height_m * _METERS_PER_DEGREE
    else:
        lon, lat = transform(crs, WGS84, x, y)
    return Places(lon=lon, lat=lat, width_m=width_m, height_m=height_m)


def _bounds_of(column: pa.Array, where: str) -> tuple[Floats, Floats, Floats, Floats]:
    """West, south, east and north of shapes as well-known text or binary; nan where there is none."""
    try:
        import shapely
    except ImportError as error:
        raise MissingExtraError(
            f"the footprints in {where} are polygons; to read them: pip install 'shoal[geo]'"
        ) from error
    storage = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
    texts: Any = plain(column) if is_text(storage.type) else storage
    read = shapely.from_wkt if is_text(storage.type) else shapely.from_wkb
    shapes = read(np.array(texts.to_pylist(), dtype=object), on_invalid="ignore")
    west, south, east, north = shapely.bounds(shapes).T
    return west, south, east, north
