"""What the search for closest pairs knows about merged classes: their boxes, and who is near them."""

import math
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from shoal.kernels.bounds import LANES as BLOCK_LANES
from shoal.kernels.crowd_blocks import nearest_to_block
from shoal.kernels.crowd_bounds import Bounding, Crowds, bound_slot, bound_slots
from shoal.kernels.crowd_index import CrowdIndex, Lowest, index_of, workspace_of
from shoal.kernels.merging import samples_in_order, side_by_side
from shoal.kernels.near_crowds import LANES, nearest_to_crowds
from shoal.kernels.near_pairs import Search
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
_NOT_YET: Final = (1 << 63) - 1  # the turn of crowds that have not entered

Part = tuple[Integers, Integers]  # slots, and everybody among whom their nearest are looked for


class MergedCrowds:
    """The boxes of all classes; those of merged ones stand behind those of single people.

    Behind the slots of all classes, ``spare`` more hold crowds that are searched for before they enter.
    """

    def __init__(
        self, original: Trajectories, near: NearPairs, threads: int, length: int, spare: int
    ) -> None:
        n, lengths, first = original.n_subjects, original.lengths, original.offsets[:-1]
        own = Boxes.of_samples(original.t, original.x, original.y)
        places, hours = near.people.places, near.people.hours
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
        rows = n + spare
        bounding = Bounding(
            around=np.empty((rows, 4), dtype=np.int64),
            waits=np.empty(
                (rows, (hours.n_bins >> _BINS_TOGETHER) + 1),
                dtype=np.int16 if self._far < 1 << 15 else np.int64,
            ),
            shift=hours.shift + _BINS_TOGETHER,
            main_place=places.own[places.offsets[:-1]].astype(np.int64),
            main_weight=places.weights[places.offsets[:-1]].astype(np.int64),
        )
        self.crowds = Crowds(
            boxes,
            starts=np.concatenate([starts, np.zeros(spare, dtype=np.int64)]),
            stops=np.concatenate([starts + lengths, np.ones(spare, dtype=np.int64)]),
            sizes=np.ones(rows, dtype=np.int64),
            turns=np.zeros(rows, dtype=np.int64),
            bounding=bounding,
        )
        bound_slots(self.crowds, hours, self._far)
        self._found = Nearest(
            partner=np.empty((rows, length), dtype=np.int32),
            effort=np.empty((rows, length)),
            known=np.zeros(rows, dtype=np.int32),
            wanted=np.ones(rows, dtype=np.bool_),
            tally=np.zeros(2, dtype=np.int64),
        )
        self._threads = threads
        # for thousands of searches; its threads end with this object
        self._pool = ThreadPoolExecutor(threads)
        self.entered: list[int] = []  # the slots of crowds, in the order in which they entered
        self._index_again(np.empty(0, dtype=np.int64))

    def _index_again(self, slots: Integers) -> None:
        """Put these crowds into the index, and nobody else."""
        hours, nobody = self._near.people.hours, np.empty(0, dtype=np.int64)
        self._nobody = index_of(self.crowds, hours, nobody, nobody, 0)
        self._index = self._nobody
        if len(slots):
            sizes, until = np.unique(self.crowds.sizes[slots]), len(self.entered) + 1
            self._index = index_of(self.crowds, hours, slots, sizes, until)
        rows = len(self.crowds.sizes)
        self._lowest = deque(workspace_of(self._index, rows) for _ in range(self._threads))
        self._since = len(self.entered)

    def enter(self, slot: int, merged: EquivalenceClass) -> None:
        """A class that is among those whom others find from now on."""
        self.store(slot, merged)
        self._in_turn(slot)

    def enter_from(self, spare: int, slot: int) -> None:
        """The same for a class in a spare slot, with the list that was found for it."""
        crowds = self.crowds
        for column in (
            crowds.starts,
            crowds.stops,
            crowds.sizes,
            crowds.bounding.around,
            crowds.bounding.waits,
        ):
            column[slot] = column[spare]
        self._in_turn(slot)

    def _in_turn(self, slot: int) -> None:
        self.entered.append(slot)
        self.crowds.turns[slot] = len(self.entered)

    def store(self, slot: int, merged: EquivalenceClass) -> None:
        """Append the class's boxes behind those already held."""
        ordered = samples_in_order(side_by_side(merged.boxes.columns()))
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
        crowds.starts[slot], crowds.stops[slot], crowds.sizes[slot] = start, start + m, len(merged.members)
        bound_slot(
            Samples(*(column[start : start + m] for column in boxes)),
            self._near.people.hours,
            self._far,
            crowds.bounding,
            slot,
        )
        crowds.turns[slot] = _NOT_YET
        self._most_boxes = max(self._most_boxes, m)
        self._used = stop

    def nearest(self, parts: Iterable[Part], threshold: float, *, living: Integers | None) -> Nearest:
        """The nearest others below the threshold: of the slots in each part, those among the others in it.

        parts: may store further crowds as they are made, while those before are searched for. living:
        everybody, for the index of crowds; None = it does not pay, with one part.
        """
        if living is None:
            for part in parts:
                self._search(part, threshold, self.crowds, self._nobody, self._lowest, self._most_boxes)
            return self._found
        self._index_in_time(living)
        begun = [
            self._pool.submit(
                self._search, part, threshold, self.crowds, self._index, self._lowest, self._most_boxes
            )
            for part in parts
        ]
        for each in begun:
            each.result()
        return self._found

    def nearest_of_many(self, slots: Integers, living: Integers, threshold: float) -> Nearest:
        """The nearest others of these crowds among the living, many crowds at once where there are enough."""
        single = living[self.crowds.sizes[living] == 1]
        if len(slots) < _BLOCK or len(single) < _BLOCK:
            firsts = range(min(self._threads, len(slots)))
            parts = [(slots[first :: self._threads].copy(), living) for first in firsts]
            return self.nearest(parts, threshold, living=living)
        self._index_in_time(living)
        search = self._near.prepared(single, threshold)
        begun = [
            self._pool.submit(self._search_block, search, block, living, threshold)
            for block in self._blocks(slots)
        ]
        for each in begun:
            each.result()
        return self._found

    def _blocks(self, slots: Integers) -> list[Integers]:
        """These crowds in groups of at most LANES neighbors, as many groups for each thread."""
        places, main = self._near.people.places, self.crowds.bounding.main_place[slots]
        count = min(-(-len(slots) // (BLOCK_LANES * self._threads)) * self._threads, len(slots))
        strips = math.ceil(math.sqrt(count))
        strip = np.empty(len(slots), dtype=np.int64)
        strip[np.argsort(places.x[main], kind="stable")] = np.arange(len(slots)) * strips // len(slots)
        return np.array_split(slots[np.lexsort((places.y[main], strip))], count)

    def _search_block(self, search: Search, block: Integers, living: Integers, threshold: float) -> None:
        own = self._lowest.popleft()  # there are as many as threads
        nearest_to_block(
            self.crowds, search, block, living, threshold, self._found, self._index, own, self._most_boxes
        )
        self._lowest.append(own)

    def _index_in_time(self, living: Integers) -> None:
        """Make the index again once many have entered since."""
        if len(self.entered) - self._since > _SINCE + len(self._index.slots) // _OF_INDEX:
            self._index_again(living[self.crowds.sizes[living] > 1])

    def _search(
        self,
        part: Part,
        threshold: float,
        crowds: Crowds,
        index: CrowdIndex,
        lowest: deque[Lowest],
        most_boxes: int,
    ) -> None:
        own = lowest.popleft()  # there are as many as threads
        nearest_to_crowds(
            crowds,
            self._near.people,
            *part,
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
