"""Zones around places that must not be shown: the same for every track, and not centered on the place.

Whoever sees many tracks sees the circle where all of them break off. Were its center the place, the circle
would tell it (Hassan et al. 2018). So the center lies elsewhere, by a secret key, and always at the same
spot: a new one for each track would average out.
"""

import hmac
import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.runtime.arrays import Flags, Floats

SHIFT: Final = 1.5  # the center lies up to so many guaranteed distances from the place
REACH: Final = 2.5  # and the zone reaches so far, so that the guaranteed distance is always inside
_METERS_PER_DEGREE: Final = 111_195.0
_ONE: Final = 1 << 64


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place to hide, with everything within ``hidden_m`` of it. Degrees."""

    lat: float
    lon: float
    hidden_m: float


@dataclass(frozen=True, kw_only=True)
class Zone:
    """A circle in which nothing is shown. Degrees and meters."""

    lat: float
    lon: float
    radius_m: float

    def holds(self, lat: Floats, lon: Floats) -> Flags:
        """Which positions lie inside."""
        return np.asarray(distances_m(self.lat, self.lon, lat, lon) <= self.radius_m)

    @property
    def farthest_m(self) -> float:
        """How far from the center the place may lie: all that a stranger knows who sees the whole circle."""
        return self.radius_m * SHIFT / REACH


def zone_of(place: Place, key: bytes) -> Zone:
    """The zone of a place: its center is drawn evenly from a disc around the place, by the key alone."""
    text = f"{place.lat:.6f} {place.lon:.6f} {place.hidden_m:.1f}"
    digest = hmac.digest(key, text.encode(), "sha256")
    turn, share = (int.from_bytes(part) / _ONE for part in (digest[:8], digest[8:16]))
    away_m = SHIFT * place.hidden_m * math.sqrt(share)
    north_m, east_m = away_m * math.cos(2 * math.pi * turn), away_m * math.sin(2 * math.pi * turn)
    return Zone(
        lat=place.lat + north_m / _METERS_PER_DEGREE,
        lon=place.lon + east_m / (_METERS_PER_DEGREE * _shrink(place.lat)),
        radius_m=REACH * place.hidden_m,
    )


def distances_m(lat: float, lon: float, lats: Floats, lons: Floats) -> Floats:
    """[n]: how far positions lie from one, on the plane that touches the earth there."""
    found: Floats = np.hypot(*offsets_m(lat, lon, lats, lons))
    return found


def offsets_m(lat: float, lon: float, lats: Floats, lons: Floats) -> tuple[Floats, Floats]:
    """[n] twice: how far positions lie to the east and to the north of one."""
    east = ((lons - lon + 180) % 360 - 180) * _METERS_PER_DEGREE * _shrink(lat)
    return east, (lats - lat) * _METERS_PER_DEGREE


def _shrink(lat: float) -> float:
    """A degree of longitude, as a share of one of latitude."""
    return max(math.cos(math.radians(lat)), 1e-6)
