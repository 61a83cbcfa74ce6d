"""NMEA 0183 sentences of GPS receivers: positions of RMC, or of GGA with the date of ZDA.

The person is the file. Other sentences are left out with a note. Wrong checksums are counted.
``ais_files`` reads ships' sentences; pyais reads no RMC.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

from shoal.errors import InputError
from shoal.io.formats import ais_files
from shoal.io.formats.input_table import Table
from shoal.io.formats.row_files import (
    Account,
    Row,
    beginning_of,
    explain_damage,
    open_bytes,
    table_of_rows,
)
from shoal.messages import say
from shoal.model.intake import Reading

BROKEN: Final = say("row.broken_nmea", "NMEA sentence with a wrong checksum or too few fields")
_SENTENCE: Final = re.compile(r"([$!])([A-Z]{2}[A-Z]{3}|P[A-Z]{3,}),([^*]*)(?:\*([0-9A-Fa-f]{2}))?")
_LINES: Final = 1 << 16
_LONGEST: Final = 1 << 10  # bytes of a line
_FIELDS: Final = 9
_CLOCK: Final = re.compile(r"([01]\d|2[0-3])([0-5]\d)([0-6]\d)")
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_MINUTES: Final = 60  # of a degree
_CENTURY_FROM: Final = 80  # two digits of a year: 80 is 1980, when GPS began
_SIGNS: Final = {"N": 1, "S": -1, "E": 1, "W": -1}


def holds(path: Path) -> bool:
    """Whether a file begins with such a sentence."""
    return _SENTENCE.match(beginning_of(path, _LONGEST).decode("latin-1")) is not None


def open_table(path: Path, reading: Reading) -> Table:
    """Positions of one file; a part of it with RMC is read by these sentences alone."""
    if ais_files.holds(path):
        return ais_files.open_table(path, reading)
    damaged = f"{path.name} broke off while it was read; copy it again"

    def read(account: Account) -> Iterator[Row]:
        others, dated, clocks = 0, 0, False
        latest: datetime | None = None
        with explain_damage(damaged), open_bytes(path) as file:
            while lines := list(islice(file, _LINES)):
                matches = [_SENTENCE.search(line.decode("latin-1")) for line in lines]
                sentences, latest = _dated(matches, latest)
                for line, match, fields in zip(lines, matches, sentences, strict=True):
                    if fields is None:
                        others += bool(line.strip())
                        clocks |= match is not None and match[2].endswith(("GGA", "GLL", "GNS"))
                        continue
                    dated += 1
                    if len(fields) < _FIELDS:
                        account.unreadable[BROKEN] += 1
                        continue
                    yield position_of(fields)
        if clocks and not dated:
            raise InputError(
                f"the positions of {path.name} have a clock time and no date (no RMC sentence, no GGA with "
                "ZDA); put the date of its first line above it, as in $GPZDA,000000,31,12,2024,,"
            )
        if others:
            text = "{number} lines of {file} are no sentences of position and date, and were left out"
            account.notes.append(say("reading.no_rmc", text, number=f"{others:,}", file=path.name))

    return table_of_rows(path, ("datetime", "lat", "lon"), read, settings={"time_zone": "UTC"})


def _dated(
    matches: Sequence[re.Match[str] | None], latest: datetime | None
) -> tuple[list[list[str] | None], datetime | None]:
    """Each sentence of a dated position as fields of RMC, empty if broken, and the last moment."""
    kinds = [match[2][-3:] if match else "" for match in matches]
    whole = [match[3].split(",") if match and _is_whole(match) else [] for match in matches]
    if "RMC" in kinds:
        return [fields if kind == "RMC" else None for kind, fields in zip(kinds, whole, strict=True)], latest
    days = [_moment_of(fields) if kind == "ZDA" else None for kind, fields in zip(kinds, whole, strict=True)]
    ahead: list[datetime | None] = [None]  # the next of these days, from each sentence on
    for day in reversed(days):
        ahead.append(day or ahead[-1])
    sentences: list[list[str] | None] = []
    for kind, fields, day, following in zip(kinds, whole, days, ahead[:0:-1], strict=True):
        latest = day or latest
        if kind != "GGA" or not (latest or following):
            sentences.append(None)
            continue
        moment = _moment_at("".join(fields[:1]), latest, following)
        status = "V" if fields[5:6] in ([], [""], ["0"]) else "A"
        date = f"{moment:%d%m%y}" if moment else ""
        sentences.append([*fields[:1], status, *fields[1:5], "", "", date])
        latest = moment or latest
    return sentences, latest


def _moment_of(zda: Sequence[str]) -> datetime | None:
    with suppress(ValueError, IndexError):
        day = datetime(int(zda[3]), int(zda[2]), int(zda[1]))
        if _CLOCK.match(zda[0]) and 1900 + _CENTURY_FROM <= day.year < 2000 + _CENTURY_FROM:
            return _first_after(zda[0], day)
    return None


def _moment_at(clock: str, latest: datetime | None, following: datetime | None) -> datetime | None:
    """By the next date within an hour, else onward from the last moment, else before the next date."""
    if not _CLOCK.match(clock):
        return None
    if following and (moment := _first_after(clock, following - _HOUR)) <= following + _HOUR:
        return moment
    start = latest - _HOUR if latest else following - _DAY if following else None
    return _first_after(clock, start) if start else None


def _first_after(clock: str, start: datetime) -> datetime:
    """The first moment with this clock from a moment on."""
    of_day = timedelta(hours=int(clock[:2]), minutes=int(clock[2:4]), seconds=int(clock[4:6]))
    moment = start.replace(hour=0, minute=0, second=0) + of_day
    return moment if moment >= start else moment + _DAY


def position_of(fields: Sequence[str]) -> tuple[str, str, str]:
    """Time, latitude and longitude of the fields of an RMC sentence; empty without a fix.

    Examples
    --------
    >>> position_of("123519,A,4807.038,N,01131.000,E,022.4,084.4,230394".split(","))
    ('1994-03-23T12:35:19Z', '48.1173', '11.516666667')
    """
    clock, status, lat, north, lon, east, _, _, date = fields[:_FIELDS]
    when = ""
    if re.fullmatch(r"\d{6}", date) and re.match(r"\d{6}", clock):
        year = int(date[4:]) + (1900 if int(date[4:]) >= _CENTURY_FROM else 2000)
        when = f"{year}-{date[2:4]}-{date[:2]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}Z"
    if status != "A":
        return when, "", ""
    return when, _degrees(lat, north, 2), _degrees(lon, east, 3)


def _degrees(text: str, side: str, digits: int) -> str:
    """4807.038 is 48 degrees and 7.038 minutes."""
    if side not in _SIGNS or not re.fullmatch(rf"\d{{{digits + 2}}}(\.\d*)?", text):
        return ""
    minutes = float(text[digits:])
    if minutes >= _MINUTES:
        return ""
    value = round(int(text[:digits]) + minutes / _MINUTES, 9)
    return f"{_SIGNS[side] * value:g}" if value == int(value) else f"{_SIGNS[side] * value:.9f}".rstrip("0")


def _is_whole(match: re.Match[str]) -> bool:
    return match[4] is None or ais_files.is_checksum_right(f"{match[2]},{match[3]}", match[4])
