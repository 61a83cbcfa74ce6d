"""Numbers that count from elsewhere: angles in grads or from a pole, seconds from 1980, thousands apart."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refusals import refusal
from shoal.io import read
from shoal.io.columns.position_doubts import PositionDoubts
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness

N = 12
GPS_S = 1_400_000_000  # of 18 May 2024 counted from 1980, of 13 May 2014 counted from 1970


def table(**columns: Any) -> pa.Table:
    usual: dict[str, Any] = {
        "id": [f"ann{row % 3}" for row in range(N)],
        "t": [1_714_564_800 + 60 * row for row in range(N)],
        "lat": 48.85 + np.arange(N) / 1000,
        "lon": 2.35 + np.arange(N) / 1000,
    }
    return pa.table({**usual, **columns})


def first_place(trajectories: Trajectories) -> tuple[float, float]:
    assert trajectories.lat is not None
    assert trajectories.lon is not None
    return round(float(trajectories.lat[0]), 3), round(float(trajectories.lon[0]), 3)


@pytest.mark.parametrize(("lat", "lon"), [(48.85, 2.35), (35.68, 139.7), (-33.87, 151.2)])
def test_grads_at_sea_are_asked_about_and_read_by_their_name(lat: float, lon: float) -> None:
    lats, lons = (lat + np.arange(N) / 1000) / 0.9, (lon + np.arange(N) / 1000) / 0.9
    assert "taken as grads" in refusal(table(lat=lats, lon=lons))
    named = table(lat_gon=lats, lon_gon=lons).drop_columns(["lat", "lon"])
    assert first_place(read(named, snap=False)) == (lat, lon)
    assert any(
        "lie at sea as given" in note for note in read(table(lat=lats, lon=lons), lat="lat").intake.notes
    )


def test_grads_from_0_to_400_west_of_greenwich() -> None:
    lats, lons = (40.7 + np.arange(N) / 1000) / 0.9, (360 - 74.0 + np.arange(N) / 1000) / 0.9
    assert "grads from 0 to 400" in refusal(table(lat=lats, lon=lons))


def test_latitudes_from_the_pole() -> None:
    singapore = table(lat=90 - 1.35 + np.arange(N) / 1000, lon=103.8 + np.arange(N) / 1000)
    assert "angle from the north pole" in refusal(singapore)
    sydney = table(lat=90 + 33.87 + np.arange(N) / 1000, lon=151.2 + np.arange(N) / 1000)
    assert "angles from the north pole (33.9 S 151.2 E)" in refusal(sydney)
    named = table(colat=[41.15] * N).drop_columns(["lat"])
    assert "from a pole" in refusal(named, lat="colat", lon="lon")


def test_differences_from_another_place_are_no_positions() -> None:
    near = {"lat": 0.05 + np.arange(N) / 1000, "lon": 0.03 + np.arange(N) / 1000}
    assert "within a degree of 0 N 0 E" in refusal(table(**near))
    assert any("within a degree" in note for note in read(table(**near), lat="lat").intake.notes)
    boats = table(**near).rename_columns({"id": "mmsi"})
    assert read(boats).n_samples == N


def test_boats_and_known_layouts_are_at_sea() -> None:
    at_sea = {"lat": 54.2 + np.arange(N) / 1000, "lon": 2.68 + np.arange(N) / 1000}
    assert "taken as grads" in refusal(table(**at_sea))
    boats = table(**at_sea).rename_columns({"id": "mmsi"})
    assert read(boats).n_samples == N


@pytest.mark.parametrize(
    "columns",
    [
        {"gps_week": [2314] * N},
        {"tow": [500_000 + row for row in range(N)]},
        {"leap_seconds": [18] * N},
        {"date": ["2024-05-18"] * N},
        {"created_at": ["2024-05-18T10:00:00Z"] * N},
    ],
)
def test_seconds_from_1980_beside_columns_that_say_so(columns: dict[str, Any]) -> None:
    counted = [GPS_S + 60 * row for row in range(N)]
    source = table(t=counted, **columns)
    assert "if they count from 1970" in refusal(source)
    assert read(source, time_unit="s").n_samples == N
    right = table(t=[second + 315_964_800 for second in counted], **columns)
    assert read(right).n_samples == N


def test_a_date_in_the_name_of_a_file(tmp_path: Path) -> None:
    for start, name in ((0, "1980 (GPS)"), (315_964_800 - 631_065_600, "1989 (Garmin)")):
        path = tmp_path / f"ride_2024-05-18_{start}.csv"
        rows = (f"ann,{GPS_S + start + 60 * row},48.85,2.35\n" for row in range(N))
        path.write_text("id,t,lat,lon\n" + "".join(rows))
        assert f"count from {name}" in refusal(path)


def test_the_years_of_numbers_are_told_where_they_may_be_others() -> None:
    notes = read(table(t=[GPS_S + 60 * row for row in range(N)])).intake.notes
    assert any("give the years 2014 to 2014; if they count from 1980 (GPS)" in note for note in notes)
    assert not any("1980" in note for note in read(table()).intake.notes)


def planar(x: list[str], y: list[str]) -> pa.Table:
    return table(x=x * (N // len(x)), y=y * (N // len(y))).drop_columns(["lat", "lon"])


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (["652.000", "652100"], ["6862000", "6862100"]),
        (["1.000", "990"], ["2.200", "2300"]),
        (["652.000", "652100"], ["6.862.000", "6862100"]),
    ],
)
def test_points_that_may_part_thousands_are_asked_about(x: list[str], y: list[str]) -> None:
    assert "may part thousands" in refusal(planar(x, y), crs="local")
    assert read(planar(x, y), x="x", y="y", crs="local").n_samples


def test_decimal_points_of_lengths() -> None:
    assert read(planar(["652.000", "652.1"], ["1.5", "2"]), crs="local").n_samples == N
    assert read(planar(["12.345", "0"], ["0.500", "7"]), crs="local").n_samples == N


def test_longitudes_of_32_bits_that_lost_their_sign() -> None:
    lon_e7 = [2**32 - 740_000_000 + row for row in range(N)]
    source = table(lat_e7=[407_000_000] * N, lon_e7=lon_e7).drop_columns(["lat", "lon"])
    assert first_place(read(source, snap=False)) == (40.7, -74.0)


@pytest.mark.parametrize("sign", ["lat", "lon"])
def test_signs_that_a_whole_file_lost(sign: str) -> None:
    places = {"lat": 23.5, "lon": -46.6} if sign == "lat" else {"lat": 37.0, "lon": 7.9}  # Sao Paulo, Faro
    source = table(**{axis: place + np.arange(N) / 1000 for axis, place in places.items()})
    if sign == "lat":
        assert "the latitude's sign turned" in refusal(source)
    else:
        assert read(source).n_samples == N  # Algeria is on land


def test_equal_coordinates_and_whole_degrees() -> None:
    assert "are equal in all rows" in refusal(table(lat=[48.851] * N, lon=[48.851] * N))
    some = np.where(np.arange(40) % 20 == 1, -1.0, 0.0)
    columns = {
        "lat": np.where(some < 0, -1, 48.851 + np.arange(40) / 1000),
        "lon": np.where(some < 0, -1, 2.351),
    }
    people = pa.table({"id": ["ann"] * 40, "t": [1_714_564_800 + row for row in range(40)], **columns})
    assert any("2 of the positions" in note and "whole degrees" in note for note in read(people).intake.notes)


@pytest.mark.parametrize("name", ["elapsed", "offset_s", "dt", "since_start", "t_rel", "seconds", "duration"])
def test_one_time_beside_what_elapsed(name: str) -> None:
    seconds = [60 * row for row in range(N)]
    same = table(t=[1_714_564_800] * N, **{name: seconds})
    assert f"the column '{name}' may hold the time since then" in refusal(same)
    assert read(same, time_unit="s").n_samples
    assert read(table(**{name: seconds})).n_samples == N


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("valid", [True, False]),
        ("gps_status", ["A", "V"]),
        ("fix", [1, 0]),
        ("isFromMockProvider", [False, True]),
        ("deleted", [0, 1]),
        ("horizontalAccuracy", [5.0, -1.0]),
        ("accuracy", ["5", "-1"]),
        ("accuracy", [" 5", " -1 "]),
    ],
)
def test_rows_that_say_they_have_no_position_are_counted(column: str, values: list[Any]) -> None:
    notes = read(table(**{column: values * (N // 2)})).intake.notes
    assert any(
        f"'{column}' marks as without a position, and that are read all the same: 6" in note for note in notes
    )
    assert not any(
        "without a position" in note for note in read(table(**{column: values[:1] * N})).intake.notes
    )


def test_times_of_a_clock_of_12_hours() -> None:
    times = [f"2024-05-0{1 + row // 12} {row % 12 + 1:02}:00" for row in range(60)]
    people = pa.table({"id": ["ann"] * 60, "t": times, "lat": [48.85] * 60, "lon": [2.35] * 60})
    assert any("clock of 12 hours" in note for note in read(people).intake.notes)
    later = pa.array([*times[:-1], "2024-05-05 13:00"])
    assert not any("12 hours" in note for note in read(people.set_column(1, "t", later)).intake.notes)


def test_ids_that_programs_make_for_each_row() -> None:
    assert "each row has its own 'uid'" in refusal(
        table(uid=[f"{row:08}-0000-4000-8000-000000000000" for row in range(N)]).drop_columns(["id"])
    )


def test_files_that_each_number_their_own_people(tmp_path: Path) -> None:
    for number in range(3):
        rows = (f"1,2024-05-01T1{hour}:00:00Z,{48.85 + number},2.35\n" for hour in range(6))
        (tmp_path / f"p{number}.csv").write_text("id,t,lat,lon\n" + "".join(rows))
    assert "as if each file numbered its own" in refusal(tmp_path)
    assert read(tmp_path, id="file").n_subjects == 3
    assert read(tmp_path, id="id").n_subjects == 1


def in_one_number(seconds: Any, decimals: int = 4) -> Any:
    """Seconds of arc as D.MMSS."""
    whole = np.rint(np.abs(seconds) * 10 ** (decimals - 4)) / 10 ** (decimals - 4)
    degrees, minutes = whole // 3600, whole // 60 % 60
    return np.sign(seconds) * np.round(degrees + minutes / 100 + whole % 60 / 1e4, decimals)


def people_at(lat: Any, lon: Any) -> pa.Table:
    rows = range(len(lat))
    ids, t = [f"p{row % 9}" for row in rows], [1_714_564_800 + 60 * row for row in rows]
    return pa.table({"id": ids, "t": t, "lat": lat, "lon": lon})


@pytest.mark.parametrize("decimals", [4, 6])
@pytest.mark.parametrize(("lat", "lon"), [(48.85, 2.3), (-33.9, 18.4), (40.7, -74.2)])
def test_degrees_minutes_and_seconds_in_one_number(lat: float, lon: float, decimals: int) -> None:
    steps = np.arange(300)
    seconds = 3600 * lat + 7.1 * steps, 3600 * lon + 5.3 * (steps * 77 % 300)
    dms = people_at(*(in_one_number(axis, decimals) for axis in seconds))
    message = refusal(dms)
    assert "may be degrees, minutes and seconds in one number" in message
    assert "give --lat and --lon if they are decimal degrees" in message
    assert any("minutes and seconds" in note for note in read(dms, lat="lat", lon="lon").intake.notes)
    decimal = people_at(*(axis / 3600 for axis in seconds))
    assert not any("in one number" in note for note in read(decimal).intake.notes)


def test_seconds_that_were_rounded_to_sixty() -> None:
    steps = np.arange(600)
    lat, lon = (in_one_number(3600 * at + 3.7 * steps) for at in (48.85, 2.3))
    lat = np.where(np.rint(lat * 1e4) % 100 == 0, np.round(lat - 0.0040, 4), lat)  # 48.5100 as 48.5060
    assert "minutes and seconds in one number" in refusal(people_at(lat, lon))


def test_degrees_and_minutes_in_one_number_over_a_country() -> None:
    steps = np.arange(2000)
    lat, lon = 41 + 9.7 * steps / 2000, -4.5 + 12.3 * (steps * 777 % 2000) / 2000
    minutes = people_at(*(np.trunc(axis) + np.fmod(axis, 1) * 0.6 for axis in (lat, lon)))
    assert "may be degrees and minutes in one number" in refusal(minutes)
    assert read(people_at(lat, lon)).n_samples == 2000


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_coarse_decimals_are_no_minutes_and_seconds(decimals: int) -> None:
    steps = np.arange(3000)
    places = (np.round(at + steps * far / 3000, decimals) for at, far in ((41.0, 9.7), (-4.5, 12.3)))
    assert read(people_at(*places)).n_samples > 0


def test_decimal_degrees_are_seldom_taken_for_minutes_and_seconds() -> None:
    """Of 300 made up files of a few people, homes and walks."""
    rng = Randomness.for_research(5).generator()
    asked = 0
    for _ in range(300):
        homes = rng.uniform(-1, 1, (20, 2)) * 10 ** rng.uniform(-2, 1) + rng.uniform(-60, 60, 2)
        noise = 10 ** rng.uniform(-5, -2)
        places = np.repeat(homes, 15, axis=0) + rng.normal(0, noise, (300, 2))
        doubts = PositionDoubts()
        people, table = np.zeros(300, dtype=np.int32), "made up"
        lon, lat = places.T
        doubts.add_places(lon, lat, people, table, wrapped=False, crs=None)
        notes = doubts.check_degrees(table, named=True, fine=True)
        asked += sum("in one number" in note for note in notes)
    assert asked == 0
