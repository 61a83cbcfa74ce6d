"""Frames that are computed when asked for, and notes on planes and clocks that look wrong."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foreign_writers import NOON_S, people
from shoal.errors import InputError, MisuseError
from shoal.io import read
from shoal.io.columns.advice import likely_planes
from shoal.io.formats.frames import parts_of
from shoal.io.formats.json_values import members
from shoal.io.toml_tables import TABLES
from shoal.model.projection import WGS84, transform


class Spark:
    """What a frame of Spark 4 offers, as far as reading goes."""

    schema = "struct<...>"

    def toArrow(self) -> pa.Table:
        return people()


def test_a_lazy_frame_is_computed_when_it_is_read() -> None:
    lazy = pl.from_arrow(people()).lazy()  # type: ignore[union-attr]  # a frame
    assert read(lazy).ids == ("ann", "bob")
    assert read(Spark()).ids == ("ann", "bob")
    with pytest.raises(MisuseError, match="cannot read a SimpleNamespace"):
        read(SimpleNamespace())


def test_the_partitions_of_dask_are_read_one_at_a_time() -> None:
    computed: list[int] = []

    def part(number: int) -> Any:
        def compute(scheduler: str) -> pa.Table:
            computed.append(number)
            assert scheduler == "synchronous"
            return people().slice(number, 1)

        return SimpleNamespace(compute=compute)

    lazy = type("DataFrame", (), {"partitions": [part(0), part(1)]})()
    type(lazy).__module__ = "dask.dataframe"
    parts = parts_of(lazy)
    assert parts is not None
    assert computed == []
    assert read(lazy).ids == ("ann", "bob")
    assert computed == [0, 1]


@pytest.mark.parametrize(
    ("crs", "lat", "lon"),
    [
        ("EPSG:2154", 48.86, 2.35),
        ("EPSG:2056", 47.38, 8.54),
        ("EPSG:28992", 52.37, 4.9),
        ("EPSG:25832", 52.0, 9.0),
    ],
)
def test_a_national_plane_is_suggested_and_never_taken(crs: str, lat: float, lon: float) -> None:
    x, y = transform(WGS84, crs, np.array([lon, lon + 0.05]), np.array([lat, lat + 0.05]))
    table = pa.table({"id": ["ann", "bob"], "t": [NOON_S, NOON_S], "x": x, "y": y})
    got = read(table)
    assert got.crs is None
    assert any(f"--crs {crs}" in note for note in got.intake.notes)
    assert not any("local meters" in note for note in read(table, crs=crs).intake.notes)


def test_numbers_near_zero_suggest_nothing_and_others_every_plane_that_fits() -> None:
    planes = TABLES["advice"]["planes"]
    assert len({crs for crs, *_ in planes}) == len(planes) > 20
    assert likely_planes(-500, -500, 500, 500) == {}
    several = likely_planes(200_000, 400_000, 250_000, 450_000)
    assert list(several) == [
        "EPSG:2180",
        "EPSG:28992",
        "EPSG:31287",
        "EPSG:2039",
        "EPSG:29902",
        "EPSG:3844",
        "EPSG:5186",
        "EPSG:5181",
        "EPSG:326NN",
    ]  # in Great Britain this is sea
    assert several["EPSG:326NN"] == "--crs EPSG:326NN (zone NN of UTM, at 3.6 N)"
    south = likely_planes(330_000, 7_390_000, 332_000, 7_395_000)  # Sao Paulo
    assert south["EPSG:327NN"] == "--crs EPSG:327NN (zone NN of UTM, at 23.6 S)"
    assert several["EPSG:28992"] == "--crs EPSG:28992 (the Netherlands (RD), at 51.8 N 6.4 E)"
    assert likely_planes(530_000, 180_000, 532_000, 183_000).keys() >= {"EPSG:27700"}  # London


def test_a_clock_that_jumps_by_an_era_of_gps_is_told() -> None:
    times = [NOON_S + 60 * n for n in range(9)] + [NOON_S - 1024 * 7 * 86_400]
    table = pa.table({"id": ["ann"] * 10, "t": times, "lat": [48.85] * 10, "lon": [2.35] * 10})
    (note,) = [each for each in read(table).intake.notes if "ten years" in each]
    assert note.startswith("1 sample lies")
    assert "1,024 weeks" in note
    sound = read(table.slice(0, 9)).intake.notes
    assert not any("ten years" in each for each in sound)


@pytest.mark.parametrize("block", [7, 64, 1 << 20])
def test_a_list_of_objects_is_read_object_by_object(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.io.formats.json_values._BLOCK_BYTES", block)
    monkeypatch.setattr("shoal.io.formats.row_files.TEXT_ROWS", 3)
    rows = [
        {
            "user": {"id": f"é{n % 2}"},
            "t": NOON_S + 60 * n,
            "lat": 48.85,
            "lon": 2.35 + n / 100,
            "note": "],[{",
        }
        for n in range(8)
    ]
    path = tmp_path / "list.json"
    path.write_text("\ufeff [" + " ,\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
    assert list(members(path)) == rows
    got = read(path, id="user.id")
    assert (got.ids, got.n_samples) == (("é0", "é1"), 8)
    later = [{"t": 1}, *rows]
    path.write_text(json.dumps(later))
    assert read(path, id="user.id").intake.rows_read == 9  # a name that only later objects have is a column
    for damage in ("[1, 2", '[{"a": 1}] more', '[{"a": 1} {"b": 2]', "[tru]"):
        path.write_text(damage)
        with pytest.raises(InputError):
            list(members(path))
    path.write_text("[1,22,333]")
    assert list(members(path)) == [1, 22, 333]


def test_settings_that_no_reader_takes_are_told(tmp_path: Path) -> None:
    rows = pa.table({"uid": ["a", "b"], "t": [1_714_557_600] * 2, "lat": [48.85, 48.9], "lon": [2.35, 2.4]})
    file, text = tmp_path / "calls.parquet", tmp_path / "calls.csv"
    pq.write_table(rows, file)
    text.write_text("a,1714557600,48.85,2.35\nb,1714557600,48.9,2.4\n")
    named = "uid,t,lat,lon"
    told = read(file, columns=named, table="calls", crs="local").intake.notes
    assert [note.partition(":")[0] for note in told[:2]] == ["--columns was not used", "--table was not used"]
    assert any(note.startswith("the declared crs is of planar input") for note in told)
    assert any("--columns was not used" in note for note in read(rows, columns=named).intake.notes)
    used = read(text, columns=named, crs="EPSG:4326").intake.notes
    assert [note for note in used if "not used" in note or "declared crs" in note] == []
    assert any("--table was not used" in note for note in read(text, columns=named, table="x").intake.notes)
