"""Extents of boxes, per raw and per published sample (Gramaglia and Fiore 2015 do not say)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.kernels.box_measures import BoxColumns, Ownership, Points, covering_extents
from shoal.measures.query import batches_of_records
from shoal.model.grid import Grid
from shoal.model.linkage_checks import match_records
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Floats, Integers, Numbers, read_only

_AT_ONCE: Final = 1 << 18  # samples


@dataclass(frozen=True, eq=False, kw_only=True)
class Extents:
    """Distinct pairs of extents with counts, int64 [d] each."""

    space_cells: Integers  # dx + dy; an untouched sample has 2
    time_slots: Integers  # an untouched sample has 1
    count: Integers
    grid: Grid

    @classmethod
    def of(cls, space_cells: Integers, time_slots: Integers, grid: Grid) -> "Extents":
        """Of these extents, one per sample."""
        beyond = int(time_slots.max(initial=0)) + 1
        pairs_end = (int(space_cells.max(initial=0)) + 1) * beyond
        if pairs_end > np.iinfo(np.int64).max:
            return cls.counted(space_cells, time_slots, np.ones(len(space_cells), dtype=np.int64), grid)
        # half as wide, they are sorted twice as fast; sums and products that run over do so for none of them
        pairs: Numbers = space_cells.astype(np.uint32 if pairs_end < 1 << 32 else np.int64)
        pairs *= beyond
        np.add(pairs, time_slots, out=pairs, casting="unsafe")
        pairs.sort()
        first = np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]]) if len(pairs) else np.empty(0, np.int64)
        count, different = np.diff(first, append=len(pairs)), pairs[first].astype(np.int64)
        return cls(space_cells=different // beyond, time_slots=different % beyond, count=count, grid=grid)

    @classmethod
    def counted(cls, space_cells: Integers, time_slots: Integers, count: Integers, grid: Grid) -> "Extents":
        """Of pairs with counts, each any number of times."""
        beyond = int(time_slots.max(initial=0)) + 1
        if (int(space_cells.max(initial=0)) + 1) * beyond <= np.iinfo(np.int64).max:
            # quick where runs are in order
            order = np.argsort(space_cells * beyond + time_slots, kind="stable")
        else:
            order = np.lexsort((time_slots, space_cells))
        space, time = space_cells[order], time_slots[order]
        first = (
            np.flatnonzero(np.r_[True, (np.diff(space) != 0) | (np.diff(time) != 0)]) if len(space) else order
        )
        total = np.add.reduceat(count[order], first) if len(space) else count
        return cls(space_cells=space[first], time_slots=time[first], count=total, grid=grid)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int(self.count.sum())

    def share_within(self, *, space_m: float = math.inf, time_s: float = math.inf) -> float:
        """Samples with extents of at most ``space_m`` and ``time_s``; nan of none."""
        within = (self.space_cells <= _whole(space_m / self.grid.cell_m)) & (
            self.time_slots <= _whole(time_s / self.grid.slot_s)
        )
        return int(self.count[within].sum()) / self.n_samples if self.n_samples else math.nan

    @property
    def share_position_kept(self) -> float:
        """Samples whose box is one cell."""
        return self.share_within(space_m=2 * self.grid.cell_m)

    @property
    def share_time_kept(self) -> float:
        """Samples whose box is one slot."""
        return self.share_within(time_s=self.grid.slot_s)

    def space_m(self, quantiles: npt.ArrayLike) -> Floats:
        """Quantiles in meters: the least extent that these shares do not exceed."""
        return _quantiles(self.space_cells, self.count, quantiles) * self.grid.cell_m

    def time_s(self, quantiles: npt.ArrayLike) -> Floats:
        """Quantiles in seconds: the least extent that these shares do not exceed."""
        return _quantiles(self.time_slots, self.count, quantiles) * self.grid.slot_s

    @property
    def mean_space_m(self) -> float:
        """In meters; nan of none."""
        return _mean(self.space_cells, self.count) * self.grid.cell_m

    @property
    def mean_time_s(self) -> float:
        """In seconds; nan of none."""
        return _mean(self.time_slots, self.count) * self.grid.slot_s

    @property
    def median_space_m(self) -> float:
        """In meters (the lower of two); nan of none."""
        return float(self.space_m(0.5))

    @property
    def median_time_s(self) -> float:
        """In seconds (the lower of two); nan of none."""
        return float(self.time_s(0.5))


@dataclass(frozen=True, eq=False, kw_only=True)
class Accuracy:
    """Both readings, and raw samples that no box covers."""

    raw: Extents  # every covered raw sample, by the box with the least extent in time, then in space
    published: Extents  # every box of every record, so a crowd of k counts its boxes k times
    samples_suppressed: int


def measure_accuracy(original: Trajectories, release: Release, linkage: Linkage) -> Accuracy:
    """The extents of samples in place and time that the release leaves (Gramaglia and Fiore 2015, Sec. 7).

    >>> import shoal
    >>> from shoal.utility.accuracy import measure_accuracy
    >>> calls = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    >>> released = shoal.Glove(k=2).anonymize(calls, shoal.Randomness.for_research(1))
    >>> measure_accuracy(calls, *released).samples_suppressed
    0
    """
    return accuracy_of(original, release, _linked_on_one_grid(original, release, linkage))[0]


def accuracy_of(original: Trajectories, release: Release, records: Integers) -> tuple[Accuracy, Flags]:
    """The accuracy, and which samples [m] no box covers, from each subject's record: int64 [n], -1 = none."""
    boxes, grid, none = release.boxes, release.snapped_grid(), np.empty(0, dtype=np.int64)
    lost, extents = [np.empty(0, dtype=np.bool_)], [(none, none, none)]
    for space_cells, time_slots in _extents_in_parts(original, release, records):
        covered = time_slots > 0
        lost.append(~covered)
        part = Extents.of(space_cells[covered], time_slots[covered], grid)
        extents.append((part.space_cells, part.time_slots, part.count))
    space, time, count = map(np.concatenate, zip(*extents, strict=True))
    all_lost = np.concatenate(lost)
    wide = boxes.x_max - boxes.x_min
    wide += boxes.y_max
    wide -= boxes.y_min
    accuracy = Accuracy(
        raw=Extents.counted(space, time, count, grid),
        published=Extents.of(wide, boxes.t_end - boxes.t_start, grid),
        samples_suppressed=int(np.count_nonzero(all_lost)),
    )
    return accuracy, all_lost


