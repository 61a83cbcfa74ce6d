"""From any source of positions to people on disk, in little memory.

Rows are spread over buckets by person, and each bucket is sorted on its own. The account of rows is the same
as that of reading into memory.
"""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from shoal.errors import MisuseError
from shoal.io.reading import take_in
from shoal.io.screening import active_days, days_between, screen, screens
from shoal.io.snapping import Arranged, Rows, arrange, placed, reason_outside
from shoal.io.taken import Taken, no_rows
from shoal.kernels.places import middles
from shoal.model.intake import Reading
from shoal.model.people_on_disk import PEOPLE_FILE, SAMPLES_FILE, StoredPeople
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.run import Run
from shoal.runtime.staging import explained_write
from shoal.units import DAY_S

_BUCKETS: Final = 128  # a billion rows make buckets of 8 million
_ROW: Final = np.dtype([("code", "<i4"), ("t", "<i8"), ("first", "<f8"), ("second", "<f8")])


def store_people(source: object, reading: Reading, folder: Path, run: Run) -> StoredPeople:
    """Read everything once and keep it in ``folder``; what is already complete there is taken as it is.

    Raises as ``read`` does, MisuseError for points that are not to be snapped, OutputError when the folder
    cannot be written.
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
        stored = _sorted_people(folder, taken, spill, run)
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

    def rows(self, bucket: int) -> Rows:
        """All rows of one bucket, in the order of the input; its file is removed."""
        path = self.folder / str(bucket)
        table = np.fromfile(path, dtype=_ROW)
        path.unlink()
        return Rows(*(np.ascontiguousarray(table[name]) for name in _ROW.names or ()))


def _sorted_people(folder: Path, taken: Taken, spill: _Spill, run: Run) -> StoredPeople:
    """Place and sort every bucket, write the samples, and list the people in the order of their ids."""
    grid = taken.grid or Grid()
    plane = taken.plane if taken.positions.keeps_degrees else None

    def work(bucket: int) -> tuple[Arranged | None, Integers, int]:
        rows, lost = placed(spill.rows(bucket), plane, grid)
        if not rows.code.size:
            return None, np.empty((0, 3), dtype=np.int64), lost
        arranged = arrange([rows], taken.units.texts)
        return arranged, middles(arranged.offsets, arranged.t, arranged.x, arranged.y), lost

    ids: list[str] = []
    lengths, active, middle, spans = [], [], [], []
    outside = duplicates = 0
    with (folder / SAMPLES_FILE).open("wb", buffering=0) as file:
        for arranged, own_middles, lost in run.map(work, range(_BUCKETS), label="sorting people"):
            outside += lost
            if arranged is None:
                continue
            _write_all(file, np.stack([arranged.t, arranged.x, arranged.y], axis=1))
            ids += arranged.ids
            lengths.append(np.diff(arranged.offsets))
            active.append(active_days(arranged.t, arranged.offsets, grid.slot_s))
            middle.append(own_middles)
            spans.append((int(arranged.t.min()), int(arranged.t.max())))
            duplicates += arranged.duplicates
        os.fsync(file.fileno())
    if outside:
        reason = reason_outside(plane)
        taken.dropped[reason] = taken.dropped.get(reason, 0) + outside
    if not ids:
        raise no_rows(taken)
    length = np.concatenate(lengths)
    start = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
    by_id = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    intake = taken.intake(duplicates)
    if screens(intake.reading):
        first, last = min(first for first, _ in spans), max(last for _, last in spans)
        days, n_days = (last - first) * grid.slot_s / DAY_S, days_between(first, last, grid.slot_s)
        kept, intake = screen(length[by_id], np.concatenate(active)[by_id], days, n_days, intake)
        by_id = by_id[kept]
    names = [ids[position] for position in by_id.tolist()]
    code_of = {text: code for code, text in enumerate(taken.units.texts)}
    first_row = spill.first_row[[code_of[name] for name in names]]
    return StoredPeople(
        folder=folder,
        names=pa.array(names, pa.string()),
        starts=start[by_id],
        lengths=length[by_id],
        input_rank=np.argsort(np.argsort(first_row)).astype(np.int64),
        middles=np.concatenate(middle)[by_id],
        grid=grid,
        crs=taken.plane,
        intake=intake,
    )


def _write_all(file: BinaryIO, rows: Numbers) -> None:
    """Write a whole array; an unbuffered file may take only a part at once."""
    left = np.ascontiguousarray(rows).data.cast("B")
    while left:
        left = left[file.write(left) :]
