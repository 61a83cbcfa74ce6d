"""What shoal once took for something else: now refused with a remedy, or counted in words that are true."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foreign_writers import NOON_S
from refusals import refusal
from shoal.errors import InputError, MisuseError
from shoal.io import read, read_tables
from shoal.io.columns.land import on_land
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.runtime.run import Run


def table(**columns: Any) -> pa.Table:
    n = max((len(values) for values in columns.values()), default=1)
    usual: dict[str, Any] = {"id": ["ann"] * n, "t": [NOON_S] * n, "lat": [48.85] * n, "lon": [2.35] * n}
    return pa.table({name: columns.get(name, values) for name, values in usual.items()})


CITIES = {
    "Paris": (48.85, 2.35), "San Francisco": (37.77, -122.42), "Beijing": (39.9, 116.4), "Lagos": (6.5, 3.4),
    "London": (51.5, -0.1), "Porto": (41.15, -8.6), "Sydney": (-33.9, 151.2), "Honolulu": (21.3, -157.85),
    "Mauritius": (-20.2, 57.5), "Barbados": (13.1, -59.6), "Abidjan": (5.3, -4.0), "Malta": (35.9, 14.4),
}  # fmt: skip


@pytest.mark.parametrize("city", CITIES)
def test_cities_are_on_land(city: str) -> None:
    lat, lon = (np.array([value]) for value in CITIES[city])
    assert on_land(lon, lat).all()
    assert read(table(lat=[CITIES[city][0]], lon=[CITIES[city][1]])).n_samples == 1


def test_the_map_knows_oceans_and_the_ends_of_the_earth() -> None:
    lon = np.array([-30.0, -150.0, 80.0, 180.0, -180.0, 0.0, 0.0, 200.0])
    lat = np.array([30.0, 0.0, -30.0, 0.0, 0.0, 90.0, -80.0, 0.0])
    assert on_land(lon, lat).tolist() == [False] * 6 + [True, False]


def test_paris_with_latitude_and_longitude_swapped() -> None:
    swapped = table(lat=[2.35, 2.35], lon=[48.85, 48.85])
    assert refusal(swapped) == (
        "100 % of the positions of the data frame lie at sea as given, and on land with latitude and "
        "longitude "
        "swapped; name the columns with --lat and --lon, the other way round if they are swapped, as they "
        "are if "
        "this is the sea"
    )
    right = read(swapped, lat="lon", lon="lat")
    assert right.crs == read(table()).crs
    insisted = read(swapped, lat="lat", lon="lon")
    assert insisted.intake.rows_read == 2
    assert any("lie at sea as given" in note for note in insisted.intake.notes)


def test_a_few_positions_at_sea_are_no_reason_to_refuse() -> None:
    ferry = table(lat=[48.85] * 3 + [2.35] * 3, lon=[2.35] * 3 + [48.85] * 3)
    assert read(ferry).intake.rows_read == 6
    antarctic = table(lat=[40.0], lon=[-70.0])  # the Atlantic; the other way round it is Antarctica
    assert read(antarctic).n_samples == 1


def test_serial_days_of_a_spreadsheet_are_no_steps_of_a_second() -> None:
    days = table(t=[45413.5, 45413.6])
    assert "the days of a spreadsheet (Excel); give --time-unit serial-days" in refusal(days)
    got = read(days, time_unit="serial-days")
    assert (got.t * 60).tolist() == [NOON_S, NOON_S + 8640]
    assert read(table(t=[1.5, 2.5])).n_samples == 1  # small fractions are steps still


@pytest.mark.parametrize(
    ("numbers", "form"),
    [([20240501, 20240502], "%Y%m%d"), ([202405011200], "%Y%m%d%H%M"), ([20240501120000], "%Y%m%d%H%M%S")],
)
def test_dates_written_as_numbers_are_no_count_of_seconds(numbers: list[int], form: str) -> None:
    assert "numbers that are dates without separators, like 9999999" in refusal(table(t=numbers))
    got = read(table(t=numbers), time_format=form)
    assert got.t[0] * 60 == (NOON_S if len(form) > 6 else NOON_S - 43_200)
    assert refusal(table(t=[str(number) for number in numbers])).endswith(
        f"give --time-format {form}, or --time-unit if they are not"
    )


def test_a_delta_table_does_not_return_people_deleted_from_it(tmp_path: Path) -> None:
    """A plain folder with a log beside its files, as Delta Lake lays it out: old files still hold the "
    "deleted."""
    around, tmp_path = tmp_path, tmp_path / "calls"
    tmp_path.mkdir()
    pq.write_table(table(id=["ann", "bob"]), tmp_path / "part-0.parquet")
    pq.write_table(table(id=["ann"]), tmp_path / "part-1.parquet")
    assert read(tmp_path).ids == ("ann", "bob")
    for marker, kind in (("_delta_log", "Delta Lake"), (".hoodie", "Hudi")):
        (tmp_path / marker).mkdir()
        with pytest.raises(Exception, match=f"is a {kind} table"):
            read(tmp_path)
        with pytest.raises(InputError, match=f"is a {kind} table, whose folder also holds deleted rows"):
            read(around)
        (tmp_path / marker).rmdir()
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v1.metadata.json").write_text("{}")
    with pytest.raises(Exception, match="is an Iceberg table"):
        read(tmp_path)


