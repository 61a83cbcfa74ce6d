"""What hulls give away and what larger boxes cost: an insider, homes, the smallest boxes; for docs/glove.md.

python lab/measure_hulls.py [--input FILE | --subjects 500 --days 7 --layout city] [--k 2 5]
    [--method glove|kte-hide] [--hull tight outward:5 grid:500m] [--seed 0]

Every adversary knows the rule by which boxes were made larger.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import shoal
from shoal.model.claims.hull import parse_hull
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.utility.accuracy import measure_accuracy

NIGHT = (22, 6)  # hours
KNOWN = (1, 2, 4)
HULLS = ("tight", "outward:2", "outward:5", "outward:10", "grid:500m", "grid:1km", "grid:2km")


@dataclass(frozen=True, eq=False)
class Case:
    """What an adversary of a release holds, and the truth to judge answers by.

    own: [people] for each person the boxes [b, 6] of the own record; cls: [people] its class, -1 = none.
    reach: how many cells beyond its samples a side may lie; likely: how many it lies on average.
    """

    original: Trajectories
    own: list[np.ndarray]
    cls: np.ndarray
    reach: int
    likely: float


def case_of(original: Trajectories, release: Release, linkage: Linkage, hull: str) -> Case:
    rule = parse_hull(hull)
    reach = (
        rule.outward_cells if rule.grid_m is None else round(rule.grid_m / original.snapped_grid().cell_m) - 1
    )
    row = {name: r for r, name in enumerate(release.trajectory_ids)}
    record_of = {uid: row[name] for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True)}
    classes: dict[bytes, int] = {}
    own, cls = [], np.full(original.n_subjects, -1)
    for person, uid in enumerate(original.ids):
        boxes = np.empty((0, 6), dtype=np.int64)
        if uid in record_of:
            boxes = np.stack(release.record(record_of[uid]).columns(), axis=1)
            cls[person] = classes.setdefault(boxes.tobytes(), len(classes))
        own.append(boxes)
    return Case(original, own, cls, reach, reach / 2)


def guesses(case: Case, box: np.ndarray, mine: np.ndarray) -> np.ndarray:
    """What an insider with these samples [s, 3] in a box says of another's: time, x and y that span the rest.

    In each axis the side that the own samples explain least; none where they explain both.
    """
    told = []
    for axis, (low, high) in enumerate(((0, 1), (2, 4), (3, 5))):
        reach, likely = (0, 0.0) if axis == 0 else (case.reach, case.likely)
        below = mine[:, axis].min() - box[low]
        above = box[high] - 1 - mine[:, axis].max()
        if max(below, above) <= reach:
            told.append((box[low] + box[high] - 1) / 2)
        else:
            told.append(box[low] + likely if below >= above else box[high] - 1 - likely)
    return np.array(told)


def insiders(case: Case) -> dict[str, float]:
    """Each person against the other members: how often a guess is a sample of theirs, and how far it is."""
    exact = tries = samples = 0
    far: list[float] = []
    columns = np.stack([case.original.t, case.original.x, case.original.y], axis=1)
    for one in np.unique(case.cls[case.cls >= 0]):
        members = np.flatnonzero(case.cls == one)
        rows = {m: columns[case.original.offsets[m] : case.original.offsets[m + 1]] for m in members}
        for me in members[:2]:
            others = np.concatenate([rows[m] for m in members if m != me])
            samples += len(others)
            for box in case.own[me]:
                mine, theirs = inside(rows[me], box), inside(others, box)
                if not len(mine) or not len(theirs):
                    continue
                guess = np.rint(guesses(case, box, mine))
                tries += 1
                exact += bool((theirs == guess).all(axis=1).any())
                far.append(
                    float(np.hypot(*(theirs[:, 1:] - guess[1:]).T).min())
                    * case.original.snapped_grid().cell_m
                )
    return {
        "exact": exact / max(1, tries),
        "far": float(np.median(far)) if far else np.nan,
        "share": exact / samples,
    }


def inside(samples: np.ndarray, box: np.ndarray) -> np.ndarray:
    t, x, y = samples.T
    held = (box[0] <= t) & (t < box[1]) & (box[2] <= x) & (x < box[4]) & (box[3] <= y) & (y < box[5])
    return np.asarray(samples[held])


def at_night(case: Case, t: np.ndarray) -> np.ndarray:
    hour = t * case.original.snapped_grid().slot_s / 3600 % 24
    return np.asarray((hour >= NIGHT[0]) | (hour < NIGHT[1]))


def homes(case: Case, rng: np.random.Generator) -> dict[str, float]:
    """Everybody's record is known: its night boxes vote, by their corners or by all their cells."""
    won = {"corners": 0.0, "cells": 0.0}
    asked = 0
    x0, y0 = case.original.x.min() - 60, case.original.y.min() - 60
    shape = (int(case.original.x.max() - x0 + 121), int(case.original.y.max() - y0 + 121))
    for person in range(case.original.n_subjects):
        t, x, y = case.original.samples_of(person)
        night = at_night(case, t)
        if case.cls[person] < 0 or night.sum() < 3:
            continue
        cells, count = np.unique(np.stack([x[night], y[night]], axis=1), axis=0, return_counts=True)
        home = cells[int(count.argmax())] - (x0, y0)
        asked += 1
        boxes = case.own[person]
        boxes = boxes[
            at_night(case, boxes[:, 0]) & at_night(case, boxes[:, 1] - 1) & (boxes[:, 1] - boxes[:, 0] < 480)
        ]
        for rule, rectangles in (("corners", corners(boxes, case.reach)), ("cells", boxes[:, [2, 3, 4, 5]])):
            votes = voted(rectangles - (x0, y0, x0, y0), shape)
            best = np.argwhere(votes >= votes.max() - 1e-9)
            won[rule] += bool(len(boxes)) and (best[rng.integers(len(best))] == home).all()
    return {rule: count / max(1, asked) for rule, count in won.items()}


