"""One release in blocks on every engine: bytes, seconds and memory, also when workers are killed.

    python lab/measure_engines.py [--subjects 30000] [--size 3000] [--k 2] [--only local ...]

Clusters (a dask scheduler with two workers, a standalone Spark master and one worker of two cores) are
started for each run. Once the first block is stored, a worker is killed, or the command, which is then run
again. CPU seconds are those of the command and of all workers, read from /proc while they live (Linux);
memory is the largest sum of their proportional sets. Exit 1 unless every release has the bytes of the first.
"""

import argparse
import hashlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shoal.synthetic import write_synthetic

MARK = "SHOAL_MEASURED"
FIRST_BLOCKS = "block-*.npz"
TICKS = os.sysconf("SC_CLK_TCK")
ENGINES = ("local", "local:1", "threads", "dask", "dask cluster", "spark", "spark standalone")
WORKERS = {  # words in the command line of a process that carries out tasks
    "local": "multiprocessing.spawn",
    "local:1": "multiprocessing.spawn",
    "dask": "multiprocessing.spawn",
    "dask cluster": "multiprocessing.spawn",
    "spark standalone": "CoarseGrainedExecutorBackend",
}


@dataclass
class Costs:
    """CPU seconds by process, and the largest memory of all together, while it watches."""

    mark: str
    cpu_s: dict[int, float] = field(default_factory=dict)
    peak_bytes: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        while not self.done.wait(0.2):
            memory = 0
            for process in marked(self.mark):
                try:
                    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                    self.cpu_s[process] = (int(words[11]) + int(words[12])) / TICKS
                    memory += proportional_bytes(process)
                except OSError:  # it has ended
                    continue
            self.peak_bytes = max(self.peak_bytes, memory)


def marked(mark: str) -> list[int]:
    """The processes of one run, which inherit its mark."""
    processes = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                processes.append(int(folder.name))
        except OSError:
            continue
    return processes


def proportional_bytes(process: int) -> int:
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    return int(rollup.partition("\nPss:")[2].split()[0]) * 1024


@contextmanager
def started(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def start_cluster(engine: str, stack: ExitStack, environment: dict[str, str], folder: Path) -> str:
    """The option's value, once a cluster answers."""
    port = free_port()
    if engine == "dask cluster":
        address = f"tcp://127.0.0.1:{port}"
        dask = str(Path(sys.executable).parent / "dask")
        scheduler = [dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        workers = [dask, "worker", address, "--nthreads", "1", "--nworkers", "2", "--no-dashboard"]
        stack.enter_context(started(scheduler, environment))
        stack.enter_context(started([*workers, "--local-directory", str(folder)], environment))
        time.sleep(8)
        return f"dask:{address}"
    if engine == "spark standalone":
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {**environment, "SPARK_HOME": str(home)}
        java = [str(home / "bin" / "spark-class")]
        address = f"spark://127.0.0.1:{port}"
        deploy = "org.apache.spark.deploy"
        master = [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        worker = [f"{deploy}.worker.Worker", address, "--cores", "2", "--webui-port", "0"]
        stack.enter_context(started([*java, *master], environment))
        time.sleep(4)
        stack.enter_context(started([*java, *worker, "--work-dir", str(folder)], environment))
        time.sleep(5)
        return f"spark:{address}"
    return engine


def kill_at_first_block(parts: Path, words: str, mark: str, done: threading.Event, killed: list[int]) -> None:
    """Kill a worker when the first block is stored, and note it."""
    while not done.wait(0.05):
        if any(parts.glob(FIRST_BLOCKS)):
            for process in marked(mark):
                if words in Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode():
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                    return


def digest_of(release: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(release.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def run_once(engine: str, killed: str, people: Path, options: argparse.Namespace) -> tuple[str, str]:
    """A row of the table, and the digest of the release."""
    mark = secrets.token_hex(8)
    environment = {**os.environ, MARK: mark, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        name = start_cluster(engine, stack, environment, folder)
        work = f"anonymize {people} --k {options.k} --blocks {options.size} --engine {name} --research-seed 9"
        command = [str(Path(sys.executable).parent / "shoal"), *work.split(), "--risk-tries", "0"]
        command += ["--output", str(folder / "release")]
        parts = folder / "release.parts"
        costs = Costs(mark)
        dead: list[int] = []
        threads = [threading.Thread(target=costs.watch)]
        if killed == "a worker":
            arguments = (parts, WORKERS[engine], mark, costs.done, dead)
            threads.append(threading.Thread(target=kill_at_first_block, args=arguments))
        for thread in threads:
            thread.start()
        began = time.monotonic()
        if killed == "the command":
            first = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while first.poll() is None and not any(parts.glob(FIRST_BLOCKS)):
                time.sleep(0.05)
            dead += [first.pid] if first.poll() is None else []
            first.kill()
            first.wait()
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
        costs.done.set()
        for thread in threads:
            thread.join()
        if ended.returncode or (killed != "none" and not dead):
            sys.exit(f"{engine}, {killed} killed: {ended.stderr[-2000:] or 'it ended too early'}")
        digest = digest_of(folder / "release")
    cpu_s, peak_gib = sum(costs.cpu_s.values()), costs.peak_bytes / 2**30
    return f"| {engine} | {killed} | {seconds:.0f} | {cpu_s:.0f} | {peak_gib:.1f} | {digest} |", digest


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--subjects", type=int, default=30_000)
    words.add_argument("--size", type=int, default=3_000)
    words.add_argument("--k", type=int, default=2)
    words.add_argument("--only", nargs="+", choices=ENGINES, default=ENGINES)
    options = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        people = Path(folder) / "people.parquet"
        write_synthetic(people, options.subjects, 14, 1)
        print("| engine | killed | seconds | CPU s | GiB | release |\n|---|---|---|---|---|---|")
        digests = set()
        for engine in options.only:
            for killed in ("none", *(["a worker"] if engine in WORKERS else []), "the command"):
                row, digest = run_once(engine, killed, people, options)
                print(row, flush=True)
                digests.add(digest)
    sys.exit(len(digests) != 1)


if __name__ == "__main__":
    main()
