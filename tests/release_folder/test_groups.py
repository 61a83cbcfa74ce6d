"""Groups of rows that are read one column after the other, against pyarrow's own reading of a whole group."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.release_folder.packing import GEOMETRY, group_in

ROWS = 7
COLUMNS = {
    "trajectory_id": pa.array([f"r{row // 2}" for row in range(ROWS)]),
    "t_start": pa.array(np.arange(ROWS)),
    GEOMETRY: pa.array([bytes([row]) for row in range(ROWS)], pa.binary()),
    "x.min": pa.array(np.arange(ROWS) / 2),
    "pairs": pa.array([{"a": row} for row in range(ROWS)]),
}


@pytest.mark.parametrize(
    "names",
    [
        ["trajectory_id", "t_start", GEOMETRY],
        ["t_start", "trajectory_id"],
        [GEOMETRY],
        ["t_start", "x.min", GEOMETRY],
        ["t_start", "pairs", GEOMETRY],
        ["t_start", "t_start", GEOMETRY],
        [],  # no columns, so no rows: one empty group
    ],
)
def test_a_group_is_the_table_that_pyarrow_reads_of_it(names: list[str], tmp_path: Path) -> None:
    schema = pa.schema([(name, COLUMNS[name].type) for name in names], metadata={"geo": "{}"})
    table = pa.table([COLUMNS[name] for name in names], schema=schema)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=4)
    file = pq.ParquetFile(tmp_path / "t.parquet")
    groups = [(file.read_row_group(n), group_in(file, n)) for n in range(file.num_row_groups)]
    assert all(found.schema.equals(expected.schema, check_metadata=True) for expected, found in groups)
    assert all(found.equals(expected) for expected, found in groups)
    assert [expected.num_rows for expected, _ in groups] == ([4, 3] if names else [0])
