"""Records that name a cell of a mobile network, or a zone, instead of a position.

A table of cells with their positions completes them.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, MisuseError
from shoal.io.columns import CELLS, NAMES
from shoal.io.tables import Table, reshaped
from shoal.io.values import Names, numbers
from shoal.model.intake import Reading

UNKNOWN: Final = "cell that is not in the table of cells"


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
    known, lat, lon = _cells(reading)

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
        columns = {name: batch.column(name) for name in batch.schema.names if name not in {"lat", "lon"}}
        return pa.record_batch({**columns, "lat": pa.array(lat[rows]), "lon": pa.array(lon[rows])})

    table.notes.append(f"positions are those of the cells in column '{place}'")
    return reshaped(table, ("lat", "lon"), (place,), change), replace(reading, lat="lat", lon="lon")


def _cells(reading: Reading) -> tuple[dict[str, int], Any, Any]:
    """Row of each cell by its name, and the latitudes and longitudes of the rows."""
    from shoal.io.sources import openers

    path = Path(str(reading.cells))
    if not path.exists():
        raise InputError(f"no table of cells {path.name}; give its path with --cells")
    name, waiting = openers(path, Reading())
    names = Names()
    codes, lats, lons = [], [], []
    for opener in waiting:
        cells = opener()
        place = _cell_column(cells.name, cells.columns, None)
        lat, lon = (_coordinate(cells, role) for role in ("lat", "lon"))
        for _, batch in cells.batches([place, lat, lon]):
            codes.append(names.codes(batch.column(place), f"column '{place}' of {cells.name}"))
            lats.append(numbers(batch.column(lat), f"column '{lat}' of {cells.name}")[0])
            lons.append(numbers(batch.column(lon), f"column '{lon}' of {cells.name}")[0])
    if not codes:
        raise InputError(f"the table of cells {name} holds no rows")
    code, latitude, longitude = np.concatenate(codes), np.concatenate(lats), np.concatenate(lons)
    sound = np.isfinite(latitude) & np.isfinite(longitude) & (code >= 0)
    row_of = {names.texts[one]: row for row, one in enumerate(code.tolist()) if sound[row]}
    moved = [
        row
        for row, one in enumerate(code.tolist())
        if sound[row]
        and (latitude[row], longitude[row]) != _at(row_of[names.texts[one]], latitude, longitude)
    ]
    if moved:
        raise InputError(f"{len(moved)} cells of {name} stand at two places; keep one position for each cell")
    return row_of, latitude, longitude


def _at(row: int, latitude: Any, longitude: Any) -> tuple[float, float]:
    return latitude[row], longitude[row]


def _coordinate(cells: Table, role: str) -> str:
    found = [name for name in cells.columns if name.strip().lower() in NAMES[role]]
    if len(found) != 1:
        raise InputError(
            f"{cells.name} needs one column of latitudes and one of longitudes, called lat and lon "
            f"(found: {', '.join(cells.columns[:30])})"
        )
    return found[0]


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
