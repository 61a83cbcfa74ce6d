"""Break runs of ``shoal anonymize`` in every way a machine can: nothing may be half, nothing may be lost.

    python bench/break_runs.py --kills 200 --full-disks 20 --clock-jumps 10 --damaged 10 --read-only 5 \\
        --pairs 10

After each break the release folder and its linkage must both be there or both not be there, a folder that is
there must hold its claim, no message may be a traceback, and the same command, run again, must end well.
Each run is a process forked from one that has only imported shoal.
Full disks and read-only folders are file systems in memory of their own, which only root can mount. The clock
that jumps is Python's ``time.time``, in the run alone. Exit 1 if anything was half, lost, or ended otherwise.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from shoal.cli.main import main as main_of_shoal

RUNS = {
    "glove in blocks": ("--method", "glove", "--k", "2", "--blocks", "40"),
    "glove": ("--method", "glove", "--k", "3"),
    "kte-hide": ("--method", "kte-hide", "--k", "2"),
    "swap-locations": ("--method", "swap-locations", "--k", "2", "--time-threshold", "2h"),
}


class Child:
    """A process of its own that does some work; its messages are what it writes to standard error."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the child)
        self.code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            for stream in (1, 2):
                os.dup2(self._messages.fileno(), stream)
            code = 70
            try:
                code = int(bool(work()))
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(bool(end.code))
            except BaseException:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(code)

    def is_running(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is None

    def kill(self) -> None:
        if self.is_running():
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        while self.is_running():
            time.sleep(0.01)
        return int(self.code or 0)

    def messages(self) -> str:
        self.wait()
        self._messages.seek(0)
        return self._messages.read().decode(errors="replace")


def jump_about() -> None:
    """From now on, the clock of this process jumps by an hour or a day, now and then."""
    real, offset = time.time, [0.0]

    def jumping() -> float:
        if random.random() < 0.05:
            offset[0] += random.choice([-86400.0, -3600.0, 3600.0, 86400.0])
        return real() + offset[0]

    time.time = jumping


class Place:
    """One broken run: a folder for the release, another for its secrets."""

    def __init__(self, raw: Path, folder: Path, r: random.Random) -> None:
        self.name = r.choice(list(RUNS))
        self.raw, self.folder, self.secrets = raw, folder, folder / "secrets"
        self.output, self.linkage = folder / "release", self.secrets / "linkage.parquet"
        self.secrets.mkdir(exist_ok=True)
        self.told = ""

    def start(self, *, linkage: Path | None = None, first: Callable[[], None] = lambda: None) -> Child:
        words = ["anonymize", self.raw, *RUNS[self.name], "--output", self.output, "--resume"]
        words += ["--risk-tries", "0", "--linkage", linkage or self.linkage]

        def work() -> None:
            first()
            main_of_shoal([str(word) for word in words])

        return Child(work)

    def faults(self, run: Child, *, may_fail: bool) -> Iterator[str]:
        messages = run.messages()
        self.told += messages
        if "Traceback" in messages or run.wait() not in ((0, 2, -9) if may_fail else (0,)):
            yield f"exit {run.wait()}: {messages[-300:]}"
        links = [path for path in self.secrets.iterdir() if path.name.endswith("linkage.parquet")]
        if self.output.exists() != any(not path.name.startswith(".") for path in links):
            yield f"half: release {self.output.exists()}, secrets {[path.name for path in links]}"
        if self.output.exists() and Child(lambda: not self.holds(links[0])).wait():
            yield "the release does not hold"

    def holds(self, linkage: Path) -> bool:
        original = shoal.read(self.raw, snap=self.name != "swap-locations")
        return shoal.verify_folder(original, self.output, shoal.read_linkage(linkage)).holds


def kill(place: Place, r: random.Random) -> Iterator[str]:
    run = place.start()
    time.sleep(r.uniform(0.0, 4.0))
    run.kill()
    yield from place.faults(run, may_fail=True)


def damage_checkpoint(place: Place, r: random.Random) -> Iterator[str]:
    place.name = r.choice(["glove in blocks", "kte-hide"])
    run = place.start()
    while run.is_running() and not any(path.is_file() for path in place.folder.glob("release.parts/**/*")):
        time.sleep(0.001)
    run.kill()
    run.wait()
    for path in place.folder.glob("release.parts/**/*"):
        if path.is_file() and path.stat().st_size:
            content = bytearray(path.read_bytes())
            content[r.randrange(len(content))] ^= 1 << r.randrange(8)
            path.write_bytes(content[: r.choice([len(content), len(content) // 2])])
    again = place.start()
    yield from place.faults(again, may_fail=True)
    if again.wait():  # it says that the parts are damaged, and what to remove
        shutil.rmtree(place.folder / "release.parts", ignore_errors=True)


def jump(place: Place, _r: random.Random) -> Iterator[str]:
    yield from place.faults(place.start(first=jump_about), may_fail=False)


def pair(place: Place, _r: random.Random) -> Iterator[str]:
    one, other = place.start(), place.start(linkage=place.secrets / "second-linkage.parquet")
    codes = sorted([one.wait(), other.wait()])
    for run in (one, other):
        yield from place.faults(run, may_fail=True)
    if codes[0] != 0:
        yield f"two commands on one folder: exits {codes}"


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(place: Place, r: random.Random) -> Iterator[str]:
    """The release and its secrets on a disk of some kilobytes, then again where there is room."""
    with mounted(place.folder, f"size={r.choice([8, 16, 24, 32, 48, 64, 96, 128, 256])}k"):
        place.secrets.mkdir()
        yield from place.faults(place.start(), may_fail=True)


def lock(place: Place, _r: random.Random) -> Iterator[str]:
    with mounted(place.folder, "size=64m"):
        place.secrets.mkdir()
        subprocess.run(["mount", "-o", "remount,ro", place.folder], check=True)
        run = place.start()
        yield from place.faults(run, may_fail=True)
        if run.wait() != 2:
            yield f"a read-only folder: exit {run.wait()}"


BREAKS: dict[str, Callable[[Place, random.Random], Iterator[str]]] = {
    "kills": kill, "full-disks": fill, "clock-jumps": jump, "damaged": damage_checkpoint, "read-only": lock,
    "pairs": pair,
}  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in BREAKS:
        options.add_argument(f"--{name}", type=int, default=1)
    options.add_argument("--seed", type=int, default=1)
    chosen = vars(options.parse_args())
    r, counts = random.Random(chosen["seed"]), Counter[str]()
    todo = [name for name in BREAKS for _ in range(chosen[name.replace("-", "_")])]
    r.shuffle(todo)
    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "raw.parquet"
        Child(lambda: pq.write_table(pa.table(shoal.synthesize(160, 1, 1)), raw)).wait()
        for number, name in enumerate(todo):
            folder = Path(tempfile.mkdtemp(dir=scratch))
            place = Place(raw, folder, r)
            faults = [*BREAKS[name](place, r)]
            place.secrets.mkdir(exist_ok=True)
            ended_well = place.output.exists()
            if not ended_well:
                faults += place.faults(place.start(), may_fail=False)
            leftovers = [path.name for path in folder.iterdir() if path.name.startswith((".", "release."))]
            leftovers = [name for name in leftovers if name not in place.told]  # a later run names them
            faults += [f"left over: {leftovers}"] * bool(leftovers)
            counts[f"{name}: {'ended well' if ended_well else 'broken, then well'}"] += not faults
            for fault in faults:
                counts[f"{name}: FAULT ({place.name}) {fault}"] += 1
            shutil.rmtree(folder)
            print(f"{number + 1} of {len(todo)}: {dict(counts)}", flush=True)
    return int(any("FAULT" in line for line in counts))


if __name__ == "__main__":
    sys.exit(main())
