"""One crowd before and after, for the private page: where its members were, when, and what is published."""

from typing import Final

from shoal.model.plotting import rectangles, rounded_list
from shoal.model.trajectories import Grid
from shoal.report.facts.example import Example
from shoal.report.figures import axes
from shoal.report.figures.drawing import GRAY, SYMBOLS, Areas, Drawing, Marks

_SHAPES: Final = tuple(symbol for symbol in SYMBOLS if symbol != "tick")
_ROW: Final = 0.06  # how high the row of a member is, to the width of the drawing


def example_in_space(example: Example, grid: Grid) -> Drawing:
    """Each member's raw cells against the published boxes."""
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
        axes.around_all(x, *(member.x for member in members)),
        axes.around_all(y, *(member.y for member in members)),
    )
    return Drawing(x=x_axis, y=y_axis, in_km=True, layers=[published, *members], height=height, legend=True)


def example_in_time(example: Example, grid: Grid) -> Drawing:
    """A row per member with the times of raw samples, and the published intervals, in hours."""
    start = min([int(t[0]) for t, _, _ in example.members] + example.boxes.t_start.tolist()[:1])
    hours = grid.slot_s / 3600
    top = len(example.members)
    x: list[float | None] = []
    y: list[float | None] = []
    for begin, end in zip(example.boxes.t_start.tolist(), example.boxes.t_end.tolist(), strict=True):
        left, right = (begin - start) * hours, (end - start) * hours
        x += [left, right, right, left, None]
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
        x=axes.from_zero("hours after the first sample", [*x, *(at for one in members for at in one.x)]),
        y=axes.of_names("", [f"member {top - row}" for row in range(top)], upright=True),
        layers=[published, *members],
        height=min(1.2, 0.15 + _ROW * top),
    )
