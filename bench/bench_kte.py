"""How long kte-hide and its verifier take, what they lose, and how fast k-merge is.

    python bench/bench_kte.py [--subjects 5000] [--days 14] [--layout city] [--k 2] [--tau 30 60]
        [--input FILE] [--hiding clusters]

tau = epsilon, in minutes; every k is combined with every tau. Prints seconds by the clock and CPU seconds of
all threads for each piece of work, peak memory, losses, extents, and the verdict with its notes. Then it
prints how many samples one core merges in a second: for k = 2, 5 and 8 trajectories of 250 samples, and for
one long trajectory beside short ones.
"""

import argparse
import resource
import sys
import time

import numpy as np

import shoal
from shoal.kernels.k_merge import best_partition
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run, available_cores
from shoal.utility.accuracy import measure_accuracy


def merged_a_second(lengths: list[int], repeats: int) -> float:
    """Samples per second that k-merge takes in; lengths: samples of each trajectory, over two weeks."""
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


def peak_gib() -> float:
    """The most memory this process has held."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


class Clock:
    """Progress that says what each piece of work took."""

    def __init__(self) -> None:
        self._begun = {"": (time.perf_counter(), time.process_time())}

    def __call__(self, label: str, done: int, total: int) -> None:
        if done == 0:
            self._begun[label] = time.perf_counter(), time.process_time()
        if done == total:
            self.tell(label, label)

    def tell(self, what: str, since: str = "") -> None:
        """Wall and CPU seconds since a piece of work, or all of it, began."""
        wall, cpu = self._begun[since]
        taken = f"{time.perf_counter() - wall:.1f} s, {time.process_time() - cpu:.1f} CPU s"
        print(f"  {what}: {taken}, peak memory {peak_gib():.2f} GiB", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=5000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="city")
    options.add_argument("--input")
    options.add_argument("--k", type=int, nargs="+", default=[2])
    options.add_argument("--tau", type=float, nargs="+", default=[30.0])
    options.add_argument("--hiding", choices=("neighbors", "clusters"), default="neighbors")
    options.add_argument("--space-weight", type=float, default=240.0)
    asked = options.parse_args()

    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    print(
        f"{original.n_subjects} people, {original.n_samples} samples, {available_cores()} cores", flush=True
    )
    for k in asked.k:
        for tau in asked.tau:
            method = shoal.KteHide(
                k=k,
                tau_s=60 * tau,
                epsilon_s=60 * tau,
                hiding=asked.hiding,
                space_weight_s=60 * asked.space_weight,
            )
            print(f"k = {k}, tau = epsilon = {tau:g} min", flush=True)
            clock = Clock()
            release, linkage = method.anonymize(original, Randomness.from_system(), Run(progress=clock))
            clock.tell("made, in all")
            verdict = shoal.verify(original, release, linkage)
            clock.tell("made and verified")
            raw = measure_accuracy(original, release, linkage).raw
            print(
                f"  suppressed {release.losses.samples_suppressed / original.n_samples:.3%} of samples, "
                f"{release.n_samples} boxes"
            )
            print(f"  dx + dy: median {raw.median_space_m:.0f} m, mean {raw.mean_space_m:.0f} m")
            print(f"  duration: median {raw.median_time_s / 60:.0f} min, mean {raw.mean_time_s / 60:.1f} min")
            print(
                f"  holds: {verdict.holds}",
                *(f.kind for f in verdict.findings[:9]),
                *verdict.notes,
                sep="\n  ",
                flush=True,
            )
    for lengths in ([250] * 2, [250] * 5, [250] * 8, [100_000, 50]):
        print(
            f"k-merge of {lengths} samples: {merged_a_second(lengths, 200) / 1e6:.1f} million samples a "
            "second"
        )


if __name__ == "__main__":
    main()
