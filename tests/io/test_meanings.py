"""Columns that change what others mean are used or asked about, and each advice leads to the right places."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from foreign_writers import NOON_S
from refusals import refusal
from shoal.errors import InputError
from shoal.io import read
from shoal.io.columns.advice import advise_degrees
from shoal.io.columns.meanings import advise_crs, split_unit, zone_in_name
from shoal.model.projection import WGS84, transform

RIO = (-22.9, -43.2)
LATER = [NOON_S, NOON_S + 100]


def table(**columns: list[Any]) -> pa.Table:
    usual: dict[str, list[Any]] = {"id": ["ann", "bob"], "t": LATER}
    return pa.table({**usual, **columns})


def degrees(source: object, **settings: Any) -> list[tuple[float, float]]:
    got = read(source, snap=False, **settings)
    assert got.lat is not None
    assert got.lon is not None
    return [(round(lat, 6), round(lon, 6)) for lat, lon in zip(got.lat, got.lon, strict=True)]


@pytest.mark.parametrize(
    ("south", "west", "values"),
    [
        ("N/S", "E/W", ("S", "W")),
        ("lat_dir", "lon_dir", ("S", "W")),
        ("LatRef", "LonRef", ("South", "West")),
        ("GPSLatitudeRef", "GPSLongitudeRef", ("S", "W")),
        ("NS Indicator", "EW Indicator", ("s", "w")),
        ("lat_hemi", "lng_hemi", ("S", "W")),
        ("Latitude Direction", "Longitude Direction", ("S", "W")),
        ("is_south", "is_west", (True, True)),
        ("lat_neg", "lon_neg", (1, 1)),
        ("lat_sign", "lon_sign", (-1, -1)),
        ("lat_sign", "lon_sign", ("-", "-")),
        ("hemisphere", "ew", ("S", "W")),
        ("N_S", "E_W", ("S ", " W")),
        ("y_dir", "x_dir", ("S", "W")),
        ("dir1", "dir2", ("S", "W")),
        ("lat_south", "lon_west", (1, 1)),
        ("lat_positive", "lon_positive", (False, False)),
        ("breite_ns", "laenge_ow", ("S", "W")),
        ("hemisphere_ns", "hemisphere_ew", ("S", "W")),
        ("N/S", "E/O", ("S", "O")),
        ("A", "B", ("S", "W")),
    ],
)
def test_hemispheres_turn_the_sign(south: str, west: str, values: tuple[Any, Any]) -> None:
    mirrored = table(lat=[22.9, 22.9], lon=[43.2, 43.2], **{south: [values[0]] * 2, west: [values[1]] * 2})
    assert degrees(mirrored) == [RIO, RIO]
    notes = read(mirrored).intake.notes
    assert f"the hemisphere of lat comes from the column '{south}'" in notes
    signed = table(lat=[-22.9] * 2, lon=[-43.2] * 2, **{south: [values[0]] * 2, west: [values[1]] * 2})
    assert degrees(signed) == [RIO, RIO]


def test_hemispheres_that_contradict_or_are_missing_are_counted() -> None:
    odd = table(
        id=[*"abcdefghijkl"],
        t=[NOON_S] * 12,
        lat=[22.9] * 10 + [-22.9, 22.9],
        lon=[43.2] * 12,
        ns=["S"] * 10 + ["N", ""],
    )
    got = read(odd, lose_people=True)
    assert got.n_samples == 10
    assert got.intake.dropped == {"empty or unreadable coordinate": 2}


def test_east_and_west_of_languages_that_share_a_letter() -> None:
    french = table(lat=[48.0] * 2, lon=[2.0] * 2, lon_dir=["E", "O"])
    german = table(lat=[48.0] * 2, lon=[2.0] * 2, **{"O/W": ["O", "W"]})
    assert degrees(french) == degrees(german) == [(48.0, 2.0), (48.0, -2.0)]


@pytest.mark.parametrize("values", [["O", "O"], ["right", "left"], ["5", "6"]])
def test_hemispheres_in_words_that_have_two_meanings(values: list[str]) -> None:
    assert "write E and W there" in refusal(table(lat=[48.0] * 2, lon=[2.0] * 2, lon_dir=values))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("south", [48.7, 48.7]),
        ("west", [2.1, 2.2]),
        ("lat_ref", ["", ""]),
        ("heading", ["S", "N"]),
        ("direction", ["S", "S"]),
        ("x_dir", [0.3, 0.4]),
        ("columns", ["a", "b"]),
        ("wo", ["17", "18"]),
        ("hsn", ["17", "18"]),
        ("lat_south", [48.2, 48.3]),
    ],
)
def test_columns_that_are_no_hemispheres(name: str, values: list[Any]) -> None:
    assert degrees(table(lat=[48.0] * 2, lon=[2.0] * 2, **{name: values})) == [(48.0, 2.0)] * 2


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[("a", 1)]] * 2, pa.map_(pa.string(), pa.int64())),
        pa.array([{"a": 1}] * 2),
        pa.array([[1]] * 2),
        pa.array([[{"a": 2}]] * 2),
        pa.array([2**63] * 2, pa.uint64()),
        pa.array([1.0] * 2, pa.float32()).cast(pa.float16()),
    ],
    ids=lambda values: str(values.type),
)
@pytest.mark.parametrize("name", ["m", "valid", "untrue", "accuracy", "utm_zone", "am_pm", "lat_min"])
def test_columns_of_any_type_beside_the_others_end_no_reading(name: str, values: pa.Array) -> None:
    plain = table(lat=[48.25] * 2, lon=[2.5] * 2)
    assert degrees(plain.append_column(name, values)) == [(48.25, 2.5)] * 2


@pytest.mark.parametrize(
    ("times", "name", "values", "asked"),
    [
        ([1714521600, 1714608000], "hour", [6, 7], "dates without a time of day, and the column 'hour'"),
        (["2024-05-01T00:00:00Z"] * 2, "sec_of_day", [600, 700], "without a time of day"),
        (["2024-05-01T06:00:00Z"] * 2, "minute", [6, 7], "whole hours, and the column 'minute'"),
        (["2024-05-01 06:15"] * 2, "second", [6, 7], "whole minutes, and the column 'second'"),
        (["2024-05-01T00:00:00Z"] * 2, "時刻", [600, 700], "without a time of day, and the column '時刻'"),
        (["2024-05-01T00:00:00Z"] * 2, "время", [600, 700], "without a time of day"),
        (["2024-05-01T00:00:00Z"] * 2, "tijd", [600, 700], "without a time of day"),
        ([1714521600, 1714608000], "minute_of_day", [600, 700], "without a time of day"),
    ],
)
def test_a_finer_clock_beside_times_of_any_kind_is_asked_about(
    times: list[Any], name: str, values: list[int], asked: str
) -> None:
    source = table(t=times, lat=[48.25] * 2, lon=[2.5] * 2, **{name: values})
    assert asked in refusal(source)
    answer: dict[str, Any] = (
        {"time_unit": "s"} if isinstance(times[0], int) else {"time_format": "%Y-%m-%dT%H:%M:%S%z"}
    )
    if name != "second":
        assert read(source, **answer).n_samples == 2


def test_dates_of_two_orders_with_a_clock_beside_them() -> None:
    source = table(t=["03/04/2024"] * 2, heure=["06:15", "07:15"], lat=[48.25] * 2, lon=[2.5] * 2)
    assert "'heure' may hold their clock times: give --time heure" in refusal(source)
    got = read(source, date="t", time="heure", time_format="%d/%m/%Y %H:%M", snap=False)
    assert got.t.tolist() == [1712124900, 1712128500]


def planar(**columns: list[Any]) -> pa.Table:
    return table(**{"easting": [448_000.0, 449_000.0], "northing": [5_411_000.0, 5_412_000.0], **columns})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zone", ["30T", "31T"]),
        ("utm_zone", [30, 31]),
        ("UTM Zone", ["30N", "31N"]),
        ("zone_number", ["30", "31"]),
        ("epsg", [32630, 32631]),
        ("srid", ["2154", "32631"]),
        ("crs", ["EPSG:2154", "EPSG:3857"]),
        ("zone", [30, 31]),
        ("utmzone", ["31 T", "32 U"]),
        ("grid_zone", ["31U", "32U"]),
        ("sector", ["31U", "32U"]),
        ("coord_system", ["UTM 31N", "UTM 32N"]),
        ("projection", ["EPSG:32631", "EPSG:32632"]),
        ("spatial_ref", ["EPSG:32631", "EPSG:32632"]),
        ("Bezugssystem", ["ETRS89/UTM31", "ETRS89/UTM32"]),
    ],
)
def test_planes_of_several_zones_are_not_mixed(name: str, values: list[Any]) -> None:
    mixed = planar(**{name: values})
    assert "of several planes" in refusal(mixed)
    assert "of several planes" in refusal(mixed, crs="EPSG:32631")
    assert read(mixed, crs="local").crs is None


@pytest.mark.parametrize("name", ["grid_square", "mgrs_100k", "OS square", "letters"])
def test_coordinates_within_the_squares_of_a_grid_are_refused(name: str) -> None:
    within = planar(**{name: ["DQ", "EQ"]})
    assert "within the squares of a grid" in refusal(within)
    assert "within the squares of a grid" in refusal(within, crs="EPSG:32631")
    assert read(within, crs="local").crs is None
    assert "within the squares of a grid" in refusal(planar(**{name: ["DQ", "EQ"], "band": ["U", "U"]}))
    assert read(planar(**{name: ["north", "south"]})).n_samples == 2


@pytest.mark.parametrize("datum", ["GCJ-02", "bd09ll", "NAD27", "ED50"])
def test_degrees_of_another_datum_are_refused(datum: str) -> None:
    for name in ("datum", "coord_type", "geodetic datum"):
        assert f"says that positions are of {datum}" in refusal(
            table(lat=[31.2, 31.3], lon=[121.4, 121.5], **{name: ["WGS84", datum]})
        )
        assert read(table(lat=[31.2, 31.3], lon=[121.4, 121.5], **{name: ["WGS84", "NAD83"]})).n_samples == 2


def test_a_single_zone_is_asked_about_and_the_answer_is_the_right_place() -> None:
    assert "give --crs EPSG:32631, or --crs local" in refusal(planar(zone=["31T", "31T"]))
    assert "EPSG:32631 (north of the equator) or --crs EPSG:32731" in refusal(planar(utm_zone=[31, 31]))
    assert "--crs EPSG:32731" in refusal(planar(zone=[31, 31], zone_letter=["H", "H"]))
    assert read(planar(zone=["31T", "31T"]), crs="EPSG:32631").n_samples == 2
    assert "give --crs EPSG:32631" in refusal(planar(zone=["31T", "31T"]), crs="EPSG:32632")
    assert read(planar(zone=["downtown", "harbor"])).n_samples == 2


@pytest.mark.parametrize(
    ("days", "clock", "values"),
    [
        ("date", "time", ["060000", "061500"]),
        ("date", "time", [60000, 61500]),
        ("date", "hour", [6, 7]),
        ("Date", "time", [6.25, 6.5]),
        ("gps_week", "time", [345_600, 345_700]),
        ("day", "t", [1, 2]),
        ("year", "time", [1200, 1300]),
        ("utc_date", "timestamp", [1, 2]),
        ("fecha", "time", [600, 615]),
        ("week", "time", [345_600.5, 345_601.5]),
        ("Datum", "time", [6, 7]),
        ("日付", "time", [6, 7]),
        ("дата", "t", [21_600, 21_660]),
        ("weekday", "t", [21_600, 21_660]),
        ("session_date", "t", [21_600, 21_660]),
        ("recording_start", "t", [0, 60]),
        ("start_time", "t", [0, 60]),
    ],
)
def test_small_numbers_beside_days_are_no_steps_of_a_second(days: str, clock: str, values: list[Any]) -> None:
    both = pa.table(
        {"id": ["a", "b"], days: ["010524", "010524"], clock: values, "lat": [48.0] * 2, "lon": [2.0] * 2}
    )
    asked = refusal(both, time=clock)
    assert f"the column '{days}' may hold their days" in asked
    assert "--date" in asked
    assert read(both, time=clock, time_unit="s").n_samples == 2


def test_the_answer_about_days_and_clocks_is_read() -> None:
    both = table(date=["010524"] * 2, time=["060000", "061500"], lat=[48.0] * 2, lon=[2.0] * 2).drop_columns(
        ["t"]
    )
    got = read(both, date="date", time_format="%d%m%y %H%M%S")
    assert (got.t * 60).tolist() == [NOON_S - 6 * 3600, NOON_S - 6 * 3600 + 900]
    hours = table(date=["2024-05-01"] * 2, hour=[6, 7], lat=[48.0] * 2, lon=[2.0] * 2).drop_columns(["t"])
    assert "give the column of dates with --date, and --time hour" in refusal(hours, time="date")
    assert (read(hours, date="date", time="hour").t * 60).tolist() == [NOON_S - 6 * 3600, NOON_S - 5 * 3600]


@pytest.mark.parametrize("name", ["tz", "timezone", "utc_offset", "tz_offset", "TimeZoneId", "gmt_offset"])
def test_zones_of_time_beside_times_without_one(name: str) -> None:
    local = table(t=["2024-05-01 12:00"] * 2, lat=[48.0] * 2, lon=[2.0] * 2, **{name: ["+02:00", "+09:00"]})
    assert f"the column '{name}' tells zones; give --time-zone" in refusal(local)
    assert read(local, time_zone="UTC").n_samples == 2
    stated = table(t=["2024-05-01 12:00Z"] * 2, lat=[48.0] * 2, lon=[2.0] * 2, **{name: ["+02:00", "+09:00"]})
    assert read(stated).n_samples == 2


HOME: dict[str, list[Any]] = {"lat": [48.0] * 2, "lon": [2.0] * 2}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zone", ["Europe/Paris"] * 2), ("zone", ["CET", "CEST"]), ("Zone", ["+02:00", "+01:00"]),
        ("region", ["America/Argentina/Buenos_Aires", "Asia/Tokyo"]), ("huso", ["Europe/Madrid", None]),
        ("local_tz", ["x", "y"]), ("olson", ["", ""]), ("fuso_horario", [-3, -3]), ("iana_zone", ["", ""]),
        ("standard", ["EST", "EDT"]),
    ],
)  # fmt: skip
def test_zones_that_values_or_further_names_tell(name: str, values: list[Any]) -> None:
    local = table(t=["2024-05-01 06:00"] * 2, **HOME, **{name: values})
    assert f"the column '{name}' tells zones; give --time-zone" in refusal(local)
    assert read(local, time_zone="Europe/Paris").n_samples == 2


def test_zones_of_times_in_a_layout_of_the_caller_and_of_numbers() -> None:
    zone = {"zone": ["Europe/Paris"] * 2}
    local = table(t=["2024-05-01 06:00"] * 2, **HOME, **zone)
    assert "tells zones; give --time-zone" in refusal(local, time_format="%Y-%m-%d %H:%M")
    assert read(local, time_format="%Y-%m-%d %H:%M", time_zone="UTC").n_samples == 2
    assert read(table(**HOME, **zone)).n_samples == 2


@pytest.mark.parametrize(
    "values", [["UTC", "UTC"], ["Z1", "Z2"], ["downtown", "harbor"], [1, 2], [None, None]]
)
def test_zones_of_other_things_are_no_question(values: list[Any]) -> None:
    assert read(table(t=["2024-05-01 06:00"] * 2, **HOME, zone=values)).n_samples == 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ampm", ["AM", "PM"]), ("period", ["AM", "PM"]), ("a.m./p.m.", ["a.m.", "p.m."]),
        ("am_or_pm", ["", ""]), ("AM/PM Indicator", ["P", "A"]), ("day_period", ["a. m.", "p. m."]),
        ("tt", ["pm", None]), ("Unnamed: 3", ["PM", "AM"]), ("time_suffix", ["A", "P"]),
        ("unit", ["上午", "下午"]), ("half", ["vorm.", "nachm."]),
    ],
)  # fmt: skip
def test_halves_of_the_day_in_a_column(name: str, values: list[Any]) -> None:
    halves = table(day=["2024-05-01"] * 2, t=["06:00"] * 2, **HOME, **{name: values})
    assert "tells the halves of the day apart" in refusal(halves, date="day")


def test_halves_of_the_day_beside_dates_with_a_clock() -> None:
    halves = table(t=["2024-05-01 06:00"] * 2, **HOME, period=["AM", "PM"])
    assert "tells the halves of the day apart" in refusal(halves)
    assert read(halves, time_format="%Y-%m-%d %H:%M").n_samples == 2


@pytest.mark.parametrize("name", ["minute", "min", "minutes", "MM", "minute_of_hour"])
def test_minutes_in_a_column_beside_hours(name: str) -> None:
    split = table(day=["2024-05-01"] * 2, t=[6, 7], **HOME, **{name: [15, 45]})
    assert f"the column '{name}' may hold their minutes" in refusal(split, date="day")
    assert read(split, date="day", time_format="%Y-%m-%d %H").n_samples == 2
    whole = table(t=["2024-05-01 06:10", "2024-05-01 07:00"], **HOME, **{name: [15, 45]})
    assert read(whole).n_samples == 2


def test_periods_of_other_things_are_no_halves_of_the_day() -> None:
    other = table(t=["2024-05-01 06:00"] * 2, period=["day", "night"], unit=["A", "B"], **HOME)
    assert read(other).n_samples == 2


def test_a_zone_of_the_plane_beside_local_times() -> None:
    both = planar(t=["2024-05-01 06:00"] * 2, zone=["31T"] * 2, period=["AM", "PM"])
    assert "tells the halves" in refusal(both)
    assert "give --crs EPSG:32631" in refusal(both, time_format="%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("lat", "lon", "per"),
    [
        ("lat_e7", "lon_e7", 1e7),
        ("lat_e6", "lon_e6", 1e6),
        ("Latitude [rad]", "Longitude [rad]", np.pi / 180),
        ("lat_rad", "lon_rad", np.pi / 180),
        ("lat (microdegrees)", "lon (microdegrees)", 1e6),
        ("lat_mas", "lon_mas", 3.6e6),
        ("lat_semicircles", "lon_semicircles", 2**31 / 180),
        ("lat_e5", "lng_e5", 1e5),
        ("Latitude (deg)", "Longitude (deg)", 1),
        ("lat_deg", "lon_deg", 1),
        ("latitude [°]", "longitude [°]", 1),
    ],
)
def test_units_in_the_names_of_coordinates(lat: str, lon: str, per: float) -> None:
    named = table(**{lat: [48.85 * per, 48.86 * per], lon: [2.35 * per, 2.36 * per]})
    assert degrees(named) == [(48.85, 2.35), (48.86, 2.36)]


def test_units_of_lengths_and_those_that_are_not_read() -> None:
    km = table(x_km=[652.0, 653.0], y_km=[6862.0, 6863.0])
    assert read(km, crs="EPSG:2154", snap=False).x.tolist() == [652_000, 653_000]
    assert "counts in ft" in refusal(table(x_ft=[1.0, 2.0], y_ft=[3.0, 4.0]))
    assert "counts in ddmm" in refusal(table(lat_ddmm=[4851.0] * 2, lon_ddmm=[221.0] * 2))


def test_units_in_the_names_of_times() -> None:
    place = {"lat": [48.0] * 2, "lon": [2.0] * 2}
    minutes = pa.table({"id": ["a", "b"], "t_min": [10, 20], **place})
    assert (read(minutes).t * 60).tolist() == [600, 1200]
    assert (read(pa.table({"id": ["a", "b"], "timestampMs": [NOON_S * 1000] * 2, **place})).t * 60)[
        0
    ] == NOON_S
    odd = pa.table({"id": ["a", "b"], "timestamp_ms": LATER, **place})
    assert "is named as milliseconds, and its numbers look like seconds" in refusal(odd)
    assert read(odd, time_unit="s").n_samples == 2
    gps = pa.table({"id": ["a", "b"], "gps_time": [1_398_600_018] * 2, **place})
    assert "count from 1980" in refusal(gps, time="gps_time")


@pytest.mark.parametrize("number", ["1.71454E+12", "1.71456e9", "1.7E+09", "1.714E+15", "1.71456481E+18"])
def test_times_that_lost_their_digits(number: str) -> None:
    lost = table(t=[number, number], lat=[48.0] * 2, lon=[2.0] * 2)
    assert "has lost digits" in refusal(lost)
    whole = str(NOON_S).ljust(int(number.lower().split("e")[1]) + 1, "0")
    assert "has lost digits" in refusal(table(t=[number, whole], lat=[48.0] * 2, lon=[2.0] * 2))
    unit = {12: "ms", 9: "s", 15: "us", 18: "ns"}[int(number.lower().split("e")[1])]
    assert read(lost, time_unit=unit).n_samples == 2


def test_digits_that_are_enough_and_numbers_too_short_for_a_time() -> None:
    assert read(table(t=["1.714564800E+09"] * 2, lat=[48.0] * 2, lon=[2.0] * 2)).n_samples == 2
    short = table(lat=[48.0] * 2, lon=[2.0] * 2).set_column(
        1, "t", pa.array(np.array(LATER, dtype=np.float32))
    )
    assert "has lost digits: its numbers since 1970 have steps of 128 s" in refusal(short)
    rounded = table(t=[1_714_560_000, 1_714_570_000], lat=[48.0] * 2, lon=[2.0] * 2)
    assert any("all times are multiples of 10,000 s" in note for note in read(rounded).intake.notes)
    times = np.arange(1_714_564_813, 1_714_566_000, 200).astype(np.float32).astype(float).tolist()
    of_32_bits = table(id=["ann"] * 6, t=times, lat=[48.0] * 6, lon=[2.0] * 6)
    assert any("all times are multiples of 128 s" in note for note in read(of_32_bits).intake.notes)
    every_quarter = table(t=[900 * 1_905_072, 900 * 1_905_073], lat=[48.0] * 2, lon=[2.0] * 2)
    assert not any("multiples" in note for note in read(every_quarter).intake.notes)


def test_dates_without_a_time_of_day_are_told() -> None:
    place = {"lat": [48.0] * 2, "lon": [2.0] * 2}
    for days in (
        ["2024-05-01", "2024-05-02"],
        ["1 May 2024", "2 May 2024"],
        ["20240501T0000", "20240502T0000"],
    ):
        assert any("no time of day" in note for note in read(table(t=days, **place)).intake.notes), days
    dates = table(**place).set_column(1, "t", pa.array([19_844, 19_845], pa.date32()))
    assert any(note.startswith("100 % of the times have no time of day") for note in read(dates).intake.notes)
    clock = read(table(t=["2024-05-01 06:00", "2024-05-02 07:00"], **place)).intake.notes
    assert not any("time of day" in note for note in clock)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([2_460_432.25, 2_460_432.5], "which are Julian days"),
        ([60_432.25, 60_432.5], "which are modified Julian days"),
        ([739_373.5, 739_373.6], "which are days of MATLAB"),
        ([2023, 2024], "which are years"),
        ([45_413.5, 45_413.6], "days of a spreadsheet"),
        ([476_262.25, 476_263.5], "may be hours since 1970; give --time-unit 1h"),
        ([19_844.25, 19_844.5], "may be days since 1970; give --time-unit 1d"),
        ([2024.33, 2024.34], "may be years"),
    ],
)
def test_numbers_that_count_from_other_years(numbers: list[float], words: str) -> None:
    assert words in refusal(table(t=numbers, lat=[48.0] * 2, lon=[2.0] * 2))


def test_seconds_since_2001_that_look_older_than_they_are() -> None:
    got = read(table(t=[736_257_600, 736_257_700], lat=[48.0] * 2, lon=[2.0] * 2))
    assert any("most times lie before 1995" in note for note in got.intake.notes)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (638_501_616_000_000_000, "ticks of .NET since year 1"),
        (133_590_384_000_000_000, "ticks of Windows since 1601"),
    ],
)
def test_ticks_are_no_nanoseconds(number: int, words: str) -> None:
    ticks = table(t=[number, number + 100], lat=[48.0] * 2, lon=[2.0] * 2)
    assert words in refusal(ticks)
    assert read(ticks, time_unit="ns", snap=False).t[0] == number // 10**9


def test_a_time_that_was_cut_in_its_hour_is_no_midnight() -> None:
    times = ["2024-05-01T0", "2024-05-01T06"]
    got = read(table(t=times, lat=[48.0] * 2, lon=[2.0] * 2), lose_people=True)
    assert got.intake.dropped == {"empty or unreadable time": 1}


def test_years_among_dates_are_no_seconds() -> None:
    got = read(table(t=["2024", "2024-05-01T12:00Z"], lat=[48.0] * 2, lon=[2.0] * 2), lose_people=True)
    assert got.intake.dropped == {"empty or unreadable time": 1}


@pytest.mark.parametrize(
    "city", [(48.85, 2.35), (-22.9, -43.2), (35.7, 139.7), (40.7, -74.0), (-33.9, 151.2)]
)
@pytest.mark.parametrize("per", [1e7, 1e6, 1e5])
def test_advice_about_units_names_the_right_place_and_is_read(city: tuple[float, float], per: float) -> None:
    """Each guess shows the place that it gives; the right one is among them, and reads so when followed."""
    lat, lon = (np.array([value]) for value in city)
    advice = advise_degrees(np.rint(lon * per), np.rint(lat * per))
    place = f"{abs(city[0]):.1f} {'NS'[city[0] < 0]} {abs(city[1]):.1f} {'EW'[city[1] < 0]}"
    name = f"e{int(np.log10(per))}"
    assert f"({place}): divide by {per:,.0f}, or call them lat_{name} and lon_{name}" in advice
    numbers = {"lat": [round(city[0] * per)] * 2, "lon": [round(city[1] * per)] * 2}
    assert advice in refusal(table(**numbers))
    assert degrees(table(**numbers).rename_columns(["id", "t", f"lat_{name}", f"lon_{name}"])) == [city, city]


def test_degrees_and_minutes_in_one_number() -> None:
    assert "degrees and minutes in one number (48.9 N 2.3 E)" in refusal(
        table(lat=[4851.0] * 2, lon=[220.5] * 2)
    )


def test_radians_are_not_the_gulf_of_guinea() -> None:
    radians = np.radians([48.85, 2.35])
    lost = table(lat=[radians[0]] * 2, lon=[radians[1]] * 2)
    assert "on land as radians; convert radians, or call the columns lat_rad and lon_rad" in refusal(lost)
    assert degrees(lost.rename_columns(["id", "t", "lat_rad", "lon_rad"])) == [(48.85, 2.35)] * 2
    ship = read(lost, lat="lat", lon="lon")
    assert any("Gulf of Guinea" in note for note in ship.intake.notes)
    assert read(table(lat=[5.6, 5.6], lon=[-0.2, -0.2])).n_samples == 2  # Accra


CITIES = {
    "Paris": (48.85, 2.35), "Beijing": (39.9, 116.4), "Sydney": (-33.87, 151.0), "São Paulo": (-23.5, -46.6),
}  # fmt: skip


@pytest.mark.parametrize("city", CITIES)
@pytest.mark.parametrize("axis", ["lat", "lon"])
def test_one_coordinate_in_radians_is_asked_about(axis: str, city: str) -> None:
    steps = np.random.default_rng(1).normal(0, 0.02, (2, 40))
    places = {name: at + step for name, at, step in zip(("lat", "lon"), CITIES[city], steps, strict=True)}
    usual: dict[str, Any] = {"id": [*"ab"] * 20, "t": [NOON_S + 60 * row for row in range(40)]}
    wrong = pa.table(usual | places | {axis: np.radians(places[axis])})
    assert f"call the column {axis}_rad; give --lat and --lon" in refusal(wrong)
    got = read(wrong.rename_columns([axis + "_rad" if name == axis else name for name in wrong.schema.names]))
    right = read(pa.table(usual | places))
    assert np.array_equal(got.x, right.x)
    assert any("57 times" in note for note in read(wrong, lat="lat", lon="lon").intake.notes)


@pytest.mark.parametrize("place", [(0.3, 32.6), (1.35, 103.8), (-0.2, -78.5), (48.85, 2.35), (51.5, -0.1)])
def test_steps_of_degrees_near_zero_are_no_radians(place: tuple[float, float]) -> None:
    usual: dict[str, Any] = {"id": [*"ab"] * 8, "t": [NOON_S + 60 * row for row in range(16)]}
    for north, east in ((0.01, 0.001), (0.001, 0.01), (0.0, 0.01), (0.01, 0.0)):
        lat, lon = (
            [at + step * (row * 7 % 16) for row in range(16)]
            for at, step in zip(place, (north, east), strict=True)
        )
        assert read(pa.table(usual | {"lat": lat, "lon": lon})).n_subjects == 2


ZONED = {
    "Gauss-Krueger": (3_512_345, 4_412_345, 5_400_000), "UTM": (32_812_345, 33_213_000, 5_400_000),
    "Pulkovo": (7_412_345, 8_413_000, 6_170_000), "China": (39_512_345, 40_413_000, 4_400_000),
    "Croatia": (5_575_345, 6_376_000, 5_074_000), "Poland": (6_500_345, 7_501_000, 5_788_000),
    "Italy": (1_500_345, 2_501_000, 4_788_000), "Argentina": (3_500_345, 4_501_000, 6_188_000),
    "Switzerland": (2_600_000, 600_200, 1_200_000), "Finland": (2_552_345, 3_385_345, 6_672_000),
}  # fmt: skip


@pytest.mark.parametrize("country", ZONED)
def test_zones_in_front_of_eastings_are_not_mixed(country: str) -> None:
    east, other, north = ZONED[country]
    mixed = {"x": [east, east + 100, other, other + 100], "y": [north, north + 100, north + 200, north]}
    usual: dict[str, Any] = {"id": [*"aabb"], "t": [NOON_S + 60 * row for row in range(4)]}
    assert "begin with the numbers of several zones" in refusal(pa.table(usual | mixed))
    assert read(pa.table(usual | mixed), crs="local").n_subjects == 2
    if min(mixed["x"]) > 1e6:
        turned = pa.table(usual | {"x": mixed["y"], "y": mixed["x"]})
        assert "begin with the numbers of several zones" in refusal(turned)
    one = {"x": [east, east + 100, east + 200, east + 300], "y": mixed["y"]}
    assert read(pa.table(usual | one)).n_subjects == 2


def test_meters_of_one_plane_that_cross_a_million_are_no_zones() -> None:
    usual: dict[str, Any] = {"id": [*"aabb"], "t": [NOON_S + 60 * row for row in range(4)]}
    for x in ([650_000, 650_100, 1_220_000, 1_220_100], [2_940_000, 2_990_000, 3_010_000, 3_200_000]):
        assert read(pa.table(usual | {"x": x, "y": [6_800_000 + row for row in range(4)]})).n_subjects == 2


@pytest.mark.parametrize(
    ("crs", "x", "y"),
    [
        ("EPSG:31467", 4_512_345, 5_400_000), ("EPSG:25832", 512.3, 5400.0),
        ("EPSG:2154", 512_345, 5_400_000), ("EPSG:27700", 5_400_000, 512_345),
        ("EPSG:2193", 1_750_000, 1_750_000),
    ],
)  # fmt: skip
def test_places_far_from_where_a_plane_is_used_are_asked_about(crs: str, x: float, y: float) -> None:
    far = planar(easting=[x, x + 1], northing=[y, y + 1])
    assert f"outside the area where the plane {crs} is used" in refusal(far, crs=crs)
    assert read(far, crs="local").n_samples == 2


def test_the_plane_that_an_easting_with_its_zone_is_of() -> None:
    for crs, zone in (("EPSG:31468", 4_000_000), ("EPSG:4647", 32_000_000), ("EPSG:5650", 33_000_000)):
        note = read(planar(easting=[zone + 512_345.0] * 2, northing=[5.4e6, 5.4e6])).intake.notes[0]
        assert f"--crs {crs}" in note
    assert "EPSG:4647" in refusal(planar(easting=[32_512_345.0] * 2, northing=[5.4e6] * 2), crs="EPSG:25832")


def test_longitudes_beyond_180() -> None:
    beyond = table(lat=[-17.0, -17.0], lon=[178.0, 181.5])
    assert degrees(beyond) == [(-17.0, 178.0), (-17.0, -178.5)]
    assert read(beyond).intake.repaired["longitude beyond 180, less 360"] == 1
    assert degrees(table(lat=[40.7] * 2, lon=[286.0, 287.0])) == [(40.7, -74.0), (40.7, -73.0)]
    assert degrees(table(lat=[-17.0] * 2, lon=[-179.0, -181.0])) == [(-17.0, -179.0), (-17.0, 179.0)]
    mixed = table(id=[*"abc"], t=[NOON_S] * 3, lat=[40.7] * 3, lon=[-74.0, 2.0, 200.0])
    assert read(mixed, lose_people=True).intake.dropped == {"longitude outside -180..180": 1}


@pytest.mark.parametrize(
    ("crs", "lat", "lon"),
    [
        ("EPSG:27700", 51.5, -0.12),
        ("EPSG:2157", 53.3, -6.3),
        ("EPSG:31370", 50.85, 4.35),
        ("EPSG:2193", -36.9, 174.8),
        ("EPSG:25830", 40.4, -3.7),
        ("EPSG:2180", 52.2, 21.0),
        ("EPSG:2056", 47.38, 8.54),
        ("EPSG:28992", 52.37, 4.9),
        ("EPSG:2154", 48.86, 2.35),
        ("EPSG:3006", 59.3, 18.0),
        ("EPSG:3034", 50.08, 14.43),
        ("EPSG:5070", 39.1, -94.6),
        ("EPSG:3057", 64.15, -21.94),
        ("EPSG:4549", 31.23, 121.47),
        ("EPSG:28407", 55.75, 37.62),
        ("EPSG:7755", 28.61, 77.2),
        ("EPSG:5254", 41.01, 28.98),
    ],
)
def test_each_plane_is_guessed_with_its_place(crs: str, lat: float, lon: float) -> None:
    x, y = transform(WGS84, crs, np.array([lon, lon + 0.01]), np.array([lat, lat + 0.01]))
    (note,) = [
        note for note in read(table(x=x.tolist(), y=y.tolist())).intake.notes if "local meters" in note
    ]
    at = f"at {abs(lat):.1f} {'NS'[lat < 0]} {abs(lon):.1f} {'EW'[lon < 0]})"
    assert f"--crs {crs} (" in note
    assert at in note or f"{abs(lat) + 0.005:.1f}" in note


@pytest.mark.parametrize(
    ("south", "west", "values"),
    [
        ("lat_NorS", "lon_EorW", ("S", "W")), ("lat_ns_ind", "lon_ew_ind", ("S", "W")),
        ("lat_pole", "lon_compass", ("South", "West")), ("N or S", "E or W", ("S", "W")),
        ("lat_unit", "lon_unit", ("°S", "°W")), ("latd", "lond", ("S.", "W.")), ("q", "r", ("s", "w")),
        ("lat_dir", "lon_dir", ("Süd", "Ouest")),
        ("hemisphere_lat", "hemisphere_lon", ("southern", "western")),
        ("lat_sgn", "lon_mult", ("-", "-1")), ("lat_is_negative", "is_negative_lon", ("TRUE", "Y")),
        ("is_north", "eastern", ("false", "0")), ("quadrant", "note", ("SW", "")),
        ("hemisphere", "a", ("SW", "")), ("hemisphere", "hemispheres", ("S/W", "S/W")),
        ("полушарие ш", "полушарие д", ("ю.ш.", "з.д.")), ("南北", "東西", ("南緯", "西経")),
        ("纬度半球", "经度半球", ("南", "西")),
        ("nord_syd", "ost_vast", ("Syd", "Väst")), ("Unnamed: 3", "Unnamed: 5", ("S", "W")),
        ("lat_region", "lon_region", ("Southern Hemisphere", "Western Hemisphere")),
        ("GPSLatitudeRef", "GPSLongitudeRef", ("South latitude", "West longitude")),
    ],
)  # fmt: skip
def test_hemispheres_by_names_and_words_of_more_programs(
    south: str, west: str, values: tuple[str, str]
) -> None:
    columns: dict[str, list[Any]] = {
        "lat": [22.9] * 2,
        south: [values[0]] * 2,
        "lon": [43.2] * 2,
        west: [values[1]] * 2,
    }
    assert degrees(table(**columns)) == [RIO, RIO]


def test_a_hemisphere_of_one_coordinate_turns_no_other() -> None:
    assert degrees(table(lat=[22.9] * 2, lon=[43.2] * 2, hemisphere=["S"] * 2)) == [(-22.9, 43.2)] * 2
    assert "write E and W there" in refusal(table(lat=[48.0] * 2, lon=[2.0] * 2, lon_dir=["1", "1"]))
    assert "write N and S there" in refusal(table(lat=[48.0] * 2, lon=[2.0] * 2, lat_hemisphere_code=[1, 1]))
    bus = table(lat=[22.9] * 2, lon=[43.2] * 2, speed=[7, 8], d=["S"] * 2)
    assert degrees(bus) == [(22.9, 43.2)] * 2  # it goes to the south
    assert degrees(table(lat=[22.9] * 2, lon=[43.2] * 2, 方向=["南"] * 2)) == [(22.9, 43.2)] * 2
    nameless: dict[str, list[Any]] = {"lat": [22.9] * 2, "": ["S"] * 2, "lon": [43.2] * 2}
    assert degrees(table(**nameless)) == [(22.9, 43.2)] * 2


def test_a_name_with_both_sides_tells_none() -> None:
    logger = table(**{"LATITUDE N/S": ["22.9S"] * 2, "LONGITUDE E/W": ["43.2W"] * 2})
    assert degrees(logger) == [RIO, RIO]


@pytest.mark.parametrize("name", ["Longitude (W)", "lon [°W]", "lon_west", "Long W"])
def test_degrees_that_count_to_the_west_are_refused(name: str) -> None:
    assert "count to the west or south" in refusal(
        table(lat=[22.9] * 2, **{name: [43.2] * 2}), lat="lat", lon=name
    )


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        ("lat_deg", "lat_min"),
        ("lat", "latmin"),
        ("lat", "lat_minutes"),
        ("lat", "lat_frac"),
        ("Latitude", "Lat Sec"),
    ],
)
def test_whole_degrees_beside_their_minutes_are_refused(whole: str, part: str) -> None:
    columns: dict[str, list[Any]] = {whole: [48, 48], part: [51, 52], "lon": [2, 2]}
    assert f"are whole, and {part} may hold their minutes" in refusal(table(**columns))
    assert read(table(**{**columns, whole: [48.85, 48.86]}), lat=whole).n_subjects == 2


def test_the_corner_of_a_rectangle_is_no_position() -> None:
    columns = {
        f"{axis}_{end}": [value] * 2
        for axis, value in (("lat", 48.0), ("lon", 2.0))
        for end in ("min", "max")
    }
    assert "no latitude and longitude columns" in refusal(table(**columns))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("offset", ["+02:00"] * 2), ("utcoff", ["120"] * 2), ("time_offset", ["+0200"] * 2),
        ("gmt", ["+2"] * 2),
        ("Zeitzone", ["MESZ"] * 2), ("fuseau horaire", ["+2"] * 2), ("dst", [1, 1]),
        ("часовой пояс", ["+2"] * 2), ("タイムゾーン", ["JST"] * 2), ("时区", ["+8"] * 2),
        ("fuso horário", ["-3"] * 2),
    ],
)  # fmt: skip
def test_more_columns_of_zones_are_asked_about(name: str, values: list[Any]) -> None:
    naive = table(t=["2024-05-01 12:00"] * 2, lat=[48.0] * 2, lon=[2.0] * 2, **{name: values})
    assert "tells zones; give --time-zone" in refusal(naive)
    assert read(naive, time_zone="Europe/Paris").n_samples == 2


@pytest.mark.parametrize(
    "name",
    ["Time (CET)", "timestamp_est", "local time", "time_local", "time (UTC+2)", "Time [America/New_York]"],
)
def test_a_zone_in_the_name_of_the_times_is_asked_about(name: str) -> None:
    naive = pa.table({"id": ["a"], name: ["2024-05-01 12:00"], "lat": [48.0], "lon": [2.0]})
    assert "the name of their column tells" in refusal(naive, time=name)
    assert read(naive, time=name, time_zone="Europe/Paris").n_samples == 1


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("time", ""),
        ("time_utc", ""),
        ("cost_time", ""),
        ("last_seen", ""),
        ("created_at", ""),
        ("t_ist", "ist"),
    ],
)
def test_names_of_times_without_a_zone(name: str, zone: str) -> None:
    assert zone_in_name(name) == zone


@pytest.mark.parametrize(
    ("name", "step_s"), [("hours", 3600), ("minutes", 60), ("elapsed_min", 60), ("ms", 0.001)]
)
def test_counted_steps_of_the_unit_in_a_name(name: str, step_s: float) -> None:
    steps = pa.table({"id": ["a"], name: [6.5], "lat": [48.0], "lon": [2.0]})
    assert read(steps, time=name, snap=False).t.tolist() == [pytest.approx(6.5 * step_s)]


@pytest.mark.parametrize("name", ["zona", "huso", "fuso", "utm_fuseau", "Zone_Code"])
def test_zones_of_utm_in_other_languages_are_not_mixed(name: str) -> None:
    assert "of several planes" in refusal(planar(**{name: ["30T", "31T"]}))


@pytest.mark.parametrize("factor", [1e2, 1e3, 1e4, 1e8, 1e9, 6e5, 6e4, 3600.0, 3.6e4, 60.0, 2**23 / 180])
def test_the_advice_for_degrees_of_any_unit_gives_the_place_when_followed(factor: float) -> None:
    lat, lon = np.rint(np.array([48.86, 48.87]) * factor), np.rint(np.array([2.35, 2.36]) * factor)
    assert f"(48.9 N 2.4 E): divide by {factor:,.0f}" in advise_degrees(lon, lat)
    assert np.allclose(lat / round(factor), [48.86, 48.87], atol=0.02)


def test_units_of_names_and_planes_of_zones() -> None:
    names = ("Latitude [deg]", "timestampMs", "lat_e7", "user_id")
    parts = [("latitude", "deg"), ("timestamp", "ms"), ("lat", "e7"), ("user_id", "")]
    assert [split_unit(name) for name in names] == parts
    assert [advise_crs(zone) for zone in ("31T", "2154", "31")] == [
        "--crs EPSG:32631",
        "--crs EPSG:2154",
        "--crs EPSG:32631 (north of the equator) or --crs EPSG:32731 (south of it)",
    ]


def test_degrees_minutes_and_seconds_and_meters_are_among_the_guesses() -> None:
    advice = advise_degrees(np.array([2337542.0]), np.array([48866192.0]))
    assert advice.startswith("they may be degrees times 1,000,000 (48.9 N 2.3 E): divide by 1,000,000, or ")
    assert advise_degrees(np.array([220.5]), np.array([4851.9])) == (
        "they may be degrees and minutes in one number (48.9 N 2.3 E): convert them to decimal degrees"
    )
    assert "degrees, minutes and seconds in one number (48.9 N 2.4 E)" in advise_degrees(
        np.array([22108.0]), np.array([485136.0])
    )
    assert "--crs EPSG:3857 (maps in the web (Mercator), at 48.9 N 2.4 E)" in advise_degrees(
        np.array([262_600.5]), np.array([6_250_566.7])
    )
    assert "(0.0 N 0.0 E)" not in advise_degrees(np.array([2350.0]), np.array([48850.0]))


@pytest.mark.parametrize(
    ("lat", "lon", "steps"),
    [
        ([49.0] * 10, [2.351 + row / 7 for row in range(10)], "whole degrees"),
        ([48.812 + row / 7 for row in range(10)], [2.5] * 10, "tenths of degrees"),
        ([48.81] * 10, [2.35] * 10, "hundredths of degrees"),
    ],
)
def test_one_axis_with_few_decimals_is_told(lat: list[float], lon: list[float], steps: str) -> None:
    got = read(table(id=["ann"] * 10, t=[NOON_S + row for row in range(10)], lat=lat, lon=lon))
    assert any(f"are {steps}, precise to about" in note for note in got.intake.notes)


def test_longitudes_from_0_to_360_among_others_come_with_advice() -> None:
    lon = np.array([286.05, 286.1])
    assert "longitudes from 0 to 360 (40.7 N 73.9 W): take 360 off" in advise_degrees(
        lon, np.array([40.7] * 2)
    )
    source = table(lat=[40.7] * 3, lon=[-73.9, 286.1, 2.3], id=["ann", "ben", "cy"], t=[NOON_S] * 3)
    assert "take 360 off those above 180; --lose-people" in refusal(source)


@pytest.mark.parametrize("column", ["lat", "lon"])
def test_positions_in_sixteen_bits_are_refused(column: str) -> None:
    at = {"lat": np.linspace(37.7, 37.8, 40), "lon": np.linspace(-122.4, -122.3, 40)}
    at[column] = at[column].astype(np.float16)
    times = [1_700_000_000 + 60 * row for row in range(40)]
    with pytest.raises(InputError, match=f"'{column}' .* 16-bit numbers, which keep three digits"):
        read(pa.table({"id": ["a", "b"] * 20, "t": times, **at}))
