"""What a killed executor costs: a release in blocks on a cluster of Spark that loses one of two executors.

    python bench/lose_spark_executor.py [--subjects 400] [--size 50]

Needs pyspark and Java. Starts a cluster of two executors on this machine, kills one with SIGKILL while it
works on a block, and compares the release with that of an undisturbed run in this process. Prints which
blocks were begun more than once: those that the executor held, and no others.
"""

import argparse
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import shoal
from shoal.model.intake import Reading
from shoal.publishing.in_blocks import publish_in_blocks
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.tasks import Engine
from shoal.scale.engines import engine_of
from shoal.synthetic import write_synthetic


class Noted:
    """An engine whose tasks note in a file that they begin, and in which executor."""

    def __init__(self, engine: Engine, log: Path) -> None:
        self._engine, self._log = engine, log

    def map(self, fn: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
        return self._engine.map(partial(noted, fn, str(self._log)), parts)


def noted(fn: Callable[[Any], Any], log: str, part: Any) -> Any:
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()  # Spark's Python workers are children of a daemon
    executor = int(daemon.rpartition(")")[2].split()[1])
    with Path(log).open("a") as file:
        file.write(f"{part.block} {executor}\n")
    time.sleep(1)  # blocks of this size are done in a moment
    return fn(part)


def begun(log: Path) -> list[tuple[int, int]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(block), int(executor)) for block, executor in (line.split() for line in lines)]


def kill_one(log: Path, killed: list[int]) -> None:
    """Kill the executor that began the third task."""
    while len(begun(log)) < 3:
        time.sleep(0.02)
    killed.append(begun(log)[2][1])
    os.kill(killed[0], signal.SIGKILL)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=400)
    options.add_argument("--size", type=int, default=50)
    asked = options.parse_args()
    from shoal.scale.engine_spark import start

    with tempfile.TemporaryDirectory() as place:
        folder, log, killed = Path(place), Path(place) / "log", list[int]()
        write_synthetic(folder / "people.parquet", asked.subjects, 3, 1)

        def release(name: str, engine: Engine) -> bytes:
            publish_in_blocks(
                folder / "people.parquet", Reading(), shoal.Glove(k=2), folder / name, size=asked.size,
                engine=engine, run=Run(), rng=Randomness.for_research(1), tries=0,
            )  # fmt: skip
            return (folder / name / "release.parquet").read_bytes()

        expected = release("threads", engine_of("threads"))
        session = start("local-cluster[2,1,1024]")
        threading.Thread(target=kill_one, args=(log, killed), daemon=True).start()
        same = release("spark", Noted(engine_of("spark"), log)) == expected
        session.stop()
        rows = begun(log)
        times = Counter(block for block, _ in rows)
        print(f"{len(times)} blocks, {len(rows)} tasks begun, executors {sorted({e for _, e in rows})}")
        print(f"killed {killed[0]}; begun again: blocks {sorted(b for b, n in times.items() if n > 1)}")
        print(f"blocks of the killed one: {sorted(b for b, e in rows if e == killed[0])}")
        print("the release has the same bytes" if same else "THE RELEASE DIFFERS")


if __name__ == "__main__":
    main()
