"""Synthetic call records from a seed.

Whole minutes, a heavy-tailed rate, daily rhythms, days that differ, and bursts. Ids are independent of
homes.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from shoal.errors import MisuseError, OutputError
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.run import Run, silent
from shoal.synthetic.people import (
    DIRECTIONS,
    HABITS,
    MINUTES_PER_DAY,
    OUTING,
    Coverage,
    Habits,
    simulate_stays,
)
from shoal.synthetic.stations import LAYOUTS, Layout, Stations, lay_out_stations
from shoal.units import is_whole

if TYPE_CHECKING:
    import pyarrow as pa

BURST_GAP_MIN: Final = 4.0  # mean minutes between the events of a burst

# Relative activity in each hour from 00:00, for weekdays and for Saturday and Sunday.
_WEEKDAY: Final = (
    *(0.30, 0.16, 0.10, 0.08, 0.09, 0.16, 0.36, 0.68, 0.98, 1.14, 1.22, 1.25),
    *(1.25, 1.18, 1.15, 1.18, 1.26, 1.38, 1.50, 1.58, 1.50, 1.22, 0.86, 0.52),
)
_WEEKEND: Final = (
    *(0.40, 0.24, 0.15, 0.10, 0.09, 0.12, 0.24, 0.42, 0.68, 0.92, 1.08, 1.16),
    *(1.18, 1.12, 1.06, 1.06, 1.12, 1.24, 1.36, 1.42, 1.36, 1.16, 0.88, 0.60),
)


def event_minutes(
    clock_min: Integers, days: int, habits: Habits, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """(person, minute) of events since the first 00:00, unordered, with repeats."""
    # clock_min: [n], delay of each rhythm; every person has at least one event
    n = clock_min.size
    sigma = habits.rate_sigma
    rate_h = habits.events_per_hour * rng.lognormal(-0.5 * sigma**2, sigma, n)
    n_bursts = np.maximum(rng.poisson(rate_h * 24 * days / habits.burst_size), 1)
    burst_person = np.repeat(np.arange(n), n_bursts)
    cumulative, hours = _activity_cdf(days)
    share = rng.random(burst_person.size)
    if habits.day_sigma:
        factors = rng.lognormal(0.0, habits.day_sigma, (n, days))
        share = _by_own_days(share, burst_person, cumulative[::24], factors)
    first = np.interp(share, cumulative, hours) * 60 + clock_min[burst_person]
    size = rng.geometric(1 / habits.burst_size, burst_person.size)
    burst = np.repeat(np.arange(size.size), size)
    gap = 1 + np.floor(rng.exponential(BURST_GAP_MIN - 0.5, burst.size))
    begins = np.cumsum(size) - size
    gap[begins] = 0
    since_first = np.cumsum(gap)
    since_first -= since_first[begins][burst]
    minute = np.floor(first[burst] + since_first).astype(np.int64) % (days * MINUTES_PER_DAY)
    return burst_person[burst], minute


def _activity_cdf(days: int) -> tuple[Floats, Floats]:
    weight = np.concatenate([_WEEKEND if day % 7 >= 5 else _WEEKDAY for day in range(days)])
    cumulative = np.concatenate([[0.0], np.cumsum(weight)])
    return cumulative / cumulative[-1], np.arange(cumulative.size, dtype=np.float64)


def _by_own_days(share: Floats, person: Integers, midnight: Floats, factors: Floats) -> Floats:
    # midnight: common share until each midnight; factors: [n, d], a person's day against the average
    personal = np.cumsum(np.diff(midnight) * factors, axis=1)
    personal /= personal[:, -1:]
    n, days = personal.shape
    at = np.searchsorted((personal + np.arange(n)[:, None]).ravel(), person + share, side="right")
    day = np.clip(at - person * days, 0, days - 1)
    before = np.where(day > 0, personal[person, day - 1], 0.0)
    part = np.clip((share - before) / (personal[person, day] - before), 0.0, 1.0)
    moment: Floats = midnight[day] + part * (midnight[day + 1] - midnight[day])
    return moment


FIRST_SECOND: Final = 1_704_067_200  # 2024-01-01T00:00:00Z, a Monday
HANDOVER_WITHIN_M: Final = 2_000.0  # of the nearest other station; farther away they are rarer
_N_HANDOVER: Final = 3  # nearest others that may record an event

_MOST_DAYS: Final = 3_660
_MOST_SUBJECTS: Final = 100_000_000
_PERSON_DAYS_PER_BLOCK: Final = 14_000
_ROWS_PER_GROUP: Final = 1 << 20
_BLOCKS_AHEAD: Final = 4  # blocks per thread that may wait to be written
_LABEL: Final = "synthesizing people"


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Subjects, rows and stations written."""

    subjects: int
    rows: int
    stations: int


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """What all blocks of people share; the blocks are independent."""

    n_subjects: int
    days: int
    seed: int
    stations: Stations
    coverage: Coverage
    habits: Habits

    @classmethod
    def of(cls, n_subjects: int, days: int, seed: int, layout: Layout, stations: Stations | None) -> "World":
        """The world of these settings; MisuseError when a number is too small or the layout unknown."""
        for name, value in (("n_subjects", n_subjects), ("days", days)):
            usual = 7 if name == "days" else 1000
            if not is_whole(value):
                raise MisuseError(f"{name} = {value!r} is not a whole number; choose for example {usual}")
            if value < 1:
                raise MisuseError(f"{name} = {value} must be at least 1; choose for example {name} = {usual}")
        if days > _MOST_DAYS:
            raise MisuseError(f"days = {days} is more than ten years; choose at most {_MOST_DAYS}")
        if n_subjects > _MOST_SUBJECTS:
            raise MisuseError(f"n_subjects = {n_subjects} is too many; choose at most {_MOST_SUBJECTS}")
        if not is_whole(seed):
            raise MisuseError("the seed is no number; choose a whole number of 0 or more")
        if seed < 0:
            raise MisuseError("the seed is negative; choose a whole number of 0 or more")
        if layout not in LAYOUTS:
            raise MisuseError(f"layout '{layout}' is not known; choose one of {', '.join(LAYOUTS)}")
        if stations is None:
            stations = lay_out_stations(
                layout, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,))), n_subjects
            )
        return cls(
            n_subjects=n_subjects,
            days=days,
            seed=seed,
            stations=stations,
            coverage=Coverage.of(stations),
            habits=HABITS[layout],
        )

    @property
    def block_size(self) -> int:
        """People in a block; depends only on the days, so that data never changes."""
        return max(_PERSON_DAYS_PER_BLOCK // self.days, 1)

    @property
    def n_blocks(self) -> int:
        """Blocks for all people."""
        return -(-self.n_subjects // self.block_size)

    def block(self, index: int) -> "pa.Table":
        """The rows of a block: uid, t, lat, lon, sorted by uid and t."""
        import pyarrow as pa

        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(1, index)))
        first = index * self.block_size
        n = min(self.block_size, self.n_subjects - first)
        person, minute, station = self._records(n, rng)
        digits = max(7, len(str(self.n_subjects - 1)))
        names = pa.array([f"u{number:0{digits}d}" for number in range(first, first + n)], pa.string())
        return pa.table(
            {
                "uid": pa.DictionaryArray.from_arrays(person.astype(np.int32), names).cast(pa.string()),
                "t": FIRST_SECOND + 60 * minute,
                "lat": self.stations.lat[station],
                "lon": self.stations.lon[station],
            }
        )

    def _records(self, n: int, rng: np.random.Generator) -> tuple[Integers, Integers, Integers]:
        stays = simulate_stays(n, self.days, self.stations, self.coverage, self.habits, rng)
        person, minute = event_minutes(stays.clock_min, self.days, self.habits, rng)
        span = self.days * 1440
        key = np.sort(person * span + minute)
        person, minute = np.divmod(key, span)
        where = stays.place_of(person, minute)
        if self.habits.errands:
            away = (rng.random(where.size) < self.habits.errands) & ~stays.staying[person]
            where[away] = self.coverage.jump(where[away], OUTING, rng, DIRECTIONS)
        station = self._as_observed(where, stays.staying[person], rng)
        key = key * len(self.stations) + station
        key.sort()
        key = key[np.concatenate([[True], key[1:] != key[:-1]])]
        key, station = np.divmod(key, len(self.stations))
        person, minute = np.divmod(key, span)
        return person, minute, station

    def _as_observed(self, station: Integers, staying: Flags, rng: np.random.Generator) -> Integers:
        # sometimes not the nearest, more often where stations are dense; ``staying``: always the nearest
        neighbors = self.coverage.neighbors[:, :_N_HANDOVER]
        near = np.minimum(HANDOVER_WITHIN_M / self.coverage.neighbor_m[:, 0], 1.0)
        share = self.habits.handover * near
        handed_over = np.flatnonzero((rng.random(station.size) < share[station]) & ~staying)
        observed = station.copy()
        observed[handed_over] = neighbors[
            station[handed_over], rng.integers(0, neighbors.shape[1], handed_over.size)
        ]
        return observed


