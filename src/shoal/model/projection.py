"""Longitude and latitude to meters on a plane and back, through pyproj.

The working plane is a Lambert azimuthal equal-area projection centered on the data (Gramaglia and Fiore
2015, Sec. 3), to a tenth of a degree, so that it reveals no average position.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from shoal.errors import InputError
from shoal.runtime.arrays import Flags, Floats

if TYPE_CHECKING:
    from pyproj import Transformer


WGS84: Final = "EPSG:4326"
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


def is_geographic(crs: str) -> bool:
    """Whether coordinates are angles; raises InputError for an unknown system."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    _require_no_file(crs)
    try:
        return bool(CRS.from_user_input(crs).is_geographic)
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
    """Whether a system counts meters eastward and northward: not westward (EPSG:2048), not at a pole."""
    from pyproj import CRS

    _require_no_file(crs)
    system = CRS.from_user_input(crs)
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
