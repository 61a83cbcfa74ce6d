"""Places and hours of the samples that a release lacks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shoal.measures.query import Zones, batches_of_records
from shoal.model.clocks import Clock, clock_of
from shoal.model.grid import Grid, slots_and_cells
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Integers
from shoal.utility.facts import Facts

_ACROSS: Final = 8  # zones on the longer side of the data
_AT_ONCE: Final = 1 << 18  # samples


@dataclass(frozen=True, eq=False, kw_only=True)
class Presence:
    """By place or hour: samples, lost ones, people, and people who lost some."""

    samples: Integers
    lost: Integers
    people: Integers
    losers: Integers

    @classmethod
    def of_nobody(cls, n: int) -> "Presence":
        """Zeros."""
        none = np.zeros(n, dtype=np.int64)
        return cls(samples=none, lost=none, people=none, losers=none)

    def plus(self, other: "Presence") -> "Presence":
        """The sum with other people's."""
        return Presence(**{name: values + getattr(other, name) for name, values in vars(self).items()})


@dataclass(frozen=True, eq=False, kw_only=True)
class Vanished:
    """Lost samples by place and by hour."""

    zones: Zones
    by_zone: Presence  # [zones], in the order of ``zones``
    by_hour: Presence  # [24], hours of the day by the clock of ``time_zone``, by the start of a sample's slot
    time_zone: str = "UTC"


def vanished_of(facts: Facts) -> Vanished | None:
    """By zone and hour; None where the linkage cannot tell."""
    lost = facts.lost
    if lost is None:
        return None
    original, snapped = facts.original, facts.on_grid.original
    grid = snapped.snapped_grid()
    longer = max(int(np.ptp(snapped.x)), int(np.ptp(snapped.y))) + 1
    zones = Zones.over(snapped, side_of_zones(longer) * grid.cell_m)
    return vanished_in(original, lost, zones, clock_of(original), grid)


def side_of_zones(longer: int) -> int:
    """A zone's width. longer: cells on the data's longer side."""
    return max(1, -(-longer // _ACROSS))


def vanished_in(original: Trajectories, lost: Flags, zones: Zones, clock: Clock, grid: Grid) -> Vanished:
    """Count the lost samples in zones. lost: [m]."""
    t, x, y = original.t, original.x, original.y
    if original.grid is None:
        t, x, y = slots_and_cells(t, x, y, grid)
    by_zone, by_hour = Presence.of_nobody(len(zones)), Presence.of_nobody(24)
    for people in batches_of_records(original.offsets, _AT_ONCE):
        lengths = original.lengths[people]
        rows = slice(original.offsets[people.start], original.offsets[people.stop])
        east, north = (
            np.searchsorted(edges, (cells[rows] + 0.5) * grid.cell_m) - 1
            for edges, cells in ((zones.x_m, x), (zones.y_m, y))
        )
        zone, hour = north * (len(zones.x_m) - 1) + east, clock.hours(t[rows] * grid.slot_s)
        by_zone = by_zone.plus(_presence(lengths, lost[rows], zone, len(zones)))
        by_hour = by_hour.plus(_presence(lengths, lost[rows], hour, 24))
    return Vanished(zones=zones, by_zone=by_zone, by_hour=by_hour, time_zone=clock.zone)


def vanished_together(parts: Sequence[Vanished]) -> Vanished:
    """The sum over different people."""
    whole = parts[0]
    for part in parts[1:]:
        whole = replace(
            whole, by_zone=whole.by_zone.plus(part.by_zone), by_hour=whole.by_hour.plus(part.by_hour)
        )
    return whole


def _presence(lengths: Integers, lost: Flags, where: Integers, n: int) -> Presence:
    person_and_place = np.repeat(np.arange(len(lengths)) * n, lengths) + where
    return Presence(
        samples=np.bincount(where, minlength=n),
        lost=np.bincount(where[lost], minlength=n),
        people=_people_in(person_and_place, len(lengths), n),
        losers=_people_in(person_and_place[lost], len(lengths), n),
    )


def _people_in(person_and_place: Integers, people: int, n: int) -> Integers:
    visited = np.zeros(people * n, dtype=np.bool_)
    visited[person_and_place] = True
    return np.asarray(visited.reshape(people, n).sum(axis=0), dtype=np.int64)
