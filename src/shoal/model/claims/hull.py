"""How far a box may extend beyond its samples, in space only, and the largest extents of a box, as text."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal.messages import Message, join, say
from shoal.units import duration_s, length_m, parse_share, show_m, show_share

TIGHT: Final = "tight"
GRID_AUTO: Final = "grid:auto"  # a grid that the command line chooses
HULL_FORMS: Final = "tight|outward:CELLS|grid:LENGTH|leaves:PLACES[:SHARE]"
_MOST_CELLS: Final = 10_000
_MOST_PLACES: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class HullRule:
    """A parsed rule."""

    outward_cells: int = 0  # most cells that a side may lie outside the hull
    grid_m: float | None = None  # sides lie on the nearest outer lines, from the plane's origin
    leaf_places: int = 0  # public places in a leaf, at least; boxes consist of leaves
    busiest_share: float = 1.0  # of the busyness of a leaf in one of its places, at most

    @property
    def is_tight(self) -> bool:
        """Whether boxes are the hulls themselves."""
        return self == HullRule()


def parse_hull(text: str) -> HullRule:
    """The rule for ``tight``, ``outward:CELLS``, ``grid:LENGTH`` or ``leaves:PLACES[:SHARE]``."""
    kind, _, amount = str(text).partition(":")
    if text == TIGHT:
        return HullRule()
    if kind == "outward" and amount.isascii() and amount.isdigit() and 1 <= int(amount[:6]) <= _MOST_CELLS:
        return HullRule(outward_cells=int(amount[:6]))
    if kind == "grid" and amount:
        return HullRule(grid_m=length_m(amount))
    if kind == "leaves":
        places, _, share = amount.partition(":")
        plain = share.isascii() and share.replace(".", "", 1).isdecimal()
        busiest = parse_share(share) if plain else float(not share)
        if places.isascii() and places.isdigit() and 2 <= int(places[:8]) <= _MOST_PLACES and busiest:
            return HullRule(leaf_places=int(places), busiest_share=busiest)
        raise MisuseError(
            f"hull = '{text}' names no leaves; write leaves:PLACES with 2 to {_MOST_PLACES} places, for "
            "example leaves:10, or leaves:10:0.3 for at most 30 % of the use of a leaf in one place"
        )
    raise MisuseError(
        f"hull = '{text}' is not known; write tight, outward:CELLS with 1 to {_MOST_CELLS} cells, "
        "grid:LENGTH, or leaves:PLACES, for example outward:5, grid:500m or leaves:10"
    )


def limits_of_sides(text: str) -> tuple[Message, ...]:
    """What sides of boxes tell; nothing to the place where they are sides of leaves."""
    sides = say(
        "claim.sides",
        "Places at the sides of boxes. At each side lies a true place of somebody in the crowd. Who knows "
        "which places exist, such as base stations or stops, can often name it, and so can members of the "
        "crowd, who take their own places away.",
    )
    return () if parse_hull(text).leaf_places else (sides,)


def hull_in_words(text: str) -> str:
    """A sentence; empty for a tight rule."""
    rule = parse_hull(text)
    if rule.grid_m is not None:
        sentence = "In space, boxes are rounded outward to a grid of {length}."
        return say("hull.grid", sentence, length=show_m(rule.grid_m))
    if rule.leaf_places:
        text = (
            "In space, boxes consist of whole leaves: a public list of places is cut into leaves of at least "
            "{places} places each, crowds are chosen by leaves alone, and no box shows which place of a leaf "
            "was used."
        )
        leaves = say("hull.leaves", text, places=rule.leaf_places)
        if rule.busiest_share == 1:
            return leaves
        text = "No place of a leaf has more than {share} of its use, as the list says."
        return join(leaves, say("hull.busiest", text, share=show_share(rule.busiest_share)))
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


EXTENT_FORMS: Final = "LENGTH,DURATION"
_READERS: Final[Mapping[str, Callable[[str], float]]] = {"space_m": length_m, "time_s": duration_s}


@dataclass(frozen=True, kw_only=True)
class LargestExtents:
    """Of a box: dx + dy in meters, seconds; infinite = unbounded."""

    space_m: float = math.inf
    time_s: float = math.inf


def parse_extents(text: str) -> LargestExtents:
    """The extents for ``5km,2h``, or one of both."""
    parts = str(text).split(",")
    for names in (("space_m", "time_s"), ("space_m",), ("time_s",)):
        with suppress(MisuseError, ValueError):  # another form, or another number of parts
            read = {name: _READERS[name](part) for name, part in zip(names, parts, strict=True)}
            return LargestExtents(**read)
    raise MisuseError(
        f"--extent-at-most = '{text}' does not name the largest extents of a box; write a length and a "
        "duration, for example 5km,2h, or one of them"
    )
