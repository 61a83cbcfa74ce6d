"""Files of Parquet that are put behind each other have the bytes of one that was written at once."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from naive_release import naive_release, small_city
from shoal.release_folder.joining import join_files
from shoal.release_folder.packing import parquet_writer
from shoal.release_folder.tables import join_boxes, write_some_boxes, write_table_in_parts


@pytest.mark.parametrize(
    "plane", [None, "+proj=laea +lat_0=37.8 +lon_0=-122.4 +datum=WGS84 +units=m +no_defs"]
)
def test_parts_of_a_release_are_written_as_by_one_process(plane: str | None, tmp_path: Path) -> None:
    parts = [naive_release(small_city(n, 5, crs=plane, seed=n), n_boxes=4)[0] for n in (6, 12, 4)]
    write_table_in_parts(parts, tmp_path / "whole")
    bounds = [item for n, part in enumerate(parts) for item in write_some_boxes(part, tmp_path / str(n))]
    assert len(bounds) == (0 if plane is None else 3)
    join_boxes([tmp_path / str(n) for n in range(3)], bounds, tmp_path / "joined")
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()


def test_many_groups_and_many_columns_are_joined(tmp_path: Path) -> None:
    """More than fifteen groups and columns, whose numbers a footer writes at length; gaps, and truths."""
    draw = np.random.default_rng(1)
    tables = [
        pa.table(
            {
                **{f"c{number}": draw.random(rows) for number in range(17)},
                "text": [str(row % 3) for row in range(rows)],
                "gaps": pa.array([None if row % 2 else row for row in range(rows)], pa.int64()),
                "truth": [row % 3 == 0 for row in range(rows)],
            }
        )
        for rows in (40, 700, 1)
    ]
    with parquet_writer(tmp_path / "whole", tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=30)
    for number, table in enumerate(tables):
        with parquet_writer(tmp_path / str(number), table.schema) as writer:
            writer.write_table(table, row_group_size=30)
    with (tmp_path / "joined").open("wb") as file:
        join_files([tmp_path / str(number) for number in range(3)], file, {})
    assert pq.ParquetFile(tmp_path / "joined").metadata.num_row_groups == 2 + 24 + 1
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()
