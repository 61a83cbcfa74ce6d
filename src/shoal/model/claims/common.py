"""Bounds and sentences that several claims share."""

from collections.abc import Mapping
from math import isfinite
from typing import Final, Literal

from shoal.errors import MisuseError
from shoal.messages import Message, say
from shoal.units import is_number, is_whole

PayloadKind = Literal["boxes", "points"]

STRONGER: Final = "stronger"  # in the metadata of a claim's number: which way it is a stronger promise
MORE: Final[Mapping[str, str]] = {STRONGER: "more"}
LESS: Final[Mapping[str, str]] = {STRONGER: "less"}
SAME: Final[Mapping[str, str]] = {STRONGER: "same"}  # none is stronger: it must equal the expectation

SHARED_IN_A_CLASS: Final = say(
    "claim.shared",
    "What a whole crowd shares. If all of it were in one place, one learns it of each of them without "
    "knowing which record is whose.",
)
GENERAL_LIMITS: Final = (  # of every claim
    say("claim.membership", "Being in the data. That a person is among those published may be guessed."),
    say(
        "claim.attached",
        "What is attached later. The claim does not cover income, health or calls joined to the records.",
    ),
    say(
        "claim.other_sources",
        "Other sources. Another release about the same people, or what an outsider learns elsewhere, can "
        "narrow the choice down.",
    ),
)
VANISHED_FROM_BOXES: Final = (
    "A raw sample is suppressed when no published sample of its own person's record covers it, also where "
    "its person has no record."
)
NO_ANONYMITY_OF_PATHS: Final = say(
    "claim.paths_bounded",
    "it bounds what the exchange alone gives away, and points that follow each other plausibly give away "
    "more",
)
UNTANGLING: Final = say(
    "claim.paths",
    "Paths. Points of several records that follow each other at a plausible speed and heading can be joined, "
    "and make a true movement again, whatever records they stand in. The exchange does not hinder that; with "
    "dense points most of a person's movement comes back.",
)


def for_pairs(k: int, learned: Message) -> tuple[Message, ...]:
    """The caution for sets of two people. learned: what they learn of each other."""
    text = "Sets of two. This should not be called protection. {learned}"
    return (say("claim.pairs", text, learned=learned),) if k == 2 else ()


_MOST_PEOPLE: Final = 1 << 40
_LONGEST: Final = 1e15  # seconds or meters


def require_k(k: int) -> None:
    """Raise MisuseError for a k that hides nobody."""
    if not is_whole(k):
        raise MisuseError(f"k = {k!r} is not a whole number; choose k >= 2, for example 5")
    if k < 2:
        raise MisuseError(f"k = {k} hides nobody; choose k >= 2")
    if k > _MOST_PEOPLE:
        raise MisuseError(f"k has {len(str(k))} digits, more than there are people; choose a smaller one")


def require_positive(what: str, value: float, unit: str, example: str) -> None:
    """Raise MisuseError unless the value is finite and above 0."""
    if not (is_number(value) and isfinite(value) and value > 0):
        raise MisuseError(f"{what} {value!r} {unit} must be finite and greater than 0, for example {example}")
    if value > _LONGEST:
        raise MisuseError(
            f"{what} {value:g} {unit} is beyond anything that movement data tells; write {example}"
        )


def require_thresholds(time_threshold_s: float, space_threshold_m: float) -> None:
    """Raise MisuseError unless both thresholds are finite and above 0."""
    require_positive("the time threshold", time_threshold_s, "s", "100 s")
    require_positive("the space threshold", space_threshold_m, "m", "5 km")
