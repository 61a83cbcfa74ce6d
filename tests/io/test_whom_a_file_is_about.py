"""Whose rows a file holds: a column that names people, the file or trip in one sentence, or a question."""

import json
from pathlib import Path
from typing import Any

import pytest

from foreign_files import FILES
from foreign_writers import GPX, KML, NOON_S
from refusals import refusal
from shoal.errors import InputError
from shoal.io import read
from shoal.io.columns.owners import may_name_people, names_people
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

THE_FILE = "each file counts as one person; --id names a column of people instead"


def positions(column: str, ids: list[Any]) -> list[dict[str, Any]]:
    return [
        {column: uid, "time": NOON_S + 60 * row, "lat": 48.85 + row / 100, "lon": 2.35}
        for row, uid in enumerate(ids)
    ]


def features(column: str, ids: list[Any]) -> dict[str, Any]:
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [row["lon"], row["lat"]]},
                "properties": {column: row[column], "time": row["time"]},
            }
            for row in positions(column, ids)
        ],
    }


IDS = [
    "rider_id", "riderId", "RIDER ID", "mail", "e-mail", "user_id.$uuid", "owner.email",
    "phone_number", "customerid", "vehicleName", "asset_id", "uuid", "guid", "anonymous_id", "plate",
    "fahrer_nr", "participant_code", "Nutzerkennung", "account.handle", "cust_no", "Gerät", "appareil",
    "passager", "motorista", "kierowca", "водитель", "телефон", "会員番号", "车牌号", "手机号", "ユーザーID",
    "차량번호", "personnelNumber",
    "trip_id", "sensorId", "name", "tid", "user.name", "hash", "flight", "_id.$oid",
]  # fmt: skip


@pytest.mark.parametrize("column", IDS)
@pytest.mark.parametrize("layout", [positions, features])
def test_columns_that_look_like_ids_are_a_question(tmp_path: Path, column: str, layout: Any) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(layout(column, ["u0", "u0", "u1"])))
    message = refusal(path)
    assert message == (
        f"which column of x.json names people? {column} looks like ids: name it with --id, "
        "or give --id file if each file is one person"
    )
    assert read(path, id=column).n_subjects == 2
    assert read(path, id="file").ids == ("x",)
    path.write_text(json.dumps(layout(column, ["u0", "u0", "u0"])))
    assert read(path).ids == ("x",)  # one value says no more than the file


@pytest.mark.parametrize(
    "column",
    [
        "station_id", "cell_id", "user_type", "passenger_count", "event_id", "speed", "battery", "osm_id",
        "mode",
        "stationName", "country", "wifi", "accuracy", "rideable_type", "member_casual", "VendorID",
        "route_id",
        "start_station_id", "import_id", "track_id", "segment_id", "message.id", "is_mobile", "has_driver",
        "postal_code", "country_code",
    ],
)  # fmt: skip
def test_other_columns_are_no_question(tmp_path: Path, column: str) -> None:
    assert not names_people(column)
    assert not may_name_people(column)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(positions(column, ["a", "b"])))
    got = read(path)
    assert got.ids == ("x",)
    assert THE_FILE in got.intake.notes


def of_files(folder: Path, name: str, text: str) -> Trajectories:
    for person in ("ann", "ben"):
        (folder / name.format(person)).parent.mkdir(exist_ok=True)
        (folder / name.format(person)).write_text(text)
    return read(folder, lose_people=True)


@pytest.mark.parametrize(("name", "text"), [("{}.gpx", GPX), ("{}.kml", KML)])
def test_a_folder_of_files_for_a_person_each_says_so_once(tmp_path: Path, name: str, text: str) -> None:
    got = of_files(tmp_path, name, text)
    assert got.ids == ("ann", "ben")
    assert got.intake.notes.count(THE_FILE) == 1


def test_tables_of_a_person_each(tmp_path: Path) -> None:
    for person in ("ann", "ben"):
        (tmp_path / f"{person}.csv").write_text(f"t,lat,lon\n{NOON_S},48.85,2.35\n")
    assert "or give --id file if each file is one person" in refusal(tmp_path)
    got = read(tmp_path, id="file")
    assert got.ids == ("ann", "ben")
    assert got.intake.reading.id == "file"


