"""What the synthetic data look like: the figures of docs/synthetic.md, measured on the rows alone.

python lab/measure_synthetic.py [--subjects 5000] [--days 14] [--seed 1] [--layout city --layout nation]
    [--stations FILE]
"""

import argparse
from typing import Any

import numpy as np

from shoal.runtime.arrays import Numbers
from shoal.synthetic import read_stations, synthesize
from shoal.synthetic.generator import FIRST_SECOND
from shoal.synthetic.stations import LAYOUTS, METERS_PER_DEGREE

N_ASKED = 1_000  # people whose unicity is tried
N_POINTS = 4


def figures(table: Any, days: int, rng: np.random.Generator) -> dict[str, str]:
    """Each figure with its unit, from a table of uid, t, lat, lon."""
    person = table["uid"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    minute = (table["t"].to_numpy() - FIRST_SECOND) // 60
    lat, lon = table["lat"].to_numpy(), table["lon"].to_numpy()
    _, place = np.unique(np.column_stack([lat, lon]), axis=0, return_inverse=True)
    n, rows = int(person.max()) + 1, np.bincount(person)
    return {
        "rows": f"{person.size:,}",
        "rows per person and hour, mean": f"{person.size / n / days / 24:.3f}",
        "rows per person and day, 5 / 25 / 50 / 75 / 95 % and largest": _quantiles(
            rows / days, (0.05, 0.25, 0.5, 0.75, 0.95, 1), 1
        ),
        "radius of gyration, km, 25 / 50 / 75 / 95 %": _quantiles(
            gyration_km(person, lat, lon), (0.25, 0.5, 0.75, 0.95), 2
        ),
        "radius of gyration, km, mean": f"{gyration_km(person, lat, lon).mean():.1f}",
        "places per person, 5 / 50 / 95 % and largest": _quantiles(
            places_per_person(person, place), (0.05, 0.5, 0.95, 1), 0
        ),
        "share of rows at the person's first and second place": _top_two(person, place),
        "share of rows from 00:00 to 05:00 UTC": f"{(minute % 1440 < 300).mean():.3f}",
        "share of them at the person's most frequent place in these "
        "hours": f"{night_share(person, place, minute):.3f}",
        "fewest / most rows in an hour of the day, per cent": _hours(minute),
        f"unique by {N_POINTS} random rows, to the station and "
        "hour": f"{unicity(person, place, minute // 60, rng):.3f}",
    }


def gyration_km(person: Numbers, lat: Numbers, lon: Numbers) -> Numbers:
    """[n]: root mean square distance of each person's rows from their middle."""
    rows = np.bincount(person)
    x = lon * METERS_PER_DEGREE * np.cos(np.radians(np.median(lat))) / 1000
    y = lat * METERS_PER_DEGREE / 1000
    squared: Numbers = np.zeros(rows.size)
    for axis in (x, y):
        middle = np.bincount(person, axis) / rows
        squared += np.bincount(person, (axis - middle[person]) ** 2) / rows
    return np.asarray(np.sqrt(squared))


def places_per_person(person: Numbers, place: Numbers) -> Numbers:
    """[n]: at how many stations each person was recorded."""
    return np.bincount(np.unique(person * (int(place.max()) + 1) + place) // (int(place.max()) + 1))


def night_share(person: Numbers, place: Numbers, minute: Numbers) -> float:
    """Share of night rows at a person's most frequent night place, of people with at least five such rows."""
    night = minute % 1440 < 300
    keys, count = np.unique(person[night] * (int(place.max()) + 1) + place[night], return_counts=True)
    who = keys // (int(place.max()) + 1)
    most, total = np.zeros(int(person.max()) + 1), np.bincount(who, count, minlength=int(person.max()) + 1)
    np.maximum.at(most, who, count)
    return float(most[total >= 5].sum() / total[total >= 5].sum())


def unicity(person: Numbers, place: Numbers, hour: Numbers, rng: np.random.Generator) -> float:
    """Share of people who alone have N_POINTS random ones of their own rows (de Montjoye et al. 2013)."""
    cell = place * (int(hour.max()) + 1) + hour
    order = np.argsort(cell, kind="stable")
    cells, people = cell[order], person[order]
    begins = np.concatenate([[0], np.cumsum(np.bincount(person))])
    asked = rng.choice(begins.size - 1, min(N_ASKED, begins.size - 1), replace=False)
    unique = 0
    for someone in asked:
        own = np.unique(cell[begins[someone] : begins[someone + 1]])
        known = rng.choice(own, min(N_POINTS, own.size), replace=False)
        crowd: set[int] | None = None
        for one in known:
            low, high = np.searchsorted(cells, [one, one + 1])
            there = set(people[low:high].tolist())
            crowd = there if crowd is None else crowd & there
        unique += crowd == {int(someone)}
    return unique / asked.size


def _quantiles(values: Numbers, at: tuple[float, ...], digits: int) -> str:
    return " / ".join(f"{value:.{digits}f}" for value in np.quantile(values, at))


def _top_two(person: Numbers, place: Numbers) -> str:
    keys, count = np.unique(person * (int(place.max()) + 1) + place, return_counts=True)
    who = keys // (int(place.max()) + 1)
    order = np.lexsort((-count, who))
    rank = np.arange(who.size) - np.searchsorted(who, who)
    return " / ".join(f"{count[order][rank == r].sum() / count.sum():.3f}" for r in (0, 1))


def _hours(minute: Numbers) -> str:
    share = np.bincount(minute % 1440 // 60, minlength=24) / minute.size
    return (
        f"{100 * share.min():.2f} (at {share.argmin():02d}) / {100 * share.max():.2f} (at "
        f"{share.argmax():02d})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", type=int, default=5_000)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layout", choices=LAYOUTS, action="append")
    parser.add_argument("--stations")
    given = parser.parse_args()
    stations = read_stations(given.stations) if given.stations else None
    for layout in [LAYOUTS[0]] if stations is not None else given.layout or LAYOUTS:
        table = synthesize(given.subjects, given.days, given.seed, layout=layout, stations=stations)
        print(f"\n{given.stations or layout}: {given.subjects:,} people, {given.days} days")
        for what, value in figures(table, given.days, np.random.default_rng(0)).items():
            print(f"  {what:<70} {value}")


if __name__ == "__main__":
    main()
