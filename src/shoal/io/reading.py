"""The way in: any source of positions to Trajectories, with an account of every row that did not get through."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import date, timedelta
from typing import Any, Final

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal.io import cleaning
from shoal.io.cleaning import Sieve, TimeOrder
from shoal.io.columns import Columns, find_columns
from shoal.io.positions import Positions
from shoal.io.snapping import Rows, arrange, put_on_plane, require_grid
from shoal.io.sources import openers
from shoal.io.tables import Table
from shoal.io.times import DAY, SECOND, Micros, Times
from shoal.io.values import Codes, Names
from shoal.model.intake import Intake, Reading
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.units import DAY_S

STEPS: Final = 1000
LAST_S: Final = 253_402_300_799.0  # the end of the year 9999, the last that dates can be written in


def read(source: object, *, run: Run | None = None, **settings: Any) -> Trajectories:
    """Trajectories from a file, a folder, a pattern, or a frame that speaks Arrow.

    settings: fields of ``shoal.model.intake.Reading``, such as ``id="caller"``, ``cell_m=500`` or
    ``snap=False``. Raises InputError when the source cannot be used, MisuseError for a setting that does not
    exist or cannot work.
    """
    known = [setting.name for setting in fields(Reading)]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise MisuseError(f"'{unknown[0]}' is not a setting of read; the settings are {', '.join(known)}")
    return read_with(source, Reading(**settings), run or Run())


def read_with(source: object, reading: Reading, run: Run) -> Trajectories:
    """The same, with the settings as one object.

    With ``trajectories.intake.reading`` the same rows give the same arrays.
    """
    run = run or Run()
    parts: list[Rows] = []
    taken = take_in(source, reading, run, parts.append)
    reading, plane, grid = taken.reading, taken.plane, taken.grid
    put_on_plane(
        parts,
        plane if taken.positions.keeps_degrees else None,
        grid,
        taken.dropped,
        run,
        keep_degrees=taken.positions.degrees,
    )
    if not any(part.code.size for part in parts):
        raise no_rows(taken)
    run.progress("sorting", 0, 1)
    arranged = arrange(parts, taken.units.texts)
    run.progress("sorting", 1, 1)
    trajectories = Trajectories(
        ids=arranged.ids,
        offsets=arranged.offsets,
        t=arranged.t,
        x=arranged.x,
        y=arranged.y,
        grid=grid,
        lat=arranged.lat,
        lon=arranged.lon,
        crs=plane,
        input_rank=arranged.input_rank,
        intake=taken.intake(arranged.duplicates),
    )
    if not reading.min_samples_per_day:
        return trajectories
    kept, intake = screen(trajectories.lengths, days_of(trajectories), trajectories.intake)
    return (
        trajectories
        if len(kept) == trajectories.n_subjects
        else replace(trajectories.keep(kept), intake=intake)
    )


def take_in(source: object, reading: Reading, run: Run, keep: Callable[[Rows], None]) -> "Taken":
    """Read and clean all rows, and hand them to ``keep`` part by part: unplaced, microseconds and degrees or meters.

    Raises as ``read`` does, also when no row is left.
    """
    require_grid(Grid(cell_m=reading.cell_m, slot_s=reading.slot_s))
    if not (np.isfinite(reading.min_samples_per_day) and reading.min_samples_per_day >= 0):
        raise MisuseError(
            f"min_samples_per_day = {reading.min_samples_per_day} must be finite and at least 0; 0 leaves "
            "nobody out"
        )
    if reading.not_after_s is None:
        reading = replace(reading, not_after_s=_end_of_today_s())
    elif not np.isfinite(reading.not_after_s):
        raise MisuseError(
            f"not_after_s = {reading.not_after_s} must be a finite number of seconds since 1970"
        )

    taken = _take_tables(source, reading, run, keep)
    taken.reading = replace(taken.reading, time_unit=taken.times.unit)
    if not taken.rows_kept:
        raise no_rows(taken)
    taken.plane = taken.positions.plane()
    if taken.positions.crs is not None:
        taken.reading = replace(taken.reading, working_crs=taken.plane)
    return taken


@dataclass(kw_only=True)
class Taken:
    """Everything that a source gave besides its rows.

    keep: takes these; plane: known once all have been read.
    """

    keep: Callable[[Rows], None]
    name: str
    columns: Columns
    positions: Positions
    reading: Reading
    times: Times
    units: Names = field(default_factory=Names)
    people: Names = field(default_factory=Names)
    order: TimeOrder = field(default_factory=TimeOrder)
    plane: str | None = None
    rows_read: int = 0
    rows_kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def grid(self) -> Grid | None:
        """The grid to snap to, None for points as given."""
        return Grid(cell_m=self.reading.cell_m, slot_s=self.reading.slot_s) if self.reading.snap else None

    def intake(self, duplicates: int) -> Intake:
        """The account of the whole reading, with this many exact duplicates left out."""
        repaired = {
            cleaning.OUT_OF_ORDER: self.order.rows,
            cleaning.NAIVE: self.times.naive if self.times.zoned else 0,
        }
        return Intake(
            rows_read=self.rows_read,
            dropped={**self.dropped, **({cleaning.DUPLICATE: duplicates} if duplicates else {})},
            repaired={reason: rows for reason, rows in repaired.items() if rows},
            notes=tuple(dict.fromkeys([*self.notes, *self.positions.notes, *self.times.notes()])),
            unit_of_protection=f"each distinct value of column '{self.columns.person}'"
            + ", one unit per UTC day" * self.reading.per_day,
            reading=self.reading,
        )


def _take_tables(source: object, reading: Reading, run: Run, keep: Callable[[Rows], None]) -> Taken:
    """Read and clean all tables of the source.

    The first decides the columns, the others must have them too.
    """
    name, waiting = openers(source)
    taken: Taken | None = None
    for place, opener in enumerate(waiting):
        run.progress(f"reading {name}", STEPS * place // len(waiting), STEPS)
        table = opener()
        if taken is None:
            taken = _begin(name, table, reading, keep)
        else:
            _check_alike(table, taken, reading)
        for share, batch in table.batches(taken.columns.wanted()):
            _take_batch(taken, table, batch)
            run.progress(f"reading {name}", int(STEPS * (place + share) / len(waiting)), STEPS)
        for reason, rows in table.unreadable.items():
            taken.dropped[reason] = taken.dropped.get(reason, 0) + rows
            taken.rows_read += rows
        taken.notes += table.notes
    if taken is None:
        raise InputError(f"there is nothing to read in {name}")
    run.progress(f"reading {name}", STEPS, STEPS)
    if taken.rows_read == 0:
        raise InputError(
            f"{name} holds no rows, only column names"
            if len(waiting) == 1
            else f"none of the {name} holds a row"
        )
    if len(taken.people.kinds) > 1:
        taken.notes.append("ids are numbers in one place and text in another; they are compared as text")
    return taken


def _begin(name: str, table: Table, reading: Reading, keep: Callable[[Rows], None]) -> Taken:
    """Decide the columns, and write their names into the settings."""
    columns = find_columns(table, reading)
    positions = Positions(columns, reading, table.name)
    filled = replace(
        reading,
        id=columns.id,
        time=columns.time,
        lat=columns.second if columns.angles else None,
        lon=columns.first if columns.angles else None,
        x=columns.first if not columns.angles and not columns.geometry else None,
        y=columns.second if not columns.angles and not columns.geometry else None,
        crs=reading.crs if columns.angles else positions.crs or "local",
    )
    taken = Taken(
        keep=keep,
        name=name,
        columns=columns,
        positions=positions,
        reading=filled,
        times=Times(reading.time_unit),
    )
    if columns.beside:
        used = (
            f"{columns.second} and {columns.first}"
            if columns.angles
            else f"{columns.first} and {columns.second}"
        )
        taken.notes.append(
            f"positions are read from {used}; left aside: the {columns.beside} of {table.name}"
        )
    return taken


def _check_alike(table: Table, taken: Taken, reading: Reading) -> None:
    """Find the columns of a later table; its positions must be given as in the first."""
    columns, before = find_columns(table, taken.reading), taken.columns
    if columns.angles != before.angles or (columns.geometry is None) != (before.geometry is None):
        raise InputError(
            f"{table.name} gives positions in other columns than the files before it; name the columns, or "
            "read them apart"
        )
    if (
        columns.geometry is not None
        and reading.crs is None
        and (columns.geometry.crs or "local") != taken.reading.crs
    ):
        raise InputError(
            f"{table.name} is in another coordinate reference system than the files before it; give one for "
            "all with --crs"
        )
    taken.columns = columns


def _take_batch(taken: Taken, table: Table, batch: Any) -> None:
    """Clean one batch of rows and keep what is good of it."""
    columns, reading = taken.columns, taken.reading
    taken.rows_read += batch.num_rows
    sieve = Sieve(batch.num_rows, taken.dropped)
    code = taken.people.codes(batch.column(columns.person), f"column '{columns.person}' of {table.name}")
    sieve.drop(cleaning.EMPTY_ID, code < 0)
    t, readable = taken.times.microseconds(
        batch.column(columns.time), f"column '{columns.time}' of {table.name}"
    )
    sieve.drop_times(t, readable, int(min(reading.not_after_s or 0.0, LAST_S) * SECOND))
    first, second = taken.positions.read(batch, columns, sieve)
    if not sieve.good.all():
        code, t, first, second = code[sieve.good], t[sieve.good], first[sieve.good], second[sieve.good]
    taken.order.count(code, t)
    if code.size:
        taken.rows_kept += code.size
        taken.keep(Rows(_person_days(taken, code, t) if reading.per_day else code, t, first, second))
    if not reading.per_day:
        taken.units = taken.people


def _person_days(taken: Taken, code: Codes, t: Micros) -> Codes:
    """The code of each row's person-day, whose id is ``<id>@YYYY-MM-DD``.

    New ones in the order of their first rows.
    """
    day = t // DAY
    low = int(day.min())
    key = code.astype(np.int64) * (int(day.max()) - low + 1) + (day - low)
    pairs, first, place = np.unique(key, return_index=True, return_inverse=True)
    code_of_pair = np.empty(len(pairs), dtype=np.int32)
    for pair in np.argsort(first):
        row = first[pair]
        text = f"{taken.people.texts[code[row]]}@{date(1970, 1, 1) + timedelta(days=int(day[row]))}"
        code_of_pair[pair] = taken.units.code(text)
    return code_of_pair[place]


def no_rows(taken: Taken) -> InputError:
    """The error, with the reasons, when no row is left."""
    hints = {
        cleaning.LATITUDE: "latitude and longitude may be swapped: name them with --lat and --lon",
        cleaning.BAD_TIME: "write times as 2024-05-01T10:00:00Z or as seconds since 1970",
        cleaning.FUTURE: "the unit of the times may be another one: give it with --time-unit",
        cleaning.OUTSIDE: "the declared --crs may be another one",
    }
    hint = hints.get(max(taken.dropped, key=taken.dropped.__getitem__), "check which columns are meant")
    return InputError(f"no row of {taken.name} can be used ({cleaning.listed(taken.dropped)}); {hint}")


def screen(lengths: Integers, days: float, intake: Intake) -> tuple[Integers, Intake]:
    """Positions of the subjects that have as many samples a day as asked, on average over the days of the data, and the new account.

    days: at least one is counted; a person-day is one day long, whatever the days of the data. Raises InputError when nobody has.
    """
    least = intake.reading.min_samples_per_day
    days = 1.0 if intake.reading.per_day else max(days, 1.0)
    kept = np.flatnonzero(lengths / days >= least)
    lost = len(lengths) - len(kept)
    if not len(kept):
        raise InputError(
            f"nobody has {least:g} samples a day, on average over {days:.3g} days; ask for fewer with "
            "--min-samples-per-day"
        )
    if not lost:
        return kept, intake
    intake = intake.with_dropped(f"below {least:g} samples a day", int(lengths.sum() - lengths[kept].sum()))
    note = f"{lost:,} of {len(lengths):,} subjects have fewer than {least:g} samples a day and are left out"
    return kept, replace(intake, notes=(*intake.notes, note))


def days_of(trajectories: Trajectories) -> float:
    """From the first to the last time of the data, in days."""
    slot_s = trajectories.grid.slot_s if trajectories.grid else 1.0
    return float(trajectories.t.max() - trajectories.t.min()) * slot_s / DAY_S


def _end_of_today_s() -> float:
    """The end of the current UTC day. The only place where reading looks at the clock."""
    return float((int(time.time()) // DAY_S + 1) * DAY_S)
