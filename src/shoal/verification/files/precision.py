"""Whether coordinates, times and geometries of a written release say no more than its boxes or points do.

This is also the verifier's own decoder of a table of boxes: columns are decoded once, into exact values and
into cells.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.model.projection import WGS84, transform
from shoal.model.release import BOX_COLUMNS, Boxes, Points
from shoal.model.trajectories import Grid
from shoal.model.verdicts import Finding
from shoal.release_folder.box_table import outline_corners
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.point_table import lon_lat, places_in
from shoal.runtime.arrays import Flags, Floats

_ULPS: Final = 4  # a whole number times a cell, rounded once when written and once when read back
_BEYOND_ALL_BOUNDS: Final = 2.0**53  # seconds or meters that float64 still tells apart
_SAME_PLACE_M: Final = 0.001
_SAME_PLACE_DEG: Final = 1e-9  # a tenth of a millimeter; projections differ less between machines
_BOXES_AT_ONCE: Final = 1 << 18
_NO_BOUNDS: Final = np.array([np.inf, np.inf, -np.inf, -np.inf])
_POLYGON: Final = np.dtype([("head", "u1", 13), ("corners", "<f8", (5, 2))])
_HEAD: Final = np.array(
    [1, 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0], dtype=np.uint8
)  # little-endian polygon, one ring, five corners


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WrittenBoxes:
    """Boxes in a file's row order.

    exact: each bound as it is written, float64 seconds or meters. boxes: the same, rounded to cells and
    slots.
    """

    exact: Mapping[str, Floats]
    boxes: Boxes


def boxes_as_written(table: pa.Table, grid: Grid) -> WrittenBoxes:
    """Decode the boxes of a table.

    Raises InputError when a column is missing, or a value is missing, no number, or beyond all bounds.
    """
    exact, rounded = {}, {}
    for column in BOX_COLUMNS:
        exact[column] = _values(table, column)
        with np.errstate(over="ignore"):
            cells = np.rint(exact[column] / _step(column, grid))
        if not (np.abs(cells) < _BEYOND_ALL_BOUNDS).all():
            raise InputError(
                f"the column {column} of {RELEASE_FILE} does not fit the manifest's cell and slot; write "
                "the release again"
            )
        rounded[column] = cells.astype(np.int64)
    return WrittenBoxes(exact=exact, boxes=Boxes(**rounded))


def precision_findings(
    batches: Iterable[tuple[pa.Table, WrittenBoxes]], grid: Grid, crs: str | None
) -> Iterator[Finding]:
    """Findings about one file of boxes, in batches: a table with all its columns, and its decoded boxes."""
    off, first_off = dict.fromkeys(BOX_COLUMNS, 0), dict.fromkeys(BOX_COLUMNS, 0)
    rows = wrong = 0
    bounds, stated = _NO_BOUNDS, None
    for table, written in batches:
        boxes = written.boxes
        for column, rounded in zip(BOX_COLUMNS, boxes.columns(), strict=True):
            values = written.exact[column]
            finer = np.abs(values - rounded * _step(column, grid)) > _ULPS * np.spacing(np.abs(values))
            if finer.any() and not off[column]:
                first_off[column] = rows + int(finer.argmax()) + 1
            off[column] += int(finer.sum())
        if "geometry" in table.column_names and crs is not None:
            stated = _stated_bounds(table)
            more, here = _wrong_rectangles(table, boxes, grid.cell_m, crs)
            wrong, bounds = wrong + more, _around(bounds, here)
        rows += len(boxes)
    for column, count in off.items():
        if count:
            unit = f"{_step(column, grid):g} {'s' if column.startswith('t_') else 'm'}"
            message = (
                f"{count} values of {column} are not multiples of {unit}; the first stands in row "
                f"{first_off[column]}"
            )
            yield Finding("finer-than-claim", message)
    if wrong:
        yield Finding(
            "finer-than-claim", f"{wrong} of {rows} geometries are not the rectangle of their own box"
        )
    with np.errstate(invalid="ignore"):
        agree = stated is None or (
            stated.shape == (4,) and bool((np.abs(stated - bounds) <= _SAME_PLACE_DEG).all())
        )
    if rows and not agree:
        yield Finding("finer-than-claim", "the bounds in the file's metadata are not those of the rectangles")


def point_findings(table: pa.Table, points: Points, crs: str | None) -> Iterator[Finding]:
    """Findings about one file of points: plane, degrees and geometry must say the same place."""
    if crs is None:
        if points.lat is not None:
            yield Finding("finer-than-claim", "the points are in local meters and have degrees beside them")
        return
    places = lon_lat(points, crs)
    if points.lat is not None:
        x, y = transform(WGS84, crs, places[:, 0], places[:, 1])
        apart = ~(np.hypot(x - points.x, y - points.y) <= _SAME_PLACE_M)
        if apart.any():
            yield Finding(
                "finer-than-claim",
                f"{int(apart.sum())} of {len(points)} points have x and y that are not those of their "
                "degrees",
            )
    if "geometry" in table.column_names and len(points):
        drawn = places_in(table["geometry"])
        if drawn is None or not (np.abs(drawn - places) <= _SAME_PLACE_DEG).all():
            yield Finding("finer-than-claim", "not every geometry is the place of its own point")
        stated = _stated_bounds(table)
        bounds = np.concatenate([places.min(axis=0), places.max(axis=0)])
        if stated is not None and not (
            stated.shape == (4,) and (np.abs(stated - bounds) <= _SAME_PLACE_DEG).all()
        ):
            yield Finding("finer-than-claim", "the bounds in the file's metadata are not those of the points")


def _step(column: str, grid: Grid) -> float:
    return grid.slot_s if column.startswith("t_") else grid.cell_m


def _values(table: pa.Table, column: str) -> Floats:
    """A column of bounds as float64 seconds or meters."""
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
    if not (np.abs(numbers) < _BEYOND_ALL_BOUNDS).all():
        raise InputError(
            f"the column {column} of {RELEASE_FILE} holds missing, infinite or impossibly large values; "
            "write the release again"
        )
    return numbers


def _wrong_rectangles(table: pa.Table, boxes: Boxes, cell_m: float, crs: str) -> tuple[int, Floats]:
    """How many geometries are not the rectangles of their boxes, and the bounds that all should have."""
    bounds, wrong = _NO_BOUNDS, 0
    for start in range(0, len(boxes), _BOXES_AT_ONCE):
        rows = slice(start, start + _BOXES_AT_ONCE)
        expected = outline_corners(boxes.take(rows), cell_m, crs)
        flat = expected.reshape(-1, 2)
        bounds = _around(bounds, np.concatenate([flat.min(axis=0), flat.max(axis=0)]))
        wrong += int((~_is_rectangle(table["geometry"].slice(start, len(expected)), expected)).sum())
    return wrong, bounds


def _around(one: Floats, other: Floats) -> Floats:
    """The bounds of two bounds."""
    return np.concatenate([np.minimum(one[:2], other[:2]), np.maximum(one[2:], other[2:])])


def _is_rectangle(column: pa.ChunkedArray, expected: Floats) -> Flags:
    """Boolean [m]: whether each value is a polygon with the five expected corners, to 1e-9 degrees."""
    try:
        texts = column.cast(pa.large_binary()).combine_chunks()
    except pa.ArrowException:
        return np.zeros(len(expected), dtype=np.bool_)
    sized = np.asarray(
        pc.fill_null(pc.equal(pc.binary_length(texts), _POLYGON.itemsize), False), dtype=np.bool_
    )
    polygons = _end_to_end(texts.filter(pa.array(sized)))
    good = sized.copy()
    with np.errstate(invalid="ignore"):  # a box off the plane has no corners: inf - inf is no agreement
        near = (np.abs(polygons["corners"] - expected[sized]) <= _SAME_PLACE_DEG).all(axis=(1, 2))
    good[sized] = (polygons["head"] == _HEAD).all(axis=1) & near
    return good


def _end_to_end(texts: pa.LargeBinaryArray) -> npt.NDArray[np.void]:
    """Polygons that all have the right number of bytes, without a copy of each."""
    if not len(texts):
        return np.empty(0, dtype=_POLYGON)
    _, ends, content = texts.buffers()
    first = np.frombuffer(ends, dtype=np.int64)[texts.offset]
    return np.frombuffer(content, dtype=_POLYGON, count=len(texts), offset=int(first))


def _stated_bounds(table: pa.Table) -> Floats | None:
    """The bounds in the metadata of a GeoParquet file; None where there are none."""
    text = (table.schema.metadata or {}).get(b"geo")
    if text is None:
        return None
    try:
        bounds = json.loads(text)["columns"]["geometry"].get("bbox")
        return None if bounds is None else np.array(bounds, dtype=np.float64)
    except (ValueError, KeyError, TypeError, AttributeError):
        return np.empty(0)  # no such document: no bounds that could be right
