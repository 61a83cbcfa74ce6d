"""The dress of every drawing, and maps of places on a plane.

Plotly is loaded when something is drawn. Colors are those of Okabe and Ito, told apart by people who see
colors differently.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.frames import seconds_and_meters
from shoal.runtime.arrays import Numbers

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from shoal.model.release import Boxes, Release
    from shoal.model.trajectories import Trajectories

Line = list[float | None]  # coordinates with None between parts that are not joined

COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK: Final = "#1b2733"
FAINT: Final = "#dfe4ea"
AT_MOST: Final = 20_000  # rows that a browser still moves smoothly

_KM: Final = 1000.0


def map_of_trajectories(data: "Trajectories", at_most: int) -> "Figure":
    """The path of every subject; see ``Trajectories.plot``."""
    _, x_m, y_m = seconds_and_meters(data)
    return _paths(x_m, y_m, data.offsets, data.crs, at_most, "subjects", "samples")


def map_of_release(release: "Release", at_most: int) -> "Figure":
    """Every box, or the path of every record of points; see ``Release.plot``."""
    if not release.payload.on_grid:
        points = release.points
        return _paths(points.x, points.y, release.offsets, release.crs, at_most, "records", "points")
    rows, note = _drawn(release.offsets, at_most, "records", "boxes")
    x, y = rectangles(release.boxes.take(rows), release.snapped_grid().cell_m / _KM)
    return _map(x, y, release.crs, note, mode="lines", fill="toself", fillcolor="rgba(0,114,178,0.04)")


class Drawing:
    """A drawing in the plain values that the drawing library in a browser takes.

    The library's own classes in Python look at every value, which takes a second for ten drawings. They are
    made of it only where somebody asks for one.
    """

    def __init__(self, x_title: str, y_title: str) -> None:
        """Without a trace; it cannot be dragged, so that a finger scrolls the page."""
        axis: dict[str, Any] = {
            "gridcolor": FAINT,
            "linecolor": "#8a96a3",
            "showline": True,
            "zeroline": False,
            "ticks": "outside",
            "tickcolor": "#8a96a3",
            "ticklen": 4,
            "fixedrange": True,
            "automargin": True,
        }
        self.traces: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {
            "font": {"family": FONT, "size": 13, "color": INK},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 56, "r": 24, "t": 34, "b": 48},
            "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "xanchor": "left"},
            "xaxis": {**axis, "title": {"text": x_title, "standoff": 8, "font": {"size": 13}}},
            "yaxis": {**axis, "title": {"text": y_title, "standoff": 6, "font": {"size": 13}}},
            "dragmode": False,
            "hoverlabel": {"font": {"family": FONT}},
            "shapes": [],
        }

    def add(self, kind: str, **trace: Any) -> None:
        """Draw a trace of this kind (scatter, bar, heatmap), with the library's words for its parts."""
        self.traces.append({"type": kind, **trace})

    def add_vertical_line(self, x: float, line: Mapping[str, Any]) -> None:
        """A line from the bottom to the top."""
        where = {"xref": "x", "x0": x, "x1": x, "yref": "y domain", "y0": 0, "y1": 1}
        self.layout["shapes"].append({"type": "line", **where, "line": line})

    def set_x_axis(self, **settings: Any) -> None:
        """Change some settings of the horizontal axis."""
        self.layout["xaxis"].update(settings)

    def set_y_axis(self, **settings: Any) -> None:
        """Change some settings of the vertical axis."""
        self.layout["yaxis"].update(settings)

    def set_margin(self, **margin_px: int) -> None:
        """Change the room at some sides."""
        self.layout["margin"].update(margin_px)

    def to_json(self) -> str:
        """As the library in a browser takes it; settings that are None are its own."""
        return json.dumps({"data": _set(self.traces), "layout": _set(self.layout)}, allow_nan=False)

    def figure(self) -> "Figure":
        """As the library in Python takes it."""
        from plotly.graph_objects import Figure

        return Figure(data=_set(self.traces), layout={**_set(self.layout), "template": "none"})


def _set(value: Any) -> Any:
    """Without settings that are None, and arrays as lists; what is not finite is a gap."""
    if isinstance(value, dict):
        return {name: _set(one) for name, one in value.items() if one is not None}
    if isinstance(value, np.ndarray):
        return [number if np.isfinite(number) else None for number in value.tolist()]
    if isinstance(value, list) and value and isinstance(value[0], (dict, np.ndarray)):
        return [_set(one) for one in value]
    return value


def rectangles(boxes: "Boxes", km: float) -> tuple[Line, Line]:
    """Closed rectangles as one line, broken between them. km: side of a cell."""
    left, right, low, high = (edge * km for edge in (boxes.x_min, boxes.x_max, boxes.y_min, boxes.y_max))
    return (
        _broken(np.column_stack([left, right, right, left, left])),
        _broken(np.column_stack([low, low, high, high, low])),
    )


def short(value: float) -> float:
    """A number to four decimals: of kilometers, that is ten centimeters."""
    return round(value, 4)


def short_list(values: Numbers) -> list[float]:
    """Numbers to four decimals."""
    return [short(value) for value in values.tolist()]


def _broken(lines: Iterable[Numbers]) -> Line:
    """The numbers of all lines in a row, with None after each line."""
    return [value for line in lines for value in (*short_list(line), None)]


def _paths(
    x_m: Numbers, y_m: Numbers, offsets: Numbers, crs: str | None, at_most: int, owners: str, rows: str
) -> "Figure":
    """One path for each owner of rows, all in one line that is broken between them."""
    chosen, note = _drawn(offsets, at_most, owners, rows)
    owner = np.searchsorted(offsets, chosen, side="right")
    cuts = np.flatnonzero(np.diff(owner)) + 1
    x, y = (_broken(np.split(column[chosen] / _KM, cuts)) for column in (x_m, y_m))
    return _map(x, y, crs, note, mode="lines+markers", marker={"size": 3, "color": COLORS[0]})


def _drawn(offsets: Numbers, at_most: int, owners: str, rows: str) -> tuple[Numbers, str]:
    """Which rows are drawn, those of whole owners evenly spread over all, and what is said of the others."""
    if at_most < 1:
        raise MisuseError(f"at_most = {at_most} draws nothing; choose at least 1, for example {AT_MOST}")
    lengths, n_rows = np.diff(offsets), int(offsets[-1])
    if n_rows <= at_most:
        return np.arange(n_rows), ""
    step = -(-n_rows // at_most)
    while step < len(lengths) and lengths[::step].sum() > at_most:
        step *= 2
    kept = np.arange(0, len(lengths), step)
    chosen = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in kept])[:at_most]
    return chosen, (
        f"drawn: {len(kept):,} of {len(lengths):,} {owners} with {len(chosen):,} of {n_rows:,} {rows}"
    )


def _map(x: Line, y: Line, crs: str | None, note: str, **trace: Any) -> "Figure":
    """A map to scale with one trace, and the note above it."""
    plane = "km (projected)" if crs is not None else "km (local)"
    drawing = Drawing(f"east, {plane}", f"north, {plane}")
    line = {"color": COLORS[0], "width": 1}
    drawing.add("scatter", x=x, y=y, line=line, opacity=0.6, hoverinfo="skip", showlegend=False, **trace)
    drawing.set_x_axis(tickformat=",~r", nticks=6)
    drawing.set_y_axis(scaleanchor="x", tickformat=",~r", nticks=6)
    if note:
        drawing.layout["title"] = {"text": note, "font": {"size": 13}}
    return drawing.figure()
