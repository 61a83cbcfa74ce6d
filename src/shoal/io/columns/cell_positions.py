"""Records that name a cell of a mobile network, or a zone, instead of a position.

A table of cells with positions or footprints completes them. A record stands at the center of its cell's
footprint; the account tells how large the footprints are.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, MissingExtraError, MisuseError
from shoal.io.columns.column_names import CELLS, column_called, find_column, usual_columns
from shoal.io.columns.place_text import read_place_text
from shoal.io.columns.presets import apply_preset, fill
from shoal.io.columns.values import Names, is_text, numbers, plain, stored, with_columns
from shoal.io.formats import gis_files
from shoal.io.formats.input_table import Table, reshape
from shoal.io.sources.openers import openers
from shoal.io.toml_tables import TABLES
from shoal.messages import say
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, is_geographic, transform
from shoal.runtime.arrays import Floats
from shoal.units import counted, show_m

_USUAL: Final = TABLES["column_names"]["cells"]
_METERS_PER_DEGREE: Final = 111_195.0  # of the mean sphere: an extent is told to two digits
_POLYGON: Final = b'Polygon"'


class Places(NamedTuple):
    """Cells, float64 [n]: center in degrees, extent in meters (nan = unknown)."""

    lon: Floats
    lat: Floats
    width_m: Floats
    height_m: Floats


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The columns of a table of cells that give positions."""

    area: str = ""  # of polygons, in the system crs
    crs: str = WGS84
    bounds: tuple[str, ...] = ()  # west, south, east, north
    center: tuple[str, ...] = ()  # longitude and latitude
    sides: tuple[str, ...] = ()  # width and height
    radius: str = ""  # half of both

    def wanted(self) -> list[str]:
        """All columns to read."""
        return list(filter(None, [self.area, *self.bounds, *self.center, *self.sides, self.radius]))


def layout_of(table: Table) -> Layout:
    """The columns of positions of a table; raises InputError without any."""
    named = [usual_columns(table, role) for role in ("lon", "lat")]
    centers = tuple(names[0] for names in named) if all(len(names) == 1 for names in named) else ()
    if table.geometry is not None:
        if table.geometry.crs is None:
            raise InputError(f"{table.name} does not say of which reference system its geometry is")
        if not centers:
            return Layout(area=table.geometry.column, crs=table.geometry.crs)
    elif area := column_called(table.columns, _USUAL["areas"]):
        return Layout(area=area)
    for corners in _USUAL["corners"]:
        bounds = tuple(column_called(table.columns, [corner]) for corner in corners)
        if all(bounds):
            return Layout(bounds=bounds)
    if not centers:
        raise InputError(
            f"{table.name} needs one column of latitudes and one of longitudes, called lat and lon, or "
            "footprints: polygons, or lon_min, lat_min, lon_max and lat_max "
            f"(found: {', '.join(table.columns[:30])})"
        )
    sides = tuple(column_called(table.columns, names) for names in _USUAL["sides"])
    if all(sides):
        return Layout(center=centers, sides=sides)
    return Layout(center=centers, radius=column_called(table.columns, _USUAL["radius"]))


def read_places(batch: pa.RecordBatch, layout: Layout, where: str) -> Places:
    """The places of these cells; nan if unreadable."""
    if layout.area:
        west, south, east, north = _bounds_of(batch.column(layout.area), where)
        return _between(layout.crs, west, south, east, north)
    if layout.bounds:
        return _between(WGS84, *(numbers_in(batch, name, where) for name in layout.bounds))
    lon, lat = (numbers_in(batch, name, where) for name in layout.center)
    width_m = height_m = np.full(len(lon), np.nan)
    if layout.sides:
        width_m, height_m = (_lengths(batch, name, where) for name in layout.sides)
    elif layout.radius:
        width_m = height_m = 2 * _lengths(batch, layout.radius, where)
    return Places(lon, lat, width_m, height_m)


def numbers_in(batch: pa.RecordBatch, name: str, where: str) -> Floats:
    """A column as numbers; nan if unreadable. where: the file."""
    return numbers(batch.column(name), f"column '{name}' of {where}")[0]


def _lengths(batch: pa.RecordBatch, name: str, where: str) -> Floats:
    lengths = numbers_in(batch, name, where)
    return np.where(np.isfinite(lengths) & (lengths >= 0), lengths, np.nan)


def _between(crs: str, west: Floats, south: Floats, east: Floats, north: Floats) -> Places:
    sound = (west <= east) & (south <= north)
    x, y = (np.where(sound, (low + high) / 2, np.nan) for low, high in ((west, east), (south, north)))
    width, height = east - west, north - south
    if not is_geographic(crs):
        return Places(*transform(crs, WGS84, x, y), width, height)
    return Places(x, y, width * _METERS_PER_DEGREE * np.cos(np.radians(y)), height * _METERS_PER_DEGREE)


def _bounds_of(column: pa.Array, where: str) -> tuple[Floats, Floats, Floats, Floats]:
    try:
        import shapely
    except ImportError as error:
        raise MissingExtraError(
            f"the footprints in {where} are polygons; to read them: pip install 'shoal[geo]'"
        ) from error
    column = stored(column)
    texts: Any = plain(column) if is_text(column.type) else column
    read = shapely.from_wkt if is_text(column.type) else shapely.from_wkb
    shapes = read(np.array(texts.to_pylist(), dtype=object), on_invalid="ignore")
    west, south, east, north = shapely.bounds(shapes).T
    return west, south, east, north


