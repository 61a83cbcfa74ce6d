"""How long work runs: progress, threads, parts, tasks."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Protocol, TypeVar

from shoal.errors import MisuseError
from shoal.runtime.argument_types import typed
from shoal.runtime.checkpoint import Arrays, Checkpoint
from shoal.runtime.timings import ProgressBars, Timings

Part = TypeVar("Part")
Result = TypeVar("Result")


class Progress(Protocol):
    """Receives how far a named piece of work is."""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Called by one thread at a time, with ``done`` rising to ``total``."""


def silent(label: str, done: int, total: int) -> None:
    """Progress that is not shown."""


def available_cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@typed
@dataclass(frozen=True, kw_only=True)
class Run:
    """How a piece of work is carried out, never its result.

    The default is local and silent, and stores nothing.

    Parameters
    ----------
    progress : Progress
        Receives how far each named piece of work is.
    threads : int
        Number of threads; by default all processors of this process.
    checkpoint : Checkpoint or None
        Stores finished parts, so that the same work continues after a stop.
    timings : Timings or None
        Measures the cost of each stage.

    Raises
    ------
    MisuseError
        When ``threads`` is less than 1.

    Examples
    --------
    >>> import shoal
    >>> list(shoal.Run(threads=2).map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    progress: Progress = silent
    threads: int = field(default_factory=available_cores)
    checkpoint: Checkpoint | None = None
    timings: Timings | None = None

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise MisuseError(f"threads = {self.threads} does no work; choose at least 1")

    @classmethod
    def with_bars(cls) -> "Run":
        """A run that shows its progress as bars, in a terminal or a notebook."""
        return cls(progress=ProgressBars())

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Count the cost of the block under this name, if timings are measured."""
        return nullcontext() if self.timings is None else self.timings.stage(name)

    def load_or_make(self, part: str, make: Callable[[], Arrays]) -> Arrays:
        """A part's arrays: from the checkpoint, or made and stored there."""
        return make() if self.checkpoint is None else self.checkpoint.load_or_make(part, make)

    @contextmanager
    def alongside(
        self, piece: Callable[[], Result], *, stage: str | None = None
    ) -> Iterator[Callable[[], Result]]:
        """Run work in parallel with the block; yields a function that waits for its result.

        With one thread it runs when its result is requested. stage: the stage it counts for; it must not
        open stages itself.
        """
        if self.threads == 1:
            yield cache(piece if stage is None else partial(self._in_stage, stage, piece))
            return
        if stage is not None and self.timings is not None:
            piece = partial(self.timings.alongside, stage, piece)
        with ThreadPoolExecutor(1) as aside:
            yield aside.submit(piece).result

    def _in_stage(self, stage: str, piece: Callable[[], Result]) -> Result:
        with self.stage(stage):
            return piece()

    def map(
        self, work: Callable[[Part], Result], parts: Iterable[Part], *, label: str | None = None
    ) -> Iterator[Result]:
        """Results in the order of ``parts``, on all threads, with progress.

        When the caller stops early, parts that have not started are dropped. A single part runs in the
        caller's thread.
        """
        waiting = list(parts)
        report = silent if label is None else self.progress
        name = label or ""
        report(name, 0, len(waiting))
        if len(waiting) == 1:
            result = work(waiting[0])
            report(name, 1, 1)
            yield result
            return
        pool = ThreadPoolExecutor(self.threads)
        try:
            for done, result in enumerate(pool.map(work, waiting), start=1):
                report(name, done, len(waiting))
                yield result
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def each_part(
        self, work: Callable[[slice], object], n: int, size: int, *, label: str | None = None
    ) -> None:
        """Call ``work`` with the slices of n rows, ``size`` at a time, on all threads."""
        parts = [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]
        for _ in self.map(work, parts, label=label):
            pass


class Engine(Protocol):
    """Carries out tasks, as a Run does here."""

    # A task is a function that can be imported by name, and a small part that refers to data by location. It
    # must return the same result every time: an engine repeats it when a worker is lost.

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part], /) -> Iterator[Result]:
        """Results in order; a lost worker costs only its task."""
        # raises what ``fn`` raises, EngineError when workers keep dying


def run_tasks(
    fn: Callable[[Part], Result], parts: Sequence[Part], engine: Engine, run: Run, label: str
) -> Iterator[Result]:
    """Results in order, with progress. A single task runs here."""
    run.progress(label, 0, len(parts))
    results = engine.map(fn, parts) if len(parts) > 1 else map(fn, parts)
    for done, result in enumerate(results, start=1):
        run.progress(label, done, len(parts))
        yield result


def split_evenly(n: int, at_most: int) -> list[tuple[int, int]]:
    """(first, end) of the fewest almost equal runs of at most ``at_most``."""
    number = -(-n // at_most)
    return list(pairwise(n * run // number for run in range(number + 1))) if n else []
