"""GLOVE against W4M-LC, as Table 2 of the GLOVE paper: samples discarded, created, deleted, and errors.

    python lab/measure_w4m.py [--input FILE | --subjects 5000 --days 14 --layout nation] [--k 2 5]
        [--delta 2000] [--distance lst edr]

W4M with 10 % trash; GLOVE with suppression above 15 km and 6 h.

Deleted: raw samples of published people that are not published. Errors: for W4M, how far published samples
were moved; for GLOVE, how far samples are from the middle of their box. Linked: victims whose record is named
by somebody who knows four of their samples to about 500 m and 15 min; at most 1/k if records were
k-anonymous. Nearest: the same for somebody who knows four true samples and names the record of W4M that
passes nearest to them, or stands where they would be moved to.
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np

import shoal
from shoal.attacks import attack
from shoal.attacks.attacking import AttackScope
from shoal.methods.co_location.clusters import move_into_cylinder
from shoal.methods.co_location.w4m import W4m
from shoal.model.grid import Grid
from shoal.model.linkage_checks import match_records
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

KNOWLEDGE = "noisy:4:500m:15min"


def moved_by(original: Trajectories, method: W4m) -> tuple[float, float]:
    """Mean meters and seconds by which W4M moves the samples that it keeps."""
    meters, seconds = [], []
    for cluster in method.clusters(original, Run()):
        x, y = move_into_cylinder(cluster.x, cluster.y, method.delta_m)
        kept = cluster.source >= 0
        raw = cluster.source[kept]
        meters.append(np.hypot(x[kept] - original.x[raw], y[kept] - original.y[raw]))
        seconds.append(np.abs(np.broadcast_to(cluster.t, kept.shape)[kept] - original.t[raw]))
    return float(np.concatenate(meters).mean()), float(np.concatenate(seconds).mean())


def off_the_middle(
    original: Trajectories, release: Release, linkage: Linkage
) -> tuple[float, float, float, float]:
    """How far samples are from their boxes, and how large these are.

    Mean meters and seconds from covered samples to the middle of their box; mean dx + dy, mean duration.
    """
    grid, off = original.snapped_grid(), []
    for subject, record in enumerate(match_records(original, release, linkage).tolist()):
        if record < 0:
            continue
        boxes = np.stack(release.record(record).columns(), axis=1)
        t, x, y = original.samples_of(subject)
        at = np.maximum(np.searchsorted(boxes[:, 0], t, side="right") - 1, 0)
        t0, t1, x0, y0, x1, y1 = boxes[at].T
        inside = (t0 <= t) & (t < t1) & (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)
        aside, along = (x0 + x1) / 2 - x - 0.5, (y0 + y1) / 2 - y - 0.5
        found = np.stack(
            [np.hypot(aside, along), np.abs((t0 + t1) / 2 - t - 0.5), x1 - x0 + y1 - y0, t1 - t0]
        )
        off.append(found[:, inside])
    meters, seconds, wide, long = np.concatenate(off, axis=1).mean(axis=1).tolist()
    return meters * grid.cell_m, seconds * grid.slot_s, wide * grid.cell_m, long * grid.slot_s


def row(
    name: str,
    k: int,
    original: Trajectories,
    snapped: Trajectories,
    release: Release,
    linkage: Linkage,
    *more: str,
) -> str:
    losses, n = release.losses, snapped.n_subjects
    published = np.isin(snapped.ids, linkage.uids)
    whole = int(snapped.lengths[~published].sum())
    played = attack(
        original, release, linkage, knowledge=[KNOWLEDGE], rng=shoal.Randomness.for_research(0), tries=1000
    )
    linked = next(rate for rate in played.rates if rate.target == "release")
    cells = [
        name,
        str(k),
        f"{losses.subjects_suppressed:,} ({100 * losses.subjects_suppressed / n:.1f} %)",
        f"{losses.samples_created:,} ({100 * losses.samples_created / snapped.n_samples:.1f} %)",
        f"{losses.samples_suppressed - whole:,} "
        f"({100 * (losses.samples_suppressed - whole) / snapped.n_samples:.1f} %)",
        *more,
        f"{100 * linked.rate:.1f} % ({100 * linked.low:.1f} to {100 * linked.high:.1f})",
    ]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=5000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    options.add_argument("--delta", type=float, default=2000.0)
    options.add_argument("--distance", choices=("lst", "edr"), nargs="+", default=["lst"])
    asked = options.parse_args(arguments)
    given = shoal.read(
        asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout), snap=False
    )
    snapped = given.snapped_to(Grid())
    rng = shoal.Randomness.from_system()
    print(
        f"{given.n_subjects} people, {given.n_samples} samples as given, "
        f"{snapped.n_samples} in cells and slots\n"
    )
    print(
        "| method | k | discarded | created | deleted | position error | time error "
        "| linked | nearest | wall, CPU |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for k in asked.k:
        for distance in asked.distance:
            method = W4m(k=k, delta_m=asked.delta, distance=distance)
            began, worked = time.perf_counter(), time.process_time()
            points, who = method.anonymize(given, rng)
            took = f"{time.perf_counter() - began:.1f} s, {time.process_time() - worked:.1f} s"
            assert shoal.verify(given, points, who).holds
            meters, seconds = moved_by(given, method)
            line = row(
                f"W4M-LC, {distance.upper()}",
                k,
                given,
                snapped,
                points,
                who,
                f"{meters:,.0f} m",
                f"{seconds / 60:,.0f} min",
            )
            (nearest,) = attack(
                given,
                points,
                who,
                knowledge=["nearest:4"],
                rng=shoal.Randomness.for_research(0),
                scope=AttackScope(targets=["release"]),
            ).rates
            print(f"{line} {100 * nearest.rate:.1f} % | {took} |", flush=True)
        glove = shoal.Glove(k=k, suppress_space_m=15_000, suppress_time_s=6 * 3600)
        began, worked = time.perf_counter(), time.process_time()
        boxes, who = glove.anonymize(snapped, rng)
        took = f"{time.perf_counter() - began:.1f} s, {time.process_time() - worked:.1f} s"
        meters, seconds, wide, long = off_the_middle(snapped, boxes, who)
        errors = (
            f"{meters:,.0f} m (box {wide:,.0f} m)",
            f"{seconds / 60:,.0f} min (box {long / 60:,.0f} min)",
        )
        print(f"{row('GLOVE', k, snapped, snapped, boxes, who, *errors)} | {took} |", flush=True)


if __name__ == "__main__":
    main()
