"""The records that adversaries search in, as boxes or points."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shoal.kernels.joint_reading import Contents
from shoal.kernels.likelihood import (
    CoverIndex,
    RecordClasses,
    fill_levels,
    fill_time_index,
    records_ascend,
)
from shoal.kernels.passing import Lines
from shoal.kernels.place_index import BoxTiles, PlaceTiles, empty_tiles, fill_box_tiles, fill_place_tiles
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Floats, Integers, Numbers, offsets_of, read_only, rows_of

if TYPE_CHECKING:
    from shoal.attacks.clusters import RecordSimilarity

_AREA: Final = 4  # logarithm of the least side of a tile for what is near, in cells
_BOXES_OF_A_TILE: Final = 32
_FEW_PLACES: Final = 1 << 16  # that an index may count without asking whether there are more boxes


def narrowest(*columns: Integers) -> type[np.signedinteger[Any]]:
    """32 bits where all numbers fit: half the memory, and sorted twice as fast."""
    limits, n = np.iinfo(np.int32), len(columns[0])
    fits = n <= limits.max and all(
        column.min() >= limits.min and column.max() < limits.max for column in columns if n
    )
    return np.int32 if fits else np.int64


def index_over_time(boxes: Integers, offsets: Integers) -> CoverIndex:
    """Boxes [b, 6], 32-bit where they fit, over time; record i owns offsets[i] to offsets[i + 1]."""
    levels, starts = np.empty(len(boxes), dtype=np.int8), boxes[:, 0]
    fill_levels(boxes, levels)
    class_offsets = offsets_of(
        int(np.count_nonzero(levels == level)) for level in range(int(levels.max(initial=0)) + 1)
    )
    least, end = (int(starts.min()), int(starts.max()) + 1) if len(boxes) else (0, 0)
    places = (end - least) * (len(class_offsets) - 1)
    if places > max(len(boxes), _FEW_PLACES):
        rows = np.lexsort((starts, levels)).astype(boxes.dtype)
        return CoverIndex(class_offsets, boxes, rows, read_only(offsets))
    filed = CoverIndex(class_offsets, boxes, np.empty(len(boxes), dtype=boxes.dtype), read_only(offsets))
    fill_time_index(levels, least, np.zeros(places + 1, dtype=np.int64), filed)
    return filed


def _owners(offsets: Integers, kind: Any) -> Integers:
    return np.repeat(np.arange(len(offsets) - 1, dtype=kind), np.diff(offsets))


def index_over_places(boxes: Integers, record: Integers) -> PlaceTiles:
    """Rectangles of boxes [b, 6]; record: int64 [b], ascending."""
    kind = narrowest(boxes)
    room = [np.empty(shape, dtype=kind) for shape in ((len(boxes), 4), len(boxes), len(boxes))]
    places = PlaceTiles(empty_tiles(boxes, 0, len(boxes)), *room)
    n = fill_place_tiles(boxes, record, places)
    return PlaceTiles(places.tiles, *(column[:n] for column in room))  # what is not filled takes no memory


def index_over_areas(by_time: CoverIndex) -> BoxTiles:
    """Boxes over places, and in each over time; too large to cache."""
    order = np.argsort(by_time.boxes[by_time.rows, 0], kind="stable")
    rows = by_time.rows[order]
    boxes, record = by_time.boxes[rows], _owners(by_time.offsets, rows.dtype)[rows]
    tiles = empty_tiles(boxes, _AREA, len(boxes) // _BOXES_OF_A_TILE)
    areas = BoxTiles(tiles, np.empty_like(boxes), np.empty_like(record), np.empty_like(record))
    fill_box_tiles(boxes, record, areas)
    return areas


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes:
    """Records that are equal, box for box."""

    records: "BoxTarget"  # the different ones, one for each class
    sizes: Integers  # int64 [c], the number of equal records


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxTarget:
    """Records of boxes [b, 6]: t_start, t_end, x_min, y_min, x_max, y_max, in slots and cells, ends excluded.

    32 bits where they fit; NumPy code converts first. guesses: a cache, by the boxes of a record and the
    people who are known in it; the guesses, and where somebody may be if nobody is known.
    """

    offsets: Integers  # int64 [r + 1]; record i owns boxes offsets[i] to offsets[i + 1]
    boxes: Integers
    grid: Grid
    guesses: dict[tuple[bytes, bytes], tuple[Integers, Contents | None]] = field(default_factory=dict)

    @classmethod
    def of_trajectories(cls, original: Trajectories) -> "BoxTarget":
        """Snapped samples, a record for each subject."""
        return cls.of_samples(original.offsets, original.t, original.x, original.y, original.snapped_grid())

    @classmethod
    def of_samples(cls, offsets: Integers, t: Integers, x: Integers, y: Integers, grid: Grid) -> "BoxTarget":
        """The slots and cells of samples."""
        boxes = np.empty((len(t), len(BOX_COLUMNS)), dtype=narrowest(t, x, y))
        for place, (column, beyond) in enumerate(((t, 0), (t, 1), (x, 0), (y, 0), (x, 1), (y, 1))):
            np.add(column, beyond, out=boxes[:, place], casting="same_kind")
        return cls(offsets=offsets, boxes=boxes, grid=grid)

    @classmethod
    def of_release(cls, release: Release, grid: Grid | None = None) -> "BoxTarget":
        """The records of a release; for points, their slots and cells on ``grid``."""
        if grid is not None and not release.payload.on_grid:
            return cls.of_samples(*release.cells_of_points(grid), grid)
        columns = release.boxes.columns()
        boxes = np.empty((release.n_samples, len(columns)), dtype=narrowest(*columns))
        for place, column in enumerate(columns):
            boxes[:, place] = column
        return cls(offsets=release.offsets, boxes=boxes, grid=release.snapped_grid())

    @classmethod
    def of_boxes(cls, offsets: Integers, boxes: Integers, grid: Grid) -> "BoxTarget":
        """Boxes int64 [b, 6], each record's ascending."""
        return cls(offsets=offsets, boxes=boxes.astype(narrowest(*boxes.T)), grid=grid)

    @property
    def n_records(self) -> int:
        """The number of records."""
        return len(self.offsets) - 1

    @property
    def record_of_box(self) -> Integers:
        """[b]: the record of each box, in its width; not cached."""
        return _owners(self.offsets, self.boxes.dtype)

    @cached_property
    def by_time(self) -> CoverIndex:
        """The index for questions about samples."""
        return index_over_time(self.boxes, self.offsets)

    @cached_property
    def by_place(self) -> PlaceTiles:
        """The index for questions about places."""
        return index_over_places(self.boxes, self.record_of_box)

    @cached_property
    def class_of(self) -> Integers:
        """int64 [r]: records of equal number are equal; numbered as they first appear."""
        maybe_equal = self._maybe_equal
        rows = (
            slice(None)
            if maybe_equal.all()
            else np.flatnonzero(np.repeat(maybe_equal, np.diff(self.offsets)))
        )
        boxes, counts = self.boxes[rows], np.diff(self.offsets) * maybe_equal
        ends = np.cumsum(counts)
        if not records_ascend(boxes, np.concatenate([[0], ends])):
            boxes = boxes[np.lexsort((*boxes.T[::-1], self.record_of_box[rows]))]
        numbers: dict[bytes | int, int] = {}  # by digests: boxes themselves would fill the memory once more
        return np.array(
            [
                numbers.setdefault(
                    blake2b(boxes[end - count : end].data, digest_size=32).digest() if digested else record,
                    len(numbers),
                )
                for record, (digested, count, end) in enumerate(
                    zip(maybe_equal.tolist(), counts.tolist(), ends.tolist(), strict=True)
                )
            ],
            dtype=np.int64,
        )

    @property
    def _maybe_equal(self) -> Flags:
        """[r]: by the number of boxes and the (perhaps overflowing) sums of sides."""
        lengths = np.diff(self.offsets)
        sums = np.zeros((self.n_records, 7), dtype=np.int64)
        sums[:, 6], some = lengths, lengths > 0
        if some.any():
            # in the width of the boxes, so that these are not copied into 64 bits
            kind = self.boxes.dtype
            sums[some, :6] = np.add.reduceat(self.boxes, self.offsets[:-1][some], axis=0, dtype=kind)
        _, number, counts = np.unique(sums, axis=0, return_inverse=True, return_counts=True)
        return np.asarray(counts[number.ravel()] > 1)

    @property
    def classes(self) -> Classes:
        """Every different record once."""
        fewer, sizes = self._different
        return Classes(records=self if fewer is None else fewer, sizes=sizes)

    @cached_property
    def _different(self) -> "tuple[BoxTarget | None, Integers]":
        """Different records; they do not hold this object, which would keep its indexes alive."""
        _, first, sizes = np.unique(self.class_of, return_index=True, return_counts=True)
        if len(first) == self.n_records:  # numbered as they stand
            return None, sizes.astype(np.int64)
        offsets, rows = offsets_of(np.diff(self.offsets)[first]), rows_of(self.offsets, first)
        return BoxTarget(offsets=offsets, boxes=self.boxes[rows], grid=self.grid), sizes.astype(np.int64)

    @cached_property
    def book(self) -> RecordClasses:
        """Every different record once, for kernels."""
        return self.classes.records.book_of(self.classes.sizes)

    def book_of(self, sizes: Integers) -> RecordClasses:
        """These records for kernels. sizes: int64 [r], the number of equal records that each stands for."""
        return RecordClasses(read_only(self.offsets), self.boxes, sizes, self.by_time)

    def drop_time_index(self) -> None:
        """Forget the index, as large as the records."""
        for one in (self, self.classes.records):
            one.__dict__.pop("book", None)
            one.__dict__.pop("by_time", None)

    def record(self, position: int) -> Integers:
        """The boxes [b, 6] of one record, in 64 bits."""
        return self.boxes[self.offsets[position] : self.offsets[position + 1]].astype(np.int64)

    def with_boxes(self, mask: Flags) -> "BoxTarget":
        """Only the boxes of this mask; a record may be empty then."""
        counts = np.bincount(self.record_of_box[mask], minlength=self.n_records)
        return BoxTarget(offsets=offsets_of(counts), boxes=self.boxes[mask], grid=self.grid)


