"""Table 1 of the SwapLocations paper: total space distortion of NWA, beside the paper's numbers.

    python lab/table_co_location.py FILE [--pi 3] [--least-class 5]

FILE: the network data of Sec. 7.1 (user_id, t = steps of 1 s, x, y in map units).

The release is (k, delta)-anonymous. Distortion: the distances between what was published and the raw
locations of the same person and time; removed locations count 0 (Omega = 0). Classes smaller than k and than
--least-class are left out, as the paper left out those of at most 4. Delta is the diameter of the cylinder;
the second column doubles it, as if delta were the radius. Linked: somebody who knows four true points of a
person names the record that passes nearest to them; k-anonymity would leave 1/k.
"""

import argparse
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq

import shoal
from shoal.attacks import attack
from shoal.attacks.attacking import AttackScope
from shoal.methods.co_location.clusters import move_into_cylinder
from shoal.methods.co_location.nwa import Nwa
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

KS = (2, 4, 6, 8, 10, 15)
DELTAS = (0, 1000, 2000, 3000, 4000, 5000)
PAPER = (  # in millions
    (48, 93, 120, 143, 165, 199),
    (19, 60, 86, 109, 131, 165),
    (4, 32, 56, 78, 99, 133),
    (0.9, 14, 32, 52, 71, 104),
    (0.2, 5, 16, 32, 48, 79),
    (0.03, 2, 7, 18, 31, 58),
)


def total_distortion(original: Trajectories, method: Nwa) -> float:
    """TotalSD with Omega = 0 (Def. 3)."""
    total = 0.0
    for cluster in method.clusters(original, Run()):
        x, y = move_into_cylinder(cluster.x, cluster.y, method.delta_m)
        kept = cluster.source >= 0
        raw = cluster.source[kept]
        total += float(np.hypot(x[kept] - original.x[raw], y[kept] - original.y[raw]).sum())
    return total


def in_classes(original: Trajectories, method: Nwa, least: int) -> Trajectories:
    """Only the people of classes with at least so many; what is left out is printed."""
    classes = method.classes(original)
    kept = sorted(subject for members in classes.values() if len(members) >= least for subject in members)
    sizes = [len(members) for members in classes.values() if len(members) >= least]
    ended = original.n_subjects - sum(len(members) for members in classes.values())
    print(
        f"{original.n_subjects} trajectories, {original.n_samples} locations; {ended} end before they begin "
        "(paper: 40), ",
        end="",
    )
    print(
        f"{original.n_subjects - ended - len(kept)} in classes below {least} (paper: 187); left: "
        f"{len(kept)} in {len(sizes)} classes ",
        end="",
    )
    print(
        f"of {min(sizes)} or more, {np.mean(sizes):.0f} on average "
        "(paper: 773 in 32 of 15 or more, 24 on average)\n"
    )
    return original.keep(kept)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("file")
    options.add_argument("--pi", type=float, default=3)
    options.add_argument("--least-class", type=int, default=5)
    asked = options.parse_args()
    table = pq.read_table(asked.file, columns=["user_id", "t", "x", "y"])
    original = shoal.read(table, crs="local", time_unit="1s", snap=False)
    original = in_classes(original, Nwa(pi_s=asked.pi, step_s=1), asked.least_class)
    print(
        "| delta | k | TotalSD, millions | delta as radius | paper | people left out | linked "
        "|\n|---|---|---|---|---|---|---|"
    )
    for delta, told in zip(DELTAS, PAPER, strict=True):
        for k, paper in zip(KS, told, strict=True):
            method = Nwa(k=k, delta_m=delta, pi_s=asked.pi, step_s=1)
            release, linkage = method.anonymize(original, shoal.Randomness.from_system())
            assert shoal.verify(original, release, linkage).holds
            (linked,) = attack(
                original,
                release,
                linkage,
                knowledge=["nearest:4"],
                rng=shoal.Randomness.for_research(0),
                scope=AttackScope(targets=["release"]),
            ).rates
            total = total_distortion(original, method) / 1e6
            wider = total_distortion(original, replace(method, delta_m=2 * delta)) / 1e6
            lost = release.losses.subjects_suppressed
            print(
                f"| {delta:,} | {k} | {total:.3g} | {wider:.3g} | {paper:g} | {lost} | "
                f"{100 * linked.rate:.1f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
