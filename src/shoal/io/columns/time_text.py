"""Times written as text: recognized layouts, and the caller's.

A layout is a regular expression with named groups; ``parse`` takes a whole column.
"""

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import MisuseError
from shoal.io.columns.values import has_value
from shoal.runtime.arrays import Flags, Integers
from shoal.units import DAY_S

Micros = Integers

SECOND: Final = 1_000_000
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_VISIBLE: Final = frozenset((*MONTHS, *_DAYS, "am", "pm", "utc", "gmt", "t", "z"))

_ZONE: Final = r"(?P<zone>(?i:Z|UTC|GMT)|[+-]\d{2}(?::?\d{2})?)"
_CLOCK: Final = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?)?"
_HALF: Final = r"(?P<half>[AaPp]\.?\s?[Mm]\.?)"
_MONTH_NAME: Final = r"(?P<name>(?i:" + "|".join(MONTHS) + r"))[a-z]*\.?"
_DAY_NAME: Final = r"(?:(?i:" + "|".join(_DAYS) + r")[a-z]*\.?,?\s+)?"

# also as Go prints times: 2024-05-01 12:00:00.5 +0200 CEST m=+0.1
ISO: Final = (
    r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
    + rf"(?:(?:[Tt]|\s+){_CLOCK}(?:\s*{_ZONE}(?:\s+(?:[A-Z]{{1,5}}|[+-]\d{{2,4}})(?:\s+m=[+-]\S+)?)?)?)?$",
    r"^(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
    r"(?:(?:[Tt]|\s+)(?P<hour>\d{2})(?P<minute>\d{2})(?:(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?"
    rf"\s*{_ZONE}?)?$",
)
_OTHER_CLOCK: Final = rf"(?:,?\s+{_CLOCK}(?:\s*{_HALF})?\s*{_ZONE}?)?"
OTHER: Final = (
    # Tue Apr 03 18:00:09 +0000 2012, as Twitter and Unix write it
    rf"^{_DAY_NAME}{_MONTH_NAME}\s+(?P<day>\d{{1,2}})\s+{_CLOCK}\s+(?:{_ZONE}\s+)?(?P<year>\d{{4}})$",
    # Tue, 03 Apr 2012 18:00:09 GMT, as e-mail and HTTP write it; 03-Apr-2012
    rf"^{_DAY_NAME}(?P<day>\d{{1,2}})[-\s]{_MONTH_NAME}[-\s](?P<year>\d{{4}}){_OTHER_CLOCK}$",
    # Apr 3, 2012 6:00:09 PM
    rf"^{_DAY_NAME}{_MONTH_NAME}\s+(?P<day>\d{{1,2}}),\s+(?P<year>\d{{4}}){_OTHER_CLOCK}$",
    # 2012-04-03 6:00:09 PM
    r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?:[Tt]|\s+)" + rf"{_CLOCK}\s*{_HALF}$",
    # 31.12.2012 18:00: with points the day comes first, everywhere
    rf"^(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){_OTHER_CLOCK}$",
)
_EITHER: Final = r"^(?P<{}>\d{{1,2}})[-/](?P<{}>\d{{1,2}})[-/](?P<year>\d{{4}})"
DAY_FIRST: Final = _EITHER.format("day", "month") + _OTHER_CLOCK + "$"
MONTH_FIRST: Final = _EITHER.format("month", "day") + _OTHER_CLOCK + "$"
CLOCK_ALONE: Final = r"^\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[AaPp]\.?\s?[Mm]\.?)?$"

_SIGNS: Final = {
    "Y": r"(?P<year>\d{4})",
    "y": r"(?P<short>\d{2})",
    "m": r"(?P<month>\d{1,2})",
    "d": r"(?P<day>\d{1,2})",
    "e": r"\s?(?P<day>\d{1,2})",
    "j": r"(?P<of_year>\d{1,3})",
    "b": _MONTH_NAME,
    "B": _MONTH_NAME,
    "a": r"(?i:" + "|".join(_DAYS) + r")[a-z]*\.?",
    "A": r"(?i:" + "|".join(_DAYS) + r")[a-z]*\.?",
    "H": r"(?P<hour>\d{1,2})",
    "I": r"(?P<hour>\d{1,2})",
    "M": r"(?P<minute>\d{1,2})",
    "S": r"(?P<second>\d{1,2})",
    "f": r"(?P<part>\d+)",
    "p": _HALF,
    "z": _ZONE,
    "%": "%",
}
_LONGER: Final = {"T": "%H:%M:%S", "R": "%H:%M", "F": "%Y-%m-%d", "D": "%m/%d/%y"}
_WEEKS: Final = frozenset("UWVGug")


