"""Which two classes are closest, without looking at every pair: bands of a growing threshold.

docs/bounds.md says why nothing is missed.

Each band finds everybody's nearest below the threshold, and classes are matched in order of effort. A list
holds a limited number and knows all pairs of its owner up to its last entry. So that nothing is missed, the
end of a full list stands in the queue like a pair: when it comes up while its owner is still there, the
living are searched again. A class stands in the slot of its first member, so slots are the canonical order
that settles ties.

The search for a merged class seldom changes which pair comes next. So with several threads the next pairs in
the queue are merged ahead, and all are searched for at once. A pair whose turn comes as foreseen is only
compared with those that entered since. One that loses a member first is forgotten.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.nearest_lists import Nearest
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.greedy import Ahead
from shoal.methods.glove.merged_crowds import MergedCrowds, Part
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run

_LIST: Final = 16  # of a crowd
_LIST_OF_PERSON: Final = 48  # so long that hardly one is used up, which means another search for everybody
_FIRST_BAND: Final = 1 / 16  # of the largest effort there is
_GROWTH: Final = 1.25
_AHEAD: Final = 4  # crowds that are searched for together, for each thread
_PAIR, _END = 0, 1

# Effort, both slots ascending, then: _PAIR and the ages of both slots; or _END, the owner of the list and its
# age.
Entry = tuple[float, int, int, int, int, int]


class _Foreseen(NamedTuple):
    """A crowd that two slots will become if they come next, in a spare slot, with those near it.

    near: effort, slot and age of each in its list. until: how many crowds had entered before the search.
    """

    spare: int
    near: list[tuple[float, int, int]]
    until: int


class BandedPairs:
    """The closest pairs among all classes that are still to be merged, one slot each."""

    def __init__(self, original: Trajectories, caps: Caps, run: Run) -> None:
        self._original, self._run = original, run
        self._near = NearPairs(original, caps, run)
        self._living = np.ones(original.n_subjects, dtype=np.bool_)
        self._n_living = original.n_subjects
        # goes up when a class leaves its slot, which makes entries about it void
        self._age = [0] * original.n_subjects
        self._queue: list[Entry] = []
        self._largest = 2 * float(self._near.scale.half)
        self._threshold = self._largest * _FIRST_BAND / _GROWTH
        self._merged: MergedCrowds | None = None
        n, ahead = original.n_subjects, _AHEAD * run.threads - 1 if run.threads > 1 else 0
        self._spare = list(range(n, n + ahead))
        self._foreseen: dict[tuple[int, int], _Foreseen] = {}
        self._retired = (0, 0)

    def closest(self) -> tuple[int, int] | None:
        """The two slots with the least effort, the smallest of equals, to be retired next; None below two."""
        while self._n_living > 1:
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
        self._retired = (a, b)
        for slot in (a, b):
            self._living[slot] = False
            self._age[slot] += 1
        self._n_living -= 2
        for pair in [each for each in self._foreseen if each != (a, b) and not {a, b}.isdisjoint(each)]:
            self._spare.append(self._foreseen.pop(pair).spare)

    def enter(self, slot: int, merged: EquivalenceClass, ahead: Ahead) -> None:
        """Put a merged class into an empty slot and look for those near it."""
        if self._merged is None:
            self._merged = MergedCrowds(
                self._original, self._near, self._run.threads, _LIST, len(self._spare)
            )
        self._living[slot] = True
        self._n_living += 1
        foreseen = self._foreseen.pop(self._retired, None)
        if foreseen is None:
            self._merged.enter(slot, merged)
            self._search_ahead(slot, ahead)
            return
        since = np.array(self._merged.entered[foreseen.until :], dtype=np.int64)
        self._merged.enter_from(foreseen.spare, slot)
        self._spare.append(foreseen.spare)
        self._put_one(slot, foreseen.near)
        since = np.unique(since[self._living[since]])
        if len(since):
            own = np.array([slot])
            found = self._merged.nearest([(own, since)], self._threshold, living=None)
            self._put_one(slot, self._list_of(slot, found))

    def _search_ahead(self, slot: int, ahead: Ahead) -> None:
        """Look for those near a crowd that has entered, and near those that come next unless it is nearer."""
        assert self._merged is not None  # noqa: S101  (callers see to it)
        merged, living, spares = self._merged, np.flatnonzero(self._living), {}

        def parts() -> Iterator[Part]:
            yield np.array([slot]), living
            for pair, crowd in sorted(self._next_ones(ahead), key=lambda each: -len(each[1].boxes)):
                spares[pair] = self._spare.pop()
                merged.store(spares[pair], crowd)
                yield np.array([spares[pair]]), np.delete(living, np.searchsorted(living, pair))

        found = merged.nearest(parts(), self._threshold, living=living)
        self._put_one(slot, self._list_of(slot, found))
        until = len(self._merged.entered)
        for pair, spare in spares.items():
            self._foreseen[pair] = _Foreseen(spare, self._list_of(spare, found), until)

    def _next_ones(self, ahead: Ahead) -> list[tuple[tuple[int, int], EquivalenceClass]]:
        """The next pairs in the queue that share nobody, will enter and were not foreseen.

        As many as there are spare slots, up to the end of a list, behind which others may come next; and of
        many pairs of the same few classes not all are looked at.
        """
        seen: list[Entry] = []
        taken: set[int] = set()
        found: list[tuple[tuple[int, int], EquivalenceClass]] = []
        while self._queue and len(found) < len(self._spare) and len(seen) < _LIST * self._run.threads:
            entry = heappop(self._queue)
            _, a, b, kind, first, second = entry
            if kind == _END and self._age[first] == second:
                seen.append(entry)
                if first not in taken:
                    break
            elif kind == _PAIR and self._age[a] == first and self._age[b] == second:
                seen.append(entry)
                if taken.isdisjoint((a, b)):
                    taken |= {a, b}
                    merged = None if (a, b) in self._foreseen else ahead(a, b)
                    if merged is not None:
                        found.append(((a, b), merged))
        for entry in seen:
            heappush(self._queue, entry)
        return found

    def _search(self) -> None:
        """Queue all pairs of the living below the threshold, as far as the lists reach."""
        living = np.flatnonzero(self._living)
        self._queue.clear()
        single = living if self._merged is None else living[self._merged.crowds.sizes[living] == 1]
        self._put(single, self._near.nearest(single, _LIST_OF_PERSON, self._threshold))
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
        living = np.flatnonzero(self._living)
        self._put(slots, self._merged.nearest_of_many(slots, living, self._threshold))

    def _put(self, owners: Integers, found: Nearest) -> None:
        """Queue the lists of these slots, a pair that stands in both of its lists once."""
        count, length = found.known[owners], found.partner.shape[1]
        listed = np.arange(length) < count[:, None]
        owner, other = np.repeat(owners, count), found.partner[owners][listed]
        effort, a, b = found.effort[owners][listed], np.minimum(owner, other), np.maximum(owner, other)
        order = np.lexsort((b, a, effort))
        a, b = a[order], b[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
        age = self._age
        self._queue += [
            (e, i, j, _PAIR, age[i], age[j])
            for e, i, j in zip(
                effort[order][first].tolist(), a[first].tolist(), b[first].tolist(), strict=True
            )
        ]
        for own in owners[count == length].tolist():
            last = int(found.partner[own, -1])
            end = float(found.effort[own, -1])
            self._queue.append((end, min(own, last), max(own, last), _END, own, age[own]))
        heapify(self._queue)

    def _put_one(self, slot: int, near: list[tuple[float, int, int]]) -> None:
        """Queue the list of one crowd: effort, slot and age of each in it."""
        for effort, other, age in near:
            a, b = min(slot, other), max(slot, other)
            if self._age[other] == age:
                heappush(self._queue, (effort, a, b, _PAIR, self._age[a], self._age[b]))
        if len(near) == _LIST:
            heappush(self._queue, (effort, a, b, _END, slot, self._age[slot]))

    def _list_of(self, slot: int, found: Nearest) -> list[tuple[float, int, int]]:
        """Effort, slot and age of each that was found near a crowd."""
        known = found.known[slot]
        efforts, others = found.effort[slot, :known].tolist(), found.partner[slot, :known].tolist()
        return [(effort, other, self._age[other]) for effort, other in zip(efforts, others, strict=True)]
