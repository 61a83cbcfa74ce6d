"""The boxes or points of a table, decoded while it is read, and what their rows say by themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.model.release import BOX_COLUMNS, Boxes, Points
from shoal.model.trajectories import Grid
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.packing import GEOMETRY
from shoal.release_folder.point_table import points_as_written
from shoal.runtime.arrays import Numbers
from shoal.verification.files.plane import PlaneCheck
from shoal.verification.files.precision import PointPrecision, PrecisionCheck, boxes_as_written

_ROWS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecodedBoxes:
    """The boxes of a table in its row order, and what was gathered of them."""

    boxes: Boxes
    plane: PlaneCheck
    precision: PrecisionCheck


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecodedPoints:
    """The points of a table in its row order, and what was gathered of them."""

    points: Points
    precision: PointPrecision


class _Kept:
    """The columns of rows that come one piece after the other."""

    def __init__(self, expected: Mapping[str, Numbers] | None) -> None:
        """expected: columns that may come. As long as they do, none are kept a second time."""
        self._expected = expected
        self._columns: dict[str, Numbers] = {}
        self._n_rows = 0
        self.begun = False

    def add(self, columns: Mapping[str, Numbers], n_rows: int) -> None:
        """Keep some rows; n_rows: of the whole table."""
        self.begun = True
        rows = slice(self._n_rows, self._n_rows + len(next(iter(columns.values()))))
        self._n_rows = rows.stop
        known, self._expected = self._expected, None
        if known is not None and known.keys() == columns.keys():
            if all(
                len(known[name]) == n_rows and _are_alike(known[name][rows], column)
                for name, column in columns.items()
            ):
                self._expected = known
                return
            if not self._columns:
                for name, column in columns.items():
                    self._columns[name] = np.empty(n_rows, dtype=column.dtype)
                    self._columns[name][: rows.start] = known[name][: rows.start]
        for name, column in columns.items():
            if name not in self._columns:
                self._columns[name] = np.empty(n_rows, dtype=column.dtype)
            self._columns[name][rows] = column

    def columns(self) -> dict[str, Numbers]:
        """All rows that came."""
        return self.last(self._n_rows)

    def last(self, n_rows: int) -> dict[str, Numbers]:
        """The rows that came last."""
        found = self._columns if self._expected is None else self._expected
        return {name: column[self._n_rows - n_rows : self._n_rows] for name, column in found.items()}


class Decoding:
    """Decodes rows as they come. What is wrong with them is told at the end: a file may be damaged behind."""

    def __init__(self, grid: Grid, crs: str | None, expected: Boxes | None = None) -> None:
        """expected: boxes that may come. As long as they do, none are kept a second time."""
        self._grid, self._crs = grid, crs
        self._kept = _Kept(None if expected is None else _named(expected))
        self._wrong: InputError | None = None

    @cached_property
    def _plane(self) -> PlaneCheck:
        return PlaneCheck(self._crs)

    @cached_property
    def _precision(self) -> PrecisionCheck:
        return PrecisionCheck(self._grid, self._crs)

    def look(self, piece: pa.Table, n_rows: int) -> None:
        """Take in some rows, or outlines of the rows that came last; n_rows: of the whole table."""
        if self._wrong is not None:
            return
        try:
            if self._kept.begun and piece.column_names == [GEOMETRY]:
                boxes = Boxes(**self._kept.last(len(piece)))
                self._precision.look_at_outlines(piece, boxes)
                return
            _ = self._plane  # what is wrong with the plane is told before what is wrong with rows
            for first in range(0, max(len(piece), 1), _ROWS_AT_ONCE):
                some = piece.slice(
                    first, _ROWS_AT_ONCE
                )  # what is decoded beside boxes is as long as they are
                decoded = boxes_as_written(some, self._grid)
                self._precision.look(some, decoded)
                self._kept.add(_named(decoded.boxes), n_rows)
        except InputError as error:
            self._wrong = error

    def finish(self) -> DecodedBoxes:
        """What came; raises InputError where it could not be decoded."""
        if self._wrong is not None:
            raise self._wrong
        boxes = Boxes(**self._kept.columns())
        self._plane.look_at_boxes(boxes, self._grid)
        return DecodedBoxes(boxes=boxes, plane=self._plane, precision=self._precision)


class DecodingPoints:
    """The same for points. What is wrong with them is told at the end, too."""

    def __init__(self, crs: str | None, expected: Points | None = None) -> None:
        """expected: points that may come. As long as they do, none are kept a second time."""
        self._kept = _Kept(None if expected is None else expected.columns())
        self._precision = PointPrecision(crs)
        self._wrong: InputError | None = None

    def look(self, piece: pa.Table, n_rows: int) -> None:
        """Take in some rows, or geometries of the rows that came last; n_rows: of the whole table."""
        if self._wrong is not None:
            return
        try:
            if self._kept.begun and piece.column_names == [GEOMETRY]:
                kept = self._kept.last(len(piece))
                for first in range(0, len(piece), _ROWS_AT_ONCE):
                    rows = slice(first, first + _ROWS_AT_ONCE)
                    here = Points(**{name: column[rows] for name, column in kept.items()})
                    self._precision.look_at_geometries(piece.slice(first, _ROWS_AT_ONCE), here)
                return
            for first in range(0, max(len(piece), 1), _ROWS_AT_ONCE):
                some = piece.slice(first, _ROWS_AT_ONCE)
                points = points_as_written(some, RELEASE_FILE)
                self._precision.look(some, points)
                self._kept.add(points.columns(), n_rows)
        except InputError as error:
            self._wrong = error

    def finish(self) -> DecodedPoints:
        """What came; raises InputError where it could not be decoded."""
        if self._wrong is not None:
            raise self._wrong
        return DecodedPoints(points=Points(**self._kept.columns()), precision=self._precision)


def _named(boxes: Boxes) -> dict[str, Numbers]:
    """The columns of boxes by name."""
    return dict(zip(BOX_COLUMNS, boxes.columns(), strict=True))


def _are_alike(one: Numbers, other: Numbers) -> bool:
    """Whether two columns hold the same bits."""
    return one.dtype == other.dtype and np.array_equal(_bits(one), _bits(other))


def _bits(column: Numbers) -> Numbers:
    """Numbers of 64 bits as they are stored: zeros of either sign are different."""
    return column.view(np.int64)
