"""A planner's tasks with raw and with released data, and the usefulness of the release: decision 0245.

    .venv/bin/python lab/usefulness.py [FILE ...] --k 2 --k 5

Without a file: a synthetic city. Each row is a release by GLOVE; "halves" compares two halves of the people.
"""

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

import shoal
from shoal.measures.query import Zones
from shoal.measures.trips import count_trips, people_by_hour
from shoal.model.clocks import clock_of
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.utility import Facts
from shoal.utility.usefulness import USES, usefulness_of

Data = Release | Trajectories
TASKS = 20  # largest flows, busiest zones


def largest(counts: npt.NDArray[Any]) -> set[int]:
    return set(np.argsort(-counts, kind="stable")[:TASKS].tolist())


def flows(data: Data, zones: Zones) -> npt.NDArray[Any]:
    trips = count_trips(data, zones)
    counts = np.zeros(len(zones) ** 2)
    counts[trips.pairs] = trips.counts
    return counts


def tasks(raw: Data, other: Data, facts: Facts) -> tuple[int, int]:
    """Largest flows among the other's largest; busiest zones whose busiest hour is right to an hour."""
    zones, clock = facts.zones, clock_of(facts.original)
    right = len(largest(flows(raw, zones)) & largest(flows(other, zones)))
    hours, hours_of_other = (people_by_hour(data, zones, clock) for data in (raw, other))
    busy = sorted(largest(hours.sum(axis=0)))
    apart = np.abs(hours[:, busy].argmax(axis=0) - hours_of_other[:, busy].argmax(axis=0))
    return right, int(np.count_nonzero(np.minimum(apart, 24 - apart) <= 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--k", type=int, action="append")
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--time-zone")
    arguments = parser.parse_args()
    sources = arguments.files or [shoal.synthesize(n_subjects=arguments.people, days=arguments.days, seed=1)]
    titles = ["data", "k", *(use.words for use in USES), "largest flows right", "busiest hours right"]
    print("| " + " | ".join(titles) + " |")
    print("|---" * (len(USES) + 4) + "|")
    for source in sources:
        raw = shoal.read(source, time_zone=arguments.time_zone)
        half = np.random.default_rng(0).permutation(raw.n_subjects)
        parts = [raw.keep(np.sort(some)) for some in np.array_split(half, 2)]
        for k in arguments.k or [2, 5, 10]:
            for refine in (False, True):
                released = shoal.Glove(k=k, refine=refine).anonymize(raw, shoal.Randomness.for_research(1))
                facts = Facts(raw, *released)
                useful = usefulness_of(facts)
                cells = [f"{verdict.score:.2f} {verdict.answer}" for verdict in useful.verdicts]
                name = source if isinstance(source, str) else "city"
                rights = tasks(raw, facts.release, facts)
                row = [name, f"{k}{', refined' if refine else ''}", *cells, *map(str, rights)]
                print("| " + " | ".join(row) + " |", flush=True)
        print(
            f"| {name} | halves | | | | | | " + " | ".join(map(str, tasks(parts[0], parts[1], facts))) + " |"
        )


if __name__ == "__main__":
    main()
