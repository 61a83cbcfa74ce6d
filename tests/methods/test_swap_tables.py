"""The paper's Table 4 on real data.

What explains its removed locations, and that our clusters lose far fewer.
"""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import shoal
from shoal.kernels.swap_sets import form_swap_sets
from shoal.measures.trajectory_distance import trajectory_distances
from shoal.methods.swapping.microaggregation import microaggregate
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers

PAPER = {2: 34, 4: 58, 6: 69, 8: 75, 10: 79, 15: 84}  # removed locations in percent, R^s = 10^6, R^t = 100


def removed_percent(original: Trajectories, clusters: list[Integers], draw: np.random.Generator) -> float:
    used = np.zeros(original.n_samples, dtype=np.bool_)
    for cluster in clusters:
        members = draw.permutation(cluster)
        room = np.empty((int(original.lengths[members[0]]), len(members)), dtype=np.int64)
        form_swap_sets(original.offsets, original.t, original.x, original.y, members, 100.0, 1e6, used, room)
    return 100 * (1 - float(used.mean()))


def test_random_clusters_remove_what_the_paper_removed_and_def_12_removes_far_less(shared_data: Path) -> None:
    table = pq.read_table(
        shared_data / "oldenburg_brinkhoff_1000.parquet", columns=["user_id", "t", "x", "y"]
    )
    original = shoal.read(table, snap=False, crs="local", time_unit="1s")
    found = trajectory_distances(original, paths="disjoint")
    assert found.not_comparable == 10  # as many as the paper removed
    assert found.elsewhere == 0
    kept, draw = found.kept, np.random.default_rng(1)
    distances = found.matrix[np.ix_(kept, kept)]
    for k, paper in PAPER.items():
        at_random = [kept[group] for group in np.array_split(draw.permutation(len(kept)), len(kept) // k)]
        assert abs(removed_percent(original, at_random, draw) - paper) < 5
        close = [kept[group] for group in microaggregate(distances, k, "greedy")]
        assert removed_percent(original, close, draw) < paper - 15
