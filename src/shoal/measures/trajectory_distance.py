"""Distances between synchronized trajectories, penalized for little overlap.

Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 4. Between courses that never overlap it is the shortest path
through courses that do, if any. Trajectories with fewer than two distinct times have none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.shortest_paths import (
    Distances,
    Edges,
    components,
    distances_from,
    shortest_path_edges,
    symmetric_edges,
)
from shoal.kernels.trajectory_distance import Courses, Stamps, distances_to_later
from shoal.model.argument_checks import require_trajectories
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Flags, Floats, Integers, Numbers, offsets_of
from shoal.runtime.run import Run

Paths = Literal["none", "disjoint", "all"]
PATHS: Final[tuple[str, ...]] = get_args(Paths)
Penalty = Literal["inverse", "inverse-square", "none"]
# the power of the percentage of common time that divides a distance: Def. 12, and what Sec. 4.3 leaves open
PENALTY_POWERS: Final[Mapping[str, int]] = {"inverse": 1, "inverse-square": 2, "none": 0}

# times are whole seconds, else milliseconds, else rounded to microseconds
_TICKS_PER_S: Final = (1, 1_000, 1_000_000)
_ROWS_PER_PART: Final = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class TrajectoryDistances:
    """The distances of n trajectories.

    Parameters
    ----------
    matrix : float64 [n, n]
        Symmetric, inf where there is no distance, or none was requested.
    component : int64 [n]
        0 for the largest component of the distance graph, then by falling size; -1 for a trajectory with
        fewer than two distinct times, which is not comparable with anything (Def. 10).
    """

    matrix: Floats
    component: Integers

    @property
    def kept(self) -> Integers:
        """Those in the largest component."""
        return np.flatnonzero(self.component == 0)

    @property
    def not_comparable(self) -> int:
        """Trajectories with fewer than two distinct times."""
        return int(np.count_nonzero(self.component < 0))

    @property
    def elsewhere(self) -> int:
        """Comparable ones outside the largest component."""
        return int(np.count_nonzero(self.component > 0))


@typed
def trajectory_distances(
    trajectories: Trajectories, *, paths: Paths = "none", penalty: Penalty = "inverse", run: Run | None = None
) -> TrajectoryDistances:
    """The distance of every two trajectories, in meters per percent of overlap.

    Simultaneous fixes of one trajectory count as one, at their mean. Takes 8 n^2 bytes of memory.

    Parameters
    ----------
    trajectories : Trajectories
        n of them, as given or snapped.
    paths : {"none", "disjoint", "all"}
        "none" leaves pairs without overlap at inf. "disjoint" gives them the length of the shortest path and
        keeps the direct value of those that overlap, as Def. 12 stands. "all" takes the shortest path
        everywhere, as the paper's paragraph on Floyd-Warshall does.
    penalty : {"inverse", "inverse-square", "none"}
        Penalty for little common time: "inverse" divides by its percentage p, as Def. 12 does,
        "inverse-square" by its square, which Sec. 4.3 allows. "none" does neither; distances are then in
        meters over the root of the number of stamps.
    run : Run or None
        Progress and threads; None = local and silent.

    Returns
    -------
    TrajectoryDistances
        A matrix [n, n], and the component of the distance graph of each trajectory.

    Raises
    ------
    MisuseError
        For an unknown ``paths`` or ``penalty``.

    References
    ----------
    Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 4, Def. 10 and 12.

    Examples
    --------
    >>> import shoal
    >>> who, t_s = ["al", "al", "bo", "bo"], [0, 60, 0, 60]
    >>> walks = shoal.Trajectories.from_rows(who, t_s, [0, 9, 3, 12], [0, 0, 4, 4])
    >>> shoal.trajectory_distances(walks).matrix.round(4).tolist()
    [[0.0, 0.0354], [0.0354, 0.0]]
    """
    require_trajectories(trajectories)
    if paths not in PATHS:
        raise MisuseError(f"paths = '{paths}' is not known; choose one of {', '.join(PATHS)}")
    if penalty not in PENALTY_POWERS:
        raise MisuseError(f"penalty = '{penalty}' is not known; choose one of {', '.join(PENALTY_POWERS)}")
    run = run or Run()
    distances, component = trajectory_graph(trajectories, paths=paths, penalty=penalty, run=run)
    return TrajectoryDistances(
        matrix=matrix_of(distances, run, with_paths=paths != "none"), component=component
    )


def trajectory_graph(
    trajectories: Trajectories, *, paths: Paths, penalty: Penalty, run: Run
) -> tuple[Distances, Integers]:
    """The distances without a matrix, and the components."""
    n = trajectories.n_subjects
    courses, stamps = make_courses(trajectories)

    def part(begin: int) -> tuple[Integers, Numbers, Floats]:
        with np.errstate(over="ignore"):  # uncompiled, intended wrap-around would warn
            until = min(begin + _ROWS_PER_PART, n)
            return distances_to_later(courses, stamps, begin, until, PENALTY_POWERS[penalty])

    parts = run.map(part, range(0, n, _ROWS_PER_PART), label="measuring distances between trajectories")
    direct = symmetric_edges(*_joined(list(parts)))
    needed = direct if paths == "none" else _needed(direct, run)
    lasting = courses.rank[courses.offsets[1:] - 1] > courses.rank[courses.offsets[:-1]]
    return Distances(direct, needed, paths == "disjoint"), _by_size(components(direct), lasting)


def submatrix_in_place(matrix: Floats, members: Integers) -> Floats:
    """[m, m] of ascending positions; the matrix is overwritten."""
    n, m = len(matrix), len(members)
    cells = matrix.reshape(-1)
    if m < n:
        for row, member in enumerate(members.tolist()):
            cells[row * m : (row + 1) * m] = cells[member * n : (member + 1) * n][members]
    return cells[: m * m].reshape(m, m)


def shortest_paths(matrix: Floats, run: Run) -> Floats:
    """[n, n] shortest paths with symmetric lengths, inf = none."""
    row, to = np.nonzero(np.isfinite(np.triu(matrix, 1)) & ~np.tri(len(matrix), dtype=np.bool_))
    direct = symmetric_edges(np.bincount(row, minlength=len(matrix)), to.astype(np.int32), matrix[row, to])
    return matrix_of(Distances(direct, _needed(direct, run), False), run)


def _needed(direct: Edges, run: Run) -> Edges:
    n = len(direct.offsets) - 1

    def part(begin: int) -> tuple[Integers, Numbers, Floats]:
        return shortest_path_edges(direct, begin, min(begin + _ROWS_PER_PART, n))

    counts, to, length = _joined(list(run.map(part, range(0, n, _ROWS_PER_PART))))
    return Edges(offsets_of(counts), to, length)


def _joined(parts: list[tuple[Integers, Numbers, Floats]]) -> tuple[Integers, Numbers, Floats]:
    counts, to, length = (list(column) for column in zip(*parts, strict=True))
    parts.clear()
    return np.concatenate(counts), np.concatenate(to), np.concatenate(length)


def matrix_of(distances: Distances, run: Run, *, with_paths: bool = True) -> Floats:
    """[n, n]; where a path sums differently from its other end, the first node's value."""
    direct = distances.direct
    n = len(direct.offsets) - 1
    matrix = np.full((n, n), np.inf)

    def part(begin: int) -> None:
        end = min(begin + _ROWS_PER_PART, n)
        if with_paths:
            matrix[begin:end] = distances_from(distances, begin, end)
            return
        row = np.repeat(np.arange(begin, end), np.diff(direct.offsets[begin : end + 1]))
        edges = slice(direct.offsets[begin], direct.offsets[end])
        matrix[row, direct.to[edges]] = direct.length[edges]

    begins = range(0, n, _ROWS_PER_PART)
    label = "finding shortest paths between trajectories" if with_paths else None
    for _ in run.map(part, begins, label=label):
        pass
    np.fill_diagonal(matrix, 0.0)
    for begin in begins:
        rows = slice(begin, begin + _ROWS_PER_PART)
        upper = np.triu(matrix[rows, rows])
        matrix[rows, rows] = np.maximum(upper, upper.T)
        matrix[begin + _ROWS_PER_PART :, rows] = matrix[rows, begin + _ROWS_PER_PART :].T
    return matrix


