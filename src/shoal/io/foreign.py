"""A file that another tool published, with places and times, exact or as ranges; no row is dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, MisuseError, requiring_extra
from shoal.io.columns.cell_codes import CellCodes, cells_of, system_of
from shoal.io.columns.column_names import NAMES, column_called, find_column, repeated
from shoal.io.columns.meanings import divisor
from shoal.io.columns.times import Times, with_date
from shoal.io.columns.value_ranges import Axis, Ranges, number_ranges, time_ranges
from shoal.io.columns.values import Names, plain, points, stored
from shoal.io.formats.input_table import Table
from shoal.io.formats.row_files import explain_damage
from shoal.io.sources.openers import openers
from shoal.io.toml_tables import TABLES
from shoal.model.intake import Reading
from shoal.model.projection import is_geographic
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.units import counted

ROLES: Final[Mapping[str, Sequence[str]]] = {
    role: (*NAMES.get(role, ()), *names) for role, names in TABLES["column_names"]["published"].items()
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Where each row is."""

    first: Axis  # longitudes or x; of H3 cells, their numbers
    second: Axis  # latitudes or y; of H3 cells, nothing
    places: Literal["degrees", "meters", "h3"]
    crs: str | None = None
    corners: tuple[Axis, Axis] | None = None  # of H3 cells, in degrees
    finest: int = 0  # level of H3

    def take(self, rows: Any) -> Self:
        """These rows."""
        corners = self.corners and (self.corners[0].take(rows), self.corners[1].take(rows))
        return replace(self, first=self.first.take(rows), second=self.second.take(rows), corners=corners)


