"""SVG drawings without script or inline style."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from shoal.report.facts.ground import Town

_MOST_NAMES: Final = 8
_SIGN: Final = 1.5  # how wide a letter of a name is, and how high a line
_LINE: Final = 3.2


def svg(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    """A drawing with its title."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}">'
        f"<title>{escape(label)}</title>{''.join(parts)}</svg>"
    )


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A map's place on the plane, and the size of columns and rows."""

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


def town_names(towns: Sequence[Town], ground: Ground, height: float, aspect: int) -> list[str]:
    """Dots with names, the largest first, without overlap."""
    parts: list[str] = []
    occupied: list[tuple[float, float, float, float]] = []
    for town in towns:
        x = (town.x_m - ground.west_m) / ground.column_m
        y = height - (town.y_m - ground.south_m) / ground.row_m * aspect
        wide = _SIGN * len(town.name) + 1
        to_left = x + wide > ground.columns
        x_left = x - wide if to_left else x
        place = (x_left, y - _LINE / 2, x_left + wide, y + _LINE / 2)
        outside = x_left < 0 or place[1] < 0 or place[3] > height
        if outside or any(_overlap(place, other) for other in occupied):
            continue
        occupied.append(place)
        at = f'x="{x - 1.1 if to_left else x + 1.1:.3g}" y="{y + 0.9:.3g}"'
        anchor = ' text-anchor="end"' if to_left else ""
        parts.append(f'<circle class="town" cx="{x:.3g}" cy="{y:.3g}" r=".6"/>')
        parts += [
            f'<text class="{css_class}" {at}{anchor}>{escape(town.name)}</text>'
            for css_class in ("halo", "label")
        ]
        if len(occupied) == _MOST_NAMES:
            break
    return parts


def _overlap(first: tuple[float, float, float, float], second: tuple[float, float, float, float]) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]
