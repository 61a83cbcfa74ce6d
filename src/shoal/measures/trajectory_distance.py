"""How far apart two trajectories are: synchronized, and penalized for little overlap.

After Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 4. Courses that never overlap are as far apart as
the shortest path between them through courses that do. Where no path leads, there is no distance.
Trajectories with fewer than two different times have none to anybody.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.trajectory_distance import (
    Courses,
    Stamps,
    close_block,
    direct_distances,
    relax_panel,
    relax_rows,
)
from shoal.model.given import require_trajectories
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.run import Run

Paths = Literal["none", "disjoint", "all"]
PATHS: Final[tuple[str, ...]] = get_args(Paths)
Penalty = Literal["inverse", "inverse-square", "none"]
# the power of the percentage of common time that divides a distance: Def. 12, and what Sec. 4.3 leaves open
PENALTY_POWERS: Final[Mapping[str, int]] = {"inverse": 1, "inverse-square": 2, "none": 0}

_TICKS_PER_S: Final = (
    1,
    1_000,
    1_000_000,
)  # times are whole seconds, else milliseconds, else rounded to microseconds
_BLOCK: Final = 64
_WIDTH: Final = 512
_ROWS_PER_PART: Final = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class TrajectoryDistances:
    """The distances of n trajectories.

    matrix: [n, n], symmetric, inf where there is no distance, or none was asked for. component: int64 [n], 0
    for the largest component of the distance graph, then by falling size; -1 for a trajectory with fewer than
    two different times, which is not comparable with anything (Def. 10).
    """

    matrix: Floats
    component: Integers

    @property
    def kept(self) -> Integers:
        """Positions of the trajectories in the largest component."""
        return np.flatnonzero(self.component == 0)

    @property
    def not_comparable(self) -> int:
        """How many trajectories have fewer than two different times."""
        return int(np.count_nonzero(self.component < 0))

    @property
    def elsewhere(self) -> int:
        """How many comparable trajectories lie outside the largest component."""
        return int(np.count_nonzero(self.component > 0))


def trajectory_distances(
    trajectories: Trajectories,
    *,
    paths: Paths = "none",
    penalty: Penalty = "inverse",
    run: Run | None = None,
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
        What little common time costs: "inverse" divides by its percentage p, as Def. 12 does,
        "inverse-square" by its square, which Sec. 4.3 allows. "none" does neither; distances are then in
        meters over the root of the number of stamps.
    run : Run or None
        Where to report progress, and how many threads to use; None = local and silent.

    Returns
    -------
    TrajectoryDistances
        A matrix [n, n], and the component of the distance graph that each trajectory is in.

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
    run, n = run or Run(), trajectories.n_subjects
    courses, stamps = courses_of(trajectories)
    cells = np.full((n if paths == "none" else _padded(n)) ** 2, np.inf)
    matrix = cells[: n * n].reshape(n, n)
    np.fill_diagonal(matrix, 0.0)

    def part(begin: int) -> None:
        with np.errstate(over="ignore"):  # without the compiler, sums that wrap around on purpose would warn
            until = min(begin + _ROWS_PER_PART, n)
            direct_distances(courses, stamps, begin, until, PENALTY_POWERS[penalty], matrix)

    for _ in run.map(part, range(0, n, _ROWS_PER_PART), label="measuring distances between trajectories"):
        pass
    component = _components(matrix, courses)
    if paths != "none":
        lasting = np.flatnonzero(component >= 0)
        only_among(matrix, lasting)  # who lasts no time has no distance to anybody
        _lengthen(cells, len(lasting), run, kept_direct=paths == "disjoint")
        _spread(cells, lasting, n)
    return TrajectoryDistances(matrix=matrix, component=component)


def only_among(matrix: Floats, members: Integers) -> Floats:
    """[m, m] of ascending positions in a square matrix, in its place: the matrix itself is lost."""
    n, m = len(matrix), len(members)
    cells = matrix.reshape(-1)
    if m < n:
        for row, member in enumerate(members.tolist()):
            cells[row * m : (row + 1) * m] = cells[member * n : (member + 1) * n][members]
    return cells[: m * m].reshape(m, m)


def shortest_paths(matrix: Floats, run: Run) -> Floats:
    """[n, n] lengths of shortest paths through a graph of symmetric lengths, inf = none (Floyd-Warshall)."""
    n = len(matrix)
    cells = np.full(_padded(n) ** 2, np.inf)
    cells[: n * n] = matrix.reshape(-1)
    _lengthen(cells, n, run, kept_direct=False)
    return cells[: n * n].reshape(n, n)


def _padded(n: int) -> int:
    """As many as whole blocks hold."""
    return -(-n // _BLOCK) * _BLOCK


def _lengthen(cells: Floats, n: int, run: Run, *, kept_direct: bool) -> None:
    """Turn lengths into those of shortest paths, in place: one matrix is all the memory that there is.

    cells: the rows of a symmetric matrix [n, n] one after another, and room for whole blocks. kept_direct:
    finite lengths stay as they are.
    """
    padded = _padded(n)
    for row in range(n - 1, -1, -1):  # from the last on, since rows move away from the beginning
        cells[row * padded : row * padded + n] = cells[row * n : (row + 1) * n].copy()
        cells[row * padded + n : (row + 1) * padded] = np.inf
    cells[n * padded : padded * padded] = np.inf
    found = cells[: padded * padded].reshape(padded, padded)
    np.fill_diagonal(found, 0.0)
    blocks = [slice(begin, begin + _BLOCK) for begin in range(0, padded, _BLOCK)]
    direct = [found[own, own].copy() for own in blocks]  # the only blocks of which both halves are changed
    _close(found, run)
    for place, own in enumerate(blocks):
        upper = np.triu(found[own, own])
        found[own, own] = _chosen(direct[place], np.maximum(upper, upper.T), kept_direct=kept_direct)
        for other in blocks[place + 1 :]:
            found[own, other] = _chosen(found[other, own].T, found[own, other], kept_direct=kept_direct)
            found[other, own] = found[own, other].T
    for row in range(n):
        cells[row * n : (row + 1) * n] = cells[row * padded : row * padded + n].copy()


def _chosen(direct: Floats, path: Floats, *, kept_direct: bool) -> Floats:
    return np.where(np.isfinite(direct), direct, path) if kept_direct else path


def _close(found: Floats, run: Run) -> None:
    """Shortest paths in the upper half of a matrix of whole blocks.

    Below, only the blocks at the diagonal change.
    """
    padded = len(found)
    panel, label = np.empty((_BLOCK, padded)), "finding shortest paths between trajectories"
    run.progress(label, 0, padded)
    for middle in range(0, padded, _BLOCK):
        own = slice(middle, middle + _BLOCK)
        before = np.concatenate(
            [found[:middle, own].T, found[own, middle:]], axis=1
        )  # only the upper half is kept up to date
        block = np.ascontiguousarray(before[:, own])
        close_block(block)
        relax_panel(block, before, panel)
        for _ in run.map(_relaxing(panel, found), range(0, padded, _BLOCK)):
            pass
        run.progress(label, middle + _BLOCK, padded)


def _spread(cells: Floats, members: Integers, n: int) -> None:
    """From a matrix among members to one of all n, in place; the others have no distance to anybody."""
    m = len(members)
    if m == n:
        return
    row = m
    for position in range(n - 1, -1, -1):  # from the last on, since rows move away from the beginning
        own = np.full(n, np.inf)
        if row and members[row - 1] == position:
            row -= 1
            own[members] = cells[row * m : (row + 1) * m]
        own[position] = 0.0
        cells[position * n : (position + 1) * n] = own


def courses_of(trajectories: Trajectories) -> tuple[Courses, Stamps]:
    """The trajectories as broken lines over the stamps of the whole data set."""
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
    sums = [np.concatenate([[0], np.cumsum(part)]).astype(np.int64) for part in (t, t * t)]
    goes_on = np.append(np.diff(owner) == 0, False)
    lasts = np.where(goes_on, np.append(np.diff(ticks), 1), 1).astype(np.float64)
    vx, vy = (np.where(goes_on, np.append(np.diff(column), 0.0), 0.0) / lasts for column in (x, y))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=trajectories.n_subjects))]).astype(
        np.int64
    )
    return Courses(offsets, rank.astype(np.int64), x, y, vx, vy), Stamps(t, sums[0], sums[1])


def _relaxing(panel: Floats, found: Floats) -> Callable[[int], None]:
    return lambda begin: relax_rows(panel, begin, begin + _BLOCK, _WIDTH, found)


def _ticks(t: Numbers) -> Integers:
    """Times as whole ticks since the first.

    Seconds, milliseconds or microseconds, the longest that is exact for all.
    """
    since = (t - t.min()).astype(np.float64)
    for per_s in _TICKS_PER_S:
        ticks = np.rint(since * per_s)
        if per_s == _TICKS_PER_S[-1] or np.abs(ticks / per_s - since).max() < 1e-7:
            break
    return np.asarray(ticks, dtype=np.int64)


def _components(matrix: Floats, courses: Courses) -> Integers:
    """The component of each trajectory, numbered by falling size and then by the first member.

    -1 = lasts no time.
    """
    n = len(matrix)
    lasting = courses.rank[courses.offsets[1:] - 1] > courses.rank[courses.offsets[:-1]]
    component = np.full(n, -1, dtype=np.int64)
    waiting, found = lasting.copy(), 0
    while waiting.any():
        members = np.zeros(n, dtype=np.bool_)
        reached = np.array([int(np.argmax(waiting))])
        while len(reached):
            members[reached] = True
            near = np.zeros(n, dtype=np.bool_)
            for begin in range(0, len(reached), _BLOCK):  # rows are copied, and may be all there are
                near |= np.isfinite(matrix[reached[begin : begin + _BLOCK]]).any(axis=0)
            reached = np.flatnonzero(near & ~members)
        component[members], waiting = found, waiting & ~members
        found += 1
    sizes = np.bincount(component[lasting], minlength=found)
    renamed = np.empty(found + 1, dtype=np.int64)
    renamed[np.argsort(-sizes, kind="stable")], renamed[-1] = np.arange(found), -1
    return np.asarray(renamed[component], dtype=np.int64)
