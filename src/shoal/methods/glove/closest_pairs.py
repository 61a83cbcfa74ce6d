"""Find the two closest classes without comparing every pair (docs/bounds.md: nothing is missed).

A class has the slot of its first member, so slots settle ties. A foreseen pair is only compared with classes
that entered since; it is dropped when it loses a member first.
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
from shoal.methods.glove.merged_crowds import MergedCrowds, StartedSearch
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run

_LIST: Final = 16  # of a crowd
_LIST_OF_PERSON: Final = 48  # hardly one is used up, which would cause another search
_FIRST_BAND: Final = 1 / 16  # of the largest effort there is
_GROWTH: Final = 1.25
_AHEAD: Final = 4  # crowds that are searched for together, for each thread
_ENOUGH: Final = 2  # searches that wait or run, for each thread: then no more are begun
_PAIR, _END = 0, 1

# Effort, both slots ascending, then: _PAIR and the ages of both slots; or _END, the owner of the list and how
# many lists of that slot were void before it.
Entry = tuple[float, int, int, int, int, int]


class BandedPairs:
    """The closest pairs among unfinished classes."""

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
        self._foreseen: dict[tuple[int, int], StartedSearch] = {}
        self._retired = (0, 0)

    def closest(self) -> tuple[int, int] | None:
        """The two slots with the least effort, the smallest of equals; None below two."""
        while self._n_living > 1:
            while self._queue:
                _, a, b, kind, first, second = heappop(self._queue)
                if kind == _PAIR and self._age[a] == first and self._age[b] == second:
                    return a, b
                if kind == _END and self._void[first] == second:
                    self._search_again(first)
            if self._threshold <= self._largest:
                self._threshold *= _GROWTH
            self._search_all()
        return None

    @property
    def tally(self) -> Integers:
        """[2] pairs of single people whose evaluation was started, and completed."""
        return self._near.tally

    def retire(self, a: int, b: int) -> None:
        """Remove two classes."""
        self._retired = (a, b)
        for slot in (a, b):
            self._living[slot] = False
            self._age[slot] += 1
            self._void[slot] += 1
            self._full[slot] = False
        self._n_living -= 2
        for pair in [
            foreseen for foreseen in self._foreseen if foreseen != (a, b) and not {a, b}.isdisjoint(foreseen)
        ]:
            self._foreseen.pop(pair).done.cancel()

    def enter(self, slot: int, merged: EquivalenceClass, ahead: Ahead) -> None:
        """Put a merged class into a slot and search for its nearest."""
        if self._merged is None:
            self._merged = MergedCrowds(self._original, self._near, self._run.threads, _LIST)
        crowds, threshold = self._merged, self._threshold
        search = self._foreseen.pop(self._retired, None)
        if search is None:
            row = crowds.store(slot, merged)
            search = crowds.begin(row, np.flatnonzero(self._living), threshold)
        since = sorted(
            {slot_since for slot_since in crowds.entered[search.until :] if self._living[slot_since]}
        )
        crowds.enter(search.row)
        self._living[slot] = True
        self._n_living += 1
        self._look_ahead(ahead)
        self._queue_list(slot, crowds.end(search), search.until)
        if since:
            near = crowds.nearest_of(search.row, np.array(since), threshold)
            self._queue_list(slot, near, len(crowds.entered))

    def _look_ahead(self, ahead: Ahead) -> None:
        assert self._merged is not None  # noqa: S101  (callers see to it)
        most = min(self._ahead - len(self._foreseen), self._merged.spare_rows(self._n_living))
        under_way = sum(not search.done.done() for search in self._foreseen.values())
        if most <= 0 or under_way >= _ENOUGH * self._run.threads:
            return
        living = np.flatnonzero(self._living)
        for (a, b), crowd in self._upcoming_pairs(ahead, most):
            row = self._merged.store(a, crowd)
            others = np.delete(living, np.searchsorted(living, (a, b)))
            self._foreseen[a, b] = self._merged.begin(row, others, self._threshold)

    def _upcoming_pairs(self, ahead: Ahead, most: int) -> Iterator[tuple[tuple[int, int], EquivalenceClass]]:
        # disjoint, not foreseen yet, to the end of a list, behind which other pairs may come
        popped: list[Entry] = []
        slots_used: set[int] = set()
        count = 0
        while self._queue and count < most and len(popped) < _LIST * self._run.threads:
            entry = heappop(self._queue)
            _, a, b, kind, first, second = entry
            if kind == _END and self._void[first] == second:
                popped.append(entry)
                if first not in slots_used:
                    break
            elif kind == _PAIR and self._age[a] == first and self._age[b] == second:
                popped.append(entry)
                if slots_used.isdisjoint((a, b)):
                    slots_used |= {a, b}
                    merged = None if (a, b) in self._foreseen else ahead(a, b)
                    if merged is not None:
                        count += 1
                        yield (a, b), merged
        for entry in popped:
            heappush(self._queue, entry)

    def _search_all(self) -> None:
        self._queue.clear()
        single = self._single_people()
        self._search_people(single, single)
        if self._merged is not None:
            self._search_crowds(np.setdiff1d(np.flatnonzero(self._living), single))

    def _search_again(self, owner: int) -> None:
        if self._full[owner]:
            self._search_people(self._single_people(), np.flatnonzero(self._full))
        else:
            self._search_crowds(np.array([owner]))

    def _single_people(self) -> Integers:
        living = np.flatnonzero(self._living)
        return living if self._merged is None else living[self._merged.sizes(living) == 1]

    def _search_people(self, single: Integers, owners: Integers) -> None:
        is_owner = np.zeros(len(self._living), dtype=np.bool_)
        is_owner[owners] = True
        near = self._near.nearest(single, _LIST_OF_PERSON, self._threshold, is_owner)
        self._full[owners] = near.length[owners] == _LIST_OF_PERSON
        self._queue_lists(owners, near, owners)

    def _search_crowds(self, slots: Integers) -> None:
        assert self._merged is not None  # noqa: S101  (callers see to it)
        living = np.flatnonzero(self._living)
        self._queue_lists(
            slots, self._merged.nearest_of_many(slots, living, self._threshold), np.arange(len(slots))
        )

    def _queue_lists(self, owners: Integers, nearest: Nearest, rows: Integers) -> None:
        count, length = nearest.length[rows], nearest.partner.shape[1]
        listed = np.arange(length) < count[:, None]
        owner, other = np.repeat(owners, count), nearest.partner[rows][listed]
        effort, a, b = nearest.effort[rows][listed], np.minimum(owner, other), np.maximum(owner, other)
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
        for slot, row in zip(owners[full].tolist(), rows[full].tolist(), strict=True):
            last = int(nearest.partner[row, -1])
            end = float(nearest.effort[row, -1])
            self._queue.append((end, min(slot, last), max(slot, last), _END, slot, int(self._void[slot])))
        heapify(self._queue)

    def _queue_list(self, slot: int, near: list[tuple[float, int]], until: int) -> None:
        assert self._merged is not None  # noqa: S101  (callers see to it)
        others = np.array([other for _, other in near], dtype=np.int64)
        still_valid = self._living[others] & self._merged.entered_by(others, until)
        for (effort, other), is_valid in zip(near, still_valid.tolist(), strict=True):
            a, b = min(slot, other), max(slot, other)
            if is_valid:
                heappush(self._queue, (effort, a, b, _PAIR, self._age[a], self._age[b]))
        if len(near) == _LIST:
            heappush(self._queue, (effort, a, b, _END, slot, int(self._void[slot])))
