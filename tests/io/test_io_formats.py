"""Every format gives what a plain Python reader gives, on random dirty rows; the account always adds up."""

import gzip
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from io_oracle import NOT_AFTER_S, Row, assert_as_expected, expect, rows_of_csv
from shoal.io import read, read_with
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

NOON = 1_714_564_800  # 2024-05-01T12:00:00Z

TypedRow = tuple[str | None, int | None, float | None, float | None]

ids = st.sampled_from(["ann", "bob", "Bob", "7", "07", "ö", "a@b", ""]) | st.none()
seconds = st.integers(NOON, NOON + 600) | st.sampled_from([None, -5, NOT_AFTER_S, NOT_AFTER_S + 1, 0])
latitudes = st.floats(48.8, 48.82) | st.sampled_from(
    [None, float("nan"), float("inf"), 90.5, -91.0, 0.0, 48.81]
)
longitudes = st.floats(2.3, 2.32) | st.sampled_from([None, float("-inf"), 361.0, 999.0, 0.0, 2.31])
good_row = st.tuples(st.just("ann"), st.just(NOON), st.just(48.81), st.just(2.31))
ANSWERS: dict[str, Any] = {"ids_as_they_are": True, "lose_people": True}
typed_rows = st.tuples(st.lists(st.tuples(ids, seconds, latitudes, longitudes), max_size=25), good_row).map(
    lambda both: [*both[0], both[1]]
)


def arrow(rows: list[TypedRow]) -> pa.Table:
    who, t, lat, lon = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "user_id": pa.array(who, pa.string()),
            "t": pa.array(t, pa.int64()),
            "lat": pa.array(lat, pa.float64(), from_pandas=False),
            "lon": pa.array(lon, pa.float64(), from_pandas=False),
        }
    )


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def by_parquet(rows: list[TypedRow], place: Path) -> object:
    pq.write_table(arrow(rows), place / "a.parquet", row_group_size=7)
    return place / "a.parquet"


def by_folder(rows: list[TypedRow], place: Path) -> object:
    half = len(rows) // 2
    (place / "sub").mkdir()
    pq.write_table(arrow(rows[:half]), place / "1.parquet")
    pq.write_table(arrow(rows[half:]), place / "sub" / "2.parquet")
    (place / "README.md").write_text("not data")
    (place / "_SUCCESS.csv").write_text("")
    return str(place)


def by_glob(rows: list[TypedRow], place: Path) -> object:
    half = len(rows) // 2
    pq.write_table(arrow(rows[:half]), place / "calls-1.parquet")
    pq.write_table(arrow(rows[half:]), place / "calls-2.parquet")
    (place / "other.parquet").write_bytes(b"no parquet")
    return str(place / "calls-*.parquet")


def by_duckdb(rows: list[TypedRow], place: Path) -> object:
    connection = duckdb.connect()
    connection.register("calls", arrow(rows))
    return connection.sql("select lon, lat, t, user_id from calls")


