"""Writers of small files in the layouts of other programs, for ``foreign_files``."""

import io
import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

NOON_S: Final = 1_714_564_800  # 2024-05-01T12:00:00Z


def text(name: str, content: str, encoding: str = "utf-8") -> Callable[[Path], Path]:
    """A writer of one text file."""

    def write(place: Path) -> Path:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode(encoding))
        return path

    return write


def document(name: str, content: Any) -> Callable[[Path], Path]:
    """A writer of one JSON file."""
    return text(name, json.dumps(content, ensure_ascii=False))


def people() -> pa.Table:
    """Two people with a sample each."""
    return pa.table(
        {"id": ["ann", "bob"], "t": [NOON_S, NOON_S + 60], "lat": [48.85, 48.86], "lon": [2.35, 2.36]}
    )


GPX: Final = """<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="Garmin Connect" xmlns="http://www.topografix.com/GPX/1/1"
 xmlns:ns3="http://www.garmin.com/xmlschemas/TrackPointExtension/v1">
<metadata><time>2024-05-01T11:00:00Z</time></metadata><wpt lat="1" lon="1"/>
<trk><name>ride</name><trkseg>
<trkpt lat="48.85" lon="2.35"><ele>30</ele><time>2024-05-01T12:00:00.000Z</time><extensions>
<ns3:TrackPointExtension><ns3:hr>120</ns3:hr><time>1999-01-01T00:00:00Z</time></ns3:TrackPointExtension>
</extensions></trkpt>
<trkpt lat="48.86" lon="2.36"><time>2024-05-01T12:05:00Z</time></trkpt>
<trkpt lat="48.87" lon="2.36"/></trkseg></trk></gpx>"""
PHONETRACK: Final = """<?xml version="1.0" encoding="UTF-8" standalone="no" ?>
<gpx xmlns="http://www.topografix.com/GPX/1/1" xmlns:gpxx="http://www.garmin.com/xmlschemas/GpxExtensions/v3"
 xmlns:wptx1="http://www.garmin.com/xmlschemas/WaypointExtension/v1" creator="PhoneTrack Nextcloud app 0.9.1"
 version="1.1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<metadata>
 <time>2024-05-02T08:00:00Z</time>
 <name>family</name>
 <desc>2 devices</desc>
</metadata>
<trk>
 <name>ann's phone</name>
 <trkseg>
  <trkpt lat="48.85" lon="2.35">
   <time>2024-05-01T12:00:00Z</time>
   <ele>30.00</ele>
   <sat>9</sat>
   <extensions>
     <speed>0.500</speed>
     <accuracy>5.00</accuracy>
     <batterylevel>80.00</batterylevel>
     <useragent>PhoneTrack/0.0.19</useragent>
   </extensions>
  </trkpt>
  <trkpt lat="48.86" lon="2.36">
   <time>2024-05-01T12:05:00Z</time>
  </trkpt>
 </trkseg>
</trk>
<trk>
 <name>bob's phone</name>
 <trkseg>
  <trkpt lat="48.87" lon="2.37">
   <time>2024-05-01T12:00:00Z</time>
  </trkpt>
 </trkseg>
</trk>
</gpx>"""
DAWARICH_GPX: Final = """<?xml version="1.0" encoding="UTF-8"?>
<gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="Dawarich">
  <trk>
    <name>dawarich_export_from_2024-05-01</name>
    <trkseg>
      <trkpt lat="48.85" lon="2.35">
        <ele>15.0</ele>
        <speed>1.5</speed>
        <time>2024-05-01T12:00:00Z</time>
        <extensions>
          <course>90.0</course>
        </extensions>
      </trkpt>
      <trkpt lat="48.86" lon="2.36">
        <ele>0.0</ele>
        <time>2024-05-01T12:05:00Z</time>
      </trkpt>
    </trkseg>
  </trk>
</gpx>
"""
TCX: Final = """          <?xml version="1.0" encoding="UTF-8"?>
<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2">
<Activities><Activity Sport="Running"><Id>2024-05-01T12:00:00Z</Id>
<Lap StartTime="2024-05-01T12:00:00Z"><Track>
<Trackpoint><Time>2024-05-01T12:00:00Z</Time><Position><LatitudeDegrees>48.85</LatitudeDegrees>
<LongitudeDegrees>2.35</LongitudeDegrees></Position>
<HeartRateBpm><Value>90</Value></HeartRateBpm></Trackpoint>
<Trackpoint><Time>2024-05-01T12:00:05Z</Time></Trackpoint></Track></Lap></Activity></Activities>
</TrainingCenterDatabase>"""
KML: Final = """<?xml version="1.0" encoding="UTF-8"?>
<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"><Document>
<Placemark><name>walk</name><gx:Track>
<when>2024-05-01T12:00:00Z</when><when>2024-05-01T12:05:00Z</when>
<gx:coord>2.35 48.85 0</gx:coord><gx:coord>2.36 48.86 0</gx:coord></gx:Track></Placemark>
<Placemark><name>drawn</name><LineString><coordinates>2,48 3,48</coordinates></LineString></Placemark>
</Document></kml>"""


