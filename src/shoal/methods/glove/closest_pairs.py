"""Which two classes are closest, without looking at every pair: bands of a growing threshold.

docs/bounds.md says why nothing is missed.

Each band finds everybody's nearest below the threshold, and classes are matched in order of effort. A list
holds a limited number and knows all pairs of its owner up to its last entry. So that nothing is missed, the
end of a full list stands in the queue like a pair: when it comes up while its owner is still there, all
people whose lists are full are searched for again. A class stands in the slot of its first member, so slots
are the canonical order that settles ties.

The search for a merged class seldom changes which pair comes next. So with several threads the next pairs in
the queue are merged ahead and searched for on all threads while the loop goes on. A pair whose turn comes as
foreseen is only compared with those that entered since. One that loses a member first is forgotten.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from shoal.kernels.nearest_lists import Nearest
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.greedy import Ahead
from shoal.methods.glove.merged_crowds import Begun, MergedCrowds
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run

_LIST: Final = 16  # of a crowd
_LIST_OF_PERSON: Final = 48  # so long that hardly one is used up, which means another search for everybody
_FIRST_BAND: Final = 1 / 16  # of the largest effort there is
_GROWTH: Final = 1.25
_AHEAD: Final = 4  # crowds that are searched for together, for each thread
_ENOUGH: Final = 2  # searches that wait or run, for each thread: then no more are begun
_PAIR, _END = 0, 1

# Effort, both slots ascending, then: _PAIR and the ages of both slots; or _END, the owner of the list and how
# many lists of that slot were void before it.
Entry = tuple[float, int, int, int, int, int]


class BandedPairs:
    """The closest pairs among all classes that are still to be merged, one slot each."""

    def __init__(self, original: Trajectories, caps: Caps, run: Run) -> None:
        self._original, self._run = original, run
        self._near = NearPairs(original, caps, run)
        self._living = np.ones(original.n_subjects, dtype=np.bool_)
        self._n_living = original.n_subjects
        # goes up when a class leaves its slot, which makes entries about it void
        self._age = [0] * original.n_subjects
        # goes up when a class leaves its slot or is searched for again, which makes the end of its list void
        self._void = np.zeros(original.n_subjects, dtype=np.int64)
        self._full = np.zeros(original.n_subjects, dtype=np.bool_)  # lists of people that end before others
        self._queue: list[Entry] = []
        self._largest = 2 * float(self._near.scale.half)
        self._threshold = self._largest * _FIRST_BAND / _GROWTH
        self._merged: MergedCrowds | None = None
        self._ahead = _AHEAD * run.threads - 1 if run.threads > 1 else 0
        self._foreseen: dict[tuple[int, int], Begun] = {}
        self._retired = (0, 0)

    def closest(self) -> tuple[int, int] | None:
        """The two slots with the least effort, the smallest of equals, to be retired next; None below two."""
        while self._n_living > 1:
            while self._queue:
                _, a, b, kind, first, second = heappop(self._queue)
                if kind == _PAIR and self._age[a] == first and self._age[b] == second:
                    return a, b
                if kind == _END and self._void[first] == second:
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
        self._retired = (a, b)
        for slot in (a, b):
            self._living[slot] = False
            self._age[slot] += 1
            self._void[slot] += 1
            self._full[slot] = False
        self._n_living -= 2
        for pair in [each for each in self._foreseen if each != (a, b) and not {a, b}.isdisjoint(each)]:
            self._foreseen.pop(pair).done.cancel()

    def enter(self, slot: int, merged: EquivalenceClass, ahead: Ahead) -> None:
        """Put a merged class into an empty slot and look for those near it."""
        if self._merged is None:
            self._merged = MergedCrowds(self._original, self._near, self._run.threads, _LIST)
        crowds, threshold = self._merged, self._threshold
        begun = self._foreseen.pop(self._retired, None)
        if begun is None:
            row = crowds.store(slot, merged)
            begun = crowds.begin(row, np.flatnonzero(self._living), threshold)
        since = sorted({each for each in crowds.entered[begun.until :] if self._living[each]})
        crowds.enter(begun.row)
        self._living[slot] = True
        self._n_living += 1
        self._look_ahead(ahead)
        self._put_one(slot, crowds.end(begun), begun.until)
        if since:
            near = crowds.nearest_of(begun.row, np.array(since), threshold)
            self._put_one(slot, near, len(crowds.entered))

    def _look_ahead(self, ahead: Ahead) -> None:
        """Begin to look for those near the crowds that come next, so that no thread waits."""
        assert self._merged is not None  # noqa: S101  (callers see to it)
        most = min(self._ahead - len(self._foreseen), self._merged.spare_rows(self._n_living))
        under_way = sum(not each.done.done() for each in self._foreseen.values())
        if most <= 0 or under_way >= _ENOUGH * self._run.threads:
            return
        living = np.flatnonzero(self._living)
        for (a, b), crowd in self._next_ones(ahead, most):
            row = self._merged.store(a, crowd)
            others = np.delete(living, np.searchsorted(living, (a, b)))
            self._foreseen[a, b] = self._merged.begin(row, others, self._threshold)

    def _next_ones(self, ahead: Ahead, most: int) -> Iterator[tuple[tuple[int, int], EquivalenceClass]]:
        """The next pairs in the queue that share nobody, will enter and were not foreseen.

        So many, up to the end of a list, behind which others may come next; and of many pairs of the same few
        classes not all are looked at.
        """
        seen: list[Entry] = []
        taken: set[int] = set()
        found = 0
        while self._queue and found < most and len(seen) < _LIST * self._run.threads:
            entry = heappop(self._queue)
            _, a, b, kind, first, second = entry
            if kind == _END and self._void[first] == second:
                seen.append(entry)
                if first not in taken:
                    break
            elif kind == _PAIR and self._age[a] == first and self._age[b] == second:
                seen.append(entry)
                if taken.isdisjoint((a, b)):
                    taken |= {a, b}
                    merged = None if (a, b) in self._foreseen else ahead(a, b)
                    if merged is not None:
                        found += 1
                        yield (a, b), merged
        for entry in seen:
            heappush(self._queue, entry)

    def _search(self) -> None:
        """Queue all pairs of the living below the threshold, as far as the lists reach."""
        living = np.flatnonzero(self._living)
        self._queue.clear()
        single = living if self._merged is None else living[self._merged.sizes(living) == 1]
        self._search_people(single, single)
        if self._merged is not None:
            self._search_crowds(np.setdiff1d(living, single))

    def _search_again(self, owner: int) -> None:
        """The list of ``owner`` has been used up: look again, and for all others whose lists may be soon."""
        if not self._full[owner]:
            self._search_crowds(np.array([owner]))
            return
        living = np.flatnonzero(self._living)
        single = living if self._merged is None else living[self._merged.sizes(living) == 1]
        self._search_people(single, np.flatnonzero(self._full))

    def _search_people(self, single: Integers, owners: Integers) -> None:
        """Queue the lists of these owners among all who are single."""
        wanted = np.zeros(len(self._living), dtype=np.bool_)
        wanted[owners] = True
        found = self._near.nearest(single, _LIST_OF_PERSON, self._threshold, wanted)
        self._full[owners] = found.length[owners] == _LIST_OF_PERSON
        self._put(owners, found, owners)

    def _search_crowds(self, slots: Integers) -> None:
        assert self._merged is not None  # noqa: S101  (callers see to it)
        living = np.flatnonzero(self._living)
        self._put(slots, self._merged.nearest_of_many(slots, living, self._threshold), np.arange(len(slots)))

    def _put(self, owners: Integers, found: Nearest, rows: Integers) -> None:
        """Queue the lists of these slots, which stand in these rows; a pair that stands in two lists once."""
        count, length = found.length[rows], found.partner.shape[1]
        listed = np.arange(length) < count[:, None]
        owner, other = np.repeat(owners, count), found.partner[rows][listed]
        effort, a, b = found.effort[rows][listed], np.minimum(owner, other), np.maximum(owner, other)
        order = np.lexsort((b, a, effort))
        a, b = a[order], b[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
        self._void[owners] += 1
        age = self._age
        self._queue += [
            (e, i, j, _PAIR, age[i], age[j])
            for e, i, j in zip(
                effort[order][first].tolist(), a[first].tolist(), b[first].tolist(), strict=True
            )
        ]
        full = count == length
        for own, row in zip(owners[full].tolist(), rows[full].tolist(), strict=True):
            last = int(found.partner[row, -1])
            end = float(found.effort[row, -1])
            self._queue.append((end, min(own, last), max(own, last), _END, own, int(self._void[own])))
        heapify(self._queue)

    def _put_one(self, slot: int, near: list[tuple[float, int]], until: int) -> None:
        """Queue the list of one crowd, effort and slot of each, as far as they were there at ``until``."""
        assert self._merged is not None  # noqa: S101  (callers see to it)
        others = np.array([other for _, other in near], dtype=np.int64)
        there = self._living[others] & self._merged.entered_by(others, until)
        for (effort, other), is_there in zip(near, there.tolist(), strict=True):
            a, b = min(slot, other), max(slot, other)
            if is_there:
                heappush(self._queue, (effort, a, b, _PAIR, self._age[a], self._age[b]))
        if len(near) == _LIST:
            heappush(self._queue, (effort, a, b, _END, slot, int(self._void[slot])))
