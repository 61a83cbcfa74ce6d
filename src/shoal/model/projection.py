"""Longitude and latitude to meters on a plane and back, through pyproj; whether its meters are true ones.

The working plane is a Lambert azimuthal equal-area projection centered on the data (Gramaglia and Fiore
2015, Sec. 3), to a tenth of a degree, so that it reveals no average position.

A text for pyproj can describe any plane: in kilometers, shrunk, or correct elsewhere. Short distances at the
data's places are compared with geodesic ones.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from shoal.errors import InputError
from shoal.runtime.arrays import Flags, Floats
from shoal.units import percent

if TYPE_CHECKING:
    from pyproj import CRS, Transformer

WGS84: Final = "EPSG:4326"
_ALONG_A_SIDE: Final = 31  # positions between two corners
# grids and parameters that PROJ reads from files or from the network
_NAMES_A_FILE: Final = re.compile(r'grids|file[=\["]|init=(?!epsg:\d+$)|proj=pipeline|://')


def equal_area_plane(lon_deg: Floats, lat_deg: Floats) -> str:
    """The equal-area projection around the middle of these positions (degrees)."""
    angle = np.radians(lon_deg)
    middle_lon = np.degrees(np.arctan2(np.sin(angle).mean(), np.cos(angle).mean()))
    middle_lat = float(np.mean(lat_deg))
    return f"+proj=laea +lat_0={middle_lat:.1f} +lon_0={float(middle_lon):.1f} +datum=WGS84 +units=m +no_defs"


def transform(from_crs: str, to_crs: str, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """(x, y), or (lon, lat), in another system; infinity without an image."""
    x, y = _transformer(from_crs, to_crs).transform(first, second)
    return np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)


def transform_bounds(
    from_crs: str, to_crs: str, west: float, south: float, east: float, north: float
) -> tuple[float, float, float, float]:
    """A rectangle around another one, whose sides bend; in degrees, west > east over the antimeridian."""
    bounds = west, south, east, north
    return _transformer(from_crs, to_crs).transform_bounds(*bounds, densify_pts=_ALONG_A_SIDE)


def is_geographic(crs: str) -> bool:
    """Whether coordinates are angles; raises InputError for an unknown system."""
    return bool(_system(crs).is_geographic)


def _system(crs: str) -> "CRS":
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    _require_no_file(crs)
    try:
        return CRS.from_user_input(crs)
    except CRSError as error:
        raise InputError(
            f"'{crs}' is not a coordinate reference system that pyproj knows; try for example EPSG:2154"
        ) from error


def lies_far_from_use(crs: str, lon_deg: Floats, lat_deg: Floats, degrees: float) -> Flags:
    """Whether positions lie so far outside the area where a system is used, bool [n]."""
    from pyproj import CRS

    area = CRS.from_user_input(crs).area_of_use
    if area is None:
        return np.zeros(len(lon_deg), dtype=np.bool_)
    width = (area.east - area.west) % 360 or 360.0
    beyond: Flags = (lon_deg - area.west + degrees) % 360 > width + 2 * degrees
    return beyond | (lat_deg < area.south - degrees) | (lat_deg > area.north + degrees)


def is_plane_in_meters(crs: str) -> bool:
    """Whether a system counts meters eastward and northward: not westward (EPSG:2048), not at a pole.

    Raises InputError for an unknown system.
    """
    system = _system(crs)
    axes = system.axis_info[:2]
    return (
        bool(system.is_projected)
        and {axis.direction for axis in axes} == {"east", "north"}
        and all(axis.unit_conversion_factor == 1.0 for axis in axes)
    )


def _require_no_file(crs: str) -> None:
    """Systems come from foreign manifests, too, and those open nothing."""
    if _NAMES_A_FILE.search("".join(crs.split()).casefold()):
        raise InputError(
            "the text of the plane names a file to read from; give a definition that stands alone, such as "
            "EPSG:2154"
        )


@lru_cache(maxsize=16)
def _transformer(from_crs: str, to_crs: str) -> "Transformer":
    from pyproj import Transformer
    from pyproj.exceptions import CRSError, ProjError

    _require_no_file(from_crs)
    _require_no_file(to_crs)
    try:
        return Transformer.from_crs(from_crs, to_crs, always_xy=True)
    except (CRSError, ProjError) as error:
        raise InputError(
            f"no way from '{from_crs}' to '{to_crs}'; give a coordinate reference system that pyproj knows, "
            "for example EPSG:2154"
        ) from error


MOST_WRONG: Final = 0.01  # the share by which a distance may differ where a plane can do better
_SHORT_M: Final = 100.0  # a distance that is held against the geodesic one
_EARTH_M: Final = 6_371_000.0
_AROUND_M: Final = 300_000.0  # how far the place where a plane is best may lie from its own center
_FARTHEST: Final = np.radians(170.0)
_MOST_PLACES: Final = 5_000
_NO_PLANE: Final = 1e9
_DIRECTIONS: Final = np.array([[1.0, 0.0], [0.0, 1.0], [0.5**0.5, 0.5**0.5], [0.5**0.5, -(0.5**0.5)]])


class PlaneLengths:
    """Errors of a plane's distances."""

    def __init__(self, crs: str) -> None:
        self._crs = crs
        self._parts: list[Floats] = [np.empty((0, 3))]

    def measure(self, x: Floats, y: Floats) -> None:
        """Measure at up to 5,000 distinct places, evenly chosen."""
        every = np.empty(len(x), dtype=np.complex128)  # which sort by x, then y, faster than rows do
        every.real, every.imag = x, y
        every.sort()
        first = np.flatnonzero(np.append(True, every[1:] != every[:-1]))
        chosen = np.linspace(0, len(first) - 1, min(len(first), _MOST_PLACES)).astype(np.int64)
        places = every[first[chosen]].view(np.float64).reshape(-1, 2)
        lon, lat = transform(self._crs, WGS84, places[:, 0], places[:, 1])
        self._parts.append(np.column_stack([lon, lat, _distance_errors(self._crs, places)]))

    def add(self, later: "PlaneLengths") -> None:
        """Add the places of another part."""
        self._parts += later._parts

    def errors(self) -> tuple[int, int, float, int]:
        """(places, those with wrong distances, their worst error, those unavoidably wrong)."""
        # An error is a share of the distance; up to 1 % is right, and half of the places must be right. Far
        # from their center all equal-area planes are wrong, by 1 / cos(c / 2) - 1 at the angle c (Snyder
        # 1987, p. 184); for the other half that much is unavoidable and only counted.
        lon, lat, error = np.concatenate(self._parts).T
        off: Flags = ~(error <= MOST_WRONG)
        wrong = off
        if 2 * off.sum() <= len(off) and off.any():
            angle = _angles_to(int(np.nanargmin(error)), lon, lat) + _AROUND_M / _EARTH_M
            wrong = off & ~(error <= _unavoidable(angle))
        worst = float(np.nan_to_num(error[wrong], nan=np.inf).max()) if wrong.any() else 0.0
        return len(error), int(wrong.sum()), worst, int((off & ~wrong).sum())


