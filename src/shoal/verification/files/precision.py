"""Check that coordinates, times and geometries say no more than the boxes or points."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.model.grid import Grid
from shoal.model.projection import WGS84, transform
from shoal.model.release import BOX_COLUMNS, Boxes, Points
from shoal.model.verdicts import Finding
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.outlines import heads_of, polygons_of
from shoal.release_folder.packing import GEOMETRY
from shoal.release_folder.tables import decode_places, decode_points, draw_outlines, lon_lat
from shoal.runtime.arrays import Flags, Floats, Integers, read_only
from shoal.verification.files.loops import are_multiples, round_to
from shoal.verification.files.stored import BYTES, NUMBERS, TEXTS

_ULPS: Final = 2  # of seconds: half a microsecond
_BEYOND_ALL_BOUNDS: Final = 2.0**53  # seconds or meters; float64 is exact below
_SAME_PLACE_M: Final = 0.001
SAME_PLACE_DEG: Final = 1e-9  # a tenth of a millimeter; projections differ less between machines
_NO_BOUNDS: Final = np.array([np.inf, np.inf, -np.inf, -np.inf])
_POLYGON: Final = np.dtype([("head", "u1", 13), ("corners", "<f8", (5, 2))])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WrittenBoxes:
    """Boxes in file order; exact: each bound as written, float64."""

    exact: Mapping[str, Floats]
    boxes: Boxes


def boxes_as_written(table: pa.Table, grid: Grid) -> WrittenBoxes:
    """Decode the boxes of a table."""
    exact, rounded = {}, {}
    for column in BOX_COLUMNS:
        exact[column] = _values(table, column)
        rounded[column] = np.empty(len(exact[column]), dtype=np.int64)
        if not round_to(exact[column], float(_grid_step(column, grid)), _BEYOND_ALL_BOUNDS, rounded[column]):
            raise InputError(
                f"the column {column} of {RELEASE_FILE} does not fit the manifest's cell and slot; write "
                "the release again"
            )
    return WrittenBoxes(exact=exact, boxes=Boxes(**rounded))


class PrecisionCheck:
    """Finds what is finer than boxes on the grid in one file."""

    def __init__(self, grid: Grid, crs: str | None) -> None:
        self._grid, self._crs = grid, crs
        self._off, self._first_off = dict.fromkeys(BOX_COLUMNS, 0), dict.fromkeys(BOX_COLUMNS, 0)
        self._rows = self._wrong = self._other_digits = 0
        self._exact = True
        self._bounds = _NO_BOUNDS
        self._stated: Floats | None = None

    def decode_rows(self, table: pa.Table) -> Boxes:
        """Decode rows, and add them."""
        written = boxes_as_written(table, self._grid)
        self.add_rows(table, written)
        return written.boxes

    def add_rows(self, table: pa.Table, written: WrittenBoxes) -> None:
        """Add rows with or without outlines, and their boxes."""
        boxes, grid = written.boxes, self._grid
        others = {field.name: field.type for field in table.schema if field.name not in BOX_COLUMNS}
        self._exact &= others.keys() <= {"trajectory_id", GEOMETRY}
        self._exact &= others.get("trajectory_id") in TEXTS
        for column, rounded in zip(BOX_COLUMNS, boxes.columns(), strict=True):
            kind, values = table[column].type, written.exact[column]
            step = np.float64(_grid_step(column, grid))
            if kind in NUMBERS and are_multiples(values, rounded, step):
                continue
            self._exact = False
            finer = _is_finer(kind, values, rounded * step)
            if finer.any() and not self._off[column]:
                self._first_off[column] = self._rows + int(finer.argmax()) + 1
            self._off[column] += int(finer.sum())
        if GEOMETRY in table.column_names:
            self.add_outlines(table, boxes)
        self._rows += len(boxes)

    def add_outlines(self, table: pa.Table, boxes: Boxes) -> None:
        """Add the outlines of these boxes."""
        if self._crs is None:
            self._exact = False
            return
        self._stated = stated_bounds(table.schema)
        if not len(boxes):
            return
        geometry = table[GEOMETRY]
        expected, bounds = draw_outlines(boxes, self._grid.cell_m, self._crs)
        finite = geometry.type in BYTES and np.isfinite(bounds).all()
        if finite and geometry.cast(pa.large_binary()).equals(pa.chunked_array([expected])):
            self._bounds = _around(self._bounds, np.array(bounds))
            return
        self._exact = False
        try:
            drawn = geometry.cast(pa.large_binary()).combine_chunks()
        except pa.ArrowException:
            self._wrong += len(boxes)
            return
        right = _are_near(drawn, expected)
        self._wrong += int((~right).sum())
        drawn, expected = (column.filter(pa.array(right)) for column in (drawn, expected))
        self._other_digits += int(pc.sum(pc.not_equal(drawn, expected)).as_py() or 0)
        if len(drawn):
            corners = _end_to_end(drawn.filter(_are_simple(drawn)))["corners"].reshape(-1, 2)
            cut = drawn.filter(pc.invert(_are_simple(drawn))).to_pylist()
            corners = np.concatenate([corners, *(part for wkb in cut for part in polygons_of(wkb))])
            self._bounds = _around(self._bounds, np.concatenate([corners.min(axis=0), corners.max(axis=0)]))

    def merge(self, later: "PrecisionCheck") -> None:
        """Add another check's later rows."""
        for column, count in later._off.items():
            if count and not self._off[column]:
                self._first_off[column] = self._rows + later._first_off[column]
            self._off[column] += count
        self._exact &= later._exact
        self._rows += later._rows
        self._wrong += later._wrong
        self._other_digits += later._other_digits
        self._bounds = _around(self._bounds, later._bounds)
        self._stated = later._stated if later._rows else self._stated

    @property
    def says_no_more_than_boxes(self) -> bool:
        """Whether all but pseudonyms follows from the boxes: then equal records are stored identically."""
        return self._exact

    def findings(self) -> Iterator[Finding]:
        """Values off the grid, other outlines, and wrong bounds."""
        for column, count in self._off.items():
            if count:
                unit = f"{_grid_step(column, self._grid):g} {'s' if column.startswith('t_') else 'm'}"
                yield _finer(
                    f"{count} values of {column} are not multiples of {unit}; the first stands in row "
                    f"{self._first_off[column]}"
                )
        if self._wrong:
            yield _finer(f"{self._wrong} of {self._rows} geometries are not the rectangle of their own box")
        if self._rows and not self._wrong and not _are_bounds(self._stated, self._bounds):
            yield _finer("the bounds in the file's metadata are not those of the rectangles")

    def notes(self) -> Iterator[str]:
        """Last digits from another version of the projection, or with a message."""
        yield from _on_other_digits(self._other_digits, self._rows, "outlines")


