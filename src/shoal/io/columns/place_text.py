"""Positions in one column of text: points as WKT, EWKT or hexadecimal (E)WKB, pairs of degrees, geohashes.

OGC 06-103r4, chapters 7 and 8; PostGIS manual, "Geometry formats"; https://geohash.org.
"""

import re
from dataclasses import replace
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.io.columns.cell_codes import cells_of, system_of
from shoal.io.columns.column_names import CELLS, NAMES
from shoal.io.columns.time_text import shape_of
from shoal.io.columns.values import has_value, is_text, plain, points, with_columns
from shoal.io.formats.input_table import Table, reshape
from shoal.io.toml_tables import TABLES, expressions
from shoal.messages import say
from shoal.model.intake import Reading
from shoal.runtime.arrays import Flags, Floats

_TABLE: Final = TABLES["place_text"]
_COLUMN: Final = re.compile("|".join(_TABLE["columns"]["places"]))
_LON_FIRST: Final = re.compile(_TABLE["columns"]["lon_first"])
_FORMS: Final = expressions(_TABLE["forms"], _TABLE["pieces"])
_WGS84: Final = {"", "0", "4326"}
_SIDES: Final = {"lat": "NS", "lon": "EW"}
_TURN: Final = say("reading.turn", "--lat lon --lon lat turns that")


def read_place_text(table: Table, reading: Reading) -> Table:
    """The table with ``lat`` and ``lon`` (``x`` and ``y`` with --crs) from a column of text, if needed."""
    usual = {name.strip().lower() for name in table.columns}
    places = {name for role in ("lat", "lon", "x", "y") for name in NAMES[role]}
    named = {reading.lat, reading.lon, reading.x, reading.y}
    column = next((name for name in table.columns if _COLUMN.fullmatch(_compact(name))), None)
    if column is None or table.geometry is not None or usual & (places | {*CELLS}):
        return table
    if named - {None, "lat", "lon", "x", "y"}:
        return table
    planar = reading.crs not in (None, "local") and reading.lat is None
    first, second = ("x", "y") if planar else ("lon", "lat")

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        x, y = _positions(table, column, plain(batch.column(column)), planar=planar)
        coordinates = {first: pa.array(x, from_pandas=True), second: pa.array(y, from_pandas=True)}
        return with_columns(batch, coordinates)

    whole = reshape(table, (first, second), (column,), change)
    return replace(whole, added=table.added | {first, second})


