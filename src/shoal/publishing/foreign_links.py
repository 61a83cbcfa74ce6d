"""How coarse the values of a published file are, and which person of the raw data each of its records is.

A rounded value may be the start, end or middle of its range: the reading with most true rows is taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final, Literal

import numpy as np

from shoal.errors import InputError
from shoal.io.columns.cell_codes import h3_numbers
from shoal.io.columns.cell_positions import prepare_table
from shoal.io.columns.column_names import find_columns
from shoal.io.columns.time_text import SECOND
from shoal.io.columns.value_ranges import Axis
from shoal.io.columns.values import Names
from shoal.io.foreign import Foreign
from shoal.io.sources.openers import openers
from shoal.kernels.box_measures import OwnedSamples, find_top_subjects
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, transform
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Floats, Integers, offsets_of
from shoal.units import percent, show_m, show_s
from shoal.verification.boxes.loops import Samples

Meaning = Literal["itself", "from", "around", "up to"]
"""What a single value stands for: itself, or a range that begins at, is around, or ends at it."""

WORDS: Final = {
    "from": "the range that begins at it",
    "around": "the range around it",
    "up to": "the range that ends at it",
}
_SURE: Final = 0.95  # a share of rows with a raw sample at which values are exact
_FITS: Final = 0.5
_ROWS: Final = 1000
_LOOKS: Final = 2e7  # raw samples to examine at most
_NICE_S: Final = (
    86_400, 43_200, 28_800, 21_600, 14_400, 10_800, 7_200, 3_600, 1_800, 1_200, 900, 600, 300, 120, 60, 30,
    20, 15, 10, 5, 2, 1,
)  # fmt: skip
_MANY: Final = 8  # distinct values that are enough to take their least distance as the step
_TINY: Final = 1e-9
_SLACK: Final = 1e-6
_METERS_PER_DEGREE: Final = 111_195.0


@dataclass(frozen=True, eq=False, kw_only=True)
class RawSamples:
    """The raw samples in a file's units."""

    offsets: Integers  # int64 [subjects + 1]
    t: Floats  # seconds
    first: Floats  # first, second: as the file's axes
    second: Floats

    @property
    def subject(self) -> Integers:
        """int64 [m]: each sample's subject."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def widen_ranges(published: Foreign, samples: RawSamples) -> tuple[Foreign, tuple[str, ...], bool]:
    """The file with rounded values as ranges, notes, and whether there is any range."""
    t_step = _time_step(published.t, samples.t)
    steps = [
        _space_step(axis, raw) if published.places != "h3" else 0.0
        for axis, raw in ((published.first, samples.first), (published.second, samples.second))
    ]
    step = min(steps) if all(steps) else 0.0
    if not t_step and not step:
        return published, (), False
    ways_t: tuple[Meaning, ...] = ("itself", "from", "around", "up to") if t_step else ("itself",)
    ways_s: tuple[Meaning, ...] = ("itself", "around", "from", "up to") if step else ("itself",)
    rows = _rows_to_try(published, samples)
    best: tuple[Meaning, Meaning] = ("itself", "itself")
    share = -1.0
    for way in sorted(product(ways_t, ways_s), key=lambda way: sum(one != "itself" for one in way)):
        share_so = _share_with_sample(_widen(published, way, t_step, step), samples, rows)
        if share_so > share + (0.0 if share < 0 else 0.002):
            best, share = way, share_so
        if share_so >= _SURE:
            break
    notes = []
    if share < _FITS:
        notes.append(
            f"only {percent(share, 0)} of the rows hold a raw sample, however their values are read: places "
            "or times were moved, or RAW is other data"
        )
    for which, unit, width in zip(best, ("time", "place"), (t_step, step), strict=True):
        if which != "itself":
            size = show_s(width) if unit == "time" else show_m(width)
            if unit == "place" and published.places != "meters":
                size = f"{width:g} degrees ({show_m(width * _METERS_PER_DEGREE)} north-south)"
            notes.append(f"each {unit} is a multiple of {size} and is taken as {WORDS[which]}")
    ranges = _widen(published, best, t_step, step)
    return ranges, tuple(notes), best != ("itself", "itself")


def _time_step(axis: Axis, raw: Floats) -> float:
    """0 unless longer than in the raw data."""
    single = np.unique(axis.low[axis.single & np.isfinite(axis.low)])
    if len(single) < 2:
        return 0.0

    def longest(values: Floats) -> float:
        ticks = np.rint(values * SECOND).astype(np.int64)
        return next((float(nice) for nice in _NICE_S if not (ticks % (nice * SECOND)).any()), 0.0)

    step = longest(single)
    return step if step > longest(np.unique(raw)) else 0.0


def _space_step(axis: Axis, raw: Floats) -> float:
    single = np.unique(axis.low[axis.single & np.isfinite(axis.low)])
    if not len(single):
        return 0.0
    step, raw_step = _common_step(single), _common_step(np.unique(raw))
    return step if step > raw_step * (1 + _SLACK) else 0.0


def _common_step(values: Floats) -> float:
    gaps = np.diff(values)
    if len(values) >= _MANY:
        least = float(gaps.min())
        places = (values - values[0]) / least
        if least > _TINY and (np.abs(places - np.rint(places)) < 1e-3).all():
            return least
    for decimals in range(9):
        if (
            np.abs(values * 10**decimals - np.rint(values * 10**decimals)) < 1e-6 * 10 ** max(0, decimals - 6)
        ).all():
            return float(10.0**-decimals)
    return 0.0


def _widen(published: Foreign, way: tuple[Meaning, Meaning], t_step: float, step: float) -> Foreign:
    return replace(
        published,
        t=_widen_axis(published.t, way[0], t_step),
        first=_widen_axis(published.first, way[1], step),
        second=_widen_axis(published.second, way[1], step),
    )


def _widen_axis(axis: Axis, stands: Meaning, step: float) -> Axis:
    if stands == "itself" or not step:
        return axis
    below, above = {"from": (0.0, 1.0), "around": (0.5, 0.5), "up to": (1.0, 0.0)}[stands]
    slack = step * _SLACK  # a value in the middle of two may be rounded to either
    low = axis.low - below * step - slack * (below > 0)
    high = axis.high + above * step + slack * (above < 1)
    return Axis(low=np.where(axis.single, low, axis.low), high=np.where(axis.single, high, axis.high))


def _rows_to_try(published: Foreign, samples: RawSamples) -> Integers:
    rows = np.linspace(0, published.n_rows - 1, min(published.n_rows, _ROWS)).astype(np.int64)
    clock = np.sort(samples.t)
    low, high = published.t.low[rows], published.t.high[rows]
    nearby = np.searchsorted(clock, high + 86_400, side="right") - np.searchsorted(clock, low - 86_400)
    affordable = max(20, int(_LOOKS / 16 / max(float(nearby.mean()), 1.0)))
    return rows[:: max(1, len(rows) // affordable)]


def _share_with_sample(published: Foreign, samples: RawSamples, rows: Integers) -> float:
    order = np.argsort(samples.t, kind="stable")
    clock, first, second = samples.t[order], samples.first[order], samples.second[order]
    t, x, y = (closed(axis) for axis in (published.t, published.first, published.second))
    hits = 0
    for row in rows.tolist():
        begin, end = np.searchsorted(clock, (t.low[row], t.high[row]))
        inside: Flags = (first[begin:end] >= x.low[row]) & (first[begin:end] < x.high[row])
        inside &= (second[begin:end] >= y.low[row]) & (second[begin:end] < y.high[row])
        hits += bool(inside.any())
    return hits / len(rows)


def closed(axis: Axis) -> Axis:
    """Single values as the shortest ranges that hold them."""
    return Axis(low=axis.low, high=np.where(axis.single, np.nextafter(axis.high, np.inf), axis.high))


_NAMED: Final = 32  # equally likely people considered per record
_WIDER: Final = ((0.0, 0.0), (200.0, 600.0), (1_000.0, 1_800.0), (5_000.0, 7_200.0))  # meters and seconds
_ENOUGH: Final = 0.9


@dataclass(frozen=True, eq=False, kw_only=True)
class PersonLinks:
    """The person of each record."""

    person_of: Integers  # int64 [records], -1 = none
    true: bool  # whether the links were given, and not found by content
    words: str  # where they come from


def in_units_of(published: Foreign, original: Trajectories) -> RawSamples:
    """The raw samples in the file's units."""
    lon, lat = original.lon, original.lat
    if published.places == "meters":
        if published.crs is None and original.crs is not None:
            raise InputError(
                f"{published.name} gives x and y, and the raw data degrees; say with --file-crs which "
                "plane they are of"
            )
        if published.crs is not None and original.crs is None:
            raise InputError("the raw data is in meters of no known plane; give its --crs")
        x, y = original.x, original.y
        if published.crs is not None and original.crs is not None and published.crs != original.crs:
            x, y = transform(original.crs, published.crs, original.x, original.y)
        return RawSamples(offsets=original.offsets, t=original.t, first=x, second=y)
    if lon is None or lat is None:
        if original.crs is None:
            raise InputError(
                f"{published.name} gives degrees, and the raw data meters of no known plane; give its --crs"
            )
        lon, lat = transform(original.crs, WGS84, original.x, original.y)
    if published.places == "h3":
        lon, lat = h3_numbers(lat, lon, published.finest), np.zeros(len(lat))
    return RawSamples(offsets=original.offsets, t=original.t, first=lon, second=lat)


