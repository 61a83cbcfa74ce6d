"""How long an assessment takes: everybody's k-gap, then unicity with 4 known points of sampled people.

    python bench/bench_assess.py [--subjects 20000] [--days 14] [--layout nation] [--k 2] [--tries 10000]

Reads the data and compiles the kernels first. Prints seconds by the clock and CPU seconds of all threads.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

import shoal
from shoal.attacks import attack
from shoal.measures.k_gap import k_gaps
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run


def gaps(original: Trajectories, ks: list[int]) -> str:
    found = k_gaps(original, ks, run=Run())
    return ", ".join(f"k = {one.k}: median {np.median(one.gap):.4f}" for one in found)


def unicity(original: Trajectories, tries: int) -> str:
    rates = attack(
        original, None, None, knowledge=["points:4"], rng=shoal.Randomness.for_research(0), tries=tries
    ).rates
    return ", ".join(f"{one.name} {one.rate:.4f}" for one in rates)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=20_000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--k", type=int, nargs="+", default=[2])
    options.add_argument("--tries", type=int, default=10_000)
    asked = options.parse_args()

    original = shoal.read(shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    print(
        f"{original.n_subjects:,} people, {original.n_samples:,} samples, {asked.layout}, "
        f"{Run().threads} threads"
    )
    timed("k-gap", lambda people: gaps(people, asked.k), original)
    timed("unicity", lambda people: unicity(people, asked.tries), original)


def timed(name: str, work: Callable[[Trajectories], str], original: Trajectories) -> None:
    work(original.keep(np.arange(20)))  # compiles
    began, spent = time.perf_counter(), time.process_time()
    said = work(original)
    print(
        f"{name}: {time.perf_counter() - began:.1f} s, {time.process_time() - spent:.1f} CPU s ({said})",
        flush=True,
    )


if __name__ == "__main__":
    main()
