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
from shoal.verification.files.precision import PrecisionCheck, boxes_as_written
from shoal.verification.files.stored import record_digest, stored_bytes
from shoal.verification.files.written import encode_pseudonyms

_ROWS_AT_ONCE: Final = 1 << 18
_ROWS_BEYOND: Final = 1 << 10  # of the next groups, where a record goes on
_RECORD: Final = np.dtype([("number", "<i8"), ("boxes", "<i8"), ("stored", "<i8", (2,))])


class RecordPiece(NamedTuple):
    """Consecutive rows of one name, int64 [r, 6]; stored: their bytes."""

    name: str
    boxes: Integers
    stored: bytes


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
    """What one task found; names: of the records that begin in its groups, in file order."""

    names: Pseudonyms
    chunks: list[BucketFile]
    n_rows: int
    unsorted: bool  # rows of one do not ascend
    bytes_walked: GroupWalk
    plane: PlaneCheck
    precision: PrecisionCheck


def spread_groups(task: SpreadTask) -> SpreadPart:
    """Spread the records that begin in some row groups; safe to repeat."""
    how = task.spreading
    path = how.folder / RELEASE_FILE
    bytes_walked = _walk_layout(path, task.layout)
    plane, precision = PlaneCheck(how.crs), PrecisionCheck(how.grid, how.crs)
    names: list[str] = []
    chunks: list[BucketFile] = []
    n_rows, unsorted = 0, False

    def write(pieces: Sequence[RecordPiece]) -> bool:
        if not pieces:
            return False
        chunks.append(BucketFile(f"{task.first}-{len(chunks)}", len(names)))
        names.extend(piece.name for piece in pieces)
        return _write_chunk(how, chunks[-1].name, pieces)

    before, waiting = _last_name(path, task.first), list[RecordPiece]()
    for table in _read_tables(path, range(task.first, task.end), _ROWS_AT_ONCE):
        boxes = precision.decode_rows(table)
        plane.add_boxes(boxes, how.grid)
        n_rows += len(table)
        pieces = _split_records(table, boxes, how.key)
        if not waiting and pieces[0].name == before:
            del pieces[0]  # the task where the record begins reads on to here
        pieces = _joined(waiting, pieces)
        unsorted |= write(pieces[:-1])
        waiting = pieces[-1:]
    beyond = range(task.end, pq.read_metadata(path).num_row_groups if waiting else task.end)
    for table in _read_tables(path, beyond, min(_ROWS_AT_ONCE, _ROWS_BEYOND)):
        pieces = _split_records(table, boxes_as_written(table, how.grid).boxes, how.key)
        pieces = _joined(waiting, pieces)
        waiting = pieces[:1]
        if len(pieces) > 1:
            break
    unsorted |= write(waiting)
    return SpreadPart(
        names=Pseudonyms.of(names),
        chunks=chunks,
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
        self._names: list[Pseudonyms] = []

    def add(self, seen: SpreadPart) -> None:
        """Add what the next task found."""
        self.n_rows += seen.n_rows
        self.unsorted |= seen.unsorted
        self.walked.append(seen.bytes_walked)
        self.plane.merge(seen.plane)
        self.precision.merge(seen.precision)
        start = sum(map(len, self._names))
        self.chunks += [chunk._replace(first=start + chunk.first) for chunk in seen.chunks]
        self._names.append(seen.names)

    @property
    def names(self) -> Pseudonyms:
        """Names of all records, in order."""
        self._names = [Pseudonyms.concatenate(self._names)]
        return self._names[0]

    def faults(self) -> Iterator[Finding]:
        """Findings on the order of the rows."""
        if self.names.duplicate_positions():
            yield Finding("row-order", "the rows of one record do not stand together")
        if self.unsorted:
            yield Finding("row-order", f"the rows of a record do not ascend by {', '.join(BOX_COLUMNS)}")


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


def _read_tables(path: Path, groups: range, at_once: int) -> Iterator[pa.Table]:
    try:
        file = pq.ParquetFile(path)
        for batch in file.iter_batches(at_once, row_groups=groups):
            if len(batch):
                yield pa.Table.from_batches([batch]).replace_schema_metadata(file.schema_arrow.metadata)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{RELEASE_FILE} is damaged; fetch or write it again") from error


def _last_name(path: Path, end: int) -> str | None:
    """The pseudonym of the last row before a row group."""
    file = pq.ParquetFile(path)
    filled = [group for group in range(end) if file.metadata.row_group(group).num_rows]
    if not filled:
        return None
    table = file.read_row_group(filled[-1], columns=["trajectory_id"])
    return str(encode_pseudonyms(table.slice(len(table) - 1)).dictionary[0])


def _joined(waiting: list[RecordPiece], pieces: list[RecordPiece]) -> list[RecordPiece]:
    """The pieces with the record that waits for its next one."""
    if waiting and pieces and waiting[0].name == pieces[0].name:
        one, more = waiting[0], pieces[0]
        joined = RecordPiece(one.name, np.concatenate([one.boxes, more.boxes]), one.stored + more.stored)
        return [joined, *pieces[1:]]
    return waiting + pieces


def _split_records(table: pa.Table, boxes: Boxes, key: bytes) -> list[RecordPiece]:
    coded = encode_pseudonyms(table)
    codes, names = coded.indices.to_numpy(), coded.dictionary.to_pylist()
    columns, stored = np.stack(boxes.columns(), axis=1), stored_bytes(table, key)
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]).tolist()
    return [
        RecordPiece(names[codes[start]], columns[start:end], stored[start:end].tobytes())
        for start, end in zip(starts, [*starts[1:], len(codes)], strict=True)
    ]


def _write_chunk(how: Spreading, name: str, pieces: Sequence[RecordPiece]) -> bool:
    """Returns whether rows of one did not ascend."""
    contents, drawn = [], np.empty(len(pieces), dtype=np.int64)
    lengths = np.array([len(piece.boxes) for piece in pieces], dtype=np.int64)
    together = np.concatenate([piece.boxes for piece in pieces])
    ascending = is_canonical(together, np.concatenate([[0], np.cumsum(lengths)]))
    for number, piece in enumerate(pieces):
        rows = piece.boxes if ascending else piece.boxes[np.lexsort(piece.boxes.T[::-1])]
        content = np.ascontiguousarray(rows).tobytes()
        digest = blake2b(content, digest_size=8, key=how.key).digest()
        drawn[number] = int.from_bytes(digest, "little") % how.n_buckets
        contents.append(content)
    records = np.empty(len(pieces), dtype=_RECORD)
    digests = b"".join(record_digest(piece.stored) for piece in pieces)
    records["number"], records["boxes"] = np.arange(len(pieces)), lengths
    records["stored"] = np.frombuffer(digests, dtype=np.int64).reshape(-1, 2)
    order = np.argsort(drawn, kind="stable")
    records = records[order]
    record_ends = np.searchsorted(drawn[order], np.arange(how.n_buckets), side="right")
    box_ends = np.concatenate([[0], np.cumsum(records["boxes"])])[record_ends]

    def write(file: BinaryIO) -> None:
        file.write(np.stack([record_ends, box_ends]).astype(np.int64).tobytes())
        file.write(records.tobytes())
        for position in order.tolist():
            file.write(contents[position])

    with staged_file(how.scratch / name, write):
        pass
    return not ascending


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
