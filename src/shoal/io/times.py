"""Times of any common kind to whole microseconds since 1970-01-01 UTC, a whole column at a time.

Understood: Arrow timestamps and dates, ISO 8601 text with or without a zone, and numbers, whose unit is given
or recognized by their size. No zone means UTC.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.io.values import filled, is_number, is_text, numbers_in_text, plain
from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.units import DAY_S, duration_s

Micros = Integers

SECOND: Final = 1_000_000
DAY: Final = DAY_S * SECOND
LIMIT: Final = 1 << 62
PER_UNIT: Final = {"s": SECOND, "ms": 1000, "us": 1}
UNIT_WORDS: Final = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
LAYOUTS: Final = tuple(
    r"^(?P<year>\d{4})"
    + day
    + r"(?:(?:[Tt]|\s+)"
    + clock
    + r"\s*(?P<zone>(?i:Z|UTC|GMT)|[+-]\d{2}(?::?\d{2})?)?)?$"
    for day, clock in (
        (
            r"[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
            r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?)?",
        ),
        (
            r"(?P<month>\d{2})(?P<day>\d{2})",
            r"(?P<hour>\d{2})(?P<minute>\d{2})(?:(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?",
        ),
    )
)


class Times:
    """Turns the time columns of one input, batch after batch, into microseconds.

    The unit of numbers is decided once. unit: "s", "ms", "us", "ns", a duration such as "1min" for counted
    steps, or None = recognize. naive, zoned: rows read from dates and times without and with a zone.
    """

    def __init__(self, unit: str | None) -> None:
        self.unit = unit
        self.given = unit is not None
        self.steps = False
        self.naive = 0
        self.zoned = 0
        if unit is not None and unit not in UNIT_WORDS:
            duration_s(unit)

    def microseconds(self, column: pa.Array, where: str) -> tuple[Micros, Flags]:
        """int64 [n] and whether each could be read.

        Raises InputError when the column's type holds no times.
        """
        column = plain(column)
        kind = column.type
        if is_text(kind):
            return self._from_text(column)
        if is_number(kind):
            return self._from_numbers(column)
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("ms"))
        if pa.types.is_timestamp(column.type):
            readable = filled(column)
            self._count(readable, zoned=column.type.tz is not None)
            ticks = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
            return _scaled(ticks, column.type.unit), readable
        if pa.types.is_null(kind):
            return np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=np.bool_)
        raise InputError(f"{where} holds {kind}, not times; name another column or convert it")

    def notes(self) -> list[str]:
        """What was assumed, in words."""
        said = []
        if self.unit is not None and not self.given:
            if self.steps:
                said.append(
                    "times are small numbers, read as steps of one second; --time-unit gives another length"
                )
            else:
                said.append(
                    f"times are numbers, read as {UNIT_WORDS[self.unit]} since 1970 by their size; "
                    "--time-unit overrides"
                )
        if self.naive and not self.zoned:
            said.append("times without a zone are taken as UTC")
        return said

    def _count(self, readable: Flags, *, zoned: bool) -> None:
        rows = int(np.count_nonzero(readable))
        self.zoned, self.naive = self.zoned + rows * zoned, self.naive + rows * (not zoned)

    def _from_numbers(self, column: pa.Array) -> tuple[Micros, Flags]:
        readable = filled(column)
        if pa.types.is_integer(column.type):
            if pa.types.is_uint64(column.type):
                column = pc.min_element_wise(column, pa.scalar(LIMIT, pa.uint64()))
            values: Numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        else:
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            readable &= np.isfinite(values)
            values = np.where(readable, values, 0.0)
        if not readable.any():
            return np.zeros(len(values), dtype=np.int64), readable
        if self.unit is None:
            size = float(np.median(np.abs(values[readable].astype(np.float64))))
            self.unit = "s" if size < 1e11 else "ms" if size < 1e14 else "us" if size < 1e17 else "ns"
            self.steps = size < 1e8
        return _scaled(values, self.unit), readable

    def _from_text(self, text: pa.Array) -> tuple[Micros, Flags]:
        """Numbers or dates written as text; uniform columns first, since they are many times faster."""
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text)
        for kind in (pa.int64(), pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                return self.microseconds(text.cast(kind), "")
            except pa.ArrowInvalid:
                continue
        number = numbers_in_text(text)
        written = pc.if_else(number.is_valid(), text, pa.scalar(None, text.type))
        try:
            number = written.cast(pa.int64())
        except pa.ArrowInvalid:
            number = numbers_in_text(written)
        ticks, readable = self._from_numbers(number)
        for layout in LAYOUTS:
            rows = np.flatnonzero(filled(text) & ~readable)
            if rows.size:
                own_ticks, own_readable, zoned = _parsed(text.take(pa.array(rows)), layout)
                ticks[rows], readable[rows] = own_ticks, own_readable
                self._count(own_readable & zoned, zoned=True)
                self._count(own_readable & ~zoned, zoned=False)
        return ticks, readable


def _scaled(values: Numbers, unit: str) -> Micros:
    """Microseconds from numbers in a unit; integers stay exact, far past and future stay far."""
    if unit == "ns":
        scaled = np.clip(np.floor_divide(values, 1000), -LIMIT, LIMIT)
    else:
        factor = PER_UNIT.get(unit) or max(round(duration_s(unit) * SECOND), 1)
        if values.dtype == np.int64:
            scaled = np.clip(values, -LIMIT // factor, LIMIT // factor) * factor
        else:
            scaled = np.rint(np.clip(values, -LIMIT / factor, LIMIT / factor) * factor)
    whole: Micros = scaled.astype(np.int64, copy=False)
    return whole


def _parsed(text: pa.Array, layout: str) -> tuple[Micros, Flags, Flags]:
    """Microseconds, whether each could be read, and whether it had a zone."""
    fields = pc.extract_regex(text, layout)
    matched = filled(fields)

    def number(name: str) -> Micros:
        digits = pc.fill_null(pc.struct_field(fields, name), "")
        return _whole(digits)

    zone = pc.fill_null(pc.struct_field(fields, "zone"), "")
    zoned = pc.not_equal(zone, "").to_numpy(zero_copy_only=False)
    offset = pc.if_else(pc.match_substring_regex(zone, r"^[+-]"), pc.replace_substring(zone, ":", ""), "")
    sign = np.where(pc.starts_with(offset, "-").to_numpy(zero_copy_only=False), -1, 1)
    ahead_h, ahead_min = (
        _whole(pc.utf8_slice_codeunits(offset, 1, 3)),
        _whole(pc.utf8_slice_codeunits(offset, 3, 5)),
    )
    part = _whole(
        pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(pc.struct_field(fields, "part"), ""), 6, "0"), 0, 6)
    )

    year, month, day, hour, minute, second = map(number, ("year", "month", "day", "hour", "minute", "second"))
    months = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("datetime64[M]")
    first_day, next_month = (m.astype("datetime64[D]").astype(np.int64) for m in (months, months + 1))
    possible = (month >= 1) & (month <= 12) & (day >= 1) & (day <= next_month - first_day)
    possible &= (hour <= 23) & (minute <= 59) & (second <= 60) & (ahead_h <= 23) & (ahead_min <= 59)
    seconds = (
        (first_day + day - 1) * DAY_S
        + hour * 3600
        + minute * 60
        + second
        - sign * (ahead_h * 3600 + ahead_min * 60)
    )
    return seconds * SECOND + part, matched & possible, zoned


def _whole(digits: pa.Array) -> Micros:
    """Whole numbers from texts of digits, 0 for an empty one."""
    whole: Micros = (
        pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64()).to_numpy(zero_copy_only=False)
    )
    return whole
