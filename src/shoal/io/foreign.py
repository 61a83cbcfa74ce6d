"""A file that another tool published, with places and times, exact or as ranges; no row is dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, MisuseError
from shoal.io.columns.cell_codes import CellCodes, cells_of, system_of
from shoal.io.columns.foreign_columns import ROLES, ColumnChoice, choose_columns, find_date_column
from shoal.io.columns.meanings import divisor
from shoal.io.columns.times import Times
from shoal.io.columns.value_ranges import Ranges, number_ranges, time_ranges
from shoal.io.columns.values import Names, plain, points
from shoal.io.formats.input_table import Table
from shoal.io.sources.openers import openers
from shoal.model.intake import Reading
from shoal.model.projection import is_geographic
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.units import counted

Places = Literal["degrees", "meters", "h3"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Axis:
    """From and to of each row, float64 [n]; equal for a single value."""

    low: Floats
    high: Floats

    @property
    def single(self) -> Flags:
        """Whether each row has a single value, bool [n]."""
        return np.asarray(self.low == self.high)

    def take(self, rows: Any) -> "Axis":
        """These rows."""
        return Axis(low=self.low[rows], high=self.high[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class Foreign:
    """The content of a published file.

    records: names in the order of their first rows; the rows themselves without a column of names. record:
    int64 [n]. t: seconds. first, second: degrees (longitude, latitude) or meters; of H3 cells, their
    numbers and nothing. corners: of H3 cells, in degrees. finest: level of H3. columns: by role. rest: the
    other columns, of all rows. unreadable: rows left out.
    """

    name: str
    records: tuple[str, ...]
    record: Integers
    has_ids: bool
    t: Axis
    first: Axis
    second: Axis
    places: Places
    columns: Mapping[str, str]
    rest: pa.Table
    crs: str | None = None
    corners: tuple[Axis, Axis] | None = None
    finest: int = 0
    unreadable: int = 0
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of readable rows."""
        return len(self.record)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Places:
    """Axes as in Foreign, and the readable rows."""

    first: Axis
    second: Axis
    places: Places
    readable: Flags
    crs: str | None = None
    corners: tuple[Axis, Axis] | None = None
    finest: int = 0


