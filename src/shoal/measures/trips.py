"""Trips from zone to zone, and people by zone and hour, of raw data and of releases alike.

A box stands for its middle where one place is needed, and for a few points spread over it where a share
is. Points outside the zones are not counted. Hours are local, by the clock of the data.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.kernels.box_measures import BoxColumns
from shoal.kernels.presence import ClockChanges, Raster, count_people_by_hour
from shoal.measures.query import Zones, batches_of_records, some_records
from shoal.model.clocks import UTC_CLOCK, Clock
from shoal.model.grid import Grid
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, read_only
from shoal.runtime.run import Run
from shoal.units import HOUR_S

LONGEST_GAP_S: Final = 12 * HOUR_S
_AT_ONCE: Final = 1 << 18
_POINTS: Final = 16
_HOURS: Final = 24


@dataclass(frozen=True, eq=False)
class Trips:
    """Trips between pairs of zones.

    pairs: int64 [n], ``origin * len(zones) + destination``, ascending. counts: int64 [n], trips of each pair.
    people: records with a trip.
    """

    pairs: Integers
    counts: Integers
    people: int


def count_trips(data: Release | Trajectories, zones: Zones) -> Trips:
    """Count the trips from one zone to another.

    A trip joins two consecutive samples of a person that lie in different zones, at most
    ``LONGEST_GAP_S`` apart. Of boxes, their middles in place and time.

    >>> import shoal
    >>> from shoal.measures.query import Zones
    >>> from shoal.measures.trips import count_trips
    >>> calls = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    >>> trips = count_trips(calls, Zones.over(calls, 5_000))
    >>> bool((trips.counts > 0).all())
    True
    """
    grid, counted, people = data.snapped_grid(), [np.empty(0, dtype=np.int64)], 0
    for span in batches_of_records(data.offsets, _AT_ONCE):
        some, ends = some_records(data, span)
        zone = _zone_of_middle(some, zones, grid)
        goes = (zone[1:] != zone[:-1]) & (zone[1:] >= 0) & (zone[:-1] >= 0)
        goes[ends[1:-1] - 1] = False  # to the next person
        first = np.flatnonzero(goes)
        middle_s = (some.t_start + some.t_end) * (grid.slot_s / 2)
        first = first[middle_s[first + 1] - middle_s[first] <= LONGEST_GAP_S]
        counted.append(zone[first] * len(zones) + zone[first + 1])
        people += int(np.count_nonzero(np.diff(np.searchsorted(first, ends))))
    return Trips(*_counted(np.concatenate(counted)), people)


def people_by_hour(
    data: Release | Trajectories,
    zones: Zones,
    clock: Clock = UTC_CLOCK,
    run: Run | None = None,
    often: Integers | None = None,
) -> Floats:
    """float64 [24, zones]: people seen in each zone in each hour of the day, summed over the days.

    A box counts by the share of it that lies in the zone and hour, at points spread over it. often [records]:
    how many equal records each stands for; None = each for itself.
    """
    offsets, grid = data.offsets, data.snapped_grid()
    starts, ends = (data.boxes.t_start, data.boxes.t_end) if isinstance(data, Release) else (data.t, data.t)
    if not len(starts):
        return np.zeros((_HOURS, len(zones)))
    first, last = int(starts.min()), int(ends.max()) + 1
    changes = ClockChanges(*clock.changes(first * grid.slot_s, last * grid.slot_s))
    raster = Raster(zones.x_m, zones.y_m, float(grid.cell_m))
    often = np.ones(len(offsets) - 1, dtype=np.int64) if often is None else often

    def count(span: slice) -> Floats:
        counts = np.zeros((_HOURS, len(zones)))
        points = _POINTS if isinstance(data, Release) else 1
        boxes, ends = some_records(data, span)
        each = read_only(often[span])
        count_people_by_hour(boxes, ends, float(grid.slot_s), raster, changes, points, each, counts)
        return counts

    total = np.zeros((_HOURS, len(zones)))
    for part in (run or Run()).map(count, batches_of_records(offsets, _AT_ONCE)):
        total += part
    return total


def common_part(raw: Floats, released: Floats) -> float:
    """2 sum(min) / sum of both: 1 where two counts are equal, 0 where they share nothing; nan of nothing."""
    total = float(raw.sum() + released.sum())
    return 2 * float(np.minimum(raw, released).sum()) / total if total else float("nan")


def _zone_of_middle(boxes: BoxColumns, zones: Zones, grid: Grid) -> Integers:
    column = _strip_of(boxes.x_min + boxes.x_max, zones.x_m, grid)
    row = _strip_of(boxes.y_min + boxes.y_max, zones.y_m, grid)
    columns, rows = len(zones.x_m) - 1, len(zones.y_m) - 1
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    return np.where(inside, row * columns + column, -1).astype(np.int64)


def _strip_of(doubled: Integers, edges: Floats, grid: Grid) -> Integers:
    first, last = (int(doubled.min()), int(doubled.max())) if len(doubled) else (0, 0)
    few = last - first < len(doubled)
    middles = np.arange(first, last + 1) if few else doubled
    strips = np.searchsorted(edges, middles / 2 * grid.cell_m, side="right") - 1
    return strips[doubled - first] if few else strips


def _counted(keys: Integers) -> tuple[Integers, Integers]:
    kinds, number = np.unique(keys, return_counts=True)
    return kinds, number.astype(np.int64)
