"""The dress of all drawings: colors, lines, axes, and numbers as short as a drawing needs them.

Traces are of the kinds scatter, bar and heatmap alone, so that a page needs neither WebGL nor any request.
Colors are those of Okabe and Ito, which people tell apart who see colors differently; lines differ in their
dashes, too.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK: Final = "#1b2733"
BAR_ABOVE: Final = {"orientation": "h", "thickness": 12, "len": 1.0, "y": 1.02, "yanchor": "bottom"}

_FAINT: Final = "#dfe4ea"


def new_figure(x_title: str, y_title: str) -> "Figure":
    """An empty figure in the reports' dress; it cannot be dragged, so that a finger scrolls the page."""
    from plotly.graph_objects import Figure

    figure = Figure()
    axis: dict[str, Any] = {
        "gridcolor": _FAINT,
        "linecolor": "#8a96a3",
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": "#8a96a3",
        "ticklen": 4,
        "fixedrange": True,
        "automargin": True,
    }
    figure.update_layout(
        template="none",
        font={"family": FONT, "size": 13, "color": INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 56, "r": 24, "t": 34, "b": 48},
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "xanchor": "left"},
        xaxis={**axis, "title": {"text": x_title, "standoff": 8, "font": {"size": 13}}},
        yaxis={**axis, "title": {"text": y_title, "standoff": 6, "font": {"size": 13}}},
        dragmode=False,
        hoverlabel={"font": {"family": FONT}},
    )
    return figure


def share_axis(figure: "Figure") -> None:
    """Make the vertical axis run from 0 to 100 %."""
    figure.update_yaxes(range=[0, 1.01], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1], tickformat=".0%")


def line_style(number: int) -> dict[str, Any]:
    """The color and dashes of a line, by its number in the figure."""
    return {"color": COLORS[number % len(COLORS)], "dash": DASHES[number % len(DASHES)], "width": 2.2}


def marker_style(number: int) -> dict[str, Any]:
    """The color and shape of marks, by their number in the figure."""
    symbols = ("circle", "diamond", "square", "cross", "triangle-up", "x", "star")
    return {
        "color": COLORS[number % len(COLORS)],
        "symbol": symbols[number % len(symbols)],
        "size": 7,
        "opacity": 0.8,
    }


def short(value: float) -> float:
    """A number to four decimals: of kilometers, that is ten centimeters."""
    return round(value, 4)


def short_list(values: npt.NDArray[np.floating[Any]]) -> list[float]:
    """Numbers to four decimals."""
    return [short(value) for value in values.tolist()]


def short_rows(values: npt.NDArray[np.float64]) -> list[list[float | None]]:
    """A matrix as JSON can hold it: two decimals, nothing where there is no number."""
    return [[None if np.isnan(value) else round(value, 2) for value in row] for row in values.tolist()]
