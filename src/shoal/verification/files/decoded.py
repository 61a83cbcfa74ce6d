"""Decode a table while it is read, and gather what its rows show."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Payload, Points
from shoal.release_folder.packing import GEOMETRY
from shoal.runtime.arrays import Numbers
from shoal.verification.files.plane import PlaneCheck
from shoal.verification.files.precision import PointPrecision, PrecisionCheck

_ROWS_AT_ONCE: Final = 1 << 16


class _RowStore:
    """While columns equal ``expected``, no second copy is kept."""

    def __init__(self, expected: Mapping[str, Numbers] | None) -> None:
        self._expected = expected
        self._columns: dict[str, Numbers] = {}
        self._n_rows = 0
        self.begun = False

    def add(self, columns: Mapping[str, Numbers], n_rows: int) -> None:
        """n_rows: of the whole table."""
        self.begun = True
        rows = slice(self._n_rows, self._n_rows + len(next(iter(columns.values()))))
        self._n_rows = rows.stop
        expected, self._expected = self._expected, None
        if expected is not None and expected.keys() == columns.keys():
            if all(
                len(expected[name]) == n_rows and have_equal_bits(expected[name][rows], column)
                for name, column in columns.items()
            ):
                self._expected = expected
                return
            if not self._columns:
                for name, column in columns.items():
                    self._columns[name] = np.empty(n_rows, dtype=column.dtype)
                    self._columns[name][: rows.start] = expected[name][: rows.start]
        for name, column in columns.items():
            if name not in self._columns:
                self._columns[name] = np.empty(n_rows, dtype=column.dtype)
            self._columns[name][rows] = column

    def columns(self, first: int = 0, end: int | None = None) -> dict[str, Numbers]:
        columns = self._columns if self._expected is None else self._expected
        rows = slice(first, self._n_rows if end is None else end)
        return {name: column[rows] for name, column in columns.items()}


class Decoder:
    """Decodes rows as they come, without storing those equal to ``expected``; grid: None for points."""

    def __init__(self, grid: Grid | None, crs: str | None, expected: Payload | None = None) -> None:
        self._grid, self._crs = grid, crs
        self._rows = _RowStore(None if expected is None else columns_by_name(expected))
        self._drawn = 0  # rows whose geometries were looked at
        self._wrong: InputError | None = None

    @cached_property
    def plane(self) -> PlaneCheck:
        """Whether its plane is in meters."""
        return PlaneCheck(self._crs)

    @cached_property
    def precision(self) -> PrecisionCheck | PointPrecision:
        """What is finer than the grid or the points."""
        return PointPrecision(self._crs) if self._grid is None else PrecisionCheck(self._grid, self._crs)

    def add_piece(self, piece: pa.Table, n_rows: int) -> None:
        """Decode some rows, or the geometries of the next rows; n_rows: of the whole table."""
        if self._wrong is not None:
            return
        try:
            if self._rows.begun and piece.column_names == [GEOMETRY]:
                begin, self._drawn = self._drawn, self._drawn + len(piece)
                self.precision.add_outlines(piece, self._payload(self._rows.columns(begin, self._drawn)))
                return
            _ = self.plane  # report a wrong plane before wrong rows
            for first in range(0, max(len(piece), 1), _ROWS_AT_ONCE):
                some = piece.slice(first, _ROWS_AT_ONCE)  # bounds the memory of decoded columns
                self._rows.add(columns_by_name(self.precision.decode_rows(some)), n_rows)
        except InputError as error:
            self._wrong = error

    def finish(self) -> Payload:
        """Boxes or points in row order; raises delayed errors."""
        if self._wrong is not None:
            raise self._wrong
        payload: Payload = self._payload(self._rows.columns())
        if isinstance(payload, Points):
            self.plane.add_points(payload)
        elif self._grid is not None:
            self.plane.add_boxes(payload, self._grid)
        return payload

    def _payload(self, columns: Mapping[str, Numbers]) -> Any:
        return Points(**columns) if self._grid is None else Boxes(**columns)


def columns_by_name(payload: Payload) -> Mapping[str, Numbers]:
    """The columns of boxes or points."""
    if isinstance(payload, Points):
        return payload.columns()
    return dict(zip(BOX_COLUMNS, payload.columns(), strict=True))


def have_equal_bits(one: Numbers, other: Numbers) -> bool:
    """Whether two columns of 64 bits are the same; zeros of either sign differ."""
    return one.dtype == other.dtype and np.array_equal(one.view(np.int64), other.view(np.int64))
