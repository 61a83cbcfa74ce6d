"""The greedy loop: merge the closest classes until at most one is below k."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run

Join = Callable[[EquivalenceClass, EquivalenceClass], EquivalenceClass]
Ahead = Callable[[int, int], EquivalenceClass | None]
Finish = Callable[[list[Integers]], Iterable[EquivalenceClass]]


class ClosestPairs(Protocol):
    """Knows the two closest unfinished classes; a class has its first member's slot."""

    def closest(self) -> tuple[int, int] | None:
        """The slots with the least effort, the smallest (a, b) of equals; None below two."""

    def retire(self, a: int, b: int) -> None:
        """Remove two classes."""

    def enter(self, slot: int, merged: EquivalenceClass, ahead: Ahead) -> None:
        """Put a merged class, below k, into its slot."""
        # ahead: the class that two slots would form if they came next, or None if it would not enter


@dataclass(frozen=True, eq=False)
class Merging:
    """The outcome of the greedy loop."""

    sequence: list[tuple[int, int]] = field(default_factory=list)  # merged slots in order
    finished: list[EquivalenceClass] = field(default_factory=list)  # classes of at least k
    discarded: list[EquivalenceClass] = field(default_factory=list)  # lost every sample to suppression
    short: list[EquivalenceClass] = field(default_factory=list)  # the class left below k, if any

    def ended(self, merged: EquivalenceClass, k: int) -> bool:
        """Store a class that merges no more."""
        if not len(merged.boxes):
            self.discarded.append(merged)
        elif len(merged.members) >= k:
            self.finished.append(merged)
        else:
            return False
        return True


def merge_greedily(
    original: Trajectories,
    pairs: ClosestPairs,
    k: int,
    join: Join,
    run: Run,
    finish: Finish | None = None,
) -> Merging:
    """Merge until at most one class is below k."""
    # join: merges two classes, perhaps to no box at all. finish: makes all classes that reached k at the end,
    # since no merge needs them; None = ``join`` makes each in its turn.
    outcome = Merging()
    unfinished: dict[int, EquivalenceClass] = {}  # of more than one
    n = original.n_subjects
    unmerged = set(range(n))
    ripe: list[Integers] = []
    joined_ahead: dict[tuple[int, int], EquivalenceClass] = {}

    def members_in(slot: int) -> Integers:
        return unfinished[slot].members if slot in unfinished else np.array([slot])

    def class_in(slot: int) -> EquivalenceClass:
        return unfinished[slot] if slot in unfinished else _class_of_one(original, slot)

    def ahead(a: int, b: int) -> EquivalenceClass | None:
        if len(members_in(a)) + len(members_in(b)) >= k:
            return None
        if (a, b) not in joined_ahead:
            joined_ahead[a, b] = join(class_in(a), class_in(b))
        return joined_ahead[a, b] if len(joined_ahead[a, b].boxes) else None

    label = "merging the closest"
    run.progress(label, 0, n)
    while (pair := pairs.closest()) is not None:
        a, b = pair
        outcome.sequence.append(pair)
        pairs.retire(a, b)
        first, second = members_in(a), members_in(b)
        merged = None
        if finish is not None and len(first) + len(second) >= k:
            ripe.append(np.sort(np.concatenate([first, second])))
        else:
            merged = joined_ahead[pair] if pair in joined_ahead else join(class_in(a), class_in(b))
        for slot in pair:
            unmerged.remove(slot)
            unfinished.pop(slot, None)
        for void in [slots for slots in joined_ahead if not {a, b}.isdisjoint(slots)]:
            del joined_ahead[void]
        if merged is not None and not outcome.ended(merged, k):
            unfinished[a] = merged
            unmerged.add(a)
            pairs.enter(a, merged, ahead)
        run.progress(label, n - len(unmerged), n)
    for merged in finish(ripe) if finish is not None else ():
        outcome.ended(merged, k)
    outcome.short.extend(class_in(slot) for slot in unmerged)
    run.progress(label, n, n)
    return outcome


def _class_of_one(original: Trajectories, slot: int) -> EquivalenceClass:
    boxes = Boxes.of_samples(*original.samples_of(slot))
    return EquivalenceClass(members=np.array([slot]), boxes=boxes)
