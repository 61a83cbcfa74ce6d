"""Groups of rows that are read in pieces, against pyarrow's own reading of a whole group."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.release_folder import packing
from shoal.release_folder.packing import GEOMETRY, group_pieces

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
    sizes = []
    for number in range(file.num_row_groups):
        expected = file.read_row_group(number)
        pieces = list(group_pieces(file, number))
        assert all(piece.schema.metadata == expected.schema.metadata for piece in pieces)
        result = [both for piece in pieces for both in zip(piece.schema, piece.columns, strict=True)]
        assert [field for field, _ in result] == list(expected.schema)
        assert all(one.equals(other) for (_, one), other in zip(result, expected.columns, strict=True))
        sizes.append(pieces[0].num_rows)
        alone = names[-1:] == [GEOMETRY] and len(names) > 1 and len(set(names)) == len(names)
        assert len(pieces) == (2 if alone and not {"x.min", "pairs"} & set(names) else 1)
    assert sizes == ([4, 3] if names else [0])


@pytest.mark.parametrize(
    "outlines",
    [
        [b"123", b"456", b"789", b"abc", b"def"],
        [b"123", b"456", b"78", b"abcd", b"def"],
        [b"123", b"456", b"7", b"a", b"b"],
        [b"1", b"22", b"3", b"4", b"5"],
        [b"", b"", b"", b"", b""],
        [b"12", None, b"34", b"56", b"78"],
        [b"12", b"34", b"56", b"78", None],
        ["12", "34", "56", "78", "90"],
    ],
    ids=str,
)
@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_outlines_of_any_length_come_as_they_are(
    outlines: list[bytes | str | None], at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_READ_AT_ONCE", at_once)
    pq.write_table(pa.table({"n": range(5), GEOMETRY: outlines}), tmp_path / "t.parquet")
    file = pq.ParquetFile(tmp_path / "t.parquet")
    first, *others = group_pieces(file, 0)
    assert (first.column_names, len(first)) == (["n"], 5)
    assert [len(piece) for piece in others] == [min(at_once, 5 - row) for row in range(0, 5, at_once)]
    together = pa.concat_tables(others)
    together.validate(full=True)
    assert together[GEOMETRY].to_pylist() == outlines
    assert together[GEOMETRY].type == file.read()[GEOMETRY].type
