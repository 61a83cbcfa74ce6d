"""Leaves of a public list of places, as methods make them and adversaries know them."""

from dataclasses import dataclass

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims.hull import HullRule
from shoal.model.places import PublicPlaces
from shoal.runtime.arrays import Floats, Integers
from shoal.units import counted, show_share


@dataclass(frozen=True, eq=False, kw_only=True)
class Leaves:
    """L disjoint leaves of the c cells with places.

    x, y: int64 [c], ascending. leaf_of: int64 [c]. bounds: int64 [L, 4], x_min, y_min, x_max, y_max, as of
    boxes.
    """

    x: Integers
    y: Integers
    leaf_of: Integers
    bounds: Integers

    def at(self, x: Integers, y: Integers) -> Integers:
        """The leaf of each of these cells; raises MisuseError for one without a place."""
        row = np.minimum(np.searchsorted(self.x + 1j * self.y, x + 1j * y), len(self.x) - 1)
        if not (np.array_equal(self.x[row], x) and np.array_equal(self.y[row], y)):
            raise MisuseError("a sample is in a cell without a listed place; read the data with these places")
        return self.leaf_of[row]

    @property
    def middles(self) -> Integers:
        """The cell in the middle of each leaf, int64 [L, 2]."""
        return (self.bounds[:, :2] + self.bounds[:, 2:] - 1) // 2


def part_places(places: PublicPlaces, cell_m: float, rule: HullRule) -> Leaves:
    """Cut the cells with places where it makes leaves small, as long as both sides can be leaves.

    Of all lines between columns or rows of cells, the one with the least sum over cells of the width and
    height of their side is taken; of equal ones a column before a row, then the lowest. So leaves do not
    overlap.
    """
    x, y, use = places.cells(cell_m)
    if len(x) < rule.leaf_places:
        raise MisuseError(
            f"leaves of {rule.leaf_places} places need as many; {places.name} has "
            f"{counted(len(x), 'cell with a place', 'cells with places')}"
        )
    weight = np.ones(len(x)) if rule.busiest_share == 1 else _require_use(places, use)
    if weight.max() > rule.busiest_share * weight.sum():
        raise MisuseError(
            f"one place of {places.name} has more than {show_share(rule.busiest_share)} of all use, so that "
            "its leaf cannot have less; choose a larger share"
        )
    xy = np.column_stack([x, y])
    leaf_of = np.zeros(len(x), dtype=np.int64)
    waiting, n_leaves = [np.arange(len(x))], 0
    while waiting:
        group = waiting.pop()
        parts = _cut(xy[group], weight[group], rule)
        if parts is None:
            leaf_of[group] = n_leaves
            n_leaves += 1
        else:
            waiting += [group[part] for part in parts]
    order = np.argsort(leaf_of, kind="stable")
    first = np.searchsorted(leaf_of[order], np.arange(n_leaves))
    low, high = np.minimum.reduceat(xy[order], first), np.maximum.reduceat(xy[order], first) + 1
    return Leaves(x=x, y=y, leaf_of=leaf_of, bounds=np.ascontiguousarray(np.hstack([low, high])))


def hull_of_leaves(leaf_places: int, places: PublicPlaces) -> str:
    """``leaves:PLACES``; of a list that says how busy places are, with twice an even share as the bound."""
    share, use = 2 / max(leaf_places, 1), places.busyness
    return f"leaves:{leaf_places}" + (f":{share:.3g}" if share < 1 and use is not None and use.any() else "")


def _require_use(places: PublicPlaces, use: Floats | None) -> Floats:
    if use is None or not use.sum():
        raise MisuseError(
            f"{places.name} does not say how busy its places are, so that no share of the busiest is known; "
            "add a column busyness, or leave the share out"
        )
    return use


def _cut(xy: Integers, weight: Floats, rule: HullRule) -> tuple[Integers, Integers] | None:
    n, least, parts = len(xy), np.inf, None
    at = np.arange(1, n)  # cells before the cut
    for axis in (0, 1):
        order = np.lexsort((xy[:, 1 - axis], xy[:, axis]))
        ordered, heavy = xy[order], weight[order]
        possible = (np.diff(ordered[:, axis]) > 0) & (np.minimum(at, n - at) >= rule.leaf_places)
        if rule.busiest_share < 1:
            below = np.cumsum(heavy)[:-1]
            for busiest, all_use in (
                (np.maximum.accumulate(heavy)[:-1], below),
                (np.maximum.accumulate(heavy[::-1])[-2::-1], heavy.sum() - below),
            ):
                possible &= (busiest > 0) & (busiest <= rule.busiest_share * all_use)
        if not possible.any():
            continue
        cost = at * _extents_so_far(ordered)[:-1] + (n - at) * _extents_so_far(ordered[::-1])[-2::-1]
        cut = at[possible][np.argmin(cost[possible])]
        if cost[cut - 1] < least:
            least, parts = cost[cut - 1], (order[:cut], order[cut:])
    return parts


def _extents_so_far(xy: Integers) -> Integers:
    """The width and height, in sum, of the hulls of the first cell, the first two, and so on."""
    extents = np.maximum.accumulate(xy) - np.minimum.accumulate(xy) + 1
    return np.asarray(extents.sum(axis=1))
