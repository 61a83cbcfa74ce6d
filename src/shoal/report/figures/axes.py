"""Axes: their range and labels."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from shoal.report.words.numbers import show
from shoal.units import METERS, SECONDS, percent, show_m, show_s

WIDTH: Final = 420.0  # of a whole drawing; everything else is measured in the same unit
FONT: Final = 14.0  # the height of its letters where a page is narrow, for which room is kept
_LETTER: Final = 0.65  # of that height: how wide a letter is
_MOST: Final = 6
_FINEST: Final = 6  # digits behind the point
_ROOM: Final = 330.0  # for the labels along an axis
_APART: Final = 10.0
_FLATTEST, _STEEPEST = 0.3, 1.35  # maps: height to width

_LENGTHS_M: Final = tuple(digit * 10.0**power for power in range(-2, 8) for digit in (1, 2, 5))
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_DURATIONS_S: Final = (
    *(1.0, 10.0, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 28 * _DAY),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Axis:
    """One side of a figure: range, ticks, and format."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    show: Callable[[float], str]
    log: bool = False
    lines: bool = True

    def share(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


def text_width(text: str) -> float:
    """Approximate width."""
    return _LETTER * FONT * len(text)


def linear(title: str, low: float, high: float, *, unit: str = "", whole: bool = False) -> Axis:
    """An axis of equal steps. unit: as metrics have it. whole: whole labels only."""
    if not high > low:
        high = low + 1.0
    factor, after = _unit_for(high, unit)
    every = math.ceil(high - low) if whole and high - low <= 2 * _MOST else _MOST
    for most in range(every, 0, -1):
        step = _round_step(max((high - low) / factor / most, 1.0 if whole else 0.0))
        first, last = math.ceil(low / factor / step - 1e-9), math.floor(high / factor / step + 1e-9)
        places = [number * step for number in range(first, last + 1)]
        ticks = tuple((place * factor, _label(place, step) + after) for place in places)
        if sum(text_width(label) + _APART for _, label in ticks) <= _ROOM:
            break
    return Axis(title=title, low=low, high=high, ticks=ticks, show=lambda value: show(value, unit))


def from_zero(title: str, values: Sequence[float | None], *, unit: str = "", whole: bool = False) -> Axis:
    """An axis from 0 to a little beyond the largest value."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    return linear(title, 0.0, max([0.0, *finite]) * 1.06, unit=unit, whole=whole)


def around(title: str, values: Sequence[float | None]) -> Axis:
    """From a little below the smallest value to a little beyond the largest."""
    low, high = range_with_margin(values)
    return linear(title, low, high) if high > low else linear(title, low - 0.5, high + 0.5)


def of_shares(title: str) -> Axis:
    """An axis from 0 to 100 %."""
    ticks = tuple((part / 5, f"{20 * part} %") for part in range(6))
    return Axis(title=title, low=0.0, high=1.0, ticks=ticks, show=percent)


def of_hours(title: str) -> Axis:
    """The hours of a day."""
    ticks = tuple((float(hour), str(hour)) for hour in (0, 6, 12, 18, 23))
    return Axis(title=title, low=-0.6, high=23.6, ticks=ticks, show=lambda hour: f"{hour:.0f}", lines=False)


def of_names(title: str, names: Sequence[str], *, upright: bool = False) -> Axis:
    """Names at 0, 1, 2, ..., as many as fit. upright: stacked."""
    needed = sum(FONT if upright else text_width(name) + _APART for name in names)
    ticks = tuple((float(at), names[at]) for at in range(0, len(names), max(1, math.ceil(needed / _ROOM))))
    return Axis(
        title=title,
        low=-0.5,
        high=len(names) - 0.5,
        ticks=ticks,
        show=lambda at: names[round(at)],
        lines=False,
    )


def of_extents(title: str, low: float, high: float, reference: float, *, spatial: bool) -> Axis:
    """Lengths or durations, logarithmic, labeled outwards from a reference."""
    words = show_m if spatial else show_s
    apart = math.log10(high / low) / 5.5
    ticks = [reference] if low <= reference <= high else []
    candidates = _LENGTHS_M if spatial else _DURATIONS_S
    below = [value for value in reversed(candidates) if value < reference]
    for value in [*below, *(value for value in candidates if value > reference)]:
        if low <= value <= high and all(abs(math.log10(value / tick)) >= apart for tick in ticks):
            ticks.append(value)
    labels = tuple((tick, words(tick)) for tick in sorted(ticks))
    return Axis(title=title, low=low, high=high, ticks=labels, show=words, log=True)


def range_with_margin(*values: Sequence[float | None]) -> tuple[float, float]:
    """From a little below the smallest to a little beyond the largest."""
    numbers = [value for series in values for value in series if value is not None] or [0.0]
    room = 0.05 * (max(numbers) - min(numbers))
    return min(numbers) - room, max(numbers) + room


def of_a_map(
    x_title: str, y_title: str, x: tuple[float, float], y: tuple[float, float]
) -> tuple[Axis, Axis, float]:
    """East and north to one scale, and height over width; a strip gets a margin."""
    across, up = (max(high - low, 0.1) for low, high in (x, y))
    height = min(max(up / across, _FLATTEST), _STEEPEST)
    across, up = max(across, up / height), max(up, across * height)
    axes = [
        linear(title, middle - length / 2, middle + length / 2)
        for title, middle, length in ((x_title, sum(x) / 2, across), (y_title, sum(y) / 2, up))
    ]
    return axes[0], axes[1], height


def round_length(at_most_m: float) -> float:
    """The largest of 1, 2, 5, 10, ... meters that is not longer."""
    if not at_most_m >= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(at_most_m))
    return max(digit * power for digit in (1, 2, 5) if digit * power <= at_most_m)


def _round_step(least: float) -> float:
    """1, 2, 5, 10, ... times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def _unit_for(high: float, unit: str) -> tuple[float, str]:
    """Its size, and its suffix."""
    if unit == "share":
        return 0.01, " %"
    sizes = METERS if unit == "m" else SECONDS if unit == "s" else {}
    fitting = [(size, f" {name}") for name, size in sizes.items() if high >= 2 * size]
    return fitting[-1] if fitting else (1.0, f" {unit}" if sizes else "")


def _label(value: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    text = f"{value:,.{digits}f}" if digits <= _FINEST else f"{value:.3g}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text
