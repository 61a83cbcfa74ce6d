"""What the search for closest pairs knows about merged classes: their boxes, and who is near them."""

import math
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import numpy as np

from shoal.kernels.bounds import LANES as BLOCK_LANES
from shoal.kernels.crowd_blocks import nearest_to_block
from shoal.kernels.crowd_bounds import Bounding, Crowds, boxes_of, set_people_bounds, set_surroundings
from shoal.kernels.crowd_index import CrowdIndex, LowerBounds, build_crowd_index, empty_lower_bounds
from shoal.kernels.crowd_windows import find_visits
from shoal.kernels.merging import columns_in_order, samples_in_order
from shoal.kernels.near_crowds import LANES, nearest_to_crowds
from shoal.kernels.near_pairs import PairSearch
from shoal.kernels.nearest_lists import Nearest
from shoal.kernels.stretch import Samples, Scale
from shoal.measures.nearest_pairs import NearPairs
from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, Numbers

_SINCE: Final = 16  # crowds that enter until the index is made again, and as many for each _OF_INDEX in it
_OF_INDEX: Final = 32
_BLOCK: Final = 16  # fewer crowds are searched for one by one, and so are all beside fewer people
_BINS_TOGETHER: Final = 2  # four bins of a quarter of an hour around a crowd: they are kept for everybody
_IN_32_BITS: Final = (1 << 31) - 1
_ROWS: Final = 3  # for each person; what is not used takes no memory
_NOT_YET: Final = (1 << 63) - 1  # the turn of crowds that have not entered


class Begun(NamedTuple):
    """The search for a crowd's nearest that a thread has begun, or will begin.

    row: of the crowd, whose list it fills. until: how many crowds had entered, of which it sees those that
    live. done: it; task: the same, for whoever waits.
    """

    row: int
    until: int
    done: Future[None]
    task: tuple[Any, ...]


