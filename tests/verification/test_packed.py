"""How a table is packed: shoal's own tables say nothing by it, and others are noted."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from folder_damages import edit_manifest
from naive_release import PLANE, small_city
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.packing import parquet_writer
from shoal.release_folder.tables import write_table, write_table_in_parts
from shoal.runtime.files import sha256_of
from shoal.verification.files.written import PACKED_DIFFERENTLY, TOO_MANY_GROUPS, Repacking
from small_points import crowd
from written_folders import written


def packing_notes(path: Path) -> list[str]:
    file = pq.ParquetFile(path)
    repeated = Repacking(path.read_bytes(), file)
    for group in range(file.num_row_groups):
        repeated.pack(file.read_row_group(group))
    return repeated.finish()


@pytest.mark.parametrize("crs", [None, PLANE])
def test_tables_of_boxes_and_points_are_packed_as_they_would_be_again(
    crs: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "t.parquet"
    boxes, _ = shoal.Glove(k=2).anonymize(small_city(crs=crs), shoal.Randomness.for_research(1))
    points, _ = shoal.SwapLocations(k=2).anonymize(crowd(), shoal.Randomness.for_research(1))
    for release in (boxes, points):
        write_table(release, path)
        assert not packing_notes(path)
    write_table_in_parts([boxes, boxes, boxes], path)
    assert pq.read_metadata(path).num_row_groups == 3
    assert not packing_notes(path)


OTHER: dict[str, dict[str, Any]] = {
    "harder": {"compression_level": 9},
    "another codec": {"compression": "snappy"},
    "no dictionary": {"use_dictionary": False},
    "pages": {"data_page_size": 16, "write_batch_size": 4},
    "no statistics": {"write_statistics": False},
}


@pytest.mark.parametrize("how", OTHER)
def test_other_packing_is_noted(how: str, tmp_path: Path) -> None:
    original = small_city(crs=PLANE)
    folder, linkage = written(original, tmp_path / "release")
    assert PACKED_DIFFERENTLY not in shoal.verify_folder(original, folder, linkage).notes
    path = folder / RELEASE_FILE
    table = pq.read_table(path)
    settings = {"compression": "zstd", "store_schema": False, **OTHER[how]}
    with pq.ParquetWriter(path, table.schema, **settings) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata)
    edit_manifest(folder, lambda m: m.update(release_sha256=sha256_of(path)))
    verdict = shoal.verify_folder(original, folder, linkage)
    assert not verdict.findings
    assert verdict.notes.count(PACKED_DIFFERENTLY) == 1


@pytest.mark.parametrize(
    ("sizes", "noted"),
    [
        ([100], False),
        ([50, 50], False),
        ([30, 40, 30], False),
        ([30, 40, 20, 10], True),
        ([1000, 996, 1, 1, 1], False),
        ([1000, 995, 1, 1, 1, 1], True),
        ([1000, 995, 1, 1, 1, 1, 1], False),
        ([1000, 994, 1, 1, 1, 1, 1, 1], True),
    ],
    ids=str,
)
@pytest.mark.parametrize("described", [True, False])
def test_groups_are_packed_one_by_one(
    sizes: list[int], noted: bool, described: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three groups, and two more for each 1,000 rows, are as many as honest writers need."""
    monkeypatch.setattr("shoal.verification.files.written.ROWS_PER_GROUP", 1000)
    n = sum(sizes)
    table = pa.table({"trajectory_id": [f"{k // 3}" for k in range(n)], "t": list(range(n))})
    at = 0
    with parquet_writer(tmp_path / "t", table.schema) as writer:
        for size in sizes:
            writer.write_table(table.slice(at, size))
            at += size
        if described:
            writer.add_key_value_metadata({"a": "b"})
    assert packing_notes(tmp_path / "t") == [TOO_MANY_GROUPS] * noted
