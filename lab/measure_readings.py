"""What each reading of GLOVE's reshaping keeps, as the table in docs/glove.md.

python lab/measure_readings.py [--input FILE | --subjects 5000 --days 14 --layout nation] [--k 2 5]
"""

import argparse

import shoal
from shoal.methods.glove.greedy import GENERALIZE
from shoal.runtime.randomness import Randomness
from shoal.utility.accuracy import Extents, measure_accuracy


def row(extents: Extents) -> str:
    shares = (
        extents.share_position_kept,
        extents.share_within(space_m=2000),
        extents.share_within(time_s=7200),
    )
    means = (f"{extents.mean_space_m / 1000:.1f} km", f"{extents.mean_time_s / 60:.0f} min")
    return " | ".join([*(f"{100 * share:.1f} %" for share in shares), *means])


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=5000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    print(f"{original.n_subjects} people, {original.n_samples} samples\n")
    print(
        "| k | reading | counted over | position kept | within 2 km | within 2 h | mean extent | mean "
        "duration | boxes a record |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for k in asked.k:
        for reading in GENERALIZE:
            release, linkage = shoal.Glove(k=k, generalize=reading).anonymize(
                original, Randomness.from_system()
            )
            accuracy = measure_accuracy(original, release, linkage)
            boxes = release.n_samples / release.n_records
            print(f"| {k} | `{reading}` | raw samples | {row(accuracy.raw)} | {boxes:.1f} |")
            print(f"| | | published samples | {row(accuracy.published)} | |", flush=True)


if __name__ == "__main__":
    main()
