"""What operators are given: files that start what they say, figures, backups and what they undo."""

import http.client
import re
import shutil
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
from fastapi import FastAPI
from prometheus_client import generate_latest

from command_line import Outcome, Shoal
from deployed import (
    FOLDER,
    NGINX,
    command_of,
    compose,
    metrics_of_dashboard,
    proxy,
    set_in,
    write_certificate,
)
from ports import free_port
from service_town import PLACES, TERMS, TODAY, running, seed, volunteers
from shoal.errors import InputError
from shoal_collect.cli.collect import _show_metrics, secret_of
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.server.rounds import Tokens
from shoal_collect.server.watch import Watch
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import StoredReleases
from shoal_collect.storage.phi import PhiStore

KEY = seed("server")
SET = {
    "DATABASE_PASSWORD": "p",
    "AUTHORITY_HOST": "authority.example.org",
    "COLLECTOR_KEY": bytes(32).hex(),
    "REGISTRAR_KEY": bytes(32).hex(),
}


def application(database: Database) -> FastAPI:
    return collector_application(
        database, KEY, TERMS, CollectorSettings(PLACES, round_size=3, join_s=60), seed, quiet=True
    )


def test_the_compose_file_names_what_exists() -> None:
    """Files, services, networks, volumes and variables; its command lines are started in another test."""
    found = compose()
    services = found["services"]
    example = re.findall(r"^(\w+)=", (FOLDER / "example.env").read_text(), re.MULTILINE)
    named = set(re.findall(r"\$\{(\w+)", (FOLDER / "compose.yaml").read_text()))
    assert named == set(example)
    seen = 0
    for name, service in services.items():
        assert set(service["networks"]) <= set(found["networks"])
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            made = source in ("./tls", "./places.csv")  # by whoever runs it
            assert made or source in found["volumes"] or (FOLDER / source).exists()
            seen += 1
        if "healthcheck" in service and "command" in service:
            port = next(one for one in service["command"] if one.startswith("--port="))[7:]
            assert f"127.0.0.1:{port}/health" in service["healthcheck"]["test"][-1]
        assert "ports" not in service or name in ("proxy", "authority", "prometheus")
    assert seen >= 8
    targets = set(re.findall(r'"([\w-]+:\d+)"', (FOLDER / "prometheus.yml").read_text()))
    shown = {
        f"{name}:{one.rpartition(':')[2]}"
        for name, service in services.items()
        for one in service.get("command", ())
        if str(one).startswith("--metrics=")
    }
    assert targets == shown


def test_keys_are_made_before_any_is_known() -> None:
    """Compose fills in the whole file first: a required variable would stop the page's first lines."""
    assert set(re.findall(r"\$\{\w+(:[^}]*)?\}", (FOLDER / "compose.yaml").read_text())) == {":-"}


@pytest.mark.parametrize(
    ("service", "without", "complaint"),
    [
        ("collector-1", "REGISTRAR_KEY", "the key of --registrar is not 64 hexadecimal digits"),
        ("collector-1", "AUTHORITY_HOST", "'https://:8441' is not an address of a server"),
        ("authority", "COLLECTOR_KEY", "give each collector's key with --collector-key"),
    ],
)
def test_what_lacks_a_value_says_which(
    service: str, without: str, complaint: str, shoal: Shoal, tmp_path: Path
) -> None:
    here = {
        "/data": str(tmp_path),
        "/etc/shoal/terms.toml": str(FOLDER / "terms.toml"),
        "postgresql://shoal@database/shoal": f"sqlite:///{tmp_path / 'c.sqlite'}",
    }
    said = shoal(*command_of(service, {**SET, without: ""}, here))
    assert said.code == 2
    assert complaint in " ".join(said.err.split())


def test_the_service_unit_starts_a_command_that_exists(shoal: Shoal) -> None:
    text = (FOLDER / "shoal-collector@.service").read_text().replace("\\\n", " ")
    line = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert line is not None
    program, *arguments = line[1].replace("%i", "8440").split()
    assert program.endswith("/shoal")
    given = set_in(arguments, {**SET, "DATABASE": "other://", "REGISTRAR": "https://authority.example.org"})
    said = shoal(*(one.replace("/etc/", "/nowhere/").replace("/var/lib/", "/nowhere/") for one in given))
    assert said.code == 2
    assert "cannot read /nowhere/shoal/terms.toml" in said.err, "all options were understood"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_the_service_unit(tmp_path: Path) -> None:
    unit = tmp_path / "shoal-collector@8440.service"
    text = (FOLDER / "shoal-collector@.service").read_text()
    unit.write_text(text.replace("/opt/shoal/bin/shoal", "/bin/true").replace("User=shoal", "User=daemon"))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert [line for line in found.stderr.splitlines() if unit.name in line] == []
    assert found.returncode == 0, found.stderr


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_the_proxy_speaks_tls_and_goes_on_with_one_collector(tmp_path: Path) -> None:
    write_certificate(tmp_path)
    port, trusted = free_port(), ssl.create_default_context(cafile=tmp_path / "cert.pem")

    def get(target: str, body: bytes | None = None) -> tuple[int, str | None]:
        connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=trusted)
        connection.request("GET" if body is None else "POST", target, body)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status, response.headers.get("Shoal-Signature")

    with ExitStack() as stack:
        database = stack.enter_context(Database(tmp_path / "collect.sqlite"))
        first, second = ExitStack(), stack
        urls = [one.enter_context(running(application(database))) for one in (first, second)]
        there = {f"collector-{i}:8440": url.removeprefix("http://") for i, url in enumerate(urls, 1)}
        process = proxy(tmp_path, port, there)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        for _ in range(100):
            try:
                assert get("/health")[0] == 200
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        status, signed = get("/v1/about")
        assert (status, signed is None) == (200, False), "the collector's own words come through"
        assert get("/metrics")[0] == 404
        assert get("/v1/letters", bytes(18 << 20))[0] in (413, 401)
        first.close()
        assert [get("/v1/about")[0] for _ in range(4)] == [200] * 4, "with one of two collectors"
    assert "127.0.0.1" not in (tmp_path / "error.log").read_text(), "no address is written down"


