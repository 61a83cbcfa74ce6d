"""How far a published box may reach beyond the hull of its samples.

Not at all, by a few cells drawn by chance for each side, or to a coarser grid. Only in space: the times of a
box are always those of its first and its last sample.
"""

from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal.units import length_m, show_m

TIGHT: Final = "tight"
HULL_FORMS: Final = "tight|outward:CELLS|grid:LENGTH"
_MOST_CELLS: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class HullRule:
    """What a text as ``outward:3`` says.

    outward_cells: each side lies up to so many cells outside the hull. grid_m: each side lies on the nearest
    line outside the hull of a grid of this many meters, counted from the plane's origin; None = no grid.
    """

    outward_cells: int = 0
    grid_m: float | None = None

    @property
    def is_tight(self) -> bool:
        """Whether boxes are the hulls themselves."""
        return not self.outward_cells and self.grid_m is None


def hull_rule(text: str) -> HullRule:
    """The rule that a text names.

    Parameters
    ----------
    text
        ``tight``, ``outward:CELLS`` with a whole number of 1 to 10,000, or ``grid:LENGTH``.

    Raises
    ------
    MisuseError
        For any other text.

    Examples
    --------
    >>> hull_rule("outward:3").outward_cells, hull_rule("grid:2km").grid_m
    (3, 2000.0)
    """
    kind, _, amount = str(text).partition(":")
    if text == TIGHT:
        return HullRule()
    if kind == "outward" and amount.isascii() and amount.isdigit() and 1 <= int(amount[:6]) <= _MOST_CELLS:
        return HullRule(outward_cells=int(amount[:6]))
    if kind == "grid" and amount:
        return HullRule(grid_m=length_m(amount))
    raise MisuseError(
        f"hull = '{text}' is not known; write tight, outward:CELLS with 1 to {_MOST_CELLS} cells, or "
        "grid:LENGTH, for example outward:5 or grid:500m"
    )


def hull_in_words(text: str) -> str:
    """A sentence behind a space for a rule that is not tight, nothing for one that is."""
    rule = hull_rule(text)
    if rule.grid_m is not None:
        return f" In space, boxes are rounded outward to a grid of {show_m(rule.grid_m)}."
    if rule.outward_cells:
        cells = "1 cell" if rule.outward_cells == 1 else f"{rule.outward_cells} cells"
        return f" In space, each side of a box lies up to {cells} outside its samples, by chance."
    return ""