def rank_by_range_ends(published: Foreign, raw_samples: RawSamples) -> tuple[Boxes, Samples]:
    """Ranks among all ends of ranges on each axis; exact in any unit."""
    sides: list[Integers] = []
    raw: list[Integers] = []
    for axis, values in (
        (published.t, raw_samples.t),
        (published.first, raw_samples.first),
        (published.second, raw_samples.second),
    ):
        ranges = closed(axis)
        ends = np.unique(np.concatenate([ranges.low, ranges.high]))
        sides += [np.searchsorted(ends, side).astype(np.int64) for side in (ranges.low, ranges.high)]
        raw.append((np.searchsorted(ends, values, side="right") - 1).astype(np.int64))
    t_start, t_end, x_min, x_max, y_min, y_max = sides
    samples = Samples(offsets=raw_samples.offsets, t=raw[0], x=raw[1], y=raw[2])
    return Boxes(t_start=t_start, t_end=t_end, x_min=x_min, y_min=y_min, x_max=x_max, y_max=y_max), samples


def by_names(published: Foreign, ids: Sequence[str]) -> PersonLinks | None:
    """Link records with raw identifiers; None unless nearly all have."""
    place_of = {name: place for place, name in enumerate(ids)}
    person_of = np.array([place_of.get(name, -1) for name in published.records], dtype=np.int64)
    if not published.has_ids or (person_of >= 0).mean() < _ENOUGH:
        return None
    return PersonLinks(person_of=person_of, true=True, words="the records carry the raw identifiers")


