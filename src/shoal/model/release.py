"""A release in memory: boxes or points under fresh pseudonyms, the claim they carry, and the counts of what was lost.

It holds no raw identifier and no seed. Who became which record is the Linkage, which exists apart from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims import BoxClaim, PointClaim
from shoal.model.intake import Reading
from shoal.model.trace import Trace
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Floats, Integers

BOX_COLUMNS: Final = ("t_start", "t_end", "x_min", "y_min", "x_max", "y_max")
POINT_COLUMNS: Final = ("t", "x", "y")
DEGREE_COLUMNS: Final = ("lat", "lon")


@dataclass(frozen=True, eq=False, kw_only=True)
class Boxes:
    """Generalized samples, int64 [m] each.

    [t_start, t_end) in slots, [x_min, x_max) and [y_min, y_max) in cells.

    Says "the subject was somewhere in this area at some moment in this interval" (semantics 0).
    """

    t_start: Integers
    t_end: Integers
    x_min: Integers
    y_min: Integers
    x_max: Integers
    y_max: Integers

    @classmethod
    def of_samples(cls, t: Integers, x: Integers, y: Integers) -> "Boxes":
        """Each raw sample as the box it covers: one slot, one cell."""
        return cls(t_start=t, t_end=t + 1, x_min=x, y_min=y, x_max=x + 1, y_max=y + 1)

    @classmethod
    def concatenate(cls, parts: Sequence["Boxes"]) -> "Boxes":
        """All boxes of all parts, in order."""
        empty = [np.empty(0, dtype=np.int64)]
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in parts] or empty) for name in BOX_COLUMNS}
        )

    def __len__(self) -> int:
        return len(self.t_start)

    def columns(self) -> tuple[Integers, Integers, Integers, Integers, Integers, Integers]:
        """The six arrays, in the order of BOX_COLUMNS."""
        return self.t_start, self.t_end, self.x_min, self.y_min, self.x_max, self.y_max

    def take(self, rows: Any) -> "Boxes":
        """Only these rows (a slice, positions or a mask)."""
        return Boxes(**{name: getattr(self, name)[rows] for name in BOX_COLUMNS})

    def sorted(self) -> "Boxes":
        """In canonical order: by t_start, then t_end, x_min, y_min, x_max, y_max."""
        return self.take(np.lexsort(self.columns()[::-1]))


@dataclass(frozen=True, eq=False, kw_only=True)
class Points:
    """Published points, float64 [m] each: t seconds, x and y meters of the plane.

    Lat and lon degrees, or None without them.
    """

    t: Floats
    x: Floats
    y: Floats
    lat: Floats | None = None
    lon: Floats | None = None

    def __post_init__(self) -> None:
        if (self.lat is None) != (self.lon is None) or len(
            {len(column) for column in self.columns().values()}
        ) > 1:
            raise MisuseError("the columns of points differ in length, or lat and lon are not both there")

    def __len__(self) -> int:
        return len(self.t)

    def columns(self) -> dict[str, Floats]:
        """The arrays by name, in the order in which they are written.

        Lat and lon only where there are any.
        """
        named = {name: getattr(self, name) for name in (*POINT_COLUMNS, *DEGREE_COLUMNS)}
        return {name: column for name, column in named.items() if column is not None}

    def take(self, rows: Any) -> "Points":
        """Only these rows (a slice, positions or a mask)."""
        return Points(**{name: column[rows] for name, column in self.columns().items()})


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What the release does not hold, or holds besides.

    rows: input rows dropped, by reason; the others count after that.

    samples_suppressed: raw samples that no box of their own subject's record covers, or that became no
    published point, those of suppressed subjects included. samples_created: published points that stand for
    no raw sample. subjects_by_reason: the suppressed subjects, where the method tells why.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    samples_suppressed: int = 0
    subjects_suppressed: int = 0
    samples_created: int = 0
    subjects_by_reason: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Records:
    """What records of boxes and of points have in common.

    crs: the plane of the coordinates, None = local meters. reading: how the raw input was read, so that a
    check can repeat it. publishable: False when a research seed was used.
    """

    trajectory_ids: tuple[str, ...]
    offsets: Integers
    method: str
    parameters: Mapping[str, Any]
    losses: Losses
    crs: str | None
    unit_of_protection: str
    publishable: bool
    reading: Reading = field(default_factory=Reading)
    rows_repaired: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_records(self) -> int:
        """How many records there are; members of one crowd have one each."""
        return len(self.trajectory_ids)

    def _check_offsets(self, n_rows: int) -> None:
        if self.offsets.shape != (self.n_records + 1,) or self.offsets[0] != 0 or self.offsets[-1] != n_rows:
            raise MisuseError(f"offsets must rise from 0 to {n_rows} in {self.n_records} steps")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(_Records):
    """Published records.

    Record r owns boxes offsets[r] to offsets[r + 1], sorted by time, under trajectory_ids[r].
    """

    boxes: Boxes
    claim: BoxClaim
    grid: Grid

    def __post_init__(self) -> None:
        self._check_offsets(len(self.boxes))

    @property
    def n_samples(self) -> int:
        """How many boxes there are, of all records together."""
        return len(self.boxes)

    def record(self, position: int) -> Boxes:
        """The boxes of one record."""
        return self.boxes.take(slice(self.offsets[position], self.offsets[position + 1]))

    def __repr__(self) -> str:
        return f"Release({self.method}, {self.claim}, {self.n_records} records, {self.n_samples} boxes)"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PointRelease(_Records):
    """Published records of points.

    Record r owns points offsets[r] to offsets[r + 1], sorted by (t, x, y), under trajectory_ids[r].
    """

    points: Points
    claim: PointClaim

    def __post_init__(self) -> None:
        self._check_offsets(len(self.points))

    @property
    def n_samples(self) -> int:
        """How many points there are, of all records together."""
        return len(self.points)

    def record(self, position: int) -> Points:
        """The points of one record."""
        return self.points.take(slice(self.offsets[position], self.offsets[position + 1]))

    def as_boxes(self, grid: Grid) -> Release:
        """Every point as the slot and cell that hold it, repeats left out.

        For attacks and figures that know boxes alone.
        """
        steps = ((self.points.t, grid.slot_s), (self.points.x, grid.cell_m), (self.points.y, grid.cell_m))
        t, x, y = (np.floor(column / step).astype(np.int64) for column, step in steps)
        record = np.repeat(np.arange(self.n_records), np.diff(self.offsets))
        different = np.unique(np.column_stack([record, t, x, y]), axis=0)
        header = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("points", "offsets")
        }
        return Release(
            offsets=np.searchsorted(different[:, 0], np.arange(self.n_records + 1)).astype(np.int64),
            boxes=Boxes.of_samples(*np.ascontiguousarray(different[:, 1:].T)),
            grid=grid,
            **header,
        )

    def __repr__(self) -> str:
        return f"PointRelease({self.method}, {self.claim}, {self.n_records} records, {self.n_samples} points)"


AnyRelease = Release | PointRelease


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """Which subject became which record: pairs (uid, trajectory id), in no particular order.

    Never inside a release.

    trace: of a release of swapped points, which raw samples each point was made from. stands_for: of any
    release of points, int64 [p], the row of the raw sample that each stands for, -1 = created; known while
    the release is made and never written.
    """

    uids: tuple[str, ...]
    trajectory_ids: tuple[str, ...]
    trace: Trace | None = None
    stands_for: Integers | None = None

    def __post_init__(self) -> None:
        if len(self.uids) != len(self.trajectory_ids):
            raise MisuseError(f"{len(self.uids)} uids cannot be linked to {len(self.trajectory_ids)} records")

    def __repr__(self) -> str:
        return f"Linkage({len(self.uids)} subjects)"