@dataclass(frozen=True, eq=False, kw_only=True)
class PointIndex:
    """Equal points have equal numbers."""

    codes: Integers  # int64 [m], the number of each point
    values: tuple[Numbers, ...]  # for each column its distinct values, ascending
    pairs: tuple[Integers, ...]  # for each further column, distinct (number so far, place in column)

    @classmethod
    def of_columns(cls, *columns: Numbers) -> "PointIndex":
        """Numbers for the rows of these columns [m]."""
        first, codes = np.unique(columns[0], return_inverse=True)
        values, pairs = [first], []
        for column in columns[1:]:
            distinct, number = np.unique(column, return_inverse=True)
            pair_values, codes = np.unique(codes * len(distinct) + number, return_inverse=True)
            values.append(distinct)
            pairs.append(pair_values)
        return cls(codes=codes.astype(np.int64), values=tuple(values), pairs=tuple(pairs))

    def codes_of(self, *columns: Numbers) -> Integers:
        """int64 [n]: the number of each row, -1 for a new one."""
        codes = _places_in(self.values[0], columns[0])
        for values, pairs, column in zip(self.values[1:], self.pairs, columns[1:], strict=True):
            number = _places_in(values, column)
            missing = (codes < 0) | (number < 0)
            codes = np.where(missing, -1, _places_in(pairs, codes * len(values) + number))
        return codes


