"""The values of a drawing's lines and bars as a table that is folded away below it."""

from collections.abc import Sequence
from typing import Final

from markupsafe import escape

from shoal.report.figures.drawing import Bars, Drawing, Line, Values

_LEVELS: Final = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
_NOTHING: Final = "\N{EN DASH}"


def table(drawing: Drawing, label: str) -> str:
    """HTML; empty where the drawing asks for none. label: what the drawing shows."""
    if not drawing.numbers:
        return ""
    series = [
        (layer.name, layer.x, layer.y if isinstance(layer, Line) else layer.heights)
        for layer in drawing.layers
        if isinstance(layer, (Line, Bars))
    ]
    head, rows = _levels(drawing, series) if drawing.numbers == "levels" else _each(drawing, series)
    columns = "".join(f'<th scope="col" class="n">{escape(name)}</th>' for name in [head, *_names(series)])
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


def _names(series: Series) -> list[str]:
    return [name for name, _, _ in series]


def _each(drawing: Drawing, series: Series) -> tuple[str, list[list[str]]]:
    """A row for each x, in the order in which they come."""
    places = dict.fromkeys(x for _, across, _ in series for x in across if x is not None)
    values = [dict(zip(across, up, strict=True)) for _, across, up in series]
    rows = [
        [drawing.x.show(x), *(_NOTHING if (y := own.get(x)) is None else drawing.y.show(y) for own in values)]
        for x in places
    ]
    return drawing.x.title, rows


def _levels(drawing: Drawing, series: Series) -> tuple[str, list[list[str]]]:
    """A row for some heights: the first x at which each line is as high."""
    rows = []
    for level in _LEVELS:
        reached = [
            next((x for x, y in zip(across, up, strict=True) if y is not None and y >= level), None)
            for _, across, up in series
        ]
        if any(x is not None for x in reached):
            rows.append(
                [drawing.y.show(level), *(_NOTHING if x is None else drawing.x.show(x) for x in reached)]
            )
    return drawing.y.title, rows
