"""Columns, systems and geometry.

What is recognized, what is preferred, and where positions come out, against pyproj directly.
"""

import json
import math
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import CRS, Transformer

from shoal.errors import InputError, MisuseError
from shoal.io import read, read_with
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

NOON = 1_714_564_800
PARIS = (2.35, 48.85)


def cells(got: Trajectories) -> list[tuple[int, int]]:
    return list(zip(got.x.tolist(), got.y.tolist(), strict=True))


def projected(crs: str, lon: float, lat: float, cell_m: float = 100.0) -> tuple[int, int]:
    x, y = Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(lon, lat)
    return math.floor(x / cell_m), math.floor(y / cell_m)


def test_names_are_recognized_whatever_their_case_and_blanks() -> None:
    got = read(
        pa.table({" UID ": ["a"], "Tracked_At": [NOON], "LATITUDE": [48.85], "Lng": [2.35], "speed": [3]})
    )
    assert got.intake.reading == Reading(
        id=" UID ", time="Tracked_At", lat="LATITUDE", lon="Lng", working_crs=got.crs, time_unit="s",
        not_after_s=got.intake.reading.not_after_s,
    )  # fmt: skip


def test_named_columns_win_over_recognized_ones() -> None:
    table = pa.table(
        {
            "id": ["row"],
            "caller": ["ann"],
            "t": [0],
            "When": [NOON],
            "lat": [1.0],
            "north": [48.85],
            "lon": [2.35],
        }
    )
    got = read(table, id="CALLER", time="when", lat="north")
    assert got.ids == ("ann",)
    assert cells(got) == [projected(got.crs or "", *PARIS)]
    assert got.t.tolist() == [NOON // 60]
    assert (got.intake.reading.id, got.intake.reading.time, got.intake.reading.lat) == (
        "caller",
        "When",
        "north",
    )


@pytest.mark.parametrize(
    "named", [{"id": "lat"}, {"id": "t", "time": "t"}, {"lat": "lon"}, {"x": "a", "y": "A"}]
)
def test_one_column_cannot_mean_two_things(named: dict[str, Any]) -> None:
    table = pa.table(
        {"id": ["1", "2"], "t": [NOON, NOON], "lat": [1.0, 2.0], "lon": [3.0, 4.0], "a": [5.0, 6.0]}
    )
    with pytest.raises(MisuseError, match="is named for two things"):
        read(table, **named)


def test_degrees_are_preferred_to_planar_columns_unless_those_are_named() -> None:
    table = pa.table({"id": ["a"], "t": [NOON], "x_m": [5e5], "y_m": [6e5], "lat": [48.85], "lon": [2.35]})
    got = read(table)
    assert cells(got) == [projected(got.crs or "", *PARIS)]
    assert (
        "positions are read from lat and lon; left aside: the planar columns of the data frame"
        in got.intake.notes
    )
    assert cells(read(table, x="x_m")) == [(5000, 6000)]


def test_the_unit_of_protection_can_be_another_column_or_the_day() -> None:
    table = pa.table({
        "vehicle": ["v1", "v1", "v2"], "driver": ["z", "z", None], "t": [NOON, NOON + 86400, NOON],
        "lat": [48.85] * 3, "lon": [2.35] * 3,
    })  # fmt: skip
    assert read(table, id="vehicle").intake.unit_of_protection == "each distinct value of column 'vehicle'"
    by_driver = read(table, person="Driver")
    assert by_driver.ids == ("z",)
    assert dict(by_driver.intake.dropped) == {"empty id": 1}
    assert by_driver.intake.unit_of_protection == "each distinct value of column 'driver'"
    days = read(table, id="vehicle", per_day=True)
    assert days.ids == ("v1@2024-05-01", "v1@2024-05-02", "v2@2024-05-01")
    assert days.input_rank is not None
    assert days.input_rank.tolist() == [0, 1, 2]
    assert days.intake.unit_of_protection == "each distinct value of column 'vehicle', one unit per UTC day"


def test_the_person_column_needs_no_id_column() -> None:
    table = pa.table({"id": ["1"], "user_id": ["ann"], "t": [NOON], "lat": [48.85], "lon": [2.35]})
    got = read(table, person="user_id")
    assert got.ids == ("ann",)
    assert read_with(table, got.intake.reading, Run()).ids == ("ann",)


def test_days_are_sorted_by_the_text_of_the_id() -> None:
    table = pa.table({"id": ["a@", "a", "a!"], "t": [NOON] * 3, "lat": [48.85] * 3, "lon": [2.35] * 3})
    got = read(table, per_day=True)
    assert list(got.ids) == sorted(f"{who}@2024-05-01" for who in ("a@", "a", "a!"))


def test_screening_by_activity_is_counted() -> None:
    who = ["busy"] * 30 + ["quiet"] * 3
    t = [NOON + 7000 * n for n in range(30)] + [NOON, NOON + 60, NOON + 60]
    table = pa.table({"id": who, "t": t, "lat": [48.85] * 33, "lon": [2.35] * 33})
    got = read(table, min_samples_per_day=5)
    assert got.ids == ("busy",)
    assert dict(got.intake.dropped) == {
        "same person, cell and minute after rounding": 1,
        "below 5 samples a day": 2,
    }
    assert got.intake.rows_read == got.n_samples + sum(got.intake.dropped.values())
    assert "1 of 2 subjects has fewer than 5 samples a day and is left out" in got.intake.notes
    assert read(table, min_samples_per_day=2, per_day=True).n_subjects == 4


def test_screening_by_active_days_is_counted_and_the_same_on_disk(tmp_path: Path) -> None:
    """Ann is there on all three days, bob on the two at the ends, cy six times on one."""
    day = 86_400
    rows = [("ann", 0), ("ann", day), ("ann", 2 * day), ("bob", 0), ("bob", 2 * day + 60)]
    rows += [("cy", day + 600 * n) for n in range(6)]
    who, t = [who for who, _ in rows], [NOON + t for _, t in rows]
    table = pa.table({"id": who, "t": t, "lat": [48.85] * len(rows), "lon": [2.35] * len(rows)})
    for asked, kept, lost in ((1, "ann bob cy", 0), (2, "ann bob", 6), (3, "ann", 8), (-1, "ann", 8)):
        got = read(table, min_active_days=asked)
        assert got.ids == tuple(kept.split())
        assert sum(got.intake.dropped.values()) == lost
        stored = store_people(table, got.intake.reading, tmp_path / f"{asked}", Run())
        assert stored.names.to_pylist() == list(got.ids)
        assert stored.intake.dropped == got.intake.dropped
    with pytest.raises(InputError, match=r"nobody has samples on 9 of the 3 days; .* min_active_days"):
        read(table, min_active_days=9)
    with pytest.raises(MisuseError, match="min_active_days = -2"):
        read(table, min_active_days=-2)


@pytest.mark.parametrize("crs", ["EPSG:2154", "EPSG:3857", "EPSG:32631"])
def test_planar_input_of_a_declared_system_is_converted_like_any_other(crs: str) -> None:
    x, y = Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(*PARIS)
    got = read(pa.table({"id": ["a"], "t": [NOON], "easting": [x], "northing": [y]}), crs=crs)
    degrees = read(pa.table({"id": ["a"], "t": [NOON], "lon": [PARIS[0]], "lat": [PARIS[1]]}))
    assert got.crs == degrees.crs
    assert cells(got) == cells(degrees)
    assert got.intake.reading.crs == crs


def test_a_working_plane_can_be_given() -> None:
    got = read(
        pa.table({"id": ["a"], "t": [NOON], "lon": [PARIS[0]], "lat": [PARIS[1]]}), working_crs="EPSG:3035"
    )
    assert got.crs == "EPSG:3035"
    assert cells(got) == [projected("EPSG:3035", *PARIS)]


def test_the_plane_is_centered_across_the_date_line() -> None:
    got = read(pa.table({"id": ["a", "b"], "t": [NOON] * 2, "lon": [179.0, -179.0], "lat": [-17.0, -17.4]}))
    assert got.crs in {
        f"+proj=laea +lat_0=-17.2 +lon_0={lon} +datum=WGS84 +units=m +no_defs" for lon in ("180.0", "-180.0")
    }


def wkb(x: float, y: float, *, big: bool = False, kind: str = "2D") -> bytes:
    order = ">" if big else "<"
    code, srid, extra = {
        "2D": (1, b"", ()), "Z": (1001, b"", (7.0,)),
        "EWKB": (0x20000001, struct.pack(f"{order}I", 4326), ()),
        "EWKB Z": (0xA0000001, struct.pack(f"{order}I", 4326), (7.0,)), "ZM": (3001, b"", (1.0, 2.0)),
    }[kind]  # fmt: skip
    return (
        struct.pack(f"{order}BI", 0 if big else 1, code)
        + srid
        + struct.pack(f"{order}{2 + len(extra)}d", x, y, *extra)
    )


geometries = st.tuples(
    st.floats(2.3, 2.4),
    st.floats(48.8, 48.9),
    st.booleans(),
    st.sampled_from(["2D", "Z", "EWKB", "EWKB Z", "ZM", "line", "cut", "null"]),
)


def geometry_table(
    column: list[bytes | None], metadata: dict[str, Any] | None, name: str = "geometry"
) -> pa.Table:
    table = pa.table(
        {
            "id": ["a"] * len(column),
            "t": [NOON + 60 * n for n in range(len(column))],
            name: pa.array(column, pa.binary()),
        }
    )
    return table if metadata is None else table.replace_schema_metadata({"geo": json.dumps(metadata)})


@given(st.lists(geometries, max_size=12))
def test_points_in_well_known_binary(drawn: list[tuple[float, float, bool, str]]) -> None:
    column: list[bytes | None] = [wkb(*PARIS)]
    expected, unreadable = [PARIS], 0
    for x, y, big, kind in drawn:
        if kind in {"line", "cut", "null"}:
            unreadable += 1
            line = struct.pack("<BIIdddd", 1, 2, 2, x, y, x, y)
            column.append({"line": line, "cut": wkb(x, y)[:-1], "null": None}[kind])
        else:
            column.append(wkb(x, y, big=big, kind=kind))
            expected.append((x, y))
    got = read(geometry_table(column, None))
    assert dict(got.intake.dropped) == ({"empty or unreadable coordinate": unreadable} if unreadable else {})
    assert cells(got) == [projected(got.crs or "", *point) for point in expected]
    sliced = read(geometry_table([None, *column], None).slice(1))
    assert cells(sliced) == cells(got)


@pytest.mark.parametrize("crs", ["OGC:CRS84", "EPSG:2154", "EPSG:4258"])
def test_geoparquet_says_its_system(tmp_path: Path, crs: str) -> None:
    x, y = Transformer.from_crs("OGC:CRS84", crs, always_xy=True).transform(*PARIS)
    own: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Point"]}
    if crs != "OGC:CRS84":
        own["crs"] = CRS.from_user_input(crs).to_json_dict()
    metadata = {"version": "1.1.0", "primary_column": "place", "columns": {"place": own}}
    pq.write_table(geometry_table([wkb(x, y)], metadata, "place"), tmp_path / "points.geoparquet")
    got = read(tmp_path / "points.geoparquet")
    assert cells(got) == [projected(got.crs or "", *PARIS)]
    assert got.intake.reading.crs == crs
    again = read_with(tmp_path / "points.geoparquet", got.intake.reading, Run())
    assert cells(again) == cells(got)
    assert again.intake.reading == got.intake.reading


def test_geoparquet_without_a_known_system_is_local_or_refused() -> None:
    metadata = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB", "crs": None}}}
    assert cells(read(geometry_table([wkb(5e3, 7e3)], metadata))) == [(50, 70)]
    with pytest.raises(InputError, match="as degrees do"):
        read(geometry_table([wkb(*PARIS)], metadata))
    assert read(geometry_table([wkb(*PARIS)], metadata), crs="EPSG:4326").crs is not None


@pytest.mark.parametrize(
    "metadata",
    [
        {"columns": None},
        {"columns": ["geometry"]},
        {"columns": {"geometry": "WKB"}},
        {"columns": {"geometry": {"crs": 4326}}},
        {"columns": {"geometry": {"crs": {"id": 4326}}}},
    ],
)
def test_statements_of_another_kind_end_no_reading(metadata: dict[str, Any]) -> None:
    points = geometry_table([wkb(*PARIS)], {"primary_column": "geometry", **metadata})
    assert cells(read(points, crs="EPSG:4326", working_crs="EPSG:2154")) == [projected("EPSG:2154", *PARIS)]


def test_geometry_in_another_encoding_is_refused() -> None:
    metadata = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "point"}}}
    with pytest.raises(
        InputError,
        match="the geometry of the data frame is encoded as point; write it as WKB, or give lat and lon "
        "columns",
    ):
        read(geometry_table([wkb(*PARIS)], metadata))


