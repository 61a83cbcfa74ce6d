"""Slow and obvious oracles of swapping.

The paper's distance by synchronizing everything, swap sets by trying everything, paths by relaxing edges.
"""

from itertools import combinations, pairwise

import numpy as np

from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats


def synchronized_distance(original: Trajectories, i: int, j: int) -> float:
    """Def. 10 and 12 after Alg. 1: interpolate both at every stamp of the data set in the overlap, and sum.

    inf without an overlap.
    """
    (ti, xi, yi), (tj, xj, yj) = original.samples_of(i), original.samples_of(j)
    begin, end = max(ti[0], tj[0]), min(ti[-1], tj[-1])
    if not (ti[0] < ti[-1] and tj[0] < tj[-1] and begin < end):
        return np.inf
    percent = 100 * min((end - begin) / (ti[-1] - ti[0]), (end - begin) / (tj[-1] - tj[0]))
    stamps = np.unique(original.t)
    stamps = stamps[(stamps >= begin) & (stamps <= end)]
    gap_x = np.interp(stamps, ti, xi) - np.interp(stamps, tj, xj)
    gap_y = np.interp(stamps, ti, yi) - np.interp(stamps, tj, yj)
    return float(np.sqrt((gap_x**2 + gap_y**2).sum() / len(stamps) ** 2) / percent)


def floyd_warshall(lengths: Floats) -> Floats:
    """All shortest paths, one middle after the other."""
    found = lengths.copy()
    for middle in range(len(found)):
        found = np.minimum(found, found[:, middle, None] + found[None, middle, :])
    return found


def swap_sets(
    original: Trajectories, members: list[int], time_threshold_s: float, space_threshold_m: float
) -> list[list[int]]:
    """Alg. 3, lines 3 to 13, triple by triple."""
    sets: list[list[int]] = []
    used: set[int] = set()
    t, x, y = original.t, original.x, original.y

    def apart(a: int, b: int) -> float:
        return float(
            np.hypot(x[a] - x[b], y[a] - y[b]) / space_threshold_m + abs(t[a] - t[b]) / time_threshold_s
        )

    for leading in range(original.offsets[members[0]], original.offsets[members[0] + 1]):
        chosen = [leading]
        for member in members[1:]:
            rows = [
                row
                for row in range(original.offsets[member], original.offsets[member + 1])
                if row not in used
                and abs(t[row] - t[leading]) <= time_threshold_s
                and np.hypot(x[row] - x[leading], y[row] - y[leading]) <= space_threshold_m
            ]
            if not rows:
                break
            chosen.append(
                min(rows, key=lambda row: (round(sum(apart(row, other) for other in chosen), 9), row))
            )
        else:
            sets.append(chosen)
            used.update(chosen)
    return sets


def inside_by_stepping(
    line: tuple[Floats, Floats, Floats],
    region: tuple[Floats, Floats, Floats],
    begin: float,
    end: float,
    steps: int = 4001,
) -> tuple[float, float]:
    """The least and the greatest distance on a fine grid of moments of the interval.

    Inf at moments when one is not defined.
    """
    moments = np.unique(np.concatenate([np.linspace(begin, end, steps), line[0], region[0]]))
    moments = moments[(moments >= begin) & (moments <= end)]
    both = (moments >= max(line[0][0], region[0][0])) & (moments <= min(line[0][-1], region[0][-1]))
    away = [
        np.interp(moments[both], line[0], line[i]) - np.interp(moments[both], region[0], region[i])
        for i in (1, 2)
    ]
    distance = np.hypot(*away)
    return (float(distance.min()) if both.any() else np.inf), (
        float(distance.max()) if both.all() else np.inf
    )


def lengths_by_relaxing(
    n_nodes: int, edges: list[tuple[int, int, float]], places: list[tuple[int, float]]
) -> Floats:
    """Path lengths between places (edge, meters from its end u).

    Every place becomes a node of its own, and every edge is cut there.
    """
    n = n_nodes + len(places)
    matrix = np.full((n, n), np.inf)
    np.fill_diagonal(matrix, 0)
    for e, (u, v, length) in enumerate(edges):
        on_edge = sorted((along, n_nodes + i) for i, (edge, along) in enumerate(places) if edge == e)
        stops = [(0.0, u), *on_edge, (length, v)]
        for (here, a), (there, b) in pairwise(stops):
            matrix[a, b] = matrix[b, a] = min(matrix[a, b], there - here)
    return floyd_warshall(matrix)[n_nodes:, n_nodes:]


def mdav_groups(distances: Floats, k: int) -> list[list[int]]:
    """MDAV (Domingo-Ferrer and Torra 2005), with the medoid of those left as their middle, in order.

    The farthest from the middle takes its k - 1 nearest, then the farthest from it does; up to k - 1 left at
    the end join the group to which they are nearest in sum.
    """
    rest, groups = list(range(len(distances))), []
    extreme: int | None = None
    while len(rest) >= k:
        middle = extreme
        if middle is None:
            middle = min(rest, key=lambda i: (sum(distances[i][j] for j in rest), i))
        seed = max(rest, key=lambda i: (distances[middle][i], -i))
        others = sorted((i for i in rest if i != seed), key=lambda i: (distances[seed][i], i))
        groups.append([seed, *others[: k - 1]])
        rest = [i for i in rest if i not in groups[-1]]
        extreme = None if extreme is not None else seed
    return _with_rest(groups, rest, distances)


def greedy_groups(distances: Floats, k: int) -> list[list[int]]:
    """Sec. 7.1.1: the closest two that are left, then whichever adds least; the rest join as in MDAV."""
    rest, groups = list(range(len(distances))), []
    while len(rest) >= k:
        closest = min(combinations(rest, 2), key=lambda pair: (distances[pair], pair))
        group = list(closest)
        while len(group) < k:
            others = [i for i in rest if i not in group]
            group.append(min(others, key=lambda i: (sum(distances[i][j] for j in group), i)))
        groups.append(group)
        rest = [i for i in rest if i not in group]
    return _with_rest(groups, rest, distances)


def _with_rest(groups: list[list[int]], rest: list[int], distances: Floats) -> list[list[int]]:
    formed = [list(group) for group in groups]
    for one in rest:
        sums = [sum(distances[one][i] for i in group) for group in formed]
        groups[sums.index(min(sums))].append(one)
    return [sorted(group) for group in groups]
