"""Units: ``2km`` or ``30min`` to meters and seconds, and back."""

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Real
from typing import Final

from shoal.errors import MisuseError

DAY_S: Final = 86_400
HOUR_S: Final = 3_600

MIB: Final = 2**20

METERS: Final = {"m": 1.0, "km": 1000.0}
SECONDS: Final = {"s": 1.0, "min": 60.0, "h": float(HOUR_S), "d": float(DAY_S)}

BYTES: Final = {"mb": 1e6, "gb": 1e9, "tb": 1e12, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}

NO_NUMBER: Final = "\N{EN DASH}"
_SMALLEST: Final = 1e-6  # micrometers and microseconds: what positions and times are kept to
_ROUNDING: Final = 1e-9  # a quotient of two lengths so near a whole number is one
_LARGEST: Final = 1e12  # meters that a coordinate may have; some 30,000 years
_QUANTITY: Final = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Z]*)\s*")


def is_number(value: object) -> bool:
    """A real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """A whole number; 5.0 is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def length_m(text: str | float) -> float:
    """Meters in ``500m``, ``1.5 km``; MisuseError for others, or a value not > 0."""
    return _quantity(text, METERS, "length", "500m or 2km")


def duration_s(text: str | float) -> float:
    """Seconds in ``100s``, ``1h``; MisuseError for others, or a value not > 0."""
    return _quantity(text, SECONDS, "duration", "100s, 30min or 1h")


def size_bytes(text: str) -> int:
    """Bytes in ``500MB``, ``4GiB``; MisuseError for others, or below a megabyte."""
    match = _QUANTITY.fullmatch(text)
    size = float(match[1]) * BYTES.get(match[2].lower(), math.nan) if match is not None else math.nan
    if not 1e6 <= size < 1e18:
        raise MisuseError(f"'{text}' is no size of memory; write for example 4GiB or 500MB")
    return int(size)


def show_bytes(size: int) -> str:
    """A size for ``--memory``, rounded up: ``641MiB``."""
    return (
        f"{math.ceil(size / MIB)}MiB" if size < 1024 * MIB else f"{math.ceil(size / MIB / 102.4) / 10:g}GiB"
    )


def parse_share(text: str | float) -> float:
    """The share in ``5%`` or ``0.05``; MisuseError for others."""
    number, percent, rest = str(text).strip().partition("%")
    try:
        share = float(Fraction(number.strip()) / 100) if percent else float(number)
    except (ValueError, ZeroDivisionError, OverflowError):
        share = math.nan
    if rest or not 0 <= share <= 1:
        raise MisuseError(f"'{text}' is no share; write for example 5% or 0.05")
    return share


def show_share(share: float) -> str:
    """A share that was set: ``5 %``."""
    return f"{100 * share:.4g} %"


def percent(share: float, digits: int = 1) -> str:
    """A measured share, ``12.3 %``: 0 and 100 only when exact, a dash for nan."""
    if math.isnan(share):
        return NO_NUMBER
    least = 10.0**-digits
    if 0 < share < least / 200:
        return f"< {least:g} %"
    if 1 - least / 200 <= share < 1:
        return f"> {100 - least:g} %"
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits else text} %"


def in_digits(value: float, digits: int) -> str:
    """A number to so many digits, never with an exponent of ten above a thousand: ``1,390``."""
    return f"{float(f'{value:.{digits}g}'):,.15g}"


def rounded_up(count: int) -> int:
    """A count of raw rows as in public files: tens or two digits, so that one person's rows do not show.

    >>> [rounded_up(count) for count in (0, 3, 79, 7130, 7051)]
    [0, 10, 80, 7200, 7100]
    """
    return -(-count // _step(count)) * _step(count)


def least_of(stated: int) -> int:
    """The least count that a file may give so.

    >>> [least_of(stated) for stated in (0, 10, 79, 80, 7200, 10_000)]
    [0, 1, 79, 71, 7101, 9901]
    """
    return stated if stated < 1 or rounded_up(stated) != stated else stated + 1 - _step(stated - 1)


def _step(count: int) -> int:
    return int(10 ** max(1, len(str(count)) - 2))


def rounded_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Each count rounded up."""
    return {reason: rounded_up(count) for reason, count in counts.items()}


def states(stated: int, count: int) -> bool:
    """Whether a file gives this count, exactly or rounded up."""
    return stated in (count, rounded_up(count))


def states_counts(stated: Mapping[str, int], counts: Mapping[str, int]) -> bool:
    """Whether a file gives these counts and no others, each exactly or rounded up."""
    return stated.keys() == counts.keys() and all(states(stated[name], counts[name]) for name in counts)


def show_m(meters: float) -> str:
    """A length: ``500 m``, ``2 km``."""
    return f"{in_digits(meters / 1000, 4)} km" if abs(meters) >= 1000 else f"{meters:.4g} m"


def show_s(seconds: float) -> str:
    """A duration: ``45 s``, ``30 min``, ``8 h``."""
    for unit, factor in list(reversed(SECONDS.items()))[:-1]:
        if abs(seconds) >= factor and (unit != "d" or seconds % factor == 0):
            return f"{in_digits(seconds / factor, 4)} {unit}"
    return f"{seconds:.4g} s"


def measured_m(meters: float) -> str:
    """A measured length to three digits."""
    return show_m(float(f"{meters:.3g}"))


def measured_s(seconds: float) -> str:
    """A measured duration to three digits, in the largest unit that gives at least 2 or a whole number."""
    fitting = [
        (unit, size)
        for unit, size in SECONDS.items()
        if seconds >= 2 * size or (seconds >= size and seconds % size == 0)
    ]
    unit, size = fitting[-1] if fitting else ("s", 1.0)
    return f"{in_digits(seconds / size, 3)} {unit}"


def counted(number: int, one: str, more: str | None = None) -> str:
    """A number with its noun. more: an irregular plural."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def slots_touched(duration_s: float, slot_s: float) -> int:
    """The most slots that an interval of this length can touch: ceil(duration / slot) + 1.

    30 minutes that start within a slot of 1 minute touch 31.
    """
    slots = duration_s / slot_s
    whole = round(slots)
    return (whole if abs(slots - whole) <= _ROUNDING * slots else math.ceil(slots)) + 1


def _quantity(text: str | float, factors: dict[str, float], what: str, example: str) -> float:
    if isinstance(text, str):
        match = _QUANTITY.fullmatch(text)
        if match is None or match[2].lower() not in factors:
            raise MisuseError(f"'{text}' is not a {what}; write a number and a unit, for example {example}")
        value = float(match[1]) * factors[match[2].lower()]
    else:
        value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise MisuseError(f"the {what} '{text}' must be finite and greater than 0, for example {example}")
    if not _SMALLEST <= value <= _LARGEST:
        raise MisuseError(
            f"the {what} '{text}' is beyond anything that movement data tells; write for example {example}"
        )
    return value
