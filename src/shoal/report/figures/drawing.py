"""A figure in plain values: two axes, and in layers what stands between them. ``svg`` draws it.

Colors are numbers of a palette, that of Okabe and Ito, told apart by people who see colors differently.
Lines differ in their dashes as well as in their colors, and marks in their shapes.
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
    """Points that are joined, with dashes by its number.

    steps: across first, then up. marked: with a mark at each point.
    margins: how far an interval reaches below and above each value.
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
    """A mark at each point.

    words: what is said of each. ranges: where an interval along x begins and ends.
    """

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
    """A bar from zero at each x; none where the height is None."""

    name: str
    x: Sequence[float]
    heights: Values
    number: int
    width: float = 0.8


@dataclass(frozen=True, eq=False, kw_only=True)
class Areas:
    """Closed outlines, None between them. filled: with a shade of their color."""

    name: str
    x: Values
    y: Values
    number: int
    filled: bool = True
    dashed: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells:
    """A raster of shades over a rectangle; south first, west first; None = blank.

    shades: numbers of a scale of colors, 0 the palest, ``MOST_SHADES`` the darkest. palette: "blues" or
    "reds". words: what is said of each cell, if anything. scale: the shades from left to right that the key
    shows, with labels at (edges between them, counted from 0).
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
    """Names beside dots."""

    names: Sequence[str]
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pictures:
    """Pictures of the ground, laid over parallelograms.

    addresses: data in the page. frames: [n, 6] the corner of each (x, y), and the two sides from there.
    """

    addresses: Sequence[str]
    frames: Sequence[tuple[float, float, float, float, float, float]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Streets:
    """Straight lines from x, y to x, y, without a name."""

    lines: Sequence[tuple[float, float, float, float]]


Layer = Line | Marks | Bars | Areas | Cells | Places | Pictures | Streets
UNNAMED: Final = (Cells, Places, Pictures, Streets)  # layers that no legend lists
MOST_SHADES: Final = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawing:
    """Layers between two axes, the first below the others.

    height: of what lies between the axes, as a share of its width. legend: whether layers are named. at:
    where a line goes from the bottom to the top. in_km: whether it is a map, which has a bar for its scale.
    numbers: how the values of lines and bars are written below: "" = not at all, "each" = one row for each x,
    "levels" = where each line first reaches some heights. credit: whom the names of places are from.
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
