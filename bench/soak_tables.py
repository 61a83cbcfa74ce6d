"""How often the noise tests of tables refuse a true table, and how wrong a scale must be to be found.

    python bench/soak_tables.py [--tables 10000] [--seed 0]

Tables of all kinds, from 1 to some thousands of cells, with sigma from 1 to 5,000. Exits with 1 if more true
tables are refused than the promised one in 10,000 allows (at a risk of one in a million), or if a large table
with 0.7 of the stated sigma is not.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np
from scipy import stats

from shoal_tables.verification.noise import REFUSED, NoisyCells, noise_findings
from shoal_tables.verification.statements import least_half_width

_SIGMAS = (1, 2, 3, 10, 50, 300, 5000)


def true_table(rng: np.random.Generator) -> NoisyCells:
    """A table with the stated noise and counts of any size."""
    shape: tuple[int, ...]
    names: tuple[str, ...]
    kind = rng.choice(["homes", "presence", "flows", "dwell"])
    if kind == "homes":
        shape, names = (int(rng.integers(1, 60)),), ("zone",)
    elif kind == "presence":
        shape, names = tuple(map(int, rng.integers(1, (30, 24, 4)))), ("zone", "hour", "day")
    elif kind == "dwell":
        shape, names = (int(rng.integers(1, 60)), 4, int(rng.integers(1, 4))), ("zone", "stay", "day")
    else:
        zones = int(rng.integers(2, 14))
        shape, names = (
            (zones, zones, *map(int, rng.integers(1, 4, 2))),
            ("origin", "destination", "hour", "day"),
        )
    numbers = np.indices(shape).reshape(len(shape), -1)
    if kind == "flows":
        numbers = numbers[:, numbers[0] != numbers[1]]
    n, sigma = numbers.shape[1], int(rng.choice(_SIGMAS))
    counts = (rng.pareto(0.8, n) * rng.choice([0.3, 3, 100])).astype(np.int64)
    support = np.arange(-12 * sigma, 12 * sigma + 1)
    cumulative = np.cumsum(np.exp(-((support / sigma) ** 2) / 2))
    noise = support[np.searchsorted(cumulative, rng.random(n) * cumulative[-1])]
    keys = dict(zip(names, numbers, strict=True))
    return NoisyCells(counts, noise, keys, sigma, int(rng.choice([1, 60])), least_half_width(sigma, 0.95)[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng, start = np.random.default_rng(asked.seed), time.process_time()
    refused: Counter[str] = Counter()
    n_refused, too_small, large = 0, 0, 0
    for number in range(asked.tables):
        table = true_table(rng)
        findings = noise_findings(table)
        n_refused += bool(findings)
        refused.update(finding.kind for finding in findings)
        if number % 5 == 0 and len(table.noise) >= 500 and table.sigma >= 10:
            large += 1
            small = replace(table, noise=np.rint(table.noise * 0.7).astype(np.int64))
            too_small += bool(noise_findings(small))
    allowed = int(stats.binom.isf(1e-6, asked.tables, REFUSED))
    print(f"{asked.tables:,} true tables: {n_refused} refused ({dict(refused)}), at most {allowed} allowed")
    print(f"{large} tables of 500 cells or more with 0.7 of the stated sigma: {too_small} refused")
    print(f"{time.process_time() - start:.0f} CPU s")
    return int(n_refused > allowed or too_small < large)


if __name__ == "__main__":
    sys.exit(main())
