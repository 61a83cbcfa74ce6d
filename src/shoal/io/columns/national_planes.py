"""Planes in which countries count their coordinates, to name the one that numbers look like.

Bounds are those of the areas of use in the EPSG registry, rounded outward.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Plane:
    """A plane and the coordinates that its country has in it, in kilometers."""

    crs: str
    country: str
    west: int
    east: int
    south: int
    north: int


# fmt: off
PLANES: Final = (
    Plane(crs="EPSG:2056", country="Switzerland (LV95)", west=2_480, east=2_840, south=1_070, north=1_300),
    Plane(crs="EPSG:2154", country="France (Lambert-93)", west=90, east=1_250, south=6_040, north=7_120),
    Plane(crs="EPSG:2180", country="Poland (1992)", west=170, east=870, south=130, north=780),
    Plane(crs="EPSG:25832", country="Germany, Denmark and around (UTM 32N)", west=240, east=920, south=5_230,
          north=6_410),
    Plane(crs="EPSG:28992", country="the Netherlands (RD)", west=0, east=290, south=300, north=630),
    Plane(crs="EPSG:3006", country="Sweden (SWEREF99 TM)", west=180, east=1_090, south=6_090, north=7_690),
    Plane(crs="EPSG:3035", country="Europe (LAEA)", west=2_600, east=7_400, south=1_380, north=5_450),
)
# fmt: on
_KM: Final = 1000.0
_SMALLEST_M: Final = 10_000.0  # numbers nearer to 0 than this look like any local plane


def likely_planes(west: float, south: float, east: float, north: float) -> tuple[Plane, ...]:
    """The planes that hold all of a rectangle of meters.

    Examples
    --------
    >>> [plane.crs for plane in likely_planes(2_676_000, 1_241_000, 2_690_000, 1_255_000)]
    ['EPSG:2056']
    >>> likely_planes(0, 0, 5_000, 5_000)
    ()
    """
    if max(abs(west), abs(east)) < _SMALLEST_M or max(abs(south), abs(north)) < _SMALLEST_M:
        return ()
    return tuple(
        plane
        for plane in PLANES
        if plane.west * _KM <= west
        and east <= plane.east * _KM
        and plane.south * _KM <= south
        and north <= plane.north * _KM
    )
