"""Files in layouts that programs share: packed, beside a README, moving features, trips of maps, aircraft."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from foreign_files import FILES
from foreign_writers import NOON_S, document, sentence, text, zipped
from shoal.errors import InputError
from shoal.io import read
from shoal.io.formats import packed_files

ROWS = "uid,t,lat,lon\nann,2024-05-01T12:00:00Z,48.85,2.35\nbob,2024-05-01T12:05:00Z,48.86,2.36\n"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".zst": lambda content: bytes(pa.compress(content, "zstd", asbytes=True)),
    ".lz4": lambda content: bytes(pa.compress(content, "lz4", asbytes=True)),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".gz": gzip.compress,
}


def refusal(source: object, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(source, **settings)
    assert "\n" not in str(caught.value)
    return caught.value.cli_message


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
        assert "no time column" in refusal(shape) or "holds no rows" in refusal(shape)


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
    steps = {"locations": [{"lat": 48.85, "lon": 2.35, "time": NOON_S + 0.5}]}
    assert (read(document("locations.json", steps)(tmp_path)).t * 60).tolist() == [NOON_S]
    state = ["3c6444", "DLH9", "Germany", NOON_S, NOON_S + 4, 2.35, 48.85, 900.0, False, 90.0]
    lost = ["3c6445", None, "Germany", None, NOON_S, None, None, None, True, 0.0]
    got = read(document("s.json", {"time": NOON_S + 5, "states": [state, lost]})(tmp_path), lose_people=True)
    assert (got.ids, (got.t * 60).tolist()) == (("3c6444",), [NOON_S])
    assert sum(got.intake.dropped.values()) == 1


def test_a_clock_without_a_date_in_nmea(tmp_path: Path) -> None:
    fix = sentence("GPGGA,120000,4851.0,N,00221.0,E,1,08,0.9,30.0,M,46.9,M,,").replace("!", "$")
    assert "have a clock time and no date (no RMC sentence)" in refusal(text("a.nmea", f"{fix}\n")(tmp_path))


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
