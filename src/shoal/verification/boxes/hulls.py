"""How far a box may reach beyond the raw samples inside it, by the rule that the claim names."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.model.claims.hull import hull_rule
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Flags, Integers
from shoal.verification.boxes.loops import mark_beyond_hulls


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """In cells: each side at most ``slack`` outside the samples, and on a multiple of ``align``.

    align: 0 where no cell can keep to the rule's grid. fault: what is wrong with a box that breaks it, behind
    whose samples these must be.
    """

    slack: int
    align: int
    fault: str

    def off_grid(self, boxes: Integers) -> Flags:
        """[m] the boxes with a side off the rule's grid; boxes: int64 [m, 6]."""
        if not self.align:
            return np.ones(len(boxes), dtype=np.bool_)
        return np.asarray((boxes[:, 2:] % self.align != 0).any(axis=1))

    def loose(self, boxes: Integers, hulls: Integers) -> Flags:
        """[m] the boxes that break the rule around these hulls of the samples inside them; both int64 [m, 6].

        In time a box is the hull itself.
        """
        loose = np.zeros(len(boxes), dtype=np.bool_)
        mark_beyond_hulls(boxes, hulls, self.slack, loose)
        return loose if self.align == 1 else loose | self.off_grid(boxes)


def allowance_of(hull: str, grid: Grid) -> Allowance:
    """The rule in cells of a grid."""
    rule = hull_rule(hull)
    if rule.grid_m is not None:
        steps = Fraction(repr(rule.grid_m)) / Fraction(repr(float(grid.cell_m)))
        align = steps.numerator if steps.denominator == 1 else 0
        return Allowance(slack=align - 1, align=align, fault=f"is not the hull, rounded by {hull}, of")
    if rule.outward_cells:
        return Allowance(slack=rule.outward_cells, align=1, fault=f"is not within {hull} of the hull of")
    return Allowance(slack=0, align=1, fault="is not the hull of")
