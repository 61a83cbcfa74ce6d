"""Values that stand for a range, as other tools write them: ``[48.8, 48.9[``, ``48.8*``, ``*``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.io.columns.time_text import SECOND
from shoal.io.columns.times import Times
from shoal.io.columns.values import has_value, is_text, numbers, plain
from shoal.runtime.arrays import Flags, Floats

EVERYTHING: Final = frozenset({"", "*", "any", "null", "none", "nan", "na", "suppressed", "(*)", "<na>"})
_END: Final = r"[^,;\[\](){}<>=|]+?"
_BRACKETS: Final = re.compile(rf"^([\[\](])\s*({_END})\s*(?:,|;|\.\.)\s*({_END})\s*([\[\])])$")
_SET: Final = re.compile(r"^\{(.+)\}$")
_HALF: Final = re.compile(r"^([<>]=?|[≤≥])\s*(\S.*)$")
_BETWEEN: Final = re.compile(r"^(.+?)\s*(?:\.\.|/|\u2013|\sto\s|\s-\s)\s*(.+)$")
_TWO_NUMBERS: Final = re.compile(r"^([-+]?\d+(?:\.\d+)?)\s*-\s*([-+]?\d+(?:\.\d+)?)$")
_MASKED: Final = re.compile(r"^[-+]?\d[\d*]*(?:\.[\d*]*)?$")
_COARSE_DATE: Final = re.compile(r"^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}))?)?)?$")


@dataclass(frozen=True, kw_only=True)
class WrittenRange:
    """The ends of a range as text, None = unbounded. open_low: without low; closed_high: with high."""

    low: str | None
    high: str | None
    open_low: bool = False
    closed_high: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranges:
    """From ``low`` to below ``high``, float64 [n]; equal for a single value."""

    low: Floats
    high: Floats
    readable: Flags


def number_ranges(column: pa.Array, where: str) -> Ranges:
    """The ranges of a column of numbers, ranges or masked numbers."""
    column = plain(column)
    if not is_text(column.type):
        values, readable = numbers(column, where)
        return _of_singles(values, readable, column)
    coded = column.dictionary_encode()
    ranges = [_masked(text) or parse_range(text) for text in _texts_and_blank(coded)]

    def read(ends: Sequence[str | None]) -> tuple[Floats, Flags]:
        return numbers(pa.array(ends, pa.string()), where)

    return _spread(
        coded,
        ranges,
        *(read([getattr(text_range, side) for text_range in ranges]) for side in ("low", "high")),
    )


def time_ranges(column: pa.Array, times: Times, where: str) -> Ranges:
    """The ranges of a column of times, in seconds. times: shares unit and zone across columns."""
    column = plain(column)
    if not is_text(column.type):
        ticks, readable = times.microseconds(column, where)
        return _of_singles(ticks / SECOND, readable, column)
    coded = column.dictionary_encode()
    ranges = [_coarse_date(text) or parse_range(text) for text in _texts_and_blank(coded)]
    ends = [getattr(text_range, side) for side in ("low", "high") for text_range in ranges]
    ticks, readable = times.microseconds(pa.array([end or None for end in ends], pa.string()), where)
    seconds, half = ticks / SECOND, len(ranges)
    return _spread(coded, ranges, (seconds[:half], readable[:half]), (seconds[half:], readable[half:]))


def parse_range(text: str) -> WrittenRange:
    """The range that a text states.

    Examples
    --------
    >>> parse_range("[48.8, 48.9[")
    WrittenRange(low='48.8', high='48.9', open_low=False, closed_high=False)
    >>> parse_range("(3, 5]").closed_high, parse_range("*").low is None, parse_range("7").high
    (True, True, '7')
    """
    text = text.strip()
    if text.casefold() in EVERYTHING:
        return WrittenRange(low=None, high=None)
    if match := _BRACKETS.match(text):
        return WrittenRange(
            low=match[2], high=match[3], open_low=match[1] in "](", closed_high=match[4] == "]"
        )
    if match := _SET.match(text):
        members = [member.strip() for member in re.split("[,;]", match[1])]
        first, last = _ends(members)
        return WrittenRange(low=first, high=last, closed_high=True)
    if match := _HALF.match(text):
        below = match[1][0] in "<≤"
        closed = match[1] in {"<=", "≤"}
        return WrittenRange(
            low=None if below else match[2],
            high=match[2] if below else None,
            open_low=match[1] == ">",
            closed_high=closed,
        )
    if match := _TWO_NUMBERS.match(text) or _BETWEEN.match(text):
        return WrittenRange(low=match[1], high=match[2], closed_high=True)
    return WrittenRange(low=text, high=text)


def _ends(members: Sequence[str]) -> tuple[str, str]:
    try:
        ordered = sorted(members, key=float)
    except ValueError:
        ordered = sorted(members)
    return ordered[0], ordered[-1]


def _masked(text: str) -> WrittenRange | None:
    """A number with asterisks for digits: ``48.8*`` is 48.80 to 48.90."""
    text = text.strip()
    if "*" not in text or not _MASKED.match(text):
        return None
    step = 10.0 ** -len(text.partition(".")[2])
    near, far = float(text.replace("*", "0")), float(text.replace("*", "9"))
    low, high = (far - step, near) if text.startswith("-") else (near, far + step)
    return WrittenRange(low=f"{low:.12g}", high=f"{high:.12g}")


def _coarse_date(text: str) -> WrittenRange | None:
    match = _COARSE_DATE.match(text.strip())
    if match is None:
        return None
    unit: Any = "YMDh"[sum(part is not None for part in match.groups()) - 1]
    try:
        begin = np.datetime64(match[0].replace(" ", "T"), unit)
    except ValueError:
        return None
    low, high = ((begin + ahead).astype("datetime64[s]") for ahead in (0, 1))
    return WrittenRange(low=str(low), high=str(high))


def _of_singles(values: Floats, readable: Flags, column: pa.Array) -> Ranges:
    """An empty value may be anything, a 32-bit one any number that rounds to it."""
    empty = ~has_value(column)
    values = values.astype(np.float64)
    around = np.zeros(len(values))
    if pa.types.is_float32(column.type):  # as many digits as raw data may have do not fit
        around = np.spacing(values.astype(np.float32)).astype(np.float64)
    return Ranges(
        low=np.where(empty, -np.inf, values - around),
        high=np.where(empty, np.inf, values + around),
        readable=empty | (readable & np.isfinite(values)),
    )


def _texts_and_blank(coded: pa.DictionaryArray) -> list[str]:
    return [*coded.dictionary.to_pylist(), ""]


def _spread(
    coded: pa.DictionaryArray,
    ranges: Sequence[WrittenRange],
    lows: tuple[Floats, Flags],
    highs: tuple[Floats, Flags],
) -> Ranges:
    low, high = np.full(len(ranges), -np.inf), np.full(len(ranges), np.inf)
    readable = np.ones(len(ranges), dtype=np.bool_)
    for row, text_range in enumerate(ranges):
        if text_range.low is not None:
            low[row], readable[row] = lows[0][row], lows[1][row]
        if text_range.high is not None:
            high[row], readable[row] = highs[0][row], readable[row] & highs[1][row]
    readable &= low <= high
    open_low = np.array([text_range.open_low for text_range in ranges])
    beyond = np.array([text_range.closed_high and text_range.low != text_range.high for text_range in ranges])
    low = np.where(open_low, np.nextafter(low, np.inf), low)
    high = np.where(beyond, np.nextafter(high, np.inf), high)
    rows = pc.fill_null(coded.indices.cast(pa.int64()), len(ranges) - 1).to_numpy(zero_copy_only=False)
    return Ranges(low=low[rows], high=high[rows], readable=readable[rows])
