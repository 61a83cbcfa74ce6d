"""Frames of other libraries (pandas, polars, pyarrow, DuckDB ...), through their Arrow streams."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
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


def parts_of(frame: object) -> list[Callable[[], Any]] | None:
    """Calls that give the parts of a frame that is computed only when asked for, None for any other object.

    A lazy frame of polars comes in one part, from its streaming engine; one of Dask in its partitions, one
    at a time; one of Spark in one part, through its Arrow table.
    """
    home = type(frame).__module__.partition(".")[0]
    kind: Any = frame
    if home == "polars" and hasattr(frame, "collect"):
        return [lambda: kind.collect(engine="streaming")]
    if home in {"dask", "dask_expr"} and hasattr(frame, "partitions"):
        return [partial(_computed, part) for part in kind.partitions]
    if hasattr(frame, "toArrow") and hasattr(frame, "schema"):
        return [kind.toArrow]
    return None


def _computed(part: Any) -> Any:
    return part.compute(scheduler="synchronous")


def open_part(make: Callable[[], Any]) -> Table:
    """One part of a frame that is computed only when asked for."""
    return open_table(make())


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
