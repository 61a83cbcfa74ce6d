"""Figures of a page as a reader sees them: shapes against the labels of their axes, and tables below."""

import math
import re
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from shoal.units import METERS, SECONDS

Point = tuple[float, float]
_NUMBER = re.compile(r"-?[\d,]*\.?\d+(?:e-?\d+)?")
_UNITS = {**METERS, **SECONDS, "%": 0.01, "": 1.0}


def value_of(text: str) -> float:
    """The number that a label says, in meters, seconds or as a share."""
    found = _NUMBER.match(text)
    assert found is not None, text
    return float(found[0].replace(",", "")) * _UNITS[text[found.end() :].strip()]


@dataclass
class Side:
    """An axis: (place in the drawing, label) of each tick. log: whether equal steps are equal ratios."""

    ticks: list[tuple[float, str]]
    log: bool = False

    @property
    def labels(self) -> list[str]:
        return [text for _, text in self.ticks]

    def at(self, place: float) -> float:
        """The value at a place, from the first and the last label."""
        (start, first), (end, last) = self.ticks[0], self.ticks[-1]
        low, high = (
            (value_of(first), value_of(last)) if _NUMBER.match(first) else (0.0, len(self.ticks) - 1.0)
        )
        share = (place - start) / (end - start)
        return low * (high / low) ** share if self.log else low + (high - low) * share

    @property
    def unit(self) -> float:
        """How much a tenth of a unit of the drawing is, at most."""
        return abs(self.at(self.ticks[-1][0] + 0.1) - self.at(self.ticks[-1][0]))


@dataclass
class Figure:
    """One figure. lines, marks, outlines: of each layer, by its name; bars: (x, height, what is said).

    cells: (west, south, east, north, shade, what is said), in the values of the axes.
    """

    x: Side
    y: Side
    titles: list[str]
    label: str
    described: str
    legend: list[str]
    lines: dict[str, list[Point]] = field(default_factory=dict)
    marks: dict[str, list[Point]] = field(default_factory=dict)
    outlines: dict[str, list[list[Point]]] = field(default_factory=dict)
    bars: list[tuple[float, float, str]] = field(default_factory=list)
    cells: list[tuple[float, float, float, float, int, str]] = field(default_factory=list)
    key: list[tuple[float, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)


def figures_of(html: str) -> dict[str, Figure]:
    """All figures of a page by name; "extents" are in equal ratios."""
    parts = re.findall(
        r'<div class="plot[^"]*" id="plot-([^"]*)" data-figure>(.*?)</div>\s*<figcaption', html, re.S
    )
    return {name: _figure(text, log=name.endswith("-accuracy")) for name, text in parts}


def _figure(text: str, *, log: bool) -> Figure:
    root = ET.fromstring(
        f"<root>{text.replace('&#39;', chr(39)).replace('&#34;', '&quot;')}</root>"
    )  # our own
    legend = ["".join(item.itertext()) for item in root.iterfind("ul/li")]
    svg = root.find("svg")
    assert svg is not None
    inside = next(one for one in svg.iterfind("svg") if one.get("class") == "inside")
    left, top = float(inside.get("x", "")), float(inside.get("y", ""))

    def ticks(kind: str, place: str, shift: float) -> list[tuple[float, str]]:
        found = [one for one in svg.iterfind("text") if one.get("class") == f"tick {kind}"]
        return [(float(one.get(place, "")) - shift, "".join(one.itertext())) for one in found]

    x = Side(ticks("across", "x", left), log=log)
    y = Side([(place - 14 / 3 - top, label) for place, label in ticks("up", "y", 0)])
    title, said = svg.find("title"), svg.find("desc")
    figure = Figure(
        x=x,
        y=y,
        titles=[str(one.text) for one in svg.iterfind("text") if one.get("class") == "title"],
        label=str(title.text if title is not None else ""),
        described=str(said.text if said is not None else ""),
        legend=legend,
        key=ticks("key", "x", 0),
        table=[[str(cell.text) for cell in row] for row in root.iterfind(".//tr")],
        names=[str(one.text) for one in inside.iterfind("text")],
    )
    for group in inside.iterfind("g"):
        name = group.findtext("title", "")
        for shape in group:
            _shape(figure, name, shape)
    for raster in inside.iterfind("svg"):
        _cells(figure, raster)
    return figure


def _shape(figure: Figure, name: str, shape: ET.Element) -> None:
    kind, path = shape.get("class", ""), shape.get("d", "")
    x, y = figure.x, figure.y
    if kind.startswith("line"):
        figure.lines[name] = [(x.at(a), y.at(b)) for a, b in _ends(path)]
        figure.classes[name] = kind
    elif kind.startswith("mark"):
        starts = re.findall(r"M (\S+) (\S+) m", path)
        figure.marks.setdefault(name, []).extend((x.at(float(a)), y.at(float(b))) for a, b in starts)
        figure.classes.setdefault(name, kind + re.sub(r"M \S+ \S+", "", path))
    elif kind.startswith("outline"):
        rings = [ring.split() for ring in re.findall(r"M ([^z]*) z", path)]
        figure.outlines[name] = [
            [(x.at(float(a)), y.at(float(b))) for a, b in zip(ring[::2], ring[1::2], strict=True)]
            for ring in rings
        ]
    elif kind.startswith("bar"):
        place = float(shape.get("x", "")) + float(shape.get("width", "")) / 2
        high = y.at(float(shape.get("y", ""))) if y.ticks else math.nan
        figure.bars.append((x.at(place), high, shape.findtext("title", "")))


def _ends(path: str) -> list[Point]:
    """The points of a path of M, L, H and V; what a step passes on its way is none."""
    found: list[Point] = []
    for command in re.findall(r"M \S+ \S+|L \S+ \S+|H \S+ V \S+", path):
        words = command.split()
        numbers = [float(word) for word in words if word not in {"M", "L", "H", "V"}]
        found.append((numbers[0], numbers[1]))
    return found


def _cells(figure: Figure, raster: ET.Element) -> None:
    width, height = float(raster.get("width", "")), float(raster.get("height", ""))
    left, top = float(raster.get("x", "")), float(raster.get("y", ""))
    columns, rows = (float(word) for word in raster.get("viewBox", "").split()[2:])

    def add(column: float, row: float, kind: str, said: str) -> None:
        west, east = (figure.x.at(left + at / columns * width) for at in (column, column + 1))
        north, south = (figure.y.at(top + at / rows * height) for at in (row, row + 1))
        shade = int(re.sub(r"\D", "", kind))
        figure.cells.append((west, south, east, north, shade, said))

    for shape in raster:
        kind = shape.get("class", "")
        if shape.tag == "rect":
            add(
                math.floor(float(shape.get("x", ""))),
                math.floor(float(shape.get("y", ""))),
                kind,
                shape.findtext("title", ""),
            )
        else:
            for start, row, end in re.findall(r"M (\d+) (\S+) H (\d+)", shape.get("d", "")):
                for column in range(int(start), int(end)):
                    add(column, float(row) - 0.5, kind, "")