def test_rows_that_round_to_one_sample_are_no_exact_duplicates() -> None:
    near = table(t=[NOON_S, NOON_S + 20], lat=[48.85, 48.85001])
    assert dict(read(near).intake.dropped) == {"same person, cell and minute after rounding": 1}
    assert dict(read(near, slot_s=300).intake.dropped) == {
        "same person, cell and time slot after rounding": 1
    }
    assert dict(read(near, snap=False).intake.dropped) == {}
    twice = table(t=[NOON_S, NOON_S])
    assert dict(read(twice, snap=False).intake.dropped) == {"exact duplicate": 1}


def test_times_without_a_zone_are_counted_and_the_hours_are_said() -> None:
    naive = table(t=["2024-05-01 20:00"] * 2, lat=[31.2, 31.4], lon=[121.4, 121.4])
    got = read(naive)
    assert got.intake.repaired["time without a zone taken as UTC"] == 2
    assert (
        "hours of the day, such as a home's nights, are those of UTC; here it is about UTC+8: if times "
        "without a "
        "zone are local, give --time-zone"
    ) in got.intake.notes
    local = read(naive, time_zone="Asia/Shanghai")
    assert (local.t * 60).tolist() == [NOON_S, NOON_S]
    assert local.intake.repaired == {}
    assert local.intake.reading.time_zone == "Asia/Shanghai"
    assert not any("UTC" in note for note in local.intake.notes)
    zoned = table(t=["2024-05-01T20:00Z"] * 2, lat=[31.2, 31.4], lon=[121.4, 121.4])
    assert any("UTC+8: --time-zone gives local ones" in note for note in read(zoned).intake.notes)
    assert not any("UTC+" in note for note in read(table()).intake.notes)


def test_a_clock_that_is_put_back_or_forward_is_counted() -> None:
    times = ["2024-10-27 02:30", "2024-03-31 02:30", "2024-07-01 12:00"]
    got = read(table(t=times), time_zone="Europe/Paris", slot_s=1)
    assert got.t.tolist() == [1711846800, 1719828000, 1729989000]
    assert dict(got.intake.repaired) == {
        "rows out of time order": 1,
        "local time that the clock showed twice, taken as the first": 1,
        "local time that the clock skipped, taken as the moment after": 1,
    }
    with pytest.raises(
        MisuseError, match="time_zone = 'Mars/Olympus' is not known; write it like Europe/Paris"
    ):
        read(table(t=times), time_zone="Mars/Olympus")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("Wed May 01 12:00:00 +0000 2024", {}),
        ("Wed, 01 May 2024 12:00:00 GMT", {}),
        ("May 1, 2024 12:00:00 PM", {}),
        ("1-May-2024 12:00", {}),
        ("01.05.2024 12:00", {}),
        ("2024-05-01 12:00:00 PM", {}),
        ("2024-05-01 12:00:00 p. m.", {}),
        ("May 1, 2024, 12:00:00\u202fPM", {}),
        ("01MAY2024:12:00:00", {}),
        ("01may2024 12:00:00", {}),
        ("01/May/2024:14:00:00 +0200", {}),
        ("Wed May 01 2024 14:00:00 GMT+0200 (Central European Summer Time)", {}),
        ("2024-05-01 02:00:00 PM", {"time_zone": "Europe/Paris"}),
        ("01/05/2024 12:00", {"time_format": "%d/%m/%Y %H:%M"}),
        ("05/01/24 12:00 pm", {"time_format": "%m/%d/%y %I:%M %p"}),
        ("2024-122 12:00", {"time_format": "%Y-%j %H:%M"}),
        ("2024-05-01T14:00:00+02:00", {"time_format": "%Y-%m-%dT%H:%M:%S%z"}),
    ],
)
def test_texts_that_mean_noon(text: str, settings: dict[str, Any]) -> None:
    assert (read(table(t=[text, None]), **settings).t * 60).tolist() == [NOON_S]


