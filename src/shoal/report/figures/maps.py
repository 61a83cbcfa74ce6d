"""Maps."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from shoal.model.grid import Grid
from shoal.model.plotting import rectangles
from shoal.model.release import Boxes
from shoal.report.facts.evidence import publishable_shares
from shoal.report.facts.ground import CREDIT, NO_TILES, Density, Placed, Town
from shoal.report.figures import axes
from shoal.report.figures.drawing import MOST_SHADES, Areas, Cells, Drawing, Layer, Pictures, Places, Streets
from shoal.runtime.arrays import Floats
from shoal.units import percent
from shoal.utility.vanished import Vanished

_MOST_NAMES: Final = 6
_BOXES: Final = 1  # the number of their color
_MOST_DECADES: Final = 4


def release_map(
    density: Density,
    examples: Boxes,
    grid: Grid,
    towns: Sequence[Town] = (),
    *,
    projected: bool,
    of: str = "boxes",
    tiles: Placed = NO_TILES,
    streets: Floats | None = None,
) -> Drawing:
    """Boxes or points per square kilometer, with some boxes and towns.

    of: the payload. tiles, streets: the publisher's ground; streets are [n, 4] lines in meters.
    """
    plane = "km (projected)" if projected else "km (local)"
    west_m, south_m, east_m, north_m = density.window.bounds_m(grid.cell_m)
    x, y = (west_m / 1000, east_m / 1000), (south_m / 1000, north_m / 1000)
    area_km2 = (density.window.side * grid.cell_m / 1000) ** 2
    x_axis, y_axis, height = axes.of_a_map(f"east, {plane}", f"north, {plane}", x, y)
    box_x, box_y = rectangles(examples.edges_km(grid))
    layers: list[Layer] = [
        *([_pictures(tiles)] if tiles.tiles else []),
        density_cells(density.expected / area_km2, x, y, of),
        *([Streets(lines=(streets / 1000).tolist())] if streets is not None and len(streets) else []),
        *([Areas(name="some boxes", x=box_x, y=box_y, number=_BOXES, filled=False)] if len(examples) else []),
    ]
    named = _spaced_apart(towns, (north_m - south_m) / 12)
    if named:
        layers.append(
            Places(
                names=[town.name for town in named],
                x=[town.x_m / 1000 for town in named],
                y=[town.y_m / 1000 for town in named],
            )
        )
    credit = "; ".join([*([f"towns: {CREDIT}"] if named else []), *([tiles.note] if tiles.note else [])])
    return Drawing(x=x_axis, y=y_axis, in_km=True, layers=layers, height=height, credit=credit)


def _pictures(placed: Placed) -> Pictures:
    sides = [(*tile.corner, *tile.along_north, *tile.along_west) for tile in placed.tiles]
    return Pictures(
        addresses=[tile.address for tile in placed.tiles],
        frames=[(a / 1000, b / 1000, c / 1000, d / 1000, e / 1000, f / 1000) for a, b, c, d, e, f in sides],
    )


def density_cells(per_km2: Floats, x: tuple[float, float], y: tuple[float, float], of: str) -> Cells:
    """Shades of half a power of ten, four powers at most; the palest holds everything less."""
    seen = per_km2[per_km2 > 0]
    top = math.floor(2 * math.log10(seen.max())) + 1 if len(seen) else 0
    low = math.floor(2 * math.log10(seen.min())) if len(seen) else 0
    low = min(max(low, top - 2 * _MOST_DECADES), top - 2)
    scale = [1 + round((MOST_SHADES - 1) * step / (top - low - 1)) for step in range(top - low)]
    with np.errstate(divide="ignore"):
        steps = np.floor(2 * np.log10(per_km2)) - low
    shade = np.array(scale)[np.clip(np.nan_to_num(steps, neginf=0), 0, len(scale) - 1).astype(np.int64)]
    return Cells(
        x=x,
        y=y,
        shades=[
            [level if occupied else None for level, occupied in zip(line, row, strict=True)]
            for line, row in zip(shade.tolist(), (per_km2 > 0).tolist(), strict=True)
        ],
        palette="blues",
        title=f"{of} per km²",
        scale=scale,
        labels=[
            (2.0 * power - low, f"{10**power:,}" if power >= 0 else f"{10.0**power:.4g}")
            for power in range(-(-low // 2), top // 2 + 1)
        ],
    )


def _spaced_apart(towns: Sequence[Town], least_m: float) -> list[Town]:
    """The largest first, at different heights, so that names do not collide."""
    chosen: list[Town] = []
    for town in towns:
        if len(chosen) < _MOST_NAMES and all(abs(town.y_m - other.y_m) >= least_m for other in chosen):
            chosen.append(town)
    return chosen


def vanished_by_place(vanished: Vanished) -> Drawing:
    """The share lost in each zone, in steps of 5 %; blank below ten people."""
    zones = vanished.zones
    x, y = ((float(edges[0]) / 1000, float(edges[-1]) / 1000) for edges in (zones.x_m, zones.y_m))
    shares = publishable_shares(vanished.by_zone).reshape(len(zones.y_m) - 1, len(zones.x_m) - 1).tolist()
    x_axis, y_axis, height = axes.of_a_map("east, km", "north, km", x, y)
    cells = Cells(
        x=x,
        y=y,
        shades=[
            [None if math.isnan(share) else math.ceil(MOST_SHADES * share) for share in row] for row in shares
        ],
        palette="reds",
        title="share of raw samples suppressed",
        scale=range(MOST_SHADES + 1),
        labels=[(1.0 + MOST_SHADES * part / 4, f"{25 * part} %") for part in range(5)],
        words=[
            ["" if math.isnan(share) else f"about {percent(share)} suppressed" for share in row]
            for row in shares
        ],
    )
    return Drawing(x=x_axis, y=y_axis, in_km=True, layers=[cells], height=height)
