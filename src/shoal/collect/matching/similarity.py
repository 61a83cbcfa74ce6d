"""When two sub-trajectories count as the same, and how often one occurs.

Source: Romero-Tris and Megías 2018, Def. 2.5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shoal.collect.matching.cylinders import MICRO, Cylinder, distances_from
from shoal.errors import MisuseError


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """How far apart two uncertain points may be and still be similar.

    Parameters
    ----------
    theta_m, theta_min
        theta_L in meters and theta_T in minutes.
    literal
        Whether to take condition 2.5(b) as printed, which calls identical intervals different; for
        replication only.

    Raises
    ------
    MisuseError
        If a threshold is negative or not finite.
    """

    theta_m: float = 1_000.0
    theta_min: float = 60.0
    literal: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.theta_m < 1e8 and 0 <= self.theta_min < 1e9):
            raise MisuseError(
                f"theta = {self.theta_m} m and {self.theta_min} min; give two finite numbers that are not "
                "negative, "
                "for example 1000 and 60"
            )


def alike(point: Cylinder, thresholds: Thresholds) -> Callable[[int, int, int, int, int], bool]:
    """Return a function that says whether a point is similar to this one, for when there are many.

    It takes the other's start_min, gap_min, lat_udeg, lon_udeg and radius_m.
    """
    start, end, own_radius_m = point.start_min, point.end_min, point.radius_m
    theta_m, theta = thresholds.theta_m, thresholds.theta_min
    away_m, literal = distances_from(point.lat_udeg / MICRO, point.lon_udeg / MICRO), thresholds.literal

    def is_similar(its_start: int, its_gap: int, lat_udeg: int, lon_udeg: int, radius_m: int) -> bool:
        its_end = its_start + its_gap
        if literal:
            times = start <= its_end + theta <= end or its_start <= end + theta <= its_end
        else:
            times = start <= its_end + theta and its_start <= end + theta
        return times and away_m(lat_udeg / MICRO, lon_udeg / MICRO) <= own_radius_m + radius_m + theta_m

    return is_similar


def similar(a: Cylinder, b: Cylinder, thresholds: Thresholds) -> bool:
    """Say whether two uncertain points are at most theta_T apart, and their circles at most theta_L."""
    return alike(a, thresholds)(b.start_min, b.gap_min, b.lat_udeg, b.lon_udeg, b.radius_m)


def occurrences(query_places: Sequence[Sequence[int]]) -> int:
    """Count the sub-trajectories similar to a query: ascending choices of one place from each list.

    Parameters
    ----------
    query_places
        For each point of the query, the places of a trajectory's points that are similar to it, ascending.
    """
    choices = {-1: 1}
    for places in query_places:
        choices = {place: sum(n for earlier, n in choices.items() if earlier < place) for place in places}
    return sum(choices.values())


def occurs(query_places: Sequence[Sequence[int]]) -> bool:
    """Say whether there is at least one such choice; the earliest place that fits is always the best."""
    reached = -1
    for places in query_places:
        later = [place for place in places if place > reached]
        if not later:
            return False
        reached = min(later)
    return True
