"""Break commands of shoal in every way a machine can: nothing may be half, nothing may be lost.

    python bench/break_runs.py --kills 200 --full-disks 20 --clock-jumps 10 --damaged 10 --read-only 5 \\
        --pairs 10

Broken are anonymize, also the second release of a series, publish and (where opendp is installed) tabulate.
After each break the release folder and its secret must both be there or both not be there, a folder that is
there must pass ``shoal verify``, and state or ledger must have it. No message may be a traceback, and the
same command, run again, must end well. Each run is a process forked from one that has only imported shoal.
Full disks and read-only folders are file systems in memory of their own: start it by ``unshare -rm`` or as
root. The clock that jumps is Python's ``time.time``, in the run alone. Exit 1 if anything was half, lost, or
ended otherwise.
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
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import shoal
from shoal.cli.main import main as main_of_shoal

WRITE = "--output {output} --linkage {secret} --risk-tries 0 --resume"
RUNS = {
    "glove in blocks": f"anonymize {{raw}} {WRITE} --method glove --k 2 --blocks 40",
    "glove": f"anonymize {{raw}} {WRITE} --method glove --k 3",
    "kte-hide": f"anonymize {{raw}} {WRITE} --method kte-hide --k 2",
    "swap-locations": f"anonymize {{raw}} {WRITE} --method swap-locations --k 2 --time-threshold 2h",
    "series": f"anonymize {{later}} {WRITE} --k 2 --series {{secrets}}/state",
    "csv": "publish {first} --to {output} --format csv",
    "by day": "publish {first} --to {output} --format parquet-by-day",
    "table": (
        "tabulate {raw} --kind homes --grid 20km --area=-5.2,6.8,-4.8,7.2 --period 2024-01-01,2024-01-01 "
        "--epsilon 1 --people city --budget 10 --ledger {secrets}/ledger.sqlite --output {output} "
        "--secret {secret}"
    ),
}
HOLDS = "verify {raw} {output} --linkage {secret} --quiet"
HOLDS_OF = {
    "series": "verify {later} {output} --linkage {secret} --earlier {first}={linkage}={raw} --quiet",
    "csv": "verify {raw} {output} --linkage {linkage} --quiet",
    "by day": "verify {raw} {output} --linkage {linkage} --quiet",
    "table": "verify {raw} {output} --secret {secret} --ledger {secrets}/ledger.sqlite --quiet",
}
ACCOUNTS = {  # a command that counts releases, and what it says when the release is among them
    "series": ("series show {secrets}/state", "releases so far"),
    "table": ("ledger {secrets}/ledger.sqlite", "table of homes"),
}
if find_spec("opendp") is None:
    del RUNS["table"]


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

    def __init__(self, before: Path, folder: Path, r: random.Random) -> None:
        self.name = r.choice(list(RUNS))
        self.before, self.folder, self.secrets = before, folder, folder / "secrets"
        self.output, self.secret = folder / "release", self.secrets / "secret.parquet"
        self.messages = ""

    def prepare(self) -> None:
        """Lay out what earlier commands wrote, where the folder is empty."""
        if not self.secrets.exists():
            self.secrets.mkdir()
            shutil.copytree(self.before / "state", self.secrets / "state")

    def words(self, line: str, secret: Path | None = None) -> list[str]:
        files = {name: self.before / f"{name}.parquet" for name in ("raw", "later", "linkage")}
        return line.format(
            **files, first=self.before / "first", output=self.output, secrets=self.secrets,
            secret=secret or self.secret,
        ).split()  # fmt: skip

    def start(self, *, secret: Path | None = None, first: Callable[[], None] = lambda: None) -> Child:
        words = self.words(RUNS[self.name], secret)

        def work() -> None:
            first()
            main_of_shoal(words)

        return Child(work)

    def faults(self, run: Child, *, may_fail: bool) -> Iterator[str]:
        messages = run.messages()
        self.messages += messages
        if "Traceback" in messages or run.wait() not in ((0, 2, -9) if may_fail else (0,)):
            yield f"exit {run.wait()}: {messages[-300:]}"
        secrets = [path for path in self.secrets.glob("*secret.parquet") if not path.name.startswith(".")]
        if len(secrets) != (self.output.exists() and "{secret}" in RUNS[self.name]):
            yield f"half: release {self.output.exists()}, secrets {[path.name for path in secrets]}"
        elif self.output.exists():
            words = self.words(HOLDS_OF.get(self.name, HOLDS), *secrets)
            check = Child(lambda: main_of_shoal(words))
            if check.wait():
                yield f"the release does not hold: {check.messages()[-300:]}"
            yield from self.faults_of_account()

    def clear_between_names(self) -> Iterator[str]:
        """After a kill between the names of secret and release, the same command must say what to remove."""
        partial = [*self.folder.glob(".release.partial-*")]
        secrets = [*self.secrets.glob("secret*.parquet")]
        if secrets and not self.output.exists() and partial:
            again = self.start()
            said = again.messages()
            if again.wait() != 2 or "remove" not in said or not all(str(path) in said for path in secrets):
                yield f"a secret without its release: exit {again.wait()}: {said[-300:]}"
            for path in (*partial, *self.folder.glob("release.parts")):
                shutil.rmtree(path)
            for path in secrets:
                path.unlink()

    def faults_of_account(self) -> Iterator[str]:
        if self.name in ACCOUNTS:
            line, expected = ACCOUNTS[self.name]
            account = Child(lambda: main_of_shoal(self.words(line)))
            if account.wait() or expected not in account.messages():
                yield f"the release is not in its account: {account.messages()[-300:]}"


def kill(place: Place, r: random.Random) -> Iterator[str]:
    """Up to three times: at a moment, or at a change of the folder."""
    for _ in range(r.choice([1, 1, 2, 3])):
        run = place.start()
        if r.random() < 0.5:
            time.sleep(r.uniform(0.0, 1.5))
        else:
            wait_for_changes(place.folder, r.randrange(1, 16), run)
        run.kill()
        run.wait()
        yield from place.clear_between_names()
        yield from place.faults(run, may_fail=True)
        if place.output.exists():
            return


def wait_for_changes(folder: Path, number: int, run: Child) -> None:
    before: set[str] = set()
    while number and run.is_running():
        now = {f"{entry.path} {entry.stat().st_size}" for entry in entries(folder)}
        number -= now != before
        before = now


def entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    try:
        for entry in os.scandir(folder):
            entry.stat()
            yield entry
            if entry.is_dir():
                yield from entries(entry.path)
    except FileNotFoundError:
        return


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
    one, other = place.start(), place.start(secret=place.secrets / "second-secret.parquet")
    codes = sorted([one.wait(), other.wait()])
    for run in (one, other):
        yield from place.faults(run, may_fail=True)
    if codes != [0, 2]:
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
    with mounted(place.folder, "size=64m"):
        place.prepare()
        used = shutil.disk_usage(place.folder).used // 1024
        size = used + r.choice([4, 8, 16, 24, 32, 48, 64, 96, 128, 256])
        subprocess.run(["mount", "-o", f"remount,size={size}k", place.folder], check=True)
        yield from place.faults(place.start(), may_fail=True)


def lock(place: Place, r: random.Random) -> Iterator[str]:
    """A file system that is only read; or a folder without the right to write, which does not bind root."""
    if r.random() < 0.5:
        place.folder.chmod(0o500)
        run = place.start()
        yield from place.faults(run, may_fail=os.geteuid() != 0)
        place.folder.chmod(0o700)
        return
    with mounted(place.folder, "size=64m"):
        place.prepare()
        subprocess.run(["mount", "-o", "remount,ro", place.folder], check=True)
        run = place.start()
        yield from place.faults(run, may_fail=True)
        if run.wait() != 2:
            yield f"a read-only folder: exit {run.wait()}"


BREAKS: dict[str, Callable[[Place, random.Random], Iterator[str]]] = {
    "kills": kill, "full-disks": fill, "clock-jumps": jump, "damaged": damage_checkpoint, "read-only": lock,
    "pairs": pair,
}  # fmt: skip


def import_everything() -> None:
    """Of the installed packages of shoal, so that a forked run takes a second and not three."""
    for package in filter(find_spec, ("shoal", "shoal_tables")):
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)


def write_before(folder: Path) -> None:
    """Two days of raw data, and a series that has released the first."""
    both = pa.table(shoal.synthesize(160, 2, 1))
    is_first = pc.less(both["t"], 1_704_067_200 + 86_400)
    pq.write_table(both.filter(is_first), folder / "raw.parquet")
    pq.write_table(both.filter(pc.invert(is_first)), folder / "later.parquet")
    words = "anonymize raw.parquet --k 2 --series state --renew --output first --linkage linkage.parquet"
    os.chdir(folder)
    main_of_shoal([*words.split(), "--risk-tries", "0"])


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
        import_everything()
        before = Path(scratch) / "before"
        before.mkdir()
        if Child(lambda: write_before(before)).wait():
            return 1
        for number, name in enumerate(todo):
            folder = Path(tempfile.mkdtemp(dir=scratch))
            place = Place(before, folder, r)
            place.prepare()
            faults = [*BREAKS[name](place, r)]
            place.prepare()
            ended_well = place.output.exists()
            if not ended_well:
                again = place.start()
                if again.wait() == 2 and "release.parts holds parts of a job" in again.messages():
                    shutil.rmtree(folder / "release.parts")  # as it says: the state of the series has changed
                    again = place.start()
                faults += place.faults(again, may_fail=False)
            leftovers = [path.name for path in folder.iterdir() if path.name.startswith((".", "release."))]
            if leftovers:  # a later run names them
                place.messages += place.start().messages()
            leftovers = [name for name in leftovers if name not in place.messages]
            faults += [f"left over: {leftovers}"] * bool(leftovers)
            counts[f"{name}: {'ended well' if ended_well else 'broken, then well'}"] += not faults
            for fault in faults:
                counts[f"{name}: FAULT ({place.name}) {fault}"] += 1
            shutil.rmtree(folder)
            print(f"{number + 1} of {len(todo)}: {dict(counts)}", flush=True)
    return int(any("FAULT" in line for line in counts))


if __name__ == "__main__":
    sys.exit(main())