class PointPrecision:
    """Plane, degrees and geometry of a point must be the same place."""

    def __init__(self, crs: str | None) -> None:
        self._crs = crs
        self._rows = self._apart = self._other_digits = 0
        self._has_degrees = False
        self._are_places = True
        self._bounds = _NO_BOUNDS
        self._stated: Floats | None = None

    def decode_rows(self, table: pa.Table) -> Points:
        """Decode rows, and add them."""
        points = decode_points(table, RELEASE_FILE)
        self.add_rows(table, points)
        return points

    def add_rows(self, table: pa.Table, points: Points) -> None:
        """Add rows with or without geometries, and their points."""
        self._has_degrees = points.lat is not None
        self._rows += len(points)
        if self._crs is None or not len(points):
            return
        if points.lon is not None and points.lat is not None:
            x, y = transform(WGS84, self._crs, points.lon, points.lat)
            self._apart += int((~(np.hypot(x - points.x, y - points.y) <= _SAME_PLACE_M)).sum())
        if GEOMETRY in table.column_names:
            self.add_outlines(table, points)

    def add_outlines(self, table: pa.Table, points: Points) -> None:
        """Add the geometries of these points."""
        if self._crs is None or not len(points):
            return
        self._stated = stated_bounds(table.schema)
        drawn, places = decode_places(table[GEOMETRY]), lon_lat(points, self._crs)
        if drawn is None or not _are_places(drawn, places, to_the_last_digit=points.lat is not None):
            self._are_places = False
        else:
            self._other_digits += int((_bits(drawn) != _bits(places)).any(axis=1).sum())
            bounds = np.concatenate([drawn.min(axis=0), drawn.max(axis=0)])
            self._bounds = _around(self._bounds, bounds)

    def findings(self) -> Iterator[Finding]:
        """Points whose places differ, and wrong bounds."""
        if self._crs is None:
            if self._has_degrees:
                yield _finer("the points are in local meters and have degrees beside them")
            return
        if self._apart:
            yield _finer(
                f"{self._apart} of {self._rows} points have x and y that are not those of their degrees"
            )
        if not self._are_places:
            yield _finer("not every geometry is the place of its own point")
        elif not _are_bounds(self._stated, self._bounds):
            yield _finer("the bounds in the file's metadata are not those of the points")

    def notes(self) -> Iterator[str]:
        """Last digits from another version of the projection, or with a message."""
        yield from _on_other_digits(self._other_digits, self._rows, "geometries")


def _finer(message: str) -> Finding:
    return Finding("finer-than-claim", message)


def _on_other_digits(many: int, rows: int, what: str) -> Iterator[str]:
    if many:
        yield (
            f"{many:,} of {rows:,} {what} have other last digits than this machine computes: another version "
            f"of PROJ gives such to most of its {what}; where few have them, they may carry a message"
        )


