"""Boxes of merged classes and the search for their nearest."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import numpy as np

from shoal.kernels.crowd_bounds import Bounding, Crowds, boxes_of, set_people_bounds, set_surroundings
from shoal.kernels.crowd_index import CrowdIndex, LowerBounds, build_crowd_index, empty_lower_bounds
from shoal.kernels.crowd_windows import find_visits
from shoal.kernels.merging import columns_in_order, samples_in_order
from shoal.kernels.near_crowds import LANES, CrowdSearch, nearest_to_crowds
from shoal.kernels.nearest_lists import Nearest
from shoal.kernels.stretch import Samples, Scale
from shoal.measures.nearest_pairs import NearPairs
from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, Numbers

_SINCE: Final = 16  # crowds that enter until the index is made again, and as many for each _OF_INDEX in it
_OF_INDEX: Final = 32
_BINS_TOGETHER: Final = 2  # four bins of a quarter of an hour
_IN_32_BITS: Final = (1 << 31) - 1
_ROWS: Final = 3  # for each person; unused ones take no memory
_NOT_YET: Final = (1 << 63) - 1  # the turn of crowds that have not entered


class StartedSearch(NamedTuple):
    """A search that a thread may run."""

    row: int  # of the crowd, whose list it fills
    until: int  # how many crowds had entered; it sees those that live
    done: Future[None]
    task: tuple[Any, ...]  # its arguments, for a caller that cannot wait


class MergedCrowds:
    """The boxes of all classes; merged ones come last.

    Here a class is a row that never changes: a person's row is their slot, each merged crowd gets the next.
    So a running search reads nothing that is written meanwhile, except the turn of its own crowd, which
    comes after the turns of all that it sees.
    """

    def __init__(self, original: Trajectories, near: NearPairs, threads: int, length: int) -> None:
        n, lengths, first = original.n_subjects, original.lengths, original.offsets[:-1]
        sample_boxes = Boxes.of_samples(original.t, original.x, original.y)
        hours = near.people.hours
        self._near = near
        self._most_boxes = int(lengths.max())
        self._far = int(near.scale.half // near.scale.per_slot) + 1
        self._largest_32_bit_crowd = _largest_32_bit_crowd(original, near.scale)
        short = np.flatnonzero(lengths < LANES)
        starts = first.copy()
        starts[short] = original.n_samples + LANES * np.arange(len(short))
        padding = first[short, None] + np.minimum(np.arange(LANES), lengths[short, None] - 1)
        self._used = original.n_samples + padding.size
        kind = np.int32 if self._largest_32_bit_crowd > 1 else np.int64
        room = self._used + self._used // 2
        boxes = Samples(
            *(_with_capacity(column, room, kind) for column in (*sample_boxes.columns(), sample_boxes.t_end))
        )
        for column in boxes:
            column[original.n_samples : self._used] = column[padding.ravel()]
        rows = _ROWS * n
        bounding = Bounding(
            around=np.empty((rows, 4), dtype=np.int64),
            waits=np.empty(
                (n, (hours.n_bins >> _BINS_TOGETHER) + 1), dtype=np.int16 if self._far < 1 << 15 else np.int64
            ),
            shift=hours.shift + _BINS_TOGETHER,
            visits=find_visits(near.people, int(hours.slot.max())),
        )
        self.crowds = Crowds(
            boxes,
            starts=_with_capacity(starts, rows, np.int64),
            stops=_with_capacity(starts + lengths, rows, np.int64),
            sizes=_with_capacity(np.ones(n, dtype=np.int64), rows, np.int64),
            turns=np.zeros(rows, dtype=np.int64),
            slots=_with_capacity(np.arange(n), rows, np.int64),
            bounding=bounding,
        )
        set_people_bounds(self.crowds, n, hours, self._far)
        self._found = Nearest(
            partner=np.empty((rows, length), dtype=np.int32),
            effort=np.empty((rows, length)),
            length=np.zeros(rows, dtype=np.int32),
            requested=np.ones(rows, dtype=np.bool_),
            tally=np.zeros(2, dtype=np.int64),
        )
        self._threads = threads
        # for thousands of searches; its threads end with this object
        self._pool = ThreadPoolExecutor(threads)
        self._rows = np.arange(n)  # of the class in each slot
        self._used_rows = n
        self.entered: list[int] = []  # the slots of crowds, in the order in which they entered
        self._rebuild_index(np.empty(0, dtype=np.int64))

    def _rebuild_index(self, rows: Integers) -> None:
        hours, nobody = self._near.people.hours, np.empty(0, dtype=np.int64)
        self._nobody = build_crowd_index(self.crowds, hours, nobody, nobody, 0)
        self._index = self._nobody
        if len(rows):
            sizes, until = np.unique(self.crowds.sizes[rows]), len(self.entered) + 1
            self._index = build_crowd_index(self.crowds, hours, rows, sizes, until)
        # the waiting caller may run a search in addition to all threads
        every = range(self._threads + 1)
        self._lowest = deque(empty_lower_bounds(self._index, len(self.crowds.sizes)) for _ in every)
        self._since = len(self.entered)

    def sizes(self, slots: Integers) -> Integers:
        """People in the class of each slot."""
        return self.crowds.sizes[self._rows[slots]]

    def spare_rows(self, n_living: int) -> int:
        """How many crowds may be stored besides those that these classes can become."""
        return len(self.crowds.sizes) - self._used_rows - n_living

    def enter(self, row: int) -> None:
        """Put this row's crowd into its slot."""
        slot = int(self.crowds.slots[row])
        self._rows[slot] = row
        self.entered.append(slot)
        self.crowds.turns[row] = len(self.entered)

    def entered_by(self, slots: Integers, until: int) -> Numbers:
        """Whether each slot's class was among the first crowds to enter."""
        return self.crowds.turns[self._rows[slots]] <= until

    def store(self, slot: int, merged: EquivalenceClass) -> int:
        """Append the boxes of a class that has not entered; its row."""
        row = self._used_rows
        self._used_rows += 1
        ordered = samples_in_order(columns_in_order(merged.boxes.columns()))
        m = len(ordered.t_start)
        start, stop = self._used, self._used + max(m, LANES)
        boxes = self.crowds.boxes
        kind = (
            boxes.t_start.dtype if len(merged.members) <= self._largest_32_bit_crowd else np.dtype(np.int64)
        )
        if stop > len(boxes.t_start) or kind != boxes.t_start.dtype:
            boxes = Samples(*(_with_capacity(column, stop + stop // 2, kind) for column in boxes))
            wider = kind != self.crowds.boxes.t_start.dtype
            self.crowds = self.crowds._replace(boxes=boxes)
            if wider:
                self._rebuild_index(np.empty(0, dtype=np.int64))
        for column, source in zip(boxes, ordered, strict=True):
            column[start : start + m] = source
            column[start + m : stop] = source[-1]
        crowds = self.crowds
        crowds.starts[row], crowds.stops[row], crowds.sizes[row] = start, start + m, len(merged.members)
        crowds.slots[row], crowds.turns[row] = slot, _NOT_YET
        set_surroundings(boxes_of(crowds, row), crowds.bounding, row)
        self._most_boxes = max(self._most_boxes, m)
        self._used = stop
        return row

    def begin(self, row: int, living: Integers, threshold: float) -> StartedSearch:
        """Start to search for a crowd's nearest below the threshold."""
        self._refresh_index(living)
        task = self._arguments(np.array([row]), self._rows[living], threshold, self._index)
        done: Future[None] = Future()  # of one thread, which searches when it needs the list
        if self._threads > 1:
            done = self._pool.submit(self._search, *task)
        return StartedSearch(row, len(self.entered), done, task)

    def end(self, search: StartedSearch) -> list[tuple[float, int]]:
        """Effort and slot of each neighbor; runs a search that no thread has started."""
        if search.done.cancel():
            self._search(*search.task)
        else:
            search.done.result()
        return self._list_of(search.row)

    def nearest_of(self, row: int, slots: Integers, threshold: float) -> list[tuple[float, int]]:
        """Effort and slot of a crowd's nearest among a few slots."""
        self._search(*self._arguments(np.array([row]), self._rows[slots], threshold, self._nobody))
        return self._list_of(row)

    def _list_of(self, row: int) -> list[tuple[float, int]]:
        count, nearest = self._found.length[row], self._found
        return list(
            zip(nearest.effort[row, :count].tolist(), nearest.partner[row, :count].tolist(), strict=True)
        )

    def nearest_of_many(self, slots: Integers, living: Integers, threshold: float) -> Nearest:
        """The nearest living others, in the order of ``slots``."""
        rows, others = self._rows[slots], self._rows[living]
        self._refresh_index(living)
        searches = [
            self._pool.submit(
                self._search,
                *self._arguments(rows[first :: self._threads].copy(), others, threshold, self._index),
            )
            for first in range(min(self._threads, len(slots)))
        ]
        for future in searches:
            future.result()
        nearest = self._found
        return nearest._replace(
            partner=nearest.partner[rows], effort=nearest.effort[rows], length=nearest.length[rows]
        )

    def _refresh_index(self, living: Integers) -> None:
        if len(self.entered) - self._since > _SINCE + len(self._index.slots) // _OF_INDEX:
            rows = self._rows[living]
            self._rebuild_index(rows[self.crowds.sizes[rows] > 1])

    def _arguments(
        self, rows: Integers, others: Integers, threshold: float, index: CrowdIndex
    ) -> tuple[Any, ...]:
        return rows, others, threshold, self.crowds, index, self._lowest, self._most_boxes

    def _search(
        self,
        rows: Integers,
        others: Integers,
        threshold: float,
        crowds: Crowds,
        index: CrowdIndex,
        lowest: deque[LowerBounds],
        most_boxes: int,
    ) -> None:
        workspace = lowest.popleft()
        search = CrowdSearch(crowds, self._near.people, index, self._near.scale, self._found, threshold)
        nearest_to_crowds(search, rows, others, workspace, most_boxes)
        lowest.append(workspace)


def _largest_32_bit_crowd(original: Trajectories, scale: Scale) -> int:
    # the largest crowd size whose mutual costs fit 32 bits; 0 where coordinates do not fit
    ends = [(int(column.min()), int(column.max()) + 1) for column in (original.t, original.x, original.y)]
    if any(first < -_IN_32_BITS or last > _IN_32_BITS for first, last in ends):
        return 0
    t, x, y = (last - first for first, last in ends)
    most = max(2 * int(scale.half), int(scale.per_slot) * t, int(scale.per_cell) * (x + y))
    return _IN_32_BITS // most // 2


def _with_capacity(column: Integers, room: int, kind: Any) -> Numbers:
    longer = np.empty(room, dtype=kind)
    longer[: len(column)] = column[:room]
    return longer
