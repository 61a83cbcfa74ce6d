"""Maps as SVG: density on tiles and streets, towns, a scale bar."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any, Final

import numpy as np

from shoal.local_pages.drawing import Ground, svg, town_names
from shoal.model.grid import Grid
from shoal.model.release import Release
from shoal.report.facts.ground import (
    CREDIT,
    NO_GROUND,
    MapGround,
    Tile,
    Window,
    expected_density,
    streets_in,
    tiles_in,
    towns_in,
    window_around,
)
from shoal.report.figures.axes import round_length
from shoal.report.figures.svg import picture
from shoal.runtime.arrays import Floats
from shoal.units import show_m

_LETTERS: Final = " .:+*#@"  # as the map of `shoal inspect` writes density
_SHADES: Final = 6
_PIXELS: Final = 64
_LETTER_HEIGHT: Final = 2  # a letter is about twice as high as wide
_LETTERS_ACROSS: Final = 64  # of a credit


def letters_map(inspection: Mapping[str, Any], label: str, ground: MapGround = NO_GROUND) -> str:
    """As ``shoal inspect``: darker where more samples are."""
    lines: Sequence[str] = inspection["map"]
    west_m, south_m, east_m, north_m = inspection["map_bounds_m"]
    columns = max(1, round((east_m - west_m) / inspection["map_letter_m"]), *map(len, lines))
    cells = [
        [_LETTERS.index(letter) if letter in _LETTERS else 0 for letter in line.ljust(columns)]
        for line in lines
    ]
    canvas = Ground(
        west_m=west_m,
        south_m=south_m,
        column_m=(east_m - west_m) / columns or 1.0,
        row_m=(north_m - south_m) / len(lines) or 1.0,
        columns=columns,
        rows=len(lines),
        crs=inspection["crs"],
    )
    return _draw_map(cells, canvas, label, ground, aspect=_LETTER_HEIGHT)


def density_map(release: Release, label: str, ground: MapGround = NO_GROUND, *, style: str = "") -> str:
    """A release's density.

    style: inside the drawing, for printers that ignore the page's.
    """
    boxes = release.boxes if release.kind == "boxes" else release.as_boxes(Grid()).boxes
    cell_m = release.grid.cell_m if release.grid is not None else Grid().cell_m
    window: Window = window_around(boxes, _PIXELS)
    canvas = Ground(
        west_m=window.x * cell_m,
        south_m=window.y * cell_m,
        column_m=window.side * cell_m,
        row_m=window.side * cell_m,
        columns=window.columns,
        rows=window.rows,
        crs=release.crs,
    )
    styled = [f"<style>{style}</style>"] if style else []
    return _draw_map(_shades(expected_density(boxes, window)), canvas, label, ground, first=styled)


def _shades(expected: Floats) -> list[list[int]]:
    """0 for nothing, else 1 to 6 by the logarithm over four powers of ten, north first."""
    seen = expected > 0
    if not seen.any():
        return [[0] * expected.shape[1]]
    top = math.log10(float(expected.max()))
    logs = np.log10(np.where(seen, expected, 1.0))
    shade = np.clip(np.ceil((logs - top + 4) / 4 * _SHADES), 1, _SHADES).astype(np.int64)
    return [list(map(int, row)) for row in np.where(seen, shade, 0)[::-1]]


def _draw_map(
    cells: Sequence[Sequence[int]],
    canvas: Ground,
    label: str,
    ground: MapGround,
    aspect: int = 1,
    first: Sequence[str] = (),
) -> str:
    """aspect: the height of a row."""
    width, height = canvas.columns, len(cells) * aspect
    towns = towns_in(*canvas.bounds_m, crs=canvas.crs)
    tiles = tiles_in(ground.tiles, canvas.bounds_m, canvas.crs)
    parts = [
        *first,
        f'<rect class="ground" width="{width}" height="{height}"/>',
        *_pictures(tiles.tiles, canvas, aspect),
        *_shade_rects(cells, aspect),
        *_lines(streets_in(ground.streets, canvas.bounds_m, canvas.crs), canvas, aspect),
        *town_names(towns, canvas, height, aspect),
    ]
    bar_m = round_length(width * canvas.column_m / 4)
    bar = bar_m / canvas.column_m
    parts.append(f'<path class="bar" d="M1 {height + 1.2}v.8h{bar:.3g}v-.8"/>')
    parts.append(f'<text class="small" x="{bar + 2:.3g}" y="{height + 2.3}">{show_m(bar_m)}</text>')
    below = height + 3.0
    for line in [*([CREDIT] if towns else []), *wrap(tiles.note, _LETTERS_ACROSS)]:
        parts.append(f'<text class="tiny" x="1" y="{below + 1.6:g}">{escape(line)}</text>')
        below += 2
    return svg(width, below, label, parts)


def _shade_rects(cells: Sequence[Sequence[int]], aspect: int) -> list[str]:
    parts = []
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
    return parts


def _lines(streets: Floats, ground: Ground, aspect: int) -> list[str]:
    """One path, clipped at the map's edge."""
    height = ground.rows * aspect
    segments = []
    for ends in streets.reshape(-1, 2, 2):
        (a, b), (c, d) = (_at(x, y, ground, aspect) for x, y in ends.tolist())
        segments.append(f"M{a:.4g} {b:.4g}L{c:.4g} {d:.4g}")
    lines = f'<path class="street" d="{"".join(segments)}"/>'
    return (
        [f'<svg width="{ground.columns}" height="{height}">{lines}</svg>'] if segments else []
    )  # clips them


def _pictures(tiles: Sequence[Tile], ground: Ground, aspect: int) -> list[str]:
    pictures = []
    for tile in tiles:
        (x, y), east, down = tile.corner, tile.along_north, tile.along_west
        at = _at(x, y, ground, aspect)
        ends = [_at(x + dx, y + dy, ground, aspect) for dx, dy in (east, down)]
        sides = [(end[0] - at[0], end[1] - at[1]) for end in ends]
        pictures.append(picture(tile.address, at, sides[0], sides[1]))
    size = f'width="{ground.columns}" height="{ground.rows * aspect}"'
    return [f'<svg class="tiles" {size}>{"".join(pictures)}</svg>'] if pictures else []


def _at(x_m: float, y_m: float, ground: Ground, aspect: int) -> tuple[float, float]:
    across = (x_m - ground.west_m) / ground.column_m
    return across, (ground.rows - (y_m - ground.south_m) / ground.row_m) * aspect
