"""Two classes become one: the two-stage merge of their samples (Gramaglia and Fiore 2015, Sec. 6.2)."""

from dataclasses import dataclass

import numpy as np

from shoal.kernels.stretch import Samples, Scale, box_sum, nearest_boxes
from shoal.measures.stretch import samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.model.hulls import stretched_over
from shoal.model.release import Boxes
from shoal.runtime.arrays import Flags, Integers


@dataclass(frozen=True)
class Bounds:
    """How far a box and its partner may lie apart to be merged: dx + dy of their hull, and its length."""

    cells: float
    slots: float

    def hold(self, boxes: Samples, partners: Samples, target: Integers) -> Flags:
        """[m]: whether box i and partner target[i] are near enough."""
        hulls = {
            name: bound(getattr(boxes, name), getattr(partners, name)[target])
            for name, bound in (
                ("t_start", np.minimum), ("x_min", np.minimum), ("y_min", np.minimum),
                ("t_end", np.maximum), ("x_max", np.maximum), ("y_max", np.maximum),
            )
        }  # fmt: skip
        wide = hulls["x_max"] - hulls["x_min"] + hulls["y_max"] - hulls["y_min"]
        within: Flags = (wide <= self.cells) & (hulls["t_end"] - hulls["t_start"] <= self.slots)
        return within


def merge(
    first: EquivalenceClass, second: EquivalenceClass, scale: Scale, bounds: Bounds | None = None
) -> EquivalenceClass:
    """The class of all members of both, each of its boxes the hull of at least one box of each.

    ``first`` stands before ``second`` in canonical order. Stage one: every box of the longer goes to the box
    of the shorter that stretches it least. Stage two: each box of the shorter that none chose goes to the
    result of stage one, as stage one left it, that stretches it least. Of equals, the first box in canonical
    order is chosen.
    """
    longer, shorter = (second, first) if _second_is_longer(first, second, scale) else (first, second)
    n_long, n_short = len(longer.members), len(shorter.members)
    many, few = samples_of_boxes(longer.boxes), samples_of_boxes(shorter.boxes)

    target, _ = nearest_boxes(many, n_long, few, n_short, scale)
    near = np.flatnonzero(bounds.hold(many, few, target)) if bounds else np.arange(len(target))
    target = target[near]
    met = np.unique(target)
    unmet = np.setdiff1d(np.arange(len(few.t_start)), met)
    results = stretched_over(_boxes(few, slice(None)), _boxes(many, near), target).take(met).sorted()
    if unmet.size and len(results):
        left_over = _boxes(few, unmet)
        target, _ = nearest_boxes(
            samples_of_boxes(left_over), n_short, samples_of_boxes(results), n_long + n_short, scale
        )
        if bounds:
            near = np.flatnonzero(bounds.hold(samples_of_boxes(left_over), samples_of_boxes(results), target))
            left_over, target = left_over.take(near), target[near]
        results = stretched_over(results, left_over, target).sorted()
    return EquivalenceClass(members=np.sort(np.concatenate([first.members, second.members])), boxes=results)


def _second_is_longer(first: EquivalenceClass, second: EquivalenceClass, scale: Scale) -> bool:
    """Whether the second has more boxes or, with equally many, the larger effort toward the other."""
    if len(first.boxes) != len(second.boxes):
        return len(second.boxes) > len(first.boxes)
    a, b = samples_of_boxes(first.boxes), samples_of_boxes(second.boxes)
    n_a, n_b = len(first.members), len(second.members)
    return bool(box_sum(b, n_b, a, n_a, scale, np.inf) > box_sum(a, n_a, b, n_b, scale, np.inf))


def _boxes(samples: Samples, rows: slice | Integers) -> Boxes:
    """These rows of a kernel's samples as boxes."""
    return Boxes(**{name: column[rows] for name, column in samples._asdict().items() if name != "latest_end"})
