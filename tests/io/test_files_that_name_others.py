"""No input opens another file, or an address, that its content names; no view computes without end."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.errors import InputError
from shoal.io import read
from shoal.io.formats import database_files, gis_files
from shoal.io.formats.table import FORMATS
from shoal.model.intake import Reading
from shoal.runtime.gdal import DRIVERS, one_driver

SOURCE = Path(__file__).parents[2]
SECRET = "uid,t,lat,lon\nsomebody,1714522680,48.8,2.3\n"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"


@pytest.fixture
def asked() -> Iterator[tuple[int, list[str]]]:
    """The port of a web server on this machine, and what it was asked for."""
    paths: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(SECRET)))
            self.end_headers()
            self.wfile.write(SECRET.encode())

        do_HEAD = do_GET  # noqa: N815  # the name is the library's

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, paths
        server.shutdown()


def vrt(source: str) -> str:
    return (
        f'<OGRVRTDataSource><OGRVRTLayer name="secret"><SrcDataSource>{source}</SrcDataSource>'
        "<SrcLayer>secret</SrcLayer></OGRVRTLayer></OGRVRTDataSource>"
    )


@pytest.mark.parametrize("ending", DRIVERS)
@pytest.mark.parametrize("place", ["file", "address"])
def test_a_virtual_layer_under_another_ending_opens_nothing(
    place: str, ending: str, tmp_path: Path, asked: tuple[int, list[str]]
) -> None:
    pytest.importorskip("pyogrio")
    port, paths = asked
    (tmp_path / "secret.csv").write_text(SECRET)
    at = tmp_path / "secret.csv" if place == "file" else f"/vsicurl/http://127.0.0.1:{port}/secret.csv"
    (tmp_path / f"calls{ending}").write_text(vrt(str(at)))
    with pytest.raises(InputError):
        read(
            pa.table({"uid": ["a"], "t": [1714522680], "cell_id": ["A"]}),
            cells=str(tmp_path / f"calls{ending}"),
        )
    with pytest.raises(InputError, match="begins with other bytes"):
        gis_files.open_table(tmp_path / f"calls{ending}", Reading())
    if ending in FORMATS and ending != ".geojson":  # which is read without GDAL
        with pytest.raises(InputError, match="begins with other bytes"):
            read(tmp_path / f"calls{ending}")
    assert paths == []


OTHERS = {
    "a virtual layer": lambda port: vrt(f"/vsicurl/http://127.0.0.1:{port}/secret.csv"),
    "GeoJSON of features elsewhere": lambda port: (
        f'{{"type":"FeatureCollection","features":[],"url":"http://127.0.0.1:{port}/"}}'
    ),
    "a file of WFS": lambda port: f"<OGRWFSDataSource><URL>http://127.0.0.1:{port}/</URL></OGRWFSDataSource>",
    "delimited text": lambda port: SECRET,
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("ending", DRIVERS)
def test_no_other_driver_opens_a_file_even_past_its_first_bytes(
    ending: str, name: str, tmp_path: Path, asked: tuple[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second lock alone: with the first bytes let through, GDAL knows one driver and no network."""
    pyogrio = pytest.importorskip("pyogrio")
    before = pyogrio.list_drivers()
    if (ending, name) == (".geojson", "GeoJSON of features elsewhere"):
        pytest.skip("is of its ending")
    port, paths = asked
    content = OTHERS[name](port)
    path = tmp_path / f"calls{ending}"
    path.write_text(content)
    monkeypatch.setitem(DRIVERS, ending, (DRIVERS[ending][0], content[:4].encode()))
    with one_driver(path) as (library, place):
        assert set(library.list_drivers()) == {DRIVERS[ending][0]}
        with pytest.raises(RuntimeError):
            library.list_layers(place)
    with one_driver(path) as (library, _), pytest.raises(RuntimeError):
        library.list_layers(f"/vsicurl/http://127.0.0.1:{port}/secret{ending}")
    assert paths == []
    assert pyogrio.list_drivers() == before  # of others in this process


def test_one_file_calls_gdal_and_all_its_readers_are_known() -> None:
    """Every call goes through ``one_driver``; a new user of GDAL is a new line here."""
    users: dict[str, set[str]] = {"pyogrio": set(), "one_driver": set()}
    for root in ("src", "packages"):
        for path in (SOURCE / root).rglob("*.py"):
            if "tests" in path.parts:
                continue
            text = path.read_text(encoding="utf-8")
            for word, pattern in (
                ("pyogrio", r"import (?:pyogrio|fiona|osgeo)|from (?:pyogrio|fiona|osgeo)"),
                ("one_driver", r"with one_driver\("),
            ):
                users[word] |= {path.name} if re.search(pattern, text) else set()
    assert users == {"pyogrio": {"gdal.py"}, "one_driver": {"gis_files.py", "zones.py"}}
    by_gdal = {ending for ending, reader in FORMATS.items() if reader.__module__.endswith("gis_files")}
    assert by_gdal | {".geojson"} == set(DRIVERS)  # GeoJSON: of tables of cells
    text = (SOURCE / "src/shoal/io/formats/gis_files.py").read_text(encoding="utf-8")
    calls = re.findall(r"pyogrio\.(\w+)\(\s*(\w+)", text)
    assert calls == [("list_layers", "place"), ("read_info", "place"), ("open_arrow", "place")]
    text = (SOURCE / "packages/tables/src/shoal_tables/making/zones.py").read_text(encoding="utf-8")
    assert re.findall(r"pyogrio\.([\w.]+)\(\s*(\w+)", text) == [("raw.read", "place")]
    text = (SOURCE / "packages/tables/src/shoal_tables/verification/zones.py").read_text(encoding="utf-8")
    assert {place for _, place in re.findall(r"pyogrio\.([\w.]+)\(\s*(\w+)", text)} == {"place"}


