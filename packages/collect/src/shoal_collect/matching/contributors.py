"""Who counts as one contributor: a tag for each person, area and period, and a count that is never too large.

A tag that lasted would link everything that a person ever releases. So a device gives another tag to releases
that begin in another area or another period, and nobody but the device can tell that they belong together. A
person may then have several tags among the releases that share a query, but only one in each scope: the count
is the largest number of tags in one scope, which is at most the number of people.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shoal_collect.matching.cylinders import MICRO, Cylinder

TAG_BYTES: Final = 16
_DAY_MIN: Final = 1440
_UDEG_PER_KM: Final = 8993
# columns become twice as wide, four times, eight times from these latitudes on: whole numbers are the same on
# every machine, as cosines need not be
_WIDER_FROM_UDEG: Final = (48 * MICRO, 66 * MICRO, 78 * MICRO)
SCOPE_SHIFT: Final = 40  # a stored contributor's number has its scope's number above so many bits


@dataclass(frozen=True)
class Scoping:
    """How long and how far a tag lasts.

    Parameters
    ----------
    area_km
        The height of an area, in kilometers; it is about as wide, and at most twice.
    period_days
        The length of a period.
    """

    area_km: int
    period_days: int

    def scope_of(self, first: Cylinder) -> bytes:
        """Name the area and period of a release, which are those of its first circle and interval."""
        side = self.area_km * _UDEG_PER_KM
        band = (first.lat_udeg + 90 * MICRO) // side
        middle = abs(band * side + side // 2 - 90 * MICRO)
        wide = side << sum(middle >= one for one in _WIDER_FROM_UDEG)
        column = (first.lon_udeg + 180 * MICRO) // wide
        period = first.start_min // (self.period_days * _DAY_MIN)
        return b"%d km %d days: %d %d %d" % (self.area_km, self.period_days, band, column, period)


def lasting_tag(device_key: bytes) -> bytes:
    """Return the one tag that a device gives all its releases where nothing is scoped."""
    return hashlib.blake2b(b"contributor", digest_size=TAG_BYTES, key=device_key).digest()


def tag_in(scope: bytes, device_key: bytes) -> bytes:
    """Return a device's tag in a scope; without the key nobody can tell two tags of it from two people's."""
    return hashlib.blake2b(scope, digest_size=TAG_BYTES, key=device_key, person=b"shoal tag").digest()


def people_among(contributors: Iterable[int]) -> int:
    """Count people from the stored numbers of different contributors: the most in any one scope.

    Who has released in several scopes has a number in each, so that adding them up could count one person as
    several.
    """
    return max(Counter(number >> SCOPE_SHIFT for number in contributors).values(), default=0)
