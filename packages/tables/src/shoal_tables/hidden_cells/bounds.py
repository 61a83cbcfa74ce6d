"""The least and the largest value of each unknown count that agree with all public sums.

First every sum narrows the range of its cells. The rest falls into independent blocks, each with a linear
program (HiGHS). A solution that reaches the end of a range proves that end for all cells that it touches;
where no solution does, the cell is minimized and maximized alone, in whole numbers.
"""

import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import optimize, sparse
from scipy.sparse import csgraph

from shoal.errors import InputError
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal_tables.hidden_cells.reading import System

_TOLERANCE: Final = 1e-6
_ROUNDS: Final = 200
_WITHOUT_GAIN: Final = 3
_FEW: Final = 4  # what two programs for single cells prove


@dataclass(frozen=True)
class Bounds:
    """The range of each true count, and whether possible counts reach both of its ends [n]."""

    low: Floats
    high: Floats
    is_tight: Flags


def bound(system: System, seconds: float = 600.0) -> Bounds:
    """Bound each unknown.

    Parameters
    ----------
    system
        Unknowns and public sums.
    seconds
        The time to spend; ranges not proved tight by then are still true, and marked.

    Raises
    ------
    InputError
        Where no counts agree with all public numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from shoal_tables.hidden_cells.bounds import bound
    >>> from shoal_tables.hidden_cells.reading import System
    >>> ranges = bound(System(np.zeros(2), np.full(2, 9.0), sparse.csr_array([[1.0, 1.0]]),
    ...                      np.array([17.0]), np.array([17.0])))
    >>> ranges.low.tolist(), ranges.high.tolist(), bool(ranges.is_tight.all())
    ([8.0, 8.0], [9.0, 9.0], True)
    """
    deadline = time.monotonic() + seconds
    low, high = narrow(system)
    is_tight = np.ones(len(low), dtype=bool)
    free = np.flatnonzero(low < high)
    settled = system.sums @ np.where(low < high, 0, low)
    rest = System(
        low[free], high[free], system.sums[:, free], system.sum_low - settled, system.sum_high - settled
    )
    for numbers, rows in _blocks(rest.sums, _live_sums(rest, rest.low, rest.high)):
        cells, part = free[numbers], sparse.csc_array(rest.sums[rows][:, numbers])
        block = _Block(part, rest.sum_low[rows], rest.sum_high[rows], low[cells], high[cells])
        block.solve(deadline)
        low[cells], high[cells], is_tight[cells] = block.low, block.high, block.is_tight
    return Bounds(low, high, is_tight)


def narrow(system: System) -> tuple[Floats, Floats]:
    """Narrow each range by every sum and the ranges of the other cells in it, until nothing changes."""
    sums = sparse.coo_array(system.sums)
    row, cell = sums.coords
    low, high = np.ceil(system.low - _TOLERANCE), np.floor(system.high + _TOLERANCE)
    m = sums.shape[0]
    for _ in range(_ROUNDS):
        if (low > high).any():
            raise InputError("the published numbers contradict each other: no counts agree with all of them")
        least = np.bincount(row, low[cell], m)
        free = np.isinf(high[cell])
        largest = np.bincount(row, np.where(free, 0, high[cell]), m)
        n_free = np.bincount(row, free, m)
        if (least > system.sum_high).any() or ((largest < system.sum_low) & (n_free == 0)).any():
            raise InputError("the published numbers contradict each other: a sum does not fit its cells")
        new_high, new_low = high.copy(), low.copy()
        np.minimum.at(new_high, cell, system.sum_high[row] - least[row] + low[cell])
        others_free = n_free[row] - free > 0
        others = largest[row] - np.where(free, 0, high[cell])
        np.maximum.at(new_low, cell, np.where(others_free, -np.inf, system.sum_low[row] - others))
        if np.array_equal(new_high, high) and np.array_equal(new_low, low):
            break
        low, high = new_low, new_high
    return low, high


def _live_sums(system: System, low: Floats, high: Floats) -> Integers:
    """The sums that do not hold by the ranges alone."""
    least, largest = system.sums @ low, np.full(len(system.sum_low), np.inf)
    free = system.sums @ np.isinf(high).astype(float)
    largest[free == 0] = (system.sums @ np.where(np.isinf(high), 0, high))[free == 0]
    return np.flatnonzero((least < system.sum_low) | (largest > system.sum_high))


