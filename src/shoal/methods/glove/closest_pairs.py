"""Which two classes are closest, without looking at every pair: bands of a growing threshold.

docs/bounds.md says why nothing is missed.

Each band finds everybody's nearest below the threshold, and classes are matched in order of effort. A list
holds a limited number and knows all pairs of its owner up to its last entry. So that nothing is missed, the
end of a full list stands in the queue like a pair: when it comes up while its owner is still there, the
living are searched again. A class stands in the slot of its first member, so slots are the canonical order
that settles ties.
"""

from heapq import heapify, heappop, heappush
from typing import Any, Final

import numpy as np

from shoal.kernels.crowd_bounds import Bounding, Crowds, bound_slot, bound_slots
from shoal.kernels.crowd_index import index_of, workspace_of
from shoal.kernels.near_crowds import LANES, nearest_to_crowds, offer_all
from shoal.kernels.nearest_lists import Nearest
from shoal.kernels.stretch import Samples, Scale
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps, samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.run import Run

_LIST: Final = 16
_FIRST_BAND: Final = 1 / 16  # of the largest effort there is
_GROWTH: Final = 1.25
_MANY: Final = 4000  # living crowds, from which on all threads search for one
_SINCE: Final = 16  # crowds that enter until the index is made again, and as many for each _OF_INDEX in it
_OF_INDEX: Final = 32
_BINS_TOGETHER: Final = 2  # four bins of a quarter of an hour around a crowd: they are kept for everybody
_PAIR, _END = 0, 1
_IN_32_BITS: Final = (1 << 31) - 1

# Effort, both slots ascending, then: _PAIR and the ages of both slots; or _END, the owner of the list and its
# age.
Entry = tuple[float, int, int, int, int, int]


class BandedPairs:
    """The closest pairs among all classes that are still to be merged, one slot each."""

    def __init__(self, original: Trajectories, caps: Caps, run: Run) -> None:
        self._original, self._run = original, run
        self._near = NearPairs(original, caps, run)
        self._living = np.ones(original.n_subjects, dtype=np.bool_)
        # goes up when a class leaves its slot, which makes entries about it void
        self._age = [0] * original.n_subjects
        self._queue: list[Entry] = []
        self._largest = 2 * float(self._near.scale.half)
        self._threshold = self._largest * _FIRST_BAND / _GROWTH
        self._merged: _MergedCrowds | None = None

    def closest(self) -> tuple[int, int] | None:
        """The two slots with the least effort, the smallest of equals, to be retired next; None below two."""
        while np.count_nonzero(self._living) > 1:
            while self._queue:
                _, a, b, kind, first, second = heappop(self._queue)
                if kind == _PAIR and self._age[a] == first and self._age[b] == second:
                    return a, b
                if kind == _END and self._age[first] == second:
                    self._search_again(first)
            if self._threshold <= self._largest:
                self._threshold *= _GROWTH
            self._search()
        return None

    @property
    def tally(self) -> Integers:
        """[2] pairs of single people whose evaluation has begun, and has ended; repeats count again."""
        return self._near.tally

    def retire(self, a: int, b: int) -> None:
        """Take two classes out."""
        for slot in (a, b):
            self._living[slot] = False
            self._age[slot] += 1

    def enter(self, slot: int, merged: EquivalenceClass) -> None:
        """Put a merged class into an empty slot and look for those near it."""
        if self._merged is None:
            self._merged = _MergedCrowds(self._original, self._near, self._run.threads)
        self._living[slot] = True
        self._merged.store(slot, merged)
        self._search_crowds(np.array([slot]))

    def _search(self) -> None:
        """Queue all pairs of the living below the threshold, as far as the lists reach."""
        living = np.flatnonzero(self._living)
        self._queue.clear()
        single = living if self._merged is None else living[self._merged.crowds.sizes[living] == 1]
        self._put(single, self._near.nearest(single, _LIST, self._threshold))
        if self._merged is not None:
            self._search_crowds(np.setdiff1d(living, single))

    def _search_again(self, owner: int) -> None:
        """The list of ``owner`` has been used up."""
        if self._merged is not None and self._merged.crowds.sizes[owner] > 1:
            self._search_crowds(np.array([owner]))
        else:
            self._search()

    def _search_crowds(self, slots: Integers) -> None:
        assert self._merged is not None  # noqa: S101  (callers see to it)
        self._put(
            slots, self._merged.nearest(slots, np.flatnonzero(self._living), self._threshold, self._run)
        )

    def _put(self, owners: Integers, found: Nearest) -> None:
        """Queue the lists of these slots."""
        count, partner, effort = found.known[owners], found.partner[owners], found.effort[owners]
        listed = np.arange(_LIST) < count[:, None]
        owner, other = np.repeat(owners, count), partner[listed]
        age = self._age
        for e, a, b in zip(
            effort[listed].tolist(),
            np.minimum(owner, other).tolist(),
            np.maximum(owner, other).tolist(),
            strict=True,
        ):
            self._add((e, a, b, _PAIR, age[a], age[b]), many=len(owners) > 1)
        for row in np.flatnonzero(count == _LIST).tolist():
            own, last = int(owners[row]), int(partner[row, -1])
            self._add(
                (float(effort[row, -1]), min(own, last), max(own, last), _END, own, age[own]),
                many=len(owners) > 1,
            )
        if len(owners) > 1:
            heapify(self._queue)

    def _add(self, entry: Entry, *, many: bool) -> None:
        if many:
            self._queue.append(entry)
        else:
            heappush(self._queue, entry)


