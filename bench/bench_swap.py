"""How long the distances of all trajectories, clustering, swapping and trading places take.

    python bench/bench_swap.py --points FILE [--trajectories 4547] [--k 5]
        [--nodes FILE --edges FILE --reach-points FILE]

points: taxis as in tables_swap.py; the trips with most points are taken, each cut to 93. Compiles every
kernel on a few trips first. Prints seconds by the clock and CPU seconds of all threads.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import shoal
from shoal.io.formats.street_files import read_streets
from shoal.measures.trajectory_distance import trajectory_distances
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from tables_swap import read_taxis

POINTS = 93


def timed(words: str, work: Callable[[], Any]) -> Any:
    """The result, with what it took printed."""
    began, began_wall = time.process_time(), time.perf_counter()
    result = work()
    print(
        f"{words}: {time.perf_counter() - began_wall:.1f} s by the clock, {time.process_time() - began:.1f} "
        "CPU s",
        flush=True,
    )
    return result


def longest(original: Trajectories, count: int) -> Trajectories:
    """The trips with most points, each cut to the first 93."""
    kept = original.keep(np.argsort(-original.lengths, kind="stable")[:count])
    within = np.arange(kept.n_samples) - np.repeat(kept.offsets[:-1], kept.lengths)
    rows = within < POINTS
    ids = np.repeat(np.array(kept.ids), kept.lengths)[rows]
    return Trajectories.from_rows(ids.tolist(), kept.t[rows], kept.x[rows], kept.y[rows], crs=kept.crs)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--points", required=True)
    options.add_argument("--trajectories", type=int, default=4547)
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--nodes")
    options.add_argument("--edges")
    options.add_argument("--reach-points")
    asked = options.parse_args()
    trips = read_taxis(asked.points)
    few, many = longest(trips, 40), longest(trips, asked.trajectories)
    method = SwapLocations(k=asked.k, time_threshold_s=1200, space_threshold_m=16_000)
    method.anonymize(few, Randomness.from_system())
    print(f"{many}, {many.lengths.mean():.0f} points a trip")
    found = timed("all distances", lambda: trajectory_distances(many))
    print(f"{np.isfinite(found.matrix).mean():.1%} of pairs overlap")
    release, linkage = timed(
        f"distances with paths, clusters, swaps, k = {asked.k}",
        lambda: method.anonymize(many, Randomness.from_system()),
    )
    timed("verified", lambda: shoal.verify(many, release, linkage))
    if asked.nodes:
        table = pq.read_table(asked.reach_points, columns=["user_id", "t", "x", "y"])
        original = shoal.read(table, snap=False, crs="local", time_unit="1s")
        streets = read_streets(asked.nodes, asked.edges)
        for space in (1_000, 10_000, 1_000_000):
            reach = ReachLocations(k=10, time_threshold_s=100, space_threshold_m=space, streets=streets)
            timed(
                f"{original}, reach, k = 10, R^s = {space:,}",
                partial(reach.anonymize, original, Randomness.from_system()),
            )


if __name__ == "__main__":
    main()
