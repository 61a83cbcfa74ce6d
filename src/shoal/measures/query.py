"""Questions to a release, answered with bounds: how many people were where, and how many went where.

A box says that its subject was somewhere inside, so an answer has a minimum (boxes that lie inside for
certain), a maximum (boxes that could), and an expected value between them (positions and times spread evenly
over each box, boxes independent of each other). The bounds speak of what is published: people and samples
that the release suppressed are in no bound; its losses say how many those are. Raw samples are boxes of one
slot and cell, so the same questions can be put to raw data.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.release import Boxes, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.units import DAY_S, HOUR_S

_CHUNK: Final = 4_000
_ROUNDING: Final = 1e-9


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
    """An area in meters of the release's plane, and an interval in seconds; each half-open."""

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
    """A raster of nx x ny rectangles, numbered row by row.

    Zone i + nx * j lies between x_m[i], x_m[i + 1] and y_m[j], y_m[j + 1].
    """

    x_m: Floats
    y_m: Floats

    @classmethod
    def over(cls, data: Release | Trajectories, zone_m: float) -> "Zones":
        """Squares of ``zone_m`` that cover all data, aligned at multiples of it.

        Raises MisuseError for more than 10,000 zones.
        """
        if not zone_m > 0:
            raise MisuseError(f"zone_m = {zone_m} must be greater than 0")
        boxes, _, grid = boxes_of(data)
        edges = []
        for low, high in ((boxes.x_min, boxes.x_max), (boxes.y_min, boxes.y_max)):
            first, last = (
                np.floor(low.min() * grid.cell_m / zone_m),
                np.ceil(high.max() * grid.cell_m / zone_m),
            )
            edges.append(np.arange(first, last + 1) * zone_m)
        if (len(edges[0]) - 1) * (len(edges[1]) - 1) > 10_000:
            raise MisuseError(f"zones of {zone_m:g} m would be more than 10,000; choose larger ones")
        return cls(x_m=edges[0], y_m=edges[1])

    def __len__(self) -> int:
        return (len(self.x_m) - 1) * (len(self.y_m) - 1)


def boxes_of(data: Release | Trajectories) -> tuple[Boxes, Integers, Grid]:
    """(boxes, offsets of the records, grid) of a release or of raw samples.

    Raises MisuseError for points as given.
    """
    if isinstance(data, Release):
        return data.boxes, data.offsets, data.snapped_grid()
    return Boxes.of_samples(data.t, data.x, data.y), data.offsets, data.snapped_grid()


def people_in(data: Release | Trajectories, region: Region) -> Estimate:
    """How many records have a sample in the region."""
    boxes, offsets, grid = boxes_of(data)
    touching = (boxes.t_start * grid.slot_s < region.t_end_s) & (boxes.t_end * grid.slot_s > region.t_start_s)
    touching &= (boxes.x_min * grid.cell_m < region.x_max_m) & (boxes.x_max * grid.cell_m > region.x_min_m)
    touching &= (boxes.y_min * grid.cell_m < region.y_max_m) & (boxes.y_max * grid.cell_m > region.y_min_m)
    rows = np.flatnonzero(touching)  # no other box has a share in the region
    near = boxes.take(rows)
    share = _share(
        near.t_start * grid.slot_s, near.t_end * grid.slot_s, np.array([region.t_start_s, region.t_end_s])
    )
    share *= _share(
        near.x_min * grid.cell_m, near.x_max * grid.cell_m, np.array([region.x_min_m, region.x_max_m])
    )
    share *= _share(
        near.y_min * grid.cell_m, near.y_max * grid.cell_m, np.array([region.y_min_m, region.y_max_m])
    )
    found = _present(share, np.searchsorted(rows, offsets))
    return Estimate(
        minimum=float(found.minimum[0]), expected=float(found.expected[0]), maximum=float(found.maximum[0])
    )


def people_in_zones(data: Release | Trajectories, zones: Zones) -> Estimates:
    """[zones]: how many records have a sample in each zone."""
    boxes, offsets, grid = boxes_of(data)
    total = np.zeros((3, len(zones)))
    for first, last in _records_in_chunks(offsets):
        own = boxes.take(slice(offsets[first], offsets[last]))
        part = _present(_shares_of_zones(own, grid, zones), offsets[first : last + 1] - offsets[first])
        total += np.stack([part.minimum, part.expected, part.maximum])
    return Estimates(minimum=total[0], expected=total[1], maximum=total[2])


