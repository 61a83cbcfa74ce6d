"""A release as tables of a real PostgreSQL server: whole or absent, verified, nothing hidden."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from command_line import Shoal
from shoal.cli.publish import _FILES, _TABLES
from shoal.errors import InputError, MisuseError, OutputError
from shoal.io.formats.mobility_text import instants
from shoal.io.sources.servers import place_of
from shoal.methods import Method
from shoal.model.verdicts import Verdict
from shoal.publishing.in_database import FORMS, export_to_database
from shoal.publishing.opening import open_release
from shoal.release_folder.exports import EXPORTS

pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")


@dataclass(frozen=True)
class Made:
    """Raw data, a release of boxes and one of points, and who became which record."""

    place: Path
    raw: Path

    def links(self, kind: str) -> Path:
        return self.place / f"{kind}.links"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    place = tmp_path_factory.mktemp("tables")
    pq.write_table(pa.table(shoal.synthesize(10, 1, 1)), place / "raw.parquet")
    rng = shoal.Randomness.from_system()
    methods: dict[str, Method] = {"boxes": shoal.Glove(k=2), "points": shoal.W4m(k=2, delta_m=50_000)}
    for kind, method in methods.items():
        city = shoal.read(place / "raw.parquet", snap=kind == "boxes")
        shoal.publish(city, method, place / kind, rng=rng, tries=0, linkage_file=place / f"{kind}.links")
    return Made(place, place / "raw.parquet")


@pytest.fixture(scope="module")
def maps(postgres_server: str) -> Iterator[str]:
    """A database for all tests of this file; each writes into a schema of its own."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE maps")
    yield postgres_server.replace("/postgres?", "/maps?")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("DROP DATABASE maps WITH (FORCE)")


