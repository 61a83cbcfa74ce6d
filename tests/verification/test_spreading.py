"""Records spread over buckets come back whole, each once, equal ones together, however the file is cut."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes
from shoal.release_folder import tables
from shoal.release_folder.tables import write_table
from shoal.verification.files import spreading, streamed
from shoal.verification.files.spreading import Spreading, SpreadRecords, read_bucket, spread_groups
from told_points import published

GRID = Grid(cell_m=1.0, slot_s=1.0)
Rows = list[list[int]]


def file_of(records: list[tuple[str, Rows]], path: Path) -> Path:
    """A table of these records, (t_start, t_end, x_min, y_min, x_max, y_max) each row."""
    rows = np.array([row for _, record in records for row in record], dtype=np.int64).reshape(-1, 6)
    release = published(
        [],
        KAnonymity(k=2),
        trajectory_ids=tuple(name for name, _ in records),
        offsets=np.cumsum([0, *(len(record) for _, record in records)]),
        payload=Boxes(**dict(zip(BOX_COLUMNS, rows.T.copy(), strict=True))),
        grid=GRID,
    )
    write_table(release, path)
    return path


def spread(path: Path, scratch: Path, n_buckets: int) -> tuple[SpreadRecords, Spreading, int]:
    """What all tasks saw, one after the other, and how many there were."""
    scratch.mkdir()
    how = Spreading(
        folder=path.parent, scratch=scratch, grid=GRID, crs=None, n_buckets=n_buckets, key=bytes(range(32))
    )
    layout, file = streamed._open_table(path)
    tasks = list(streamed._spread_tasks(how, layout, file.metadata))
    spread_records = SpreadRecords(how)
    for task in tasks:
        spread_records.add(spread_groups(task))
    return spread_records, how, len(tasks)


def drawn(draw: np.random.Generator, n: int) -> list[tuple[str, Rows]]:
    """n records of up to 7 boxes that ascend; every third is one before."""
    records: list[tuple[str, Rows]] = []
    for number in range(n):
        rows = sorted(draw.integers(0, 9, (draw.integers(1, 8), 6)).tolist())
        records.append((f"{number:016x}", records[number // 2][1] if number % 3 == 2 else rows))
    return records


@pytest.mark.parametrize(
    ("rows_at_once", "rows_of_part", "rows_of_group", "n_buckets"),
    [
        (1 << 20, 1, 1 << 20, 1),
        (5, 12, 6, 7),
        (3, 20, 4, 40),
        (9, 1, 13, 2),
        (1 << 20, 20, 4, 5),
    ],
)
def test_spread_records_come_back_whole(
    rows_at_once: int,
    rows_of_part: int,
    rows_of_group: int,
    n_buckets: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spreading, "_ROWS_AT_ONCE", rows_at_once)
    monkeypatch.setattr(streamed, "_PART_ROWS", rows_of_part)
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", rows_of_group)
    records = drawn(np.random.default_rng(1), 18)
    n_rows = sum(len(record) for _, record in records)
    path = file_of(records, tmp_path / "release.parquet")
    spread_records, how, n_tasks = spread(path, tmp_path / "scratch", n_buckets)
    assert spread_records.names == [name for name, _ in records]
    assert (spread_records.n_rows, list(spread_records.faults())) == (n_rows, [])
    n_groups = pq.read_metadata(path).num_row_groups
    assert n_tasks == {1: n_groups, 12: -(-n_groups // 2), 20: -(-n_groups // 5)}[rows_of_part]
    bucket_of: dict[str, int] = {}
    digest_of: dict[str, bytes] = {}
    seen = []
    for bucket in range(n_buckets):
        numbers, lengths, stored, boxes = read_bucket(how, spread_records.chunks, bucket)
        assert numbers.tolist() == sorted(numbers.tolist())
        rows, at = np.stack(boxes.columns(), axis=1).tolist(), 0
        for number, length, digest in zip(numbers.tolist(), lengths.tolist(), stored, strict=True):
            record = records[number][1]
            assert rows[at : at + length] == record
            at += length
            assert bucket_of.setdefault(str(record), bucket) == bucket
            assert digest_of.setdefault(str(record), digest.tobytes()) == digest.tobytes()
            seen.append(number)
    assert sorted(seen) == list(range(len(records)))
    assert len(set(digest_of.values())) == len(digest_of) == 12
    assert len(set(bucket_of.values())) > min(n_buckets, 6) * 0.6


A, B, C = [1, 2, 0, 0, 1, 1], [2, 3, 0, 0, 1, 1], [3, 4, 0, 0, 1, 1]
ORDERS: list[tuple[list[tuple[str, Rows]], list[str]]] = [
    ([("a", [A, B]), ("b", [A]), ("c", [C])], []),
    ([("a", [B, A]), ("b", [A]), ("c", [C])], ["the rows of a record do not ascend"]),
    ([("a", [A]), ("b", [C, B]), ("c", [C])], ["the rows of a record do not ascend"]),
    ([("a", [A]), ("b", [A]), ("c", [C, A])], ["the rows of a record do not ascend"]),
    ([("a", [A]), ("b", [A, B]), ("a", [C])], ["the rows of one record do not stand together"]),
]


@pytest.mark.parametrize(("records", "expected"), ORDERS, ids=str)
@pytest.mark.parametrize(("rows_of_group", "rows_of_part"), [(1, 1), (1, 3), (99, 1)])
def test_rows_out_of_order_are_found_wherever_the_file_is_cut(
    records: Any,
    expected: list[str],
    rows_of_group: int,
    rows_of_part: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", rows_of_group)
    monkeypatch.setattr(streamed, "_PART_ROWS", rows_of_part)
    path = file_of(records, tmp_path / "release.parquet")
    whole, how, _ = spread(path, tmp_path / "scratch", 4)
    messages = [finding.message for finding in whole.faults()]
    assert [any(words in message for message in messages) for words in expected] == [True] * len(expected)
    assert len(messages) == len(expected)
    numbers = [read_bucket(how, whole.chunks, bucket)[0].tolist() for bucket in range(4)]
    assert sorted(number for bucket_numbers in numbers for number in bucket_numbers) == list(range(3))
