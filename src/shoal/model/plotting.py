"""Maps for notebooks, which can be moved and enlarged: they are drawn by Plotly (the extra ``plot``)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shoal.errors import MissingExtraError, MisuseError
from shoal.model.frames import seconds_and_meters
from shoal.runtime.arrays import Numbers

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from shoal.model.release import Boxes, Release
    from shoal.model.trajectories import Trajectories

Line = list[float | None]  # coordinates with None between parts that are not joined

COLOR: Final = "#0072B2"
FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK: Final = "#1b2733"
FAINT: Final = "#dfe4ea"
EDGE: Final = "#8a96a3"
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
    return _map(x, y, crs, note, mode="lines+markers", marker={"size": 3, "color": COLOR})


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
    drawn = {"x": x, "y": y, "line": line, "opacity": 0.6, "hoverinfo": "skip", "showlegend": False, **trace}
    return _plotly().Figure(data=[{"type": "scatter", **drawn}], layout=layout)


def _plotly() -> Any:
    """The drawing library; raises MissingExtraError where it is not installed."""
    try:
        from plotly import graph_objects
    except ImportError as error:
        raise MissingExtraError(
            "an interactive map needs Plotly; install it with: pip install 'shoal[plot]'"
        ) from error
    return graph_objects
