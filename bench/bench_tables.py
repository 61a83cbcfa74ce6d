"""Tables of counts and flows: the table of bounds, the error by size of cell, and the time they take.

    ./dev bench tables bounds          # norms of contributions of 20,000 synthetic people, beside the bounds
    ./dev bench tables [--people 100000] [--seeds 5]

Errors are those of shipped bounds, which were measured on other synthetic people (another seed). The true
counts are those without a bound and without noise.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np

from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.model.people_on_disk import StoredPeople
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.run import Run
from shoal.synthetic import write_synthetic
from shoal_tables import Privacy, Rules, each_day, grid_zones, kinds_of_days, slots_of, typical_days
from shoal_tables.making.bounds import default_bound
from shoal_tables.making.contributions import clip, contributions
from shoal_tables.making.noise import stand_in
from shoal_tables.making.rules import WHOLE_DAY
from shoal_tables.making.sequences import events_of, sequences_of
from shoal_tables.making.tabulate import Calibration, parts_of, require_reading

AREA = (-5.13, 6.87, -4.85, 7.14)  # the synthetic city
FIRST, LAST, ONE = date(2024, 1, 1), date(2024, 1, 14), date(2024, 1, 3)
DAYS = {
    "typical day, person": (typical_days(FIRST, LAST), "person"),
    "kinds of days, person": (kinds_of_days(FIRST, LAST), "person"),
    "each of 14 days, person": (each_day(FIRST, LAST), "person"),
    "one day, person-day": (each_day(ONE, ONE), "person-day"),
}
CLASSES = ((50, 100), (100, 300), (300, np.inf))
GAP_S = 12 * 3600  # calls are rare at night


def rules_of(table: str, days: str, side_m: int = 2000) -> Rules:
    day_of, unit = DAYS[days]
    return Rules(
        table=table,  # type: ignore[arg-type]
        zones=grid_zones(side_m, AREA),
        day_of=day_of,
        unit=unit,  # type: ignore[arg-type]
        longest_gap_s=GAP_S,
        hours=slots_of(3600) if table == "presence" else WHOLE_DAY,
    )


def people_in(folder: Path, people: int, seed: int) -> StoredPeople:
    calls = folder / "calls.parquet"
    write_synthetic(calls, people, 14, seed)
    reading = require_reading(Reading(), rules_of("flows", "typical day, person"))
    return store_people(str(calls), reading, folder / "people", Run())


def contributed(people: StoredPeople, rules: Rules) -> tuple[Integers, Integers, Integers]:
    """Unit, cell and number of everybody's contributions."""
    parts = list(_parts(people, rules))
    unit, cell, number = (np.concatenate(column) for column in zip(*parts, strict=True))
    return unit, cell, number


def _parts(people: StoredPeople, rules: Rules) -> Iterator[tuple[Integers, Integers, Integers]]:
    for first, end in parts_of(people.lengths):
        some = people.load(np.arange(first, end))
        unit, cell, number = contributions(events_of(sequences_of(some, rules), rules), rules)
        yield unit + first * len(rules.day_of_date), cell, number


def values(rules: Rules, cell: Integers, number: Integers) -> Floats:
    return number / (rules.dates_per_day[cell % rules.shape[-1]] if rules.has_days else 1)


def norms(people: StoredPeople, rules: Rules) -> Floats:
    unit, cell, number = contributed(people, rules)
    squares = values(rules, cell, number) ** 2
    return np.sqrt(np.add.reduceat(squares, np.flatnonzero(np.diff(unit, prepend=-1))))


def print_bounds(people: StoredPeople) -> None:
    print(f"{'table':38} {'median':>8} {'90 %':>8} {'99 %':>8} {'bound':>8}")
    for table in ("presence", "flows", "dwell", "homes"):
        for days in DAYS if table != "homes" else ("typical day, person",):
            rules = rules_of(table, days)
            shares = np.quantile(norms(people, rules), (0.5, 0.9, 0.99))
            columns = " ".join(f"{value:8.2f}" for value in (*shares, default_bound(rules)))
            print(f"{table + ', ' + days:38} {columns}")


def print_errors(people: StoredPeople, seeds: int) -> None:
    print(
        f"{'table, unit':38} epsilon  bound  sigma   {'50-100':>12} {'100-300':>12} {'>= 300':>12}  common "
        "part"
    )
    rows = [
        ("flows", "typical day, person", 2000),
        ("flows", "typical day, person", 8000),
        ("presence", "typical day, person", 2000),
        ("flows", "one day, person-day", 2000),
    ]
    for table, days, side_m in rows:
        rules = rules_of(table, days, side_m)
        unit, cell, number = contributed(people, rules)
        true = np.bincount(cell, values(rules, cell, number), minlength=rules.n_cells)
        for epsilon in (1.0, 4.0):
            noise = Calibration(rules=rules, privacy=Privacy(epsilon=epsilon))
            g = noise.granularity
            parts, _ = clip(unit, number, rules, cell % rules.shape[-1], g, noise.sensitivity)
            clipped = np.bincount(cell, parts.astype(np.float64), minlength=rules.n_cells) / g
            runs: list[list[float]] = []
            for seed in range(seeds):
                drawn = stand_in(rules.n_cells, noise.sigma, np.random.default_rng(seed))
                counts = clipped + drawn / g
                runs.append([*errors(counts, true), common_part(counts, true, noise.sigma / g)])
            mean, spread = np.mean(runs, axis=0), np.std(runs, axis=0)
            shown = [f"{100 * a:5.1f} ± {100 * b:3.1f} %" for a, b in zip(mean[:3], spread[:3], strict=True)]
            print(
                f"{f'{table}, {days}, {side_m / 1000:g} km':38} {epsilon:7g} {noise.sensitivity / g:6.2f} "
                f"{noise.sigma / g:6.1f}   {' '.join(shown)}  {mean[3]:.3f} ± {spread[3]:.3f}"
            )


def errors(counts: Numbers, true: Numbers) -> list[float]:
    """The median relative error of cells by their true size."""
    found = []
    for low, high in CLASSES:
        cells = (true >= low) & (true < high)
        found.append(
            float(np.median(np.abs(counts[cells] - true[cells]) / true[cells])) if cells.any() else np.nan
        )
    return found


def common_part(counts: Numbers, true: Numbers, sigma: float) -> float:
    """The common part of trips, of cells above two standard deviations of noise."""
    clear = np.where(counts > 2 * sigma, counts, 0)
    return float(2 * np.minimum(clear, true).sum() / (clear.sum() + true.sum()))


def print_time(people: StoredPeople) -> None:
    for table in ("flows", "presence"):
        began = time.process_time()
        contributed(people, rules_of(table, "typical day, person"))
        print(f"{table} of {people.n_subjects:,} people, {people.n_samples:,} samples: ", end="")
        print(f"{time.process_time() - began:.1f} CPU s to count")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("bounds", "errors"), default="errors")
    parser.add_argument("--people", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        number = asked.people or (20_000 if asked.what == "bounds" else 100_000)
        people = people_in(Path(folder), number, 2 if asked.what == "bounds" else 1)
        print(f"{number:,} synthetic people: {time.process_time() - began:.0f} CPU s to synthesize and read")
        if asked.what == "bounds":
            print_bounds(people)
            return
        print_errors(people, asked.seeds)
        print_time(people)


if __name__ == "__main__":
    main()
