"""Where the samples of a data set lie: in degrees, at which places most, and as a map of letters."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.projection import WGS84, transform
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, Numbers

TOP_PLACES: Final = 10
_COLUMNS: Final = 64
_MOST_ROWS: Final = 24
_LETTERS: Final = " .:+*#@"  # from no sample to the most
_LEFT_OUT: Final = 0.01  # of the samples, at each side
_LETTER_SHAPE: Final = 2.0  # a letter is about twice as high as wide


@dataclass(frozen=True, kw_only=True)
class Place:
    """One of the most frequent places: its middle, in meters and, where the plane is known, degrees."""

    lat: float | None
    lon: float | None
    x: float
    y: float
    samples: int
    subjects: int


@dataclass(frozen=True, kw_only=True)
class Area:
    """The smallest upright rectangle around all samples, by its corners in degrees."""

    south: float
    west: float
    north: float
    east: float


def area_of(data: Trajectories) -> Area | None:
    """The rectangle in degrees; None on a plane of no known system."""
    if data.crs is None:
        return None
    cell_m = data.grid.cell_m if data.grid else 1.0
    reach = cell_m if data.grid else 0.0
    x = np.array([data.x.min(), data.x.max()]) * cell_m + [0.0, reach]
    y = np.array([data.y.min(), data.y.max()]) * cell_m + [0.0, reach]
    # the sides of a rectangle on the plane bend in degrees: look along them
    along_x, along_y = np.linspace(x[0], x[1], 33), np.linspace(y[0], y[1], 33)
    edge_x = np.concatenate([along_x, along_x, np.full(33, x[0]), np.full(33, x[1])])
    edge_y = np.concatenate([np.full(33, y[0]), np.full(33, y[1]), along_y, along_y])
    lon, lat = transform(data.crs, WGS84, edge_x, edge_y)
    sound = np.isfinite(lon) & np.isfinite(lat)
    if not sound.any():
        return None
    lon, lat = lon[sound], lat[sound]
    return Area(south=float(lat.min()), west=float(lon.min()), north=float(lat.max()), east=float(lon.max()))


def top_places(data: Trajectories, begins: Integers, order: Integers) -> tuple[Place, ...]:
    """The most frequent places.

    order: the samples by place. begins: where each place begins in it, in that order.
    """
    counts = np.diff(np.append(begins, len(order)))
    best = np.argsort(-counts, kind="stable")[:TOP_PLACES]
    subject = np.repeat(np.arange(data.n_subjects), data.lengths)
    cell_m, half = (data.grid.cell_m, 0.5) if data.grid else (1.0, 0.0)
    x = (data.x[order[begins[best]]] + half) * cell_m
    y = (data.y[order[begins[best]]] + half) * cell_m
    lon, lat = (None, None) if data.crs is None else transform(data.crs, WGS84, x, y)
    return tuple(
        Place(
            lat=None if lat is None else float(lat[rank]),
            lon=None if lon is None else float(lon[rank]),
            x=float(x[rank]),
            y=float(y[rank]),
            samples=int(counts[place]),
            subjects=len(np.unique(subject[order[begins[place] : begins[place] + counts[place]]])),
        )
        for rank, place in enumerate(best.tolist())
    )


def letters_map(x: Numbers, y: Numbers) -> tuple[str, ...]:
    """A map of letters, north up: the denser the samples, the darker the letter.

    x, y: [n] positions of the samples. The hundredth of them that lies farthest out on each side of each axis
    is left out, so that one stray sample does not shrink the rest to a point.
    """
    (west, east), (south, north) = _middle(x), _middle(y)
    wide, high = east - west, north - south
    longest = _longest(wide, high)
    across = max(1, min(_COLUMNS, round(_COLUMNS * wide / longest)))
    down = max(1, min(_MOST_ROWS, round(_COLUMNS * high / longest / _LETTER_SHAPE)))
    inside = (x >= west) & (x <= east) & (y >= south) & (y <= north)
    column = _bin(x[inside], west, wide, across)
    row = _bin(y[inside], south, high, down)
    counts = np.bincount(row * across + column, minlength=across * down).reshape(down, across)
    shade = np.log1p(counts) / np.log1p(counts.max())
    letter = np.ceil(shade * (len(_LETTERS) - 1)).astype(np.int64)
    return tuple("".join(_LETTERS[one] for one in line).rstrip() for line in letter[::-1].tolist())


def letter_width(x: Numbers, y: Numbers) -> float:
    """How wide a letter of the map is, in the unit of x."""
    (west, east), (south, north) = _middle(x), _middle(y)
    return _longest(east - west, north - south) / _COLUMNS


def middle_of(x: Numbers, y: Numbers) -> tuple[float, float, float, float]:
    """West, south, east and north of the map, in the unit of x."""
    (west, east), (south, north) = _middle(x), _middle(y)
    return west, south, east, north


def _longest(wide: float, high: float) -> float:
    """What the whole width of the map stands for."""
    return max(wide, high * _COLUMNS / (_MOST_ROWS * _LETTER_SHAPE), 1e-9)


def _middle(values: Numbers) -> tuple[float, float]:
    low = np.quantile(values, _LEFT_OUT, method="lower")
    return float(low), float(np.quantile(values, 1 - _LEFT_OUT, method="higher"))


def _bin(values: Numbers, low: float, length: float, bins: int) -> Integers:
    if not length:
        return np.zeros(len(values), dtype=np.int64)
    placed: Floats = (values - low) / length * bins
    return np.minimum(placed.astype(np.int64), bins - 1)


def surface_of(x: Numbers, y: Numbers) -> float:
    """The surface of the convex hull of points, in squares of their unit; 0 for points on a line."""
    points = np.unique(_outer(np.stack([x, y], axis=1).astype(np.float64)), axis=0)
    corners: list[Numbers] = []
    for ordered in (points, points[::-1]):  # the lower half from left to right, the upper one back
        half: list[Numbers] = []
        for point in ordered:
            while len(half) > 1 and _turn(half[-2], half[-1], point) <= 0:
                half.pop()
            half.append(point)
        corners += half[:-1]
    if len(corners) < 3:
        return 0.0
    a = np.array(corners)
    b = np.roll(a, -1, axis=0)
    return float(abs((a[:, 0] * b[:, 1] - b[:, 0] * a[:, 1]).sum()) / 2)


def _outer(points: Numbers) -> Numbers:
    """The points that are not inside the octagon of the outermost ones in eight directions."""
    angle = np.arange(8) * np.pi / 4
    octagon = points[np.argmax(points @ np.stack([np.cos(angle), np.sin(angle)]), axis=0)]
    inside = np.ones(len(points), dtype=np.bool_)
    for a, b in zip(octagon, np.roll(octagon, -1, axis=0), strict=True):
        if (a != b).any():
            side = (b[0] - a[0]) * (points[:, 1] - a[1]) - (b[1] - a[1]) * (points[:, 0] - a[0])
            inside &= side > 0
    return np.asarray(points[~inside])


def _turn(a: Numbers, b: Numbers, c: Numbers) -> float:
    """Positive when the way from a over b to c turns left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
