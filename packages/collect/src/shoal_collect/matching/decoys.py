"""Decoys: fakes with the times, paces and sizes of the real one.

A decoy is the real trajectory turned, mirrored and moved to public places. Among many such motions one is
chosen whose places are about as public as the real ones, which share the noise of that choice; otherwise
the real one would be the most, the least or the median public.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import (
    EARTH_M,
    Blur,
    Cylinder,
    Point,
    bearing_between,
    cylinder_for,
    destination,
    distance_m,
)
from shoal_collect.matching.subtrajectories import Prior

_MOTIONS: Final = 400  # looked at for each trajectory
_NOISE: Final = 0.3  # how far, in deviations among them, a decoy may be more or less public than the real one
_AROUND_M: Final = 1_000.0  # how far a public place makes its surroundings public
_JITTER_M: Final = 700.0  # a decoy's anchor lies so far from a public place at most


def draw_decoys(
    real: Sequence[Point], blurs: Sequence[Blur], prior: Prior, how_many: int, chance: Chance
) -> list[tuple[Cylinder, ...]]:
    """Decoys of a trajectory, sorted, with a cylinder per point unless two coincide in every motion."""
    public = _Publicity(prior)
    motions = [_move(real, prior, chance) for _ in range(max(_MOTIONS, how_many))]
    scores = np.array([public.look(points) for points in motions])
    width = np.std(scores, axis=0) * _NOISE + 1e-9
    middle = public.look(real) - width * _normals(chance)
    chosen: list[tuple[Cylinder, ...]] = []
    for _ in range(how_many):
        off = np.abs((scores - middle - width * _normals(chance)) / width).sum(axis=1)
        order = np.argsort(off, kind="stable").tolist()
        drawn: dict[int, tuple[Cylinder, ...]] = {}
        for place in order:
            key, points = chance.seed(), zip(motions[place], blurs, strict=True)
            drawn[place] = tuple(sorted({cylinder_for(point, blur, key, 0) for point, blur in points}))
            if len(drawn[place]) == len(real):
                break
        best = max(drawn, key=lambda place: len(drawn[place]))
        chosen.append(drawn[best])
        scores[best] = np.inf  # none twice
    return chosen


def _move(real: Sequence[Point], prior: Prior, chance: Chance) -> list[Point]:
    """Turned, perhaps mirrored around a point, near a public place."""
    anchor, place = real[chance.below(len(real))], chance.weighted(prior.weights)
    turn, mirror = 2 * math.pi * chance.unit(), chance.below(2)
    away_m, toward = _JITTER_M * math.sqrt(chance.unit()), 2 * math.pi * chance.unit()
    lat, lon = destination(prior.lat_deg[place], prior.lon_deg[place], away_m, toward)
    points = []
    for point in real:
        far_m = distance_m(anchor.lat_deg, anchor.lon_deg, point.lat_deg, point.lon_deg)
        bearing = bearing_between(anchor.lat_deg, anchor.lon_deg, point.lat_deg, point.lon_deg)
        lat_lon = destination(lat, lon, far_m, turn + (-bearing if mirror else bearing))
        points.append(Point(lat_lon[0], (lat_lon[1] + 180) % 360 - 180, point.t_min))
    return points


class _Publicity:
    """The weights of public places around a trajectory."""

    def __init__(self, prior: Prior) -> None:
        self._lat, self._lon = np.radians(prior.lat_deg), np.radians(prior.lon_deg)
        self._weights = np.array(prior.weights, dtype=np.float64)
        self._floor = float(self._weights.mean()) / 1000

    def look(self, points: Sequence[Point]) -> Floats:
        """Average publicity, least, and nearness of public places, as logarithms [3]."""
        lat, lon = np.radians([(point.lat_deg, point.lon_deg) for point in points]).T[:, :, None]
        east = (lon - self._lon + np.pi) % (2 * np.pi) - np.pi
        squared_m = ((lat - self._lat) ** 2 + (east * np.cos(lat)) ** 2) * EARTH_M**2
        publicity = np.log(self._floor + np.exp(-squared_m / (2 * _AROUND_M**2)) @ self._weights)
        near_m = np.sqrt(squared_m.min(axis=1))
        return np.array([publicity.mean(), publicity.min(), math.log(50 + near_m.mean())])


def _normals(chance: Chance) -> Floats:
    """Box and Muller, [3]."""
    return np.array(
        [
            math.sqrt(-2 * math.log(1 - chance.unit())) * math.cos(2 * math.pi * chance.unit())
            for _ in range(3)
        ]
    )