class MergedCrowds:
    """The boxes of all classes; those of merged ones stand behind those of single people.

    A class is known outside by its slot, and here by a row that it keeps: that of a single person is its
    slot, and each crowd that is made gets the next. So nothing that a search reads is written while it
    runs, but the turn of its own crowd, which comes after all others that it sees, before and after.
    """

    def __init__(self, original: Trajectories, near: NearPairs, threads: int, length: int) -> None:
        n, lengths, first = original.n_subjects, original.lengths, original.offsets[:-1]
        own = Boxes.of_samples(original.t, original.x, original.y)
        hours = near.people.hours
        self._near = near
        self._most_boxes = int(lengths.max())
        self._far = int(near.scale.half // near.scale.per_slot) + 1
        self._most_narrow = _most_narrow(original, near.scale)
        short = np.flatnonzero(lengths < LANES)
        starts = first.copy()
        starts[short] = original.n_samples + LANES * np.arange(len(short))
        again = first[short, None] + np.minimum(np.arange(LANES), lengths[short, None] - 1)
        self._used = original.n_samples + again.size
        kind = np.int32 if self._most_narrow > 1 else np.int64
        room = self._used + self._used // 2
        boxes = Samples(*(_with_room(column, room, kind) for column in (*own.columns(), own.t_end)))
        for column in boxes:
            column[original.n_samples : self._used] = column[again.ravel()]
        rows = _ROWS * n
        bounding = Bounding(
            around=np.empty((rows, 4), dtype=np.int64),
            waits=np.empty(
                (n, (hours.n_bins >> _BINS_TOGETHER) + 1),
                dtype=np.int16 if self._far < 1 << 15 else np.int64,
            ),
            shift=hours.shift + _BINS_TOGETHER,
            visits=find_visits(near.people, int(hours.slot.max())),
        )
        self.crowds = Crowds(
            boxes,
            starts=_with_room(starts, rows, np.int64),
            stops=_with_room(starts + lengths, rows, np.int64),
            sizes=_with_room(np.ones(n, dtype=np.int64), rows, np.int64),
            turns=np.zeros(rows, dtype=np.int64),
            slots=_with_room(np.arange(n), rows, np.int64),
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
        self._index_again(np.empty(0, dtype=np.int64))

    def _index_again(self, rows: Integers) -> None:
        """Put these crowds into the index, and nobody else."""
        hours, nobody = self._near.people.hours, np.empty(0, dtype=np.int64)
        self._nobody = build_crowd_index(self.crowds, hours, nobody, nobody, 0)
        self._index = self._nobody
        if len(rows):
            sizes, until = np.unique(self.crowds.sizes[rows]), len(self.entered) + 1
            self._index = build_crowd_index(self.crowds, hours, rows, sizes, until)
        # whoever waits for a search may carry it out beside all threads
        every = range(self._threads + 1)
        self._lowest = deque(empty_lower_bounds(self._index, len(self.crowds.sizes)) for _ in every)
        self._since = len(self.entered)

    def sizes(self, slots: Integers) -> Integers:
        """How many people the class in each of these slots has."""
        return self.crowds.sizes[self._rows[slots]]

    def spare_rows(self, n_living: int) -> int:
        """How many crowds may be stored beside those that so many classes can still become."""
        return len(self.crowds.sizes) - self._used_rows - n_living

    def enter(self, row: int) -> None:
        """The crowd in this row is in its slot from now on."""
        slot = int(self.crowds.slots[row])
        self._rows[slot] = row
        self.entered.append(slot)
        self.crowds.turns[row] = len(self.entered)

    def entered_by(self, slots: Integers, until: int) -> Numbers:
        """Whether the class in each of these slots is among those who were there after so many entered."""
        return self.crowds.turns[self._rows[slots]] <= until

    def store(self, slot: int, merged: EquivalenceClass) -> int:
        """Append the class's boxes behind those already held; its row, which has not entered."""
        row = self._used_rows
        self._used_rows += 1
        ordered = samples_in_order(columns_in_order(merged.boxes.columns()))
        m = len(ordered.t_start)
        start, stop = self._used, self._used + max(m, LANES)
        boxes = self.crowds.boxes
        kind = boxes.t_start.dtype if len(merged.members) <= self._most_narrow else np.dtype(np.int64)
        if stop > len(boxes.t_start) or kind != boxes.t_start.dtype:
            boxes = Samples(*(_with_room(column, stop + stop // 2, kind) for column in boxes))
            wider = kind != self.crowds.boxes.t_start.dtype
            self.crowds = self.crowds._replace(boxes=boxes)
            if wider:
                self._index_again(np.empty(0, dtype=np.int64))
        for column, own in zip(boxes, ordered, strict=True):
            column[start : start + m] = own
            column[start + m : stop] = own[-1]
        crowds = self.crowds
        crowds.starts[row], crowds.stops[row], crowds.sizes[row] = start, start + m, len(merged.members)
        crowds.slots[row], crowds.turns[row] = slot, _NOT_YET
        set_surroundings(boxes_of(crowds, row), crowds.bounding, row)
        self._most_boxes = max(self._most_boxes, m)
        self._used = stop
        return row

    def begin(self, row: int, living: Integers, threshold: float) -> Begun:
        """Begin to look for the nearest of a crowd among the living slots, below the threshold."""
        self._index_in_time(living)
        task = self._task(np.array([row]), self._rows[living], threshold, self._index)
        return Begun(row, len(self.entered), self._pool.submit(self._search, *task), task)

    def end(self, begun: Begun) -> list[tuple[float, int]]:
        """Effort and slot of each that it found; whoever waits for what no thread has begun does it."""
        if begun.done.cancel():
            self._search(*begun.task)
        else:
            begun.done.result()
        return self._list_of(begun.row)

    def nearest_of(self, row: int, slots: Integers, threshold: float) -> list[tuple[float, int]]:
        """The same among a few slots, at once."""
        self._search(*self._task(np.array([row]), self._rows[slots], threshold, self._nobody))
        return self._list_of(row)

    def _list_of(self, row: int) -> list[tuple[float, int]]:
        known, found = self._found.length[row], self._found
        return list(zip(found.effort[row, :known].tolist(), found.partner[row, :known].tolist(), strict=True))

    def nearest_of_many(self, slots: Integers, living: Integers, threshold: float) -> Nearest:
        """The nearest others of the crowds in these slots among the living, below the threshold.

        Many crowds at once where there are enough. The lists are in the order of ``slots``.
        """
        single = living[self.sizes(living) == 1]
        rows, others = self._rows[slots], self._rows[living]
        self._index_in_time(living)
        if len(slots) < _BLOCK or len(single) < _BLOCK:
            begun = [
                self._pool.submit(
                    self._search,
                    *self._task(rows[first :: self._threads].copy(), others, threshold, self._index),
                )
                for first in range(min(self._threads, len(slots)))
            ]
        else:
            search = self._near.prepared(single, threshold)
            begun = [
                self._pool.submit(self._search_block, search, block, others, threshold)
                for block in self._blocks(slots)
            ]
        for each in begun:
            each.result()
        found = self._found
        return found._replace(
            partner=found.partner[rows], effort=found.effort[rows], length=found.length[rows]
        )

    def _blocks(self, slots: Integers) -> list[Integers]:
        """These crowds in groups of at most LANES neighbors, as many groups for each thread."""
        places, main = self._near.people.places, self.crowds.bounding.visits.main[slots, 0, 0]
        count = min(-(-len(slots) // (BLOCK_LANES * self._threads)) * self._threads, len(slots))
        strips = math.ceil(math.sqrt(count))
        strip = np.empty(len(slots), dtype=np.int64)
        strip[np.argsort(places.x[main], kind="stable")] = np.arange(len(slots)) * strips // len(slots)
        return np.array_split(self._rows[slots[np.lexsort((places.y[main], strip))]], count)

    def _search_block(self, search: PairSearch, block: Integers, living: Integers, threshold: float) -> None:
        own = self._lowest.popleft()
        nearest_to_block(
            self.crowds, search, block, living, threshold, self._found, self._index, own, self._most_boxes
        )
        self._lowest.append(own)

    def _index_in_time(self, living: Integers) -> None:
        """Make the index again once many have entered since."""
        if len(self.entered) - self._since > _SINCE + len(self._index.slots) // _OF_INDEX:
            rows = self._rows[living]
            self._index_again(rows[self.crowds.sizes[rows] > 1])

    def _task(self, rows: Integers, others: Integers, threshold: float, index: CrowdIndex) -> tuple[Any, ...]:
        """What a search needs, with all that is replaced by others later."""
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
        own = lowest.popleft()
        nearest_to_crowds(
            crowds,
            self._near.people,
            rows,
            others,
            threshold,
            self._found,
            index,
            own,
            most_boxes,
            self._near.scale,
        )
        lowest.append(own)


def _most_narrow(original: Trajectories, scale: Scale) -> int:
    """The largest crowds whose costs beside each other fit 32 bits; 0 where not even coordinates do."""
    ends = [(int(column.min()), int(column.max()) + 1) for column in (original.t, original.x, original.y)]
    if any(first < -_IN_32_BITS or last > _IN_32_BITS for first, last in ends):
        return 0
    t, x, y = (last - first for first, last in ends)
    most = max(2 * int(scale.half), int(scale.per_slot) * t, int(scale.per_cell) * (x + y))
    return _IN_32_BITS // most // 2


def _with_room(column: Integers, room: int, kind: Any) -> Numbers:
    """A copy at the start of a longer array; memory that nothing has been written to costs nothing."""
    longer = np.empty(room, dtype=kind)
    longer[: len(column)] = column[:room]
    return longer