@pytest.mark.parametrize("person", ["rider_id", "mail", "deviceName"])
def test_a_column_that_may_number_rows_is_a_question(tmp_path: Path, person: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"id,{person},t,lat,lon\n1,ann,{NOON_S},48.85,2.35\n2,ann,{NOON_S + 60},48.85,2.35\n")
    assert refusal(path) == (
        f"column 'id' of x.csv may number rows or trips, and {person} looks like ids: "
        "name the column of people with --id"
    )
    assert read(path, id=person).n_subjects == 1
    assert read(path, id="id").n_subjects == 2


TRIPS = "ride_id,started_at,ended_at,start_lat,start_lng,end_lat,end_lng,member_casual{more}\n" + "".join(
    f"r{trip},2024-05-01 1{trip}:00:00,2024-05-01 1{trip}:20:00,40.7,-74.0,40.8,-74.1,member{{value}}\n"
    for trip in range(2)
)


@pytest.mark.parametrize(("more", "value"), [("", ""), (",", ",ann")], ids=["as it is", "a nameless column"])
def test_trips_that_no_column_names_people_of(more: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text(TRIPS.format(more=more, value=value))
    got = read(path)
    assert got.n_subjects == 2
    assert "each trip counts as one person; --id names a column of people instead" in got.intake.notes


@pytest.mark.parametrize("column", ["rider_id", "bike_id", "user.mail", "phone"])
def test_a_preset_of_trips_leaves_the_people_to_the_user(tmp_path: Path, column: str) -> None:
    path = tmp_path / "trips.csv"
    path.write_text(TRIPS.format(more=f",{column}", value=",ann"))
    message = refusal(path)
    assert f"{column} looks like ids" in message
    assert "--id trip if each trip is one person" in message
    named = read(path, id=column)
    assert (named.n_subjects, named.n_samples) == (1, 4)
    assert named.intake.reading.preset == "citi-bike"
    assert not any("counts as one person" in note for note in named.intake.notes)
    assert read(path, id="trip").n_subjects == read(path, person="trip").n_subjects == 2
    assert read(path, person=column).n_subjects == 1


def test_messages_list_the_columns_of_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"who_knows": 1, "lat": 48.85, "lon": 2.35}]))
    assert "(found: who_knows, lat, lon)" in refusal(path)
    path = tmp_path / "trips.csv"
    path.write_text(TRIPS.format(more="", value=""))
    message = refusal(path, id="rider")
    assert "no column 'rider' in trips.csv" in message
    assert message.endswith(
        "(found: ride_id, started_at, ended_at, start_lat, start_lng, end_lat, end_lng, member_casual)"
    )


