"""Numbers in reports."""

import math
from collections.abc import Callable, Mapping
from typing import Final

from shoal.units import NO_NUMBER, in_digits, measured_m, measured_s, percent


def count(number: float) -> str:
    """With thousands separators."""
    return f"{number:,.0f}"


def two_digits(value: float) -> float:
    """A share or a mean to two digits; of a share above a half, what is missing of all has two."""
    if 0.5 < value < 1:
        return 1 - two_digits(1 - value)
    return float(f"{value:.2g}")


def meters(value: float) -> str:
    """A measured length to three digits; a dash for nan."""
    return NO_NUMBER if math.isnan(value) else measured_m(value)


def seconds(value: float) -> str:
    """A measured duration to three digits; a dash for nan."""
    return NO_NUMBER if math.isnan(value) else measured_s(value)


def number(value: float | None) -> str:
    """Three digits; a dash for None and nan."""
    return NO_NUMBER if value is None or math.isnan(value) else in_digits(value, 3)


BY_UNIT: Final[Mapping[str, Callable[[float], str]]] = {"share": percent, "m": meters, "s": seconds}


def show(value: float | None, unit: str) -> str:
    """A value with its unit; a dash if unknown."""
    as_float = math.nan if value is None else value
    return BY_UNIT.get(unit, number)(as_float)


def exact(value: float) -> str:
    """For programs: counts in full, else four digits, as a median may be one person's value."""
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def rows_by_reason(reasons: Mapping[str, int], rows_read: int) -> list[tuple[str, int, float]]:
    """(reason, rows, share), most rows first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return [(reason, rows, rows / rows_read if rows_read else math.nan) for reason, rows in ordered]
