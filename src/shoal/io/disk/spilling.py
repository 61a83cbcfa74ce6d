"""Rows on disk until people are sorted: in parts, one for each piece of the input.

The rows of a person have the same bucket number in every part, by a hash of the id. People are matched
bucket by bucket, so no process knows them all.
"""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, MisuseError
from shoal.io.read_tables import Piece, read_piece
from shoal.io.reading_state import ReadingState
from shoal.io.snapping import Rows
from shoal.model.intake import Reading
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.run import Engine
from shoal.runtime.staging import partial_name

BUCKETS: Final = 128  # a billion rows make buckets of 8 million
NO_ROW: Final = np.iinfo(np.int64).max
_AT_ONCE: Final = 1 << 18  # rows that are written together, at least
_PART_SHIFT: Final = 40  # a part's rows, numbered, are less than 2 to this
# code: the place of the person in the list of the part's bucket
_ROW: Final = np.dtype([("code", "<i4"), ("t", "<i8"), ("first", "<f8"), ("second", "<f8")])
_FILES: Final = ("rows", "index", "people")  # of a part, behind its number


class Spill:
    """All rows of an input, in numbered parts. engine: reads pieces."""

    def __init__(self, folder: Path, engine: Engine | None) -> None:
        self.folder = folder
        self.parts: list[int] = []
        self._engine = engine
        self._next_number = 0  # numbers that were given to parts
        self._local: _Part | None = None
        folder.mkdir()

    def close(self) -> None:
        """Close the part of this process."""
        if self._local is not None:
            self._local.close()

    def keep(self, rows: Rows, texts: Sequence[str]) -> None:
        """Append rows to the part of this process. texts: the ids."""
        if self._local is None:
            self._local = _Part(self.folder, self._next_number)
            self.parts.append(self._next_number)
            self._next_number += 1
        self._local.keep(rows, texts)

    def end(self, state: ReadingState) -> None:
        """Close the part and forget its people."""
        if self._local is not None:
            self._local.end(state)
            self._local = None
        state.forget_names()

    def read_in_tasks(
        self, state: ReadingState, reading: Reading, pieces: Sequence[Piece]
    ) -> Iterator[ReadingState]:
        """Have tasks read pieces, each into a part."""
        if self._engine is None:
            return
        self.end(state)
        if reading.cells is not None:
            reading = replace(reading, cells=str(Path(reading.cells).absolute()))
        task_of = partial(ReadTask, folder=self.folder.resolve(), reading=reading)
        numbered = enumerate(pieces, start=self._next_number)
        tasks = [task_of(number=at, piece=piece, before=state.without_counts()) for at, piece in numbered]
        self._next_number += len(tasks)
        decided = state.decided
        results = self._engine.map(run_task, tasks) if len(tasks) > 1 else map(run_task, tasks)
        for task, account in zip(tasks, results, strict=True):
            if account is None or account.decided != decided:
                return  # who asks reads this piece, and the rest is done again with what it decides
            self.parts.append(task.number)
            yield account


@dataclass(frozen=True, eq=False, kw_only=True)
class ReadTask:
    """A piece, the decisions before it, and the number of its part."""

    folder: Path
    number: int
    piece: Piece
    before: ReadingState
    reading: Reading


def run_task(task: ReadTask) -> ReadingState | None:
    """Read a piece and write its part; None if unreadable. Safe to repeat, also concurrently."""
    state = task.before.without_counts()
    with closing(_Part(task.folder, task.number)) as part:
        try:
            read_piece(state.name, task.piece, state, task.reading, part.keep, lambda _: None)
        except (InputError, MisuseError):
            return None
        part.end(state)
    account = state.without_counts()
    account.join(state)
    return account


@dataclass(frozen=True, eq=False, kw_only=True)
class Bucket:
    """One bucket. ids: [n]. first: the first row of each person, comparable.

    late: parts where a person's first row is before their last in the part before.
    """

    ids: pa.Array
    first: Integers
    rows: Rows
    late: int


def bucket_of(folder: Path, parts: Sequence[int], bucket: int) -> Bucket:
    """Combine a bucket's rows from all parts."""
    ids: list[pa.Array] = []
    firsts, begins, ends, tables = [], [], [], [np.empty(0, dtype=_ROW)]
    n_people = 0
    for position, part in enumerate(parts):
        with pa.OSFile(str(folder / f"{part}.people")) as file:
            people = pa.ipc.open_file(file).get_batch(bucket)
        for rows in _rows_of(folder, part, bucket):
            rows["code"] += n_people
            tables.append(rows)
        n_people += people.num_rows
        ids.append(people["id"])
        first, begin, end = (people[name].to_numpy() for name in ("first", "begin", "end"))
        firsts.append(np.where(first == NO_ROW, NO_ROW, first + (position << _PART_SHIFT)))
        begins.append(begin)
        ends.append(end)
    begin, end = np.concatenate(begins), np.concatenate(ends)
    whole = pa.concat_arrays(ids).dictionary_encode()
    person = whole.indices.to_numpy()
    first_of = np.full(len(whole.dictionary), NO_ROW)
    np.minimum.at(first_of, person, np.concatenate(firsts))
    seen = np.flatnonzero(end >= 0)
    seen = seen[np.argsort(person[seen], kind="stable")]
    repeated = person[seen[1:]] == person[seen[:-1]]
    code, t, x, y = (np.concatenate([table[name] for table in tables]) for name in _ROW.names or ())
    return Bucket(
        ids=whole.dictionary,
        first=first_of,
        rows=Rows(person[code], t, x, y),
        late=int(np.count_nonzero(repeated & (begin[seen[1:]] < end[seen[:-1]]))),
    )


