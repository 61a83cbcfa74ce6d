"""A coarse step as a whole number of the data's own."""

from collections.abc import Callable
from fractions import Fraction

from shoal.errors import MisuseError


def whole_number(coarse: float, fine: float, name: str, of: str, show: Callable[[float], str]) -> int:
    """How many of the data's own steps make a coarse one; raises MisuseError for no whole number."""
    ratio = Fraction(repr(float(coarse))) / Fraction(repr(float(fine)))
    if ratio.denominator != 1:
        valid = [show(fine * count) for count in (int(ratio), int(ratio) + 1) if count]
        raise MisuseError(
            f"{name} = {show(coarse)} is not a multiple of the data's {of} of {show(fine)}; use "
            f"{' or '.join(valid)}"
        )
    return int(ratio)
