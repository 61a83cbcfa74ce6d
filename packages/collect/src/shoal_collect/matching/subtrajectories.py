"""The sub-trajectories to check, fakes and decoys, and the points that a person keeps.

Romero-Tris and Megías 2018, Sec. 3.3.3 and 3.3.6. A decoy is the real trajectory turned, mirrored and moved
to public places. Among many such motions one is chosen whose places are about as public as the real ones,
which share the noise of that choice; otherwise the real one would be the most, least or median public.
"""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from shoal.errors import MisuseError
from shoal.runtime.arrays import Floats
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import (
    EARTH_M,
    MAX_MINUTE,
    Blur,
    Cylinder,
    Point,
    bearing_between,
    cylinder_for,
    destination,
    distance_m,
    distances_from,
)

Places = tuple[int, ...]  # ascending positions in a trajectory

_LIST_UP_TO: Final = 4096
NOBODY_SOUTH_OF_UDEG: Final = -75_000_000  # only canaries lie there
_FADING_M: Final = 5_000.0  # over this distance a place becomes e times less likely as the next one


def count(n_points: int, longest: int) -> int:
    """Sub-trajectories of 2 to ``longest`` points (Sec. 2.2): 11 for 4 points."""
    return sum(math.comb(n_points, size) for size in range(2, min(n_points, longest) + 1))


def draw_subtrajectories(n_points: int, how_many: int, longest: int, chance: Chance) -> list[Places]:
    """Different sub-trajectories, uniform over 2 to ``longest`` points (Algorithm 1).

    A size is drawn with weight C(n, size), then a set; duplicates are drawn again. Ascending, fewer than
    ``how_many`` if there are no more.
    """
    if how_many < 0 or longest < 2:
        raise MisuseError(
            f"{how_many} sub-trajectories of up to {longest} points; ask for 0 or more, of 2 or more points"
        )
    sizes = range(2, min(n_points, longest) + 1)
    total = count(n_points, longest)
    if total <= max(how_many, _LIST_UP_TO):
        every = [places for size in sizes for places in itertools.combinations(range(n_points), size)]
        picks = sorted(chance.permutation(len(every))[:how_many])
        return sorted(every[place] for place in picks)
    weights = [math.comb(n_points, size) for size in sizes]
    drawn: set[Places] = set()
    while len(drawn) < how_many:
        drawn.add(_subset(n_points, sizes[chance.weighted(weights)], chance))
    return sorted(drawn)


def choose_subtrajectories(n_points: int, how_many: int, longest: int, chance: Chance) -> list[Places]:
    """The questions about a trajectory: each pair once if all fit, then larger ones; else drawn."""
    n_pairs = math.comb(n_points, 2)
    if n_pairs > how_many:
        return draw_subtrajectories(n_points, how_many, longest, chance)
    pairs = list(itertools.combinations(range(n_points), 2))
    # drawn with as many to spare as may turn out to be pairs
    larger = [
        places
        for places in draw_subtrajectories(n_points, how_many + n_pairs, longest, chance)
        if len(places) > 2
    ]
    picks = sorted(chance.permutation(len(larger))[: how_many - n_pairs])
    return sorted([*pairs, *(larger[place] for place in picks)])


def most_points_in_pairs(how_many: int) -> int:
    """Of which all pairs fit into ``how_many`` questions."""
    return (1 + math.isqrt(1 + 8 * how_many)) // 2


def _subset(n: int, size: int, chance: Chance) -> Places:
    """Floyd's algorithm."""
    chosen: set[int] = set()
    for last in range(n - size, n):
        place = chance.below(last + 1)
        chosen.add(last if place in chosen else place)
    return tuple(sorted(chosen))


_Latitude = Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
_Longitude = Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]
_Weight = Annotated[int, Field(ge=0, le=10**12)]


