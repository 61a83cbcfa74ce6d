"""The greedy loop: merge the two closest classes until at most one below k is left.

Source: Gramaglia and Fiore 2015, Alg. 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shoal.methods.assembly import EquivalenceClass
from shoal.runtime.run import Run

Join = Callable[[EquivalenceClass, EquivalenceClass], EquivalenceClass]
Ahead = Callable[[int, int], EquivalenceClass | None]


class ClosestPairs(Protocol):
    """Knows which two unfinished classes are closest; a class's slot is the position of its first member."""

    def closest(self) -> tuple[int, int] | None:
        """The two slots with the least effort, the smallest (a, b) of equals; None below two."""

    def retire(self, a: int, b: int) -> None:
        """Take two classes out."""

    def enter(self, slot: int, merged: EquivalenceClass, ahead: Ahead) -> None:
        """Put a merged class, still below k, into its slot.

        ahead: what two slots would become if they came next, for whoever wants to begin with it; None if
        that would not enter.
        """


@dataclass(frozen=True, eq=False)
class Merging:
    """The outcome of the greedy loop.

    sequence: the merged slots in order; finished: classes of at least k; discarded: classes that lost every
    sample to suppression; short: the class left below k, if any.
    """

    sequence: list[tuple[int, int]] = field(default_factory=list)
    finished: list[EquivalenceClass] = field(default_factory=list)
    discarded: list[EquivalenceClass] = field(default_factory=list)
    short: list[EquivalenceClass] = field(default_factory=list)


def merge_greedily(
    singles: Sequence[EquivalenceClass],
    pairs: ClosestPairs,
    k: int,
    join: Join,
    run: Run,
) -> Merging:
    """Merge until at most one class has fewer than k members.

    singles: a class of one for each subject, in canonical order. join: the merge of two classes, which may
    leave no box at all.
    """
    outcome = Merging()
    unfinished = dict(enumerate(singles))
    made: dict[tuple[int, int], EquivalenceClass] = {}

    def ahead(a: int, b: int) -> EquivalenceClass | None:
        first, second = unfinished[a], unfinished[b]
        if len(first.members) + len(second.members) >= k:
            return None
        if (a, b) not in made:
            made[a, b] = join(first, second)
        return made[a, b] if len(made[a, b].boxes) else None

    label = "merging the closest"
    run.progress(label, 0, len(singles))
    while (pair := pairs.closest()) is not None:
        a, b = pair
        outcome.sequence.append(pair)
        pairs.retire(a, b)
        first, second = unfinished.pop(a), unfinished.pop(b)
        merged = made[pair] if pair in made else join(first, second)
        for void in [each for each in made if not {a, b}.isdisjoint(each)]:
            del made[void]
        if not len(merged.boxes):
            outcome.discarded.append(merged)
        elif len(merged.members) >= k:
            outcome.finished.append(merged)
        else:
            unfinished[a] = merged
            pairs.enter(a, merged, ahead)
        run.progress(label, len(singles) - len(unfinished), len(singles))
    outcome.short.extend(unfinished.values())
    run.progress(label, len(singles), len(singles))
    return outcome