@dataclass(frozen=True, eq=False, kw_only=True)
class Foreign(Places):
    """The content of a published file."""

    name: str
    # in the order of their first rows; the rows themselves without a column of names
    records: tuple[str, ...]
    record: Integers  # of each row
    has_ids: bool
    t: Axis  # seconds
    columns: Mapping[str, str]  # by role
    rest: pa.Table  # the other columns, of all rows
    unreadable: int = 0  # rows left out
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of readable rows."""
        return len(self.record)


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
    roles, notes = _choose_columns(tables[0], layout.columns)
    date = ""
    if "time" not in layout.columns and roles.get("time", "").strip().lower() == "hour":
        date = column_called(tables[0].columns, ("date", "day"))
    others = [one for one in tables[0].columns if one not in roles.values()]
    data = _read_all(name, tables, [*roles.values(), *others])
    rest = data.select(others)
    if date:
        data = _with_hours(data, date, roles["time"], notes)
    if not data.num_rows:
        raise InputError(f"{name} holds no rows, only column names")
    clock = Times(None, zone=time_zone)
    t = _axis(roles, data, "time", "time-end", clock)
    where, located = _places(name, tables[0], roles, notes, data, layout.crs)
    names = Names()
    code = np.full(data.num_rows, -1)
    if ids := roles.get("id"):
        code = names.codes(data[ids].combine_chunks(), f"column '{ids}' of {name}").astype(np.int64)
    lost = np.flatnonzero(code < 0)
    if ids and lost.size:
        rows = counted(lost.size, "row has", "rows have")
        notes.append(f"{rows} no id; each is taken as a record of its own")
    code[lost] = len(names.texts) + np.arange(lost.size)
    texts = [*names.texts, *(f"row {row + 1}" for row in lost.tolist())]
    usable = np.flatnonzero(t.readable & located)
    if not len(usable):
        raise InputError(f"no row of {name} has a place and a time that can be read; name columns with --as")
    present, record = np.unique(code[usable], return_inverse=True)
    return Foreign(
        **vars(where.take(usable)),
        name=name,
        records=tuple(texts[one] for one in present.tolist()),
        record=record.astype(np.int64),
        has_ids="id" in roles,
        t=t.take(usable),
        columns=dict(roles),
        rest=rest,
        unreadable=data.num_rows - len(usable),
        notes=(*notes, *clock.notes()),
    )


def _read_all(name: str, tables: Sequence[Table], columns: Sequence[str]) -> pa.Table:
    wanted = list(dict.fromkeys(columns))
    batches = [pa.Table.from_batches([batch]) for table in tables for _, batch in table.batches(wanted)]
    lost = sum(rows for table in tables for rows in table.unreadable.values())
    if lost:
        raise InputError(
            f"{lost:,} lines of {name} are broken, and a published row must not be left out; mend them"
        )
    if not batches:
        raise InputError(f"{name} holds no rows")
    mixed = f"the files of {name} hold different types in one column; check them apart"
    with explain_damage(mixed, pa.ArrowException):
        return pa.concat_tables(batches, promote_options="permissive").combine_chunks()


def _with_hours(data: pa.Table, date: str, hour: str, notes: list[str]) -> pa.Table:
    """13 of 2024-05-01 is 2024-05-01 13."""
    column = plain(data[hour].combine_chunks())
    try:
        hours = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return data  # the column holds whole times
    if pc.any(pc.or_(pc.less(hours, 0), pc.greater(hours, 23))).as_py():
        return data
    texts = with_date(data[date].combine_chunks(), hours)
    notes.append(f"hours in '{hour}' are joined with the dates in '{date}'")
    return data.set_column(data.column_names.index(hour), hour, texts)


def _axis(roles: Mapping[str, str], data: pa.Table, start: str, end: str, clock: Times | None) -> Ranges:
    if start not in roles:
        everywhere = np.full(data.num_rows, np.inf)
        return Ranges(low=-everywhere, high=everywhere, readable=everywhere > 0)
    ends = []
    for name in (roles[role] for role in (start, end) if role in roles):
        column, where = data[name].combine_chunks(), f"column '{name}'"
        ends.append(number_ranges(column, where) if clock is None else time_ranges(column, clock, where))
    one, other = ends[0], ends[-1]
    if one is other:
        return one
    readable = one.readable & other.readable & (one.low <= other.high)
    high = np.nextafter(other.high, np.inf)  # both ends are part of it
    return Ranges(low=one.low, high=high, readable=readable)


def _places(
    name: str, table: Table, roles: Mapping[str, str], notes: list[str], data: pa.Table, crs: str | None
) -> tuple[Places, Flags]:
    """The places, and whether each row has one."""
    planar = "lat" not in roles and "x" in roles
    if "lat" not in roles and "cell" in roles:
        return _of_cells(name, roles["cell"], data, notes)
    if "lat" not in roles and "x" not in roles:
        if "geometry" in roles:
            return _of_geometry(name, table, data[roles["geometry"]].combine_chunks(), notes)
        notes.append("no column of places was recognized: each row may be anywhere")
    if planar and crs is not None and is_geographic(crs):
        raise MisuseError(f"'{crs}' counts in degrees; name the columns with --as lat=... and --as lon=...")
    sides, readable = [], np.ones(data.num_rows, dtype=np.bool_)
    for role in ("x", "y") if planar else ("lon", "lat"):
        one = _axis(roles, data, role, f"{role}-max", None)
        scale = divisor(roles[role], angle=True) if role in roles and not planar else 1.0
        sides.append(Axis(low=one.low / scale, high=one.high / scale))
        readable &= one.readable
    kind: Literal["degrees", "meters"] = "meters" if planar else "degrees"
    return Places(first=sides[0], second=sides[1], places=kind, crs=crs if planar else None), readable


def _of_cells(name: str, cell: str, data: pa.Table, notes: list[str]) -> tuple[Places, Flags]:
    column, where = data[cell].combine_chunks(), f"column '{cell}' of {name}"
    names = Names()
    code = names.codes(column, where)
    as_numbers = pa.types.is_integer(plain(column).type)
    texts = [f"{int(text):x}" if as_numbers else text.strip() for text in names.texts]
    cell_codes = [text for text in texts if text != "*"]
    system = system_of(cell_codes)
    if system is None:
        example = cell_codes[0][:20] if cell_codes else "nothing"
        raise InputError(
            f"the cells in {where}, such as {example}, are neither geohashes nor cells of H3; give their "
            "places as columns, or name others with --as"
        )
    cells: CellCodes = cells_of(system, cell_codes)
    place_of = {text: position for position, text in enumerate(cell_codes)}
    rows = np.array([*(place_of.get(text, -1) for text in texts), -1])[code]

    def axis(low: Floats, high: Floats) -> Axis:
        return Axis(low=np.where(rows < 0, -np.inf, low[rows]), high=np.where(rows < 0, np.inf, high[rows]))

    lon, lat = axis(cells.west, cells.east), axis(cells.south, cells.north)
    kind = "geohashes" if system == "geohash" else "H3 cells"
    notes.append(f"column '{cell}' holds {kind}")
    readable = np.ones(len(rows), dtype=np.bool_)
    if cells.low is None or cells.high is None:
        return Places(first=lon, second=lat, places="degrees"), readable
    nothing = Axis(low=np.full(len(rows), -np.inf), high=np.full(len(rows), np.inf))
    first = axis(cells.low, cells.high)
    h3 = Places(first=first, second=nothing, places="h3", corners=(lon, lat), finest=cells.finest)
    return h3, readable


def _of_geometry(name: str, table: Table, column: pa.Array, notes: list[str]) -> tuple[Places, Flags]:
    crs = table.geometry.crs if table.geometry is not None else None
    planar = crs is not None and not is_geographic(crs)
    x, y, readable = points(column)
    bounds = np.stack([x, y, x, y])
    if not readable.all():
        with requiring_extra(f"{name} holds shapes that are no points, which need shapely", "geo"):
            import shapely
        shapes = shapely.from_wkb(stored(column).to_pylist(), on_invalid="ignore")
        bounds = np.ascontiguousarray(shapely.bounds(shapes).T)
        readable = np.asarray(np.isfinite(bounds).all(axis=0))
        rectangle = shapely.area(shapes) >= shapely.area(shapely.box(*bounds)) * (1 - 1e-9)
        if not rectangle[readable].all():
            notes.append(
                f"{int((~rectangle[readable]).sum()):,} shapes are no rectangles; each is taken as the "
                "rectangle around it"
            )
    west, south, east, north = bounds
    places: Literal["degrees", "meters"] = "meters" if planar else "degrees"
    first, second = Axis(low=west, high=east), Axis(low=south, high=north)
    return Places(first=first, second=second, places=places, crs=crs if planar else None), readable


def _choose_columns(table: Table, requested: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """By role the requested column, else that of the first usual name; and notes."""
    roles = {role: find_column(table, name) for role, name in requested.items()}
    notes: list[str] = []
    if (twice := repeated([*roles.values()])) is not None:
        raise MisuseError(f"the column '{twice}' is named for two things; each needs a column of its own")
    if not requested:
        _require_records(table)
    for role in [role for role in ROLES if role not in roles]:
        usual = column_called(table.columns, ROLES[role])
        if usual and usual not in roles.values():
            roles[role] = usual
    if table.geometry is not None and "geometry" not in roles:
        roles["geometry"] = table.geometry.column
    for kinds in (("lat", "lon"), ("x", "y")):
        if len(roles.keys() & set(kinds)) == 1:
            for role in (*kinds, *(f"{axis}-max" for axis in kinds)):
                roles.pop(role, None)
    ways: list[tuple[str, ...]] = [("cell",)] if "cell" in requested else []
    ways += [("lat", "lon"), ("cell",), ("x", "y"), ("geometry",)]
    way = next((way for way in ways if roles.keys() >= set(way)), ())
    if not way and "time" not in roles:
        names = ", ".join(table.columns[:30])
        raise InputError(
            f"{table.name} has no column of places or times that shoal knows (found: {names}); name "
            "them, for example --as time=HOUR --as cell=HEX"
        )
    used = " and ".join(roles[role] for role in way)
    for role in ("lat", "lon", "x", "y", "cell", "geometry"):
        if role not in way and role in roles:
            other = roles.pop(role)
            notes.append(f"places are read from {used}; '{other}' tells places, too, and was left aside")
            roles.pop(f"{role}-max", None)
    return roles, notes


def _require_records(table: Table) -> None:
    columns = {name.strip().lower() for name in table.columns}
    has_zones = "zone" in columns or {"origin", "destination"} <= columns
    counts, ids = TABLES["column_names"]["counts"]["counts"], ROLES["id"]
    if has_zones and not columns.isdisjoint(counts) and columns.isdisjoint(ids):
        kind = "flows" if "origin" in columns else "presence"
        raise InputError(
            f"{table.name} is a table of counts, not of records (columns {', '.join(table.columns[:30])}); "
            f"check what its hidden cells tell: --kind {kind} in place of --raw; or name the columns of "
            "records with --as"
        )
