"""Files that are cut, mixed up or of the wrong kind: each gives one clear line, or a counted repair.

Nothing is half read in silence: what is read adds up, and what is refused says what to do.
"""

import gzip
import json
import re
import sqlite3
import warnings
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foreign_files import FILES, installed
from foreign_writers import (
    GPX,
    KML,
    NOON_S,
    SHIP,
    TCX,
    document,
    feed,
    fit_bytes,
    packed,
    people,
    tagged,
    text,
    zipped,
)
from shoal.errors import InputError, ShoalError
from shoal.io import read
from shoal.io.formats import parquet_files
from shoal.io.formats.table import FORMATS

Writer = Callable[[Path], object]
HEAD: Final = "id,t,lat,lon\n"
ROW: Final = "ann,2024-05-01T12:00:00Z,48.85,2.35\n"


def of(name: str, share: float = 0.6) -> Writer:
    """A writer of the first part of a sound file."""

    def write(place: Path) -> Path:
        if not installed(FILES[name].needs):
            pytest.skip(f"{FILES[name].needs} is not installed")
        path = FILES[name].write(place)
        assert isinstance(path, Path)
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])
        return path

    return write


def nameless(place: Path) -> Path:
    """An archive of one file whose name begins with a zero byte, and so ends there."""
    path = zipped("a.zip", {"q.csv": b"-"})(place)
    path.write_bytes(path.read_bytes().replace(b"q.csv", b"\0.csv"))
    return path


def of_later_version(name: str) -> Writer:
    """A writer of a sound archive that asks for version 23.1 of zip."""

    def write(place: Path) -> Path:
        path = of(name, 1.0)(place)
        assert isinstance(path, Path)
        entry = re.compile(rb"(PK\x01\x02..)..", re.DOTALL)
        path.write_bytes(entry.sub(lambda found: found[1] + b"\xe7\x00", path.read_bytes()))
        return path

    return write


def parquet(table: pa.Table, name: str = "calls.parquet") -> Writer:
    def write(place: Path) -> Path:
        pq.write_table(table, place / name)
        return place / name

    return write


def spreadsheet(change: Callable[[bytes], bytes], ending: str = ".xlsx") -> Writer:
    """A writer of a workbook whose sheet is changed."""

    def write(place: Path) -> Path:
        if not installed("python_calamine"):
            pytest.skip("python-calamine is not installed")
        sound = FILES["Excel"].write(place)
        assert isinstance(sound, Path)
        with zipfile.ZipFile(sound) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        members["xl/worksheets/sheet1.xml"] = change(members["xl/worksheets/sheet1.xml"])
        return Path(str(zipped(f"changed{ending}", members)(place)))

    return write


def both(*writers: Writer) -> Writer:
    """A writer of several files in one folder."""

    def write(place: Path) -> Path:
        (place / "all").mkdir()
        for each in writers:
            each(place / "all")
        return place / "all"

    return write


def frame(**columns: list[Any]) -> Writer:
    usual: dict[str, list[Any]] = {"id": ["ann"], "t": [NOON_S], "lat": [48.85], "lon": [2.35]}
    return lambda _: pa.table({**usual, **columns})


def timeline(*records: Any) -> Writer:
    return document("Records.json", {"locations": list(records)})


def geojson(geometry: Any, **properties: Any) -> Writer:
    return document(
        "a.geojson",
        {"type": "FeatureCollection", "features": [
            {"type": "Feature", "geometry": geometry, "properties": {"uid": "ann", "t": NOON_S,
            **properties}},
            {"type": "Feature", "geometry": {"type": "Point", "coordinates": [2.35, 48.85]},
             "properties": {"uid": "ann", "t": NOON_S}},
        ]},
    )  # fmt: skip


NO_PLACE: Final = "empty or unreadable coordinate"
NO_TIME: Final = "empty or unreadable time"
BROKEN: Final = "line with the wrong number of fields"

