"""Public zones: squares, polygons of a file, H3 cells, cells of a network; which zone a sample lies in."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely

from shoal.errors import InputError, MisuseError, requiring_extra
from shoal.io.columns.cell_positions import read_cells
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, equal_area_plane, is_plane_in_meters, transform, transform_bounds
from shoal.runtime.arrays import Integers
from shoal.runtime.files import sha256_of
from shoal.runtime.gdal import one_driver
from shoal_tables.definition.manifest import OUTER_NOISE, Nested, Zones
from shoal_tables.definition.text_tables import read_parents, read_two_columns

OUTSIDE: Final = -1
LOCAL: Final = "local"
MOST_ZONES: Final = 100_000
_OVERLAP: Final = 1e-3  # share of the smaller of two polygons that may overlap: slivers of digitizing
_HALF: Final = np.float64(0.5)  # of a meter: the middle of a position
_NAMES: Final = ("zone", "id", "code", "name")

Area = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class ZoneSet:
    """Zones, and their entry in the manifest."""

    statement: Zones
    plane: str | None  # of x and y, in meters; None = local meters
    names: tuple[str, ...]
    shapes: Any  # [n] of shapely, squares on the plane, others in statement.crs
    notes: tuple[str, ...] = ()  # for the publisher, such as gaps between polygons
    weights: tuple[float, ...] | None = None  # of each zone, public
    outer: "ZoneSet | None" = None  # outer zones, public, without shapes
    parents: Integers | None = None  # the position of each zone's outer zone

    def weighted_by(self, path: Path) -> "ZoneSet":
        """The zones with the weights of a CSV file with the columns ``zone`` and ``weight``."""
        weight_of = read_two_columns(path, ("zone", "weight"), f"{self.names[0]},1.5", str, _weight)
        self._require_each(path, weight_of, "weight")
        statement = self.statement.model_copy(update={"weights": path.name})
        notes = (*self.notes, f"stated errors and limits are from before the weights of {path.name}")
        weights = tuple(weight_of[name] for name in self.names)
        return replace(self, statement=statement, weights=weights, notes=notes)

    def nested_by(self, path: Path) -> "ZoneSet":
        """The zones in the outer zones of a CSV or Parquet file with the columns ``zone`` and ``parent``."""
        parent_of = read_parents(path)
        if twice := (set(self.names) | set(parent_of)).intersection(parent_of.values()):
            raise InputError(
                f"{path} names {min(twice)} as a zone and as an outer zone; give two levels, and outer zones "
                "names of their own"
            )
        self._require_each(path, parent_of, "parent")
        parents = [parent_of[name] for name in self.names]
        names = tuple(dict.fromkeys(parents))
        nested = Nested(source=path.name, n_zones=len(names), noise=OUTER_NOISE)
        note = (
            f"the noise of the {len(names)} outer zones of {path.name} is {OUTER_NOISE} times as large as "
            "that of the zones; one bound and one epsilon hold for both"
        )
        outer = self.statement.model_copy(update={"n_zones": len(names)})
        return replace(
            self,
            statement=self.statement.model_copy(update={"nested": nested}),
            outer=ZoneSet(statement=outer, plane=self.plane, names=names, shapes=()),
            parents=_positions(parents, names),
            notes=(*self.notes, note),
        )

    def _require_each(self, path: Path, named: Collection[str], what: str) -> None:
        further, absent = set(named) - set(self.names), set(self.names) - set(named)
        if further or absent:
            wrong = f"names {min(further)}, which is no zone" if further else f"lacks the zone {min(absent)}"
            raise InputError(f"{path} {wrong}; give each zone of the table one {what}")

    def locate(self, x: Integers, y: Integers) -> Integers:
        """The zone of each position in whole meters of the plane, int64 [n]; -1 = outside."""
        facts = self.statement
        if facts.kind == "grid":
            x0, y0, side = facts.x0 or 0, facts.y0 or 0, facts.side_m or 1
            columns, rows = facts.columns or 0, facts.rows or 0
            column, row = (x - x0) // side, (y - y0) // side
            inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
            return np.where(inside, row * columns + column, OUTSIDE)
        west, south = x.min(initial=0), y.min(initial=0)
        spread = y.max(initial=0) - south + 1
        places, back = np.unique((x - west) * spread + y - south, return_inverse=True)
        find = {"polygons": self._in_polygon, "h3": self._in_h3, "cells": self._at_cell}[facts.kind]
        return find(places // spread + west, places % spread + south)[back]

    def _in_polygon(self, x: Integers, y: Integers) -> Integers:
        points = shapely.points(*transform(self.plane or "", self.statement.crs or "", x + _HALF, y + _HALF))
        hits = shapely.STRtree(self.shapes).query(points, predicate="intersects")
        zone = np.full(len(points), len(self.shapes))
        np.minimum.at(zone, hits[0], hits[1])
        return np.where(zone < len(self.shapes), zone, OUTSIDE)

    def _in_h3(self, x: Integers, y: Integers) -> Integers:
        import h3

        lon, lat = transform(self.plane or "", WGS84, x + _HALF, y + _HALF)
        cells = (h3.latlng_to_cell(*at, self.statement.resolution) for at in zip(lat, lon, strict=True))
        return _positions(cells, self.names)

    def _at_cell(self, x: Integers, y: Integers) -> Integers:
        places = zip(x.tolist(), y.tolist(), strict=True)
        return _positions(places, _cell_places(self.shapes, self.plane or ""))


def _weight(text: str) -> float:
    weight = float(text)
    if not 0 < weight < np.inf:
        raise ValueError(text)
    return weight


def _positions(places: Iterable[Any], known: Sequence[Any]) -> Integers:
    number = {place: index for index, place in enumerate(known)}
    return np.array([number.get(place, OUTSIDE) for place in places], dtype=np.int64)


def grid_zones(side_m: float, area: Area, plane: str | None = None) -> ZoneSet:
    """Squares that cover an area.

    Parameters
    ----------
    side_m : float
        Side in whole meters.
    area : tuple of float
        West, south, east, north in degrees; in meters of the plane if ``plane`` is "local".
    plane : str or None
        The plane for the squares; None = an equal-area plane around the area.

    Returns
    -------
    ZoneSet
        Row by row from the southwest.

    Raises
    ------
    MisuseError
        For a side or an area that cannot work.

    Examples
    --------
    >>> zones = grid_zones(2000, (2.3, 48.8, 2.35, 48.83))
    >>> len(zones.names), zones.names[0]
    (4, 'r0c0')
    """
    if side_m != int(side_m) or side_m < 1:
        raise MisuseError(f"--grid {side_m:g}m must be a whole number of meters, for example 2km")
    side = int(side_m)
    require_area(area, degrees=plane != LOCAL)
    crs = None if plane == LOCAL else plane or plane_of(area)
    if crs is not None and not is_plane_in_meters(crs):
        raise MisuseError(f"--plane {crs} counts no meters eastward and northward; try for example EPSG:3035")
    west, south, east, north = area if crs is None else _bounds_on(crs, area)
    x0, y0 = int(np.floor(west)), int(np.floor(south))
    columns, rows = max(1, int(-(-(east - x0) // side))), max(1, int(-(-(north - y0) // side)))
    n = columns * rows
    require_zones(n)
    row, column = np.divmod(np.arange(n), columns)
    left, low = x0 + column * side, y0 + row * side
    statement = Zones(kind="grid", n_zones=n, crs=crs, side_m=side, x0=x0, y0=y0, columns=columns, rows=rows)
    return ZoneSet(
        statement=statement,
        plane=crs,
        names=tuple(f"r{r}c{c}" for r in range(rows) for c in range(columns)),
        shapes=shapely.box(left, low, left + side, low + side),
    )


def h3_zones(resolution: int, area: Area) -> ZoneSet:
    """The H3 cells with their centers in an area.

    Parameters
    ----------
    resolution : int
        0 to 15; 8 has cells of some 0.7 square kilometers.
    area : tuple of float
        West, south, east, north in degrees.

    Returns
    -------
    ZoneSet
        In the order of their names.

    Raises
    ------
    MisuseError
        For an area without cells, or with too many.
    MissingExtraError
        Without the library h3.
    """
    with requiring_extra("--h3 needs h3", "zones", of="shoal-tables"):
        import h3
    require_area(area)
    if not 0 <= resolution <= 15:
        raise MisuseError(f"--h3 {resolution} is no resolution; choose 0 to 15, for example 8")
    west, south, east, north = area
    square_km = (east - west) * (north - south) * 111.2**2 * np.cos(np.radians((south + north) / 2))
    require_zones(int(square_km / h3.average_hexagon_area(resolution)))
    rectangle = h3.LatLngPoly([(south, west), (south, east), (north, east), (north, west)])
    names = tuple(sorted(h3.polygon_to_cells(rectangle, resolution)))
    if not names:
        raise MisuseError(
            f"--area holds the center of no H3 cell of resolution {resolution}; choose a finer one"
        )
    rings = [[(lon, lat) for lat, lon in h3.cell_to_boundary(name)] for name in names]
    return ZoneSet(
        statement=Zones(kind="h3", n_zones=len(names), crs=WGS84, resolution=resolution),
        plane=plane_of(area),
        names=names,
        shapes=np.array([shapely.Polygon(ring) for ring in rings], dtype=object),
    )


def polygon_zones(path: Path, name_column: str | None = None) -> ZoneSet:
    """The polygons of a file: GeoJSON, GeoPackage, Shapefile, FlatGeobuf.

    Parameters
    ----------
    path : Path
        The file.
    name_column : str or None
        The column with a name for each polygon; None = recognized (zone, id, code, name).

    Returns
    -------
    ZoneSet
        In the order of the file; its notes say which gaps lie between them.

    Raises
    ------
    InputError
        For a file that cannot be read, an unknown coordinate system, overlaps, names that repeat.
    MissingExtraError
        Without the library pyogrio.
    """
    try:
        with one_driver(path) as (pyogrio, place):
            about, _, wkb, columns = pyogrio.raw.read(place)
        shapes = shapely.from_wkb(wkb)
    except (ValueError, RuntimeError, OSError, shapely.GEOSException) as error:
        raise InputError(
            f"{path} is no file of polygons that GDAL reads; give GeoJSON or GeoPackage"
        ) from error
    require_zones(len(shapes), str(path))
    if about["crs"] is None:
        raise InputError(
            f"{path} does not name its coordinate system; write it again with one, e.g. EPSG:4326"
        )
    names = _names(path, dict(zip(about["fields"], columns, strict=True)), name_column)
    fine = np.isin(shapely.get_type_id(shapes), (3, 6)) & shapely.is_valid(shapes) & ~shapely.is_empty(shapes)
    if not fine.all():
        raise InputError(
            f"zone {int(np.argmin(fine)) + 1} of {path} is no valid polygon; repair it, e.g. with QGIS: "
            "Fix geometries"
        )
    _require_apart(path, shapes, names)
    n, crs, digest = len(names), about["crs"], sha256_of(path)
    parts = shapely.get_parts(shapely.union_all(shapes))
    holes = sum(int(shapely.get_num_interior_rings(part)) for part in parts)
    gaps = (f"the zones leave {holes} gaps between them; people there count in no zone",) if holes else ()
    return ZoneSet(
        statement=Zones(kind="polygons", n_zones=n, crs=crs, source=path.name, source_sha256=digest),
        plane=plane_of(transform_bounds(crs, WGS84, *shapely.total_bounds(shapes).tolist())),
        names=names,
        shapes=shapes,
        notes=gaps,
    )


def cell_zones(path: Path) -> ZoneSet:
    """The cells of a mobile network, for rows that name a cell.

    Parameters
    ----------
    path : Path
        A table of cells with positions in degrees, as ``shoal.read`` takes it.

    Returns
    -------
    ZoneSet
        In the order of the file; of several cells at one place only the first.

    Raises
    ------
    InputError
        For a table without positions.
    """
    row_of, places = read_cells(Reading(cells=str(path)))
    names, rows = map(list, zip(*sorted(row_of.items(), key=lambda item: item[1]), strict=True))
    lon, lat = places.lon[rows], places.lat[rows]
    require_zones(len(names), str(path))
    plane = plane_of((lon.min(), lat.min(), lon.max(), lat.max()))
    points = shapely.points(lon, lat)
    first = np.sort(np.unique(_cell_places(points, plane), axis=0, return_index=True)[1]).tolist()
    n, merged, digest = len(first), len(names) - len(first), sha256_of(path)
    return ZoneSet(
        statement=Zones(kind="cells", n_zones=n, crs=WGS84, source=path.name, source_sha256=digest),
        plane=plane,
        names=tuple(names[index] for index in first),
        shapes=points[first],
        notes=(f"{merged} cells stand where another one stands and count as that one",) if merged else (),
    )


def plane_of(area: Area) -> str:
    """An equal-area plane around an area in degrees."""
    west, south, east, north = area
    return equal_area_plane(np.array([west, east]), np.array([south, north]))


def require_area(area: Sequence[float], *, degrees: bool = True) -> None:
    """Raise MisuseError unless west < east and south < north, in range."""
    west, south, east, north = area
    limit = (180, 90) if degrees else (1e8, 1e8)
    if not (-limit[0] <= west < east <= limit[0] and -limit[1] <= south < north <= limit[1]):
        edges, unit = ",".join(f"{edge:g}" for edge in area), "degrees" if degrees else "meters"
        raise MisuseError(f"--area {edges} is no area; write west,south,east,north in {unit}")


def require_zones(number: int, where: str = "the area") -> None:
    """Raise MisuseError for no zones, or too many."""
    if not 1 <= number <= MOST_ZONES:
        raise MisuseError(
            f"{where} has {number:,} zones; a table takes 1 to {MOST_ZONES:,}, so choose larger zones or a "
            "smaller --area"
        )


def _bounds_on(crs: str, area: Area) -> Area:
    west, south, east, north = area
    corners = transform(WGS84, crs, np.tile([west, east], 2), np.repeat([south, north], 2))
    if not np.isfinite(corners).all():
        raise MisuseError(f"--area does not lie on the plane {crs}; choose another --plane")
    return transform_bounds(WGS84, crs, *area)


def _cell_places(points: Any, plane: str) -> list[tuple[int, int]]:
    x, y = transform(WGS84, plane, shapely.get_x(points), shapely.get_y(points))
    return list(zip(np.floor(x).astype(int).tolist(), np.floor(y).astype(int).tolist(), strict=True))


def _names(path: Path, columns: dict[str, Any], wanted: str | None) -> tuple[str, ...]:
    if wanted is not None and wanted not in columns:
        raise InputError(
            f"{path} has no column '{wanted}'; --zone-name is one of {', '.join(columns) or 'none'}"
        )
    by_name = {name.lower(): name for name in columns}
    column = wanted or next((by_name[name] for name in _NAMES if name in by_name), None)
    if column is None:
        raise InputError(f"{path} has no column that names its zones; name one with --zone-name")
    names = tuple(str(value) for value in columns[column])
    if len(set(names)) < len(names) or not all(names):
        raise InputError(
            f"column '{column}' of {path} repeats names or leaves them empty; choose --zone-name"
        )
    return names


def _require_apart(path: Path, shapes: Any, names: Sequence[str]) -> None:
    first, second = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    first, second = first[first < second], second[first < second]
    shared = shapely.area(shapely.intersection(shapes[first], shapes[second]))
    allowed = _OVERLAP * np.minimum(shapely.area(shapes[first]), shapely.area(shapes[second]))
    if (shared > allowed).any():
        worst = int(np.argmax(shared - allowed))
        raise InputError(
            f"zones '{names[first[worst]]}' and '{names[second[worst]]}' of {path} overlap; people there "
            "would count in one of them by chance of the order, so mend the polygons"
        )