def zipped(name: str, members: Mapping[str, bytes]) -> Callable[[Path], Path]:
    """A writer of an archive."""

    def write(place: Path) -> Path:
        with zipfile.ZipFile(place / name, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return place / name

    return write


def packed(name: str, content: bytes) -> Callable[[Path], Path]:
    """A writer of any bytes."""

    def write(place: Path) -> Path:
        (place / name).write_bytes(content)
        return place / name

    return write


def fit_bytes() -> bytes:
    """A recording of a watch: who made it, two points, and one without a position."""

    def definition(local: int, message: int, fields: list[tuple[int, int, int]]) -> bytes:
        head = struct.pack("<BBBHB", 0x40 | local, 0, 0, message, len(fields))
        return head + b"".join(struct.pack("<BBB", *one) for one in fields)

    began = NOON_S - 631_065_600  # FIT counts from the end of 1989
    semicircles = 2**31 / 180
    body = definition(0, 0, [(0, 1, 0), (1, 2, 0x84), (2, 2, 0x84), (3, 4, 0x8C), (4, 4, 0x86)])
    body += struct.pack("<BBHHII", 0, 4, 1, 2697, 3_912_345_678, began)
    body += definition(1, 20, [(253, 4, 0x86), (0, 4, 0x85), (1, 4, 0x85)])
    for after_s, lat, lon in ((0, 48.85, 2.35), (300, 48.86, 2.36)):
        body += struct.pack("<BIii", 1, began + after_s, round(lat * semicircles), round(lon * semicircles))
    body += struct.pack("<BIii", 1, began + 600, 0x7FFFFFFF, 0x7FFFFFFF)
    header = struct.pack("<BBHI4s", 14, 0x20, 2132, len(body), b".FIT")
    whole = header + struct.pack("<H", _fit_crc(header)) + body
    return whole + struct.pack("<H", _fit_crc(whole))


def _proto(*fields: tuple[int, object]) -> bytes:
    """A protobuf message: numbers as varints, floats of 32 bits, text and messages with their length."""

    def varint(value: int) -> bytes:
        low, rest = value & 0x7F, value >> 7
        return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])

    whole = b""
    for number, value in fields:
        if isinstance(value, float):
            whole += varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            whole += varint(number << 3) + varint(value)
        else:
            content = value if isinstance(value, bytes) else str(value).encode()
            whole += varint(number << 3 | 2) + varint(len(content)) + content
    return whole


def feed(taken_s: int, *vehicles: tuple[str, int, float, float]) -> bytes:
    """A snapshot of GTFS-realtime: vehicles with their times (0 = none), and a trip update."""
    entities = [
        _proto(
            (1, f"e{place}"),
            (4, _proto(
                (1, _proto((1, "trip 7"), (3, "20240501"))), (2, _proto((1, lat), (2, lon))),
                *([(5, t_s)] if t_s else []), (8, _proto((1, name)) if name else b""),
            )),
        )
        for place, (name, t_s, lat, lon) in enumerate(vehicles)
    ]  # fmt: skip
    update = _proto((1, "u"), (3, _proto((1, _proto((1, "trip 7"))))))
    return _proto((1, _proto((1, "2.0"), (3, taken_s))), *((2, one) for one in [*entities, update]))


