"""Who carries out the tasks of large work: this process, processes of this machine, or a cluster.

A task is a function that can be imported by its name, and a small part that names data by its place and never
holds it. The function must give the same result every time, because an engine calls it again when a worker is
lost.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from shoal.errors import MisuseError
from shoal.runtime.run import Run, available_cores

Part = TypeVar("Part")
Result = TypeVar("Result")

KNOWN: Final = "threads, local, local:N, dask, dask:ADDRESS, spark, spark:MASTER"


class Engine(Protocol):
    """Carries out tasks."""

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """Results in the order of ``parts``. A lost worker costs its task only.

        Raises what ``fn`` raises, EngineError when workers keep dying.
        """


class Threads:
    """In this process, on the threads of a run: for work on small data, and for tests."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """As Engine.map."""
        return self._run.map(fn, parts)


def engine_of(text: str) -> Engine:
    """The engine that a user names: threads, local, local:4, dask or spark, these two also with an address.

    Such as dask:tcp://host:8786, spark:spark://host:7077 or spark:yarn; without one they use this machine.
    Raises MisuseError for another name, MissingExtraError where dask or pyspark is not installed, EngineError
    for a cluster that does not answer.
    """
    name, _, detail = text.partition(":")
    match name:
        case "threads" if not detail:
            return Threads(Run())
        case "local" if not detail or (detail.isdecimal() and int(detail)):
            from shoal.scale.engine_local import Processes

            return Processes(int(detail) if detail else available_cores())
        case "dask":
            from shoal.scale.engine_dask import DaskCluster

            return DaskCluster(detail or None)
        case "spark":
            from shoal.scale.engine_spark import SparkCluster

            return SparkCluster(detail or None)
        case _:
            raise MisuseError(f"'{text}' is no engine; choose one of {KNOWN}")
