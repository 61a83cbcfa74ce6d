"""Whether a Kalman filter joins swapped points better than last steps do (docs/attacks.md).

    python lab/measure_kalman.py oldenburg|taxis --points FILE [--k 4] [--hours 3] [--seeds 0 1 2]

As in measure_tracks.py the tracker knows which records form a cluster. *Last steps*: each point moves on as
it came. The filter (src/shoal/kernels/kalman.py) has errors of Gauss' law (a million degrees of freedom) or,
with heavy tails, of one degree; its first links are those of the least distance, or those by last steps.
Prints means over seeds, and the range.
"""

import argparse

import numpy as np

import shoal
from measure_tracks import Join, as_track, rates, read_points
from shoal.attacks.clusters import by_last_steps
from shoal.kernels.kalman import join_with_filter
from shoal.kernels.tracking import join_points
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness

STEPS = 2  # rounds by last steps, and by the filter, as many as the attack has
ROUNDS = 3


def by_kalman(freedom: float, steps: int) -> Join:
    """Joining by the filter, after so many rounds by last steps."""

    def join(t: Floats, x: Floats, y: Floats, tracks: int) -> Integers:
        start = join_points(t, x, y, tracks, steps)
        return np.asarray(join_with_filter(t, x, y, start, tracks, ROUNDS, freedom))

    return join


COSTS: dict[str, Join] = {
    "last steps": by_last_steps,
    "Gaussian": by_kalman(1e6, 0),
    "heavy tails": by_kalman(1.0, 0),
    "Gaussian, after last steps": by_kalman(1e6, STEPS),
    "heavy tails, after last steps": by_kalman(1.0, STEPS),
    "what bends less, as `track`": as_track,
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", choices=("oldenburg", "taxis"))
    options.add_argument("--points", required=True)
    options.add_argument("--k", type=int, default=4)
    options.add_argument("--hours", type=float, default=3, help="of taxis")
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    asked = options.parse_args()
    original, time_s, far_m = read_points(asked.data, asked.points, asked.hours)
    method = SwapLocations(k=asked.k, time_threshold_s=time_s, space_threshold_m=far_m)
    clusters = method.clusters(original, shoal.Run())
    runs = [method.swap(original, *clusters, Randomness.for_research(seed)) for seed in asked.seeds]
    print(f"{original.n_subjects} trajectories, {original.n_samples} points, k = {asked.k}\n")
    print("| cost of a link | rejoined | whole |\n|---|---|---|")
    for name, join in COSTS.items():
        found = np.array([rates(original, *run, join)[:2] for run in runs])
        told = [f"{one.mean():.1%} ({one.min():.1%} to {one.max():.1%})" for one in found.T]
        print(f"| {name} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
