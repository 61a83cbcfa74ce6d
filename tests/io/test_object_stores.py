"""Files in an object store that speaks S3: a real server on this machine, where moto is installed."""

import importlib.util
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import shoal
from command_line import Shoal
from foreign_writers import GPX, NOON_S, people
from ports import free_port
from shoal.cli.options import NEW_RELEASE, RELEASE
from shoal.errors import InputError, OutputError
from shoal.io import read, read_tables
from shoal.io.disk.storing import store_people
from shoal.io.sources.named_files import states
from shoal.io.sources.object_stores import SCHEMES, files, is_address, open_object
from shoal.io.sources.object_stores import store as to_store
from shoal.io.sources.openers import openers
from shoal.model.intake import Reading
from shoal.publishing.exporting import export_to_store
from shoal.publishing.opening import open_release
from shoal.runtime.run import Run
from shoal.scale.engines import engine_of

needs_moto = pytest.mark.skipif(
    importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None,
    reason="moto[server] is not installed",
)
KEYS = "testing:testing"


class _Busy:
    """A store that refuses each request once, if it is told to, as a busy one does."""

    def __init__(self, app: Any) -> None:
        self.app, self.refuses = app, False
        self.refused: set[tuple[str, ...]] = set()

    def __call__(self, environ: Any, start: Any) -> Any:
        names = ("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "HTTP_RANGE")
        request = tuple(environ.get(name, "") for name in names)
        if self.refuses and request not in self.refused:
            self.refused.add(request)
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start("503 Slow Down", [("Content-Type", "application/xml")])
            return [b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"]
        return self.app(environ, start)


@pytest.fixture(scope="module")
def busy() -> _Busy:
    from moto.server import DomainDispatcherApplication, create_backend_app

    return _Busy(DomainDispatcherApplication(create_backend_app))


@pytest.fixture(scope="module")
def store(busy: _Busy) -> Iterator[str]:
    """The end of addresses of an empty bucket called data, on a server of its own."""
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, busy, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    where = f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&allow_bucket_creation=true"
    system, _ = pafs.FileSystem.from_uri(f"s3://{KEYS}@data?{where}")
    system.create_dir("data")
    yield where
    server.shutdown()
    thread.join()


def put(store: str, path: str, content: bytes) -> None:
    system, _ = pafs.FileSystem.from_uri(f"s3://{KEYS}@data?{store}")
    with system.open_output_stream(f"data/{path}") as file:
        file.write(content)


@needs_moto
def test_hive_partitions_and_other_files_are_read_as_from_a_disk(store: str, tmp_path: Path) -> None:
    for day, who in (("2024-05-01", "ann"), ("2024-05-02", "bob")):
        path = tmp_path / "part-0.parquet"
        pq.write_table(people().slice(0, 1).drop_columns(["id"]), path)
        put(store, f"calls/day={day}/user_id={who}/part-0.parquet", path.read_bytes())
    put(store, "calls/_SUCCESS", b"")
    got = read(f"s3://{KEYS}@data/calls?{store}")
    assert got.ids == ("ann", "bob")
    assert got.n_samples == 2
    put(store, "own/ride.gpx", GPX.encode())
    ride = read(f"s3://{KEYS}@data/own/ride.gpx?{store}")
    assert ride.ids == ("ride",)
    assert int(ride.t.min()) == NOON_S // 60


@needs_moto
def test_other_processes_read_objects_of_a_store(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers open what they read by themselves: this process reads the first object alone."""
    calls, own = shoal.synthesize(30, 2, 4), read_tables.read_piece
    read_here: list[read_tables.Piece] = []

    def counted(name: str, piece: read_tables.Piece, *given: Any) -> Any:
        read_here.append(piece)
        return own(name, piece, *given)

    (tmp_path / "calls").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(calls.num_rows), 3)):
        pq.write_table(calls.take(rows), tmp_path / "calls" / f"{part}.parquet")
        put(store, f"spread/{part}.parquet", (tmp_path / "calls" / f"{part}.parquet").read_bytes())
    in_memory = read(tmp_path / "calls")
    monkeypatch.setattr(read_tables, "_APART_BYTES", 2000)
    monkeypatch.setattr(read_tables, "read_piece", counted)
    address = f"s3://{KEYS}@data/spread?{store}"
    people = store_people(address, Reading(), tmp_path / "people", Run(), engine=engine_of("local:2"))
    loaded = people.load(np.arange(people.n_subjects))
    assert (loaded.ids, loaded.n_samples) == (in_memory.ids, in_memory.n_samples)
    assert np.array_equal(loaded.t, in_memory.t)
    assert len(read_here) == 1


@needs_moto
def test_a_store_that_is_busy_for_a_moment_is_asked_again(
    store: str, busy: _Busy, released: Path, tmp_path: Path
) -> None:
    raw = (released / "raw.parquet").read_bytes()
    put(store, "busy/calls.parquet", raw)
    calls = f"s3://{KEYS}@data/busy/calls.parquet?{store}"
    target = f"s3://{KEYS}@data/busy-release?{store}"
    busy.refuses = True
    try:
        read_there = read(calls)
        export_to_store(released / "release", target, "parquet-by-day")
    finally:
        busy.refuses = False
    assert {"GET", "PUT"} <= {method for method, *_ in busy.refused}
    here = read(released / "raw.parquet")
    assert np.array_equal(read_there.t, here.t)
    assert np.array_equal(read_there.x, here.x)
    texts = [(released / "release" / "manifest.json").read_text()]
    with open_release(target) as opened:
        texts.append((opened.folder / "manifest.json").read_text())
    # days hold records by pseudonym, so that the table is another one
    before, after = (json.loads(text) | {"release_sha256": None} for text in texts)
    assert before == after


@needs_moto
def test_what_is_not_there_or_no_plain_folder_is_refused_without_the_address(store: str) -> None:
    put(store, "lake/_delta_log/0.json", b"{}")
    for path, message in (("none", "nothing lies at that address"), ("lake", "deleted rows")):
        with pytest.raises(InputError, match=message) as caught:
            read(f"s3://{KEYS}@data/{path}?{store}")
        assert "testing" not in str(caught.value)


@needs_moto
def test_a_folder_is_stored_with_its_list_last_and_never_over_another(store: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("a.txt", "list.json", "data/z.txt"):
        (tmp_path / name).write_text(name)
    to_store(tmp_path, f"s3://{KEYS}@data/out?{store}", last="list.json")
    system, _ = pafs.FileSystem.from_uri(f"s3://{KEYS}@data?{store}")
    listed = system.get_file_info(pafs.FileSelector("data/out", recursive=True))
    found = {each.path: each.mtime for each in listed if each.type == pafs.FileType.File}
    assert sorted(found) == ["data/out/a.txt", "data/out/data/z.txt", "data/out/list.json"]
    assert max(found.values()) == found["data/out/list.json"]
    with pytest.raises(OutputError, match="already"):
        to_store(tmp_path, f"s3://{KEYS}@data/out?{store}", last="list.json")


def test_a_file_system_of_any_kind_gives_the_same_as_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same way without a server: pyarrow's file system of the disk stands in for the store's."""
    folder = tmp_path / "calls" / "day=2024-05-01"
    folder.mkdir(parents=True)
    pq.write_table(people(), folder / "part.parquet")
    (folder / "more.csv").write_text("id,t,lat,lon\ncho,1714564800,48.85,2.35\n")

    def local(address: str) -> tuple[Any, str]:
        (tmp_path / "new").mkdir(exist_ok=True)  # a store makes folders by itself
        return pafs.LocalFileSystem(), str(tmp_path / address.removeprefix("s3://"))

    stand_in = SimpleNamespace(
        FileSystem=SimpleNamespace(from_uri=local), FileSelector=pafs.FileSelector, FileType=pafs.FileType
    )
    monkeypatch.setattr("shoal.io.sources.object_stores.pafs", stand_in)
    name, opened = openers("s3://calls", Reading())
    assert name == "2 files"
    tables = [each() for each in opened]
    assert [table.name for table in tables] == ["more.csv", "part.parquet"]
    assert ["day" in table.columns for table in tables] == [True, True]
    assert read("s3://calls").ids == ("ann", "bob", "cho")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "list.json").write_text("{}")
    to_store(tmp_path / "full", "s3://new", last="list.json")
    assert (tmp_path / "new" / "list.json").read_text() == "{}"
    with pytest.raises(OutputError, match="already"):
        to_store(tmp_path / "full", "s3://new", last="list.json")
    with pytest.raises(InputError, match="cannot be copied"):
        open_object(pafs.LocalFileSystem(), str(tmp_path / "none.csv"), lambda _: tables[0])
    assert is_address("s3://bucket")
    assert not is_address("postgresql://host")


def test_a_store_that_cannot_be_reached_is_an_error_in_words() -> None:
    with pytest.raises(InputError, match=r"cannot be read \(it does not answer\); check") as caught:
        files(
            "s3://key:secret@bucket/x?endpoint_override=127.0.0.1:9&scheme=http&region=none", lambda _: True
        )
    assert "secret" not in str(caught.value)


def test_a_store_that_stays_silent_is_asked_three_times_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shoal.io.sources.object_stores._SILENCE_S", 1)
    taken: list[socket.socket] = []

    def take(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                taken.append(server.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=take, args=[server], daemon=True).start()
        where = f"endpoint_override=127.0.0.1:{server.getsockname()[1]}&scheme=http&region=none"
        with pytest.raises(InputError, match=r"cannot be read \(it does not answer\); check") as caught:
            files(f"s3://key:c2VjcmV0@bucket/x?{where}", lambda _: True)
        server.shutdown(socket.SHUT_RDWR)
    assert len(taken) == 3
    assert "c2VjcmV0" not in str(caught.value)
    for each in taken:
        each.close()


class _Refusing(BaseHTTPRequestHandler):
    """A store that hands out and takes nothing; lists: whether it names what it holds, a file x/a.csv."""

    lists = False
    denied, nothing = b"<Error><Code>AccessDenied</Code></Error>", b"<ListBucketResult></ListBucketResult>"
    listed = (
        b"<ListBucketResult><Name>data</Name><Prefix>x/</Prefix><KeyCount>1</KeyCount><MaxKeys>1000</MaxKeys>"
        b"<IsTruncated>false</IsTruncated><Contents><Key>x/a.csv</Key><Size>9</Size>"
        b"<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents></ListBucketResult>"
    )

    def _say(self, code: int, answer: bytes) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(code)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    def do_GET(self) -> None:  # the name that http.server calls
        listing = self.lists and "list-type=2" in self.path
        found = self.listed if "prefix=x" in self.path else self.nothing
        self._say(200 if listing else 403, found if listing else self.denied)

    def do_HEAD(self) -> None:  # the name that http.server calls
        self._say(404 if self.lists else 403, b"")

    def do_PUT(self) -> None:  # the name that http.server calls
        self._say(403, self.denied)

    do_POST = do_DELETE = do_PUT  # noqa: N815  # names that http.server calls

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("lists", "why"), [(False, "it refuses this with these credentials"), (True, "a.csv cannot be")]
)
def test_a_bucket_without_rights_is_an_error_in_words(
    lists: bool, why: str, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = type("Kind", (_Refusing,), {"lists": lists})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        where = f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=none"
        command, bucket = Shoal(capsys), "s3://key:c2VjcmV0@data"
        read = command("inspect", f"{bucket}/x?{where}")
        sent = command("publish", released / "release", "--to", f"{bucket}/y?{where}", "--format", "geojsonl")
        server.shutdown()
    assert (read.code, sent.code) == (2, 2)
    assert why in read.err
    assert "cannot be written (it refuses this with these credentials); check" in sent.err
    assert "c2VjcmV0" not in read.err + sent.err


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw data, a release and its linkage, in a folder."""
    place = tmp_path_factory.mktemp("released")
    pq.write_table(pa.table(shoal.synthesize(10, 1, 1)), place / "raw.parquet")
    shoal.publish(
        shoal.read(place / "raw.parquet"), shoal.Glove(k=2), place / "release", tries=0,
        rng=shoal.Randomness.from_system(), linkage_file=place / "links.parquet",
    )  # fmt: skip
    return place


@needs_moto
def test_a_release_in_a_bucket_is_judged_where_it_lies(
    store: str, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    plain, handed = f"s3://{KEYS}@data/plain?{store}", f"s3://{KEYS}@data/handed?{store}"
    to_store(released / "release", plain, last="manifest.json")
    assert command("publish", released / "release", "--to", handed, "--format", "csv").code == 0
    raw, linked = released / "raw.parquet", ("--linkage", released / "links.parquet")
    jobs = [
        (0, "verify", raw, plain, *linked, "--json"),
        (0, "verify", raw, handed, *linked, "--json"),
        (3, "verify", raw, handed, "--json"),
        (0, "measure", raw, handed, *linked, "--json"),
        (0, "attack", raw, plain, *linked, "--knowledge", "points:2", "--tries", 10, "--json"),
        (0, "inspect", plain, "--json"),
        (0, "inspect", handed, "--json"),
    ]
    told = [command(*words) for _, *words in jobs]
    assert [each.code for each in told] == [code for code, *_ in jobs]
    assert not [each for each in told if "testing" in each.out + each.err]
    manifest = json.loads((released / "release" / "manifest.json").read_text())
    assert json.loads(told[-1].out)["records"] == manifest["n_records"]
    digest = json.loads(told[4].out)["release_sha256"]
    assert digest == manifest["release_sha256"]


@needs_moto
@pytest.mark.parametrize("blocks", [(), ("--blocks", "5", "--engine", "threads")], ids=["at-once", "blocks"])
def test_a_release_is_made_here_and_moved_into_a_bucket(
    blocks: tuple[str, ...],
    store: str,
    released: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, raw, name = Shoal(capsys), released / "raw.parquet", f"made-{len(blocks)}"
    address, where = f"s3://{KEYS}@data/nightly/{name}?{store}", tmp_path / "here"
    where.mkdir()
    monkeypatch.chdir(where)
    asked = (
        "anonymize",
        raw,
        "--k",
        "2",
        "--research-seed",
        "1",
        "--linkage",
        tmp_path / "l.parquet",
        *blocks,
    )
    planned = command(*asked[:4], "--plan", "--output", address, *blocks)
    made = command(*asked, "--output", address, "--json", "--timings")
    assert (planned.code, made.code) == (0, 0)
    told = json.loads(made.out)
    assert (told["output"], told["report"]) == (
        f"s3://data/nightly/{name}",
        f"s3://data/nightly/{name}/report.html",
    )
    assert "store" in [stage["stage"] for stage in told["timings"]]
    assert list(where.iterdir()) == []  # neither the release nor its parts

    (tmp_path / "l.parquet").rename(tmp_path / "links.parquet")
    assert command(*asked, "--output", where / "alike").code == 0
    system, _ = pafs.FileSystem.from_uri(f"s3://{KEYS}@data?{store}")
    for file in ("release.parquet", "manifest.json", "report.html"):
        with system.open_input_stream(f"data/nightly/{name}/{file}") as there:
            assert there.read() == (where / "alike" / file).read_bytes(), file
    judged = command("verify", raw, address, "--linkage", tmp_path / "links.parquet", "--json")
    assert (judged.code, json.loads(judged.out)["outcome"]) == (0, "HOLDS")

    again = command(*asked, "--output", address)
    assert (again.code, "files at that address already; choose another --output" in again.err) == (2, True)
    assert [each.name for each in where.iterdir()] == ["alike"]
    assert "testing" not in planned.err + made.out + made.err + again.err


def test_a_release_that_a_bucket_does_not_take_stays_here_whole(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    kind = type("Kind", (_Refusing,), {"lists": True})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        where = f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=none"
        command, bucket = Shoal(capsys), "s3://key:c2VjcmV0@data"
        raw, links = released / "raw.parquet", tmp_path / "links.parquet"
        asked = ("anonymize", raw, "--k", "2", "--risk-tries", "0", "--linkage", links, "--output")
        sent = command(*asked, f"{bucket}/out?{where}")
        taken = command(*asked, f"{bucket}/x?{where}")
        server.shutdown()
    assert (sent.code, taken.code) == (2, 2)
    assert "cannot be written (it refuses this with these credentials)" in sent.err
    assert (
        "the release is whole in out; copy that folder, or: shoal publish out --to s3://data/out" in sent.err
    )
    assert "files at that address already" in taken.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links.parquet", "out"]
    assert command("verify", raw, tmp_path / "out", "--linkage", links).code == 0
    assert "c2VjcmV0" not in sent.err + taken.err


@needs_moto
def test_a_release_that_is_damaged_or_not_complete_in_a_bucket_is_found(store: str, released: Path) -> None:
    system, _ = pafs.FileSystem.from_uri(f"s3://{KEYS}@data?{store}")
    export_to_store(released / "release", f"s3://{KEYS}@data/cut?{store}", "csv")
    put(store, "cut/notes.txt", b"the first one is Ann")
    with open_release(f"s3://{KEYS}@data/cut?{store}") as opened:
        assert {finding.kind for finding in opened.findings} == {"unexpected-file"}
    system.delete_file("data/cut/datapackage.json")
    with (
        pytest.raises(InputError, match="no complete release at that address"),
        open_release(f"s3://{KEYS}@data/cut?{store}"),
    ):
        pass
    put(store, "wrong/manifest.json", b"{}")
    put(store, "wrong/release.parquet", b"none")
    with (
        pytest.raises(InputError, match=r"^manifest\.json cannot be read"),
        open_release(f"s3://{KEYS}@data/wrong?{store}") as opened,
    ):
        shoal.read_release(opened.folder)


def test_a_release_in_a_folder_is_no_raw_data(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = Shoal(capsys)("inspect", released / "release")
    assert told.code == 0
    assert told.out.startswith("a release of boxes by glove: ")
    assert "nothing of this was checked" in told.out


def test_addresses_of_releases_are_those_that_are_read(tmp_path: Path) -> None:
    for scheme in (*SCHEMES, "postgresql://", "postgres://"):
        assert RELEASE.convert(f"{scheme}place/x", None, None) == f"{scheme}place/x"
    assert [NEW_RELEASE.convert(f"{scheme}place/x", None, None) for scheme in SCHEMES] == [
        f"{scheme}place/x" for scheme in SCHEMES
    ]
    assert RELEASE.convert(str(tmp_path), None, None) == tmp_path
    assert NEW_RELEASE.convert(str(tmp_path), None, None) == tmp_path
    with pytest.raises(click.BadParameter, match="on this machine"):
        RELEASE.convert("https://host/x", None, None)


@pytest.mark.parametrize("scheme", ["gs", "abfs"])
def test_other_stores_say_where_credentials_are_looked_for(scheme: str) -> None:
    where = {
        "gs": "gs://anonymous@data/x?endpoint_override=127.0.0.1:9&scheme=http&retry_limit_seconds=1",
        "abfs": "abfs://account:c2VjcmV0@127.0.0.1:9/data/x?enable_tls=false",
    }
    with pytest.raises(InputError, match=f"credentials .for {scheme}:") as caught:
        files(where[scheme], lambda _: True)
    assert "c2VjcmV0" not in str(caught.value)


@pytest.mark.skipif(
    importlib.util.find_spec("gcp_storage_emulator") is None, reason="gcp-storage-emulator is not installed"
)
def test_a_bucket_that_speaks_as_googles_does_is_written_read_and_verified(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from gcp_storage_emulator.server import create_server

    port = free_port()
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket="data")
    server.start()
    try:
        where = f"endpoint_override=127.0.0.1:{port}&scheme=http&retry_limit_seconds=5"
        command, address = Shoal(capsys), f"gs://anonymous@data/out?{where}"
        assert command("publish", released / "release", "--to", address, "--format", "geojsonl").code == 0
        found = command(
            "verify", released / "raw.parquet", address, "--linkage", released / "links.parquet", "--json"
        )
        assert (found.code, json.loads(found.out)["outcome"]) == (0, "HOLDS")
    finally:
        server.stop()


@needs_moto
def test_size_and_time_of_objects_tell_whether_they_are_the_same(store: str) -> None:
    address = f"s3://{KEYS}@data/states?{store}"
    put(store, "states/b.csv", b"id,t,lat,lon\n")
    put(store, "states/a.csv", b"id,t\n")
    found = states(address)
    assert [(Path(file.name).name, file.size) for file in found] == [("a.csv", 5), ("b.csv", 13)]
    assert states(address) == found
    put(store, "states/a.csv", b"id,t,x\n")
    assert [before == now for before, now in zip(found, states(address), strict=True)] == [False, True]


def test_rows_of_a_server_have_no_state() -> None:
    with pytest.raises(InputError, match="rows of a server are not read in blocks") as caught:
        states("postgresql://ann:secret@127.0.0.1/x?query=select")
    assert "secret" not in str(caught.value)


CALLS = b"uid,t,lat,lon\nann,1714557600,48.85,2.35\n"


@needs_moto
@pytest.mark.parametrize("name", ["with blank", "ünï ☃", "plus+x", "k=v", "hash#x"])
def test_names_are_written_as_they_are(store: str, name: str) -> None:
    put(store, f"as-written/{name}/calls {name}.csv", CALLS)
    for path in (name, f"{name}/", f"{name}/calls {name}.csv"):
        assert read(f"s3://{KEYS}@data/as-written/{path}?{store}").n_subjects == 1
    put(store, "as-written/100%/calls.csv", CALLS)
    assert read(f"s3://{KEYS}@data/as-written/100%25?{store}").n_subjects == 1


@needs_moto
def test_what_is_not_there_is_told_apart_from_what_cannot_be_read(store: str) -> None:
    where = store.removesuffix("&allow_bucket_creation=true")
    with pytest.raises(InputError, match="nothing lies at that address in the object store"):
        read(f"s3://{KEYS}@data/no-such-folder?{where}")
    with pytest.raises(InputError, match=r"cannot be read \(there is no such bucket\); check the address"):
        read(f"s3://{KEYS}@no-such-bucket/in?{where}")
    with pytest.raises(OutputError, match=r"cannot be written \(there is no such bucket\)"):
        to_store(Path(__file__).parent, f"s3://{KEYS}@no-such-bucket/in?{where}", last="x")


@needs_moto
def test_a_damaged_object_among_others_of_its_name_is_told_by_its_number(store: str, tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "part-0.parquet")
    content = (tmp_path / "part-0.parquet").read_bytes()
    for day in (1, 2, 3):
        own = content if day != 2 else content[:-20]
        put(store, f"damaged/day={day}/part-0.parquet", own)
        (tmp_path / "damaged" / f"day={day}").mkdir(parents=True)
        (tmp_path / "damaged" / f"day={day}" / "part-0.parquet").write_bytes(own)
    for source in (f"s3://{KEYS}@data/damaged?{store}", tmp_path / "damaged"):
        with pytest.raises(
            InputError, match=r"part-0\.parquet \(file 2 of 3, by path\) is not a whole Parquet"
        ):
            read(source)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("AWS Error ACCESS_DENIED during GetObject operation: ", "it refuses this with these credentials"),
        ("AWS Error SERVICE_UNAVAILABLE during GetObject operation: ", "it is too busy"),
        ("google::cloud::Status(PERMISSION_DENIED: no)", "it refuses this with these credentials"),
        ("AWS Error INTERNAL_FAILURE during GetObject operation: secret", "it answers 'internal failure'"),
    ],
)
def test_an_object_that_is_refused_is_not_called_damaged(said: str, why: str, tmp_path: Path) -> None:
    """Neither when it is opened nor before its rows; the store's own words are not repeated."""
    pq.write_table(people(), tmp_path / "calls.parquet")
    served: list[str] = []

    def open_input_file(path: str) -> Any:
        served.append(path)
        if len(served) == 2:
            raise OSError(said)
        return pa.OSFile(str(tmp_path / "calls.parquet"))

    store = SimpleNamespace(open_input_file=open_input_file)
    table = open_object(store, "data/calls.parquet", lambda path: pytest.fail(str(path)))
    del served[1:]
    with pytest.raises(
        InputError, match=f"calls.parquet cannot be read from the object store: {why}"
    ) as caught:
        list(table.batches(["id"]))
    assert "secret" not in str(caught.value)
    del served[1:]
    with pytest.raises(InputError, match=f"calls.parquet cannot be read from the object store: {why}"):
        open_object(store, "data/calls.parquet", lambda path: pytest.fail(str(path)))
