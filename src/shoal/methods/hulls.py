"""Boxes larger than the hulls of their samples, so that no corner shows where somebody was to the cell."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from shoal.methods.assembly import EquivalenceClass
from shoal.methods.parameters import parameter
from shoal.methods.whole_steps import whole_number
from shoal.model.claims.hull import HULL_FORMS, TIGHT, HullRule, hull_rule
from shoal.model.release import Boxes
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.units import show_m


def hull_parameter() -> str:
    """The parameter hull: how far a box may reach beyond the hull of its samples."""
    return parameter(
        default=TIGHT,
        written=HULL_FORMS,
        help="How far boxes reach beyond their samples in space.",
        meaning="how far in space a box may reach beyond the samples it stands for",
    )


def rounded_outward(
    classes: Iterable[EquivalenceClass], hull: str, grid: Grid, rng: Randomness
) -> Iterator[EquivalenceClass]:
    """The classes with boxes by a rule, as ``hull_rule`` reads it; the members of a class share its draws.

    Raises MisuseError when the grid of the rule is no whole number of the data's cells.
    """
    rule = hull_rule(hull)
    if rule.is_tight:
        yield from classes
        return
    for each in classes:
        yield replace(each, boxes=_rounded(each.boxes, rule, grid, rng))


def _rounded(boxes: Boxes, rule: HullRule, grid: Grid, rng: Randomness) -> Boxes:
    sides = {name: getattr(boxes, name) for name in ("x_min", "y_min", "x_max", "y_max")}
    if rule.grid_m is None:
        draws = rng.below(rule.outward_cells + 1, 4 * len(boxes)).reshape(4, -1)
        outward = dict(zip(sides, draws, strict=True))
        return replace(boxes, **{name: _moved(name, side, outward[name]) for name, side in sides.items()})
    cells = whole_number(rule.grid_m, grid.cell_m, "the grid of the hull", "cell", show_m)
    outward = {name: side % cells if name.endswith("_min") else -side % cells for name, side in sides.items()}
    return replace(boxes, **{name: _moved(name, side, outward[name]) for name, side in sides.items()})


def _moved(name: str, side: Integers, outward: Integers) -> Integers:
    return side - outward if name.endswith("_min") else side + outward
