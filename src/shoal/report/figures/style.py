"""Lines, marks and axes of the drawings in reports, beside what all drawings share (``model/plotting``).

Traces are of the kinds scatter, bar and heatmap alone, so that a page needs neither WebGL nor any request.
Lines differ in their dashes as well as in their colors.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shoal.model.plotting import COLORS, Drawing


def _scale(colors: str) -> list[tuple[float, str]]:
    """A scale of colors as the drawing library takes it."""
    each = colors.split()
    return [(number / (len(each) - 1), f"#{color}") for number, color in enumerate(each)]


# YlGnBu and YlOrRd of ColorBrewer, Brewer and Harrower 2013; equal steps from low to high
BLUES: Final = _scale("ffffd9 edf8b1 c7e9b4 7fcdbb 41b6c4 1d91c0 225ea8 253494 081d58")
REDS: Final = _scale("ffffcc ffeda0 fed976 feb24c fd8d3c fc4e2a e31a1c bd0026 800026")
DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
BAR_ABOVE: Final = {"orientation": "h", "thickness": 12, "len": 1.0, "y": 1.02, "yanchor": "bottom"}


def share_axis(drawing: Drawing) -> None:
    """Make the vertical axis run from 0 to 100 %."""
    drawing.set_y_axis(range=[0, 1.01], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1], tickformat=".0%")


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
