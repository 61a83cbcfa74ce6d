"""Clusters of swapping from a matrix of distances, which several settings share."""

import numpy as np

from shoal.methods.swapping.exchange import Clustering, add_leftovers, microaggregate
from shoal.runtime.arrays import Flags, Floats, Integers


def clusters_of(distances: Floats, k: int, clustering: Clustering) -> list[Integers]:
    """Groups of k to 2 k - 1 positions, each ascending, that cover everybody."""
    # distances: [n, n], symmetric, finite, with n >= k; unchanged at the end
    if clustering == "mdav":
        return microaggregate(distances, k)
    ungrouped = np.ones(len(distances), dtype=np.bool_)
    groups = _greedy(distances, k, ungrouped)
    return add_leftovers(groups, np.flatnonzero(ungrouped), lambda position: distances[position])


def _greedy(distances: Floats, k: int, ungrouped: Flags) -> list[Integers]:
    """The closest two, then whichever adds least, to k. Updates ``ungrouped``."""
    apart, own_distances = distances, distances.diagonal().copy()
    np.fill_diagonal(apart, np.inf)  # for now: a copy would double the memory
    nearest = np.argmin(apart, axis=1)
    # to the nearest that was left when it was looked up, so never too large
    least = apart[np.arange(len(apart)), nearest]
    groups = []
    for _ in range(np.count_nonzero(ungrouped) // k):
        first = int(np.argmin(least))
        while not ungrouped[nearest[first]]:
            to_others = np.where(ungrouped, apart[first], np.inf)
            nearest[first] = np.argmin(to_others)
            least[first] = to_others[nearest[first]]
            first = int(np.argmin(least))
        group = [first, int(nearest[first])]
        added = np.where(ungrouped, apart[group].sum(axis=0), np.inf)
        while len(group) < k:
            group.append(int(np.argmin(added)))
            added += apart[group[-1]]
        groups.append(np.array(group))
        ungrouped[group], least[group] = False, np.inf
    np.fill_diagonal(apart, own_distances)
    return groups
