"""Frames of other libraries (pandas, polars, pyarrow, DuckDB ...), through their Arrow streams."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.tables import BATCH_ROWS, Table, geometry_of

NAME = "the data frame"


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that hands out its rows through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """A capsule with a stream of batches."""


def open_table(frame: ArrowStream) -> Table:
    """The columns and rows of a frame. Raises InputError when it cannot be turned into Arrow data."""
    try:
        reader = pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"{NAME} cannot be turned into Arrow columns; give every column one type (a geopandas frame: "
            "its to_arrow())"
        ) from error

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        try:
            for batch in reader:
                wanted = batch.select(list(columns))
                for begin in range(0, batch.num_rows, BATCH_ROWS):
                    yield 0.0, wanted.slice(begin, BATCH_ROWS)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{NAME} broke off while its rows were read") from error

    return Table(
        name=NAME,
        columns=tuple(reader.schema.names),
        batches=batches,
        geometry=geometry_of(NAME, reader.schema),
    )
