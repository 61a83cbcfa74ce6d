"""From any source of positions to people on disk, in little memory.

Rows are spread over buckets by person, and tasks sort these, each for itself. The account of rows is the same
as that of reading into memory.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import MisuseError
from shoal.io.reading import take_in
from shoal.io.screening import active_days, days_between, screen, screens
from shoal.io.snapping import Rows, placed, reason_outside, sorted_rows
from shoal.io.taken import Taken, no_rows
from shoal.kernels.places import middles
from shoal.model.intake import Reading
from shoal.model.people_on_disk import PEOPLE_FILE, ROW_BYTES, SAMPLES_FILE, StoredPeople
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.run import Run
from shoal.runtime.staging import explained_write
from shoal.runtime.tasks import Engine, carried_out
from shoal.units import DAY_S

_BUCKETS: Final = 128  # a billion rows make buckets of 8 million
_TASK_ROWS: Final = 1 << 20  # that one task sorts, at least
_ROW: Final = np.dtype([("code", "<i4"), ("t", "<i8"), ("first", "<f8"), ("second", "<f8")])


def store_people(
    source: object, reading: Reading, folder: Path, run: Run, *, engine: Engine | None = None
) -> StoredPeople:
    """Read everything once and keep it in ``folder``; what is already complete there is taken as it is.

    engine: who sorts; without one the threads of this process. Raises as ``read`` does, MisuseError for
    points that are not to be snapped, OutputError when the folder cannot be written.
    """
    if not reading.snap:
        raise MisuseError("people on disk are snapped to a cell and a slot; leave out --no-snap")
    if (folder / PEOPLE_FILE).exists():
        return StoredPeople.open(folder)
    with explained_write(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        with _Spill(folder) as spill:
            taken = take_in(source, reading, run, spill.keep)
        stored = _sorted_people(folder, taken, spill, run, engine or run)
        stored.save()
        shutil.rmtree(spill.folder)
    return stored


class _Spill:
    """Rows on disk, in buckets by person; first_row: of each person, in the order of the input."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "spill"
        self.first_row: Integers = np.empty(0, dtype=np.int64)
        self._rows = 0
        self._open = ExitStack()
        self._files: list[BinaryIO] = []

    def __enter__(self) -> "_Spill":
        self.folder.mkdir()
        self._files = [
            self._open.enter_context((self.folder / str(bucket)).open("wb", buffering=0))
            for bucket in range(_BUCKETS)
        ]
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def keep(self, rows: Rows) -> None:
        """Append each row to the bucket of its person."""
        with explained_write(self.folder):
            bucket = rows.code % _BUCKETS
            order = np.argsort(bucket, kind="stable")
            table = np.empty(len(order), dtype=_ROW)
            for name, column in zip(_ROW.names or (), (rows.code, rows.t, rows.x, rows.y), strict=True):
                table[name] = column[order]
            ends = np.searchsorted(bucket[order], np.arange(_BUCKETS), side="right").tolist()
            for file, start, end in zip(self._files, [0, *ends[:-1]], ends, strict=True):
                if start < end:
                    _write_all(file, table[start:end])
        highest = int(rows.code.max()) + 1
        if highest > len(self.first_row):
            self.first_row = np.concatenate(
                [self.first_row, np.full(highest - len(self.first_row), np.iinfo(np.int64).max)]
            )
        codes, first = np.unique(rows.code, return_index=True)
        self.first_row[codes] = np.minimum(self.first_row[codes], self._rows + first)
        self._rows += len(rows.code)

    def tasks(self, people: Path, plane: str | None, grid: Grid, *, screened: bool) -> Iterator["SortTask"]:
        """One for each million rows; whole buckets."""
        rows = [(self.folder / str(bucket)).stat().st_size // _ROW.itemsize for bucket in range(_BUCKETS)]
        first = waiting = 0
        for bucket in range(_BUCKETS):
            waiting += rows[bucket]
            if waiting >= _TASK_ROWS or bucket == _BUCKETS - 1:
                yield SortTask(
                    people=people.resolve(),
                    spill=self.folder.resolve(),
                    buckets=tuple(range(first, bucket + 1)),
                    first_row=sum(rows[:first]),
                    plane=plane,
                    grid=grid,
                    screened=screened,
                )
                first, waiting = bucket + 1, 0


@dataclass(frozen=True, kw_only=True)
class SortTask:
    """Some buckets of a spill, whose samples stand in the people's file from a row on.

    screened: whether people are left out who have too few samples or days.
    """

    people: Path
    spill: Path
    buckets: tuple[int, ...]
    first_row: int
    plane: str | None
    grid: Grid
    screened: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Sorted:
    """The people of some buckets by their codes, [n], and where their samples stand.

    active: days with samples, 0 where nobody asks. span: the first and last slot of all. outside, duplicates:
    rows that are no samples.
    """

    codes: Integers
    starts: Integers
    lengths: Integers
    active: Integers
    middles: Integers
    span: tuple[int, int] | None
    outside: int
    duplicates: int


def sort_buckets(task: SortTask) -> list[Sorted]:
    """Place and sort the rows of some buckets, and write their samples; doing it twice does no harm."""
    found, row = [], task.first_row
    with (task.people / SAMPLES_FILE).open("r+b", buffering=0) as file:
        for bucket in task.buckets:
            table = np.fromfile(task.spill / str(bucket), dtype=_ROW)
            if len(table):
                file.seek(row * ROW_BYTES)
                found.append(_sorted_bucket(table, bucket, row, task, file))
            row += len(table)
        os.fsync(file.fileno())
    return found


def _sorted_bucket(table: Numbers, bucket: int, first_row: int, task: SortTask, file: BinaryIO) -> Sorted:
    code, t, x, y = (np.ascontiguousarray(table[name]) for name in _ROW.names or ())
    rows, outside = placed(Rows(code // _BUCKETS, t, x, y), task.plane, task.grid)
    n_rows = len(rows.code)
    none = np.empty(0, dtype=np.int64)
    if not n_rows:
        return Sorted(
            codes=none,
            starts=none,
            lengths=none,
            active=none,
            middles=none.reshape(0, 3),
            span=None,
            outside=outside,
            duplicates=0,
        )
    n = int(rows.code.max()) + 1
    subject, t, x, y = sorted_rows([rows], np.arange(n), n)
    starts = np.searchsorted(subject, np.arange(n + 1)).astype(np.int64)
    present = np.flatnonzero(np.diff(starts))
    offsets = starts[[*present, n]]
    _write_all(file, np.stack([t, x, y], axis=1))
    return Sorted(
        codes=present * _BUCKETS + bucket,
        starts=first_row + offsets[:-1],
        lengths=np.diff(offsets),
        active=active_days(t, offsets, task.grid.slot_s) if task.screened else np.zeros_like(present),
        middles=middles(offsets, t, x, y),
        span=(int(t.min()), int(t.max())),
        outside=outside,
        duplicates=n_rows - len(t),
    )


def _sorted_people(folder: Path, taken: Taken, spill: _Spill, run: Run, engine: Engine) -> StoredPeople:
    """Have every bucket sorted, and list the people in the order of their ids."""
    grid = taken.grid or Grid()
    plane = taken.plane if taken.positions.keeps_degrees else None
    screened = screens(taken.reading)
    tasks = list(spill.tasks(folder, plane, grid, screened=screened))
    with (folder / SAMPLES_FILE).open("wb") as file:
        file.truncate(taken.rows_kept * ROW_BYTES)
    every = [
        part for some in carried_out(sort_buckets, tasks, engine, run, "sorting people") for part in some
    ]
    outside = sum(part.outside for part in every)
    if outside:
        reason = reason_outside(plane)
        taken.dropped[reason] = taken.dropped.get(reason, 0) + outside
    codes = np.concatenate([part.codes for part in every])
    if not len(codes):
        raise no_rows(taken)
    ids = pa.array([taken.units.texts[code] for code in codes.tolist()], pa.string())
    length, start, active, middle = (
        np.concatenate([getattr(part, name) for part in every])
        for name in ("lengths", "starts", "active", "middles")
    )
    by_id = pc.sort_indices(ids).to_numpy().astype(np.int64)
    intake = taken.intake(sum(part.duplicates for part in every))
    if screened:
        spans = [part.span for part in every if part.span is not None]
        first, last = min(first for first, _ in spans), max(last for _, last in spans)
        days, n_days = (last - first) * grid.slot_s / DAY_S, days_between(first, last, grid.slot_s)
        kept, intake = screen(length[by_id], active[by_id], days, n_days, intake)
        by_id = by_id[kept]
    first_row = spill.first_row[codes[by_id]]
    return StoredPeople(
        folder=folder,
        names=ids.take(pa.array(by_id)),
        starts=start[by_id],
        lengths=length[by_id],
        input_rank=np.argsort(np.argsort(first_row)).astype(np.int64),
        middles=middle[by_id],
        grid=grid,
        crs=taken.plane,
        intake=intake,
    )


def _write_all(file: BinaryIO, rows: Numbers) -> None:
    """Write a whole array; an unbuffered file may take only a part at once."""
    left = np.ascontiguousarray(rows).data.cast("B")
    while left:
        left = left[file.write(left) :]