def by_table(published: Foreign, ids: Sequence[str], path: Path) -> PersonLinks:
    """Link records by a table of person (uid) and record."""
    name, waiting = openers(path, Reading())
    table = waiting[0]()
    lower = {column.strip().lower(): column for column in table.columns}
    own_id = published.columns.get("id", "").lower()
    who = next(
        (lower[one] for one in ("uid", "user_id", "person", "subject") if one in lower and one != own_id),
        None,
    )
    what = next(
        (lower[one] for one in ("trajectory_id", "record", own_id, "pseudonym") if one in lower), None
    )
    if who is None or what is None or len(waiting) > 1:
        raise InputError(
            f"{name} is no linkage: it needs the columns uid and trajectory_id (found: "
            f"{', '.join(table.columns[:20])})"
        )
    people, records = Names(), Names()
    pairs: list[tuple[str, str]] = []
    for _, batch in table.batches([who, what]):
        codes = people.codes(batch.column(who), who), records.codes(batch.column(what), what)
        pairs += [
            (people.texts[a], records.texts[b])
            for a, b in zip(*(code.tolist() for code in codes), strict=True)
            if a >= 0 and b >= 0
        ]
    person_at = {uid: place for place, uid in enumerate(ids)}
    person_of_name: dict[str, int] = {}
    for uid, record in pairs:
        person = person_at.get(uid, -1)
        if person_of_name.setdefault(record, person) != person:
            raise InputError(f"{name} gives a record two people; a record is of one")
    person_of = np.array([person_of_name.get(one, -1) for one in published.records], dtype=np.int64)
    if not (person_of >= 0).any():
        raise InputError(f"{name} links nobody of the raw data to a record of {published.name}")
    return PersonLinks(person_of=person_of, true=True, words=f"told by {name}")


