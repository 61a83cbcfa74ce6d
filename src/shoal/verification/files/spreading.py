"""Spread records over buckets by content: identical ones meet in one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.model.grid import Grid
from shoal.model.names import Pseudonyms
from shoal.model.release import BOX_COLUMNS, Boxes
from shoal.model.verdicts import Finding
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.runtime.arrays import Integers
from shoal.runtime.staging import staged_file
from shoal.verification.boxes.loops import is_canonical
from shoal.verification.files.layout import GroupWalk, Layout, walk_groups
from shoal.verification.files.plane import PlaneCheck
from shoal.verification.files.precision import PrecisionCheck
from shoal.verification.files.stored import record_digest, stored_bytes
from shoal.verification.files.written import encode_pseudonyms

_ROWS_AT_ONCE: Final = 1 << 18
_RECORD: Final = np.dtype([("number", "<i8"), ("boxes", "<i8"), ("stored", "<i8", (2,))])


class RecordPiece(NamedTuple):
    """Consecutive rows of one name, int64 [r, 6]; stored: their bytes."""

    name: str
    boxes: Integers
    stored: bytes

    def joined_with(self, later: "RecordPiece") -> "RecordPiece":
        """With the next piece of the record."""
        return RecordPiece(self.name, np.concatenate([self.boxes, later.boxes]), self.stored + later.stored)


@dataclass(frozen=True, kw_only=True)
class Spreading:
    """How one file is spread; workers reach both folders."""

    folder: Path
    scratch: Path  # where records are written
    grid: Grid
    crs: str | None
    n_buckets: int
    key: bytes  # 32 secret bytes, by which buckets are drawn and bytes compared


@dataclass(frozen=True, kw_only=True)
class SpreadTask:
    """The row groups first, ..., end - 1."""

    spreading: Spreading
    first: int
    end: int
    layout: Layout


class BucketFile(NamedTuple):
    """A scratch file of spread records, and the number of its first."""

    name: str
    first: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SpreadPart:
    """What one task found; its first and last record are in a file of ends."""

    names: Pseudonyms  # of complete records, in file order
    chunks: list[BucketFile]
    end_names: list[str]
    n_rows: int
    unsorted: bool  # rows of one do not ascend
    bytes_walked: GroupWalk
    plane: PlaneCheck
    precision: PrecisionCheck


def spread_groups(task: SpreadTask) -> SpreadPart:
    """Spread the records of some row groups; safe to repeat."""
    how = task.spreading
    path = how.folder / RELEASE_FILE
    bytes_walked = _walk_layout(path, task.layout)
    plane, precision = PlaneCheck(how.crs), PrecisionCheck(how.grid, how.crs)
    names: list[str] = []
    chunks: list[BucketFile] = []
    first: RecordPiece | None = None
    last: RecordPiece | None = None
    n_rows, unsorted = 0, False
    for table in _read_tables(path, task.first, task.end):
        boxes = precision.decode_rows(table)
        plane.add_boxes(boxes, how.grid)
        n_rows += len(table)
        pieces = _split_records(table, boxes, how.key)
        if last is not None and last.name == pieces[0].name:
            pieces[0] = last.joined_with(pieces[0])
        elif last is not None:
            pieces.insert(0, last)
        *whole, last = pieces
        if first is None and whole:
            first, *whole = whole
        if whole:
            chunks.append(BucketFile(f"{task.first}-{len(chunks)}", len(names)))
            unsorted |= _write_chunk(how, chunks[-1].name, whole, np.arange(len(whole)))
            names += [piece.name for piece in whole]
    ends = [piece for piece in (first, last) if piece is not None]
    arrays = [array for piece in ends for array in (piece.boxes, np.frombuffer(piece.stored, dtype=np.uint8))]
    with staged_file(_ends_file(how, task), lambda file: np.savez(file, *arrays)):
        pass
    return SpreadPart(
        names=Pseudonyms.of(names),
        chunks=chunks,
        end_names=[piece.name for piece in ends],
        n_rows=n_rows,
        unsorted=unsorted,
        bytes_walked=bytes_walked,
        plane=plane,
        precision=precision,
    )


class SpreadRecords:
    """All records, from the tasks in order; chunks: where they are."""

    def __init__(self, spreading: Spreading) -> None:
        self.chunks: list[BucketFile] = []
        self.n_rows = 0
        self.unsorted = False
        self.walked: list[GroupWalk] = []
        self.plane = PlaneCheck(spreading.crs)
        self.precision = PrecisionCheck(spreading.grid, spreading.crs)
        self._how = spreading
        self._names: list[Pseudonyms] = []
        self._n_names = 0
        self._open: RecordPiece | None = None
        self._ends: list[RecordPiece] = []
        self._end_numbers: list[int] = []

    def add(self, task: SpreadTask, seen: SpreadPart) -> None:
        """Add what the next task found."""
        self.n_rows += seen.n_rows
        self.unsorted |= seen.unsorted
        self.walked.append(seen.bytes_walked)
        self.plane.merge(seen.plane)
        self.precision.merge(seen.precision)
        with np.load(_ends_file(self._how, task)) as stored:
            arrays = list(stored.values())
        ends = [
            RecordPiece(name, boxes, digits.tobytes())
            for name, boxes, digits in zip(seen.end_names, arrays[::2], arrays[1::2], strict=True)
        ]
        if not ends:
            return
        if self._open is not None and self._open.name == ends[0].name:
            self._open = self._open.joined_with(ends[0])
        else:
            self._close()
            self._open = ends[0]
        if ends[1:]:
            self._close()
            start = self._n_names
            self.chunks += [chunk._replace(first=start + chunk.first) for chunk in seen.chunks]
            self._name(seen.names)
            self._open = ends[1]

    def finish(self) -> None:
        """Write the last open record."""
        self._close()
        self._write_ends()

    @property
    def names(self) -> Pseudonyms:
        """Names of all records, in order."""
        self._names = [Pseudonyms.concatenate(self._names)]
        return self._names[0]

    def _name(self, names: Pseudonyms) -> None:
        self._names.append(names)
        self._n_names += len(names)

    def faults(self) -> Iterator[Finding]:
        """Findings on the order of the rows."""
        if self.names.duplicate_positions():
            yield Finding("row-order", "the rows of one record do not stand together")
        if self.unsorted:
            yield Finding("row-order", f"the rows of a record do not ascend by {', '.join(BOX_COLUMNS)}")

    def _close(self) -> None:
        if self._open is not None:
            self._ends.append(self._open)
            self._end_numbers.append(self._n_names)
            self._name(Pseudonyms.of([self._open.name]))
            self._open = None
        if sum(len(piece.boxes) for piece in self._ends) > _ROWS_AT_ONCE:
            self._write_ends()

    def _write_ends(self) -> None:
        if self._ends:
            self.chunks.append(BucketFile(f"ends-{len(self.chunks)}", 0))
            numbers = np.array(self._end_numbers, dtype=np.int64)
            self.unsorted |= _write_chunk(self._how, self.chunks[-1].name, self._ends, numbers)
        self._ends, self._end_numbers = [], []


def read_bucket(
    spreading: Spreading, chunks: Sequence[BucketFile], bucket: int
) -> tuple[Integers, Integers, Integers, Boxes]:
    """One bucket in file order: record numbers [r], boxes of each [r], digests [r, 2], and all boxes."""
    parts = [_read_chunk(spreading, chunk, bucket) for chunk in chunks]
    records = np.concatenate([np.empty(0, dtype=_RECORD), *(records for records, _ in parts)])
    rows = np.concatenate([np.empty((0, len(BOX_COLUMNS)), dtype=np.int64), *(rows for _, rows in parts)])
    order = np.argsort(records["number"], kind="stable")
    of_row = np.repeat(np.arange(len(records)), records["boxes"])
    place = np.empty(len(records), dtype=np.int64)
    place[order] = np.arange(len(records))
    rows = rows[np.argsort(place[of_row], kind="stable")]
    records = records[order]
    columns = dict(zip(BOX_COLUMNS, np.ascontiguousarray(rows.T), strict=True))
    return records["number"].copy(), records["boxes"].copy(), records["stored"].copy(), Boxes(**columns)


def _walk_layout(path: Path, layout: Layout) -> GroupWalk:
    try:
        with path.open("rb") as raw, mmap(raw.fileno(), 0, access=ACCESS_READ) as content:
            return walk_groups(content, layout)
    except FileNotFoundError as error:
        raise InputError(
            f"{path} is not there where a worker looks for it; all machines must reach it under the same path"
        ) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{RELEASE_FILE} is damaged; fetch or write it again") from error


def _read_tables(path: Path, first: int, end: int) -> Iterator[pa.Table]:
    try:
        file = pq.ParquetFile(path)
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=range(first, end)):
            if len(batch):
                yield pa.Table.from_batches([batch]).replace_schema_metadata(file.schema_arrow.metadata)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{RELEASE_FILE} is damaged; fetch or write it again") from error


def _split_records(table: pa.Table, boxes: Boxes, key: bytes) -> list[RecordPiece]:
    coded = encode_pseudonyms(table)
    codes, names = coded.indices.to_numpy(), coded.dictionary.to_pylist()
    columns, stored = np.stack(boxes.columns(), axis=1), stored_bytes(table, key)
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]).tolist()
    return [
        RecordPiece(names[codes[start]], columns[start:end], stored[start:end].tobytes())
        for start, end in zip(starts, [*starts[1:], len(codes)], strict=True)
    ]


def _write_chunk(how: Spreading, name: str, pieces: Sequence[RecordPiece], numbers: Integers) -> bool:
    contents, drawn, unsorted = [], np.empty(len(pieces), dtype=np.int64), False
    lengths = np.array([len(piece.boxes) for piece in pieces], dtype=np.int64)
    together = np.concatenate([piece.boxes for piece in pieces])
    ascending = is_canonical(together, np.concatenate([[0], np.cumsum(lengths)]))
    for number, piece in enumerate(pieces):
        rows = piece.boxes
        if not ascending and not is_canonical(rows, np.array([0, len(rows)])):
            unsorted = True
            rows = rows[np.lexsort(rows.T[::-1])]
        content = np.ascontiguousarray(rows).tobytes()
        digest = blake2b(content, digest_size=8, key=how.key).digest()
        drawn[number] = int.from_bytes(digest, "little") % how.n_buckets
        contents.append(content)
    records = np.empty(len(pieces), dtype=_RECORD)
    digests = b"".join(record_digest(piece.stored) for piece in pieces)
    records["number"], records["boxes"] = numbers, lengths
    records["stored"] = np.frombuffer(digests, dtype=np.int64).reshape(-1, 2)
    order = np.argsort(drawn, kind="stable")
    records = records[order]
    record_ends = np.searchsorted(drawn[order], np.arange(how.n_buckets), side="right")
    box_ends = np.concatenate([[0], np.cumsum(records["boxes"])])[record_ends]

    def write(file: BinaryIO) -> None:
        file.write(np.stack([record_ends, box_ends]).astype(np.int64).tobytes())
        file.write(records.tobytes())
        for place in order.tolist():
            file.write(contents[place])

    with staged_file(how.scratch / name, write):
        pass
    return unsorted


def _read_chunk(how: Spreading, chunk: BucketFile, bucket: int) -> tuple[npt.NDArray[np.void], Integers]:
    width = len(BOX_COLUMNS)
    with (how.scratch / chunk.name).open("rb") as file:
        ends = np.fromfile(file, dtype=np.int64, count=2 * how.n_buckets).reshape(2, -1)
        (first, first_box), (end, end_box) = ends[:, bucket - 1] if bucket else (0, 0), ends[:, bucket]
        begin = ends.nbytes
        file.seek(begin + int(first) * _RECORD.itemsize)
        records = np.fromfile(file, dtype=_RECORD, count=int(end - first))
        begin += int(ends[0, -1]) * _RECORD.itemsize
        file.seek(begin + int(first_box) * width * 8)
        rows = np.fromfile(file, dtype=np.int64, count=int(end_box - first_box) * width)
    records["number"] += chunk.first
    return records, rows.reshape(-1, width)


def _ends_file(how: Spreading, task: SpreadTask) -> Path:
    return how.scratch / f"{task.first}.ends.npz"
