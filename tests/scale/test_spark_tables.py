"""A table of Spark's catalog as the input of work in blocks: two executors write it, once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal as library
from command_line import Shoal
from shoal.errors import InputError
from shoal.io.read_tables import columns_drawn
from shoal.model.intake import Reading
from shoal.scale.engine_spark import SparkCluster
from shoal.synthetic import write_synthetic

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")

FILES = ("release.parquet", "manifest.json", "report.html")
IN_BLOCKS = ("--blocks", 30, "--k", 2, "--research-seed", 9, "--engine")


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 90, 2, 5)
    return path


@pytest.fixture(scope="session")
def session(spark: str, city: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session with a table, partitioned as Hive does it and with a column nobody reads; a view of it."""
    from pyspark.sql import SparkSession

    warehouse = tmp_path_factory.mktemp("warehouse")
    opened = SparkSession.builder.config("spark.sql.warehouse.dir", str(warehouse)).getOrCreate()
    rows = opened.read.parquet(f"file://{city}")
    told = rows.selectExpr("*", "cast(t div 86400 as string) as day", "'secret' as remark")
    told.coalesce(2).write.partitionBy("day").saveAsTable("calls")
    opened.sql("CREATE VIEW calls_seen AS SELECT *, make_interval(0, 0, 0, 1) AS spent FROM calls")
    rows.limit(0).write.saveAsTable("nothing")
    yield opened
    for kind, name in (("VIEW", "calls_seen"), ("TABLE", "calls"), ("TABLE", "nothing")):
        opened.sql(f"DROP {kind} {name}")


def released(shoal: Shoal, source: object, folder: Path, engine: str = "spark") -> Path:
    there = folder / "a release"
    done = shoal("anonymize", source, *IN_BLOCKS, engine, "--output", there, "--linkage", folder / "linkage")
    assert done.code == 0, done.err
    assert sorted(path.name for path in folder.iterdir()) == ["a release", "linkage"]
    return there


@pytest.fixture
def by_path(shoal: Shoal, city: Path, tmp_path: Path) -> Path:
    return released(shoal, city, tmp_path / "path", "threads")


@pytest.mark.parametrize("name", ["spark_catalog.default.`calls`", "calls_seen"])
def test_a_table_is_released_as_its_file_is(
    shoal: Shoal, session: Any, by_path: Path, city: Path, tmp_path: Path, name: str
) -> None:
    there = released(shoal, f"spark-table:{name}", tmp_path / "table")
    assert pq.read_table(there / "release.parquet") == pq.read_table(by_path / "release.parquet")
    assert session.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
    seen = shoal("verify", city, there, "--linkage", tmp_path / "table" / "linkage")
    assert seen.code == 0, seen.out


