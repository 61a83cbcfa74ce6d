"""Every source, in the layout of the program that writes it: who is in it, when, and what is lost why."""

import io
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from foreign_files import FILES, Foreign, installed
from foreign_writers import GPX, NOON_S, people
from shoal.errors import InputError, MissingExtraError
from shoal.io import read, read_with
from shoal.io.columns.presets import PRESETS
from shoal.io.formats.table import FORMATS, open_file
from shoal.io.sources.named_files import files
from shoal.io.sources.object_stores import open_object
from shoal.io.sources.servers import explain_errors
from shoal.model.intake import Reading
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

FORMATS_PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def written(name: str, place: Path) -> tuple[Foreign, Any, dict[str, Any]]:
    """The row, its source, and its options with the paths that they name."""
    row = FILES[name]
    if not installed(row.needs):
        pytest.skip(f"{row.needs} is not installed")
    source = row.write(place)
    options = dict(row.options)
    if "cells" in options:
        options["cells"] = str(place / options["cells"])
    return row, source, options


def seconds(data: Trajectories) -> int:
    """The first moment of the data."""
    assert data.grid is not None
    return int(data.t.min() * data.grid.slot_s)


@pytest.mark.parametrize("name", FILES)
def test_a_source_is_read_as_its_program_writes_it(name: str, tmp_path: Path) -> None:
    row, source, options = written(name, tmp_path)
    got = read(source, lose_people=True, **options)
    assert got.ids == row.ids
    assert got.n_samples == row.samples
    assert seconds(got) == row.first_s // 60 * 60
    assert dict(got.intake.dropped) == dict(row.dropped)
    assert got.intake.rows_read == got.n_samples + sum(got.intake.dropped.values())
    assert got.intake.reading.preset == row.preset
    if "cells" in options:
        assert got.intake.reading.cells == "towers.csv"  # without its folder: a manifest holds no paths
    again = read_with(source, _with_cells(got, options), Run())
    assert not got.intake.reading.other_settings(again.intake.reading)
    for column in ("offsets", "t", "x", "y"):
        assert (getattr(again, column) == getattr(got, column)).all()
    assert again.intake.dropped == got.intake.dropped
    assert again.intake.repaired == got.intake.repaired


def _with_cells(got: Trajectories, options: dict[str, Any]) -> Any:
    """The settings of the first reading; the table of cells is named anew, as verify asks for it."""
    from dataclasses import replace

    reading = got.intake.reading
    return replace(reading, cells=options["cells"]) if "cells" in options else reading


def test_every_preset_and_every_format_has_its_file(tmp_path: Path) -> None:
    presets = {row.preset for row in FILES.values()}
    # silver is bronze with a column more; the rest of the layout is the same
    assert set(PRESETS) - presets == {"multimno-silver"}
    same_code = (
        ".csv.gz .tsv .tsv.gz .txt.gz .geoparquet .pq .gpx.gz .kml.gz .tcx.gz .fit.gz .json.gz .geojson.gz"
    )
    same_code += " .nmea.gz .ais.gz .pb.gz .jsonl.gz .ndjson .geojsonl .xls .ods .sqlite3 .db"
    same_code += " .tab .ipc .arrows"
    seen = {".parquet"}
    for name, row in FILES.items():
        if row.needs:
            continue
        (tmp_path / name.replace(",", "")).mkdir()
        source = row.write(tmp_path / name.replace(",", ""))
        if isinstance(source, Path) and source.is_file():
            seen |= {ending for ending in FORMATS if source.name.lower().endswith(ending)}
    assert len(seen) > 10
    assert set(FORMATS) - seen - set(same_code.split()) == {
        ".fit",
        ".ais",
        ".pb",
        ".xlsx",
        ".gpkg",
        ".fgb",
        ".shp",
        ".duckdb",
    }


def test_the_page_of_formats_has_a_row_for_every_file() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \|.*\| `\[(.+)\]` \|$", FORMATS_PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [test for _, test in rows] == list(FILES)
    assert len(rows) >= 25


