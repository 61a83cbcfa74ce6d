"""Apache Spark repeats lost tasks; the only file that knows pyspark."""

import os
import re
import shutil
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from threading import Thread, current_thread, main_thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit
from weakref import finalize

import pyarrow as pa

from shoal.errors import EngineError, InputError, MisuseError, requiring_extra
from shoal.runtime.run import available_cores

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext

Part = TypeVar("Part")
Result = TypeVar("Result")
Outcome = tuple[int, bool, Any]  # the number of a task, whether it succeeded, its result or error

_WAREHOUSE: Final = "spark.sql.warehouse.dir"
_TIMES: Final = "spark.sql.parquet.outputTimestampType"
_TABLE_GROUP: Final = "shoal-table"
_MOST_TRIES: Final = 4  # as on a cluster; locally, Spark alone tries once
_ANSWERS_WITHIN_S: Final = 5.0
_EXECUTOR_WITHIN_S: Final = 6.0  # twice as long as the start of Spark here where that is more: a slow machine
_LOOKS_EVERY_S: Final = 0.05
_LOCAL: Final = re.compile(r"local(?:\[([0-9]+|\*)\])?")
_ON_THIS_MACHINE: Final = re.compile(
    r"local(\[([1-9][0-9]*|\*)(,[1-9][0-9]*)?\])?|local-cluster\[ *[1-9][0-9]* *(, *[1-9][0-9]* *){2}\]"
)
_FORMS: Final = "local[N], spark://HOST:7077, yarn, k8s://https://HOST:PORT"
# A request for a piece of a stream that does not exist, which whatever speaks Spark's protocol answers:
# length of the frame, kind of the message, number of the stream, number of the piece.
_QUESTION: Final = (21).to_bytes(8, "big") + b"\0" + bytes(8) + bytes(4)