@typed
@dataclass(frozen=True, kw_only=True)
class FileLayout:
    """How a published file is laid out, where that cannot be recognized.

    Parameters
    ----------
    columns
        Columns by role (id, time, time-end, lat, lon, lat-max, lon-max, x, y, x-max, y-max, cell, geometry).
    crs
        The system of planar x and y.
    row_order
        Whether row i was made from row i of the raw data.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    crs: str | None = None
    row_order: bool = False


def read_foreign(source: object, layout: FileLayout, time_zone: str | None = None) -> Foreign:
    """Read a published file from any source of ``shoal.read``; time_zone: None = UTC."""
    unknown = sorted(set(layout.columns) - set(ROLES))
    if unknown:
        raise MisuseError(f"'{unknown[0]}' is no part of a published file; choose from {', '.join(ROLES)}")
    name, waiting = openers(source, Reading())
    tables = [opener() for opener in waiting]
    if not tables:
        raise InputError(f"there is nothing to read in {name}")
    chosen = choose_columns(tables[0], layout.columns)
    date = find_date_column(tables[0], chosen, layout.columns)
    others = [one for one in tables[0].columns if one not in chosen.by_role.values()]
    data = _read_all(name, tables, [*chosen.by_role.values(), *others])
    rest = data.select(others)
    if date:
        data = _with_hours(data, date, chosen)
    if not data.num_rows:
        raise InputError(f"{name} holds no rows, only column names")
    clock = Times(None, zone=time_zone)
    t = _axis(chosen, data, "time", "time-end", clock)
    where = _places(name, tables[0], chosen, data, layout.crs)
    readable = t.readable & where.readable
    names = Names()
    if "id" in chosen.by_role:
        code = names.codes(
            _column(data, chosen.by_role["id"]), f"column '{chosen.by_role['id']}' of {name}"
        ).astype(np.int64)
        lost = code < 0
        if lost.any():
            chosen.notes.append(
                f"{counted(int(lost.sum()), 'row has', 'rows have')} no id; each is taken as a record of "
                "its own"
            )
            code[lost] = len(names.texts) + np.arange(int(lost.sum()))
        texts = [*names.texts, *(f"row {row + 1}" for row in np.flatnonzero(lost).tolist())]
    else:
        code, texts = np.arange(data.num_rows), [f"row {row + 1}" for row in range(data.num_rows)]
    usable = np.flatnonzero(readable)
    if not len(usable):
        raise InputError(f"no row of {name} has a place and a time that can be read; name columns with --as")
    present, record = np.unique(code[usable], return_inverse=True)
    return Foreign(
        name=name,
        records=tuple(texts[one] for one in present.tolist()),
        record=record.astype(np.int64),
        has_ids="id" in chosen.by_role,
        t=Axis(low=t.low[usable], high=t.high[usable]),
        first=where.first.take(usable),
        second=where.second.take(usable),
        places=where.places,
        crs=where.crs,
        corners=None
        if where.corners is None
        else (where.corners[0].take(usable), where.corners[1].take(usable)),
        finest=where.finest,
        columns=dict(chosen.by_role),
        rest=rest,
        unreadable=data.num_rows - len(usable),
        notes=(*chosen.notes, *clock.notes()),
    )


def _read_all(name: str, tables: Sequence[Table], columns: Sequence[str]) -> pa.Table:
    batches = [
        pa.Table.from_batches([batch])
        for table in tables
        for _, batch in table.batches(list(dict.fromkeys(columns)))
    ]
    lost = sum(rows for table in tables for rows in table.unreadable.values())
    if lost:
        raise InputError(
            f"{lost:,} lines of {name} are broken, and a published row must not be left out; mend them"
        )
    if not batches:
        raise InputError(f"{name} holds no rows")
    try:
        return pa.concat_tables(batches, promote_options="permissive").combine_chunks()
    except pa.ArrowException as error:
        raise InputError(
            f"the files of {name} hold different types in one column; check them apart"
        ) from error


def _column(data: pa.Table, name: str) -> pa.Array:
    column = data[name]
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _with_hours(data: pa.Table, date: str, chosen: ColumnChoice) -> pa.Table:
    """13 of 2024-05-01 is 2024-05-01 13."""
    hour = chosen.by_role["time"]
    column = plain(_column(data, hour))
    try:
        hours = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return data  # the column holds whole times
    if pc.any(pc.or_(pc.less(hours, 0), pc.greater(hours, 23))).as_py():
        return data
    days = plain(_column(data, date))
    if pa.types.is_timestamp(days.type):
        days = days.cast(pa.date32(), safe=False)
    texts = pc.binary_join_element_wise(
        days.cast(pa.string()), pc.utf8_lpad(hours.cast(pa.string()), 2, "0"), " "
    )
    chosen.notes.append(f"hours in '{hour}' are joined with the dates in '{date}'")
    return data.set_column(data.column_names.index(hour), hour, texts)


def _axis(chosen: ColumnChoice, data: pa.Table, start: str, end: str, clock: Times | None) -> Ranges:
    if start not in chosen.by_role:
        n = data.num_rows
        return Ranges(low=np.full(n, -np.inf), high=np.full(n, np.inf), readable=np.ones(n, dtype=np.bool_))

    def read(role: str) -> Ranges:
        where = f"column '{chosen.by_role[role]}'"
        column = _column(data, chosen.by_role[role])
        return number_ranges(column, where) if clock is None else time_ranges(column, clock, where)

    one = read(start)
    if end not in chosen.by_role:
        return one
    other = read(end)
    readable = one.readable & other.readable & (one.low <= other.high)
    return Ranges(
        low=one.low, high=np.nextafter(other.high, np.inf), readable=readable
    )  # both ends are part of it


def _places(name: str, table: Table, chosen: ColumnChoice, data: pa.Table, crs: str | None) -> _Places:
    if "lat" in chosen.by_role:
        lon, lat = (_axis(chosen, data, role, f"{role}-max", None) for role in ("lon", "lat"))
        sides = []
        for role, one in (("lon", lon), ("lat", lat)):
            scale = divisor(chosen.by_role[role], angle=True)
            sides.append(Axis(low=one.low / scale, high=one.high / scale))
        return _Places(
            first=sides[0], second=sides[1], places="degrees", readable=lon.readable & lat.readable
        )
    if "cell" in chosen.by_role:
        return _of_cells(name, chosen, data)
    if "x" in chosen.by_role:
        x, y = (_axis(chosen, data, role, f"{role}-max", None) for role in ("x", "y"))
        if crs is not None and is_geographic(crs):
            raise MisuseError(
                f"'{crs}' counts in degrees; name the columns with --as lat=... and --as lon=..."
            )
        axes = [Axis(low=one.low, high=one.high) for one in (x, y)]
        return _Places(
            first=axes[0], second=axes[1], places="meters", readable=x.readable & y.readable, crs=crs
        )
    if "geometry" in chosen.by_role:
        return _of_geometry(name, table, chosen, data)
    everywhere = _axis(chosen, data, "lat", "lat-max", None)
    chosen.notes.append("no column of places was recognized: each row may be anywhere")
    axis = Axis(low=everywhere.low, high=everywhere.high)
    return _Places(first=axis, second=axis, places="degrees", readable=everywhere.readable)


def _of_cells(name: str, chosen: ColumnChoice, data: pa.Table) -> _Places:
    column = _column(data, chosen.by_role["cell"])
    names = Names()
    code = names.codes(column, f"column '{chosen.by_role['cell']}' of {name}")
    texts = names.texts
    if pa.types.is_integer(plain(column).type):
        texts = [f"{int(text):x}" for text in texts]
    texts = [text.strip() for text in texts]
    everywhere = [place for place, text in enumerate(texts) if text == "*"]
    cell_codes = [text for text in texts if text != "*"]
    system = system_of(cell_codes)
    if system is None:
        example = cell_codes[0][:20] if cell_codes else "nothing"
        raise InputError(
            f"the cells in column '{chosen.by_role['cell']}' of {name}, such as {example}, are neither "
            "geohashes nor cells of H3; give their places as columns, or name others with --as"
        )
    cells: CellCodes = cells_of(system, cell_codes)
    place_of = np.full(len(texts) + 1, -1, dtype=np.int64)
    place_of[[place for place in range(len(texts)) if place not in set(everywhere)]] = np.arange(
        len(cell_codes)
    )
    rows = place_of[code]
    whole = rows < 0

    def axis(low: Floats, high: Floats) -> Axis:
        return Axis(low=np.where(whole, -np.inf, low[rows]), high=np.where(whole, np.inf, high[rows]))

    lon, lat = axis(cells.west, cells.east), axis(cells.south, cells.north)
    readable = np.ones(len(rows), dtype=np.bool_)
    chosen.notes.append(
        f"column '{chosen.by_role['cell']}' holds {'geohashes' if system == 'geohash' else 'H3 cells'}"
    )
    if cells.low is None or cells.high is None:
        return _Places(first=lon, second=lat, places="degrees", readable=readable)
    nothing = Axis(low=np.full(len(rows), -np.inf), high=np.full(len(rows), np.inf))
    return _Places(
        first=axis(cells.low, cells.high),
        second=nothing,
        places="h3",
        readable=readable,
        corners=(lon, lat),
        finest=cells.finest,
    )


def _of_geometry(name: str, table: Table, chosen: ColumnChoice, data: pa.Table) -> _Places:
    column = _column(data, chosen.by_role["geometry"])
    crs = table.geometry.crs if table.geometry is not None else None
    angles = crs is None or is_geographic(crs)
    kind: Places = "degrees" if angles else "meters"
    plane = None if angles else crs
    x, y, readable = points(column)
    if readable.all():
        one, other = Axis(low=x, high=x), Axis(low=y, high=y)
        return _Places(first=one, second=other, places=kind, readable=readable, crs=plane)
    try:
        import shapely
    except ImportError as error:
        from shoal.errors import MissingExtraError

        raise MissingExtraError(
            f"{name} holds shapes that are no points, which need shapely; install it with: pip install "
            "'shoal[geo]'"
        ) from error
    raw = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
    shapes = shapely.from_wkb(raw.to_pylist(), on_invalid="ignore")
    bounds = shapely.bounds(shapes)
    sound = np.isfinite(bounds).all(axis=1)
    rectangle = shapely.area(shapes) >= shapely.area(shapely.box(*bounds.T)) * (1 - 1e-9)
    if not rectangle[sound].all():
        chosen.notes.append(
            f"{int((~rectangle[sound]).sum()):,} shapes are no rectangles; each is taken as the "
            "rectangle around it"
        )
    west, south, east, north = np.ascontiguousarray(bounds.T)
    one, other = Axis(low=west, high=east), Axis(low=south, high=north)
    return _Places(first=one, second=other, places=kind, readable=sound, crs=plane)
