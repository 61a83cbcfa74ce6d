"""The paper's Table 4 on real data: which reading of the distance gives all of it, and which does not."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import shoal
from shoal.kernels.passing import Lines
from shoal.kernels.swap_sets import form_swap_sets
from shoal.measures.trajectory_distance import Paths, Penalty, trajectory_distances
from shoal.methods.swapping.exchange import microaggregate
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers

MOST = 1e6
PAPER = {2: 34, 4: 58, 6: 69, 8: 75, 10: 79, 15: 84}  # removed locations in percent, R^s = 10^6, R^t = 100
BELOW = {899: 45, 257: 62}  # k = 2, at the R^s of Table 2


def removed_percent(
    original: Trajectories, clusters: list[Integers], space_m: float, draw: np.random.Generator
) -> float:
    used = np.zeros(original.n_samples, dtype=np.bool_)
    for cluster in clusters:
        members = draw.permutation(cluster)
        room = np.empty((int(original.lengths[members[0]]), len(members)), dtype=np.int64)
        form_swap_sets(
            Lines(original.offsets, original.t, original.x, original.y), members, 100.0, space_m, used, room
        )
    return 100 * (1 - float(used.mean()))


def clusters_of(
    original: Trajectories, ks: Iterable[int], penalty: Penalty, paths: Paths
) -> dict[int, list[Integers]]:
    found = trajectory_distances(original, paths=paths, penalty=penalty)
    assert found.not_comparable == 10  # as many as the paper removed
    assert found.elsewhere == 0
    distances = found.matrix[np.ix_(found.kept, found.kept)]
    return {k: [found.kept[group] for group in microaggregate(distances, k)] for k in ks}


def test_shortest_paths_without_penalty_remove_what_the_paper_removed(shared_data: Path) -> None:
    """Clusters drawn at random match the row at R^s = 10^6, too, and lose nearly all below it."""
    table = pq.read_table(
        shared_data / "oldenburg_brinkhoff_1000.parquet", columns=["user_id", "t", "x", "y"]
    )
    original = shoal.read(table, snap=False, crs="local", time_unit="1s")
    draw = np.random.default_rng(1)
    lasting = np.flatnonzero(original.lengths > 1)
    as_paper = clusters_of(original, PAPER, "none", "all")
    by_definition = clusters_of(original, PAPER, "inverse", "disjoint")
    for k, paper in PAPER.items():
        assert abs(removed_percent(original, as_paper[k], MOST, draw) - paper) < 3
        assert removed_percent(original, by_definition[k], MOST, draw) < paper - 15
    at_random = [np.sort(pair) for pair in np.array_split(draw.permutation(lasting), len(lasting) // 2)]
    assert abs(removed_percent(original, at_random, MOST, draw) - PAPER[2]) < 3
    for space_m, paper in BELOW.items():
        assert abs(removed_percent(original, as_paper[2], space_m, draw) - paper) < 12
        assert removed_percent(original, at_random, space_m, draw) > 95
