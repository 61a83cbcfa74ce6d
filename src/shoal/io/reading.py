"""From any source of positions to Trajectories, with an account of every row that did not get through."""

import time as clock
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Final, Never

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal.io.cell_positions import prepared
from shoal.io.columns import find_columns
from shoal.io.positions import Positions
from shoal.io.screening import require_screening, screened
from shoal.io.snapping import Rows, arrange, put_on_plane, require_grid
from shoal.io.sources import openers
from shoal.io.tables import Table
from shoal.io.taken import Taken, no_rows, take_batch
from shoal.io.times import Times, clock_jumps
from shoal.io.whose import Owners
from shoal.model.clocks import Clock
from shoal.model.intake import BESIDE_DEGREES, Reading
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.run import Run
from shoal.units import DAY_S

STEPS: Final = 1000


def read(
    source: object,
    *,
    id: str | None = None,  # noqa: A002  (the option's name, as on the command line)
    time: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    x: str | None = None,
    y: str | None = None,
    person: str | None = None,
    per_day: bool = False,
    crs: str | None = None,
    working_crs: str | None = None,
    cell_m: float = 100.0,
    slot_s: float = 60.0,
    snap: bool = True,
    time_unit: str | None = None,
    not_after_s: float | None = None,
    min_samples_per_day: float = 0.0,
    min_active_days: int = 0,
    preset: str | None = None,
    columns: str | None = None,
    table: str | None = None,
    date: str | None = None,
    time_format: str | None = None,
    time_zone: str | None = None,
    cells: str | None = None,
    cell_id: str | None = None,
    run: Run | None = None,
    **unknown: Never,
) -> Trajectories:
    """Trajectories from a file, a folder, a pattern, or a frame that speaks Arrow.

    Rows that cannot be used are dropped, and counted by reason in ``intake`` of the result.

    Parameters
    ----------
    source : path, text or frame
        A file of a known format, a folder, a pattern or a zip archive of such files, "-" for standard input,
        a query on a server ("postgresql://... SELECT ..."), or a frame of pandas, polars, pyarrow, DuckDB or
        another library with an Arrow stream.
    id, time, lat, lon, x, y : str or None
        Names of columns; None = recognized. Give either lat and lon or x and y.
    person : str or None
        The column that names the unit of protection; None = the id column.
    per_day : bool
        Whether each person's UTC day is a unit of its own.
    crs : str or None
        The system of planar x and y; None or "local" = local meters. "local" also says that small numbers are
        meant.
    working_crs : str or None
        The plane to project into; None = an equal-area plane centered on the data.
    cell_m, slot_s : float
        The grid to snap to, in meters and seconds.
    snap : bool
        False keeps points as given.
    time_unit : str or None
        The unit of numeric times: "s", "ms", "us", "ns", or a duration such as "1min" for counted steps;
        None = recognized by size.
    not_after_s : float or None
        Later rows, in seconds since 1970, are dropped as lying in the future; None = the end of today.
    min_samples_per_day : float
        Whoever has fewer samples a day, on average over the data's days, is left out; 0 = nobody.
    min_active_days : int
        Whoever has samples on fewer days (UTC) is left out; 0 = nobody, -1 = all but those with samples on
        every day of the data.
    preset : str or None
        The layout of a known data set or program, such as "t-drive"; None = recognized by its columns.
    columns : str or None
        The names of the columns of delimited text without a header, separated by commas, _ for those that are
        not needed.
    table : str or None
        The table, sheet or layer to read of a source that holds several.
    date : str or None
        The column of dates, where ``time`` holds clock times alone.
    time_format : str or None
        How times are written, in strptime's signs ("%d/%m/%Y %H:%M"); None = recognized.
    time_zone : str or None
        The zone of times without one, and of the hours that are shown, such as "Europe/Paris"; None = UTC.
    cells : str or None
        A file with the positions of cells (id, lat, lon) or their footprints, for records that name a cell.
    cell_id : str or None
        The column that names the cell; None = recognized.
    run : Run or None
        Where to report progress, and how many threads to use; None = local and silent.

    Returns
    -------
    Trajectories
        Subjects by id, their samples in order, and the account of the reading.

    Raises
    ------
    InputError
        When the source cannot be used; the message says what to do.
    MisuseError
        For a setting that does not exist or cannot work.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> calls = pa.table({"uid": ["al", "al", "bo"], "t": [1714557600, 1714561200, 1714557600],
    ...                   "lat": [48.85, 48.86, 48.85], "lon": [2.35, 2.36, 2.35]})
    >>> shoal.read(calls, cell_m=500)
    Trajectories(2 subjects, 3 samples, Grid(cell_m=500, slot_s=60.0))
    """
    if unknown:
        known = ", ".join(setting.name for setting in fields(Reading))
        raise MisuseError(f"'{next(iter(unknown))}' is not a setting of read; the settings are {known}")
    reading = Reading(
        id=id,
        time=time,
        lat=lat,
        lon=lon,
        x=x,
        y=y,
        person=person,
        per_day=per_day,
        crs=crs,
        working_crs=working_crs,
        cell_m=cell_m,
        slot_s=slot_s,
        snap=snap,
        time_unit=time_unit,
        not_after_s=not_after_s,
        min_samples_per_day=min_samples_per_day,
        min_active_days=min_active_days,
        preset=preset,
        columns=columns,
        table=table,
        date=date,
        time_format=time_format,
        time_zone=time_zone,
        cells=cells,
        cell_id=cell_id,
    )
    return read_with(source, reading, run or Run())


