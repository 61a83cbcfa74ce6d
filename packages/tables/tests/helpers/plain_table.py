"""Tables written by plain loops over dictionaries, for the checks: true ones, and false ones by a change."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import pairwise
from math import ceil, floor, isqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import shapely
from pyarrow import parquet

from shoal.model.intake import Reading
from shoal.runtime.files import sha256_of
from shoal_tables.definition.manifest import CHOSEN, COLUMNS, STAYS, hour_label
from shoal_tables.verification.statements import epsilon_of

ZONE = "Europe/Paris"
FIRST = date(2024, 3, 29)  # the clock changes on the 31st
SIDE = 1000
GRID = (4, 3)  # columns, rows
Row = tuple[str, int, int, int]
Cell = tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What to publish, and how."""

    table: str = "presence"
    unit: str = "person"
    trips: str | None = None
    n_days: int = 4
    workdays_only: bool = False
    hours: tuple[tuple[int, int], ...] = tuple((60 * hour, 60 * hour + 60) for hour in range(24))
    gap_s: int = 8 * 3600
    granularity: int = 60
    sensitivity: int = 120
    sigma: int = 40
    delta: float = 1e-6
    most: int = 1200
    totals_sigma: int = 6000

    @property
    def both(self) -> int:
        """The L2 sensitivity of both totals together."""
        return isqrt(2 * self.most**2) + 1

    @property
    def rho(self) -> float:
        """Of the counts and, but for homes, of the totals."""
        totals = 0 if self.table == "homes" else self.both**2 / (2 * self.totals_sigma**2)
        return self.sensitivity**2 / (2 * self.sigma**2) + totals

    def day_of(self) -> dict[date, str]:
        dates = [FIRST + timedelta(days=day) for day in range(self.n_days)]
        kinds = {5: "saturday", 6: "sunday"}
        if self.table == "homes":
            return {}
        named = {day: kinds.get(day.weekday(), "workday") for day in dates}
        return {day: kind for day, kind in named.items() if kind == "workday" or not self.workdays_only}


def people(n: int = 150, seed: int = 1, n_days: int = 4) -> list[Row]:
    """Rows of people who wander over the grid and beyond it."""
    rng = np.random.default_rng(seed)
    begin = int(datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=ZoneInfo(ZONE)).timestamp())
    rows = []
    for person in range(n):
        x, y = rng.integers(-300, 4400, 2)
        t = begin - 7200
        for _ in range(int(rng.integers(3, 90))):
            t += int(rng.choice([60, 600, 1800, 3600, 9 * 3600]))
            if rng.random() < 0.6:
                x, y = np.clip((x + rng.integers(-900, 900), y + rng.integers(-900, 900)), -500, 4600)
            else:
                x, y = x + rng.integers(-60, 60), y + rng.integers(-60, 60)
            if t < begin + (n_days + 1) * 86400:
                rows.append((f"p{person:04}", t, int(x), int(y)))
    return rows


def zone_of(x: int, y: int) -> str | None:
    column, row = x // SIDE, y // SIDE
    return f"r{row}c{column}" if 0 <= column < GRID[0] and 0 <= row < GRID[1] else None


def zone_names() -> list[str]:
    return [f"r{row}c{column}" for row in range(GRID[1]) for column in range(GRID[0])]


def cells(plan: Plan) -> list[Cell]:
    values = {
        "zone": zone_names(),
        "origin": zone_names(),
        "destination": zone_names(),
        "hour": [hour_label(*hour) for hour in plan.hours],
        "stay": list(STAYS),
        "day": list(dict.fromkeys(plan.day_of().values())),
    }
    found: list[Cell] = [()]
    for name in COLUMNS[plan.table]:  # type: ignore[index]
        found = [(*cell, value) for cell in found for value in values[name]]
    return [cell for cell in found if plan.table != "flows" or cell[0] != cell[1]]


def local(t: int) -> datetime:
    return datetime.fromtimestamp(t, tz=UTC).astimezone(ZoneInfo(ZONE))


