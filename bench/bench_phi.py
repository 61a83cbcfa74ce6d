"""Time of phi queries at 242,582 stored pairs (two-point releases of 182 contributors in one city over five years)."""

import argparse
import json
import statistics
import time

from shoal.collect.chance import Chance
from shoal.collect.cylinders import Cylinder
from shoal.collect.phi import PhiStore
from shoal.collect.records import Release
from shoal.collect.similarity import Likeness

CONTRIBUTORS, YEARS_MIN, START_MIN = 182, 5 * 365 * 1440, 37 * 365 * 1440


def city(chance: Chance, n: int) -> list[Release]:
    """Pairs around a few hundred places of a city, crowded towards its centre."""
    places = [(39.9 + 0.2 * (chance.unit() - 0.5) * chance.unit(), 116.4 + 0.3 * (chance.unit() - 0.5) * chance.unit()) for _ in range(300)]
    releases = []
    for number in range(n):
        begin = START_MIN + chance.below(YEARS_MIN)
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
        tag = chance.below(CONTRIBUTORS).to_bytes(16)
        releases.append(Release(number.to_bytes(16), tag, bytes(32), tuple(points)))
    return releases


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=242_582)
    options.add_argument("--queries", type=int, default=2_000)
    given = options.parse_args()
    chance = Chance(bytes(32))
    releases = city(chance, given.pairs)
    with PhiStore() as store:
        began = time.process_time()
        store.add_all(releases, day=0)
        stored_s = time.process_time() - began
        results: dict[str, object] = {"pairs": given.pairs, "queries": given.queries, "cpu_s_to_store": round(stored_s, 1)}
        for theta_m, theta_min in ((1_000.0, 60.0), (5_000.0, 180.0)):
            likeness, people = Likeness(theta_m=theta_m, theta_min=theta_min), 0
            wall: list[float] = []
            cpu: list[float] = []
            for _ in range(given.queries):
                asked = releases[chance.below(len(releases))]
                began, began_cpu = time.perf_counter(), time.process_time()
                people += store.count(asked.points, likeness, 1, without=asked.contributor).people
                wall.append(1000 * (time.perf_counter() - began))
                cpu.append(1000 * (time.process_time() - began_cpu))
            results[f"theta {theta_m / 1000:g} km {theta_min:g} min"] = {
                "median_ms": round(statistics.median(wall), 3),
                "p99_ms": round(statistics.quantiles(wall, n=100)[98], 3),
                "median_cpu_ms": round(statistics.median(cpu), 3),
                "p99_cpu_ms": round(statistics.quantiles(cpu, n=100)[98], 3),
                "mean_phi": round(people / given.queries, 3),
            }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