def test_what_was_written_is_the_input_from_then_on(shoal: Shoal, session: Any, tmp_path: Path) -> None:
    """Stopped after reading; the table is another one meanwhile."""
    session.sql("SELECT * FROM calls").coalesce(2).write.saveAsTable("moving")
    whole = released(shoal, "spark-table:moving", tmp_path / "whole")
    command = (
        "anonymize",
        "spark-table:moving",
        *IN_BLOCKS,
        "spark",
        "--output",
        tmp_path / "two" / "a release",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shoal.publishing.in_blocks._anonymize_unfinished", interrupted)
        assert shoal(*command, "--linkage", tmp_path / "two" / "linkage").code == 130
    parts = tmp_path / "two" / "a release.parts"
    assert parts.stat().st_mode & 0o077 == 0
    held = [pq.read_schema(path).names for path in (parts / "table").glob("*.parquet")]
    assert held
    assert all("remark" not in names for names in held)
    session.sql("DROP TABLE moving")
    assert shoal(*command, "--linkage", tmp_path / "two" / "linkage").code == 0
    for name in FILES:
        assert (tmp_path / "two" / "a release" / name).read_bytes() == (whole / name).read_bytes()
    assert not parts.exists()


def is_over(group: int) -> bool:
    """Whether no process of the group is left; if one is, a moment later."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    time.sleep(0.01)
    return False


def is_there(folder: Path, pattern: str) -> bool:
    return any(not path.name.endswith(".warehouse") for path in folder.glob(pattern))


@pytest.mark.parametrize("moment", ["a release.parts", "a release.parts/.table.partial-*"])
def test_interrupted_while_spark_starts_or_writes_it_is_one_line(
    shoal: Shoal, session: Any, by_path: Path, city: Path, tmp_path: Path, moment: str
) -> None:
    """In a process of its own, with Ctrl-C to all of its group: no Java process and no half table is left."""
    del session  # Spark and Java are here
    folder = tmp_path / "interrupted"
    folder.mkdir()
    source = f"spark-table:parquet.`{city}`"
    words = ("anonymize", source, *IN_BLOCKS, "spark:local[1]", "--output", folder / "a release")
    command = [
        sys.executable,
        "-m",
        "shoal",
        *map(str, words),
        "--linkage",
        str(folder / "linkage"),
        "--quiet",
    ]
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    while running.poll() is None and not is_there(folder, moment):
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    told = running.communicate(timeout=60)[1].splitlines()
    assert (running.returncode, told[-1].split(";")[0]) == (130, "shoal: interrupted")
    assert not [line for line in told if "Traceback" in line or line.lstrip().startswith("at ")]
    assert not (folder / "a release.parts" / "table").exists()
    assert any(is_over(running.pid) for _ in range(3000))
    assert (
        released(shoal, source, folder, "spark").joinpath("release.parquet").read_bytes()
        == (by_path / "release.parquet").read_bytes()
    )


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_table_that_cannot_be_read_is_one_line(shoal: Shoal, session: Any, tmp_path: Path) -> None:
    del session  # its tables are here
    for source, options, told in (
        ("spark-table:nowhere", (), "TABLE_OR_VIEW_NOT_FOUND"),
        ("spark-table:", (), "name a table"),
        ("spark-table:a b c", (), "PARSE_SYNTAX_ERROR"),
        ("spark-table:calls", ("--id", "nobody"), "no column 'nobody' in calls"),
        ("spark-table:calls_seen", ("--time", "spent"), "INTERVAL"),
        ("spark-table:nothing", (), "holds no rows"),
    ):
        done = shoal("anonymize", source, *options, *IN_BLOCKS, "spark", "--output", tmp_path / "release")
        assert done.code == 2, source
        assert told in done.err.splitlines()[-1]
        assert not [line for line in done.err.splitlines() if "at org." in line]
        assert not list(tmp_path.iterdir())


def test_a_folder_that_executors_cannot_write_is_one_line(session: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(library.ShoalError, match=r"could not write the table calls to .*file") as told:
        SparkCluster().write_table("calls", lambda schema: schema.names, tmp_path / "file" / "table")
    assert len(str(told.value).splitlines()) == 1


def test_without_spark_the_error_says_what_to_do(shoal: Shoal, tmp_path: Path) -> None:
    target = ("--output", tmp_path / "release")
    for words in (
        ("anonymize", "spark-table:calls", *target),
        ("anonymize", "spark-table:calls", *IN_BLOCKS, "threads", *target),
        ("anonymize", "spark-table:calls", "--memory", "4GiB", *target),
        ("anonymize", "spark-table:calls", *IN_BLOCKS, "threads", "--plan", *target),
        ("inspect", "spark-table:calls"),
        ("assess", "spark-table:calls"),
        ("verify", "spark-table:calls", tmp_path),
    ):
        done = shoal(*words)
        assert done.code == 2
        assert "--engine spark" in done.err or words[0] == "verify"
    assert not list(tmp_path.iterdir())


def test_the_columns_that_are_left_out_change_nothing() -> None:
    def drawn(*names: str, **settings: Any) -> list[str]:
        schema = pa.schema([(name, pa.binary() if name == "geometry" else pa.null()) for name in names])
        return columns_drawn("calls", schema, Reading(**settings))

    assert drawn("Uid", "t", "LAT", "lon", "name") == ["Uid", "t", "LAT", "lon"]
    assert drawn("uid", "t", "x", "y", "lat", "lon", "name", x="x", y="y") == [
        "uid",
        "t",
        "x",
        "y",
        "lat",
        "lon",
    ]
    assert drawn("uid", "t", "geometry", "name") == ["uid", "t", "geometry"]
    assert drawn("a", "b", "t", "lat", "lon", person="a", id="b") == ["a", "b", "t", "lat", "lon"]
    # known by all its columns, as US ships are, and then read in UTC
    assert drawn("MMSI", "BaseDateTime", "LAT", "LON", "SOG") == ["MMSI", "BaseDateTime", "LAT", "LON"]
    assert drawn("uid", "day", "clock", "lat", "lon", time="clock", date="day")[1:3] == ["day", "clock"]
    with pytest.raises(InputError, match="no latitude and longitude columns in calls"):
        drawn("uid", "t")


def test_spark_reads_a_partitioned_release_back(
    shoal: Shoal, session: Any, by_path: Path, tmp_path: Path
) -> None:
    for form, by_day in (("parquet-by-day", True), ("parquet-parts", False)):
        done = shoal("publish", by_path, "--to", tmp_path / "out", "--format", form)
        assert done.code == 0, done.err
        rows = session.read.parquet(f"file://{tmp_path / 'out' / 'data'}")
        assert rows.count() == pq.read_metadata(by_path / "release.parquet").num_rows
        assert ("day" in rows.columns) == by_day
        shutil.rmtree(tmp_path / "out")
