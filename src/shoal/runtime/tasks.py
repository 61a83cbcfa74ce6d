"""Tasks: pieces of large work that may be done elsewhere, in any process that finds the same files.

A task is a function that can be imported by its name, and a small part that names data by its place and never
holds it. The function must give the same result every time, because an engine calls it again when a worker is
lost.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol, TypeVar

from shoal.runtime.run import Run

Part = TypeVar("Part")
Result = TypeVar("Result")


class Engine(Protocol):
    """Carries out tasks. A Run is one, too: it does so in this process."""

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part], /) -> Iterator[Result]:
        """Results in the order of ``parts``. A lost worker costs its task only.

        Raises what ``fn`` raises, EngineError when workers keep dying.
        """


def carried_out(
    fn: Callable[[Part], Result], parts: Sequence[Part], engine: Engine, run: Run, label: str
) -> Iterator[Result]:
    """Results in the order of ``parts``, with progress. One task alone is done here: it is no more work."""
    run.progress(label, 0, len(parts))
    results = engine.map(fn, parts) if len(parts) > 1 else map(fn, parts)
    for done, result in enumerate(results, start=1):
        run.progress(label, done, len(parts))
        yield result


def runs_of(n: int, at_most: int) -> list[tuple[int, int]]:
    """(first, before the last) of runs of n things, as few as may be, and of almost equal length."""
    number = -(-n // at_most)
    return list(pairwise(n * run // number for run in range(number + 1))) if n else []
