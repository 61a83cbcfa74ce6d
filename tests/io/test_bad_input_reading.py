"""Every bad input that a newcomer can bring: one line that says what happened, where, and what to do.

Nothing lost in silence.
"""

import gzip
import inspect
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import MisuseError, ShoalError
from shoal.io import read
from shoal.model.intake import Reading
from shoal.model.trajectories import Trajectories

GOOD = "id,t,lat,lon\nann,2024-05-01T10:00:00Z,48.85,2.35\n"
PARQUET = pa.table(
    {"id": ["ann"] * 5000, "t": np.arange(5000) + 1_714_564_800, "lat": [48.85] * 5000, "lon": [2.35] * 5000}
)


def message(source: object, **settings: Any) -> str:
    """What the user is told: one line, without values."""
    with pytest.raises(ShoalError) as caught:
        read(source, **settings)
    text = caught.value.cli_message
    assert "\n" not in text
    assert "secret" not in text
    return text


def text_file(tmp_path: Path, content: str | bytes, name: str = "calls.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def as_parquet(tmp_path: Path, size: int | None = None) -> Path:
    pq.write_table(PARQUET, tmp_path / "calls.parquet")
    whole = (tmp_path / "calls.parquet").read_bytes()
    (tmp_path / "calls.parquet").write_bytes(whole[: size if size is not None else len(whole) // 2])
    return tmp_path / "calls.parquet"


COLUMN_ERRORS = {
    "msisdn,ts,cell": "no latitude and longitude columns in calls.csv (found: msisdn, ts, cell); name them "
    "with --lat and --lon, or give planar --x and --y; records that name a cell need a table of cells: "
    "--cells FILE",
    "who,when,a,b": "no id, time, latitude and longitude columns in calls.csv (found: who, when, a, b); name "
    "them with --id, --time, --lat and --lon, or give planar --x and --y",
    "who,when,x": "no id, time and y columns in calls.csv (found: who, when, x); name them with --id, --time "
    "and --y",
    "id,t,lat": "no longitude column in calls.csv (found: id, t, lat); name it with --lon, or give planar "
    "--x and --y",
    "id,t,lng": "no latitude column in calls.csv (found: id, t, lng); name it with --lat, or give planar "
    "--x and --y",
    "id,t,x": "no y column in calls.csv (found: id, t, x); name it with --y",
    "who,t,lat,lon": "no id column in calls.csv (found: who, t, lat, lon); name it with --id, or "
    "give --id file if each file is one person",
    "id,when,lat,lon": "no time column in calls.csv (found: id, when, lat, lon); name it with --time",
    "id,user_id,t,lat,lon": "2 columns of calls.csv could be the id: id, user_id; name one with --id",
    "id,t,Timestamp,lat,lon": "2 columns of calls.csv could be the time: t, Timestamp; name one with --time",
    "id,t,lat,latitude,lon": "2 columns of calls.csv could be the latitude: lat, latitude; name one with "
    "--lat",
    "id,t,lat,lon,lng": "2 columns of calls.csv could be the longitude: lon, lng; name one with --lon",
    "id,t,x,y,easting": "2 columns of calls.csv could be the x: x, easting; name one with --x",
    "id,t,lat,lon,lat": "2 columns of calls.csv could be the latitude: lat, lat; name one with --lat",
}


@pytest.mark.parametrize("header", COLUMN_ERRORS)
def test_missing_and_ambiguous_columns(tmp_path: Path, header: str) -> None:
    row = ",".join(["secret"] * len(header.split(",")))
    assert message(text_file(tmp_path, f"{header}\n{row}\n")) == COLUMN_ERRORS[header]


def test_columns_of_a_frame_are_named_too() -> None:
    assert message(pa.table({"id": ["a"], "t": [1]})).startswith(
        "no latitude and longitude columns in the data frame (found: id, t); name them with --lat and --lon"
    )


def test_a_named_column_that_is_not_there(tmp_path: Path) -> None:
    assert (
        message(text_file(tmp_path, GOOD), id="caller")
        == "no column 'caller' in calls.csv (found: id, t, lat, lon)"
    )
    assert (
        message(text_file(tmp_path, GOOD), person="driver")
        == "no column 'driver' in calls.csv (found: id, t, lat, lon)"
    )
    with pytest.raises(MisuseError, match="name either lat and lon or x and y, not both"):
        read(text_file(tmp_path, GOOD), lat="lat", x="lon")


def test_a_named_column_of_two_that_differ_only_in_case(tmp_path: Path) -> None:
    path = text_file(tmp_path, "ID,Id,t,lat,lon\nann,bob,2024-05-01,48.85,2.35\n")
    assert message(path, id="id") == "2 columns of calls.csv are called 'id': ID, Id; write one name exactly"
    assert read(path, id="Id").ids == ("bob",)


@pytest.mark.parametrize("settings", [{"color": 1}, {"cellm": 100}])
def test_an_unknown_setting(tmp_path: Path, settings: dict[str, Any]) -> None:
    expected = (
        f"'{next(iter(settings))}' is not a setting of read; the settings are id, time, lat, .*, "
        "min_samples_per_day"
    )
    with pytest.raises(MisuseError, match=expected):
        read(text_file(tmp_path, GOOD), **settings)


UNUSABLE_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no such file": (lambda place: place / "none.csv", "check the path"),
    "no match": (lambda place: f"{place}/*.csv", "no file matches"),
    "unknown ending": (
        lambda place: text_file(place, "x", "calls.pdf"),
        "shoal does not know the format of calls.pdf; it reads .csv, .csv.gz,",
    ),
    "empty folder": (lambda place: place, "holds no file that shoal reads; it reads .csv, .csv.gz, "),
    "empty CSV": (lambda place: text_file(place, ""), "calls.csv is empty"),
    "blank CSV": (lambda place: text_file(place, "\n \n"), "calls.csv is empty"),
    "header only": (
        lambda place: text_file(place, "id,t,lat,lon\n"),
        "calls.csv holds no rows, only column names",
    ),
    "header without line end": (
        lambda place: text_file(place, "id,t,lat,lon"),
        "calls.csv holds no rows, only column names",
    ),
    "no header": (
        lambda place: text_file(place, "secret,1714564800,48.85,2.35\n" * 3),
        "the first line of calls.csv holds values, not column names; add a header line, for example "
        "id,t,lat,lon, or name the columns with --columns id,t,lat,lon",
    ),
    "no header, decimal commas": (
        lambda place: text_file(place, "Anna M;01.11.2026 08:15;48,137;11,575\n" * 3),
        "the first line of calls.csv holds values, not column names; add a header line",
    ),
    "not UTF-8": (
        lambda place: text_file(place, GOOD.encode() + b"\xe9\xe8,2024-05-01,48,2\n"),
        "calls.csv is not UTF-8 text; save it again as UTF-8",
    ),
    "UTF-16 without a mark": (
        lambda place: text_file(place, GOOD.encode("utf-16-le")),
        "calls.csv is not UTF-8 text; save it again as UTF-8",
    ),
    "empty Parquet": (lambda place: as_parquet(place, 0), "calls.parquet is empty"),
    "no rows in Parquet": (
        lambda place: _write(PARQUET.slice(0, 0), place),
        "calls.parquet holds no rows, only column names",
    ),
    "truncated Parquet": (
        as_parquet,
        "calls.parquet is not a whole Parquet file; it may be cut off: copy or write it again",
    ),
    "no Parquet": (
        lambda place: text_file(place, GOOD, "calls.parquet"),
        "calls.parquet is text, not Parquet; if it is CSV, name it calls.csv",
    ),
    "truncated gzip": (
        lambda place: text_file(place, gzip.compress((GOOD * 10).encode())[:-9], "calls.csv.gz"),
        "calls.csv.gz is cut off in the middle of its gzip data; copy it again",
    ),
    "long truncated gzip": (
        lambda place: text_file(place, _cut(gzip.compress(_many_lines())), "calls.csv.gz"),
        "calls.csv.gz is cut off in the middle of its gzip data; copy it again",
    ),
    "no gzip": (
        lambda place: text_file(place, GOOD, "calls.csv.gz"),
        "calls.csv.gz is not gzip data although its name ends in .gz",
    ),
    "empty frame": (lambda _: PARQUET.slice(0, 0), "the data frame holds no rows, only column names"),
    "nested ids": (
        lambda _: PARQUET.set_column(0, "id", pa.array([[1]] * 5000)),
        "column 'id' of the data frame holds list<",
    ),
    "times that are none": (
        lambda _: PARQUET.set_column(1, "t", pa.array([True] * 5000)),
        "column 't' of the data frame holds bool, not times",
    ),
    "coordinates that are none": (
        lambda _: PARQUET.set_column(2, "lat", pa.array([True] * 5000)),
        "column 'lat' of the data frame holds bool, not numbers",
    ),
}


def _write(table: pa.Table, place: Path) -> Path:
    pq.write_table(table, place / "calls.parquet")
    return place / "calls.parquet"


def _cut(content: bytes) -> bytes:
    return content[: len(content) * 2 // 3]


def _many_lines() -> bytes:
    noise = np.random.default_rng(1).random(60_000).tolist()
    return ("id,t,lat,lon\n" + "".join(f"u{value},1714564800,48.85,{value}\n" for value in noise)).encode()


@pytest.mark.parametrize("name", UNUSABLE_FILES)
def test_files_that_cannot_be_used(tmp_path: Path, name: str) -> None:
    make, expected = UNUSABLE_FILES[name]
    assert expected in message(make(tmp_path))


def test_a_damaged_page_in_the_middle_of_a_parquet_file(tmp_path: Path) -> None:
    path = _write(PARQUET, tmp_path)
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(bytes(content))
    assert (
        message(path)
        == "calls.parquet is not a whole Parquet file; it may be cut off: copy or write it again"
    )


def test_broken_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    path = text_file(
        tmp_path,
        GOOD + "bob,2024-05-01\nbob,2024-05-01,48.85,2.35,7\nbob,2024-05-01T00:00Z,48.85,2.35\n\n   \n",
    )
    got = read(path, lose_people=True)
    assert got.ids == ("ann", "bob")
    assert dict(got.intake.dropped) == {"line with the wrong number of fields": 3}
    assert got.intake.rows_read == 5


def test_lines_swallowed_by_an_open_quotation_mark_are_counted_each(tmp_path: Path) -> None:
    path = text_file(
        tmp_path, GOOD + 'bob,2024-05-01,"48.85,2.35\n' + "eve,2024-05-01T00:00Z,48.85,2.35\n" * 3
    )
    got = read(path, lose_people=True)
    assert dict(got.intake.dropped) == {"line with the wrong number of fields": 4}
    assert got.intake.rows_read == 5
    assert (
        got.intake.notes[0]
        == "a quotation mark in calls.csv is not closed; the 4 lines after it count as one broken line each"
    )


@pytest.mark.parametrize("rows", ['bob,2024-05-01,"48.85,2.35\n', '"bob,2024-05-01,48.85,2.35\n'])
@pytest.mark.parametrize("end", ["", '",2024-05-01,48.85,2.35\n'])
def test_the_first_line_of_swallowed_lines_is_named(rows: str, end: str, tmp_path: Path) -> None:
    path = text_file(tmp_path, "# of May\n" + GOOD + rows + "eve,2024-05-01T00:00Z,48.85,2.35\n" * 3 + end)
    assert "cannot be read (" in message(path)
    assert "(first in line 4 of calls.csv)" in message(path)


def test_lines_between_two_quotation_marks_are_counted_each(tmp_path: Path) -> None:
    line = "eve,2024-05-01T00:00Z,48.85,2.35\n"
    got = read(text_file(tmp_path, GOOD + '"' + line * 4 + '"' + line * 2), lose_people=True)
    assert dict(got.intake.dropped) == {"line with the wrong number of fields": 5}
    assert got.ids == ("ann", "eve")
    assert got.intake.rows_read == 7
    assert (
        got.intake.notes[0]
        == "quotation marks in calls.csv span several lines; these 5 lines count as broken"
    )


def of_rows(**columns: list[Any]) -> pa.Table:
    n = max(len(values) for values in columns.values())
    usual = {
        "id": ["ann"] * n,
        "t": [1_714_564_800 + 60 * row for row in range(n)],
        "lat": [48.85] * n,
        "lon": [2.35] * n,
    }
    return pa.table(
        {name: pa.array(columns.get(name, values), from_pandas=False) for name, values in usual.items()}
    )


DROPPED: dict[str, tuple[pa.Table, dict[str, int]]] = {
    "nan": (of_rows(lat=[48.85, float("nan")]), {"coordinate not finite": 1}),
    "infinite": (of_rows(lon=[2.35, float("inf"), float("-inf")]), {"coordinate not finite": 2}),
    "null": (of_rows(lon=[2.35, None]), {"empty or unreadable coordinate": 1}),
    "latitude": (of_rows(lat=[90.0, 90.01, -90.0, -400.17]), {"latitude outside -90..90": 2}),
    "longitude": (of_rows(lon=[180.0, 180.01, -180.0, 359.5]), {"longitude outside -180..180": 2}),
    "zero": (of_rows(lat=[48.85, 0.0, 0.0], lon=[2.35, 0.0, 1.0]), {"position (0, 0)": 1}),
    "before 1970": (of_rows(t=[1_714_564_800, 0, -1]), {"time before 1970": 1}),
    "future": (
        of_rows(t=[1_714_564_800, 4_000_000_000, 9_000_000_000_000_000_000]),
        {"time in the future": 2},
    ),
    "no time": (of_rows(t=[1_714_564_800, None]), {"empty or unreadable time": 1}),
    "nan time": (of_rows(t=[1_714_564_800.0, float("nan"), float("inf")]), {"empty or unreadable time": 2}),
    "no id": (of_rows(id=["ann", "", None, "  "]), {"empty id": 3}),
    "nan id": (of_rows(id=[1.0, float("nan")]), {"empty id": 1}),
    "duplicates": (
        of_rows(t=[1_714_564_800, 1_714_564_801, 1_714_564_800]),
        {"same person, cell and minute after rounding": 2},
    ),
    "one reason for a row": (
        of_rows(id=["ann", ""], t=[1_714_564_800, None], lat=[48.85, 99.0]),
        {"empty id": 1},
    ),
}


@pytest.mark.parametrize("name", DROPPED)
def test_unusable_rows_are_dropped_and_counted_by_reason(name: str) -> None:
    table, dropped = DROPPED[name]
    got = read(table)
    assert dict(got.intake.dropped) == dropped
    assert got.intake.rows_read == table.num_rows == got.n_samples + sum(dropped.values())


def test_local_coordinates_too_large_for_any_grid() -> None:
    table = pa.table({"id": ["a", "a"], "t": [1, 2], "x": [500.0, 1e300], "y": [1.0, 1.0]})
    assert dict(read(table).intake.dropped) == {"coordinate beyond 1e12 m": 1}


def test_positions_outside_the_projection() -> None:
    table = pa.table(
        {"id": ["a", "a"], "t": [1_714_564_800] * 2, "x": [452_000.0, 1e30], "y": [5_411_000.0, 1e30]}
    )
    assert dict(read(table, crs="EPSG:32631").intake.dropped) == {"position outside the projection": 1}
    assert read(table, crs="EPSG:32631", working_crs="EPSG:32631").x.tolist() == [4520]


def test_one_subject_and_one_row_is_enough_to_read() -> None:
    assert read(of_rows(lat=[48.85])).n_subjects == 1


def test_when_no_row_is_left_the_reasons_are_listed() -> None:
    swapped = of_rows(
        lat=[121.4, 121.5, 121.4], lon=[31.2, 31.2, 31.2], t=[1_714_564_800, 1_714_564_900, None]
    )
    assert message(swapped) == (
        "no row of the data frame can be used (2 latitude outside -90..90 (first in row 1 of the data "
        "frame), 1 empty or unreadable time (first in row 3 of the data frame)); they may be swapped "
        "(31.2 N 121.5 E): name latitude with --lat and longitude with --lon"
    )
    assert message(of_rows(lon=[385.1, 385.2])).endswith("check which columns are meant")
    assert "write times as 2024-05-01T10:00:00Z" in message(of_rows(t=["spring 2024", "secret"]))
    assert "give it with --time-unit" in message(of_rows(t=[10**12] * 2), time_unit="s")
    crs = pa.table({"id": ["a"], "t": [1], "x": [1e30], "y": [1e30]})
    assert message(crs, crs="EPSG:32631").endswith(
        "(1 position outside the projection (first in row 1 of the data frame)); the declared --crs may be "
        "another one, such as EPSG:4647 for eastings with their zone in front"
    )


def test_nobody_active_enough() -> None:
    assert message(of_rows(lat=[48.85]), min_samples_per_day=5).startswith("nobody has 5 samples a day")


def test_planar_numbers_that_look_like_degrees() -> None:
    table = pa.table({"id": ["a", "a"], "t": [1, 2], "x": [2.35, 2.36], "y": [48.85, 48.86]})
    assert message(table) == (
        "x and y of the data frame lie within -180..180 and -90..90, as degrees do; "
        "name them with --lon and --lat, or give --crs EPSG:4326 for a geometry, or --crs local if they are "
        "meters"
    )
    assert read(table, crs="local", cell_m=0.01).crs is None
    assert (
        read(table, lon="x", lat="y").crs
        == read(table, crs="EPSG:4326").crs
        == "+proj=laea +lat_0=48.9 +lon_0=2.4 +datum=WGS84 +units=m +no_defs"
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"crs": "EPSG:99999999"}, "is not a coordinate reference system that pyproj knows"),
        (
            {"crs": "EPSG:2154", "working_crs": "EPSG:4326"},
            "working_crs = 'EPSG:4326' counts in degrees; give a plane in meters",
        ),
        ({"working_crs": "EPSG:2154"}, "local meters cannot be projected"),
        ({"time_unit": "5 fortnights"}, "is not a duration"),
        ({"cell_m": 0.0}, "cell_m = 0.0 must be finite and greater than 0"),
        ({"cell_m": 1e-9}, "finer than a millimeter"),
        ({"slot_s": 1e-9}, "finer than a microsecond"),
        ({"slot_s": float("nan")}, "slot_s = nan must be finite"),
        ({"min_samples_per_day": -1}, "min_samples_per_day = -1 must be finite and at least 0"),
        ({"not_after_s": float("inf")}, "not_after_s = inf must be a finite number"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], expected: str) -> None:
    table = pa.table({"id": ["a"], "t": [1], "x": [652_000.0], "y": [6_862_000.0]})
    assert expected in message(table, **settings)


def test_files_of_one_folder_must_give_positions_alike(tmp_path: Path) -> None:
    text_file(tmp_path, GOOD, "1.csv")
    text_file(tmp_path, "id,t,latitude,lon\nann,2024-05-01,48.85,2.35\n", "2.csv")
    assert message(tmp_path) == "no column 'lat' in 2.csv (found: id, t, latitude, lon)"


def test_unsorted_rows_are_sorted_and_those_out_of_order_counted() -> None:
    who = ["a", "b", "a", "a", "b", "a"]
    t = [1_714_564_800 + 60 * minute for minute in (5, 9, 1, 3, 10, 2)]
    got: Trajectories = read(of_rows(id=who, t=t))
    assert (got.t - got.t.min()).tolist() == [0, 1, 2, 4, 8, 9]
    assert dict(got.intake.repaired) == {"rows out of time order": 2}
    assert got.intake.rows_read == got.n_samples


SOUND = {
    "calls.csv": GOOD.encode() * 3,
    "calls.csv.gz": gzip.compress(GOOD.encode() * 3),
    "calls.txt": GOOD.replace(",", " ").encode() * 3,
}


def read_or_refused(path: Path) -> None:
    try:
        got = read(path)
    except ShoalError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert got.intake.rows_read == got.n_samples + sum(got.intake.dropped.values())
    assert "\n" not in refusal


@pytest.mark.parametrize("name", SOUND)
@given(
    damages=st.lists(
        st.tuples(st.integers(0, 1000), st.binary(max_size=6), st.integers(0, 6)), min_size=1, max_size=4
    )
)
def test_damaged_text_is_read_with_a_true_account_or_refused_in_one_line(
    name: str, damages: list[tuple[int, bytes, int]]
) -> None:
    content = SOUND[name]
    for place, inserted, lost in damages:
        begin = place % (len(content) + 1)
        content = content[:begin] + inserted + content[begin + lost :]
    with tempfile.TemporaryDirectory() as folder:
        path = text_file(Path(folder), content, name)
        read_or_refused(path)


@given(damages=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_parquet_is_read_or_refused_in_one_line(damages: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        content = bytearray(_write(PARQUET.slice(0, 50), Path(folder)).read_bytes())
        for place, value in damages:
            content[place % len(content)] = value
        path = text_file(Path(folder), bytes(content), "calls.parquet")
        read_or_refused(path)


READ_EACH = """
import sys
from pathlib import Path
from shoal.errors import ShoalError
from shoal.io import read
path, begin = Path(sys.argv[1]), int(sys.argv[2])
sound = path.read_bytes()
for place in range(begin, len(sound)):
    path.write_bytes(sound[:place] + bytes([sound[place] ^ 32]) + sound[place + 1 :])
    try:
        read(path)
    except ShoalError as error:
        assert "\\n" not in str(error)
"""


def test_no_damage_to_a_footer_of_parquet_ends_the_process(tmp_path: Path) -> None:
    """What it says of the sizes within a column ends pyarrow, and all with it, when it cannot be true."""
    path = _write(PARQUET.slice(0, 50), tmp_path)
    footer_bytes = int.from_bytes(path.read_bytes()[-8:-4], "little")
    begin = path.stat().st_size - footer_bytes - 8
    command = [sys.executable, "-c", READ_EACH, str(path), str(begin)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_read_spells_out_every_setting_of_a_reading() -> None:
    options = {
        name: option.default
        for name, option in inspect.signature(read).parameters.items()
        if option.kind is option.KEYWORD_ONLY
    }
    assert options.pop("run") is None
    assert options == {setting.name: setting.default for setting in fields(Reading)}


@pytest.mark.parametrize("setting", fields(Reading), ids=lambda setting: setting.name)
def test_every_setting_reaches_the_reading(setting: Field[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {bool: not setting.default, int: 1234, float: 1234.5}
    hints = get_type_hints(Reading)[setting.name]
    kind = next(kind for kind in (get_args(hints) or (hints,)) if kind is not type(None))
    wanted: Any = kinds.get(kind, "wanted")
    monkeypatch.setattr("shoal.io.reading.read_with", lambda _source, reading, _run: reading)
    assert getattr(read("calls.csv", **{setting.name: wanted}), setting.name) == wanted != setting.default
