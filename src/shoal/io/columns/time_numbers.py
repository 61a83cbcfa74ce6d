"""Times as numbers: their unit, and what else they may be."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.io.columns.time_text import SECOND, Micros, shape_of
from shoal.io.toml_tables import TABLES
from shoal.messages import say
from shoal.runtime.arrays import Numbers
from shoal.units import DAY_S, counted, duration_s

LIMIT: Final = 1 << 62
FROM: Final = {"s": 1e8, "ms": 1e11, "us": 1e14, "ns": 1e17}  # numbers of this size on are of this unit
UNIT_WORDS: Final = {
    "s": say("unit.s", "seconds"),
    "ms": say("unit.ms", "milliseconds"),
    "us": say("unit.us", "microseconds"),
    "ns": say("unit.ns", "nanoseconds"),
}
SERIAL_DAYS: Final = "serial-days"
OPEN_GPS_S: Final = 788_918_400  # 1995, when GPS was complete
LOOKED_AT: Final = 1 << 14  # numbers of each batch
_PER_UNIT: Final = {"s": SECOND, "ms": 1000, "us": 1, "ns": 1e-3}
_EXPONENT: Final = r"^[+]?[0-9]+\.?[0-9]*[eE]\+?[0-9]{1,3}$"
_SERIAL_DAY_OF_1970: Final = 25_569  # the spreadsheets' number of 1970-01-01
_NOT_BY_CHANCE: Final = 4  # different numbers that all read as dates or clock times
_MOST_STEPS: Final = 10**8  # numbers from here on count from 1970
_NO_CLOCK: Final = 10_000  # smaller numbers count something
_TABLES: Final = TABLES["time_numbers"]
_COUNTS: Final = _TABLES["counts"]
_SERIAL_FROM, _SERIAL_TO, *_ = _COUNTS["fractions"][0]
_NEAR, _APART = 3 * DAY_S, 300 * DAY_S  # of a time from the date that a file tells
GPS_UNTIL_S: Final = 1_600_000_000  # as a time of GPS, 2030
_DATE: Final = re.compile(r"(?<!\d)(20[0-4]\d)([-_.]?)(0[1-9]|1[0-2])\2([0-2]\d|3[01])(?!\d)")
DATE_OF_FILE: Final = re.compile(_DATE.pattern + r"(?:[T _-]\d{2}[-:._]?\d{2}[-:._]?\d{2}Z?)?")
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_YEAR_2100_S: Final = 4_102_444_800
_FIRST_DATE, _LAST_DATE = 1970_01_01, 2099_12_31


def unit_of_this_time(size: float, latest_s: float) -> str:
    """The unit in which numbers of a size give years from 1995 on; empty without one."""
    seconds = {unit: ticks / SECOND for unit, ticks in _PER_UNIT.items()}
    return next((unit for unit in seconds if OPEN_GPS_S <= size * seconds[unit] <= latest_s), "")


def scaled(values: Numbers, unit: str) -> Micros:
    """Numbers in a unit as microseconds. Integers stay exact, far past and future stay far."""
    if unit == SERIAL_DAYS:
        days = np.clip(values.astype(np.float64), -1e6, 1e7) - _SERIAL_DAY_OF_1970
        return np.rint(days * DAY_S * 1000).astype(np.int64) * 1000  # spreadsheets keep milliseconds
    if unit == "ns":
        scaled = np.clip(np.floor_divide(values, 1000), -LIMIT, LIMIT)
    else:
        factor = _PER_UNIT.get(unit) or max(round(duration_s(unit) * SECOND), 1)
        if values.dtype == np.int64:
            scaled = np.clip(values, -LIMIT // factor, LIMIT // factor) * factor
        else:
            scaled = np.rint(np.clip(values, -LIMIT / factor, LIMIT / factor) * factor)
    whole: Micros = scaled.astype(np.int64, copy=False)
    return whole


def require_no_dates(values: Numbers, where: str, *, beside_days: bool) -> None:
    """Ask where numbers may be dates, clock times or other counts. beside_days: a column of days is there."""
    if (values != np.floor(values)).any():
        for counts in ("fractions", *([] if beside_days else ["longer_fractions"])):
            _require_no_count(values, where, "fractions of ", counts, most=0.9)
        return
    if ((values >= _FIRST_YEAR) & (values <= _LAST_YEAR)).all():
        raise InputError(
            f"{where} holds numbers between {_FIRST_YEAR} and {_LAST_YEAR}, which are years; give "
            "whole dates, or --time-unit if they are counted steps"
        )
    looked_at = np.clip(values[:: len(values) // LOOKED_AT + 1], -LIMIT, LIMIT)  # a float may be 1e300
    some = np.unique(looked_at).astype(np.int64).tolist()
    like = f"like {shape_of(str(some[0]))}"
    for form, digits, fewest in _TABLES["forms"]["rows"]:
        fits = digits - 1 <= len(str(some[-1])) <= digits  # a number loses a zero in front
        if fits and len(some) >= fewest and _all_read(some, form, digits):
            other = " or %m%d%Y" if form == "%d%m%Y" else ""
            raise InputError(
                f"{where} holds numbers that are dates without separators, {like}; give --time-format "
                f"{form}{other}, or --time-unit if they are not"
            )
    _require_no_count(values, where, "whole ", "ticks", most=0.9)
    if beside_days or some[-1] >= _MOST_STEPS:
        return
    _require_no_count(values, where, "whole ", "longer_units")
    if len(some) >= _NOT_BY_CHANCE and some[-1] >= _NO_CLOCK and _all_read(some, "%H%M%S", 6):
        raise InputError(
            f"{where} holds numbers that may be clock times without a date, {like}; write times with their "
            "dates, or give --time-unit s if they are counted steps"
        )


def _require_no_count(values: Numbers, where: str, kind: str, counts: str, most: float = 1.0) -> None:
    """Ask where at least ``most`` of the numbers lie in the range of another count."""
    for first, last, what, remedy in _COUNTS[counts]:
        if ((np.abs(values) >= first) & (np.abs(values) < last)).mean() >= most:
            raise InputError(
                f"{where} holds {kind}numbers between {first:,} and {last:,}, which {what}; {remedy}"
            )


def _all_read(numbers: Sequence[int], form: str, digits: int) -> bool:
    layout = "^" + re.sub("%(.)", lambda match: str(_TABLES["parts"][match[1]]), form) + "$"
    texts = pa.array([str(number).zfill(digits) for number in numbers])
    return bool(pc.all(pc.match_substring_regex(texts, layout)).as_py())


def require_start(time_s: float, dates: Iterable[str], gps: Sequence[str], where: str) -> None:
    """Ask where dates of a file, or columns of GPS, say that its numbers do not count from 1970."""
    text = ""
    if gps and OPEN_GPS_S <= time_s <= GPS_UNTIL_S:
        text = f"the column '{gps[0]}' is one of GPS, which counts from 1980"
    for year, _, month, day in (match.groups() for date in dates for match in _DATE.finditer(date)):
        month_s = float(np.datetime64(f"{year}-{month}-01", "s").astype(np.int64))
        apart = month_s + (int(day) - 1) * DAY_S - time_s
        starts = (words for words, start_s in _TABLES["starts"].items() if abs(apart - start_s) < _NEAR)
        if abs(apart) > _APART and (start := next(starts, "")):
            text = f"a date beside them says that they count from {start}"
    if text:
        raise InputError(
            f"{where} holds numbers that give {np.datetime64(int(time_s), 's').astype('datetime64[Y]')} if "
            f"they count from 1970, and {text}; convert them, or give --time-unit s (or ms) if they do count "
            "from 1970"
        )


def require_digits(step: float, unit: str, where: str) -> None:
    """Refuse numbers since 1970 whose written digits leave steps of more than a second."""
    step_s = step * _PER_UNIT.get(unit, 1e-3) / SECOND
    if step_s > 1:
        raise InputError(
            f"{where} has lost digits: its numbers since 1970 have steps of {step_s:,.0f} s; "
            "export it again as whole numbers, or give --time-unit to read it as it is"
        )


def require_no_exponents(text: pa.Array, unit: str, where: str) -> None:
    """Refuse numbers such as 1.71454E+12."""
    some = text.filter(pc.fill_null(pc.match_substring_regex(text, _EXPONENT), False)).slice(0, LOOKED_AT)
    for written in some.to_pylist():
        if abs(float(written)) > LIMIT:  # no time: its row is dropped
            continue
        mantissa, power = re.split("[eE]", written)
        require_digits(10.0 ** (int(power) - len(mantissa.partition(".")[2])), unit, where)


def require_one_unit(values: Numbers, unit: str, where: str) -> None:
    """Refuse numbers that are dates, or times in another unit: they would be of 1970 or the future."""
    low = FROM[unit]
    smaller = (values >= FROM["s"]) & (values < low)
    for first, last in ((_SERIAL_FROM, _SERIAL_TO), (_FIRST_YEAR, _LAST_YEAR), (_FIRST_DATE, _LAST_DATE)):
        smaller |= (values >= first) & (values <= last)
    larger = np.zeros_like(smaller)
    for start in (start for start in FROM.values() if start > low):
        second = start / FROM["s"]
        larger |= (values > OPEN_GPS_S * second) & (values < _YEAR_2100_S * second)
    for size, other in (("smaller", smaller), ("larger", larger)):
        if other.any():
            few = counted(int(other.sum()), f"{size} number")
            raise InputError(
                f"{where} holds numbers of several units, {UNIT_WORDS[unit]} since 1970 and "
                f"{few} like {shape_of(str(int(values[other][0])))}; write them alike, or give "
                "--time-unit, by which all of them are read"
            )
