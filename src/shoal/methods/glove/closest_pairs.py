"""Which two classes are closest, without looking at every pair: bands of a growing threshold.

docs/bounds.md says why nothing is missed.

Each band finds everybody's nearest below the threshold, and classes are matched in order of effort. A list
holds a limited number and knows all pairs of its owner up to its last entry. So that nothing is missed, the
end of a full list stands in the queue like a pair: when it comes up while its owner is still there, the
living are searched again. A class stands in the slot of its first member, so slots are the canonical order
that settles ties.
"""

from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from shoal.kernels.bounding_rectangles import MOST_RECTANGLES, Bounding, bound_slot, bound_slots
from shoal.kernels.near_crowds import Crowds, nearest_to_crowds, offer_all
from shoal.kernels.nearest_lists import Nearest
from shoal.kernels.stretch import Samples
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps, samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run

_LIST: Final = 16
_FIRST_BAND: Final = 1 / 16  # of the largest effort there is
_GROWTH: Final = 1.25
_MANY: Final = 4000  # living crowds, from which on all threads search for one
_BINS_TOGETHER: Final = 2  # four bins of a quarter of an hour around a crowd: they are kept for everybody
_PAIR, _END = 0, 1

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
        n = original.n_subjects
        own = Boxes.of_samples(original.t, original.x, original.y)
        hours = near.people.hours
        self._near = near
        self._used = original.n_samples
        self._most_boxes = int(original.lengths.max())
        self._far = int(near.scale.half // near.scale.per_slot) + 1
        bounding = Bounding(
            around=np.zeros((n, 4), dtype=np.int64),
            rectangles=np.zeros((n, MOST_RECTANGLES, 4), dtype=np.int64),
            in_use=np.zeros(n, dtype=np.int64),
            waits=np.zeros(
                (n, (hours.n_bins >> _BINS_TOGETHER) + 1), dtype=np.int16 if self._far < 1 << 15 else np.int64
            ),
            shift=hours.shift + _BINS_TOGETHER,
            longest=np.zeros(n, dtype=np.int64),
        )
        self.crowds = Crowds(
            boxes=Samples(
                *(_with_room(column, self._used + self._used // 2) for column in (*own.columns(), own.t_end))
            ),
            starts=original.offsets[:-1].copy(),
            stops=original.offsets[1:].copy(),
            sizes=np.ones(n, dtype=np.int64),
            bounding=bounding,
        )
        bound_slots(self.crowds.boxes, self.crowds.starts, self.crowds.stops, hours, self._far, bounding)
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

    def store(self, slot: int, merged: EquivalenceClass) -> None:
        """Append the class's boxes behind those already held."""
        samples = samples_of_boxes(merged.boxes)
        crowds, stop = self.crowds, self._used + len(samples.t_start)
        if stop > len(crowds.boxes.t_start):
            self.crowds = crowds = crowds._replace(
                boxes=Samples(*(_with_room(column, stop + stop // 2) for column in crowds.boxes))
            )
        for column, own in zip(crowds.boxes, samples, strict=True):
            column[self._used : stop] = own
        crowds.starts[slot], crowds.stops[slot], crowds.sizes[slot] = self._used, stop, len(merged.members)
        bound_slot(samples, self._near.people.hours, self._far, crowds.bounding, slot)
        self._most_boxes = max(self._most_boxes, len(samples.t_start))
        self._used = stop

    def nearest(self, slots: Integers, living: Integers, threshold: float, run: Run) -> Nearest:
        """The nearest living others of each of these slots below the threshold."""
        threads, lists = range(run.threads), self._lists
        if len(slots) > 1:
            parts = [(slots[first :: run.threads].copy(), living, lists[0]) for first in threads]
        elif len(slots) == 1 and len(living) > _MANY:
            parts = [(slots, living[first :: run.threads].copy(), lists[first]) for first in threads]
        else:
            parts = [(slots, living, lists[0])]

        def search(part: tuple[Integers, Integers, Nearest]) -> None:
            own, among, found = part
            nearest_to_crowds(
                self.crowds,
                self._near.people,
                own,
                among,
                threshold,
                found,
                self._most_boxes,
                self._near.scale,
            )

        if len(parts) == 1:
            search(parts[0])
        else:
            for _ in run.map(search, parts):
                pass
        for _, _, found in parts[1:]:
            if found is not lists[0]:
                offer_all(lists[0], found, slots[0], threshold)
        return lists[0]


def _with_room(column: Integers, room: int) -> Integers:
    """A copy at the start of a longer array; memory that nothing has been written to costs nothing."""
    longer = np.empty(room, dtype=np.int64)
    longer[: len(column)] = column
    return longer