def row_by_row(published: Foreign, ids: Sequence[str], raw: object, reading: Reading) -> PersonLinks:
    """Link records by row: row i was made from row i."""
    people = Names()
    codes = []
    name, waiting = openers(raw, reading)
    for opener in waiting:
        table, filled = prepare_table(opener(), reading)
        column = find_columns(table, filled).person
        codes += [people.codes(batch.column(column), column) for _, batch in table.batches([column])]
    rows = np.concatenate(codes) if codes else np.empty(0, dtype=np.int32)
    if len(rows) != published.n_rows + published.unreadable or published.unreadable:
        raise InputError(
            f"{published.name} has {published.n_rows + published.unreadable:,} rows and {name} has "
            f"{len(rows):,}; row by row, there must be as many, and all readable"
        )
    person_at = {uid: place for place, uid in enumerate(ids)}
    place_of = np.array([*(person_at.get(text, -1) for text in people.texts), -1], dtype=np.int64)
    persons = place_of[rows]
    person_of = np.full(len(published.records), -1, dtype=np.int64)
    person_of[published.record] = persons
    if (person_of[published.record] != persons).any():
        raise InputError(
            f"rows of one record of {published.name} are of several people; leave out --row-by-row"
        )
    return PersonLinks(person_of=person_of, true=True, words="row by row, as the raw data")


def by_content(published: Foreign, raw_samples: RawSamples) -> PersonLinks:
    """Link records to people with samples in most rows; else within 5 km and 2 h."""
    n_people = len(raw_samples.offsets) - 1
    order = np.argsort(raw_samples.t, kind="stable")
    subject = raw_samples.subject[order]
    best: tuple[float, Integers, str] = (-1.0, np.full(len(published.records), -1, dtype=np.int64), "")
    for meters, seconds in _WIDER:
        if meters and published.places == "h3":
            break
        boxes, samples = rank_by_range_ends(_widen_all(published, meters, seconds), raw_samples)
        by_record = np.argsort(published.record, kind="stable")
        counts = np.bincount(published.record, minlength=len(published.records))
        offsets = offsets_of(counts)
        hits = np.zeros(len(counts), dtype=np.int64)
        named = np.full((len(counts), _NAMED), -1, dtype=np.int64)
        columns = np.ascontiguousarray(np.stack(boxes.columns(), axis=1)[by_record])
        at = OwnedSamples(samples.t[order], samples.x[order], samples.y[order], subject)
        find_top_subjects(offsets, columns, at, n_people, hits, named)
        fit = float(hits.sum() / max(counts.sum(), 1))
        where = f" within {meters:g} m and {seconds / 60:g} min" if meters else ""
        words = (
            f"found by content: {percent(fit, 0)} of the rows lie{where or ' where'} a person of the raw "
            "data was"
        )
        if fit > best[0] + 0.02:
            best = (fit, match_people(named, n_people), words)
        if fit >= _ENOUGH:
            break
    return PersonLinks(person_of=best[1], true=False, words=best[2])


def match_people(named: Integers, n_people: int) -> Integers:
    """int64 [r]: a candidate for as many records as possible, each person once (Kuhn 1955)."""
    owner = np.full(n_people, -1, dtype=np.int64)
    person_of = np.full(len(named), -1, dtype=np.int64)
    for start in np.argsort((named >= 0).sum(axis=1), kind="stable").tolist():
        came_from: dict[int, int] = {}
        waiting, free = [start], -1
        while waiting and free < 0:
            record = waiting.pop()
            for person in named[record][named[record] >= 0].tolist():
                if person in came_from:
                    continue
                came_from[person] = record
                if owner[person] < 0:
                    free = person
                    break
                waiting.append(int(owner[person]))
        while free >= 0:
            record = came_from[free]
            before = int(person_of[record])
            person_of[record], owner[free] = free, record
            free = before
    return person_of


def _widen_all(published: Foreign, meters: float, seconds: float) -> Foreign:
    if not meters:
        return published
    lows = published.second.low[np.isfinite(published.second.low)]
    lat = float(np.median(lows)) if len(lows) else 0.0
    by = (meters / _METERS_PER_DEGREE / max(np.cos(np.radians(lat)), 0.1), meters / _METERS_PER_DEGREE)
    if published.places == "meters":
        by = (meters, meters)
    axes = [
        Axis(low=axis.low - width, high=axis.high + width)
        for axis, width in zip((published.t, published.first, published.second), (seconds, *by), strict=True)
    ]
    return replace(published, t=axes[0], first=axes[1], second=axes[2])
