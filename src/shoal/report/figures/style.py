"""Lines, marks and axes of the drawings in reports, beside what all drawings share (``model/plotting``).

Traces are of the kinds scatter, bar and heatmap alone, so that a page needs neither WebGL nor any request.
Lines differ in their dashes as well as in their colors.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from shoal.model.plotting import COLORS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
BAR_ABOVE: Final = {"orientation": "h", "thickness": 12, "len": 1.0, "y": 1.02, "yanchor": "bottom"}


def share_axis(figure: "Figure") -> None:
    """Make the vertical axis run from 0 to 100 %."""
    figure.update_yaxes(range=[0, 1.01], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1], tickformat=".0%")


def line_style(number: int) -> dict[str, Any]:
    """The color and dashes of a line, by its number in the figure."""
    return {"color": COLORS[number % len(COLORS)], "dash": DASHES[number % len(DASHES)], "width": 2.2}


def marker_style(number: int, *, hollow: bool = False) -> dict[str, Any]:
    """The color and shape of marks, by their number in the figure."""
    symbols = ("circle", "diamond", "square", "cross", "triangle-up", "x", "star")
    return {
        "color": COLORS[number % len(COLORS)],
        "symbol": symbols[number % len(symbols)] + "-open" * hollow,
        "size": 7,
        "opacity": 0.8,
    }


def short_rows(values: npt.NDArray[np.float64]) -> list[list[float | None]]:
    """A matrix as JSON can hold it: two decimals, nothing where there is no number."""
    return [[None if np.isnan(value) else round(value, 2) for value in row] for row in values.tolist()]