def _are_places(drawn: Floats, places: Floats, *, to_the_last_digit: bool) -> bool:
    """Exactly for given degrees, to 1e-9 degrees from a plane."""
    if to_the_last_digit:
        return bool((_bits(drawn) == _bits(places)).all())
    with np.errstate(invalid="ignore"):  # of infinite places
        return bool((np.abs(drawn - places) <= SAME_PLACE_DEG).all())


def _is_finer(kind: pa.DataType, values: Floats, on_grid: Floats) -> Flags:
    """In any bit, a zero's sign included; timestamps are microseconds."""
    if pa.types.is_timestamp(kind):
        finer: Flags = np.abs(values - on_grid) > _ULPS * np.spacing(np.abs(values))
        return finer
    return np.asarray(_bits(values) != _bits(on_grid))


def _grid_step(column: str, grid: Grid) -> float:
    return grid.slot_s if column.startswith("t_") else grid.cell_m


def _values(table: pa.Table, column: str) -> Floats:
    if column not in table.column_names:
        raise InputError(f"{RELEASE_FILE} lacks the column {column}; write the release again")
    values = table[column]
    try:
        if pa.types.is_timestamp(values.type):
            values = pc.divide(
                values.cast(pa.timestamp("ns")).cast(pa.int64()).cast(pa.float64(), safe=False), 1e9
            )
        numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except pa.ArrowException as error:
        raise InputError(
            f"the column {column} of {RELEASE_FILE} is not made of numbers; write the release again"
        ) from error
    if len(numbers) and not (numbers.min() > -_BEYOND_ALL_BOUNDS and numbers.max() < _BEYOND_ALL_BOUNDS):
        raise InputError(
            f"the column {column} of {RELEASE_FILE} holds missing, infinite or impossibly large values; "
            "write the release again"
        )
    return read_only(numbers)


def _around(one: Floats, other: Floats) -> Floats:
    return np.concatenate([np.minimum(one[:2], other[:2]), np.maximum(one[2:], other[2:])])


def _are_near(drawn: pa.LargeBinaryArray, expected: pa.LargeBinaryArray) -> Flags:
    """[m]: the same closed parts, to 1e-9 degrees."""
    simple = np.asarray(
        pc.fill_null(pc.and_(_are_simple(drawn), _are_simple(expected)), False), dtype=np.bool_
    )
    right = np.zeros(len(drawn), dtype=np.bool_)
    one, other = (_end_to_end(column.filter(pa.array(simple))) for column in (drawn, expected))
    closed = (_bits(one["corners"][:, 0]) == _bits(one["corners"][:, 4])).all(axis=1)
    with np.errstate(invalid="ignore"):  # a box off the plane has infinite corners; they never agree
        near = (np.abs(one["corners"] - other["corners"]) <= SAME_PLACE_DEG).all(axis=(1, 2))
    right[simple] = (one["head"] == other["head"]).all(axis=1) & near & closed
    for row in np.flatnonzero(~simple).tolist():
        right[row] = _are_near_in_parts(drawn[row].as_py(), expected[row].as_py())
    return right


def _are_near_in_parts(drawn: bytes | None, expected: bytes) -> bool:
    if drawn is None or len(drawn) != len(expected) or heads_of(drawn) != heads_of(expected):
        return False
    parts = zip(polygons_of(drawn), polygons_of(expected), strict=True)
    return all(
        (np.abs(one - other) <= SAME_PLACE_DEG).all() and (_bits(one[0]) == _bits(one[-1])).all()
        for one, other in parts
    )


def _are_simple(outlines: pa.LargeBinaryArray) -> pa.BooleanArray:
    """Whether each has the size of one rectangle; null = no outline."""
    return pc.equal(pc.binary_length(outlines), _POLYGON.itemsize)


def _bits(numbers: Floats) -> Integers:
    """Zeros of either sign differ."""
    return np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)


def _are_bounds(recorded: Floats | None, bounds: Floats) -> bool:
    return recorded is None or (recorded.shape == (4,) and bool((_bits(recorded) == _bits(bounds)).all()))


def _end_to_end(texts: pa.LargeBinaryArray) -> npt.NDArray[np.void]:
    if not len(texts):
        return np.empty(0, dtype=_POLYGON)
    _, ends, content = texts.buffers()
    first = np.frombuffer(ends, dtype=np.int64)[texts.offset]
    return np.frombuffer(content, dtype=_POLYGON, count=len(texts), offset=int(first))


def stated_bounds(schema: pa.Schema) -> Floats | None:
    """The bounds in a GeoParquet file's metadata; None = none stated; empty = not readable."""
    text = (schema.metadata or {}).get(b"geo")
    if text is None:
        return None
    try:
        bounds = json.loads(text)["columns"]["geometry"].get("bbox")
        return None if bounds is None else np.array(bounds, dtype=np.float64)
    except (ValueError, KeyError, TypeError, AttributeError):
        return np.empty(0)  # invalid metadata: no bounds match
