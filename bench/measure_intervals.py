"""How often the 95 % intervals of attacks hold the truth.

    python bench/measure_intervals.py [--runs 300] [--subjects 1000] [--days 3] [--tries 200] [--town 60]

Two experiments, each with many runs of the lab from end to end. ``victims``: one release of GLOVE, and other
victims with other knowledge in each run. ``towns``: other people, another release and everybody tried in each
run, so that the members of a class are always looked for together. The truth is the mean rate of all runs.
Prints for each rate how many intervals hold it, and how wide they are on average.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

import shoal
from shoal.attacks import Rate, attack
from shoal.runtime.run import Run

KNOWLEDGE = (
    "points:1",
    "points:4",
    "top:2",
    "noisy:4:500m:30min",
    "period",
    "home-work",
    "attribution:2",
    "tau:30min",
)
Found = dict[tuple[str, str], Rate]


def other_victims(k: int, subjects: int, days: int, tries: int) -> Callable[[int], Found]:
    """Runs with other victims of one release."""
    people = shoal.read(shoal.synthesize(subjects, days, 1))
    release, linkage = shoal.Glove(k=k).anonymize(people, shoal.Randomness.for_research(1))
    return lambda run: rates(people, release, linkage, run, tries)


def other_towns(k: int, subjects: int) -> Callable[[int], Found]:
    """Runs with other people and another release, everybody tried."""

    def one(run: int) -> Found:
        people = shoal.read(shoal.synthesize(subjects, 2, run))
        release, linkage = shoal.Glove(k=k).anonymize(people, shoal.Randomness.for_research(run))
        return rates(people, release, linkage, run, subjects)

    return one


def rates(
    people: shoal.Trajectories, release: shoal.Release, linkage: shoal.Linkage, run: int, tries: int
) -> Found:
    """Every rate on the release."""
    found = attack(
        people,
        release,
        linkage,
        rng=shoal.Randomness.for_research(run),
        knowledge=KNOWLEDGE,
        tries=tries,
        targets=["release"],
        run=Run(threads=1),
    )
    return {(rate.name, rate.knowledge): rate for rate in found.rates}


def covered(one: Callable[[int], Found], runs: int) -> Iterator[tuple[str, str, float, float, float]]:
    """(name, knowledge, truth, share of intervals that hold it, mean width) of every rate."""
    of_rate: dict[tuple[str, str], list[Rate]] = defaultdict(list)
    for run in range(runs):
        for key, rate in one(run).items():
            of_rate[key].append(rate)
    for (name, knowledge), each in of_rate.items():
        low, high = np.array([rate.low for rate in each]), np.array([rate.high for rate in each])
        truth = float(np.average([rate.rate for rate in each], weights=[rate.tries for rate in each]))
        yield (
            name,
            knowledge,
            truth,
            float(((low <= truth) & (truth <= high)).mean()),
            float((high - low).mean()),
        )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--runs", type=int, default=300)
    options.add_argument("--subjects", type=int, default=1000)
    options.add_argument("--days", type=int, default=3)
    options.add_argument("--tries", type=int, default=200)
    options.add_argument("--town", type=int, default=60)
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    asked = options.parse_args()
    for k in asked.k:
        for name, one in (
            ("victims", other_victims(k, asked.subjects, asked.days, asked.tries)),
            ("towns", other_towns(k, asked.town)),
        ):
            print(f"GLOVE, k = {k}, {name}: {asked.runs} runs", flush=True)
            for rate, knowledge, truth, share, width in covered(one, asked.runs):
                print(
                    f"  {rate:18} {knowledge:38} truth {truth:7.2%}  held {share:6.1%}  width {width:6.2%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
