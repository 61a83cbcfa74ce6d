"""Arrow IPC files (Feather) and streams, read batch by batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.io.formats.input_table import Table, table_of_batches
from shoal.io.formats.row_files import explain_damage
from shoal.model.intake import Reading


def open_table(path: Path, _reading: Reading) -> Table:
    """Columns and rows of a whole file."""
    with _opened(path) as (reader, _):
        schema = reader.schema

    def read(_: list[str]) -> Iterator[pa.RecordBatch]:
        with _opened(path) as (reader, count):
            yield from reader if count is None else (reader.get_batch(index) for index in range(count))

    return table_of_batches(path.name, schema, read)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, int | None]]:
    """None batches for a stream."""
    damaged = f"{path.name} is not a whole Arrow or Feather file; it may be cut off: copy or write it again"
    with explain_damage(damaged, pa.ArrowException, OSError), pa.OSFile(str(path)) as file:
        try:
            reader = pa.ipc.open_file(file)
            count: int | None = reader.num_record_batches
        except pa.ArrowInvalid:
            file.seek(0)
            reader, count = pa.ipc.open_stream(file), None
        yield reader, count
