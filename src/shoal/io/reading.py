"""From any source of positions to Trajectories, with an account of every row that was dropped."""

import time as clock
from dataclasses import fields, replace
from typing import Never

import numpy as np

from shoal.errors import MisuseError
from shoal.io.columns.public_places import ListedPlaces, read_listed
from shoal.io.columns.times import clock_jumps
from shoal.io.read_tables import TaskReader, read_tables
from shoal.io.reading_state import Keep, ReadingState, account_people, no_rows
from shoal.io.screening import require_screening, screen_trajectories
from shoal.io.snapping import Rows, arrange, place_rows, require_grid
from shoal.model.clocks import Clock
from shoal.model.grid import Grid
from shoal.model.intake import Reading
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.run import Run
from shoal.units import DAY_S


@typed
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
    places: str | None = None,
    places_sha256: str | None = None,
    places_are_public: bool = False,
    sensitive: str | None = None,
    sensitive_sha256: str | None = None,
    ids_as_they_are: bool = False,
    lose_people: bool = False,
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
    places : str or None
        A file with a public list of places, such as base stations; rows in cells without one are dropped.
        Boxes can then consist of leaves of the list (``hull="leaves:10"``).
    places_sha256 : str or None
        The SHA-256 of that file; another file is refused. None = any.
    places_are_public : bool
        Whether a list with exactly the cells of the data is public all the same.
    sensitive : str or None
        A file of sensitive places, each of a kind, with a radius where it is not 500 m.
    sensitive_sha256 : str or None
        The SHA-256 of that file; another file is refused. None = any.
    ids_as_they_are : bool
        Whether ids that look alike (100 and 100.0, Anna and anna) are different people, and one such as guest
        or -1 is one person.
    lose_people : bool
        Whether to read on when more than 1 % of the people have no usable row.
    run : Run or None
        Where to report progress, and how many threads to use; None = local and silent.

    Returns
    -------
    Trajectories
        Subjects by id, their samples in order, and the account of the reading.

    Raises
    ------
    InputError
        When the source cannot be used, or has two readings; the message says what to do.
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
    settings = locals()
    names = [setting.name for setting in fields(Reading)]
    if unknown:
        raise MisuseError(
            f"'{next(iter(unknown))}' is not a setting of read; the settings are {', '.join(names)}"
        )
    reading = Reading(**{name: settings[name] for name in names})
    return read_with(source, reading, run or Run())


def read_with(source: object, reading: Reading, run: Run) -> Trajectories:
    """As ``read``, with settings as one object: that of the account gives the same arrays again."""
    parts: list[Rows] = []
    state = read_rows(source, reading, run, lambda rows, _: parts.append(rows))
    reading, plane, grid = state.reading, state.plane, state.grid
    source_plane = plane if state.positions.keeps_degrees else None

    def place(index: int) -> dict[str, int]:
        degrees, listed = state.positions.degrees, state.listed
        parts[index], lost = place_rows(parts[index], source_plane, grid, keep_degrees=degrees, listed=listed)
        return lost

    for lost in run.map(place, range(len(parts)), label="placing on the grid"):
        state.dropped.update(lost)
    if state.listed is not None:
        state.listed.require_most(state.dropped, state.rows_kept)
    if not any(part.code.size for part in parts):
        raise no_rows(state)
    release_idle_memory()  # what the tables took: Arrow would keep it for all that follows
    run.progress("sorting", 0, 1)
    arranged, duplicates = arrange(parts, state.units.texts)
    account_people(state, arranged.ids, len(state.people.texts))
    run.progress("sorting", 1, 1)
    if state.listed is not None:
        state.notes += state.listed.require_public(arranged.x, arranged.y, reading)
    state.notes += clock_jumps(
        arranged.t * (grid.slot_s if grid else 1.0), steps=state.times.steps or state.times.given
    )
    return screen_trajectories(
        Trajectories(
            **vars(arranged),
            grid=grid,
            crs=plane,
            intake=state.intake(duplicates),
            places=None if state.listed is None else state.listed.places,
            sensitive=state.sensitive,
        )
    )


def read_rows(
    source: object, reading: Reading, run: Run, keep: Keep, read_in_tasks: TaskReader | None = None
) -> ReadingState:
    """Read and clean all rows, and pass them to ``keep`` part by part.

    Not placed yet: microseconds, and degrees or meters. read_in_tasks: reads pieces after the first.
    """
    require_grid(Grid(cell_m=reading.cell_m, slot_s=reading.slot_s))
    require_screening(reading)
    if reading.time_zone is not None:
        Clock(reading.time_zone)
    if reading.not_after_s is None:
        end_of_today = (int(clock.time()) // DAY_S + 1) * DAY_S  # here alone reading looks at the clock
        reading = replace(reading, not_after_s=float(end_of_today))
    elif not np.isfinite(reading.not_after_s):
        raise MisuseError(
            f"not_after_s = {reading.not_after_s} must be a finite number of seconds since 1970"
        )

    places, sensitive = read_listed(reading)
    state = read_tables(source, reading, run, keep, read_in_tasks)
    state.times.require_meaning(state.name, reading.date)
    state.reading = replace(state.reading, time_unit=state.times.unit)
    if not reading.snap:  # these settings read nothing, and may say nothing
        state.reading = replace(state.reading, cell_m=Reading.cell_m, slot_s=Reading.slot_s)
    if not state.rows_kept:
        raise no_rows(state)
    state.plane = state.positions.plane()
    if state.positions.crs is not None:
        state.reading = replace(state.reading, working_crs=state.plane)
    if places is not None:
        state.reading = replace(state.reading, places=places.name, places_sha256=places.sha256)
        state.listed = ListedPlaces(places=places.on_plane(state.plane), cell_m=reading.cell_m)
    if sensitive is not None:
        state.reading = replace(state.reading, sensitive=sensitive.name, sensitive_sha256=sensitive.sha256)
        state.sensitive = sensitive.on_plane(state.plane)
    return state
