"""What people contribute, beside plain loops that follow README.md, "Meaning"."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import groupby, pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from shoal import Grid, Trajectories
from shoal.runtime.arrays import Integers
from shoal_tables import Rules, days_of, hours_of
from shoal_tables.definition.manifest import STAY_STARTS_S, STAYS, Kind, Promise, Totals, Trips, Unit, Zones
from shoal_tables.making.contributions import clip, tally
from shoal_tables.making.zones import ZoneSet

Sample = tuple[int, int, int, datetime]
Pieces = list[list[Sample]]

FIRST, LAST = date(2024, 3, 29), date(2024, 4, 2)  # a change of clocks and a holiday lie within
CALENDAR = {date(2024, 4, 1): "holiday"}
PARIS = "Europe/Paris"
SIDE, COLUMNS, ROWS = 500, 3, 2
STAY = Trips(definition="stays", radius_m=300, least_s=1200)
ZONES = ZoneSet(
    statement=Zones(kind="grid", n_zones=6, crs=None, side_m=SIDE, x0=-100, y0=0, columns=COLUMNS, rows=ROWS),
    plane=None,
    names=tuple(f"r{row}c{column}" for row in range(ROWS) for column in range(COLUMNS)),
    shapes=np.array([shapely.box(0, 0, 1, 1)] * 6),
)


def people_of(rows: list[tuple[int, int, int, int]]) -> Trajectories:
    """Rows of person, seconds, x and y."""
    who, t, x, y = zip(*sorted(set(rows)), strict=True)
    return Trajectories.from_rows([f"p{one:03}" for one in who], t, x, y, grid=Grid(cell_m=1.0, slot_s=1.0))


def zone_at(x: int, y: int) -> str | None:
    column, row = (x + 100) // SIDE, y // SIDE
    return f"r{row}c{column}" if 0 <= column < COLUMNS and 0 <= row < ROWS else None


def vectors(people: Trajectories, rules: Rules) -> list[dict[tuple[str, ...], Fraction]]:
    """Each unit's contribution, by loops."""
    units = defaultdict(list)
    for person, (ts, xs, ys) in enumerate(people):
        for t, x, y in zip(ts.tolist(), xs.tolist(), ys.tolist(), strict=True):
            local = datetime.fromtimestamp(t, UTC).astimezone(ZoneInfo(rules.time_zone))
            if local.date() in rules.day_of:
                units[person, local.date() if rules.unit == "person-day" else None].append((t, x, y, local))
    dates = Counter(rules.day_of.values())
    contributed = []
    for samples in units.values():
        pieces = [[samples[0]]]
        for before, after in pairwise(samples):
            if after[0] - before[0] > rules.longest_gap_s:
                pieces.append([])
            pieces[-1].append(after)
        counter: Counter[tuple[str, ...]] = Counter()
        for cell in {"presence": presence, "flows": flows, "dwell": dwell, "homes": homes}[rules.table](
            pieces, rules
        ):
            counter[cell] += 1
        contributed.append(
            {
                cell: Fraction(c, 1 if rules.table == "homes" else dates[cell[-1]])
                for cell, c in counter.items()
            }
        )
    return contributed


def hour_of(local: datetime, rules: Rules) -> str | None:
    minute = local.hour * 60 + local.minute
    for label, (begin, end) in zip(rules.labels()["hour"], rules.hours, strict=True):
        if begin <= minute < end:
            return label
    return None


def presence(pieces: Pieces, rules: Rules) -> Iterator[tuple[str, ...]]:
    seen = {
        (local.date(), zone_at(x, y), hour_of(local, rules)) for piece in pieces for _, x, y, local in piece
    }
    for day, zone, hour in seen:
        if zone and hour:
            yield zone, hour, rules.day_of[day]


