"""What a person takes part in at all: bounds of her profile that no consent moves."""

from collections.abc import Iterator, Sequence

from shoal.errors import InputError
from shoal_collect.device.profile import Profile
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.roles.terms import Terms


def require_within_bounds(
    profile: Profile, terms: Terms, cylinders: Sequence[Cylinder], sent: Sequence[Sequence[Cylinder]]
) -> None:
    """Raise InputError, with every reason, unless terms and trip lie within the bounds.

    Parameters
    ----------
    profile
        Her wishes.
    terms
        The collector's.
    cylinders
        What would be asked about.
    sent
        What she released before, from this device or another.
    """
    reasons = list(_beyond(profile, terms, repeated_share(cylinders, sent)))
    if reasons:
        raise InputError(f"nothing was sent: {'; '.join(reasons)}")


def repeated_share(cylinders: Sequence[Cylinder], sent: Sequence[Sequence[Cylinder]]) -> float:
    """Compute the share of circles that stood in an earlier release, whatever their times."""
    known = {_circle(point) for points in sent for point in points}
    return sum(_circle(point) in known for point in cylinders) / max(1, len(cylinders))


def _circle(point: Cylinder) -> tuple[int, int, int]:
    return point.lat_udeg, point.lon_udeg, point.radius_m


def _beyond(profile: Profile, terms: Terms, repeated: float) -> Iterator[str]:
    bounds = profile.bounds
    if terms.theta_m > bounds.theta_space:
        yield (
            f"at this collector circles {terms.theta_m:g} m apart count as shared, your profile allows "
            f"{bounds.theta_space} m (bounds.theta_space)"
        )
    if terms.theta_min > bounds.theta_time:
        yield (
            f"at this collector intervals {terms.theta_min:g} min apart count as shared, your profile allows "
            f"{bounds.theta_time} min (bounds.theta_time)"
        )
    if terms.group_size < bounds.group:
        yield (
            f"groups of {terms.group_size} at this collector, your profile asks for {bounds.group} "
            "(bounds.group)"
        )
    if profile.k < bounds.k:
        yield f"k = {profile.k} in your profile, which also asks for at least {bounds.k} (bounds.k)"
    if profile.k < terms.least_k:
        yield f"k = {profile.k} in your profile, this collector takes k = {terms.least_k} or more"
    if repeated > bounds.repeated:
        yield (
            f"{repeated:.0%} of these circles stand in releases of yours that they link, your profile "
            f"allows {bounds.repeated:.0%} (bounds.repeated); choose another trip (--trip)"
        )
