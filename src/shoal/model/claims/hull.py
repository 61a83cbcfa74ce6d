"""How far a box may extend beyond its samples, in space only."""

from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal.messages import say
from shoal.units import length_m, show_m

TIGHT: Final = "tight"
HULL_FORMS: Final = "tight|outward:CELLS|grid:LENGTH"
_MOST_CELLS: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class HullRule:
    """A parsed rule."""

    outward_cells: int = 0  # most cells that a side may lie outside the hull
    grid_m: float | None = None  # sides lie on the nearest outer lines, from the plane's origin

    @property
    def is_tight(self) -> bool:
        """Whether boxes are the hulls themselves."""
        return not self.outward_cells and self.grid_m is None


def parse_hull(text: str) -> HullRule:
    """The rule for ``tight``, ``outward:CELLS`` (1 to 10,000), or ``grid:LENGTH``."""
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
    """A sentence; empty for a tight rule."""
    rule = parse_hull(text)
    if rule.grid_m is not None:
        sentence = "In space, boxes are rounded outward to a grid of {length}."
        return say("hull.grid", sentence, length=show_m(rule.grid_m))
    if rule.outward_cells == 1:
        return say(
            "hull.cell", "In space, each side of a box lies up to 1 cell outside its samples, by chance."
        )
    if rule.outward_cells:
        return say(
            "hull.cells",
            "In space, each side of a box lies up to {cells} cells outside its samples, by chance.",
            cells=rule.outward_cells,
        )
    return ""