def test_columns_are_preferred_to_geometry() -> None:
    table = (
        geometry_table([wkb(9.0, 9.0)], None)
        .append_column("lat", pa.array([PARIS[1]]))
        .append_column("lon", pa.array([PARIS[0]]))
    )
    got = read(table)
    assert cells(got) == [projected(got.crs or "", *PARIS)]
    assert (
        "positions are read from lat and lon; left aside: the geometry column of the data frame"
        in got.intake.notes
    )


def test_files_in_different_systems_are_refused(tmp_path: Path) -> None:
    for name, crs in (("1", "EPSG:2154"), ("2", "EPSG:32631")):
        own = {"encoding": "WKB", "crs": CRS.from_user_input(crs).to_json_dict()}
        metadata = {"primary_column": "geometry", "columns": {"geometry": own}}
        pq.write_table(geometry_table([wkb(6e5, 5e6)], metadata), tmp_path / f"{name}.parquet")
    with pytest.raises(
        InputError, match=r"2\.parquet is in another coordinate reference system than the files before it"
    ):
        read(tmp_path)
    (tmp_path / "2.parquet").unlink()
    (tmp_path / "2.csv").write_text("id,t,lat,lon\na,2024-05-01,48.85,2.35\n")
    with pytest.raises(InputError, match="other columns than the files before it"):
        read(tmp_path)
