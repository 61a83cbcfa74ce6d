"""Tables of counts and flows: the table of bounds, the error by size of cell, and the time they take.

    ./dev bench tables bounds          # errors with several bounds, of 100,000 other synthetic people
    ./dev bench tables [--people 100000] [--seeds 5]
    ./dev bench tables floor           # what noise alone and the bound alone do to flows, for several bounds
    ./dev bench tables nested          # zones of 2 km in outer zones of 8 km, with noise of their own or not

Errors are those of estimates with the shipped bounds, which were measured on other synthetic people (another
seed). The true counts are those without a bound and without noise.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

from shoal.io.disk.storing import store_people
from shoal.measures.query import batches_of_records
from shoal.measures.trips import common_part
from shoal.model.intake import Reading
from shoal.model.people_on_disk import StoredPeople
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.synthetic import write_synthetic
from shoal_tables import Privacy, Rules, days_of, grid_zones, hours_of
from shoal_tables.making.calibration import add_noise, default_bound, promise_of
from shoal_tables.making.contributions import clip, contributions, events_of, sequences_of
from shoal_tables.making.promise import estimate, scale_of
from shoal_tables.making.rules import WHOLE_DAY
from shoal_tables.making.tabulate import SAMPLES_PER_TASK, require_reading, with_totals

AREA = (-5.13, 6.87, -4.85, 7.14)  # the synthetic city
FIRST, LAST, ONE = date(2024, 1, 1), date(2024, 1, 14), date(2024, 1, 3)
DAYS = {
    "typical day, person": (days_of("typical", FIRST, LAST), "person"),
    "kinds of days, person": (days_of("kinds", FIRST, LAST), "person"),
    "each of 14 days, person": (days_of("each", FIRST, LAST), "person"),
    "one day, person-day": (days_of("each", ONE, ONE), "person-day"),
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
        hours=hours_of("1h") if table == "presence" else WHOLE_DAY,
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
    for span in batches_of_records(np.cumsum([0, *people.lengths]), SAMPLES_PER_TASK):
        some = people.load(np.arange(span.start, span.stop))
        unit, cell, number = contributions(events_of(sequences_of(some, rules), rules), rules)
        yield unit + span.start * len(rules.day_of_date), cell, number


def values(rules: Rules, cell: Integers, number: Integers) -> Floats:
    return number / rules.dates_per_day[cell % len(rules.dates_per_day)]


def print_bounds(people: StoredPeople) -> None:
    for table in ("presence", "flows", "dwell"):
        for days in DAYS:
            rules = rules_of(table, days)
            everyone = contributed(people, rules)
            unit, cell, number = everyone
            first = np.flatnonzero(np.diff(unit, prepend=-1))
            entries = values(rules, cell, number)
            total = np.quantile(np.add.reduceat(entries, first), 0.99) / len(rules.days)
            print(f"{table}, {days}: bound {default_bound(rules):.2f}; 99 % add at most {total:.1f} a day")
            norms = np.sqrt(np.add.reduceat(entries**2, first))
            for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
                bound = float(np.quantile(norms, share))
                privacy = Privacy(epsilon=1.0, bound=bound)
                print_errors_of(f"  {bound:.2f} ({100 * share:.0f} %)", rules, everyone, privacy, 2)


def print_errors(people: StoredPeople, seeds: int) -> None:
    sizes = f"{'50-100':>12} {'100-300':>12} {'>= 300':>12}"
    print(f"{'table, unit, epsilon':50} {sizes}  common part above 2 sigma, of shown cells, covered")
    for table, days, side_m in (
        ("flows", "typical day, person", 2000),
        ("flows", "typical day, person", 8000),
        ("presence", "typical day, person", 2000),
        ("flows", "one day, person-day", 2000),
    ):
        rules = rules_of(table, days, side_m)
        everyone = contributed(people, rules)
        for epsilon in (1.0, 4.0):
            name = f"{table}, {days}, {side_m / 1000:g} km, {epsilon:g}"
            print_errors_of(name, rules, everyone, Privacy(epsilon=epsilon), seeds)


def print_errors_of(
    name: str, rules: Rules, everyone: tuple[Integers, Integers, Integers], privacy: Privacy, seeds: int
) -> None:
    unit, cell, number = everyone
    true = np.bincount(cell, values(rules, cell, number), minlength=rules.n_cells)
    noise = promise_of(rules, privacy)
    parts = clip(unit, number, rules, cell % rules.shape[-1], noise)
    clipped = np.bincount(cell, parts[1].astype(np.float64), minlength=rules.n_cells).astype(np.int64)
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    most = 0 if noise.totals is None else noise.totals.most
    totals = np.array([np.minimum(np.add.reduceat(part, first), most).sum() for part in parts])
    runs: list[list[float]] = []
    for seed in range(seeds):
        rng = Randomness.for_research(seed)
        promise = with_totals(noise, totals, rng)
        noisy = add_noise(clipped, noise.sigma, noise.sensitivity, rng)
        numbers, spread = estimate(rules, noisy, promise)
        off = np.abs(numbers - scale_of(promise) * clipped) <= spread * promise.half_width
        counts, one = numbers / noise.granularity, spread / noise.granularity
        clear, shown = (
            common_part(true.astype(np.float64), np.where(counts >= least * one, counts, 0))
            for least in (2 * noise.sigma, noise.least_shown)
        )
        runs.append([*errors(counts, true), clear, shown, float(off.mean())])
    mean, spread_of_runs = np.mean(runs, axis=0), np.std(runs, axis=0)
    words = [f"{100 * a:5.1f} ± {100 * b:3.1f} %" for a, b in zip(mean[:3], spread_of_runs[:3], strict=True)]
    common = [f"{a:.3f} ± {b:.3f}" for a, b in zip(mean[3:5], spread_of_runs[3:5], strict=True)]
    print(f"{name:50} {' '.join(words)}  {', '.join(common)}, {mean[5]:.4f}", flush=True)


def print_floor(people: StoredPeople, seeds: int) -> None:
    """Errors of flows with noise alone, as if a bound cut nothing, and with the bound alone, right in all."""
    for days in ("typical day, person", "one day, person-day"):
        rules = rules_of("flows", days)
        unit, cell, number = contributed(people, rules)
        true = np.bincount(cell, values(rules, cell, number), minlength=rules.n_cells)
        for bound in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0):
            noise = promise_of(rules, Privacy(epsilon=1.0, bound=bound))
            promise = noise.model_copy(update={"totals": None})
            whole = np.rint(true * noise.granularity).astype(np.int64)
            noisy = (
                add_noise(whole, noise.sigma, noise.sensitivity, Randomness.for_research(seed))
                for seed in range(seeds)
            )
            alone = [errors(estimate(rules, one, promise)[0] / noise.granularity, true) for one in noisy]
            parts = clip(unit, number, rules, cell % rules.shape[-1], noise)
            clipped = np.bincount(cell, parts[1], minlength=rules.n_cells)
            of_bound = errors(clipped * (true.sum() / clipped.sum()), true)
            shown = [
                " ".join(f"{100 * error:5.1f}" for error in found)
                for found in (np.mean(alone, axis=0), of_bound)
            ]
            print(f"{days}, bound {bound:g}: % off by noise {shown[0]}, by the bound {shown[1]}", flush=True)


def print_nested(folder: Path, people: StoredPeople, seeds: int) -> None:
    """Errors of squares of 2 km, and of the squares of 8 km that they lie in, as sums and with own noise."""
    for table in ("flows", "presence"):
        plain = rules_of(table, "typical day, person")
        columns, file = plain.zones.statement.columns or 1, folder / "nested.csv"
        places = (divmod(number, columns) for number in range(len(plain.zones.names)))
        parents = (f"outer {row // 4} {column // 4}" for row, column in places)
        rows = (f"{name},{parent}" for name, parent in zip(plain.zones.names, parents, strict=True))
        file.write_text("\n".join(["zone,parent", *rows]))
        nested = replace(plain, zones=plain.zones.nested_by(file))
        unit, cell, number = contributed(people, plain)
        true = np.bincount(cell, values(plain, cell, number), minlength=plain.n_cells)
        for name, rules in (("sums of zones", plain), ("noise of their own", nested)):
            noise = promise_of(rules, Privacy(epsilon=1.0))
            parts = clip(unit, number, rules, cell, noise)
            counts = rules.with_sums(np.bincount(cell, parts[1], plain.n_cells).astype(np.int64))
            totals = noise.totals.model_copy(  # type: ignore[union-attr]  # only homes have none
                update={"before": parts[0].sum(), "after": parts[1].sum()}
            )
            promise = noise.model_copy(update={"totals": totals})
            found = []
            for seed in range(seeds):
                rng = Randomness.for_research(seed)
                noisy = [
                    add_noise(counts[one.cells], one.noise * noise.sigma, one.noise * noise.sensitivity, rng)
                    for one in rules.levels
                ]
                numbers = estimate(rules, np.concatenate(noisy), promise)[0][: plain.n_cells]
                numbers = numbers / noise.granularity
                levels = zip(_both(nested, numbers), _both(nested, true), strict=True)
                found.append([error for one in levels for error in errors(*one)])
            shown = [f"{100 * error:5.1f}" for error in np.mean(found, axis=0)]
            print(f"{table}, {name}: % off, zones {shown[:3]}, outer zones {shown[3:]}", flush=True)


def _both(nested: Rules, numbers: Numbers) -> tuple[Numbers, Numbers]:
    inside = nested.outer_cell >= 0
    return numbers, np.bincount(nested.outer_cell[inside], numbers[inside])


def errors(counts: Numbers, true: Numbers) -> list[float]:
    """The median relative error of cells by their true size."""
    found = []
    for low, high in CLASSES:
        cells = (true >= low) & (true < high)
        found.append(
            float(np.median(np.abs(counts[cells] - true[cells]) / true[cells])) if cells.any() else np.nan
        )
    return found


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
    parser.add_argument("what", nargs="?", choices=("bounds", "errors", "floor", "nested"), default="errors")
    parser.add_argument("--people", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        number = asked.people or 100_000
        people = people_in(Path(folder), number, 2 if asked.what == "bounds" else 1)
        print(f"{number:,} synthetic people: {time.process_time() - began:.0f} CPU s to synthesize and read")
        if asked.what == "bounds":
            print_bounds(people)
            return
        if asked.what == "floor":
            print_floor(people, asked.seeds)
            return
        if asked.what == "nested":
            print_nested(Path(folder), people, asked.seeds)
            return
        print_errors(people, asked.seeds)
        print_time(people)


if __name__ == "__main__":
    main()
