"""Files written one column after the other, against pyarrow's writer of whole groups."""

from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.release_folder.packing import ColumnwiseWriter, parquet_writer, share_equal

ROWS: Any = {
    "trajectory_id": ["one", "one", None, "two"],
    "t_start": [3, 1, 2, 2**62],
    "x_min": [0.5, -0.0, None, float("inf")],
    "pairs": [{"p": 1, "q": "z"}, None, {"p": None, "q": ""}, {"p": 2, "q": "z"}],
    "lists": [[1], [], None, [2, 3]],
    "geometry": pa.array([b"1", b"22", b"", b"4" * 90], pa.large_binary()),
    "nothing": pa.nulls(4),
}
TABLE = pa.table(ROWS)
MANY = pa.table(
    {"n": range(30_000), "name": [f"name {n // 7}" for n in range(30_000)], "geometry": [b"x"] * 30_000}
)
GEOMETRIES = {
    kind: pa.schema({"geometry": kind}) for kind in (pa.string(), pa.binary(), pa.large_binary(), pa.int64())
}
FIELD = pa.schema([pa.field("n", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "7"})])


@pytest.mark.parametrize("pieces", [[7], [1] * 7, [6, 1], [2, 3, 2]], ids=str)
@pytest.mark.parametrize("groups", [[4], [4, 2, 1], [0], [1, 0, 4], []], ids=str)
@pytest.mark.parametrize("pairs", [{}, {b"b": b"1", b"a": b"2", b"": b""}], ids=["bare", "described"])
def test_the_bytes_are_those_of_pyarrow(
    pieces: list[int], groups: list[int], pairs: dict[bytes, bytes]
) -> None:
    tables = [TABLE.slice(0, rows) for rows in groups]
    assert by_columns(tables, TABLE.schema, pairs, pieces) == by_groups(tables, TABLE.schema, pairs)


@pytest.mark.parametrize(
    "table", [MANY, pa.table([[1, 2]], schema=FIELD)], ids=["many rows", "a field's own"]
)
def test_so_are_those_of_longer_columns(table: pa.Table) -> None:
    groups = [table, table.slice(0, 1)]
    pieces = [1] * table.num_columns
    assert by_columns(groups, table.schema, {}, pieces) == by_groups(groups, table.schema, {})


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.large_binary(), pa.int64()], ids=str)
@pytest.mark.parametrize("at_once", [1, 3, 7])
def test_so_are_those_of_what_shares_its_memory(kind: pa.DataType, at_once: int) -> None:
    numbers = pa.array([1, None, 2, 3, 1, 2, None])
    texts = pa.array(["one", None, "longer than a short one", "", "one", "longer than a short one", None])
    column = (numbers if kind == pa.int64() else texts).cast(kind)
    shared = in_parts(column, at_once)
    assert shared.to_pylist() == column.to_pylist()
    assert bytes_of(shared, kind) == by_groups([pa.table({"geometry": column})], GEOMETRIES[kind], {})


def test_parts_that_share_memory_leave_no_trace_in_long_columns() -> None:
    column = pa.array([b"%90d" % (row // 2) for row in range(100_000)])
    shared = in_parts(column, 1 << 14)
    assert shared.get_total_buffer_size() < column.get_total_buffer_size()
    assert bytes_of(shared, pa.binary()) == by_groups(
        [pa.table({"geometry": column})], GEOMETRIES[pa.binary()], {}
    )


def in_parts(column: pa.Array, at_once: int) -> pa.Array:
    parts = (column.slice(first, at_once) for first in range(0, len(column), at_once))
    return pa.concat_arrays([share_equal(part) for part in parts])


def bytes_of(column: pa.Array, kind: pa.DataType) -> bytes:
    file = BytesIO()
    writer = ColumnwiseWriter(file, GEOMETRIES[kind])
    writer.write(pa.table({"geometry": column}))
    writer.close({})
    return file.getvalue()


def test_nothing_is_kept_of_a_table_without_columns() -> None:
    file = BytesIO()
    ColumnwiseWriter(file, pa.schema([])).close({})
    assert file.getvalue() == b"PAR1"


def by_columns(
    groups: list[pa.Table], schema: pa.Schema, pairs: dict[bytes, bytes], pieces: list[int]
) -> bytes:
    file = BytesIO()
    writer = ColumnwiseWriter(file, schema)
    for group in groups:
        first = 0
        for n in pieces:
            writer.write(group.select(range(first, first + n)))
            first += n
    writer.close(pairs)
    return file.getvalue()


def by_groups(groups: list[pa.Table], schema: pa.Schema, pairs: dict[bytes, bytes]) -> bytes:
    sink = pa.BufferOutputStream()
    with parquet_writer(sink, schema) as writer:
        for group in groups:
            writer.write_table(group)
        if pairs:
            writer.add_key_value_metadata(pairs)
    content: bytes = sink.getvalue().to_pybytes()
    assert pq.read_metadata(pa.BufferReader(content)).num_row_groups == len(groups)
    return content
