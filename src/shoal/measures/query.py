"""Questions to a release, answered with bounds: people in regions and zones, hours of the day.

A box says that its subject was somewhere inside: the minimum counts boxes certainly inside, the maximum
those possibly inside, the expected value spreads each box evenly. Suppressed people and samples are not
counted. Raw samples are boxes of one slot and cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.box_measures import BoxColumns
from shoal.kernels.presence import Raster, Windows, chances_in, count_visitors, hours_of_day
from shoal.model.clocks import MICROSECONDS, UTC_CLOCK, Clock
from shoal.model.grid import Grid
from shoal.model.release import Boxes, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, read_only
from shoal.runtime.run import Run

_CHUNK: Final = 4_000
_AT_ONCE: Final = 1 << 18
_CHANCES: Final = 1 << 22  # in memory at once
_ABSENT: Final = -1.0  # the chance of a record that does not touch a region
_ENDLESS: Final = 1 << 52  # more cells or slots than data can have


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An answer with its uncertainty."""

    minimum: float
    expected: float
    maximum: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimates:
    """Answers with their uncertainty, arrays of one shape."""

    minimum: Floats
    expected: Floats
    maximum: Floats


@dataclass(frozen=True, kw_only=True)
class Region:
    """An area in meters of the plane, and an interval in seconds; half-open."""

    x_min_m: float
    x_max_m: float
    y_min_m: float
    y_max_m: float
    t_start_s: float = -np.inf
    t_end_s: float = np.inf

    def __post_init__(self) -> None:
        if not (
            self.x_min_m < self.x_max_m and self.y_min_m < self.y_max_m and self.t_start_s < self.t_end_s
        ):
            raise MisuseError("the region is empty: each upper bound must lie above its lower bound")


@dataclass(frozen=True, eq=False, kw_only=True)
class Zones:
    """A raster of nx x ny: zone i + nx * j begins at x_m[i] and y_m[j]."""

    x_m: Floats
    y_m: Floats

    @classmethod
    def over(cls, data: Release | Trajectories, zone_m: float) -> "Zones":
        """Squares over all data, aligned at multiples of ``zone_m``, at most 10,000."""
        if not zone_m > 0:
            raise MisuseError(f"zone_m = {zone_m} must be greater than 0")
        if isinstance(data, Release):
            boxes, beyond = data.boxes, 0
            sides = (boxes.x_min, boxes.x_max), (boxes.y_min, boxes.y_max)
        else:
            sides, beyond = ((data.x, data.x), (data.y, data.y)), 1
        x, y = ((int(low.min()), int(high.max()) + beyond) for low, high in sides)
        return cls.between(x, y, data.snapped_grid().cell_m, zone_m)

    @classmethod
    def between(cls, x: tuple[int, int], y: tuple[int, int], cell_m: float, zone_m: float) -> "Zones":
        """The same over cells from the first to before the last."""
        edges = [
            np.arange(np.floor(low * cell_m / zone_m), np.ceil(high * cell_m / zone_m) + 1) * zone_m
            for low, high in (x, y)
        ]
        if (len(edges[0]) - 1) * (len(edges[1]) - 1) > 10_000:
            raise MisuseError(f"zones of {zone_m:g} m would be more than 10,000; choose larger ones")
        return cls(x_m=edges[0], y_m=edges[1])

    def __len__(self) -> int:
        return (len(self.x_m) - 1) * (len(self.y_m) - 1)


def boxes_of(data: Release | Trajectories) -> tuple[Boxes, Integers, Grid]:
    """(boxes, offsets of records, grid); raises MisuseError for points as given."""
    if isinstance(data, Release):
        return data.boxes, data.offsets, data.snapped_grid()
    return Boxes.of_samples(data.t, data.x, data.y), data.offsets, data.snapped_grid()


def people_in(data: Release | Trajectories, region: Region) -> Estimate:
    """Records with a sample in the region."""
    return people_in_each(data, [region], Run(threads=1))[0]