REFUSED: Final[Mapping[str, tuple[Writer, str]]] = {
    "CSV, a delimiter at the end of lines": (
        text("a.csv", HEAD + ROW.replace("\n", ",\n") * 2),
        "every line of a.csv but the first has one field more than there are names of columns",
    ),
    "text of R, with names of rows": (
        text("a.txt", (HEAD + f'"1",{ROW}"2",{ROW}').replace(",", " ")),
        "at the beginning if they begin with names of rows (in R: col.names = NA)",
    ),
    "GPX, cut": (of("GPX"), "is not a whole GPX file; it may be cut off"),
    "GPX, empty": (packed("a.gpx", b""), "a.gpx is empty"),
    "GPX that is KML": (text("a.gpx", KML), "is XML, but no GPX: it begins with <kml>"),
    "GPX with entities": (text("a.gpx", '<!DOCTYPE gpx [<!ENTITY a "b">]>' + GPX), "declares XML entities"),
    "GPX with entities, in UTF-16": (
        packed("a.gpx", ('<!DOCTYPE gpx [<!ENTITY a "b">]>' + GPX).encode("utf-16")),
        "declares XML entities",
    ),
    "GPX with entities between two blocks": (
        text("a.gpx", "<!--" + "x" * ((1 << 18) - 12) + "-->" + '<!DOCTYPE gpx [<!ENTITY a "b">]>' + GPX),
        "declares XML entities",
    ),
    "GPX, cut gzip": (packed("a.gpx.gz", gzip.compress(GPX.encode())[:-9]), "is not a whole GPX file"),
    "GPX, no gzip": (text("a.gpx.gz", GPX), "is not a whole GPX file"),
    "KML, cut": (of("KML"), "is not a whole KML file"),
    "KML without times": (
        text("a.kml", KML.replace("gx:Track", "gx:Drawn")), "a.kml holds no rows, only column names"
    ),
    "KMZ, cut": (of("KMZ"), "is not a whole KMZ archive"),
    "KMZ without KML": (zipped("a.kmz", {"a.txt": b"-"}), "a.kmz holds no KML file"),
    "TCX, cut": (of("TCX"), "is not a whole TCX file"),
    "TCX that is GPX": (text("a.tcx", GPX), "is XML, but no TCX: it begins with <gpx>"),
    "FIT, cut": (of("FIT"), "is not a whole FIT file"),
    "FIT with a wrong checksum": (packed("a.fit", fit_bytes()[:-1] + b"\x00"), "is not a whole FIT file"),
    "FIT that is text": (text("a.fit", HEAD + ROW), "is not a whole FIT file"),
    "JSON, cut": (of("Google Timeline, Records.json"), "is not whole JSON; it may be cut off"),
    "JSON, empty": (packed("a.json", b""), "a.json is empty"),
    "JSON of another kind": (document("a.json", {"settings": 1}), "is JSON, but of no kind that shoal knows"),
    "JSON, a list of numbers": (document("a.json", [1, 2]), "is JSON, but of no kind that shoal knows"),
    "JSON, nested without end": (text("a.json", "[" * 200_000), "is not whole JSON"),
    "JSON, objects without places": (
        document("a.json", [{"uid": 1, "t": 1}]), "no latitude and longitude columns in a.json"
    ),
    "GeoJSON in another system": (
        document("a.geojson", {
            "type": "FeatureCollection", "crs": {"properties": {"name": "urn:ogc:def:crs:EPSG::2154"}},
            "features": [],
        }),
        "states another reference system than WGS 84",
    ),
    "GeoJSON without features": (
        document("a.geojson", {"type": "FeatureCollection", "features": []}), "no time column in a.geojson"
    ),
    "JSON Lines without objects": (text("a.jsonl", "1\n2\n"), "no line of it is a JSON object"),
    "JSON Lines, cut gzip": (packed("a.jsonl.gz", gzip.compress(b'{"a":1}\n' * 99)[:-9]),
    "is not whole gzip"),
    "Feather, cut": (of("Arrow and Feather"), "is not a whole Arrow or Feather file"),
    "Arrow that is Parquet": (parquet(people(), "a.arrow"), "is not a whole Arrow or Feather file"),
    "SQLite, cut": (of("SQLite"), "is no whole SQLite database"),
    "SQLite that is text": (text("a.sqlite", HEAD + ROW), "is no whole SQLite database"),
    "DuckDB that is text": (text("a.duckdb", HEAD + ROW), "is no whole DuckDB database"),
    "Excel, cut": (of("Excel"), "is no whole spreadsheet, or needs a password"),
    "Excel that is text": (text("a.xls", HEAD + ROW), "is no whole spreadsheet"),
    "Excel, empty sheet": (
        spreadsheet(lambda sheet: re.sub(b"<row.*</row>", b"", sheet)),
        "has no sheet with rows and columns; there is nothing to read",
    ),
    "Excel, days as numbers": (
        spreadsheet(lambda sheet: sheet.replace(b' s="1"', b"")), "the days of a spreadsheet (Excel)"
    ),
    "GeoPackage, cut": (of("GeoPackage", 0.1), "is not a whole gpkg file"),
    "Shapefile without its other files": (of("Shapefile", 0.05), "is not a whole shp file"),
    "zip, cut": (of("Zip archive"), "is not a whole zip archive"),
    "zip, a file without a name": (nameless, "is not a whole zip archive"),
    "zip of a later version": (of_later_version("Zip archive"), "is not a whole zip archive"),
    "Excel of a later version": (of_later_version("Excel"), "is no whole spreadsheet, or needs a password"),
    "KMZ of a later version": (of_later_version("KMZ"), "is not a whole KMZ archive"),
    "zip with nothing to read": (zipped("a.zip", {"a.pdf": b"-"}), "a.zip holds no file that shoal reads"),
    "zip that leads outside": (
        zipped("a.zip", {"/a.csv": (HEAD + ROW).encode()}), "a.zip holds a file outside itself"
    ),
    "OwnTracks, empty": (packed("a.rec", b""), "a.rec is empty"),
    "PLT, cut": (of("GeoLife", 0.3), "does not begin like a PLT file"),
    "an address of another kind": (
        lambda _: "mysql://ann:secret@host/calls SELECT 1", "addresses are not read here; give postgresql://"
    ),
    "a bucket of another store": (lambda _: "wasb://bucket/calls.parquet", "addresses are not read here"),
    "an unknown ending": (text("a.docx", "-"), "shoal does not know the format of a.docx"),
    "one row of too few names": (text("a.csv", "1,2024-05-01,48.85,2.35\n"),
    "name the columns with --columns"),
    "two ids": (text("a.csv", "id,uid,t,lat,lon\n"), "2 columns of a.csv could be the id"),
    "Delta's own folder, elsewhere": (
        both(lambda place: (place / "t" / "_delta_log").mkdir(parents=True)), "all/t is a Delta Lake table"
    ),
    "times of two meanings": (
        text("a.csv", HEAD + ROW.replace("2024-05-01T12:00:00Z", "03/04/2024")), "give --time-format"
    ),
    "degrees in another order": (text("a.csv", HEAD + "ann,2024-05-01,2.35,48.85\n"), "lie at sea as given"),
    "nested columns": (frame(lat=[[48.85]]), "holds list<"),
}  # fmt: skip

