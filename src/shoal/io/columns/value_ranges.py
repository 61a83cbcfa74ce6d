"""Values that stand for a range, as other tools write them: ``[48.8, 48.9[``, ``48.8*``, ``*``."""

import re
from collections.abc import Callable, Sequence
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
class Axis:
    """From and to of each row, float64 [n]; equal for a single value."""

    low: Floats
    high: Floats

    @property
    def single(self) -> Flags:
        """Whether each row has a single value, bool [n]."""
        return np.asarray(self.low == self.high)

    def take(self, rows: Any) -> "Axis":
        """These rows."""
        return Axis(low=self.low[rows], high=self.high[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranges(Axis):
    """From ``low`` to below ``high``, and whether each row can be read."""

    readable: Flags


def number_ranges(column: pa.Array, where: str) -> Ranges:
    """The ranges of a column of numbers, ranges or masked numbers."""
    return _ranges(column, _masked, lambda ends: numbers(ends, where))


def time_ranges(column: pa.Array, times: Times, where: str) -> Ranges:
    """The ranges of a column of times, in seconds. times: shares unit and zone across columns."""

    def read(ends: pa.Array) -> tuple[Floats, Flags]:
        ticks, readable = times.microseconds(ends, where)
        return ticks / SECOND, readable

    return _ranges(column, _coarse_date, read)


_Parse = Callable[[str], WrittenRange | None]
_Read = Callable[[pa.Array], tuple[Floats, Flags]]


def _ranges(column: pa.Array, other: _Parse, read: _Read) -> Ranges:
    """other: ranges that only columns of this kind have. read: single values."""
    column = plain(column)
    if not is_text(column.type):
        values, readable = read(column)
        empty, around = ~has_value(column), np.zeros(len(values))  # an empty value may be anything
        if pa.types.is_float32(column.type):  # any number that rounds to it: raw data may have more digits
            around = np.spacing(values.astype(np.float32)).astype(np.float64)
        low, high = np.where(empty, -np.inf, values - around), np.where(empty, np.inf, values + around)
        return Ranges(low=low, high=high, readable=empty | (readable & np.isfinite(values)))
    coded = column.dictionary_encode()
    ranges = [other(text) or parse_range(text) for text in [*coded.dictionary.to_pylist(), ""]]
    ends = [end for text_range in ranges for end in (text_range.low, text_range.high)]
    values, readable = read(pa.array([end or None for end in ends], pa.string()))
    bounded = np.array([end is not None for end in ends])
    low, high = np.where(bounded, values, np.tile([-np.inf, np.inf], len(ranges))).reshape(-1, 2).T
    sound = (readable | ~bounded).reshape(-1, 2).all(axis=1) & (low <= high)
    open_low = np.array([text_range.open_low for text_range in ranges])
    beyond = np.array([text_range.closed_high and text_range.low != text_range.high for text_range in ranges])
    low = np.where(open_low, np.nextafter(low, np.inf), low)
    high = np.where(beyond, np.nextafter(high, np.inf), high)
    rows = pc.fill_null(coded.indices.cast(pa.int64()), len(ranges) - 1).to_numpy(zero_copy_only=False)
    return Ranges(low=low[rows], high=high[rows], readable=sound[rows])


def parse_range(text: str) -> WrittenRange:
    """The range that a text states."""
    text = text.strip()
    if text.casefold() in EVERYTHING:
        return WrittenRange(low=None, high=None)
    if match := _BRACKETS.match(text):
        opens, low, high, closes = match.groups()
        return WrittenRange(low=low, high=high, open_low=opens in "](", closed_high=closes == "]")
    if match := _SET.match(text):
        members = [member.strip() for member in re.split("[,;]", match[1])]
        first, last = _ends(members)
        return WrittenRange(low=first, high=last, closed_high=True)
    if match := _HALF.match(text):
        low, high = (None, match[2]) if match[1][0] in "<≤" else (match[2], None)
        closed = match[1] in {"<=", "≤"}
        return WrittenRange(low=low, high=high, open_low=match[1] == ">", closed_high=closed)
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
