"""A trip on an offline map: her points, and the circles to share instead."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.local_pages.drawing import Ground, svg, town_names
from shoal.model.projection import WGS84, equal_area_plane, transform
from shoal.report.facts.ground import CREDIT, towns_in
from shoal.report.figures.axes import round_length
from shoal.units import show_m
from shoal_collect.device.profile import Applied
from shoal_collect.matching.cylinders import MICRO, Cylinder

_WIDTH: Final = 100
_HEIGHTS: Final = (50, 120)
_MOST_DOTS: Final = 2_000
_ROOM: Final = 1.08  # around what is drawn


@dataclass(frozen=True)
class TripMaps:
    """Both maps, of the same ground."""

    before: str
    after: str


def trip_maps(applied: Applied, cylinders: Sequence[Cylinder]) -> TripMaps:
    """Draw a trip before and after blurring."""
    points = applied.original
    lon = np.array([*(p.lon_deg for p in points), *(c.lon_udeg / MICRO for c in cylinders)])
    lat = np.array([*(p.lat_deg for p in points), *(c.lat_udeg / MICRO for c in cylinders)])
    radii = np.array([*(0.0 for _ in points), *(float(c.radius_m) for c in cylinders)])
    crs = equal_area_plane(lon, lat)
    x, y = transform(WGS84, crs, lon, lat)
    ground = _ground(x, y, radii, crs)
    height = ground.rows
    across = (x - ground.west_m) / ground.column_m
    down = height - (y - ground.south_m) / ground.row_m
    n = len(points)
    stays = np.array([fate.blur is not None for fate in applied.fates])
    path = "".join(
        f"{'M' if i == 0 else 'L'}{a:.2f} {b:.2f}" for i, (a, b) in enumerate(_thin(across[:n], down[:n]))
    )
    before = [
        f'<path class="way" d="{path}"/>',
        *(
            f'<circle class="at" cx="{a:.2f}" cy="{b:.2f}" r=".7"/>'
            for a, b in _thin(across[:n][stays], down[:n][stays])
        ),
        *(
            f'<path class="out" d="M{a - 0.9:.2f} {b - 0.9:.2f}l1.8 1.8m0 -1.8l-1.8 1.8"/>'
            for a, b in _thin(across[:n][~stays], down[:n][~stays])
        ),
    ]
    after = [
        f'<circle class="blurred" cx="{a:.2f}" cy="{b:.2f}" r="{radius / ground.column_m:.2f}"/>'
        for a, b, radius in zip(across[n:], down[n:], radii[n:], strict=True)
    ]
    return TripMaps(
        _framed(before, ground, "Your trip as it is: it stays on this machine"),
        _framed(after, ground, "Your trip after blurring: only such circles can be shared"),
    )


def _thin(first: np.ndarray, second: np.ndarray) -> list[tuple[float, float]]:
    step = max(1, -(-len(first) // _MOST_DOTS))
    return list(zip(first[::step].tolist(), second[::step].tolist(), strict=True))


def _ground(x: np.ndarray, y: np.ndarray, radii: np.ndarray, crs: str) -> Ground:
    """Everything fits, and a unit is as wide as high."""
    west, east = float((x - radii).min()), float((x + radii).max())
    south, north = float((y - radii).min()), float((y + radii).max())
    wide, high = _ROOM * max(east - west, 1.0), _ROOM * max(north - south, 1.0)
    rows = int(np.clip(np.ceil(_WIDTH * high / wide), *_HEIGHTS))
    unit_m = max(wide / _WIDTH, high / rows)
    return Ground(
        west_m=(west + east - unit_m * _WIDTH) / 2,
        south_m=(south + north - unit_m * rows) / 2,
        column_m=unit_m,
        row_m=unit_m,
        columns=_WIDTH,
        rows=rows,
        crs=crs,
    )


def _framed(parts: Sequence[str], ground: Ground, label: str) -> str:
    height = ground.rows
    towns = towns_in(*ground.bounds_m, crs=ground.crs)
    bar_m = round_length(_WIDTH * ground.column_m / 4)
    bar = bar_m / ground.column_m
    framed = [
        f'<rect class="ground framed" width="{_WIDTH}" height="{height}"/>',
        *parts,
        *town_names(towns, ground, height, 1),
        f'<path class="bar" d="M1 {height + 1.2}v.8h{bar:.3g}v-.8"/>',
        f'<text class="small" x="{bar + 2:.3g}" y="{height + 2.6}">{show_m(bar_m)}</text>',
    ]
    if towns:
        framed.append(f'<text class="tiny" x="1" y="{height + 4.9}">{CREDIT}</text>')
    return svg(_WIDTH, height + (6 if towns else 4), label, framed)