class RowsByCode:
    """Rows of points, found by their numbers [m]."""

    def __init__(self, codes: Integers) -> None:
        self._order = np.argsort(codes, kind="stable")
        self._codes = codes[self._order]

    def of(self, asked: Integers) -> list[Integers]:
        """The rows of each of these numbers."""
        begin, end = (np.searchsorted(self._codes, asked, side) for side in ("left", "right"))
        return [self._order[b:e] for b, e in zip(begin.tolist(), end.tolist(), strict=True)]


def _places_in(ascending: Numbers, numbers: Numbers) -> Integers:
    place = np.searchsorted(ascending, numbers).astype(np.int64)
    place[place == len(ascending)] = 0
    if not len(ascending):
        return np.full(len(numbers), -1, dtype=np.int64)
    return np.where(ascending[place] == numbers, place, -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class PointTarget:
    """Records of points as given.

    The fields after y are caches. By the k of clusters: tracks, int64 [m]; similarity, of records. By the
    diameter of cylinders: middles, float64 [m, 2]; others, int64 [m], the other point of a crowd of two, -1
    elsewhere; undone, [m, 2], the places the points came from.
    """

    offsets: Integers  # int64 [r + 1]; record i owns points offsets[i] to offsets[i + 1], ordered by time
    t: Floats  # seconds, float64 [m]
    x: Floats  # x, y: meters, float64 [m]
    y: Floats
    tracks: dict[int, Integers] = field(default_factory=dict)
    similarity: dict[int, "RecordSimilarity"] = field(default_factory=dict)
    middles: dict[float, Floats] = field(default_factory=dict)
    others: dict[float, Integers] = field(default_factory=dict)
    undone: dict[float, Floats] = field(default_factory=dict)

    @classmethod
    def of_trajectories(cls, original: Trajectories) -> "PointTarget":
        """Points as given, a record for each subject."""
        original.require_points_as_given()
        return cls(offsets=original.offsets, t=original.t, x=original.x, y=original.y)

    @classmethod
    def of_release(cls, release: Release) -> "PointTarget":
        """The records of a release."""
        return cls(offsets=release.offsets, t=release.points.t, x=release.points.x, y=release.points.y)

    @property
    def lines(self) -> Lines:
        """The records for kernels."""
        return Lines(self.offsets, self.t, self.x, self.y)

    def since(self, moment_s: float) -> "PointTarget":
        """Only the points from a moment on; a record may be empty then."""
        mask = self.t >= moment_s
        counts = np.bincount(self.record_of_point[mask], minlength=self.n_records)
        return PointTarget(offsets=offsets_of(counts), t=self.t[mask], x=self.x[mask], y=self.y[mask])

    @property
    def n_records(self) -> int:
        """The number of records."""
        return len(self.offsets) - 1

    @cached_property
    def class_of(self) -> Integers:
        """int64 [r]: every record by itself; none are taken to be equal."""
        return np.arange(self.n_records)

    @cached_property
    def record_of_point(self) -> Integers:
        """int64 [m]: the record of each point."""
        return np.repeat(np.arange(self.n_records), np.diff(self.offsets))

    @cached_property
    def by_triple(self) -> PointIndex:
        """The index of times and places."""
        return PointIndex.of_columns(self.t, self.x, self.y)

    @cached_property
    def by_time(self) -> PointIndex:
        """The index of times."""
        return PointIndex.of_columns(self.t)

    @cached_property
    def by_place(self) -> PointIndex:
        """The index of places."""
        return PointIndex.of_columns(self.x, self.y)
