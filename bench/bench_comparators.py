"""How long static generalization, NWA and W4M take, without reading and verifying.

python bench/bench_comparators.py [--subjects 5000] [--days 14] [--layout nation] [--k 2]
    [--method static nwa w4m-lst w4m-edr]
"""

import argparse
import resource
import time
from collections.abc import Callable

import shoal
from shoal.errors import NothingLeftError
from shoal.methods import Method
from shoal.model.grid import Grid

METHODS: dict[str, Callable[[int], Method]] = {
    "static": lambda k: shoal.StaticGeneralization(k=k, grid_m=20_000, slot_s=8 * 3600),
    "nwa": lambda k: shoal.Nwa(k=k, delta_m=2000, pi_s=24 * 3600, step_s=3600),
    "w4m-lst": lambda k: shoal.W4m(k=k, delta_m=2000),
    "w4m-edr": lambda k: shoal.W4m(k=k, delta_m=2000, distance="edr"),
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=5000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--k", type=int, default=2)
    options.add_argument("--method", choices=tuple(METHODS), nargs="+", default=list(METHODS))
    asked = options.parse_args()
    for subjects in (min(50, asked.subjects), asked.subjects):  # the first is for compiling only
        given = shoal.read(shoal.synthesize(subjects, asked.days, 1, layout=asked.layout), snap=False)
        snapped = given.snapped_to(Grid())
        for name in asked.method:
            method = METHODS[name](asked.k)
            began, worked = time.perf_counter(), time.process_time()
            try:
                release, _ = method.anonymize(
                    given if method.about.publishes == "points" else snapped, shoal.Randomness.from_system()
                )
                kept = f"{release.n_records} records, {release.n_samples} samples or points, {release.losses}"
            except NothingLeftError as error:
                kept = str(error)
            if subjects == asked.subjects:
                wall, cpu = time.perf_counter() - began, time.process_time() - worked
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                print(
                    f"{name}: {wall:.1f} s wall, {cpu:.1f} s CPU, {peak:.2f} GiB at most so far; {kept}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
