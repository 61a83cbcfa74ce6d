"""The grouping of k-scale (Mishra and Fiore, INFOCOM 2026), as far as its text says how; as a comparator.

Its program is not published. Each person has the nearest others by a distance between squares, and is
assigned to those of them beside whom k-merge costs least. A tree finds the nearest without comparing
everybody with everybody: one of our own, since the trees of SciPy and scikit-learn know no such distance, and
would call Python for each pair.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.kernels.hiding import Pieces, pair_costs
from shoal.model.neighborhoods import bisect_rows, order_by_longest_axis
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run

LEAF: Final = 16  # people
ROWS_AT_ONCE: Final = 256  # whose costs are one part of the work
_FIRST: Final = 4  # times the neighbors that are looked for: candidates of a leaf before any is ruled out
_ROUNDING: Final = 1e-6  # more than rounding changes, in cells and in distances


@dataclass(frozen=True, eq=False)
class Near:
    """Neighbors of each person by k-scale's distance, and what both cost together. [people, neighbors]."""

    people: Integers
    costs: Integers


@dataclass(frozen=True, eq=False)
class Squares:
    """Around people's centers of mass, in cells, with sides of twice the radius of gyration. [n] each."""

    x: Floats
    y: Floats
    half: Floats

    def __getitem__(self, rows: Integers) -> "Squares":
        return Squares(self.x[rows], self.y[rows], self.half[rows])


def squares_of(original: Trajectories) -> Squares:
    """One for each person; none is smaller than a cell."""
    starts, counts = original.offsets[:-1], original.lengths
    off: Floats = np.zeros(original.n_samples)
    x, y = (np.add.reduceat(each.astype(np.float64), starts) / counts for each in (original.x, original.y))
    for column, center in ((original.x, x), (original.y, y)):
        off += (column - np.repeat(center, counts)) ** 2
    return Squares(x, y, np.maximum(np.sqrt(np.add.reduceat(off, starts) / counts), 0.5))


def distances(one: Squares, other: Squares) -> Floats:
    """[one, other]: of squares that overlap (1 - c) / (1 + c) with c = 2 |A and B| / |A or B|.

    Else 1 and the Manhattan distance of the centers in cells.
    """
    both = np.ones((len(one.half), len(other.half)))
    for mine, theirs in ((one.x, other.x), (one.y, other.y)):
        low = np.maximum.outer(mine - one.half, theirs - other.half)
        both *= np.clip(np.minimum.outer(mine + one.half, theirs + other.half) - low, 0, None)
    c = 2 * both / ((4 * one.half**2)[:, None] + 4 * other.half**2 - both)
    far = 1 + np.abs(one.x[:, None] - other.x) + np.abs(one.y[:, None] - other.y)
    return np.where(both > 0, (1 - c) / (1 + c), far)


def nearest(squares: Squares, count: int, run: Run) -> Integers:
    """[n, count]: the others that are nearest to each, the nearest first; equally near ones as they stand.

    People stand in the leaves of a tree over centers and sizes. Each leaf looks at twice as many leaves again
    and again, the nearest first, until no other can hold one of the nearest.
    """
    n = len(squares.half)
    size = 2 * np.median(squares.half) * np.log(squares.half)
    places = np.stack([squares.x, squares.y, size], axis=1)
    leaves = list(bisect_rows(np.arange(n), order_by_longest_axis(places), most=LEAF))
    sizes = np.array([len(leaf) for leaf in leaves])
    boxes = np.array([box_of(squares[leaf]) for leaf in leaves])
    found = np.empty((n, count), dtype=np.int64)

    def fill(place: int) -> None:
        own, least = leaves[place], least_distances(boxes[place], boxes)
        order = np.argsort(least, kind="stable")
        ends = np.cumsum(sizes[order])
        looked = 1 + int(np.searchsorted(ends, min(_FIRST * count + 1, n)))
        while True:
            others = np.sort(np.concatenate([leaves[leaf] for leaf in order[:looked]]))
            apart = distances(squares[own], squares[others])
            apart[own[:, None] == others] = np.inf
            limits = np.partition(apart, count - 1, axis=1)[:, count - 1]
            within = int(np.searchsorted(least[order], limits.max(), side="right"))
            if within <= looked:
                break
            looked = min(within, 1 + int(np.searchsorted(ends, 2 * len(others))))
        for row, person in enumerate(own.tolist()):
            chosen = np.flatnonzero(apart[row] <= limits[row])
            ranks = np.argsort(apart[row, chosen], kind="stable")[:count]
            found[person] = others[chosen[ranks]]

    for _ in run.map(fill, range(len(leaves))):
        pass
    return found


