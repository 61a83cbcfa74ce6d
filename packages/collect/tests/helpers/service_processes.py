"""The service as real processes on loopback: a collector, an authority, devices.

Each can be killed and started again.
"""

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deployed import NGINX, command_of, proxy, write_certificate
from ports import free_port
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.server.http_authority import ClaimBook
from shoal_collect.server.registrar import RegisterBook, code_digest, write_code
from shoal_collect.storage.database import AUTHORITY, Database

PROFILE = """k = {k}

[blur]
radius = "500m"
gap = "30min"
"""
LIMITS = ("--round-size", "4", "--quiet")
OF_THREE = ("--round-size", "3")  # the smallest group there is: each device is a process
TERMS = """n_real = 3
n_fake = 1
longest = 2
n_pieces = 1
phase_limit_s = 600
group_size = {}
proven_shuffle = {}
"""


def invitation(number: int) -> str:
    return write_code(bytes((number,)) * 16)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "shoal", "collect", *arguments]


def write_data(file: Path, number: int, minutes: int) -> None:
    """Three points on the common way, an hour apart, so that blurring keeps their order.

    Others are seconds away.
    """
    rows = [
        f"me,{minutes * 60 + number + 3600 * i},{39.9 + 0.01 * i:.4f},{116.3 + 0.01 * i:.4f}"
        for i in range(3)
    ]
    file.write_text("\n".join(["uid,t,lat,lon", *rows]) + "\n")


