"""Times of any common kind to whole microseconds since 1970-01-01 UTC, a whole column at a time."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import gcd
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, MisuseError
from shoal.io.columns import time_numbers, time_text
from shoal.io.columns.counting import Counting
from shoal.io.columns.meanings import TimeNeighbors
from shoal.io.columns.time_text import CLOCK_ALONE, SECOND, Micros, form_of, parse, shape_of
from shoal.io.columns.values import COMMA, Codes, has_value, is_number, is_text, numbers_in_text, plain
from shoal.messages import Message, say, say_number
from shoal.runtime.arrays import Flags, Numbers
from shoal.units import DAY_S, duration_s

DAY: Final = DAY_S * SECOND
_PARTS: Final = {"day": say("date.day", "day"), "month": say("date.month", "month")}
TAKEN_AS_UTC: Final = say("reading.utc", "times without a zone are taken as UTC; --time-zone gives another")
GPS: Final = "gps"  # the name of a column says that it counts from 1980
DATED: Final = r"[0-9]{4}[-/.][0-9]|[0-9][-/.][0-9]{1,2}[-/.]|[0-9]:[0-9]"
_TWO_ORDERS: Final = (
    "{where} holds dates with the day first and dates with the month first; write them alike, or give "
    "--time-format, which leaves the others out"
)
_MONTHS_OF_A_DAY, _MONTHS_A_YEAR = 4, 12  # nobody is tracked on the fifth of four months alone
_ONE_SECOND: Final = say("unit.one_second", "one second")
_MANY: Final = 0.5
_HOUR: Final = 3600 * SECOND
_LENGTHS: Final = {"days": DAY, "hours": _HOUR, "minutes": 60 * SECOND}
_ENOUGH_HOURS, _ENOUGH_TIMES = 10, 50  # from 1 to 12, that do not lie there by chance
_ERA_S: Final = 1024 * 7 * 86_400


class Times(Counting):
    """Turns the time columns of one input into microseconds, batch after batch.

    unit: "s", "ms", "us", "ns", "serial-days", a duration such as "1min" for counted steps; None = by size.
    form: in strptime's signs, None = recognized. zone: of times without one, None = UTC.
    """

    def __init__(self, unit: str | None, form: str | None = None, zone: str | None = None) -> None:
        self.unit = unit
        self.given = unit is not None
        self.steps = False
        self._begin_counts()
        self.beside = TimeNeighbors()
        self.named_unit: str | None = None
        self.size = 0.0  # of the first numbers
        self.zone_in_name = ""
        self._layout = None if form is None else time_text.layout_of(form)
        self._zone = None if zone is None or zone.upper() in {"UTC", "Z", "GMT"} else zone
        self._zone_given = zone is not None
        self._slashed: str | None = None
        if unit is not None and unit not in (*time_numbers.UNIT_WORDS, time_numbers.SERIAL_DAYS):
            duration_s(unit)
        if self._zone is not None:
            self._utc(np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_))
        self._begin_counts()

    def _begin_counts(self) -> None:
        self.naive = self.zoned = 0  # rows without and with a zone
        self.twice = self.never = 0  # local times that the clock showed twice, or skipped
        self.unread = ""
        self._looked_at = self._naive_looked_at = 0
        self._wholes: Counter[str] = Counter()  # times that are whole days, hours and minutes
        self._steps_s = set[int]()  # the common divisor of numbers since 1970, of each batch
        self._stays = self._moves = False  # people with several rows, and those with several times
        self._hours = set[int]()  # of the clock
        self._span_s = set[int]()  # the first and last of numbers since 1970, of each batch

    def microseconds(self, column: pa.Array, where: str) -> tuple[Micros, Flags]:
        """int64 [n], and whether each is readable."""
        column = plain(column)
        kind = column.type
        if self._layout is not None and (is_text(kind) or pa.types.is_integer(kind)):
            return self._by_layouts(column.cast(pa.string()), (self._layout,))
        if is_text(kind):
            return self._from_text(column, where)
        if is_number(kind):
            return self._from_numbers(column, where)
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("ms"))
        if pa.types.is_timestamp(column.type):
            readable, zoned = has_value(column), column.type.tz is not None
            self._count(readable, zoned=zoned)
            ticks = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
            ticks = time_numbers.scaled(ticks, column.type.unit)
            if zoned:
                self._look(ticks, readable)
            return (ticks if zoned else self._utc(ticks, readable)), readable
        if pa.types.is_null(kind):
            return np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=np.bool_)
        if pa.types.is_time(kind):
            raise InputError(f"{where} holds clock times without dates; name the column of dates with --date")
        raise InputError(f"{where} holds {kind}, not times; name another column or convert it")

    @property
    def decided(self) -> tuple[str | None, bool, str | None]:
        """Decisions for all later rows."""
        return self.unit, self.steps, self._slashed

    def require_one_order(self, code: Codes, t: Micros, where: str) -> None:
        """Ask where somebody's dates are all of one day of several months: they may be in the other order."""
        if self.beside.named["elapsed"] and not self._moves and code.size:
            order = np.argsort(code, kind="stable")
            same = np.diff(code[order]) == 0
            self._stays |= bool(same.any())
            self._moves = bool((same & (np.diff(t[order]) != 0)).any())
        if self._slashed is None:
            return
        months = t.astype("datetime64[us]").astype("datetime64[M]")
        day = (t.astype("datetime64[us]") - months).astype("timedelta64[D]").astype(np.int64) + 1
        person = code.astype(np.int64) << 20
        parts = (months.astype(np.int64), day)
        months_of, days_of = (np.bincount(np.unique(person + part) >> 20) for part in parts)
        one_day = (months_of >= _MONTHS_OF_A_DAY) & (days_of == 1)
        if one_day[code[day <= _MONTHS_A_YEAR]].any():
            raise InputError(
                f"{where} holds people's dates like 99/99/9999 on one day of several months alone, "
                f"read with the {_PARTS[self._slashed]} first as those of others show; write them alike, or "
                "give --time-format if that is right"
            )

    def require_meaning(self, name: str, date: str | None) -> None:
        """Ask about columns that may change what the times mean. date: the column of dates, if named."""
        if self._stays and not self._moves and not self.given:
            raise InputError(
                f"everybody in {name} has one time in all rows, and the column "
                f"'{self.beside.named['elapsed'][0]}' may hold the time since then; add it to the times, or "
                "give --time-unit s if that is right"
            )
        own_layout = self._layout is not None
        whole = {kind for kind, times in self._wholes.items() if times == self._looked_at}
        sure, clocks = own_layout or self.given, self.beside.named["clocks"]
        if clocks and "days" in whole and date is None and not sure:
            raise InputError(
                f"the times of {name} are dates without a time of day, and the column '{clocks[0]}' may "
                f"hold it; give the column of dates with --date, and --time {clocks[0]}, or a --time-format "
                "(of numbers a --time-unit) if dates are all there is"
            )
        for kind, part in (("hours", "minutes"), ("minutes", "seconds")):
            columns = self.beside.named[part]
            if columns and kind in whole and not sure:
                raise InputError(
                    f"the times of {name} are whole {kind}, and the column '{columns[0]}' may hold their "
                    f"{part}; write both into one column, or give a --time-format (of numbers a "
                    f"--time-unit) if {kind} are all there is"
                )
        if not self.naive:
            return
        if self.zone_in_name and not self._zone_given:
            raise InputError(
                f"the times of {name} have no zone, and the name of their column tells {self.zone_in_name}; "
                "give --time-zone (UTC if they are of UTC)"
            )
        if (zones := [*self.beside.named["zones"], *self.beside.zones_by_value]) and not self._zone_given:
            raise InputError(
                f"the times of {name} have no zone, and the column '{zones[0]}' tells "
                "zones; give --time-zone if all are of one (UTC if they are of UTC), or write each "
                "time with its zone"
            )
        if (halves := [*self.beside.named["halves"], *self.beside.halves_by_value]) and not own_layout:
            raise InputError(
                f"the column '{halves[0]}' of {name} tells the halves of the day apart; "
                "write it behind each time, or give a --time-format if the times are of 24 hours"
            )

    def notes(self) -> Iterator[Message]:
        """Assumptions, for users."""
        if self.unit is not None and not self.given and self.steps:
            text = "times are small numbers, read as steps of {step}; --time-unit gives another length"
            yield say("reading.steps", text, step=_ONE_SECOND if self.unit == "s" else self.unit)
        elif self.unit is not None and not self.given:
            text = "times are numbers, read as {unit} since 1970 by their size; --time-unit overrides"
            yield say("reading.time_unit", text, unit=time_numbers.UNIT_WORDS[self.unit])
        if self._slashed is not None:
            text = "dates such as 99/99/9999 begin with the {part}, as some of them show"
            yield say("reading.dates", text, part=_PARTS[self._slashed])
        share = self._wholes["days"] / max(self._looked_at, 1)
        if self._looked_at > 1 and share >= _MANY:
            text = (
                "{percent} % of the times have no time of day and are taken as midnight; what is said "
                "about hours and about who was where at one time is not about these"
            )
            yield say("reading.midnights", text, percent=int(100 * share))
        step_s = gcd(*self._steps_s)
        if len(self._span_s) > 1 and step_s % 60 and not (step_s % 64 and step_s % 100):
            text = (
                "all times are multiples of {step} s; if a table tool rounded them, export them again as "
                "whole numbers"
            )
            yield say("reading.multiples", text, step=f"{step_s:,}")
        span_s = sorted(self._span_s) or [0]
        if not self.given and time_numbers.OPEN_GPS_S <= span_s[0] <= span_s[-1] <= time_numbers.GPS_UNTIL_S:
            first, last = (1970 + int(s // (365.2425 * DAY_S)) for s in (span_s[0], span_s[-1]))
            text = (
                "the numbers give the years {first} to {last}; if they count from 1980 (GPS), 1989 (Garmin) "
                "or 2001 (Apple), convert them to dates"
            )
            yield say("reading.other_start", text, first=first, last=last)
        mornings = self._hours <= set(range(1, 13)) and len(self._hours) >= _ENOUGH_HOURS
        if mornings and self._naive_looked_at >= _ENOUGH_TIMES:
            text = (
                "no time lies from 13:00 to 0:59; if a clock of 12 hours lost its AM and PM, half of the "
                "times are wrong by 12 hours"
            )
            yield say("reading.mornings", text)
        if self.naive and not self._zone_given:
            yield TAKEN_AS_UTC

    def _count(self, readable: Flags, *, zoned: bool) -> None:
        rows = int(np.count_nonzero(readable))
        self.zoned, self.naive = self.zoned + rows * zoned, self.naive + rows * (not zoned)

    def _look(self, ticks: Micros, readable: Flags) -> Micros:
        """Count whole days, hours and minutes among some times, and give these."""
        step = len(ticks) // time_numbers.LOOKED_AT + 1
        some = ticks[::step][readable[::step]]
        self._looked_at += len(some)
        for kind, length in _LENGTHS.items():
            self._wholes[kind] += int(np.count_nonzero(some % length == 0))
        return some

    def _utc(self, ticks: Micros, readable: Flags) -> Micros:
        some = self._look(ticks, readable)
        self._naive_looked_at += len(some)
        self._hours.update(np.unique(some % DAY // _HOUR).tolist())
        if self._zone is None:
            return ticks
        local = pa.array(np.where(readable, ticks, 0)).cast(pa.timestamp("us"))

        def utc_of(ambiguous: str, nonexistent: str) -> Micros:
            utc = pc.assume_timezone(local, self._zone, ambiguous=ambiguous, nonexistent=nonexistent)
            return np.asarray(utc.cast(pa.int64()))

        try:
            utc, last = utc_of("earliest", "latest"), utc_of("latest", "latest")
            before = utc_of("earliest", "earliest")
        except pa.ArrowInvalid as error:
            raise MisuseError(
                f"time_zone = '{self._zone}' is not known; write it like Europe/Paris or Asia/Shanghai"
            ) from error
        self.twice += int(np.count_nonzero(utc != last))
        self.never += int(np.count_nonzero(utc != before))
        return np.where(readable, utc, ticks)

    def _from_numbers(self, column: pa.Array, where: str) -> tuple[Micros, Flags]:
        readable = has_value(column)
        if pa.types.is_integer(column.type):
            if pa.types.is_uint64(column.type):
                column = pc.min_element_wise(column, pa.scalar(time_numbers.LIMIT, pa.uint64()))
            values: Numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        else:
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            readable &= np.isfinite(values)
            values = np.where(readable, values, 0.0)
        if not readable.any():
            return np.zeros(len(values), dtype=np.int64), readable
        if not self.size:
            self.size = float(np.median(np.abs(values[readable].astype(np.float64))))
        if self.unit is None:
            if self.named_unit in {None, GPS}:
                days = bool(self.beside.named["days"])
                time_numbers.require_no_dates(values[readable], where, beside_days=days)
            units = (unit for unit in ("ns", "us", "ms") if self.size >= time_numbers.FROM[unit])
            self.unit = next(units, "s")
            self.steps = self.size < time_numbers.FROM["s"]
            self._require_unit_of_name(where)
            if not self.steps:
                time_s = float(np.median(time_numbers.scaled(values[readable], self.unit))) / SECOND
                dates = [where.rpartition(" of ")[2], *self.beside.dates]
                time_numbers.require_start(time_s, dates, self.beside.named["gps"], where)
            if not self.steps and (pa.types.is_float32(column.type) or pa.types.is_float16(column.type)):
                time_numbers.require_digits(float(np.spacing(np.float32(self.size))), self.unit, where)
        ticks = time_numbers.scaled(values, self.unit)
        if self.unit == time_numbers.SERIAL_DAYS:
            self._count(readable, zoned=False)
            return self._utc(ticks, readable), readable
        if not self.given and not self.steps:
            time_numbers.require_one_unit(values[readable], self.unit, where)
        if not self.steps:
            seconds = np.unique(self._look(ticks, readable) // SECOND)
            self._steps_s.add(int(np.gcd.reduce(seconds)))
            self._span_s |= {int(seconds[0]), int(seconds[-1])}
        return ticks, readable

    def _require_unit_of_name(self, where: str) -> None:
        """Use the unit in the column's name; ask where the numbers or other columns deny it."""
        named = self.named_unit
        if named == GPS:
            raise InputError(
                f"{where} is named as times of GPS, which count from 1980 and without leap seconds; "
                "convert them, or give --time-unit s if they count from 1970"
            )
        if self.steps and self.beside.named["days"]:
            raise InputError(
                f"{where} holds small numbers, such as hours or clock times, and the column "
                f"'{self.beside.named['days'][0]}' may hold their days; name one column of dates with --date "
                "(and --time-format, such as '%Y%m%d %H%M%S'), or give --time-unit if they are counted steps"
            )
        if self.steps:
            self.unit = named or self.unit
        elif named in time_numbers.UNIT_WORDS and named != self.unit:
            raise InputError(
                f"{where} is named as {time_numbers.UNIT_WORDS[str(named)]}, and its numbers look like "
                f"{time_numbers.UNIT_WORDS[str(self.unit)]} since 1970; give --time-unit"
            )

    def _check_exponents(self, text: pa.Array, where: str) -> None:
        if not self.given and not self.steps:
            time_numbers.require_no_exponents(text, str(self.unit), where)

    def _from_text(self, text: pa.Array, where: str) -> tuple[Micros, Flags]:
        """Uniform columns first: they are many times faster."""
        text = pc.if_else(pc.equal(text, ""), None, text)
        for kind in (pa.int64(), pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                cast = text.cast(kind)
            except pa.ArrowInvalid:
                continue
            ticks, readable = self.microseconds(cast, where)
            if pa.types.is_floating(kind):
                self._check_exponents(text, where)
            return ticks, readable
        commas = pc.match_substring_regex(text, COMMA)
        if pc.any(commas).as_py():
            text = pc.if_else(commas, pc.replace_substring(text, ",", "."), text)
        number = numbers_in_text(text)
        usable = number.is_valid()
        if not self.given and pc.any(pc.match_substring_regex(text, DATED)).as_py():
            is_since_1970 = pc.greater_equal(pc.abs(number), time_numbers.FROM["s"])  # 2024 is no second
            usable = pc.and_kleene(usable, is_since_1970)
        written = pc.if_else(usable, text, None)
        try:
            number = written.cast(pa.int64())
        except pa.ArrowInvalid:
            number = numbers_in_text(written)
        ticks, readable = self._from_numbers(number, where)
        self._check_exponents(text, where)
        rest = np.flatnonzero(has_value(text) & ~readable)
        if not rest.size:
            return ticks, readable
        text = pc.replace_substring_regex(text, "[\u00a0\u202f]", " ")
        ticks[rest], readable[rest] = self._by_layouts(text.take(pa.array(rest)), time_text.LAYOUTS.values())
        rest = np.flatnonzero(has_value(text) & ~readable)
        remaining = text.take(pa.array(rest))
        if rest.size:
            most = 2 * rest.size > int(np.count_nonzero(has_value(text)))
            ticks[rest], readable[rest] = self._with_slashes(remaining, where, most=most)
        if not readable.any() and pc.any(pc.match_substring_regex(remaining, CLOCK_ALONE)).as_py():
            raise InputError(
                f"{where} holds clock times without dates, like {self.unread}; name the column of "
                "dates with --date"
            )
        return ticks, readable

    def _with_slashes(self, text: pa.Array, where: str, *, most: bool) -> tuple[Micros, Flags]:
        """In the order that some prove. most: refuse two meanings."""
        if self._slashed is None:
            by_day, by_month = (parse(text, layout)[1] for layout in time_text.SLASHED.values())
            day_shows, month_shows = bool((by_day & ~by_month).any()), bool((by_month & ~by_day).any())
            if most and day_shows and month_shows:
                raise InputError(_TWO_ORDERS.format(where=where))
            if most and by_day.any() and not day_shows and not month_shows:
                shown = _first(text, by_day)
                raise InputError(
                    f"{where} holds dates like {shape_of(shown)}, which may begin with the day or the month; "
                    f"give --time-format '{form_of(shown, '%d %m')}' or '{form_of(shown, '%m %d')}'"
                    f"{self._clock_beside(text)}"
                )
            if most and day_shows != month_shows:
                self._slashed = "day" if day_shows else "month"
        if self._slashed is None:
            return self._by_layouts(text, ())
        ticks, readable = self._by_layouts(text, [time_text.SLASHED[self._slashed]])
        other = time_text.SLASHED["month" if self._slashed == "day" else "day"]
        if parse(text.filter(pa.array(~readable)), other)[1].any():
            raise InputError(_TWO_ORDERS.format(where=where))
        return ticks, readable

    def _clock_beside(self, text: pa.Array) -> str:
        """What to do where dates have no clock, and another column may hold it."""
        if not self.beside.named["clocks"] or pc.any(pc.match_substring(text, ":")).as_py():
            return ""
        clock = self.beside.named["clocks"][0]
        return (
            f"; '{clock}' may hold their clock times: give --time {clock}, and their own column with --date"
        )

    def _by_layouts(self, text: pa.Array, layouts: Iterable[str]) -> tuple[Micros, Flags]:
        ticks, readable = np.zeros(len(text), dtype=np.int64), np.zeros(len(text), dtype=np.bool_)
        for layout in layouts:
            rows = np.flatnonzero(has_value(text) & ~readable)
            if not rows.size:
                break
            part_ticks, part_readable, zoned = parse(text.take(pa.array(rows)), layout)
            self._look(part_ticks, part_readable & zoned)
            part_ticks = np.where(zoned, part_ticks, self._utc(part_ticks, part_readable & ~zoned))
            ticks[rows], readable[rows] = part_ticks, part_readable
            self._count(part_readable & zoned, zoned=True)
            self._count(part_readable & ~zoned, zoned=False)
        unread = has_value(text) & ~readable
        if unread.any() and not self.unread:
            self.unread = shape_of(_first(text, unread))
        return ticks, readable


def clock_jumps(t_s: Numbers, *, steps: bool = False) -> list[str]:
    """A note on times half a GPS era from the median, or of years when hardly anybody was tracked.

    steps: they were counted, or the caller gave their unit. After an era of 1,024 weeks older receivers count
    anew, and show a time 19.6 years too early.
    """
    if not len(t_s):
        return []
    middle = np.median(t_s)
    if not steps and middle < time_numbers.OPEN_GPS_S:
        text = (
            "most times lie before 1995, around {year}; if they are later, a clock was not set, or their "
            "numbers count from another year than 1970 or in another unit: convert them to dates"
        )
        return [say("reading.early", text, year=1970 + int(middle // (365.2425 * DAY_S)))]
    apart = np.abs(t_s - middle) >= _ERA_S / 2
    if not apart.any():
        return []
    weeks = np.abs(np.abs(t_s[apart] - middle) - _ERA_S) < _ERA_S / 20
    far, remedy = "ten years or more from the middle of the data", "if a clock jumped, correct or remove them"
    texts = [f"{{number}} {samples} {far}; {remedy}" for samples in ("sample lies", "samples lie")]
    if weeks.mean() > 0.5:
        weeks_anew = "they look like weeks of GPS counted anew (1,024 weeks)"
        texts = [text.replace(remedy, f"{weeks_anew}; {remedy}") for text in texts]
        return [say_number("reading.gps_weeks", int(apart.sum()), *texts)]
    return [say_number("reading.clock_jumps", int(apart.sum()), *texts)]


def with_date(date: pa.Array, clock: pa.Array, form: str | None = None) -> pa.Array:
    """Dates and clock times joined as text, null when either is missing. form: tells lost zeros."""
    date, clock = plain(date), plain(clock)
    for kind in (date.type, clock.type):
        if not (is_text(kind) or is_number(kind) or pa.types.is_temporal(kind) or pa.types.is_null(kind)):
            raise InputError(f"the columns of dates and of clock times hold {kind}; convert it to text")
    if pa.types.is_timestamp(date.type):
        date = date.cast(pa.date32(), safe=False)
    if pa.types.is_timestamp(clock.type):  # a spreadsheet's clock stands on a day of its own
        clock = clock.cast(pa.time64("us"), safe=False)
    days, clocks = (column.cast(pa.string()) for column in (date, clock))
    width = 2 * len(re.findall("%[HIMS]", form or "")) if re.search("%[HI]%M", form or "") else 2  # 6 o'clock
    return pc.binary_join_element_wise(days, pc.utf8_lpad(clocks, width, "0"), " ")


def _first(text: pa.Array, rows: Flags) -> str:
    return str(text[int(np.argmax(rows))].as_py())