def corners(boxes: np.ndarray, reach: int) -> np.ndarray:
    """[4 b, 4] where the samples behind each corner may lie: x and y from, x and y to."""
    wide = reach + 1
    _, _, x_min, y_min, x_max, y_max = boxes.T
    west, east = np.minimum(x_min + wide, x_max), np.maximum(x_max - wide, x_min)
    south, north = np.minimum(y_min + wide, y_max), np.maximum(y_max - wide, y_min)
    sides = [(x_min, west), (east, x_max)], [(y_min, south), (north, y_max)]
    return np.concatenate([np.stack([a, c, b, d], axis=1) for a, b in sides[0] for c, d in sides[1]])


def voted(rectangles: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """One vote of each rectangle, spread over its cells."""
    sums = np.zeros((shape[0] + 1, shape[1] + 1))
    x_from, y_from, x_to, y_to = np.clip(rectangles, 0, [*shape, *shape]).T
    vote = 1 / np.maximum(1, (x_to - x_from) * (y_to - y_from))
    for x, y, sign in ((x_from, y_from, 1), (x_to, y_from, -1), (x_from, y_to, -1), (x_to, y_to, 1)):
        np.add.at(sums, (x, y), sign * vote)
    return np.asarray(sums.cumsum(axis=0).cumsum(axis=1)[:-1, :-1])


def smallest(case: Case, rng: np.random.Generator, victims: int) -> dict[str, float]:
    """Some exact samples are known: of the classes that hold them the one with the smallest boxes there."""
    shown = np.flatnonzero(case.cls >= 0)
    _, first = np.unique(case.cls[shown], return_index=True)
    representatives = shown[first]
    size = np.bincount(case.cls[shown])
    won = dict.fromkeys(KNOWN, 0.0)
    chosen = rng.choice(shown, min(victims, len(shown)), replace=False)
    for person in chosen:
        t, x, y = case.original.samples_of(person)
        rows = rng.permutation(len(t))[: max(KNOWN)]
        for known in KNOWN:
            score = [
                fit(case.own[r], t[rows[:known]], x[rows[:known]], y[rows[:known]]) for r in representatives
            ]
            best = np.flatnonzero(np.array(score) >= max(score) - 1e-12)
            mine = [case.cls[representatives[b]] == case.cls[person] for b in best]
            won[known] += (
                sum(mine) / sum(size[case.cls[representatives[b]]] for b in best)
                if max(score) > -np.inf
                else 0
            )
    return {f"points:{known}": won[known] / len(chosen) for known in KNOWN}


def fit(boxes: np.ndarray, t: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """The log of the chance that this record's boxes give to these samples; -inf where one is not held."""
    total = 0.0
    for ti, xi, yi in zip(t, x, y, strict=True):
        held = boxes[(boxes[:, 0] <= ti) & (ti < boxes[:, 1])]
        held = held[(held[:, 2] <= xi) & (xi < held[:, 4]) & (held[:, 3] <= yi) & (yi < held[:, 5])]
        if not len(held):
            return -np.inf
        total += np.log(np.sum(1 / np.prod(held[:, [1, 4, 5]] - held[:, [0, 2, 3]], axis=1)) / len(boxes))
    return float(total)


def rows_of(
    original: Trajectories, k: int, method: str, hulls: list[str], seed: int, victims: int
) -> Iterator[str]:
    for hull in hulls:
        made: shoal.Method = (
            shoal.Glove(k=k, hull=hull) if method == "glove" else shoal.KteHide(k=k, hull=hull)
        )
        release, linkage = made.anonymize(original, Randomness.for_research(seed))
        extents = measure_accuracy(original, release, linkage).raw
        case = case_of(original, release, linkage, hull)
        rng = np.random.default_rng(seed)
        told = insiders(case) if method == "glove" else {"exact": np.nan, "far": np.nan, "share": np.nan}
        home = homes(case, rng)
        near = smallest(case, rng, victims)
        yield (
            f"| {k} | `{hull}` | {told['exact']:.1%} | {told['share']:.1%} | {told['far']:,.0f} m | "
            f"{home['corners']:.1%} | {home['cells']:.1%} | "
            + " / ".join(f"{100 * rate:.1f}" for rate in near.values())
            + f" % | {extents.mean_space_m / 1000:.2f} km | {extents.share_within(space_m=2000):.1%} |"
        )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=500)
    options.add_argument("--days", type=int, default=7)
    options.add_argument("--layout", choices=("nation", "city"), default="city")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    options.add_argument("--method", choices=("glove", "kte-hide"), default="glove")
    options.add_argument("--hull", nargs="+", default=list(HULLS))
    options.add_argument("--victims", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    print(f"{original.n_subjects} people, {original.n_samples} samples\n")
    print(
        "| k | hull | insider's guess exact | share of the others' samples | median error | home by corners "
        "| by cells | named by 1 / 2 / 4 points | mean dx + dy | within 2 km |\n"
        "|---|---|---|---|---|---|---|---|---|---|"
    )
    for k in asked.k:
        for row in rows_of(original, k, asked.method, asked.hull, asked.seed, asked.victims):
            print(row, flush=True)


if __name__ == "__main__":
    main()
