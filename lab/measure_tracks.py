"""How far a tracker restores the paths of swapped points, and what lowers that (docs/swap-locations.md).

python lab/measure_tracks.py oldenburg|taxis --points FILE [--k 4] [--hours 3] [--seed 0]

The tracker is an upper bound: it knows which records form a cluster, and joins the points of a cluster by
speed and heading as the attack ``track`` does. For each person one published point is known.
*Rejoined*: the share of the person's other published points in the track that holds it; *whole*: the share of
people all of whose published points are in one track and no others.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq

import shoal
from shoal.attacks import attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.clusters import by_last_steps, straighter_tracks
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from tables_swap import read_taxis

Join = Callable[[Floats, Floats, Floats, int], Integers]
KEEP = (1.0, 0.5, 0.25, 0.1)


def as_track(t: Floats, x: Floats, y: Floats, tracks: int) -> Integers:
    """Joined as the attack joins the points of a cluster."""
    return straighter_tracks(t, x, y, tracks, by_last_steps(t, x, y, tracks))


def rates(
    original: Trajectories, release: Release, linkage: Linkage, join: Join = as_track
) -> tuple[float, float, float]:
    """The share rejoined, the share of people restored whole, and the share of raw points published."""
    trace = linkage.trace
    assert trace is not None
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)[trace.time_from]
    cluster_of: dict[int, int] = {}
    for start, end in zip(trace.set_offsets[:-1], trace.set_offsets[1:], strict=True):
        people = np.repeat(np.arange(original.n_subjects), original.lengths)[trace.set_rows[start:end]]
        for person in people.tolist():
            cluster_of[person] = int(people.min())
    record_of_point = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    cluster = np.array([cluster_of[person] for person in owner.tolist()])
    t, x, y = release.points.t, release.points.x, release.points.y
    rejoined, whole = [], []
    for one in np.unique(cluster):
        rows = np.flatnonzero(cluster == one)
        rows = rows[np.lexsort((y[rows], x[rows], t[rows]))]
        records = len(np.unique(record_of_point[rows]))
        tracks = np.asarray(join(t[rows], x[rows], y[rows], records))
        for person in np.unique(owner[rows]):
            held = tracks[owner[rows] == person]
            counts = np.bincount(held)
            if len(held) > 1:
                rejoined.append(float((counts * (counts - 1)).sum() / (len(held) * (len(held) - 1))))
            whole.append(len(set(held)) == 1 and bool((owner[rows][tracks == held[0]] == person).all()))
    return float(np.mean(rejoined)), float(np.mean(whole)), len(t) / original.n_samples


def attacked(original: Trajectories, release: Release, linkage: Linkage, seed: int) -> float:
    """The share that the attack ``track`` rejoins from the release alone, the known point included."""
    rng = Randomness.for_research(seed)
    found = attack(
        original,
        release,
        linkage,
        knowledge=["track"],
        rng=rng,
        tries=300,
        scope=AttackScope(targets=["release"]),
    )
    return next(rate.rate for rate in found.rates if rate.name == "track-rejoined")


def dropped(release: Release, linkage: Linkage, seed: int) -> tuple[Release, Linkage]:
    """The release without a fifth of its points, so that the records of a cluster differ in number."""
    record = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    kept = np.random.default_rng(seed).random(len(record)) < 0.8
    offsets = np.concatenate([[0], np.cumsum(np.bincount(record[kept], minlength=release.n_records))])
    assert linkage.stands_for is not None
    return (
        replace(release, payload=release.points.take(kept), offsets=offsets),
        replace(linkage, trace=None, stands_for=linkage.stands_for[kept]),
    )


def settings(k: int, time_s: float, spaces: list[float]) -> Iterator[tuple[str, SwapLocations]]:
    for space in spaces:
        yield f"{space:,.0f}", SwapLocations(k=k, time_threshold_s=time_s, space_threshold_m=space)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", choices=("oldenburg", "taxis"))
    options.add_argument("--points", required=True)
    options.add_argument("--k", type=int, nargs="+", default=[4])
    options.add_argument("--hours", type=float, default=3, help="of taxis, from 8:00 of their day on")
    options.add_argument("--space", type=float, nargs="+")
    options.add_argument("--keep", type=float, nargs="+", default=list(KEEP))
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    original, time_s, far_m = read_points(asked.data, asked.points, asked.hours)
    spaces = asked.space or [
        far_m,
        *{"oldenburg": (2500, 900, 250), "taxis": (4_000, 1_000, 250)}[asked.data],
    ]
    print(f"{original.n_subjects} trajectories, {original.n_samples} points\n")
    print(
        "| k | R^s | publish share | points published | rejoined, cluster known | whole "
        "| rejoined, from the release | the same, points dropped |\n|---|---|---|---|---|---|---|---|"
    )
    for k in asked.k:
        clusters = SwapLocations(k=k).clusters(original, shoal.Run())
        for name, method in settings(k, time_s, spaces):
            for keep in asked.keep:
                rng = Randomness.for_research(asked.seed)
                release, linkage = replace(method, publish_share=keep).swap(original, *clusters, rng)
                joined, whole, kept = rates(original, release, linkage)
                lab = attacked(original, release, linkage, asked.seed) if keep == 1 else np.nan
                fewer = (
                    attacked(original, *dropped(release, linkage, asked.seed), asked.seed)
                    if keep == 1
                    else np.nan
                )
                print(
                    f"| {k} | {name} | {keep:g} | {kept:.1%} | {joined:.1%} | {whole:.1%} | {lab:.1%} | "
                    f"{fewer:.1%} |",
                    flush=True,
                )


def read_points(data: str, points: str, hours: float) -> tuple[Trajectories, float, float]:
    """The data, with the R^t in seconds and the R^s in meters that let everything be swapped."""
    if data == "taxis":
        return within_hours(read_taxis(points), hours), 86_400.0, 128_000.0
    table = pq.read_table(points, columns=["user_id", "t", "x", "y"])
    return shoal.read(table, snap=False, crs="local", time_unit="1s"), 100.0, 1e6


def within_hours(trips: Trajectories, hours: float) -> Trajectories:
    """The trips that begin and end in so many hours."""
    begin = float(np.quantile(trips.t, 0.5))
    first, last = trips.t[trips.offsets[:-1]], trips.t[trips.offsets[1:] - 1]
    kept = np.flatnonzero((first >= begin) & (last < begin + hours * 3600))
    rows = np.concatenate([np.arange(trips.offsets[i], trips.offsets[i + 1]) for i in kept])
    ids = np.repeat(np.array(trips.ids, dtype=np.object_), trips.lengths)[rows]
    return Trajectories.from_rows(ids.tolist(), trips.t[rows], trips.x[rows], trips.y[rows], crs=trips.crs)


if __name__ == "__main__":
    main()
