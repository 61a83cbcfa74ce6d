"""Techniques in the terms of ISO/IEC 20889:2018 (privacy enhancing data de-identification)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Technique:
    """A technique of the standard, the family it belongs to there, and what the release does with it."""

    family: str
    name: str
    here: str


def local_generalization(here: str) -> Technique:
    """Samples become areas and intervals, each of its own size."""
    return Technique("generalization techniques", "local generalization", here)


def rounding(here: str) -> Technique:
    """Values are rounded, to the same steps for everybody."""
    return Technique("generalization techniques", "rounding", here)


def permutation(here: str) -> Technique:
    """Values change hands."""
    return Technique("randomization techniques", "permutation", here)


def microaggregation(here: str) -> Technique:
    """Values move toward the middle of a group."""
    return Technique("randomization techniques", "microaggregation", here)
