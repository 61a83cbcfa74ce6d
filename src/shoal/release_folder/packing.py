"""One writer and one reader of a release's table, also for the verifier."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.release_folder.joining import MAGIC, ColumnFile, file_tail, footer_of_columns, split_file
from shoal.runtime.arrays import Integers
from shoal.runtime.memory import release_idle_memory

ROWS_PER_GROUP: Final = 1 << 20
GEOMETRY: Final = "geometry"
_READ_AT_ONCE: Final = 1 << 16
_VIEWS: Final = (pa.string_view(), pa.binary_view())
_VIEW: Final = np.dtype("V16")  # where a text lies, or a short one itself


def parquet_writer(where: Path | pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of tables with this schema."""
    return pq.ParquetWriter(where, schema, compression="zstd", store_schema=False)


def geometry_pairs(kinds: Sequence[str], bounds: Sequence[float]) -> dict[bytes, bytes]:
    """A file's metadata as GeoParquet 1.1 asks; kinds: of geometries, bounds: west, south, east, north."""
    about = {"encoding": "WKB", "geometry_types": kinds, "bbox": bounds}
    text = {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: about}}
    return {b"geo": json.dumps(text).encode()}


def group_pieces(file: pq.ParquetFile, number: int) -> Iterator[pa.Table]:
    """Read the columns of a row group on this thread; outlines, the widest column, last, in several pieces.

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
        release_idle_memory()  # of the columns before
        outlines = pa.schema([schema.field(GEOMETRY)], metadata=schema.metadata)
        if not file.metadata.row_group(number).num_rows:
            yield outlines.empty_table()
        batches = file.iter_batches(_READ_AT_ONCE, row_groups=[number], columns=[GEOMETRY], use_threads=False)
        for batch in batches:
            yield pa.table([batch.column(0)], schema=outlines)
            del batch
            release_idle_memory()  # what is kept of a piece lies behind it


def share_equal(column: pa.Array) -> pa.Array:
    """The same texts or bytes; equal ones share their memory. Others stay as they are."""
    if column.type not in (pa.string(), pa.binary(), pa.large_binary()):
        return column
    coded = column.dictionary_encode(null_encoding="encode")
    return take_views(coded.dictionary, coded.indices.to_numpy())


def take_views(texts: pa.Array, rows: Integers) -> pa.Array:
    """These rows of texts or bytes, which share the memory of the texts; pyarrow cannot take views."""
    kind = pa.string_view() if pa.types.is_string(texts.type) else pa.binary_view()
    _, views, *content = texts.cast(kind).buffers()
    taken = pa.py_buffer(np.frombuffer(views, dtype=_VIEW)[rows])
    valid = texts.is_valid().take(pa.array(rows)).buffers()[1] if texts.null_count else None
    return pa.Array.from_buffers(kind, len(rows), [valid, taken, *content])


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
            if column.type in _VIEWS:  # stored as what they view
                field = pa.schema([field.field(0).with_type(column.type)])
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
    return split_file(memoryview(sink.getvalue()).cast("B"))
