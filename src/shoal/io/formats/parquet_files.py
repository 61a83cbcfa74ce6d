"""Parquet and GeoParquet, of which only the needed columns are read, and Arrow IPC, batch by batch."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.io.columns.values import is_text
from shoal.io.formats.input_table import BATCH_ROWS, Table, geometry_of, runs, table_of_batches
from shoal.io.formats.row_files import explain_damage, explain_store_error
from shoal.model.intake import Reading

# a small file can claim to fill a machine's memory: refused is a group of rows that unpacks to more than this
# and to so many times the file, and more rows than this and than so many a byte of it
_MOST_UNPACKED_BYTES: Final = 1 << 30
_MOST_UNPACKED: Final = 100
_MOST_ROWS: Final = 10_000_000
_MOST_ROWS_A_BYTE: Final = 10
_RUN_ROWS: Final = BATCH_ROWS // 2  # of row groups that are read together, at least


def open_table(path: Path, _reading: Reading) -> Table:
    """Columns and rows of a whole file."""
    with suppress(OSError), path.open("rb") as file:
        if b"\n" in (head := file.read(1 << 16)) and b"\0" not in head and not head.startswith(b"PAR1"):
            raise InputError(f"{path.name} is text, not Parquet; if it is CSV, name it {path.stem}.csv")
    return open_source(path.name, lambda: pa.OSFile(str(path)))


def open_arrow(path: Path, _reading: Reading) -> Table:
    """Columns and rows of an Arrow IPC file (Feather) or stream."""
    with _opened_arrow(path) as (reader, _):
        schema = reader.schema

    def read(_: list[str]) -> Iterator[pa.RecordBatch]:
        with _opened_arrow(path) as (reader, count):
            yield from reader if count is None else (reader.get_batch(index) for index in range(count))

    return table_of_batches(path.name, schema, read)


@contextmanager
def _opened_arrow(path: Path) -> Iterator[tuple[Any, int | None]]:
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


def open_source(name: str, source: Callable[[], pa.NativeFile], *, far: bool = False) -> Table:
    """Columns and rows. source: opens the file for each pass. far: groups of rows are fetched at once."""
    explained = partial(explain_damage, partial(_why, name), pa.ArrowException, ValueError, OSError)
    with explained(), source() as stored, pq.ParquetFile(stored) as file:
        _require_no_bomb(name, file.metadata, stored.size())
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        of_utc = _moments_of_spark(file)
        rows = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    parts = runs(rows, _RUN_ROWS)

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        # Text is kept as codes into a dictionary, as the file holds it: a person's id is then decoded once,
        # not once a row.
        texts = [name for name in columns if is_text(schema.field(name).type)]
        done, claimed = 0, n_rows - sum(rows) + sum(rows[group] for part in parts for group in part)
        with (
            explained(),
            source() as stored,
            pq.ParquetFile(stored, read_dictionary=texts, pre_buffer=far) as file,
        ):
            of_part = partial(file.iter_batches, BATCH_ROWS, columns=list(columns))
            stream = chain.from_iterable(of_part(row_groups=part) for part in parts)
            for batch in _ahead(stream) if far else stream:
                batch.validate(full=True)  # a damaged file may hold text that is none
                done += batch.num_rows
                yield done / max(claimed, 1), _in_utc(batch, of_utc)
        if done != claimed:
            raise InputError(
                f"{name} says it holds {n_rows:,} rows, but has {n_rows - claimed + done:,}; it is damaged: "
                "copy or write it again"
            )

    geometry = geometry_of(name, schema)
    return Table(name=name, columns=tuple(schema.names), batches=batches, geometry=geometry, parts=parts)


def _moments_of_spark(file: pq.ParquetFile) -> frozenset[str]:
    """INT96, Spark's default, is UTC, though the type does not say so."""
    if b"org.apache.spark.version" not in (file.metadata.metadata or {}):
        return frozenset()
    columns = (file.schema.column(number) for number in range(len(file.schema)))
    return frozenset(column.path for column in columns if column.physical_type == "INT96")


def _in_utc(batch: pa.RecordBatch, columns: frozenset[str]) -> pa.RecordBatch:
    for number, name in enumerate(batch.schema.names):
        if name in columns and pa.types.is_timestamp(batch.schema.types[number]):
            moments = batch.column(number).cast(pa.timestamp(batch.schema.types[number].unit, "UTC"))
            batch = batch.set_column(number, name, moments)
    return batch


def _require_no_bomb(name: str, footer: pq.FileMetaData, stored_bytes: int) -> None:
    """The footer of single columns is not read: a damaged one makes pyarrow end the process."""
    stored = f"{stored_bytes / 2**10:,.0f} KiB"
    for number in range(footer.num_row_groups):
        full = footer.row_group(number).total_byte_size
        if full > max(_MOST_UNPACKED_BYTES, _MOST_UNPACKED * stored_bytes):
            raise InputError(
                f"{name} unpacks {full / 2**20:,.0f} MiB in one group of rows from {stored}; write it anew "
                "in smaller groups of rows if it is sound"
            )
    if footer.num_rows > max(_MOST_ROWS, _MOST_ROWS_A_BYTE * stored_bytes):
        raise InputError(
            f"{name} says it holds {footer.num_rows:,} rows in {stored}, which no movement does; "
            "write it anew as several files if it is sound"
        )


def _ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with ThreadPoolExecutor(1) as fetching:
        waiting = fetching.submit(next, batches, None)
        while (batch := waiting.result()) is not None:
            waiting = fetching.submit(next, batches, None)
            yield batch


def _why(name: str, error: Exception) -> str:
    if isinstance(error, PermissionError):
        return f"{name} cannot be opened: no permission to read it"
    answer = explain_store_error(error)
    if answer is not None:
        return f"{name} cannot be read from the object store: {answer}; try again, or copy it by other means"
    return f"{name} is not a whole Parquet file; it may be cut off: copy or write it again"
