r"""Sentences of ships (``!AIVDM,...``) as receivers log them, through pyais (extra ``vehicles``).

Only the receiver's time stamp has the date: in a tag block (``\c:1714564800*hh\``), before the sentence, or
behind it. A message has the time of its first sentence. The person is the ship, by its MMSI.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from shoal.errors import InputError, requiring_extra
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

BROKEN: Final = say("row.broken_ais", "AIS sentence with a wrong checksum, or cut")
INCOMPLETE: Final = say("row.incomplete_ais", "AIS message without all of its sentences")
_SENTENCE: Final = re.compile(
    r"!(?P<body>[A-Z]{2}VD[MO],(?P<count>\d),(?P<number>\d),(?P<group>\d*),(?P<channel>[^,]*),"
    r"(?P<payload>[0-W`-w]*),[0-5])\*(?P<sum>[0-9A-Fa-f]{2})"
)
_LOOKS: Final = re.compile(rb"![A-Z]{2}VD[MO],\d,\d,")
_DECODED: Final = re.compile(rb"(?i)\blat(itude)?\b")
_TAGS: Final = re.compile(r"\\([^\\*]*)\*([0-9A-Fa-f]{2})\\")
_TAG_TIME: Final = re.compile(r"(?:^|,)c:(\d{9,13})(?:,|$)")
_SECONDS: Final = re.compile(r"\d{9,11}(?:\.\d+)?|\d{12,13}")
_MILLISECONDS: Final = 12  # digits, from which on a count is one of milliseconds
_POSITIONS: Final = frozenset({1, 2, 3, 9, 18, 19, 27})  # of what moves: no base stations, no buoys
_SAMPLE_BYTES: Final = 1 << 13


@dataclass(kw_only=True)
class _Log:
    unreadable: Counter[str]
    waiting: dict[tuple[str, ...], tuple[str, list[str]]] = field(default_factory=dict)
    others: int = 0
    positions: int = 0
    timed: int = 0


def holds(path: Path) -> bool:
    """Whether a file begins like such a log."""
    sample = beginning_of(path, _SAMPLE_BYTES)
    first, _, _ = sample.partition(b"\n")
    decoded = b"!" not in first and _DECODED.search(first)  # a table, with the sentence beside its meaning
    return bool(_LOOKS.search(sample)) and not decoded


def open_table(path: Path, _reading: Reading) -> Table:
    """Positions of ships."""
    with requiring_extra("raw AIS sentences need pyais", "vehicles"):
        import pyais

    def read(account: Account) -> Iterator[Row]:
        log = _Log(unreadable=account.unreadable)
        damaged = f"{path.name} broke off while it was read; copy it again"
        with explain_damage(damaged, OSError), open_bytes(path) as file:
            yield from (row for line in file if (row := _row(line.decode("latin-1"), log, pyais)))
        for _, parts in log.waiting.values():
            log.unreadable[INCOMPLETE] += len(parts)
        if log.positions and not log.timed:
            raise InputError(
                f"none of the {log.positions:,} positions of {path.name} has a time; keep the receiver's "
                "time stamps, in tag blocks (\\c:...\\) or before each sentence"
            )
        if log.others:
            text = "{number} lines of {file} tell no position of a ship, and were left out"
            account.notes.append(say("reading.no_ship", text, number=f"{log.others:,}", file=path.name))

    names = ("mmsi", "datetime", "lat", "lon")
    return table_of_rows(path, names, read, owners=(), settings={"id": "mmsi"})


def _row(line: str, log: _Log, pyais: Any) -> tuple[str, ...] | None:
    match = _SENTENCE.search(line)
    if match is None or not is_checksum_right(match["body"], match["sum"]):
        if "VDM," in line or "VDO," in line:
            log.unreadable[BROKEN] += 1
        else:
            log.others += bool(line.strip())
        return None
    when, parts = _receiver_time(line, match), [match[0]]
    if match["count"] != "1":
        key = (match["body"][:5], match["count"], match["group"], match["channel"])
        if match["number"] == "1":
            _, lost = log.waiting.pop(key, ("", []))
            if lost:
                log.unreadable[INCOMPLETE] += len(lost)
            log.waiting[key] = (when, parts)
            return None
        first, before = log.waiting.pop(key, ("", []))
        if len(before) + 1 != int(match["number"]):
            log.unreadable[INCOMPLETE] += len(before) + 1
            return None
        when, parts = first or when, [*before, *parts]
        if match["number"] != match["count"]:
            log.waiting[key] = (when, parts)
            return None
    return _position(parts, when, log, pyais)


def _position(parts: Sequence[str], when: str, log: _Log, pyais: Any) -> tuple[str, ...] | None:
    payload = parts[0].split(",")[5]
    if not payload or _six_bits(payload[0]) not in _POSITIONS:
        log.others += len(parts)
        return None
    try:
        message = pyais.decode(*parts)
        mmsi, lat, lon = message.mmsi, message.lat, message.lon
    except (pyais.exceptions.AISBaseException, AttributeError, ValueError, IndexError):
        log.unreadable[BROKEN] += len(parts)
        return None
    log.positions += 1
    log.timed += bool(when)
    available = (
        lat is not None and lon is not None and abs(lat) <= 90 and abs(lon) <= 180
    )  # 91, 181: not available
    return (str(mmsi), when, repr(float(lat)), repr(float(lon))) if available else (str(mmsi), when, "", "")


def _six_bits(character: str) -> int:
    code = ord(character) - 48
    return code - 8 if code > 40 else code


def _receiver_time(line: str, match: re.Match[str]) -> str:
    before = line[: match.start()]
    for tags in _TAGS.finditer(before):
        stamp = _TAG_TIME.search(tags[1])
        if stamp and is_checksum_right(tags[1], tags[2]):
            return _moment(stamp[1])
    ahead = _TAGS.sub("", before).strip(" \t,;|\"'")
    if ahead:
        return _moment(ahead)
    after = line[match.end() :].strip().rpartition(",")[2].strip()
    return _moment(after) if _SECONDS.fullmatch(after) else ""


def _moment(text: str) -> str:
    if not _SECONDS.fullmatch(text):
        return text
    seconds = float(text) / (1000 if len(text.partition(".")[0]) >= _MILLISECONDS else 1)
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def is_checksum_right(text: str, expected: str) -> bool:
    """Whether the exclusive or of all characters is as expected."""
    total = 0
    for character in text:
        total ^= ord(character)
    return total == int(expected, 16)