def box_of(squares: Squares) -> Floats:
    """[6] the least x, y and half side of these squares, and the greatest."""
    columns = np.stack([squares.x, squares.y, squares.half])
    return np.concatenate([columns.min(axis=1), columns.max(axis=1)])


def least_distances(box: Floats, boxes: Floats) -> Floats:
    """[leaves]: what nobody of one leaf is nearer to anybody of another than.

    box: [6] as ``box_of`` has it; boxes: [leaves, 6].
    """
    both, far = np.ones(len(boxes)), np.ones(len(boxes))
    for axis in (0, 1):
        gap = np.maximum(np.maximum(box[axis] - boxes[:, axis + 3], boxes[:, axis] - box[axis + 3]), 0)
        far += gap
        across = np.minimum(np.minimum(2 * box[5], 2 * boxes[:, 5]), box[5] + boxes[:, 5] - gap)
        both *= np.clip(across + _ROUNDING, 0, None)
    mine, theirs = 4 * box[2] ** 2, 4 * boxes[:, 2] ** 2
    either = np.maximum(np.maximum(mine, theirs), mine + theirs - both)
    c = 2 * np.minimum(both / either, 1)
    return np.where(both > 0, (1 - c) / (1 + c), far) - _ROUNDING


def costs_beside(original: Trajectories, people: Integers, run: Run) -> Integers:
    """What each person and each of the others in the own row cost together; each pair is computed once."""
    n, count = people.shape
    order = np.argsort(people, axis=1)
    ascending = np.take_along_axis(people, order, axis=1)
    codes = (np.arange(n)[:, None] * n + ascending).ravel()
    back = (ascending * n + np.arange(n)[:, None]).ravel()
    place = np.minimum(np.searchsorted(codes, back), len(codes) - 1)
    known = (codes[place] == back) & (ascending < np.arange(n)[:, None]).ravel()
    ends = original.offsets.copy()  # the kernel has a form for those that may be written to
    pieces = Pieces(original.t, original.x, original.y, ends[:-1], ends[1:])

    def computed(first: int) -> Integers:
        rows = np.arange(first * count, min(first + ROWS_AT_ONCE, n) * count)
        rows = rows[~known[rows]]
        pairs = np.stack(np.divmod(codes[rows], n), axis=1)
        return np.array([pair_costs(pieces, pair, 0)[1, 0] for pair in pairs], dtype=np.int64)

    costs = np.empty(n * count, dtype=np.int64)
    parts = list(run.map(computed, range(0, n, ROWS_AT_ONCE)))
    costs[~known] = np.concatenate(parts)
    costs[known] = costs[place[known]]
    in_order = np.empty((n, count), dtype=np.int64)
    np.put_along_axis(in_order, order, costs.reshape(n, count), axis=1)
    return in_order


def records_of(found: Near, k: int) -> list[Integers]:
    """Whose samples the record of each person holds: the own, and of everybody who was assigned to it.

    Everybody is assigned to the k - 1 others with whom a record costs least, and so is in k records. Whom
    nobody is assigned to shares a record with one neighbor.
    """
    own: list[list[int]] = [[p] for p in range(len(found.people))]
    for q, order in enumerate(np.argsort(found.costs, axis=1, kind="stable")[:, : k - 1].tolist()):
        for place in order:
            own[int(found.people[q, place])].append(q)
    for p, members in enumerate(own):
        if len(members) == 1:
            members.append(int(found.people[p, np.argmin(found.costs[p])]))
    return [np.sort(members) for members in own]


def classes_of_neighbors(found: Near, k: int) -> list[Integers]:
    """Classes of k: who is hardest to hide chooses first among the neighbors that are left.

    Whoever finds too few of them goes to the class of the neighbor with the least cost that has one, or, in
    the order of people, to a class of those that are left over.
    """
    n, order = len(found.people), np.argsort(found.costs, axis=1, kind="stable")
    hardest = np.argsort(-np.sort(found.costs, axis=1)[:, k - 2], kind="stable")
    class_of = np.full(n, -1)
    count = 0
    for p in hardest.tolist():
        free = [q for q in found.people[p, order[p]].tolist() if class_of[q] < 0][: k - 1]
        if class_of[p] < 0 and len(free) == k - 1:
            class_of[[p, *free]] = count
            count += 1
    for p in np.flatnonzero(class_of < 0).tolist():
        settled = [q for q in found.people[p, order[p]].tolist() if class_of[q] >= 0]
        class_of[p] = class_of[settled[0]] if settled else count - 1
    return [np.flatnonzero(class_of == one) for one in range(count)]