def change(address: str, *statements: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def asked(address: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(address) as connection:
        return connection.execute(query.encode()).fetchall()


def verdict_of(made: Made, address: str, kind: str = "boxes") -> Verdict:
    with open_release(address, as_written=True) as opened:
        plane = shoal.read_release(opened.folder).crs
        original = shoal.read(made.raw, snap=kind == "boxes", working_crs=plane)
        links = shoal.read_linkage(made.links(kind))
        return shoal.verify_folder(original, opened.folder, links).with_findings(opened.findings)


@pytest.mark.parametrize("kind", ["boxes", "points"])
@pytest.mark.parametrize("form", FORMS)
def test_a_release_is_read_back_from_the_server_and_holds(
    form: str, kind: str, made: Made, maps: str
) -> None:
    schema = f"{form}_{kind}"
    done = export_to_database(made.place / kind, f"{maps}#{schema.title()}.release", form)
    table = pq.read_table(made.place / kind / "release.parquet")
    assert (done.rows, str(done.folder)) == (len(table), f"{schema}.release")
    verdict = verdict_of(made, f"{maps}#{schema}.release", kind)
    assert (verdict.findings, verdict.holds) == ((), True)
    moving = {"boxes": "stbox", "points": "tgeompoint"}[kind]
    query = f"SELECT column_name FROM information_schema.columns WHERE table_schema = '{schema}'"
    names = {name for (name,) in asked(maps, f"{query} AND table_name = 'release'")}
    assert names == {*table.column_names, "row_number", *([moving] if form == "mobilitydb" else [])}
    with pytest.raises(OutputError, match=r"\.release exists already"):
        export_to_database(made.place / kind, f"{maps}#{schema}.release", form)


def test_a_release_without_a_plane_in_degrees_has_no_geometry(tmp_path: Path, maps: str) -> None:
    table = pa.table({"id": ["a", "a", "b", "b"], "t": [0, 60, 0, 60], "x": [0.0, 900, 0, 900],
                      "y": [0.0, 900, 0, 900]})  # fmt: skip
    original = shoal.read(table, time_unit="s", crs="local")
    shoal.publish(original, shoal.Glove(k=2), tmp_path / "release", rng=shoal.Randomness.from_system(),
                  tries=0)  # fmt: skip
    export_to_database(tmp_path / "release", f"{maps}#flat", "mobilitydb")
    (first, *_) = asked(maps, "SELECT stbox FROM flat ORDER BY row_number")
    assert str(first[0]).startswith("STBOX XT(((0.0,0.0),(100.0,100.0)),[1970-01-01 00:00:00+00, ")
    with open_release(f"{maps}#flat") as opened:
        assert opened.findings == ()


def test_where_the_server_knows_their_types_they_are_used(made: Made, postgres_url: str) -> None:
    """Stand-ins of PostGIS and MobilityDB: types and functions of their names, no more."""
    change(
        postgres_url,
        "CREATE DOMAIN geometry AS bytea",
        "CREATE DOMAIN stbox AS text",
        "CREATE FUNCTION ST_GeomFromWKB(bytea, integer) RETURNS geometry "
        "AS 'SELECT ($2::text::bytea || $1)::geometry' LANGUAGE sql",
        "CREATE FUNCTION ST_AsBinary(geometry, text) RETURNS bytea "
        "AS 'SELECT substring($1::bytea from 5)' LANGUAGE sql",
    )
    export_to_database(made.place / "boxes", f"{postgres_url}#release", "mobilitydb")
    domains = asked(postgres_url, "SELECT column_name, domain_name FROM information_schema.columns "
                    "WHERE table_name = 'release' AND domain_name IS NOT NULL ORDER BY 1")  # fmt: skip
    assert domains == [("geometry", "geometry"), ("stbox", "stbox")]
    ((kept,),) = asked(postgres_url, "SELECT substring(geometry::bytea from 1 for 4) FROM release LIMIT 1")
    assert kept == b"4326"


DAMAGES: dict[str, tuple[str, set[str]]] = {
    "a row is gone": ("DELETE FROM release WHERE row_number = 0", {"hidden-bytes"}),
    "a box moved": ("UPDATE release SET y_min = y_min - 100 WHERE row_number = 3", {"hidden-bytes"}),
    "other numbers of rows": ("UPDATE release SET row_number = row_number + 1000000", {"hidden-bytes"}),
    "other geometry": (
        "UPDATE release SET geometry = overlay(geometry placing '\\x01'::bytea from 20) WHERE row_number = 1",
        {"hidden-bytes"},
    ),
    "other text": ("UPDATE release SET stbox = stbox || ' ' WHERE row_number = 1", {"hidden-bytes"}),
    "a manifest in other letters": (
        "UPDATE release_files SET content = content || '\\x20'::bytea WHERE path = 'manifest.json'",
        {"respelled"},
    ),
    "a file more": (
        "INSERT INTO release_files VALUES ('notes.txt', 'Ann is the first')",
        {"unexpected-file"},
    ),
    "two rows of a record swapped": (
        "WITH first AS (SELECT min(a.row_number) AS n FROM release a JOIN release b USING (trajectory_id) "
        "WHERE b.row_number = a.row_number + 1) "
        "UPDATE release SET row_number = 2 * n + 1 - row_number FROM first WHERE row_number IN (n, n + 1)",
        {"row-order", "hidden-bytes"},
    ),
}


@pytest.fixture(scope="module")
def written(made: Made, maps: str) -> str:
    """A release in the schema sound, from which others are copied."""
    export_to_database(made.place / "boxes", f"{maps}#sound.release", "mobilitydb")
    return maps


def copied(address: str, name: str, damage: str) -> str:
    """The address of a copy with a damage."""
    schema = "".join(char for char in name if char.isalpha())
    change(
        address,
        f"CREATE SCHEMA {schema}",
        f"CREATE TABLE {schema}.release (LIKE sound.release)",
        f"INSERT INTO {schema}.release SELECT * FROM sound.release",
        f"CREATE TABLE {schema}.release_files (LIKE sound.release_files)",
        f"INSERT INTO {schema}.release_files SELECT * FROM sound.release_files",
        f"SET search_path = {schema}; {damage}",
    )
    return f"{address}#{schema}.release"


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_on_the_server_is_found(name: str, written: str) -> None:
    damage, kinds = DAMAGES[name]
    with open_release(f"{written}#sound.release") as opened:
        assert opened.findings == ()
    with open_release(copied(written, name, damage)) as opened:
        assert {finding.kind for finding in opened.findings} == kinds


REFUSED: dict[str, tuple[str, str]] = {
    "a column more": ("ALTER TABLE release ADD COLUMN note text", "other columns than a release"),
    "no value": ("UPDATE release SET t_end = NULL", "empty values"),
    "no manifest": ("DELETE FROM release_files", "holds no manifest.json"),
    "no files": ("DROP TABLE release_files", "release_files is not there"),
    "no numbers": ("ALTER TABLE release DROP COLUMN row_number", "have no row_number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_release_is_refused_in_words(name: str, written: str) -> None:
    damage, words = REFUSED[name]
    with pytest.raises(InputError, match=words), open_release(copied(written, name, damage)):
        pass


def test_nothing_is_left_when_the_writing_fails(
    made: Made, maps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last statement fails: a file that the table of files does not take."""

    def read_bytes(path: Path) -> bytes:
        return None if path.name == "report.html" else plain(path)  # type: ignore[return-value]  # on purpose

    plain: Callable[[Path], bytes] = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    with pytest.raises(OutputError, match="nothing was"):
        export_to_database(made.place / "boxes", f"{maps}#new.release", "postgis")
    monkeypatch.undo()
    assert asked(maps, "SELECT to_regclass('new.release'), to_regnamespace('new')") == [(None, None)]


def test_the_commands_write_and_judge_tables(
    made: Made, maps: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    address = f"{maps}#city.released"
    told = command("publish", made.place / "boxes", "--to", address, "--format", "mobilitydb", "--json")
    assert told.code == 0
    assert '"output": "city.released"' in told.out
    linked = ("--linkage", made.links("boxes"))
    assert command("verify", made.raw, address, *linked, "--json").code == 0
    assert "comments, rights" in command("measure", made.raw, address, *linked).err
    for to, form in ((address, "csv"), (made.place / "new", "postgis")):
        refused = command("publish", made.place / "boxes", "--to", to, "--format", form)
        assert (refused.code, "give --to" in refused.err) == (2, True)
    secret = command("verify", made.raw, "postgresql://ann:hunter2@127.0.0.1:1/maps#release")
    assert (secret.code, "hunter2" in secret.err, "cannot be read" in secret.err) == (2, False, True)


def test_the_help_names_every_format_and_addresses_name_a_table() -> None:
    assert (tuple(EXPORTS), FORMS) == (_FILES, _TABLES)
    assert place_of("postgresql://ann:x@host/maps?sslmode=require#Release").label == "public.release"
    wrong = ("postgresql://host/maps", "postgresql://host/maps#a.b.c", 'postgresql://host/maps#a"b', "x" * 60)
    for text in (*wrong, f"postgresql://host/maps#{'x' * 60}"):
        with pytest.raises(MisuseError, match="names no table"):
            place_of(text)


GRAMMAR = {  # each form that the manual of MobilityDB gives; MEOS 1.3 read them all, with as many instants
    "POINT(1 2)@2024-05-01": 1,
    "SRID=4326;POINT(1 2)@2024-05-01 12:00:00+00": 1,
    "{POINT(1 2)@2024-05-01 12:00:00.25+02, POINT(-1.5 2e1)@2024-05-01 12:01:00+02}": 2,
    "[POINT(1 2)@2024-05-01 12:00:00+00, POINT(1 3)@2024-05-01 12:01:00+00)": 2,
    "Interp=Step;(POINT(1 2)@2024-05-01 12:00:00+00, POINT(1 3)@2024-05-01 12:01:00+00]": 2,
    "{[POINT(1 2)@2024-05-01, POINT(1 3)@2024-05-02), [POINT(2 2)@2024-05-03]}": 3,
    "SRID=4326;Interp=Step;{[POINT Z (1 2 3)@2024-05-01 12:00+05:30], [POINT Z (1 2 9)@2024-05-02]}": 2,
    "SRID=4326,Interp=Step;[POINT(1 2)@2024-05-01 06:30:00+00]": 1,  # as it writes such a one
}


def test_moving_points_are_read_by_the_grammar_and_others_are_counted() -> None:
    found = {text: instants(text) for text in GRAMMAR}
    assert {text: len(each or ()) for text, each in found.items()} == GRAMMAR
    third = found["{POINT(1 2)@2024-05-01 12:00:00.25+02, POINT(-1.5 2e1)@2024-05-01 12:01:00+02}"]
    assert third == [(1.0, 2.0, 1714557600.25), (-1.5, 20.0, 1714557660.0)]
    wrong = ["", "POINT(1 2)", "[POINT(1 2)@2024-05-01", "{}", "POINT(1 2)@2024-13-01", "0101@2024-05-01",
             "SRID=3857;POINT(1 2)@2024-05-01", "POINT(1 2)@2024-05-01 and more", None]  # fmt: skip
    assert [instants(text) for text in wrong] == [None] * len(wrong)
    moving = "SRID=4326;[POINT(2.35 48.85)@2024-05-01 12:00:00+02, POINT(2 48)@2024-05-01 12:05+02)"
    assert instants(moving) == [(2.35, 48.85, 1714557600.0), (2.0, 48.0, 1714557900.0)]
    texts = [*list(GRAMMAR)[1:4], "POINT EMPTY", None]
    got = shoal.read(pa.table({"person": ["ann", "ann", "bob", "bob", "cho"], "tgeompoint": texts}))
    assert got.ids == ("ann", "bob")
    assert got.intake.rows_read == 7
    assert dict(got.intake.dropped) == {"moving point that cannot be read": 2}


def test_what_is_written_is_read_by_the_same_grammar(made: Made, maps: str) -> None:
    export_to_database(made.place / "points", f"{maps}#again.release", "mobilitydb")
    rows = pq.read_table(made.place / "points" / "release.parquet")
    query = "SELECT trajectory_id AS id, tgeompoint FROM again.release ORDER BY row_number"
    read_back = shoal.read(f"{maps} {query}", snap=False)
    assert len(rows) == read_back.n_samples > 10
    lon_lat = np.frombuffer(rows["geometry"][0].as_py()[5:], dtype="<f8").tolist()
    ((first,),) = asked(maps, "SELECT tgeompoint FROM again.release WHERE row_number = 0")
    assert instants(str(first)) == [(*lon_lat, rows["t"][0].as_py())]