class PublicPlaces(BaseModel):
    """Public knowledge about movement, from which fakes are drawn.

    ``lat_deg``, ``lon_deg``: homes, stations. ``weights``: relative frequency. ``first_min``, ``last_min``:
    the span of fakes, since 1970.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    lat_deg: tuple[_Latitude, ...] = Field(min_length=1, max_length=10_000)
    lon_deg: tuple[_Longitude, ...] = Field(max_length=10_000)
    weights: tuple[_Weight, ...] = Field(max_length=10_000)
    first_min: int
    last_min: int

    @model_validator(mode="after")
    def _require_consistent(self) -> "PublicPlaces":
        if not len(self.lat_deg) == len(self.lon_deg) == len(self.weights) or sum(self.weights) < 1:
            raise ValueError("places need as many weights, at least one of them above 0")
        if not 0 <= self.first_min < self.last_min <= MAX_MINUTE:
            raise ValueError(
                f"places from minute {self.first_min} to {self.last_min}; the first must lie before the "
                "last, and after 1970"
            )
        return self

    def until(self, now_s: float) -> "PublicPlaces":
        """Move the span to end now: fakes would soon be older than all real trips."""
        last_min = max(int(now_s // 60), self.last_min - self.first_min)
        return self.model_copy(
            update={"first_min": last_min - (self.last_min - self.first_min), "last_min": last_min}
        )


def fake_trajectory(
    prior: PublicPlaces, n_points: int, blurs: Sequence[Blur], chance: Chance, *, canary: bool = False
) -> tuple[Cylinder, ...]:
    """A fake trajectory: places by weight and nearness.

    Each point draws one of the real ``blurs``. With ``canary``, the last point lies where no one can have
    been: an honest server counts 0.
    """
    key, place = chance.seed(), chance.weighted(prior.weights)
    start = prior.first_min + chance.below(prior.last_min - prior.first_min)
    longest_min = max(blur.gap_min for blur in blurs)
    points = []
    for number in range(n_points):
        t_min = min(MAX_MINUTE - 2 * longest_min, start + number * (20 + chance.below(60)))
        points.append(Point(prior.lat_deg[place], prior.lon_deg[place], t_min))
        away_m = distances_from(points[-1].lat_deg, points[-1].lon_deg)
        near = [
            int(1000 * weight * math.exp(-away_m(lat, lon) / _FADING_M))
            for lat, lon, weight in zip(prior.lat_deg, prior.lon_deg, prior.weights, strict=True)
        ]
        place = chance.weighted(near) if sum(near) else chance.weighted(prior.weights)
    if canary:
        points[-1] = Point(-80.0 - 5 * chance.unit(), 360 * chance.unit() - 180, points[-1].t_min)
    points.sort(key=lambda point: point.t_min)
    return tuple(sorted(cylinder_for(point, blurs[chance.below(len(blurs))], key, 0) for point in points))


Trimming = Literal["verified-pairs", "strict"]
DEFAULT: Final[Trimming] = "verified-pairs"
_STEPS: Final = 20_000  # of a search, which then takes the best that it found


def trim(n_points: int, phi: Mapping[Places, int], least: int, how: Trimming = DEFAULT) -> Places:
    """The points to keep, ascending; a remainder without a checked sub-trajectory is dropped.

    ``phi``: by places; below ``least`` is rare. ``how``: "verified-pairs": the most points such that each
    pair is in a common checked sub-trajectory and no rare one stays whole; so ``least`` others hold for each
    pair, not for the whole. "strict": all points of each rare one go (Algorithm 2); nothing is promised about
    unchecked sub-trajectories.
    """
    if least == 0:
        return tuple(range(n_points))
    rare = [frozenset(places) for places, count in phi.items() if count < least]
    if how == "verified-pairs":
        return _largest_verified(phi, least, rare)
    gone = frozenset[int]().union(*rare)
    rest = tuple(place for place in range(n_points) if place not in gone)
    return rest if any(set(places) <= set(rest) for places in phi) else ()


def _largest_verified(phi: Mapping[Places, int], least: int, rare: Collection[frozenset[int]]) -> Places:
    """After ``_STEPS`` steps, the best so far: verified, perhaps not the largest."""
    near: dict[int, set[int]] = {}
    for places, count in phi.items():
        # a rare part of a common one would be a contradiction; then neither is trusted
        if count >= least and not any(rare_set <= set(places) for rare_set in rare):
            for place in places:
                near.setdefault(place, set()).update(set(places) - {place})
    best: Places = ()
    waiting: list[tuple[Places, list[int]]] = [((), sorted(near))]
    for _ in range(_STEPS):
        if not waiting:
            break
        chosen, free = waiting.pop()
        if len(chosen) > len(best):
            best = chosen
        if len(chosen) + len(free) <= len(best):
            continue
        first, later = free[0], free[1:]
        waiting.append((chosen, later))
        further = (*chosen, first)
        if not any(rare_set <= set(further) for rare_set in rare):
            waiting.append((further, [place for place in later if place in near[first]]))
    return best if len(best) > 1 else ()


_MOTIONS: Final = 400  # looked at for each trajectory
_NOISE: Final = 0.3  # how far, in deviations among them, a decoy may be more or less public than the real one
_AROUND_M: Final = 1_000.0  # how far a public place makes its surroundings public
_JITTER_M: Final = 700.0  # a decoy's anchor lies so far from a public place at most


def draw_decoys(
    real: Sequence[Point], blurs: Sequence[Blur], prior: PublicPlaces, how_many: int, chance: Chance
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


def _move(real: Sequence[Point], prior: PublicPlaces, chance: Chance) -> list[Point]:
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

    def __init__(self, prior: PublicPlaces) -> None:
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
    draws = [(chance.unit(), chance.unit()) for _ in range(3)]
    return np.array([math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b) for a, b in draws])
