"""A figure in plain values: two axes and layers.

Colors are numbers of the palette of Okabe and Ito, which suits all kinds of color vision. Lines differ in
dashes as well, and marks in shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shoal.report.figures.axes import Axis

Values = Sequence[float | None]  # None where nothing is known, or between parts that are not joined

GRAY: Final = -1  # in place of the number of a color
SYMBOLS: Final = ("circle", "diamond", "square", "plus", "triangle", "cross", "star", "tick")


@dataclass(frozen=True, eq=False, kw_only=True)
class Line:
    """Joined points, color and dashes by number.

    steps: across first, then up. marked: a mark at each point. margins: an interval on both sides.
    """

    name: str
    x: Values
    y: Values
    number: int
    steps: bool = False
    marked: bool = False
    margins: Values = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Marks:
    """Points. words: tooltips. ranges: intervals along x."""

    name: str
    x: Values
    y: Values
    number: int
    symbol: str = "circle"
    hollow: bool = False
    words: Sequence[str] = ()
    ranges: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Bars:
    """Bars from zero; none for None."""

    name: str
    x: Sequence[float]
    heights: Values
    number: int
    width: float = 0.8


@dataclass(frozen=True, eq=False, kw_only=True)
class Areas:
    """Closed outlines, None between them."""

    name: str
    x: Values
    y: Values
    number: int
    filled: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells:
    """A raster of shades; south first, west first; None = blank.

    shades: 0 the palest, ``MOST_SHADES`` the darkest. palette: "blues" or "reds". words: tooltips. scale:
    the shades in the key, with labels at (edges between them, counted from 0).
    """

    x: tuple[float, float]
    y: tuple[float, float]
    shades: Sequence[Sequence[int | None]]
    palette: str
    title: str
    scale: Sequence[int]
    labels: Sequence[tuple[float, str]]
    words: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Names next to dots."""

    names: Sequence[str]
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pictures:
    """Pictures over parallelograms: [n, 6] corner (x, y) and both sides. addresses: data in the page."""

    addresses: Sequence[str]
    frames: Sequence[tuple[float, float, float, float, float, float]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Streets:
    """Unnamed straight lines from x, y to x, y."""

    lines: Sequence[tuple[float, float, float, float]]


Layer = Line | Marks | Bars | Areas | Cells | Places | Pictures | Streets
UNNAMED: Final = (Cells, Places, Pictures, Streets)  # layers that no legend lists
MOST_SHADES: Final = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawing:
    """Layers between two axes, the first at the bottom.

    height: of the plot area, over its width. at: a vertical line. in_km: a map, with a scale bar. numbers:
    the table below: "" = none, "each" = a row per x, "levels" = where each line first reaches some heights.
    credit: the source of names.
    """

    x: Axis
    y: Axis
    layers: Sequence[Layer]
    height: float = 0.6
    legend: bool = False
    at: float | None = None
    in_km: bool = False
    numbers: str = ""
    credit: str = ""
