"""How coarse the values of a published file are, and what they stand for.

A rounded value may be the start, end or middle of its range: the reading with most true rows is taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, Literal

import numpy as np

from shoal.io.columns.time_text import SECOND
from shoal.io.foreign import Axis, Foreign
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.units import show_m, show_s

Meaning = Literal["itself", "from", "around", "up to"]
"""What a single value stands for: itself, or a range that begins at, is around, or ends at it."""

WORDS: Final = {
    "from": "the range that begins at it",
    "around": "the range around it",
    "up to": "the range that ends at it",
}
_SURE: Final = 0.95  # a share of rows with a raw sample at which values are exact
_FITS: Final = 0.5
_ROWS: Final = 1000
_LOOKS: Final = 2e7  # raw samples to examine at most
_NICE_S: Final = (
    86_400, 43_200, 28_800, 21_600, 14_400, 10_800, 7_200, 3_600, 1_800, 1_200, 900, 600, 300, 120, 60, 30,
    20, 15, 10, 5, 2, 1,
)  # fmt: skip
_MANY: Final = 8  # distinct values that are enough to take their least distance as the step
_TINY: Final = 1e-9
_SLACK: Final = 1e-6
_METERS_PER_DEGREE: Final = 111_195.0


@dataclass(frozen=True, eq=False, kw_only=True)
class RawSamples:
    """The raw samples in a file's units."""

    offsets: Integers  # int64 [subjects + 1]
    t: Floats  # seconds
    first: Floats  # first, second: as the file's axes
    second: Floats

    @property
    def subject(self) -> Integers:
        """int64 [m]: each sample's subject."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def widen_ranges(published: Foreign, samples: RawSamples) -> tuple[Foreign, tuple[str, ...], bool]:
    """The file with rounded values as ranges, notes, and whether there is any range."""
    t_step = _time_step(published.t, samples.t)
    steps = [
        _space_step(axis, raw) if published.places != "h3" else 0.0
        for axis, raw in ((published.first, samples.first), (published.second, samples.second))
    ]
    step = min(steps) if all(steps) else 0.0
    if not t_step and not step:
        return published, (), False
    ways_t: tuple[Meaning, ...] = ("itself", "from", "around", "up to") if t_step else ("itself",)
    ways_s: tuple[Meaning, ...] = ("itself", "around", "from", "up to") if step else ("itself",)
    rows = _rows_to_try(published, samples)
    best: tuple[Meaning, Meaning] = ("itself", "itself")
    share = -1.0
    for way in sorted(product(ways_t, ways_s), key=lambda way: sum(one != "itself" for one in way)):
        share_so = _share_with_sample(_widen(published, way, t_step, step), samples, rows)
        if share_so > share + (0.0 if share < 0 else 0.002):
            best, share = way, share_so
        if share_so >= _SURE:
            break
    notes = []
    if share < _FITS:
        notes.append(
            f"only {share:.0%} of the rows hold a raw sample, however their values are read: places or "
            "times were moved, or RAW is other data"
        )
    for which, unit, width in zip(best, ("time", "place"), (t_step, step), strict=True):
        if which != "itself":
            size = show_s(width) if unit == "time" else _format_step(published, width)
            notes.append(f"each {unit} is a multiple of {size} and is taken as {WORDS[which]}")
    ranges = _widen(published, best, t_step, step)
    return ranges, tuple(notes), best != ("itself", "itself")


def _format_step(published: Foreign, width: float) -> str:
    if published.places == "meters":
        return show_m(width)
    return f"{width:g} degrees ({show_m(width * _METERS_PER_DEGREE)} north-south)"


def _time_step(axis: Axis, raw: Floats) -> float:
    """0 unless longer than in the raw data."""
    single = np.unique(axis.low[axis.single & np.isfinite(axis.low)])
    if len(single) < 2:
        return 0.0

    def longest(values: Floats) -> float:
        ticks = np.rint(values * SECOND).astype(np.int64)
        return next((float(nice) for nice in _NICE_S if not (ticks % (nice * SECOND)).any()), 0.0)

    step = longest(single)
    return step if step > longest(np.unique(raw)) else 0.0


def _space_step(axis: Axis, raw: Floats) -> float:
    single = np.unique(axis.low[axis.single & np.isfinite(axis.low)])
    if not len(single):
        return 0.0
    step, raw_step = _common_step(single), _common_step(np.unique(raw))
    return step if step > raw_step * (1 + _SLACK) else 0.0


def _common_step(values: Floats) -> float:
    gaps = np.diff(values)
    if len(values) >= _MANY:
        least = float(gaps.min())
        places = (values - values[0]) / least
        if least > _TINY and (np.abs(places - np.rint(places)) < 1e-3).all():
            return least
    for decimals in range(9):
        if (
            np.abs(values * 10**decimals - np.rint(values * 10**decimals)) < 1e-6 * 10 ** max(0, decimals - 6)
        ).all():
            return float(10.0**-decimals)
    return 0.0


def _widen(published: Foreign, way: tuple[Meaning, Meaning], t_step: float, step: float) -> Foreign:
    return replace(
        published,
        t=_widen_axis(published.t, way[0], t_step),
        first=_widen_axis(published.first, way[1], step),
        second=_widen_axis(published.second, way[1], step),
    )


def _widen_axis(axis: Axis, stands: Meaning, step: float) -> Axis:
    if stands == "itself" or not step:
        return axis
    below, above = {"from": (0.0, 1.0), "around": (0.5, 0.5), "up to": (1.0, 0.0)}[stands]
    slack = step * _SLACK  # a value in the middle of two may be rounded to either
    low = axis.low - below * step - slack * (below > 0)
    high = axis.high + above * step + slack * (above < 1)
    return Axis(low=np.where(axis.single, low, axis.low), high=np.where(axis.single, high, axis.high))


def _rows_to_try(published: Foreign, samples: RawSamples) -> Integers:
    rows = np.linspace(0, published.n_rows - 1, min(published.n_rows, _ROWS)).astype(np.int64)
    clock = np.sort(samples.t)
    low, high = published.t.low[rows], published.t.high[rows]
    nearby = np.searchsorted(clock, high + 86_400, side="right") - np.searchsorted(clock, low - 86_400)
    affordable = max(20, int(_LOOKS / 16 / max(float(nearby.mean()), 1.0)))
    return rows[:: max(1, len(rows) // affordable)]


def _share_with_sample(published: Foreign, samples: RawSamples, rows: Integers) -> float:
    return float(np.mean(list(_rows_with_sample(published, samples, rows))))


def _rows_with_sample(published: Foreign, samples: RawSamples, rows: Integers) -> Iterator[bool]:
    order = np.argsort(samples.t, kind="stable")
    clock, first, second = samples.t[order], samples.first[order], samples.second[order]
    t, x, y = (closed(axis) for axis in (published.t, published.first, published.second))
    for row in rows.tolist():
        begin, end = np.searchsorted(clock, (t.low[row], t.high[row]))
        inside: Flags = (first[begin:end] >= x.low[row]) & (first[begin:end] < x.high[row])
        inside &= (second[begin:end] >= y.low[row]) & (second[begin:end] < y.high[row])
        yield bool(inside.any())


def closed(axis: Axis) -> Axis:
    """Single values as the shortest ranges that hold them."""
    return Axis(low=axis.low, high=np.where(axis.single, np.nextafter(axis.high, np.inf), axis.high))
