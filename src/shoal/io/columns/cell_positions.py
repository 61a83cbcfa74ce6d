"""Records that name a cell of a mobile network, or a zone, instead of a position.

A table of cells with their positions, or their footprints, completes them.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, MisuseError
from shoal.io.columns import footprints
from shoal.io.columns.columns import CELLS, NAMES
from shoal.io.columns.footprints import Layout, Places
from shoal.io.columns.presets import applied
from shoal.io.columns.values import Names
from shoal.io.formats import gis_files
from shoal.io.formats.tables import Table, reshaped
from shoal.io.sources.sources import openers
from shoal.model.intake import Reading
from shoal.runtime.arrays import Flags, Floats
from shoal.units import counted

UNKNOWN: Final = "cell that is not in the table of cells"
CENTERED: Final = "records at the center of their cell's footprint"
_COLUMNS: Final = ("lon", "lat", "width_m", "height_m")


def prepared(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """The table as a preset and a file of cells complete it, and the settings that follow."""
    table, reading = applied(table, reading)
    shown: dict[str, Any] = {
        name: value
        for name, value in table.settings.items()
        if name != "preset" and getattr(reading, name) is None
    }
    reading = replace(reading, **shown)
    return (table, reading) if reading.cells is None else joined(table, reading)


def joined(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """The table with columns ``lat`` and ``lon``, of the cell that each record names, and the settings.

    Records of other cells are counted. Raises InputError when no column names a cell, or the table of cells
    cannot be read, MisuseError when columns of positions are named besides.
    """
    if any(getattr(reading, role) not in {None, role} for role in ("lat", "lon")) or reading.x or reading.y:
        raise MisuseError(
            "positions come from the table of cells; leave out --cells, or the columns of positions"
        )
    place = _cell_column(table.name, table.columns, reading.cell_id, but=(reading.id,))
    known, cells = _cells(reading)
    extended = _known(cells)

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        own = Names()
        code = own.codes(batch.column(place), f"column '{place}' of {table.name}")
        row_of = np.array([*(known.get(text, -1) for text in own.texts), -1], dtype=np.int64)
        rows = row_of[code]
        found = rows >= 0
        lost = len(found) - int(np.count_nonzero(found))
        if lost:
            table.unreadable[UNKNOWN] = table.unreadable.get(UNKNOWN, 0) + lost
            batch, rows = batch.filter(pa.array(found)), rows[found]
        table.repaired[CENTERED] = table.repaired.get(CENTERED, 0) + int(np.count_nonzero(extended[rows]))
        columns = {name: batch.column(name) for name in batch.schema.names if name not in {"lat", "lon"}}
        return pa.record_batch(
            {**columns, "lat": pa.array(cells.lat[rows]), "lon": pa.array(cells.lon[rows])}
        )

    table.notes.append(f"positions are those of the cells in column '{place}'")
    table.notes.extend(_extents(cells))
    return reshaped(table, ("lat", "lon"), (place,), change), replace(reading, lat="lat", lon="lon")


def _extents(cells: Places) -> list[str]:
    """How large the footprints are that records stand in the middle of; nothing where none is known.

    They are those of the whole table, so that no note tells where somebody was.
    """
    extents = np.sort(np.maximum(cells.width_m, cells.height_m)[_known(cells)])
    if not len(extents):
        return []
    middle, most = extents[len(extents) // 2], extents[-1]
    return [
        "records stand at the center of their cell's footprint, as if it were a point; the footprints in the "
        f"table are {_length(middle)} wide or high (median; {_length(most)} at most). A box of a release "
        f"holds that center; somebody may have been up to {_length(most / 2)} beyond it on each axis. Choose "
        "a --cell of about the footprints' width, so that boxes do not look finer than the records are"
    ]


def _known(cells: Places) -> Flags:
    """Whether the extent of each cell is known."""
    return np.isfinite(cells.width_m) & np.isfinite(cells.height_m)


def _length(meters: float) -> str:
    """Two digits are enough for the area where an antenna is received."""
    rounded = float(f"{meters:.2g}")
    return f"{rounded / 1000:g} km" if rounded >= 1000 else f"{rounded:g} m"


def _cells(reading: Reading) -> tuple[dict[str, int], Places]:
    """Row of each cell by its name, and the places of the rows."""
    path = Path(str(reading.cells))
    if not path.exists():
        raise InputError(f"no table of cells {path.name}; give its path with --cells")
    name, waiting = openers(path, Reading())
    if path.is_file() and footprints.holds_areas(path):
        name, waiting = path.name, [partial(gis_files.open_table, path, Reading())]
    names = Names()
    codes, found = [], []
    for opener in waiting:
        cells = opener()
        place = _cell_column(cells.name, cells.columns, None)
        layout = _layout(cells)
        for _, batch in cells.batches(list(dict.fromkeys([place, *layout.wanted()]))):
            codes.append(names.codes(batch.column(place), f"column '{place}' of {cells.name}"))
            found.append(footprints.places(batch, layout, cells.name))
    if not codes:
        raise InputError(f"the table of cells {name} holds no rows")
    code = np.concatenate(codes)
    every = Places(**{role: np.concatenate([getattr(one, role) for one in found]) for role in _COLUMNS})
    sound = np.isfinite(every.lat) & np.isfinite(every.lon) & (code >= 0)
    if not sound.any():
        raise InputError(f"no row of the table of cells {name} tells where its cell is")
    row_of = {names.texts[one]: row for row, one in enumerate(code.tolist()) if sound[row]}
    moved = [
        row
        for row, one in enumerate(code.tolist())
        if sound[row] and not _same(every, row, row_of[names.texts[one]])
    ]
    if moved:
        raise InputError(
            f"{counted(len(moved), 'cell')} of {name} {'stands' if len(moved) == 1 else 'stand'} at two "
            "places; keep one position for each cell"
        )
    return row_of, every


def _same(cells: Places, row: int, other: int) -> bool:
    """Whether two rows of a cell tell the same."""

    def told(at: int) -> Floats:
        return np.array([getattr(cells, role)[at] for role in _COLUMNS])

    return row == other or bool(np.array_equal(told(row), told(other), equal_nan=True))


def _layout(cells: Table) -> Layout:
    """How a table of cells tells where they are; raises InputError when it does not."""
    centers = [
        found[0]
        for role in ("lon", "lat")
        if len(found := [name for name in cells.columns if name.strip().lower() in NAMES[role]]) == 1
    ]
    layout = footprints.layout_of(cells, centers if len(centers) == 2 else ())
    if layout is None:
        raise InputError(
            f"{cells.name} needs one column of latitudes and one of longitudes, called lat and lon, or "
            "footprints: polygons, or lon_min, lat_min, lon_max and lat_max "
            f"(found: {', '.join(cells.columns[:30])})"
        )
    return layout


def _cell_column(name: str, columns: Sequence[str], given: str | None, but: Sequence[str | None] = ()) -> str:
    """The column that names the cell: the one given, else the first of the usual names."""
    if given is not None:
        found = [column for column in columns if column.strip().lower() == given.strip().lower()]
        if not found:
            raise InputError(f"no column '{given}' in {name} (found: {', '.join(columns[:30])})")
        return found[0]
    lower = {column.strip().lower(): column for column in columns if column not in but}
    for usual in (*CELLS, "id"):
        if usual in lower:
            return lower[usual]
    raise InputError(
        f"no column of cells in {name} (found: {', '.join(columns[:30])}); name it with --cell-id"
    )