def make_courses(trajectories: Trajectories) -> tuple[Courses, Stamps]:
    """Polylines over the stamps of the whole data set."""
    ticks = _ticks(trajectories.t)
    owner = np.repeat(np.arange(trajectories.n_subjects), trajectories.lengths)
    fresh = np.concatenate([[True], (np.diff(ticks) != 0) | (np.diff(owner) != 0)])
    fix, count = np.cumsum(fresh) - 1, np.diff(np.append(np.flatnonzero(fresh), len(fresh)))
    x, y = (
        np.bincount(fix, weights=column.astype(np.float64)) / count
        for column in (trajectories.x, trajectories.y)
    )
    ticks, owner = ticks[fresh], owner[fresh]
    t, rank = np.unique(ticks, return_inverse=True)
    sums = [offsets_of(part) for part in (t, t * t)]
    goes_on = np.append(np.diff(owner) == 0, False)
    lasts = np.where(goes_on, np.append(np.diff(ticks), 1), 1).astype(np.float64)
    vx, vy = (np.where(goes_on, np.append(np.diff(column), 0.0), 0.0) / lasts for column in (x, y))
    offsets = offsets_of(np.bincount(owner, minlength=trajectories.n_subjects))
    return Courses(offsets, rank.astype(np.int64), x, y, vx, vy), Stamps(t, sums[0], sums[1])


def _ticks(t: Numbers) -> Integers:
    since = (t - t.min()).astype(np.float64)
    for per_s in _TICKS_PER_S:
        ticks = np.rint(since * per_s)
        if per_s == _TICKS_PER_S[-1] or np.abs(ticks / per_s - since).max() < 1e-7:
            break
    return np.asarray(ticks, dtype=np.int64)


def _by_size(component: Integers, lasting: Flags) -> Integers:
    sizes = np.bincount(component[lasting], minlength=component.max() + 1)
    renamed = np.empty(len(sizes), dtype=np.int64)
    renamed[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return np.where(lasting, renamed[component], -1)
