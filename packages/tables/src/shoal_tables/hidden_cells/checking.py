"""Check a published table without raw data: what its hidden cells, and its versions, tell.

First every sum narrows the range of its cells. The rest falls into independent blocks, each with a linear
program (HiGHS). A solution that reaches the end of a range proves that end for all cells that it touches;
where no solution does, the cell is minimized and maximized alone, in whole numbers.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import optimize, sparse
from scipy.sparse import csgraph

from shoal.errors import InputError, MisuseError
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal_tables.definition.manifest import COLUMNS
from shoal_tables.definition.text_tables import read_parents
from shoal_tables.hidden_cells import reading
from shoal_tables.hidden_cells.reading import Hiding, Key, System

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
    """Bound each unknown; ranges that are not proved tight within these seconds are true, and marked."""
    deadline = time.monotonic() + seconds
    low, high = narrow(system)
    is_tight = np.ones(len(low), dtype=bool)
    free = np.flatnonzero(low < high)
    settled = system.sums @ np.where(low < high, 0, low)
    rest = System(
        low[free], high[free], system.sums[:, free], system.sum_low - settled, system.sum_high - settled
    )
    least, largest, n_free = _ranges_of_sums(rest.sums, rest.low, rest.high)
    live = (least < rest.sum_low) | (largest > rest.sum_high) | ((n_free > 0) & (rest.sum_high < np.inf))
    for numbers, rows in _blocks(rest.sums, np.flatnonzero(live)):
        cells, part = free[numbers], sparse.csc_array(rest.sums[rows][:, numbers])
        block = _Block(part, rest.sum_low[rows], rest.sum_high[rows], low[cells], high[cells])
        block.solve(deadline)
        low[cells], high[cells], is_tight[cells] = block.low, block.high, block.is_tight
    return Bounds(low, high, is_tight)


def narrow(system: System) -> tuple[Floats, Floats]:
    """Narrow each range by every sum and the ranges of the other cells in it, until nothing changes."""
    row, cell = sparse.coo_array(system.sums).coords
    low, high = np.ceil(system.low - _TOLERANCE), np.floor(system.high + _TOLERANCE)
    for _ in range(_ROUNDS):
        if (low > high).any():
            raise InputError("the published numbers contradict each other: no counts agree with all of them")
        least, largest, n_free = _ranges_of_sums(system.sums, low, high)
        if (least > system.sum_high).any() or ((largest < system.sum_low) & (n_free == 0)).any():
            raise InputError("the published numbers contradict each other: a sum does not fit its cells")
        new_high, new_low, free = high.copy(), low.copy(), np.isinf(high[cell])
        np.minimum.at(new_high, cell, system.sum_high[row] - least[row] + low[cell])
        others = largest[row] - np.where(free, 0, high[cell])
        np.maximum.at(new_low, cell, np.where(n_free[row] > free, -np.inf, system.sum_low[row] - others))
        if np.array_equal(new_high, high) and np.array_equal(new_low, low):
            break
        low, high = new_low, new_high
    return low, high


def _ranges_of_sums(sums: Any, low: Floats, high: Floats) -> tuple[Any, Any, Any]:
    """The least of each sum, the largest of its cells that have an end, and how many have none."""
    free = np.isinf(high)
    return sums @ low, sums @ np.where(free, 0, high), sums @ free.astype(float)


def _blocks(sums: Any, live: Integers) -> list[tuple[Any, Any]]:
    """Cells and sums that depend on each other, block by block, the smallest first."""
    part = sums[live]
    n = part.shape[1]
    both = sparse.block_array([[None, part], [part.T, None]]) if len(live) else sparse.csr_array((n, n))
    _, label = csgraph.connected_components(both, directed=False)
    linked = np.flatnonzero(np.isin(label, label[: len(live)]))
    order = linked[np.argsort(label[linked], kind="stable")]  # of each block, sums before cells
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    ends = [(part, np.searchsorted(part, len(live))) for part in parts]
    blocks = [(part[end:] - len(live), live[part[:end]]) for part, end in ends if end < len(part)]
    return sorted(blocks, key=lambda block: len(block[0]))


class _Block:
    def __init__(self, sums: Any, sum_low: Floats, sum_high: Floats, low: Floats, high: Floats) -> None:
        self.sums, self.sum_low, self.sum_high = sums, sum_low, sum_high
        self.low, self.high = low, high
        self.ends = {1.0: low, -1.0: high}  # by the sign of what is minimized
        self.reached = {sign: np.zeros(len(low), bool) for sign in self.ends}
        self.last: Floats | None = None

    @property
    def is_tight(self) -> Flags:
        return self.reached[1.0] & self.reached[-1.0]

    def solve(self, deadline: float) -> None:
        self._solve_together(deadline)
        for cell in np.flatnonzero(~self.is_tight).tolist():
            for sign, reached in self.reached.items():
                if reached[cell]:
                    continue
                if time.monotonic() > deadline:
                    return
                self._solve_alone(cell, sign, deadline)

    def _solve_together(self, deadline: float) -> None:
        """Push all cells without proof to one end; each solution proves the ends that it reaches."""
        n, idle, before = len(self.low), 0, 0
        rng = np.random.default_rng(0)  # any weights do
        while idle < _WITHOUT_GAIN and not self.is_tight.all() and time.monotonic() < deadline:
            for sign, reached in self.reached.items():
                if not reached.all():
                    self._run(sign * ~reached * rng.uniform(0.5, 1.5, n), deadline, whole=False)
            proved = sum(int(reached.sum()) for reached in self.reached.values())
            idle, before = (idle + 1 if proved - before <= _FEW else 0), proved

    def _solve_alone(self, cell: int, sign: float, deadline: float) -> None:
        aim = np.zeros(len(self.low))
        aim[cell] = sign
        ends, reached = self.ends[sign], self.reached[sign]
        for whole in (False, True):  # in many tables, the first already has whole numbers
            best = self._run(aim, deadline, whole=whole)
            if best is None or reached[cell]:
                return
            ends[cell] = sign * np.ceil(best - _TOLERANCE)
            reached[cell] = whole or (self.last is not None and self.last[cell] == ends[cell])
            if reached[cell]:
                return

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
            for sign, end in self.ends.items():
                self.reached[sign] |= nearest == end
        return float(outcome.fun) if outcome.status == 0 else None


@dataclass(frozen=True)
class Lost:
    """What cells lost since an earlier version: cells that lost, exactly known ones, counts at least."""

    certain: int
    exact: int
    at_least: int


@dataclass(frozen=True)
class Told:
    """What follows of hidden and rounded cells."""

    cells: int
    hidden: int
    exact: int
    within_2: int
    unbounded: int
    not_proved_tight: int
    lost: Lost | None

    @property
    def exit_code(self) -> int:
        """1: something follows; 3: nothing so far, and the time was too short; 0: nothing follows."""
        follows = self.exact or (self.lost is not None and self.lost.certain)
        return 1 if follows else 3 if self.not_proved_tight else 0


@dataclass(frozen=True)
class HiddenCells:
    """The range of each finest cell, and of its loss since an earlier version; None without one."""

    columns: tuple[str, ...]
    cells: tuple[Key, ...]
    is_hidden: Flags
    bounds: Bounds
    losses: Bounds | None = None

    def told(self) -> Told:
        """What the ranges say in all."""
        lost, tight = None, self.bounds.is_tight
        if self.losses is not None:
            low, tight = self.losses.low, tight & self.losses.is_tight
            exact = (low > 0) & (low == self.losses.high)
            lost = Lost(int((low > 0).sum()), int(exact.sum()), int(low.sum()))
        width = (self.bounds.high - self.bounds.low)[self.is_hidden]
        return Told(
            cells=len(self.cells),
            hidden=int(self.is_hidden.sum()),
            exact=int((width == 0).sum()),
            within_2=int((width <= 2).sum()),
            unbounded=int(np.isinf(width).sum()),
            not_proved_tight=int((~tight).sum()),  # true, but the time did not allow to prove more
            lost=lost,
        )

    def rows(self) -> dict[str, list[Any]]:
        """A column for each key, and ``low``, ``high`` and ``tight`` of each hidden cell."""
        lost = False if self.losses is None else self.losses.low > 0
        chosen = np.flatnonzero(self.is_hidden | lost).tolist()
        columns: dict[str, list[Any]] = {
            name: [self.cells[cell][place] for cell in chosen] for place, name in enumerate(self.columns)
        }
        for prefix, part in (("", self.bounds), ("lost_", self.losses)):
            if part is None:
                continue
            columns[f"{prefix}low"] = part.low[chosen].astype(np.int64).tolist()
            columns[f"{prefix}high"] = [int(one) if np.isfinite(one) else None for one in part.high[chosen]]
            columns[f"{prefix}tight"] = part.is_tight[chosen].tolist()
        return columns


def check_table(
    table: str | Path,
    kind: str,
    *,
    rules: Hiding = Hiding(),  # noqa: B008  # frozen
    absent: str | None = None,
    nested: str | Path | None = None,
    earlier: str | Path | None = None,
    count: str | None = None,
    seconds: float = 600.0,
) -> HiddenCells:
    """Bound the hidden and the rounded cells of a published table by everything that it shows."""
    if kind not in COLUMNS:
        raise MisuseError(f"--kind {kind} is unknown; give one of {', '.join(COLUMNS)}")
    if absent not in (None, "zero", "hidden"):
        raise MisuseError("--absent is zero or hidden")
    parent_of: Mapping[str, str] = {} if nested is None else read_parents(Path(nested))
    outer = set(parent_of.values())
    files = [Path(file) for file in (table, earlier) if file is not None]
    versions = [reading.read_published(file, kind, rules, outer, count) for file in files]
    keys, added_up = reading.finest_cells(versions, parent_of, absent)
    later, *others = (
        reading.system_of(version, len(keys), of_row, rules.hidden_range, absent)
        for version, of_row in zip(versions, added_up, strict=True)
    )
    system = reading.stacked_versions(others[0], later) if others else later
    ranges, n = bound(system, seconds), len(later.low)
    counts, losses = (
        Bounds(ranges.low[part], ranges.high[part], ranges.is_tight[part])
        for part in (slice(n), slice(n, None))
    )
    is_hidden = later.low < later.high
    return HiddenCells(versions[0].columns, keys, is_hidden, counts, losses if others else None)
