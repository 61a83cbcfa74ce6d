"""Two classes become one: the two-stage merge of their samples (Gramaglia and Fiore 2015, Sec. 6.2)."""

from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.merging import merged_boxes
from shoal.kernels.stretch import Scale, box_sum
from shoal.measures.stretch import samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import BOX_COLUMNS, Boxes


class Bounds(NamedTuple):
    """How far a box and its partner may lie apart to be merged: dx + dy of their hull, and its length."""

    cells: float
    slots: float


_UNBOUNDED: Final = Bounds(np.inf, np.inf)


def merge(
    first: EquivalenceClass, second: EquivalenceClass, scale: Scale, bounds: Bounds | None = None
) -> EquivalenceClass:
    """The class of all members of both, each of its boxes the hull of at least one box of each.

    ``first`` stands before ``second`` in canonical order. Of boxes that stretch another equally, the first in
    canonical order is chosen.
    """
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
    """Whether the second has more boxes or, with equally many, the larger effort toward the other."""
    if len(first.boxes) != len(second.boxes):
        return len(second.boxes) > len(first.boxes)
    a, b = samples_of_boxes(first.boxes), samples_of_boxes(second.boxes)
    n_a, n_b = len(first.members), len(second.members)
    return bool(box_sum(b, n_b, a, n_a, scale, np.inf) > box_sum(a, n_a, b, n_b, scale, np.inf))
