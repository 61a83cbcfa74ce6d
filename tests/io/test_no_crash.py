"""Files that ended in a traceback, an abort or a full memory once: a clear refusal, or rows that are read."""

import json
import shutil
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pyarrow as pa
import pytest

from foreign_files import FILES, installed
from foreign_writers import GPX, _fit_crc, delta, fit_bytes, packed, text, zipped
from shoal.errors import InputError
from shoal.io import read
from shoal.io.formats import excel_files
from shoal.io.formats.fit_files import NO_DATE
from shoal.io.formats.json_files import table_of

SECONDS_ON = 4711  # of a device, far below the first date of FIT


def refusal(source: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(source)
    assert "\n" not in str(caught.value)
    return caught.value.cli_message


def checked_fit(content: bytes) -> bytes:
    """The content with a right checksum at its end."""
    return content[:-2] + struct.pack("<H", _fit_crc(content[:-2]))


def test_fit_records_of_a_device_without_a_date_are_counted(tmp_path: Path) -> None:
    if not installed("fitdecode"):
        pytest.skip("fitdecode is not installed")
    whole = fit_bytes()
    first = whole.rindex(struct.pack("<B", 1) + whole[-2 - 13 - 13 - 13 + 1 : -2 - 13 - 13 - 13 + 5])
    dateless = checked_fit(whole[: first + 1] + struct.pack("<I", SECONDS_ON) + whole[first + 5 :])
    got = read(packed("run.fit", dateless)(tmp_path))
    assert got.n_samples == 1
    assert got.intake.dropped[NO_DATE] == 1


@pytest.mark.parametrize("more", [1, 5, 12, 13])
def test_a_fit_file_with_the_beginning_of_another_behind_it(tmp_path: Path, more: int) -> None:
    pytest.importorskip("fitdecode")
    assert "is not a whole FIT file" in refusal(packed("run.fit", fit_bytes() + fit_bytes()[:more])(tmp_path))


@pytest.mark.parametrize("less", [1, 2, 5, 14])
def test_a_fit_file_that_states_a_shorter_body(tmp_path: Path, less: int) -> None:
    pytest.importorskip("fitdecode")
    whole = fit_bytes()
    head = whole[:4] + struct.pack("<I", len(whole) - 16 - less) + whole[8:12]
    content = checked_fit(head + struct.pack("<H", _fit_crc(head)) + whole[14:-less])
    assert "is not a whole FIT file" in refusal(packed("run.fit", content)(tmp_path))


def shapefile(place: Path, name: str, encoding: str) -> Path:
    import geopandas

    points = geopandas.points_from_xy([2.35, 2.36], [48.85, 48.86])
    frame = geopandas.GeoDataFrame(
        {"uid": [name, "bob"], "t": ["2024-05-01T12:00:00Z"] * 2}, geometry=points, crs=4326
    )
    frame.to_file(place / "x.shp", encoding=encoding)
    (place / "x.cpg").unlink()
    table = (place / "x.dbf").read_bytes()
    (place / "x.dbf").write_bytes(table[:29] + b"\0" + table[30:])  # no mark of a language either
    return place / "x.shp"


def test_a_shapefile_in_an_archive_and_one_without_a_system(tmp_path: Path) -> None:
    if not installed("geopandas"):
        pytest.skip("geopandas is not installed")
    shape = shapefile(tmp_path, "ann", "UTF-8")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for path in tmp_path.glob("x.*"):
            if path.suffix != ".zip":
                archive.write(path, f"points/{path.name}")
    assert read(tmp_path / "x.zip").ids == ("ann", "bob")
    shape.with_suffix(".prj").unlink()
    with pytest.raises(InputError, match="give crs EPSG:4326 for a geometry"):
        read(shape)
    assert read(shape, crs="EPSG:4326").crs is not None


def test_the_parts_of_a_shapefile_in_an_archive_count_and_stay_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not installed("geopandas"):
        pytest.skip("geopandas is not installed")
    shape = shapefile(tmp_path, "ann", "UTF-8")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for path in (shape, *map(shape.with_suffix, (".shx", ".dbf", ".prj"))):
            archive.write(path, f"points/{path.name}")
        archive.writestr("points/x./../../../outside.dbf", "no part of it")
    assert read(tmp_path / "x.zip").ids == ("ann", "bob")
    assert list(tmp_path.rglob("outside.dbf")) == []
    free = SimpleNamespace(free=shape.stat().st_size)  # enough for the shapes alone
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    assert "unpacks to more than the disk" in refusal(tmp_path / "x.zip")


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-8"])
def test_a_shapefile_that_does_not_say_its_encoding(tmp_path: Path, encoding: str) -> None:
    if not installed("geopandas"):
        pytest.skip("geopandas is not installed")
    got = read(shapefile(tmp_path, "Jürgen", encoding))
    assert got.ids == ("Jürgen", "bob")
    assert any("x.shp is taken as ISO-8859-1" in note for note in got.intake.notes) == (encoding != "UTF-8")


def test_text_in_a_geopackage_that_is_none(tmp_path: Path) -> None:
    if not installed("geopandas"):
        pytest.skip("geopandas is not installed")
    path = FILES["GeoPackage"].write(tmp_path)
    assert isinstance(path, Path)
    path.write_bytes(path.read_bytes().replace(b"annG", b"\xfcnnG").replace(b"ann", b"\xfcnn"))
    assert "broke off" in refusal(path)


def sheet(rows: str, place: Path) -> Path:
    sound = FILES["Excel"].write(place)
    assert isinstance(sound, Path)
    with zipfile.ZipFile(sound) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    members[name] = members[name].replace(b"</sheetData>", rows.encode() + b"</sheetData>")
    return Path(str(zipped("far.xlsx", members)(place)))


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_cell_far_from_the_others_does_not_fill_the_memory(tmp_path: Path, quote: str) -> None:
    if not installed("python_calamine"):
        pytest.skip("python-calamine is not installed")
    for ref in ("XFD1048576", "ZZ1048576", "ZZZZ1048576"):
        far = f"<row r={quote}1048576{quote}><c r={quote}{ref}{quote}><v>1</v></c></row>"
        assert "a cell so far from the others" in refusal(sheet(far, tmp_path))
    for row in ("4000000000", "99999999", "2000000"):
        assert "a cell so far from the others" in refusal(
            sheet(f"<row r='{row}'><c><v>1</v></c></row>", tmp_path)
        )
    near = '<row r="900"><c r="AB900"><v>1</v></c></row>'  # a stray cell is a row without an id
    assert read(sheet(near, tmp_path)).intake.dropped["empty id"] == 1


@pytest.mark.parametrize(
    ("part", "cell"),
    [
        ("xl/other.xml", 'r="XFD1048576"'),
        ("xl/worksheets/calls.xml", 'r="XFD1048576"'),
        ("xl/worksheets/sheet1.xml", 'r = "XFD1048576"'),
        ("xl/worksheets/sheet1.xml", "\nr" + " " * (1 << 20) + '="XFD1048576"'),
    ],
)
def test_a_far_cell_in_another_part_or_writing(tmp_path: Path, part: str, cell: str) -> None:
    if not installed("python_calamine"):
        pytest.skip("python-calamine is not installed")
    rows = f'<row r="1048576"><c {cell}><v>1</v></c></row>'
    with zipfile.ZipFile(sheet(rows, tmp_path)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[part] = members.pop("xl/worksheets/sheet1.xml")
    for name, content in members.items():
        members[name] = content.replace(b"worksheets/sheet1.xml", part.removeprefix("xl/").encode())
    assert "a cell so far from the others" in refusal(zipped("far.xlsx", members)(tmp_path))


@pytest.mark.parametrize("encoding", ["unheard-of", "shift_jis"])
def test_a_part_of_a_spreadsheet_in_an_encoding_that_is_not_read(tmp_path: Path, encoding: str) -> None:
    if not installed("python_calamine"):
        pytest.skip("python-calamine is not installed")
    drawing = f'<?xml version="1.0" encoding="{encoding}"?><xml/>'
    with zipfile.ZipFile(sheet("", tmp_path)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    beside = zipped("beside.xlsx", {**members, "xl/drawings/vmlDrawing1.vml": drawing.encode()})(tmp_path)
    assert read(beside).n_samples == read(sheet("", tmp_path)).n_samples
    name = "xl/worksheets/sheet1.xml"
    start, begin = members[name].index(b"<worksheet"), drawing.removesuffix("<xml/>").encode()
    unread = zipped("unread.xlsx", {**members, name: begin + members[name][start:]})(tmp_path)
    assert "is no whole spreadsheet" in refusal(unread)


def test_numbers_in_other_attributes_of_a_spreadsheet_are_no_rows(tmp_path: Path) -> None:
    if not installed("python_calamine"):
        pytest.skip("python-calamine is not installed")
    near = '<row r="900"><c r="AB900"><v>1</v></c></row>'  # a stray cell is a row without an id
    near = near.replace("<row ", '<row author="20240501" x:r="AB1" ')
    assert read(sheet(near, tmp_path)).intake.dropped["empty id"] == 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('<row r="25"><c r="A5"><v>1</v></c></row>', "A5"),
        ("<row spans='1:2' r='25'>\n<c s='1'\n r = 'B25'><v>1</v></c>\n<c/><c r='b26' s='1'/></row>", "b26"),
        ('<x:row r="25"><x:c r="A25"/><x:c t="n" r="C2"/></x:row>', "C2"),
        ('<row r="25"><c r="A25" t="inlineStr"><is><t>%s</t></is></c><c r="B255"/></row>', "B255"),
    ],
)
def test_a_cell_that_says_another_row_than_it_stands_in(tmp_path: Path, row: str, says: str) -> None:
    if not installed("python_calamine"):
        pytest.skip("python-calamine is not installed")
    told = refusal(sheet(row.replace("%s", " <b/> r" * (1 << 18)), tmp_path))
    assert f"far.xlsx: row 25 of sheet1 holds a cell that calls itself {says}," in told
    right = row.replace(f'"{says}"', '"D25"').replace(f"'{says}'", "'D25'").replace("%s", "")
    assert read(sheet(right, tmp_path)).n_samples


def test_the_order_of_formulas_in_a_spreadsheet_is_no_order_of_cells(tmp_path: Path) -> None:
    if not installed("python_calamine"):
        pytest.skip("python-calamine is not installed")
    path = sheet('<row r="25"/>\n<row r="26"><c r="D26"/></row>', tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/calcChain.xml", '<calcChain><c r="B7" i="1"/><c r="A5"/></calcChain>')
    assert read(path).n_samples


def test_a_spreadsheet_that_unpacks_to_far_more_than_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not installed("python_calamine"):
        pytest.skip("python-calamine is not installed")
    path = sheet("", tmp_path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/b.xml", b" " * (3 << 20))
    assert read(path).n_samples
    monkeypatch.setattr(excel_files, "_MOST_UNPACKED_BYTES", 1 << 20)
    assert "unpacks to 3 MiB, which no spreadsheet needs" in refusal(path)


def test_xml_in_an_encoding_that_does_not_exist(tmp_path: Path) -> None:
    assert "is not a whole GPX file" in refusal(
        text("a.gpx", '<?xml version="1.0" encoding="UTF-88"?>' + GPX.partition("?>")[2])(tmp_path)
    )


def test_a_damaged_file_of_a_delta_table(tmp_path: Path) -> None:
    if not installed("deltalake"):
        pytest.skip("deltalake is not installed")
    folder = delta(tmp_path)
    for part in folder.glob("*.parquet"):
        part.write_bytes(part.read_bytes()[:-9])
    assert refusal(folder) == "delta is damaged and cannot be read to its end; copy it again"


def test_days_beyond_all_calendars(tmp_path: Path) -> None:
    days = text("yj.csv", "uid,d,t,x,y\n1,1e309,3,4,5\n1,2,3,4,5\n")(tmp_path)
    got = read(days)
    assert got.n_samples == 1
    assert got.intake.dropped["empty or unreadable time"] == 1


def test_a_flatgeobuf_cut_in_its_last_feature(tmp_path: Path) -> None:
    if not installed("geopandas"):
        pytest.skip("geopandas is not installed")
    path = FILES["FlatGeobuf"].write(tmp_path)
    assert isinstance(path, Path)
    path.write_bytes(path.read_bytes()[:-30])
    assert "broke off while its rows were read" in refusal(path)


def test_a_panic_of_a_library_is_a_refusal() -> None:
    """As of pyo3, whose panics are no Exception."""
    from shoal.io.sources.openers import _numbered

    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(InputError, match=r"x\.xlsx is damaged"), _numbered("x.xlsx"):
        raise panic
    with pytest.raises(KeyboardInterrupt), _numbered("x.xlsx"):
        raise KeyboardInterrupt
    with (
        pytest.raises(InputError, match=r"x.arrow \(file 2 of 3\) is damaged"),
        _numbered("x.arrow", " (file 2 of 3)"),
    ):
        raise pa.ArrowInvalid("of libraries")


PLACE: Final = {"lat": 48.85, "lng": 2.35}
SEGMENT: Final = {
    "timestampMs": "1", "latE7": 1, "duration": {"startTimestampMs": "1"}, "startLocation": {"latitudeE7": 1},
}  # fmt: skip
DOCUMENTS: Final[dict[str, Any]] = {
    "steps": {"all_steps": [{"start_time": 1, "location": {"lat": 1, "lon": 2}}], "locations": []},
    "map": {"datasets": [{"data": {"fields": [{"name": "t"}], "allData": [[1]]}}]},
    "states": {"time": 1, "states": [["a", None, None, 1, 1, 2.35, 48.85]]},
    "tracks": [{"icao24": "a", "startTime": 1, "path": [[1, 48.85, 2.35]]}],
    "batch": {"locations": [{"type": "Feature", "geometry": {"type": "Point", "coordinates": [2, 48]}}]},
    "moving": {"type": "MovingPoint", "sequences": [{"coordinates": [[2, 48]], "datetimes": ["2024-05-01"]}]},
    "points": {"counts": {}, "points": [{"timestamp": 1, "lonlat": "POINT (2 48)"}]},
    "telemetry": {"data": {"telemetry": [{"device_id": "a", "timestamp": 1, "location": PLACE}]}},
    "trips": {"trips": [{"device_id": "a", "start_location": PLACE, "end_location": PLACE, "route": {
        "features": [{"geometry": {"coordinates": [2, 48]}, "properties": {"timestamp": 1}}]}}]},
    "way": {"timelineObjects": [
        {"activitySegment": {**SEGMENT, "simplifiedRawPath": {"points": [SEGMENT]}}}]},
    "phone": {"semanticSegments": [{"startTime": "2024-05-01T12:00Z", "visit": {"topCandidate": {}},
        "timelinePath": [{"point": "geo:1,2"}]}], "rawSignals": [{"position": {"LatLng": "1,2"}}]},
}  # fmt: skip


def changed(value: Any) -> Iterator[Any]:
    """The value with each part replaced by values of other kinds."""
    yield from (None, True, "x", 12, [], {}, [[1]], {"a": [1]})
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        for other in changed(inner):
            copy = value.copy()
            copy[key] = other
            yield copy


@pytest.mark.parametrize(
    "name", [*DOCUMENTS, *(name for name in FILES if "JSON" in name or "Timeline" in name)]
)
def test_values_of_other_kinds_in_json(tmp_path: Path, name: str) -> None:
    content = DOCUMENTS.get(name)
    if content is None:
        source = FILES[name].write(tmp_path)
        assert isinstance(source, Path)
        if source.suffix not in {".json", ".geojson"}:
            pytest.skip("no file of one document")
        content = json.loads(source.read_text())
    tables = 0
    for other in changed(content):
        try:
            table = table_of(tmp_path / "x.json", json.loads(json.dumps(other)))
        except InputError:
            continue
        for _, batch in table.batches(table.columns):
            batch.validate(full=True)
        tables += 1
    assert tables


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.geojson"])
def test_json_within_json_without_end(tmp_path: Path, name: str) -> None:
    deep = '{"a":' * 3000 + "1" + "}" * 3000
    for content in (deep, f"[{deep}]", '{"type":"FeatureCollection","features":[' + deep + "]}"):
        refusal(text(name, content)(tmp_path))
