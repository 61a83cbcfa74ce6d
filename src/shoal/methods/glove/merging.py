"""Merge two classes, and resolve overlaps in time (Gramaglia and Fiore 2015, Sec. 6.2)."""

from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from shoal.kernels.merging import merged_boxes
from shoal.kernels.stretch import Scale, box_sum
from shoal.measures.stretch import samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import BOX_COLUMNS, Boxes

Generalize = Literal["k-merge", "reshape-final", "reshape-each", "overlap-split", "none"]
GENERALIZE: Final[tuple[Generalize, ...]] = get_args(Generalize)


class Bounds(NamedTuple):
    """Largest hull in a merge: dx + dy in cells, and slots."""

    cells: float
    slots: float


_UNBOUNDED: Final = Bounds(np.inf, np.inf)


def merge(
    first: EquivalenceClass, second: EquivalenceClass, scale: Scale, bounds: Bounds | None = None
) -> EquivalenceClass:
    """The class of both; each box is the hull of at least one box of each class."""
    # ``first`` precedes ``second`` in canonical order. Of boxes that stretch another equally, the first is
    # chosen.
    longer, shorter = (second, first) if _second_is_longer(first, second, scale) else (first, second)
    cells, slots = bounds or _UNBOUNDED
    columns = merged_boxes(
        longer.boxes.columns(),
        len(longer.members),
        shorter.boxes.columns(),
        len(shorter.members),
        scale,
        float(cells),
        float(slots),
    )
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
        area = (
            int(ordered.x_min[spans].min()),
            int(ordered.y_min[spans].min()),
            int(ordered.x_max[spans].max()),
            int(ordered.y_max[spans].max()),
        )
        if pieces and pieces[-1][1] == start and pieces[-1][2:] == area:
            pieces[-1] = (pieces[-1][0], end, *area)
        else:
            pieces.append((start, end, *area))
    columns = np.array(pieces, dtype=np.int64).reshape(-1, 6).T.copy()
    return Boxes(**dict(zip(BOX_COLUMNS, columns, strict=True)))
