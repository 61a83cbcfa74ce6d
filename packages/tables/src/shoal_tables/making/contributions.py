"""Each unit's contribution: whole multiples of 1 / granularity, clipped to the bound in exact arithmetic.

It counts trips, visits and homes in the unit's sequence of samples, in local time, cut into pieces.
"""

import datetime
from dataclasses import dataclass
from math import isqrt
from typing import Final

import numpy as np

from shoal.model.clocks import Clock
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.compiled import compiled_for_many
from shoal.units import DAY_S
from shoal_tables.definition.manifest import NIGHT_BEGINS_MIN, NIGHT_ENDS_MIN, STAY_STARTS_S, Promise
from shoal_tables.making.rules import Rules
from shoal_tables.making.zones import OUTSIDE

_EPOCH: Final = datetime.date(1970, 1, 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequences:
    """The samples of the period, int64 [m]: unit, piece, time, position, local date and minute, zone."""

    unit: Integers
    piece: Integers
    t: Integers
    x: Integers
    y: Integers
    date: Integers
    minute: Integers
    zone: Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Events:
    """What units do, int64 [n]: the unit, the date, and positions in the columns of cells before ``day``."""

    unit: Integers
    date: Integers
    codes: tuple[Integers, ...]


def sequences_of(people: Trajectories, rules: Rules) -> Sequences:
    """The samples of people on a grid of 1 m and 1 s, those on dates that count."""
    person = np.repeat(np.arange(people.n_subjects), people.lengths)
    local = people.t + np.rint(Clock(rules.time_zone).utc_offset_s(people.t)).astype(np.int64)
    date = local // DAY_S - (rules.first_day - _EPOCH).days
    n_dates = len(rules.day_of_date)
    within = (date >= 0) & (date < n_dates)
    within[within] = rules.day_of_date[date[within]] >= 0
    person, t, x, y, local, date = (
        column[within] for column in (person, people.t, people.x, people.y, local, date)
    )
    unit = person if rules.unit == "person" else person * n_dates + date
    cut = (np.diff(unit, prepend=-1) != 0) | (np.diff(t, prepend=0) > rules.longest_gap_s)
    piece, minute, zone = np.cumsum(cut) - 1, local % DAY_S // 60, rules.zones.locate(x, y)
    return Sequences(unit=unit, piece=piece, t=t, x=x, y=y, date=date, minute=minute, zone=zone)


def events_of(rows: Sequences, rules: Rules) -> Events:
    """The events that a table counts; several at one cell and date count once, except trips."""
    find = {"presence": _presence, "flows": _flows, "dwell": _dwell, "homes": _homes}
    return find[rules.table](rows, rules)


def _presence(rows: Sequences, rules: Rules) -> Events:
    hour = rules.hour_of_minute[rows.minute]
    at = np.flatnonzero((rows.zone >= 0) & (hour >= 0))
    key = (rows.unit[at] * len(rules.day_of_date) + rows.date[at]) * rules.shape[0] + rows.zone[at]
    at = at[np.unique(key * len(rules.hours) + hour[at], return_index=True)[1]]
    return Events(unit=rows.unit[at], date=rows.date[at], codes=(rows.zone[at], hour[at]))


def _flows(rows: Sequences, rules: Rules) -> Events:
    if rules.trips.definition == "zones":
        start, end = np.arange(len(rows.t) - 1), np.arange(1, len(rows.t))
        begin = start
    else:
        anchor, last = stays_of(rows, rules)
        start, end, begin = anchor[:-1], anchor[1:], last[:-1]
    origin, destination, hour = rows.zone[start], rows.zone[end], rules.hour_of_minute[rows.minute[begin]]
    trip = (rows.piece[start] == rows.piece[end]) & (hour >= 0)
    trip &= (origin >= 0) & (destination >= 0) & (origin != destination)
    codes = (origin[trip], (destination - (destination > origin))[trip], hour[trip])
    return Events(unit=rows.unit[start[trip]], date=rows.date[begin[trip]], codes=codes)


def stays_of(rows: Sequences, rules: Rules) -> tuple[Integers, Integers]:
    """The anchor and the last sample of each stay, in order."""
    anchor = np.flatnonzero(_are_anchors(rows.piece, rows.x, rows.y, rules.trips.radius_m or 0))
    last = np.append(anchor[1:], len(rows.t)) - 1
    stay = rows.t[last] - rows.t[anchor] >= (rules.trips.least_s or 0)
    return anchor[stay], last[stay]


@compiled_for_many
def _are_anchors(piece: Integers, x: Integers, y: Integers, radius_m: int) -> Flags:
    """The first sample of each piece, and each next one beyond the radius of the anchor before it."""
    anchor, is_anchor = 0, np.zeros(len(piece), dtype=np.bool_)
    for row in range(len(piece)):
        dx, dy = x[row] - x[anchor], y[row] - y[anchor]
        if row == 0 or piece[row] != piece[anchor] or dx * dx + dy * dy > radius_m * radius_m:
            anchor = row
            is_anchor[row] = True
    return is_anchor


def _dwell(rows: Sequences, rules: Rules) -> Events:
    fresh = (np.diff(rows.piece, prepend=-1) != 0) | (np.diff(rows.zone, prepend=OUTSIDE) != 0)
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(rows.t)) - 1
    inside = rows.zone[first] >= 0
    first, last = first[inside], last[inside]
    stay = np.searchsorted(STAY_STARTS_S, rows.t[last] - rows.t[first], side="right") - 1
    key = (rows.unit[first] * len(rules.day_of_date) + rows.date[first]) * rules.shape[0] + rows.zone[first]
    order = np.lexsort((-stay, key))
    first, stay, key = first[order], stay[order], key[order]
    longest = np.diff(key, prepend=-1) != 0
    first = first[longest]
    return Events(unit=rows.unit[first], date=rows.date[first], codes=(rows.zone[first], stay[longest]))