def test_day_or_month_first_is_proven_or_asked_for() -> None:
    assert (read(table(t=["31/12/2023 12:00", "01/05/2024 12:00"])).t * 60).tolist()[-1] == NOON_S
    assert (read(table(t=["12/31/2023 12:00", "05/01/2024 12:00"])).t * 60).tolist()[-1] == NOON_S
    assert refusal(table(t=["01/05/2024 12:00"])) == (
        "column 't' of the data frame holds dates like 99/99/9999 99:99, which may begin with the day or the "
        "month; give --time-format '%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M'"
    )
    assert "dates with the day first and dates with the month first" in refusal(
        table(t=["31/12/2023", "12/31/2023"])
    )
    mixed = read(table(t=["2024-05-01T12:00:00Z"] * 3 + ["01/05/2024"]))
    assert mixed.intake.dropped["empty or unreadable time"] == 1


def test_what_was_seen_is_shown_without_what_it_says() -> None:
    assert "times are written like 99 AAAAAA 9999; " in refusal(table(t=["12 Brumaire"[:9] + " 1799"]))
    assert "secret" not in refusal(table(t=["secret-4711"]))
    assert "times are written like 9999-99-99 99: 99; " in refusal(table(t=["2024-05-01 12:\n30"]))


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("%Y-W%W", "counts weeks (%W)"),
        ("%H:%M", "gives no whole date"),
        ("%Q", "holds '%Q', which is not known"),
        ("%Y-%m-%d %d", "gives the day twice"),
        ("%Y-%m-%d %I:%M", "of a clock of 12 hours (%I) without AM or PM (%p)"),
    ],
)
def test_formats_that_cannot_work(form: str, why: str) -> None:
    with pytest.raises(MisuseError) as caught:
        read(table(t=["2024-05-01"]), time_format=form)
    assert why in str(caught.value)


def test_dates_and_clock_times_in_two_columns() -> None:
    columns = {"lat": [48.85], "lon": [2.35], "id": ["ann"]}
    apart = pa.table({**columns, "date": ["01.05.2024"], "time": ["12:00"]})
    assert "clock times without dates, like 99:99; name the column of dates with --date" in refusal(apart)
    assert (read(apart, date="date").t * 60).tolist() == [NOON_S]
    typed = pa.table({
        **columns, "date": pa.array([19844], pa.date32()), "time": pa.array([43_200], pa.time32("s"))
    })  # fmt: skip
    assert (read(typed, date="date").t * 60).tolist() == [NOON_S]
    assert "clock times without dates" in refusal(typed)