@typed
def synthesize(
    n_subjects: int,
    days: int,
    seed: int,
    *,
    layout: Layout = "city",
    stations: Stations | None = None,
    run: Run | None = None,
) -> "pa.Table":
    """Records of synthetic people over some days from Monday 2024-01-01 (UTC).

    The data depends on all arguments except ``run``.

    Parameters
    ----------
    n_subjects, days : int
        Number of people and of days; at least 1 each.
    seed : int
        Another seed gives other people; the same gives the same.
    layout : {"city", "nation", "abi", "dak", "shn", "civ", "sen"}
        Positions of stations. The last five have the densities of the data sets of Gramaglia et al. 2017
        (Table I): fewer people live on less land with fewer stations.
    stations : Stations or None
        Real or other stations instead; see ``read_stations``.
    run : Run or None
        Progress and threads; None = local and silent.

    Returns
    -------
    pyarrow.Table
        uid, text; t, int64 seconds since 1970, whole minutes; lat, lon, float64 degrees of the recording
        station. Sorted by uid and t, without repeats.

    Raises
    ------
    MisuseError
        On numbers below 1, a negative seed, or an unknown layout.

    Examples
    --------
    >>> import shoal
    >>> shoal.synthesize(20, 2, 1).column_names
    ['uid', 't', 'lat', 'lon']
    """
    import pyarrow as pa

    world = World.of(n_subjects, days, seed, layout, stations)
    return pa.concat_tables(_blocks(world, run or Run()))


