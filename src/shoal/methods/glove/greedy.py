"""The greedy loop: merge the two closest crowds until none below k is left (glove.txt, Alg. 1.

Semantics 1.4).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shoal.methods.assembly import Crowd
from shoal.runtime.run import Run


class ClosestPairs(Protocol):
    """Knows which two unfinished crowds are closest. A crowd's slot is the position of its first member."""

    def closest(self) -> tuple[int, int] | None:
        """The two slots with the least effort, the smallest (a, b) of equals.

        None when fewer than two are left.
        """

    def retire(self, a: int, b: int) -> None:
        """Take two crowds out."""

    def enter(self, slot: int, crowd: Crowd) -> None:
        """Put a merged crowd, still below k, into its slot."""


@dataclass(frozen=True, eq=False)
class Merging:
    """The outcome.

    sequence: the merged slots in order; finished: crowds of at least k; short: the crowd left below k, if
    any.

    discarded: crowds that lost every sample to suppression.
    """

    sequence: list[tuple[int, int]] = field(default_factory=list)
    finished: list[Crowd] = field(default_factory=list)
    discarded: list[Crowd] = field(default_factory=list)
    short: list[Crowd] = field(default_factory=list)


def merge_greedily(
    singles: Sequence[Crowd], pairs: ClosestPairs, k: int, join: Callable[[Crowd, Crowd], Crowd], run: Run
) -> Merging:
    """Merge until at most one crowd has fewer than k members.

    singles: one crowd per subject, in canonical order. join: the merge of two crowds, which may leave no box
    at all.
    """
    outcome = Merging()
    unfinished = dict(enumerate(singles))
    label = "merging the closest"
    run.progress(label, 0, len(singles))
    while (pair := pairs.closest()) is not None:
        a, b = pair
        outcome.sequence.append(pair)
        pairs.retire(a, b)
        crowd = join(unfinished.pop(a), unfinished.pop(b))
        if not len(crowd.boxes):
            outcome.discarded.append(crowd)
        elif len(crowd.members) >= k:
            outcome.finished.append(crowd)
        else:
            unfinished[a] = crowd
            pairs.enter(a, crowd)
        run.progress(label, len(singles) - len(unfinished), len(singles))
    outcome.short.extend(unfinished.values())
    run.progress(label, len(singles), len(singles))
    return outcome