def people_in_each(
    data: Release | Trajectories, regions: Sequence[Region], run: Run | None = None
) -> list[Estimate]:
    """Records with a sample in each region."""
    offsets, grid = data.offsets, data.snapped_grid()
    n, estimates = len(offsets) - 1, list[Estimate]()
    at_once = max(1, _CHANCES // max(n, 1))
    for some_regions in (regions[first : first + at_once] for first in range(0, len(regions), at_once)):
        windows = _windows(some_regions, grid)
        chances = np.full((len(some_regions), n), _ABSENT)

        def count(records: slice, windows: Windows = windows, chances: Floats = chances) -> Integers:
            counts, chances_here = np.zeros((2, len(chances)), dtype=np.int64), chances[:, records].copy()
            chances_in(
                *some_records(data, records),
                float(grid.slot_s),
                float(grid.cell_m),
                windows,
                chances_here,
                counts,
            )
            chances[:, records] = chances_here
            return counts

        parts = (run or Run()).map(count, batches_of_records(offsets, _CHUNK))
        inside, possible = sum(parts, start=np.zeros((2, len(some_regions)), dtype=np.int64)).tolist()
        expected = [float(row[row != _ABSENT].sum()) for row in chances]
        estimates += [
            Estimate(minimum=low, expected=middle, maximum=high)
            for low, middle, high in zip(inside, expected, possible, strict=True)
        ]
    return estimates


def _windows(regions: Sequence[Region], grid: Grid) -> Windows:
    edges = np.array(
        [
            (region.t_start_s, region.t_end_s, region.x_min_m, region.y_min_m, region.x_max_m, region.y_max_m)
            for region in regions
        ]
    )
    last = np.array(
        [
            (
                _last_below(t_end, grid.slot_s),
                _first_above(t_start, grid.slot_s),
                _last_below(x_max, grid.cell_m),
                _last_below(y_max, grid.cell_m),
                _first_above(x_min, grid.cell_m),
                _first_above(y_min, grid.cell_m),
            )
            for t_start, t_end, x_min, y_min, x_max, y_max in edges.tolist()
        ]
    )
    return Windows(edges, last)


def _last_below(edge: float, unit: float) -> int:
    # the last integer that, times the unit, lies below an edge
    return -_first_above(-edge, unit)


def _first_above(edge: float, unit: float) -> int:
    # the first integer that, times the unit, lies above an edge in floating point
    if abs(edge) >= _ENDLESS * unit:
        return int(np.copysign(_ENDLESS, edge))
    number = int(edge / unit)
    while number * unit > edge:
        number -= 1
    while number * unit <= edge:
        number += 1
    return number


def people_in_zones(data: Release | Trajectories, zones: Zones, run: Run | None = None) -> Estimates:
    """[zones]: records with a sample in each."""
    raster = Raster(zones.x_m, zones.y_m, float(data.snapped_grid().cell_m))

    def count(records: slice) -> Floats:
        counts = np.empty((3, len(zones)))
        count_visitors(*some_records(data, records), raster, counts)
        return counts

    total = np.zeros((3, len(zones)))
    for counts in (run or Run()).map(count, batches_of_records(data.offsets, _CHUNK)):
        total += counts
    return Estimates(minimum=total[0], expected=total[1], maximum=total[2])


def time_profile(data: Release | Trajectories, clock: Clock = UTC_CLOCK) -> Estimates:
    """[24]: shares of samples by hour of the clock."""
    # expected: boxes spread evenly; minimum: boxes wholly in the hour; maximum: boxes that touch it
    grid, counts, n = data.snapped_grid(), np.zeros((3, 24)), data.n_samples
    for rows in (slice(first, first + _AT_ONCE) for first in range(0, n, _AT_ONCE)):
        starts = (data.boxes.t_start if isinstance(data, Release) else data.t)[rows]
        ends = data.boxes.t_end[rows] if isinstance(data, Release) else read_only(starts + 1)
        if clock == UTC_CLOCK:
            hours_of_day(starts, ends, float(grid.slot_s), counts)
        else:
            utc_offset_s = clock.utc_offset_s((starts + ends) * (grid.slot_s / 2))
            start, end = (
                read_only(np.rint((slots * grid.slot_s + utc_offset_s) * MICROSECONDS).astype(np.int64))
                for slots in (starts, ends)
            )
            hours_of_day(start, end, 1 / MICROSECONDS, counts)
    counts /= max(n, 1)
    return Estimates(minimum=counts[0], expected=counts[1], maximum=counts[2])


def batches_of_records(offsets: Integers, most: int) -> Iterator[slice]:
    """Consecutive records with at most ``most`` rows, or a larger one."""
    first, n = 0, len(offsets) - 1
    while first < n:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1)
        yield slice(first, last)
        first = last


def some_records(data: Release | Trajectories, records: slice) -> tuple[BoxColumns, Integers]:
    """Boxes of consecutive records, and where each begins and ends among them."""
    offsets = data.offsets[records.start : records.stop + 1]
    boxes = _some_boxes(data, slice(offsets[0], offsets[-1]))
    return BoxColumns(*boxes.columns()), read_only(offsets - offsets[0])


def _some_boxes(data: Release | Trajectories, rows: Any) -> Boxes:
    if isinstance(data, Release):
        return data.boxes.take(rows)
    return Boxes.of_samples(data.t[rows], data.x[rows], data.y[rows])
