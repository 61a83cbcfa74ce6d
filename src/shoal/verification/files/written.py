"""The table of a release as it was written, read once for all checks."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from shoal.release_folder.packing import ROWS_PER_GROUP, ColumnwiseWriter, pieces_in, table_in
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.run import Run
from shoal.verification.boxes.loops import is_canonical
from shoal.verification.files.layout import layout_findings

TORN: Final = (
    f"{RELEASE_FILE} has its rows in more groups than they need: where each ends may carry a message"
)
_MOST_GROUPS: Final = 3  # more than two for each full one: parts are written one by one
OTHERWISE: Final = (
    f"{RELEASE_FILE} is packed otherwise than this machine packs its rows: another version of pyarrow or of "
    "zstd does so, and so does somebody who hides a message there"
)
_ROWS_AT_ONCE: Final = 1 << 18


class Repacking:
    """The rows of a file packed again, group by group, beside its bytes."""

    def __init__(self, content: bytes, file: pq.ParquetFile) -> None:
        self._footer, self._again = file.metadata, _Repeated(content)
        self._writer = ColumnwiseWriter(self._again, file.schema_arrow.remove_metadata())

    def pack(self, columns: pa.Table) -> None:
        """Take in the next columns of a group of rows."""
        self._writer.write(columns)

    def finish(self) -> list[str]:
        """Notes on many groups, and on rows that are packed into other bytes; all groups must have come."""
        self._writer.close(self._footer.metadata or {})
        torn = self._footer.num_row_groups > _MOST_GROUPS + 2 * (self._footer.num_rows // ROWS_PER_GROUP)
        return [TORN] * torn + [OTHERWISE] * (not self._again.is_complete)


class _Repeated:
    """A file that keeps nothing, and tells whether what is written to it is this content."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at, self._same = content, 0, True

    def write(self, part: bytes | memoryview) -> None:
        """Compare the next bytes."""
        end = self._at + len(part)
        self._same = self._same and self._content[self._at : end] == part
        self._at = end

    @property
    def is_complete(self) -> bool:
        """Whether exactly the content was written."""
        return self._same and self._at == len(self._content)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WrittenTable:
    """What one reading of the file shows.

    content: its bytes; sha256: of these, in hexadecimal. hidden: what they hold beside its rows. packing:
    notes on how rows are packed, unless the bytes hold more than these anyway. footer: what the file says
    beside its columns. schema: of all columns; table: those that were to be kept. trajectory_ids: the
    pseudonyms in the order in which they first appear. record: int32 [rows], the place of each row's
    pseudonym among them.
    """

    content: bytes
    sha256: str
    hidden: Sequence[Finding]
    packing: Sequence[str]
    footer: pq.FileMetaData
    schema: pa.Schema
    table: pa.Table
    trajectory_ids: tuple[str, ...]
    record: Numbers

    @property
    def offsets(self) -> Integers:
        """int64 [records + 1]: where the rows of each record would begin, were they put together."""
        counts = np.bincount(self.record, minlength=len(self.trajectory_ids))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def all_columns(self) -> pa.Table:
        """All rows with all their columns, read from the bytes once more."""
        return table_in(pq.ParquetFile(pa.BufferReader(self.content)))


def look_at_none(piece: pa.Table, n_rows: int) -> None:
    """For tables of which no column is looked at while they are read."""


def read_written(
    path: Path,
    run: Run | None = None,
    *,
    look: Callable[[pa.Table, int], None] = look_at_none,
    passed: Collection[str] = (),
) -> WrittenTable:
    """Read the table of a release, once, one group of its rows after the other, outlines behind the rest.

    look: is handed each piece, and how many rows there are in all; passed: columns that nobody asks for
    afterwards. Raises InputError when the file is missing, truncated, no Parquet, or has a row without a
    pseudonym.
    """
    run = run or Run(threads=1)
    require_plain_file(path)
    with _readable(path):
        content = path.read_bytes()
        hidden = layout_findings(content, run)
        file = pq.ParquetFile(pa.BufferReader(content))
    repacking = None if hidden else Repacking(content, file)
    names, kept, schema = _Names(), list[pa.Table](), file.schema_arrow
    for number in range(file.num_row_groups):
        own: pa.Table | None = None
        pieces = pieces_in(file, number)
        while (piece := _next_of(pieces, path)) is not None:
            with run.alongside(partial(_pack, repacking, piece)) as packed:
                if own is None:
                    names.add(piece)
                look(piece, file.metadata.num_rows)
                packed()
            rest = piece.select([name for name in piece.column_names if name not in passed])
            own = rest if own is None else _beside(own, rest)
            del piece, packed, rest  # before the next one is read: with one thread the other holds it, too
        kept.append(own)
    if not kept:
        kept.append(schema.empty_table())
        names.add(kept[0])
        look(kept[0], 0)
    coded = names.coded()
    return WrittenTable(
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        hidden=hidden,
        packing=[] if repacking is None else repacking.finish(),
        footer=file.metadata,
        schema=schema,
        table=pa.concat_tables(kept),
        trajectory_ids=tuple(coded.dictionary.to_pylist()),
        record=coded.indices.to_numpy(),
    )


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise InputError where the block cannot read the file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is not a readable Parquet file (truncated or another format); fetch or write it again"
        ) from error


