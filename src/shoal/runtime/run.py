"""What long work is handed: where to report progress, how many threads to use, where to keep parts."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Protocol, TypeVar

from shoal.runtime.checkpoint import Arrays, Checkpoint
from shoal.runtime.progress_bars import ProgressBars
from shoal.runtime.timings import Timings

Part = TypeVar("Part")
Result = TypeVar("Result")


class Progress(Protocol):
    """Receives how far a named piece of work has come."""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Called from one thread, with ``done`` rising from 0 to ``total``."""


def silent(label: str, done: int, total: int) -> None:
    """Progress that nobody wants to see."""


def available_cores() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a piece of work is carried out, never what its result is.

    The default is local and silent, and keeps nothing.

    Parameters
    ----------
    progress : Progress
        Receives how far each named piece of work has come.
    threads : int
        How many threads to use; all processors of this process unless told.
    checkpoint : Checkpoint or None
        Where finished parts are kept, so that the same work continues after a stop.
    timings : Timings or None
        Counts what each stage costs.

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

    @classmethod
    def with_bars(cls) -> "Run":
        """A run that shows its progress as bars, in a terminal or a notebook."""
        return cls(progress=ProgressBars())

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Count what the block takes under this name, when anybody wants to know."""
        return nullcontext() if self.timings is None else self.timings.stage(name)

    def kept(self, part: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays of a part: from the checkpoint when it holds them, otherwise made, and kept there."""
        return make() if self.checkpoint is None else self.checkpoint.kept(part, make)

    @contextmanager
    def beside(
        self, piece: Callable[[], Result], *, stage: str | None = None
    ) -> Iterator[Callable[[], Result]]:
        """Begin a piece of work beside what the block does, and hand out what waits for its result.

        With one thread it is done when its result is asked for. At the end of the block it has ended. stage:
        what it counts for, if not for the stages that are open meanwhile; nothing in it may open one.
        """
        if self.threads == 1:
            yield cache(piece if stage is None else partial(self._in_stage, stage, piece))
            return
        if stage is not None and self.timings is not None:
            piece = partial(self.timings.beside, stage, piece)
        with ThreadPoolExecutor(1) as aside:
            yield aside.submit(piece).result

    def _in_stage(self, stage: str, piece: Callable[[], Result]) -> Result:
        with self.stage(stage):
            return piece()

    def map(
        self, work: Callable[[Part], Result], parts: Iterable[Part], *, label: str | None = None
    ) -> Iterator[Result]:
        """Results in the order of ``parts``, computed on all threads, with progress under ``label``.

        Kernels release the interpreter lock, so threads are enough. When the caller stops early or is
        interrupted, parts that have not begun are dropped. One part alone is done by the caller's thread.
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
