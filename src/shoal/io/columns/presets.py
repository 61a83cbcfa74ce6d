"""Layouts of known data sets and programs."""

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import MisuseError
from shoal.io.columns import owners
from shoal.io.columns.column_names import column_called, find_column
from shoal.io.columns.values import numbers, plain, with_columns
from shoal.io.formats import mobility_text
from shoal.io.formats.input_table import Owner, Table, reshape
from shoal.io.toml_tables import TABLES
from shoal.messages import Message, say
from shoal.model.intake import Reading
from shoal.runtime.arrays import Floats
from shoal.units import DAY_S

_TWO_ENDS: Final = say("reading.two_ends", "each trip counts as two rows, its start and its end")
_COLUMNS: Final = ("id", "time", "lat", "lon", "x", "y", "columns")
_TRIPS: Final = frozenset({"ride_id", "trip_id"})


def two_ends(table: Table, preset: "Preset") -> Table:
    """A row for the start and one for the end of each trip; trips are numbered where nobody is named."""
    columns = {name.strip().lower() for name in table.columns}

    def column(usual: Sequence[str]) -> str:
        return find_column(table, next((name for name in usual if name.lower() in columns), usual[0]))

    start, end = ([column(usual) for usual in ends] for ends in (preset.start, preset.end))
    names = [preset.settings[role] for role in ("time", "lat", "lon", "cell_id") if role in preset.settings]
    who = column_called(table.columns, preset.who)
    trips = 0

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal trips
        doubled = batch.take(pa.array(np.repeat(np.arange(batch.num_rows), 2)))
        is_end = pa.array(np.arange(doubled.num_rows) % 2 == 1)
        columns = {
            name: pc.if_else(is_end, plain(doubled.column(last)), plain(doubled.column(first)))
            for name, first, last in zip(names, start, end, strict=True)
        }
        if who:
            columns["trip"] = doubled.column(who)
        else:
            rows = range(doubled.num_rows)
            columns["trip"] = pa.array([f"{table.name} {trips + row // 2 + 1}" for row in rows], pa.string())
        trips += batch.num_rows
        return with_columns(doubled, columns)

    table.notes.append(_TWO_ENDS)
    if not who:
        others = [name for name in table.columns if name.lower() not in _TRIPS]
        like_ids = tuple(filter(owners.names_people, others))
        owner = Owner(column="trip", value=table.name, place=table.place, what="trip")
        table = replace(table, owners=(owner,), like_ids=like_ids)
    needs = (*start, *end, *filter(None, [who]))
    return replace(reshape(table, [*names, "trip"], needs, change), numbered=False)


NO_POINTS: Final = say("row.no_points", "trip without points")
BROKEN: Final = say("row.broken_line", "trip whose polyline cannot be read")
_EVERY_S: Final = 15
_OF_A_POINT: Final = ("time", "lat", "lon")
_Points = list[tuple[float, float, float]]  # seconds, longitude and latitude


def porto(table: Table) -> Table:
    """Porto's taxis: a fix every 15 s from the start of a trip, as [[longitude, latitude], ...]."""

    def read(text: Any) -> _Points | Message:
        try:
            points = [(float(lon), float(lat)) for lon, lat in json.loads(text or "[]")]
        except (ValueError, TypeError):
            return BROKEN
        return [(step * _EVERY_S, *point) for step, point in enumerate(points)] or NO_POINTS

    table.notes.append(
        say("reading.polyline", "each point of a polyline counts as a row, 15 s after the one before")
    )
    return _unfold(table, find_column(table, "POLYLINE"), read, find_column(table, "TIMESTAMP"))


def moving_points(table: Table) -> Table:
    """MobilityDB's moving points: a row for each instant; unreadable values are counted."""

    def read(text: Any) -> _Points | Message:
        sequence = mobility_text.instants(text if isinstance(text, str) else None)
        return mobility_text.BROKEN if sequence is None else [(t, x, y) for x, y, t in sequence]

    text = "each instant of a moving point counts as a row; what lies between them is not read"
    table.notes.append(say("reading.instants", text))
    return _unfold(table, find_column(table, mobility_text.COLUMN), read)


def _unfold(
    table: Table, column: str, read: Callable[[Any], _Points | Message], start: str | None = None
) -> Table:
    """A row for each point of a column's texts, or a reason for none."""

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows: list[int] = []
        points: _Points = []
        for row, text in enumerate(plain(batch.column(column)).to_pylist()):
            some = read(text)
            if isinstance(some, str):
                table.unreadable[some] += 1
                continue
            rows += [row] * len(some)
            points += some
        repeated = batch.take(pa.array(rows, pa.int64()))
        time, lon, lat = np.array(points, dtype=np.float64).reshape(-1, 3).T
        known = np.ones(len(rows), dtype=np.bool_)
        if start is not None:
            starts, known = numbers(repeated.column(start), f"column '{start}' of {table.name}")
            time = time + starts
        return with_columns(repeated, {"time": pa.array(time, mask=~known), "lon": lon, "lat": lat})

    unfolded = reshape(table, _OF_A_POINT, (column, *([start] if start else ())), change)
    return replace(unfolded, numbered=False)