def _positions(table: Table, column: str, text: pa.Array, *, planar: bool) -> tuple[Floats, Floats]:
    """First and second coordinates, float64 [n], nan where there is no point."""
    x, y = np.full(len(text), np.nan), np.full(len(text), np.nan)
    if not is_text(text.type):
        return x, y
    text = pc.replace_substring_regex(text, _FORMS["commas"], r"\1.\2;\3.\4")  # decimal commas
    for form in ("point", "listed", "object", "pair"):
        fields = pc.extract_regex(text, _FORMS[form])
        rows = np.flatnonzero(has_value(fields))
        if not rows.size:
            continue
        fields = fields.take(pa.array(rows))
        values = {field.name: pc.struct_field(fields, field.name) for field in fields.type}
        systems = pc.unique(values.get("srid", pa.array([""])))
        _require_one_system(table, column, {*systems.to_pylist()}, planar)
        x[rows], y[rows] = (np.asarray(values[axis].cast(pa.float64())) for axis in "xy")
        if form == "pair":
            for axis, sides in ((y, "ns"), (x, "ew")):
                axis[rows[np.isin(np.asarray(values[sides]), [*"SsWw"])]] *= -1
            text_of_note = "{column} is read as latitude, longitude; {turn}"
            note = say("reading.lat_lon", text_of_note, column=column, turn=_TURN)
            if _LON_FIRST.search(_compact(column)):
                x[rows], y[rows] = y[rows], x[rows]
                text_of_note = "{column} is read as longitude, latitude; {turn}"
                note = say("reading.lon_lat", text_of_note, column=column, turn=_TURN)
            _note(table, note)
    binary = pc.struct_field(pc.extract_regex(text, _FORMS["hexadecimal"]), "bytes")
    rows = np.flatnonzero(has_value(binary))
    if rows.size:
        shapes = [bytes.fromhex(value) for value in binary.take(pa.array(rows)).to_pylist()]
        _require_one_system(table, column, {_srid(shape) for shape in shapes}, planar)
        x[rows], y[rows], _ = points(pa.array(shapes, pa.binary()))
    rest = np.flatnonzero(np.isnan(x) & has_value(text))
    others = pc.unique(text.take(pa.array(rest))).to_pylist()
    hashes = [value for value in others if system_of([value]) == "geohash"]
    if hashes and _compact(column) in {"geohash", "gh"}:
        cells = cells_of("geohash", hashes)
        place = pc.index_in(text, pa.array(hashes, text.type)).fill_null(-1).to_numpy(zero_copy_only=False)
        inside = place >= 0
        x[inside] = ((cells.west + cells.east) / 2)[place[inside]]
        y[inside] = ((cells.south + cells.north) / 2)[place[inside]]
        text_of_note = "positions are the middles of the geohashes in {column}, up to {high} degrees high"
        high = f"{(cells.north - cells.south).max():.2g}"
        _note(table, say("reading.geohashes", text_of_note, column=column, high=high))
    if rest.size and np.isnan(x).all():
        raise InputError(
            f"the column '{column}' of {table.name} holds values like {shape_of(others[0])}, no positions "
            "that shoal reads: points as WKT, EWKT or hexadecimal EWKB, 'latitude, longitude', or geohashes; "
            "name columns of degrees with --lat and --lon"
        )
    return x, y


def angles(text: pa.Array, axis: str) -> tuple[Floats, Flags]:
    """Degrees with their sign or the letter of a side, perhaps with minutes and seconds; which are such."""
    fields = pc.extract_regex(text, _FORMS["angle"])
    part = {field.name: pc.fill_null(pc.struct_field(fields, field.name), "") for field in fields.type}
    degrees, minutes, seconds = (
        np.asarray(pc.if_else(pc.equal(part[name], ""), "0", part[name]).cast(pa.float64()))
        for name in ("degrees", "minutes", "seconds")
    )
    side = np.asarray(pc.utf8_upper(pc.binary_join_element_wise(part["before"], part["after"], "")))
    minus = np.asarray(pc.equal(part["minus"], "-"))
    written = np.isin(side, [*_SIDES[axis]]) & ~minus
    written |= (side == "") & np.asarray(pc.not_equal(part["mark"], ""))
    in_parts = np.asarray(pc.not_equal(part["minutes"], ""))
    written &= (minutes < 60) & (seconds < 60) & (~in_parts | (degrees == np.floor(degrees)))
    turned = minus | np.isin(side, ["S", "W"])
    return np.where(turned, -1, 1) * (degrees + minutes / 60 + seconds / 3600), written


def _require_one_system(table: Table, column: str, codes: set[str | None], planar: bool) -> None:
    systems = {code or "" for code in codes} - _WGS84
    if len(systems) > 1 or (systems and (codes & _WGS84) - {""}):
        raise InputError(
            f"the column '{column}' of {table.name} holds positions in several reference systems (SRID "
            f"{', '.join(sorted(systems))}); convert them to one"
        )
    if systems and not planar:
        code = next(iter(systems))
        raise InputError(
            f"the column '{column}' of {table.name} holds positions of the reference system {code}; give "
            f"--crs EPSG:{code}"
        )


def _srid(shape: bytes) -> str:
    order: Literal["little", "big"] = "little" if shape[0] else "big"
    has_srid = int.from_bytes(shape[1:5], order) & 0x20000000
    return str(int.from_bytes(shape[5:9], order)) if has_srid else ""


def _note(table: Table, note: str) -> None:
    if note not in table.notes:
        table.notes.append(note)


def _compact(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().rpartition(".")[2]).rstrip("0123456789")
