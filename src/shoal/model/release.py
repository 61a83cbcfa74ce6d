"""A release in memory: boxes or points under fresh pseudonyms, the claim they carry, and what was lost.

It holds no raw identifier and no seed. Who became which record is the Linkage, which exists apart from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims import Claim, PayloadKind
from shoal.model.intake import Reading
from shoal.model.row_order import different_rows
from shoal.model.trace import Trace
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Floats, Integers, fixed
from shoal.units import counted

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure

BOX_COLUMNS: Final = ("t_start", "t_end", "x_min", "y_min", "x_max", "y_max")
POINT_COLUMNS: Final = ("t", "x", "y")
DEGREE_COLUMNS: Final = ("lat", "lon")


@dataclass(frozen=True, eq=False, kw_only=True)
class Boxes:
    """Generalized samples, int64 [m] each.

    [t_start, t_end) in slots, [x_min, x_max) and [y_min, y_max) in cells.

    Says "the subject was somewhere in this area at some moment in this interval".
    """

    kind: ClassVar[PayloadKind] = "boxes"
    on_grid: ClassVar[bool] = True

    t_start: Integers
    t_end: Integers
    x_min: Integers
    y_min: Integers
    x_max: Integers
    y_max: Integers

    def __post_init__(self) -> None:
        for name in BOX_COLUMNS:
            object.__setattr__(self, name, fixed(getattr(self, name)))

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

    kind: ClassVar[PayloadKind] = "points"
    on_grid: ClassVar[bool] = False

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
        for name, column in self.columns().items():
            object.__setattr__(self, name, fixed(column))

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


Payload = Boxes | Points


def cells_of(
    offsets: Integers, t_s: Floats, x_m: Floats, y_m: Floats, grid: Grid
) -> tuple[Integers, Integers, Integers, Integers]:
    """(offsets, slots, columns and rows of cells), int64, of points of records; the different ones."""
    steps = ((t_s, grid.slot_s), (x_m, grid.cell_m), (y_m, grid.cell_m))
    t, x, y = (np.floor(column / step).astype(np.int64) for column, step in steps)
    record = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows = different_rows(record, t, x, y)
    if (np.diff(rows) != 1).any() or len(rows) < len(record):
        record, t, x, y = (column[rows] for column in (record, t, x, y))
    return np.searchsorted(record, np.arange(len(offsets))).astype(np.int64), t, x, y


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What the release does not hold, or holds besides.

    rows: input rows dropped, by reason; the others count after that.

    samples_suppressed: raw samples that no box of their own subject's record covers, or that became no
    published point, those of suppressed subjects included. samples_created: published points that stand for
    no raw sample. subjects_by_reason: the suppressed subjects, where the method tells why. samples_by_reason:
    the suppressed samples of a release of boxes, by the reasons of model/omission.py.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    samples_suppressed: int = 0
    subjects_suppressed: int = 0
    samples_created: int = 0
    subjects_by_reason: Mapping[str, int] = field(default_factory=dict)
    samples_by_reason: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """Published records: a header, and a payload of boxes or of points.

    Parameters
    ----------
    trajectory_ids
        The fresh pseudonym of each record.
    offsets
        int64 [n_records + 1]. Record r owns rows offsets[r] to offsets[r + 1] of the payload: boxes sorted by
        time, or points sorted by (t, x, y).
    payload
        What is published.
    grid
        The slots and cells that boxes are counted in; None for points.
    crs
        The plane of the coordinates; None = local meters.
    publishable
        False when a research seed was used.
    reading
        How the raw input was read, so that a check can repeat it.

    Raises
    ------
    MisuseError
        When the offsets do not fit the payload, or boxes have no grid, or points have one.
    """

    trajectory_ids: Sequence[str]
    offsets: Integers
    payload: Payload
    claim: Claim
    grid: Grid | None
    method: str
    parameters: Mapping[str, Any]
    losses: Losses
    crs: str | None
    unit_of_protection: str
    publishable: bool
    reading: Reading = field(default_factory=Reading)
    rows_repaired: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_rows = len(self.payload)
        if self.offsets.shape != (self.n_records + 1,) or self.offsets[0] != 0 or self.offsets[-1] != n_rows:
            raise MisuseError(f"offsets must rise from 0 to {n_rows} in {self.n_records} steps")
        if (self.grid is not None) != self.payload.on_grid:
            raise MisuseError(
                f"a release of {self.kind} {'needs a' if self.payload.on_grid else 'has no'} grid"
            )
        object.__setattr__(self, "offsets", fixed(self.offsets))

    @property
    def kind(self) -> PayloadKind:
        """What the payload holds, the key of every table that tells boxes from points."""
        return self.payload.kind

    @property
    def boxes(self) -> Boxes:
        """The payload of a release of boxes; raises MisuseError for points."""
        if not isinstance(self.payload, Boxes):  # the one place where the payload's type is asked for boxes
            raise MisuseError("this release holds points, not boxes; as_boxes(grid) puts them on a grid")
        return self.payload

    @property
    def points(self) -> Points:
        """The payload of a release of points; raises MisuseError for boxes."""
        if not isinstance(self.payload, Points):  # the one place where the payload's type is asked for points
            raise MisuseError("this release holds boxes, not points")
        return self.payload

    @property
    def n_records(self) -> int:
        """How many records there are; each member of a class has one."""
        return len(self.trajectory_ids)

    @property
    def n_samples(self) -> int:
        """How many boxes or points there are, of all records together."""
        return len(self.payload)

    def snapped_grid(self) -> Grid:
        """The grid of a release of boxes; raises MisuseError for points, as Trajectories do."""
        if self.grid is None:
            raise MisuseError("this release holds points as given, which have no grid")
        return self.grid

    def record(self, position: int) -> Any:
        """The rows of one record, as a payload of the same kind."""
        return self.payload.take(slice(self.offsets[position], self.offsets[position + 1]))

    def as_boxes(self, grid: Grid) -> "Release":
        """The release as boxes, for attacks and figures that know nothing else; boxes come back as they are.

        Every point becomes the slot and cell of this grid that hold it; repeats within a record are left out.
        """
        if self.payload.on_grid:
            return self
        offsets, t, x, y = self.cells_of_points(grid)
        return replace(self, offsets=offsets, payload=Boxes.of_samples(t, x, y), grid=grid)

    def cells_of_points(self, grid: Grid) -> tuple[Integers, Integers, Integers, Integers]:
        """(offsets, slots, columns and rows of cells), int64, of a release of points; the different ones."""
        points = self.points
        return cells_of(self.offsets, points.t, points.x, points.y, grid)

    def __repr__(self) -> str:
        size = f"{counted(self.n_records, 'record')}, {self.n_samples} {self.kind}"
        return f"Release({self.method}, {self.claim.name}, {size})"

    def to_dataframe(self) -> "DataFrame":
        """All boxes or points as a pandas data frame, one row each, in the columns of the written table.

        Returns
        -------
        DataFrame
            ``trajectory_id``: the pseudonym of the record. Of boxes ``t_start``, ``t_end``, ``x_min``,
            ``y_min``, ``x_max``, ``y_max``; of points ``t``, ``x``, ``y`` and, where there is a plane,
            ``lat``, ``lon``. Times are moments in UTC, or seconds since step 0 where the input counts steps
            (its numbers are small, or ``time_unit`` is a length of time). Coordinates are meters of the
            plane.

        Raises
        ------
        MissingExtraError
            When pandas is not installed.

        Examples
        --------
        >>> import shoal
        >>> city = shoal.read(shoal.synthesize(n_subjects=20, days=2, seed=1))
        >>> release, _ = shoal.Glove(k=2).anonymize(city, shoal.Randomness.from_system())
        >>> list(release.to_dataframe().columns)
        ['trajectory_id', 't_start', 't_end', 'x_min', 'y_min', 'x_max', 'y_max']
        """
        from shoal.model.frames import frame_of_release

        return frame_of_release(self)

    def plot(self, *, at_most: int = 20_000) -> "Figure":
        """A map with every box, or with the path of every record of points.

        Parameters
        ----------
        at_most
            The most boxes or points to draw. Of a larger release some records are drawn, evenly spread over
            all, and the title says how many.

        Returns
        -------
        Figure
            A figure of Plotly; notebooks show it, ``figure.show()`` opens it in a browser.

        Raises
        ------
        MisuseError
            When ``at_most`` is less than 1.
        MissingExtraError
            When Plotly is not installed (the extra ``plot``).
        """
        from shoal.model.plotting import map_of_release

        return map_of_release(self, at_most)

    def _repr_html_(self) -> str:
        from shoal.model.summaries import html_of_release

        return html_of_release(self)


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """Which subject became which record: pairs (uid, trajectory id), in no particular order.

    Never inside a release.

    trace: of a release of swapped points, which raw samples each point was made from. stands_for: of any
    release of points, int64 [p], the row of the raw sample that each stands for, -1 = created; known while
    the release is made and never written.
    """

    uids: Sequence[str]
    trajectory_ids: Sequence[str]
    trace: Trace | None = None
    stands_for: Integers | None = None

    def __post_init__(self) -> None:
        if len(self.uids) != len(self.trajectory_ids):
            raise MisuseError(f"{len(self.uids)} uids cannot be linked to {len(self.trajectory_ids)} records")

    def __repr__(self) -> str:
        return f"Linkage({counted(len(self.uids), 'subject')})"
