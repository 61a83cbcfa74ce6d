"""Contributor tags, and a count that is never too large.

A lasting tag would link a person's releases. So releases that begin in another area or period have another
tag, and only the device can link them. A query may then meet several tags of one person, but one per scope:
the count is the largest number of tags in one scope, at most the number of people.
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
PROVEN: Final = 1 << 62  # and this one if a credential proves it


@dataclass(frozen=True)
class Scoping:
    """Areas ``area_km`` high (at most twice as wide), periods of ``period_days``."""

    area_km: int
    period_days: int

    @property
    def side_udeg(self) -> int:
        """The height of an area, and its least width."""
        return self.area_km * _UDEG_PER_KM

    def area_at(self, lat_udeg: int, lon_udeg: int) -> str:
        """The area of a place."""
        side = self.side_udeg
        band = (lat_udeg + 90 * MICRO) // side
        middle = abs(band * side + side // 2 - 90 * MICRO)
        wide = side << sum(middle >= border for border in _WIDER_FROM_UDEG)
        return f"{self.area_km}-{band}-{(lon_udeg + 180 * MICRO) // wide}"

    def area_of(self, first: Cylinder) -> str:
        """The area of a release, by its first circle."""
        return self.area_at(first.lat_udeg, first.lon_udeg)

    def scope_of(self, first: Cylinder) -> bytes:
        """Area and period of a release's first circle, where no credential says when it counts."""
        period = first.start_min // (self.period_days * _DAY_MIN)
        return f"{self.area_of(first)} {self.period_days} days: {period}".encode()


def scoped_tag(scope: bytes, device_key: bytes) -> bytes:
    """A device's tag in a scope; without the key, two look like two people's."""
    return hashlib.blake2b(scope, digest_size=TAG_BYTES, key=device_key, person=b"shoal tag").digest()


def count_people(contributors: Iterable[int]) -> int:
    """The most contributors in any one scope.

    A person may have releases in several scopes, which a sum would count several times.
    """
    return max(Counter(number >> SCOPE_SHIFT for number in contributors).values(), default=0)