FORMATS: dict[str, Callable[[list[TypedRow], Path], object]] = {
    "parquet": by_parquet,
    "folder": by_folder,
    "glob": by_glob,
    "pyarrow": lambda rows, _: arrow(rows),
    "dictionary": lambda rows, _: arrow(rows).set_column(
        0, "user_id", arrow(rows)["user_id"].dictionary_encode()
    ),
    "pandas": lambda rows, _: arrow(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda rows, _: pl.from_arrow(arrow(rows)),
    "polars categories": lambda rows, _: pl.DataFrame(arrow(rows)).with_columns(
        pl.col("user_id").cast(pl.Categorical)
    ),
    "duckdb": by_duckdb,
}


def of_typed(rows: list[TypedRow]) -> list[Row]:
    return [Row(who, None if t is None else Fraction(t), lat, lon) for who, t, lat, lon in rows]


@pytest.mark.parametrize("name", FORMATS)
@given(rows=typed_rows)
def test_every_format_gives_what_a_plain_reader_gives(name: str, rows: list[TypedRow]) -> None:
    with folder() as place:
        got = read(FORMATS[name](rows, place), not_after_s=NOT_AFTER_S, **ANSWERS, time_unit="s")
    expected = expect(of_typed(rows), got.crs)
    assert_as_expected(got, expected)
    assert_centered(got, expected.positions)


def assert_centered(got: Trajectories, positions: list[tuple[float, float]]) -> None:
    center = re.fullmatch(r"\+proj=laea \+lat_0=(\S+) \+lon_0=(\S+) .*", got.crs or "")
    assert center is not None
    lon, lat = (sum(values) / len(values) for values in zip(*positions, strict=True))
    assert abs(float(center[1]) - lat) <= 0.0501
    assert abs(float(center[2]) - lon) <= 0.06  # the mean direction, not the mean number


csv_ids = st.sampled_from(
    ["ann", " ann ", "bob", "7", "007", "7.0", "", "  ", '"quo""ted"', '"with, comma; and\ttab"']
)
csv_times = st.sampled_from([
    "2024-05-01T10:00:00Z", "2024-05-01 10:00:59+00:00", "2024-05-01T12:00:30+02:00", "2024-05-01 10:01",
    "2024-05-01T10:02:03.5", "2024/05/01 10:00", "2024-05-01", "2024-05-01T10:00:00.999999Z",
    "1969-12-31T23:59:59Z", "2999-01-01", "", "noon", "2024-02-30",
    " 2024-05-01 10:05:00 ", "2024-05-01T10:00:00-0530", "2024-13-01T00:00:00",
])  # fmt: skip
csv_latitudes = st.sampled_from(
    [
        "48.85",
        "48.8501",
        " 48.86",
        "4.886e1",
        "",
        "north",
        "nan",
        "inf",
        "95",
        "-90.0001",
        "0",
        "48,85",
        "0x30",
    ]
)
csv_longitudes = st.sampled_from(["2.35", "+2.36", "2.", "", "NULL", "-inf", "200", "0", "0.0"])
csv_line = st.tuples(csv_ids, csv_times, csv_latitudes, csv_longitudes)
GOOD_LINE = ("ann", "2024-05-01T10:00:00Z", "48.85", "2.35")


def quoted(cell: str, delimiter: str) -> str:
    return f'"{cell}"' if delimiter in cell and not cell.startswith('"') else cell


@given(
    lines=st.lists(csv_line | st.sampled_from([("ann", "2024-05-01"), ("a",) * 5, ()]), max_size=25),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    ending=st.sampled_from([".csv", ".csv.gz", ".tsv", ".txt"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
)
def test_delimited_text_gives_what_a_plain_reader_gives(
    lines: list[tuple[str, ...]], delimiter: str, ending: str, newline: str, bom: bool
) -> None:
    texts = [
        delimiter.join(quoted(cell, delimiter) for cell in line)
        for line in [("Caller", " DateTime", "LAT", "lng"), *lines, GOOD_LINE]
    ]
    with folder() as place:
        path = place / f"calls{ending}"
        content = newline.join([*texts, ""]).encode()
        path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
        rows, broken = rows_of_csv(path, delimiter)
        if bom:
            path.write_bytes(
                gzip.compress(b"\xef\xbb\xbf" + content)
                if ending.endswith(".gz")
                else b"\xef\xbb\xbf" + content
            )
        got = read(path, not_after_s=NOT_AFTER_S, **ANSWERS)
    assert_as_expected(got, expect(rows, got.crs, broken=broken))


@pytest.mark.parametrize(
    "settings",
    [{}, {"snap": False}, {"per_day": True}, {"cell_m": 333.0, "slot_s": 0.1}, {"min_samples_per_day": 2}],
)
@given(rows=typed_rows, seed=st.randoms(use_true_random=False))
def test_the_account_adds_up_and_the_reading_repeats(
    settings: dict[str, Any], rows: list[TypedRow], seed: Any
) -> None:
    if "min_samples_per_day" in settings:  # a time decades away would leave nobody with two samples a day
        rows = [row for row in rows if row[1] is None or NOON <= row[1] <= NOON + 600]
    rows = [*rows, ("ann", NOON + 70, 48.82, 2.31)]
    first = read(arrow(rows), not_after_s=NOT_AFTER_S, **ANSWERS, **settings)
    assert first.intake.rows_read == len(rows) == first.n_samples + sum(first.intake.dropped.values())
    assert all(count > 0 for count in first.intake.dropped.values())
    seed.shuffle(rows)
    for again in (
        read_with(arrow(rows), first.intake.reading, Run()),
        read(arrow(rows), not_after_s=NOT_AFTER_S, **ANSWERS, **settings),
    ):
        assert again.ids == first.ids
        assert again.crs == first.crs
        assert again.intake.reading == first.intake.reading
        assert again.intake.dropped == first.intake.dropped
        for name in ("offsets", "t", "x", "y"):
            assert (getattr(again, name) == getattr(first, name)).all()


def test_many_batches_and_threads_change_nothing(tmp_path: Path) -> None:
    """Rows enough for several batches, against the same rows through from_rows."""
    generator = np.random.default_rng(5)
    n = 700_000
    who, t = generator.integers(0, 5000, n), NOON + generator.integers(0, 86400, n)
    x, y = generator.normal(5e5, 2e4, n), generator.normal(-2e5, 2e4, n)
    pq.write_table(
        pa.table({"id": who, "time": t, "x": x, "y": y}), tmp_path / "big.parquet", row_group_size=100_000
    )
    got = read(tmp_path / "big.parquet")
    wanted = Trajectories.from_rows(
        [str(number) for number in who], t // 60, x // 100, y // 100, grid=got.grid
    )
    assert got.ids == wanted.ids
    for name in ("offsets", "t", "x", "y", "input_rank"):
        assert (getattr(got, name) == getattr(wanted, name)).all()


def test_a_grid_too_fine_for_one_key_sorts_the_same() -> None:
    rows: list[TypedRow] = [
        (f"u{n % 40}", n * 7_919_777 % 1_700_000_000, -60 + n % 100, n * 37 % 300 - 150)
        for n in range(1, 500)
    ]
    got = read(arrow(rows * 2), cell_m=0.5, slot_s=1, not_after_s=NOT_AFTER_S, **ANSWERS, time_unit="s")
    assert_as_expected(got, expect(of_typed(rows * 2), got.crs, cell_m=0.5, slot_s=1))


def test_points_as_given_keep_seconds_and_meters() -> None:
    table = pa.table(
        {
            "id": ["b", "a", "a", "a"],
            "t": [5.25, 3.5, 1.0, 3.5],
            "x": [1e3, 2e3, 3e3, 2e3],
            "y": [1.5, 2.5, 3.5, 2.5],
        }
    )
    got = read(table, snap=False)
    assert got.grid is None
    assert got.crs is None
    assert (got.t.tolist(), got.x.tolist(), got.y.tolist()) == (
        [1.0, 3.5, 5.25],
        [3e3, 2e3, 1e3],
        [3.5, 2.5, 1.5],
    )
    assert dict(got.intake.dropped) == {"exact duplicate": 1}


def test_ids_that_are_numbers_here_and_text_there_are_compared_as_text(tmp_path: Path) -> None:
    rest = {"t": [1, 2], "x": [5000.0, 6000.0], "y": [1.0, 2.0]}
    pq.write_table(pa.table({"id": pa.array([7, None], pa.int64()), **rest}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": pa.array([7.0, 8.5]), **rest}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"id": ["7", "x"], **rest}), tmp_path / "3.parquet")
    pq.write_table(pa.table({"id": pa.array(["7", "x"]).dictionary_encode(), **rest}), tmp_path / "4.parquet")
    got = read(tmp_path, slot_s=1)
    assert got.ids == ("7", "8.5", "x")
    assert dict(got.intake.dropped) == {"empty id": 1, "same person, cell and time slot after rounding": 4}
    assert "ids are numbers in one place and text in another; they are compared as text" in got.intake.notes


def test_mixed_formats_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,t,lat,lon\n7,1714564800,48.85,2.35\n")
    pq.write_table(
        pa.table({"ID": [7], "T": [NOON + 60], "Lat": [48.85], "Lon": [2.35]}), tmp_path / "2.parquet"
    )
    got = read(tmp_path)
    assert got.ids == ("7",)
    assert got.n_samples == 2


def test_an_arrow_stream_is_read_once_and_only_what_is_needed() -> None:
    table = arrow([("a", NOON, 48.81, 2.31)]).append_column("other", pa.array([[1, 2]]))
    assert read(pa.RecordBatchReader.from_batches(table.schema, table.to_batches())).n_samples == 1


def test_a_source_of_no_known_kind_is_refused() -> None:
    with pytest.raises(
        Exception,
        match=r"cannot read a int; give a path, a folder, a pattern such as 'calls/\*\.csv', or a data frame",
    ):
        read(5)


def test_a_geopandas_frame_is_read_as_it_is_and_as_the_arrow_table_of_it() -> None:
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    points = geopandas.points_from_xy([2.31], [48.81])
    frame = geopandas.GeoDataFrame({"id": ["a"], "t": [NOON]}, geometry=points, crs=4326)
    assert read(frame.to_arrow()).n_samples == read(frame).n_samples == 1
