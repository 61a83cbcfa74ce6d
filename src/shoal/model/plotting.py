"""Interactive maps for notebooks, drawn by Plotly (the extra ``plot``)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shoal.errors import MisuseError, requiring_extra
from shoal.runtime.arrays import Numbers, rows_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Line = list[float | None]  # coordinates, with None between parts that are not joined
Edges = tuple[Numbers, Numbers, Numbers, Numbers]

COLOR: Final = "#0072B2"
FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK: Final = "#1b2733"
FAINT: Final = "#dfe4ea"
EDGE: Final = "#8a96a3"
AT_MOST: Final = 20_000  # rows that a browser still moves smoothly


def path_map(
    x_m: Numbers, y_m: Numbers, offsets: Numbers, crs: str | None, at_most: int, owners: str, rows: str
) -> "Figure":
    """A map with one path for each owner of rows, as a line broken between owners."""
    drawn, note = choose_rows(offsets, at_most, owners, rows)
    owner = np.searchsorted(offsets, drawn, side="right")
    cuts = np.flatnonzero(np.diff(owner)) + 1
    x, y = (_join_lines(np.split(column[drawn] / 1000.0, cuts)) for column in (x_m, y_m))
    return _map(x, y, crs, note, mode="lines+markers", marker={"size": 3, "color": COLOR})


def box_map(edges_km: Edges, crs: str | None, note: str) -> "Figure":
    """A map with a shaded rectangle for each box."""
    x, y = rectangles(edges_km)
    return _map(x, y, crs, note, mode="lines", fill="toself", fillcolor="rgba(0,114,178,0.04)")


def rectangles(edges_km: Edges) -> tuple[Line, Line]:
    """Closed rectangles as one broken line. edges_km: x_min, x_max, y_min, y_max."""
    west, east, south, north = edges_km
    return (
        _join_lines(np.column_stack([west, east, east, west, west])),
        _join_lines(np.column_stack([south, south, north, north, south])),
    )


def rounded_list(values: Numbers) -> list[float]:
    """Numbers to four decimals."""
    return [round(value, 4) for value in values.tolist()]


def choose_rows(offsets: Numbers, at_most: int, owners: str, rows: str) -> tuple[Numbers, str]:
    """Rows of whole owners, evenly spread, at most ``at_most``, and a note on their share."""
    if at_most < 1:
        raise MisuseError(f"at_most = {at_most} draws nothing; choose at least 1, for example {AT_MOST}")
    lengths, n_rows = np.diff(offsets), int(offsets[-1])
    if n_rows <= at_most:
        return np.arange(n_rows), ""
    step = -(-n_rows // at_most)
    while step < len(lengths) and lengths[::step].sum() > at_most:
        step *= 2
    owners_drawn = np.arange(0, len(lengths), step)
    drawn = rows_of(offsets, owners_drawn)[:at_most]
    return drawn, (
        f"drawn: {len(owners_drawn):,} of {len(lengths):,} {owners} with {len(drawn):,} of {n_rows:,} {rows}"
    )


def _join_lines(lines: Iterable[Numbers]) -> Line:
    return [value for line in lines for value in (*rounded_list(line), None)]


def _map(x: Line, y: Line, crs: str | None, note: str, **trace: Any) -> "Figure":
    plane = "km (projected)" if crs is not None else "km (local)"
    axis = {
        "gridcolor": FAINT,
        "linecolor": EDGE,
        "showline": True,
        "zeroline": False,
        "automargin": True,
        "ticks": "outside",
        "tickcolor": EDGE,
        "ticklen": 4,
        "tickformat": ",~r",
        "nticks": 6,
    }
    layout: dict[str, Any] = {
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 56, "r": 24, "t": 34, "b": 48},
        "xaxis": {**axis, "title": {"text": f"east, {plane}", "standoff": 8}},
        "yaxis": {**axis, "title": {"text": f"north, {plane}", "standoff": 6}, "scaleanchor": "x"},
        "template": "none",
    }
    if note:
        layout["title"] = {"text": note, "font": {"size": 13}}
    line = {"color": COLOR, "width": 1}
    trace = {"x": x, "y": y, "line": line, "opacity": 0.6, "hoverinfo": "skip", "showlegend": False, **trace}
    with requiring_extra("an interactive map needs Plotly", "plot"):
        from plotly import graph_objects
    return graph_objects.Figure(data=[{"type": "scatter", **trace}], layout=layout)
