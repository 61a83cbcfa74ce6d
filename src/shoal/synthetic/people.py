"""Positions at every minute: home, work, journeys, outings.

A person's day begins at a personal quiet hour (04:00 for most, later for shift workers) and has seven
stays: base, work, outing, work, two outings, base; on a free day work is the base, on a journey the
lodging. Outings follow Song et al. 2010: to a new place with probability rho S^-gamma, else to an earlier
one in proportion to past visits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.synthetic.stations import Layout, Stations

_N_NEIGHBORS: Final = 8
_RASTER: Final = 512  # cells along the longer side
_TILE: Final = 32  # cells along one side of the squares in which the raster is filled
_OUTSIDE: Final = 2.0  # a point farther from its station than this many spacings lies outside the area


@dataclass(frozen=True, kw_only=True)
class JumpLaw:
    """Lengths r with density ~ (r + offset_m)^-alpha (Gonzalez et al. 2008)."""

    alpha: float
    offset_m: float
    min_m: float
    max_m: float

    def lengths_m(self, uniform: Floats) -> Floats:
        """The length of each uniform draw in [0, 1)."""
        power = 1 - self.alpha
        top = max(self.max_m, self.min_m + 1.0)
        at_min, at_max = (self.min_m + self.offset_m) ** power, (top + self.offset_m) ** power
        lengths: Floats = (at_min + uniform * (at_max - at_min)) ** (1 / power) - self.offset_m
        return lengths


@dataclass(frozen=True, eq=False, kw_only=True)
class Coverage:
    """Stations with neighbors and raster."""

    x_m: Floats
    y_m: Floats
    neighbors: Integers  # [n, up to 8], the nearest others, nearest first
    neighbor_m: Floats
    spacing_m: Floats  # [n], mean distance to them
    density: Floats  # [n], people per area, any unit
    raster: npt.NDArray[np.int32]  # [rows, columns], nearest station to each square, from (west_m, south_m)
    cell_m: float  # side of a square
    west_m: float
    south_m: float
    radius_m: float  # from the median position, within which 9 of 10 stations lie

    @classmethod
    def of(cls, stations: Stations) -> "Coverage":
        """The coverage of these stations."""
        x, y = stations.on_plane()
        neighbors, neighbor_m = _nearest_others(x, y)
        spacing = neighbor_m.mean(axis=1)
        cell = max(float(np.ptp(x)), float(np.ptp(y))) / (_RASTER - 1)
        return cls(
            x_m=x,
            y_m=y,
            neighbors=neighbors,
            neighbor_m=neighbor_m,
            spacing_m=spacing,
            density=stations.population / spacing**2,
            raster=_nearest_raster(x, y, cell),
            cell_m=cell,
            west_m=float(x.min()) - cell / 2,
            south_m=float(y.min()) - cell / 2,
            radius_m=float(np.quantile(np.hypot(x, y), 0.9)),
        )

    def serving(self, x: Floats, y: Floats) -> tuple[Integers, Floats]:
        """The nearest station (in very uneven layouts perhaps the second), and its distance."""
        rows, columns = self.raster.shape
        row = np.clip((y - self.south_m) / self.cell_m, 0, rows - 1).astype(np.int64)
        column = np.clip((x - self.west_m) / self.cell_m, 0, columns - 1).astype(np.int64)
        station = self.raster[row, column].astype(np.int64)
        for _ in range(2):
            candidates = np.concatenate([station[..., None], self.neighbors[station]], axis=-1)
            squared = (self.x_m[candidates] - x[..., None]) ** 2 + (self.y_m[candidates] - y[..., None]) ** 2
            best = np.argmin(squared, axis=-1)[..., None]
            station = np.take_along_axis(candidates, best, axis=-1)[..., 0]
        return station, np.sqrt(np.take_along_axis(squared, best, axis=-1)[..., 0])

    def jump(self, origin: Integers, law: JumpLaw, rng: np.random.Generator, n_directions: int) -> Integers:
        """The station at which each jump ends."""
        # Its length follows the law, its direction the density of people. origin: int64 [n] stations. One of
        # n_directions random directions is chosen in proportion to the density at its end; a person who would
        # leave the area in all of them stays.
        length = law.lengths_m(rng.random(origin.size))[:, None]
        angle = rng.random((origin.size, n_directions)) * (2 * np.pi)
        ends, away = self.serving(
            self.x_m[origin][:, None] + length * np.cos(angle),
            self.y_m[origin][:, None] + length * np.sin(angle),
        )
        pull = np.cumsum(np.where(away <= _OUTSIDE * self.spacing_m[ends], self.density[ends], 0.0), axis=1)
        choice = (pull <= (rng.random(origin.size) * pull[:, -1])[:, None]).sum(axis=1)
        chosen = ends[np.arange(origin.size), np.minimum(choice, n_directions - 1)]
        return np.where(pull[:, -1] > 0, chosen, origin)


def _nearest_others(x: Floats, y: Floats) -> tuple[Integers, Floats]:
    n = x.size
    k = min(_N_NEIGHBORS, n - 1)
    neighbors, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    for start in range(0, n, 256):
        rows = np.arange(start, min(start + 256, n))
        squared = (x[rows, None] - x) ** 2 + (y[rows, None] - y) ** 2
        squared[np.arange(rows.size), rows] = np.inf
        nearest = np.argpartition(squared, k - 1, axis=1)[:, :k]
        meters = np.sqrt(np.take_along_axis(squared, nearest, axis=1))
        order = np.argsort(meters, axis=1, kind="stable")
        neighbors[rows] = np.take_along_axis(nearest, order, axis=1)
        distances[rows] = np.take_along_axis(meters, order, axis=1)
    return neighbors, distances


def _nearest_raster(x: Floats, y: Floats, cell: float) -> npt.NDArray[np.int32]:
    columns, rows = (int(np.ceil(np.ptp(axis) / cell)) + 1 for axis in (x, y))
    raster = np.empty((rows, columns), dtype=np.int32)
    for first_row in range(0, rows, _TILE):
        for first_column in range(0, columns, _TILE):
            tile_y = y.min() + cell * np.arange(first_row, min(first_row + _TILE, rows))
            tile_x = x.min() + cell * np.arange(first_column, min(first_column + _TILE, columns))
            from_middle = np.hypot(x - tile_x.mean(), y - tile_y.mean())
            diagonal = np.hypot(np.ptp(tile_x), np.ptp(tile_y))
            near = np.flatnonzero(from_middle <= from_middle.min() + diagonal + cell)
            squared = (tile_x[None, :, None] - x[near]) ** 2 + (tile_y[:, None, None] - y[near]) ** 2
            raster[first_row : first_row + tile_y.size, first_column : first_column + tile_x.size] = near[
                np.argmin(squared, axis=2)
            ]
    return raster


@dataclass(frozen=True, kw_only=True)
class Habits:
    """Parameters that may differ between layouts."""

    events_per_hour: float = 0.75  # mean over people and hours
    rate_sigma: float = 0.8  # standard deviation of the logarithm of a person's rate
    day_sigma: float = 0.0  # the same for the factors by which a person's days differ
    burst_size: float = 1.6  # mean number of events in a burst
    staying: float = 0.0  # share of people who are always recorded at one station
    outgoing: float = 1.0  # factor on the chances of outings
    handover: float = 0.08  # share of events recorded by a neighboring station, where stations are dense
    working_near: float = 0.0  # share of workers whose workplace is served by the station of their home
    working_anywhere: float = 0.0  # share of workers whose workplace is wherever people live, however far
    errands: float = 0.0  # share of events on extra trips, as far away as an outing leads


# The rates are those of Table I of Gramaglia et al. 2017, a little more for events that fall together. The
# other knobs were calibrated on the gaps of Fig. 3a and 5b of Gramaglia and Fiore 2015 (docs/synthetic.md).
_CALIBRATED: Final = {
    "rate_sigma": 0.9,
    "day_sigma": 0.85,
    "burst_size": 1.0,
    "staying": 0.15,
    "outgoing": 0.7,
    "handover": 0.45,
    "working_near": 0.3,
    "working_anywhere": 0.15,
    "errands": 0.05,
}
HABITS: Final[Mapping[Layout, Habits]] = {
    "nation": Habits(),
    "city": Habits(),
    "abi": Habits(events_per_hour=0.91, **_CALIBRATED),
    "dak": Habits(events_per_hour=0.75, **_CALIBRATED),
    "shn": Habits(events_per_hour=1.01, **_CALIBRATED),
    "civ": Habits(events_per_hour=0.76, **_CALIBRATED),
    "sen": Habits(events_per_hour=0.455, **_CALIBRATED),
}


MINUTES_PER_DAY: Final = 1440

RHO: Final = 0.6  # Song et al. 2010
GAMMA: Final = 0.21
ALPHA: Final = 1.75  # of jump lengths: Gonzalez et al. 2008
OUTING: Final = JumpLaw(alpha=ALPHA, offset_m=700.0, min_m=0.0, max_m=40_000.0)
COMMUTE: Final = JumpLaw(alpha=2.0, offset_m=700.0, min_m=0.0, max_m=60_000.0)
JOURNEY_MIN_M: Final = 40_000.0
DIRECTIONS: Final = 4

WORKING_SHARE: Final = 0.7
ROTA_SHARE: Final = 0.15  # of workers: their two days off are any two in a row, the same every week
LATE_SHARE, NIGHT_SHARE = 0.10, 0.05  # of workers
DAY_BEGINS_MIN: Final = 240
LATE_MIN, NIGHT_MIN = 360, 840  # how much later the day of a late and a night worker begins
PRESENCE: Final = 0.93  # of the working days

OUTINGS_WORKDAY: Final = (0.20, 0.40, 0.25)  # lunch break, after work, and on from there
OUTINGS_FREE_DAY: Final = (0.45, 0.50, 0.30)  # late morning, afternoon, and on from there
JOURNEYS_PER_DAY: Final = 1 / 75
JOURNEY_DAYS: Final = 4.0

_EARLIER_DAYS: Final = 14  # simulated before the first day, so that habits exist on it
_STAYS_PER_DAY: Final = 7
_LEAD_MIN: Final = 2 * MINUTES_PER_DAY  # simulation starts two days before the first day


@dataclass(frozen=True, eq=False, kw_only=True)
class Stays:
    """Stays of n people over some days."""

    clock_min: Integers  # [n], delay of each person's day after 04:00
    home: Integers  # [n] stations
    staying: Flags  # [n], people recorded only at home
    begin_key: Integers  # [s] ascending, person * minutes_per_person + lead + minute at which a stay begins
    station: Integers  # [s]
    minutes_per_person: int

    def place_of(self, person: Integers, minute: Integers) -> Integers:
        """The nearest station at each minute since the first 00:00."""
        begin_key = person * self.minutes_per_person + _LEAD_MIN + minute
        return self.station[np.searchsorted(self.begin_key, begin_key, side="right") - 1]


def simulate_stays(
    n: int, days: int, stations: Stations, coverage: Coverage, habits: Habits, rng: np.random.Generator
) -> Stays:
    """The stays of ``n`` people; the first day is a Monday."""
    home = np.searchsorted(np.cumsum(stations.population)[:-1], rng.random(n), side="right").astype(np.int64)
    works = rng.random(n) < WORKING_SHARE
    staying = rng.random(n) < habits.staying if habits.staying else np.zeros(n, dtype=np.bool_)
    works &= ~staying
    work = np.where(works, coverage.jump(home, COMMUTE, rng, 2 * DIRECTIONS), home)
    if habits.working_near:
        work = np.where(rng.random(n) < habits.working_near, home, work)
    if habits.working_anywhere:
        anywhere = works & (rng.random(n) < habits.working_anywhere)
        work[anywhere] = rng.choice(len(stations), int(anywhere.sum()), p=stations.population)
    clock = _clocks(works, rng)

    frames = np.arange(-2, days)  # a person's day f lasts from 04:00 + clock of day f to that of day f + 1
    earlier = np.arange(-2 - _EARLIER_DAYS, -2)
    day = np.concatenate([earlier, frames])
    at_work = _workdays(works, day, rng)
    base, away = _bases(home, day.size, coverage, ~staying, rng)
    at_work &= ~away
    anchor = np.where(at_work, work[:, None], base)
    outings = _outing_days(at_work, np.where(staying, 0.0, habits.outgoing), rng)
    visited = _outings(base, anchor, away, outings, coverage, rng)

    now = slice(_EARLIER_DAYS, None)
    starts = _starts(at_work[:, now], outings[:, now], rng)
    base_now, anchor_now, outing_places = base[:, now], anchor[:, now], visited[:, now]
    places = np.stack(
        [
            base_now,
            anchor_now,
            outing_places[..., 0],
            anchor_now,
            outing_places[..., 1],
            outing_places[..., 2],
            base_now,
        ],
        axis=2,
    )
    minutes = (days + 6) * MINUTES_PER_DAY
    begin = (DAY_BEGINS_MIN + clock)[:, None, None] + (frames * MINUTES_PER_DAY)[:, None] + starts
    return Stays(
        clock_min=clock,
        home=home,
        staying=staying,
        begin_key=(np.arange(n)[:, None, None] * minutes + _LEAD_MIN + begin).ravel(),
        station=places.ravel(),
        minutes_per_person=minutes,
    )


def _clocks(works: Flags, rng: np.random.Generator) -> Integers:
    shift = rng.random(works.size)
    late = (
        np.where(shift < NIGHT_SHARE, NIGHT_MIN, np.where(shift < NIGHT_SHARE + LATE_SHARE, LATE_MIN, 0))
        * works
    )
    return (late + np.clip(40 * rng.standard_normal(works.size), -120, 120)).astype(np.int64)


def _workdays(works: Flags, day: Integers, rng: np.random.Generator) -> Flags:
    rota = rng.random(works.size) < ROTA_SHARE
    turn = np.where(rota, rng.integers(0, 7, works.size), 0)
    duty = (day + turn[:, None]) % 7 < 5
    present: Flags = duty & works[:, None] & (rng.random(duty.shape) < PRESENCE)
    return present


def _bases(
    home: Integers, n_days: int, coverage: Coverage, leaving: Flags, rng: np.random.Generator
) -> tuple[Integers, Flags]:
    starts = rng.random((home.size, n_days)) < JOURNEYS_PER_DAY * leaving[:, None]
    length = rng.geometric(1 / JOURNEY_DAYS, (home.size, n_days))
    who, when = np.nonzero(starts)
    journey = JumpLaw(
        alpha=ALPHA,
        offset_m=OUTING.offset_m,
        min_m=min(JOURNEY_MIN_M, coverage.radius_m),
        max_m=2 * coverage.radius_m,
    )
    lodging = np.zeros(starts.shape, dtype=np.int64)
    lodging[who, when] = coverage.jump(home[who], journey, rng, 2 * DIRECTIONS)
    base = np.repeat(home[:, None], n_days, axis=1)
    days_left = np.zeros(home.size, dtype=np.int64)
    where = home.copy()
    away = np.zeros(starts.shape, dtype=np.bool_)
    for d in range(n_days):
        leaves = starts[:, d] & (days_left == 0)
        days_left = np.where(leaves, length[:, d], days_left)
        where = np.where(leaves, lodging[:, d], where)
        away[:, d] = days_left > 0
        base[:, d] = np.where(away[:, d], where, home)
        days_left = np.maximum(days_left - 1, 0)
    return base, away


def _outing_days(at_work: Flags, factor: Floats, rng: np.random.Generator) -> Flags:
    outgoing = rng.lognormal(-0.5 * 0.7**2, 0.7, (at_work.shape[0], 1, 1))
    chance = (
        np.where(at_work[..., None], OUTINGS_WORKDAY, OUTINGS_FREE_DAY) * outgoing * factor[:, None, None]
    )
    takes_place: Flags = rng.random(chance.shape) < np.minimum(chance, 0.95)
    return takes_place


def _outings(
    base: Integers,
    anchor: Integers,
    away: Flags,
    outings: Flags,
    coverage: Coverage,
    rng: np.random.Generator,
) -> Integers:
    """Stations of outings, [n, d, 3]; on a journey always new places without return."""
    n, n_days, per_day = outings.shape
    visited = np.empty(outings.shape, dtype=np.int64)
    history = np.empty((n, n_days * per_day), dtype=np.int64)
    n_before = np.zeros(n, dtype=np.int64)
    n_places = np.full(n, 2.0)  # home and work
    for d in range(n_days):
        workplace = anchor[:, d]
        for j in range(per_day):
            place = (workplace if j == 0 else base[:, d] if j == 1 else visited[:, d, 1]).copy()
            who = np.flatnonzero(outings[:, d, j])
            abroad = away[who, d]
            explores = abroad | (n_before[who] == 0) | (rng.random(who.size) < RHO * n_places[who] ** -GAMMA)
            back, ahead = who[~explores], who[explores]
            place[back] = history[back, (rng.random(back.size) * n_before[back]).astype(np.int64)]
            origin = visited[ahead, d, 1] if j == 2 else workplace[ahead]
            place[ahead] = coverage.jump(origin, OUTING, rng, DIRECTIONS)
            n_places[ahead] += 1
            at_home = who[~abroad]
            history[at_home, n_before[at_home]] = place[at_home]
            n_before[at_home] += 1
            visited[:, d, j] = place
    return visited


def _starts(at_work: Flags, outings: Flags, rng: np.random.Generator) -> Integers:
    shape = at_work.shape

    def around(middle: float, spread: float) -> Floats:
        return middle + spread * rng.standard_normal(shape)

    def between(low: float, high: float) -> Floats:
        return low + (high - low) * rng.random(shape)

    starts = np.zeros((*shape, _STAYS_PER_DAY))
    starts[..., 1] = np.where(at_work, around(240, 35), 240)
    starts[..., 2] = np.where(at_work, starts[..., 1] + between(200, 280), between(300, 480))
    starts[..., 3] = starts[..., 2] + np.where(at_work, between(25, 70), between(45, 240))
    starts[..., 4] = np.where(at_work, starts[..., 1] + around(510, 45), between(600, 840))
    starts[..., 5] = starts[..., 4] + (20 + rng.exponential(90, shape)) * outings[..., 1]
    starts[..., 6] = starts[..., 5] + (20 + rng.exponential(90, shape)) * outings[..., 2]
    return np.maximum.accumulate(np.clip(starts, 0, MINUTES_PER_DAY), axis=2).astype(np.int64)
