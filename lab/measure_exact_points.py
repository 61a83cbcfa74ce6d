"""How many points of honest NWA and W4M releases are exact raw samples, and how many records consist of them.

python lab/measure_exact_points.py --runs 140
"""

import argparse
from collections import defaultdict

import numpy as np

import shoal
from shoal.errors import NothingLeftError


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=140)
    draw = np.random.default_rng(5)
    shares = defaultdict(list)
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
            release, _ = method.anonymize(people, shoal.Randomness.from_system())
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
    for (name, delta_m), runs in sorted(shares.items()):
        points, records = np.array(runs).T
        print(
            f"{name}, delta {delta_m:g} m, {len(runs)} runs: points "
            f"{points.mean():.1%} (most {points.max():.1%}), "
            f"whole records {records.mean():.1%} (most {records.max():.1%})"
        )


if __name__ == "__main__":
    main()