_SLOT_S: Final = 1800
_CELL_M: Final = 500.0


def yjmob(table: Table) -> Table:
    """YJMob100K: days from 0, half hours from 0 to 47, cells of 500 m (999 = withheld), in meters."""
    day, slot, x, y = (find_column(table, name) for name in ("d", "t", "x", "y"))

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        def values(name: str) -> tuple[Floats, Any]:
            return numbers(batch.column(name), f"column '{name}' of {table.name}")

        (days, day_known), (slots, slot_known) = values(day), values(slot)
        readable = day_known & slot_known & (days >= 0) & (days < DAY_S)
        readable &= (slots >= 0) & (slots < DAY_S // _SLOT_S)
        seconds = np.where(readable, days, 0) * DAY_S + np.where(readable, slots, 0) * _SLOT_S
        columns = {"t": pa.array(seconds.astype(np.int64), mask=~readable)}
        for name, cell in (("x", x), ("y", y)):
            cells, cell_known = values(cell)
            cell_known &= cells < 999
            columns[name] = pa.array((np.where(cell_known, cells, 0) + 0.5) * _CELL_M, mask=~cell_known)
        return with_columns(batch, columns)

    return reshape(table, ("t", "x", "y"), (day, slot, x, y), change)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One layout, as ``presets.toml`` tells it."""

    title: str
    source: str
    header: Sequence[str] = ()
    fields: Sequence[str] = ()
    looks: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    rows: Callable[[Table], Table] | None = None  # computes samples when no column holds them
    encoding: str = "utf-8"
    start: Sequence[Sequence[str]] = ()
    end: Sequence[Sequence[str]] = ()
    who: Sequence[str] = ()


_ROWS: Final[Mapping[str, Callable[[Table], Table]]] = {
    "porto": porto,
    "yjmob100k": yjmob,
    "mobilitydb": moving_points,
    "crawdad-cabs": owners.add_file_column,
}
PRESETS: Final = {name: Preset(**row, rows=_ROWS.get(name)) for name, row in TABLES["presets"].items()}


def get_preset(name: str) -> Preset:
    """The layout of that name."""
    if name not in PRESETS:
        raise MisuseError(f"preset = '{name}' is not known; known are {', '.join(PRESETS)}")
    return PRESETS[name]


def without_header(lines: Sequence[str], delimiters: str) -> tuple[str, str] | None:
    """The preset and delimiter of a file whose first lines match, if any."""
    for delimiter in delimiters:
        try:
            rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
        except csv.Error:
            return None
        joined = [",".join(fields) for fields in rows]
        for name, preset in PRESETS.items():
            if preset.looks and joined and all(re.fullmatch(preset.looks, line) for line in joined):
                return name, delimiter
    return None


def apply_preset(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """The table and the settings by the preset, if any.

    It is recognized only while no column is named, but for the person of computed times. Settings of the
    caller come first.
    """
    columns = {name.strip().lower() for name in table.columns}
    recognized = table.settings.get("preset") or next(
        (name for name, preset in PRESETS.items() if preset.header and columns.issuperset(preset.header)),
        None,
    )
    named = {role for role in _COLUMNS if getattr(reading, role) is not None}
    named -= {"id"} if recognized and PRESETS[recognized].settings.get("time") == "time" else set()
    of_trips = bool(recognized and PRESETS[recognized].start)
    if recognized and (named or (of_trips and reading.cell_id)):
        if of_trips:
            text = (
                "{file} has trips with two ends, and only the columns that you named are read; name no times "
                "and places to read both"
            )
            table.notes.append(say("reading.one_end", text, file=table.name))
        recognized = None
    preset_name = reading.preset or recognized
    if preset_name is None:
        return table, reading
    preset = get_preset(preset_name)
    missing = sorted(set(preset.header or map(str.lower, preset.fields)) - columns)
    if missing:
        raise MisuseError(
            f"{table.name} is not of the preset {preset_name}: it has no column {', '.join(missing)}"
        )
    if preset.rows or preset.start:
        whole = preset.rows(table) if preset.rows else two_ends(table, preset)
        table = replace(whole, added=table.added | set(whole.columns) - set(table.columns))
    if reading.preset is None:
        zone = preset.settings.get("time_zone")
        text = "{file} is read as {preset}: {title}"
        note = say("reading.preset", text, file=table.name, preset=preset_name, title=preset.title)
        if zone and reading.time_zone is None:
            text = "{preset}; times without a zone are of {zone}"
            note = say("reading.preset_zone", text, preset=note, zone=zone)
        table.notes.append(note)
    return table, fill(replace(reading, preset=preset_name), preset.settings)


def fill(reading: Reading, settings: Mapping[str, str]) -> Reading:
    """The reading, with these settings where the caller gave none."""
    missing: dict[str, Any] = {name: settings[name] for name in settings if getattr(reading, name) is None}
    return replace(reading, **missing)
