"""Choose who hides each subject, and suppress who cannot be hidden.

Gramaglia et al. 2017, Alg. 2. Windows go in time order. Without a hider, a subject's samples of one epoch,
or of all epochs of the window, become unpublished, and every window with a changed epoch is repeated. So
nobody covers, or is covered by, an unpublished record. Each step unpublishes something, so the loop ends.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.hiding import NO_ONE, HidingHistory, Pieces, assign_hiders
from shoal.model.neighborhoods import order_by_longest_axis, split_rows
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Arrays
from shoal.runtime.run import Run


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Epochs:
    """``count`` epochs in windows of ``width``; piece p is what subject[p] did in epoch[p]."""

    count: int
    width: int
    subject: Integers  # with ``epoch``: of each piece, ordered by both
    epoch: Integers
    pieces: Pieces
    by_epoch: Integers  # pieces by epoch; those of epoch e are starts[e] to starts[e + 1]
    starts: Integers

    @property
    def samples(self) -> Integers:
        """int64 [p]: samples of each piece."""
        return self.pieces.end - self.pieces.first

    @property
    def n_windows(self) -> int:
        """Number of windows: one starts at every epoch with enough after it."""
        return self.count - self.width + 1

    def is_empty(self, window: int) -> bool:
        """Whether a window has no samples."""
        return bool(self.starts[window] == self.starts[window + self.width])

    def pieces_in(self, window: int) -> tuple[Integers, Integers]:
        """Subjects with samples [n], ascending, and their pieces [n, width], -1 for none."""
        inside = self.by_epoch[self.starts[window] : self.starts[window + self.width]]
        subjects, row = np.unique(self.subject[inside], return_inverse=True)
        table = np.full((len(subjects), self.width), -1, dtype=np.int64)
        table[row, self.epoch[inside] - window] = inside
        return subjects, table


def cut_into_epochs(original: Trajectories, epoch_slots: int, width: int) -> Epochs:
    """Epochs of ``epoch_slots``; data no longer than a window is a single one."""
    slot = original.t - original.t.min()
    if int(slot.max()) < epoch_slots * width:
        epoch_slots, width = int(slot.max()) + 1, 1
    epoch_of_sample = slot // epoch_slots
    subject_of_sample = np.repeat(np.arange(original.n_subjects), original.lengths)
    fresh = np.ones(original.n_samples, dtype=np.bool_)
    fresh[1:] = (np.diff(epoch_of_sample) != 0) | (np.diff(subject_of_sample) != 0)
    first = np.flatnonzero(fresh)
    end = np.append(first[1:], original.n_samples)
    epoch = epoch_of_sample[first]
    count = int(epoch.max()) + 1
    return Epochs(
        count=count,
        width=width,
        subject=subject_of_sample[first],
        epoch=epoch,
        pieces=Pieces(original.t, original.x, original.y, first, end),
        by_epoch=np.argsort(epoch, kind="stable"),
        starts=np.searchsorted(np.sort(epoch), np.arange(count + 1)),
    )


UNPUBLISHED = 0
WINDOWS_A_PART: Final = 48  # kept at once: seconds of work with many people
_WINDOWS_REMEMBERED: Final = 48  # solutions of this many earlier windows are kept
_LARGEST_NEIGHBORHOOD = 512
_NODES_AT_ONCE = 8
_LABEL: Final = "choosing hiders"


@dataclass(frozen=True, eq=False, repr=False)
class Window:
    """The result for one window."""

    subjects: Integers  # [n]
    table: Integers  # [n, width] published pieces, -1 for none
    hiders: Integers  # [n, k - 1] rows of this window


@dataclass(frozen=True)
class Search:
    """Where hiders are searched for."""

    neighborhood: int  # people at first
    space_weight: int  # slots that one cell of a pair's hull costs in addition
    cycles: bool = False  # hiders form greedy cycles instead of the assignment of least cost


@dataclass(eq=False)
class _Node:
    # rows of one window that may hide each other, and the larger neighborhood they were cut from

    rows: Integers
    parent: "_Node | None"
    hiders: Integers = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    missing: int = 0


class _WindowResult(NamedTuple):
    # the last result for a window: hiders of each subject, [n, k - 1], and versions of its past

    subjects: Integers
    hiders: Integers
    before: Integers
    after: Integers


_Solutions = dict[bytes, tuple[Integers, int]]


@dataclass(eq=False, repr=False)
class _HiderStack:
    """A stack, since windows are undone in reverse order."""

    hiders: Integers
    count: Integers
    version: Integers  # [subjects], equal only for equal hiders so far
    n_versions: int = 1
    pushed: dict[int, _WindowResult] = field(default_factory=dict)  # of the last windows, by number
    # reused when a window is repeated with the same pieces and versions
    solutions: dict[int, _Solutions] = field(default_factory=dict)

    @classmethod
    def of_nobody(cls, n_subjects: int) -> "_HiderStack":
        count, version = np.zeros((2, n_subjects), dtype=np.int64)
        return cls(np.full((n_subjects, 8), NO_ONE, dtype=np.int64), count, version)

    def push(self, at: int, window: Window) -> None:
        self.pushed.pop(at - _WINDOWS_REMEMBERED, None)
        if not len(window.subjects):
            self.pushed.pop(at, None)
            return
        chosen = window.subjects[window.hiders]
        turns = chosen.shape[1]
        most = int(self.count.max(initial=0)) + turns
        if most > self.hiders.shape[1]:
            wider = np.full((len(self.count), 2 * most), NO_ONE, dtype=np.int64)
            wider[:, : self.hiders.shape[1]] = self.hiders
            self.hiders = wider
        for turn in range(turns):
            self.hiders[window.subjects, self.count[window.subjects]] = chosen[:, turn]
            self.count[window.subjects] += 1
        before, after = self.version[window.subjects], self._new_versions(len(chosen))
        last = self.pushed.get(at)
        if last is not None and len(last.subjects):
            row = np.minimum(np.searchsorted(last.subjects, window.subjects), len(last.subjects) - 1)
            same = (last.subjects[row] == window.subjects) & (last.before[row] == before)
            same &= (last.hiders[row] == chosen).all(axis=1)
            after[same] = last.after[row[same]]
        self.version[window.subjects] = after
        self.pushed[at] = _WindowResult(window.subjects, chosen, before, after)

    def pop(self, at: int, window: Window) -> None:
        if not len(window.subjects):
            return
        self.count[window.subjects] -= window.hiders.shape[1]
        last = self.pushed.get(at)
        self.version[window.subjects] = last.before if last else self._new_versions(len(window.subjects))

    def _new_versions(self, n: int) -> Integers:
        self.n_versions += n
        return np.arange(self.n_versions - n, self.n_versions)


@dataclass(eq=False, repr=False)
class _WindowAssignment:
    # windows done so far; the rest depends on this state alone, so a run can be continued

    epochs: Epochs
    states: Integers
    k: int
    search: Search
    memory: _HiderStack
    done: list[Window] = field(default_factory=list)

    def advance(self, goal: int, run: Run) -> Arrays:
        """Assign windows up to ``goal``; return the change, for ``replay``."""
        before = self.states.copy()
        n_kept = len(self.done)
        none = np.empty(0, dtype=np.int64)
        nobody = Window(none, none.reshape(0, self.epochs.width), none.reshape(0, self.k - 1))
        while len(self.done) < goal:
            at = len(self.done)
            if self.epochs.is_empty(at):
                self._push(nobody)
                continue
            window, pattern, failed = _assign_window(
                self.epochs, self.states, at, self.k, self.search, self.memory, run
            )
            if not len(failed):
                self._push(window)
                run.progress(_LABEL, len(self.done), self.epochs.n_windows)
                continue
            changed = _suppress_rows(self.epochs, self.states, at, window.table, pattern, failed, self.k)
            self._undo_to(max(0, changed - self.epochs.width + 1))
            n_kept = min(n_kept, len(self.done))
        fresh = [window.hiders.astype(np.int32) for window in self.done[n_kept:]]
        return {
            "kept": np.array(n_kept),
            "sizes": np.array([len(hiders) for hiders in fresh], dtype=np.int64),
            "hiders": np.concatenate([np.empty((0, self.k - 1), dtype=np.int32), *fresh]),
            "unpublished": np.flatnonzero((before != self.states) & (self.states == UNPUBLISHED)),
        }

    def replay(self, change: Arrays) -> None:
        """Make a change again that ``advance`` made from this state."""
        self._undo_to(int(change["kept"]))
        self.states[change["unpublished"]] = UNPUBLISHED
        for hiders in (
            np.split(change["hiders"], np.cumsum(change["sizes"])[:-1]) if len(change["sizes"]) else []
        ):
            subjects, table, _ = _published_in(self.epochs, self.states, len(self.done))
            self._push(Window(subjects, table, hiders.astype(np.int64)))

    def _push(self, window: Window) -> None:
        self.memory.push(len(self.done), window)
        self.done.append(window)

    def _undo_to(self, count: int) -> None:
        while len(self.done) > count:
            window = self.done.pop()
            self.memory.pop(len(self.done), window)


def choose_hiders(epochs: Epochs, states: Integers, k: int, search: Search, run: Run) -> list[Window]:
    """The hiders of every published subject in every window."""
    # states: int64 [pieces], changed in place: UNPUBLISHED for suppressed ones. Only subjects with the same
    # states in all epochs of a window may hide each other there. The run's checkpoint stores finished
    # windows.
    n_subjects = int(epochs.subject.max()) + 1
    walk = _WindowAssignment(epochs, states, k, search, _HiderStack.of_nobody(n_subjects))
    run.progress(_LABEL, 0, epochs.n_windows)
    for begin in range(0, epochs.n_windows, WINDOWS_A_PART):
        goal = min(begin + WINDOWS_A_PART, epochs.n_windows)
        change = run.load_or_make(f"hiders-{begin}", partial(walk.advance, goal, run))
        if len(walk.done) < goal:  # read, not made
            walk.replay(change)
            run.progress(_LABEL, goal, epochs.n_windows)
    return walk.done


def _assign_window(
    epochs: Epochs, states: Integers, at: int, k: int, search: Search, memory: _HiderStack, run: Run
) -> tuple[Window, Integers, Integers]:
    subjects, table, pattern = _published_in(epochs, states, at)
    hiders = np.full((len(subjects), k - 1), NO_ONE, dtype=np.int64)
    places = _mean_places(epochs, table)
    waiting = [
        leaf
        for rows in _group_by_states(pattern)
        for leaf in _split_neighborhood(_Node(rows, None), places, search.neighborhood)
    ]
    past = HidingHistory(memory.hiders, memory.count)
    remembered: _Solutions = memory.solutions.get(at, {})
    solved = memory.solutions[at] = {}
    memory.solutions.pop(at - _WINDOWS_REMEMBERED, None)

    def solve(nodes: list[_Node]) -> None:
        for node in nodes:
            pieces, people = table[node.rows], subjects[node.rows]
            key = pieces.tobytes() + memory.version[people].tobytes()
            if key in remembered:
                node.hiders, node.missing = remembered[key]
            else:
                node.hiders = np.full((len(people), k - 1), NO_ONE, dtype=np.int64)
                node.missing = assign_hiders(
                    epochs.pieces,
                    pieces,
                    people,
                    past,
                    search.space_weight,
                    k - 1,
                    search.cycles,
                    node.hiders,
                )
            solved[key] = node.hiders, node.missing

    while waiting:
        for _ in run.map(
            solve, [waiting[i : i + _NODES_AT_ONCE] for i in range(0, len(waiting), _NODES_AT_ONCE)]
        ):
            pass
        larger: dict[_Node, None] = {}  # in the order of the first of their parts
        for node in waiting:
            if node.missing and node.parent is not None and len(node.parent.rows) <= _LARGEST_NEIGHBORHOOD:
                larger[node.parent] = None
        for node in waiting:
            hiders[node.rows] = np.where(node.hiders == NO_ONE, NO_ONE, node.rows[node.hiders])
        waiting = [node for node in larger if not _has_ancestor_in(node, larger)]
    return Window(subjects, table, hiders), pattern, np.flatnonzero((hiders == NO_ONE).any(axis=1))


def _published_in(epochs: Epochs, states: Integers, at: int) -> tuple[Integers, Integers, Integers]:
    subjects, table = epochs.pieces_in(at)
    pattern = np.where(table >= 0, states[table], UNPUBLISHED)
    is_published = (pattern != UNPUBLISHED).any(axis=1)
    return (
        subjects[is_published],
        np.where(pattern != UNPUBLISHED, table, -1)[is_published],
        pattern[is_published],
    )


def _has_ancestor_in(node: _Node, others: Collection[_Node]) -> bool:
    while node.parent is not None:
        node = node.parent
        if node in others:
            return True
    return False


def _group_by_states(pattern: Integers) -> Iterator[Integers]:
    order = np.lexsort(pattern.T[::-1])
    cuts = np.flatnonzero((np.diff(pattern[order], axis=0) != 0).any(axis=1)) + 1
    for start, stop in pairwise([0, *cuts.tolist(), len(order)]):
        if start < stop:
            yield order[start:stop]


def _mean_places(epochs: Epochs, table: Integers) -> Integers:
    is_published = table >= 0
    first = epochs.pieces.first[np.where(is_published, table, 0)]
    number = np.maximum(is_published.sum(axis=1), 1)
    return np.stack(
        [
            np.where(is_published, of[first], 0).sum(axis=1) // number
            for of in (epochs.pieces.x, epochs.pieces.y)
        ],
        axis=1,
    )


def _split_neighborhood(node: _Node, places: Integers, neighborhood: int) -> Iterator[_Node]:
    if len(node.rows) <= neighborhood:
        yield node
        return
    for part in split_rows(node.rows, order_by_longest_axis(places)):
        yield from _split_neighborhood(_Node(np.sort(part), node), places, neighborhood)


def _suppress_rows(
    epochs: Epochs, states: Integers, at: int, table: Integers, pattern: Integers, failed: Integers, k: int
) -> int:
    # One epoch is enough if at least k - 1 others already have the remaining states; otherwise the whole
    # window goes. Of equal costs the latest epoch is chosen, which no earlier window holds.
    sizes = Counter(row.tobytes() for row in np.delete(pattern, failed, axis=0))
    changed = epochs.count
    for row in failed.tolist():
        published = np.flatnonzero(pattern[row])
        options = []
        for column in published.tolist() if len(published) > 1 else []:
            fewer = pattern[row].copy()
            fewer[column] = UNPUBLISHED
            if sizes[fewer.tobytes()] >= k - 1:
                options.append((int(epochs.samples[table[row, column]]), -column))
        columns = [-min(options)[1]] if options else published.tolist()
        states[table[row, columns]] = UNPUBLISHED
        changed = min(changed, at + min(columns))
    return changed
