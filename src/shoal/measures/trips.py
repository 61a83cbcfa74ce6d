"""Trips from zone to zone, and people by zone and hour, of raw data and of releases alike.

A box stands for its middle where one place is needed, and for a few points spread over it where a share
is. Points outside the zones are not counted. Hours are local, by the clock of the data.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.kernels.box_measures import BoxColumns
from shoal.kernels.presence import ClockChanges, Raster, count_people_by_hour
from shoal.measures.query import Zones, batches_of_records, boxes_of
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


def count_trips(data: Release | Trajectories, zones: Zones, *, longest_gap_s: float = LONGEST_GAP_S) -> Trips:
    """Count the trips from one zone to another.

    A trip joins two consecutive samples of a person that lie in different zones, at most
    ``longest_gap_s`` apart. Of boxes, their middles in place and time.

    Parameters
    ----------
    data
        Raw data on a grid, or a release of boxes.
    zones
        Where trips begin and end.
    longest_gap_s
        Seconds after which two samples are no trip.

    Returns
    -------
    Trips
        The pairs of zones with trips.

    Examples
    --------
    >>> import shoal
    >>> from shoal.measures.query import Zones
    >>> from shoal.measures.trips import count_trips
    >>> calls = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    >>> trips = count_trips(calls, Zones.over(calls, 5_000))
    >>> bool((trips.counts > 0).all())
    True
    """
    boxes, offsets, grid = boxes_of(data)
    counted, people = [np.empty(0, dtype=np.int64)], 0
    for span in batches_of_records(offsets, _AT_ONCE):
        rows = slice(offsets[span.start], offsets[span.stop])
        some = boxes.take(rows)
        zone = _zone_of((some.x_min + some.x_max) / 2, (some.y_min + some.y_max) / 2, zones, grid)
        middle_s = (some.t_start + some.t_end) * (grid.slot_s / 2)
        follows = np.ones(max(len(zone) - 1, 0), dtype=np.bool_)
        follows[offsets[span.start + 1 : span.stop] - rows.start - 1] = False
        goes = follows & (zone[1:] != zone[:-1]) & (zone[1:] >= 0) & (zone[:-1] >= 0)
        goes &= np.diff(middle_s) <= longest_gap_s
        counted.append((zone[:-1] * len(zones) + zone[1:])[goes])
        starts = offsets[span.start : span.stop] - rows.start
        people += len(np.unique(np.searchsorted(starts, np.flatnonzero(goes), side="right")))
    return Trips(*_counted(np.concatenate(counted)), people)


def people_by_hour(
    data: Release | Trajectories, zones: Zones, clock: Clock = UTC_CLOCK, run: Run | None = None
) -> Floats:
    """float64 [24, zones]: people seen in each zone in each hour of the day, summed over the days.

    A box counts by the share of it that lies in the zone and hour, at points spread over it.
    """
    boxes, offsets, grid = boxes_of(data)
    if not len(boxes):
        return np.zeros((_HOURS, len(zones)))
    first, last = int(boxes.t_start.min()), int(boxes.t_end.max())
    changes = ClockChanges(*clock.changes(first * grid.slot_s, last * grid.slot_s))
    raster = Raster(zones.x_m, zones.y_m, float(grid.cell_m))

    def count(span: slice) -> Floats:
        some = BoxColumns(*boxes.take(slice(offsets[span.start], offsets[span.stop])).columns())
        ends = read_only(offsets[span.start : span.stop + 1] - offsets[span.start])
        counts = np.zeros((_HOURS, len(zones)))
        points = _POINTS if isinstance(data, Release) else 1
        count_people_by_hour(some, ends, float(grid.slot_s), raster, changes, points, counts)
        return counts

    total = np.zeros((_HOURS, len(zones)))
    for part in (run or Run()).map(count, batches_of_records(offsets, _AT_ONCE)):
        total += part
    return total


def common_part(raw: Floats, released: Floats) -> float:
    """2 sum(min) / sum of both: 1 where two counts are equal, 0 where they share nothing; nan of nothing."""
    total = float(raw.sum() + released.sum())
    return 2 * float(np.minimum(raw, released).sum()) / total if total else float("nan")


def _zone_of(x: Floats, y: Floats, zones: Zones, grid: Grid) -> Integers:
    column, row = (
        np.searchsorted(edges, at * grid.cell_m, side="right") - 1
        for at, edges in ((x, zones.x_m), (y, zones.y_m))
    )
    columns, rows = len(zones.x_m) - 1, len(zones.y_m) - 1
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    return np.where(inside, row * columns + column, -1).astype(np.int64)


def _counted(keys: Integers) -> tuple[Integers, Integers]:
    kinds, number = np.unique(keys, return_counts=True)
    return kinds, number.astype(np.int64)
