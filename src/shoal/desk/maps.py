"""Maps of the desk and of the record, as SVG: density, streets behind it, names of towns, a scale bar."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import numpy as np

from shoal.desk.figures import svg
from shoal.errors import InputError
from shoal.model.release import Release
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Grid
from shoal.report.facts.density import Window, expected_density, window_around
from shoal.report.facts.towns import CREDIT, Town, towns_in
from shoal.report.figures.axes import round_length
from shoal.runtime.arrays import Floats
from shoal.units import show_m

_LETTERS: Final = " .:+*#@"  # as the map of `shoal inspect` writes density
_SHADES: Final = 6
_PIXELS: Final = 64
_LETTER_HEIGHT: Final = 2  # a letter is about twice as high as wide
_MOST_STREETS: Final = 6_000
_FINEST: Final = 0.1  # of the width of a column
_MOST_NAMES: Final = 8
_SIGN: Final = 1.5  # how wide a letter of a name is, and how high a line
_LINE: Final = 3.2


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where a map lies on the plane, and how wide its columns are and how high its rows.

    crs: of the plane, None where it is not known; then no town can be named.
    """

    west_m: float
    south_m: float
    column_m: float
    row_m: float
    columns: int
    rows: int
    crs: str | None

    @property
    def bounds_m(self) -> tuple[float, float, float, float]:
        """West, south, east, north."""
        east_m = self.west_m + self.columns * self.column_m
        return self.west_m, self.south_m, east_m, self.south_m + self.rows * self.row_m


def letters_map(found: Mapping[str, Any], label: str, streets: StreetGraph | None = None) -> str:
    """The map of ``shoal inspect``: darker where more samples are. found: what it printed."""
    lines: Sequence[str] = found["map"]
    west_m, south_m, east_m, north_m = found["map_bounds_m"]
    columns = max(1, round((east_m - west_m) / found["map_letter_m"]), *map(len, lines))
    cells = [
        [_LETTERS.index(letter) if letter in _LETTERS else 0 for letter in line.ljust(columns)]
        for line in lines
    ]
    ground = Ground(
        west_m=west_m,
        south_m=south_m,
        column_m=(east_m - west_m) / columns or 1.0,
        row_m=(north_m - south_m) / len(lines) or 1.0,
        columns=columns,
        rows=len(lines),
        crs=found["crs"],
    )
    return _drawn(cells, ground, label, streets, aspect=_LETTER_HEIGHT)


def density_map(release: Release, label: str, streets: StreetGraph | None = None, *, style: str = "") -> str:
    """How densely the boxes or points of a release lie on the plane, each box spread over its area.

    style: of the drawing, where what shows it does not pass on that of the page, as makers of PDFs.
    """
    boxes = release.boxes if release.kind == "boxes" else release.as_boxes(Grid()).boxes
    cell_m = release.grid.cell_m if release.grid is not None else Grid().cell_m
    window: Window = window_around(boxes, _PIXELS)
    ground = Ground(
        west_m=window.x * cell_m,
        south_m=window.y * cell_m,
        column_m=window.side * cell_m,
        row_m=window.side * cell_m,
        columns=window.columns,
        rows=window.rows,
        crs=release.crs,
    )
    styled = [f"<style>{style}</style>"] if style else []
    return _drawn(_shades(expected_density(boxes, window)), ground, label, streets, first=styled)


def _shades(expected: Floats) -> list[list[int]]:
    """0 for nothing, else 1 to 6 by the logarithm over four powers of ten, north first."""
    seen = expected > 0
    if not seen.any():
        return [[0] * expected.shape[1]]
    top = math.log10(float(expected.max()))
    logs = np.log10(np.where(seen, expected, 1.0))
    shade = np.clip(np.ceil((logs - top + 4) / 4 * _SHADES), 1, _SHADES).astype(np.int64)
    return [list(map(int, row)) for row in np.where(seen, shade, 0)[::-1]]


