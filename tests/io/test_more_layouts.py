"""Files in layouts that programs share: packed, beside a README, moving features, trips of maps, aircraft."""

import bz2
import csv
import gzip
import io
import json
import lzma
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from foreign_files import FILES
from foreign_writers import NOON_S, TCX, document, sentence, text, zipped
from refusals import refusal
from shoal.io import read
from shoal.io.formats import packed_files
from shoal.io.formats.nmea_files import position_of

ROWS = "uid,t,lat,lon\nann,2024-05-01T12:00:00Z,48.85,2.35\nbob,2024-05-01T12:05:00Z,48.86,2.36\n"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".zst": lambda content: bytes(pa.compress(content, "zstd", asbytes=True)),
    ".lz4": lambda content: bytes(pa.compress(content, "lz4", asbytes=True)),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".gz": gzip.compress,
}


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("inside", ["calls.csv", "calls.json", "walk.gpx"])
def test_files_packed_alone(tmp_path: Path, ending: str, inside: str) -> None:
    content = ROWS.encode()
    if inside == "calls.json":
        content = json.dumps([{"uid": "ann", "t": NOON_S, "lat": 48.85, "lon": 2.35}]).encode()
    if inside == "walk.gpx":
        plain = FILES["GPX"].write(tmp_path)
        assert isinstance(plain, Path)
        content = plain.read_bytes()
        plain.unlink()
    (tmp_path / f"{inside}{ending}").write_bytes(PACKERS[ending](content))
    got = read(tmp_path / f"{inside}{ending}")
    assert got.ids == {"calls.csv": ("ann", "bob"), "calls.json": ("ann",), "walk.gpx": ("walk",)}[inside]
    assert read(tmp_path).ids == got.ids
    if inside == "walk.gpx":
        assert read(tmp_path, person="folder").ids == (tmp_path.name,)


