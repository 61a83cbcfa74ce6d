"""The most isolated samples left out before crowds are formed, beside --omit-at-most; for decision 0107.

python lab/measure_isolation.py [--input FILE | --subjects 300 --days 14 --layout civ] [--k 5]
    [--share 0.05] [--people 150] [--one-week] [--refine]

A sample's isolation is its distance to the (k - 1)-th nearest other person: of the nearest sample of each, by
dx + dy over 20 km and the time between them over 8 h. As many as the budget allows are dropped, of nobody
more than --omit-at-most lets one person lose. --one-week lays all weeks on one.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.neighbors import KDTree

import shoal
from measure_omission import made, on_one_week
from shoal.measures.stretch import SPACE_CAP_M, TIME_CAP_S
from shoal.methods.glove.omission import Budget
from shoal.model.omission import most_allowed
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Floats
from shoal.runtime.run import Run
from shoal.utility import Facts
from shoal.utility.accuracy import Extents


def isolation(original: Trajectories, k: int) -> Floats:
    """[m] of each sample, the distance to the (k - 1)-th nearest other person; 1 = a whole cap in all."""
    grid = original.snapped_grid()
    steps = np.array([grid.cell_m / SPACE_CAP_M, grid.cell_m / SPACE_CAP_M, grid.slot_s / TIME_CAP_S])
    points = np.stack([original.x, original.y, original.t], axis=1) * steps
    nearest, rows = np.full((original.n_samples, k - 1), np.inf), np.arange(original.n_samples)
    for start, end in zip(original.offsets[:-1], original.offsets[1:], strict=True):
        away = KDTree(points[start:end], metric="manhattan").query(points)[0][:, 0]
        away[start:end] = np.inf  # others only
        farthest = nearest.argmax(axis=1)
        nearer = away < nearest[rows, farthest]
        nearest[rows[nearer], farthest[nearer]] = away[nearer]
    return np.asarray(nearest.max(axis=1))


def without_the_isolated(original: Trajectories, k: int, budget: Budget) -> tuple[Trajectories, Flags]:
    """The data without its most isolated samples, as the budget allows; [m] which stay."""
    left = most_allowed(budget.of_all, original.n_samples)
    lost = np.zeros(original.n_subjects, dtype=np.int64)
    most = np.array([most_allowed(budget.of_one, length) for length in original.lengths.tolist()])
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    kept = np.ones(original.n_samples, dtype=np.bool_)
    for row in np.argsort(-isolation(original, k), kind="stable").tolist():
        if left and lost[owner[row]] < most[owner[row]]:
            kept[row], left = False, left - 1
            lost[owner[row]] += 1
    ids = np.array(original.ids)[owner[kept]].tolist()
    part = Trajectories.from_rows(
        ids, original.t[kept], original.x[kept], original.y[kept], grid=original.grid, crs=original.crs
    )
    return part, kept


def row_of(name: str, raw: Extents, missing: float, whole: Extents, cpu_s: float) -> str:
    """Extents of raw samples that are published, and the ratios of medians and means to all covered."""
    cells = [
        name,
        f"{missing:.2%}",
        f"{raw.median_space_m / 1000:.2f} km, {raw.median_time_s / 60:,.0f} min",
        f"{raw.median_space_m / whole.median_space_m:.2f}, {raw.median_time_s / whole.median_time_s:.2f}",
        f"{raw.mean_space_m / 1000:.2f} km, {raw.mean_time_s / 60:,.0f} min",
        f"{raw.mean_space_m / whole.mean_space_m:.2f}, {raw.mean_time_s / whole.mean_time_s:.2f}",
        f"{cpu_s:.1f} s",
    ]
    return "| " + " | ".join(cells) + " |"


def lines(original: Trajectories, k: int, share: float, *, refine: bool = False) -> Iterator[str]:
    """All covered, left out while boxes are chosen, left out before crowds are formed, and half of each."""
    yield f"{original.n_subjects} people, {original.n_samples} samples, k = {k}, {share:.0%}"
    head = ("left out", "missing", "medians", "to all covered", "means", "to all covered", "CPU")
    yield "| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|"
    settings: dict[str, Any] = {"k": k, "refine": refine, "omit_of_one_at_most": None}
    whole: Extents | None = None
    for name, before, during in (
        ("nothing", 0.0, 0.0),
        ("from finished crowds", 0.0, share),
        ("before crowds are formed", share, 0.0),
        ("half and half", share / 2, share / 2),
    ):
        began = time.process_time()
        part = original
        if before:
            part, _ = without_the_isolated(original, k, Budget.of(before, None))
        crowds = shoal.Glove(**settings).classes(part, Run())
        one = made(part, crowds, settings, during)
        raw = Facts(part, one.release, one.linkage).accuracy.raw
        whole = whole or raw
        missing = 1 - raw.n_samples / original.n_samples
        yield row_of(name, raw, missing, whole, time.process_time() - began)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=300)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", default="civ")
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--share", type=float, default=0.05)
    options.add_argument("--people", type=int, help="the first so many of the data")
    options.add_argument("--one-week", action="store_true")
    options.add_argument("--refine", action="store_true")
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    if asked.people is not None:
        original = original.keep(np.arange(min(asked.people, original.n_subjects)))
    if asked.one_week:
        original = on_one_week(original)
    for line in lines(original, asked.k, asked.share, refine=asked.refine):
        print(line, flush=True)


if __name__ == "__main__":
    main()
