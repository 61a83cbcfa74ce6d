"""The data model: every subject's samples in a few contiguous arrays, subjects' ids apart.

Kernels see only the arrays. Subjects stand in the order of their ids, samples in the order (t, x, y), so that
nothing depends on the order of an input file; that order is kept as ``input_rank``, for one check alone: that
no release repeats it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.model.intake import Intake

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]

COLUMNS: Final = {
    "t": "snapped: slots of slot_s seconds since 1970-01-01 UTC; as given: seconds since then (or since "
    "step 0)",
    "x": "snapped: cells of cell_m meters, eastward, lower corner; as given: meters",
    "y": "snapped: cells of cell_m meters, northward, lower corner; as given: meters",
}


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The precision of snapped data.

    Square cells of ``cell_m`` meters, slots of ``slot_s`` seconds (semantics 0).
    """

    cell_m: float = 100.0
    slot_s: float = 60.0

    def __post_init__(self) -> None:
        for name, value, example in (("cell_m", self.cell_m, "100"), ("slot_s", self.slot_s, "60")):
            if not (np.isfinite(value) and value > 0):
                raise MisuseError(
                    f"{name} = {value} must be finite and greater than 0, for example {example}"
                )


class Population(Protocol):
    """What is known of subjects without their samples.

    Of Trajectories in memory, and of people who lie on disk.
    """

    @property
    def ids(self) -> tuple[str, ...]:
        """Different texts, ascending."""

    @property
    def input_rank(self) -> Integers | None:
        """Each subject's place in the order of the input."""

    @property
    def crs(self) -> str | None:
        """The plane of x and y, None = local meters."""

    @property
    def intake(self) -> Intake:
        """The account of the reading."""

    def snapped_grid(self) -> Grid:
        """The grid; raises MisuseError for points as given."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Trajectories:
    """All samples of n subjects.

    ids: n different texts, ascending. offsets: int64 [n + 1]; subject i owns samples offsets[i] to offsets[i
    + 1]. t, x, y: [m], int64 slots and cells when ``grid`` is set, float64 seconds and meters when it is
    None; each subject's samples ascend by (t, x, y), without repeats. crs: the plane of x and y as text that
    pyproj reads, None = local meters. input_rank: int64 [n], each subject's place in the order of first
    appearance in the input. lat, lon: float64 [m], degrees exactly as given; None when samples are snapped or
    came in meters. Raises MisuseError when the arrays contradict each other.
    """

    ids: tuple[str, ...]
    offsets: Integers
    t: Numbers
    x: Numbers
    y: Numbers
    grid: Grid | None = field(default_factory=Grid)
    crs: str | None = None
    input_rank: Integers | None = None
    lat: Floats | None = None
    lon: Floats | None = None
    intake: Intake = field(default_factory=Intake)

    def __post_init__(self) -> None:
        n, m = len(self.ids), len(self.t)
        if (
            self.offsets.shape != (n + 1,)
            or self.offsets[0] != 0
            or self.offsets[-1] != m
            or (np.diff(self.offsets) < 1).any()
        ):
            raise MisuseError(
                f"offsets must rise from 0 to {m} in {n} steps, with at least one sample for each subject"
            )
        if not len(self.t) == len(self.x) == len(self.y):
            raise MisuseError(f"t, x and y differ in length: {len(self.t)}, {len(self.x)}, {len(self.y)}")
        wanted = np.float64 if self.grid is None else np.int64
        if not self.t.dtype == self.x.dtype == self.y.dtype == wanted:
            raise MisuseError(
                f"t, x and y must all be {np.dtype(wanted)}, not {self.t.dtype}, {self.x.dtype}, "
                f"{self.y.dtype}"
            )
        if any(a >= b for a, b in zip(self.ids, self.ids[1:], strict=False)):
            raise MisuseError(
                "ids must be different and ascending; build with Trajectories.from_rows to have them sorted"
            )
        if not self._samples_ascend():
            raise MisuseError(
                "each subject's samples must ascend by (t, x, y) without repeats; build with "
                "Trajectories.from_rows"
            )
        if (self.lat is None) != (self.lon is None) or any(
            degrees is not None and len(degrees) != m for degrees in (self.lat, self.lon)
        ):
            raise MisuseError(f"lat and lon come together, one of each for every one of the {m} samples")
        for column in (self.offsets, self.t, self.x, self.y, self.lat, self.lon):
            if column is not None:
                column.flags.writeable = False

    @classmethod
    def from_rows(
        cls,
        ids: Sequence[str],
        t: npt.ArrayLike,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        grid: Grid | None = None,
        crs: str | None = None,
        intake: Intake | None = None,
    ) -> "Trajectories":
        """Trajectories from one row per sample in any order; exact repeats become one.

        ids, t, x, y: equal length. With ``grid``, t, x and y are slots and cells already; without, seconds
        and meters.
        """
        kind = np.float64 if grid is None else np.int64
        columns = [np.ascontiguousarray(column, dtype=kind) for column in (t, x, y)]
        names, first_row, code = np.unique(
            np.asarray(ids, dtype=np.str_), return_index=True, return_inverse=True
        )
        order = np.lexsort((columns[2], columns[1], columns[0], code))
        code, columns = code[order], [column[order] for column in columns]
        fresh = np.ones(len(code), dtype=np.bool_)
        fresh[1:] = (np.diff(code) != 0) | np.logical_or.reduce([np.diff(column) != 0 for column in columns])
        counts = np.bincount(code[fresh], minlength=len(names))
        return cls(
            ids=tuple(names.tolist()),
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            t=columns[0][fresh],
            x=columns[1][fresh],
            y=columns[2][fresh],
            grid=grid,
            crs=crs,
            input_rank=np.argsort(np.argsort(first_row)).astype(np.int64),
            intake=intake or Intake(rows_read=len(code)),
        )

    @property
    def n_subjects(self) -> int:
        """How many subjects there are."""
        return len(self.ids)

    @property
    def n_samples(self) -> int:
        """How many samples there are, of all subjects together."""
        return len(self.t)

    @cached_property
    def lengths(self) -> Integers:
        """int64 [n]: each subject's number of samples."""
        return np.diff(self.offsets)

    def snapped_grid(self) -> Grid:
        """The grid.

        Raises MisuseError for points as given, which assessment and the generalizing methods cannot use.
        """
        if self.grid is None:
            raise MisuseError(
                "these points are as given; read them with a cell and a slot (without --no-snap) for this"
            )
        return self.grid

    def points_as_given(self) -> None:
        """Nothing.

        Raises MisuseError for snapped samples, which the methods that publish points cannot use.
        """
        if self.grid is not None:
            raise MisuseError(
                "these samples are snapped to cells and slots; read them as given (snap=False, --no-snap) "
                "for this"
            )

    def snapped_to(self, grid: Grid) -> "Trajectories":
        """The same subjects with every point in its cell and slot, repeats left out.

        As a reader with this grid would give them.
        """
        self.points_as_given()
        steps = ((self.t, grid.slot_s), (self.x, grid.cell_m), (self.y, grid.cell_m))
        t, x, y = (np.floor(column / step).astype(np.int64) for column, step in steps)
        owner = np.repeat(np.arange(self.n_subjects), self.lengths)
        order = np.lexsort((y, x, t, owner))
        columns = [column[order] for column in (owner, t, x, y)]
        fresh = np.ones(self.n_samples, dtype=np.bool_)
        fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        owner, t, x, y = (column[fresh] for column in columns)
        offsets = np.searchsorted(owner, np.arange(self.n_subjects + 1)).astype(np.int64)
        return replace(self, offsets=offsets, t=t, x=x, y=y, grid=grid, lat=None, lon=None)

    def samples_of(self, subject: int) -> tuple[Numbers, Numbers, Numbers]:
        """(t, x, y) of one subject, by its position."""
        own = slice(self.offsets[subject], self.offsets[subject + 1])
        return self.t[own], self.x[own], self.y[own]

    def __iter__(self) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        return (self.samples_of(subject) for subject in range(self.n_subjects))

    def keep(self, subjects: npt.ArrayLike) -> "Trajectories":
        """Only these subjects (positions, any order), with the same account of the input."""
        kept = np.unique(np.asarray(subjects, dtype=np.int64))
        rows = (
            np.concatenate([np.arange(self.offsets[i], self.offsets[i + 1]) for i in kept])
            if kept.size
            else kept
        )
        return replace(
            self,
            ids=tuple(self.ids[i] for i in kept),
            offsets=np.concatenate([[0], np.cumsum(self.lengths[kept])]).astype(np.int64),
            t=self.t[rows],
            x=self.x[rows],
            y=self.y[rows],
            lat=None if self.lat is None else self.lat[rows],
            lon=None if self.lon is None else self.lon[rows],
            input_rank=None
            if self.input_rank is None
            else np.argsort(np.argsort(self.input_rank[kept])).astype(np.int64),
        )

    def _samples_ascend(self) -> bool:
        """Whether every subject's samples strictly ascend by (t, x, y)."""
        dt, dx, dy = np.diff(self.t), np.diff(self.x), np.diff(self.y)
        ascends = (dt > 0) | ((dt == 0) & ((dx > 0) | ((dx == 0) & (dy > 0))))
        ascends[self.offsets[1:-1] - 1] = True
        return bool(ascends.all())

    def __repr__(self) -> str:
        return (
            f"Trajectories({self.n_subjects} subjects, {self.n_samples} samples, {self.grid or 'as given'})"
        )

    def to_dataframe(self) -> "DataFrame":
        """All samples as a pandas data frame, one row each.

        Returns
        -------
        DataFrame
            ``uid``: the subject. ``t``: the moment in UTC, or the second since step 0 where the input counts steps
            (its numbers are small, or ``time_unit`` is a length of time). ``x``, ``y``: meters of the plane.
            ``lat``, ``lon``: degrees, where there is a plane. Snapped samples stand at the begin of their slot
            and the center of their cell.

        Raises
        ------
        MissingExtraError
            When pandas is not installed.

        Examples
        --------
        >>> import shoal
        >>> city = shoal.read(shoal.synthesize(n_subjects=20, days=2, seed=1))
        >>> list(city.to_dataframe().columns)
        ['uid', 't', 'x', 'y', 'lat', 'lon']
        """
        from shoal.model.frames import frame_of_trajectories

        return frame_of_trajectories(self)

    def plot(self, *, at_most: int = 20_000) -> "Figure":
        """A map with the path of every subject, which names nobody but shows where people have been.

        Parameters
        ----------
        at_most
            The most samples to draw. Of larger data some subjects are drawn, evenly spread over all, and the
            title says how many.

        Returns
        -------
        Figure
            A figure of Plotly; notebooks show it, ``figure.show()`` opens it in a browser.

        Raises
        ------
        MisuseError
            When ``at_most`` is less than 1.
        """
        from shoal.model.plotting import map_of_trajectories

        return map_of_trajectories(self, at_most)

    def _repr_html_(self) -> str:
        from shoal.model.summaries import html_of_trajectories

        return html_of_trajectories(self)
