"""What may be missing: raw samples that no box of their person's record covers, and people."""

from fractions import Fraction
from typing import Final

from shoal.errors import MisuseError
from shoal.messages import say
from shoal.units import show_share

ANY_SHARE: Final = 1.0  # as a bound: any number of samples may be missing
PERSON_LEFT_OUT: Final = "their person is left out"
OUTSIDE_ALL_BOXES: Final = "no box of their person's record holds them"
REASONS: Final = (PERSON_LEFT_OUT, OUTSIDE_ALL_BOXES)
NO_DURATION: Final = "fewer than two different times"
APART: Final = "no overlap in time with the largest group"
OFF_STREETS: Final = "every point too far from the streets"
NOTHING_SWAPPED: Final = "no point found a swap set"
TOO_FEW_PRESENT: Final = "too few people of their crowd are in this data"
ERASED: Final = "erased from the series"
REASONS_OF_PEOPLE: Final = (NO_DURATION, APART, OFF_STREETS, NOTHING_SWAPPED, TOO_FEW_PRESENT, ERASED)


def most_allowed(share: float, total: int) -> int:
    """The most of ``total`` that a share allows, by its shortest decimal: 0.29 of 100 is 29."""
    return int(Fraction(repr(float(share))) * total)


def samples_by_reason(missing: int, of_people_left_out: int) -> dict[str, int]:
    """Missing samples of boxes by reason, without zeros."""
    counts = {PERSON_LEFT_OUT: of_people_left_out, OUTSIDE_ALL_BOXES: missing - of_people_left_out}
    return {reason: count for reason, count in counts.items() if count}


def require_shares(of_all: float, of_one: float) -> None:
    """Raise MisuseError unless both are shares of 0 to 1."""
    for share in (of_all, of_one):
        if not 0 <= share <= 1:
            raise MisuseError(f"{share} is no share of what may be missing; write 0 to 1, for example 0.05")


def missing_in_words(of_all: float, of_one: float) -> str:
    """A sentence; empty when both shares are 1."""
    if of_all == of_one == ANY_SHARE:
        return ""
    return say(
        "claim.missing",
        "At most {of_all} of all samples and of all people are missing, and at most {of_one} of the samples "
        "of anybody with a record.",
        of_all=show_share(of_all),
        of_one=show_share(of_one),
    )
