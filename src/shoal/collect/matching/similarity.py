"""When two sub-trajectories count as the same (user-centric.txt, Def. 2.5), and how often one occurs in a trajectory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shoal.collect.matching.cylinders import MICRO, Cylinder, distances_from
from shoal.errors import MisuseError


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """theta_L and theta_T: how far apart two uncertain points may be and still be similar.

    literal: condition 2.5(b) as printed, which calls identical intervals different; for replication only.
    """

    theta_m: float = 1_000.0
    theta_min: float = 60.0
    literal: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.theta_m < 1e8 and 0 <= self.theta_min < 1e9):
            raise MisuseError(
                f"theta = {self.theta_m} m and {self.theta_min} min must be finite and not negative, for "
                "example 1000 and 60"
            )


def alike(point: Cylinder, likeness: Likeness) -> Callable[[int, int, int, int, int], bool]:
    """Whether another point is similar to this one, from its start, gap, latitude, longitude, radius.

    Thousands may be asked about.
    """
    start, end, own_radius_m, theta_m, theta = (
        point.start_min,
        point.end_min,
        point.radius_m,
        likeness.theta_m,
        likeness.theta_min,
    )
    away_m, literal = distances_from(point.lat_udeg / MICRO, point.lon_udeg / MICRO), likeness.literal

    def is_similar(its_start: int, its_gap: int, lat_udeg: int, lon_udeg: int, radius_m: int) -> bool:
        its_end = its_start + its_gap
        if literal:
            times = start <= its_end + theta <= end or its_start <= end + theta <= its_end
        else:
            times = start <= its_end + theta and its_start <= end + theta
        return times and away_m(lat_udeg / MICRO, lon_udeg / MICRO) <= own_radius_m + radius_m + theta_m

    return is_similar


def similar(a: Cylinder, b: Cylinder, likeness: Likeness) -> bool:
    """Whether two uncertain points are similar: at most theta_T apart, and their circles at most theta_L."""
    return alike(a, likeness)(b.start_min, b.gap_min, b.lat_udeg, b.lon_udeg, b.radius_m)


def occurrences(query_places: Sequence[Sequence[int]]) -> int:
    """How many strictly ascending choices of one place from each list there are.

    Sub-trajectories similar to a query.

    query_places: for each point of the query, the places of a trajectory's points that are similar to it,
    ascending.
    """
    ways = {-1: 1}
    for places in query_places:
        ways = {place: sum(count for earlier, count in ways.items() if earlier < place) for place in places}
    return sum(ways.values())


def occurs(query_places: Sequence[Sequence[int]]) -> bool:
    """Whether there is at least one such choice; the earliest that fits is always the best."""
    reached = -1
    for places in query_places:
        later = [place for place in places if place > reached]
        if not later:
            return False
        reached = min(later)
    return True