def test_figures_are_at_an_address_of_their_own(tmp_path: Path) -> None:
    with Database(tmp_path / "collect.sqlite") as database:
        app = application(database)
        port = free_port()
        _show_metrics(app, f"127.0.0.1:{port}")
        with running(app) as url:
            urllib.request.urlopen(f"{url}/v1/rounds").read()
            text, end = "", time.monotonic() + 10  # a request is counted once its reply is out
            counts = ("\nshoal_requests_total{", "\nshoal_request_seconds_bucket{")  # not their descriptions
            while not all(count in text for count in counts) and time.monotonic() < end:
                text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{url}/metrics")
            with pytest.raises(InputError, match="choose another"):
                _show_metrics(app, "192.0.2.1:9")
    names = {re.sub(r"[{ ].*", "", line) for line in text.splitlines() if not line.startswith("#")}
    phases = {f"shoal_rounds_{phase}" for phase in ("committing", "revealing", "grouped", "failed")}
    # once there is one
    counted = {"shoal_phi_queries_total", "shoal_withheld_answers_total", "shoal_faults_total"}
    assert metrics_of_dashboard() - phases - counted <= names
    assert phases | counted <= metrics_of_dashboard()


def test_figures_count_a_database_that_is_away_as_a_fault() -> None:
    def gone() -> dict[str, float]:
        raise sqlite3.OperationalError("away")

    watch = Watch(gone, quiet=True)
    generate_latest(watch.registry)
    assert b"shoal_faults_total 2.0" in generate_latest(watch.registry), "one as it was made, and one a look"


def test_what_an_older_copy_of_the_database_undoes(tmp_path: Path) -> None:
    """As docs/collect-operate.md tells: a copy of a running collector, and what comes back with it."""
    live, copy = tmp_path / "collect.sqlite", tmp_path / "backup.sqlite"
    with Database(live) as database:
        volunteers(PhiStore(database), 3, TODAY - 2)
        tokens = Tokens(database)
        taken, held = seed("token"), StoredReleases(database)
        row = database.rows("SELECT identifier, claim_key FROM record WHERE who <> 0 ORDER BY id LIMIT 1")[0]
        database.rows(f"VACUUM INTO '{copy}'")  # as the page has it, while the server runs

        held.withdraw(row[0], row[1], TODAY)
        tokens.spend(taken, 1, 7)
        with pytest.raises(PeerError):
            tokens.spend(taken, 2, 7)
        n_now = PhiStore(database).n_records
        with pytest.raises(PeerError):
            held.owned(row[0], row[1])
    with Database(copy) as database:
        assert PhiStore(database).n_records == n_now
        assert StoredReleases(database).owned(row[0], row[1]).identifier == row[0], "it is stored again"
        Tokens(database).spend(taken, 2, 7)  # and a token is good once more
        assert database.rows("PRAGMA quick_check(1)") == [("ok",)]


def test_a_key_is_printed_and_stays(shoal: Shoal, tmp_path: Path) -> None:
    file = tmp_path / "collector.key"
    said = [shoal("collect", "key", "--role", "collector", "--key", str(file)) for _ in range(2)]
    assert said[0] == said[1] == Outcome(0, verify_key(bytes.fromhex(file.read_text())).hex() + "\n", "")
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "words",
    [
        ("authority", "--database", "{}/misspelled.db", "--key", "{}/own.key", "--identifiers-of", "ann"),
        ("export", "--database", "{}/misspelled.db", "--output", "{}/out"),
        ("mine", "--state", "{}/misspelled"),
        ("server", "--database", "{}/new.db", "--key", "{}/own.key", "--places", "{}/misspelled.csv"),
        ("plan", "--data", "{}/misspelled.csv"),
    ],
)
def test_what_a_command_only_reads_is_not_made_by_a_misspelled_name(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = Shoal(capsys)("collect", *(word.format(tmp_path) for word in words))
    assert ended.code == 2
    assert "misspelled" in ended.err
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="only Linux says so of another process")
@pytest.mark.parametrize("role", ["registrar", "authority"])
def test_a_crash_of_a_server_leaves_no_image_of_its_memory(role: str, tmp_path: Path) -> None:
    """It would hold keys; who started it may have allowed such images for everything."""
    words = ["--database", f"sqlite:///{tmp_path / 'a.sqlite'}", "--key", str(tmp_path / "key")]
    line = [*words, "--collector-key", "ab" * 32, "--port", "0", "--quiet"]
    with subprocess.Popen(
        [sys.executable, "-m", "shoal", "collect", role, *line],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith(f"{role} at http")
            limits = Path(f"/proc/{server.pid}/limits").read_text()
        finally:
            server.kill()
    assert re.search(r"Max core file size +0 +0 ", limits)


def test_a_key_file_that_others_can_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = secret_of(tmp_path / "a.key")
    assert capsys.readouterr().err == ""
    (tmp_path / "a.key").chmod(0o644)
    assert secret_of(tmp_path / "a.key") == made
    assert f"chmod 600 {tmp_path / 'a.key'}" in capsys.readouterr().err
