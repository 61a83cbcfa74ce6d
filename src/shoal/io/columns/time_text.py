"""Times as text: layouts (regular expressions with named groups) that are recognized, or the caller's."""

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import MisuseError
from shoal.io.columns.values import has_value
from shoal.io.toml_tables import TABLES, expressions
from shoal.runtime.arrays import Flags, Integers
from shoal.units import DAY_S

Micros = Integers

SECOND: Final = 1_000_000
_TABLE: Final = TABLES["time_text"]
MONTHS, _DAYS, _OTHER_WORDS = (_TABLE["words"][kind] for kind in ("months", "days", "others"))
_VISIBLE: Final = frozenset((*MONTHS, *_DAYS, *_OTHER_WORDS))
_PIECES: Final = expressions(_TABLE["pieces"], {"months": "|".join(MONTHS), "days": "|".join(_DAYS)})
LAYOUTS, SLASHED, _SIGNS = (expressions(_TABLE[kind], _PIECES) for kind in ("layouts", "slashed", "signs"))
CLOCK_ALONE: Final = r"^\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[AaPp]\.?\s?[Mm]\.?)?$"
_LONGER: Final = _TABLE["longer"]
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
    zoned = np.asarray(pc.not_equal(zone, ""))
    offset = pc.if_else(pc.match_substring_regex(zone, r"^[+-]"), pc.replace_substring(zone, ":", ""), "")
    sign = np.where(np.asarray(pc.starts_with(offset, "-")), -1, 1)
    ahead_h, ahead_min = (_whole(pc.utf8_slice_codeunits(offset, at, at + 2)) for at in (1, 3))
    part = _whole(pc.utf8_slice_codeunits(pc.utf8_rpad(words("part"), 6, "0"), 0, 6))

    year, month, day, hour, minute, second = map(number, ("year", "month", "day", "hour", "minute", "second"))
    if "short" in groups:  # as POSIX has it: 69 to 99 are of the last century
        short = number("short")
        year = np.where(short >= 69, 1900 + short, 2000 + short)
    possible = np.ones(len(text), dtype=np.bool_)
    if "minute" in groups:  # 2024-05-01T0 was cut
        cut = pc.and_(pc.equal(pc.utf8_length(words("hour")), 1), pc.equal(words("minute"), ""))
        possible &= ~np.asarray(pc.and_(cut, pc.equal(words("half"), "")))
    if "name" in groups:
        first_letters = pc.utf8_slice_codeunits(pc.utf8_lower(words("name")), 0, 3)
        month = np.asarray(pc.index_in(first_letters, pa.array(MONTHS)).fill_null(-1)) + 1
    if "half" in groups:
        half = np.asarray(pc.utf8_slice_codeunits(pc.utf8_lower(words("half")), 0, 1))
        possible &= (half == "") | ((hour >= 1) & (hour <= 12))
        hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    if "of_year" in groups:
        month, day = np.ones_like(year), number("of_year")
    months = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("datetime64[M]")
    first_day = months.astype("datetime64[D]").astype(np.int64)
    after = (months + (12 if "of_year" in groups else 1)).astype("datetime64[D]").astype(np.int64)
    possible &= (month >= 1) & (month <= 12) & (day >= 1) & (day <= after - first_day)
    possible &= (hour <= 23) & (minute <= 59) & (second <= 60) & (ahead_h <= 23) & (ahead_min <= 59)
    of_day = hour * 3600 + minute * 60 + second - sign * (ahead_h * 3600 + ahead_min * 60)
    return ((first_day + day - 1) * DAY_S + of_day) * SECOND + part, matched & possible, zoned


def shape_of(text: str) -> str:
    """A value without its content: digits are 9, letters A except in names of months."""

    def masked(word: re.Match[str]) -> str:
        return word[0] if word[0].lower() in _VISIBLE else "A" * min(len(word[0]), 8)

    return re.sub(r"[^\W\d_]+", masked, re.sub(r"\d", "9", " ".join(text.split())[:40]))


def form_of(text: str, day_and_month: str) -> str:
    """The form of a time that begins with day and month, in strptime's signs."""
    text, halves = re.subn(_PIECES["half"], "%p", re.sub(rf"(\s\S.*?){_PIECES['zone']}$", r"\1%z", text))
    signs = iter([*day_and_month.split(), "%Y", "%I" if halves else "%H", "%M", "%S", "%f"])
    return re.sub(r"\d+", lambda _: next(signs), text)


def _whole(digits: pa.Array) -> Micros:
    return np.asarray(pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64()))
