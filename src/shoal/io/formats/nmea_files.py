r"""NMEA 0183: positions of GPS receivers (RMC, or GGA with the date of ZDA) and of ships (AIS).

Of a GPS receiver the person is the file. Other sentences are left out with a note, wrong checksums counted.

Sentences of ships (``!AIVDM,...``) are read by pyais (extra ``vehicles``), which reads no RMC. Only their
receiver's time stamp has the date: in a tag block (``\c:1714564800*hh\``), before the sentence, or behind
it. A message has the time of its first sentence. The person is the ship, by its MMSI.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import islice
from operator import xor
from pathlib import Path
from typing import Final

from shoal.errors import InputError, requiring_extra
from shoal.io.formats.input_table import Account, Table
from shoal.io.formats.row_files import Row, beginning_of, explain_damage, open_bytes, table_of_rows
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
    """Whether a file begins with such a sentence, or like a log of those of ships."""
    return _holds_ships(path) or _SENTENCE.match(beginning_of(path, _LONGEST).decode("latin-1")) is not None


def open_table(path: Path, reading: Reading) -> Table:
    """Positions of one file; a part of it with RMC is read by these sentences alone."""
    if _holds_ships(path):
        return open_ships(path, reading)
    damaged = f"{path.name} broke off while it was read; copy it again"

    def read(account: Account) -> Iterator[Row]:
        number, others, dated, clocks = 0, 0, 0, False
        latest: datetime | None = None
        with explain_damage(damaged), open_bytes(path) as file:
            while lines := list(islice(file, _LINES)):
                matches = [_SENTENCE.search(line.decode("latin-1")) for line in lines]
                sentences, latest = _dated(matches, latest)
                for line, match, fields in zip(lines, matches, sentences, strict=True):
                    number += 1
                    if fields is None:
                        others += bool(line.strip())
                        clocks |= match is not None and match[2].endswith(("GGA", "GLL", "GNS"))
                        continue
                    dated += 1
                    if len(fields) < _FIELDS:
                        account.leave_out(BROKEN, number)
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
    whole = [
        match[3].split(",") if match and _is_checksum_right(f"{match[2]},{match[3]}", match[4]) else []
        for match in matches
    ]
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
    """Time, latitude and longitude of the fields of an RMC sentence; empty without a fix."""
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


BROKEN_AIS: Final = say("row.broken_ais", "AIS sentence with a wrong checksum, or cut")
INCOMPLETE: Final = say("row.incomplete_ais", "AIS message without all of its sentences")
_SHIP_SENTENCE: Final = re.compile(
    r"!(?P<body>[A-Z]{2}VD[MO],(?P<count>\d),(?P<number>\d),(?P<group>\d*),(?P<channel>[^,]*),"
    r"(?P<payload>[0-W`-w]*),[0-5])\*(?P<sum>[0-9A-Fa-f]{2})"
)
_LOOKS: Final = re.compile(rb"![A-Z]{2}VD[MO],\d,\d,")
_DECODED: Final = re.compile(rb"(?i)\blat(itude)?\b")
_TAGS: Final = re.compile(r"\\([^\\*]*)\*([0-9A-Fa-f]{2})\\")
_TAG_TIME: Final = re.compile(r"(?:^|,)c:(\d{9,13})(?:,|$)")
_SECONDS: Final = re.compile(r"\d{9,11}(?:\.\d+)?|\d{12,13}")
_MILLISECONDS: Final = 12  # digits, from which on a count is one of milliseconds
_POSITIONS: Final = frozenset("1239BCK")  # beginnings of messages of what moves: no base stations, no buoys
_SAMPLE_BYTES: Final = 1 << 13


def _holds_ships(path: Path) -> bool:
    """Whether a file begins like such a log."""
    sample = beginning_of(path, _SAMPLE_BYTES)
    first, _, _ = sample.partition(b"\n")
    decoded = b"!" not in first and _DECODED.search(first)  # a table, with the sentence beside its meaning
    return bool(_LOOKS.search(sample)) and not decoded


def open_ships(path: Path, _reading: Reading) -> Table:
    """Positions of ships."""
    with requiring_extra("raw AIS sentences need pyais", "vehicles"):
        import pyais

    def read(account: Account) -> Iterator[Row]:
        others = positions = timed = 0
        damaged = f"{path.name} broke off while it was read; copy it again"
        with explain_damage(damaged, OSError), open_bytes(path) as file:
            for number, parts, when in _messages(file, account):
                if not parts or parts[0].split(",")[5][:1] not in _POSITIONS:
                    others += max(len(parts), 1)
                    continue
                try:
                    message = pyais.decode(*parts)
                    mmsi, lat, lon = message.mmsi, message.lat, message.lon
                except (pyais.exceptions.AISBaseException, AttributeError, ValueError, IndexError):
                    account.leave_out(BROKEN_AIS, number, len(parts))
                    continue
                positions += 1
                timed += bool(when)
                is_known = lat is not None and lon is not None and abs(lat) <= 90 and abs(lon) <= 180
                yield str(mmsi), when, *(map(repr, (float(lat), float(lon))) if is_known else ("", ""))
        if positions and not timed:
            raise InputError(
                f"none of the {positions:,} positions of {path.name} has a time; keep the receiver's "
                "time stamps, in tag blocks (\\c:...\\) or before each sentence"
            )
        if others:
            text = "{number} lines of {file} tell no position of a ship, and were left out"
            account.notes.append(say("reading.no_ship", text, number=f"{others:,}", file=path.name))

    names = ("mmsi", "datetime", "lat", "lon")
    return table_of_rows(path, names, read, owners=(), settings={"id": "mmsi"})


def _messages(file: Iterable[bytes], account: Account) -> Iterator[tuple[int, list[str], str]]:
    """The first line, sentences and receiver's time of each message; of other lines without sentences."""
    waiting: dict[tuple[str, ...], tuple[int, list[str], str]] = {}
    for number, line in enumerate((line.decode("latin-1") for line in file), start=1):
        match = _SHIP_SENTENCE.search(line)
        if match is None or not _is_checksum_right(match["body"], match["sum"]):
            if "VDM," in line or "VDO," in line:
                account.leave_out(BROKEN_AIS, number)
            elif line.strip():
                yield number, [], ""
            continue
        first, parts, when = number, [match[0]], _receiver_time(line, match)
        if match["count"] != "1":
            key = (match["body"][:5], match["count"], match["group"], match["channel"])
            begun, before, began = waiting.pop(key, (number, [], ""))
            lost = before
            if match["number"] != "1":
                first, parts, when = begun, [*before, *parts], began or when
                lost = parts if len(parts) != int(match["number"]) else []
            if lost:
                account.leave_out(INCOMPLETE, begun, len(lost))
            if lost is parts:
                continue
            if match["number"] != match["count"]:
                waiting[key] = first, parts, when
                continue
        yield first, parts, when
    for first, parts, _ in waiting.values():
        account.leave_out(INCOMPLETE, first, len(parts))


def _receiver_time(line: str, match: re.Match[str]) -> str:
    before = line[: match.start()]
    for tags in _TAGS.finditer(before):
        stamp = _TAG_TIME.search(tags[1])
        if stamp and _is_checksum_right(tags[1], tags[2]):
            return _stamp(stamp[1])
    ahead = _TAGS.sub("", before).strip(" \t,;|\"'")
    if ahead:
        return _stamp(ahead)
    after = line[match.end() :].strip().rpartition(",")[2].strip()
    return _stamp(after) if _SECONDS.fullmatch(after) else ""


def _stamp(text: str) -> str:
    if not _SECONDS.fullmatch(text):
        return text
    seconds = float(text) / (1000 if len(text.partition(".")[0]) >= _MILLISECONDS else 1)
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _is_checksum_right(text: str, expected: str | None) -> bool:
    """Whether the exclusive or of all characters is as expected, if anything is."""
    return expected is None or reduce(xor, text.encode("latin-1"), 0) == int(expected, 16)
