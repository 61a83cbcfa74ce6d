"""A data set in figures, in plain words, and with a map of letters."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np

from shoal.kernels.cylinder_middles import hull
from shoal.messages import Message, say, say_number
from shoal.model.argument_checks import require_trajectories
from shoal.model.clocks import clock_of
from shoal.model.html_table import html_table
from shoal.model.projection import WGS84, transform, transform_bounds
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.units import DAY_S, counted, in_digits, percent, show_m, show_s

TOP_PLACES: Final = 10
_MAP_COLUMNS: Final = 64
_MAP_ROWS: Final = 24
_LETTERS: Final = " .:+*#@"  # from no sample to the most
# of the samples
_CENTRAL: Final[Mapping[Literal["lower", "higher"], float]] = {"lower": 0.01, "higher": 0.99}
_LETTER_SHAPE: Final = 2.0  # a letter is about twice as high as wide


@dataclass(frozen=True, kw_only=True)
class FrequentPlace:
    """A frequent place: its center, in meters and, on a known plane, degrees."""

    lat: float | None
    lon: float | None
    x: float
    y: float
    samples: int
    subjects: int


@dataclass(frozen=True, kw_only=True)
class Area:
    """The smallest upright rectangle around all samples, in degrees; west > east over the antimeridian."""

    south: float
    west: float
    north: float
    east: float


def area_of(data: Trajectories) -> Area | None:
    """The rectangle; None on an unknown plane."""
    if data.crs is None:
        return None
    cell_m, reach = (data.grid.cell_m, 1) if data.grid else (1.0, 0)
    corners = (data.x.min(), data.y.min(), data.x.max() + reach, data.y.max() + reach)
    bounds = transform_bounds(data.crs, WGS84, *(float(corner) * cell_m for corner in corners))
    west, south, east, north = bounds
    return Area(south=south, west=west, north=north, east=east) if np.isfinite(bounds).all() else None


def top_places(data: Trajectories, begins: Integers, order: Integers) -> tuple[FrequentPlace, ...]:
    """The most frequent places. order: the samples by place; begins: the first of each place in it."""
    counts = np.diff(np.append(begins, len(order)))
    best = np.argsort(-counts, kind="stable")[:TOP_PLACES]
    subject = np.repeat(np.arange(data.n_subjects), data.lengths)
    cell_m, half = (data.grid.cell_m, 0.5) if data.grid else (1.0, 0.0)
    x = (data.x[order[begins[best]]] + half) * cell_m
    y = (data.y[order[begins[best]]] + half) * cell_m
    lon, lat = (None, None) if data.crs is None else transform(data.crs, WGS84, x, y)
    return tuple(
        FrequentPlace(
            lat=None if lat is None else float(lat[rank]),
            lon=None if lon is None else float(lon[rank]),
            x=float(x[rank]),
            y=float(y[rank]),
            samples=int(counts[place]),
            subjects=len(np.unique(subject[order[begins[place] : begins[place] + counts[place]]])),
        )
        for rank, place in enumerate(best.tolist())
    )


def letters_map(x: Numbers, y: Numbers) -> tuple[tuple[str, ...], float, tuple[float, float, float, float]]:
    """A map of letters, north up: the denser the samples, the darker.

    The outermost hundredth on each side is left out, so that no stray sample shrinks the rest to a point.
    Returns the lines, the width of a letter, and west, south, east and north, in the unit of x.
    """
    (west, east), (south, north) = (
        [float(np.quantile(axis, share, method=method)) for method, share in _CENTRAL.items()]
        for axis in (x, y)
    )
    wide, high = east - west, north - south
    longest = max(wide, high * _MAP_COLUMNS / (_MAP_ROWS * _LETTER_SHAPE), 1e-9)
    across = max(1, min(_MAP_COLUMNS, round(_MAP_COLUMNS * wide / longest)))
    down = max(1, min(_MAP_ROWS, round(_MAP_COLUMNS * high / longest / _LETTER_SHAPE)))
    inside = (x >= west) & (x <= east) & (y >= south) & (y <= north)
    column = _bin(x[inside], west, wide, across)
    row = _bin(y[inside], south, high, down)
    counts = np.bincount(row * across + column, minlength=across * down).reshape(down, across)
    shade = np.log1p(counts) / np.log1p(counts.max())
    letter = np.ceil(shade * (len(_LETTERS) - 1)).astype(np.int64)
    lines = ("".join(_LETTERS[shade_of] for shade_of in line).rstrip() for line in letter[::-1].tolist())
    return tuple(lines), longest / _MAP_COLUMNS, (west, south, east, north)


def _bin(values: Numbers, low: float, length: float, bins: int) -> Integers:
    if not length:
        return np.zeros(len(values), dtype=np.int64)
    placed: Floats = (values - low) / length * bins
    return np.minimum(placed.astype(np.int64), bins - 1)


def _note_outlying(data: Trajectories, cell_m: float) -> list[Message]:
    """A note on a few samples far from the quarters of the samples in the middle of each axis."""
    quarters = [(axis, *np.quantile(axis, [0.25, 0.75])) for axis in (data.x, data.y)]
    for at_least_m, few in _FAR_AND_FEW:
        reach = max(at_least_m / cell_m, *(high - low for _, low, high in quarters))
        far = np.zeros(data.n_samples, dtype=np.bool_)
        for axis, low, high in quarters:
            far |= (axis < low - reach) | (axis > high + reach)
        samples = int(np.count_nonzero(far))
        if 0 < samples <= few * data.n_samples:
            break
    else:
        return []
    people = f"{np.count_nonzero(np.add.reduceat(far, data.offsets[:-1])):,}"
    one, more = (
        f"{{number}} {lie} more than {{far}} away from most others (of {{people}} of {{subjects}} subjects); "
        f"if that is no journey, correct or remove {them}"
        for lie, them in (("sample lies", "it"), ("samples lie", "them"))
    )
    far_m, subjects = show_m(float(f"{reach * cell_m:.2g}")), f"{data.n_subjects:,}"
    return [say_number("reading.outlying", samples, one, more, far=far_m, people=people, subjects=subjects)]


def note_attendance(data: Trajectories) -> list[Message]:
    """A note on people of whom few are in the data on the same days: whole tracks find no crowd in time."""
    day = data.t * (data.grid.slot_s if data.grid else 1.0) // DAY_S
    day = (day - day.min()).astype(np.int64)
    first = np.diff(day, prepend=-1) != 0
    first[data.offsets[:-1]] = True
    n, present = data.n_subjects, int(np.median(np.bincount(day[first])[day]))
    each_day = data.intake.reading.per_day or first.sum() < 2 * n
    if each_day or present > min(n / 2, _MANY_PRESENT):
        return []
    text = (
        "{people} people over {days} days, and on the day of a typical sample {present} of them: crowds of 5 "
        "whole tracks join different days. No such release that was measured told more than busy areas, and "
        "most told nothing. Single days are easier to hide (--per-day), and tables hold no record"
    )
    days = f"{int(day.max()) + 1:,}"
    return [say("reading.attendance", text, people=f"{n:,}", days=days, present=f"{present:,}")]


def surface_of(x: Numbers, y: Numbers) -> float:
    """The area of the convex hull; 0 for points on a line."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    corners = hull(x, y, np.lexsort((y, x)))
    x, y = x[corners], y[corners]
    return float(abs((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) / 2)


# a continent away, and of the samples, so that they are no other region; a day's drive, and a handful
_FAR_AND_FEW: Final = ((1e6, 0.05), (1e5, 0.001))
_MANY_PRESENT: Final = 100  # on one day: docs/decisions/0245-usefulness-is-judged-by-five-uses.md
_COLUMNS: Final = ("id", "person", "date", "time", "lat", "lon", "x", "y", "cell_id")
_EVEN: Final = 0.5  # the share of all intervals from which one interval is the rhythm of the data


@dataclass(frozen=True, kw_only=True)
class Description:
    """A data set in figures.

    Parameters
    ----------
    subjects, samples
        How many.
    first_time, last_time
        ISO 8601, UTC.
    days
        Between the two.
    extent_east_km, extent_north_km
        The sides of the box around all samples.
    samples_per_subject
        Least, median, most.
    samples_per_subject_and_day, samples_per_subject_and_hour
        The mean over all subjects and days or hours, at least one.
    surface_km2
        Of the convex hull.
    places
        How many different ones.
    share_in_top_places
        Of all samples, in the ten most frequent places.
    median_gap_s, gap_quantiles_s
        Gaps between consecutive samples of a subject: the median; those at 10, 50 and 90 %. None without any.
    usual_gap_s, usual_gap_share
        The most frequent gap and its share; None without any.
    area
        In degrees; None on a plane of no known system.
    top_places
        The most frequent places with their samples.
    map
        Lines of letters, the denser the darker.
    map_letter_m, map_bounds_m
        The width of a letter; west, south, east, north of the map on the plane of ``crs``.
    unit_of_protection
        What one id stands for.
    cell_m, slot_s
        The grid; None for points as given.
    crs
        The plane as text for pyproj; None = local meters.
    rows_read, people_read
        In the input.
    people_lost
        Those of ``people_read`` without a usable row.
    rows_dropped, rows_repaired
        Counts by reason.
    notes
        What the reader should know about the reading, in sentences.
    samples_by_hour
        24 counts, by the clock of ``time_zone``.
    time_zone
        The zone of the hours.
    columns
        The columns that were read, by role.
    """

    subjects: int
    samples: int
    first_time: str
    last_time: str
    days: float
    extent_east_km: float
    extent_north_km: float
    samples_per_subject: tuple[int, float, int]
    samples_per_subject_and_day: float
    samples_per_subject_and_hour: float
    surface_km2: float
    places: int
    share_in_top_places: float
    median_gap_s: float | None
    gap_quantiles_s: tuple[float, float, float] | None
    usual_gap_s: float | None
    usual_gap_share: float | None
    area: Area | None
    top_places: tuple[FrequentPlace, ...]
    map: tuple[str, ...]
    unit_of_protection: str
    cell_m: float | None
    slot_s: float | None
    crs: str | None
    rows_read: int
    people_read: int
    people_lost: int
    rows_dropped: Mapping[str, int]
    rows_repaired: Mapping[str, int]
    notes: tuple[str, ...]
    map_letter_m: float
    map_bounds_m: tuple[float, float, float, float]
    samples_by_hour: tuple[int, ...]
    time_zone: str
    columns: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """The same names, for ``--json``."""
        samples = dict(zip(("min", "median", "max"), self.samples_per_subject, strict=True))
        return {**asdict(self), "samples_per_subject": samples}

    def _repr_html_(self) -> str:
        lines = [line.partition(": ") for line in self.lines() if line[:1] != " " and line[-1:] != ":"]
        rows = [(name, value) for name, _, value in lines if name != "note"]
        return html_table("Data", rows, notes=self.notes)

    def lines(self) -> list[str]:
        """Lines for people to read."""
        least, median, most = self.samples_per_subject
        gap, grid = "nobody has two samples", "points as given"
        if self.median_gap_s is not None:
            gap = f"{show_s(self.median_gap_s)} in the middle (median)"
        if self.cell_m is not None and self.slot_s is not None:
            grid = f"cells of {show_m(self.cell_m)}, slots of {show_s(self.slot_s)}"
        dropped, people = sum(self.rows_dropped.values()), ""
        if self.people_lost:
            remaining = self.people_read - self.people_lost
            people = f" of {remaining:,} of {counted(self.people_read, 'person', 'people')}"
        return [
            f"people: {self.subjects:,} ({self.unit_of_protection})",
            f"samples: {self.samples:,}{people}, from {counted(self.rows_read, 'row')}",
            f"time: {self.first_time} to {self.last_time} "
            f"({in_digits(self.days, 3)} day{'s' * (self.days != 1)})",
            f"area: {in_digits(self.extent_east_km, 4)} km east-west, "
            f"{in_digits(self.extent_north_km, 4)} km north-south",
            *self._degrees(),
            f"samples of one subject: {least:,} to {most:,}, median {median:,.4g}; a day: "
            f"{self.samples_per_subject_and_day:,.3g}",
            f"time between samples of one subject: {gap}",
            *self._rhythm(),
            f"places: {self.places:,} different; the {TOP_PLACES} most frequent hold "
            f"{percent(self.share_in_top_places)} of all samples",
            *(f"  {_place_line(place, self.samples)}" for place in self.top_places),
            *self._densities(),
            f"grid: {grid}",
            f"plane: {self.crs or 'local meters'}",
            f"rows dropped: {dropped:,}" + ":" * bool(dropped),
            *(f"  {rows:,} {reason}" for reason, rows in self.rows_dropped.items()),
            *(f"rows repaired: {rows:,} {reason}" for reason, rows in self.rows_repaired.items()),
            *(f"note: {note}" for note in self.notes),
            "map (north up; the outermost hundredth of the samples on each side is left out):",
            *(f"  |{line}" for line in self.map),
        ]

    def _degrees(self) -> list[str]:
        if self.area is None:
            return []
        south, west, north, east = (f"{degrees:.4f}" for degrees in asdict(self.area).values())
        return [f"in degrees: latitude {south} to {north}, longitude {west} to {east} (WGS 84)"]

    def _densities(self) -> list[str]:
        """The features of the kte paper's data sets (Gramaglia et al. 2017, Table I)."""
        hourly = f"samples of one subject an hour: {self.samples_per_subject_and_hour:,.3g}"
        if not self.surface_km2:
            return [hourly]
        return [
            f"surface: {in_digits(self.surface_km2, 4)} km2; per km2 "
            f"{self.places / self.surface_km2:,.3g} places and {self.subjects / self.surface_km2:,.3g} "
            f"subjects; {self.subjects / self.places:,.3g} subjects per place",
            hourly,
        ]

    def _rhythm(self) -> list[str]:
        if self.gap_quantiles_s is None or self.usual_gap_s is None or self.usual_gap_share is None:
            return []
        low, _, high = self.gap_quantiles_s
        line = f"rhythm: eight in ten follow after {show_s(low)} to {show_s(high)}"
        if self.usual_gap_share >= _EVEN:
            line += f"; {percent(self.usual_gap_share, 0)} after {show_s(self.usual_gap_s)}, a regular clock"
        return [line]


@typed
def describe(trajectories: Trajectories) -> Description:
    """The figures of a data set.

    Parameters
    ----------
    trajectories : Trajectories
        Snapped to a grid, or without one.

    Returns
    -------
    Description
        People, samples, time span, area, density, and the rows that the reading dropped.

    Examples
    --------
    >>> import shoal
    >>> city = shoal.read(shoal.synthesize(20, 2, 1))
    >>> shoal.describe(city).lines()[0]
    "people: 20 (each distinct value of column 'uid')"
    """
    require_trajectories(trajectories)
    grid, intake, lengths = trajectories.grid, trajectories.intake, trajectories.lengths
    slot_s, cell_m = (grid.slot_s, grid.cell_m) if grid else (1.0, 1.0)
    first_s, last_s = float(trajectories.t.min()) * slot_s, float(trajectories.t.max()) * slot_s
    days = (last_s - first_s) / DAY_S
    t, x, y = trajectories.t, trajectories.x, trajectories.y
    order: Integers = np.lexsort((y, x))
    moves = (np.diff(x[order]) != 0) | (np.diff(y[order]) != 0)
    begins = np.flatnonzero(np.append(True, moves))
    counts = np.diff(np.append(begins, len(order)))
    gaps = np.diff(t)
    within_subject = np.ones(len(gaps), dtype=np.bool_)
    within_subject[trajectories.offsets[1:-1] - 1] = False
    gaps = gaps[within_subject] * slot_s
    usual_s, usual_share = _usual(gaps)
    quantiles = np.quantile(gaps, [0.1, 0.5, 0.9]).tolist() if len(gaps) else []
    clock = clock_of(trajectories)
    lines, letter, bounds = letters_map(x, y)
    west, south, east, north = ((bound + (0.5 if grid else 0.0)) * cell_m for bound in bounds)
    samples_each = trajectories.n_samples / trajectories.n_subjects
    return Description(
        subjects=trajectories.n_subjects,
        samples=trajectories.n_samples,
        first_time=_iso(first_s),
        last_time=_iso(last_s),
        days=days,
        extent_east_km=(float(np.ptp(x)) + bool(grid)) * cell_m / 1000,
        extent_north_km=(float(np.ptp(y)) + bool(grid)) * cell_m / 1000,
        samples_per_subject=(int(lengths.min()), float(np.median(lengths)), int(lengths.max())),
        samples_per_subject_and_day=samples_each / max(days, 1.0),
        samples_per_subject_and_hour=samples_each / max((last_s - first_s + slot_s) / 3600, 1.0),
        surface_km2=surface_of(x[order[begins]], y[order[begins]]) * (cell_m / 1000) ** 2,
        places=len(counts),
        share_in_top_places=float(np.sort(counts)[-TOP_PLACES:].sum() / trajectories.n_samples),
        median_gap_s=quantiles[1] if len(gaps) else None,
        gap_quantiles_s=(quantiles[0], quantiles[1], quantiles[2]) if len(gaps) else None,
        usual_gap_s=usual_s,
        usual_gap_share=usual_share,
        area=area_of(trajectories),
        top_places=top_places(trajectories, begins, order),
        map=lines,
        unit_of_protection=intake.unit_of_protection,
        cell_m=grid.cell_m if grid else None,
        slot_s=grid.slot_s if grid else None,
        crs=trajectories.crs,
        rows_read=intake.rows_read,
        people_read=intake.people_read,
        people_lost=intake.people_lost,
        rows_dropped=dict(intake.dropped),
        rows_repaired=dict(intake.repaired),
        notes=(*intake.notes, *_note_outlying(trajectories, cell_m), *note_attendance(trajectories)),
        map_letter_m=letter * cell_m,
        map_bounds_m=(west, south, east, north),
        samples_by_hour=tuple(np.bincount(clock.hours(t * slot_s), minlength=24).tolist()),
        time_zone=clock.zone,
        columns={name: column for name in _COLUMNS if (column := getattr(intake.reading, name)) is not None},
    )


def _usual(gaps_s: Numbers) -> tuple[float | None, float | None]:
    if not len(gaps_s):
        return None, None
    values, counts = np.unique(gaps_s, return_counts=True)
    most = int(np.argmax(counts))
    return float(values[most]), float(counts[most] / len(gaps_s))


def _place_line(place: FrequentPlace, samples: int) -> str:
    where = f"x {place.x:,.0f}, y {place.y:,.0f}"
    if place.lat is not None and place.lon is not None:
        where = f"{place.lat:.4f}, {place.lon:.4f}"
    people = counted(place.subjects, "subject")
    return f"{where}: {percent(place.samples / samples)} of the samples, {people}"


def _iso(seconds: float) -> str:
    return f"{np.datetime64(int(seconds * 1e6), 'us').astype('datetime64[s]')}Z"
