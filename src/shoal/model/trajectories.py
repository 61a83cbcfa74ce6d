"""Trajectories: every subject's samples in contiguous arrays, apart from ids.

Subjects are ordered by id, samples by (t, x, y): nothing depends on the order of an input file. That order
is kept as ``input_rank``, only to check that no release repeats it.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.model.columns import COLUMNS
from shoal.model.frames import data_frame, degrees, draw_map, frame_of_points, moments, names_of
from shoal.model.grid import Grid, grid_in_words, require_snapped, snap_points
from shoal.model.html_table import counts_row, html_table
from shoal.model.intake import Intake
from shoal.model.places import PublicPlaces
from shoal.model.plotting import AT_MOST, choose_rows, path_map
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Floats, Integers, Numbers, offsets_of, read_only, rows_of
from shoal.units import counted, show_m, show_s

if TYPE_CHECKING:
    from folium import Map
    from geopandas import GeoDataFrame
    from pandas import DataFrame
    from plotly.graph_objects import Figure


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Trajectories:
    """All samples of n subjects, in a few contiguous arrays.

    ``from_rows`` builds them from rows in any order, ``shoal.read`` from files and data frames. Construction
    checks the arrays by the table ``COLUMNS`` and makes them read-only.

    Parameters
    ----------
    ids : tuple of str
        n distinct texts, ascending.
    offsets : int64 [n + 1]
        Subject i owns samples offsets[i] to offsets[i + 1].
    t, x, y : int64 or float64 [m]
        Slots and cells with ``grid``, else seconds and meters. Each subject's samples ascend by (t, x, y),
        without repeats.
    grid : Grid or None
        The grid that samples are snapped to; None = as given.
    crs : str or None
        The plane of x and y as text for pyproj; None = local meters.
    input_rank : int64 [n] or None
        Each subject's place in the order of first appearance in the input.
    lat, lon : float64 [m] or None
        Degrees exactly as given; None when samples are snapped or came in meters.
    intake : Intake
        The account of the reading.
    places : PublicPlaces or None
        The public list of places that the data was read with, on the same plane.
    sensitive : PublicPlaces or None
        The sensitive places that the data was read with, on the same plane.

    Raises
    ------
    MisuseError
        When the arrays contradict the table or each other.

    Examples
    --------
    >>> import shoal
    >>> walks = shoal.Trajectories.from_rows(["bo", "al", "al"], [0, 60, 0], [0, 5, 0], [0, 5, 0])
    >>> walks
    Trajectories(2 subjects, 3 samples, as given)
    >>> walks.samples_of(0)[0].tolist()
    [0.0, 60.0]
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
    places: PublicPlaces | None = None
    sensitive: PublicPlaces | None = None

    def __post_init__(self) -> None:
        self._require_columns()
        if any(a >= b for a, b in pairwise(self.ids)):
            raise MisuseError(
                "ids must be different and ascending; build with Trajectories.from_rows to have them sorted"
            )
        if not self._samples_ascend():
            keys = ", ".join(_ordering())
            raise MisuseError(
                f"each subject's samples must ascend by ({keys}) without repeats; build with "
                "Trajectories.from_rows"
            )
        for name in COLUMNS:
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, read_only(column))

    def _require_columns(self) -> None:
        columns = {name: getattr(self, name) for name in COLUMNS}
        present = [name for name in columns if columns[name] is not None]
        n, m = len(self.ids), 0 if columns["t"] is None else len(columns["t"])
        lengths = {"offset": n + 1, "subject": n, "sample": m}
        for name, column in COLUMNS.items():
            kind = _column_type(name, self.grid)
            if columns[name] is None:
                if column.required:
                    raise MisuseError(f"{name} is missing; it holds {column.meaning}")
                if column.comes_with is not None and columns[column.comes_with] is not None:
                    raise MisuseError(f"{name} is missing; {name} and {column.comes_with} come together")
                continue
            if kind is None:
                where = "points as given" if self.grid is not None else "snapped samples"
                raise MisuseError(f"{name} belongs to {where} only; leave it out")
            if columns[name].dtype != kind:
                together = [other for other in present if _column_type(other, self.grid) is kind]
                actual = ", ".join(str(columns[other].dtype) for other in together)
                raise MisuseError(f"{', '.join(together)} must all be {np.dtype(kind)}, not {actual}")
            if columns[name].shape != (lengths[column.of],) and column.of != "offset":
                together = [other for other in present if COLUMNS[other].of == column.of]
                actual = ", ".join(str(len(columns[other])) for other in together)
                raise MisuseError(
                    f"{', '.join(together)} differ in length: {actual}; each needs {lengths[column.of]}, "
                    f"one for each {column.of}"
                )
        if (
            self.offsets.shape != (n + 1,)
            or self.offsets[0] != 0
            or self.offsets[-1] != m
            or (np.diff(self.offsets) < 1).any()
        ):
            raise MisuseError(
                f"offsets must rise from 0 to {m} in {n} steps, with at least one sample for each subject"
            )

    @classmethod
    @typed
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
        """Trajectories from one row per sample in any order, without repeats.

        Parameters
        ----------
        ids : sequence of str
            The subject of each row.
        t, x, y : array-like
            One value per row: slots and cells with ``grid``, else seconds and meters.
        grid : Grid or None
            The grid that the rows are snapped to already; None = as given.
        crs : str or None
            The plane of x and y; None = local meters.
        intake : Intake or None
            The account of the reading; None = nothing was dropped.

        Returns
        -------
        Trajectories
            Subjects by id, samples by (t, x, y).
        """
        columns = [
            np.ascontiguousarray(column, dtype=_column_type(name, grid))
            for name, column in zip("txy", (t, x, y), strict=True)
        ]
        lengths = [len(ids), *(column.size for column in columns)]
        if len(set(lengths)) > 1:
            raise MisuseError(
                f"ids, t, x, y differ in length: {', '.join(map(str, lengths))}; give one value of each for "
                "every row"
            )
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
            offsets=offsets_of(counts),
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
        """Number of subjects."""
        return len(self.ids)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.t)

    @cached_property
    def lengths(self) -> Integers:
        """int64 [n]: each subject's number of samples."""
        return np.diff(self.offsets)

    def snapped_grid(self) -> Grid:
        """The grid; raises MisuseError for points as given."""
        return require_snapped(self.grid)

    def seconds_and_meters(self) -> tuple[Numbers, Numbers, Numbers]:
        """Times and places of all samples; snapped ones are at their slot's start and cell's center."""
        if self.grid is None:
            return self.t, self.x, self.y
        cell_m = self.grid.cell_m
        return self.grid.seconds(self.t), (self.x + 0.5) * cell_m, (self.y + 0.5) * cell_m

    def require_points_as_given(self) -> None:
        """Raise MisuseError for snapped samples."""
        if self.grid is not None:
            raise MisuseError(
                "these samples are snapped to cells and slots; read them as given (snap=False, --no-snap) "
                "for this"
            )

    def snapped_to(self, grid: Grid) -> "Trajectories":
        """The subjects on a grid, without repeats."""
        self.require_points_as_given()
        offsets, t, x, y = snap_points(self.offsets, self.t, self.x, self.y, grid)
        return replace(self, offsets=offsets, t=t, x=x, y=y, grid=grid, lat=None, lon=None)

    def samples_of(self, subject: int) -> tuple[Numbers, Numbers, Numbers]:
        """(t, x, y) of one subject."""
        rows = slice(self.offsets[subject], self.offsets[subject + 1])
        return self.t[rows], self.x[rows], self.y[rows]

    def __iter__(self) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        return (self.samples_of(subject) for subject in range(self.n_subjects))

    def __len__(self) -> int:
        return self.n_subjects

    @overload
    def __getitem__(self, subject: int) -> tuple[Numbers, Numbers, Numbers]: ...

    @overload
    def __getitem__(self, subject: slice) -> "Trajectories": ...

    def __getitem__(self, subject: int | slice) -> "tuple[Numbers, Numbers, Numbers] | Trajectories":
        """(t, x, y) of the subject at a position; of a slice, these subjects."""
        positions = range(self.n_subjects)[subject]
        return self.samples_of(positions) if isinstance(positions, int) else self.keep(positions)

    @typed
    def sample(self, n: int, *, seed: int = 0) -> "Trajectories":
        """Some subjects with all their samples, drawn at random; the same ones for the same seed.

        Parameters
        ----------
        n
            How many, at least 1; more than there are gives all.
        seed
            Of the draw. The sample is raw data, for trials; a release of it is published as any other.

        Returns
        -------
        Trajectories
            The drawn subjects, with the account of the whole reading.

        Raises
        ------
        MisuseError
            When ``n`` is less than 1.

        Examples
        --------
        >>> import shoal
        >>> city = shoal.read(shoal.synthesize(n_subjects=20, days=2, seed=1))
        >>> len(city), len(city.sample(5))
        (20, 5)
        """
        if n < 1:
            raise MisuseError(f"n = {n} draws no one; choose at least 1")
        drawn = np.random.default_rng(seed).choice(self.n_subjects, min(n, self.n_subjects), replace=False)
        return self.keep(drawn)

    def keep(self, subjects: npt.ArrayLike) -> "Trajectories":
        """Only these subjects (positions), with the same account."""
        positions = np.unique(np.asarray(subjects, dtype=np.int64))
        rows = rows_of(self.offsets, positions)
        return replace(
            self,
            ids=tuple(self.ids[i] for i in positions),
            offsets=offsets_of(self.lengths[positions]),
            t=self.t[rows],
            x=self.x[rows],
            y=self.y[rows],
            lat=None if self.lat is None else self.lat[rows],
            lon=None if self.lon is None else self.lon[rows],
            input_rank=None
            if self.input_rank is None
            else np.argsort(np.argsort(self.input_rank[positions])).astype(np.int64),
        )

    def _samples_ascend(self) -> bool:
        ascends = np.zeros(max(self.n_samples - 1, 0), dtype=np.bool_)
        for name in reversed(_ordering()):
            step = np.diff(getattr(self, name))
            ascends = (step > 0) | ((step == 0) & ascends)
        ascends[self.offsets[1:-1] - 1] = True
        return bool(ascends.all())

    def __repr__(self) -> str:
        return (
            f"Trajectories({counted(self.n_subjects, 'subject')}, {counted(self.n_samples, 'sample')}, "
            f"{self.grid or 'as given'})"
        )

    def to_dataframe(self) -> "DataFrame":
        """All samples as a pandas data frame, one row each.

        Returns
        -------
        DataFrame
            ``uid``: the subject. ``t``: the moment in UTC, or the second since step 0 where the input counts
            steps (its numbers are small, or ``time_unit`` is a length of time). ``x``, ``y``: meters of the
            plane. ``lat``, ``lon``: degrees, where there is a plane. Snapped samples are at the start of
            their slot and the center of their cell.

        Raises
        ------
        MissingExtraError
            Without pandas.

        Examples
        --------
        >>> import shoal
        >>> city = shoal.read(shoal.synthesize(n_subjects=20, days=2, seed=1))
        >>> list(city.to_dataframe().columns)
        ['uid', 't', 'x', 'y', 'lat', 'lon']
        """
        t_s, x_m, y_m = self.seconds_and_meters()
        exact = None if self.lat is None or self.lon is None else {"lat": self.lat, "lon": self.lon}
        return data_frame(
            {
                "uid": names_of(np.arange(self.n_samples), self.ids, self.offsets),
                **moments({"t": t_s}, self.intake.reading),
                "x": x_m,
                "y": y_m,
                **(exact or degrees(x_m, y_m, self.crs)),
            }
        )

    def to_geopandas(self) -> "GeoDataFrame":
        """All samples as a frame of GeoPandas: ``uid``, ``t`` and a point, as in ``to_dataframe``.

        Raises
        ------
        MissingExtraError
            Without GeoPandas (the extra ``geo``).
        """
        return self._geo_frame(np.arange(self.n_samples))

    def _geo_frame(self, rows: Integers) -> "GeoDataFrame":
        t_s, x_m, y_m = self.seconds_and_meters()
        times = {name: column[rows] for name, column in moments({"t": t_s}, self.intake.reading).items()}
        columns = data_frame({"uid": names_of(rows, self.ids, self.offsets), **times})
        return frame_of_points(columns, x_m[rows], y_m[rows], self.crs)

    @typed
    def explore(self, *, at_most: int = AT_MOST, tiles: str | None = None) -> "Map":
        """A map to move and zoom, with every sample; it names people and shows where they were.

        Parameters
        ----------
        at_most
            Most samples to draw, as for ``plot``.
        tiles
            The background, such as "OpenStreetMap". Its server sees which area you look at; None asks none.

        Returns
        -------
        Map
            A map of Folium; notebooks show it, ``map.save("map.html")`` writes it.

        Raises
        ------
        MisuseError
            When ``at_most`` is less than 1, or the data are in local meters.
        MissingExtraError
            Without GeoPandas or Folium (the extra ``geo``).
        """
        rows, note = choose_rows(self.offsets, at_most, "subjects", "samples")
        return draw_map(self._geo_frame(rows), note, tiles)

    @typed
    def plot(self, *, at_most: int = AT_MOST) -> "Figure":
        """A map with the path of every subject, without names; it shows where people were.

        Parameters
        ----------
        at_most
            Most samples to draw. Of larger data some subjects are drawn, evenly spread over all, and the
            title gives their number.

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
        _, x_m, y_m = self.seconds_and_meters()
        return path_map(x_m, y_m, self.offsets, self.crs, at_most, "subjects", "samples")

    def _repr_html_(self) -> str:
        rows: dict[str, str] = {
            "subjects": f"{self.n_subjects:,} ({self.intake.unit_of_protection})",
            "samples": f"{self.n_samples:,}",
        }
        if self.n_samples:
            t_s, x_m, y_m = self.seconds_and_meters()
            rows["samples of one subject"] = f"{np.median(self.lengths):,.4g} (median)"
            rows["time"] = (
                show_s(float(np.ptp(t_s)))
                if self.intake.reading.counts_steps(t_s)
                else f"{_utc_day(t_s.min())} to {_utc_day(t_s.max())}"
            )
            rows["area"] = f"{show_m(float(np.ptp(x_m)))} east-west, {show_m(float(np.ptp(y_m)))} north-south"
        return html_table(
            "Trajectories",
            [
                *rows.items(),
                ("grid", grid_in_words(self.grid)),
                ("plane", self.crs or "local meters"),
                *counts_row("rows dropped", self.intake.dropped),
                *counts_row("rows repaired", self.intake.repaired),
            ],
        )


def _utc_day(t_s: float) -> str:
    return str(np.datetime64(int(t_s), "s").astype("datetime64[D]"))


def _column_type(name: str, grid: Grid | None) -> type[np.generic] | None:
    return COLUMNS[name].unsnapped if grid is None else COLUMNS[name].snapped


def _ordering() -> list[str]:
    places = {name: column.sort_rank for name, column in COLUMNS.items() if column.sort_rank is not None}
    return sorted(places, key=places.__getitem__)


def digest_of_data(data: Trajectories) -> str:
    """SHA-256 over ids and samples as read."""
    digest = hashlib.sha256(json.dumps([data.ids, data.crs, repr(data.grid)]).encode())
    for column in (data.offsets, data.t, data.x, data.y):
        digest.update(f"{column.dtype.str}{column.shape}".encode())
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()
