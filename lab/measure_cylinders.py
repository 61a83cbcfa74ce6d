"""Readings of W4M: where a cluster's cylinder stands, and which lives are alike.

    python lab/measure_cylinders.py [--subjects 1000] [--days 7] [--k 5] [--delta 500] [--speed 1]

A synthetic city. The cylinder stands around the middle of the members (shoal) or around the pivot, whom all
others are moved to. Near: kept samples that are published within 500 m and 120 s. Lives are compared at equal
fractions, in place and time (shoal), in place alone, or in place at equal times; or their samples are, by
edits.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np

import shoal
from shoal.methods.co_location import w4m
from shoal.methods.co_location.clusters import Cluster, interpolate_places, move_into_cylinder
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats
from shoal.runtime.run import Run

NEAR_M, NEAR_S = 500.0, 120.0


def pivot_of(original: Trajectories, cluster: Cluster) -> int:
    """The position of the member whose times are the cluster's."""
    same = (cluster.source >= 0) & (original.t[cluster.source] == cluster.t)
    return int(np.argmax(same.all(axis=1)))


def around(x: Floats, y: Floats, pivot: int, delta_m: float) -> tuple[Floats, Floats]:
    """Points [n, s] moved the shortest way to within delta_m / 2 of the pivot's."""
    away = np.hypot(x - x[pivot], y - y[pivot])
    shrink = np.minimum(delta_m / 2 / np.maximum(away, delta_m / 2), 1.0) if delta_m else np.zeros(x.shape)
    return x[pivot] + (x - x[pivot]) * shrink, y[pivot] + (y - y[pivot]) * shrink


def in_place_alone(people: Trajectories, _speed_m_s: float) -> Floats:
    return lives(people, 1.0)[:, :, :2]


def at_equal_times(people: Trajectories, _speed_m_s: float) -> Floats:
    at = np.linspace(people.t.min(), people.t.max(), 256)
    return np.stack([np.stack(interpolate_places(at, samples), axis=1) for samples in people])


lives = w4m._sample_lives
READINGS: dict[str, Callable[[Trajectories, float], Floats]] = {
    "fractions": lives,
    "fractions, places alone": in_place_alone,
    "equal times": at_equal_times,
    "edits": lives,
}


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=1000)
    options.add_argument("--days", type=int, default=7)
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--delta", type=float, default=500.0)
    options.add_argument("--speed", type=float, default=1.0)
    asked = options.parse_args(arguments)
    original = shoal.read(shoal.synthesize(asked.subjects, asked.days, 1), snap=False)
    method = w4m.W4m(k=asked.k, delta_m=asked.delta, speed_m_s=asked.speed)
    print("| lives compared by | around | mean move | mean time error | near |\n|---|---|---|---|---|")
    for reading, sample_lives in READINGS.items():
        with patch.object(w4m, "_sample_lives", sample_lives):
            clusters = replace(method, distance="edr" if reading == "edits" else "lst").clusters(
                original, Run()
            )
        moves: dict[str, list[Floats]] = {"the middle": [], "the pivot": []}
        for cluster in clusters:
            kept = cluster.source >= 0
            raw = cluster.source[kept]
            late = np.abs(np.broadcast_to(cluster.t, kept.shape)[kept] - original.t[raw])
            for place, (x, y) in (
                ("the middle", move_into_cylinder(cluster.x, cluster.y, asked.delta)),
                ("the pivot", around(cluster.x, cluster.y, pivot_of(original, cluster), asked.delta)),
            ):
                meters = np.hypot(x[kept] - original.x[raw], y[kept] - original.y[raw])
                moves[place].append(np.stack([meters, late]))
        for place, parts in moves.items():
            meters, late = np.concatenate(parts, axis=1)
            near = float(((meters <= NEAR_M) & (late <= NEAR_S)).mean())
            print(
                f"| {reading} | {place} | {meters.mean():,.0f} m | {late.mean():,.0f} s | {near:.1%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
