"""The greedy loop: merge the closest classes until at most one is below k; how two classes merge."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol, get_args

import numpy as np

from shoal.kernels.merging import merged_boxes
from shoal.kernels.stretch import Scale, box_sum
from shoal.measures.stretch import samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import BOX_COLUMNS, Boxes
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
    original: Trajectories, pairs: ClosestPairs, k: int, join: Join, run: Run, finish: Finish | None = None
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
        boxes = Boxes.of_samples(*original.samples_of(slot))
        return unfinished.get(slot) or EquivalenceClass(members=np.array([slot]), boxes=boxes)

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


Generalize = Literal["k-merge", "reshape-final", "reshape-each", "overlap-split", "none"]
GENERALIZE: Final[tuple[Generalize, ...]] = get_args(Generalize)


class Bounds(NamedTuple):
    """Largest hull in a merge: dx + dy in cells, and slots."""

    cells: float
    slots: float


UNBOUNDED: Final = Bounds(np.inf, np.inf)


def merge(
    first: EquivalenceClass, second: EquivalenceClass, scale: Scale, bounds: Bounds = UNBOUNDED
) -> EquivalenceClass:
    """The class of both; each box is the hull of at least one box of each class."""
    # ``first`` precedes ``second`` in canonical order. Of boxes that stretch another equally, the first is
    # chosen.
    longer, shorter = (second, first) if _second_is_longer(first, second, scale) else (first, second)
    many, few = ((one.boxes.columns(), len(one.members)) for one in (longer, shorter))
    columns = merged_boxes(*many, *few, scale, float(bounds.cells), float(bounds.slots))
    return EquivalenceClass(
        members=np.sort(np.concatenate([first.members, second.members])),
        boxes=Boxes(**dict(zip(BOX_COLUMNS, columns, strict=True))),
    )


def _second_is_longer(first: EquivalenceClass, second: EquivalenceClass, scale: Scale) -> bool:
    if len(first.boxes) != len(second.boxes):
        return len(second.boxes) > len(first.boxes)
    a, b = samples_of_boxes(first.boxes), samples_of_boxes(second.boxes)
    n_a, n_b = len(first.members), len(second.members)
    return bool(box_sum(b, n_b, a, n_a, scale, np.inf) > box_sum(a, n_a, b, n_b, scale, np.inf))


def unite_overlaps(boxes: Boxes) -> Boxes:
    """Replace boxes that overlap in time, transitively, by their hull; touching is none."""
    ordered = boxes.sorted()
    if not len(ordered):
        return ordered
    first = np.flatnonzero(np.r_[True, ordered.t_start[1:] >= np.maximum.accumulate(ordered.t_end)[:-1]])
    return ordered.hulls(first)


def split_at_overlaps(boxes: Boxes) -> Boxes:
    """Cut time wherever a box begins or ends; each piece covers all boxes that span it."""
    # A piece may hold no raw sample of a member, so this reading is not truthful. Neighboring pieces with the
    # same area become one.
    ordered = boxes.sorted()
    cuts = np.unique(np.concatenate([ordered.t_start, ordered.t_end]))
    pieces: list[tuple[int, int, int, int, int, int]] = []
    active = 0
    for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        active = int(np.searchsorted(ordered.t_start, start, side="right"))
        spans = np.flatnonzero(ordered.t_end[:active] > start)
        if not spans.size:
            continue
        west, south = int(ordered.x_min[spans].min()), int(ordered.y_min[spans].min())
        area = (west, south, int(ordered.x_max[spans].max()), int(ordered.y_max[spans].max()))
        if pieces and pieces[-1][1] == start and pieces[-1][2:] == area:
            pieces[-1] = (pieces[-1][0], end, *area)
        else:
            pieces.append((start, end, *area))
    columns = np.array(pieces, dtype=np.int64).reshape(-1, 6).T.copy()
    return Boxes(**dict(zip(BOX_COLUMNS, columns, strict=True)))
