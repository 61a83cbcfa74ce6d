"""A release in memory, without raw identifiers or seed; the Linkage is apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims import Claim, PayloadKind, claim_to_json
from shoal.model.frames import (
    data_frame,
    degrees,
    draw_map,
    frame_of_boxes,
    frame_of_points,
    moments,
    names_of,
)
from shoal.model.grid import Grid, grid_in_words, snap_points
from shoal.model.html_table import counts_row, html_table
from shoal.model.intake import Reading
from shoal.model.plotting import AT_MOST, box_map, choose_rows, path_map
from shoal.model.trace import Trace
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Floats, Integers, Numbers, read_only
from shoal.units import counted, rounded_counts, rounded_up

if TYPE_CHECKING:
    from folium import Map
    from geopandas import GeoDataFrame
    from pandas import DataFrame
    from plotly.graph_objects import Figure

BOX_COLUMNS: Final = ("t_start", "t_end", "x_min", "y_min", "x_max", "y_max")
POINT_COLUMNS: Final = ("t", "x", "y")
DEGREE_COLUMNS: Final = ("lat", "lon")
_BOUNDS: Final = {name: np.maximum if name.endswith(("_end", "_max")) else np.minimum for name in BOX_COLUMNS}


@dataclass(frozen=True, eq=False, kw_only=True)
class Boxes:
    """Generalized samples: at some moment of the interval, the person was in the area.

    Parameters
    ----------
    t_start, t_end
        int64 [m]. The intervals [t_start, t_end), in slots.
    x_min, y_min, x_max, y_max
        int64 [m]. The areas [x_min, x_max) by [y_min, y_max), in cells.
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
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def of_samples(cls, t: Integers, x: Integers, y: Integers) -> "Boxes":
        """The box of one slot and one cell around each raw sample."""
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
        """The arrays, in the order of BOX_COLUMNS."""
        return self.t_start, self.t_end, self.x_min, self.y_min, self.x_max, self.y_max

    def take(self, rows: Any) -> "Boxes":
        """Only these rows."""
        return Boxes(**{name: getattr(self, name)[rows] for name in BOX_COLUMNS})

    def edges_km(self, grid: Grid) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """x_min, x_max, y_min and y_max of each box in kilometers."""
        km = grid.cell_m / 1000
        return self.x_min * km, self.x_max * km, self.y_min * km, self.y_max * km

    def hulls(self, first: Integers) -> "Boxes":
        """The smallest box around each run of rows, from row first[i] on."""
        return Boxes(**{name: bound.reduceat(getattr(self, name), first) for name, bound in _BOUNDS.items()})

    def sorted(self) -> "Boxes":
        """In canonical order: by t_start, then t_end, x_min, y_min, x_max, y_max."""
        if (self.t_start[1:] > self.t_start[:-1]).all():  # as most methods make them
            return self
        return self.take(np.lexsort(self.columns()[::-1]))


@dataclass(frozen=True, eq=False, kw_only=True)
class Points:
    """Published points.

    Parameters
    ----------
    t
        float64 [m], seconds.
    x, y
        float64 [m], meters of the plane.
    lat, lon
        float64 [m], degrees; None where the plane is no map.

    Raises
    ------
    MisuseError
        When the columns differ in length, or only one of lat and lon is there.
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
            object.__setattr__(self, name, read_only(column))

    def __len__(self) -> int:
        return len(self.t)

    def columns(self) -> dict[str, Floats]:
        """The arrays by name, as written; without lat and lon if None."""
        named = {name: getattr(self, name) for name in (*POINT_COLUMNS, *DEGREE_COLUMNS)}
        return {name: column for name, column in named.items() if column is not None}

    def take(self, rows: Any) -> "Points":
        """Only these rows."""
        return Points(**{name: column[rows] for name, column in self.columns().items()})


Payload = Boxes | Points


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What the release lacks, and what it adds."""

    rows: Mapping[str, int] = field(default_factory=dict)  # input rows dropped; the others count after that
    samples_suppressed: int = 0  # raw samples in no box, or without a point, also of suppressed subjects
    subjects_suppressed: int = 0
    samples_created: int = 0  # published points without a raw sample
    subjects_by_reason: Mapping[str, int] = field(default_factory=dict)  # if the method gives reasons
    samples_by_reason: Mapping[str, int] = field(default_factory=dict)  # of boxes, see model/omission.py

    def rounded(self) -> "Losses":
        """As in public files: rows and samples rounded up, people as they are."""
        return replace(
            self,
            rows=rounded_counts(self.rows),
            samples_suppressed=rounded_up(self.samples_suppressed),
            samples_created=rounded_up(self.samples_created),
            samples_by_reason=rounded_counts(self.samples_by_reason),
        )


