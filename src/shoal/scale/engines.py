"""Who carries out the tasks of large work: this process, processes of this machine, or a cluster."""

from typing import Final

from shoal.errors import MisuseError
from shoal.runtime.run import Run, available_cores
from shoal.runtime.tasks import Engine

KNOWN: Final = "threads, local, local:N, dask, dask:ADDRESS, spark, spark:MASTER"


def engine_of(text: str) -> Engine:
    """The engine that a user names: threads, local, local:4, dask or spark, these two also with an address.

    Such as dask:tcp://host:8786, spark:spark://host:7077 or spark:yarn; without one they use this machine.
    Raises MisuseError for another name, MissingExtraError where dask or pyspark is not installed, EngineError
    for a cluster that does not answer.
    """
    name, _, detail = text.partition(":")
    match name:
        case "threads" if not detail:
            return Run()
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
