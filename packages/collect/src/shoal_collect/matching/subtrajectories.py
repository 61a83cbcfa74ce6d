"""The sub-trajectories to check, and fakes (Romero-Tris and Megías 2018, Sec. 3.3.3)."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import MAX_MINUTE, Blur, Cylinder, Point, cylinder_for, distance_m

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


@dataclass(frozen=True)
class Prior:
    """Public knowledge about movement.

    ``lat_deg``, ``lon_deg``: homes, stations. ``weights``: relative frequency. ``first_min``, ``last_min``:
    since 1970.
    """

    lat_deg: Sequence[float]
    lon_deg: Sequence[float]
    weights: Sequence[int]
    first_min: int
    last_min: int

    def __post_init__(self) -> None:
        if (
            not len(self.lat_deg) == len(self.lon_deg) == len(self.weights)
            or sum(self.weights) < 1
            or min(self.weights) < 0
        ):
            raise MisuseError(
                "a prior needs places with as many weights, none negative and at least one above 0"
            )
        if not 0 <= self.first_min < self.last_min <= MAX_MINUTE:
            raise MisuseError(
                f"a prior from minute {self.first_min} to {self.last_min}; the first must lie before the "
                "last, and after 1970"
            )


def fake_trajectory(
    prior: Prior, n_points: int, blurs: Sequence[Blur], chance: Chance, *, canary: bool = False
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
        near = [
            int(
                1000
                * weight
                * math.exp(-distance_m(points[-1].lat_deg, points[-1].lon_deg, lat, lon) / _FADING_M)
            )
            for lat, lon, weight in zip(prior.lat_deg, prior.lon_deg, prior.weights, strict=True)
        ]
        place = chance.weighted(near) if sum(near) else chance.weighted(prior.weights)
    if canary:
        points[-1] = Point(-80.0 - 5 * chance.unit(), 360 * chance.unit() - 180, points[-1].t_min)
    points.sort(key=lambda point: point.t_min)
    return tuple(sorted(cylinder_for(point, blurs[chance.below(len(blurs))], key, 0) for point in points))