@pytest.mark.parametrize("name", [name for name, row in FILES.items() if row.needs])
def test_without_its_library_a_format_names_the_extra(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, source, options = written(name, tmp_path)
    monkeypatch.setitem(sys.modules, "pyogrio" if row.needs == "geopandas" else row.needs, None)
    with pytest.raises(
        MissingExtraError, match=r"pip install 'shoal\[(geo|fit|excel|duckdb|delta|vehicles)\]'"
    ):
        read(source, **options)


@pytest.mark.parametrize(
    "name", ["CSV", "GPX", "KML", "TCX", "JSON Lines", "Arrow and Feather", "SQLite", "GeoLife", "KMZ"]
)
def test_standard_input_is_told_by_its_first_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, source, _ = written(name, tmp_path)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(source.read_bytes())))
    got = read("-", lose_people=True)
    assert (got.n_samples, seconds(got)) == (row.samples, row.first_s)


def test_what_can_be_read_only_once_is_no_job_of_files() -> None:
    with pytest.raises(InputError, match="standard input can be read only once"):
        list(files("-"))


def test_an_unpacked_archive_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gc

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    for name in ("Strava", "KMZ", "Zip archive"):
        assert read(FILES[name].write(tmp_path)).n_samples
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_copy_that_cannot_be_read_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an archive, of what comes on standard input, of an object in a store: it is raw data."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "calls.arrow").write_text("ann was here")
    with zipfile.ZipFile(tmp_path / "calls.zip", "w") as archive:
        archive.write(tmp_path / "calls.arrow", "calls.arrow")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\x1f\x8bann was here")))
    system = pafs.LocalFileSystem()
    reads: list[Callable[[], object]] = [
        lambda: read(tmp_path / "calls.zip"),
        lambda: read("-"),
        lambda: open_object(system, str(tmp_path / "calls.arrow"), lambda path: open_file(path, Reading())),
    ]
    for each in reads:
        with pytest.raises(InputError):
            each()
        assert list((tmp_path / "temporary").iterdir()) == []


