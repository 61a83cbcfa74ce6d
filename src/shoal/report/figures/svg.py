"""A figure as SVG with its legend, and its values as a table.

No script and no inline style: the page's style colors the marks for light, dark and paper. A path's letters
and numbers are separated, so that no coordinate reads as a name.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import isfinite
from typing import Any, Final, NamedTuple

from markupsafe import Markup, escape

from shoal.report.figures.axes import FONT, WIDTH, Axis, round_length, text_width
from shoal.report.figures.drawing import (
    GRAY,
    SYMBOLS,
    UNNAMED,
    Areas,
    Bars,
    Cells,
    Drawing,
    Layer,
    Line,
    Marks,
    Pictures,
    Places,
    Streets,
    Values,
)
from shoal.units import NO_NUMBER, show_m

_COLORS: Final = 7
_DASHES: Final = 6
_MOST_MARKS: Final = 4_000  # of one drawing: more would not be told apart
_EDGE: Final = 8.0
_ABOVE: Final = 30.0  # room for the title of the vertical axis
_BELOW: Final = 48.0  # for labels and the title of the horizontal one
_KEY: Final = 50.0  # for the key of a raster, above
_SWATCH: Final = 11.0

# outlines of marks about a point, by their symbol
_OUTLINES: Final = dict(
    zip(
        SYMBOLS,
        (
            "m -3.5 0 a 3.5 3.5 0 1 0 7 0 a 3.5 3.5 0 1 0 -7 0 z",
            "m -4.5 0 l 4.5 -4.5 4.5 4.5 -4.5 4.5 z",
            "m -3.3 -3.3 h 6.6 v 6.6 h -6.6 z",
            "m -1.4 -4.2 h 2.8 v 2.8 h 2.8 v 2.8 h -2.8 v 2.8 h -2.8 v -2.8 h -2.8 v -2.8 h 2.8 z",
            "m -4.2 3.4 l 4.2 -7.4 4.2 7.4 z",
            "m -4 -2.6 l 1.4 -1.4 2.6 2.6 2.6 -2.6 1.4 1.4 -2.6 2.6 2.6 2.6 -1.4 1.4 -2.6 -2.6 -2.6 2.6 "
            "-1.4 -1.4 2.6 -2.6 z",
            "m 0 -4.8 l 1.4 3.4 h 3.4 l -2.6 2.3 1 3.6 -3.2 -2.1 -3.2 2.1 1 -3.6 -2.6 -2.3 h 3.4 z",
            "m -0.5 -5 h 1 v 10 h -1 z",
        ),
        strict=True,
    )
)


class _Frame(NamedTuple):
    """Corner, size, axes. one_in: one of this many marks is drawn."""

    x_left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis
    one_in: int = 1

    def across(self, value: float) -> float:
        return self.x.share(value) * self.width

    def down(self, value: float) -> float:
        return (1 - self.y.share(value)) * self.height


def draw_svg(drawing: Drawing, label: str) -> Markup:
    """Legend, SVG, and a table of values."""
    frame = _frame(drawing)
    height = frame.top + frame.height + _BELOW
    # only what lies over a raster may reach beyond it; elsewhere a mark on an axis is shown whole
    overflow = "" if any(isinstance(layer, Cells) for layer in drawing.layers) else ' overflow="visible"'
    parts = [
        f'<svg viewBox="0 0 {WIDTH:g} {_short(height)}" role="img" aria-label="{escape(label)}">',
        f"<title>{escape(label)}</title><desc>{escape(_description(drawing))}</desc>",
        *(_key(layer) for layer in drawing.layers if isinstance(layer, Cells)),
        *_axes(frame),
        _scale_bar(frame) if drawing.in_km else "",
        f'<svg class="inside" x="{_short(frame.x_left)}" y="{_short(frame.top)}" '
        f'width="{_short(frame.width)}" height="{_short(frame.height)}"{overflow}>',
        *(_DRAW[type(layer)](layer, frame) for layer in drawing.layers),
        ""
        if drawing.at is None
        else f'<path class="reference" d="M {_short(frame.across(drawing.at))} 0 V {_short(frame.height)}"/>',
        "</svg></svg>",
    ]
    thinned = f"one mark in {frame.one_in} is drawn" if frame.one_in > 1 else ""
    notes = "; ".join(note for note in (drawing.credit, thinned) if note)
    below = f'<p class="quiet credit">{escape(notes)}</p>' if notes else ""
    return Markup(_legend(drawing) + "".join(parts) + below + table(drawing, label))  # noqa: S704  (every text in it is escaped)


def _frame(drawing: Drawing) -> _Frame:
    margin_left = max([text_width(label) for _, label in drawing.y.ticks], default=0.0) + _EDGE
    ends = [drawing.x.share(value) for value, _ in drawing.x.ticks]
    half = text_width(drawing.x.ticks[-1][1]) / 2 if ends else 0.0
    right = max(_EDGE, half - (1 - max(ends, default=0.0)) * (WIDTH - margin_left))
    width = WIDTH - margin_left - right
    top = _ABOVE + _KEY * any(isinstance(layer, Cells) for layer in drawing.layers)
    frame = _Frame(margin_left, top, width, width * drawing.height, drawing.x, drawing.y)
    unlabeled = (layer for layer in drawing.layers if isinstance(layer, Marks) and not layer.words)
    marks = sum(len(_distinct(_points(layer.x, layer.y, frame))) for layer in unlabeled)
    return frame._replace(one_in=-(-marks // _MOST_MARKS) or 1)


def _description(drawing: Drawing) -> str:
    sides = [
        f"{way}: {axis.title or 'no unit'}, {axis.ticks[0][1]} to {axis.ticks[-1][1]}."
        for way, axis in (("Across", drawing.x), ("Up", drawing.y))
        if axis.ticks
    ]
    names = [layer.name for layer in drawing.layers if not isinstance(layer, UNNAMED) and layer.name]
    return " ".join([*sides, *([f"Shown: {', '.join(names)}."] if names else [])])


def _axes(frame: _Frame) -> list[str]:
    x_left, x_right = frame.x_left, frame.x_left + frame.width
    top, bottom = frame.top, frame.top + frame.height
    x_ticks = [(x_left + frame.across(value), text) for value, text in frame.x.ticks]
    y_ticks = [(top + frame.down(value), text) for value, text in frame.y.ticks]
    grid = [f"M {_short(x)} {_short(top)} V {_short(bottom)}" for x, _ in x_ticks if frame.x.lines]
    grid += [f"M {_short(x_left)} {_short(y)} H {_short(x_right)}" for y, _ in y_ticks if frame.y.lines]
    return [
        f'<path class="grid" d="{" ".join(grid)}"/>' if grid else "",
        f'<path class="axis" d="M {_short(x_left)} {_short(top)} V {_short(bottom)} H {_short(x_right)}"/>',
        *(_text("tick across", x, bottom + FONT + 8, text, "middle") for x, text in x_ticks),
        *(_text("tick up", x_left - 5, y + FONT / 3, text, "end") for y, text in y_ticks),
        _text("title", x_left + frame.width / 2, bottom + _BELOW - 6, frame.x.title, "middle"),
        _text("title", 0, top - 14, frame.y.title),
    ]


def _scale_bar(frame: _Frame) -> str:
    length_m = round_length(1000 * (frame.x.high - frame.x.low) / 6)
    end = frame.x_left + length_m / 1000 / (frame.x.high - frame.x.low) * frame.width
    y = frame.top + frame.height + _BELOW - 11
    bar = f"M {_short(frame.x_left)} {_short(y - 4)} v 4 H {_short(end)} v -4"
    return f'<path class="scale" d="{bar}"/>{_text("tick", end + 5, y + 1, show_m(length_m))}'


def _text(kind: str, x: float, y: float, text: str, anchor: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor else ""
    return (
        f'<text class="{kind}" x="{_short(x)}" y="{_short(y)}"{where}>{escape(text)}</text>' if text else ""
    )


def _key(cells: Cells) -> str:
    longest = max([text_width(text) for _, text in cells.labels], default=0.0)
    start, step = longest / 2, (WIDTH - longest) / len(cells.scale)
    swatches = [
        f'<rect class="{_shade(cells, shade)}" x="{_short(start + position * step)}" y="19" '
        f'width="{_short(step)}" height="{_SWATCH:g}"/>'
        for position, shade in enumerate(cells.scale)
    ]
    labels = [
        _text("tick key", start + at * step, 19 + _SWATCH + FONT, text, "middle") for at, text in cells.labels
    ]
    return _text("title", 0, FONT, cells.title) + "".join([*swatches, *labels])


def _line(line: Line, frame: _Frame) -> str:
    path: list[str] = []
    joined = False
    bars: list[str] = []
    points = _points(line.x, line.y, frame)
    for position, point in enumerate(points):
        if point is None:
            joined = False
            continue
        x, y = _short(point[0]), _short(point[1])
        if not joined:
            path.append(f"M {x} {y} h 0")
        else:
            path.append(f"H {x} V {y}" if line.steps else f"L {x} {y}")
        joined = True
        value, margin = line.y[position], line.margins[position] if line.margins else None
        if value is not None and margin:
            low, high = (_short(frame.down(value + sign * margin)) for sign in (-1, 1))
            bars.append(f"M {x} {low} V {high}")
    parts = [f'<path class="{_dashed(line)}" d="{" ".join(path)}"/>']
    if bars:
        parts.append(f'<path class="range {_color(line.number)}" d="{" ".join(bars)}"/>')
    if line.marked:
        outlines = _outlines((point for point in points if point is not None), "circle")
        parts.append(f'<path class="mark {_color(line.number)}" d="{outlines}"/>')
    return _layer(line.name, parts)


def _dashed(line: Line) -> str:
    return f"line {_color(line.number)} d{line.number % _DASHES}"


def _marks(marks: Marks, frame: _Frame) -> str:
    color = f"mark {_color(marks.number)}{' hollow' if marks.hollow else ''}"
    points = [point for point in _points(marks.x, marks.y, frame) if point is not None]
    ends = [
        f"M {_short(frame.across(low))} {_short(point[1])} H {_short(frame.across(high))}"
        for point, (low, high) in zip(points, marks.ranges, strict=False)
    ]
    parts = [f'<path class="range {_color(marks.number)}" d="{" ".join(ends)}"/>'] if ends else []
    if marks.words:
        parts += [
            f'<path class="{color}" d="{_outlines([point], marks.symbol)}">{_tooltip(words)}</path>'
            for point, words in zip(points, marks.words, strict=True)
        ]
    else:
        outlines = _outlines(_distinct(points)[:: frame.one_in], marks.symbol)
        parts.append(f'<path class="{color}" d="{outlines}"/>')
    return _layer(marks.name, parts)


def _distinct(points: Iterable[tuple[float, float] | None]) -> list[tuple[float, float]]:
    """By half a unit."""
    defined = (point for point in points if point is not None)
    return list(dict.fromkeys((round(2 * x) / 2, round(2 * y) / 2) for x, y in defined))


def _bars(bars: Bars, frame: _Frame) -> str:
    bottom = frame.down(0.0)
    parts = []
    for x, value in zip(bars.x, bars.heights, strict=True):
        if value is None:
            continue
        x_left, x_right = (frame.across(x + side * bars.width / 2) for side in (-1, 1))
        top = frame.down(value)
        tooltip = f"{frame.x.show(x)}: {frame.y.show(value)}"
        parts.append(
            f'<rect class="bar {_color(bars.number)}" x="{_short(x_left)}" y="{_short(top)}" '
            f'width="{_short(x_right - x_left)}" height="{_short(bottom - top)}">{_tooltip(tooltip)}</rect>'
        )
    return _layer(bars.name, parts)


def _areas(areas: Areas, frame: _Frame) -> str:
    path: list[str] = []
    corners: list[str] = []
    for point in [*_points(areas.x, areas.y, frame), None]:
        if point is not None:
            corners.append(f"{_short(point[0])} {_short(point[1])}")
        elif corners:
            path.append(f"M {' '.join(dict.fromkeys(corners))} z")
            corners = []
    return _layer(areas.name, [f'<path class="{_outline(areas)}" d="{" ".join(path)}"/>'])


def _outline(areas: Areas) -> str:
    return f"outline {_color(areas.number)}{' filled' * areas.filled}"


def _cells(cells: Cells, frame: _Frame) -> str:
    """North first. Without tooltips, neighbors of one shade are one line."""
    rows = list(reversed(cells.shades))
    x_left, x_right = (frame.across(edge) for edge in cells.x)
    low, high = (frame.down(edge) for edge in cells.y)
    place = (
        f'<svg class="raster" x="{_short(x_left)}" y="{_short(high)}" width="{_short(x_right - x_left)}" '
        f'height="{_short(low - high)}" viewBox="0 0 {len(rows[0])} {len(rows)}" preserveAspectRatio="none">'
    )
    if cells.words:
        parts = [
            f'<rect class="{_shade(cells, shade)}" x="{column + 0.02:g}" y="{row + 0.02:g}" width="0.96" '
            f'height="0.96">{_tooltip(words)}</rect>'
            for row, (line, tooltips) in enumerate(zip(rows, reversed(cells.words), strict=True))
            for column, (shade, words) in enumerate(zip(line, tooltips, strict=True))
            if shade is not None
        ]
    else:
        runs: dict[int, list[str]] = {}
        for row, line in enumerate(rows):
            for shade, run in groupby(range(len(line)), line.__getitem__):
                start, *others = run
                if shade is not None:
                    path = runs.setdefault(shade, [])
                    path.append(f"M {start} {row + 0.5} H {start + len(others) + 1}")
        parts = [
            f'<path class="row {_shade(cells, shade)}" d="{" ".join(path)}"/>'
            for shade, path in sorted(runs.items())
        ]
    return "".join([place, *parts, "</svg>"])


def _places(places: Places, frame: _Frame) -> str:
    parts: list[str] = []
    for name, east, north in zip(places.names, places.x, places.y, strict=True):
        x, y = frame.across(east), frame.down(north)
        to_left = x + text_width(name) + _EDGE > frame.width
        parts.append(f'<circle class="place" cx="{_short(x)}" cy="{_short(y)}" r="2"/>')
        line = min(max(y + FONT / 3, FONT), frame.height - FONT / 3)
        parts.append(_text("place", x - 4 if to_left else x + 4, line, name, "end" if to_left else "start"))
    return "".join(parts)


def _pictures(pictures: Pictures, frame: _Frame) -> str:
    parts = []
    for address, (x, y, right_x, right_y, down_x, down_y) in zip(
        pictures.addresses, pictures.frames, strict=True
    ):
        at = frame.across(x), frame.down(y)
        sides = [
            (frame.across(x + dx) - at[0], frame.down(y + dy) - at[1])
            for dx, dy in ((right_x, right_y), (down_x, down_y))
        ]
        parts.append(picture(address, at, sides[0], sides[1]))
    return f'<g class="tiles">{"".join(parts)}</g>'


def picture(
    address: str, at: tuple[float, float], right: tuple[float, float], down: tuple[float, float]
) -> str:
    """A picture over a parallelogram, slightly larger so that no gap shows."""
    numbers = " ".join(f"{value:.5g}" for value in (*right, *down, *at))
    return (
        f'<image width="1.004" height="1.004" preserveAspectRatio="none" transform="matrix({numbers})" '
        f'href="{escape(address)}"/>'
    )


def _streets(streets: Streets, frame: _Frame) -> str:
    path = " ".join(
        f"M {_short(frame.across(west))} {_short(frame.down(south))} "
        f"L {_short(frame.across(east))} {_short(frame.down(north))}"
        for west, south, east, north in streets.lines
    )
    return f'<path class="street" d="{path}"/>'


_DRAW: Final[dict[type[Layer], Callable[[Any, _Frame], str]]] = {
    Line: _line,
    Marks: _marks,
    Bars: _bars,
    Areas: _areas,
    Cells: _cells,
    Places: _places,
    Pictures: _pictures,
    Streets: _streets,
}


def _layer(name: str, parts: Sequence[str]) -> str:
    return f"<g>{_tooltip(name) if name else ''}{''.join(parts)}</g>"


def _tooltip(words: str) -> str:
    return f"<title>{escape(words)}</title>"


def _legend(drawing: Drawing) -> str:
    if not drawing.legend:
        return ""
    entries = [
        f'<li><svg viewBox="0 0 28 12" aria-hidden="true">{_sample(layer)}</svg>{escape(layer.name)}</li>'
        for layer in drawing.layers
        if not isinstance(layer, UNNAMED)
    ]
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _sample(layer: Line | Marks | Bars | Areas) -> str:
    color, middle = _color(layer.number), [(14.0, 6.0)]
    if isinstance(layer, Line):
        mark = f'<path class="mark {color}" d="{_outlines(middle, "circle")}"/>' if layer.marked else ""
        return f'<path class="{_dashed(layer)}" d="M 1 6 H 27"/>{mark}'
    if isinstance(layer, Marks):
        hollow = " hollow" if layer.hollow else ""
        return f'<path class="mark {color}{hollow}" d="{_outlines(middle, layer.symbol)}"/>'
    if isinstance(layer, Areas):
        return f'<path class="{_outline(layer)}" d="M 4 1.5 H 24 V 10.5 H 4 z"/>'
    return f'<rect class="bar {color}" x="8" y="1" width="12" height="10"/>'


def _outlines(points: Iterable[tuple[float, float]], symbol: str) -> str:
    return " ".join(f"M {_short(x)} {_short(y)} {_OUTLINES[symbol]}" for x, y in points)


def _points(x: Values, y: Values, frame: _Frame) -> list[tuple[float, float] | None]:
    return [
        None
        if across is None or up is None or not (isfinite(across) and isfinite(up))
        else (frame.across(across), frame.down(up))
        for across, up in zip(x, y, strict=True)
    ]


def _color(number: int) -> str:
    return "gray" if number == GRAY else f"c{number % _COLORS}"


def _shade(cells: Cells, shade: int) -> str:
    return f"{cells.palette[0]}{shade}"


def _short(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


_LEVELS: Final = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)


def table(drawing: Drawing, label: str) -> str:
    """Values of lines and bars as HTML, if asked for."""
    if not drawing.numbers:
        return ""
    series = [
        (layer.name, layer.x, layer.y if isinstance(layer, Line) else layer.heights)
        for layer in drawing.layers
        if isinstance(layer, (Line, Bars))
    ]
    head, rows = _levels(drawing, series) if drawing.numbers == "levels" else _rows_by_x(drawing, series)
    columns = "".join(
        f'<th scope="col" class="n">{escape(name)}</th>' for name in [head, *(name for name, _, _ in series)]
    )
    lines = (
        f'<tr><th scope="row" class="n">{escape(first)}</th>'
        + "".join(f'<td class="n">{escape(text)}</td>' for text in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        '<details class="numbers"><summary>The same in numbers</summary>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}, in numbers">'
        f'<table class="narrow"><thead><tr>{columns}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div></details>"
    )


Series = Sequence[tuple[str, Values, Values]]


def _rows_by_x(drawing: Drawing, series: Series) -> tuple[str, list[list[str]]]:
    places = dict.fromkeys(x for _, across, _ in series for x in across if x is not None)
    values = [dict(zip(across, up, strict=True)) for _, across, up in series]

    def shown(y: float | None) -> str:
        return NO_NUMBER if y is None else drawing.y.show(y)

    return drawing.x.title, [[drawing.x.show(x), *(shown(y_of.get(x)) for y_of in values)] for x in places]


def _levels(drawing: Drawing, series: Series) -> tuple[str, list[list[str]]]:
    """The first x at which each line is as high."""
    rows = []
    for level in _LEVELS:
        reached = [
            next((x for x, y in zip(across, up, strict=True) if y is not None and y >= level), None)
            for _, across, up in series
        ]
        if any(x is not None for x in reached):
            rows.append(
                [drawing.y.show(level), *(NO_NUMBER if x is None else drawing.x.show(x) for x in reached)]
            )
    return drawing.y.title, rows
