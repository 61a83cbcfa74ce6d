"""Tables 4 to 9 of the SwapLocations paper on data of your own, beside the paper's numbers.

    python lab/tables_swap.py oldenburg --points FILE --nodes FILE --edges FILE
        [--thresholds 57 749 4780 ...] [--clustering greedy]
    python lab/tables_swap.py taxis --points FILE [--time-threshold 86400]
        [--thresholds 1 2 4 8 16 32 64 128]
    python lab/tables_swap.py cause --points FILE
    python lab/tables_swap.py calibrated --points FILE [--k 2 4 6] [--deltas 0 1000 2000]
    python lab/tables_swap.py attacks --points FILE --nodes FILE --edges FILE [--k 4]

oldenburg: both methods at R^t = 100 with the settings of Sec. 7.1, for R^s = 10^6 and the thresholds given,
in map units: removed trajectories and locations (tables 4, 5), TotalSD, SID and AID (tables 6, 7). taxis:
tables 8 and 9, R^s in km, for one day; trips are split at gaps over 3 minutes, and those with a speed over
240 km/h are left out. cause: which clusterings remove how much, against the paper's 34 to 84 %. calibrated:
SwapLocations with the R^s whose TotalSD comes nearest to that of NWA's (k, delta)-co-location on the same
data (Sec. 7.1.3), side by side. attacks: how often exact triples and exact times find the record, and what
they disclose, in both methods.

Every release is verified. Research seeds: nothing here is for publication.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pyarrow.parquet as pq

import shoal
from shoal.attacks import attack
from shoal.errors import NothingLeftError
from shoal.io.formats.street_files import read_streets
from shoal.kernels.passing import Lines
from shoal.kernels.swap_sets import form_swap_sets
from shoal.measures.trajectory_distance import shortest_paths, trajectory_distances
from shoal.methods.co_location.nwa import Nwa
from shoal.methods.swapping.exchange import Clustering, distances_within
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.omission import APART, NO_DURATION
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility.points import measure_points
from shoal_papers.clusters import clusters_of
from shoal_papers.range_queries import calibrated_threshold, draw_queries, range_distortion

Clusters = tuple[list[Integers], dict[str, int], dict[str, float]]
WAYS: tuple[Clustering, ...] = ("greedy", "mdav")
KS = (2, 4, 6, 8, 10, 15)
PAPER_SWAP = (34, 58, 69, 75, 79, 84)  # Table 4, R^s = 10^6
PAPER_REACH = (1, 3, 3, 4, 4, 3)  # Table 5, delta = 0: R^s = 499,875 for k = 2, else 10^6
PAPER_TAXIS = {  # Table 8, locations removed
    1: (43, 64, 71, 74, 77, 81),
    2: (29, 47, 54, 58, 60, 66),
    4: (17, 29, 35, 40, 41, 49),
    8: (10, 19, 25, 29, 31, 38),
    16: (7, 16, 22, 27, 30, 38),
    32: (7, 15, 22, 27, 30, 38),
    64: (6, 15, 22, 27, 30, 38),
    128: (6, 15, 22, 27, 30, 38),
}
PAPER_TAXIS_QUERIES = {  # Table 9, SID and AID
    1: ((13, 22), (18, 27), (20, 29), (19, 29), (24, 31), (25, 34)),
    2: ((16, 24), (25, 34), (26, 35), (24, 35), (27, 37), (27, 37)),
    4: ((18, 25), (30, 37), (33, 41), (34, 42), (38, 46), (38, 45)),
    8: ((21, 27), (34, 40), (38, 44), (40, 46), (44, 50), (48, 54)),
    16: ((20, 26), (36, 42), (42, 47), (45, 50), (50, 54), (53, 58)),
    32: ((21, 26), (39, 44), (45, 49), (48, 53), (53, 57), (58, 62)),
    64: ((20, 25), (39, 44), (46, 50), (51, 54), (54, 57), (61, 64)),
    128: ((21, 26), (39, 44), (48, 50), (51, 56), (54, 58), (61, 64)),
}


def read_taxis(file: str) -> Trajectories:
    """Trips, cut where two fixes of a cab are over 3 minutes apart, without those faster than 240 km/h."""
    table = pq.read_table(file, columns=["user_id", "t", "lat", "lon"])
    whole = shoal.read(table, snap=False)
    assert whole.lat is not None
    assert whole.lon is not None
    owner = np.repeat(np.arange(whole.n_subjects), whole.lengths)
    gap = np.diff(whole.t, prepend=whole.t[0])
    trip = np.cumsum((np.diff(owner, prepend=-1) != 0) | (gap > 180))
    step, lasts = np.hypot(np.diff(whole.x), np.diff(whole.y)), np.diff(whole.t)
    same = np.diff(trip) == 0
    fast = same & (step > 240 / 3.6 * lasts)
    bad = np.unique(trip[1:][fast])
    print(f"{trip[-1]} trips, {len(bad)} with a step over 240 km/h left out")
    kept = ~np.isin(trip, bad)
    names = [f"{number:06d}" for number in trip[kept]]
    return Trajectories.from_rows(names, whole.t[kept], whole.x[kept], whole.y[kept], crs=whole.crs)


def one_row(
    original: Trajectories,
    method: SwapLocations | ReachLocations,
    clusters: Clusters | None,
    asked: argparse.Namespace,
    query_size: tuple[float, float],
) -> str:
    """Removed trajectories and locations, TotalSD, SID, AID of one release, and whether it verifies."""
    began = time.process_time()
    rng = Randomness.for_research(asked.seed)
    try:
        if isinstance(method, SwapLocations):
            assert clusters is not None
            release, linkage = method.swap(original, *clusters, rng)
        else:
            release, linkage = method.anonymize(original, rng)
    except NothingLeftError:
        return "everything removed"
    made = time.process_time() - began
    holds = (
        "not verified"
        if asked.no_verify
        else "holds"
        if shoal.verify(original, release, linkage).holds
        else "DOES NOT HOLD"
    )
    found = measure_points(original, release, linkage)
    queries = draw_queries(original, asked.queries, *query_size, np.random.default_rng(1))
    ranges = range_distortion(original, release, queries)
    return (
        f"T {100 * found.removed_trajectories:5.1f} %  L {100 * found.removed_locations:5.1f} %  "
        f"TotalSD {found.total_distortion_m / 1e6:7.2f}e6  "
        f"SID {100 * ranges.sid:5.1f}  AID {100 * ranges.aid:5.1f}  {made:5.1f} CPU s  {holds}"
    )


def oldenburg(asked: argparse.Namespace) -> None:
    original = shoal.read(
        pq.read_table(asked.points, columns=["user_id", "t", "x", "y"]),
        snap=False,
        crs="local",
        time_unit="1s",
    )
    streets = read_streets(asked.nodes, asked.edges) if asked.nodes else None
    print(original)
    for k in asked.k:
        clusters: Clusters | None = None
        for space in (1e6, *asked.thresholds):
            swap = SwapLocations(
                k=k, time_threshold_s=100, space_threshold_m=space, clustering=asked.clustering
            )
            clusters = clusters or swap.clusters(original, Run())
            paper = f"   paper L {PAPER_SWAP[KS.index(k)]} %" if space == 1e6 and k in KS else ""
            print(
                f"swap  k {k:2} R^s {space:9,.0f}  "
                f"{one_row(original, swap, clusters, asked, (10, 750))}{paper}",
                flush=True,
            )
            if streets is not None:
                reach = ReachLocations(
                    k=k,
                    time_threshold_s=100,
                    space_threshold_m=space,
                    both_sides=asked.reach == "both",
                    most_off_street_m=1,
                    streets=streets,
                )
                paper = f"   paper L {PAPER_REACH[KS.index(k)]} %" if space == 1e6 and k in KS else ""
                print(
                    f"reach k {k:2} R^s {space:9,.0f}  "
                    f"{one_row(original, reach, None, asked, (10, 750))}{paper}",
                    flush=True,
                )


def calibrated(asked: argparse.Namespace) -> None:
    """For each delta and k the release of NWA, and that of SwapLocations with nearly the same TotalSD."""
    original = shoal.read(
        pq.read_table(asked.points, columns=["user_id", "t", "x", "y"]),
        snap=False,
        crs="local",
        time_unit="1s",
    )
    figures = (
        "TotalSD, 10^6: NWA",
        "swap",
        "R^s",
        "T, %: NWA",
        "swap",
        "L, %: NWA",
        "swap",
        "SID, %: NWA",
        "swap",
        "AID, %: NWA",
        "swap",
    )
    print(f"| delta | k | {' | '.join(figures)} |\n{'|---' * (2 + len(figures))}|")
    queries = draw_queries(original, asked.queries, 10, 750, np.random.default_rng(1))
    for k in asked.k:
        clusters = SwapLocations(k=k, clustering=asked.clustering).clusters(original, Run())

        def swapped(space: float, k: int = k, clusters: Clusters = clusters) -> tuple[Release, Linkage]:
            method = SwapLocations(
                k=k, time_threshold_s=100, space_threshold_m=space, clustering=asked.clustering
            )
            return method.swap(original, *clusters, Randomness.for_research(asked.seed))

        def distortion(space: float, swapped: Callable[[float], tuple[Release, Linkage]] = swapped) -> float:
            try:
                return measure_points(original, *swapped(space)).total_distortion_m
            except NothingLeftError:
                return 0.0

        for delta in asked.deltas:
            release, linkage = Nwa(k=k, delta_m=delta, pi_s=3, step_s=1).anonymize(
                original, Randomness.for_research(asked.seed)
            )
            theirs = measure_points(original, release, linkage)
            space = calibrated_threshold(distortion, theirs.total_distortion_m, 1.0, 1e6)
            try:
                ours_release, ours_linkage = swapped(space)
            except NothingLeftError:
                print(
                    f"| {delta:,.0f} | {k} | {theirs.total_distortion_m / 1e6:.3g} | everything removed |",
                    flush=True,
                )
                continue
            ours = measure_points(original, ours_release, ours_linkage)
            cells = [
                f"{theirs.total_distortion_m / 1e6:.3g}",
                f"{ours.total_distortion_m / 1e6:.3g}",
                f"{space:,.0f}",
            ]
            for name in ("removed_trajectories", "removed_locations"):
                cells += [f"{100 * getattr(one, name):.0f}" for one in (theirs, ours)]
            ranges = [range_distortion(original, one, queries) for one in (release, ours_release)]
            for name in ("sid", "aid"):
                cells += [f"{100 * getattr(one, name):.0f}" for one in ranges]
            print(f"| {delta:,.0f} | {k} | {' | '.join(cells)} |", flush=True)


def taxis(asked: argparse.Namespace) -> None:
    original = read_taxis(asked.points)
    print(original, f"{original.lengths.mean():.0f} points a trip")
    began, began_wall = time.process_time(), time.perf_counter()
    found = trajectory_distances(original)
    direct, direct_wall = time.process_time() - began, time.perf_counter() - began_wall
    found = trajectory_distances(original, paths="disjoint")
    print(
        f"distances: {direct:.1f} CPU s, {direct_wall:.1f} s by the clock; again, with paths: "
        f"{time.process_time() - began - direct:.1f} CPU s, "
        f"{time.perf_counter() - began_wall - direct_wall:.1f} s; kept {len(found.kept)}, "
        f"{found.not_comparable} not comparable, "
        f"{found.elsewhere} elsewhere",
        flush=True,
    )
    kept = found.kept
    distances = found.matrix[np.ix_(kept, kept)]
    lost = {NO_DURATION: found.not_comparable, APART: found.elsewhere}
    for k in asked.k:
        began = time.process_time()
        groups = clusters_of(distances, k, asked.clustering)
        clustered = time.process_time() - began
        print(
            f"k {k}: {len(groups)} clusters in {clustered:.1f} CPU s, within them "
            f"{distances_within(distances, groups):,.0f}"
        )
        clusters: Clusters = ([kept[group] for group in groups], lost, {})
        for space in asked.thresholds:
            method = SwapLocations(
                k=k,
                time_threshold_s=asked.time_threshold,
                space_threshold_m=1000 * space,
                clustering=asked.clustering,
            )
            told = PAPER_TAXIS.get(int(space)) if k in KS else None
            paper = ""
            if told is not None:
                sid, aid = PAPER_TAXIS_QUERIES[int(space)][KS.index(k)]
                paper = f"   paper L {told[KS.index(k)]} SID {sid} AID {aid}"
            print(
                f"swap  k {k:2} R^s {space:5g} km  "
                f"{one_row(original, method, clusters, asked, (1200, 7000))}{paper}",
                flush=True,
            )


def cause(asked: argparse.Namespace) -> None:
    """Locations removed at R^s = 10^6, R^t = 100; lengths of trajectories alone decide how many."""
    original = shoal.read(
        pq.read_table(asked.points, columns=["user_id", "t", "x", "y"]),
        snap=False,
        crs="local",
        time_unit="1s",
    )
    found = trajectory_distances(original)
    kept = found.kept
    direct = found.matrix[np.ix_(kept, kept)]
    first, last = original.t[original.offsets[:-1]][kept], original.t[original.offsets[1:] - 1][kept]
    overlap = np.minimum.outer(last, last) - np.maximum.outer(first, first)
    percent = 100 * np.clip(overlap, 0, None) / np.maximum.outer(last - first, last - first)
    stamps = np.maximum(overlap + 1, 1)  # one stamp at every step
    with np.errstate(invalid="ignore"):
        unpenalized = np.where(np.isfinite(direct), direct * percent, np.inf)
        root_mean = np.where(np.isfinite(direct), direct * percent * np.sqrt(stamps), np.inf)
    for distances in (unpenalized, root_mean):
        np.fill_diagonal(distances, 0)
    draw, run = np.random.default_rng(1), Run()
    tables: dict[str, Floats | None] = {
        "Def. 12, paths where disjoint": np.where(np.isfinite(direct), direct, shortest_paths(direct, run)),
        "Def. 12, shortest paths everywhere": shortest_paths(direct, run),
        "without the penalty 1/p": np.where(
            np.isfinite(unpenalized), unpenalized, shortest_paths(unpenalized, run)
        ),
        "without 1/p, paths everywhere": shortest_paths(unpenalized, run),
        "root mean square distance, no 1/p": np.where(
            np.isfinite(root_mean), root_mean, shortest_paths(root_mean, run)
        ),
        "clusters at random": None,
    }
    print(f"{'paper, Table 4':36}", *(f"{value:5}" for value in PAPER_SWAP))
    for name, table in tables.items():
        for clustering in WAYS[: 1 if table is None else 2]:
            shares = []
            for k in KS:
                groups = (
                    np.array_split(draw.permutation(len(kept)), len(kept) // k)
                    if table is None
                    else clusters_of(table, k, clustering)
                )
                shares.append(removed(original, [kept[group] for group in groups], draw))
            print(
                f"{name:36}",
                *(f"{100 * share:5.1f}" for share in shares),
                "" if table is None else clustering,
                flush=True,
            )


def removed(original: Trajectories, clusters: list[Integers], draw: np.random.Generator) -> float:
    """Share of locations that no swap set of these clusters takes."""
    used = np.zeros(original.n_samples, dtype=np.bool_)
    for cluster in clusters:
        members = draw.permutation(cluster)
        room = np.empty((int(original.lengths[members[0]]), len(members)), dtype=np.int64)
        form_swap_sets(
            Lines(original.offsets, original.t, original.x, original.y), members, 100.0, 1e6, used, room
        )
    return 1 - float(used.mean())


def attacks(asked: argparse.Namespace) -> None:
    """Linkage and disclosure with 1, 2 and 4 exact triples or times, on releases of both methods."""
    original = shoal.read(
        pq.read_table(asked.points, columns=["user_id", "t", "x", "y"]),
        snap=False,
        crs="local",
        time_unit="1s",
    )
    streets = read_streets(asked.nodes, asked.edges)
    for k in asked.k:
        swap = SwapLocations(k=k, clustering=asked.clustering)
        reach = ReachLocations(k=k, time_threshold_s=100, most_off_street_m=1, streets=streets)
        for method in (swap, reach):
            release, linkage = method.anonymize(original, Randomness.for_research(asked.seed))
            print(release)
            known = [f"{kind}:{p}" for kind in ("triples", "times") for p in (1, 2, 4)]
            for rate in attack(
                original, release, linkage, knowledge=known, rng=Randomness.for_research(1)
            ).rates:
                shown = f"{rate.rate:6.1%} ({rate.low:.1%} to {rate.high:.1%}), guessing {rate.baseline:.1%}"
                print(f"  {rate.name:20} {rate.knowledge:16} {rate.target:8} {shown}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("what", choices=("oldenburg", "calibrated", "taxis", "cause", "attacks"))
    options.add_argument("--points", required=True)
    options.add_argument("--nodes")
    options.add_argument("--edges")
    options.add_argument("--k", type=int, nargs="+", default=list(KS))
    options.add_argument("--thresholds", type=float, nargs="*", default=None)
    options.add_argument("--deltas", type=float, nargs="+", default=[0, 1000, 2000, 3000, 4000, 5000])
    options.add_argument("--time-threshold", type=float, default=86_400.0)
    options.add_argument("--clustering", choices=("greedy", "mdav"), default="greedy")
    options.add_argument("--reach", choices=("both", "leader"), default="both")
    options.add_argument("--queries", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--no-verify", action="store_true")
    asked = options.parse_args()
    if asked.thresholds is None:
        asked.thresholds = [1, 2, 4, 8, 16, 32, 64, 128] if asked.what == "taxis" else []
    {"oldenburg": oldenburg, "calibrated": calibrated, "taxis": taxis, "cause": cause, "attacks": attacks}[
        asked.what
    ](asked)


if __name__ == "__main__":
    main()