def flows(pieces: Pieces, rules: Rules) -> Iterator[tuple[str, ...]]:
    for piece in pieces:
        places = [(zone_at(x, y), local) for _, x, y, local in piece]
        stops = [(zone, local) for zone, local in places]
        if rules.trips.definition == "stays":
            stops = []
            groups = [[piece[0]]]
            for sample in piece[1:]:
                anchor = groups[-1][0]
                if math.hypot(sample[1] - anchor[1], sample[2] - anchor[2]) > (rules.trips.radius_m or 0):
                    groups.append([])
                groups[-1].append(sample)
            for group in groups:
                if group[-1][0] - group[0][0] >= (rules.trips.least_s or 0):
                    stops.append((zone_at(group[0][1], group[0][2]), group[-1][3]))
        for (origin, begin), (destination, _) in pairwise(stops):
            hour = hour_of(begin, rules)
            if origin and destination and origin != destination and hour:
                yield origin, destination, hour, rules.day_of[begin.date()]


def dwell(pieces: Pieces, rules: Rules) -> Iterator[tuple[str, ...]]:
    longest: dict[tuple[date, str], int] = {}
    for piece in pieces:
        for zone, run in groupby(piece, key=lambda sample: zone_at(sample[1], sample[2])):
            visit = list(run)
            if zone:
                key = visit[0][3].date(), zone
                longest[key] = max(longest.get(key, 0), visit[-1][0] - visit[0][0])
    for (day, zone), seconds in longest.items():
        place = max(index for index, start in enumerate(STAY_STARTS_S) if seconds >= start)
        yield zone, STAYS[place], rules.day_of[day]


def homes(pieces: Pieces, rules: Rules) -> Iterator[tuple[str, ...]]:
    nights: dict[str, set[date]] = defaultdict(set)
    for piece in pieces:
        for _, x, y, local in piece:
            zone = zone_at(x, y)
            if zone and (local.hour >= 20 or local.hour < 6):
                nights[zone].add(local.date() - timedelta(days=local.hour < 6))
    if nights:
        most = max(map(len, nights.values()))
        yield (next(name for name in ZONES.names if len(nights.get(name, ())) == most),)


def limits_of(granularity: int, sensitivity: int, most: int) -> Promise:
    """A promise, as far as contributions depend on it."""
    totals = Totals.model_construct(most=most)
    return Promise.model_construct(granularity=granularity, sensitivity=sensitivity, totals=totals)


