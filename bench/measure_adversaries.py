"""What the tracker, members of a class, two releases and membership give: the figures of docs/attacks.md.

    python bench/measure_adversaries.py track --points FILE [--k 2 4 10]
    python bench/measure_adversaries.py classes [--people 300] [--days 4] [--k 2 5]
    python bench/measure_adversaries.py series [--people 2000] [--days 7] [--k 2 5] [--kte]
    python bench/measure_adversaries.py membership [--people 300] [--days 4] [--k 2 5]

track: FILE holds user_id, t, x, y in meters and seconds, such as the Oldenburg trajectories. The others make
a synthetic city. Research seeds: nothing here is for publication.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import pyarrow.parquet as pq

import shoal
from shoal.attacks import attack
from shoal.methods import Method
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness


def show(
    title: str,
    original: Trajectories,
    method: Method,
    knowledge: Sequence[str],
    control: Trajectories | None = None,
) -> None:
    release, linkage = method.anonymize(original, Randomness.for_research(1))
    found = attack(
        original, release, linkage, knowledge=knowledge, control=control, rng=Randomness.for_research(1)
    )
    print(title, release)
    for rate in found.rates:
        print(f"  {rate}", flush=True)


def city(asked: argparse.Namespace, periods: int = 1) -> Trajectories:
    return shoal.read(
        shoal.synthesize(n_subjects=asked.people, days=asked.days * periods, seed=1, layout="city")
    )


def track(asked: argparse.Namespace) -> None:
    table = pq.read_table(asked.points, columns=["user_id", "t", "x", "y"])
    original = shoal.read(table, snap=False, crs="local", time_unit="1s")
    for k in asked.k or (2, 4, 10):
        show(f"k = {k}", original, shoal.SwapLocations(k=k), ["track", "track:4", "cluster", "triples:4"])


def classes(asked: argparse.Namespace) -> None:
    for k in asked.k or (2, 5):
        show(f"k = {k}", city(asked), shoal.Glove(k=k), ["insider", "insider:all", "downcoding"])


def series(asked: argparse.Namespace) -> None:
    whole = city(asked, periods=2)
    ids = np.repeat(np.array(whole.ids), whole.lengths)
    late = whole.t >= whole.t.min() + asked.days * 1440
    weeks = [
        Trajectories.from_rows(
            ids[part].tolist(), whole.t[part], whole.x[part], whole.y[part], grid=whole.grid, crs=whole.crs
        )
        for part in (~late, late)
    ]
    methods: list[Method] = [shoal.Glove(k=k) for k in asked.k or (2, 5)]
    if asked.kte:
        methods.append(shoal.KteHide(k=2, tau_s=1800, epsilon_s=1800))
    for method in methods:
        earlier, (release, linkage) = (
            method.anonymize(week, Randomness.for_research(seed)) for seed, week in enumerate(weeks)
        )
        rng = Randomness.for_research(1)
        print(
            method.about.name,
            attack(weeks[1], release, linkage, knowledge=["series"], rng=rng, earlier=earlier),
        )


def membership(asked: argparse.Namespace) -> None:
    whole = city(asked)
    order = np.random.default_rng(0).permutation(whole.n_subjects)
    cut = whole.n_subjects * 2 // 3
    inside, outside = whole.keep(np.sort(order[:cut])), whole.keep(np.sort(order[cut:]))
    for k in asked.k or (2, 5):
        show(f"k = {k}", inside, shoal.Glove(k=k), ["membership:1", "membership:4", "membership:10"], outside)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = {"track": track, "classes": classes, "series": series, "membership": membership}
    options.add_argument("what", choices=kinds)
    options.add_argument("--points")
    options.add_argument("--k", type=int, nargs="+")
    options.add_argument("--people", type=int)
    options.add_argument("--days", type=int)
    options.add_argument("--kte", action="store_true")
    asked = options.parse_args()
    asked.people = asked.people or (2000 if asked.what == "series" else 300)
    asked.days = asked.days or (7 if asked.what == "series" else 4)
    kinds[asked.what](asked)


if __name__ == "__main__":
    main()