def layout_of(form: str) -> str:
    """The layout of a form in strptime's signs."""
    for sign, longer in _LONGER.items():
        form = form.replace(f"%{sign}", longer)
    pieces = re.split(r"(%.?)", form)
    layout, in_digits = "", False
    for piece in pieces:
        if not piece:
            continue
        if not piece.startswith("%"):
            in_digits = False
            layout += re.sub(r"\\ |\s+", r"\\s+", re.escape(piece))
            continue
        sign = piece[1:]
        if sign in _WEEKS:
            raise MisuseError(
                f"time_format = '{form}' counts weeks (%{sign}), which begin and end differently from place "
                "to place; give dates by month and day (%m, %d) or by the day of the year (%j)"
            )
        if sign not in _SIGNS:
            raise MisuseError(
                f"time_format = '{form}' holds '{piece}', which is not known; known are "
                f"{', '.join(f'%{letter}' for letter in [*_SIGNS, *_LONGER])}"
            )
        # digits without a sign between them have their full width, but for a zero that a number lost in front
        layout += re.sub(r"\{1,(\d)\}", r"{\1}", _SIGNS[sign]) if in_digits else _SIGNS[sign]
        in_digits = "\\d" in _SIGNS[sign]
    names = re.findall(r"\(\?P<(\w+)>", layout)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise MisuseError(f"time_format = '{form}' gives the {twice} twice; leave one out")
    if "%I" in form and "half" not in names:
        raise MisuseError(
            f"time_format = '{form}' gives hours of a clock of 12 hours (%I) without AM or PM (%p); write "
            "both into one column, or give %H for hours from 0 to 23"
        )
    has_year = bool({"year", "short"} & set(names))
    has_day = "of_year" in names or ("day" in names and bool({"month", "name"} & set(names)))
    if not (has_year and has_day):
        raise MisuseError(f"time_format = '{form}' gives no whole date; it needs a year, a month and a day")
    return f"^{layout}$"


def parse(text: pa.Array, layout: str) -> tuple[Micros, Flags, Flags]:
    """Microseconds (less the zone, if written); readable rows; rows with a zone."""
    fields = pc.extract_regex(text, layout)
    matched = has_value(fields)
    groups = {field.name for field in fields.type}

    def words(name: str) -> pa.Array:
        if name not in groups:
            return pa.array([""] * len(text), pa.string())
        return pc.fill_null(pc.struct_field(fields, name), "")

    def number(name: str) -> Micros:
        return _whole(words(name)) if name in groups else np.zeros(len(text), dtype=np.int64)

    zone = words("zone")
    zoned = pc.not_equal(zone, "").to_numpy(zero_copy_only=False)
    offset = pc.if_else(pc.match_substring_regex(zone, r"^[+-]"), pc.replace_substring(zone, ":", ""), "")
    sign = np.where(pc.starts_with(offset, "-").to_numpy(zero_copy_only=False), -1, 1)
    ahead_h, ahead_min = (
        _whole(pc.utf8_slice_codeunits(offset, 1, 3)),
        _whole(pc.utf8_slice_codeunits(offset, 3, 5)),
    )
    part = _whole(pc.utf8_slice_codeunits(pc.utf8_rpad(words("part"), 6, "0"), 0, 6))

    year, month, day, hour, minute, second = map(number, ("year", "month", "day", "hour", "minute", "second"))
    if "short" in groups:  # as POSIX has it: 69 to 99 are of the last century
        short = number("short")
        year = np.where(short >= 69, 1900 + short, 2000 + short)
    possible = np.ones(len(text), dtype=np.bool_)
    if "minute" in groups:  # 2024-05-01T0 was cut
        cut = pc.and_(pc.equal(pc.utf8_length(words("hour")), 1), pc.equal(words("minute"), ""))
        possible &= ~pc.and_(cut, pc.equal(words("half"), "")).to_numpy(zero_copy_only=False)
    if "name" in groups:
        month = _months(words("name"))
    if "half" in groups:
        half = pc.utf8_slice_codeunits(pc.utf8_lower(words("half")), 0, 1)
        afternoon, has_half = (
            pc.equal(half, "p").to_numpy(zero_copy_only=False),
            pc.not_equal(half, "").to_numpy(zero_copy_only=False),
        )
        possible &= ~has_half | ((hour >= 1) & (hour <= 12))
        hour = np.where(has_half, hour % 12 + 12 * afternoon, hour)
    if "of_year" in groups:
        month, day = np.ones_like(year), number("of_year")
    months = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("datetime64[M]")
    first_day = months.astype("datetime64[D]").astype(np.int64)
    after = (months + (12 if "of_year" in groups else 1)).astype("datetime64[D]").astype(np.int64)
    possible &= (month >= 1) & (month <= 12) & (day >= 1) & (day <= after - first_day)
    possible &= (hour <= 23) & (minute <= 59) & (second <= 60) & (ahead_h <= 23) & (ahead_min <= 59)
    seconds = (
        (first_day + day - 1) * DAY_S
        + hour * 3600
        + minute * 60
        + second
        - sign * (ahead_h * 3600 + ahead_min * 60)
    )
    return seconds * SECOND + part, matched & possible, zoned


def day_and_month(text: pa.Array) -> tuple[int, int]:
    """How many dates such as 31/12/2024 only read with the day first, or the month first."""
    _, by_day, _ = parse(text, DAY_FIRST)
    _, by_month, _ = parse(text, MONTH_FIRST)
    return int(np.count_nonzero(by_day & ~by_month)), int(np.count_nonzero(by_month & ~by_day))


def shape_of(text: str) -> str:
    """A value without its content: digits are 9, letters A except in names of months."""

    def masked(word: re.Match[str]) -> str:
        return word[0] if word[0].lower() in _VISIBLE else "A" * min(len(word[0]), 8)

    return re.sub(r"[^\W\d_]+", masked, re.sub(r"\d", "9", " ".join(text.split())[:40]))


def _months(names: pa.Array) -> Micros:
    places = pc.index_in(pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3), pa.array(MONTHS))
    months: Micros = pc.fill_null(pc.add(places, 1), 0).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return months


def _whole(digits: pa.Array) -> Micros:
    whole: Micros = (
        pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64()).to_numpy(zero_copy_only=False)
    )
    return whole