def _homes(rows: Sequences, rules: Rules) -> Events:
    evening, morning = rows.minute >= NIGHT_BEGINS_MIN, rows.minute < NIGHT_ENDS_MIN
    at_night = np.flatnonzero((rows.zone >= 0) & (evening | morning))
    # from 0: the first morning belongs to the date before
    night = rows.date[at_night] - morning[at_night] + 1
    n_zones = rules.shape[0]
    place = rows.unit[at_night] * n_zones + rows.zone[at_night]
    nights = np.unique(place * (len(rules.day_of_date) + 1) + night) // (len(rules.day_of_date) + 1)
    place, count = np.unique(nights, return_counts=True)
    unit, zone = place // n_zones, place % n_zones
    order = np.lexsort((zone, -count, unit))
    home = order[np.diff(unit[order], prepend=-1) != 0]
    return Events(unit=unit[home], date=np.zeros(len(home), dtype=np.int64), codes=(zone[home],))


_SAFE: Final = 2.0**62


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Sums over some units: of cells with contributions, ascending, and in all before and after the bound."""

    cells: Integers
    counts: Integers
    totals: Integers  # of each unit at most the limit
    sums: Integers  # without that limit


def tally(people: Trajectories, rules: Rules, promise: Promise) -> Tally:
    """The secret sums over all units of some people, on a grid of 1 m and 1 s."""
    unit, cell, number = contributions(events_of(sequences_of(people, rules), rules), rules)
    before, after = clip(unit, number, rules, cell, promise)
    cells, place = np.unique(cell, return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, place, after)
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    of_unit = (np.add.reduceat(parts, first) if len(first) else parts for parts in (before, after))
    most = 0 if promise.totals is None else promise.totals.most
    totals = np.array([np.minimum(sums, most).sum() for sums in of_unit], dtype=np.int64)
    sums = np.array([before.sum(), after.sum()], dtype=np.int64)
    return Tally(cells=cells, counts=counts, totals=totals, sums=sums)


def contributions(events: Events, rules: Rules) -> tuple[Integers, Integers, Integers]:
    """For each unit and cell, int64 [n], ascending: how many events, or dates with one."""
    codes = events.codes if rules.table == "homes" else (*events.codes, rules.day_of_date[events.date])
    cell = np.ravel_multi_index(codes, rules.shape) if len(events.unit) else events.unit
    keys, number = np.unique(events.unit * rules.n_cells + cell, return_counts=True)
    return keys // rules.n_cells, keys % rules.n_cells, number.astype(np.int64)


def clip(
    unit: Integers, number: Integers, rules: Rules, cell: Integers, promise: Promise
) -> tuple[Integers, Integers]:
    """Clip in L2 and round down; the parts of each entry, ascending by unit, before and after [n]."""
    if not len(unit):
        return number, number
    scale, granularity, sensitivity = rules.common_days, promise.granularity, promise.sensitivity
    w = number * (scale // rules.dates_per_day)[cell % len(rules.dates_per_day)]
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    exact = w.astype(object) if 5 * (float(w.max()) * len(w)) ** 2 > _SAFE else w
    norms = np.add.reduceat(exact**2, first)
    for outer in rules.levels[1:]:  # whose sums a unit changes as well, under the same bound
        norms, sensitivity = norms * outer.noise**2, sensitivity * outer.noise
        inside = rules.outer_cell[cell] != OUTSIDE
        group = unit[inside] * outer.rules.n_cells + rules.outer_cell[cell[inside]]
        groups, place = np.unique(group, return_inverse=True)
        sums = np.zeros(len(groups), dtype=exact.dtype)
        np.add.at(sums, place, exact[inside])
        np.add.at(norms, np.searchsorted(unit[first], groups // outer.rules.n_cells), sums**2)
    longest, lengths = (sensitivity * scale) ** 2, np.diff(np.append(first, len(unit)))
    long = np.repeat([square * granularity**2 > longest for square in norms.tolist()], lengths)
    before = w * (granularity // scale)
    after = before.copy()
    both = zip(exact[long].tolist(), np.repeat(norms, lengths)[long].tolist(), strict=True)
    after[long] = [isqrt((entry * sensitivity) ** 2 // norm) for entry, norm in both]
    return before, after