COUNTED: Final[Mapping[str, tuple[Writer, dict[str, int]]]] = {
    "GPX, a point without a time": (of("GPX", 1.0), {NO_TIME: 1}),
    "GPX, a latitude that is a word": (text("a.gpx", GPX.replace('"48.86"', '"north"')), {NO_PLACE: 1,
    NO_TIME: 1}),
    "KML, one time more than places": (
        text("a.kml", KML.replace("<gx:coord>2.36 48.86 0</gx:coord>", "")), {NO_PLACE: 1}
    ),
    "TCX, a point without a position": (of("TCX", 1.0), {NO_PLACE: 1}),
    "TCX, a time that is a word": (
        text("a.tcx", TCX.replace("<Time>2024-05-01T12:00:00Z</Time>", "<Time>noon</Time>").replace(
            "</Track>",
            "<Trackpoint><Time>2024-05-01T12:09:00Z</Time><Position><LatitudeDegrees>48.85</LatitudeDegrees>"
            "<LongitudeDegrees>2.35</LongitudeDegrees></Position></Trackpoint></Track>",
        )),
        {NO_TIME: 1, NO_PLACE: 1},
    ),
    "Timeline, records that are none": (
        timeline(
            {"timestamp": "2024-05-01T12:00:00Z", "latitudeE7": 488_500_000, "longitudeE7": 23_500_000},
            {"timestamp": "2024-05-01T12:00:00Z", "latitudeE7": 4_783_467_296, "longitudeE7": 23_500_000},
            {"latitudeE7": 488_500_000, "longitudeE7": 23_500_000}, {}, 7,
        ),
        {"latitude outside -90..90": 1, NO_TIME: 3},
    ),
    "GeoJSON, a point without coordinates": (geojson({"type": "Point"}), {NO_PLACE: 1}),
    "GeoJSON, a point of words": (geojson({"type": "Point", "coordinates": ["a", "b"]}), {NO_PLACE: 1}),
    "GeoJSON, fewer times than places": (
        geojson({"type": "LineString", "coordinates": [[2.35, 48.85], [2.36, 48.86]]},
        times=["2024-05-01T12:00Z"]),
        {NO_TIME: 1, "same person, cell and minute after rounding": 1},
    ),
    "GeoJSON, parts of a line that are none": (
        geojson({"type": "MultiLineString", "coordinates": [None, 7, [[2.35, 48.85], None]]},
        times=[None, ["2024-05-01T12:00Z"], ["2024-05-01T12:00Z", "2024-05-01T12:05Z"]]),
        {NO_PLACE: 2, "same person, cell and minute after rounding": 1},
    ),
    "NMEA, 61 minutes of a degree": (
        text("a.nmea", "$GPRMC,120000,A,4861.0,N,00221.0,E,,,010524,,\n"
        "$GPRMC,120000,A,4851.0,N,00221.0,E,,,010524,,\n"),
        {NO_PLACE: 1},
    ),
    "JSON Lines, broken lines": (of("JSON Lines", 1.0), {"line that is no JSON object": 1}),
    "JSON Lines, a value missing": (
        text("a.jsonl", '{"id":1,"t":1714564800,"lat":48.85,"lon":2.35}\n{"id":1,"t":1714564800,'
        '"lat":48.85}\n'),
        {NO_PLACE: 1},
    ),
    "JSON, null values": (
        document("a.json", [
            {"id": "a", "t": NOON_S, "lat": 48.85, "lon": 2.35}, {"id": None, "t": NOON_S, "lat": 1,
            "lon": 1},
        ]),
        {"empty id": 1},
    ),
    "OwnTracks, a broken line": (of("OwnTracks recorder", 1.0), {BROKEN: 1}),
    "CSV, lines of other lengths": (text("a.csv", HEAD + ROW + "ann,1\n" + "a,b,c,d,e\n"), {BROKEN: 2}),
    "no header, a header after all": (
        text("1.txt", "1,2024-05-01 20:00:00,116.5,39.9\n" * 25 + "taxi,time,lon,lat\n"),
        {"same person, cell and minute after rounding": 24, NO_TIME: 1},
    ),
    "Porto, polylines that are none": (of("Porto", 1.0), dict(FILES["Porto"].dropped)),
    "YJMob100K, withheld cells": (of("YJMob100K", 1.0), {NO_PLACE: 1}),
    "thousands among points": (
        text("a.csv", HEAD.replace(",", ";") + "a;2024-05-01;48.85;2.35\na;2024-05-01;48,850,000;2.35\n"),
        {NO_PLACE: 1}
    ),
    "a time of another order": (
        text("a.csv", HEAD + ROW * 2 + ROW.replace("2024-05-01T12:00:00Z", "03/04/2024")),
        {"same person, cell and minute after rounding": 1, NO_TIME: 1},
    ),
    "Excel, an empty cell": (
        spreadsheet(lambda sheet: sheet.replace(b'<c r="C3"><v>48.85</v></c>', b"")), {NO_PLACE: 1}
    ),
    "the default place of a device": (frame(id=["a", "a"], t=[NOON_S] * 2, lat=[0.0, 48.85], lon=[0.0, 2.35]),
                                      {"position (0, 0)": 1}),
    "a file without rows among others": (
        both(text("1.csv", HEAD + ROW), text("2.csv", HEAD)), {}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_gives_one_clear_line(name: str, tmp_path: Path) -> None:
    write, expected = REFUSED[name]
    if "FIT" in name:
        pytest.importorskip("fitdecode", reason="fitdecode is not installed")
    if "Excel" in name:
        pytest.importorskip("python_calamine", reason="python-calamine is not installed")
    source = write(tmp_path)
    if name == "Shapefile without its other files":
        assert isinstance(source, Path)
        for other in (".shx", ".dbf"):
            source.with_suffix(other).unlink()
    with pytest.raises(ShoalError) as caught:
        read(source)
    assert expected in caught.value.cli_message
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_damaged_in_part_is_read_and_counted(name: str, tmp_path: Path) -> None:
    write, dropped = COUNTED[name]
    got = read(write(tmp_path), lose_people=True)
    assert dict(got.intake.dropped) == dropped
    assert got.n_samples > 0
    assert got.intake.rows_read == got.n_samples + sum(got.intake.dropped.values())


def test_there_are_sixty_of_them() -> None:
    assert len(REFUSED) + len(COUNTED) >= 60


@pytest.mark.parametrize("name", [name for name, row in FILES.items() if not row.needs])
def test_any_cut_of_a_file_is_read_with_a_true_account_or_refused_in_one_line(
    name: str, tmp_path: Path
) -> None:
    path = FILES[name].write(tmp_path)
    if not isinstance(path, Path) or path.is_dir():
        path = next(each for each in tmp_path.rglob("*") if each.is_file())
    content = path.read_bytes()
    cuts = [int(len(content) * share / 7) for share in range(7)]
    told = 0
    for cut in cuts:
        path.write_bytes(content[:cut])
        refusal = ""
        try:
            intake, samples = (got := read(path)).intake, got.n_samples
        except ShoalError as error:
            refusal = str(error)
        assert "\n" not in refusal
        assert refusal or intake.rows_read == samples + sum(intake.dropped.values())
        told += 1
    assert told == 7


def test_a_sheet_is_read_in_pieces_and_begins_wherever_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("python_calamine", reason="python-calamine is not installed")
    from shoal.io.formats import row_files

    def moved(sheet: bytes) -> bytes:
        """Three rows down, a column to the right, and an empty row among those with values."""

        def down(row: bytes) -> bytes:
            return str(int(row) + (3 if int(row) < 3 else 4)).encode()

        sheet = re.sub(rb'<row r="(\d+)"', lambda found: b'<row r="' + down(found[1]) + b'"', sheet)
        return re.sub(
            rb'<c r="([A-D])(\d+)"',
            lambda found: b'<c r="' + bytes([found[1][0] + 1]) + down(found[2]) + b'"',
            sheet,
        )

    monkeypatch.setattr(row_files, "TEXT_ROWS", 1)
    got = read(spreadsheet(moved)(tmp_path))
    assert (got.ids, got.intake.rows_read) == (("7", "8"), 2)


PACKED: Final[Mapping[str, tuple[bytes, str]]] = {
    ".gpx.gz": (GPX.encode(), ""),
    ".tcx.gz": (TCX.encode(), ""),
    ".kml.gz": (KML.encode(), ""),
    ".fit.gz": (fit_bytes(), "fitdecode"),
    ".json.gz": (b'[{"id":1,"t":1714564800,"lat":48.85,"lon":2.35}]', ""),
    ".geojson.gz": (b'{"type":"FeatureCollection","features":[]}', ""),
    ".jsonl.gz": (b'{"id":1,"t":1714564800,"lat":48.85,"lon":2.35}\n', ""),
    ".csv.gz": ((HEAD + ROW).encode(), ""),
    ".tsv.gz": ((HEAD + ROW).encode(), ""),
    ".txt.gz": ((HEAD + ROW).encode(), ""),
    ".nmea.gz": (b"$GPRMC,120000,A,4851.000,N,00221.000,E,022.4,084.4,010524,003.1,W\r\n", ""),
    ".ais.gz": (tagged(SHIP, NOON_S).encode(), "pyais"),
    ".pb.gz": (feed(NOON_S, ("bus", NOON_S, 48.85, 2.35)), "google.transit.gtfs_realtime_pb2"),
}


@pytest.mark.parametrize("ending", PACKED)
def test_a_packed_file_that_is_damaged_gives_one_clear_line(ending: str, tmp_path: Path) -> None:
    """In its first block, which is no longer of a known kind, and in the middle of it."""
    content, needs = PACKED[ending]
    if not installed(needs):
        pytest.skip(f"{needs} is not installed")
    whole = gzip.compress(content)
    for place, value in ((10, 0xFF), (len(whole) // 2, whole[len(whole) // 2] ^ 0xA5)):
        (tmp_path / f"a{ending}").write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
        with pytest.raises(ShoalError) as refused:
            read(tmp_path / f"a{ending}")
        assert "\n" not in str(refused.value)


def test_every_packed_format_is_among_them() -> None:
    assert set(PACKED) == {ending for ending in FORMATS if ending.endswith(".gz")}


def test_json_is_told_apart_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    for name, content in (("a.json", people().to_pylist()), ("b.geojson", people().to_pylist())):
        (tmp_path / name).write_text(json.dumps(content))
        assert read(tmp_path / name).ids == ("ann", "bob")


def test_a_parquet_file_that_unpacks_to_far_more_than_it_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With smaller bounds than real ones, which take 1 GiB and 10 million rows."""
    rows = 20_000
    columns = {
        "id": ["ann"] * rows,
        "t": [1_714_564_800 + 60 * at for at in range(rows)],
        "lat": [48.0] * rows,
        "lon": [2.0] * rows,
        "note": ["x" * 500 + str(at % 7) for at in range(rows)],
    }
    file = tmp_path / "calls.parquet"
    pq.write_table(pa.table(columns), file, compression="zstd", use_dictionary=["id"])
    reading: dict[str, Any] = {"id": "id", "time": "t", "snap": False, "time_unit": "s"}
    assert len(next(iter(read(file, **reading)))[0]) == rows
    monkeypatch.setattr(parquet_files, "_MOST_UNPACKED_BYTES", 1000)
    monkeypatch.setattr(parquet_files, "_MOST_UNPACKED", 20)
    with pytest.raises(ShoalError, match=r"calls.parquet unpacks \d+ MiB in one group of rows from \d+ KiB"):
        read(file, **reading)
    monkeypatch.undo()
    monkeypatch.setattr(parquet_files, "_MOST_ROWS", 1000)
    monkeypatch.setattr(parquet_files, "_MOST_ROWS_A_BYTE", 0.1)
    with pytest.raises(ShoalError, match=r"says it holds 20,000 rows in \d+ KiB"):
        read(file, **reading)


def test_a_quoted_delimiter_before_an_empty_last_value_is_no_additional_field(tmp_path: Path) -> None:
    path = text("a.csv", 'id,t,lat,lon,place,note\nann,1714557600,48.85,2.35,"Paris, France",\n')(tmp_path)
    assert isinstance(path, Path)
    assert read(path).n_samples == 1


def test_lines_that_an_open_quotation_mark_took_into_a_column_that_is_not_read(tmp_path: Path) -> None:
    rows = "".join(
        f"p{k // 4},{NOON_S + 60 * k},48.8,2.3,{mark}5\n"
        for k, mark in enumerate(["", "", "", '"', *[""] * 8, '"', "", "", ""])
    )
    path = text("a.csv", f"uid,t,lat,lon,note\n{rows}")(tmp_path)
    with pytest.raises(InputError, match="10 of 16 lines cannot be read"):
        read(path)
    got = read(path, lose_people=True)
    assert got.ids == ("p0", "p3")
    fair = text("b.csv", 'uid,note,t,lat,lon\nann,"5, Main St\nParis",2024-05-01,48.8,2.3\n')(tmp_path)
    assert read(fair).ids == ("ann",)


def test_files_that_were_joined_with_their_column_names(tmp_path: Path) -> None:
    row = ROW.replace("ann", "ben")
    got = read(text("a.csv", HEAD + ROW + HEAD + row + HEAD)(tmp_path))
    assert got.n_subjects == 2
    assert got.intake.dropped == {"line that repeats the names of the columns": 2}
    assert got.intake.people_read == 2


@pytest.mark.parametrize("before", ["Export of 2024-05-01\n\n", "Fleet;;;\nfrom;2024;;\n", "% a comment\n"])
def test_a_title_before_the_column_names_is_told(tmp_path: Path, before: str) -> None:
    got = read(text("a.csv", before + HEAD + ROW)(tmp_path))
    assert got.n_samples == 1
    assert any("before its column names that were not read" in note for note in got.intake.notes)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_text_as_spreadsheets_call_unicode(tmp_path: Path, encoding: str) -> None:
    lines = (HEAD + ROW.replace("ann", "Jürgen")).replace(",", "\t")
    assert read(packed("a.txt", lines.encode(encoding))(tmp_path)).ids == ("Jürgen",)


def test_what_gdal_warns_of_and_no_reading_needs_is_not_printed(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    pytest.importorskip("pyogrio", reason="pyogrio is not installed")
    places = geopandas.points_from_xy([2.3, 2.31, 2.32], [48.8, 48.81, 48.82])
    times = ["2024-05-01T06:15:00Z", "2024-05-01T07:15:00Z", "2024-05-01T08:15:00Z"]
    frame = geopandas.GeoDataFrame({"uid": ["a", "b", "a"], "t": times}, geometry=places, crs=4326)
    frame.to_file(tmp_path / "a.gpkg")
    with closing(sqlite3.connect(tmp_path / "a.gpkg")) as file:
        file.execute("PRAGMA application_id = 7")
        file.commit()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert read(tmp_path / "a.gpkg").n_samples == 3
    assert [str(one.message) for one in told] == []