UNKNOWN: Final = say("row.unknown_cell", "cell that is not in the table of cells")
CENTERED: Final = say("row.centered", "records at the center of their cell's footprint")


def prepare_table(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """The table as a preset and a file of cells complete it, and the settings."""
    table, reading = apply_preset(table, reading)
    reading = fill(reading, {name: table.settings[name] for name in table.settings.keys() - {"preset"}})
    return (read_place_text(table, reading), reading) if reading.cells is None else join_cells(table, reading)


def join_cells(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """Add columns ``lat`` and ``lon`` of the cell of each record; unknown cells are counted."""
    if any(getattr(reading, role) not in {None, role} for role in ("lat", "lon")) or reading.x or reading.y:
        raise MisuseError(
            "positions come from the table of cells; leave out --cells, or the columns of positions"
        )
    place = _cell_column(table, reading.cell_id, but=reading.id)
    row_by_name, cells = read_cells(reading)
    extended = np.isfinite(cells.width_m) & np.isfinite(cells.height_m)

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        batch_names = Names()
        code = batch_names.codes(batch.column(place), f"column '{place}' of {table.name}")
        row_of = np.array([*(row_by_name.get(text, -1) for text in batch_names.texts), -1], dtype=np.int64)
        rows = row_of[code]
        is_known = rows >= 0
        lost = len(is_known) - int(np.count_nonzero(is_known))
        if lost:
            table.unreadable[UNKNOWN] += lost
            batch, rows = batch.filter(pa.array(is_known)), rows[is_known]
        table.repaired[CENTERED] += int(np.count_nonzero(extended[rows]))
        return with_columns(batch, {"lat": pa.array(cells.lat[rows]), "lon": pa.array(cells.lon[rows])})

    text = "positions are those of the cells in column '{column}'"
    table.notes.append(say("reading.cells", text, column=place))
    extents = np.sort(np.maximum(cells.width_m, cells.height_m)[extended])  # of all cells: of nobody's places
    if len(extents):
        middle, most = extents[len(extents) // 2], extents[-1]
        median, widest, beyond = (show_m(float(f"{extent:.2g}")) for extent in (middle, most, most / 2))
        text = (
            "records stand at the center of their cell's footprint, as if it were a point; the footprints in "
            "the table are {median} wide or high (median; {most} at most). A box of a release holds that "
            "center; somebody may have been up to {beyond} beyond it on each axis. Choose a --cell of about "
            "the footprints' width, so that boxes do not look finer than the records are"
        )
        table.notes.append(say("reading.footprints", text, median=median, most=widest, beyond=beyond))
    placed = replace(reshape(table, ("lat", "lon"), (place,), change), numbered=False)
    return placed, replace(reading, lat="lat", lon="lon")


def read_cells(reading: Reading) -> tuple[dict[str, int], Places]:
    """The row of each cell in the table that ``reading.cells`` names, and the places of all rows."""
    path = Path(str(reading.cells))
    if not path.exists():
        raise InputError(f"no table of cells {path.name}; give its path with --cells")
    name, waiting = openers(path, Reading())
    may_hold_areas = path.is_file() and path.suffix.lower() in {".geojson", ".json"}
    if may_hold_areas and _POLYGON in path.read_bytes():  # which need a geometry library
        name, waiting = path.name, [partial(gis_files.open_table, path, Reading())]
    names = Names()
    codes, places = [], []
    for opener in waiting:
        cells = opener()
        place = _cell_column(cells, None)
        layout = layout_of(cells)
        for _, batch in cells.batches(list(dict.fromkeys([place, *layout.wanted()]))):
            codes.append(names.codes(batch.column(place), f"column '{place}' of {cells.name}"))
            places.append(read_places(batch, layout, cells.name))
    if not codes:
        raise InputError(f"the table of cells {name} holds no rows")
    code = np.concatenate(codes)
    every = Places(*map(np.concatenate, zip(*places, strict=True)))
    sound = np.flatnonzero(np.isfinite(every.lat) & np.isfinite(every.lon) & (code >= 0))
    if not sound.size:
        raise InputError(f"no row of the table of cells {name} tells where its cell is")
    row_of = {names.texts[code[row]]: row for row in sound.tolist()}
    values = np.stack(every, axis=1)
    last = values[[row_of[names.texts[cell]] for cell in code[sound]]]
    same = (values[sound] == last) | (np.isnan(values[sound]) & np.isnan(last))
    if moved := int(np.count_nonzero(~same.all(axis=1))):
        raise InputError(
            f"{counted(moved, 'cell')} of {name} {'stands' if moved == 1 else 'stand'} at two "
            "places; keep one position for each cell"
        )
    return row_of, every


def _cell_column(table: Table, requested: str | None, but: str | None = None) -> str:
    if requested is not None:
        return find_column(table, requested)
    if usual := column_called([column for column in table.columns if column != but], (*CELLS, "id")):
        return usual
    raise InputError(
        f"no column of cells in {table.name} (found: {', '.join(table.columns[:30])}); name it with --cell-id"
    )
