"""What boxes of whole leaves cost in extents, and what they give away; for docs/leaves.md.

python lab/measure_leaves.py [--subjects 1800 --days 14 --layout city] [--k 5] [--hull tight leaves:10]
    [--seed 1]

The list holds the stations that the synthetic people use, and how often. Two adversaries name a place of each
box, and are right if a member of the crowd was there at its time. "Blind" names the busiest place of the box.
"Named" knows leaves: where one leaf alone touches a side, a member was in it. It weighs the use of a place,
its share of a leaf at a side, and how often its leaf was at a side in other boxes; the best weights count.
"""

import argparse
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.csv as pa_csv

import shoal
from shoal.methods.leaves import leaves_for
from shoal.model.claims.hull import parse_hull

WEIGHTS = tuple(product((0, 1, 4, 16, 64, 256), repeat=2))
HULLS = ("tight", "grid:2km", "leaves:5", "leaves:10", "leaves:10:0.3")


def cells_with_use(people: shoal.Trajectories) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, rows and busyness of the listed cells."""
    if people.places is None:
        raise SystemExit("the people were read without a list of places")
    x, y, use = people.places.cells(people.snapped_grid().cell_m)
    return x, y, np.ones(len(x)) if use is None else use


def leaves_of(people: shoal.Trajectories, hull: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells [c, 2], the leaf of each, and bounds [L, 4] of leaves, or of what a side can hide."""
    rule, cell_m = parse_hull(hull), people.snapped_grid().cell_m
    leaves = leaves_for(people, hull)
    if leaves is not None:
        return np.column_stack([leaves.x, leaves.y]), leaves.leaf_of, leaves.bounds
    x, y, _ = cells_with_use(people)
    side = 1 if rule.grid_m is None else round(rule.grid_m / cell_m)
    corner, leaf = np.unique(np.column_stack([x, y]) // side, axis=0, return_inverse=True)
    return np.column_stack([x, y]), leaf.ravel(), np.hstack([corner, corner + 1]) * side


def shares_named(
    people: shoal.Trajectories, release: shoal.Release, linkage: shoal.Linkage, hull: str
) -> np.ndarray:
    """For each pair of WEIGHTS, the share of boxes with a true place named; the first is blind."""
    cells, leaf_of, bounds = leaves_of(people, hull)
    _, _, use = cells_with_use(people)
    share = use / np.bincount(leaf_of, weights=use)[leaf_of]
    row = {name: number for number, name in enumerate(release.trajectory_ids)}
    crowds: dict[bytes, list[int]] = {}
    for person, name in enumerate(linkage.trajectory_ids):
        crowds.setdefault(np.stack(release.record(row[name]).columns()).tobytes(), []).append(person)
    won, total = np.zeros(len(WEIGHTS)), 0
    for content, members in crowds.items():
        t, x, y = np.hstack([people.samples_of(member) for member in members])
        boxes = np.frombuffer(content, dtype=np.int64).reshape(6, -1).T
        sides = boxes[:, None, 2:]
        within = np.greater_equal(bounds[:, :2], sides[..., :2]), np.less_equal(bounds[:, 2:], sides[..., 2:])
        inside = np.asarray(np.concatenate(within, axis=2).all(axis=2))
        at_side = np.logical_and(inside[:, :, None], np.equal(bounds, sides))
        sure = (at_side & (at_side.sum(axis=1, keepdims=True) == 1)).any(axis=2)
        often = sure.sum(axis=0) / np.maximum(inside.sum(axis=0), 1)
        now = np.asarray((t >= boxes[:, :1]) & (t < boxes[:, 1:2]))
        at = np.asarray((x[:, None] == cells[:, 0]) & (y[:, None] == cells[:, 1]))
        there = np.asarray(now.astype(np.float32) @ at.astype(np.float32) > 0)
        for number, (at_a_side, in_others) in enumerate(WEIGHTS):
            score = use / use.mean() + share * (at_a_side * sure + in_others * often)[:, leaf_of]
            named = np.where(inside[:, leaf_of], score, -1).argmax(axis=1)
            won[number] += there[np.arange(len(boxes)), named].sum()
        total += len(boxes)
    return won / total


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
    print("| hull | `--refine` | dx + dy, mean | median | duration, mean | median | named | blind |")
    print("|---|---|---|---|---|---|---|---|")
    for hull in asked.hull:
        for refine in (False, True):
            method = shoal.Glove(k=asked.k, hull=hull, refine=refine)
            release, linkage = method.anonymize(people, shoal.Randomness.for_research(asked.seed))
            if not shoal.verify(people, release, linkage).holds:
                raise SystemExit(f"{hull}: the release does not hold")
            boxes, grid = release.boxes, release.snapped_grid()
            km = (boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min) * grid.cell_m / 1000
            minutes = (boxes.t_end - boxes.t_start) * grid.slot_s / 60
            named = shares_named(people, release, linkage, hull)
            print(
                f"| `{hull}` | {'yes' if refine else 'no'} | {km.mean():.1f} km | {np.median(km):.1f} km "
                f"| {minutes.mean():.0f} min | {np.median(minutes):.0f} min "
                f"| {named.max():.0%} | {named[0]:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