def _rows_of(folder: Path, part: int, bucket: int) -> Iterator[Numbers]:
    path = folder / f"{part}.rows"
    for begin, end in _index_of(folder, part)[:, bucket : bucket + 2].tolist():
        rows = np.fromfile(path, _ROW, count=end - begin, offset=begin * _ROW.itemsize)
        if len(rows) != end - begin:
            raise InputError(f"{path} is cut short; remove the folder and start again")
        yield rows


def _index_of(folder: Path, part: int) -> Integers:
    return np.fromfile(folder / f"{part}.index", dtype=np.int64).reshape(-1, BUCKETS + 1)


def rows_of_buckets(folder: Path, parts: Sequence[int]) -> list[int]:
    """The number of rows of each bucket."""
    rows = np.zeros(BUCKETS, dtype=np.int64)
    for part in parts:
        rows += np.diff(_index_of(folder, part), axis=1).sum(axis=0)
    counted: list[int] = rows.tolist()
    return counted


class _Part:
    """Its files get their names at the end: two workers may write the same part."""

    def __init__(self, folder: Path, number: int) -> None:
        self._named = {name: folder / f"{number}.{name}" for name in _FILES}
        self._partial = {name: partial_name(path) for name, path in self._named.items()}
        self._file: BinaryIO = self._partial["rows"].open("wb", buffering=0)
        self._bucket = np.empty(0, dtype=np.uint8)  # of each code
        self._place: Integers = np.empty(0, dtype=np.int64)  # in the list of the bucket
        self._first: Integers = np.empty(0, dtype=np.int64)  # row
        self._people: Integers = np.zeros(BUCKETS, dtype=np.int64)  # in each bucket
        self._ends: list[Integers] = []
        self._waiting: list[Rows] = []
        self._rows = self._written = 0

    def close(self) -> None:
        self._file.close()
        for path in self._partial.values():
            path.unlink(missing_ok=True)

    def keep(self, rows: Rows, texts: Sequence[str]) -> None:
        self._assign_buckets(texts)
        fresh = np.flatnonzero(self._first[rows.code] == NO_ROW)[::-1]
        self._first[rows.code[fresh]] = self._rows + fresh
        self._rows += len(rows.code)
        self._waiting.append(rows)
        if self._rows - self._written >= _AT_ONCE:
            self._write()

    def end(self, state: ReadingState) -> None:
        texts = state.units.texts
        self._assign_buckets(texts)
        self._write()
        self._file.close()
        np.array(self._ends, dtype=np.int64).tofile(self._partial["index"])
        begin, end = state.order.ends(len(texts))  # of days of people: not asked for, as they are one part
        by_bucket = np.argsort(self._bucket, kind="stable")
        ids = pa.array(texts, pa.string()).take(pa.array(by_bucket))
        columns = {"first": self._first, "begin": begin, "end": end}
        people = pa.record_batch({"id": ids} | {name: values[by_bucket] for name, values in columns.items()})
        counts = np.bincount(self._bucket, minlength=BUCKETS).tolist()
        path = str(self._partial["people"])
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, people.schema) as writer:
            row = 0
            for many in counts:
                writer.write_batch(people.slice(row, many))
                row += many
        for name, unfinished in self._partial.items():
            unfinished.rename(self._named[name])

    def _assign_buckets(self, texts: Sequence[str]) -> None:
        new = texts[len(self._bucket) :]
        if not new:
            return
        bucket = np.array([zlib.crc32(text.encode()) % BUCKETS for text in new], dtype=np.uint8)
        order = np.argsort(bucket, kind="stable")
        many = np.bincount(bucket, minlength=BUCKETS)
        place = np.empty(len(new), dtype=np.int64)
        place[order] = np.arange(len(new)) + np.repeat(self._people - (np.cumsum(many) - many), many)
        self._people += many
        self._bucket = np.append(self._bucket, bucket)
        self._place = np.append(self._place, place)
        self._first = np.append(self._first, np.full(len(new), NO_ROW))

    def _write(self) -> None:
        if not self._waiting:
            return
        waiting = [(rows.code, rows.t, rows.x, rows.y) for rows in self._waiting]
        code, *values = map(np.concatenate, zip(*waiting, strict=True))
        self._waiting.clear()
        bucket = self._bucket[code]
        order = np.argsort(bucket, kind="stable")
        table = np.empty(len(order), dtype=_ROW)
        for name, column in zip(_ROW.names or (), (self._place[code], *values), strict=True):
            table[name] = column[order]
        write_all(self._file, table)
        ends = np.cumsum(np.bincount(bucket, minlength=BUCKETS))
        self._ends.append(self._written + np.concatenate([[0], ends]))
        self._written += len(table)


def write_all(file: BinaryIO, rows: Numbers) -> None:
    """Write a whole array; an unbuffered file may accept only a part at once."""
    remaining = np.ascontiguousarray(rows).view(np.uint8).reshape(-1).data
    while remaining:
        remaining = remaining[file.write(remaining) :]
