"""What coordinates may be that are off the globe or of an unknown plane: each guess with its place."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.io.columns.column_names import TABLES
from shoal.io.columns.land import on_land
from shoal.model.projection import WGS84, transform
from shoal.runtime.arrays import Floats

_ENOUGH: Final = 0.9  # of the positions are on land
_UNITS: Final = (
    ("degrees times 10,000,000", 1e7, "lat_e7 and lon_e7"),
    ("degrees times 1,000,000", 1e6, "lat_e6 and lon_e6"),
    ("degrees times 100,000", 1e5, "lat_e5 and lon_e5"),
    ("thousandths of a second of arc", 3.6e6, "lat_mas and lon_mas"),
    ("semicircles", 2**31 / 180, "lat_semicircles and lon_semicircles"),
)


def advise_degrees(lon: Floats, lat: Floats) -> str:
    """What coordinates [n] off the globe may be, and what to do; empty if nothing fits.

    Examples
    --------
    >>> import numpy as np
    >>> advise_degrees(np.array([2337542.0]), np.array([48866192.0])).partition(", or")[0]
    'they may be degrees times 1,000,000 (48.9 N 2.3 E): divide by 1,000,000'
    >>> advise_degrees(np.array([220.5]), np.array([4851.9]))
    'they may be degrees and minutes in one number (48.9 N 2.3 E): convert them to decimal degrees'
    """
    guesses = [
        f"{what} ({place(lon / unit, lat / unit)}): divide by {unit:,.0f}, or call them {names}"
        for what, unit, names in _UNITS
        if _fits(lon / unit, lat / unit) and (np.abs(lat) > 1e4).any()
    ]
    if not ((_minutes(lon) >= 60) | (_minutes(lat) >= 60)).any() and _fits(
        _from_minutes(lon), _from_minutes(lat)
    ):
        where = place(_from_minutes(lon), _from_minutes(lat))
        guesses.append(f"degrees and minutes in one number ({where}): convert them to decimal degrees")
    if _fits(lat, lon):
        guesses.append(f"swapped ({place(lat, lon)}): name latitude with --lat and longitude with --lon")
    return f"they may be {', or '.join(guesses)}" if guesses else ""


def place(lon: Floats, lat: Floats) -> str:
    """The middle of some positions, to a tenth of a degree: ``48.9 N 2.3 E``."""
    east, north = float(np.median(lon)), float(np.median(lat))
    return f"{abs(north):.1f} {'NS'[north < 0]} {abs(east):.1f} {'EW'[east < 0]}"


def _fits(lon: Floats, lat: Floats) -> bool:
    inside = (np.abs(lon) <= 180) & (np.abs(lat) <= 90)
    return bool(inside.all() and on_land(lon, lat).mean() >= _ENOUGH)


def _minutes(values: Floats) -> Floats:
    return np.abs(values) % 100


def _from_minutes(values: Floats) -> Floats:
    return np.sign(values) * (np.abs(values) // 100 + _minutes(values) / 60)


@dataclass(frozen=True, kw_only=True)
class Plane:
    """A national plane and its country's coordinates, in km (``column_names.toml``)."""

    crs: str
    country: str
    west: int
    east: int
    south: int
    north: int


PLANES: Final = [Plane(**plane) for plane in TABLES["plane"]]
_KM: Final = 1000.0
_SMALLEST_M: Final = 10_000.0  # numbers nearer to 0 than this look like any local plane


def likely_planes(west: float, south: float, east: float, north: float) -> dict[str, str]:
    """The option for each national plane that contains a rectangle of meters on land, with the place there.

    Examples
    --------
    >>> likely_planes(2_676_000, 1_241_000, 2_690_000, 1_255_000)
    {'EPSG:2056': '--crs EPSG:2056 (Switzerland (LV95), at 47.4 N 8.5 E)'}
    >>> likely_planes(0, 0, 5_000, 5_000)
    {}
    """
    found: dict[str, str] = {}
    if max(abs(west), abs(east)) < _SMALLEST_M or max(abs(south), abs(north)) < _SMALLEST_M:
        return found
    for plane in PLANES:
        if west < plane.west * _KM or east > plane.east * _KM or south < plane.south * _KM:
            continue
        lon, lat = transform(plane.crs, WGS84, np.array([(west + east) / 2]), np.array([(south + north) / 2]))
        if north <= plane.north * _KM and on_land(lon, lat).all():
            found[plane.crs] = f"--crs {plane.crs} ({plane.country}, at {place(lon, lat)})"
    return found
