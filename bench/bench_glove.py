"""How long GLOVE takes with the full matrix, and what the bounds in its kernel are worth against the literal equation.

    python bench/bench_glove.py [--subjects 5000] [--days 14] [--layout nation] [--k 2 5]

Prints seconds and peak memory; the ratios are taken in one process, one after the other, on the same pairs.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

import shoal
from shoal.compiled import compiled
from shoal.kernels.stretch import Floats, Integers, Scale
from shoal.randomness import Randomness
from shoal.run import Run
from shoal.stretch import Caps, pair_efforts
from shoal.trajectories import Trajectories


@compiled
def literal_efforts(offsets: Integers, t: Integers, x: Integers, y: Integers, scale: Scale, efforts: Floats) -> None:
    """Eq. 10 as it stands: every sample of the longer against every sample of the shorter."""
    for i in range(len(offsets) - 1):
        for j in range(i + 1, len(offsets) - 1):
            p, q = (i, j) if offsets[i + 1] - offsets[i] >= offsets[j + 1] - offsets[j] else (j, i)
            total = 0 * scale.half
            for a in range(offsets[p], offsets[p + 1]):
                best = 2 * scale.half
                for b in range(offsets[q], offsets[q + 1]):
                    space = min(scale.per_cell * (abs(x[a] - x[b]) + abs(y[a] - y[b])), scale.half)
                    best = min(best, space + min(scale.per_slot * abs(t[a] - t[b]), scale.half))
                total += best
            efforts[i, j] = total / (offsets[p + 1] - offsets[p])


def numpy_efforts(original: Trajectories, scale: Scale, pairs: int) -> None:
    """The same with one NumPy matrix per pair, as a notebook would do it."""
    done = 0
    for i in range(original.n_subjects):
        for j in range(i + 1, original.n_subjects):
            (t_a, x_a, y_a), (t_b, x_b, y_b) = original.samples_of(i), original.samples_of(j)
            space = np.abs(x_a[:, None] - x_b) + np.abs(y_a[:, None] - y_b)
            cost = np.minimum(space * scale.per_cell, scale.half) + np.minimum(np.abs(t_a[:, None] - t_b) * scale.per_slot, scale.half)
            cost.min(axis=1).sum()
            done += 1
            if done == pairs:
                return


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--subjects", type=int, default=5000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    asked = options.parse_args()

    original = shoal.read(shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    scale = Caps().scale_on(original.snapped_grid())
    print(f"{original.n_subjects} people, {original.n_samples} samples, {asked.layout}, {Run().threads} threads")

    few = original.keep(np.arange(min(120, original.n_subjects)))
    n_pairs = few.n_subjects * (few.n_subjects - 1) // 2
    out = np.zeros((few.n_subjects, few.n_subjects))
    tiny = few.keep([0, 1, 2])
    print(f"compile: {seconds_of(lambda: pair_efforts(tiny, Caps(), Run())):.2f} s (0.1 s or less when cached)")
    literal_efforts(tiny.offsets, tiny.t, tiny.x, tiny.y, scale, out)
    literal = n_pairs / seconds_of(lambda: literal_efforts(few.offsets, few.t, few.x, few.y, scale, out))
    bounded = n_pairs / seconds_of(lambda: pair_efforts(few, Caps(), Run(threads=1)))
    in_numpy = 200 / seconds_of(lambda: numpy_efforts(few, scale, 200))
    print(f"pairs a second on one core: NumPy {in_numpy:,.0f}; literal kernel {literal:,.0f}; with bounds {bounded:,.0f}")
    print(f"ratio: {bounded / literal:.1f} x the literal kernel, {bounded / in_numpy:.1f} x NumPy")

    print(f"all pairs: {seconds_of(lambda: pair_efforts(original, Caps(), Run())):.1f} s")
    for k in asked.k:
        began = time.perf_counter()
        crowds = shoal.Glove(k=k).crowds(original, Run())
        print(f"merging and generalising at k = {k}: {time.perf_counter() - began:.1f} s, {len(crowds)} crowds")
    release, linkage = shoal.Glove(k=asked.k[0]).anonymize(original, Randomness.from_system())
    print(f"verifying: {seconds_of(lambda: shoal.verify(original, release, linkage)):.1f} s (compile included)")
    unit = 1 if sys.platform == "darwin" else 1024
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
