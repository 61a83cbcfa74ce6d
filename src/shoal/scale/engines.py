"""Who carries out the tasks of large work: this process, processes of this machine, or a cluster."""

from typing import Final

from shoal.errors import MisuseError
from shoal.runtime.run import Engine, Run, available_cores

KNOWN: Final = "threads, local, local:N, dask, dask:ADDRESS, spark, spark:MASTER"


def engine_of(text: str) -> Engine:
    """The engine that a user names: threads, local, local:4, dask or spark, these two also with an address.

    Such as dask:tcp://host:8786, spark:spark://host:7077 or spark:yarn; without one they use this machine.
    Raises MisuseError for another name, MissingExtraError where dask or pyspark is not installed, EngineError
    for a cluster that does not answer.
    """
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
    from shoal.scale.engine_local import Processes

    return Processes(workers)


def workers_here(text: str) -> int | None:
    """How many tasks the engine that a user names works on at the same time; None where a cluster decides.

    Raises MisuseError for another name.
    """
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
