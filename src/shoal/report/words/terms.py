"""Methods in the terms of ISO/IEC 20889:2018 (privacy enhancing data de-identification.

Terminology and classification of techniques).
"""

from dataclasses import dataclass
from typing import Final

from shoal.model.release import Release


@dataclass(frozen=True)
class Technique:
    """A technique of the standard, the family it belongs to there, and what the release does with it."""

    family: str
    name: str
    here: str


_PSEUDONYMS: Final = Technique(
    "pseudonymization techniques",
    "pseudonymization",
    "identifiers are replaced by random ones, in random order",
)
_ROUNDING: Final = Technique(
    "generalization techniques", "rounding", "places are rounded to cells and times to slots"
)
_RECORDS: Final = Technique("suppression techniques", "record suppression", "people are left out whole")
_VALUES: Final = Technique("suppression techniques", "local suppression", "single samples are left out")

_OWN: Final[dict[str, tuple[Technique, ...]]] = {
    "glove": (
        Technique(
            "generalization techniques",
            "local generalization",
            "the samples of a crowd become areas and intervals",
        ),
    ),
    "kte-hide": (
        Technique(
            "generalization techniques",
            "local generalization",
            "samples become areas and intervals that hold others' samples, too",
        ),
    ),
    "static": (
        Technique(
            "generalization techniques", "rounding", "everybody's samples are rounded to the same coarse grid"
        ),
    ),
    "swap-locations": (
        Technique("randomization techniques", "permutation", "samples are exchanged between people"),
    ),
    "reach-locations": (
        Technique(
            "randomization techniques",
            "permutation",
            "places are exchanged between people who could reach them",
        ),
    ),
    "nwa": (
        Technique(
            "randomization techniques", "microaggregation", "samples are moved towards the middle of a crowd"
        ),
    ),
    "w4m": (
        Technique(
            "randomization techniques", "microaggregation", "samples are moved towards the middle of a crowd"
        ),
    ),
}
METHODS_CLASSIFIED: Final = frozenset(_OWN)


def techniques_of(release: Release) -> list[Technique]:
    """The techniques that made this release; those that suppress only where something was suppressed."""
    lost = release.losses
    suppressed = [
        *([_VALUES] if lost.samples_suppressed else []),
        *([_RECORDS] if lost.subjects_suppressed else []),
    ]
    return [_PSEUDONYMS, _ROUNDING, *_OWN.get(release.method, ()), *suppressed]
