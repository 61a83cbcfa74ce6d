"""The figures of a record, by name; templates place them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shoal.model.grid import Grid
from shoal.model.plotting import rectangles, rounded_list
from shoal.model.release import Release
from shoal.report.facts.evidence import Example, publishable_shares
from shoal.report.facts.ground import NO_GROUND, MapGround, streets_in, tiles_in, towns_in
from shoal.report.facts.omission import OmissionFrontier
from shoal.report.facts.release import ReleaseFacts
from shoal.report.figures import axes, curves, maps
from shoal.report.figures.drawing import GRAY, SYMBOLS, Areas, Bars, Drawing, Marks
from shoal.utility.vanished import Vanished

_LOW: Final = 0.45  # the height of a drawing beside a table, to its width


@dataclass(frozen=True, eq=False, kw_only=True)
class FigureInputs:
    """The data for figures.

    vanished: None if unknown. example: None on a public page. omission: None unless samples were omitted.
    """

    release: Release
    facts: ReleaseFacts
    vanished: Vanished | None
    example: Example | None
    omission: OmissionFrontier | None = None
    ground: MapGround = NO_GROUND


def draw_figures(inputs: FigureInputs) -> dict[str, Drawing]:
    """Every figure of this record, by name."""
    drawn = {name: draw(inputs) for name, draw in FIGURES.items()}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _extents(inputs: FigureInputs, *, spatial: bool) -> Drawing | None:
    boxes = inputs.facts.boxes
    return None if boxes is None else curves.extents(boxes.accuracy, spatial=spatial)


def _k_gap(inputs: FigureInputs) -> Drawing | None:
    gaps = inputs.facts.gaps
    return curves.gap_cdfs(gaps) if any(gap.curve.value for gap in gaps) else None


def _map(inputs: FigureInputs) -> Drawing:
    facts, crs = inputs.facts, inputs.release.crs
    bounds_m = facts.density.window.bounds_m(facts.grid.cell_m)
    return maps.release_map(
        facts.density,
        facts.example_boxes,
        facts.grid,
        towns_in(*bounds_m, crs=crs),
        projected=crs is not None,
        of=inputs.release.kind,
        tiles=tiles_in(inputs.ground.tiles, bounds_m, crs),
        streets=streets_in(inputs.ground.streets, bounds_m, crs),
    )


def _crowd_sizes(inputs: FigureInputs) -> Drawing | None:
    boxes = inputs.facts.boxes
    if boxes is None or not boxes.crowds:
        return None
    sizes, numbers = list(boxes.crowds), list(boxes.crowds.values())
    room = 2.5
    return Drawing(
        x=axes.linear("people in a crowd", max(0.0, min(sizes) - room), max(sizes) + room, whole=True),
        y=axes.from_zero("number of crowds", numbers, whole=True),
        layers=[Bars(name="crowds", x=sizes, heights=numbers, number=0, width=0.7)],
        height=_LOW,
    )


def _vanished_by_hour(vanished: Vanished) -> Drawing:
    """In steps of 5 %; none below ten people."""
    shares = publishable_shares(vanished.by_hour).tolist()
    return Drawing(
        x=axes.of_hours(f"hour of the day ({vanished.time_zone})"),
        y=axes.of_shares("share of raw samples suppressed"),
        layers=[
            Bars(
                name="suppressed, about",
                x=list(range(24)),
                heights=[None if np.isnan(share) else round(share, 2) for share in shares],
                number=1,
            )
        ],
        numbers="each",
    )


def _if_known(known: Any, draw: Callable[..., Drawing], *more: Any) -> Drawing | None:
    return None if known is None else draw(known, *more)


_SHAPES: Final = tuple(symbol for symbol in SYMBOLS if symbol != "tick")
_ROW: Final = 0.06  # how high the row of a member is, to the width of the drawing


def example_in_space(example: Example, grid: Grid) -> Drawing:
    """The members' raw cells and the boxes."""
    km = grid.cell_m / 1000
    x, y = rectangles(example.boxes.edges_km(grid))
    published = Areas(name="published", x=x, y=y, number=GRAY)
    members = [
        Marks(
            name=f"member {number + 1}",
            x=rounded_list((cells_x + 0.5) * km),
            y=rounded_list((cells_y + 0.5) * km),
            number=number,
            symbol=_SHAPES[number % len(_SHAPES)],
        )
        for number, (_, cells_x, cells_y) in enumerate(example.members)
    ]
    x_axis, y_axis, height = axes.of_a_map(
        "east, km",
        "north, km",
        axes.range_with_margin(x, *(member.x for member in members)),
        axes.range_with_margin(y, *(member.y for member in members)),
    )
    return Drawing(x=x_axis, y=y_axis, in_km=True, layers=[published, *members], height=height, legend=True)


def example_in_time(example: Example, grid: Grid) -> Drawing:
    """A row per member: times of samples, and intervals, in hours."""
    start = min([int(t[0]) for t, _, _ in example.members] + example.boxes.t_start.tolist()[:1])
    hours = grid.slot_s / 3600
    top = len(example.members)
    x: list[float | None] = []
    y: list[float | None] = []
    for begin, end in zip(example.boxes.t_start.tolist(), example.boxes.t_end.tolist(), strict=True):
        first, last = (begin - start) * hours, (end - start) * hours
        x += [first, last, last, first, None]
        y += [-0.45, -0.45, top - 0.55, top - 0.55, None]
    published = Areas(name="published", x=x, y=y, number=GRAY)
    members = [
        Marks(
            name=f"member {number + 1}",
            x=rounded_list((t - start + 0.5) * hours),
            y=[float(top - 1 - number)] * len(t),
            number=number,
            symbol="tick",
        )
        for number, (t, _, _) in enumerate(example.members)
    ]
    return Drawing(
        x=axes.from_zero(
            "hours after the first sample", [*x, *(at for member in members for at in member.x)]
        ),
        y=axes.of_names("", [f"member {top - row}" for row in range(top)], upright=True),
        layers=[published, *members],
        height=min(1.2, 0.15 + _ROW * top),
    )


FIGURES: Final[Mapping[str, Callable[[FigureInputs], Drawing | None]]] = {
    "spatial-accuracy": lambda inputs: _extents(inputs, spatial=True),
    "temporal-accuracy": lambda inputs: _extents(inputs, spatial=False),
    "omission": lambda inputs: _if_known(inputs.omission, curves.omission),
    "map": _map,
    "crowd-sizes": _crowd_sizes,
    "k-gap": _k_gap,
    "vanished-place": lambda inputs: _if_known(inputs.vanished, maps.vanished_by_place),
    "vanished-hour": lambda inputs: _if_known(inputs.vanished, _vanished_by_hour),
    "example-space": lambda inputs: _if_known(inputs.example, example_in_space, inputs.facts.grid),
    "example-time": lambda inputs: _if_known(inputs.example, example_in_time, inputs.facts.grid),
}