def write_synthetic(
    path: Path | str,
    n_subjects: int,
    days: int,
    seed: int,
    *,
    layout: Layout = "city",
    stations: Stations | None = None,
    run: Run | None = None,
) -> Counts:
    """Write the rows of ``synthesize`` as Parquet, complete or absent."""
    # OutputError when the file exists, cannot be written, or has the suffix of another format
    import pyarrow as pa
    import pyarrow.parquet as pq

    from shoal.runtime.staging import staged_file

    path = Path(path)
    if path.suffix != ".parquet":
        raise OutputError(f"{path} would hold Parquet; choose a name that ends in .parquet")
    world = World.of(n_subjects, days, seed, layout, stations)
    _refuse_existing(path)
    rows = 0

    def fill(file: BinaryIO) -> None:
        nonlocal rows
        schema = pa.schema({"uid": pa.string(), "t": pa.int64(), "lat": pa.float64(), "lon": pa.float64()})
        with pq.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer:
            for group in _in_groups(_blocks(world, run or Run())):
                writer.write_table(group, row_group_size=max(group.num_rows, 1))
                rows += group.num_rows
        file.flush()
        os.fsync(file.fileno())

    with staged_file(path, fill, mode=0o666):
        _refuse_existing(path)
    return Counts(subjects=n_subjects, rows=rows, stations=len(world.stations))


def _blocks(world: World, run: Run) -> Iterator["pa.Table"]:
    quiet = replace(run, progress=silent)
    ahead = max(_BLOCKS_AHEAD * run.threads, 1)
    run.progress(_LABEL, 0, world.n_blocks)
    for start in range(0, world.n_blocks, ahead):
        batch = range(start, min(start + ahead, world.n_blocks))
        for done, block in enumerate(quiet.map(world.block, batch, label=_LABEL), start=start + 1):
            run.progress(_LABEL, done, world.n_blocks)
            yield block


def _in_groups(blocks: Iterator["pa.Table"]) -> Iterator["pa.Table"]:
    import pyarrow as pa

    waiting: list[pa.Table] = []
    for block in blocks:
        waiting.append(block)
        if sum(table.num_rows for table in waiting) >= _ROWS_PER_GROUP:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise OutputError(f"{path} exists; choose another name or remove it first")