def test_ids_as_bytes_are_one_text_in_every_batch() -> None:
    """Bytes that happen to be text stay text; others become digits, whoever stands beside them."""
    hashed, plain = b"\xff\xfe" * 16, b"ann"
    rest = {"t": [NOON_S, NOON_S + 60], "lat": [48.85] * 2, "lon": [2.35] * 2}
    batches = [
        pa.record_batch({"id": pa.array(ids, pa.binary()), **rest})
        for ids in ([hashed, plain], [plain, plain], [hashed, hashed])
    ]
    got = read(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert got.ids == ("0x" + "fffe" * 16, "ann")
    views = pa.table({"id": pa.array([hashed, plain], pa.binary()).cast(pa.binary_view()), **rest})
    assert read(views).ids == got.ids
    fixed = pa.table({"id": pa.array([hashed, b"\x00" * 32], pa.binary(32)), **rest})
    assert read(fixed).ids == ("0x" + "00" * 32, "0x" + "fffe" * 16)


@pytest.mark.parametrize(
    ("address", "said", "told_instead"),
    [
        ("postgresql://host:5432/db SELECT 1", "no server at port 5432", "no server at port 5432"),
        ("postgresql://ann@host:5432/db", "no server at port 5432", "no server at port 5432"),
        ("postgresql://ann:se:cret@host:5432/db", "ann:se:cret at port 5432", "ann:*** at port 5432"),
        ("postgresql://host/db?password=se/cr@et&x=1 SELECT 1", "no se/cr@et", "no ***"),
    ],
)
def test_a_message_of_a_server_loses_the_password_and_nothing_else(
    address: str, said: str, told_instead: str
) -> None:
    with pytest.raises(InputError) as refused, explain_errors(address):
        raise pa.ArrowInvalid(said)
    assert str(refused.value) == f"the database cannot be read: {told_instead}"


def test_a_query_on_a_real_server_and_no_password_in_a_message(postgres_url: str) -> None:
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE calls (uid text, ts timestamptz, lat float8, lon float8)")
        connection.execute(
            "INSERT INTO calls VALUES ('ann', '2024-05-01 12:00Z', 48.85, 2.35), ('bob', NULL, 48.85, 2.35)"
        )
        connection.execute("CREATE SEQUENCE numbers")
    got = read(f"{postgres_url} SELECT uid, ts, lat, lon FROM calls", lose_people=True)
    assert (got.ids, seconds(got)) == (("ann",), NOON_S)
    assert dict(got.intake.dropped) == {"empty or unreadable time": 1}
    with pytest.raises(InputError, match=r"the database cannot be read: .*read-only transaction"):
        read(f"{postgres_url} SELECT nextval('numbers') AS t, uid, lat, lon FROM calls")
    with pytest.raises(InputError, match="followed by no query"):
        read(postgres_url)
    with pytest.raises(InputError) as refused:
        read("postgresql://ann:hunter2@127.0.0.1:1/calls SELECT 1")
    assert "hunter2" not in str(refused.value)


def test_an_iceberg_table_gives_the_rows_of_its_newest_version(tmp_path: Path) -> None:
    catalogs = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg with SQL is not installed")
    catalog = catalogs.SqlCatalog(
        "own", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
    )
    catalog.create_namespace("n")
    table = catalog.create_table("n.calls", schema=people().schema)
    table.append(people())
    table.delete("id = 'bob'")
    folder = next((tmp_path / "warehouse").rglob("metadata")).parent
    assert read(folder).ids == ("ann",)


def test_two_files_of_one_name_are_not_one_person(tmp_path: Path) -> None:
    for folder in ("ann", "bob"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ride.gpx").write_text(GPX)
    with pytest.raises(InputError, match=r"two inputs called ride\.gpx .* person folder .* person path"):
        read(tmp_path)
    assert read(tmp_path, person="folder").ids == ("ann", "bob")
    assert read(tmp_path, person="path").ids == ("ann/ride.gpx", "bob/ride.gpx")
    (tmp_path / "more" / "ann").mkdir(parents=True)
    (tmp_path / "more" / "ann" / "walk.gpx").write_text(GPX)
    with pytest.raises(InputError, match="two inputs called ann lie in different folders"):
        read(tmp_path, person="folder")


def test_a_layout_is_not_taken_for_another_of_the_same_shape(tmp_path: Path) -> None:
    """Latitude before longitude without a header, and metric columns with the names of numbered cells."""
    (tmp_path / "rome.txt").write_text("1,2024-05-01 12:00:00,41.9,12.5\n")
    with pytest.raises(InputError, match="name the columns with columns"):
        read(tmp_path / "rome.txt")
    (tmp_path / "meters.csv").write_text("uid,d,t,x,y\nann,3.5,1714564800,652000,6862000\n")
    with pytest.raises(InputError, match="read as yjmob100k: if that is wrong, name its columns"):
        read(tmp_path / "meters.csv")
    assert read(tmp_path / "meters.csv", id="uid").n_samples == 1


def test_a_cell_at_two_places_is_refused(tmp_path: Path) -> None:
    (tmp_path / "towers.csv").write_text("cell_id,lat,lon\nA,48.85,2.35\nA,48.95,2.35\n")
    calls = pa.table({"id": ["ann"], "t": [NOON_S], "cell": ["A"]})
    with pytest.raises(InputError, match=r"1 cell of towers\.csv stands at two places"):
        read(calls, cells=str(tmp_path / "towers.csv"))
    with pytest.raises(InputError, match="records that name a cell need a table of cells: cells FILE"):
        read(calls)
    with pytest.raises(InputError, match=r"no table of cells masts\.csv; give its path with cells"):
        read(calls, cells=str(tmp_path / "masts.csv"))
    assert read(people()).n_subjects == 2
