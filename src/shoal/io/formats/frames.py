"""Frames of other libraries through their Arrow streams; no library is imported to recognize one."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from shoal.io.formats.input_table import Table, table_of_batches
from shoal.io.formats.row_files import explain_damage

NAME = "the data frame"


def parts_of(frame: object) -> list[Callable[[], Any]] | None:
    """Calls that give the parts of a frame as Arrow streams, None for any other object.

    A lazy frame of polars comes in one part, Dask's in its partitions, Spark's in one part. GeoPandas and
    trackintel need the library's conversion of geometry; MovingPandas keeps trajectories and times apart.
    """
    home = type(frame).__module__.partition(".")[0]
    kind: Any = frame
    geopandas = any(base.__module__.startswith("geopandas.") for base in type(frame).__mro__)
    if geopandas and hasattr(frame, "to_arrow"):  # its Arrow table is one already
        return [partial(_of_geometry, kind)]
    if hasattr(frame, "to_point_gdf"):
        return [partial(_of_trajectories, kind)]
    if home == "polars" and hasattr(frame, "collect"):
        return [lambda: kind.collect(engine="streaming")]
    if home in {"dask", "dask_expr"} and hasattr(frame, "partitions"):
        return [partial(part.compute, scheduler="synchronous") for part in kind.partitions]
    if hasattr(frame, "toArrow") and hasattr(frame, "schema"):
        return [kind.toArrow]
    return [lambda: kind] if hasattr(frame, "__arrow_c_stream__") else None


def _of_geometry(frame: Any) -> Any:
    """An index with a name, or one of times, becomes a column."""
    if frame.index.name is None and frame.index.dtype.kind == "M":
        frame = frame.rename_axis("t")
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    whole = frame.reset_index(level=named) if named else frame
    return whole.to_arrow(index=False)


def _of_trajectories(collection: Any) -> Any:
    """By the moving object if known, else by the trajectory."""
    trajectories = getattr(collection, "trajectories", [collection])
    points = collection.to_point_gdf(return_orig_tz=True)
    names = [one.id if one.obj_id is None else one.obj_id for one in trajectories]
    owners = [name for name, one in zip(names, trajectories, strict=True) for _ in range(len(one.df))]
    return _of_geometry(points[[points.geometry.name]].rename_axis("t").assign(uid=owners))


def open_part(make: Callable[[], Any]) -> Table:
    """Columns and rows of one part of a frame, on demand."""
    frame = make()
    mixed = f"{NAME} cannot be turned into Arrow columns; give every column one type"
    with explain_damage(mixed, pa.ArrowException, TypeError, ValueError):
        reader = pa.RecordBatchReader.from_stream(frame)

    def read(_: list[str]) -> Iterator[pa.RecordBatch]:
        with explain_damage(f"{NAME} broke off while its rows were read", pa.ArrowException, OSError):
            yield from reader

    return table_of_batches(NAME, reader.schema, read)