def _next_of(pieces: Iterator[pa.Table], path: Path) -> pa.Table | None:
    """The next piece, None behind the last."""
    with _readable(path):
        return next(pieces, None)


def _beside(own: pa.Table, more: pa.Table) -> pa.Table:
    """The columns of both."""
    for field, column in zip(more.schema, more.columns, strict=True):
        own = own.append_column(field, column)
    return own


def _pack(repacking: Repacking | None, piece: pa.Table) -> None:
    if repacking is not None:
        repacking.pack(piece)


def row_order(written: WrittenTable, columns: Sequence[Numbers], names: Sequence[str]) -> Iterator[Finding]:
    """Rows that do not stand with their record, or not in canonical order.

    Such an order could tell the members of a class apart. columns: [rows] each, in the order of the file.
    """
    if (written.record[1:] < written.record[:-1]).any():
        yield Finding("row-order", "the rows of one record do not stand together")
    elif not all(_pieces_ascend(columns, written.offsets)):
        yield Finding("row-order", f"the rows of a record do not ascend by {', '.join(names)}")


def _pieces_ascend(columns: Sequence[Numbers], offsets: Integers) -> Iterator[bool]:
    """Whether the rows of each record ascend, for so many whole records at a time that little is copied."""
    first, n_records = 0, len(offsets) - 1
    while first < n_records:
        behind = int(np.searchsorted(offsets, offsets[first] + _ROWS_AT_ONCE, side="right")) - 1
        behind = min(max(behind, first + 1), n_records)
        rows = slice(offsets[first], offsets[behind])
        together = np.stack([column[rows] for column in columns], axis=1)
        yield is_canonical(together, offsets[first : behind + 1] - offsets[first])
        first = behind


class _Names:
    """The pseudonyms of a table's rows, which come group by group."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._lacking = self._gaps = False
        self._no_text: pa.ArrowException | None = None

    def add(self, table: pa.Table) -> None:
        """Take in some rows; what is wrong with them is told at the end."""
        self._lacking |= "trajectory_id" not in table.column_names
        self._gaps |= not self._lacking and table["trajectory_id"].null_count > 0
        if self._lacking or self._gaps or self._no_text is not None:
            return
        try:
            column = table["trajectory_id"].cast(pa.string())
            column.validate(full=True)  # a file may hold bytes that are no text
            self._parts += column.dictionary_encode().chunks
        except pa.ArrowException as error:
            self._no_text = error

    def coded(self) -> pa.DictionaryArray:
        """The pseudonym of each row, different ones in the order in which they first appear."""
        if self._lacking:
            raise InputError(f"{RELEASE_FILE} lacks the column trajectory_id; write the release again")
        if self._gaps:
            raise InputError(f"{RELEASE_FILE} has empty values in its columns; write the release again")
        if self._no_text is not None:
            raise InputError(
                f"the column trajectory_id of {RELEASE_FILE} holds no text; write the release again"
            ) from self._no_text
        kind = pa.dictionary(pa.int32(), pa.string())
        return pa.chunked_array(self._parts, kind).unify_dictionaries().combine_chunks()


def pseudonyms(table: pa.Table) -> pa.DictionaryArray:
    """The pseudonym of each row, different ones in the order in which they first appear.

    Raises InputError when the column is missing, has gaps, or holds no text.
    """
    names = _Names()
    names.add(table)
    return names.coded()
