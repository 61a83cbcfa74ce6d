"""Parquet and GeoParquet files, read batch by batch and only in the columns that are needed."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.io.tables import BATCH_ROWS, Table, geometry_of
from shoal.io.values import is_text
from shoal.model.intake import Reading


def open_table(path: Path, _reading: Reading) -> Table:
    """The columns and rows of one file. Raises InputError for a file that is empty, cut, or no Parquet."""
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    return open_source(path.name, lambda: path)


def open_source(name: str, source: Callable[[], Any], *, far: bool = False) -> Table:
    """The same of anything that pyarrow opens; source: gives it anew each time it is read.

    far: on another machine, so that a group of rows is fetched at once and not page by page.
    """
    try:
        with pq.ParquetFile(source()) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, ValueError, OSError) as error:
        raise InputError(_why(name, error)) from error

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        # Text is kept as codes into a dictionary, as the file holds it: a person's id is then decoded once,
        # not once a row.
        texts = [name for name in columns if is_text(schema.field(name).type)]
        done = 0
        try:
            with pq.ParquetFile(source(), read_dictionary=texts, pre_buffer=far) as file:
                groups = range(file.num_row_groups)
                parts = [[group] for group in groups] if far else [list(groups)]
                found = chain.from_iterable(
                    file.iter_batches(BATCH_ROWS, row_groups=part, columns=list(columns)) for part in parts
                )
                for batch in _ahead(found) if far else found:
                    batch.validate(full=True)  # a damaged file may hold text that is none
                    done += batch.num_rows
                    yield done / max(n_rows, 1), batch
        except (pa.ArrowException, ValueError, OSError) as error:
            raise InputError(_why(name, error)) from error
        if done != n_rows:
            raise InputError(
                f"{name} says it holds {n_rows:,} rows, but has {done:,}; it is damaged: copy or write "
                "it again"
            )

    return Table(name=name, columns=tuple(schema.names), batches=batches, geometry=geometry_of(name, schema))


def _ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches, each fetched while the one before is worked on."""
    with ThreadPoolExecutor(1) as fetching:
        waiting = fetching.submit(next, batches, None)
        while (batch := waiting.result()) is not None:
            waiting = fetching.submit(next, batches, None)
            yield batch


def _why(name: str, error: Exception) -> str:
    if isinstance(error, PermissionError):
        return f"{name} cannot be opened: no permission to read it"
    return f"{name} is not a whole Parquet file; it may be cut off: copy or write it again"
