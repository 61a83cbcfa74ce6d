"""A Parquet file written one column of a group of rows after the other, to the bytes of pyarrow's own writer.

That one takes all columns of a group at once, and they are the most that a publication holds beside its data.
Here each column of a group is a small file of its own, whose pages go into the large one.
"""

from typing import Any, Protocol

import pyarrow as pa

from shoal.release_folder.joining import MAGIC, ColumnFile, footer_of_columns, parted, tail_of
from shoal.release_folder.packing import ROWS_PER_GROUP, parquet_writer


class Target(Protocol):
    """What takes the bytes of a file, in their order."""

    def write(self, part: bytes | memoryview, /) -> Any:
        """Take the next ones."""


class ColumnwiseWriter:
    """Writes a table with this schema; close it at the end, else the file has no footer."""

    def __init__(self, target: Target, schema: pa.Schema) -> None:
        self._target, self._at = target, 0
        self._fields = [pa.schema([field]) for field in schema]
        self._groups: list[list[ColumnFile]] = []
        self._write(MAGIC)

    def write(self, columns: pa.Table) -> None:
        """Write the next columns of a group of rows, as many of them as there are; groups come in full."""
        for column in columns.columns:
            if not self._groups or len(self._groups[-1]) == len(self._fields):
                self._groups.append([])
            field = self._fields[len(self._groups[-1])]
            pages, footer = _file_of(field, pa.table([column], schema=field))
            self._groups[-1].append(ColumnFile(footer, self._at - len(MAGIC)))
            self._write(pages)

    def close(self, pairs: dict[bytes, bytes]) -> None:
        """Write the footer; pairs: the file's metadata, by key."""
        if self._fields:
            groups = self._groups or [[ColumnFile(_file_of(field)[1], 0) for field in self._fields]]
            self._write(tail_of(footer_of_columns(groups, pairs)))

    def _write(self, part: bytes | memoryview) -> None:
        self._target.write(part)
        self._at += len(part)


def _file_of(schema: pa.Schema, table: pa.Table | None = None) -> tuple[memoryview, bytes]:
    """(pages, footer) of a file with one group of rows, or with none."""
    sink = pa.BufferOutputStream()
    with parquet_writer(sink, schema) as writer:
        if table is not None:
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)
    return parted(sink.getvalue().to_pybytes())