@dataclass(frozen=True, kw_only=True)
class SeriesPlace:
    """The place of a release in a series of releases of the same people."""

    series: int  # in its state: 1, and 1 more with each renewal
    number: int  # of the release in the series
    waiting: int  # people of the data who are left out until enough of their crowd are there
    newcomers: int  # people who are in the series for the first time, without those of its first release
    crowds: int


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """Published records: a header, and a payload of boxes or of points.

    Parameters
    ----------
    trajectory_ids
        Fresh pseudonyms of the records.
    offsets
        int64 [n_records + 1]. Record r owns rows offsets[r] to offsets[r + 1] of the payload: boxes sorted by
        time, or points sorted by (t, x, y).
    payload
        Boxes or Points.
    grid
        Slots and cells of boxes; None for points.
    crs
        The plane of the coordinates; None = local meters.
    publishable
        False when a research seed was used.
    reading
        How the raw input was read, so that a check can repeat it.

    Raises
    ------
    MisuseError
        When the offsets do not fit the payload, boxes have no grid, or points have one.
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
    series: SeriesPlace | None = None

    def __post_init__(self) -> None:
        n_rows = len(self.payload)
        if self.offsets.shape != (self.n_records + 1,) or self.offsets[0] != 0 or self.offsets[-1] != n_rows:
            raise MisuseError(f"offsets must rise from 0 to {n_rows} in {self.n_records} steps")
        if (self.grid is not None) != self.payload.on_grid:
            raise MisuseError(
                f"a release of {self.kind} {'needs a' if self.payload.on_grid else 'has no'} grid"
            )
        object.__setattr__(self, "offsets", read_only(self.offsets))

    @property
    def kind(self) -> PayloadKind:
        """Kind of the payload."""
        return self.payload.kind

    @property
    def boxes(self) -> Boxes:
        """The boxes; raises MisuseError for points."""
        if not isinstance(self.payload, Boxes):  # the one place where the payload's type is asked for boxes
            raise MisuseError("this release holds points, not boxes; as_boxes(grid) puts them on a grid")
        return self.payload

    @property
    def points(self) -> Points:
        """The points; raises MisuseError for boxes."""
        if not isinstance(self.payload, Points):  # the one place where the payload's type is asked for points
            raise MisuseError("this release holds boxes, not points")
        return self.payload

    @property
    def n_records(self) -> int:
        """Number of records; each member of a class has one."""
        return len(self.trajectory_ids)

    @property
    def n_samples(self) -> int:
        """Number of boxes or points."""
        return len(self.payload)

    def snapped_grid(self) -> Grid:
        """The grid of boxes; raises MisuseError for points."""
        if self.grid is None:
            raise MisuseError("this release holds points as given, which have no grid")
        return self.grid

    def __len__(self) -> int:
        return self.n_records

    def __getitem__(self, position: int) -> Any:
        """The rows of the record at a position."""
        return self.record(range(self.n_records)[position])

    def record(self, position: int) -> Any:
        """The rows of one record."""
        return self.payload.take(slice(self.offsets[position], self.offsets[position + 1]))

    def as_boxes(self, grid: Grid) -> "Release":
        """The release as boxes: a point becomes its slot and cell, without repeats within a record."""
        if self.payload.on_grid:
            return self
        offsets, t, x, y = self.cells_of_points(grid)
        return replace(self, offsets=offsets, payload=Boxes.of_samples(t, x, y), grid=grid)

    def cells_of_points(self, grid: Grid) -> tuple[Integers, Integers, Integers, Integers]:
        """(offsets, slots, columns and rows of cells), int64, of points, without repeats."""
        points = self.points
        return snap_points(self.offsets, points.t, points.x, points.y, grid)

    def __repr__(self) -> str:
        size = f"{counted(self.n_records, 'record')}, {self.n_samples} {self.kind}"
        return f"Release({self.method}, {self.claim.name}, {size})"

    def to_dataframe(self) -> "DataFrame":
        """All boxes or points as a pandas data frame, in the columns of the written table.

        Returns
        -------
        DataFrame
            ``trajectory_id``: the pseudonym of the record. Of boxes ``t_start``, ``t_end``, ``x_min``,
            ``y_min``, ``x_max``, ``y_max``; of points ``t``, ``x``, ``y`` and, where there is a plane,
            ``lat``, ``lon``. Times are in UTC, or seconds since step 0 where the input counts steps (its
            numbers are small, or ``time_unit`` is a length of time). Coordinates are meters of the plane.

        Raises
        ------
        MissingExtraError
            Without pandas.

        Examples
        --------
        >>> import shoal
        >>> city = shoal.read(shoal.synthesize(n_subjects=20, days=2, seed=1))
        >>> release, _ = shoal.Glove(k=2).anonymize(city, shoal.Randomness.from_system())
        >>> list(release.to_dataframe().columns)
        ['trajectory_id', 't_start', 't_end', 'x_min', 'y_min', 'x_max', 'y_max']
        """
        columns = self._box_columns() if self.payload.on_grid else self._point_columns()
        return self._frame(columns, np.arange(self.n_samples))

    def _frame(self, columns: Mapping[str, Numbers], rows: Numbers) -> "DataFrame":
        names = names_of(rows, self.trajectory_ids, self.offsets)
        return data_frame(
            {"trajectory_id": names, **{name: column[rows] for name, column in columns.items()}}
        )

    def _box_columns(self) -> dict[str, Numbers]:
        boxes, grid = self.boxes, self.snapped_grid()
        times = {name: grid.seconds(getattr(boxes, name)) for name in BOX_COLUMNS[:2]}
        places = {name: getattr(boxes, name) * grid.cell_m for name in BOX_COLUMNS[2:]}
        return {**moments(times, self.reading), **places}

    def _point_columns(self) -> dict[str, Numbers]:
        points = self.points
        angles = {} if points.lat is not None else degrees(points.x, points.y, self.crs)
        return {**points.columns(), **moments({"t": points.t}, self.reading), **angles}

    def to_geopandas(self) -> "GeoDataFrame":
        """All boxes or points as a frame of GeoPandas: the columns of ``to_dataframe`` without coordinates.

        A box has ``trajectory_id``, ``t_start``, ``t_end`` and a rectangle, a point ``trajectory_id``, ``t``
        and a point.

        Raises
        ------
        MissingExtraError
            Without GeoPandas (the extra ``geo``).

        Examples
        --------
        >>> import shoal
        >>> city = shoal.read(shoal.synthesize(n_subjects=20, days=2, seed=1))
        >>> release, _ = shoal.Glove(k=2).anonymize(city, shoal.Randomness.from_system())
        >>> list(release.to_geopandas().columns)
        ['trajectory_id', 't_start', 't_end', 'geometry']
        """
        return self._geo_frame(np.arange(self.n_samples))

    def _geo_frame(self, rows: Numbers) -> "GeoDataFrame":
        if self.payload.on_grid:
            frame = self._frame(self._box_columns(), rows)
            return frame_of_boxes(frame[["trajectory_id", *BOX_COLUMNS[:2]]], frame, self.crs)
        points = self.points
        columns = self._frame(moments({"t": points.t}, self.reading), rows)
        return frame_of_points(columns, points.x[rows], points.y[rows], self.crs)

    @typed
    def explore(self, *, at_most: int = AT_MOST, tiles: str | None = "OpenStreetMap") -> "Map":
        """A map to move and zoom, with every box or point, and its record and times at the pointer.

        Parameters
        ----------
        at_most
            Most boxes or points to draw, as for ``plot``.
        tiles
            The background, whose server sees which area you look at; None asks none.

        Returns
        -------
        Map
            A map of Folium; notebooks show it, ``map.save("map.html")`` writes it.

        Raises
        ------
        MisuseError
            When ``at_most`` is less than 1, or the release is in local meters.
        MissingExtraError
            Without GeoPandas or Folium (the extra ``geo``).
        """
        rows, note = choose_rows(self.offsets, at_most, "records", self.kind)
        return draw_map(self._geo_frame(rows), note, tiles)

    @typed
    def plot(self, *, at_most: int = AT_MOST) -> "Figure":
        """A map with every box, or with the path of every record of points.

        Parameters
        ----------
        at_most
            Most boxes or points to draw. Of a larger release some records are drawn, evenly spread over all,
            and the title gives their number.

        Returns
        -------
        Figure
            A figure of Plotly; notebooks show it, ``figure.show()`` opens it in a browser.

        Raises
        ------
        MisuseError
            When ``at_most`` is less than 1.
        MissingExtraError
            Without Plotly (the extra ``plot``).
        """
        if not self.payload.on_grid:
            points = self.points
            return path_map(points.x, points.y, self.offsets, self.crs, at_most, "records", "points")
        rows, note = choose_rows(self.offsets, at_most, "records", "boxes")
        return box_map(self.boxes.take(rows).edges_km(self.snapped_grid()), self.crs, note)

    def _repr_html_(self) -> str:
        claim, losses = claim_to_json(self.claim), self.losses
        numbers = ", ".join(f"{name} = {value}" for name, value in claim.items() if name != "type")
        return html_table(
            "Release",
            [
                ("method", self.method),
                ("claim", f"{claim['type']}: {numbers}"),
                *([("this is no anonymity", self.claim.no_anonymity)] if self.claim.no_anonymity else []),
                ("records", f"{self.n_records:,} ({self.unit_of_protection})"),
                (self.kind, f"{self.n_samples:,}"),
                ("grid", grid_in_words(self.grid)),
                ("plane", self.crs or "local meters"),
                ("publishable", "yes" if self.publishable else "no: made with a research seed"),
                ("subjects suppressed", f"{losses.subjects_suppressed:,}"),
                ("samples suppressed", f"{losses.samples_suppressed:,}"),
                ("points created", f"{losses.samples_created:,}"),
                *counts_row("rows dropped", losses.rows),
            ],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """Which person became which record; it is secret, and never inside a release.

    Parameters
    ----------
    uids
        The people.
    trajectory_ids
        The record of each, in the same order.
    trace
        Of swapped points, the raw samples that each was made of.
    stands_for
        Of points, int64 [p], the row of the raw sample that each stands for, -1 = created; never written.

    Raises
    ------
    MisuseError
        When the two sequences differ in length.
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


Released = tuple[Release, Linkage]
"""What a method makes."""
