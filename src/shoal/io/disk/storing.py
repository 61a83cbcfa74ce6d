"""From any source to people on disk. The account of rows equals that of reading into memory."""

import json
import os
import shutil
import zlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.io.columns.public_places import ListedPlaces
from shoal.io.disk.spilling import Bucket, Spill, bucket_of, rows_of_buckets, write_all
from shoal.io.formats.input_table import runs
from shoal.io.reading import read_rows
from shoal.io.reading_state import ReadingState, account_people, no_rows
from shoal.io.screening import active_days, days_between, has_screening, screen
from shoal.io.snapping import place_rows, sorted_rows
from shoal.kernels.people import median_samples
from shoal.model.grid import Grid, require_snapped
from shoal.model.intake import Reading
from shoal.model.people_on_disk import PEOPLE_FILE, ROW_BYTES, SAMPLES_FILE, SUMS_FILE, StoredPeople
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import crc32_of
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.runtime.staging import explain_write_errors
from shoal.units import DAY_S

TASK_ROWS: Final = 1 << 20  # that one task sorts, at least


def store_people(
    source: object, reading: Reading, folder: Path, run: Run, *, engine: Engine | None = None
) -> StoredPeople:
    """Read everything into ``folder``; a complete one is reused. engine: None = this process."""
    require_snapped(Grid(cell_m=reading.cell_m, slot_s=reading.slot_s) if reading.snap else None)
    if (folder / PEOPLE_FILE).exists():
        return StoredPeople.open(folder)
    with explain_write_errors(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        with closing(Spill(folder / "spill", engine)) as spill:
            state = read_rows(source, reading, run, spill.keep, spill.read_in_tasks if engine else None)
            spill.end(state)
        stored = _sorted_people(folder, state, spill, run, engine or run)
        shutil.rmtree(spill.folder)
    return stored


def are_complete(folder: Path, engine: Engine, run: Run) -> bool:
    """Whether a folder is complete and unchanged."""
    try:
        sums = json.loads((folder / SUMS_FILE).read_bytes())
        sound = sums["people"] == crc32_of(folder / PEOPLE_FILE)
        tasks = [SumTask(folder / SAMPLES_FILE, *sum_task) for sum_task in sums["samples"]]
        return sound and all(run_tasks(SumTask.is_right, tasks, engine, run, "looking at people on disk"))
    except (OSError, ValueError, KeyError, TypeError):
        return False


@dataclass(frozen=True)
class SumTask:
    """Rows of samples and their expected CRC-32."""

    samples: Path
    first: int
    rows: int
    crc32: int

    def is_right(self) -> bool:
        """Whether the rows are unchanged since they were written."""
        return self.crc32 == crc32_of(self.samples, self.rows * ROW_BYTES, start=self.first * ROW_BYTES)


@dataclass(frozen=True, kw_only=True)
class SortTask:
    """Some buckets, whose samples begin at a row of the people's file.

    parts: in input order. screened: people with too few samples or days are left out.
    """

    people: Path
    spill: Path
    parts: tuple[int, ...]
    buckets: tuple[int, ...]
    first_row: int
    plane: str | None
    grid: Grid
    screened: bool
    listed: ListedPlaces | None


@dataclass(frozen=True, eq=False, kw_only=True)
class SortedBucket:
    """The people of a bucket, [n], and the rows of their samples.

    people: with a row of the input, usable or not. first: the first row of each, comparable. active: days
    with samples, 0 if not needed. span: first and last slot. dropped, duplicates: no samples. late: before
    the person's previous row, in another part. cells: [c, 2], the different ones if places are listed.
    """

    ids: pa.Array
    first: Integers
    starts: Integers
    lengths: Integers
    active: Integers
    middles: Integers
    span: tuple[int, int] | None
    people: int
    dropped: dict[str, int]
    duplicates: int
    late: int
    cells: Integers
    sum: tuple[int, int, int]


def sort_buckets(task: SortTask) -> list[SortedBucket]:
    """Place, sort and write some buckets; safe to repeat."""
    results, row = [], task.first_row
    with (task.people / SAMPLES_FILE).open("r+b", buffering=0) as file:
        for number in task.buckets:
            bucket = bucket_of(task.spill, task.parts, number)
            n_rows = len(bucket.rows.code)
            if len(bucket.ids):
                file.seek(row * ROW_BYTES)
                results.append(_sorted_bucket(bucket, row, task, file))
            row += n_rows
        os.fsync(file.fileno())
    return results


def _sorted_bucket(bucket: Bucket, first_row: int, task: SortTask, file: BinaryIO) -> SortedBucket:
    rows, dropped = place_rows(bucket.rows, task.plane, task.grid, listed=task.listed)
    n_rows, n = len(rows.code), len(bucket.ids)
    subject, t, x, y = sorted_rows([rows], np.arange(n), n)
    starts = np.searchsorted(subject, np.arange(n + 1)).astype(np.int64)
    present = np.flatnonzero(np.diff(starts))
    offsets = starts[[*present, n]]
    samples = np.stack([t, x, y], axis=1)
    write_all(file, samples)
    return SortedBucket(
        ids=bucket.ids.take(pa.array(present)),
        first=bucket.first[present],
        starts=first_row + offsets[:-1],
        lengths=np.diff(offsets),
        active=active_days(t, offsets, task.grid.slot_s) if task.screened else np.zeros_like(present),
        middles=median_samples(offsets, t, x, y),
        span=(int(t.min()), int(t.max())) if len(t) else None,
        people=n,
        dropped=dropped,
        duplicates=n_rows - len(t),
        late=bucket.late,
        cells=np.unique(samples[:, 1:] if task.listed else samples[:0, 1:], axis=0),
        sum=(first_row, len(t), zlib.crc32(samples.data)),
    )


def _sorted_people(folder: Path, state: ReadingState, spill: Spill, run: Run, engine: Engine) -> StoredPeople:
    grid = state.grid or Grid()
    plane = state.plane if state.positions.keeps_degrees else None
    screened = has_screening(state.reading)
    rows = rows_of_buckets(spill.folder, spill.parts)
    if sum(rows) != state.rows_kept:
        raise InputError(
            f"{state.rows_kept:,} rows were read and {sum(rows):,} are there; all machines must reach the "
            "same folder under the same path"
        )
    tasks = [
        SortTask(
            people=folder.resolve(),
            spill=spill.folder.resolve(),
            parts=tuple(spill.parts),
            buckets=tuple(buckets),
            first_row=sum(rows[: buckets.start]),
            plane=plane,
            grid=grid,
            screened=screened,
            listed=state.listed,
        )
        for buckets in runs(rows, TASK_ROWS)
    ]
    with (folder / SAMPLES_FILE).open("wb") as file:
        file.truncate(state.rows_kept * ROW_BYTES)
    every = [part for some in run_tasks(sort_buckets, tasks, engine, run, "sorting people") for part in some]
    for part in every:
        state.dropped.update(part.dropped)
    if state.listed is not None:
        state.listed.require_most(state.dropped, state.rows_kept)
    state.order.rows += sum(part.late for part in every)
    ids = pa.concat_arrays([part.ids for part in every])
    if not len(ids):
        raise no_rows(state)
    first_row, length, start, active, middle = (
        np.concatenate([getattr(part, name) for part in every])
        for name in ("first", "lengths", "starts", "active", "middles")
    )
    if state.listed is not None:
        cells = np.concatenate([part.cells for part in every])
        state.notes += state.listed.require_public(cells[:, 0], cells[:, 1], state.reading)
    people_read = state.people_read if state.reading.per_day else sum(part.people for part in every)
    account_people(state, ids, people_read)
    by_id = pc.sort_indices(ids).to_numpy().astype(np.int64)
    intake = state.intake(sum(part.duplicates for part in every))
    if screened:
        spans = [part.span for part in every if part.span is not None]
        first, last = min(first for first, _ in spans), max(last for _, last in spans)
        days, n_days = (last - first) * grid.slot_s / DAY_S, days_between(first, last, grid.slot_s)
        selected, intake = screen(length[by_id], active[by_id], days, n_days, intake)
        by_id = by_id[selected]
    stored = StoredPeople(
        folder=folder,
        names=ids.take(pa.array(by_id)),
        starts=start[by_id],
        lengths=length[by_id],
        input_rank=np.argsort(np.argsort(first_row[by_id])).astype(np.int64),
        middles=middle[by_id],
        grid=grid,
        crs=state.plane,
        intake=intake,
        places=None if state.listed is None else state.listed.places,
        sensitive=state.sensitive,
    )
    stored.save([part.sum for part in every if part.sum[1]])
    return stored
