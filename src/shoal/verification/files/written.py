"""Read the table as written, once for all checks."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.model.verdicts import Finding
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.packing import (
    GEOMETRY,
    ROWS_PER_GROUP,
    ColumnwiseWriter,
    group_pieces,
    read_table,
    share_equal,
)
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.run import Run
from shoal.verification.boxes.loops import is_canonical
from shoal.verification.files.layout import layout_findings
from shoal.verification.files.thrift import not_readable

TOO_MANY_GROUPS: Final = (
    f"{RELEASE_FILE} has its rows in more groups than they need: where each ends may carry a message"
)
_MOST_GROUPS: Final = 3  # in addition to two for each full one: parts are written one by one
PACKED_DIFFERENTLY: Final = (
    f"{RELEASE_FILE} is packed otherwise than this machine packs its rows: another version of pyarrow or of "
    "zstd does so, and so does somebody who hides a message there"
)
_ROWS_AT_ONCE: Final = 1 << 18


class Repacking:
    """Packs the rows again and compares: packing could carry a message."""

    def __init__(self, content: bytes, file: pq.ParquetFile) -> None:
        self._footer, self._again = file.metadata, _ComparedFile(content)
        self._writer = ColumnwiseWriter(self._again, file.schema_arrow.remove_metadata())
        self._outlines: list[pa.Array] = []
        self._n_rows = 0  # of the row group

    def pack(self, piece: pa.Table) -> None:
        """Add columns of a row group; its outlines may follow in several pieces."""
        if piece.column_names != [GEOMETRY]:
            self._n_rows = len(piece)
            self._writer.write(piece)
            return
        self._outlines.append(share_equal(piece[GEOMETRY].combine_chunks()))
        if sum(map(len, self._outlines)) >= self._n_rows:
            together = pa.table({GEOMETRY: pa.concat_arrays(self._outlines)})
            self._outlines.clear()
            release_idle_memory()  # writing needs the memory
            self._writer.write(together)

    def finish(self) -> list[str]:
        """Notes on too many groups and on different bytes."""
        self._writer.close(self._footer.metadata or {})
        torn = self._footer.num_row_groups > _MOST_GROUPS + 2 * (self._footer.num_rows // ROWS_PER_GROUP)
        return [TOO_MANY_GROUPS] * torn + [PACKED_DIFFERENTLY] * (not self._again.is_complete)


class _ComparedFile:
    def __init__(self, content: bytes) -> None:
        self._content, self._at, self._same = content, 0, True

    def write(self, part: bytes | memoryview) -> None:
        end = self._at + len(part)
        self._same = self._same and self._content[self._at : end] == part
        self._at = end

    @property
    def is_complete(self) -> bool:
        return self._same and self._at == len(self._content)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WrittenTable:
    """The result of one reading."""

    content: bytes  # the file's bytes, with their sha256
    sha256: str
    hidden: Sequence[Finding]  # findings on bytes that are no rows
    packing: Sequence[str]  # notes on how rows are packed
    footer: pq.FileMetaData
    schema: pa.Schema
    table: pa.Table  # the columns that were kept
    trajectory_ids: tuple[str, ...]  # in order of first appearance
    record: Numbers  # int32 [rows], the place of each row's pseudonym

    @property
    def offsets(self) -> Integers:
        """int64 [records + 1], were the rows of records together."""
        counts = np.bincount(self.record, minlength=len(self.trajectory_ids))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def without_rows(self) -> "WrittenTable":
        """Without what needs memory."""
        return replace(self, content=b"", record=self.record[:0].copy())

    def all_columns(self) -> pa.Table:
        """All rows, read again."""
        return read_table(pq.ParquetFile(pa.BufferReader(self.content)))


def read_written(
    path: Path,
    run: Run | None = None,
    *,
    look: Callable[[pa.Table, int], None] = lambda _piece, _n_rows: None,
    passed: Collection[str] = (),
) -> WrittenTable:
    """Read a release's table once, group by group, outlines last.

    look: called with each piece and the number of all rows. passed: columns not needed afterwards.
    """
    run = run or Run(threads=1)
    require_plain_file(path)
    with _readable(path):
        content = path.read_bytes()
        hidden = layout_findings(content, run)
        file = pq.ParquetFile(pa.BufferReader(content))
    repacking = None if hidden else Repacking(content, file)
    pack = (lambda _piece: None) if repacking is None else repacking.pack
    names, tables, schema = list[pa.Array](), list[pa.Table](), file.schema_arrow
    for number in range(file.num_row_groups):
        pieces, kept = group_pieces(file, number), list[pa.Table]()
        while (piece := _next_of(pieces, path)) is not None:
            with run.alongside(partial(pack, piece)) as packed:
                if not kept:
                    names.append(encode_pseudonyms(piece))
                look(piece, file.metadata.num_rows)
                packed()
            kept.append(piece.select([name for name in piece.column_names if name not in passed]))
            del piece, packed  # free memory before the next piece is read
        rows, *outlines = kept
        tables.append(_add_columns(rows, pa.concat_tables(outlines)) if outlines else rows)
    if not tables:
        tables.append(schema.empty_table())
        names.append(encode_pseudonyms(tables[0]))
        look(tables[0], 0)
    coded = _unified(names)
    return WrittenTable(
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        hidden=hidden,
        packing=[] if repacking is None else repacking.finish(),
        footer=file.metadata,
        schema=schema,
        table=pa.concat_tables(tables),
        trajectory_ids=tuple(coded.dictionary.to_pylist()),
        record=coded.indices.to_numpy(),
    )


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise not_readable(str(path)) from error


def _next_of(pieces: Iterator[pa.Table], path: Path) -> pa.Table | None:
    with _readable(path):
        return next(pieces, None)


def _add_columns(table: pa.Table, more: pa.Table) -> pa.Table:
    for field, column in zip(more.schema, more.columns, strict=True):
        table = table.append_column(field, column)
    return table


def row_order_faults(
    written: WrittenTable, columns: Sequence[Numbers], names: Sequence[str]
) -> Iterator[Finding]:
    """Rows apart from their record, or not in order; columns: [rows] each."""
    if (written.record[1:] < written.record[:-1]).any():
        yield Finding("row-order", "the rows of one record do not stand together")
    elif not all(_pieces_ascend(columns, written.offsets)):
        yield Finding("row-order", f"the rows of a record do not ascend by {', '.join(names)}")


def _pieces_ascend(columns: Sequence[Numbers], offsets: Integers) -> Iterator[bool]:
    first, n_records = 0, len(offsets) - 1
    while first < n_records:
        end = int(np.searchsorted(offsets, offsets[first] + _ROWS_AT_ONCE, side="right")) - 1
        end = min(max(end, first + 1), n_records)
        rows = slice(offsets[first], offsets[end])
        together = np.stack([column[rows] for column in columns], axis=1)
        yield is_canonical(together, offsets[first : end + 1] - offsets[first])
        first = end


def encode_pseudonyms(table: pa.Table) -> pa.DictionaryArray:
    """The pseudonym of each row, in order of first appearance."""
    if "trajectory_id" not in table.column_names:
        raise InputError(f"{RELEASE_FILE} lacks the column trajectory_id; write the release again")
    if table["trajectory_id"].null_count:
        raise InputError(f"{RELEASE_FILE} has empty values in its columns; write the release again")
    try:
        names = table["trajectory_id"].cast(pa.string())
        names.validate(full=True)  # a file may hold bytes that are no text
        return _unified(names.dictionary_encode().chunks)
    except pa.ArrowException as error:
        raise InputError(
            f"the column trajectory_id of {RELEASE_FILE} holds no text; write the release again"
        ) from error


def _unified(parts: list[pa.Array]) -> pa.DictionaryArray:
    kind = pa.dictionary(pa.int32(), pa.string())
    return pa.chunked_array(parts, kind).unify_dictionaries().combine_chunks()