class SparkCluster:
    """Runs tasks on a master's workers (None = this process's session, or here)."""

    def __init__(self, master: str | None = None) -> None:
        with requiring_extra("pyspark is not installed", "spark"), _without_warnings():
            import pyspark  # noqa: F401  (only whether it is there)
        self._master, self._started = master, False
        if _current_session() is None:
            _require_java()
            if master is not None:
                _require_master(master)

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """As Engine.map, in one session, which ends with this object if it started it."""
        if parts:
            yield from _results(self._context(), fn, parts)

    def everywhere(self, fn: Callable[[Part], Result], part: Part) -> list[Result]:
        """The result of a task on as many workers as take one."""
        return list(_results(self._context(), fn, [part] * (2 * self._context().defaultParallelism)))

    def write_table(
        self, name: str, choose_columns: Callable[[pa.Schema], Sequence[str]], folder: Path
    ) -> None:
        """Have Spark write a table's columns as a new folder of Parquet.

        choose_columns: picks columns by all names and which of them hold bytes.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import AnalysisException, PySparkException

        with _without_warnings():
            from pyspark.sql import SparkSession

        if not name.strip():
            raise InputError(
                "the name of the table is empty; name a table of Spark's catalog, such as db.calls"
            )
        context = self._context()
        building = SparkSession.builder
        if (
            self._started and context.getConf().get(_WAREHOUSE) is None
        ):  # else one is left where the command runs
            building = building.config(_WAREHOUSE, f"file://{folder}.warehouse")
        session = building.getOrCreate()
        before = session.conf.get(_TIMES)
        session.conf.set(_TIMES, "TIMESTAMP_MICROS")  # the other form does not state UTC

        def write() -> None:
            rows = session.table(name)
            types = [(field.name, field.dataType.typeName()) for field in rows.schema.fields]
            schema = pa.schema(
                [(column, pa.binary() if kind == "binary" else pa.null()) for column, kind in types]
            )
            names = [f"`{column.replace('`', '``')}`" for column in choose_columns(schema)]
            context.setJobGroup(_TABLE_GROUP, "shoal: a table is written", interruptOnCancel=True)
            rows.select(names).write.parquet(f"file://{folder}", compression="snappy")

        writing = _ThreadedCall(write)
        try:
            writing.wait()
        except AnalysisException as error:  # of names and types, not of rows
            raise InputError(f"Spark cannot read the table {name} ({_first_line(error)})") from error
        except (Py4JError, PySparkException) as error:
            raise EngineError(
                f"Spark could not write the table {name} to {folder.parent} ({_innermost(error)}); every "
                "machine must be able to write there; run the same command again"
            ) from error
        finally:
            with suppress(Py4JError):  # Spark may have ended
                context.cancelJobGroup(_TABLE_GROUP)
                writing.join(_ANSWERS_WITHIN_S)
                session.conf.set(_TIMES, before)

    def _context(self) -> "SparkContext":
        context = _current_session()
        if context is None:
            begun = monotonic()
            context, self._started = start(self._master), True
            finalize(self, _stop, context)
            _require_executor(context, max(_EXECUTOR_WITHIN_S, 2 * (monotonic() - begun)))
        elif not self._started and self._master not in {None, context.master}:
            raise MisuseError(
                f"this process already has a Spark session on {context.master}; stop it, or name no "
                "other master"
            )
        return context


@contextmanager
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():  # about pandas, which is not used here
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _stop(context: "SparkContext") -> None:
    with suppress(Exception):  # Spark may have ended
        context.stop()


def _require_executor(context: "SparkContext", within_s: float) -> None:
    """Raise EngineError when a standalone master gives no worker; Spark itself waits without end."""
    if not context.master.startswith("spark://"):  # others start executors for the first task
        return
    from py4j.protocol import Py4JError

    end = monotonic() + within_s
    while True:
        try:
            if context._jsc.sc().getExecutorMemoryStatus().size() > 1:  # one of them is this process
                return
        except Py4JError as error:
            raise EngineError(
                f"the Spark master {context.master} ended the application, as it does when its workers "
                "cannot start an executor ten times; their logs say why"
            ) from error
        if monotonic() > end:
            context.stop()
            raise EngineError(
                f"the Spark master {context.master} gave no executor within {within_s:.0f} s: it has "
                "no workers, they are busy or have less than spark.executor.memory, or runs another Spark"
            )
        sleep(_LOOKS_EVERY_S)


def start(master: str | None = None) -> "SparkContext":
    """A session on a master, or here."""
    from py4j.protocol import Py4JError

    with _without_warnings():
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException
        from pyspark.java_gateway import launch_gateway

    conf = SparkConf().setAppName("shoal").set("spark.ui.showConsoleProgress", "false")
    logs = None if conf.contains("spark.log.level") else DEVNULL  # lost workers are handled here
    conf.setIfMissing("spark.log.level", "OFF")
    if master is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        return SparkContext(conf=conf)  # spark-submit has set everything else
    named = master or f"local[{available_cores()}]"
    on_this_machine = _ON_THIS_MACHINE.fullmatch(named) is not None
    if on_this_machine:
        conf.setAll(
            [
                ("spark.driver.host", "127.0.0.1"),  # no other machine can reach it
                ("spark.driver.bindAddress", "127.0.0.1"),
                ("spark.ui.enabled", "false"),
                ("spark.executorEnv.PYTHONPATH", os.pathsep.join(entry for entry in sys.path if entry)),
            ]
        )
    try:
        if on_this_machine:  # its Java part reads this from the environment only
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        with _uninterrupted():
            gateway = launch_gateway(conf, {"stderr": logs})
            SparkContext._ensure_initialized(gateway=gateway)
        with _without_warnings():
            context = SparkContext(master=_with_retries(named), conf=conf)
    except (Py4JError, PySparkException, OSError) as error:
        raise EngineError(
            f"Spark did not start on {named} ({_first_line(error)}); Spark 4 needs Java 17 or later "
            "(JAVA_HOME says which), and a master that runs the same version of Spark"
        ) from error
    if on_this_machine:
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return context


def _results(
    context: "SparkContext", fn: Callable[[Part], Result], parts: Sequence[Part]
) -> Iterator[Result]:
    done = context.accumulator([], _outcomes())
    group = f"shoal-{id(done)}"

    def ask() -> None:
        context.setJobGroup(group, "shoal: people in blocks", interruptOnCancel=True)
        numbered = context.parallelize(list(enumerate(parts)), len(parts))  # one task for each part
        numbered.foreach(partial(_carry_out, fn, done))

    asking = _ThreadedCall(ask)
    outcomes: dict[int, tuple[bool, Any]] = {}
    seen = 0
    try:
        for number in range(len(parts)):
            while number not in outcomes:
                asking.join(_LOOKS_EVERY_S)
                over = not asking.is_alive()
                arrived = done.value[seen:]
                seen += len(arrived)
                outcomes.update((place, (succeeded, outcome)) for place, succeeded, outcome in arrived)
                if over and number not in outcomes:
                    raise _error_of_lost_task(asking.fault) from asking.fault
            succeeded, outcome = outcomes.pop(number)
            if not succeeded:
                raise outcome
            yield outcome
    finally:
        if asking.is_alive():
            context.cancelJobGroup(group)
            asking.join(_ANSWERS_WITHIN_S)


def _carry_out(
    fn: Callable[[Part], Result], done: "Accumulator[list[Outcome]]", numbered: tuple[int, Part]
) -> None:
    """Run a task on a worker; its error is a result, since a second try would not help."""
    number, part = numbered
    try:
        done.add([(number, True, fn(part))])
    except Exception as error:
        done.add([(number, False, error)])


def _outcomes() -> Any:
    """What collects outcomes; its class is made here, as pyspark is imported on use."""
    from pyspark.accumulators import AccumulatorParam

    class Outcomes(AccumulatorParam):  # type: ignore[misc]  # pyspark is unknown where it is not installed
        def zero(self, _value: list[Outcome]) -> list[Outcome]:
            return []

        def addInPlace(self, value1: list[Outcome], value2: list[Outcome]) -> list[Outcome]:  # noqa: N802  (Spark's name)
            value1 += value2
            return value1

    return Outcomes()


class _ThreadedCall(Thread):
    """A call in a thread, so that nothing interrupts a message to Java."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.fault: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._call()
        except Exception as error:  # raised in the thread that waits
            self.fault = error

    def wait(self) -> None:
        while self.is_alive():
            self.join(_LOOKS_EVERY_S)
        if self.fault is not None:
            raise self.fault


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Postpone signals: a Java process that is abandoned while it starts never ends."""
    asked: list[int] = []
    stops = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    numbers = stops if current_thread() is main_thread() else ()
    handlers = {number: signal.getsignal(number) for number in numbers}
    handlers = {
        number: handler for number, handler in handlers.items() if handler not in {None, signal.SIG_IGN}
    }
    for signal_number in handlers:
        signal.signal(signal_number, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if asked:
            signal.raise_signal(asked[0])


def _error_of_lost_task(fault: Exception | None) -> EngineError:
    message = "" if fault is None else str(fault)
    missing = re.search(r"No module named '([\w.]+)'", message)
    if missing:
        return EngineError(
            f"Spark's workers do not find the module {missing[1]}; install the same version of shoal on "
            "every machine, and name that Python with PYSPARK_PYTHON"
        )
    if "PYTHON_VERSION_MISMATCH" in message:
        return EngineError(
            f"Spark's workers run another Python than {sys.version_info.major}.{sys.version_info.minor} "
            "here; name the right one with PYSPARK_PYTHON"
        )
    often = re.search(r"Task ([0-9]+) in stage \S+ failed ([0-9]+) times", message)
    if often:
        return EngineError(
            f"task {int(often[1]) + 1} was lost {often[2]} times, each time with its worker; give the "
            "executors more spark.executor.memoryOverhead or make smaller --blocks, "
            "and run the same command again"
        )
    return EngineError(
        f"Spark ended before the work did ({_first_line(fault) if fault else 'nothing more is known'}); "
        "run the same command again to continue"
    )


def _first_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error)
    return next((line.strip(" .") for line in text.splitlines() if line.strip()), type(error).__name__)


def _innermost(error: Exception) -> str:
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    if cause is None:
        return type(error).__name__
    kind = str(cause.getClass().getSimpleName())
    of_files = str(cause.getClass().getName()).startswith(("java.io.", "java.nio.", "org.apache.hadoop."))
    words = next(iter(str(cause.getMessage()).splitlines()), "") if of_files else ""
    return f"{kind}: {words}" if words else kind


def _current_session() -> "SparkContext | None":
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def _with_retries(master: str) -> str:
    local = _LOCAL.fullmatch(master)
    return f"local[{local[1] or 1},{_MOST_TRIES}]" if local else master


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else None
    if shutil.which(str(java) if java is not None else "java") is None:
        where = f"JAVA_HOME ({home}) holds no bin/java" if home else "there is none on the path"
        raise EngineError(
            f"Spark runs on Java, and {where}; install Java 17 or later, for example with apt install "
            "openjdk-17-jre-headless, or let JAVA_HOME name it"
        )


def _require_master(master: str) -> None:
    """Raise EngineError when no master answers; Spark itself waits a minute for one."""
    if master == "yarn":
        if not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & set(os.environ):
            raise EngineError("Spark finds YARN by its settings; let HADOOP_CONF_DIR name their folder")
    elif master.startswith(("spark://", "k8s://")):
        addresses = master.partition("://")[2].split(",")
        if not any(_answers(address, asked=master.startswith("spark")) for address in addresses):
            raise EngineError(
                f"no Spark master answers at {master}; start one, or check the address, such as "
                "spark://HOST:7077"
            )
    elif master.startswith("sc://"):
        raise MisuseError(
            f"'{master}' is Spark Connect, which has no RDDs, as shoal needs; name the master of "
            f"the cluster: {_FORMS}"
        )
    elif not _ON_THIS_MACHINE.fullmatch(master):
        raise MisuseError(f"'{master}' is no Spark master; it is one of {_FORMS}")


def _answers(address: str, *, asked: bool) -> bool:
    """Whether a master answers; one with a password hangs up, others stay silent."""
    try:
        place = urlsplit(address if "://" in address else f"//{address}")
        port = place.port or (443 if place.scheme == "https" else 80 if place.scheme == "http" else None)
    except ValueError:
        return False
    if place.hostname is None or port is None:
        return False
    answers: list[bool] = []

    def ask() -> None:
        try:
            with socket.create_connection((place.hostname, port), timeout=_ANSWERS_WITHIN_S) as line:
                if asked:
                    line.sendall(_QUESTION)
                    line.recv(1)
            answers.append(True)
        except ConnectionResetError:
            answers.append(True)
        except OSError:
            answers.append(False)

    asking = Thread(target=ask, daemon=True)  # looking up a name has no time limit
    asking.start()
    asking.join(_ANSWERS_WITHIN_S)
    return answers == [True]