def table(path: Path, header: str, *, people: int = 3, rows: int = 4) -> Path:
    """People some kilometers apart at the same times, by person k and row n."""
    names, values = header.split("|")
    lines = [
        values.format(k=k, i=i, n=k * rows + i) + f",{NOON_S + 600 * i},{48.85 + k / 20},2.35"
        for k in range(people)
        for i in range(rows)
    ]
    path.write_text("\n".join([f"{names},t,lat,lon", *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "asked", "answer", "people"),
    [
        ("id|{n}", "each row has its own 'id', which may number the rows", "id", 12),
        ("id,agent|{n},p{k}", "each row has its own 'id'", "agent", 3),
        ("device,model_owner_key|iPhone 12,p{k}", "several places at one time", "model_owner_key", 3),
        ("device,username|iPhone 12,p{k}", "several people may use what column 'device'", "username", 3),
        ("vehicle,driver|v{k},p{k}", "and driver looks like ids", "vehicle", 3),
        ("user,tag|member,p{k}", "as if several had one id, and tag looks like ids", "tag", 3),
        ("household_id,person_id|{k},1", "stands in several 'household_id'", "person_id", 1),
        ("vehicle,conducteur|v{k},p{k}", "and conducteur looks like ids", "vehicle", 3),
        ("trajectory_id,agent|{n},p{k}", "may number rows or trips, and agent", "agent", 3),
    ],
)
def test_one_id_of_several_people_and_ids_of_rows(
    tmp_path: Path, header: str, asked: str, answer: str, people: int
) -> None:
    path = table(tmp_path / "x.csv", header)
    assert asked in refusal(path)
    assert read(path, id=answer).n_subjects == people


def test_people_who_are_counted_within_households_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    days = [f"{home},{person},2024-05-0{home}T12:00:00Z,48.85,2.35" for home in (1, 2) for person in (1, 2)]
    path.write_text("\n".join(["household,person,t,lat,lon", *days]) + "\n")
    assert "one 'person' of x.csv stands in several 'household'" in refusal(path)
    with pytest.raises(InputError, match="stands in several 'household'"):
        store_people(path, Reading(), tmp_path / "people", Run())
    assert read(path, id="person").n_subjects == 2
    path.write_text(
        "\n".join(["household,person,t,lat,lon", *days]).replace("2,1,", "2,3,").replace("2,2,", "2,4,")
    )
    assert read(path).n_subjects == 4


def test_rows_without_an_id_beside_another_column_of_people(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [
        {("rider" if k % 2 else "user_id"): f"u{k}", "t": NOON_S + 60 * i, "lat": 48.85, "lon": 2.35}
        for k in range(6)
        for i in range(4)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    message = refusal(path)
    assert "12 of 24 rows have no id" in message
    assert "rider looks like ids" in message
    assert read(path, id="user_id").n_subjects == 3


@pytest.mark.parametrize(
    "name", ["{day}.gpx", "ann-{day}.gpx", "{day}T0600_ride.gpx", "ann_{day}_061500.gpx"]
)
def test_files_of_one_person_s_days_are_asked_about(tmp_path: Path, name: str) -> None:
    for day in ("2024-05-01", "2024-05-02"):
        path = tmp_path / "ann" / name.format(day=day)
        path.parent.mkdir(exist_ok=True)
        path.write_text(GPX.replace("2024-05-01", day))
    assert "differ by dates alone, as those of one person's days do" in refusal(tmp_path)
    assert read(tmp_path, person="folder", lose_people=True).ids == ("ann",)
    assert read(tmp_path, id="file", lose_people=True).n_subjects == 2
    path.rename(path.with_name(f"ben{path.name}"))
    assert read(tmp_path, lose_people=True).n_subjects == 2


@pytest.mark.parametrize(
    "column", ["who", "pid", "maid", "用户ID", "пользователь", "key", "colour", "Teilnehmer"]
)
def test_a_file_of_several_people_is_asked_about(tmp_path: Path, column: str) -> None:
    """By the name of a column, or since nobody is in several places at one time."""
    path = tmp_path / "x.json"
    rows = [
        {column: f"p{k}", "time": NOON_S + 600 * i, "lat": 48.85 + k / 20, "lon": 2.35}
        for k in range(3)
        for i in range(4)
    ]
    path.write_text(json.dumps(rows))
    assert "--id file if" in refusal(path)
    assert read(path, id=column).n_subjects == 3
    assert read(path, id="file").ids == ("x",)


def test_tracks_of_one_file_at_the_same_times_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "x.gpx"
    points = "".join(
        f'<trkpt lat="{48.85 + k / 20}" lon="2.35"><time>2024-05-01T12:0{i}:00Z</time></trkpt>'
        for k in range(2)
        for i in range(4)
    )
    path.write_text(f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>")
    assert refusal(path).startswith(
        "the file would count as one person, who is in several places at one time"
    )
    assert store_people(path, Reading(id="file"), tmp_path / "people", Run()).n_subjects == 1
    with pytest.raises(InputError, match="several places at one time"):
        store_people(path, Reading(), tmp_path / "people2", Run())


def test_tracks_faster_than_sound_are_asked_about_and_each_may_be_a_person(tmp_path: Path) -> None:
    path = tmp_path / "x.gpx"
    tracks = [
        f"<trk><name>p{k}</name><trkseg>"
        + "".join(
            f'<trkpt lat="{48.85 + k / 20}" lon="2.35"><time>2024-05-01T12:0{i}:{5 * k:02}Z</time></trkpt>'
            for i in range(4)
        )
        + "</trkseg></trk>"
        for k in range(2)
    ]
    path.write_text(f"<gpx>{''.join(tracks)}</gpx>")
    assert "(or faster than sound between them)" in refusal(path)
    assert read(path, id="track").ids == ("p0", "p1")


def test_a_preset_leaves_the_person_to_the_user(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    header = FILES["Citi Bike until 2021"].write(tmp_path)
    assert isinstance(header, Path)
    lines = header.read_text().splitlines()
    path.write_text("\n".join([f"{lines[0]},member_id", *(f"{line},u1" for line in lines[1:])]))
    assert "several people may use what column 'bikeid'" in refusal(path)
    assert read(path, id="member_id").ids == ("u1",)
