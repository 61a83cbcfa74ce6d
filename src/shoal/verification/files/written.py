"""The table of a release as it was written, read once for all checks."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.model.verdicts import Finding
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.packing import table_in
from shoal.release_folder.plain_files import require_plain_file
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.run import Run
from shoal.verification.boxes.loops import is_canonical
from shoal.verification.files.layout import layout_findings
from shoal.verification.files.packed import packing_notes

_ROWS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WrittenTable:
    """What one reading of the file shows.

    content: its bytes; sha256: of these, in hexadecimal. hidden: what they hold beside its rows. footer: what
    the file says beside its columns. trajectory_ids: the pseudonyms in the order in which they first appear.
    record: int64 [rows], the place of each row's pseudonym among them.
    """

    content: bytes
    sha256: str
    hidden: Sequence[Finding]
    footer: pq.FileMetaData
    table: pa.Table
    trajectory_ids: tuple[str, ...]
    record: Integers

    @property
    def offsets(self) -> Integers:
        """int64 [records + 1]: where the rows of each record would begin, were they put together."""
        counts = np.bincount(self.record, minlength=len(self.trajectory_ids))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def packing(self) -> list[str]:
        """Notes on how the rows are packed, unless the bytes hold more than these anyway."""
        return [] if self.hidden else list(packing_notes(self.content, self.table))


def read_written(path: Path, run: Run | None = None) -> WrittenTable:
    """Read the table of a release, once.

    Raises InputError when the file is missing, truncated, no Parquet, or has a row without a pseudonym.
    """
    require_plain_file(path)
    try:
        content = path.read_bytes()
        hidden = layout_findings(content, run)
        file = pq.ParquetFile(pa.BufferReader(content))
        table = table_in(file)
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is not a readable Parquet file (truncated or another format); fetch or write it again"
        ) from error
    names = pseudonyms(table)
    return WrittenTable(
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        hidden=hidden,
        footer=file.metadata,
        table=table,
        trajectory_ids=tuple(names.dictionary.to_pylist()),
        record=names.indices.to_numpy().astype(np.int64),
    )


def row_order(written: WrittenTable, columns: Sequence[Numbers], names: Sequence[str]) -> Iterator[Finding]:
    """Rows that do not stand with their record, or not in canonical order.

    Such an order could tell the members of a class apart. columns: [rows] each, in the order of the file.
    """
    if (np.diff(written.record) < 0).any():
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


def pseudonyms(table: pa.Table) -> pa.DictionaryArray:
    """The pseudonym of each row, different ones in the order in which they first appear.

    Raises InputError when the column is missing, has gaps, or holds no text.
    """
    if "trajectory_id" not in table.column_names:
        raise InputError(f"{RELEASE_FILE} lacks the column trajectory_id; write the release again")
    if table["trajectory_id"].null_count:
        raise InputError(f"{RELEASE_FILE} has empty values in its columns; write the release again")
    try:
        column = table["trajectory_id"].cast(pa.string())
        column.validate(full=True)  # a file may hold bytes that are no text
        return column.dictionary_encode().unify_dictionaries().combine_chunks()
    except pa.ArrowException as error:
        raise InputError(
            f"the column trajectory_id of {RELEASE_FILE} holds no text; write the release again"
        ) from error
