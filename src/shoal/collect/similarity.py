"""When two sub-trajectories count as the same (user-centric.txt, Def. 2.5), and how often one occurs in a trajectory."""

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.collect.cylinders import MICRO, Cylinder, distance_m
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
            raise MisuseError(f"theta = {self.theta_m} m and {self.theta_min} min must be finite and not negative, for example 1000 and 60")


def similar_times(a: Cylinder, b: Cylinder, likeness: Likeness) -> bool:
    """Whether two intervals are at most theta_T apart."""
    theta = likeness.theta_min
    if likeness.literal:
        a_after_b = b.end_min + theta >= a.start_min and b.end_min + theta <= a.end_min
        b_after_a = a.end_min + theta >= b.start_min and a.end_min + theta <= b.end_min
        return a_after_b or b_after_a
    return a.start_min <= b.end_min + theta and b.start_min <= a.end_min + theta


def similar(a: Cylinder, b: Cylinder, likeness: Likeness) -> bool:
    """Whether two uncertain points are similar."""
    if not similar_times(a, b, likeness):
        return False
    apart_m = distance_m(a.lat_udeg / MICRO, a.lon_udeg / MICRO, b.lat_udeg / MICRO, b.lon_udeg / MICRO)
    return apart_m <= a.radius_m + b.radius_m + likeness.theta_m


def occurrences(query_places: Sequence[Sequence[int]]) -> int:
    """How many strictly ascending choices of one place from each list there are: sub-trajectories similar to a query.

    query_places: for each point of the query, the places of a trajectory's points that are similar to it, ascending.
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
