"""What coordinates may be that are off the globe or of an unknown plane: each guess with its place."""

from typing import Final

import numpy as np

from shoal.io.columns.land import on_land
from shoal.io.toml_tables import TABLES
from shoal.model.projection import WGS84, transform
from shoal.runtime.arrays import Floats

_TABLE: Final = TABLES["advice"]
_ENOUGH: Final = 0.9  # of the positions are on land
_NOWHERE_DEG: Final = 1.0  # numbers this near to 0 N 0 E fit any unit


def advise_degrees(lon: Floats, lat: Floats) -> str:
    """What coordinates [n] off the globe may be, and what to do; empty if nothing fits."""
    guesses = [
        f"{what} ({place(*_scaled_down(lon, lat, unit))}): divide by {unit:,.0f}"
        + (f", or call them lat_{name} and lon_{name}" if name else "")
        for what, unit, name in _TABLE["units"]
        if _fits(*_scaled_down(lon, lat, unit)) and (np.abs(lat) > 180).any()
    ]
    for what, scale, parts in _TABLE["in_one_number"]:
        degrees = _from_parts(lon / scale, parts), _from_parts(lat / scale, parts)
        if _fits(*degrees):
            guesses.append(f"{what} ({place(*degrees)}): convert them to decimal degrees")
    if (np.abs(lat) > 1e3).all() and max(np.abs(lon).max(), np.abs(lat).max()) < _MERCATOR_M:
        west, south, east, north = lon.min(), lat.min(), lon.max(), lat.max()
        planes = " or ".join(likely_planes(west, south, east, north).values())
        guesses += [f"meters of a plane: call them x and y, and give {planes}"] if planes else []
    if np.abs(lat).max() <= 100 and _fits(0.9 * lon, 0.9 * lat):
        guesses.append(f"grads ({place(0.9 * lon, 0.9 * lat)}): call them lat_gon and lon_gon")
    if (lat >= 0).all() and _fits(lon, 90 - lat):
        guesses.append(f"angles from the north pole ({place(lon, 90 - lat)}): write 90 less these angles")
    if lon.min() > 180 and lon.max() <= 360 and _fits(lon - 360, lat):
        guesses.append(f"longitudes from 0 to 360 ({place(lon - 360, lat)}): take 360 off those above 180")
    if _fits(lat, lon):
        guesses.append(f"swapped ({place(lat, lon)}): name latitude with --lat and longitude with --lon")
    return f"they may be {', or '.join(guesses)}" if guesses else ""


def place(lon: Floats, lat: Floats) -> str:
    """The middle of some positions, to a tenth of a degree: ``48.9 N 2.3 E``."""
    east, north = float(np.median(lon)), float(np.median(lat))
    return f"{abs(north):.1f} {'NS'[north < 0]} {abs(east):.1f} {'EW'[east < 0]}"


def _fits(lon: Floats, lat: Floats) -> bool:
    inside = (np.abs(lon) <= 180) & (np.abs(lat) <= 90)
    somewhere = np.hypot(lon, lat) > _NOWHERE_DEG  # the map has an island at 0 N 0 E
    return bool((inside & somewhere).all() and on_land(lon, lat).mean() >= _ENOUGH)


def _scaled_down(lon: Floats, lat: Floats, unit: float) -> tuple[Floats, Floats]:
    """Coordinates, of which those that are whole numbers count in a unit."""
    first, second = (values / unit if (values == np.rint(values)).all() else values for values in (lon, lat))
    return first, second


def _from_parts(values: Floats, parts: int) -> Floats:
    """Degrees from numbers such as ddmm and ddmmss, of two digits a part; nan where one is 60 or more."""
    rest, part = np.abs(values), np.zeros(len(values))
    for _ in range(parts):
        part = np.where(rest % 100 < 60, (part + rest % 100) / 60, np.nan)
        rest = rest // 100
    return np.sign(values) * (rest + part)


_MERCATOR_M: Final = 2.0038e7  # half of the equator, as web maps have it
_UTM_WEST_M: Final = 160_000.0  # of a zone, at the equator
_SMALLEST_M: Final = 10_000.0  # numbers nearer to 0 than this look like any local plane


def likely_planes(west: float, south: float, east: float, north: float) -> dict[str, str]:
    """The option for each national plane that holds a rectangle of meters on land, and the place there."""
    found: dict[str, str] = {}
    if max(abs(west), abs(east)) < _SMALLEST_M or max(abs(south), abs(north)) < _SMALLEST_M:
        return found
    for crs, country, *sides in _TABLE["planes"]:
        farthest_west, farthest_east, farthest_south, farthest_north = (side * 1000.0 for side in sides)
        if west < farthest_west or east > farthest_east or south < farthest_south or north > farthest_north:
            continue
        lon, lat = transform(crs, WGS84, np.array([(west + east) / 2]), np.array([(south + north) / 2]))
        if _fits(lon, lat):
            found[crs] = f"--crs {crs} ({country}, at {place(lon, lat)})"
    if west >= _UTM_WEST_M and east <= 1e6 - _UTM_WEST_M and south >= 0 and north <= 1e7:
        for side, code, farthest_deg in (("N", 326, 84), ("S", 327, 60)):
            _, lat = np.abs(transform(f"EPSG:{code}31", WGS84, np.array([west]), np.array([south])))
            if lat[0] <= farthest_deg:
                found[f"EPSG:{code}NN"] = f"--crs EPSG:{code}NN (zone NN of UTM, at {lat[0]:.1f} {side})"
    return found
