"""How long kte-hide and its verifier take, what they lose, and how fast k-merge is.

    python bench/bench_kte.py [--subjects 5000] [--days 14] [--layout city] [--k 2] [--tau 30 60] [--input FILE] [--hiding clusters]

tau = epsilon, in minutes. Prints CPU seconds of all threads, peak memory, losses, extents, and the verdict with its notes; then the
samples that one core merges in a second for k = 2, 5 and 8 trajectories of 250 samples, and for one long one beside short ones.
"""

import argparse
import resource
import sys
import time

import numpy as np

import shoal
from shoal.kernels.k_merge import best_partition
from shoal.randomness import Randomness
from shoal.utility.accuracy import measure_accuracy


def merged_a_second(lengths: list[int], repeats: int) -> float:
    """Samples a second that k-merge takes in, with these many samples in each trajectory, spread evenly over two weeks."""
    draw = np.random.default_rng(1)
    t = np.concatenate([draw.integers(0, 20_160, length) for length in lengths])
    owner = np.repeat(np.arange(len(lengths)), lengths)
    order = np.argsort(t, kind="stable")
    t, owner = t[order], owner[order]
    x, y = draw.integers(0, 200, (2, len(t)))
    best_partition(t, x, y, owner, len(lengths))
    began = time.process_time()
    for _ in range(repeats):
        best_partition(t, x, y, owner, len(lengths))
    return len(t) * repeats / (time.process_time() - began)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--subjects", type=int, default=5000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="city")
    options.add_argument("--input")
    options.add_argument("--k", type=int, nargs="+", default=[2])
    options.add_argument("--tau", type=float, nargs="+", default=[30.0])
    options.add_argument("--hiding", choices=("neighbours", "clusters"), default="neighbours")
    options.add_argument("--space-weight", type=float, default=240.0)
    asked = options.parse_args()

    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    print(f"{original.n_subjects} people, {original.n_samples} samples")
    for k in asked.k:
        for tau in asked.tau:
            method = shoal.KteHide(k=k, tau_s=60 * tau, epsilon_s=60 * tau, hiding=asked.hiding, space_weight_s=60 * asked.space_weight)
            began = time.process_time()
            release, linkage = method.anonymize(original, Randomness.from_system())
            made = time.process_time()
            verdict = shoal.verify(original, release, linkage)
            checked = time.process_time()
            raw = measure_accuracy(original, release, linkage).raw
            print(f"k = {k}, tau = epsilon = {tau:g} min: made in {made - began:.1f} CPU s, verified in {checked - made:.1f} CPU s")
            print(f"  suppressed {release.losses.samples_suppressed / original.n_samples:.3%} of samples, {release.n_samples} boxes")
            print(f"  dx + dy: median {raw.median_space_m:.0f} m, mean {raw.mean_space_m:.0f} m")
            print(f"  duration: median {raw.median_time_s / 60:.0f} min, mean {raw.mean_time_s / 60:.1f} min")
            print(f"  holds: {verdict.holds}", *verdict.notes, sep="\n  ")
    unit = 1 if sys.platform == "darwin" else 1024
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30:.2f} GiB")
    for lengths in ([250] * 2, [250] * 5, [250] * 8, [100_000, 50]):
        print(f"k-merge of {lengths} samples: {merged_a_second(lengths, 200) / 1e6:.1f} million samples a second")


if __name__ == "__main__":
    main()
