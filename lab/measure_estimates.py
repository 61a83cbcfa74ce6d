"""Estimates of ``shoal assess``, beside the release of everyone that they announce.

    .venv/bin/python lab/measure_estimates.py NAME=FILE ... [--k 2 5]

For each file and k: the medians that half of the raw samples do not exceed, announced and released, and
how many times the larger is the smaller.
"""

import argparse

from shoal.io import read
from shoal.methods.glove.glove import Glove
from shoal.publishing.estimate import estimate_releases
from shoal.runtime.randomness import Randomness
from shoal.units import measured_m, measured_s
from shoal.utility.accuracy import measure_accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--k", type=int, nargs="+", default=[2, 5])
    arguments = parser.parse_args()
    for text in arguments.data:
        name, _, file = text.partition("=")
        people = read(file)
        for estimate in estimate_releases(people, arguments.k):
            released = Glove(k=estimate.k).anonymize(people, Randomness.for_research(1))
            extents = measure_accuracy(people, *released).raw
            announced = (estimate.space_m, estimate.time_s)
            true = (extents.median_space_m, extents.median_time_s)
            times = (max(a / b, b / a) for a, b in zip(announced, true, strict=True))
            cells = [
                f"{name}, {estimate.people:,} people, {estimate.sampled:,} tried",
                str(estimate.k),
                f"{measured_m(announced[0])}, {measured_s(announced[1])}",
                f"{measured_m(true[0])}, {measured_s(true[1])}",
                *(f"{ratio:.2f}" for ratio in times),
            ]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