class _MergedCrowds:
    """The boxes of all classes; those of merged ones stand behind those of single people."""

    def __init__(self, original: Trajectories, near: NearPairs, threads: int) -> None:
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
        bounding = Bounding(
            around=np.empty((n, 4), dtype=np.int64),
            waits=np.empty(
                (n, (hours.n_bins >> _BINS_TOGETHER) + 1), dtype=np.int16 if self._far < 1 << 15 else np.int64
            ),
            shift=hours.shift + _BINS_TOGETHER,
            main_place=places.own[places.offsets[:-1]].astype(np.int64),
            main_weight=places.weights[places.offsets[:-1]].astype(np.int64),
        )
        self.crowds = Crowds(boxes, starts, starts + lengths, np.ones(n, dtype=np.int64), bounding)
        bound_slots(self.crowds, hours, self._far)
        self._lists = [
            Nearest(
                partner=np.empty((n, _LIST), dtype=np.int32),
                effort=np.empty((n, _LIST)),
                known=np.zeros(n, dtype=np.int32),
                wanted=np.ones(n, dtype=np.bool_),
                tally=np.zeros(2, dtype=np.int64),
            )
            for _ in range(threads)
        ]
        self._index_again(np.empty(0, dtype=np.int64))

    def _index_again(self, slots: Integers) -> None:
        """Put these crowds into the index, and nobody else."""
        hours, nobody = self._near.people.hours, np.empty(0, dtype=np.int64)
        self._nobody = index_of(self.crowds, hours, nobody, nobody, 0)
        self._index = self._nobody
        if len(slots):
            self._index = index_of(self.crowds, hours, slots, np.unique(self.crowds.sizes[slots]), self._used)
        self._lowest = [workspace_of(self._index, len(self.crowds.sizes)) for _ in self._lists]
        self._entered = 0

    def store(self, slot: int, merged: EquivalenceClass) -> None:
        """Append the class's boxes behind those already held."""
        ordered = samples_of_boxes(merged.boxes)
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
        self._most_boxes = max(self._most_boxes, m)
        self._used = stop
        self._entered += 1

    def nearest(self, slots: Integers, living: Integers, threshold: float, run: Run) -> Nearest:
        """The nearest living others of each of these slots below the threshold."""
        threads, lists = range(run.threads), self._lists
        crowds = self.crowds.sizes[living] > 1
        if self._entered > _SINCE + len(self._index.slots) // _OF_INDEX:
            self._index_again(living[crowds])
        if len(slots) > 1:
            parts = [(slots[first :: run.threads].copy(), living, self._index) for first in threads]
        elif len(slots) == 1 and len(living) > _MANY and run.threads > 1:
            single = living[~crowds]
            parts = [(slots, single[first :: run.threads - 1].copy(), self._nobody) for first in threads[:-1]]
            parts.append((slots, living[crowds], self._index))
        else:
            parts = [(slots, living, self._index)]

        def search(place: int) -> None:
            own, among, index = parts[place]
            nearest_to_crowds(
                self.crowds,
                self._near.people,
                own,
                among,
                threshold,
                lists[0 if len(slots) > 1 else place],
                index,
                self._lowest[place],
                self._most_boxes,
                self._near.scale,
            )

        for _ in run.map(search, range(len(parts))):
            pass
        if len(slots) == 1:
            for found in lists[1 : len(parts)]:
                offer_all(lists[0], found, slots[0], threshold)
        return lists[0]


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