def _drawn(
    cells: Sequence[Sequence[int]],
    ground: Ground,
    label: str,
    streets: StreetGraph | None,
    aspect: int = 1,
    first: Sequence[str] = (),
) -> str:
    """Shades, streets over them, names of towns, a scale bar below. aspect: how high a row is drawn."""
    width, height = ground.columns, len(cells) * aspect
    towns = towns_in(*ground.bounds_m, crs=ground.crs)
    parts = [
        *first,
        f'<rect class="ground" width="{width}" height="{height}"/>',
        *_shaded(cells, aspect),
        *([] if streets is None else _lines(streets, ground, aspect)),
        *town_names(towns, ground, height, aspect),
    ]
    bar_m = round_length(width * ground.column_m / 4)
    bar = bar_m / ground.column_m
    parts.append(f'<path class="bar" d="M1 {height + 1.2}v.8h{bar:.3g}v-.8"/>')
    parts.append(f'<text class="small" x="{bar + 2:.3g}" y="{height + 2.3}">{show_m(bar_m)}</text>')
    if towns:
        parts.append(f'<text class="tiny" x="1" y="{height + 4.6}">{CREDIT}</text>')
    return svg(width, height + (5 if towns else 3), label, parts)


def _shaded(cells: Sequence[Sequence[int]], aspect: int) -> list[str]:
    """Rows of shades as rectangles, equal neighbors in one."""
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


def _lines(streets: StreetGraph, ground: Ground, aspect: int) -> list[str]:
    """The streets as one path: ends rounded to ever coarser steps until few enough lines are left."""
    try:
        graph = streets.on_plane(ground.crs)
    except InputError:
        return []  # streets with a system, data without one: nobody knows where they lie
    height = ground.rows * aspect
    x = (graph.x - ground.west_m) / ground.column_m
    y = height - (graph.y - ground.south_m) / ground.row_m * aspect
    inside = (x >= 0) & (x <= ground.columns) & (y >= 0) & (y <= height)
    met = inside[graph.u] | inside[graph.v]
    step = _FINEST
    while True:
        ends = np.rint(np.column_stack([x[graph.u], y[graph.u], x[graph.v], y[graph.v]])[met] / step)
        turned = (ends[:, 0] > ends[:, 2]) | ((ends[:, 0] == ends[:, 2]) & (ends[:, 1] > ends[:, 3]))
        ends = np.where(turned[:, None], ends[:, [2, 3, 0, 1]], ends)
        ends = ends[(ends[:, :2] != ends[:, 2:]).any(axis=1)]
        ends = ends[np.lexsort(ends.T)]
        ends = ends[np.append(True, (ends[1:] != ends[:-1]).any(axis=1))[: len(ends)]]
        if len(ends) <= _MOST_STREETS:
            break
        step *= 1.5
    shown = [f"M{a:.4g} {b:.4g}L{c:.4g} {d:.4g}" for a, b, c, d in (ends * step).tolist()]
    lines = f'<path class="street" d="{"".join(shown)}"/>'
    return [f'<svg width="{ground.columns}" height="{height}">{lines}</svg>'] if shown else []  # clips them


def town_names(towns: Sequence[Town], ground: Ground, height: float, aspect: int) -> list[str]:
    """Towns as dots with their names, the largest first, as long as no name lies on another."""
    parts: list[str] = []
    taken: list[tuple[float, float, float, float]] = []
    for town in towns:
        x = (town.x_m - ground.west_m) / ground.column_m
        y = height - (town.y_m - ground.south_m) / ground.row_m * aspect
        wide = _SIGN * len(town.name) + 1
        to_left = x + wide > ground.columns
        left = x - wide if to_left else x
        place = (left, y - _LINE / 2, left + wide, y + _LINE / 2)
        outside = left < 0 or place[1] < 0 or place[3] > height
        if outside or any(_overlap(place, other) for other in taken):
            continue
        taken.append(place)
        at = f'x="{x - 1.1 if to_left else x + 1.1:.3g}" y="{y + 0.9:.3g}"'
        anchor = ' text-anchor="end"' if to_left else ""
        parts.append(f'<circle class="town" cx="{x:.3g}" cy="{y:.3g}" r=".6"/>')
        parts += [f'<text class="{one}" {at}{anchor}>{escape(town.name)}</text>' for one in ("halo", "label")]
        if len(taken) == _MOST_NAMES:
            break
    return parts


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
