"""The figures of a record: one table of names and what each draws, which the templates place by name.

To add a figure: a function and a row here, and a line in the template that places it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.release import Release
from shoal.report.facts.evidence import shown_shares
from shoal.report.facts.example import Example
from shoal.report.facts.ground import NOTHING_BEHIND, MapGround, streets_in, tiles_in
from shoal.report.facts.omission import OmissionFrontier
from shoal.report.facts.release import ReleaseFacts
from shoal.report.facts.towns import towns_in
from shoal.report.figures import axes, curves, maps
from shoal.report.figures import example as crowd
from shoal.report.figures.drawing import Bars, Drawing
from shoal.utility.vanished import Vanished

_LOW: Final = 0.45  # the height of a drawing beside a table, to its width


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """What the figures of a record are drawn from.

    vanished: None where it is not known or was not looked at. example: None on a public page. omission: None
    where no samples were left out so that boxes shrink. ground: what lies behind its map.
    """

    release: Release
    facts: ReleaseFacts
    vanished: Vanished | None
    example: Example | None
    omission: OmissionFrontier | None = None
    ground: MapGround = NOTHING_BEHIND


def drawings_of(shown: Shown) -> dict[str, Drawing]:
    """Every figure that this record has, by name."""
    drawn = {name: draw(shown) for name, draw in FIGURES.items()}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _extents_in_space(shown: Shown) -> Drawing | None:
    boxes = shown.facts.boxes
    return None if boxes is None else curves.extents(boxes.accuracy, spatial=True)


def _extents_in_time(shown: Shown) -> Drawing | None:
    boxes = shown.facts.boxes
    return None if boxes is None else curves.extents(boxes.accuracy, spatial=False)


def _map(shown: Shown) -> Drawing:
    facts, crs = shown.facts, shown.release.crs
    bounds_m = facts.density.window.bounds_m(facts.grid.cell_m)
    return maps.release_map(
        facts.density,
        facts.example_boxes,
        facts.grid,
        towns_in(*bounds_m, crs=crs),
        projected=crs is not None,
        of=shown.release.kind,
        tiles=tiles_in(shown.ground.tiles, bounds_m, crs),
        streets=streets_in(shown.ground.streets, bounds_m, crs),
    )


def _crowd_sizes(shown: Shown) -> Drawing | None:
    """How many crowds there are of each size."""
    boxes = shown.facts.boxes
    if boxes is None or not boxes.crowds:
        return None
    sizes, numbers = list(boxes.crowds), list(boxes.crowds.values())
    room = 2.5
    return Drawing(
        x=axes.numbered("people in a crowd", max(0.0, min(sizes) - room), max(sizes) + room, whole=True),
        y=axes.from_zero("number of crowds", numbers, whole=True),
        layers=[Bars(name="crowds", x=sizes, heights=numbers, number=0, width=0.7)],
        height=_LOW,
    )


def _k_gap(shown: Shown) -> Drawing | None:
    gaps = shown.facts.gaps
    return curves.gap_cdfs(gaps) if any(gap.curve.value for gap in gaps) else None


def _vanished_by_place(shown: Shown) -> Drawing | None:
    return None if shown.vanished is None else maps.vanished_by_place(shown.vanished)


def _vanished_by_hour(shown: Shown) -> Drawing | None:
    """The share of raw samples lost in each hour, in steps of 5 %; no bar below ten people."""
    if shown.vanished is None:
        return None
    shares = [
        None if np.isnan(share) else round(share, 2)
        for share in shown_shares(shown.vanished.by_hour).tolist()
    ]
    return Drawing(
        x=axes.of_hours(f"hour of the day ({shown.vanished.time_zone})"),
        y=axes.of_shares("share of raw samples lost"),
        layers=[Bars(name="lost, about", x=list(range(24)), heights=shares, number=1)],
        numbers="each",
    )


def _example_in_space(shown: Shown) -> Drawing | None:
    example = shown.example
    return None if example is None else crowd.example_in_space(example, shown.facts.grid)


def _example_in_time(shown: Shown) -> Drawing | None:
    example = shown.example
    return None if example is None else crowd.example_in_time(example, shown.facts.grid)


def _omission(shown: Shown) -> Drawing | None:
    return None if shown.omission is None else curves.omission(shown.omission)


FIGURES: Final[Mapping[str, Callable[[Shown], Drawing | None]]] = {
    "spatial-accuracy": _extents_in_space,
    "temporal-accuracy": _extents_in_time,
    "omission": _omission,
    "map": _map,
    "crowd-sizes": _crowd_sizes,
    "k-gap": _k_gap,
    "vanished-place": _vanished_by_place,
    "vanished-hour": _vanished_by_hour,
    "example-space": _example_in_space,
    "example-time": _example_in_time,
}