@dataclass
class Site:
    """folder: for everybody's files. Ports are the same after a new start."""

    folder: Path
    database: str
    ks: tuple[int, ...]
    minutes: int
    collector: str = ""
    authority: str = ""
    more: tuple[str, ...] = ()  # options of the server
    proven: bool = False  # where proofs of shuffles are not what is tried, they take time
    admit: bool = False  # whether the authority is a registrar, too, and people need invitations
    deployed: bool = False  # the commands of the compose file: two collectors, the authority behind TLS
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    others: list[int] = field(default_factory=list)  # ports of further collectors
    registrar_key: str = ""
    proxy: str = ""  # the address of a proxy before the collectors
    in_front: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Site":
        (self.folder / "places.csv").write_text("lat,lon,weight\n39.9,116.3,2\n39.95,116.4,1\n")
        (self.folder / "terms.toml").write_text(
            TERMS.format(3 if self.more[:2] == OF_THREE else 4, str(self.proven).lower())
        )
        self.ports = free_port(), free_port()
        if self.admit:
            seed = bytes(range(32))
            (self.folder / "authority.key").write_text(seed.hex() + "\n")
            url = f"sqlite:///{self.folder / 'authority.sqlite'}"
            with Database(url, AUTHORITY) as database:
                book = RegisterBook(database)
                book.invite(code_digest(invitation(number)) for number in range(len(self.ks)))
                key = ClaimBook(database, seed, frozenset()).facts["signing_key"]
            self.registrar_key = key
            if not self.deployed:
                self.more = (*self.more, "--registrar", f"http://127.0.0.1:{self.ports[1]}", key)
        if self.deployed:
            self._deploy()
            return self
        self.server = self.start_server()
        key = self.collector.rsplit(" ", 1)[1]
        options = (
            "--database",
            f"sqlite:///{self.folder / 'authority.sqlite'}",
            "--key",
            str(self.folder / "authority.key"),
        )
        _, self.authority = self._serve(
            "authority",
            *options,
            "--collector-key",
            key,
            "--port",
            str(self.ports[1]),
            "--quiet",
            *(["--admit"] if self.admit else []),
        )
        return self

    def _deploy(self) -> None:
        """Both collectors and the authority as the compose file starts them, with shorter rounds."""
        write_certificate(self.folder)
        seed = bytes(range(1, 33))
        (self.folder / "collector.key").write_text(seed.hex() + "\n")
        environment = {
            "AUTHORITY_HOST": "localhost",
            "REGISTRAR_KEY": self.registrar_key,
            "COLLECTOR_KEY": verify_key(seed).hex(),
        }
        here = {
            "postgresql://shoal@database/shoal": self.database,
            "/etc/shoal/tls/": f"{self.folder}/",
            "/etc/shoal/": f"{self.folder}/",
            "sqlite:////data/": f"sqlite:///{self.folder}/",
            "/data/": f"{self.folder}/",
            "https://localhost:8441": f"https://localhost:{self.ports[1]}",
            "--metrics=0.0.0.0:9440": "--metrics=127.0.0.1:0",
            "--metrics=0.0.0.0:9441": "--metrics=127.0.0.1:0",
            "0.0.0.0": "127.0.0.1",
            "--port=8441": f"--port={self.ports[1]}",
        }
        self.others = [free_port()]
        for service, port in (("collector-1", self.ports[0]), ("collector-2", self.others[0])):
            shoal, *arguments = command_of(service, environment, {**here, "--port=8440": f"--port={port}"})
            assert shoal == "collect"
            self.server, self.collector = self._serve(*arguments, *LIMITS, *self.more)
        _, self.authority = self._serve(*command_of("authority", environment, here)[1:], "--quiet")
        if NGINX is not None:  # where it is not installed, devices ask both collectors themselves
            port, ports = free_port(), (self.ports[0], *self.others)
            there = {f"collector-{i}:8440": f"127.0.0.1:{one}" for i, one in enumerate(ports, 1)}
            self.in_front = proxy(self.folder, port, there)
            self.proxy = f"https://localhost:{port}"

    def __exit__(self, *_: object) -> None:
        if self.in_front is not None:  # its workers end with it when it is asked, not when it is killed
            self.in_front.terminate()
            self.in_front.wait()
        for process in self.started:
            process.kill()
        for process in self.started:
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def start_server(self) -> subprocess.Popen[str]:
        places, key = str(self.folder / "places.csv"), str(self.folder / "collector.key")
        options = (
            "--database",
            self.database,
            "--key",
            key,
            "--places",
            places,
            "--terms",
            str(self.folder / "terms.toml"),
            "--port",
            str(self.ports[0]),
        )
        self.server, self.collector = self._serve("server", *options, *LIMITS, *self.more)
        return self.server

    def _serve(self, *arguments: str) -> tuple[subprocess.Popen[str], str]:
        process = self.start(*arguments)
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        assert said, process.stderr.read() if process.stderr else ""
        return process, said

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.started.append(process)
        return process

    def join(self, number: int) -> subprocess.Popen[str]:
        """A device; the same again goes on where it was."""
        data, profile = self.folder / f"{number}.csv", self.folder / f"{number}.toml"
        if not data.exists():
            write_data(data, number, self.minutes)
            profile.write_text(PROFILE.format(k=self.ks[number]))
        # of two collectors over one database, one device asks the first, and the next the second
        port = (self.ports[0], *self.others)[number % (1 + len(self.others))]
        authority = (
            f"https://localhost:{self.ports[1]}" if self.deployed else f"http://127.0.0.1:{self.ports[1]}"
        )
        urls = (
            "--server",
            self.proxy or f"http://127.0.0.1:{port}",
            "--authority",
            authority,
            *(["--ca", str(self.folder / "cert.pem")] if self.deployed else []),
        )
        files = (
            "--data",
            str(data),
            "--profile",
            str(profile),
            "--state",
            str(self.state(number)),
            "--user",
            f"user {number}",
        )
        return self.start(
            "join",
            *urls,
            *files,
            "--time-unit",
            "s",
            "--max-gap",
            "2h",
            "--yes",
            "--poll",
            "0.1s",
            "--patience",
            "8min",
            *(["--invitation", invitation(number)] if self.admit else []),
        )

    def state(self, number: int) -> Path:
        return self.folder / f"state {number}"

    def noted(self, number: int) -> dict[str, Any]:
        """What became of a device's first round."""
        found: dict[str, Any] = json.loads((self.state(number) / "round-1.json").read_text())
        return found

    def kill(self, process: subprocess.Popen[str]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()


def finish(processes: list[subprocess.Popen[str]], limit_s: float = 500) -> list[str]:
    """What each says at its end; all must end well."""
    until = time.monotonic() + limit_s
    said = []
    for process in processes:
        out, err = process.communicate(timeout=max(1.0, until - time.monotonic()))
        assert process.returncode == 0, out + err
        said.append(out)
    return said
