"""One crowd before and after, for the private page: where its members were, when, and what is published."""

from shoal.model.plotting import COLORS, Drawing, rectangles, short_list
from shoal.model.trajectories import Grid
from shoal.report.facts.example import Example
from shoal.report.figures.style import marker_style


def example_in_space(example: Example, grid: Grid) -> Drawing:
    """Each member's raw cells against the published boxes."""
    km = grid.cell_m / 1000
    drawing = Drawing("east, km", "north, km")
    x, y = rectangles(example.boxes, km)
    drawing.add(
        "scatter",
        x=x,
        y=y,
        mode="lines",
        fill="toself",
        fillcolor="rgba(90,100,110,0.10)",
        line={"color": "#5a646e", "width": 1},
        name="published",
    )
    for number, (_, cells_x, cells_y) in enumerate(example.members):
        drawing.add(
            "scatter",
            x=short_list((cells_x + 0.5) * km),
            y=short_list((cells_y + 0.5) * km),
            mode="markers",
            marker=marker_style(number),
            name=f"member {number + 1}",
        )
    drawing.set_x_axis(tickformat=",~r", nticks=6)
    drawing.set_y_axis(scaleanchor="x", tickformat=",~r", nticks=6)
    return drawing


def example_in_time(example: Example, grid: Grid) -> Drawing:
    """A row per member with the times of raw samples, and the published intervals, in hours."""
    drawing = Drawing("hours after the first sample", "")
    start = min([int(t[0]) for t, _, _ in example.members] + example.boxes.t_start.tolist()[:1])
    hours = grid.slot_s / 3600
    top = len(example.members)
    x: list[float | None] = []
    y: list[float | None] = []
    for begin, end in zip(example.boxes.t_start.tolist(), example.boxes.t_end.tolist(), strict=True):
        x += [
            (begin - start) * hours,
            (end - start) * hours,
            (end - start) * hours,
            (begin - start) * hours,
            (begin - start) * hours,
            None,
        ]
        y += [-0.45, -0.45, top - 0.55, top - 0.55, -0.45, None]
    drawing.add(
        "scatter",
        x=x,
        y=y,
        mode="lines",
        fill="toself",
        fillcolor="rgba(90,100,110,0.10)",
        line={"color": "#5a646e", "width": 0.6},
        name="published",
    )
    for number, (t, _, _) in enumerate(example.members):
        row = top - 1 - number
        marker = {
            "color": COLORS[number % len(COLORS)],
            "size": 11,
            "symbol": "line-ns",
            "line": {"color": COLORS[number % len(COLORS)], "width": 2},
        }
        drawing.add(
            "scatter",
            x=short_list((t - start + 0.5) * hours),
            y=[row] * len(t),
            mode="markers",
            marker=marker,
            name=f"member {number + 1}",
        )
    drawing.set_y_axis(
        tickvals=list(range(top)),
        ticktext=[f"member {top - row}" for row in range(top)],
        range=[-0.7, top - 0.3],
        showgrid=False,
    )
    drawing.layout["showlegend"] = False
    drawing.set_margin(t=12)
    return drawing
