"""One writer and one reader of a release's table, also for the verifier."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.release_folder.joining import MAGIC, ColumnFile, file_tail, footer_of_columns, split_file
from shoal.runtime.memory import release_idle_memory

ROWS_PER_GROUP: Final = 1 << 20
GEOMETRY: Final = "geometry"
_READ_AT_ONCE: Final = 1 << 16
_MOST_BYTES: Final = 1 << 30  # 32-bit offsets reach so far


def parquet_writer(where: Path | pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of tables with this schema."""
    return pq.ParquetWriter(where, schema, compression="zstd", store_schema=False)


def geometry_pairs(kinds: Sequence[str], bounds: Sequence[float]) -> dict[bytes, bytes]:
    """A file's metadata as GeoParquet 1.1 asks; kinds: of geometries, bounds: west, south, east, north."""
    about = {"encoding": "WKB", "geometry_types": kinds, "bbox": bounds}
    text = {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: about}}
    return {b"geo": json.dumps(text).encode()}


def group_pieces(file: pq.ParquetFile, number: int) -> Iterator[pa.Table]:
    """Read the columns of a row group on this thread, outlines (the widest column) last and alone.

    pyarrow's threads keep what they read. Where outlines are not last, or names not plain, it comes in one
    piece.
    """
    schema = file.schema_arrow
    names = schema.names
    plain = all(not field.type.num_fields and "." not in field.name for field in schema)
    if not names or len(set(names)) < len(names) or not plain:
        yield file.read_row_group(number, use_threads=False)
        return
    n = len(names) - (len(names) > 1 and names[-1] == GEOMETRY)
    before = [file.read_row_group(number, [name], use_threads=False)[name] for name in names[:n]]
    yield pa.table(before, schema=pa.schema(list(schema)[:n], metadata=schema.metadata))
    del before
    if n < len(names):
        release_idle_memory()  # of the columns before: the outlines need as much
        outlines = pa.schema([schema.field(GEOMETRY)], metadata=schema.metadata)
        yield pa.table([_end_to_end(file, number)], schema=outlines)


def _end_to_end(file: pq.ParquetFile, number: int) -> pa.Array | pa.ChunkedArray:
    """By batches of one length: at once they need twice the memory."""
    n_rows, content, at = file.metadata.row_group(number).num_rows, np.empty(0, dtype=np.uint8), 0
    batches = file.iter_batches(_READ_AT_ONCE, row_groups=[number], columns=[GEOMETRY], use_threads=False)
    for batch in batches:
        some = batch.column(0)
        if some.type != pa.binary() or some.null_count or not len(some):
            break  # not as in a release
        ends = np.frombuffer(some.buffers()[1], dtype=np.int32)[some.offset : some.offset + len(some) + 1]
        size = int(ends[1] - ends[0])
        if not at and n_rows * size <= _MOST_BYTES:
            content = np.empty(n_rows * size, dtype=np.uint8)
        if (np.diff(ends) != size).any() or not size or size * n_rows != len(content):
            break
        content[at : at + size * len(some)] = np.frombuffer(some.buffers()[2], dtype=np.uint8)[
            ends[0] : ends[-1]
        ]
        at += size * len(some)
    else:
        if at and at == len(content):
            begins = np.arange(0, at + 1, at // n_rows, dtype=np.int32)
            return pa.Array.from_buffers(
                pa.binary(), n_rows, [None, pa.py_buffer(begins), pa.py_buffer(content)]
            )
    del content
    return file.read_row_group(number, [GEOMETRY], use_threads=False)[GEOMETRY]


def read_table(file: pq.ParquetFile, *, outlines: bool = True) -> pa.Table:
    """All rows, group by group; ``pq.read_table`` is slower and loads pandas."""
    columns = None if outlines else [name for name in file.schema_arrow.names if name != GEOMETRY]
    groups = [file.read_row_group(group, columns) for group in range(file.num_row_groups)]
    return pa.concat_tables(groups) if groups else file.schema_arrow.empty_table()


class Target(Protocol):
    """Takes the bytes of a file in order."""

    def write(self, part: bytes | memoryview, /) -> Any:
        """Take the next bytes."""


class ColumnwiseWriter:
    """Writes a table column by column, to the bytes of pyarrow's writer."""

    def __init__(self, target: Target, schema: pa.Schema) -> None:
        self._target, self._at = target, 0
        self._fields = [pa.schema([field]) for field in schema]
        self._groups: list[list[ColumnFile]] = []
        self._write(MAGIC)

    def write(self, columns: pa.Table) -> None:
        """Write the next columns of a row group; groups come in full."""
        for column in columns.columns:
            if not self._groups or len(self._groups[-1]) == len(self._fields):
                self._groups.append([])
            field = self._fields[len(self._groups[-1])]
            pages, footer = _file_of(field, pa.table([column], schema=field))
            self._groups[-1].append(ColumnFile(footer, self._at - len(MAGIC)))
            self._write(pages)

    def close(self, pairs: dict[bytes, bytes]) -> None:
        """Write the footer; pairs: the file's metadata."""
        if self._fields:
            groups = self._groups or [[ColumnFile(_file_of(field)[1], 0) for field in self._fields]]
            self._write(file_tail(footer_of_columns(groups, pairs)))

    def _write(self, part: bytes | memoryview) -> None:
        self._target.write(part)
        self._at += len(part)


def _file_of(schema: pa.Schema, table: pa.Table | None = None) -> tuple[memoryview, bytes]:
    sink = pa.BufferOutputStream()
    with parquet_writer(sink, schema) as writer:
        if table is not None:
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)
    return split_file(sink.getvalue().to_pybytes())
