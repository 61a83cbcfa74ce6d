"""What boxes of whole leaves cost in extents, and what they give away; for docs/leaves.md.

python lab/measure_leaves.py [--subjects 1800 --days 14 --layout city] [--k 5] [--hull tight leaves:10]
    [--seed 1]

The list holds the stations that the synthetic people use. With it, a reader of all boxes (`downcoding`), a
member of the crowd (`insider`) and all others of it (`insider:all`) name a place of each box. In brackets:
the best blind guess with that list.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.csv as pa_csv

import shoal
from shoal.attacks import AttackScope
from shoal.attacks.rate import TargetName

RELEASE: tuple[TargetName] = ("release",)
HULLS = ("tight", "grid:2km", "leaves:5", "leaves:10", "leaves:10:0.2", "leaves:13")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for option, default in (("subjects", 1800), ("days", 14), ("k", 5), ("seed", 1)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--layout", default="city")
    parser.add_argument("--hull", nargs="+", default=HULLS)
    asked = parser.parse_args()
    rows = shoal.synthesize(asked.subjects, asked.days, asked.seed, layout=asked.layout)
    with TemporaryDirectory() as folder:
        stations = rows.group_by(["lat", "lon"]).aggregate([([], "count_all")])
        stations = stations.rename_columns(["lat", "lon", "busyness"])
        pa_csv.write_csv(stations, Path(folder) / "stations.csv")
        people = shoal.read(rows, places=f"{folder}/stations.csv", places_are_public=True)
    print(
        f"{people.n_subjects} people, {people.n_samples} samples, {stations.num_rows} stations, k = {asked.k}"
    )
    print(
        "| hull | `--refine` | dx + dy, mean | median | duration, mean | median | reader | member | others |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for hull in asked.hull:
        for refine in (False, True):
            method = shoal.Glove(k=asked.k, hull=hull, refine=refine)
            release, linkage = method.anonymize(people, shoal.Randomness.for_research(asked.seed))
            if not shoal.verify(people, release, linkage).holds:
                raise SystemExit(f"{hull}: the release does not hold")
            boxes, grid = release.boxes, release.snapped_grid()
            km = (boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min) * grid.cell_m / 1000
            minutes = (boxes.t_end - boxes.t_start) * grid.slot_s / 60
            result = shoal.attack(
                people,
                release,
                linkage,
                knowledge=["downcoding", "insider", "insider:all"],
                tries=people.n_subjects,
                rng=shoal.Randomness.for_research(asked.seed),
                scope=AttackScope(targets=RELEASE),
            )
            read = [
                f"{rate.rate:.0%} ({rate.baseline:.0%})"
                for rate in result.rates
                if rate.name in ("downcoding-place", "insider-place")
            ]
            print(
                f"| `{hull}` | {'yes' if refine else 'no'} | {km.mean():.1f} km | {np.median(km):.1f} km "
                f"| {minutes.mean():.0f} min | {np.median(minutes):.0f} min "
                f"| {' | '.join(read)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
