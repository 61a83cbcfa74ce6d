"""How often fair shuffles are called correlated: thousands of fair runs, and the tails that verdicts rest on.

    python lab/calibrate_shuffles.py --runs 4000

For each layout of swap sets: mean and standard deviation of z against the exchange before (fair: 0 and 1),
and the share of runs whose smallest bound over all comparisons lies below a level (fair: at most that level).
Then the comparison of all pairs alone, whose chance is no bound but a law with three right moments, far out.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from fair_shuffles import fair_runs
from shoal.verification.points.tails import agreement_moments, both_tails

LAYOUTS = {
    "100 clusters of 2, 6 sets each": [(2, [6] * 100)],
    "20 clusters of 3, 20 sets each": [(3, [20] * 20)],
    "one cluster of 4, 60 sets": [(4, [60])],
    "clusters of 2, 3 and 5": [(2, [9] * 20), (3, [30] * 6), (5, [12] * 3)],
}
LEVELS = (0.05, 0.01, 0.001)


def show_runs(runs: int) -> None:
    for permutes in (True, False):
        for name, sizes in LAYOUTS.items():
            z, worst = fair_runs(runs, seed=1, sizes=sizes, permutes=permutes)
            below = "; ".join(f"below {level:g}: {(worst < level).mean():.4f}" for level in LEVELS)
            kind = "permutations" if permutes else "choices"
            print(
                f"{name}, {kind}: z {z.mean():+.3f}, sd {z.std():.3f}, |z| > 3.29 in "
                f"{(abs(z) > 3.29).mean():.4f}; {below}; least {worst.min():.1e}",
                flush=True,
            )


def show_pairs(runs: int) -> None:
    """Choices among c: the squares of multinomial counts are drawn directly, to see far tails."""
    rng = np.random.default_rng(2)
    for c, groups, n in ((2, 1, 40), (2, 50, 6), (3, 20, 20), (4, 1, 60), (4, 200, 40)):
        _, spread, cubed, of_three = agreement_moments(c, permutes=False)
        pairs, threes = groups * n * (n - 1) / 2, groups * n * (n - 1) * (n - 2) / 6
        skew = (cubed * pairs + 6 * of_three * threes) / (spread * pairs) ** 1.5
        p = np.concatenate(
            [
                np.array(
                    [both_tails(each, skew) for each in _z(rng, c, groups, n, min(10_000, runs - at), pairs)]
                )
                for at in range(0, runs, 10_000)
            ]
        )
        told = "; ".join(f"below {level:g}: {(p < level).mean():.1e}" for level in (1e-2, 1e-3, 1e-4, 1e-5))
        print(f"all pairs, {groups} groups of {n} choices among {c}: {told}", flush=True)


def _z(rng: np.random.Generator, c: int, groups: int, n: int, runs: int, pairs: float) -> np.ndarray:
    counts = rng.multinomial(n, [1 / c] * c, (runs, groups)).astype(np.float64)
    same = (counts * (counts - 1) / 2).sum(axis=(1, 2))
    return np.asarray((same - pairs / c) / np.sqrt(pairs * (1 / c) * (1 - 1 / c)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    given = parser.parse_args()
    show_runs(given.runs)
    show_pairs(given.pairs)
