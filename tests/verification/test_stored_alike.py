"""Members of a class are stored byte for byte alike, and columns have the types of a release."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from naive_release import PLANE, naive_release, small_city
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE
from shoal.runtime.files import sha256_of
from shoal.runtime.randomness import Randomness
from shoal.verification import verify, verify_files
from shoal.verification.files import stored as stored_module
from shoal.verification.files.stored import (
    records_stored_differently,
    stored_bytes,
    unexpected_pseudonyms,
    wrong_types,
)
from streamed_check import streamed_verdict
from unlike_bytes import with_last_digits, with_minus_zero, with_outlines_moved_a_little
from written_folders import write_folder

Written = tuple[Path, Trajectories, Linkage]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    original = small_city(crs=PLANE)
    release, linkage = naive_release(original, n_boxes=4, rng=Randomness.for_research(1))
    folder = write_folder(tmp_path / "release", release, verify(original, release, linkage))
    return folder, original, linkage


def change(folder: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Write another table, with its hash in the manifest."""
    path = folder / RELEASE_FILE
    table = pq.read_table(path)
    pq.write_table(edit(table), path, compression="zstd", store_schema=False)
    manifest = json.loads((folder / MANIFEST_FILE).read_text())
    manifest["release_sha256"] = sha256_of(path)
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def in_both_ways(case: Written) -> list[Verdict]:
    folder, original, linkage = case
    return [verify_files(original, folder, linkage), streamed_verdict(original, folder, linkage)]


def as_text(table: pa.Table) -> pa.Table:
    """Numbers as text, every second with a zero more at its end."""
    texts = [f"{value:.1f}{'0' * (row % 2)}" for row, value in enumerate(table["x_min"].to_pylist())]
    return table.set_column(table.column_names.index("x_min"), "x_min", pa.array(texts))


@pytest.mark.parametrize("edit", [with_last_digits, with_outlines_moved_a_little])
def test_members_that_differ_in_the_last_digits_do_not_hold(
    edit: Callable[[pa.Table], pa.Table], written: Written
) -> None:
    """Both held: the numbers were compared within the rounding of floats, the outlines to 1e-9 degrees."""
    assert [verdict.holds for verdict in in_both_ways(written)] == [True, True]
    change(written[0], edit)
    for verdict in in_both_ways(written):
        assert {"stored-differently"} <= verdict.kinds <= {"stored-differently", "finer-than-claim"}


def test_a_zero_with_a_sign_is_another_number(written: Written) -> None:
    change(written[0], with_minus_zero)
    assert [verdict.kinds >= {"stored-differently"} for verdict in in_both_ways(written)] == [True, True]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (as_text, "the column x_min is stored as string; expected numbers of 64 bits"),
        (
            lambda table: table.set_column(
                table.column_names.index("x_max"), "x_max", table["x_max"].cast(pa.float32())
            ),
            "the column x_max is stored as float; expected numbers of 64 bits",
        ),
    ],
)
def test_columns_of_other_types_do_not_hold(
    edit: Callable[[pa.Table], pa.Table], expected: str, written: Written
) -> None:
    change(written[0], edit)
    verdicts = in_both_ways(written)
    assert [expected in {finding.message for finding in verdict.findings} for verdict in verdicts] == [
        True,
        True,
    ]


def test_rows_are_alike_exactly_where_their_bytes_are() -> None:
    draw = np.random.default_rng(3)
    outlines = [bytes(draw.integers(0, 2, 93, dtype=np.uint8).tolist()) for _ in range(40)]
    rows = draw.integers(0, 40, 500)
    numbers = draw.integers(0, 3, 500).astype(np.float64)
    table = pa.table(
        {
            "trajectory_id": [f"p{row}" for row in range(500)],
            "x_min": numbers,
            "geometry": pa.array([outlines[row] for row in rows.tolist()], pa.large_binary()),
        }
    )
    stored = stored_bytes(pa.concat_tables([table.slice(0, 123), table.slice(123)]))
    same = (stored[:, None] == stored[None]).all(axis=2)
    expected = (rows[:, None] == rows[None]) & (numbers[:, None] == numbers[None])
    np.testing.assert_array_equal(same, expected)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("trajectory_id", pa.string(), ""),
        ("trajectory_id", pa.large_string(), ""),
        ("trajectory_id", pa.binary(), "text"),
        ("trajectory_id", pa.int64(), "text"),
        ("geometry", pa.binary(), ""),
        ("geometry", pa.large_binary(), ""),
        ("geometry", pa.string(), "bytes"),
        ("x_min", pa.int64(), ""),
        ("x", pa.float64(), ""),
        ("lat", pa.float64(), ""),
        ("lat", pa.float32(), "numbers of 64 bits"),
        ("y", pa.int32(), "numbers of 64 bits"),
        ("t_min", pa.timestamp("us"), ""),
        ("t", pa.timestamp("ms"), ""),
        ("t", pa.timestamp("ns"), "numbers of 64 bits"),
        ("x", pa.timestamp("us"), "numbers of 64 bits"),
        ("t", pa.date64(), "numbers of 64 bits"),
        ("notes", pa.int8(), ""),
    ],
    ids=str,
)
def test_each_column_has_its_types(name: str, kind: pa.DataType, expected: str) -> None:
    schema = pa.schema([("x_max", pa.int64()), (name, kind), ("y_max", pa.float64())])
    messages = [finding.message for finding in wrong_types(schema)]
    assert messages == ([f"the column {name} is stored as {kind}; expected {expected}"] if expected else [])


