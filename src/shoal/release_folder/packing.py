"""How the table of a release is packed: one writer and one reader of all kinds, also for the verifier."""

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP: Final = 1 << 20
GEOMETRY: Final = "geometry"


def parquet_writer(where: Path | pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of tables with this schema; close it, or use it in a ``with`` block."""
    return pq.ParquetWriter(where, schema, compression="zstd", store_schema=False)


def group_in(file: pq.ParquetFile, number: int) -> pa.Table:
    """A group of rows of a file, read on this thread, one column after the other, outlines first.

    While pyarrow reads a column it takes twice its memory, so the widest one is read while nothing else is
    there. Its own threads hold a group after it is let go of, until they are asked for another.
    """
    schema = file.schema_arrow
    names = schema.names
    simple = all(not field.type.num_fields and "." not in field.name for field in schema)
    if not names or len(set(names)) < len(names) or not simple:
        return file.read_row_group(number, use_threads=False)
    columns = {
        name: file.read_row_group(number, [name], use_threads=False)[name]
        for name in sorted(names, key=lambda name: name != GEOMETRY)
    }
    return pa.table([columns[name] for name in names], schema=schema)


def table_in(file: pq.ParquetFile, *, outlines: bool = True) -> pa.Table:
    """All rows of a file, read one group after the other; without their outlines where nobody needs them.

    As one piece, ``pq.read_table`` takes five times as long for two million boxes, and loads pandas.
    """
    columns = None if outlines else [name for name in file.schema_arrow.names if name != GEOMETRY]
    groups = [file.read_row_group(group, columns) for group in range(file.num_row_groups)]
    return pa.concat_tables(groups) if groups else file.schema_arrow.empty_table()
