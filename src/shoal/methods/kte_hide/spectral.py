"""Spectral clusters by k-merge costs (Gramaglia et al. 2017, Alg. 2, lines 2-5).

The paper leaves their number open. Here, if everybody stayed in one cluster, twice as many of its people as
hide one person would be active in all epochs of a window. Blocks of a few hundred neighbors bound the
matrix.
"""

import math
from functools import partial
from typing import Final

import numpy as np

from shoal.errors import requiring_extra
from shoal.kernels.hiding import pair_costs
from shoal.methods.kte_hide.hiding_sets import WINDOWS_A_PART, Epochs
from shoal.model.neighborhoods import bisect_rows, order_by_longest_axis
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Arrays
from shoal.runtime.run import Run

_LARGEST_BLOCK = 400
_REPRESENTATIVES: Final = 4  # of each cluster, where k-means comes first
_LABEL: Final = "clustering epochs"


def cluster_size(epochs: Epochs, k: int) -> int:
    """2 (1 + w (k - 1)) over the share of people active all through a window."""
    follows = (np.diff(epochs.subject) == 0) & (np.diff(epochs.epoch) == 1)
    stays = max(float(follows.mean()), 0.05) if len(follows) else 1.0
    return math.ceil(2 * (1 + epochs.width * (k - 1)) / stays ** (epochs.width - 1))


def spectral_states(
    epochs: Epochs, k: int, run: Run, *, size: int | None = None, kasp: bool = False
) -> Integers:
    """int64 [pieces]: clusters, counted from 1 in every epoch; needs scikit-learn."""
    # size: people per cluster, None = ``cluster_size``. kasp: k-means first, then the spectral step on one
    # piece near each mean (Yan, Huang and Jordan 2009, cited by the paper).
    with requiring_extra("hiding sets from spectral clusters need scikit-learn", "spectral"):
        from sklearn.cluster import spectral_clustering
    size = cluster_size(epochs, k) if size is None else size
    states = np.empty(len(epochs.subject), dtype=np.int64)

    def cluster(epoch: int) -> None:
        inside = epochs.by_epoch[epochs.starts[epoch] : epochs.starts[epoch + 1]]
        first = epochs.pieces.first[inside]
        places = np.stack([epochs.pieces.x[first], epochs.pieces.y[first]], axis=1)
        used = 1
        ordering = order_by_longest_axis(places)
        for rows in bisect_rows(
            np.arange(len(inside)),
            lambda selected, cut: ordering(np.sort(selected), cut),
            most=_LARGEST_BLOCK,
        ):
            number_of_clusters = len(rows) // size
            labels = np.zeros(len(rows), dtype=np.int64)
            if number_of_clusters > 1:
                chosen, stands_for = np.arange(len(rows)), np.arange(len(rows))
                if kasp:
                    chosen, stands_for = _choose_representatives(epochs, inside[rows], number_of_clusters)
                costs = pair_costs(epochs.pieces, inside[rows[chosen]], 0).astype(np.float64)
                affinity = 1 / (1 + costs / np.median(costs))
                labels = spectral_clustering(
                    affinity,
                    n_clusters=number_of_clusters,
                    eigen_solver="arpack",
                    assign_labels="cluster_qr",
                    random_state=0,
                ).astype(np.int64)[stands_for]
            states[inside[rows]] = used + labels
            used += max(number_of_clusters, 1)

    def block(begin: int, stop: int) -> Arrays:
        for _ in run.map(cluster, list(range(begin, stop))):
            pass
        return {"states": states[epochs.by_epoch[epochs.starts[begin] : epochs.starts[stop]]]}

    for begin in range(0, epochs.count, WINDOWS_A_PART):
        run.progress(_LABEL, begin, epochs.count)
        stop = min(begin + WINDOWS_A_PART, epochs.count)
        inside = epochs.by_epoch[epochs.starts[begin] : epochs.starts[stop]]
        states[inside] = run.load_or_make(f"clusters-{begin}", partial(block, begin, stop))["states"]
    run.progress(_LABEL, epochs.count, epochs.count)
    return states


def _choose_representatives(epochs: Epochs, pieces: Integers, n_clusters: int) -> tuple[Integers, Integers]:
    # a piece is its mean place in cells and its first slot; a cluster has several representatives
    from sklearn.cluster import KMeans

    rows = np.repeat(np.arange(len(pieces)), epochs.samples[pieces])
    first = epochs.pieces.first[pieces]
    at = first[rows] + np.arange(len(rows)) - np.searchsorted(rows, rows)
    count = np.bincount(rows)
    places = [np.bincount(rows, weights=axis[at]) / count for axis in (epochs.pieces.x, epochs.pieces.y)]
    features = np.stack([*places, epochs.pieces.t[first]], axis=1)
    means = KMeans(min(_REPRESENTATIVES * n_clusters, len(pieces)), n_init=1, random_state=0).fit(features)
    away = ((features - means.cluster_centers_[means.labels_]) ** 2).sum(axis=1)
    order = np.lexsort((away, means.labels_))
    labels, begins = np.unique(means.labels_[order], return_index=True)
    return order[begins], np.searchsorted(labels, means.labels_)