@pytest.mark.parametrize("ending", [".zst", ".bz2", ".xz", ".lz4"])
def test_packed_files_that_are_damaged(tmp_path: Path, ending: str) -> None:
    content = PACKERS[ending](ROWS.encode() * 99)
    for damaged in (content[: len(content) // 2], b"no such thing"):
        (tmp_path / f"calls.csv{ending}").write_bytes(damaged)
        assert f"is not whole {ending} data" in refusal(tmp_path / f"calls.csv{ending}")


ZST, LZ4 = PACKERS[".zst"], PACKERS[".lz4"]
TARS: dict[str, Callable[[bytes], bytes]] = {
    ".tar": bytes, ".tar.gz": gzip.compress, ".tgz": gzip.compress, ".tar.bz2": bz2.compress, ".tar.lz4": LZ4,
    ".tbz2": bz2.compress, ".tar.xz": lzma.compress, ".tar.zst": ZST, ".tzst": ZST,
}  # fmt: skip


def tar_of(members: dict[str, bytes], *, link: str = "") -> bytes:
    """An archive with files, and with a link of that name."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
        if link:
            about = tarfile.TarInfo(link)
            about.type, about.linkname = tarfile.SYMTYPE, "/etc/hostname"
            archive.addfile(about)
    return packed.getvalue()


@pytest.mark.parametrize("ending", TARS)
def test_archives_of_tar_are_read_as_those_of_zip(tmp_path: Path, ending: str) -> None:
    rows = ROWS.encode()
    members = {
        "data/a.csv": rows,
        "data/b.csv": rows.replace(b"bob", b"cho"),
        "README.md": b"# About",
        "._a.csv": b"x",
    }
    whole = TARS[ending](tar_of(members))
    (tmp_path / f"calls{ending}").write_bytes(whole)
    got = read(tmp_path / f"calls{ending}")
    assert got.ids == ("ann", "bob", "cho")
    assert "left out, since their names say that they describe data: README.md" in got.intake.notes
    zipped("calls.zip", members)(tmp_path)
    assert read(tmp_path / "calls.zip").intake == got.intake
    (tmp_path / f"calls{ending}").write_bytes(TARS[ending](tar_of(members)[:1536]))
    assert f"calls{ending} is not a whole tar archive" in refusal(tmp_path / f"calls{ending}")
    (tmp_path / f"calls{ending}").write_bytes(whole[: len(whole) // 3])
    assert f"calls{ending} is not" in refusal(tmp_path / f"calls{ending}")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.csv.xz"])
def test_a_file_that_may_not_be_opened_is_not_called_damaged(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(b"x")
    opened = Path.open

    def refuse(path: Path, *settings: Any, **more: Any) -> Any:
        if path.name == name:
            raise PermissionError(13, "Permission denied")
        return opened(path, *settings, **more)

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(tmp_path / name) == f"{name} cannot be opened: Permission denied"


def test_an_archive_of_tar_reaches_nothing_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "calls.tar.gz"
    path.write_bytes(gzip.compress(tar_of({"a.csv": ROWS.encode()}, link="b.csv")))
    assert "holds a link or a device, b.csv" in refusal(path)
    path.write_bytes(gzip.compress(tar_of({"/tmp/out.csv": ROWS.encode()})))
    assert "holds a file outside itself" in refusal(path)
    path.write_bytes(gzip.compress(tar_of({"a.csv": ROWS.encode(), "old.tar.gz": b"?"})))
    assert "holds another archive, old.tar.gz" in refusal(path)
    monkeypatch.setattr(packed_files, "_KEEP_FREE_BYTES", 1 << 60)
    assert "unpacks to more than the disk for temporary files holds" in refusal(path)


@pytest.mark.parametrize(
    "name",
    [
        "README.txt",
        "readme-en.txt",
        "LICENSE.txt",
        "metadata.json",
        "CITATION.csv",
        "Settings.json",
        "datapackage.json",
        "Tombstones.csv",
        "data_dictionary.csv",
        "checksums.txt",
        "CHANGELOG.txt",
        "Saved Places.json",
        "Reviews.json",
    ],
)
def test_files_that_describe_data_are_left_out_of_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "f").mkdir()
    text("x.csv", ROWS)(tmp_path / "f")
    text(name, "This data set holds trips.")(tmp_path / "f")
    got = read(tmp_path / "f")
    assert got.ids == ("ann", "bob")
    assert any(note.endswith(f"describe data: {name}") for note in got.intake.notes)
    assert read(zipped("all.zip", {"x.csv": ROWS.encode(), name: b"{}"})(tmp_path)).ids == ("ann", "bob")


def test_a_file_with_such_a_name_is_read_when_it_is_named_or_alone(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    path = text("about-calls.csv", ROWS)(tmp_path / "f")
    assert read(path).n_samples == 2
    assert read(tmp_path / "f").n_samples == 2


def trip(*numbers: list[Any], **properties: Any) -> Any:
    line = {"type": "LineString", "coordinates": list(numbers)}
    return {"type": "Feature", "properties": {"user": "ann", **properties}, "geometry": line}


def test_trips_of_kepler_have_their_times_in_the_fourth_number(tmp_path: Path) -> None:
    for per in (1, 1000):
        numbers = ([2.35, 48.85, 0, NOON_S * per], [2.36, 48.86, 0, (NOON_S + 60) * per])
        got = read(
            document("t.geojson", {"type": "FeatureCollection", "features": [trip(*numbers)]})(tmp_path)
        )
        assert (got.t * 60).tolist() == [NOON_S, NOON_S + 60]
    for drawn in ([2.35, 48.85, 30, 5], [2.35, 48.85, 30], [2.35, 48.85]):
        shape = document("d.geojson", {"type": "FeatureCollection", "features": [trip(drawn, drawn)]})(
            tmp_path
        )
        assert "holds no point, and no line with times" in refusal(shape)


def test_moving_features_of_the_ogc(tmp_path: Path) -> None:
    moving = {
        "type": "Feature",
        "properties": {"user": "ann"},
        "temporalGeometry": {
            "type": "MovingPoint",
            "datetimes": ["2024-05-01T12:00:00Z", "2024-05-01T12:05:00Z"],
            "coordinates": [[2.35, 48.85, 30], [2.36, 48.86, 30]],
            "interpolation": "Linear",
        },
    }
    for content in (moving, {"type": "FeatureCollection", "features": [moving]}):
        got = read(document("m.json", content)(tmp_path))
        assert (got.ids, (got.t * 60).tolist()) == (("ann",), [NOON_S, NOON_S + 300])


def test_overland_polarsteps_and_opensky(tmp_path: Path) -> None:
    point = {"type": "Point", "coordinates": [2.35, 48.85]}
    feature = {
        "type": "Feature",
        "geometry": point,
        "properties": {"timestamp": "2024-05-01T12:00:00Z", "device_id": "ann"},
    }
    got = read(document("o.json", {"locations": [feature], "trip": {}})(tmp_path))
    assert (got.ids, (got.t * 60).tolist()) == (("ann",), [NOON_S])
    circle = {"locations": [{"userId": "ann", "latitude": "48.85", "longitude": "2.35", "timestamp": NOON_S}]}
    assert read(document("circle.json", circle)(tmp_path)).ids == ("ann",)
    steps = {"locations": [{"lat": 48.85, "lon": 2.35, "time": NOON_S + 0.5}]}
    assert (read(document("locations.json", steps)(tmp_path)).t * 60).tolist() == [NOON_S]
    state = ["3c6444", "DLH9", "Germany", NOON_S, NOON_S + 4, 2.35, 48.85, 900.0, False, 90.0]
    lost = ["3c6445", None, "Germany", None, NOON_S, None, None, None, True, 0.0]
    answer = {"time": NOON_S + 5, "states": [state, lost]}
    for content in (answer, [answer, {"time": NOON_S + 9, "states": None}]):
        got = read(document("s.json", content)(tmp_path))
        assert (got.ids, (got.t * 60).tolist()) == (("3c6444",), [NOON_S])
        assert "left out: 1 state without a position" in got.intake.notes


def test_tracks_of_opensky(tmp_path: Path) -> None:
    path = [[NOON_S, 48.85, 2.35, 900, 90.0, False], [NOON_S + 60, 48.86, 2.36, None, None, False]]
    track = {
        "icao24": "3c6444",
        "startTime": NOON_S,
        "endTime": NOON_S + 60,
        "callsign": "DLH9 ",
        "path": path,
    }
    got = read(document("t.json", track)(tmp_path))
    assert (got.ids, (got.t * 60).tolist()) == (("3c6444",), [NOON_S, NOON_S + 60])
    other = {**track, "icao24": "4b1812", "path": [*path, [NOON_S + 120, None, None, 900, 90.0, False]]}
    got = read(document("t.json", [track, other])(tmp_path))
    assert (got.ids, got.n_samples) == (("3c6444", "4b1812"), 4)
    assert "left out: 1 state without a position" in got.intake.notes


def test_a_trip_of_polarsteps_and_its_positions_are_one_person(tmp_path: Path) -> None:
    place = {"id": 3, "name": "Paris", "lat": 48.85, "lon": 2.35}
    steps = [
        {"id": 9, "start_time": NOON_S, "location": place},
        {"id": 10, "start_time": NOON_S, "location": None},
    ]
    for name in ("paris_1", "rome_2"):
        folder = tmp_path / "ann" / "trip" / name
        folder.mkdir(parents=True)
        document("trip.json", {"id": 5, "user_id": 7, "all_steps": steps})(folder)
        track = {"locations": [{"lat": 48.86, "lon": 2.36, "time": NOON_S + 600.5}]}
        document("locations.json", track)(folder)
    assert (read(folder / "trip.json").t * 60).tolist() == [NOON_S]
    got = read(tmp_path / "ann")
    assert (got.ids, (got.t * 60).tolist()) == (("ann",), [NOON_S, NOON_S + 600])
    assert got.intake.dropped["empty or unreadable coordinate"] == 2
    assert read(folder).ids == ("ann",)


def test_maps_of_kepler(tmp_path: Path) -> None:
    fields = [{"name": name, "type": "string"} for name in ("user", "time", "lat", "lng")]
    data = {"fields": fields, "allData": [["ann", "2024-05-01T12:00:00Z", 48.85, 2.35]]}
    whole = {"datasets": [{"version": "v1", "data": data}], "config": {}}
    for content in (whole, whole["datasets"][0]):  # type: ignore[index]
        got = read(document("m.json", content)(tmp_path))
        assert (got.ids, (got.t * 60).tolist()) == (("ann",), [NOON_S])
    line = trip([2.35, 48.85, 0, "2024-05-01 12:00:00"], [2.36, 48.86, 0, "2024-05-01 12:05:00"])
    trips = {"datasets": [{"data": {"fields": [{"name": "_geojson"}], "allData": [[line]]}}]}
    assert (read(document("m.json", trips)(tmp_path)).t * 60).tolist() == [NOON_S, NOON_S + 300]
    two = {"datasets": [*trips["datasets"], *whole["datasets"]]}
    assert "holds 2 data sets" in refusal(document("m.json", two)(tmp_path))
    broken = {"datasets": [{"data": {"fields": fields, "allData": [1]}}]}
    assert "of no kind that shoal knows" in refusal(document("m.json", broken)(tmp_path))


OBJECTS: list[dict[str, Any]] = [
    {"uid": "ann", "t": NOON_S, "lat": 48.85, "lon": 2.35},
    {"uid": "bob", "t": NOON_S, "lat": 48.9, "lon": 2.4},
]


@pytest.mark.parametrize(
    "content",
    [
        {"status": "ok", "data": OBJECTS},
        {"page": {"number": 1, "results": OBJECTS}, "links": []},
        {name: {"0": OBJECTS[0][name], "1": OBJECTS[1][name]} for name in OBJECTS[0]},
        {"0": OBJECTS[0], "1": OBJECTS[1]},
        {"columns": [*OBJECTS[0]], "index": [0, 1], "data": [[*row.values()] for row in OBJECTS]},
        {
            "schema": {"fields": [{"name": "uid", "type": "string"}], "pandas_version": "1.4.0"},
            "data": OBJECTS,
        },
        {name: [row[name] for row in OBJECTS] for name in OBJECTS[0]},
        [{**row, "t": {"$date": {"$numberLong": str(1000 * NOON_S)}}} for row in OBJECTS],
        [
            {**row, "t": {"$date": "2024-05-01T12:00:00Z"}, "lat": {"$numberDouble": "48.85"}}
            for row in OBJECTS
        ],
        {
            "hits": {
                "total": 2,
                "hits": [
                    {
                        "_index": "gps",
                        "uid": row["uid"],
                        "_source": {
                            "@timestamp": "2024-05-01T12:00:00Z",
                            "location": {"lat": row["lat"], "lon": row["lon"]},
                        },
                    }
                    for row in OBJECTS
                ],
            }
        },
    ],
    ids=[
        "answer",
        "inner list",
        "pandas, columns",
        "pandas, index",
        "pandas, split",
        "pandas, table",
        "R",
        "MongoDB, numbers",
        "MongoDB, dates",
        "Elasticsearch",
    ],
)
def test_lists_of_objects_within_an_answer_or_of_pandas(tmp_path: Path, content: Any) -> None:
    got = read(document("a.json", content)(tmp_path))
    assert (got.ids, (got.t * 60).tolist()) == (("ann", "bob"), [NOON_S] * 2)


def test_values_within_other_things_are_no_positions_of_a_row(tmp_path: Path) -> None:
    home = [{"uid": row["uid"], "t": row["t"], "home": {"lat": 1, "lon": 2}} for row in OBJECTS]
    assert "no latitude and longitude columns" in refusal(document("a.json", home)(tmp_path))
    two = [{**row, "gps": {"lat": 1, "lon": 2}} for row in OBJECTS]
    got = read(document("b.json", two)(tmp_path), snap=False)
    assert got.lat is not None
    assert got.lat.min() == 48.85
    several = [{"uid": "a", "t": NOON_S, "gps": {"lat": 1, "lon": 2}, "fix": {"lat": 1, "lon": 2}}]
    assert "2 columns of c.json could be the latitude" in refusal(document("c.json", several)(tmp_path))


def test_answers_that_hold_no_movement_or_several_lists(tmp_path: Path) -> None:
    for content in ({"a": OBJECTS, "b": OBJECTS}, {"settings": [{"name": "x", "value": 1}]}):
        assert "of no kind that shoal knows" in refusal(document("a.json", content)(tmp_path))


def test_a_list_of_features_is_a_collection(tmp_path: Path) -> None:
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [row["lon"], row["lat"]]},
            "properties": row,
        }
        for row in OBJECTS
    ]
    assert read(document("a.json", features)(tmp_path)).ids == ("ann", "bob")


@pytest.mark.parametrize(
    ("lat", "lon", "place"),
    [
        ("22.93S", "43.22W", (-22.93, -43.22)),
        ("22.93 N", "43.22 E", (22.93, 43.22)),
        ("S22.93", "W43.22", (-22.93, -43.22)),
        ("22.93°", "-43.22°", (22.93, -43.22)),
        ("22°55'48.0\"S", "43°13'12.0\"W", (-22.93, -43.22)),
        ("22° 55.8' S", "43° 13.2' W", (-22.93, -43.22)),
        ("22 55 48 S", "43 13 12 W", (-22.93, -43.22)),
    ],
)
def test_coordinates_with_letters_and_minutes(
    tmp_path: Path, lat: str, lon: str, place: tuple[float, float]
) -> None:
    rows = [["uid", "t", "lat", "lon"], *([f"p{k}", str(NOON_S + k), lat, lon] for k in range(3))]
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    got = read(path, snap=False)
    assert got.lat is not None
    assert got.lon is not None
    assert (np.round(got.lat, 6).tolist(), np.round(got.lon, 6).tolist()) == ([place[0]] * 3, [place[1]] * 3)


@pytest.mark.parametrize(
    ("lat", "lon"),
    [("22.93E", "43.22N"), ("-22.93S", "43.22W"), ("22 61 S", "43 13 W"), ("22.5 30 S", "43 13 W")],
)
def test_coordinates_of_another_side_or_with_impossible_minutes(tmp_path: Path, lat: str, lon: str) -> None:
    path = text("a.csv", f"uid,t,lat,lon\nann,{NOON_S},{lat},{lon}\n")(tmp_path)
    assert "coordinates are written like 99" in refusal(path).replace("like -", "like ")


def fix(clock: str, quality: int = 1) -> str:
    return "$" + sentence(f"GPGGA,{clock},4851.0,N,00221.0,E,{quality},08,0.9,30.0,M,46.9,M,,")[1:]


def test_degrees_and_minutes_in_nmea() -> None:
    fields = ["123519", "A", "4807.038", "N", "01131.000", "E", "022.4", "084.4", "230394"]
    assert position_of(fields) == ("1994-03-23T12:35:19Z", "48.1173", "11.516666667")


def test_a_clock_without_a_date_in_nmea(tmp_path: Path) -> None:
    path = text("a.nmea", f"{fix('000000')}\n")(tmp_path)
    message = refusal(path)
    assert "have a clock time and no date (no RMC sentence, no GGA with ZDA)" in message
    line = message[message.index("$GPZDA") :]
    text("a.nmea", f"{line}\n{fix('000000')}\n")(tmp_path)
    assert (read(path).t * 60).tolist() == [1_735_603_200]  # 2024-12-31


DAY_S = 86_400


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        (["Z120000,01", "120000", "120100.50"], [0, 60]),
        (["120000", "Z120000,01", "120100"], [0, 60]),  # a date behind its position
        (["235900", "Z000000,02", "000000"], [43_140, 43_200]),
        (["Z235900,01", "235900", "000100"], [43_140, 43_260]),  # past midnight
        (["Z180000,01", "180000", "080000", "Z080000,04"], [21_600, 3 * DAY_S - 14_400]),  # off for days
    ],
)
def test_dates_of_zda_for_positions_of_gga(tmp_path: Path, lines: list[str], seconds: list[int]) -> None:
    sentences = [f"$GPZDA,{line[1:]},05,2024,00,00" if line.startswith("Z") else fix(line) for line in lines]
    got = read(text("a.nmea", "\n".join(sentences))(tmp_path))
    assert (got.t * 60 - NOON_S).tolist() == seconds
    assert read(text("a.nmea", "\n".join([*sentences, fix(lines[0][-9:-3], 0)]))(tmp_path)).n_samples == 2
    rmc = "$GPRMC,120000,A,4851.0,N,00221.0,E,,,010524,,"
    assert read(text("a.nmea", "\n".join([rmc, *sentences]))(tmp_path)).n_samples == 1


@pytest.mark.parametrize(("step", "km"), [(1.0, 111), (0.1, 11), (0.01, 1), (0.001, None)])
def test_positions_of_few_digits_have_a_note(tmp_path: Path, step: float, km: int | None) -> None:
    rows = [
        f"p{row},2024-05-01T12:00:00Z,{48 + row * step:.3f},{2 + row * step / 2:.3f}"
        for row in range(0, 24, 2)
    ]
    got = read(text("a.csv", "\n".join(["uid,t,lat,lon", *rows]))(tmp_path))
    notes = [note for note in got.intake.notes if "precise to about" in note]
    assert [f"about {km} km" in note for note in notes] == ([] if km is None else [True])


@pytest.mark.parametrize(
    "ids",
    [("anna", "\u0430nna"), ("AB123", "\u0410\u0412123"), ("kot", "\u03ba\u03bf\u03c4"),
     ("mailto:x@y.org", "X@y.org"),
     ("tel:+33612345678", "+33612345678")],
)  # fmt: skip
def test_ids_of_two_alphabets_and_with_a_scheme_look_alike(tmp_path: Path, ids: tuple[str, str]) -> None:
    rows = "".join(f"{one},2024-05-01T12:00:00Z,48.85,2.35\n" for one in ids)
    path = text("a.csv", f"uid,t,lat,lon\n{rows}")(tmp_path)
    assert "2 ids in column 'uid' of a.csv look like 1 person" in refusal(path)
    assert read(path, ids_as_they_are=True).n_subjects == 2


@pytest.mark.parametrize(
    "time",
    [
        "2024-05-01 12:00:00 +0000 UTC",
        "2024-05-01 14:00:00.5 +0200 CEST",
        "2024-05-01 12:00:00 +0000 UTC m=+0.000031",
        "2024-05-01 15:00:00 +0300 +03",
        "2024-05-01T12:00:00Z",
    ],
)
def test_times_as_go_prints_them(time: str) -> None:
    table = pa.table(
        {"id": ["ann", "ann"], "t": [time, "2024-05-02T12:00:00Z"], "lat": [48.0] * 2, "lon": [2.0] * 2}
    )
    assert (read(table).t * 60).tolist() == [NOON_S, NOON_S + 86_400]


def test_years_and_months_in_kml_are_no_seconds(tmp_path: Path) -> None:
    def marks(*times: str) -> Path:
        points = "".join(
            f"<Placemark><TimeStamp><when>{time}</when></TimeStamp><Point><coordinates>2.33,48.85</coordinates></Point>"
            "</Placemark>"
            for time in times
        )
        kml = f'<kml xmlns="http://www.opengis.net/kml/2.2"><Document>{points}</Document></kml>'
        return text("a.kml", kml)(tmp_path)

    got = read(marks("1997", "1997-07", "1997-07-16", "1997-07-16T07:30:15Z"))
    assert got.intake.dropped == {"empty or unreadable time": 2}
    assert got.n_samples == 2
    assert "which are years" in refusal(marks("1997", "1998"))


OASIS = "urn:oasis:names:tc:opendocument:xmlns"
SPACES = " ".join(f'xmlns:{name}="{OASIS}:{name}:1.0"' for name in ("office", "table", "text", "manifest"))
MIME = b"application/vnd.oasis.opendocument.spreadsheet"


def ods_row(values: list[str], rows: int = 1, columns: int = 1) -> str:
    """A row that stands for so many, and whose last cell stands for so many."""
    repeated = [1] * (len(values) - 1) + [columns]
    cells = "".join(
        f'<table:table-cell office:value-type="string" table:number-columns-repeated="{times}">'
        f"<text:p>{value}</text:p></table:table-cell>"
        for value, times in zip(values, repeated, strict=True)
    )
    return f'<table:table-row table:number-rows-repeated="{rows}">{cells}</table:table-row>'


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 90), (1_048_000, 90), (1, 5_000_000)])
def test_a_cell_of_ods_that_stands_for_many(tmp_path: Path, rows: int, columns: int) -> None:
    pytest.importorskip("python_calamine")
    table = ods_row(["uid", "t", "lat", "lon"]) + ods_row(["ann", "2024-05-01T12:00:00Z", "48.85", "2.35"])
    blank = '<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>'
    table += ods_row(["bob", "2024-05-01T12:00:00Z", "48.85", "2.35"], rows, columns) + blank
    content = (
        f"<office:document-content {SPACES}><office:body><office:spreadsheet><table:table table:name='a'>"
    )
    content += f"{table}</table:table></office:spreadsheet></office:body></office:document-content>"
    manifest = f"<manifest:manifest {SPACES}/>".encode()
    members = {"mimetype": MIME, "content.xml": content.encode(), "META-INF/manifest.xml": manifest}
    zipped("calls.ods", members)(tmp_path)
    if rows * columns > 100:
        assert "has a cell so far from the others" in refusal(tmp_path / "calls.ods")
    else:
        assert read(tmp_path / "calls.ods").ids == ("ann", "bob")


def test_the_files_of_an_account_at_google_are_one_person(tmp_path: Path) -> None:
    position = {"latitudeE7": 488500000, "longitudeE7": 23500000}
    duration = {"startTimestamp": "2024-05-01T06:00:00Z", "endTimestamp": "2024-05-01T07:00:00Z"}
    visit = json.dumps({"timelineObjects": [{"placeVisit": {"location": position, "duration": duration}}]})
    files = {
        "Records.json": json.dumps({"locations": [{**position, "timestamp": "2024-05-01T06:00:00Z"}]}),
        "Settings.json": "{}",
        "Semantic Location History/2024/2024_MAY.json": visit,
        "Semantic Location History/2024/2024_JUNE.json": visit.replace("-05-", "-06-"),
    }
    for name, content in files.items():
        path = tmp_path / "ann" / "Takeout" / "Location History" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    got = read(tmp_path / "ann")
    assert got.ids == ("ann",)
    assert "each export counts as one person; --id names a column of people instead" in got.intake.notes


def test_activities_of_an_account_at_google_are_one_person(tmp_path: Path) -> None:
    folder = tmp_path / "ann" / "Takeout" / "Fit" / "Activities"
    folder.mkdir(parents=True)
    for day in ("01", "02"):
        text(f"2024-05-{day}_Walking.tcx", TCX.replace("05-01", f"05-{day}"))(folder)
    got = read(tmp_path / "ann")
    assert got.ids == ("ann",)
    assert "each export counts as one person; --id names a column of people instead" in got.intake.notes


@pytest.mark.parametrize("address", ["google_maps_url", "Google Maps URL"])
def test_places_that_an_account_saved_are_no_movement(tmp_path: Path, address: str) -> None:
    point = {"type": "Point", "coordinates": [2.35, 48.85]}
    saved = {"date": "2024-05-01T12:00:00Z", address: "http://maps.google.com/?cid=1"}
    places = {
        "type": "FeatureCollection",
        "features": [{"type": "Feature", "geometry": point, "properties": saved}],
    }
    message = refusal(document("Saved Places.json", places)(tmp_path))
    assert "saved or reviewed" in message
    assert "Records.json" in message


def test_training_files_without_a_namespace(tmp_path: Path) -> None:
    plain = re.sub("<TrainingCenterDatabase[^>]*>", "<TrainingCenterDatabase>", TCX)
    assert "xmlns" not in plain
    whole, got = (read(text("run.tcx", content)(tmp_path)) for content in (TCX, plain))
    assert got.n_samples == whole.n_samples > 0


@pytest.mark.parametrize("name", ["calls.csv", "ride.gpx", "Records.json", "calls.parquet", "x.sqlite"])
def test_what_stands_in_the_place_of_a_file(tmp_path: Path, name: str) -> None:
    page = text(name, "\ufeff\n<!DOCTYPE html>\n<html><body>Please log in</body></html>")
    assert f"{name} is a web page" in refusal(page(tmp_path))
    pointer = text(name, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    assert "fetch them with git lfs pull" in refusal(pointer(tmp_path))


@pytest.mark.parametrize("ending", ["gpkg", "parquet"])
def test_shapes_that_are_no_points(tmp_path: Path, ending: str) -> None:
    geopandas = pytest.importorskip("geopandas")
    import shapely

    shapes = [shapely.MultiPoint([(2.35, 48.85)]), shapely.LineString([(2.35, 48.85), (2.36, 48.86)])]
    frame = geopandas.GeoDataFrame(
        {"uid": ["ann"] * 2, "t": ["2024-05-01T12:00:00Z"] * 2}, geometry=shapes, crs=4326
    )
    path = tmp_path / f"x.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_file(path)
    assert "write a point for each time" in refusal(path)


@pytest.mark.parametrize("layout", ["prisms", "sequences", "alone"])
def test_moving_features_in_parts_and_alone(tmp_path: Path, layout: str) -> None:
    part = {
        "coordinates": [[2.35, 48.85], [2.36, 48.86]],
        "datetimes": ["2024-05-01T06:00Z", "2024-05-01T06:10Z"],
    }
    moving: dict[str, Any] = {"type": "MovingPoint", **part}
    if layout == "prisms":
        moving = {
            "type": "Feature",
            "temporalGeometry": {"type": "MovingGeometryCollection", "prisms": [moving]},
        }
    if layout == "sequences":
        moving = {"type": "MovingPoint", "sequences": [part]}
    got = read(document("car.json", moving)(tmp_path))
    assert got.ids == ("car",)
    assert got.n_samples == 2


def test_sentences_of_a_receiver_in_a_text_file(tmp_path: Path) -> None:
    line = sentence("GNRMC,061500.00,A,4851.000,N,00221.000,E,0.0,0.0,010524,,,A")
    (tmp_path / "log.txt").write_text(line if isinstance(line, str) else line.decode())
    assert read(tmp_path / "log.txt").ids == ("log",)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "delimiter"),
    [("sep=;\n", ";"), ("SEP=,\n", ","), ("# made on 2024-05-02, by a phone\n#uid;secret\n", ",")],
)
def test_lines_before_the_names_of_columns_are_left_out(
    tmp_path: Path, before: str, delimiter: str, newline: str
) -> None:
    path = tmp_path / "calls.csv"
    whole = (before + ROWS.replace(",", delimiter)).replace("\n", newline)
    for mark in ("", "\ufeff"):
        path.write_bytes((mark + whole).encode())
        people = read(path)
        assert (people.ids, people.n_samples) == (("ann", "bob"), 2)
        lines = before.count("\n")
        (note,) = [note for note in people.intake.notes if "before its column names" in str(note)]
        assert str(note).endswith(f": {lines}")


def test_names_of_columns_may_begin_with_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text(f"#{ROWS}")
    assert read(path, id="#uid").ids == ("ann", "bob")


def test_an_object_on_each_line_of_json_gets_its_ending(tmp_path: Path) -> None:
    line = json.dumps({"uid": "ann", "t": NOON_S, "lat": 48.85, "lon": 2.35}) + "\n"
    (tmp_path / "calls.json").write_text(line * 2)
    assert "give it the ending .jsonl" in refusal(tmp_path / "calls.json")
    (tmp_path / "calls.json").rename(tmp_path / "calls.jsonl")
    assert read(tmp_path / "calls.jsonl").ids == ("ann",)


def test_one_end_of_trips_is_read_with_a_word(tmp_path: Path) -> None:
    """Columns that are named are read, but not as if a trip had no other end."""
    (tmp_path / "stations.csv").write_text("station_id,lat,lon\nA,48.1,2.1\nB,48.2,2.2\n")
    trips = tmp_path / "trips.csv"
    trips.write_text(
        "user_id,start_station_id,end_station_id,started_at,ended_at\n"
        "ann,A,B,2024-05-01T12:00:00Z,2024-05-01T12:30:00Z\nbob,B,A,2024-05-01T12:00:00Z,2024-05-01T12:20:00Z\n"
    )
    cells = tmp_path / "stations.csv"
    both = read(trips, id="user_id", cells=str(cells))
    assert (both.ids, both.n_samples) == (("ann", "bob"), 4)
    starts = read(trips, id="user_id", time="started_at", cells=str(cells), cell_id="start_station_id")
    assert (starts.ids, starts.n_samples) == (("ann", "bob"), 2)
    assert any("trips with two ends" in str(note) for note in starts.intake.notes)
    assert not any("trips with two ends" in str(note) for note in both.intake.notes)
