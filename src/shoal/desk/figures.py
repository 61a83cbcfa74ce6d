"""Drawings of the desk and of the record, as SVG: no script, no style of their own, a few kilobytes each."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import numpy as np

from shoal.model.release import Release
from shoal.report.facts.density import Window, expected_density, window_around
from shoal.runtime.arrays import Floats
from shoal.units import show_m

_LETTERS: Final = " .:+*#@"  # as the map of `shoal inspect` writes density
_SHADES: Final = 6
_PIXELS: Final = 64
_ROUND: Final = (1, 2, 5)
_LETTER_HEIGHT: Final = 2  # a letter is about twice as high as wide


def _svg(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}">'
        f"<title>{escape(label)}</title>{''.join(parts)}</svg>"
    )


def letters_map(lines: Sequence[str], letter_m: float, label: str) -> str:
    """The map of ``shoal inspect``: darker where more samples are. letter_m: how wide a letter is."""
    columns = max((len(line) for line in lines), default=1)
    cells = [
        [_LETTERS.index(letter) if letter in _LETTERS else 0 for letter in line.ljust(columns)]
        for line in lines
    ]
    return _shaded(cells, columns, columns * letter_m, label, aspect=_LETTER_HEIGHT)


def density_map(release: Release, label: str) -> str:
    """How densely the boxes or points of a release lie on the plane, each box spread over its area."""
    boxes = release.boxes if release.kind == "boxes" else release.as_boxes(_grid()).boxes
    cell_m = release.grid.cell_m if release.grid is not None else _grid().cell_m
    window: Window = window_around(boxes, _PIXELS)
    expected = expected_density(boxes, window)
    return _shaded(_shades(expected), window.columns, window.columns * window.side * cell_m, label)


def _grid() -> Any:
    from shoal.model.trajectories import Grid

    return Grid()


def _shades(expected: Floats) -> list[list[int]]:
    """0 for nothing, else 1 to 6 by the logarithm over four powers of ten, north first."""
    seen = expected > 0
    if not seen.any():
        return [[0] * expected.shape[1]]
    top = math.log10(float(expected.max()))
    logs = np.log10(np.where(seen, expected, 1.0))
    shade = np.clip(np.ceil((logs - top + 4) / 4 * _SHADES), 1, _SHADES).astype(np.int64)
    return [list(map(int, row)) for row in np.where(seen, shade, 0)[::-1]]


def _shaded(cells: Sequence[Sequence[int]], columns: int, width_m: float, label: str, aspect: int = 1) -> str:
    """Rows of shades as rectangles, equal neighbors in one, with a scale bar below."""
    parts = [f'<rect class="ground" width="{columns}" height="{len(cells) * aspect}"/>']
    for row, line in enumerate(cells):
        start = 0
        for end in range(1, len(line) + 1):
            if end == len(line) or line[end] != line[start]:
                if line[start]:
                    parts.append(
                        f'<rect class="s{line[start]}" x="{start}" y="{row * aspect}" width="{end - start}" '
                        f'height="{aspect}"/>'
                    )
                start = end
    height = len(cells) * aspect
    bar_m = round_length(width_m / 4)
    bar = columns * bar_m / width_m if width_m > 0 else 0
    parts.append(f'<path class="bar" d="M1 {height + 1.2}v.8h{bar:.3g}v-.8"/>')
    parts.append(f'<text class="small" x="{bar + 2:.3g}" y="{height + 2.3}">{show_m(bar_m)}</text>')
    return _svg(columns, height + 3, label, parts)


def round_length(at_most_m: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... meters that is not longer."""
    if not at_most_m >= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(at_most_m))
    return max(digit * power for digit in _ROUND if digit * power <= at_most_m)


def clock(samples_by_hour: Sequence[int], label: str) -> str:
    """A bar for each hour of the day."""
    top = max([*samples_by_hour, 1])
    heights = [28 * n / top for n in samples_by_hour]
    parts = [
        f'<rect class="s4" x="{hour * 4 + 2}" y="{30 - high:.2f}" width="3" height="{high:.2f}"/>'
        for hour, high in enumerate(heights)
    ]
    parts += [
        f'<text class="small" x="{hour * 4 + 3.5}" y="35" text-anchor="middle">{hour}</text>'
        for hour in (0, 6, 12, 18, 23)
    ]
    parts.append('<path class="bar" d="M1 30H99"/>')
    return _svg(100, 37, label, parts)


def frontier(points: Sequence[Mapping[str, Any]], better: str, label: str, axes: tuple[str, str]) -> str:
    """Each release by the risk of the strongest adversary, and by what it is good for; numbers name them.

    better: whether a "higher" or a "lower" value of utility is good; good is up in the drawing. axes: words
    of the horizontal and of the vertical one.
    """
    values = [point["utility"] for point in points if point["utility"] is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = (high - low) or 1.0
    parts = [
        '<path class="bar" d="M8 4V52H98"/>',
        *(
            f'<text class="small" x="{8 + 0.88 * share:g}" y="56" text-anchor="middle">{share} %</text>'
            for share in (0, 25, 50, 75, 100)
        ),
        f'<text class="small" x="52" y="60" text-anchor="middle">{escape(axes[0])}</text>',
        f'<text class="small" x="9" y="3">{escape(axes[1])} ↑</text>',
    ]
    for number, point in enumerate(points, start=1):
        if point["utility"] is None or point["worst"] is None:
            continue
        share = (point["utility"] - low) / room
        y = 48 - 40 * (1 - share if better == "lower" else share)
        x = 8 + 88 * point["worst"]
        parts.append(f'<circle class="mark m{(number - 1) % 6}" cx="{x:.2f}" cy="{y:.2f}" r="2.4"/>')
        parts.append(
            f'<text class="number" x="{x:.2f}" y="{y + 0.9:.2f}" text-anchor="middle">{number}</text>'
        )
    return _svg(100, 62, label, parts)
