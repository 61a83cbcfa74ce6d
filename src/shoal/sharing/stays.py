"""Stays: where a track keeps within a small circle for a while (Li et al. 2008), or the device paused."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.sharing.tracks import Track
from shoal.sharing.zones import distances_m

_WITHIN_M: Final = 100.0
_LEAST_S: Final = 600.0


@dataclass(frozen=True, kw_only=True)
class Stay:
    """A stay: the middle of its points in degrees, from when to when in seconds since 1970."""

    lat: float
    lon: float
    start_s: float
    end_s: float


def stays_of(track: Track) -> list[Stay]:
    """The stays of a track, in the order of time.

    A stay begins at a point and lasts as long as all later ones lie within 100 m of it, ten minutes at least.
    """
    found = []
    first = 0
    while first < len(track):
        away = distances_m(
            float(track.lat[first]), float(track.lon[first]), track.lat[first:], track.lon[first:]
        )
        outside = np.flatnonzero(away > _WITHIN_M)
        end = first + (int(outside[0]) if len(outside) else len(away))
        if track.t[end - 1] - track.t[first] >= _LEAST_S:
            found.append(
                Stay(
                    lat=float(np.median(track.lat[first:end])),
                    lon=float(np.median(track.lon[first:end])),
                    start_s=float(track.t[first]),
                    end_s=float(track.t[end - 1]),
                )
            )
            first = end
        else:
            first += 1
    return found
