"""A slow and obvious reader: plain Python over rows, its own call of pyproj.

Shares only the meaning of the account.
"""

import csv
import gzip
import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from pyproj import Transformer

from shoal.model.trajectories import Trajectories

NOT_AFTER_S = 1_900_000_000


@dataclass
class Expected:
    """What should come out: samples of each subject, rows by reason, subjects by first appearance."""

    rows_read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    samples: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    out_of_order: int = 0
    naive: int = 0
    zoned: int = 0
    positions: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """One cleaned cell each: None = empty or unreadable."""

    who: str | None
    t_s: Fraction | None
    lat: float | None
    lon: float | None
    zone: str = ""


def expect(
    rows: Sequence[Row], crs: str | None, *, cell_m: float = 100.0, slot_s: int = 60, broken: int = 0
) -> Expected:
    """Walk through the rows, one at a time. crs: the plane of the result."""
    found = Expected(rows_read=len(rows) + broken)
    if broken:
        found.dropped["line with the wrong number of fields"] = broken
    rows = _wrapped(rows)
    latest: dict[str, Fraction] = {}
    good: list[tuple[str, Fraction, float, float]] = []
    for row in rows:
        found.naive += row.zone == "naive" and row.t_s is not None
        found.zoned += row.zone == "zoned" and row.t_s is not None
        reason = _fault(row)
        if reason:
            found.dropped[reason] += 1
            continue
        assert row.who is not None
        assert row.t_s is not None
        assert row.lat is not None
        assert row.lon is not None
        found.out_of_order += row.t_s < latest.get(row.who, row.t_s)
        latest[row.who] = row.t_s
        good.append((row.who, row.t_s, row.lon, row.lat))
        found.positions.append((row.lon, row.lat))
    project = Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform if crs else None
    for who, t_s, lon, lat in good:
        x, y = project(lon, lat) if project else (lon, lat)
        sample = (math.floor(t_s / slot_s), math.floor(x / cell_m), math.floor(y / cell_m))
        own = found.samples.setdefault(who, [])
        if sample in own:
            slot = "minute" if slot_s == 60 else "time slot"
            found.dropped[f"same person, cell and {slot} after rounding"] += 1
        else:
            own.append(sample)
    return found


def _wrapped(rows: Sequence[Row]) -> Sequence[Row]:
    """Longitudes from 180 to 360 less 360, where all sound rows are on one side of 0."""
    far = "longitude outside -180..180"
    lons = [row.lon or 0 for row in rows if _fault(row) in {"", far, "position (0, 0)"}]
    if min(lons, default=0) < 0 < max(lons, default=0):
        return rows
    return [
        replace(row, lon=row.lon - math.copysign(360, row.lon))
        if row.lon is not None and _fault(row) == far and abs(row.lon) <= 360
        else row
        for row in rows
    ]


def _fault(row: Row) -> str:
    checks = [
        ("empty id", not row.who),
        ("empty or unreadable time", row.t_s is None),
        ("time before 1970", row.t_s is not None and row.t_s < 0),
        ("time in the future", row.t_s is not None and row.t_s > NOT_AFTER_S),
        ("empty or unreadable coordinate", row.lat is None or row.lon is None),
        (
            "coordinate not finite",
            not all(value is not None and math.isfinite(value) for value in (row.lat, row.lon)),
        ),
        ("latitude outside -90..90", abs(row.lat or 0) > 90),
        ("longitude outside -180..180", abs(row.lon or 0) > 180),
        ("position (0, 0)", row.lat == 0 and row.lon == 0),
    ]
    return next((reason for reason, fault in checks if fault), "")


def rows_of_csv(path: Path, delimiter: str) -> tuple[list[Row], int]:
    """The rows of a file with the columns id, time, lat, lon, and how many lines are broken."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    header, *lines = [
        line for line in csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter) if line
    ]
    whole = [line for line in lines if len(line) == len(header)]
    return [_row(*(cell.strip() for cell in line)) for line in whole], len(lines) - len(whole)


def _row(who: str, time: str, lat: str, lon: str) -> Row:
    moment, zone = _moment(time)
    return Row(who, moment, _number(lat), _number(lon), zone)


def _moment(text: str) -> tuple[Fraction | None, str]:
    try:
        moment = datetime.fromisoformat(text.replace("/", "-"))
    except ValueError:
        return None, ""
    zone = "naive" if moment.tzinfo is None else "zoned"
    since = (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment) - datetime(
        1970, 1, 1, tzinfo=UTC
    )
    return Fraction(since.days * 86400 + since.seconds) + Fraction(since.microseconds, 1_000_000), zone


def _number(text: str) -> float | None:
    """In degrees a comma between digits is a decimal one."""
    try:
        return float(text.replace(",", ".") if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) else text)
    except ValueError:
        return None


def assert_as_expected(read: Trajectories, expected: Expected) -> None:
    """Same samples, same account, same order of first appearance."""
    got = {
        subject: list(zip(*(column.tolist() for column in columns), strict=True))
        for subject, columns in zip(read.ids, read, strict=True)
    }
    assert got == {who: sorted(samples) for who, samples in expected.samples.items()}
    assert list(read.ids) == sorted(expected.samples)
    assert read.input_rank is not None
    assert [subject for _, subject in sorted(zip(read.input_rank.tolist(), read.ids, strict=True))] == list(
        expected.samples
    )
    assert dict(read.intake.dropped) == {reason: rows for reason, rows in expected.dropped.items() if rows}
    assert read.intake.rows_read == expected.rows_read == read.n_samples + sum(read.intake.dropped.values())
    assert read.intake.repaired.get("rows out of time order", 0) == expected.out_of_order
    assert read.intake.repaired.get("time without a zone taken as UTC", 0) == expected.naive
