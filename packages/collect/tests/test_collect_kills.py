"""A writer that is killed loses no release that it has acknowledged, and leaves none half-written."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from shoal_collect.storage.phi import PhiStore

WRITER = """
import sys
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import PhiStore
from shoal_collect.matching.records import Release

first = int(sys.argv[2])
with PhiStore(Database(sys.argv[1])) as store:
    print("ready", flush=True)
    for number in range(first, first + 100_000):
        points = tuple(Cylinder(10 * i, 5, 0, number % 1000 * 1000, 1) for i in range(4))
        store.add(Release(number.to_bytes(16), number.to_bytes(16), bytes(32), points), 0)
        print(number, flush=True)
"""


SOAK = Path(__file__).parents[3] / "bench" / "soak_server.py"


def test_the_collector_is_killed_during_writes_and_loses_nothing_acknowledged(database_url: str) -> None:
    """A short version of ``./dev soak``, which kills one of its processes a thousand times."""
    ended = subprocess.run(
        [sys.executable, str(SOAK), "--kills", "6", "--database", database_url],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def kill_once(database: str, first: int, after_s: float) -> list[int]:
    """Start a writer, kill it some time after its first acknowledgement; the numbers that it acknowledged."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, database, str(first)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        first_acknowledged = writer.stdout.readline()
        time.sleep(after_s)
        writer.send_signal(signal.SIGKILL)
        return [int(line) for line in (first_acknowledged + writer.stdout.read()).splitlines()]


def test_no_acknowledged_release_is_lost(tmp_path: Path) -> None:
    file, chance = tmp_path / "collect.sqlite", random.Random(1)
    acknowledged: list[int] = []
    for attempt in range(5):
        acknowledged += kill_once(str(file), 1_000_000 * attempt, chance.uniform(0.01, 0.2))
    assert acknowledged
    with PhiStore(file) as store:
        assert all(store.identifier(number.to_bytes(16)) for number in acknowledged)
        assert len(acknowledged) <= store.n_records <= len(acknowledged) + 5
        whole = store.database.row("SELECT COUNT(*) FROM place")
        assert whole == (4 * store.n_records,)
        assert store.database.row("SELECT rtreecheck('place')") == ("ok",)