def clipped(vector: dict[tuple[str, ...], Fraction], limits: Promise) -> dict[tuple[str, ...], int]:
    """Clipped and rounded, with Python's integers."""
    granularity, sensitivity = limits.granularity, limits.sensitivity
    norm2 = sum(value**2 for value in vector.values())
    if norm2 * granularity**2 <= sensitivity**2:
        return {cell: math.floor(value * granularity) for cell, value in vector.items()}
    ratios = {cell: value**2 * sensitivity**2 / norm2 for cell, value in vector.items()}
    return {cell: math.isqrt(ratio.numerator // ratio.denominator) for cell, ratio in ratios.items()}


def random_people(seed: int) -> Trajectories:
    rng = np.random.default_rng(seed)
    start = int(datetime(2024, 3, 28, 12, tzinfo=UTC).timestamp())
    rows = []
    for person in range(12):
        t, x, y = start, 300, 300
        for _ in range(rng.integers(5, 120)):
            t += int(rng.choice([60, 600, 1800, 7200, 20000]))
            if rng.random() < 0.5:
                x, y = (int(v) for v in rng.integers(-300, 1500, 2))
            rows.append((person, t, x + int(rng.integers(-40, 40)), y))
    return people_of(rows)


@pytest.mark.parametrize("unit", ["person", "person-day"])
@pytest.mark.parametrize("days", ["each", "kinds", "typical", "workday"])
@pytest.mark.parametrize(
    ("table", "trips"),
    [("presence", STAY), ("flows", STAY), ("flows", None), ("dwell", STAY), ("homes", STAY)],
)
@pytest.mark.parametrize("bound", [0.4, 1.0, 50.0])
def test_counts_equal_those_of_plain_loops(
    table: Kind, trips: Trips | None, days: str, unit: Unit, bound: float
) -> None:
    if (table, unit) == ("homes", "person-day"):
        pytest.skip("homes have no days")
    day_of = {
        "each": days_of("each", FIRST, LAST),
        "kinds": days_of("kinds", FIRST, LAST, CALENDAR),
        "typical": days_of("typical", FIRST, LAST),
        "workday": days_of("workday", FIRST, LAST, CALENDAR),
    }[days]
    rules = Rules(
        table=table,
        zones=ZONES,
        day_of=day_of,
        hours=hours_of("0-6,7-12:30,12:30-24"),
        trips=trips or Trips(definition="zones"),
        longest_gap_s=7200,
        unit=unit,
        time_zone=PARIS,
    )
    granularity = 1000  # a multiple of 1, 2 and 5 dates
    sensitivity = int(bound * granularity)
    for seed in range(2):
        people = random_people(seed)
        most = 3 * granularity
        limits = limits_of(granularity, sensitivity, most)
        found = tally(people, rules, limits)
        labels, codes = rules.labels(), rules.codes()
        names = list(
            zip(*([labels[name][i] for i in codes[name][found.cells]] for name in codes), strict=True)
        )
        expected: Counter[tuple[str, ...]] = Counter()
        totals = [0, 0]
        for vector in vectors(people, rules):
            after = clipped(vector, limits)
            expected.update(after)
            before = sum(math.floor(value * granularity) for value in vector.values())
            totals = [
                total + min(whole, most)
                for total, whole in zip(totals, (before, sum(after.values())), strict=True)
            ]
        assert sum(expected.values())
        assert dict(zip(names, found.counts.tolist(), strict=True)) == {
            **dict.fromkeys(names, 0),
            **+expected,
        }
        assert found.totals.tolist() == totals


@given(
    st.lists(st.lists(st.integers(1, 400), min_size=1, max_size=8), min_size=1, max_size=6),
    st.sampled_from([1, 7, 1000]),
    st.integers(1, 3000),
)
def test_clipped_vectors_are_exact_and_never_longer_than_the_bound(
    numbers: list[list[int]], parts: int, sensitivity: int
) -> None:
    rules = Rules(table="flows", zones=ZONES, day_of=days_of("kinds", FIRST, LAST, CALENDAR))
    scale = rules.common_days
    unit = np.repeat(np.arange(len(numbers)), [len(vector) for vector in numbers])
    number = np.array([n for vector in numbers for n in vector])
    day = np.arange(len(number)) % len(rules.days)
    granularity = parts * scale
    limits = limits_of(granularity, sensitivity, 1)
    _, entries = clip(unit, number, rules, day, limits)
    for one in range(len(numbers)):
        own = unit == one
        w = [
            int(c) * scale // int(rules.dates_per_day[d]) for c, d in zip(number[own], day[own], strict=True)
        ]
        norm2 = sum(v * v for v in w)
        exact = [
            v * granularity // scale
            if norm2 * granularity**2 <= (sensitivity * scale) ** 2
            else math.isqrt(v * v * sensitivity**2 // norm2)
            for v in w
        ]
        assert entries[own].tolist() == exact
        assert sum(v * v for v in exact) <= sensitivity**2


def test_one_unit_moves_the_sums_by_no_more_than_their_limits() -> None:
    rules = Rules(table="flows", zones=ZONES, day_of=days_of("each", FIRST, LAST), time_zone=PARIS)
    people, limits = random_people(5), limits_of(1000, 1500, 2000)

    def sums_of(some: Trajectories) -> tuple[Integers, Integers]:
        found, counts = tally(some, rules, limits), np.zeros(rules.n_cells, dtype=np.int64)
        counts[found.cells] = found.counts
        return counts, found.totals

    whole, totals = sums_of(people)
    for person in range(people.n_subjects):
        others, less = sums_of(people.keep(np.delete(np.arange(people.n_subjects), person)))
        assert (whole - others >= 0).all()
        assert ((whole - others) ** 2).sum() <= 1500**2
        assert (totals - less).max() <= 2000
