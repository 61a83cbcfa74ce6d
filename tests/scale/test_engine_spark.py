"""What the Spark engine says before any work: a missing library, Java or master.

Its work is in test_every_engine.
"""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from shoal.errors import EngineError, MissingExtraError, MisuseError
from shoal.scale import engine_spark
from shoal.scale.engines import engine_of


@contextmanager
def listening(answer: bytes | None) -> Iterator[int]:
    """A port where somebody takes one call and answers, or says nothing."""
    with socket.socket() as ear:
        ear.bind(("127.0.0.1", 0))
        ear.listen()

        def serve() -> None:
            line, _ = ear.accept()
            with line:
                if len(line.recv(64)) == 21 and answer is not None:
                    line.sendall(answer)
                else:
                    over.wait()

        over = threading.Event()
        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield ear.getsockname()[1]
        over.set()
        serving.join()


def test_spark_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal\[spark\]'"):
        engine_of("spark")


def test_java_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match="there is none on the path; install Java 17"):
        engine_spark._require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=r"JAVA_HOME .* holds no bin/java"):
        engine_spark._require_java()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o755)
    engine_spark._require_java()


def test_a_wrong_master_is_an_error_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_spark._ANSWERS_WITHIN_S < 8  # with what else a command does, within 10 s
    monkeypatch.setattr(engine_spark, "_ANSWERS_WITHIN_S", 0.3)
    with listening(None) as mute:
        for master in (
            f"spark://127.0.0.1:{mute}",
            "spark://127.0.0.1:1",
            "spark://127.0.0.1",
            "spark://127.0.0.1:port",
            "spark://no-such-host.invalid:7077",
            "k8s://https://127.0.0.1:1",
        ):
            with pytest.raises(EngineError, match=f"no Spark master answers at {master}"):
                engine_spark._require_master(master)
    wrong = ("local[", "local[2", "local[0]", "local[x]", "local[2,0]", "local-cluster[2,1]")
    for name in ("", "nonsense", "mesos://127.0.0.1:5050", *wrong):
        with pytest.raises(MisuseError, match="is no Spark master; it is one of"):
            engine_spark._require_master(name)


def test_masters_that_answer_or_need_no_answer_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(b"\0\0\0") as port:
        engine_spark._require_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")  # one of two is enough
    for name in ("local", "local[*]", "local[4]", "local[4,2]", "local-cluster[2,1,1024]"):
        engine_spark._require_master(name)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    with pytest.raises(EngineError, match="let HADOOP_CONF_DIR name their folder"):
        engine_spark._require_master("yarn")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    engine_spark._require_master("yarn")


def test_spark_connect_is_refused_in_words() -> None:
    with pytest.raises(MisuseError, match=r"'sc://HOST:15002' is Spark Connect, which has no RDDs"):
        engine_spark._require_master("sc://HOST:15002")


class Session:
    """As much of a session as an engine looks at."""

    defaultParallelism = 1  # noqa: N815  (its name in Spark)

    def __init__(self, master: str, executors: int) -> None:
        self.master, self.stopped = master, 0
        sizes = SimpleNamespace(size=lambda: executors + 1)
        inner = SimpleNamespace(getExecutorMemoryStatus=lambda: sizes)
        self._jsc = SimpleNamespace(sc=lambda: inner)

    def stop(self) -> None:
        self.stopped += 1


def test_a_command_has_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    sessions: list[Session] = []

    def start(master: str | None) -> Session:
        sessions.append(Session(master or "local[2]", 0))
        return sessions[-1]

    monkeypatch.setattr(engine_spark, "start", start)
    monkeypatch.setattr(engine_spark, "_current_session", lambda: sessions[-1] if sessions else None)
    monkeypatch.setattr(engine_spark, "_require_java", lambda: None)
    monkeypatch.setattr(engine_spark, "_results", lambda _, fn, parts: map(fn, parts))
    engine = engine_of("spark:local[2,3]")
    for _ in range(3):
        assert list(engine.map(abs, [-1, 2])) == [1, 2]
    assert [session.stopped for session in sessions] == [0]
    del engine
    assert [session.stopped for session in sessions] == [1]


def test_a_standalone_master_without_workers_is_named() -> None:
    pytest.importorskip("py4j")
    empty = Session("spark://HOST:7077", 0)
    with pytest.raises(EngineError, match=r"master spark://HOST:7077 gave no executor within 0 s: it has no"):
        engine_spark._require_executor(empty, 0.1)
    assert empty.stopped == 1
    for served in (Session("spark://HOST:7077", 1), Session("yarn", 0)):
        engine_spark._require_executor(served, 0.1)
        assert served.stopped == 0


def test_a_master_that_ended_the_application_is_named() -> None:
    """Its workers have no Spark of their own, or no Java: ten executors did not start."""
    protocol = pytest.importorskip("py4j.protocol")
    session = Session("spark://HOST:7077", 0)
    session._jsc.sc().getExecutorMemoryStatus = Mock(side_effect=protocol.Py4JError("stopped SparkContext"))
    with pytest.raises(EngineError, match=r"HOST:7077 ended the application, as it does when its workers"):
        engine_spark._require_executor(session, 5.0)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("... ModuleNotFoundError: No module named 'shoal.scale'", "do not find the module shoal.scale"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "run another Python than"),
        ("Task 6 in stage 0.0 failed 4 times, most recent failure", "task 7 was lost 4 times"),
        ("SparkContext was shut down.\nat org.apache", r"did \(SparkContext was shut down\); run the same"),
    ],
)
def test_why_work_ended_is_one_sentence(told: str, said: str) -> None:
    error = engine_spark._error_of_lost_task(RuntimeError(told))
    assert len(str(error).splitlines()) == 1
    with pytest.raises(EngineError, match=said):
        raise error


def test_a_lost_task_is_done_again_on_this_machine_too() -> None:
    masters = ("local", "local[*]", "local[3]", "local[3,1]", "yarn")
    assert [engine_spark._with_retries(master) for master in masters] == [
        "local[1,4]",
        "local[*,4]",
        "local[3,4]",
        "local[3,1]",
        "yarn",
    ]