def test_the_name_of_a_zone_is_not_shown() -> None:
    """It may be any text, such as somebody's identifier."""
    kind = pa.timestamp("ns", tz="caller-0007")
    (finding,) = wrong_types(pa.schema([("t_start", kind)]))
    assert finding.message == "the column t_start is stored as timestamp[ns]; expected numbers of 64 bits"


def test_pseudonyms_are_sixteen_hexadecimal_digits() -> None:
    good = ["0123456789abcdef", "f" * 16]
    assert not list(unexpected_pseudonyms(good))
    strange = ["0" * 15, "0" * 17, "0" * 15 + "g", "0" * 15 + "A", "0" * 16 + "\n", ""]
    (finding,) = unexpected_pseudonyms([*good, *strange])
    assert finding.message == "6 pseudonyms are not 16 hexadecimal digits"


def test_what_is_stored_is_compared_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers as they are, gaps as 0, outlines by a digest; other columns not at all."""
    monkeypatch.setattr(stored_module, "_ROWS_AT_ONCE", 2)
    places = pa.array([b"abcdefgh1", b"abcdefgh2", b"abcdefgh1", b"Abcdefgh1", b"abcdefgh2"])
    table = pa.table(
        {
            "x": pa.array([0.0, -0.0, 1.0, None, 0.5]),
            "t": pa.array([1, 2, None, 4, 5], pa.timestamp("us")),
            "y": pa.array([1, 2, 3, 4, 5], pa.int32()),
            "geometry": places,
        }
    )
    bits = stored_bytes(table)
    assert bits[:, 0].view(np.float64).tolist() == [0.0, 0.0, 1.0, 0.0, 0.5]
    assert bits[1, 0] == -(1 << 63)
    assert bits[:, 1].tolist() == [1, 2, 0, 4, 5]
    for half in bits[:, 2:].T.tolist():
        assert [half.index(item) for item in half] == [0, 1, 0, 3, 1]
    assert bits.shape == (5, 4)
    assert (bits[:, 2] != bits[:, 3]).all()
    assert stored_bytes(table.slice(0, 0)).shape == (0, 4)


def test_outlines_of_several_lengths_are_compared_by_a_secret_digest() -> None:
    """Those cut at the 180th meridian have several."""
    boxes, ends = np.array([[1], [2], [1]]), np.arange(4)
    for last, found in ((b"short", 0), (b"sHort", 1), (b"", 1), (None, 1)):
        table = pa.table({"geometry": pa.array([b"short", b"a longer one", last], pa.binary())})
        assert len(list(records_stored_differently(table, boxes, ends, None))) == found
    one, other = (stored_bytes(table, key) for key in (bytes(32), bytes([1] * 32)))
    assert (one != other).all()


def test_records_of_the_same_boxes_are_counted_where_they_are_stored_otherwise() -> None:
    boxes = np.array([[1], [2], [1], [2], [1], [3], [3]])
    table = pa.table({"x_min": [1.0, 2.0, 1.5, 2.0, 1.0, 3.0, 3.0]})
    ends = np.array([0, 1, 2, 3, 4, 5, 6, 7])
    (finding,) = records_stored_differently(table, boxes, ends, None)
    assert finding.message.startswith("1 record is stored otherwise, ")
    order = np.array([2, 1, 0, 3, 4, 5, 6])
    (finding,) = records_stored_differently(table, boxes, ends, order)
    assert finding.message.startswith("2 records are stored otherwise, ")
    apart, two = np.array([1, 0, 3, 4, 2, 5, 6]), np.array([0, 2, 4])
    assert not list(records_stored_differently(table, boxes, two, apart))
    assert list(records_stored_differently(table, boxes, two, None))
    assert not list(records_stored_differently(table.slice(3, 2), boxes[3:5], ends[:3], None))