def read_with(source: object, reading: Reading, run: Run) -> Trajectories:
    """As ``read``, with the settings as one object.

    With ``trajectories.intake.reading`` the same rows give the same arrays.
    """
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
    taken.notes += clock_jumps(arranged.t * (grid.slot_s if grid else 1.0))
    return screened(
        Trajectories(
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
    )


def take_in(source: object, reading: Reading, run: Run, keep: Callable[[Rows], None]) -> Taken:
    """Read and clean all rows, and hand them to ``keep`` part by part.

    The rows are not placed yet: microseconds, and degrees or meters. Raises as ``read`` does, also when
    no row is left.
    """
    require_grid(Grid(cell_m=reading.cell_m, slot_s=reading.slot_s))
    require_screening(reading)
    if reading.time_zone is not None:
        Clock(reading.time_zone)
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


def _take_tables(source: object, reading: Reading, run: Run, keep: Callable[[Rows], None]) -> Taken:
    """Read and clean all tables of the source; the first decides the columns, which the others must have."""
    name, waiting = openers(source, reading)
    taken: Taken | None = None
    owners = Owners()
    for place, opener in enumerate(waiting):
        run.progress(f"reading {name}", STEPS * place // len(waiting), STEPS)
        table, filled = prepared(opener(), reading if taken is None else taken.reading)
        if taken is None:
            taken = _begin(name, table, filled, keep, named=reading)
        else:
            _require_alike(table, taken, reading)
        owners.add(table, taken.columns.person)
        for share, batch in table.batches(taken.columns.wanted()):
            take_batch(taken, table, batch)
            run.progress(f"reading {name}", int(STEPS * (place + share) / len(waiting)), STEPS)
        for reason, rows in table.unreadable.items():
            taken.dropped[reason] = taken.dropped.get(reason, 0) + rows
            taken.rows_read += rows
        for reason, rows in table.repaired.items():
            taken.repaired[reason] = taken.repaired.get(reason, 0) + rows
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


def _begin(
    name: str, table: Table, reading: Reading, keep: Callable[[Rows], None], *, named: Reading
) -> Taken:
    """Decide the columns, and write their names into the settings.

    named: the settings as the caller gave them.
    """
    columns = find_columns(table, reading)
    positions = Positions(columns, reading, table.name, named=named.lat is not None or named.lon is not None)
    filled = replace(
        reading,
        id=columns.id,
        time=columns.time,
        lat=columns.second if columns.angles else None,
        lon=columns.first if columns.angles else None,
        x=columns.first if not columns.angles and not columns.geometry else None,
        y=columns.second if not columns.angles and not columns.geometry else None,
        crs=reading.crs if columns.angles else positions.crs or "local",
        cells=None if reading.cells is None else Path(reading.cells).name,  # a manifest holds no folders
    )
    taken = Taken(
        keep=keep,
        name=name,
        columns=columns,
        positions=positions,
        reading=filled,
        times=Times(reading.time_unit, reading.time_format, reading.time_zone),
    )
    if positions.crs is None and columns.beside == "columns of degrees":
        taken.notes.append(
            f"{BESIDE_DEGREES}: nothing shows that {columns.first} and {columns.second} are meters; read the "
            "degrees instead"
        )
    elif columns.beside:
        used = (
            f"{columns.second} and {columns.first}"
            if columns.angles
            else f"{columns.first} and {columns.second}"
        )
        taken.notes.append(
            f"positions are read from {used}; left aside: the {columns.beside} of {table.name}"
        )
    return taken


def _require_alike(table: Table, taken: Taken, reading: Reading) -> None:
    """Take the columns of a later table; raises InputError unless its positions are given as in the first."""
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


def _end_of_today_s() -> float:
    """The end of the current UTC day. The only place where reading looks at the clock."""
    return float((int(clock.time()) // DAY_S + 1) * DAY_S)
