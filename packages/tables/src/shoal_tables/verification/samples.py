"""The samples of units: local date and minute, zone, unit and piece of each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from shoal.errors import InputError
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.model.people_on_disk import StoredPeople
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.units import DAY_S
from shoal_tables.definition.manifest import TableManifest
from shoal_tables.verification.zones import zone_of_points

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC).date()
_QUARTER_S: Final = 900
_SAMPLES: Final = 2_000_000


@dataclass(frozen=True)
class Samples:
    """Samples of the period by unit and time [m]: seconds, meters, zone or -1, local date and minute."""

    t: Integers
    x: Integers
    y: Integers
    zone: Integers
    date: Integers
    minute: Integers
    unit: Integers
    piece: Integers


def days_since_1970(day: Any) -> int:
    """The number of a date."""
    return int((day - EPOCH).days)


@contextmanager
def people_on_disk(raw: Any, reading: Reading, run: Run) -> Iterator[StoredPeople]:
    """Sort the raw data into a temporary folder, so that few people at a time are in memory."""
    with TemporaryDirectory(prefix="shoal-") as scratch:
        yield store_people(raw, reading, Path(scratch) / "people", run)


def samples_in_parts(
    people: StoredPeople, manifest: TableManifest, names: tuple[str, ...], geometries: list[Any]
) -> Iterator[Samples]:
    """Yield the samples of some people after those of others, each person's together."""
    first, ends = 0, np.cumsum(people.lengths)
    while first < people.n_subjects:
        target = ends[first] - people.lengths[first] + _SAMPLES
        last = max(int(np.searchsorted(ends, target, side="right")), first + 1)
        yield _samples(people.load(np.arange(first, last)), manifest, names, geometries)
        first = last


def _samples(
    original: Trajectories, manifest: TableManifest, names: tuple[str, ...], geometries: list[Any]
) -> Samples:
    t = original.t.astype(np.int64)
    person = np.repeat(np.arange(original.n_subjects), np.diff(original.offsets))
    local = t + _offset_s(t, manifest.reading.get("time_zone"))
    date, minute = local // DAY_S, local % DAY_S // 60
    begin, end = days_since_1970(manifest.first_day), days_since_1970(manifest.last_day)
    used = np.flatnonzero((date >= begin) & (date <= end))
    t, person, date, minute = t[used], person[used], date[used], minute[used]
    x, y = original.x[used].astype(np.int64), original.y[used].astype(np.int64)
    same_unit = person[1:] == person[:-1]
    if manifest.unit == "person-day":
        same_unit &= date[1:] == date[:-1]
    same_piece = same_unit & (np.diff(t) <= manifest.longest_gap_s)
    return Samples(
        t=t,
        x=x,
        y=y,
        zone=zone_of_points(x, y, manifest, names, geometries),
        date=date,
        minute=minute,
        unit=_numbered(same_unit, len(t)),
        piece=_numbered(same_piece, len(t)),
    )


def _numbered(same: Any, n: int) -> Integers:
    return np.concatenate([[0], np.cumsum(~same)])[:n].astype(np.int64)


def _offset_s(t: Integers, zone: str | None) -> Integers:
    """The offset of local time from UTC; it changes within a quarter of an hour for few zones, long ago."""
    if zone is None:
        return np.zeros(len(t), dtype=np.int64)
    try:
        local = ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        raise InputError("manifest.json states a time zone that this machine does not know") from error

    def offset(second: int) -> int:
        shift = datetime.fromtimestamp(second, tz=local).utcoffset()
        return 0 if shift is None else int(shift.total_seconds())

    quarters, back = np.unique(t // _QUARTER_S, return_inverse=True)
    begins = np.array([offset(one * _QUARTER_S) for one in quarters.tolist()], dtype=np.int64)
    ends = np.array([offset(one * _QUARTER_S + _QUARTER_S - 1) for one in quarters.tolist()], dtype=np.int64)
    starts = begins[back.ravel()]
    for sample in np.flatnonzero((begins != ends)[back.ravel()]).tolist():
        starts[sample] = offset(int(t[sample]))
    return starts
