"""The boxes or points of a table, decoded while it is read, and what their rows say by themselves."""

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
from shoal.release_folder.point_table import places_in, points_as_written
from shoal.runtime.arrays import Floats, Integers
from shoal.verification.files.plane import PlaneCheck
from shoal.verification.files.precision import PrecisionCheck, boxes_as_written

_ROWS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecodedBoxes:
    """The boxes of a table in its row order, and what was gathered of them."""

    boxes: Boxes
    plane: PlaneCheck
    precision: PrecisionCheck


class Decoding:
    """Decodes rows as they come. What is wrong with them is told at the end: a file may be damaged behind."""

    def __init__(self, grid: Grid, crs: str | None, expected: Boxes | None = None) -> None:
        """expected: boxes that may come. As long as they do, none are kept a second time."""
        self._grid, self._crs, self._expected = grid, crs, expected
        self._columns: dict[str, Integers] = {}
        self._n_rows = 0
        self._wrong: InputError | None = None

    @cached_property
    def _plane(self) -> PlaneCheck:
        return PlaneCheck(self._crs)

    @cached_property
    def _precision(self) -> PrecisionCheck:
        return PrecisionCheck(self._grid, self._crs)

    def look(self, group: pa.Table, n_rows: int) -> None:
        """Take in some rows; n_rows: of the whole table."""
        if self._wrong is not None:
            return
        try:
            _ = self._plane  # what is wrong with the plane is told before what is wrong with rows
            for first in range(0, max(len(group), 1), _ROWS_AT_ONCE):
                some = group.slice(
                    first, _ROWS_AT_ONCE
                )  # what is decoded beside boxes is as long as they are
                decoded = boxes_as_written(some, self._grid)
                self._precision.look(some, decoded)
                self._keep(decoded.boxes, n_rows)
        except InputError as error:
            self._wrong = error

    def finish(self) -> DecodedBoxes:
        """What came; raises InputError where it could not be decoded."""
        if self._wrong is not None:
            raise self._wrong
        columns = self._columns
        if self._expected is not None:
            columns = dict(zip(BOX_COLUMNS, self._expected.columns(), strict=True))
        boxes = Boxes(**{name: column[: self._n_rows] for name, column in columns.items()})
        self._plane.look_at_boxes(boxes, self._grid)
        return DecodedBoxes(boxes=boxes, plane=self._plane, precision=self._precision)

    def _keep(self, boxes: Boxes, n_rows: int) -> None:
        rows = slice(self._n_rows, self._n_rows + len(boxes))
        self._n_rows = rows.stop
        known, self._expected = self._expected, None
        if known is not None and len(known) == n_rows and _are_alike(known.take(rows), boxes):
            self._expected = known
            return
        if not self._columns:
            self._columns = {name: np.empty(n_rows, dtype=np.int64) for name in BOX_COLUMNS}
        for name, column in self._columns.items():
            if known is not None:
                column[: rows.start] = getattr(known, name)[: rows.start]
            column[rows] = getattr(boxes, name)


class DecodingPoints:
    """The same for points. What is wrong with them is told at the end, too."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Floats]] = {}
        self._drawn: list[Floats | None] = []
        self._wrong: InputError | None = None

    def look(self, group: pa.Table, _n_rows: int) -> None:
        """Take in some rows."""
        if self._wrong is not None:
            return
        try:
            points = points_as_written(group, RELEASE_FILE)
        except InputError as error:
            self._wrong = error
            return
        for name, column in points.columns().items():
            self._columns.setdefault(name, []).append(column)
        if GEOMETRY in group.column_names:
            self._drawn.append(places_in(group[GEOMETRY]))

    def finish(self) -> tuple[Points, Floats | None]:
        """The points in the file's row order, and the places in their geometries, None where one has none.

        Raises InputError where points could not be decoded.
        """
        if self._wrong is not None:
            raise self._wrong
        columns = {name: np.concatenate(self._columns.pop(name)) for name in tuple(self._columns)}
        drawn = [places for places in self._drawn if places is not None]
        whole = len(drawn) == len(self._drawn) > 0
        return Points(**columns), np.concatenate(drawn) if whole else None


def _are_alike(one: Boxes, other: Boxes) -> bool:
    """Whether two hold the same boxes in columns of the same type."""
    return all(
        mine.dtype == its.dtype and np.array_equal(mine, its)
        for mine, its in zip(one.columns(), other.columns(), strict=True)
    )
