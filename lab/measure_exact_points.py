"""How many points of honest NWA and W4M releases are exact raw samples, and how many records consist of them.

Exact points could show that two people were exchanged in a linkage: their records then hold more samples of
each other than of themselves. How many exchanges they would show, and how many honest pairs look exchanged.

python lab/measure_exact_points.py --runs 140
"""

import argparse
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np

import shoal
from shoal.errors import NothingLeftError


def pairs_at_same_times(
    people: shoal.Trajectories, release: shoal.Release, linkage: shoal.Linkage
) -> tuple[int, int, int]:
    """Pairs of records, those whose exchange exact points show, and those that look exchanged as they are."""
    owners = defaultdict(set)
    for uid, samples in zip(people.ids, people, strict=True):
        for point in zip(*(column.tolist() for column in samples), strict=True):
            owners[point].add(uid)
    groups, shared = defaultdict(list), Counter[tuple[str, str]]()
    for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True):
        points = release.record(release.trajectory_ids.index(name))
        groups[points.t.tobytes()].append(uid)
        for point in zip(points.t.tolist(), points.x.tolist(), points.y.tolist(), strict=True):
            shared.update((uid, owner) for owner in owners[point])
    more = [
        shared[one, one] + shared[other, other] - shared[one, other] - shared[other, one]
        for group in groups.values()
        for one, other in combinations(group, 2)
    ]
    return len(more), sum(one > 0 for one in more), sum(one < 0 for one in more)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=140)
    draw = np.random.default_rng(5)
    shares, exchanges = defaultdict(list), defaultdict(list)
    for number in range(options.parse_args().runs):
        k, delta_m = int(draw.choice([2, 3, 5])), float(draw.choice([0, 100, 500, 2000, 5000]))
        size, days, seed = (int(draw.integers(*limits)) for limits in ((30, 120), (1, 3), (0, 1 << 30)))
        people = shoal.read(
            shoal.synthesize(size, days, seed, layout="city" if draw.random() < 0.5 else "nation"), snap=False
        )
        method = (
            shoal.W4m(k=k, delta_m=delta_m) if number % 2 else shoal.Nwa(k=k, delta_m=delta_m, pi_s=4 * 3600)
        )
        try:
            release, linkage = method.anonymize(people, shoal.Randomness.from_system())
        except NothingLeftError:
            continue
        raw = set(zip(people.t.tolist(), people.x.tolist(), people.y.tolist(), strict=True))
        points = release.points
        exact = np.array(
            [
                point in raw
                for point in zip(points.t.tolist(), points.x.tolist(), points.y.tolist(), strict=True)
            ]
        )
        whole = np.mean(
            [exact[a:b].all() for a, b in zip(release.offsets, release.offsets[1:], strict=False)]
        )
        shares[method.about.name, delta_m].append((exact.mean(), whole))
        exchanges[method.about.name, delta_m].append(pairs_at_same_times(people, release, linkage))
    for (name, delta_m), runs in sorted(shares.items()):
        points, records = np.array(runs).T
        pairs, shown, alike = np.array(exchanges[name, delta_m]).sum(axis=0)
        print(
            f"{name}, delta {delta_m:g} m, {len(runs)} runs: points "
            f"{points.mean():.1%} (most {points.max():.1%}), "
            f"whole records {records.mean():.1%} (most {records.max():.1%}); exchanges shown "
            f"{shown / pairs:.1%} of {pairs:,}, honest pairs that look exchanged {alike}"
        )


if __name__ == "__main__":
    main()
