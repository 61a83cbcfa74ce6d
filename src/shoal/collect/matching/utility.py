"""What an anonymized trajectory is worth to a collector (user-centric.txt, Eq. 1), between 0 and 1."""

import math
from collections.abc import Sequence

from shoal.collect.matching.cylinders import Cylinder
from shoal.errors import MisuseError


def utility(radii_km: Sequence[float], gaps_h: Sequence[float], n_original: int) -> float:
    """1 - exp(-(|T'| / |T|) / sum of the cylinders' volumes in km^2 h).

    0 when nothing is left, 1 when nothing is blurred.
    """
    if not len(radii_km) == len(gaps_h) <= n_original:
        raise MisuseError(
            f"{len(radii_km)} radii and {len(gaps_h)} gaps for a trajectory of {n_original} points; one of "
            "each for each kept point"
        )
    if not radii_km:
        return 0.0
    volume = sum(math.pi * radius * radius * gap for radius, gap in zip(radii_km, gaps_h, strict=True))
    return 1.0 if volume == 0 else -math.expm1(-len(radii_km) / n_original / volume)


def utility_of(points: Sequence[Cylinder], n_original: int) -> float:
    """The same for cylinders."""
    return utility(
        [point.radius_m / 1000 for point in points], [point.gap_min / 60 for point in points], n_original
    )


def reaches(points: Sequence[Cylinder], n_original: int, threshold: float) -> bool:
    """Whether a collector with this threshold takes the trajectory."""
    return utility_of(points, n_original) >= threshold


def average_utility(trajectories: Sequence[tuple[Sequence[Cylinder], int]]) -> float:
    """The average of a data set of (cylinders, original length); raises MisuseError when it is empty."""
    if not trajectories:
        raise MisuseError("the average of no trajectory is undefined; give at least one")
    return sum(utility_of(points, n_original) for points, n_original in trajectories) / len(trajectories)
