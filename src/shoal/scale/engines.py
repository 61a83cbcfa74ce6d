"""Engines carry out tasks; a dead worker costs only its task."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from queue import SimpleQueue
from signal import SIG_IGN, SIGINT, Signals, signal
from threading import Lock, Thread
from typing import Any, Final, Protocol, TypeVar, runtime_checkable
from weakref import finalize

from shoal.errors import EngineError, MisuseError
from shoal.runtime.memory import limit_idle_memory
from shoal.runtime.run import Engine, Run, available_cores

KNOWN: Final = "threads, local, local:N, dask, dask:ADDRESS, spark, spark:MASTER"


def engine_of(text: str) -> Engine:
    """The engine: threads, local, local:4, dask or spark, also dask:tcp://host:8786, spark:yarn."""
    workers = workers_here(text)
    name, _, detail = text.partition(":")
    if name == "dask":
        from shoal.scale.engine_dask import DaskCluster

        return DaskCluster(detail or None)
    if workers is None:
        from shoal.scale.engine_spark import SparkCluster

        return SparkCluster(detail or None)
    if name == "threads":
        return Run()
    return Processes(workers)


def workers_here(text: str) -> int | None:
    """Simultaneous tasks here; None for a cluster."""
    name, _, detail = text.partition(":")
    match name:
        case "threads" if not detail:
            return available_cores()
        case "local" if not detail or (detail.isdecimal() and int(detail)):
            return int(detail) if detail else available_cores()
        case "dask" | "spark":
            return None
        case _:
            raise MisuseError(f"'{text}' is no engine; choose one of {KNOWN}")


Part = TypeVar("Part")
Result = TypeVar("Result")


@runtime_checkable
class Cluster(Engine, Protocol):
    """Workers that may stand on other machines."""

    def everywhere(self, fn: Callable[[Part], Result], part: Part) -> list[Result]:
        """The result of a task on every worker, or on as many as take one."""


def require_shared(engine: Engine | None, folder: Path) -> None:
    """Raise EngineError unless all workers of a cluster can write into a folder of this machine."""
    if not isinstance(engine, Cluster):
        return
    mark = folder / f".seen-{os.urandom(8).hex()}"
    mark.touch()
    try:
        answers = engine.everywhere(is_writable_beside, str(mark))
    finally:
        mark.unlink(missing_ok=True)
    if not all(answers):
        raise EngineError(
            f"{answers.count(False)} of {len(answers)} workers cannot write into {folder}; the output must "
            "be on storage that all machines reach under the same path"
        )


def is_writable_beside(mark: str) -> bool:
    """Whether this process sees a file, and may write beside it."""
    return Path(mark).exists() and os.access(Path(mark).parent, os.W_OK)


_MOST_TRIES: Final = 3


class Processes:
    """Worker processes with one task each, which stay until this object is gone."""

    def __init__(self, workers: int) -> None:
        self._n_workers = workers
        self._idle: list[_Worker] = []
        finalize(self, _stop, self._idle)

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """As Engine.map. Workers are killed when the caller stops early."""
        n_workers = min(self._n_workers, len(parts)) or 1
        workers = [self._idle.pop() for _ in range(min(n_workers, len(self._idle)))]
        workers += [_Worker(get_context("spawn")) for _ in range(n_workers - len(workers))]
        free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in workers:
            free.put(worker)

        def task(numbered: tuple[int, Part]) -> Result:
            worker = free.get()
            try:
                return worker.result_of(fn, numbered[1], numbered[0])
            finally:
                free.put(worker)

        pool = ThreadPoolExecutor(n_workers)  # each thread waits for one worker
        done = False
        try:
            yield from pool.map(task, enumerate(parts, start=1))
            done = True
        finally:
            if not done:
                for worker in workers:
                    worker.kill()
            pool.shutdown(wait=True, cancel_futures=True)
            if done:
                self._idle += workers
            else:
                _stop(workers)


class _Worker:
    def __init__(self, context: SpawnContext) -> None:
        self._context = context
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._killed = False
        self._changing = Lock()  # the process: different threads start and end it

    def result_of(self, fn: Callable[[Part], Result], part: Part, number: int) -> Result:
        """The result of a task; a second or third process tries again when one dies."""
        for _ in range(_MOST_TRIES):
            process, pipe = self._living()
            try:
                pipe.send((fn, part))
                succeeded, outcome = pipe.recv()
            except (EOFError, OSError):
                process.join()
                pipe.close()
                with self._changing:
                    self._process = None
                continue
            if succeeded:
                result: Result = outcome
                return result
            raise outcome
        raise EngineError(
            f"task {number} ended its process {_MOST_TRIES} times ({_exit_reason(process.exitcode)}); "
            "give it more memory, for example with smaller --blocks or fewer workers (--engine local:1), "
            "and run the same command again"
        )

    def kill(self) -> None:
        with self._changing:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def let_go(self) -> None:
        if self._pipe is not None:
            self._pipe.close()

    def join(self) -> None:
        if self._process is not None:
            self._process.join()

    def _living(self) -> tuple[SpawnProcess, Connection]:
        with self._changing:
            if self._killed:
                raise EngineError("the work was stopped; run the same command again to continue")
            if self._process is None or self._pipe is None:
                self._pipe, theirs = self._context.Pipe()
                process = self._context.Process(target=_work, args=(theirs,), daemon=True)
                process.start()
                theirs.close()
                self._process = process
            return self._process, self._pipe


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.let_go()
    for worker in workers:
        worker.join()


def _work(pipe: Connection) -> None:
    signal(SIGINT, SIG_IGN)  # interrupts are for the parent
    Thread(target=_end_with_parent, daemon=True).start()
    limit_idle_memory()
    while True:
        try:
            fn, part = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            outcome: tuple[bool, Any] = True, fn(part)
        except Exception as error:
            outcome = False, error
        pipe.send(outcome)


def _end_with_parent() -> None:
    """End with the parent, whose folder a later command may already use."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _exit_reason(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"by {Signals(-exit_code).name}" + (
            ", as the system does when memory runs out" if -exit_code == 9 else ""
        )
    return f"with exit code {exit_code}"
