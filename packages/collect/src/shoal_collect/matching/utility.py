"""The utility of an anonymized trajectory for a collector, between 0 and 1.

Source: Romero-Tris and Megías 2018, Eq. 1.
"""

import math
from collections.abc import Sequence

from shoal.errors import MisuseError
from shoal_collect.matching.cylinders import Cylinder


def utility(radii_km: Sequence[float], gaps_h: Sequence[float], n_original: int) -> float:
    """Compute 1 - exp(-(|T'| / |T|) / V), where V is the sum of the cylinders' volumes in km^2 h.

    ``n_original``: length before trimming. Returns 0 without points and 1 without blur. Raises MisuseError
    for different numbers of radii and gaps, or more of them than points.
    """
    if not len(radii_km) == len(gaps_h) <= n_original:
        raise MisuseError(
            f"{len(radii_km)} radii and {len(gaps_h)} gaps for a trajectory of {n_original} points; give "
            "one of each for each kept point"
        )
    if not radii_km:
        return 0.0
    volume = sum(math.pi * radius * radius * gap for radius, gap in zip(radii_km, gaps_h, strict=True))
    return 1.0 if volume == 0 else -math.expm1(-len(radii_km) / n_original / volume)


def utility_of(points: Sequence[Cylinder], n_original: int) -> float:
    """Compute the utility of cylinders."""
    return utility(
        [point.radius_m / 1000 for point in points], [point.gap_min / 60 for point in points], n_original
    )