def is_far_from_center(middle_lon: float, middle_lat: float, lon: Floats, lat: Floats) -> Flags:
    """[n]: whether distances are wrong in an equal-area plane around a center (degrees)."""
    angle = _angles_to(0, np.append(middle_lon, lon), np.append(middle_lat, lat))
    return _unavoidable(angle[1:]) > MOST_WRONG


def error_in_words(worst: float) -> str:
    """The error of distances, for a message."""
    if worst < 1:
        return f"by {percent(worst)}"
    return f"by a factor of {worst + 1:,.3g}" if worst < _NO_PLANE else "without bound"


def _distance_errors(crs: str, places: Floats) -> Floats:
    from pyproj import Geod

    earth = Geod(ellps="WGS84")
    worst = np.zeros(len(places))
    for direction in _DIRECTIONS:
        (lon_a, lat_a), (lon_b, lat_b) = (
            [
                np.where(np.isfinite(degrees), degrees, np.nan)
                for degrees in transform(crs, WGS84, *(places + side * _SHORT_M * direction).T)
            ]
            for side in (-0.5, 0.5)
        )
        with np.errstate(all="ignore"):
            ratio = np.asarray(earth.inv(lon_a, lat_a, lon_b, lat_b)[2], dtype=np.float64) / _SHORT_M
            worst = np.maximum(worst, np.maximum(ratio, 1 / ratio) - 1)
    return worst


def _unavoidable(angle: Floats) -> Floats:
    # of an equal-area plane at these angles from its center, seen from the earth's center
    return 1 / np.cos(np.minimum(angle, _FARTHEST) / 2) - 1


def _angles_to(place: int, lon: Floats, lat: Floats) -> Floats:
    across, up = np.radians([np.where(np.isfinite(lon), lon, 0.0), np.where(np.isfinite(lat), lat, 0.0)])
    places = np.column_stack([np.cos(up) * np.cos(across), np.cos(up) * np.sin(across), np.sin(up)])
    angles: Floats = np.arccos(np.clip(places @ places[place], -1, 1))
    return angles