def test_coordinates_in_other_clothes() -> None:
    millionths = table(lat=[488_500_000], lon=[23_500_000])
    assert (
        "they may be degrees times 10,000,000 (48.9 N 2.4 E): divide by 10,000,000, or call them lat_e7 and "
        "lon_e7"
    ) in refusal(millionths)
    named = millionths.rename_columns(["id", "t", "lat_e7", "lon_e7"])
    assert read(named).crs == read(table()).crs
    commas = read(table(lat=["48,85", "48,86"], lon=["2,35", "2,36"]))
    assert commas.n_samples == 2
    assert commas.intake.repaired == {"coordinate with a decimal comma": 4}
    mixed = read(table(lat=["48.85", "48,86"], lon=["2.35", "2.36"]), snap=False)
    assert mixed.lat is not None
    assert mixed.lat.tolist() == [48.85, 48.86], "degrees have no thousands"
    assert mixed.intake.repaired == {"coordinate with a decimal comma": 1}


def test_thousands_are_no_decimal_commas() -> None:
    thousands = pa.table({"id": ["a", "a"], "t": [1, 2], "x": ["652,000", "5"], "y": ["6,862,000", "7"]})
    assert read(thousands, crs="local").intake.dropped == {"empty or unreadable coordinate": 1}


def test_meters_that_nobody_stated_are_counted() -> None:
    local = pa.table({"id": ["ann"], "t": [NOON_S], "x": [652_000.0], "y": [6_862_000.0]})
    reason = "x and y without a reference system taken as meters"
    assert read(local).intake.repaired == {reason: 1}
    assert read(local, crs="EPSG:2154").intake.repaired == {}


def rows_at(folder: Path, name: str, lat: float, lon: float, rows: int = 20) -> None:
    """A file of somebody who walks about there."""
    text = "".join(f"{name},{NOON_S + 60 * i},{lat + i / 500},{lon + i / 500}\n" for i in range(rows))
    (folder / f"{name}.csv").write_text("id,t,lat,lon\n" + text)


@pytest.mark.parametrize("rows", [5, 20, 60])
def test_one_file_of_several_with_latitude_and_longitude_swapped(tmp_path: Path, rows: int) -> None:
    rows_at(tmp_path, "ann", 48.85, 2.35)
    rows_at(tmp_path, "bob", 48.9, 2.4)
    rows_at(tmp_path, "cho", 2.35, 48.85, rows)
    assert refusal(tmp_path) == (
        "people in cho.csv are at sea as given, and where others are with latitude and longitude swapped; "
        "write all alike, or name the columns with --lat and --lon if this is the sea"
    )
    named = read(tmp_path, lat="lat", lon="lon")
    assert (
        "people in cho.csv are at sea as given, and where others are with latitude and longitude swapped; "
        "check --lat and --lon"
    ) in named.intake.notes


def test_swapped_files_are_seen_by_tasks_that_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_tables, "_APART_BYTES", 1)
    (tmp_path / "calls").mkdir()
    for i in range(6):
        rows_at(tmp_path / "calls", f"p{i}", *((48.85, 2.35) if i % 3 else (2.35, 48.85)))
    with pytest.raises(InputError, match=r"people in p0\.csv, p3\.csv are at sea"):
        store_people(tmp_path / "calls", Reading(), tmp_path / "people", Run(), engine=Run(threads=1))


def test_who_is_at_sea_in_a_file_of_their_own_is_not_swapped(tmp_path: Path) -> None:
    """Nor is a boat at the coast of Syria, where latitude and longitude are alike."""
    for places in (
        {"paris": (48.85, 2.35), "ferry": (2.35, 58.0), "channel": (50.0, -2.0)},
        {"ankara": (39.9, 32.9), "ship": (8.0, 53.0)},
        {"latakia": (35.6, 36.1), "boat": (36.1, 35.6)},
        {"malta": (35.9, 14.4), "sea": (15.5, 41.0)},
    ):
        folder = tmp_path / next(iter(places))
        folder.mkdir()
        for name, (lat, lon) in places.items():
            rows_at(folder, name, lat, lon)
        assert not [note for note in read(folder).intake.notes if "swapped" in note]


def test_files_without_a_row_among_others_are_counted(tmp_path: Path) -> None:
    rows_at(tmp_path, "ann", 48.85, 2.35)
    for name in ("begin", "late"):
        rows_at(tmp_path, name, 0, 0, 0)
    assert "2 of 3 files hold no rows" in read(tmp_path).intake.notes
    (tmp_path / "late.csv").unlink()
    assert "1 of 2 files holds no rows" in read(tmp_path).intake.notes
    (tmp_path / "begin.csv").unlink()
    assert not [note for note in read(tmp_path).intake.notes if "no rows" in note]


