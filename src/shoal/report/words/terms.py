"""What was done to a release, in the terms of ISO/IEC 20889:2018."""

from typing import Final

from shoal.methods import method_named
from shoal.methods.method import Technique, rounding
from shoal.model.release import Release

_PSEUDONYMS: Final = Technique(
    "pseudonymization techniques",
    "pseudonymization",
    "identifiers are replaced by random ones, in random order",
)
_ROUNDING: Final = rounding("places are rounded to cells and times to slots")
_RECORDS: Final = Technique("suppression techniques", "record suppression", "people are left out whole")
_VALUES: Final = Technique("suppression techniques", "local suppression", "single samples are left out")


def techniques_of(release: Release) -> list[Technique]:
    """The techniques that made this release, of boxes or of points.

    Rounding stands only where the release is on a grid, suppression only where something was suppressed.
    Raises MisuseError for a method that says nothing of itself.
    """
    lost = release.losses
    return [
        _PSEUDONYMS,
        *([] if release.grid is None else [_ROUNDING]),
        *method_named(release.method).about.techniques,
        *([_VALUES] if lost.samples_suppressed else []),
        *([_RECORDS] if lost.subjects_suppressed else []),
    ]