def snapshots(place: Path) -> Path:
    """A folder of two snapshots of a fleet; the second bus stands still."""
    (place / "fleet").mkdir()
    buses = [("bus 1", NOON_S, 48.85, 2.35), ("bus 2", NOON_S, 48.86, 2.36), ("", NOON_S, 48.87, 2.37)]
    (place / "fleet" / "1200.pb").write_bytes(feed(NOON_S + 5, *buses))
    moved = [("bus 1", 0, 48.851, 2.351), ("bus 2", NOON_S, 48.86, 2.36)]
    (place / "fleet" / "1205.pb").write_bytes(feed(NOON_S + 300, *moved))
    return place / "fleet"


def sentence(body: str) -> str:
    """A sentence with its checksum."""
    total = 0
    for character in body:
        total ^= ord(character)
    return f"!{body}*{total:02X}"


def tagged(body: str, t_s: int) -> str:
    """The same behind a tag block with the receiver's time."""
    tags = f"s:rORBCOMM,c:{t_s}"
    return f"\\{tags}*{sentence(tags)[-2:]}\\{sentence(body)}"


SHIP: Final = "AIVDM,1,1,,A,15O24NgP000:hNPKtt<00001P000,0"  # 368084090 at 48.85, 2.35
LOST_SHIP: Final = "AIVDM,1,1,,A,B5O24Nh003?8mP=18D0000000000,0"  # 368084091, not available
STATION: Final = "AIVDM,1,1,,A,403PbB1s8@P000:kJ0KuC`000000,0"
TWO_PARTS: Final = (
    "AIVDM,2,1,3,A,C5O24Nh0002dnP6wDr0000000000,0", "AIVDM,2,2,3,A,000000000000000000000000,0",
)  # fmt: skip  # 368084091 at 48.86, 2.36


def _fit_crc(content: bytes) -> int:
    """CRC-16 with the polynomial 0xA001, as the FIT protocol has it."""
    crc = 0
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


def hive(place: Path) -> Path:
    for day, who in (("2024-05-01", "ann"), ("2024-05-02", "bob")):
        folder = place / "calls" / f"day={day}" / f"user_id={who}"
        folder.mkdir(parents=True)
        pq.write_table(people().slice(0, 1).drop_columns(["id"]), folder / "part-0.parquet")
    return place / "calls"


def multimno(place: Path) -> Path:
    """Events of the bronze layer: ids as 32 bytes, a cell instead of a place."""
    folder = place / "mno" / "year=2024" / "month=5" / "day=1"
    folder.mkdir(parents=True)
    pq.write_table(
        pa.table({
            "user_id": pa.array([b"\xff\x01" * 16, b"\x00" * 31 + b"A"], pa.binary()),
            "timestamp": pa.array([NOON_S, NOON_S], pa.timestamp("s")), "mcc": pa.array([208, 208],
            pa.int16()),
            "mnc": ["01", "01"], "plmn": pa.array([None, None], pa.int32()), "cell_id": ["1014", "9999"],
            "latitude": pa.array([None, None], pa.float32()), "longitude": pa.array([None, None],
            pa.float32()),
            "loc_error": pa.array([None, None], pa.float32()),
        }),
        folder / "part-0.parquet",
    )  # fmt: skip
    (place / "towers.csv").write_text("cell_id,latitude,longitude\n1014,48.85,2.35\n")
    return place / "mno"


def geo(ending: str) -> Callable[[Path], Path]:
    """A writer of points in the French national plane, through geopandas."""

    def write(place: Path) -> Path:
        import geopandas

        points = geopandas.points_from_xy([652_000, 652_100], [6_862_000, 6_862_100])
        frame = geopandas.GeoDataFrame(
            {"id": ["ann", "bob"], "t": [NOON_S, NOON_S]}, geometry=points, crs=2154
        )
        frame.to_file(place / f"points{ending}")
        return place / f"points{ending}"

    return write