def pieces(plan: Plan, rows: list[Row]) -> Iterator[tuple[tuple[str, date | None], list[Row]]]:
    """The units with their pieces."""
    units: dict[tuple[str, date | None], list[Row]] = defaultdict(list)
    dates = plan.day_of() or [FIRST + timedelta(days=day) for day in range(plan.n_days)]
    for row in sorted(set(rows)):
        day = local(row[1]).date()
        if day in dates:
            units[row[0], day if plan.unit == "person-day" else None].append(row)
    for unit, samples in units.items():
        piece = [samples[0]]
        for sample in samples[1:]:
            if sample[1] - piece[-1][1] > plan.gap_s:
                yield unit, piece
                piece = []
            piece.append(sample)
        yield unit, piece


def hour_of(plan: Plan, t: int) -> str | None:
    minute = local(t).hour * 60 + local(t).minute
    return next((hour_label(a, b) for a, b in plan.hours if a <= minute < b), None)


def contributions(plan: Plan, rows: list[Row]) -> dict[Any, dict[Cell, int]]:
    """c by unit and cell."""
    of_kind = {"presence": presence, "homes": homes, "dwell": dwell, "flows": flows}[plan.table]
    return of_kind(plan, list(pieces(plan, rows)))


Pieces = list[tuple[tuple[str, date | None], list[Row]]]
Counts = dict[Any, dict[Cell, int]]


def presence(plan: Plan, units: Pieces) -> Counts:
    entries = set()
    for unit, piece in units:
        for _, t, x, y in piece:
            zone, hour, day = zone_of(x, y), hour_of(plan, t), local(t).date()
            if zone and hour:
                entries.add((unit, zone, hour, plan.day_of()[day], day))
    counts: dict[Any, Counter[Cell]] = defaultdict(Counter)
    for unit, *cell, _ in entries:
        counts[unit][tuple(cell)] += 1
    return dict(counts)


def homes(_: Plan, units: Pieces) -> Counts:
    nights: dict[Any, set[tuple[str, date]]] = defaultdict(set)
    for unit, piece in units:
        for _uid, t, x, y in piece:
            zone, moment = zone_of(x, y), local(t)
            if zone and (moment.hour >= 20 or moment.hour < 6):
                nights[unit].add((zone, moment.date() - timedelta(days=moment.hour < 6)))
    counts = {}
    for unit, entries in nights.items():
        of_zone = Counter(zone for zone, _night in entries)
        counts[unit] = {(min(of_zone, key=lambda zone: (-of_zone[zone], zone_names().index(zone))),): 1}
    return counts  # type: ignore[return-value]


def dwell(plan: Plan, units: Pieces) -> Counts:
    longest: dict[Any, int] = {}
    for unit, piece in units:
        for zone, begin, end in visits([(zone_of(x, y), t) for _, t, x, y in piece]):
            if zone:
                key = (unit, zone, local(begin).date())
                longest[key] = max(longest.get(key, 0), end - begin)
    counts: dict[Any, Counter[Cell]] = defaultdict(Counter)
    for (unit, zone, day), length in longest.items():
        stay = STAYS[sum(length >= 60 * least for least in (15, 60, 240))]
        counts[unit][zone, stay, plan.day_of()[day]] += 1
    return dict(counts)


def flows(plan: Plan, units: Pieces) -> Counts:
    counts: dict[Any, Counter[Cell]] = defaultdict(Counter)
    for unit, piece in units:
        for origin, destination, t in trips(plan, piece):
            hour = hour_of(plan, t)
            if hour:
                counts[unit][origin, destination, hour, plan.day_of()[local(t).date()]] += 1
    return dict(counts)


def visits(placed: list[tuple[str | None, int]]) -> list[tuple[str | None, int, int]]:
    found: list[tuple[str | None, int, int]] = []
    for zone, t in placed:
        if found and found[-1][0] == zone:
            found[-1] = (zone, found[-1][1], t)
        else:
            found.append((zone, t, t))
    return found