def _blocks(sums: Any, live: Integers) -> list[tuple[Any, Any]]:
    """Cells and sums that depend on each other, block by block, the smallest first."""
    part = sums[live]
    n = part.shape[1]
    both = sparse.block_array([[None, part], [part.T, None]]) if len(live) else sparse.csr_array((n, n))
    _, label = csgraph.connected_components(both, directed=False)
    of_sum, of_cell = label[: len(live)], label[len(live) :]
    in_block = np.isin(of_cell, of_sum)
    order = np.flatnonzero(in_block)[np.argsort(of_cell[in_block], kind="stable")]
    cuts = np.flatnonzero(np.diff(of_cell[order])) + 1
    rows_by_label = {key: live[rows] for key, rows in _grouped(of_sum)}
    groups = [cells for cells in np.split(order, cuts) if len(cells)]
    return [(cells, rows_by_label[of_cell[cells[0]]]) for cells in sorted(groups, key=len)]


def _grouped(labels: Any) -> list[tuple[Any, Any]]:
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    return [(labels[rows[0]], rows) for rows in np.split(order, cuts) if len(rows)]


class _Block:
    def __init__(self, sums: Any, sum_low: Floats, sum_high: Floats, low: Floats, high: Floats) -> None:
        self.sums, self.sum_low, self.sum_high = sums, sum_low, sum_high
        self.low, self.high = low, high
        self.low_reached, self.high_reached = np.zeros(len(low), bool), np.zeros(len(low), bool)
        self.last: Floats | None = None

    @property
    def is_tight(self) -> Flags:
        return self.low_reached & self.high_reached

    def solve(self, deadline: float) -> None:
        self._solve_together(deadline)
        for cell in np.flatnonzero(~self.is_tight).tolist():
            for sign in (1.0, -1.0):
                if (self.low_reached if sign > 0 else self.high_reached)[cell]:
                    continue
                if time.monotonic() > deadline:
                    return
                self._solve_alone(cell, sign, deadline)

    def _solve_together(self, deadline: float) -> None:
        """Push all cells without proof to one end; each solution proves the ends that it reaches."""
        n, idle = len(self.low), 0
        rng = np.random.default_rng(0)  # any weights do
        while idle < _WITHOUT_GAIN and not self.is_tight.all() and time.monotonic() < deadline:
            open_before = int((~self.low_reached).sum() + (~self.high_reached).sum())
            for sign, reached in ((1.0, self.low_reached), (-1.0, self.high_reached)):
                if not reached.all():
                    self._run(sign * ~reached * rng.uniform(0.5, 1.5, n), deadline, whole=False)
            gain = open_before - int((~self.low_reached).sum() + (~self.high_reached).sum())
            idle = idle + 1 if gain <= _FEW else 0

    def _solve_alone(self, cell: int, sign: float, deadline: float) -> None:
        aim = np.zeros(len(self.low))
        aim[cell] = sign
        ends, reached = (self.low, self.low_reached) if sign > 0 else (self.high, self.high_reached)
        for whole in (False, True):  # in many tables, the first already has whole numbers
            best = self._run(aim, deadline, whole=whole)
            if best is None or reached[cell]:
                return
            ends[cell] = sign * np.ceil(best - _TOLERANCE)
            reached[cell] = whole or self._is_at(cell, ends[cell])
            if reached[cell]:
                return

    def _is_at(self, cell: int, end: float) -> bool:
        return self.last is not None and self.last[cell] == end

    def _run(self, aim: Floats, deadline: float, *, whole: bool) -> float | None:
        outcome = optimize.milp(
            aim,
            integrality=np.full(len(aim), int(whole)),
            bounds=optimize.Bounds(self.low, self.high),
            constraints=optimize.LinearConstraint(self.sums, self.sum_low, self.sum_high),
            options={"time_limit": max(deadline - time.monotonic(), 0.1), "mip_rel_gap": 0.0},
        )
        if outcome.status == 2:
            raise InputError("the published numbers contradict each other: no counts agree with all of them")
        if outcome.x is None:
            return None
        nearest = np.rint(outcome.x)
        total = self.sums @ nearest
        agrees = ((total >= self.sum_low) & (total <= self.sum_high)).all()
        self.last = nearest if agrees else None  # proves what it reaches, wherever it comes from
        if agrees:
            self.low_reached |= nearest == self.low
            self.high_reached |= nearest == self.high
        return float(outcome.fun) if outcome.status == 0 else None
