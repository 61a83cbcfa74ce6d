"""The same promises for every engine.

Same results in order, same release, errors as they are, a killed worker costs its task only.
"""

import gc
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import EngineError, InputError, MisuseError
from shoal.io import read_tables
from shoal.io.disk import spilling, storing
from shoal.io.disk.storing import store_people
from shoal.io.formats import parquet_files
from shoal.io.reading_state import ReadingState
from shoal.model.intake import Reading
from shoal.publishing import block_facts
from shoal.publishing.in_blocks import InBlocks
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Engine, Run
from shoal.scale import engines
from shoal.scale.engines import engine_of
from shoal.synthetic import write_synthetic
from shoal.verification.files import streamed
from shoal.verification.leaks import spread_digests

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:distributed.*")

ENGINES = ("threads", "local:2", "dask", "spark")
OTHER_PROCESSES = ENGINES[1:]
ANY_PORT = {"dashboard_address": "127.0.0.1:0"}


def squared(number: int) -> int:
    return number * number


def refused(number: int) -> int:
    if number == 3:
        raise InputError("part 3 cannot be used")
    return number


def killed_once(task: tuple[str, int]) -> int:
    """Kills its own process at the first try of task 2, as a machine that fails would."""
    folder, number = task
    mark = Path(folder) / str(number)
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def killed_always(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.fixture(scope="module")
def dask_address() -> Iterator[str]:
    """A cluster for all tests, found by its address."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, scheduler_kwargs=ANY_PORT
    ) as cluster:
        yield cluster.scheduler_address


def named(request: pytest.FixtureRequest) -> Engine:
    if request.param == "dask":
        return engine_of(f"dask:{request.getfixturevalue('dask_address')}")
    if request.param == "spark":
        return engine_of(f"spark:{request.getfixturevalue('spark')}")
    if request.param == "its own dask":
        pytest.importorskip("distributed")
        return engine_of("dask")
    return engine_of(request.param)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    return named(request)


@pytest.fixture(params=OTHER_PROCESSES)
def with_processes(request: pytest.FixtureRequest) -> Engine:
    return named(request)


def test_results_come_in_the_order_of_the_parts(engine: Engine) -> None:
    assert list(engine.map(squared, range(20))) == [number * number for number in range(20)]
    assert list(engine.map(squared, [])) == []


def test_an_error_of_a_task_is_raised_as_it_is(engine: Engine) -> None:
    with pytest.raises(InputError, match="part 3 cannot be used"):
        list(engine.map(refused, range(6)))


def test_a_killed_worker_costs_its_task_only(with_processes: Engine, tmp_path: Path) -> None:
    assert list(with_processes.map(killed_once, [(str(tmp_path), number) for number in range(6)])) == list(
        range(6)
    )
    assert (tmp_path / "2").exists()


def test_a_task_that_always_kills_its_worker_is_given_up() -> None:
    with pytest.raises(EngineError, match=r"ended its process 3 times \(by SIGKILL"):
        list(engine_of("local:1").map(killed_always, [1]))


def test_spark_gives_up_a_task_that_always_kills_its_worker(spark: str) -> None:
    with pytest.raises(EngineError, match="task 1 was lost 4 times, each time with its worker"):
        list(engine_of("spark").map(killed_always, [1]))


def test_a_session_on_another_master_is_not_taken_for_the_one_that_is_named(spark: str) -> None:
    with pytest.raises(MisuseError, match=f"already has a Spark session on {re.escape(spark)}"):
        list(engine_of("spark:spark://elsewhere:7077").map(squared, [1]))


def test_who_stops_asking_leaves_no_worker_behind() -> None:
    before = {*threading.enumerate(), *multiprocessing.active_children()}
    results = engine_of("local:2").map(squared, range(50))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert {*threading.enumerate(), *multiprocessing.active_children()} <= before


def process_of(_: int) -> int:
    return os.getpid()


def test_processes_live_as_long_as_their_engine() -> None:
    engine = engine_of("local:1")
    (first,), (second,) = list(engine.map(process_of, [1])), list(engine.map(process_of, [1]))
    assert first == second != os.getpid()
    del engine
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


def waiting(file: str) -> None:
    """Says which process it is in, and would then work for an hour."""
    path = Path(f"{file}.partial")
    path.write_text(str(os.getpid()))
    path.rename(file)
    time.sleep(3600)


def one_waits(file: str) -> None:
    """A command whose worker has a long task."""
    list(engine_of("local:1").map(waiting, [file]))


def test_a_worker_ends_with_the_command_that_was_killed(tmp_path: Path) -> None:
    """Otherwise it would work on in the folder, beside the command that continues."""
    told = tmp_path / "worker"
    command = multiprocessing.get_context("spawn").Process(target=one_waits, args=(str(told),))
    command.start()
    wait_until(told.exists)
    worker = int(told.read_text())
    assert lives(worker)
    command.kill()
    command.join()
    wait_until(lambda: not lives(worker))


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(it_is: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not it_is():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 90, 2, 5)
    pq.write_table(pq.read_table(path), path, row_group_size=500)
    return path


def published(city: Path, folder: Path, on: Engine) -> Path:
    """Published in blocks of 30 people; what is lost, and the k-gaps, are looked at in as many tasks."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(block_facts, "_LEAST", 30)
        publication = shoal.publish(
            InBlocks(source=city, reading=Reading(), size=30, engine=on),
            shoal.Glove(k=2, suppress_space_m=10_000),
            folder / "release",
            rng=Randomness.for_research(9),
            linkage_file=folder / "linkage",
        )
    assert publication.accuracy is not None
    assert publication.accuracy.samples_suppressed > 0
    return folder / "release"


@pytest.fixture(scope="module")
def in_threads(city: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(city, tmp_path_factory.mktemp("threads"), engine_of("threads"))


def test_a_release_holds(city: Path, in_threads: Path) -> None:
    verdict = shoal.verify_folder(
        shoal.read(city), in_threads, shoal.read_linkage(in_threads.parent / "linkage")
    )
    assert verdict.holds, verdict.findings


@pytest.mark.parametrize("with_processes", [*OTHER_PROCESSES, "its own dask"], indirect=True)
def test_the_release_is_the_same(
    with_processes: Engine, city: Path, in_threads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when reading, sorting, the search for hashes and the k-gaps are many tasks."""
    monkeypatch.setattr(read_tables, "_APART_BYTES", 1000)
    monkeypatch.setattr(parquet_files, "_RUN_ROWS", 500)
    monkeypatch.setattr(storing, "TASK_ROWS", 1000)
    monkeypatch.setattr(spread_digests, "_IDS_OF_A_TASK", 40)
    there = published(city, tmp_path, with_processes)
    for name in ("release.parquet", "manifest.json", "report.html"):
        assert (in_threads / name).read_bytes() == (there / name).read_bytes()
    assert (in_threads.parent / "linkage").read_bytes() == (tmp_path / "linkage").read_bytes()


class WithoutOneExecutor:
    """An engine on Spark that loses the executor which works on the second block."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def map(self, fn: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
        return engine_of("spark").map(partial(done_or_executor_killed, fn, str(self._mark)), parts)


def done_or_executor_killed(fn: Callable[[Any], Any], mark: str, part: Any) -> Any:
    """A task; at the first try of the second block its executor is killed, as a machine that fails would."""
    if getattr(part, "block", None) == 1:
        with Path(mark).open("a") as tries:
            tries.write("begun\n")
        if Path(mark).read_text().count("begun") == 1:
            os.kill(parent_of(os.getppid()), signal.SIGKILL)  # between it and its workers is a daemon
    return fn(part)


def parent_of(process: int) -> int:
    told = subprocess.run(["ps", "-o", "ppid=", "-p", str(process)], capture_output=True, check=True)
    return int(told.stdout)


def test_a_killed_executor_of_spark_costs_its_tasks_only(
    spark: str, city: Path, in_threads: Path, tmp_path: Path
) -> None:
    there = published(city, tmp_path, WithoutOneExecutor(tmp_path / "mark"))
    assert (tmp_path / "mark").read_text() == "begun\n" * 2
    for name in ("release.parquet", "manifest.json", "report.html"):
        assert (in_threads / name).read_bytes() == (there / name).read_bytes()


def read_or_killed(task: spilling.ReadTask) -> ReadingState | None:
    """Kills its own process at the first try of piece 2, when its rows are written."""
    account = READ(task)
    killed_once((str(task.folder.parent.parent), task.number))
    return account


READ = spilling.run_task


def test_a_killed_worker_costs_reading_its_piece_only(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_tables, "_APART_BYTES", 1000)
    monkeypatch.setattr(parquet_files, "_RUN_ROWS", 500)
    in_a_row = store_people(city, Reading(), tmp_path / "row", Run())
    monkeypatch.setattr(spilling, "run_task", read_or_killed)
    people = store_people(city, Reading(), tmp_path / "pieces", Run(), engine=engine_of("local:2"))
    assert (tmp_path / "2").exists()
    assert people.intake == in_a_row.intake
    everybody = np.arange(people.n_subjects)
    mine, theirs = people.load(everybody), in_a_row.load(everybody)
    assert mine.ids == theirs.ids
    for name in ("offsets", "t", "x", "y", "input_rank"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name


def examined_or_killed(task: streamed.BucketTask) -> streamed.BucketFindings:
    """Kills its own process at the first try of bucket 1."""
    killed_once((str(task.spreading.scratch), 2 if task.bucket == 1 else 0))
    return EXAMINE(task)


EXAMINE = streamed.examine_bucket


def test_a_killed_worker_costs_the_check_its_bucket_only(
    city: Path, in_threads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linkage = shoal.read_linkage(in_threads.parent / "linkage")
    people = store_people(city, Reading(), tmp_path / "people", Run())
    verdicts, kept = [], []
    monkeypatch.setattr(streamed, "_BUCKET_ROWS", people.n_samples // 2)
    for name, task in (("threads", EXAMINE), ("local:1", examined_or_killed)):
        monkeypatch.setattr(streamed, "examine_bucket", task)
        kept.append(tmp_path / name)
        kept[-1].mkdir()
        verdicts.append(
            streamed.verify_streamed_folder(
                people, in_threads, linkage, kept[-1], Run(), engine=engine_of(name)
            )
        )
    assert (kept[1] / "2").exists()
    assert verdicts[0].holds, verdicts[0].findings
    assert verdicts[1] == verdicts[0]


def test_a_scheduler_that_is_lost_is_told_in_words() -> None:
    """What dask raises then is no error of its own kind, and says nothing of what to do."""
    pytest.importorskip("distributed")
    from distributed.client import FutureCancelledError

    from shoal.scale.engine_dask import DaskCluster

    def result() -> None:
        raise FutureCancelledError("squared-1", "scheduler-connection-lost")

    client: Any = SimpleNamespace(submit=lambda *_, **__: SimpleNamespace(result=result), cancel=lambda _: 0)
    with pytest.raises(EngineError, match=r"the dask scheduler was lost .* run the same command again"):
        list(DaskCluster._results(client, squared, [1], KeyError))


@pytest.mark.parametrize("name", ["spork", "local:0", "local:many", "threads:2", ""])
def test_unknown_engines_are_named(name: str) -> None:
    with pytest.raises(MisuseError, match="is no engine; choose one of threads, local"):
        engine_of(name)


def test_a_missing_cluster_is_an_error_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    from shoal.scale import engine_dask

    assert engine_dask._ANSWERS_WITHIN_S < 8  # with what else a command does, within 10 s
    monkeypatch.setattr("shoal.scale.engine_dask._ANSWERS_WITHIN_S", 0.3)
    with socket.socket() as mute:  # takes the call and says nothing
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        for address in ("tcp://127.0.0.1:1", "nonsense", f"tcp://127.0.0.1:{mute.getsockname()[1]}"):
            with pytest.raises(EngineError, match=f"no dask scheduler answers at {address}"):
                engine_of(f"dask:{address}")


def test_a_scheduler_without_workers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    from shoal.scale import engine_dask

    with distributed.LocalCluster(n_workers=0, dashboard_address=None, scheduler_kwargs=ANY_PORT) as empty:
        address = empty.scheduler_address
        monkeypatch.setattr(engine_dask, "_ANSWERS_WITHIN_S", 2)
        with pytest.raises(EngineError, match=f"scheduler at {address} has no workers; start some with"):
            engine_of(f"dask:{address}")


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ("__import__('shoal_is_not_here')", r"tcp://\S+ has no shoal \(ModuleNotFoundError\)"),
        ("'shoal 9 in Python 3.99'", r"tcp://\S+ has shoal 9 in Python 3\.99"),
    ],
)
def test_dask_workers_without_shoal_or_with_another_are_named(
    dask_address: str, monkeypatch: pytest.MonkeyPatch, there: str, told: str
) -> None:

    from distributed import Client

    from shoal.scale import engine_dask

    with Client(dask_address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)  # a worker that an earlier test killed may still be starting
    here = f"'shoal 1' if __import__('os').getpid() == {os.getpid()} else {there}"
    monkeypatch.setattr(engine_dask, "_VERSIONS", here)
    with pytest.raises(EngineError, match=f"2 of 3 dask processes .* which has shoal 1: {told}; install"):
        engine_of(f"dask:{dask_address}")


def test_a_dask_client_is_closed_in_whichever_thread_its_engine_is_collected(dask_address: str) -> None:
    kept: Any = [engine_of(f"dask:{dask_address}")]
    client, dropped = kept[0]._client, threading.Event()

    def drop() -> None:
        kept.clear()
        gc.collect()
        dropped.set()

    client.loop.add_callback(drop)
    assert dropped.wait(10)
    ends = time.monotonic() + 10
    while client.status != "closed" and time.monotonic() < ends:
        time.sleep(0.05)
    assert client.status == "closed"


def test_workers_that_do_not_see_the_folder_are_counted(engine: Engine, tmp_path: Path) -> None:
    engines.require_shared(engine, tmp_path)
    assert list(tmp_path.iterdir()) == []
    if isinstance(engine, engines.Cluster):
        assert not any(engine.everywhere(engines.is_writable_beside, str(tmp_path / "elsewhere")))

    class Apart:
        map = Run().map

        def everywhere(self, fn: Callable[[str], bool], part: str) -> list[bool]:
            return [fn(part), fn(f"{part} on another disk")]

    with pytest.raises(EngineError, match=r"1 of 2 workers cannot write into .*; the output must be"):
        engines.require_shared(Apart(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_is_ended_while_it_starts() -> None:
    """Ctrl-C comes to another thread than the one that starts the process: it must not be met half-made."""
    begun, released = threading.Event(), threading.Event()

    class Starting:
        started = killed = False

        def __init__(self, **_: object) -> None: ...

        def start(self) -> None:
            begun.set()
            released.wait(0.3)
            self.started = True

        def kill(self) -> None:
            assert self.started
            Starting.killed = True

    ends = SimpleNamespace(close=lambda: None)
    context: Any = SimpleNamespace(Pipe=lambda: (ends, ends), Process=Starting)
    worker = engines._Worker(context)
    thread = threading.Thread(target=worker._living)
    thread.start()
    begun.wait()
    worker.kill()
    thread.join()
    assert Starting.killed
    with pytest.raises(EngineError, match="the work was stopped"):
        worker._living()