@pytest.mark.parametrize("source", ["file", "address"])
def test_a_view_of_duckdb_reads_nothing_elsewhere(source: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "secret.csv").write_text(SECRET)
    with duckdb.connect(str(tmp_path / "calls.duckdb")) as database:
        database.execute(f"CREATE VIEW calls AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
        database.execute("CREATE TABLE t AS SELECT 'ann' AS uid, 1714522680 AS t, 48.8 AS lat, 2.3 AS lon")
    assert read(tmp_path / "calls.duckdb").n_subjects == 1
    with pytest.raises(InputError, match="no table 'calls'"):
        read(tmp_path / "calls.duckdb", table="calls")
    with duckdb.connect(str(tmp_path / "calls.duckdb"), config=database_files._ALONE) as database:
        name = tmp_path / "secret.csv" if source == "file" else "http://127.0.0.1:1/secret.csv"
        with pytest.raises(duckdb.Error, match="disabled"):
            database.sql(f"SELECT * FROM read_csv('{name}')")


@pytest.mark.parametrize(
    "view",
    [
        f"{ENDLESS} i AS uid, i AS t, 48.8 AS lat, 2.3 AS lon FROM n",
        f"{ENDLESS} max(i) AS uid, 1 AS t, 48.8 AS lat, 2.3 AS lon FROM n",
        f"{ENDLESS} a.i AS uid, 1 AS t, 48.8 AS lat, 2.3 AS lon FROM n a JOIN n b ON a.i = -b.i",
    ],
)
def test_a_view_of_sqlite_without_end_is_refused(
    view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_files, "_FREE_STEPS", 1 << 23)
    with sqlite3.connect(tmp_path / "calls.sqlite") as database:
        database.execute(f"CREATE VIEW calls AS {view}")
    database.close()
    with pytest.raises(InputError, match="computes more than its file can hold"):
        read(tmp_path / "calls.sqlite", time_unit="s")


def test_a_large_table_of_sqlite_is_far_from_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_files, "_FREE_STEPS", 1 << 20)
    with sqlite3.connect(tmp_path / "calls.sqlite") as database:
        database.execute("CREATE TABLE calls (uid INT, t INT, lat REAL, lon REAL)")
        rows = ((n % 7, 1714522680 + n, 48.8, 2.3) for n in range(200_000))
        database.executemany("INSERT INTO calls VALUES (?, ?, ?, ?)", rows)
    database.close()
    assert read(tmp_path / "calls.sqlite").n_subjects == 7


def test_a_layer_of_geopackage_that_is_a_view_is_refused(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    points = geopandas.points_from_xy([2.3, 2.4], [48.8, 48.9])
    frame = geopandas.GeoDataFrame({"uid": ["a", "b"], "t": [1714522680] * 2}, geometry=points, crs=4326)
    frame.to_file(tmp_path / "calls.gpkg", layer="calls")
    assert read(tmp_path / "calls.gpkg").n_subjects == 2
    with sqlite3.connect(tmp_path / "calls.gpkg") as database:
        database.execute(f"CREATE VIEW others AS {ENDLESS} i AS uid, i AS t, 48.8 AS lat, 2.3 AS lon FROM n")
        database.execute(
            "INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) "
            "VALUES ('others', 'attributes', 'others', 4326)"
        )
    database.close()
    with pytest.raises(InputError, match="is a view"):
        read(tmp_path / "calls.gpkg", table="others")


@pytest.mark.parametrize(
    "path", ["../elsewhere/calls.parquet", "{}/elsewhere/calls.parquet", "file://{}/elsewhere/calls.parquet"]
)
def test_a_delta_table_reads_no_file_outside_its_folder(path: str, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"uid": ["ann"], "t": [1714522680], "lat": [48.8], "lon": [2.3]})
    deltalake.write_deltalake(str(tmp_path / "calls"), rows)
    (tmp_path / "elsewhere").mkdir()
    part = next((tmp_path / "calls").glob("*.parquet"))
    (tmp_path / "elsewhere" / "calls.parquet").write_bytes(part.read_bytes())
    log = tmp_path / "calls" / "_delta_log" / f"{0:020}.json"
    assert part.name in log.read_text()
    log.write_text(log.read_text().replace(part.name, path.format(tmp_path)))
    with pytest.raises(InputError, match="outside"):
        read(tmp_path / "calls")
