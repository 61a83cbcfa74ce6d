"""Contributor tags: one for each person, area and period, and a count that is never too large.

A lasting tag would link all releases of a person. So a device uses another tag for releases that begin in
another area or period, and only the device can link them. Releases that share a query may then carry several
tags of one person, but only one per scope: the count is the largest number of tags in one scope, at most the
number of people.
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
SCOPE_SHIFT: Final = 40  # a stored contributor's number has its scope's number above these bits


@dataclass(frozen=True)
class Scoping:
    """Scope of a tag: areas ``area_km`` high (about as wide, at most twice), periods of ``period_days``."""

    area_km: int
    period_days: int

    def scope_of(self, first: Cylinder) -> bytes:
        """Name the area and period of a release by its first circle and interval."""
        side = self.area_km * _UDEG_PER_KM
        band = (first.lat_udeg + 90 * MICRO) // side
        middle = abs(band * side + side // 2 - 90 * MICRO)
        wide = side << sum(middle >= border for border in _WIDER_FROM_UDEG)
        column = (first.lon_udeg + 180 * MICRO) // wide
        period = first.start_min // (self.period_days * _DAY_MIN)
        return b"%d km %d days: %d %d %d" % (self.area_km, self.period_days, band, column, period)


def lasting_tag(device_key: bytes) -> bytes:
    """Return the single tag of a device for all its releases, without scopes."""
    return hashlib.blake2b(b"contributor", digest_size=TAG_BYTES, key=device_key).digest()


def scoped_tag(scope: bytes, device_key: bytes) -> bytes:
    """Return a device's tag in a scope; without the key, two tags of it look like two people's."""
    return hashlib.blake2b(scope, digest_size=TAG_BYTES, key=device_key, person=b"shoal tag").digest()


def count_people(contributors: Iterable[int]) -> int:
    """Count people from the stored numbers of different contributors: the most in any one scope.

    A person with releases in several scopes has a number in each; a sum could count that person several
    times.
    """
    return max(Counter(number >> SCOPE_SHIFT for number in contributors).values(), default=0)