def trips(plan: Plan, piece: list[Row]) -> Iterator[tuple[str, str, int]]:
    if plan.trips == "zones":
        stops = [(zone_of(x, y), t, t) for _, t, x, y in piece]
    else:
        groups = [[piece[0]]]
        for sample in piece[1:]:
            anchor = groups[-1][0]
            if (sample[2] - anchor[2]) ** 2 + (sample[3] - anchor[3]) ** 2 > 300**2:
                groups.append([])
            groups[-1].append(sample)
        stops = [
            (zone_of(group[0][2], group[0][3]), group[0][1], group[-1][1])
            for group in groups
            if group[-1][1] - group[0][1] >= 600
        ]
    for (origin, _, leaves), (destination, _, _) in pairwise(stops):
        if origin and destination and origin != destination:
            yield origin, destination, leaves


Bounding = Callable[[Plan, dict[Cell, Fraction]], dict[Cell, int]]


def bounded(plan: Plan, vector: dict[Cell, Fraction]) -> dict[Cell, int]:
    """The rule: clip in L2, then round down."""
    g, m = plan.granularity, plan.sensitivity
    squares = sum(value * value for value in vector.values())
    if squares * g * g <= m * m:
        return {cell: floor(value * g) for cell, value in vector.items()}
    result = {}
    for cell, value in vector.items():
        square = value * value * m * m / squares
        result[cell] = isqrt(square.numerator // square.denominator)
    return result


def unbounded(plan: Plan, vector: dict[Cell, Fraction]) -> dict[Cell, int]:
    return {cell: floor(value * plan.granularity) for cell, value in vector.items()}


def bounded_by_day(plan: Plan, vector: dict[Cell, Fraction]) -> dict[Cell, int]:
    days = {cell[-1] for cell in vector}
    parts = [bounded(plan, {cell: one for cell, one in vector.items() if cell[-1] == day}) for day in days]
    return {cell: number for part in parts for cell, number in part.items()}


@cache
def vectors(plan: Plan, rows: tuple[Row, ...]) -> list[dict[Cell, Fraction]]:
    n_dates = Counter(plan.day_of().values())
    return [
        {cell: Fraction(c, n_dates.get(cell[-1], 1)) for cell, c in entries.items()}
        for entries in contributions(plan, list(rows)).values()
    ]


def counts_before_noise(plan: Plan, rows: list[Row], bounding: Bounding = bounded) -> np.ndarray:
    sums: Counter[Cell] = Counter()
    for vector in vectors(plan, tuple(rows)):
        sums.update(bounding(plan, vector))
    return np.array([sums[cell] for cell in cells(plan)], dtype=np.int64)


def totals_of(plan: Plan, rows: list[Row]) -> dict[str, int] | None:
    """What the manifest states of the totals, with noise."""
    if plan.table == "homes":
        return None
    before = after = 0
    for vector in vectors(plan, tuple(rows)):
        before += min(sum(unbounded(plan, vector).values()), plan.most)
        after += min(sum(bounded(plan, vector).values()), plan.most)
    noise = np.rint(np.random.default_rng(3).normal(0, plan.totals_sigma, 2)).astype(int).tolist()
    return {
        "most": plan.most,
        "sensitivity": plan.both,
        "sigma": plan.totals_sigma,
        "before": before + noise[0],
        "after": after + noise[1],
    }


def estimates(plan: Plan, published: list[int], totals: dict[str, int] | None) -> list[tuple[float, float]]:
    """Estimate and spread of each cell, in the integers of the counts."""
    scale = 1.0
    if totals and totals["after"] >= 10 * totals["sigma"]:
        scale = max(1.0, totals["before"] / totals["after"])
    if plan.table != "flows":
        return [(scale * one, scale) for one in published]
    of_cell = dict(zip(cells(plan), published, strict=True))
    sums: dict[Any, list[float]] = defaultdict(lambda: [0, 0])
    for cell, one in of_cell.items():
        other = of_cell[cell[1], cell[0], *cell[2:]]
        if one + other >= 4 * plan.sigma:
            sums[cell[2:]][0] += (one - other) ** 2 - 2 * plan.sigma**2
            sums[cell[2:]][1] += (one + other) ** 2
    found = []
    for cell, one in of_cell.items():
        other, (beyond, squares) = of_cell[cell[1], cell[0], *cell[2:]], sums[cell[2:]]
        signal = max(beyond, 0) / max(squares, 1) * max(one + other, 0) ** 2
        weight = signal / (signal + 2 * plan.sigma**2) if squares else 1.0
        found.append((scale * (one + other + weight * (one - other)) / 2, scale * ((1 + weight) / 2) ** 0.5))
    return found


def true_noise(plan: Plan, n: int, seed: int = 0) -> np.ndarray:
    """A discrete Gaussian by its probabilities."""
    support = np.arange(-40 * plan.sigma, 40 * plan.sigma + 1)
    mass = np.exp(-((support / plan.sigma) ** 2) / 2)
    return np.random.default_rng(seed).choice(support, n, p=mass / mass.sum())


def write_raw(folder: Path, rows: list[Row]) -> Path:
    uid, t, x, y = zip(*rows, strict=True)
    path = folder / "raw.parquet"
    parquet.write_table(
        pa.table({"uid": uid, "t": t, "x": np.array(x, float), "y": np.array(y, float)}), path
    )
    return path


@dataclass(frozen=True)
class Written:
    """The folder, the secret file, and the raw file."""

    folder: Path
    secret: Path
    raw: Path


def manifest_of(plan: Plan, **changes: Any) -> dict[str, Any]:
    rho = plan.rho
    support = np.arange(0, 40 * plan.sigma)
    mass = np.exp(-((support / plan.sigma) ** 2) / 2)
    inside = mass[0] + 2 * np.concatenate([[0], np.cumsum(mass[1:])])
    half = int(np.argmax(inside / (2 * mass.sum() - mass[0]) >= 0.95))
    seldom = NormalDist().inv_cdf(1 - 0.05 / len(cells(plan)))
    reading = Reading(
        id="uid",
        time="t",
        x="x",
        y="y",
        crs="local",
        cell_m=1.0,
        slot_s=1.0,
        time_zone=ZONE,
        not_after_s=4e9,
        time_unit="s",
    )
    trips_stated = None
    if plan.table == "flows":
        stays = {"definition": "stays", "radius_m": 300, "least_s": 600}
        trips_stated = {"definition": "zones"} if plan.trips == "zones" else stays
    entries = {
        "kind": "tables",
        "format_version": 1,
        "shoal_version": "0.1.0",
        "table": plan.table,
        "unit": plan.unit,
        "unit_of_protection": "each distinct value of column 'uid'",
        "zones": {"kind": "grid", "n_zones": 12, "crs": None, "side_m": SIDE, "x0": 0, "y0": 0,
                  "columns": GRID[0], "rows": GRID[1]},
        "plane": None,
        "reading": asdict(reading),
        "first_day": str(FIRST),
        "last_day": str(FIRST + timedelta(days=plan.n_days - 1)),
        "day_of": {str(day): kind for day, kind in plan.day_of().items()},
        "hours": plan.hours if plan.table in ("presence", "flows") else [],
        "trips": trips_stated,
        "longest_gap_s": plan.gap_s,
        "promise": {
            "epsilon": epsilon_of(rho, plan.delta) * (1 + 1e-9),
            "delta": plan.delta,
            "rho": rho,
            "granularity": plan.granularity,
            "sensitivity": plan.sensitivity,
            "bound_source": CHOSEN,
            "sigma": plan.sigma,
            "half_width": half,
            "least_shown": max(2 * half, ceil(plan.sigma * seldom + 0.5)),
            "mechanism": "discrete Gaussian",
            "sampler": "opendp 0.16.0",
            "totals": None,
        },
        "ledger": None,
        "publishable": True,
        "files": {},
    }  # fmt: skip
    promise = {**entries["promise"], **changes.pop("promise", {})}  # type: ignore[dict-item]
    return {**entries, "promise": promise, **changes}


def write(
    folder: Path,
    plan: Plan,
    rows: list[Row],
    *,
    noise: np.ndarray | None = None,
    counts: np.ndarray | None = None,
    change_table: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    squares: list[Any] | None = None,
    **changes: Any,
) -> Written:
    """Write a table; what differs from a true one is handed in."""
    counts = counts_before_noise(plan, rows) if counts is None else counts
    noise = true_noise(plan, len(counts)) if noise is None else noise
    totals = totals_of(plan, rows)
    changes["promise"] = {"totals": totals, **changes.get("promise", {})}
    entries = manifest_of(plan, **changes)
    stated = entries["promise"]["totals"]
    drawn = np.append(counts + noise, [stated["before"], stated["after"]] if stated else [])
    entries["counts_sha256"] = sha256(drawn.astype("<i8").tobytes()).hexdigest()
    published, g, half = counts + noise, plan.granularity, entries["promise"]["half_width"]
    least = entries["promise"]["least_shown"]
    keys = dict(zip(COLUMNS[plan.table], zip(*cells(plan), strict=True), strict=True))  # type: ignore[index]
    estimated = estimates(plan, published.tolist(), totals)
    columns = {
        **keys,
        "count": published / g,
        "estimate": [one / g for one, _ in estimated],
        "low": [max(one - spread * half, 0) / g for one, spread in estimated],
        "high": [max(one + spread * half, 0) / g for one, spread in estimated],
        "shown": pa.array(
            [floor(one / g + 0.5) if one >= spread * least else None for one, spread in estimated], pa.int64()
        ),
    }
    target = folder / "table"
    target.mkdir()
    parquet.write_table(pa.table(change_table(columns)), target / "table.parquet")
    squares = squares or [
        shapely.box(SIDE * column, SIDE * row, SIDE * column + SIDE, SIDE * row + SIDE)
        for row in range(GRID[1]) for column in range(GRID[0])
    ]  # fmt: skip
    parquet.write_table(
        pa.table({"zone": zone_names(), "geometry": shapely.to_wkb(squares)}), target / "zones.parquet"
    )
    entries["files"] = {name: sha256_of(target / name) for name in ("table.parquet", "zones.parquet")}
    (target / "manifest.json").write_text(json.dumps(entries))
    parquet.write_table(pa.table({**keys, "count": counts}), folder / "counts.parquet")
    return Written(target, folder / "counts.parquet", write_raw(folder, rows))


def write_ledger(
    path: Path,
    plan: Plan,
    written: Written,
    *,
    digest: str = "a" * 64,
    sigma: int | None = None,
    budget: float = 20.0,
    entries: int = 1,
    share: float = 1.0,
    draw: str = "",
) -> Path:
    """A ledger that paid ``share`` of the cost of a table, ``entries`` times."""
    draw = draw or json.loads((written.folder / "manifest.json").read_text())["counts_sha256"]
    plan = replace(plan, sigma=sigma or plan.sigma)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "CREATE TABLE people (only INTEGER, digest TEXT, unit TEXT, budget REAL, delta REAL)"
        )
        connection.execute("INSERT INTO people VALUES (1, ?, 'person', ?, 1e-6)", (digest, budget))
        connection.execute(
            "CREATE TABLE tables (entry TEXT, spent_at TEXT, kind TEXT, unit TEXT, rho REAL, epsilon REAL, "
            "delta REAL, sigma INTEGER, sensitivity INTEGER, granularity INTEGER, counts_sha256 TEXT)"
        )
        for entry in range(entries):
            connection.execute(
                "INSERT INTO tables VALUES (?, '', ?, ?, ?, 1, 1e-6, ?, ?, ?, ?)",
                (f"{entry:032x}", plan.table, plan.unit, plan.rho * share, plan.sigma, plan.sensitivity,
                 plan.granularity, draw),
            )  # fmt: skip
    return path