def test_texts_of_zero_bytes_among_others_are_files_without_rows(tmp_path: Path) -> None:
    """A day on which nothing was found; first or later, wherever it is read."""
    folder = tmp_path / "days"
    folder.mkdir()
    rows_at(folder, "ann", 48.85, 2.35)
    alone = read(folder)
    for name in ("a.csv", "z.csv"):
        (folder / name).touch()
    people = read(folder)
    assert people.intake.notes == ("2 of 3 files hold no rows", *alone.intake.notes)
    assert people.t.tolist() == alone.t.tolist()
    kept = store_people(folder, Reading(), tmp_path / "people", Run(), engine=Run())
    assert kept.intake.notes == people.intake.notes


@pytest.mark.parametrize("name", ["a.parquet", "a.csv.gz", "a.json"])
def test_what_is_never_of_zero_bytes_was_cut(name: str, tmp_path: Path) -> None:
    rows_at(tmp_path, "ann", 48.85, 2.35)
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=f"{name} is empty"):
        read(tmp_path)


def test_nothing_but_texts_of_zero_bytes_is_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"a\.csv is empty"):
        read(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("cut", "is_said"), [(0, False), (1, False), (2, True), (7, True), (8, True), (30, True)]
)
def test_a_file_cut_off_in_its_last_line(tmp_path: Path, encoding: str, cut: int, is_said: bool) -> None:
    """A whole last line that merely has no end is common, and nothing is said of it."""
    rows = [f"u{n % 7},2024-01-02 10:{n // 60:02}:{n % 60:02},52.56605,13.{41234 + n}" for n in range(150)]
    text = "\n".join(["id,t,lat,lon", *rows, ""])
    path = tmp_path / "trunc.csv"
    path.write_bytes(text[: len(text) - cut].encode(encoding))
    said = [note for note in read(path, snap=False).intake.notes if "cut off" in note]
    words = "the last line of trunc.csv has no end and is too short; the file may be cut off: copy it again"
    assert said == [words] * is_said


def test_a_last_value_as_short_as_others_is_not_said_to_be_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("t,lat,lon,id" + "".join(f"\n{NOON_S + n},48.85,2.35,{n % 20}" for n in range(24)))
    assert "cut off" not in " ".join(read(path).intake.notes)


@pytest.mark.parametrize(
    ("written", "clock"),
    [("01/05/2024", ""), ("01-05-2024 10", " %H"), ("1/5/2024 10:00", " %H:%M"),
     ("01/05/2024, 10:00:05", ", %H:%M:%S"), ("01/05/2024 10:00:05.250", " %H:%M:%S.%f"),
     ("01/05/2024 10:00 AM", " %I:%M %p"), ("01/05/2024 9 p.m.", " %I %p"),
     ("01/05/2024 10:00 +0200", " %H:%M %z"), ("01-05-2024 10:00:05Z", " %H:%M:%S%z"),
     ("01/05/2024  10:00:05-03:00", "  %H:%M:%S%z")],
)  # fmt: skip
def test_the_time_format_that_is_offered_fits_what_was_seen(written: str, clock: str) -> None:
    ambiguous, sign = table(t=[written] * 2), written.strip("0123456789 ")[0]
    offered = [sign.join((*order, "%Y")) + clock for order in (("%d", "%m"), ("%m", "%d"))]
    assert refusal(ambiguous).endswith(f"give --time-format '{offered[0]}' or '{offered[1]}'")
    months = [read(ambiguous, time_format=form).t[0] * 60 // (27 * 86_400) for form in offered]
    assert months[0] > months[1]


def test_a_time_format_that_fits_no_row() -> None:
    dates = table(t=["01/05/2024 10:00"] * 2)
    assert "--time-format '%d/%m/%Y %H:%M:%S' fits none of the times like 99/99/9999 99:99; give the one" in (
        refusal(dates, time_format="%d/%m/%Y %H:%M:%S")
    )