def sqlite(place: Path) -> Path:
    database = sqlite3.connect(place / "tracks.sqlite")
    database.execute("CREATE TABLE devices (id INTEGER, name TEXT)")
    database.execute("CREATE TABLE positions (uid TEXT, ts TEXT, lat REAL, lon REAL)")
    database.execute("INSERT INTO positions VALUES ('ann', '2024-05-01T12:00:00Z', 48.85, 2.35)")
    database.execute("INSERT INTO positions VALUES ('ann', '2024-05-01T12:05:00Z', NULL, 2.35)")
    database.commit()
    database.close()
    return place / "tracks.sqlite"


def duckdb_file(place: Path) -> Path:
    import duckdb

    with duckdb.connect(str(place / "calls.duckdb")) as database:
        database.execute(
            "CREATE TABLE calls AS SELECT 'ann' AS uid, TIMESTAMPTZ '2024-05-01 12:00:00Z' AS ts, 48.85 AS "
            "lat, "
            "2.35 AS lon"
        )
    return place / "calls.duckdb"


def delta(place: Path) -> Path:
    """A table that a person was deleted from."""
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(str(place / "delta"), people())
    DeltaTable(str(place / "delta")).delete("id = 'bob'")
    return place / "delta"


def excel(place: Path) -> Path:
    """A workbook as spreadsheets save it: inline text, dates as numbers with the format of a date."""
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    rels = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

    def words(ref: str, value: str) -> str:
        return f'<c r="{ref}" t="inlineStr"><is><t>{value}</t></is></c>'

    head = "".join(
        words(f"{column}1", name) for column, name in zip("ABCD", ("id", "t", "lat", "lon"), strict=True)
    )
    rows = f'<row r="1">{head}</row>' + "".join(
        f'<row r="{row}"><c r="A{row}"><v>{who}</v></c><c r="B{row}" s="1"><v>45413.5</v></c>'
        f'<c r="C{row}"><v>48.85</v></c><c r="D{row}"><v>2.35</v></c></row>'
        for row, who in ((2, 7), (3, 8))
    )
    sheet = f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
    return zipped(
        "calls.xlsx",
        {
            "[Content_Types].xml": (
                f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
                'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
                f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
                f'<Override PartName="/xl/styles.xml" ContentType="{kinds}.styles+xml"/>'
                f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/>'
                f"</Types>"
            ).encode(),
            "_rels/.rels": (
                f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
                f'Type="{rels}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
            ).encode(),
            "xl/workbook.xml": (
                f'<workbook xmlns="{main}" xmlns:r="{rels}"><sheets><sheet name="calls" sheetId="1" '
                f'r:id="r1"/>'
                "</sheets></workbook>"
            ).encode(),
            "xl/_rels/workbook.xml.rels": (
                f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
                f'Type="{rels}/worksheet" '
                f'Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{rels}/styles" '
                f'Target="styles.xml"/>'
                "</Relationships>"
            ).encode(),
            "xl/styles.xml": (
                f'<styleSheet xmlns="{main}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
                '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
                '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22" applyNumberFormat="1"/></cellXfs>'
                "</styleSheet>"
            ).encode(),
            "xl/worksheets/sheet1.xml": sheet.encode(),
        },
    )(place)


def arrow_file(name: str) -> Callable[[Path], Path]:
    def write(place: Path) -> Path:
        pyarrow.feather.write_feather(people(), place / name)
        return place / name

    return write


def arrow_stream(place: Path) -> Path:
    with (
        pa.OSFile(str(place / "calls.arrow"), "wb") as file,
        pa.ipc.new_stream(file, people().schema) as stream,
    ):
        stream.write_table(people())
    return place / "calls.arrow"


def kmz_bytes() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("doc.kml", KML)
    return held.getvalue()


def with_towers(name: str, content: str) -> Callable[[Path], Path]:
    """A writer of a file whose rows name cells, with the table of the cells beside it."""

    def write(place: Path) -> Path:
        (place / "ANT_POS.TSV").write_text("1\t-4.0\t5.3\n2\t-4.1\t5.4\n")
        (place / "towers.csv").write_text("cell_id,lat,lon\n1,5.3,-4.0\n2,5.4,-4.1\n")
        return text(name, content)(place)

    return write