def origin_destination(data: Release | Trajectories, zones: Zones) -> Estimates:
    """[zones, zones]: days of people that begin in one zone and end in another or the same.

    A UTC day begins with its first sample and ends with its last; days with one sample are no trip. A box
    belongs to the day of its start.
    """
    boxes, offsets, grid = boxes_of(data)
    record = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    day = np.floor(boxes.t_start * grid.slot_s / DAY_S)
    begins = (
        np.flatnonzero(np.r_[True, (np.diff(record) != 0) | (np.diff(day) != 0)])
        if len(boxes)
        else np.empty(0, dtype=np.int64)
    )
    ends = np.r_[begins[1:], len(boxes)] - 1
    trips = ends > begins
    begins, ends = begins[trips], ends[trips]
    total = np.zeros((3, len(zones), len(zones)))
    for start in range(0, len(begins), _CHUNK):
        origin, destination = (
            _shares_of_zones(boxes.take(rows[start : start + _CHUNK]), grid, zones) for rows in (begins, ends)
        )
        # one zone each: counted, not multiplied
        known = (origin >= 1).any(axis=1) & (destination >= 1).any(axis=1)
        pairs = origin[known].argmax(axis=1) * len(zones) + destination[known].argmax(axis=1)
        total += np.bincount(pairs, minlength=len(zones) ** 2).reshape(total.shape[1:])
        origin, destination = origin[~known], destination[~known]
        total[0] += (origin >= 1).T.astype(np.float64) @ (destination >= 1)
        total[1] += origin.T @ destination
        total[2] += (origin > 0).T.astype(np.float64) @ (destination > 0)
    return Estimates(minimum=total[0], expected=total[1], maximum=total[2])


def time_profile(data: Release | Trajectories) -> Estimates:
    """[24]: the share of all samples that lies in each hour of the day (UTC).

    expected: each box spread evenly over its interval. minimum: boxes that lie wholly in the hour. maximum:
    boxes that touch it.
    """
    boxes, _, grid = boxes_of(data)
    start_s, end_s = boxes.t_start * grid.slot_s, boxes.t_end * grid.slot_s
    first = np.floor(start_s / HOUR_S + _ROUNDING).astype(np.int64)
    hours = np.minimum(
        np.ceil(end_s / HOUR_S - _ROUNDING).astype(np.int64) - first, 24
    )  # a day touches every hour once
    edges = np.bincount(first % 24, minlength=49) - np.bincount(first % 24 + hours, minlength=49)
    touched = edges.cumsum()
    n = max(len(boxes), 1)
    return Estimates(
        minimum=np.bincount(first[hours == 1] % 24, minlength=24) / n,
        expected=_hours_of_day(start_s, end_s),
        maximum=(touched[:24] + touched[24:48]) / n,
    )


def _hours_of_day(start_s: Numbers, end_s: Numbers) -> Floats:
    """[24]: mean share of the intervals that lies in each hour of the day."""
    edges = np.arange(25) * HOUR_S

    def until(moment: Numbers) -> Floats:
        whole, rest = np.divmod(moment, DAY_S)
        return np.asarray(whole[:, None] * HOUR_S + np.clip(rest[:, None] - edges[None, :-1], 0.0, HOUR_S))

    return np.asarray(
        ((until(end_s) - until(start_s)) / (end_s - start_s)[:, None]).sum(axis=0) / max(len(start_s), 1)
    )


def _records_in_chunks(offsets: Integers) -> Iterator[tuple[int, int]]:
    """Runs of records with about so many boxes together."""
    first, n = 0, len(offsets) - 1
    while first < n:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _CHUNK, side="right")) - 1)
        yield first, last
        first = last


def _present(share: Floats, offsets: Integers) -> Estimates:
    """Sums over records of the chance that any of their positions is inside; share: [boxes, places]."""
    rows = offsets[:-1][np.diff(offsets) > 0]
    if not len(rows):
        nothing = np.zeros(share.shape[1])
        return Estimates(minimum=nothing, expected=nothing, maximum=nothing)
    absent = np.multiply.reduceat(1 - share, rows, axis=0)
    inside, touching = (
        np.maximum.reduceat(share >= 1, rows, axis=0),
        np.maximum.reduceat(share > 0, rows, axis=0),
    )
    return Estimates(
        minimum=inside.sum(axis=0, dtype=float),
        expected=(1 - absent).sum(axis=0),
        maximum=touching.sum(axis=0, dtype=float),
    )


def _shares_of_zones(boxes: Boxes, grid: Grid, zones: Zones) -> Floats:
    """[boxes, zones]: the share of each box's area in each zone."""
    east = _share(boxes.x_min * grid.cell_m, boxes.x_max * grid.cell_m, zones.x_m)
    north = _share(boxes.y_min * grid.cell_m, boxes.y_max * grid.cell_m, zones.y_m)
    return np.asarray((north[:, :, None] * east[:, None, :]).reshape(len(boxes), -1))


def _share(low: Numbers, high: Numbers, edges: Floats) -> Floats:
    """[boxes, edges - 1]: the share of each interval between neighboring edges, 0 and 1 despite rounding."""
    inside = np.minimum(high[:, None], edges[None, 1:]) - np.maximum(low[:, None], edges[None, :-1])
    share: Floats = np.clip(inside / (high - low)[:, None], 0.0, 1.0)
    share[share < _ROUNDING], share[share > 1 - _ROUNDING] = 0.0, 1.0
    return share