def extents_of_samples(
    original: Trajectories, release: Release, linkage: Linkage
) -> tuple[Integers, Integers]:
    """([m] cells, [m] slots) of the least box, in time, then space, over each sample; -1 = none."""
    return covering_extents_of(original, release, _linked_on_one_grid(original, release, linkage))


def _linked_on_one_grid(original: Trajectories, release: Release, linkage: Linkage) -> Integers:
    grid = original.snapped_grid()
    if grid != release.grid:
        raise MisuseError(
            f"the original is on {grid} and the release on {release.grid}; read the original as the release "
            "says it was read"
        )
    return match_records(original, release, linkage)


def covering_extents_of(
    original: Trajectories, release: Release, records: Integers
) -> tuple[Integers, Integers]:
    """The same from each subject's record: int64 [n], -1 = none."""
    none = np.empty((2, 0), dtype=np.int32)
    space, time = np.hstack([none, *_extents_in_parts(original, release, records)])
    return space, time


def _extents_in_parts(original: Trajectories, release: Release, records: Integers) -> Iterator[Integers]:
    """[2, m] cells and slots of consecutive people: of all at once they take much memory."""
    columns = BoxColumns(*release.boxes.columns())
    widest = sum(
        int(high.max(initial=0)) - int(low.min(initial=0))
        for low, high in ((columns.x_min, columns.x_max), (columns.y_min, columns.y_max))
    )
    longest = int(columns.t_end.max(initial=0)) - int(columns.t_start.min(initial=0))
    kind = np.int32 if max(widest, longest) <= np.iinfo(np.int32).max else np.int64
    for people in batches_of_records(original.offsets, _AT_ONCE):
        offsets = original.offsets[people.start : people.stop + 1]
        rows = slice(offsets[0], offsets[-1])
        extents = np.empty((2, int(offsets[-1] - offsets[0])), dtype=kind)
        owned = Ownership(read_only(offsets - offsets[0]), release.offsets, records[people])
        points = Points(original.t[rows], original.x[rows], original.y[rows])
        covering_extents(points, columns, owned, extents[1], extents[0])
        yield extents


def _whole(number: float) -> float:
    """Forgiving what a division of decimal fractions loses."""
    return math.floor(number * (1 + 1e-12)) if math.isfinite(number) else number


def _quantiles(values: Integers, count: Integers, shares: npt.ArrayLike) -> Floats:
    rank_shares = np.asarray(shares, dtype=np.float64)
    if not len(values):
        return np.full(rank_shares.shape, np.nan)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(count[order])
    rank = np.clip(np.ceil(rank_shares * reached[-1] * (1 - 1e-12)), 1, reached[-1])
    return np.asarray(values[order][np.searchsorted(reached, rank)], dtype=np.float64)


def _mean(values: Integers, count: Integers) -> float:
    return float(np.average(values, weights=count)) if len(values) else math.nan
